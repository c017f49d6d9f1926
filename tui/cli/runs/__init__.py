"""``floodmark run``: playbooks without a screen, with an exit code.

request: what was asked for, axes of a grid, and everything that is refused before anything runs.
run: one playbook or several.
demo: ``floodmark demo``.
session_driver: one session run to its end.
narration: one session with events printed on the way, at the pace of a clock, or what a run would do; pace: that clock.
suite: several playbooks in parallel processes, verdicts, the table at the end.
summary_documents: JSON, JUnit XML, Markdown and the baseline of a run.
sweep: a playbook with a grid: every cell, the matrix, a campaign that is kept.
spark_jobs: the choice between this machine's cores and Spark, and starting Spark in a process of its own.
  Before a report it asks sessions that lost records why.
why: ``floodmark why``, also used after a run.
"""

__all__ = [
    "pace",
    "request",
    "run",
    "spark_jobs",
    "why",
]
