"""Campaigns on Spark: the runs that a campaign lacks become Spark tasks.

__main__: the command `python -m spark_report.campaigns`, started by `floodmark storm` and `floodmark run` with
  `--engine spark`; afterwards it writes the fleet report.
job: splits the missing runs into tasks, ships floodmark's packages to executors as a zip file, follows the
  Parquet files as they appear, and adds up totals, groups and coverage.

It builds on playbooks' campaigns, which run a playbook, and on the package fleet. It is the top of
spark_report.
"""
