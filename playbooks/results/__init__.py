"""Results of sessions, as values and documents.

result        `SessionResult`, the object that `floodmark run --json` prints
expected_losses  which expectations allow acknowledged records to be lost
failure_keys  keys of failures, and which failures are expected
outages       unavailability of clients, partitions and groups
client_stats  statistics of producers, members and groups
consumer_groups  groups as `kafka-consumer-groups.sh` shows them
group_progress  offsets that groups have read, and their read stalls
sweep_matrix  results of a grid: rows, Pareto rows, one sentence of advice, and tables
baseline      saved results of earlier runs, compared with a new run

Built from events and views of `cluster_model` as they pass. This package does not know how a session is run.
"""

__all__ = [
    "baseline",
    "client_stats",
    "consumer_groups",
    "expected_losses",
    "failure_keys",
    "outages",
    "result",
    "sweep_matrix",
]
