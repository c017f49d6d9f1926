"""What a replica reads out for a fetch, or for a question about epochs, by the role it believes it has."""

from collections.abc import Container
from typing import Final

from cluster_model.broker.fetch.divergence import UNKNOWN, divergence
from cluster_model.broker.fetch.reading_from_followers import serve_consumer, serves_consumers
from cluster_model.broker.partition.leadership import Leadership
from cluster_model.broker.partition.partition import Replica
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import CONSUMER, NOBODY, EpochEnd, FetchData, FetchPartition, FetchRequest
from cluster_model.protocol.slices import Slice, as_stored

NONE: Final = KafkaError.NONE
"""Looking a member up costs more than the rest of some of these lines."""


def check_epoch(replica: Replica, current: int) -> KafkaError:
    """KIP-320: whether the asker's leader epoch is this replica's (``Partition.checkCurrentLeaderEpoch``)."""
    if current in (UNDEFINED, replica.leader_epoch):
        return NONE
    if current < replica.leader_epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    return KafkaError.UNKNOWN_LEADER_EPOCH


def epoch_end(replica: Replica | None, partition: str, epoch: int, current: int) -> EpochEnd:
    """Where ``epoch`` ended in this log, by the version's rule (``Partition.lastOffsetForLeaderEpoch``)."""
    if replica is None:
        return EpochEnd(partition, epoch, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, UNDEFINED, UNDEFINED)
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
    """What a broker without a replica says: of a partition that it has heard of, that others have it (KAFKA-8365)."""
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
