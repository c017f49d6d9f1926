"""Which records were acknowledged, by the stint that wrote them: a few ranges however long the run."""

from bisect import bisect_right
from typing import Any

from cluster_model.log.compare import Range


class RangeSet:
    """Offsets as disjoint ascending ranges; neighbours merge."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> bool:
        """Put a range in; False when it was in already."""
        starts, ends = self._starts, self._ends
        if ends and ends[-1] == start:
            ends[-1] = end
            return True
        index = bisect_right(starts, start)
        if index and end <= ends[index - 1]:
            return False
        if index and ends[index - 1] >= start:
            index -= 1
            ends[index] = max(ends[index], end)
        else:
            starts.insert(index, start)
            ends.insert(index, end)
        while index + 1 < len(starts) and starts[index + 1] <= ends[index]:
            ends[index] = max(ends[index], ends.pop(index + 1))
            del starts[index + 1]
        return True

    @property
    def size(self) -> int:
        """How many offsets."""
        return sum(self._ends) - sum(self._starts)

    @property
    def gaps(self) -> int:
        """How many are missing between the first and the last."""
        return sum(self._starts[1:]) - sum(self._ends[:-1])

    def ranges(self) -> list[Range]:
        """All of it."""
        return list(zip(self._starts, self._ends, strict=True))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._starts), tuple(self._ends))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._starts, self._ends = list(saved[0]), list(saved[1])


class AckedRecords:
    """Acknowledged offsets per stint of one partition, and how far each stint was committed."""

    __slots__ = ("_saved", "by_stint", "committed", "topic_id")

    def __init__(self, topic_id: int) -> None:
        self.topic_id = topic_id
        self.by_stint: dict[int, RangeSet] = {}
        self.committed: dict[int, int] = {}
        """Stint → offset below which its records were committed."""
        self._saved: tuple[Any, ...] | None = None
        """What :meth:`save` gave, until something changes."""

    def add(self, stint: int, start: int, end: int) -> bool:
        """Note acknowledged records; False when they were known."""
        self._saved = None
        ranges = self.by_stint.get(stint)
        if ranges is None:
            ranges = self.by_stint[stint] = RangeSet()
        return ranges.add(start, end)

    def commit(self, stint: int, end: int) -> None:
        """Everything of a stint below ``end`` could have been read."""
        if self.committed.get(stint, 0) < end:
            self.committed[stint] = end
            self._saved = None

    def save(self) -> tuple[Any, ...]:
        """All state."""
        if self._saved is None:
            stints = tuple([(stint, ranges.save()) for stint, ranges in self.by_stint.items()])
            self._saved = (stints, tuple(self.committed.items()))
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._saved = None
        stints, committed = saved
        self.by_stint = {}
        for stint, ranges in stints:
            self.by_stint[stint] = RangeSet()
            self.by_stint[stint].load(ranges)
        self.committed = dict(committed)
