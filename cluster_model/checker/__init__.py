"""Checkers of a running cluster, fed with its events and its state.

checker: passes every event to the parts and holds their results.
invariants: safety properties; liveness: properties with deadlines.
anomalies: client-visible anomalies in histories of operations, after Jepsen.
history: faults of nodes and changes of partitions; ledger: every acknowledged record and its outcome.
root_cause: findings with their causes and event chains.

Its packages do not import cluster; they receive the cluster state as an argument.
"""

from cluster_model.checker.checker import Checker

__all__ = [
    "Checker",
]
