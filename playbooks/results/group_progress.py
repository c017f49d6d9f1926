"""Offsets that a consumer group has received of each partition, and its read stalls."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any


class DeliveredOffsets:
    """Offsets of one branch of a partition's log that a group has received, as disjoint ranges in ascending order."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in ranges:
            self._starts.append(start)
            self._ends.append(end)

    def add(self, start: int, end: int) -> int:
        """Add ``[start, end)``; return how many of these offsets were already there."""
        starts, ends = self._starts, self._ends
        if ends and ends[-1] == start:  # a reader that continues where it was
            ends[-1] = end
            return 0
        first, last = bisect_left(ends, start), bisect_right(starts, end)
        touched = list(zip(starts[first:last], ends[first:last], strict=True))
        again = sum(max(0, min(end, upper) - max(start, lower)) for lower, upper in touched)
        starts[first:last] = [min([start, *(lower for lower, _upper in touched)])]
        ends[first:last] = [max([end, *(upper for _lower, upper in touched)])]
        return again

    def save(self) -> tuple[tuple[int, int], ...]:
        """Return the ranges."""
        return tuple(zip(self._starts, self._ends, strict=True))


class ReadStalls:
    """Read stalls of a group by partition, from its first read on.

    A stall is time in which the group received nothing although there was something to read.
    """

    __slots__ = ("_longest", "_read_to", "_since")

    def __init__(self) -> None:
        self._read_to: dict[str, int] = {}
        self._since: dict[str, int] = {}
        """Partition → since when there has been something to read (the open stall)."""
        self._longest: dict[str, int] = {}
        """Partition → the longest stall that has ended."""

    def advanced(self, partition: str, hw: int, now: int) -> None:
        """Note that records below ``hw`` can be read."""
        read_to = self._read_to.get(partition)
        if read_to is not None and hw > read_to and partition not in self._since:
            self._since[partition] = now

    def moved(self, partition: str, read_to: int, hw: int, now: int) -> int:
        """Set the group's position after a read or a reset; return the duration of the stall that this ends."""
        lasted_us = now - self._since.pop(partition, now)
        if lasted_us > self._longest.get(partition, 0):
            self._longest[partition] = lasted_us
        self._read_to[partition] = read_to
        if hw > read_to:
            self._since[partition] = now
        return lasted_us

    def waiting(self) -> dict[str, int]:
        """Return partition → start time, for stalls that have not ended."""
        return dict(self._since)

    def partition_deleted(self, partition: str) -> None:
        """Forget a deleted partition."""
        self._read_to.pop(partition, None)
        self._since.pop(partition, None)

    def restart(self, now: int) -> None:
        """Restart the measurement: open stalls begin at this time."""
        self._since = dict.fromkeys(self._since, now)
        self._longest = {}

    def longest(self, now: int, partition: str | None = None) -> int:
        """Return the longest stall so far of a partition, or of any, an open one included."""
        if partition is not None:
            return max(self._longest.get(partition, 0), now - self._since.get(partition, now))
        return max([0, *self._longest.values(), *[now - since for since in self._since.values()]])

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (tuple(self._read_to.items()), tuple(self._since.items()), tuple(self._longest.items()))

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "ReadStalls":
        """Restore the state of :meth:`save`."""
        stalls = cls()
        read_to, since, longest = saved
        stalls._read_to, stalls._since, stalls._longest = dict(read_to), dict(since), dict(longest)
        return stalls
