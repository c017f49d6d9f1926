"""When what happened, by lane, in bins of virtual time.

The tape is as long after a million events as after a thousand: bins grow twice as wide when there are too many of
them. Until then every instant is a bin of its own. It is fed as time goes on and never looks back at an event.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.events import DATA_KINDS
from tui.viewmodel.timeline.event_text import describe
from tui.viewmodel.timeline.feed import notable
from tui.viewmodel.timeline.mark_words import LANES, LOAD_KIND, lane_of

MOST: Final = 2048
"""Bins of a lane."""
LOAD_BIN_US: Final = 10_000
"""Width of the bins that the load is counted in, to begin with."""
WEIGHTS: Final = {
    role: weight
    for weight, role in enumerate(
        ("faint", "quiet", "text", "calm", "in_sync", "lagging", "warning", "strong", "down", "truncating", "alarm",
         "lost")
    )
}  # fmt: skip
"""Role of an event → how much it matters."""


@dataclass(slots=True)
class Mark:
    """Events of one kind that matter equally, within one bin."""

    first: Any
    """The first of them."""
    glyph: str
    role: str
    last_us: int
    times: int = 1
    records: int = 0

    @property
    def at_us(self) -> int:
        """When the first of them happened."""
        return int(self.first.at_us)

    @property
    def weight(self) -> int:
        """How much it matters."""
        return WEIGHTS.get(self.role, 0)

    def same(self, kind: str, role: str) -> bool:
        """Whether such an event belongs to it."""
        return self.role == role and bool(self.first.kind == kind)

    def merge(self, later: "Mark") -> None:
        """Take in the events of another mark of the same kind and role."""
        self.last_us = max(self.last_us, later.last_us)
        self.times += later.times
        self.records += later.records


class Lane:
    """The marks of a lane: bins in the order of time, those without any left out."""

    def __init__(self) -> None:
        self.version = 0
        """Changes whenever a mark did."""
        self.width_us = 1
        self.work = 0
        """Marks touched so far, to add events and to be looked at."""
        self._bins: list[int] = []
        """Numbers of the bins: ``at_us // width_us``."""
        self._marks: list[list[Mark]] = []

    def __len__(self) -> int:
        return len(self._bins)

    def add(self, mark: Mark) -> None:
        """Add a mark that is no older than the last one."""
        self.version += 1
        self._put(mark.at_us // self.width_us, [mark])
        while len(self._bins) > MOST:
            self._widen()

    def marks(self, start_us: int, end_us: int) -> Iterator[Mark]:
        """Those whose first event happened within ``[start_us, end_us)``, in the order of their bins."""
        for place in range(bisect_left(self._bins, start_us // self.width_us), len(self._bins)):
            if self._bins[place] * self.width_us >= end_us:
                break
            for mark in self._marks[place]:
                self.work += 1
                if start_us <= mark.at_us < end_us:
                    yield mark

    def after(self, at_us: int) -> int:
        """When the first mark at or after a time happened, -1 for none."""
        for place in range(bisect_left(self._bins, at_us // self.width_us), len(self._bins)):
            found = min((mark.at_us for mark in self._marks[place] if mark.at_us >= at_us), default=-1)
            if found >= 0:
                return found
        return -1

    def before(self, at_us: int) -> int:
        """When the last mark before a time happened, -1 for none."""
        for place in range(bisect_left(self._bins, at_us // self.width_us + 1) - 1, -1, -1):
            found = max((mark.at_us for mark in self._marks[place] if mark.at_us < at_us), default=-1)
            if found >= 0:
                return found
        return -1

    def _put(self, number: int, marks: Iterable[Mark]) -> None:
        if not self._bins or self._bins[-1] < number:
            self._bins.append(number)
            self._marks.append([])
        there = self._marks[-1]
        for mark in marks:
            self.work += 1
            for known in there:
                if known.same(mark.first.kind, mark.role):
                    known.merge(mark)
                    break
            else:
                there.append(mark)

    def _widen(self) -> None:
        """Make the bins twice as wide."""
        self.width_us *= 2
        old = list(zip(self._bins, self._marks, strict=True))
        self._bins, self._marks = [], []
        for number, marks in old:
            self._put(number // 2, marks)


class Load:
    """Records acknowledged, in bins from the beginning on."""

    def __init__(self) -> None:
        self.width_us = LOAD_BIN_US
        self.counts: list[int] = []
        self.last_us = -1
        """When the last of them were acknowledged."""

    def add(self, at_us: int, records: int) -> None:
        """So many records more."""
        place = at_us // self.width_us
        while place >= MOST:
            self._widen()
            place = at_us // self.width_us
        if place >= len(self.counts):
            self.counts += [0] * (place + 1 - len(self.counts))
        self.counts[place] += records
        self.last_us = at_us

    def rate(self, start_us: int, end_us: int) -> int:
        """Records a second over ``[start_us, end_us)``, as exactly as the bins tell."""
        first, last = start_us // self.width_us, max(start_us, end_us - 1) // self.width_us
        return sum(self.counts[first : last + 1]) * 1_000_000 // ((last - first + 1) * self.width_us)

    def within(self, start_us: int, end_us: int) -> tuple[int, bool]:
        """Records in the bins that ``[start_us, end_us)`` touches, and whether these are that span exactly."""
        first, last = start_us // self.width_us, max(start_us, end_us - 1) // self.width_us
        whole = start_us % self.width_us == 0 and (end_us % self.width_us == 0 or end_us > self.last_us)
        return sum(self.counts[first : last + 1]), whole

    def _widen(self) -> None:
        self.width_us *= 2
        even, odd = self.counts[::2], self.counts[1::2]
        self.counts = [one + other for one, other in zip(even, [*odd, 0], strict=False)]


class Tape:
    """All lanes. Takes trace events in order."""

    def __init__(self) -> None:
        self.lanes = {name: Lane() for name in LANES}
        self.load = Load()

    def take(self, events: Iterable[Any]) -> None:
        """Add what is worth a mark, and count the load."""
        for event in events:
            kind = event.kind
            if kind == LOAD_KIND:
                self.load.add(event.at_us, event.count)
            elif kind not in DATA_KINDS and notable(event):
                glyph, role, _key, _say = describe(event)
                mark = Mark(event, glyph, role, event.at_us, 1, getattr(event, "count", 0))
                self.lanes[lane_of(kind)].add(mark)
