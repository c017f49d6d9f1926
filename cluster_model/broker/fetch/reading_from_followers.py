"""Consumers that read from followers (KIP-392, 2.4): who is sent where, and what a follower serves.

A leader sends a consumer that told its rack to an in-sync follower of that rack, if it has a selector for it. Any
follower serves consumers from then on, sent or not: up to its own high watermark, which is behind its leader's.
"""

from enum import Enum

from cluster_model.broker.fetch.divergence import UNKNOWN, divergence
from cluster_model.broker.fetch.selectors import ReplicaView, rack_aware
from cluster_model.broker.partition.partition import Replica
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, READ_COMMITTED, FetchData, FetchPartition, FetchRequest
from cluster_model.protocol.slices import Slice, as_stored


def serves_consumers(replica: Replica) -> bool:
    """Whether consumers may read here: at the leader, since 2.4 at a follower too (``FetchParams.fetchOnlyLeader``)."""
    return replica.leadership is not None or (replica.profile.reads_from_followers and replica.following is not None)


class News(Enum):
    """What there is for a consumer's fetch that waits."""

    NOTHING = "nothing that it could read"
    READABLE = "records, or an offset out of range"
    PARTED = "that the log was cut below it"
    REFUSAL = "this is no longer where to read, or not in that epoch"


def news_for_consumer(replica: Replica, request: FetchRequest, asked: FetchPartition) -> News:
    """Whether anything below its bound is new to a consumer (``DelayedFetch.tryComplete``)."""
    if not serves_consumers(replica) or asked.current_leader_epoch not in (UNDEFINED, replica.leader_epoch):
        return News.REFUSAL
    if asked.last_fetched_epoch != UNDEFINED and divergence(replica.log, asked) is not None:
        return News.PARTED
    bound = replica.lso if request.isolation == READ_COMMITTED else replica.hw
    return News.NOTHING if bound <= asked.offset <= replica.log.leo else News.READABLE


def serve_consumer(replica: Replica, request: FetchRequest, asked: FetchPartition, now: int) -> FetchData:
    """Answer a consumer, as leader or as follower; its epoch has been checked.

    A log that was cut below what a consumer read last says where, if it tells the epoch of that. Below the log's start
    or above its end is out of range, at a follower as at a leader. Between HW and end there is
    nothing, and no error (``LocalLog.read``). Who reads committed data only gets what is below the last stable offset,
    aborted records included, and which those are.
    """
    preferred = preferred_replica(replica, request.rack, asked.offset, now)
    log = replica.log
    nothing = Slice(asked.offset, asked.offset, ())
    if preferred != NOBODY:
        return FetchData(
            asked.partition, asked.offset, 0, replica.hw, log.log_start, replica.leader_epoch, nothing,
            preferred=preferred,
        )  # fmt: skip
    parted = divergence(log, asked)
    above = parted is None and asked.offset > log.leo
    if parted == UNKNOWN or above or asked.offset < log.log_start:
        error = KafkaError.OFFSET_OUT_OF_RANGE
        return FetchData(asked.partition, asked.offset, error, -1, -1, replica.leader_epoch, nothing)
    if parted is not None:
        hw, start = replica.hw, log.log_start
        return FetchData(asked.partition, asked.offset, 0, hw, start, replica.leader_epoch, nothing, parted)
    stable = replica.lso
    committed = request.isolation == READ_COMMITTED
    records = log.read(asked.offset, stable if committed else replica.hw, request.max_bytes)
    if replica.damages:
        records = as_stored(records, replica.damages)
    aborted: tuple[tuple[int, int], ...] = ()
    if committed and records.extents:
        found = log.transactions.aborted_between(asked.offset, records.end)
        aborted = tuple([(each.producer_id, each.first_offset) for each in found])
    return FetchData(
        asked.partition, asked.offset, 0, replica.hw, log.log_start, replica.leader_epoch, records,
        last_stable_offset=stable, aborted=aborted,
    )  # fmt: skip


def preferred_replica(replica: Replica, rack: str, offset: int, now: int) -> int:
    """The follower that a leader sends a consumer to, NOBODY if it serves it itself (``findPreferredReadReplica``).

    Candidates are live members of the ISR whose log, as far as the leader knows, has ``offset``.
    """
    leadership = replica.leadership
    if leadership is None or not rack or not (replica.config.rack_aware and replica.profile.reads_from_followers):
        return NOBODY
    racks = replica.metadata.racks
    views: list[ReplicaView] = []
    for broker, remote in leadership.remotes.items():
        if broker in leadership.isr and broker in racks and remote.log_start <= offset <= remote.leo:
            remote.settle()
            views.append(ReplicaView(broker, racks[broker], remote.leo, now - remote.last_caught_up))
    own = ReplicaView(replica.broker, racks.get(replica.broker, ""), replica.log.leo, 0)
    chosen = rack_aware(rack, own, views)
    return NOBODY if chosen == replica.broker else chosen
