"""Execution of admin operations: requests in virtual time, each operation until its result.

runner: operations in progress in one cluster, and how each starts and ends.
base: an operation in progress and its context; operations that are a single request.
reassignment: `kafka-reassign-partitions.sh`: plans, throttles, moves, decommissioned brokers.
consumer_groups: `kafka-consumer-groups.sh`: describe, list, delete offsets, and reset offsets (KIP-122).
transactions: `kafka-transactions.sh` (KIP-664): list, describe producers, find hanging ones, abort.
broker_restarts: clean shutdowns: one broker, a decommissioned broker, a rolling restart, or a rolling upgrade.

The operations are declared in `faults.declarations.operation`; this package does not depend on faults' behaviour.
"""

from faults.operations.runner import OperationResult

__all__ = [
    "OperationResult",
]
