"""What a replica reads for a fetch: records, diverging epochs, and the replica that a consumer should read from."""

from collections.abc import Container, Iterable
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.broker.partition.partition import Leadership, Replica
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    NOBODY,
    READ_COMMITTED,
    EpochEnd,
    FetchData,
    FetchPartition,
    FetchRequest,
)
from cluster_model.protocol.records import EpochEntry, Slice, as_stored

# Divergence of a follower's log, found by a fetch (``Partition.readRecords``; KIP-595, Fetch 12).


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


# Which replica a consumer should read from (``org.apache.kafka.common.replica.ReplicaSelector``, KIP-392).


class ReadReplicaCandidate(NamedTuple):
    """A replica as its leader sees it; ``behind_us`` is how long ago it had caught up, 0 for the leader itself."""

    broker: int
    rack: str
    leo: int
    behind_us: int


def rack_aware(rack: str, leader: ReadReplicaCandidate, followers: Iterable[ReadReplicaCandidate]) -> int:
    """The broker to read from: the leader if it is in ``rack``, else the most caught-up follower there.

    Longer logs go first, then those that had caught up later, then higher ids. Nobody in that rack, or no rack told:
    the leader (``RackAwareReplicaSelector``).
    """
    if not rack or leader.rack == rack:
        return leader.broker
    near = [view for view in followers if view.rack == rack]
    best = max(near, key=lambda view: (view.leo, -view.behind_us, view.broker), default=leader)
    return best.broker


# Consumers that read from followers (KIP-392, 2.4): the preferred read replica, and what a follower serves.
#
# A leader sends a consumer that told its rack to an in-sync follower of that rack, if it has a selector for it. Any
# follower serves consumers from then on, sent or not: up to its own high watermark, which is behind its leader's.


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
    views: list[ReadReplicaCandidate] = []
    for broker, remote in leadership.remotes.items():
        if broker in leadership.isr and broker in racks and remote.log_start <= offset <= remote.leo:
            remote.settle()
            views.append(ReadReplicaCandidate(broker, racks[broker], remote.leo, now - remote.last_caught_up))
    own = ReadReplicaCandidate(replica.broker, racks.get(replica.broker, ""), replica.log.leo, 0)
    chosen = rack_aware(rack, own, views)
    return NOBODY if chosen == replica.broker else chosen


NONE: Final = KafkaError.NONE
"""Looking a member up costs more than the rest of some of these lines."""


def check_epoch(replica: Replica, current: int) -> KafkaError:
    """KIP-320: whether the asker's leader epoch is this replica's (``Partition.checkCurrentLeaderEpoch``)."""
    if current in (UNDEFINED, replica.leader_epoch):
        return NONE
    if current < replica.leader_epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    return KafkaError.UNKNOWN_LEADER_EPOCH


def epoch_end(
    replica: Replica | None, partition: str, epoch: int, current: int, known: Container[str] = ()
) -> EpochEnd:
    """Where ``epoch`` ended in this log, by the version's rule (``Partition.lastOffsetForLeaderEpoch``).

    ``known`` are the partitions of the broker's metadata cache.
    """
    if replica is None:
        return EpochEnd(partition, epoch, absent(partition, known), UNDEFINED, UNDEFINED)
    error = check_epoch(replica, current)
    if error is NONE and replica.leadership is None:
        error = KafkaError.NOT_LEADER_OR_FOLLOWER
    if error is not NONE:
        return EpochEnd(partition, epoch, error, UNDEFINED, UNDEFINED)
    log = replica.log
    if replica.profile.kip_279:
        found, end = log.epochs.end_offset_for(epoch, log.leo)
        return EpochEnd(partition, epoch, 0, found, end)
    return EpochEnd(partition, epoch, 0, UNDEFINED, log.epochs.end_offset_kip_101(epoch, log.leo))


def absent(partition: str, known: Container[str]) -> KafkaError:
    """What a broker without a replica says: of a partition that it has heard of, that others have it (KAFKA-6796)."""
    return KafkaError.NOT_LEADER_OR_FOLLOWER if partition in known else KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def serve_fetch(
    replica: Replica | None,
    request: FetchRequest,
    asked: FetchPartition,
    now: int,
    known: Container[str],
    *,
    book: bool,
) -> FetchData:
    """Read for a fetch; ``book``: count it as news of the follower, which a parked fetch does only on arrival.

    ``known`` are the partitions of the broker's metadata cache.
    """
    if replica is None:
        error = absent(asked.partition, known)
    else:
        error = check_epoch(replica, asked.current_leader_epoch)
        leadership = replica.leadership
        if error is NONE and request.replica == CONSUMER:
            if serves_consumers(replica):
                return serve_consumer(replica, request, asked, now)
        elif error is NONE and leadership is not None:
            return _serve_follower(replica, leadership, request, asked, now, book=book)
        if error is NONE:
            error = KafkaError.NOT_LEADER_OR_FOLLOWER
    nothing = Slice(asked.offset, asked.offset, ())
    return FetchData(asked.partition, asked.offset, error, -1, -1, -1, nothing)


def _serve_follower(
    replica: Replica, leadership: Leadership, request: FetchRequest, asked: FetchPartition, now: int, *, book: bool
) -> FetchData:
    """The HW in the answer is the one from before this fetch was counted (``Partition.readRecords``).

    So the fetch that completes replication does not carry the HW that it causes.
    """
    log = replica.log
    leo = log.leo
    hw = replica.hw
    offset = asked.offset
    follower = request.replica
    remote = leadership.remotes.get(follower)
    if remote is None:
        known = asked.current_leader_epoch != UNDEFINED
        return _refuse(replica, asked, KafkaError.UNKNOWN_LEADER_EPOCH if known else KafkaError.NOT_LEADER_OR_FOLLOWER)
    if replica.profile.kraft and -1 < request.broker_epoch < replica.metadata.live.get(follower, -1):
        # KIP-903: a fetch of the follower's former life does not count for the present one.
        return _refuse(replica, asked, KafkaError.NOT_LEADER_OR_FOLLOWER)
    last_epoch = asked.last_fetched_epoch
    if last_epoch != UNDEFINED and (offset > leo or last_epoch != log.epochs.latest):
        parted = divergence(log, asked)
        if parted == UNKNOWN:
            return _refuse(replica, asked, KafkaError.OFFSET_OUT_OF_RANGE)
        if parted is not None:
            nothing = Slice(offset, offset, ())
            return FetchData(asked.partition, offset, 0, hw, log.log_start, replica.leader_epoch, nothing, parted)
    if not log.log_start <= offset <= leo:
        return _refuse(replica, asked, KafkaError.OFFSET_OUT_OF_RANGE)
    records = Slice(offset, offset, ()) if offset == leo else log.read(offset, leo, request.max_bytes)
    if replica.damages:
        records = as_stored(records, replica.damages)
    if book:
        leadership.book(now, follower, remote, request.broker_epoch, asked)
    return FetchData(asked.partition, offset, 0, hw, log.log_start, replica.leader_epoch, records)


def book_if_nothing_new(replica: Replica, request: FetchRequest, asked: FetchPartition, now: int) -> bool:
    """Count the fetch of a follower that has everything; False, and nothing counted, if it needs a closer look.

    It is what :func:`serve_fetch` would do, without an answer that nobody is going to send.
    """
    log = replica.log
    offset = asked.offset
    leadership = replica.leadership
    if leadership is None or offset != log.leo or asked.current_leader_epoch not in (UNDEFINED, replica.leader_epoch):
        return False
    last_epoch = asked.last_fetched_epoch
    if last_epoch not in (UNDEFINED, log.epochs.latest):
        return False
    follower = request.replica
    remote = leadership.remotes.get(follower)
    if remote is None:
        return False
    if replica.profile.kraft and -1 < request.broker_epoch < replica.metadata.live.get(follower, -1):
        return False
    leadership.book(now, follower, remote, request.broker_epoch, asked)
    return True


def caught_up_answer(replica: Replica, asked: FetchPartition, hw: int) -> FetchData:
    """The answer to a fetch that was counted without one; ``hw`` is the HW from before that."""
    offset = asked.offset
    nothing = Slice(offset, offset, ())
    return FetchData(asked.partition, offset, 0, hw, replica.log.log_start, replica.leader_epoch, nothing)


def _refuse(replica: Replica, asked: FetchPartition, error: KafkaError) -> FetchData:
    """An error answer."""
    nothing = Slice(asked.offset, asked.offset, ())
    return FetchData(asked.partition, asked.offset, error, -1, -1, replica.leader_epoch, nothing)


def says_something(data: FetchData) -> bool:
    """Whether an answer is more than the HW, so that it cannot wait."""
    return (
        data.error != 0
        or data.diverging is not None
        or data.records.end > data.records.start
        or data.preferred != NOBODY
    )


def news_of_hw(replica: Replica, follower: int) -> bool:
    """KIP-392 in 2.4 and 2.5: whether the HW is newer than the one a follower has been sent."""
    remote = None if replica.leadership is None else replica.leadership.remotes.get(follower)
    return remote is not None and replica.hw > remote.told_hw
