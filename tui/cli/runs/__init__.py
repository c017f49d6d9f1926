"""Commands that run playbooks: ``floodmark run``, ``demo``, ``why`` and ``report``.

request: options of ``run``, the axes of a grid, and the checks before anything runs.
run: one playbook or several.
demo: ``floodmark demo``.
session_driver: one session, run to its end.
narration: one session with events printed as they occur, and the dry run; pace: virtual time against wall time.
suite: several playbooks in parallel processes, verdicts, and the table at the end.
summary_documents: JSON, JUnit XML, Markdown and the baseline of a run.
sweep: a playbook with a grid: every cell, the result matrix, and campaigns.
spark_jobs: the choice between local cores and Spark; starts Spark in its own process, and before a report explains
  the losses of its sessions.
why: ``floodmark why``, also used after a run.
"""

__all__ = [
    "pace",
    "request",
    "run",
    "spark_jobs",
    "why",
]
