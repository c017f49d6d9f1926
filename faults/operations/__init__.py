"""The administrator's operations as they run: requests in virtual time, each operation to its end.

runner: the operations under way in one cluster, and how each starts and ends.
base: a running operation and what it may do; operations that are a single request.
reassignment: `kafka-reassign-partitions.sh`: plans, throttles, moves, brokers that are emptied.
consumer_groups: `kafka-consumer-groups.sh`: describe, list, delete offsets, and reset offsets (KIP-122).
transactions: `kafka-transactions.sh` (KIP-664): list, describe producers, find hanging ones, abort.
broker_restarts: brokers that are shut down in order: one, for good, or in a rolling restart.

The operations are declared in `faults.declarations.operation`; this package does not know faults' behaviour.
"""

from faults.operations.runner import OperationResult

__all__ = [
    "OperationResult",
]
