"""A consumer's fetches and their records until they are handed out (``Fetcher``, ``FetchCollector``).

There is at most one fetch under way to each broker. What a poll does not hand out stays buffered, and a partition with
anything buffered is not fetched again; the others are, so the next records are on their way while the application is
busy with the last ones. Errors too are dealt with by the poll that comes to them, in the order of arrival. What was
fetched for a position that the partition has left since is thrown away.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.fetch_sessions import SessionHandle
from cluster_model.clients.consumer.subscription_state import Positions
from cluster_model.clients.metadata import Metadata
from cluster_model.connections.network_client import NetworkClient
from cluster_model.log.batch_store import Lineage, Lineages
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    NOBODY,
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
# Markers never reach it. A consumer that reads committed data only also leaves out what was aborted: the broker sends
# it all the same, and says which transactions those are.


def handed_out(lineages: Lineages, records: Slice, aborted: Sequence[tuple[int, int]] = ()) -> Iterator[Range]:
    """The offsets to hand out, ascending; the position moves to the end of the answer whatever they are.

    ``aborted`` are (producer id, first offset) as the answer lists them; none for who reads uncommitted data too.
    Neighbouring batches are one range.
    """
    if not records.extents:
        return
    start = end = -1
    for low, high in _ranges(lineages, records, aborted):
        if low == end:
            end = high
            continue
        if start < end:
            yield start, end
        start, end = low, high
    if start < end:
        yield start, end


def _ranges(lineages: Lineages, records: Slice, aborted: Sequence[tuple[int, int]]) -> Iterator[Range]:
    cleaned = records.cleaned
    if not lineages.any_transactional(records.extents):
        yield from [(records.start, records.end)] if cleaned is None else cleaned.left(records.start, records.end)
        return
    coming = sorted(aborted, key=lambda each: each[1])
    gone: dict[int, None] = {}
    at = records.start
    for batch, end in lineages.batches_of(records.extents, records.end):
        start, at = at, end
        while coming and coming[0][1] < end:
            gone[coming.pop(0)[0]] = None
        if batch.kind >= ABORT:
            if batch.kind == ABORT and (cleaned is None or not cleaned.gone(batch)):
                gone.pop(batch.producer_id, None)
        elif batch.kind != TRANSACTIONAL or batch.producer_id not in gone:
            yield from [(start, end)] if cleaned is None else cleaned.left(start, end)


# Preferred read replicas and their leases (``SubscriptionState.preferredReadReplica``).


class PreferredReplicas:
    """KIP-392: partition → the follower to read from, until its lease ends or anything goes wrong there."""

    __slots__ = ("_lease_us", "_metadata", "_replicas")

    def __init__(self, metadata: Metadata, lease_us: int) -> None:
        """``lease_us`` is ``metadata.max.age.ms``: after that the leader is asked again."""
        self._metadata = metadata
        self._lease_us = lease_us
        self._replicas: dict[str, tuple[int, int]] = {}
        """Partition → (broker, end of its lease)."""

    def set(self, partition: str, broker: int, now: int) -> None:
        """The leader named a replica to read from."""
        self._replicas[partition] = (broker, now + self._lease_us)

    def source(self, partition: str, leader: int, now: int) -> int:
        """Whom to fetch from (``selectReadReplica``): a replica that metadata lacks is given up for ``leader``."""
        known = self._replicas.get(partition)
        if known is None:
            return leader
        broker, until = known
        if now >= until:
            del self._replicas[partition]
            return leader
        if not self._metadata.holds(partition, broker):
            del self._replicas[partition]
            self._metadata.refresh()
            return leader
        return broker

    def clear(self, partition: str) -> bool:
        """Something went wrong: the leader is next. False if there was none to give up."""
        return self._replicas.pop(partition, None) is not None

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._replicas.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._replicas = dict(saved)


_STAYS: Final = KafkaError.UNKNOWN_LEADER_EPOCH
"""The one error after which metadata is not asked for: the broker is behind, not the client."""


class PolledRecords(NamedTuple):
    """Records of one stint that a poll hands out: ``records`` of them from ``start`` on, the newest at ``last``."""

    partition: str
    source: int
    leader_epoch: int
    start: int
    records: int
    last: int
    appended: tuple["AppendedTogether", ...]
    """The same by the time at which they were appended."""
    stint: int
    """Which leader stint wrote them: with an offset the identity of a record."""


class AppendedTogether(NamedTuple):
    """The ``records`` of ``[start, end)`` that a poll hands out, which a leader appended at one time."""

    start: int
    end: int
    records: int
    appended_us: int


def appended_together(stint: Lineage, records: Slice, start: int, end: int) -> tuple[AppendedTogether, ...]:
    """Records of ``[start, end)`` that compaction left, by the time at which their leader appended them."""
    found: list[AppendedTogether] = []
    for low, high, at in stint.appended_together(start, end):
        records_left, last = high - low, high - 1
        if records.cleaned is not None:
            _end, records_left, last = records.cleaned.take(low, high, records_left)
        if records_left:
            found.append(AppendedTogether(found[-1].end if found else start, last + 1, records_left, at))
    return tuple(found)


class _Buffered:
    """An answer of which ``[at, ...)`` has not been handed out."""

    __slots__ = ("at", "data", "source")

    def __init__(self, source: int, data: FetchData, at: int) -> None:
        self.source = source
        self.data = data
        self.at = at


class Fetcher:
    """Fetches for one consumer."""

    __slots__ = (
        "_asked", "_backing_off", "_buffered", "_config", "_correlation", "_keeps", "_lineages", "_metadata",
        "_outstanding", "_port", "_positions", "_profile", "_rack", "_sessions", "preferred",
    )  # fmt: skip

    def __init__(
        self,
        port: NetworkClient,
        profile: Profile,
        config: ConsumerConfig,
        metadata: Metadata,
        positions: Positions,
        lineages: dict[str, Lineages],
    ) -> None:
        """``lineages`` is where the records that a fetch names are kept: what a real answer carries as bytes."""
        self._port = port
        self._profile = profile
        self._config = config
        self._metadata = metadata
        self._positions = positions
        self._lineages = lineages
        self._keeps = profile.client.keeps_paused
        self._rack = config.rack if profile.reads_from_followers else ""
        self._correlation = port.first_number
        self._outstanding: dict[int, tuple[int, int]] = {}
        """Broker → (correlation, sent at): one fetch under way to each."""
        self._asked: dict[int, tuple[FetchPartition, ...]] = {}
        self._sessions: dict[int, SessionHandle] = {}
        """Broker → the fetch session there."""
        self._backing_off: dict[str, int] = {}
        self._buffered: list[_Buffered] = []
        """Oldest first."""
        self.preferred = PreferredReplicas(metadata, config.metadata_age_us)
        positions.on_new_leader = self.preferred.clear

    def busy(self, broker: int) -> bool:
        """Whether a fetch is under way to a broker."""
        return broker in self._outstanding

    # --- asking

    def send(self) -> None:
        """Fetch from every broker to be read that has no fetch under way (``prepareFetchRequests``)."""
        now = self._port.now
        positions, metadata = self._positions, self._metadata
        waiting = {entry.data.partition for entry in self._buffered}
        by_source: dict[int, list[FetchPartition]] = {}
        for partition in positions.assigned:
            leader = metadata.leader(partition)
            if leader == NOBODY:
                metadata.refresh()
                continue
            if partition in waiting or not positions.fetchable(partition) or self._backing_off.get(partition, 0) > now:
                continue
            source = self.preferred.source(partition, leader, now)
            if source not in self._outstanding and not self._port.is_unavailable(source):
                epoch = metadata.epoch(partition) if self._profile.kip_320 else -1
                asked = FetchPartition(partition, positions.offsets[partition], epoch, -1)
                by_source.setdefault(source, []).append(asked)
        for source, partitions in by_source.items():
            self._fetch(source, tuple(partitions), now)

    def _fetch(self, source: int, partitions: tuple[FetchPartition, ...], now: int) -> None:
        self._correlation += 1
        self._outstanding[source] = (self._correlation, now)
        self._asked[source] = partitions
        session = self._sessions.get(source)
        if session is None:
            session = self._sessions[source] = SessionHandle(uses_sessions=self._profile.fetch_sessions)
        config = self._config
        request = FetchRequest(
            self._correlation, CONSUMER, -1, config.fetch_wait_us, config.fetch_bytes, partitions, rack=self._rack,
            session_id=session.id, session_epoch=session.epoch, min_bytes=config.fetch_min_bytes,
            response_max_bytes=config.fetch_max_bytes,
            isolation=READ_COMMITTED if config.committed_only else READ_UNCOMMITTED,
        )  # fmt: skip
        self._port.send(source, request)

    def due(self) -> int:
        """When a fetch is to be sent, or given up, -1 never."""
        now, timeout = self._port.now, self._config.request_timeout_us
        times = [sent_at + timeout for _correlation, sent_at in self._outstanding.values()]
        times += [at for at in self._backing_off.values() if at > now]
        return min(times, default=-1)

    def overdue(self, now: int) -> list[int]:
        """Brokers that have not answered in time."""
        timeout = self._config.request_timeout_us
        return [broker for broker, (_correlation, sent_at) in self._outstanding.items() if now - sent_at >= timeout]

    def lost(self, broker: int) -> None:
        """A fetch under way to a broker will not be answered."""
        if self._outstanding.pop(broker, None) is not None:
            self._sessions[broker].lost()
            for asked in self._asked.pop(broker, ()):
                self.preferred.clear(asked.partition)
                self._back_off(asked.partition)

    def _back_off(self, partition: str) -> None:
        self._backing_off[partition] = self._port.now + self._config.backoff_us

    # --- answers

    def answered(self, source: int, response: FetchResponse) -> bool:
        """Buffer an answer; False if it is not the one waited for."""
        if self._outstanding.get(source, (0, 0))[0] != response.correlation:
            return False
        del self._outstanding[source]
        self._asked.pop(source, None)
        if self._sessions[source].answered(response):
            for answer in response.partitions:
                data = self._checked(answer) if answer.records.damages else answer
                if data.current is not None:
                    self._metadata.learn(data.partition, data.current)
                if data.error or data.preferred != NOBODY or data.records.end > data.records.start:
                    self._buffered.append(_Buffered(source, data, data.offset))
        return True

    def _checked(self, data: FetchData) -> FetchData:
        """An answer with a damaged batch in it, up to there: the poll that comes to it fails, whatever came behind.

        What lies before it is handed out first, and the position stays at it.
        """
        records = readable(data.records, checks=self._config.check_crcs)
        if records.end == records.start:
            return data._replace(records=records, error=KafkaError.CORRUPT_MESSAGE)
        return data._replace(records=records)

    def collect(self, most: int) -> list[PolledRecords]:
        """Up to ``most`` records, oldest first (``collectFetch``).

        An error that the application must be told of ends it; where there are records already, the next poll throws.
        """
        positions = self._positions
        handed: list[PolledRecords] = []
        kept: list[_Buffered] = []
        while self._buffered and most > 0 and not positions.failure:
            entry = self._buffered[0]
            data = entry.data
            partition = data.partition
            if self._keeps and partition in positions.paused:
                kept.append(self._buffered.pop(0))
            elif not positions.fetchable(partition) or positions.offsets[partition] != entry.at:
                self._buffered.pop(0)
            elif data.error:
                self._buffered.pop(0)
                self._refused(data)
                positions.put_last(partition)
            elif data.preferred != NOBODY:
                self._buffered.pop(0)
                self.preferred.set(partition, data.preferred, self._port.now)
            else:
                for taken in self._take(entry, most):
                    handed.append(taken)
                    most -= taken.records
                if entry.at >= data.records.end:
                    self._buffered.pop(0)
                    positions.put_last(partition)
        self._buffered += kept
        return handed

    def _take(self, entry: _Buffered, most: int) -> list[PolledRecords]:
        data = entry.data
        records = data.records
        if self._lineages[data.partition].any_transactional(records.extents):
            return self._take_readable(entry, most)
        start = entry.at
        end = min(records.end, start + most)
        if records.cleaned is not None:
            end = records.cleaned.take(start, records.end, most)[0]
        lineages = self._lineages[data.partition].by_id
        newest = next(lineage for first, lineage in reversed(records.extents) if first <= end - 1)
        entry.at = end
        self._positions.advance(data.partition, end, lineages[newest].epoch)
        return self._handed(entry, start, end)

    def _take_readable(self, entry: _Buffered, most: int) -> list[PolledRecords]:
        """Of an answer with transactions in it: what is neither a marker nor, by isolation, aborted.

        Behind the last record of all the position goes on to the end of the answer.
        """
        data, records = entry.data, entry.data.records
        lineages = self._lineages[data.partition]
        ranges: list[Range] = []
        end = records.end
        for first, high in handed_out(lineages, records, data.aborted):
            low = max(first, entry.at)
            if low >= high:
                continue
            if most:
                ranges.append((low, min(high, low + most)))
                most -= ranges[-1][1] - low
            if ranges[-1][1] < high:
                end = ranges[-1][1]
                break
        handed = [part for low, high in ranges for part in self._handed(entry, low, high)]
        newest = next(lineage for first, lineage in reversed(records.extents) if first <= end - 1)
        entry.at = end
        self._positions.advance(data.partition, end, lineages.by_id[newest].epoch)
        return handed

    def _handed(self, entry: _Buffered, start: int, end: int) -> list[PolledRecords]:
        """What compaction left of ``[start, end)``, by the stints that wrote it."""
        extents = entry.data.records.extents
        first, stint = extents[-1]
        if first <= start:
            return self._of_stint(entry, start, end, stint)
        handed: list[PolledRecords] = []
        for index, (first, stint) in enumerate(extents):
            low = max(first, start)
            high = min(extents[index + 1][0], end) if index + 1 < len(extents) else end
            if low < high:
                handed += self._of_stint(entry, low, high, stint)
        return handed

    def _of_stint(self, entry: _Buffered, start: int, end: int, stint: int) -> list[PolledRecords]:
        data = entry.data
        appended = appended_together(self._lineages[data.partition].by_id[stint], data.records, start, end)
        if not appended:
            return []
        count, last = sum([each.records for each in appended]), appended[-1].end - 1
        return [PolledRecords(data.partition, entry.source, data.leader_epoch, start, count, last, appended, stint)]

    def _refused(self, data: FetchData) -> None:
        """``handleInitializeErrors``."""
        if data.error == KafkaError.CORRUPT_MESSAGE:
            # Kafka wraps it in a KafkaException that says "seek past the record to continue consumption".
            self._positions.failure = "CorruptRecordException"
            return
        from_follower = self.preferred.clear(data.partition)
        if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
            if not from_follower:  # Only the leader's word on that counts: else it is asked next.
                self._positions.out_of_range(data.partition)
            return
        if not self._metadata.learn(data.partition, data.current):
            self._back_off(data.partition)
        if data.error != _STAYS:
            self._metadata.refresh()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self._correlation, tuple(self._outstanding.items()), tuple(self._asked.items()),
            tuple([(broker, session.save()) for broker, session in self._sessions.items()]),
            tuple(self._backing_off.items()),
            tuple([(entry.source, entry.data, entry.at) for entry in self._buffered]), self.preferred.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._correlation, outstanding, asked, sessions, backing_off, buffered, preferred = saved
        self._outstanding = dict(outstanding)
        self._asked = dict(asked)
        self._backing_off = dict(backing_off)
        self._buffered = [_Buffered(*entry) for entry in buffered]
        self.preferred.load(preferred)
        self._sessions.clear()
        for broker, session in sessions:
            self._sessions[broker] = SessionHandle(uses_sessions=self._profile.fetch_sessions)
            self._sessions[broker].load(session)
