"""Commands that analyse a playbook or sessions, mostly by running many sessions, and print the answer.

ask: whether an action is safe, by simulating many seeds.
explore: every order of events within small bounds.
storm: thousands of random fault schedules, on local cores or on Spark.
shrink: a failing session, minimised to the shortest playbook that still fails.
diff: two recorded sessions side by side.
alerts: Prometheus rules over sessions: which faults an alert saw, and when.
upgrade: known issues and outcomes of playbooks before and after an upgrade of Kafka.

The work itself is in ``playbooks``; ``tui.cli.runs.spark_jobs`` starts Spark.
"""

__all__ = [
    "alerts",
    "ask",
    "diff",
    "explore",
    "shrink",
    "storm",
    "upgrade",
]
