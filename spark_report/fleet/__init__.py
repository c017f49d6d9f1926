"""Fleet report: probabilities of findings over many runs, of campaigns or recorded sessions.

__main__: the command `python -m spark_report.fleet`, which `floodmark fleet` starts.
report: the fleet job.
sources: campaigns and directories of sessions as one DataFrame with a row for each run.
tables: tables and file names of a fleet report, and their queries: rates with Wilson intervals, pairs of faults,
  ranking of settings, recovery times, changes against a baseline.
render: the report's model and its HTML, Markdown, charts and terminal text.

It builds on spark_report's own packages and on playbooks' campaigns.
"""

__all__ = [
    "report",
    "sources",
    "tables",
]
