"""A consumer's fetches and fetched records until a poll returns them (``Fetcher``, ``FetchCollector``).

There is at most one fetch in flight to each broker. Records that a poll does not return stay buffered, and a partition
with buffered records is not fetched; the others are, so the next records are in flight while the application processes
the last ones. Errors are also handled by the poll that reaches them, in the order of arrival. Records fetched for a
position that has changed since are discarded.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.fetch_sessions import FetchSessionHandler
from cluster_model.clients.consumer.subscription_state import SubscriptionState
from cluster_model.clients.metadata import Metadata
from cluster_model.connections.network_client import NetworkClient
from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    NO_LEADER,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from cluster_model.protocol.records import ABORT, TRANSACTIONAL, Slice, readable
from cluster_model.protocol.versions import Profile
from cluster_model.util.ranges import Range

# Records of a fetch response that the application may see (``CompletedFetch.nextFetchedRecord``, KIP-98).
#
# Transaction markers never do. A read_committed consumer also filters out aborted records: the broker sends them
# together with a list of the aborted transactions.


def visible_ranges(
    epoch_branches: BatchStore, records: Slice, aborted: Sequence[tuple[int, int]] = ()
) -> Iterator[Range]:
    """Yield the ranges of visible offsets, ascending; the position moves to the end of the response in any case.

    ``aborted`` are the (producer id, first offset) of the response, empty for a read_uncommitted consumer.
    Neighbouring batches are one range.
    """
    if not records.extents:
        return
    start = end = -1
    for low, high in _ranges(epoch_branches, records, aborted):
        if low == end:
            end = high
            continue
        if start < end:
            yield start, end
        start, end = low, high
    if start < end:
        yield start, end


def _ranges(epoch_branches: BatchStore, records: Slice, aborted: Sequence[tuple[int, int]]) -> Iterator[Range]:
    cleaned = records.cleaned
    if not epoch_branches.any_transactional(records.extents):
        yield from [(records.start, records.end)] if cleaned is None else cleaned.remaining(records.start, records.end)
        return
    coming = sorted(aborted, key=lambda each: each[1])
    aborting: dict[int, None] = {}
    at = records.start
    for batch, end in epoch_branches.batches_of(records.extents, records.end):
        start, at = at, end
        while coming and coming[0][1] < end:
            aborting[coming.pop(0)[0]] = None
        if batch.kind >= ABORT:
            if batch.kind == ABORT and (cleaned is None or not cleaned.is_removed(batch)):
                aborting.pop(batch.producer_id, None)
        elif batch.kind != TRANSACTIONAL or batch.producer_id not in aborting:
            yield from [(start, end)] if cleaned is None else cleaned.remaining(start, end)


# Preferred read replicas and their leases (``SubscriptionState.preferredReadReplica``).


class PreferredReplicas:
    """Preferred read replicas by partition (KIP-392), each until its lease ends or an error occurs there."""

    __slots__ = ("_lease_us", "_metadata", "_replicas")

    def __init__(self, metadata: Metadata, lease_us: int) -> None:
        """Make it empty; ``lease_us`` is ``metadata.max.age.ms``: after it the leader is fetched from again."""
        self._metadata = metadata
        self._lease_us = lease_us
        self._replicas: dict[str, tuple[int, int]] = {}
        """Partition → (broker, end of its lease)."""

    def set(self, partition: str, broker: int, now: int) -> None:
        """Set the replica named by the leader."""
        self._replicas[partition] = (broker, now + self._lease_us)

    def source(self, partition: str, leader: int, now: int) -> int:
        """Return the broker to fetch from (``selectReadReplica``): ``leader`` if metadata lacks the preferred one."""
        known = self._replicas.get(partition)
        if known is None:
            return leader
        broker, until = known
        if now >= until:
            del self._replicas[partition]
            return leader
        if not self._metadata.has_online_replica(partition, broker):
            del self._replicas[partition]
            self._metadata.refresh()
            return leader
        return broker

    def clear(self, partition: str) -> bool:
        """Return to the leader after an error; return False if there was no preferred replica."""
        return self._replicas.pop(partition, None) is not None

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return tuple(self._replicas.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._replicas = dict(saved)


_METADATA_IS_CURRENT: Final = KafkaError.UNKNOWN_LEADER_EPOCH
"""The only error after which metadata is not refreshed: the broker is behind, not the client."""


class PolledRecords(NamedTuple):
    """Records of one log branch returned by a poll: ``records`` of them from ``start`` on, the newest at ``last``."""

    partition: str
    source: int
    leader_epoch: int
    start: int
    records: int
    last: int
    appended: tuple["RecordsByAppendTime", ...]
    """The records grouped by the time of their append."""
    log_branch: int
    """The log branch they are from: with an offset it identifies a record."""


class RecordsByAppendTime(NamedTuple):
    """The ``records`` visible records of ``[start, end)``, which a leader appended at one time."""

    start: int
    end: int
    records: int
    appended_us: int


def by_append_time(log_branch: EpochBranch, records: Slice, start: int, end: int) -> tuple[RecordsByAppendTime, ...]:
    """Group the records of ``[start, end)`` left by compaction by the time of their append."""
    runs: list[RecordsByAppendTime] = []
    for low, high, at in log_branch.appended_together(start, end):
        records_left, last = high - low, high - 1
        if records.cleaned is not None:
            _end, records_left, last = records.cleaned.take(low, high, records_left)
        if records_left:
            runs.append(RecordsByAppendTime(runs[-1].end if runs else start, last + 1, records_left, at))
    return tuple(runs)


class _Buffered:
    """A fetched partition whose records from ``at`` on were not yet returned by a poll."""

    __slots__ = ("at", "data", "source")

    def __init__(self, source: int, data: FetchData, at: int) -> None:
        self.source = source
        self.data = data
        self.at = at


class Fetcher:
    """The fetches of one consumer, its fetch sessions and buffered records."""

    __slots__ = (
        "_backing_off", "_buffered", "_config", "_correlation", "_epoch_branches", "_keeps_paused", "_metadata",
        "_outstanding", "_port", "_positions", "_profile", "_rack", "_requested", "_sends_epochs", "_sessions",
        "preferred",
    )  # fmt: skip

    def __init__(
        self,
        port: NetworkClient,
        profile: Profile,
        config: ConsumerConfig,
        metadata: Metadata,
        positions: SubscriptionState,
        epoch_branches: dict[str, BatchStore],
    ) -> None:
        """Create it; ``epoch_branches`` store the records that a fetch response refers to, instead of bytes."""
        self._port = port
        self._profile = profile
        self._config = config
        self._metadata = metadata
        self._positions = positions
        self._epoch_branches = epoch_branches
        self._keeps_paused = profile.client.keeps_paused
        self._sends_epochs = profile.kip_320 and profile.client.detects_truncation
        self._rack = config.rack if profile.reads_from_followers else ""
        self._correlation = port.first_number
        self._outstanding: dict[int, tuple[int, int]] = {}
        """Broker → (correlation, sent at) of the fetch in flight to it."""
        self._requested: dict[int, tuple[FetchPartition, ...]] = {}
        self._sessions: dict[int, FetchSessionHandler] = {}
        """Broker → fetch session."""
        self._backing_off: dict[str, int] = {}
        self._buffered: list[_Buffered] = []
        """Oldest first."""
        self.preferred = PreferredReplicas(metadata, config.metadata_age_us)
        positions.on_new_leader = self.preferred.clear

    def busy(self, broker: int) -> bool:
        """Return whether a fetch is in flight to a broker."""
        return broker in self._outstanding

    @property
    def has_records(self) -> bool:
        """Whether the next poll finds fetched records, without waiting for a response."""
        return any(entry.data.records.end > entry.at for entry in self._buffered)

    # --- requests

    def send(self) -> None:
        """Send a fetch to every broker to read from without a fetch in flight (``prepareFetchRequests``)."""
        now = self._port.now
        positions, metadata = self._positions, self._metadata
        waiting = {entry.data.partition for entry in self._buffered}
        by_source: dict[int, list[FetchPartition]] = {}
        for partition in positions.assigned:
            leader = metadata.leader(partition)
            if leader == NO_LEADER:
                metadata.refresh()
                continue
            if partition in waiting or not positions.fetchable(partition) or self._backing_off.get(partition, 0) > now:
                continue
            source = self.preferred.source(partition, leader, now)
            if source not in self._outstanding and not self._port.is_unavailable(source):
                epoch = metadata.epoch(partition) if self._sends_epochs else -1
                fetch = FetchPartition(partition, positions.offsets[partition], epoch, -1)
                by_source.setdefault(source, []).append(fetch)
        for source, partitions in by_source.items():
            self._fetch(source, tuple(partitions), now)

    def _fetch(self, source: int, partitions: tuple[FetchPartition, ...], now: int) -> None:
        self._correlation += 1
        self._outstanding[source] = (self._correlation, now)
        self._requested[source] = partitions
        session = self._sessions.get(source)
        if session is None:
            session = self._sessions[source] = FetchSessionHandler(uses_sessions=self._profile.fetch_sessions)
        config = self._config
        request = FetchRequest(
            self._correlation, CONSUMER, -1, config.fetch_wait_us, config.fetch_bytes, partitions, rack=self._rack,
            session_id=session.id, session_epoch=session.epoch, min_bytes=config.fetch_min_bytes,
            response_max_bytes=config.fetch_max_bytes,
            isolation=READ_COMMITTED if config.committed_only else READ_UNCOMMITTED,
        )  # fmt: skip
        self._port.send(source, request)

    def next_action_us(self) -> int:
        """Return when a fetch is to be sent or times out, -1 for never."""
        now, timeout = self._port.now, self._config.request_timeout_us
        times = [sent_at + timeout for _correlation, sent_at in self._outstanding.values()]
        times += [at for at in self._backing_off.values() if at > now]
        return min(times, default=-1)

    def overdue(self, now: int) -> list[int]:
        """Return the brokers whose fetches timed out."""
        timeout = self._config.request_timeout_us
        return [broker for broker, (_correlation, sent_at) in self._outstanding.items() if now - sent_at >= timeout]

    def on_disconnect(self, broker: int) -> None:
        """Handle the failure of the fetch in flight to a broker."""
        if self._outstanding.pop(broker, None) is not None:
            self._sessions[broker].on_error()
            for fetch in self._requested.pop(broker, ()):
                self.preferred.clear(fetch.partition)
                self._back_off(fetch.partition)

    def _back_off(self, partition: str) -> None:
        self._backing_off[partition] = self._port.now + self._config.backoff_us

    # --- responses

    def on_response(self, source: int, response: FetchResponse) -> bool:
        """Buffer a response; return False if it is not the expected one."""
        if self._outstanding.get(source, (0, 0))[0] != response.correlation_id:
            return False
        del self._outstanding[source]
        self._requested.pop(source, None)
        if self._sessions[source].on_response(response):
            for answer in response.partitions:
                data = self._clip_corrupt(answer) if answer.records.damages else answer
                if data.current is not None:
                    self._metadata.learn(data.partition, data.current)
                if data.error or data.preferred != NO_LEADER or data.records.end > data.records.start:
                    self._buffered.append(_Buffered(source, data, data.offset))
        return True

    def _clip_corrupt(self, data: FetchData) -> FetchData:
        """Clip a response with a corrupt batch to the records before it: a poll that reaches the batch fails.

        The records before it are returned first, and the position stays at the batch.
        """
        records = readable(data.records, checks=self._config.check_crcs)
        if records.end == records.start:
            return data._replace(records=records, error=KafkaError.CORRUPT_MESSAGE)
        return data._replace(records=records)

    def collect(self, limit: int) -> list[PolledRecords]:
        """Return up to ``limit`` records, oldest first (``collectFetch``).

        It ends at an error for the application; if there are records already, the next poll throws it.
        """
        positions = self._positions
        polled: list[PolledRecords] = []
        kept: list[_Buffered] = []
        while self._buffered and limit > 0 and not positions.failure:
            entry = self._buffered[0]
            data = entry.data
            partition = data.partition
            if self._keeps_paused and partition in positions.paused:
                kept.append(self._buffered.pop(0))
            elif not positions.fetchable(partition) or positions.offsets[partition] != entry.at:
                self._buffered.pop(0)
            elif data.error:
                self._buffered.pop(0)
                self._handle_error(data)
                positions.put_last(partition)
            elif data.preferred != NO_LEADER:
                self._buffered.pop(0)
                self.preferred.set(partition, data.preferred, self._port.now)
            else:
                for taken in self._take(entry, limit):
                    polled.append(taken)
                    limit -= taken.records
                if entry.at >= data.records.end:
                    self._buffered.pop(0)
                    positions.put_last(partition)
        self._buffered += kept
        return polled

    def _take(self, entry: _Buffered, limit: int) -> list[PolledRecords]:
        data = entry.data
        records = data.records
        if self._epoch_branches[data.partition].any_transactional(records.extents):
            return self._take_readable(entry, limit)
        start = entry.at
        end = min(records.end, start + limit)
        if records.cleaned is not None:
            end = records.cleaned.take(start, records.end, limit)[0]
        epoch_branches = self._epoch_branches[data.partition].by_id
        newest = next(epoch_branch for first, epoch_branch in reversed(records.extents) if first <= end - 1)
        entry.at = end
        self._positions.advance(data.partition, end, epoch_branches[newest].epoch)
        return self._polled(entry, start, end)

    def _take_readable(self, entry: _Buffered, limit: int) -> list[PolledRecords]:
        """Take records of a response with transactions, without markers and, by isolation, aborted records.

        After the last visible record the position moves to the end of the response.
        """
        data, records = entry.data, entry.data.records
        epoch_branches = self._epoch_branches[data.partition]
        ranges: list[Range] = []
        end = records.end
        for first, high in visible_ranges(epoch_branches, records, data.aborted):
            low = max(first, entry.at)
            if low >= high:
                continue
            if limit:
                ranges.append((low, min(high, low + limit)))
                limit -= ranges[-1][1] - low
            if ranges[-1][1] < high:
                end = ranges[-1][1]
                break
        polled = [part for low, high in ranges for part in self._polled(entry, low, high)]
        newest = next(epoch_branch for first, epoch_branch in reversed(records.extents) if first <= end - 1)
        entry.at = end
        self._positions.advance(data.partition, end, epoch_branches.by_id[newest].epoch)
        return polled

    def _polled(self, entry: _Buffered, start: int, end: int) -> list[PolledRecords]:
        """Return the records of ``[start, end)`` left by compaction, by log branch."""
        extents = entry.data.records.extents
        first, log_branch = extents[-1]
        if first <= start:
            return self._of_log_branch(entry, start, end, log_branch)
        polled: list[PolledRecords] = []
        for index, (first, log_branch) in enumerate(extents):
            low = max(first, start)
            high = min(extents[index + 1][0], end) if index + 1 < len(extents) else end
            if low < high:
                polled += self._of_log_branch(entry, low, high, log_branch)
        return polled

    def _of_log_branch(self, entry: _Buffered, start: int, end: int, log_branch: int) -> list[PolledRecords]:
        data = entry.data
        appended = by_append_time(self._epoch_branches[data.partition].by_id[log_branch], data.records, start, end)
        if not appended:
            return []
        count, last = sum([each.records for each in appended]), appended[-1].end - 1
        return [
            PolledRecords(data.partition, entry.source, data.leader_epoch, start, count, last, appended, log_branch)
        ]

    def _handle_error(self, data: FetchData) -> None:
        """Handle an error of a partition (``handleInitializeErrors``)."""
        if data.error == KafkaError.CORRUPT_MESSAGE:
            # Kafka wraps it in a KafkaException that says "seek past the record to continue consumption".
            self._positions.failure = "CorruptRecordException"
            return
        from_follower = self.preferred.clear(data.partition)
        if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
            if not from_follower:  # Only the leader decides this: after a follower's error the leader is fetched from.
                self._positions.out_of_range(data.partition)
            return
        if not self._metadata.learn(data.partition, data.current):
            self._back_off(data.partition)
        if data.error != _METADATA_IS_CURRENT:
            self._metadata.refresh()

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self._correlation, tuple(self._outstanding.items()), tuple(self._requested.items()),
            tuple([(broker, session.save()) for broker, session in self._sessions.items()]),
            tuple(self._backing_off.items()),
            tuple([(entry.source, entry.data, entry.at) for entry in self._buffered]), self.preferred.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._correlation, outstanding, requested, sessions, backing_off, buffered, preferred = saved
        self._outstanding = dict(outstanding)
        self._requested = dict(requested)
        self._backing_off = dict(backing_off)
        self._buffered = [_Buffered(*entry) for entry in buffered]
        self.preferred.load(preferred)
        self._sessions.clear()
        for broker, session in sessions:
            self._sessions[broker] = FetchSessionHandler(uses_sessions=self._profile.fetch_sessions)
            self._sessions[broker].load(session)
