"""Commands that run many futures or compare two sessions, and print the answer.

ask: whether something is safe to do, over many possible futures.
explore: every order of events within small bounds.
storm: random schedules of faults, by the thousand, on this machine or on Spark.
shrink: from a failed session to the shortest playbook that still fails.
diff: two recorded sessions side by side.

The work itself is in ``playbooks``; ``tui.cli.runs.spark_jobs`` starts Spark.
"""

__all__ = [
    "ask",
    "diff",
    "explore",
    "shrink",
    "storm",
]
