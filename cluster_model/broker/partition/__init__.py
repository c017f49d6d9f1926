"""One replica of a partition, as leader and as follower.

partition: a replica with its log, its leader state and its follower state.
replication_rules: pure rules of ISR, high watermark and truncation, and of a follower that is out of range.
producer_state_manager: a leader's validation of a batch, by the last batches of idempotent producers
(ProducerStateManager).
fetch_sessions: incremental fetch sessions of both ends (KIP-227).

It builds on log and kernel and imports no other part of the broker.
"""

from cluster_model.broker.partition.partition import PartitionLeaderState, Replica

__all__ = [
    "PartitionLeaderState",
    "Replica",
]
