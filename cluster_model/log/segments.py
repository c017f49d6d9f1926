"""Segments of one replica's log: when one rolls, and what it holds (``LogSegment``, ``UnifiedLog.maybeRoll``).

Nothing here is per record, and an append costs a few comparisons: a segment is its base offset, its bytes, two
timestamps and its numbers of index entries. The log knows which batches are in it. The same appends give the same
segments, but a follower appends the result of one fetch as a whole and its leader batch by batch, so two replicas of a
partition need not roll at the same offsets.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_model.protocol.configs import NEVER, LogConfig
from cluster_model.util.deterministic_math import mix64

OFFSET_ENTRY: Final = 8
"""Bytes of an entry of the offset index."""
TIME_ENTRY: Final = 12
"""Bytes of an entry of the time index."""
INT32_MAX: Final = 2**31 - 1
"""Index entries store offsets relative to their segment's base in 31 bits."""
NO_TIMESTAMP: Final = -(1 << 62)
"""Timestamp of an empty segment; below any that a clock behind virtual time 0 can give."""
NO_TIMESTAMPS: Final = (NO_TIMESTAMP, -1)
"""Values for records without timestamps."""

BY_SIZE: Final = "segment.bytes"
BY_TIME: Final = "segment.ms"
BY_INDEX: Final = "index full"
BY_OFFSETS: Final = "offset overflow"
BY_RETENTION: Final = "retention"


class Segment(NamedTuple):
    """One segment; timestamps are those of records, :data:`NO_TIMESTAMP` in an empty one."""

    base: int
    size: int
    first_us: int
    newest_us: int
    created_us: int
    modified_us: int
    """Time of this replica's last write to it, by its own clock."""


class Segments:
    """Sealed segments, oldest first, and the active one, to which records are appended."""

    __slots__ = (
        "_allowed_us", "_entries", "_full", "_indexed_us", "_interval", "_jitter_seed", "_last_end", "_rules",
        "_safe_bytes", "_safe_timestamp_us", "_safe_until_us", "_time_entries", "_unindexed", "base", "created_us",
        "first_us", "modified_us", "newest_us", "sealed", "size",
    )  # fmt: skip

    def __init__(self, rules: LogConfig) -> None:
        self._rules = rules
        self._interval = rules.index_interval
        self._jitter_seed = 0
        """Seed of this log's roll jitter."""
        self.sealed: list[Segment] = []
        self._open(0, 0)

    def _open(self, base: int, now: int) -> None:
        self.base = base
        self.size = 0
        self.first_us = self.newest_us = NO_TIMESTAMP
        self.created_us = self.modified_us = now
        self._entries = self._time_entries = self._unindexed = 0
        self._indexed_us = NO_TIMESTAMP
        self._last_end = base + INT32_MAX + 1
        self._fill()
        self._allowed_us = self._rules.roll_us - self._jitter(base) if self._rules.jitter_us else self._rules.roll_us
        self._update_safe_limits()

    def _jitter(self, base: int) -> int:
        """Return how much earlier than ``segment.ms`` a segment rolls (``LogConfig.randomSegmentJitter``)."""
        return mix64(self._jitter_seed + base) * min(self._rules.jitter_us, self._rules.roll_us) >> 64

    def set_jitter_seed(self, salt: int) -> None:
        """Set the seed of the roll jitter of an empty log."""
        self._jitter_seed = salt
        self._open(0, 0)

    def configure(self, rules: LogConfig) -> None:
        """Use other rules from here on; the active segment keeps its files."""
        self._rules = rules
        self._interval = rules.index_interval
        self._allowed_us = rules.roll_us - self._jitter(self.base) if rules.jitter_us else rules.roll_us
        self._fill()
        self._update_safe_limits()

    @property
    def active(self) -> Segment:
        """The active segment."""
        return Segment(self.base, self.size, self.first_us, self.newest_us, self.created_us, self.modified_us)

    @property
    def all(self) -> tuple[Segment, ...]:
        """All segments, oldest first."""
        return (*self.sealed, self.active)

    @property
    def first_base(self) -> int:
        """Base offset of the first file, at or below the log start."""
        return self.sealed[0].base if self.sealed else self.base

    @property
    def total(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.sealed) + self.size

    @property
    def entries(self) -> tuple[int, int]:
        """Numbers of entries in the active segment's offset index and time index."""
        return (self._entries, self._time_entries)

    def roll_reason(self, end: int, size: int, newest_us: int, now: int) -> str:
        """Return the rule by which the active segment must roll before an append up to ``end``; empty if it need not.

        ``LogSegment.shouldRoll``. Time is measured by record timestamps (KIP-33) and checked at appends only: an idle
        segment never rolls. An empty one accepts anything.
        """
        if not self.size:
            return ""
        rules = self._rules
        if self.size > rules.segment_bytes - size:
            return BY_SIZE
        has_timestamps = rules.by_timestamp and self.first_us not in NO_TIMESTAMPS
        if (newest_us - self.first_us if has_timestamps else now - self.created_us) > self._allowed_us:
            return BY_TIME
        if self._full:
            return BY_INDEX
        return BY_OFFSETS if end - 1 - self.base > INT32_MAX else ""

    def admit(self, end: int, size: int, first_us: int, newest_us: int, now: int) -> str:
        """Count an append up to ``end`` by :meth:`count_append`; if a roll is due, return its rule instead."""
        grown = self.size + size
        if (
            grown > self._safe_bytes
            or newest_us > self._safe_timestamp_us
            or now > self._safe_until_us
            or end > self._last_end
        ):
            rule = self.roll_reason(end, size, newest_us, now)
            if not rule:
                self.count_append(size, first_us, newest_us, now)
                self._update_safe_limits()
            return rule
        if newest_us > self.newest_us:
            self.newest_us = newest_us
        if self._unindexed > self._interval:
            self._index()
        self._unindexed += size
        self.size = grown
        self.modified_us = now
        return ""

    def _update_safe_limits(self) -> None:
        """Compute the limits below which appends cause no roll; a segment's first append is never below them."""
        self._safe_bytes = -1 if self._full or not self.size else self._rules.segment_bytes
        has_timestamps = self._rules.by_timestamp and self.first_us not in NO_TIMESTAMPS
        self._safe_timestamp_us = self.first_us + self._allowed_us if has_timestamps else NEVER
        self._safe_until_us = NEVER if has_timestamps else self.created_us + self._allowed_us

    def _index(self) -> None:
        """Add the index entries of an append after enough bytes."""
        self._unindexed = 0
        self._entries += 1
        if self.newest_us > self._indexed_us:
            self._indexed_us = self.newest_us
            self._time_entries += 1
        self._fill()

    def _fill(self) -> None:
        rules = self._rules
        self._full = (
            self._entries >= rules.index_bytes // OFFSET_ENTRY
            or self._time_entries >= rules.index_bytes // TIME_ENTRY - 1
        )
        if self._full:
            self._safe_bytes = -1

    def count_append(self, size: int, first_us: int, newest_us: int, now: int) -> None:
        """Count an append in the active segment (``LogSegment.append``), with its index entries."""
        if not self.size:
            self.first_us = first_us
        if newest_us > self.newest_us:
            self.newest_us = newest_us
        if self._unindexed > self._interval:
            self._index()
        self._unindexed += size
        self.size += size
        self.modified_us = now

    def roll(self, base: int, now: int) -> None:
        """Seal the active segment and open one at ``base``; an empty one is only reopened (``UnifiedLog.roll``)."""
        if self.size:
            self.sealed.append(self.active)
        self._open(base, now)

    def drop_first(self, count: int) -> int:
        """Delete the oldest sealed segments; returns their bytes."""
        dropped_bytes = sum(segment.size for segment in self.sealed[:count])
        del self.sealed[:count]
        return dropped_bytes

    def restart_at(self, base: int, now: int) -> None:
        """Delete everything and restart at ``base`` (``truncateFullyAndStartAt``)."""
        self.sealed.clear()
        self._open(base, now)

    def reopen(self, offset: int, now: int) -> int:
        """Delete the segments that start after ``offset`` and make the last remaining one active, and empty.

        Returns its base: the caller counts its batches again. ``offset`` is not below the first base.
        """
        created = self.created_us
        base = self.base
        while base > offset:
            last = self.sealed.pop()
            base, created = last.base, last.created_us
        self._open(base, now)
        self.created_us = created
        self._update_safe_limits()
        return base

    def reaching(self, offset: int) -> Iterator[Segment]:
        """Yield segments that hold, or will hold, ``offset`` or anything above it (``LogLoader.recoverLog``)."""
        segments = self.all
        for index, segment in enumerate(segments):
            if index + 1 == len(segments) or segments[index + 1].base > offset:
                yield segment

    def clock_stepped(self, by: int) -> None:
        """Handle a change of the machine's clock: file times shift by it."""
        self.sealed = [
            one._replace(created_us=one.created_us - by, modified_us=one.modified_us - by) for one in self.sealed
        ]
        self.created_us -= by
        self.modified_us -= by
        self._update_safe_limits()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        indexes = (self._entries, self._time_entries, self._unindexed, self._indexed_us)
        return (tuple(self.sealed), self.active, indexes)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        sealed, active, indexes = saved
        self.sealed = list(sealed)
        self._open(active.base, 0)
        self.base, self.size, self.first_us, self.newest_us, self.created_us, self.modified_us = active
        self._entries, self._time_entries, self._unindexed, self._indexed_us = indexes
        self._fill()
        self._update_safe_limits()
