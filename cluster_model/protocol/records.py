"""What compaction left out of a log: an overlay over its extents, absent from a log that was never cleaned.

Batches are shared by all replicas, and each cleans by itself, so what it removed is a list of offset ranges of its
own. Offsets stay as they were: a log has holes, and its end, its high watermark and its epochs do not move.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from cluster_model.protocol.batch import Batch

Range = tuple[int, int]
"""Offsets ``[start, end)``."""


class Cleaned(NamedTuple):
    """``holes``: removed offsets, disjoint and ascending.

    ``horizons``: (base of a batch, virtual µs from which its tombstones may go), ascending; written into the batch's
    header by the first cleaning that keeps them (KIP-534), so it travels with the batch.
    """

    holes: tuple[Range, ...] = ()
    horizons: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """Behind all that the overlay says: from here on a log is as it was written."""
        hole = self.holes[-1][1] if self.holes else 0
        return max(hole, self.horizons[-1][0] + 1) if self.horizons else hole

    def within(self, start: int, end: int) -> tuple[Range, ...]:
        """The holes in ``[start, end)``, cut to it."""
        holes = self.holes
        first = bisect_right(holes, start, key=lambda hole: hole[1])
        last = bisect_left(holes, end, key=lambda hole: hole[0])
        return tuple((max(start, low), min(end, high)) for low, high in holes[first:last])

    def covers(self, offset: int) -> bool:
        """Whether the record at ``offset`` was removed."""
        return bool(self.within(offset, offset + 1))

    def removed(self, start: int, end: int) -> int:
        """How many offsets of ``[start, end)`` were."""
        return sum(high - low for low, high in self.within(start, end))

    def left(self, start: int, end: int) -> list[Range]:
        """The ranges of ``[start, end)`` that are still there."""
        found: list[Range] = []
        at = start
        for low, high in self.within(start, end):
            if at < low:
                found.append((at, low))
            at = high
        if at < end:
            found.append((at, end))
        return found

    def take(self, start: int, end: int, most: int) -> tuple[int, int, int]:
        """Up to ``most`` records of ``[start, end)``: (where to go on, how many, the last one's offset or -1).

        With fewer than that left, whoever reads goes on at ``end``.
        """
        count, last = 0, -1
        for low, high in self.left(start, end):
            if high - low >= most - count:
                return low + most - count, most, low + most - count - 1
            count, last = count + high - low, high - 1
        return end, count, last

    def gone(self, batch: Batch) -> bool:
        """Whether nothing is left of a batch."""
        return self.removed(batch.base, batch.end) == batch.records

    def size_of(self, batch: Batch) -> int:
        """Bytes that a batch takes without the records that were removed, 0 without any left."""
        left = batch.records - self.removed(batch.base, batch.end)
        return -(-batch.size * left // batch.records)

    def clip(self, start: int, end: int) -> "Cleaned | None":
        """The part that concerns ``[start, end)``; None if nothing does."""
        holes = self.within(start, end)
        horizons = tuple(entry for entry in self.horizons if start <= entry[0] < end)
        return Cleaned(holes, horizons) if holes or horizons else None


class Swept(NamedTuple):
    """A log as a pass of the cleaner found it: the overlay, and (base, last modified) of the files that it read."""

    before: Cleaned
    files: tuple[tuple[int, int], ...]


def joined(one: Cleaned | None, other: Cleaned | None) -> Cleaned | None:
    """Two overlays, the second one's offsets behind the first one's."""
    if one is None or other is None:
        return one or other
    holes = one.holes
    if holes and other.holes and holes[-1][1] == other.holes[0][0]:
        middle = (holes[-1][0], other.holes[0][1])
        return Cleaned((*holes[:-1], middle, *other.holes[1:]), one.horizons + other.horizons)
    return Cleaned(holes + other.holes, one.horizons + other.horizons)
