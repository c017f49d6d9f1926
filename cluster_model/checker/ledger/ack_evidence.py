"""Which records were acknowledged, by the stint that wrote them: a few ranges however long the run."""

from bisect import bisect_right
from typing import Any

from cluster_model.util.ranges import Range, subtract


class RangeSet:
    """Offsets as disjoint ascending ranges; neighbours merge."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> bool:
        """Put a range in; False when it was in already."""
        starts, ends = self.starts, self.ends
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

    def remove(self, start: int, end: int) -> None:
        """Take a range out, as far as it is in."""
        starts, ends = self.starts, self.ends
        if not starts or start >= ends[-1]:
            return
        if len(starts) == 1 and start <= starts[0] < end < ends[0]:
            starts[0] = end
            return
        left = subtract(self.ranges(), [(start, end)])
        starts[:], ends[:] = [low for low, _high in left], [high for _low, high in left]

    def overlaps(self, start: int, end: int) -> bool:
        """Whether any of a range is in."""
        ends = self.ends
        if not ends or start >= ends[-1]:
            return False
        index = bisect_right(ends, start)
        return self.starts[index] < end

    @property
    def entries(self) -> int:
        """Ranges that it takes."""
        return len(self.starts)

    @property
    def size(self) -> int:
        """How many offsets."""
        return sum(self.ends) - sum(self.starts)

    @property
    def gaps(self) -> int:
        """How many are missing between the first and the last."""
        return sum(self.starts[1:]) - sum(self.ends[:-1])

    def ranges(self) -> list[Range]:
        """All of it."""
        return list(zip(self.starts, self.ends, strict=True))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self.starts), tuple(self.ends))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.starts, self.ends = list(saved[0]), list(saved[1])


class AckedRecords:
    """Acknowledged offsets per stint of one partition, and which offsets of each stint could be read."""

    __slots__ = ("_saved", "by_stint", "committed", "topic_id")

    def __init__(self, topic_id: int) -> None:
        self.topic_id = topic_id
        self.by_stint: dict[int, RangeSet] = {}
        self.committed: dict[int, RangeSet] = {}
        """Stint → offsets, acknowledged or not, that stood below the HW of a leader."""
        self._saved: tuple[Any, ...] | None = None
        """What :meth:`save` gave, until something changes."""

    def add(self, stint: int, start: int, end: int) -> bool:
        """Note acknowledged records; False when they were known."""
        self._saved = None
        ranges = self.by_stint.get(stint)
        if ranges is None:
            ranges = self.by_stint[stint] = RangeSet()
        ends = ranges.ends
        if ends and ends[-1] == start:  # nearly always: add() would do the same
            ends[-1] = end
            return True
        return ranges.add(start, end)

    def commit(self, stint: int, start: int, end: int) -> None:
        """These offsets of a stint could have been read."""
        self._saved = None
        ranges = self.committed.get(stint)
        if ranges is None:
            ranges = self.committed[stint] = RangeSet()
        ends = ranges.ends
        if ends and ends[-1] == start:
            ends[-1] = end
        else:
            ranges.add(start, end)

    def committed_in(self, stint: int) -> list[Range]:
        """The offsets of a stint that could have been read."""
        ranges = self.committed.get(stint)
        return [] if ranges is None else ranges.ranges()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        if self._saved is None:
            self._saved = (_saved(self.by_stint), _saved(self.committed))
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._saved = None
        stints, committed = saved
        self.by_stint, self.committed = _loaded(stints), _loaded(committed)


def _saved(table: dict[int, RangeSet]) -> tuple[Any, ...]:
    return tuple([(stint, ranges.save()) for stint, ranges in table.items()])


def _loaded(saved: tuple[Any, ...]) -> dict[int, RangeSet]:
    table: dict[int, RangeSet] = {}
    for stint, ranges in saved:
        table[stint] = RangeSet()
        table[stint].load(ranges)
    return table
