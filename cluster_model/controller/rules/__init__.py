"""Pure decision rules of a controller: plain values in, plain values out.

partition_change: the result of a decision, the states of brokers, and the changes of ZooKeeper mode.
kraft_partition_changes: leader and ISR after an event in KRaft mode.
alter_partition: validation of proposed ISRs.
admin_rules: leader elections, reassignments and the leader rebalance.
replica_placement: placement of the replicas of a new topic.

It builds on protocol only.
"""

__all__ = [
    "admin_rules",
    "alter_partition",
    "kraft_partition_changes",
    "partition_change",
    "replica_placement",
]
