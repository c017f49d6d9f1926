"""Queries on a cluster that need the checker's results as well as its state.

condition_functions: the functions of the condition language.
partition_views: builders of the views of partitions, logs and the ledger.
log_inspector: all records ever written at an offset, their current copies, and markers in each replica's log.

It builds on checker and observation; the package above uses it for the whole cluster.
"""

__all__ = [
    "condition_functions",
    "log_inspector",
]
