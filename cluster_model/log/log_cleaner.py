"""Compaction of one replica's log: what may be cleaned, and cleaning it (``LogCleanerManager``, ``Cleaner``).

Nothing at or above the last stable offset is cleaned, nothing in the active segment, nothing younger than
``min.compaction.lag.ms``. A pass maps the newest offset of every key in the dirty part, then leaves out of all older
segments what the map has a newer record for. Offsets, log end, high watermark and epoch cache stay as they are.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cluster_model.log.empty_markers import Bases, empty_markers
from cluster_model.log.keys import Key, keys_of
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import INT32_MAX, NO_TIMESTAMP, UNTOLD, Segment
from cluster_model.protocol.batch import ABORT, Batch
from cluster_model.protocol.records import Cleaned, Range, Swept
from cluster_model.protocol.rules import NEVER

_MILLION: Final = 1_000_000


class ToClean(NamedTuple):
    """What a pass would look at: dirty offsets ``[first_dirty, first_uncleanable)``, and bytes before and in them.

    ``overdue``: a dirty record is older than ``max.compaction.lag.ms``.
    """

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool

    @property
    def dirty_ppm(self) -> int:
        """The dirty part of all that can be cleaned, in millionths."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes * _MILLION // total if total else 0


class Pass(NamedTuple):
    """A finished pass: what the checkpoint says now, records removed, bytes read, and what it found."""

    first_dirty: int
    cleaned_to: int
    removed: int
    read_bytes: int
    swept: Swept


def _newest(segment: Segment) -> int:
    """``LogSegment.largestTimestamp``."""
    return segment.newest_us if segment.newest_us not in UNTOLD else segment.modified_us


def to_clean(log: ReplicaLog, stable: int, checkpoint: int, now: int) -> ToClean | None:
    """What there is to clean, None when it is not worth it yet (``grabFilthiestCompactedLog``).

    ``stable`` is the last stable offset.
    ``checkpoint`` is the first dirty offset of ``cleaner-offset-checkpoint``; one outside the log counts as its start.
    """
    rules = log.rules
    first_dirty = checkpoint if log.log_start <= checkpoint <= log.leo else log.log_start
    sealed = log.segments.sealed
    bound = min(stable, log.segments.base)
    if rules.min_lag_us:
        young = (one.base for one in _from(sealed, first_dirty) if _newest(one) > now - rules.min_lag_us)
        bound = min(bound, next(young, bound))
    # Whole segments only: the one that holds the first uncleanable offset is left alone.
    cleanable = [one for index, one in enumerate(sealed) if _end_of(log, index) <= bound]
    end = _end_of(log, len(cleanable) - 1) if cleanable else first_dirty
    dirty = [one for one in _from(cleanable, first_dirty) if one.base < end]
    clean_bytes = sum(one.size for one in cleanable) - sum(one.size for one in dirty)
    told = [one.first_us for one in _from(sealed, first_dirty) if one.first_us not in UNTOLD]
    overdue = bool(told) and min(told) < now - rules.max_lag_us
    found = ToClean(first_dirty, end, clean_bytes, sum(one.size for one in dirty), overdue)
    if not found.dirty_bytes or end <= first_dirty:
        return None
    dirtier = found.dirty_bytes * _MILLION > rules.min_dirty_ppm * (found.clean_bytes + found.dirty_bytes)
    return found if dirtier or overdue else None


def _from(segments: list[Segment], offset: int) -> list[Segment]:
    """The segments from the one that holds ``offset`` on."""
    first = next((index for index in range(len(segments) - 1, -1, -1) if segments[index].base <= offset), 0)
    return segments[first:]


def _end_of(log: ReplicaLog, index: int) -> int:
    sealed = log.segments.sealed
    return sealed[index + 1].base if index + 1 < len(sealed) else log.segments.base


def clean(
    log: ReplicaLog, work: ToClean, now: int, *, room: int, horizons: bool, expiry_us: int = NEVER, ahead_us: int = 0
) -> Pass:
    """Do it (``Cleaner.doClean``).

    ``room`` is how many keys the offset map takes: a pass that fills it goes no further. ``horizons``: tombstones go
    by the time of the first cleaning that kept them (KIP-534, 3.1), before by the age of their segment's file; and
    so do empty markers. ``expiry_us`` is how long a silent producer is known, ``ahead_us`` how far the clock is ahead.
    """
    newest, end = _offset_map(log, work, room)
    count = sum(segment.base < end for segment in log.segments.sealed)
    old = log.segments.sealed[:count]
    behind = _end_of(log, count - 1)
    clean_part = [segment for segment in old if segment.base < work.first_dirty]
    oldest_us = clean_part[-1].modified_us - log.rules.tombstone_us if clean_part else -1
    sweep = _Sweep(log, newest, end, now + ahead_us, empty_markers(log, behind, now, expiry_us), horizons=horizons)
    for index, segment in enumerate(old):
        sweep.segment(segment.base, _end_of(log, index), keeps_deletes=segment.modified_us > oldest_us)
    before = log.cleaned or Cleaned()
    known = tuple(entry for entry in before.horizons if entry[0] >= behind)
    holes = (*sweep.holes, *before.within(behind, log.leo))
    cleaned = Cleaned(_merged(holes), (*sweep.horizons, *known))
    swept = Swept(before, tuple([(segment.base, segment.modified_us) for segment in old]))
    log.cleaned = cleaned if cleaned.holes or cleaned.horizons else None
    log.transactions.forget_markers(sweep.dropped)
    log.replace_segments(count, [_regrouped(log, group) for group in _groups(log, old)], now)
    return Pass(work.first_dirty, end, sweep.removed, sum(segment.size for segment in old), swept)


def _records(log: ReplicaLog, start: int, end: int) -> Iterator[tuple[Batch, list[Range]]]:
    """Every batch with the ranges of it in ``[start, end)`` that are still there."""
    for _lineage, batch, _size, low, high in log.kept_between(start, end):
        yield batch, log.left(low, high)


def _offset_map(log: ReplicaLog, work: ToClean, room: int) -> tuple[dict[Key, int], int]:
    """The newest offset of every key in the dirty part, and how far that was looked at (``buildOffsetMap``)."""
    newest: dict[Key, int] = {}
    models = log.lineages.keys
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


class _Sweep:
    """Goes over segments and notes what is left out (``Cleaner.cleanSegments``)."""

    def __init__(
        self, log: ReplicaLog, newest: dict[Key, int], end: int, now: int, empty: Bases, *, horizons: bool
    ) -> None:
        self.holes: list[Range] = []
        self.horizons: list[tuple[int, int]] = []
        self.removed = 0
        self.dropped: Bases = {}
        """Markers."""
        self._log = log
        self._empty = empty
        self._newest = newest
        self._end = end
        self._now = now
        self._known = dict((log.cleaned or Cleaned()).horizons) if horizons else None

    def segment(self, start: int, end: int, *, keeps_deletes: bool) -> None:
        """One old segment; ``keeps_deletes`` is what its age says of tombstones, where horizons do not."""
        if self._log.cleaned is not None:
            self.holes.extend(self._log.cleaned.within(start, end))
        for batch, parts in _records(self._log, start, end):
            horizon = None if self._known is None else self._known.get(batch.base)
            keeps = keeps_deletes if self._known is None else horizon is None or self._now < horizon
            if self._batch(batch, parts, keeps) and self._known is not None:
                due = self._now + self._log.rules.tombstone_us if horizon is None else horizon
                self.horizons.append((batch.base, due))

    def _batch(self, batch: Batch, parts: list[Range], keeps_deletes: bool) -> bool:
        """Leave out what has a newer record, or no key (``Cleaner.shouldRetainRecord``); True if a tombstone stays.

        What was aborted goes; of markers those whose transaction has nothing left go as tombstones do.
        """
        if batch.kind >= ABORT:
            return self._marker(batch, keeps_deletes)
        aborted = batch.kind and self._log.transactions.is_aborted(batch)
        keys, deletes = keys_of(self._log.lineages.keys, batch)
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
        """Leave out an empty one that need not be kept; True if it stays for a while."""
        if keeps or batch.base not in self._empty:
            return batch.base in self._empty
        self.holes.append((batch.base, batch.end))
        self.removed += 1
        self.dropped[batch.base] = None
        return False


def _merged(holes: tuple[Range, ...]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for start, end in sorted(holes):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)


def _groups(log: ReplicaLog, segments: list[Segment]) -> Iterator[tuple[list[Segment], int]]:
    """Neighbours that together fit a segment, by their old sizes, each with its end (``groupSegmentsBySize``)."""
    group: list[Segment] = []
    for index, segment in enumerate(segments):
        full = sum(one.size for one in group) + segment.size > log.rules.segment_bytes
        if group and (full or _end_of(log, index) - 1 - group[0].base > INT32_MAX):
            yield group, segment.base
            group = []
        group.append(segment)
    yield group, _end_of(log, len(segments) - 1)


def _regrouped(log: ReplicaLog, group: tuple[list[Segment], int]) -> Segment:
    """One segment of what is left of several; its file's time is that of the last."""
    segments, end = group
    left = [(batch, size) for _l, batch, size, _s, _e in log.kept_between(segments[0].base, end)]
    stamps = [batch.timestamp_us for batch, _size in left]
    return Segment(
        segments[0].base,
        sum(size for _batch, size in left),
        stamps[0] if stamps else NO_TIMESTAMP,
        max(stamps, default=NO_TIMESTAMP),
        segments[0].created_us,
        segments[-1].modified_us,
    )
