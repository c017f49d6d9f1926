"""What sessions come to, as values and documents.

result        `SessionResult`, the object that `floodmark run --json` prints
expected_losses  whether expectations allow what was lost
wrongs        keys of failures, and which failures are no surprise
outages       when clients were not served, and when partitions had no leader
client_stats  what clients saw: producers, members and groups
consumer_groups  groups as `kafka-consumer-groups.sh` shows them
group_progress  what groups read of partitions, and how long they were handed nothing
sweep_matrix  what a grid came to: rows, the best ones, one sentence of advice, and tables
baseline      results of earlier runs kept in a file, and how a new run differs

Built from events and views of `cluster_model` as they pass. This package does not know how a session is run.
"""

__all__ = [
    "baseline",
    "client_stats",
    "consumer_groups",
    "expected_losses",
    "outages",
    "result",
    "sweep_matrix",
]
