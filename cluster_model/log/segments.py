"""Segments of one replica's log: when a new one begins, and what each holds (``LogSegment``, ``UnifiedLog.maybeRoll``).

Nothing here is per record, and an append costs a few comparisons: a segment is its base offset, its bytes, two
timestamps and how many index entries it has by now. Which batches lie in it is the log's business. The same appends
give the same segments, but a follower appends what one fetch brought as one piece and its leader batch by batch, so
two replicas of a partition need not roll at the same offsets.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_model.protocol.configs import NEVER, LogRules
from cluster_model.util.deterministic_math import mixed

OFFSET_ENTRY: Final = 8
"""Bytes of an entry of the offset index."""
TIME_ENTRY: Final = 12
"""Bytes of an entry of the time index."""
INT32_MAX: Final = 2**31 - 1
"""Index entries store offsets relative to their segment's base in 31 bits."""
NO_TIMESTAMP: Final = -(1 << 62)
"""Of an empty segment; a clock that is behind stamps records from before the session began."""
UNTOLD: Final = (NO_TIMESTAMP, -1)
"""What stands where records have no timestamps."""

BY_SIZE: Final = "segment.bytes"
BY_TIME: Final = "segment.ms"
BY_INDEX: Final = "index full"
BY_OFFSETS: Final = "offset overflow"
BY_RETENTION: Final = "retention"


class Segment(NamedTuple):
    """A segment as it stands. Timestamps are those of records, :data:`NO_TIMESTAMP` in an empty one."""

    base: int
    size: int
    first_us: int
    newest_us: int
    created_us: int
    modified_us: int
    """When this replica last wrote to it, by its own clock."""


class Segments:
    """Sealed segments, oldest first, and the active one, which alone is written to."""

    __slots__ = (
        "_allowed_us", "_calm_bytes", "_calm_now", "_calm_us", "_entries", "_full", "_indexed_us", "_interval",
        "_last_end", "_rules", "_salt", "_time_entries", "_unindexed", "base", "created_us", "first_us",
        "modified_us", "newest_us", "sealed", "size",
    )  # fmt: skip

    def __init__(self, rules: LogRules) -> None:
        self._rules = rules
        self._interval = rules.index_interval
        self._salt = 0
        """What this log's jitter is drawn from."""
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
        self._reckon_calm()

    def _jitter(self, base: int) -> int:
        """How much earlier than ``segment.ms`` the segment at ``base`` rolls (``LogConfig.randomSegmentJitter``)."""
        return mixed(self._salt + base) * min(self._rules.jitter_us, self._rules.roll_us) >> 64

    def draw_from(self, salt: int) -> None:
        """Jitter of this log's segments, all still to come, is drawn from ``salt``."""
        self._salt = salt
        self._open(0, 0)

    def configure(self, rules: LogRules) -> None:
        """Go by other rules from here on; the active segment keeps its files."""
        self._rules = rules
        self._interval = rules.index_interval
        self._allowed_us = rules.roll_us - self._jitter(self.base) if rules.jitter_us else rules.roll_us
        self._fill()
        self._reckon_calm()

    @property
    def active(self) -> Segment:
        """The last segment."""
        return Segment(self.base, self.size, self.first_us, self.newest_us, self.created_us, self.modified_us)

    @property
    def all(self) -> tuple[Segment, ...]:
        """Every segment, oldest first."""
        return (*self.sealed, self.active)

    @property
    def first_base(self) -> int:
        """Where the files begin, at or below the log's start."""
        return self.sealed[0].base if self.sealed else self.base

    @property
    def total(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.sealed) + self.size

    @property
    def entries(self) -> tuple[int, int]:
        """Entries that the active segment's offset index and time index have by now."""
        return (self._entries, self._time_entries)

    def due(self, end: int, size: int, newest_us: int, now: int) -> str:
        """Why the active segment must give way before ``size`` bytes up to ``end`` are appended; empty if it need not.

        ``LogSegment.shouldRoll``. Time is told by the records (KIP-33) and looked at on appends only: an idle segment
        never rolls. An empty one has room for anything.
        """
        if not self.size:
            return ""
        rules = self._rules
        if self.size > rules.segment_bytes - size:
            return BY_SIZE
        told = rules.by_timestamp and self.first_us not in UNTOLD
        if (newest_us - self.first_us if told else now - self.created_us) > self._allowed_us:
            return BY_TIME
        if self._full:
            return BY_INDEX
        return BY_OFFSETS if end - 1 - self.base > INT32_MAX else ""

    def admit(self, end: int, size: int, first_us: int, newest_us: int, now: int) -> str:
        """:meth:`book` an append up to ``end`` unless a new segment is due: then why, and nothing is booked."""
        grown = self.size + size
        if grown > self._calm_bytes or newest_us > self._calm_us or now > self._calm_now or end > self._last_end:
            rule = self.due(end, size, newest_us, now)
            if not rule:
                self.book(size, first_us, newest_us, now)
                self._reckon_calm()
            return rule
        if newest_us > self.newest_us:
            self.newest_us = newest_us
        if self._unindexed > self._interval:
            self._index()
        self._unindexed += size
        self.size = grown
        self.modified_us = now
        return ""

    def _reckon_calm(self) -> None:
        """See how far appends bring no roll; the first one of a segment is never among them."""
        self._calm_bytes = -1 if self._full or not self.size else self._rules.segment_bytes
        told = self._rules.by_timestamp and self.first_us not in UNTOLD
        self._calm_us = self.first_us + self._allowed_us if told else NEVER
        self._calm_now = NEVER if told else self.created_us + self._allowed_us

    def _index(self) -> None:
        """Add the entries that an append brings after enough bytes."""
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
            self._calm_bytes = -1

    def book(self, size: int, first_us: int, newest_us: int, now: int) -> None:
        """Count an append into the active segment (``LogSegment.append``), with the index entries it brings."""
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
        """Seal the active segment and begin one at ``base``; an empty one is only begun anew (``UnifiedLog.roll``)."""
        if self.size:
            self.sealed.append(self.active)
        self._open(base, now)

    def drop_first(self, count: int) -> int:
        """Delete the oldest sealed segments; returns their bytes."""
        gone = sum(segment.size for segment in self.sealed[:count])
        del self.sealed[:count]
        return gone

    def restart_at(self, base: int, now: int) -> None:
        """Delete everything and begin at ``base`` (``truncateFullyAndStartAt``)."""
        self.sealed.clear()
        self._open(base, now)

    def reopen(self, offset: int, now: int) -> int:
        """Delete the segments that begin behind ``offset`` and make the last one left active, still empty.

        Returns its base: the caller books again what it holds. ``offset`` is not below the first base.
        """
        created = self.created_us
        base = self.base
        while base > offset:
            last = self.sealed.pop()
            base, created = last.base, last.created_us
        self._open(base, now)
        self.created_us = created
        self._reckon_calm()
        return base

    def reaching(self, offset: int) -> Iterator[Segment]:
        """Segments that hold, or will hold, ``offset`` or anything above it (``LogLoader.recoverLog``)."""
        segments = self.all
        for index, segment in enumerate(segments):
            if index + 1 == len(segments) or segments[index + 1].base > offset:
                yield segment

    def clock_stepped(self, by: int) -> None:
        """The machine's clock was set: files are so much older from here on."""
        self.sealed = [
            one._replace(created_us=one.created_us - by, modified_us=one.modified_us - by) for one in self.sealed
        ]
        self.created_us -= by
        self.modified_us -= by
        self._reckon_calm()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        indexes = (self._entries, self._time_entries, self._unindexed, self._indexed_us)
        return (tuple(self.sealed), self.active, indexes)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        sealed, active, indexes = saved
        self.sealed = list(sealed)
        self._open(active.base, 0)
        self.base, self.size, self.first_us, self.newest_us, self.created_us, self.modified_us = active
        self._entries, self._time_entries, self._unindexed, self._indexed_us = indexes
        self._fill()
        self._reckon_calm()
