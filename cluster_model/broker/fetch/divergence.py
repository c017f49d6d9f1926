"""Whether a log parts from the one that a fetch goes on from (``Partition.readRecords``; KIP-595, Fetch 12)."""

from typing import Final

from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.batch import EpochEntry
from cluster_model.protocol.messages import FetchPartition

UNKNOWN: Final[EpochEntry] = (UNDEFINED, UNDEFINED)
"""The log does not reach back to where it would be seen: the offset counts as out of range."""


def divergence(log: ReplicaLog, asked: FetchPartition) -> EpochEntry | None:
    """(epoch, its end) up to which both are the same, None if they are up to the offset that is asked for.

    Who sends no epoch is not looked at: of consumers those of Kafka's own, who ask OffsetsForLeaderEpoch instead.
    """
    last_epoch = asked.last_fetched_epoch
    if last_epoch == UNDEFINED:
        return None
    found = log.epochs.end_offset_for(last_epoch, log.leo)
    return found if found == UNKNOWN or found[0] < last_epoch or found[1] < asked.offset else None
