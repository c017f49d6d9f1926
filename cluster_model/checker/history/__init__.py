"""History of nodes and partitions, kept to explain losses later.

fault_history: faults, crashes and pauses of nodes, by step.
partition_history: elections, truncations and ISR changes of a partition, and which replicas held what.

ledger and root_cause build on it.
"""

__all__ = [
    "fault_history",
    "partition_history",
]
