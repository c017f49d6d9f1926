"""Reads of a replica for a fetch: records, the point of divergence, and the preferred read replica."""

from collections.abc import Container, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.broker.partition.fetch_sessions import FULL
from cluster_model.broker.partition.partition import PartitionLeaderState, Replica
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    NO_LEADER,
    READ_COMMITTED,
    EpochEnd,
    FetchData,
    FetchPartition,
    FetchRequest,
)
from cluster_model.protocol.records import EpochEntry, Slice, with_corruption

# Divergence of a follower's log, found by a fetch (``Partition.readRecords``; KIP-595, Fetch 12).


UNKNOWN: Final[EpochEntry] = (UNDEFINED, UNDEFINED)
"""The log does not reach back to the point of divergence: the offset counts as out of range."""


def divergence(log: ReplicaLog, fetch: FetchPartition) -> EpochEntry | None:
    """Return (epoch, its end offset) up to which both logs agree, None if they agree up to the fetch offset.

    A fetch without a last fetched epoch is not checked: Kafka's own consumers send none and use OffsetsForLeaderEpoch.
    """
    last_epoch = fetch.last_fetched_epoch
    if last_epoch == UNDEFINED:
        return None
    found = log.epochs.end_offset_for(last_epoch, log.leo)
    return found if found == UNKNOWN or found[0] < last_epoch or found[1] < fetch.offset else None


# Choice of a consumer's read replica (``org.apache.kafka.common.replica.ReplicaSelector``, KIP-392).


class ReadReplicaCandidate(NamedTuple):
    """A replica as its leader knows it; ``behind_us`` is the time since it was caught up, 0 for the leader itself."""

    broker: int
    rack: str
    leo: int
    behind_us: int


def rack_aware(rack: str, leader: ReadReplicaCandidate, followers: Iterable[ReadReplicaCandidate]) -> int:
    """Return the broker to read from: the leader if it is in ``rack``, else the most caught-up follower there.

    Longer logs come first, then those caught up more recently, then higher ids. The leader if no replica is in that
    rack, or no rack is given (``RackAwareReplicaSelector``).
    """
    if not rack or leader.rack == rack:
        return leader.broker
    same_rack = [view for view in followers if view.rack == rack]
    best = max(same_rack, key=lambda view: (view.leo, -view.behind_us, view.broker), default=leader)
    return best.broker


# Consumers that read from followers (KIP-392, 2.4): the preferred read replica, and what a follower returns.
#
# A leader redirects a consumer with a rack to an in-sync follower in that rack if a selector is configured. From then
# on any follower accepts consumers, redirected or not: up to its own high watermark, which is behind its leader's.


def serves_consumers(replica: Replica) -> bool:
    """Whether consumers may read here: at a leader, since 2.4 also at a follower (``FetchParams.fetchOnlyLeader``)."""
    return replica.leadership is not None or (replica.profile.reads_from_followers and replica.following is not None)


class FetchNews(Enum):
    """News for a consumer's delayed fetch."""

    NOTHING = "no readable records"
    READABLE = "records, or an offset out of range"
    DIVERGED = "the log was truncated below the fetch offset"
    REFUSAL = "not a replica to read from any more, or another leader epoch"


def news_for_consumer(replica: Replica, request: FetchRequest, fetch: FetchPartition) -> FetchNews:
    """Return the news for a consumer below its read bound (``DelayedFetch.tryComplete``)."""
    if not serves_consumers(replica) or requested_epoch(replica, request, fetch) not in (
        UNDEFINED, replica.leader_epoch,
    ):  # fmt: skip
        return FetchNews.REFUSAL
    if fetch.last_fetched_epoch != UNDEFINED and divergence(replica.log, fetch) is not None:
        return FetchNews.DIVERGED
    bound = replica.lso if request.isolation == READ_COMMITTED else replica.hw
    return FetchNews.NOTHING if bound <= fetch.offset <= replica.log.leo else FetchNews.READABLE


def serve_consumer(replica: Replica, request: FetchRequest, fetch: FetchPartition, now: int) -> FetchData:
    """Return a consumer's fetch data, from a leader or a follower; its leader epoch has been checked.

    If the consumer sends its last fetched epoch and the log was truncated below its offset, the data names the point of
    divergence. Below the log start or above the log end is out of range, at a follower as at a leader. Between HW and
    log end there is no data and no error (``LocalLog.read``). A read_committed consumer gets records below the last
    stable offset, including aborted ones, with the list of aborted transactions.
    """
    preferred = preferred_replica(replica, request.rack, fetch.offset, now)
    log = replica.log
    no_records = Slice(fetch.offset, fetch.offset, ())
    if preferred != NO_LEADER:
        return FetchData(
            fetch.partition, fetch.offset, 0, replica.hw, log.log_start, replica.leader_epoch, no_records,
            preferred=preferred,
        )  # fmt: skip
    diverging = divergence(log, fetch)
    above = diverging is None and fetch.offset > log.leo
    if diverging == UNKNOWN or above or fetch.offset < log.log_start:
        error = KafkaError.OFFSET_OUT_OF_RANGE
        return FetchData(fetch.partition, fetch.offset, error, -1, -1, replica.leader_epoch, no_records)
    if diverging is not None:
        hw, start = replica.hw, log.log_start
        return FetchData(fetch.partition, fetch.offset, 0, hw, start, replica.leader_epoch, no_records, diverging)
    stable = replica.lso
    committed = request.isolation == READ_COMMITTED
    records = log.read(fetch.offset, stable if committed else replica.hw, request.max_bytes)
    if replica.damages:
        records = with_corruption(records, replica.damages)
    aborted: tuple[tuple[int, int], ...] = ()
    if committed and records.extents:
        found = log.transactions.aborted_between(fetch.offset, records.end)
        aborted = tuple([(each.producer_id, each.first_offset) for each in found])
    return FetchData(
        fetch.partition, fetch.offset, 0, replica.hw, log.log_start, replica.leader_epoch, records,
        last_stable_offset=stable, aborted=aborted,
    )  # fmt: skip


def preferred_replica(replica: Replica, rack: str, offset: int, now: int) -> int:
    """Return the follower to which a leader redirects a consumer, NO_LEADER for none (``findPreferredReadReplica``).

    Candidates are live members of the ISR whose log, as far as the leader knows, has ``offset``; up to KAFKA-14372 any
    such follower, however far behind, so a consumer that lags with it is sent there again and again.
    """
    leadership = replica.leadership
    if leadership is None or not rack or not (replica.config.rack_aware and replica.profile.reads_from_followers):
        return NO_LEADER
    racks = replica.metadata.racks
    candidates: list[ReadReplicaCandidate] = []
    lagging = replica.profile.reads_lagging_followers
    for broker, remote in leadership.remotes.items():
        if (lagging or broker in leadership.isr) and broker in racks and remote.log_start <= offset <= remote.leo:
            remote.settle()
            candidates.append(ReadReplicaCandidate(broker, racks[broker], remote.leo, now - remote.last_caught_up))
    own = ReadReplicaCandidate(replica.broker, racks.get(replica.broker, ""), replica.log.leo, 0)
    chosen = rack_aware(rack, own, candidates)
    return NO_LEADER if chosen == replica.broker else chosen


NONE: Final = KafkaError.NONE
"""A local alias, as looking up an enum member costs more than the rest of some of these functions."""


def requested_epoch(replica: Replica, request: FetchRequest, fetch: FetchPartition) -> int:
    """Return the leader epoch that a fetch names, UNDEFINED for none.

    From 2.1 to 2.4 a fetch session did not keep it, so that only full fetches were fenced (KAFKA-9338,
    ``CachedPartition.reqData``).
    """
    if request.session_epoch > FULL and not replica.profile.session_epochs:
        return UNDEFINED
    return fetch.current_leader_epoch


def check_epoch(replica: Replica, current: int) -> KafkaError:
    """Compare the requester's leader epoch with this replica's (KIP-320, ``Partition.checkCurrentLeaderEpoch``)."""
    if current in (UNDEFINED, replica.leader_epoch):
        return NONE
    if current < replica.leader_epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    return KafkaError.UNKNOWN_LEADER_EPOCH


def epoch_end(
    replica: Replica | None,
    partition: str,
    epoch: int,
    current: int,
    known_partitions: Container[str] = (),
    *,
    finds_epoch: bool | None = None,
) -> EpochEnd:
    """Return where ``epoch`` ended in this log (``Partition.lastOffsetForLeaderEpoch``).

    ``known_partitions`` are those of the broker's metadata cache. ``finds_epoch``: whether the version of the request
    has the epoch found in its response (KIP-279), None for the newest that the replica's broker would send itself.
    """
    if replica is None:
        return EpochEnd(partition, epoch, missing_replica_error(partition, known_partitions), UNDEFINED, UNDEFINED)
    error = check_epoch(replica, current)
    if error is NONE and replica.leadership is None:
        error = KafkaError.NOT_LEADER_OR_FOLLOWER
    if error is not NONE:
        return EpochEnd(partition, epoch, error, UNDEFINED, UNDEFINED)
    log = replica.log
    if replica.profile.kip_279 if finds_epoch is None else finds_epoch:
        found, end = log.epochs.end_offset_for(epoch, log.leo)
        return EpochEnd(partition, epoch, 0, found, end)
    return EpochEnd(partition, epoch, 0, UNDEFINED, log.epochs.end_offset_kip_101(epoch, log.leo))


def missing_replica_error(partition: str, known_partitions: Container[str]) -> KafkaError:
    """Return the error of a broker without a replica: NOT_LEADER if metadata lists the partition (KAFKA-6796)."""
    return KafkaError.NOT_LEADER_OR_FOLLOWER if partition in known_partitions else KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def serve_fetch(
    replica: Replica | None,
    request: FetchRequest,
    fetch: FetchPartition,
    now: int,
    known_partitions: Container[str],
    *,
    book: bool,
) -> FetchData:
    """Read for a fetch; ``book``: count it as a fetch of the follower, which a delayed fetch does only on arrival.

    ``known_partitions`` are the partitions of the broker's metadata cache.
    """
    if replica is None:
        error = missing_replica_error(fetch.partition, known_partitions)
    else:
        error = check_epoch(replica, requested_epoch(replica, request, fetch))
        leadership = replica.leadership
        if error is NONE and request.replica == CONSUMER:
            if serves_consumers(replica):
                return serve_consumer(replica, request, fetch, now)
        elif error is NONE and leadership is not None:
            return _serve_follower(replica, leadership, request, fetch, now, book=book)
        if error is NONE:
            error = KafkaError.NOT_LEADER_OR_FOLLOWER
    no_records = Slice(fetch.offset, fetch.offset, ())
    return FetchData(fetch.partition, fetch.offset, error, -1, -1, -1, no_records)


def _serve_follower(
    replica: Replica,
    leadership: PartitionLeaderState,
    request: FetchRequest,
    fetch: FetchPartition,
    now: int,
    *,
    book: bool,
) -> FetchData:
    """Read for a follower, with the HW from before this fetch was counted (``Partition.readRecords``).

    The fetch that completes replication therefore does not carry the HW that it causes.
    """
    log = replica.log
    leo = log.leo
    hw = replica.hw
    offset = fetch.offset
    follower = request.replica
    remote = leadership.remotes.get(follower)
    if remote is None:
        known = requested_epoch(replica, request, fetch) != UNDEFINED
        return _error_data(
            replica, fetch, KafkaError.UNKNOWN_LEADER_EPOCH if known else KafkaError.NOT_LEADER_OR_FOLLOWER
        )
    if replica.profile.kraft and -1 < request.broker_epoch < replica.metadata.live.get(follower, -1):
        # KIP-903: a fetch with an older broker epoch of the follower does not count.
        return _error_data(replica, fetch, KafkaError.NOT_LEADER_OR_FOLLOWER)
    last_epoch = fetch.last_fetched_epoch
    if last_epoch != UNDEFINED and (offset > leo or last_epoch != log.epochs.latest):
        diverging = divergence(log, fetch)
        if diverging == UNKNOWN:
            return _error_data(replica, fetch, KafkaError.OFFSET_OUT_OF_RANGE)
        if diverging is not None:
            if book and replica.profile.counts_diverging_fetches:
                # The follower is about to truncate below this offset (KAFKA-13141).
                leadership.update_follower_fetch_state(now, follower, remote, request.broker_epoch, fetch)
            no_records = Slice(offset, offset, ())
            return FetchData(fetch.partition, offset, 0, hw, log.log_start, replica.leader_epoch, no_records, diverging)
    if not log.log_start <= offset <= leo:
        return _error_data(replica, fetch, KafkaError.OFFSET_OUT_OF_RANGE)
    records = Slice(offset, offset, ()) if offset == leo else log.read(offset, leo, request.max_bytes)
    if replica.damages:
        records = with_corruption(records, replica.damages)
    if book:
        leadership.update_follower_fetch_state(now, follower, remote, request.broker_epoch, fetch)
    return FetchData(fetch.partition, offset, 0, hw, log.log_start, replica.leader_epoch, records)


def count_if_caught_up(replica: Replica, request: FetchRequest, fetch: FetchPartition, now: int) -> bool:
    """Count the fetch of a follower that has everything; False, and nothing counted, if it needs a full read.

    This does what :func:`serve_fetch` does, without creating data that is not sent.
    """
    log = replica.log
    offset = fetch.offset
    leadership = replica.leadership
    if leadership is None or offset != log.leo:
        return False
    if requested_epoch(replica, request, fetch) not in (UNDEFINED, replica.leader_epoch):
        return False
    last_epoch = fetch.last_fetched_epoch
    if last_epoch not in (UNDEFINED, log.epochs.latest):
        return False
    follower = request.replica
    remote = leadership.remotes.get(follower)
    if remote is None:
        return False
    if replica.profile.kraft and -1 < request.broker_epoch < replica.metadata.live.get(follower, -1):
        return False
    leadership.update_follower_fetch_state(now, follower, remote, request.broker_epoch, fetch)
    return True


def caught_up_answer(replica: Replica, fetch: FetchPartition, hw: int) -> FetchData:
    """Return the data for a fetch that was counted without any; ``hw`` is the HW from before that."""
    offset = fetch.offset
    no_records = Slice(offset, offset, ())
    return FetchData(fetch.partition, offset, 0, hw, replica.log.log_start, replica.leader_epoch, no_records)


def _error_data(replica: Replica, fetch: FetchPartition, error: KafkaError) -> FetchData:
    """Return fetch data with an error."""
    no_records = Slice(fetch.offset, fetch.offset, ())
    return FetchData(fetch.partition, fetch.offset, error, -1, -1, replica.leader_epoch, no_records)


def has_unassigned(follower: int, requested: Iterable[FetchPartition], replicas: Mapping[str, Replica]) -> bool:
    """Whether a follower fetches a partition that this broker leads, and of which the follower is no replica."""
    return any(
        (replica := replicas.get(each.partition)) is not None
        and replica.leadership is not None
        and follower not in replica.leadership.remotes
        for each in requested
    )


def failed_data(fetch: FetchPartition) -> FetchData:
    """Return the data of a fetch that failed as a whole."""
    no_records = Slice(fetch.offset, fetch.offset, ())
    return FetchData(fetch.partition, fetch.offset, KafkaError.UNKNOWN_SERVER_ERROR, -1, -1, -1, no_records)


def has_news(data: FetchData) -> bool:
    """Whether the data is more than the HW, so that the fetch completes at once."""
    return (
        data.error != 0
        or data.diverging is not None
        or data.records.end > data.records.start
        or data.preferred != NO_LEADER
    )


def news_of_hw(replica: Replica, follower: int) -> bool:
    """Whether the HW is newer than the one last sent to a follower (KIP-392 in 2.4 and 2.5)."""
    remote = None if replica.leadership is None else replica.leadership.remotes.get(follower)
    return remote is not None and replica.hw > remote.sent_hw
