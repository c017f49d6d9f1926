"""Ranges of offsets as plain pairs, and sets of disjoint ranges."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Range = tuple[int, int]
"""Offsets ``[start, end)``."""

_Key = TypeVar("_Key")


def union(ranges: Iterable[Range]) -> list[Range]:
    """Return the same offsets as disjoint ranges in ascending order."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def subtract(ranges: Iterable[Range], holes: Iterable[Range]) -> list[Range]:
    """Return disjoint ascending ranges without the offsets in ``holes``, which are disjoint and ascending too."""
    left = list(ranges)
    for hole_start, hole_end in holes:
        kept: list[Range] = []
        for start, end in left:
            if hole_end <= start or hole_start >= end:
                kept.append((start, end))
                continue
            if start < hole_start:
                kept.append((start, hole_start))
            if hole_end < end:
                kept.append((hole_end, end))
        left = kept
    return left


def length(ranges: Iterable[Range]) -> int:
    """Return the number of offsets."""
    return sum(end - start for start, end in ranges)


class RangeSet:
    """A set of integers as disjoint ascending ranges; adjacent ranges merge."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> list[Range]:
        """Add ``[start, end)``, which is not empty; returns the parts that were not in the set."""
        starts, ends = self.starts, self.ends
        if not ends or start > ends[-1]:
            starts.append(start)
            ends.append(end)
            return [(start, end)]
        if start == ends[-1]:
            ends[-1] = end
            return [(start, end)]
        low, high = bisect_left(ends, start), bisect_right(starts, end)
        fresh: list[Range] = []
        at = start
        for index in range(low, high):
            if at < starts[index]:
                fresh.append((at, starts[index]))
            at = max(at, ends[index])
        if at < end:
            fresh.append((at, end))
        if low < high:
            start, end = min(start, starts[low]), max(end, ends[high - 1])
        starts[low:high] = [start]
        ends[low:high] = [end]
        return fresh

    def extend(self, start: int, end: int) -> bool:
        """Add ``[start, end)`` if it begins where the last range ends, the usual case; False if it does not."""
        ends = self.ends
        if ends and ends[-1] == start:
            ends[-1] = end
            return True
        return False

    def remove(self, start: int, end: int) -> None:
        """Remove ``[start, end)``, as far as it is in the set."""
        starts, ends = self.starts, self.ends
        if not starts or start >= ends[-1]:
            return
        if len(starts) == 1 and start <= starts[0] < end < ends[0]:
            starts[0] = end
            return
        left = subtract(self.ranges(), [(start, end)])
        starts[:], ends[:] = [low for low, _high in left], [high for _low, high in left]

    def bridged(self, start: int, end: int, empty: Callable[[int, int], bool]) -> Range:
        """Return ``[start, end)`` extended over adjacent gaps for which ``empty`` says that nothing can be added."""
        starts, ends = self.starts, self.ends
        index = bisect_right(starts, start)
        if index and ends[index - 1] < start and empty(ends[index - 1], start):
            start = ends[index - 1]
        index = bisect_left(starts, end)
        if index < len(starts) and starts[index] > end and empty(end, starts[index]):
            end = starts[index]
        return start, end

    def within(self, start: int, end: int) -> list[Range]:
        """Return the parts of ``[start, end)`` that are in the set."""
        low, high = bisect_right(self.ends, start), bisect_left(self.starts, end)
        return [(max(start, self.starts[at]), min(end, self.ends[at])) for at in range(low, high)]

    def without(self, start: int, end: int) -> list[Range]:
        """Return the parts of ``[start, end)`` that are not in the set."""
        remaining: list[Range] = []
        for low, high in self.within(start, end):
            if start < low:
                remaining.append((start, low))
            start = high
        if start < end:
            remaining.append((start, end))
        return remaining

    def has(self, number: int) -> bool:
        """Whether a number is in the set."""
        index = bisect_right(self.starts, number) - 1
        return index >= 0 and number < self.ends[index]

    def any_within(self, start: int, end: int) -> bool:
        """Whether any number of ``[start, end)`` is in the set."""
        return start < end and bisect_right(self.ends, start) < bisect_left(self.starts, end)

    def minus(self, other: "RangeSet | None") -> list[Range]:
        """Return the ranges in this set and not in the other."""
        if other is None:
            return self.ranges()
        return [part for start, end in zip(self.starts, self.ends, strict=True) for part in other.without(start, end)]

    def common(self, other: "RangeSet | None") -> list[Range]:
        """Return the ranges in both sets."""
        if other is None:
            return []
        return [part for start, end in zip(self.starts, self.ends, strict=True) for part in other.within(start, end)]

    @property
    def entries(self) -> int:
        """Number of disjoint ranges."""
        return len(self.starts)

    @property
    def gaps(self) -> int:
        """Number of integers missing between the first and the last."""
        return sum(self.starts[1:]) - sum(self.ends[:-1])

    @property
    def size(self) -> int:
        """Number of integers in the set."""
        return sum(self.ends) - sum(self.starts)

    def ranges(self) -> list[Range]:
        """Return all ranges."""
        return list(zip(self.starts, self.ends, strict=True))

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (tuple(self.starts), tuple(self.ends))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.starts, self.ends = list(saved[0]), list(saved[1])

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "RangeSet":
        """Return a set with the state returned by :meth:`save`."""
        ranges = cls()
        ranges.load(saved)
        return ranges


def add_range(into: dict[_Key, RangeSet], key: _Key, start: int, end: int) -> list[Range]:
    """Add a range to the set of ``key``, which starts empty; returns the parts that were new."""
    ranges = into.get(key)
    if ranges is None:
        ranges = into[key] = RangeSet()
    return ranges.add(start, end)


def save_all(sets: dict[Any, RangeSet]) -> tuple[Any, ...]:
    """Return the state of sets by key, for a keyframe."""
    return tuple([(key, each.save()) for key, each in sets.items()])


def load_all(saved: tuple[Any, ...]) -> dict[Any, RangeSet]:
    """Return sets by key from the state returned by :func:`save_all`."""
    return {key: RangeSet.from_saved(each) for key, each in saved}
