"""Campaigns on Spark: the missing runs of a campaign become Spark tasks.

__main__: the command `python -m spark_report.campaigns`, started by `floodmark storm` and `floodmark run` with
  `--engine spark`; afterwards it writes the fleet report.
job: splits the missing runs into tasks, sends floodmark's packages to executors as a zip file, tracks the Parquet
  files that they write, and computes totals, groups and coverage.

It builds on playbooks' campaigns, which run a playbook, and on the package fleet. It is the top package of
spark_report.
"""
