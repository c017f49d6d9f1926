"""Judges a running cluster from its events and its state.

checker: passes every event on and holds the results together.
invariants: safety properties; liveness: what must happen in time.
anomalies: client histories in the manner of Jepsen.
history: what happened to nodes and partitions; ledger: every acknowledged record and what became of it.
root_cause: findings with their causes and chains of events.

Its packages do not import cluster; they get the cluster state as an argument.
"""

from cluster_model.checker.checker import Checker

__all__ = [
    "Checker",
]
