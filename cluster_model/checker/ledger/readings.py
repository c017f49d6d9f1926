"""What each group's applications were handed: once, again, or not at all, offset by offset.

Only hand-outs count, not commits: that is what an application knows of. Offsets that nobody is ever handed, such as
those that compaction has emptied, look as if they had been passed over; markers of transactions do not. What an
application had in hand when it ended is *abandoned*, until somebody of its group is handed it.
"""

from typing import Any

from cluster_model.checker.anomalies.operations import Empty
from cluster_model.protocol.events import RecordsAbandoned, RecordsRead
from cluster_model.util.ranges import Range, length, union
from cluster_model.util.spans import Spans


class Readings:
    """By group and partition."""

    __slots__ = ("_abandoned", "_again", "_empty", "_handed", "_read")

    def __init__(self, empty: Empty = lambda *_part: False) -> None:
        """``empty`` tells whether there are only markers somewhere."""
        self._empty = empty
        self._read: dict[str, int] = {}
        """Group → records, each hand-out counted."""
        self._handed: dict[tuple[str, str], Spans] = {}
        self._again: dict[str, tuple[int, int]] = {}
        """Group → records handed out again and passed over, of partitions that have been deleted since."""
        self._abandoned: dict[tuple[str, str], list[Range]] = {}

    def handed(self, event: RecordsRead) -> None:
        """A consumer was handed records."""
        group = event.group_id
        self._read[group] = self._read.get(group, 0) + event.count
        key = (group, event.partition)
        ranges = self._handed.get(key)
        if ranges is None:
            ranges = self._handed[key] = Spans()
        start, end = event.log_offset, event.log_offset + event.count
        if self._abandoned and key in self._abandoned:
            self._take_up(key, start, end)
        ends = ranges.ends
        if ends and ends[-1] == start:  # nearly always: the next ones
            ends[-1] = end
            return
        low, high = start, end
        if ends and event.stint >= 0:
            low, high = self._bridged(ranges, event)
        fresh = ranges.add(low, high)
        repeated = event.count - (length(fresh) - (start - low) - (high - end))
        if repeated:
            again, passed = self._again.get(group, (0, 0))
            self._again[group] = (again + repeated, passed)

    def _bridged(self, ranges: Spans, event: RecordsRead) -> Range:
        """With the markers next to it: nobody is ever handed those."""
        empty = self._empty
        key, stint = event.partition, event.stint
        return ranges.bridged(
            event.log_offset, event.log_offset + event.count, lambda low, high: empty(key, stint, low, high)
        )

    def _take_up(self, key: tuple[str, str], start: int, end: int) -> None:
        """Abandoned records are in hand again."""
        left = [part for low, high in self._abandoned[key] for part in ((low, min(high, start)), (max(low, end), high))]
        self._abandoned[key] = union(left)

    def left_behind(self, event: RecordsAbandoned) -> None:
        """An application will not process what it was handed."""
        key = (event.group_id, event.partition)
        found = (event.log_offset, event.log_offset + event.count)
        self._abandoned[key] = union([*self._abandoned.get(key, ()), found])

    def deleted(self, partition: str) -> None:
        """A partition is gone; another of its name is not the same."""
        self._abandoned = {key: ranges for key, ranges in self._abandoned.items() if key[1] != partition}
        for group, name in tuple(self._handed):
            if name == partition:
                again, passed = self._again.get(group, (0, 0))
                self._again[group] = (again, passed + self._handed.pop((group, name)).gaps)

    def read(self, group: str) -> int:
        """Records handed to the group's applications, each time counted."""
        return self._read.get(group, 0)

    def reread(self, group: str) -> int:
        """... of which had been handed to one of them before."""
        return self._again.get(group, (0, 0))[0]

    def passed_over(self, group: str) -> int:
        """Offsets that none was handed, between others that were."""
        _again, passed = self._again.get(group, (0, 0))
        return passed + sum(ranges.gaps for (name, _partition), ranges in self._handed.items() if name == group)

    def abandoned(self, group: str) -> int:
        """Records that an application had in hand when it ended, and that nobody has been handed since."""
        return sum(length(ranges) for (name, _partition), ranges in self._abandoned.items() if name == group)

    def left_in(self, group: str, partition: str) -> list[Range]:
        """... of one partition."""
        return self._abandoned.get((group, partition), [])

    def handed_to(self, partition: str, start: int, end: int) -> tuple[str, ...]:
        """Groups that were handed any offset of ``[start, end)``, whatever record stood there then."""
        return tuple(
            sorted(
                group
                for (group, name), ranges in self._handed.items()
                if name == partition
                and any(low < end and high > start for low, high in zip(ranges.starts, ranges.ends, strict=True))
            )
        )

    def save(self) -> tuple[Any, ...]:
        """All state."""
        handed = tuple([(key, ranges.save()) for key, ranges in self._handed.items()])
        abandoned = tuple([(key, tuple(ranges)) for key, ranges in self._abandoned.items()])
        return (tuple(self._read.items()), handed, tuple(self._again.items()), abandoned)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        read, handed, again, abandoned = saved
        self._abandoned = {key: list(ranges) for key, ranges in abandoned}
        self._read, self._again = dict(read), dict(again)
        self._handed = {}
        for key, ranges in handed:
            self._handed[key] = Spans.loaded(ranges)
