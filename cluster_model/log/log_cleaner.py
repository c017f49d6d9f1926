"""Compaction and retention of one replica's log (``LogCleanerManager``, ``Cleaner``).

Nothing at or above the last stable offset is cleaned (up to 3.0 only an open transaction is a limit), nothing in the
active segment, nothing younger than ``min.compaction.lag.ms``. A pass maps the newest offset of every key in the dirty
part, then drops from all older segments each record for which the map has a newer one. Offsets, log end, high watermark
and epoch cache do not change.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from cluster_model.log.record_keys import Key, keys_of
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import INT32_MAX, NO_TIMESTAMP, NO_TIMESTAMPS, Segment
from cluster_model.protocol.configs import NEVER
from cluster_model.protocol.records import ABORT, Batch, CleanerInput, CompactionOverlay
from cluster_model.util.ranges import Range, union

# Markers that compaction may drop: those of transactions without remaining batches (``CleanedTransactionMetadata``).
#
# A transaction has remaining batches if a pass meets one of them, even if all its records are dropped in that very
# pass: its marker is therefore empty in the next pass at the earliest. From then on it is kept for
# ``delete.retention.ms``, like a tombstone.
#
# The last batch of a producer that is still known (``producer.id.expiration.ms``) is kept as an empty one, for its
# sequence number; so its last transaction always has a remaining batch, and of an epoch with only markers the last one
# stays.


Bases = dict[int, None]
"""Base offsets of batches."""


class _Last(NamedTuple):
    """State of a producer: its epoch, its last write, and its last data batch in that epoch, -1 for none."""

    epoch: int
    at_us: int
    base: int


def empty_markers(log: ReplicaLog, end: int, now: int, expiry_us: int) -> Bases:
    """Return the base offsets of markers below ``end`` whose transaction has no remaining batch."""
    if not log.epoch_branches.any_transactional(log.extents):
        return {}
    markers = _unexpired_producers(log, now, expiry_us)
    first = log.segments.first_base
    has_data: dict[int, None] = {}
    empty: Bases = {}
    for _epoch_branch, batch, _start, _end in log.batches_between(first, end):
        producer = batch.producer_id
        last = markers.get(producer)
        if batch.kind >= ABORT:
            only_markers = last is not None and last.base < 0 and last.epoch == batch.producer_epoch
            if producer not in has_data and not only_markers:
                empty[batch.base] = None
            has_data.pop(producer, None)
        elif batch.kind and (not _is_removed(log, batch) or (last is not None and last.base == batch.base)):
            has_data[producer] = None
    return empty


def _unexpired_producers(log: ReplicaLog, now: int, expiry_us: int) -> dict[int, _Last]:
    """Return the transactional producers that have not expired (``ProducerStateManager.lastRecords``)."""
    last_batches: dict[int, _Last] = {}
    for _epoch_branch, batch, _start, _end in log.batches():
        if batch.kind:
            before = last_batches.get(batch.producer_id)
            base = before.base if before is not None and before.epoch == batch.producer_epoch else -1
            data = batch.kind < ABORT
            last_batches[batch.producer_id] = _Last(
                batch.producer_epoch, batch.appended_us, batch.base if data else base
            )
    return {producer: last for producer, last in last_batches.items() if now - last.at_us < expiry_us}


def _is_removed(log: ReplicaLog, batch: Batch) -> bool:
    return log.cleaned is not None and log.cleaned.is_removed(batch)


_MILLION: Final = 1_000_000


class LogToClean(NamedTuple):
    """Candidate of a pass: dirty offsets ``[first_dirty, first_uncleanable)``, and bytes before and in them.

    ``overdue``: a dirty record is older than ``max.compaction.lag.ms``.
    """

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool

    @property
    def dirty_ppm(self) -> int:
        """Dirty share of the cleanable bytes, in millionths."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes * _MILLION // total if total else 0


class CleanResult(NamedTuple):
    """Result of a pass: new checkpoint, number of records removed, bytes read, and the cleaned segments."""

    first_dirty: int
    cleaned_to: int
    removed: int
    read_bytes: int
    swept: CleanerInput


def _newest(segment: Segment) -> int:
    """Return the segment's largest timestamp (``LogSegment.largestTimestamp``)."""
    return segment.newest_us if segment.newest_us not in NO_TIMESTAMPS else segment.modified_us


def to_clean(log: ReplicaLog, stable: int, checkpoint: int, now: int) -> LogToClean | None:
    """Return what there is to clean, None if it is not dirty enough (``grabFilthiestCompactedLog``).

    ``stable`` is the last stable offset, or what the release takes for it. ``checkpoint`` is the first dirty offset of
    ``cleaner-offset-checkpoint``; one outside the log counts as the log start.
    """
    rules = log.rules
    first_dirty = checkpoint if log.log_start <= checkpoint <= log.leo else log.log_start
    sealed = log.segments.sealed
    bound = min(stable, log.segments.base)
    if rules.min_lag_us:
        young = (segment.base for segment in _from(sealed, first_dirty) if _newest(segment) > now - rules.min_lag_us)
        bound = min(bound, next(young, bound))
    # Whole segments only: the one that holds the first uncleanable offset is not cleaned.
    cleanable = [segment for index, segment in enumerate(sealed) if _end_of(log, index) <= bound]
    end = _end_of(log, len(cleanable) - 1) if cleanable else first_dirty
    dirty = [segment for segment in _from(cleanable, first_dirty) if segment.base < end]
    clean_bytes = sum(segment.size for segment in cleanable) - sum(segment.size for segment in dirty)
    timestamps = [segment.first_us for segment in _from(sealed, first_dirty) if segment.first_us not in NO_TIMESTAMPS]
    overdue = bool(timestamps) and min(timestamps) < now - rules.max_lag_us
    candidate = LogToClean(first_dirty, end, clean_bytes, sum(segment.size for segment in dirty), overdue)
    if not candidate.dirty_bytes or end <= first_dirty:
        return None
    dirtier = candidate.dirty_bytes * _MILLION > rules.min_dirty_ppm * (candidate.clean_bytes + candidate.dirty_bytes)
    return candidate if dirtier or overdue else None


def _from(segments: list[Segment], offset: int) -> list[Segment]:
    """Return the segments from the one that holds ``offset`` on."""
    first = next((index for index in range(len(segments) - 1, -1, -1) if segments[index].base <= offset), 0)
    return segments[first:]


def _end_of(log: ReplicaLog, index: int) -> int:
    sealed = log.segments.sealed
    return sealed[index + 1].base if index + 1 < len(sealed) else log.segments.base


def clean(
    log: ReplicaLog, work: LogToClean, now: int, *, room: int, horizons: bool, expiry_us: int = NEVER, ahead_us: int = 0
) -> CleanResult:
    """Run a cleaning pass (``Cleaner.doClean``).

    ``room`` is the number of keys in the offset map: a pass that fills it goes no further. ``horizons``: tombstones and
    empty markers expire by the time of the first cleaning that kept them (KIP-534, 3.1); before, by the age of their
    segment's file. ``expiry_us`` is how long an idle producer is known, ``ahead_us`` how far the clock is ahead.
    """
    newest, end = _offset_map(log, work, room)
    count = sum(segment.base < end for segment in log.segments.sealed)
    old = log.segments.sealed[:count]
    cleaned_end = _end_of(log, count - 1)
    clean_part = [segment for segment in old if segment.base < work.first_dirty]
    oldest_us = clean_part[-1].modified_us - log.rules.tombstone_us if clean_part else -1
    sweep = _Sweep(log, newest, end, now + ahead_us, empty_markers(log, cleaned_end, now, expiry_us), horizons=horizons)
    for index, segment in enumerate(old):
        sweep.segment(segment.base, _end_of(log, index), keeps_deletes=segment.modified_us > oldest_us)
    before = log.cleaned or CompactionOverlay()
    known = tuple(entry for entry in before.horizons if entry[0] >= cleaned_end)
    holes = (*sweep.holes, *before.within(cleaned_end, log.leo))
    cleaned = CompactionOverlay(tuple(union(holes)), (*sweep.horizons, *known))
    swept = CleanerInput(before, tuple([(segment.base, segment.modified_us) for segment in old]))
    log.cleaned = cleaned if cleaned.holes or cleaned.horizons else None
    log.transactions.forget_markers(sweep.dropped)
    log.replace_segments(count, [_regrouped(log, group) for group in _groups(log, old)], now)
    return CleanResult(work.first_dirty, end, sweep.removed, sum(segment.size for segment in old), swept)


def _records(log: ReplicaLog, start: int, end: int) -> Iterator[tuple[Batch, list[Range]]]:
    """Yield every batch with its remaining ranges in ``[start, end)``."""
    for _epoch_branch, batch, _size, low, high in log.kept_between(start, end):
        yield batch, log.remaining(low, high)


def _offset_map(log: ReplicaLog, work: LogToClean, room: int) -> tuple[dict[Key, int], int]:
    """Return the newest offset of every key in the dirty part, and the end of the mapped range (``buildOffsetMap``)."""
    newest: dict[Key, int] = {}
    models = log.epoch_branches.keys
    for batch, parts in _records(log, work.first_dirty, work.first_uncleanable):
        if batch.kind and (batch.kind >= ABORT or log.transactions.is_aborted(batch)):
            continue
        keys, base = keys_of(models, batch).keys, batch.base
        for low, high in parts:
            for offset, key in enumerate(keys[low - base : high - base], low):
                if key is not None:
                    if len(newest) >= room:
                        return newest, offset
                    newest[key] = offset
    return newest, work.first_uncleanable


def lacks_keys(log: ReplicaLog, end: int) -> bool:
    """Return whether any record below ``end`` has no key (``Cleaner.buildOffsetMapForSegment`` requires one)."""
    models = log.epoch_branches.keys
    return any(
        key is None
        for batch, parts in _records(log, log.log_start, end)
        for low, high in parts
        for key in keys_of(models, batch).keys[low - batch.base : high - batch.base]
    )


class _Sweep:
    """Scan of the old segments that collects what to drop (``Cleaner.cleanSegments``)."""

    def __init__(
        self, log: ReplicaLog, newest: dict[Key, int], end: int, now: int, empty: Bases, *, horizons: bool
    ) -> None:
        self.holes: list[Range] = []
        self.horizons: list[tuple[int, int]] = []
        self.removed = 0
        self.dropped: Bases = {}
        """Dropped markers."""
        self._log = log
        self._empty = empty
        self._newest = newest
        self._end = end
        self._now = now
        self._horizons = dict((log.cleaned or CompactionOverlay()).horizons) if horizons else None

    def segment(self, start: int, end: int, *, keeps_deletes: bool) -> None:
        """Scan one old segment; ``keeps_deletes`` applies to tombstones where there are no horizons."""
        if self._log.cleaned is not None:
            self.holes.extend(self._log.cleaned.within(start, end))
        for batch, parts in _records(self._log, start, end):
            horizon = None if self._horizons is None else self._horizons.get(batch.base)
            keeps = keeps_deletes if self._horizons is None else horizon is None or self._now < horizon
            if self._batch(batch, parts, keeps) and self._horizons is not None:
                due = self._now + self._log.rules.tombstone_us if horizon is None else horizon
                self.horizons.append((batch.base, due))

    def _batch(self, batch: Batch, parts: list[Range], keeps_deletes: bool) -> bool:
        """Drop records with a newer one or without a key (``Cleaner.shouldRetainRecord``); True if a tombstone stays.

        Aborted records are dropped; markers of transactions without remaining batches are dropped like tombstones.
        """
        if batch.kind >= ABORT:
            return self._marker(batch, keeps_deletes)
        aborted = batch.kind and self._log.transactions.is_aborted(batch)
        keys, deletes = keys_of(self._log.epoch_branches.keys, batch)
        newest, base = self._newest, batch.base
        stays = False
        for low, high in parts:
            mapped = max(low, min(high, self._end))
            for offset, key in enumerate(keys[low - base : mapped - base], low):
                gone = aborted or key is None or offset < newest.get(key, -1)
                if gone or (not keeps_deletes and offset - base in deletes):
                    self.holes.append((offset, offset + 1))
                    self.removed += 1
                elif deletes and offset - base in deletes:
                    stays = True
            if deletes and mapped < high:
                stays = stays or any(index in deletes for index in range(mapped - base, high - base))
        return stays

    def _marker(self, batch: Batch, keeps: bool) -> bool:
        """Drop an empty marker that has expired; True if an empty one stays for now."""
        if keeps or batch.base not in self._empty:
            return batch.base in self._empty
        self.holes.append((batch.base, batch.end))
        self.removed += 1
        self.dropped[batch.base] = None
        return False


def _groups(log: ReplicaLog, segments: list[Segment]) -> Iterator[tuple[list[Segment], int]]:
    """Yield adjacent segments that fit into one, by their old sizes, with their end (``groupSegmentsBySize``)."""
    group: list[Segment] = []
    for index, segment in enumerate(segments):
        full = sum(segment_in_group.size for segment_in_group in group) + segment.size > log.rules.segment_bytes
        if group and (full or _end_of(log, index) - 1 - group[0].base > INT32_MAX):
            yield group, segment.base
            group = []
        group.append(segment)
    yield group, _end_of(log, len(segments) - 1)


def _regrouped(log: ReplicaLog, group: tuple[list[Segment], int]) -> Segment:
    """Return one segment with the remaining batches of several; its file has the time of the last one."""
    segments, end = group
    remaining = [(batch, size) for _l, batch, size, _s, _e in log.kept_between(segments[0].base, end)]
    stamps = [batch.timestamp_us for batch, _size in remaining]
    return Segment(
        segments[0].base,
        sum(size for _batch, size in remaining),
        stamps[0] if stamps else NO_TIMESTAMP,
        max(stamps, default=NO_TIMESTAMP),
        segments[0].created_us,
        segments[-1].modified_us,
    )


# Retention: which segments are deleted by size or age (``UnifiedLog.deleteOldSegments``).
#
# The oldest goes first, up to the first one that may stay. A segment is deleted only when the high watermark has passed
# its end, so nothing uncommitted is ever deleted. By size and by age the active segment may be deleted too, if it is
# not empty: a new one is rolled first.


BY_SIZE: Final = "retention.bytes"
BY_TIME: Final = "retention.ms"

_Predicate = Callable[[Segment, int], bool]
"""Whether a segment is deleted; the second argument is the base of the next one, -1 for the active segment."""


def _deletable(log: ReplicaLog, hw: int, goes: _Predicate) -> int:
    """Return how many of the oldest segments are to be deleted (``UnifiedLog.deletableSegments``)."""
    segments = log.segments.all
    for index, segment in enumerate(segments):
        last = index + 1 == len(segments)
        following = -1 if last else segments[index + 1].base
        end = log.leo if last else following
        if hw < end or (last and not segment.size) or not goes(segment, following):
            return index
    return len(segments)


def _over_size(log: ReplicaLog) -> _Predicate:
    """Return a predicate that deletes while the rest still holds ``retention.bytes``."""
    over = log.segments.total - log.rules.retention_bytes

    def goes(segment: Segment, _following: int) -> bool:
        nonlocal over
        if over - segment.size < 0:
            return False
        over -= segment.size
        return True

    return goes


def _too_old(log: ReplicaLog, now: int, ahead_us: int) -> _Predicate:
    """Return a predicate by the largest *record* timestamp (KIP-33): future timestamps keep a segment."""
    rules = log.rules

    def goes(segment: Segment, _following: int) -> bool:
        has_timestamps = rules.by_timestamp and segment.newest_us not in NO_TIMESTAMPS
        return (
            now + ahead_us - segment.newest_us if has_timestamps else now - segment.modified_us
        ) > rules.retention_us

    return goes


def retain(log: ReplicaLog, hw: int, now: int, ahead_us: int = 0) -> Iterator[tuple[str, int]]:
    """Delete what the rules allow; yields (rule, previous log start) after each move of the log start.

    Segments below a log start set by DeleteRecords are deleted first, then by size, then by age; the last two only if
    ``cleanup.policy`` includes delete. ``ahead_us`` is how far the machine's clock is ahead.
    """
    segments = log.segments
    log.unlink(now)
    if not segments.sealed and (not segments.size or hw < log.leo):
        return
    log.delete_segments(_deletable(log, hw, lambda _segment, following: 0 <= following <= log.log_start), now)
    if not log.rules.delete:
        return
    if 0 <= log.rules.retention_bytes <= segments.total:
        start = log.log_start
        log.delete_segments(_deletable(log, hw, _over_size(log)), now)
        if log.log_start != start:
            yield BY_SIZE, start
    if log.rules.retention_us >= 0:
        start = log.log_start
        log.delete_segments(_deletable(log, hw, _too_old(log, now, ahead_us)), now)
        if log.log_start != start:
            yield BY_TIME, start
