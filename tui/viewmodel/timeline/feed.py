"""The event feed: rare events in plain words, the newest last, with equal things merged into one line.

A crash moves every partition that its broker led; twelve elections in one instant are one line that names the
partitions, not twelve.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.events import DATA_KINDS, Event
from tui.terminal.format import clock, wrap
from tui.viewmodel.timeline.event_text import Entry, describe, own_action

KEEP: Final = 500
"""Lines kept; a session on disk has them all."""
MERGE_US: Final = 1_000_000
"""Equal events within this much virtual time become one line ..."""
MERGE_BACK: Final = 8
"""... when it is among so many latest lines."""

TOLD_AGAIN: Final = 2_000
"""Rare events that the feed of a past instant is made of: more lines than any screen has."""
INDENT: Final = 15
"""Cells that time and glyph take in front of the words."""

QUIET_KINDS: Final = frozenset({"became_follower", "became_leader"})
"""Rare events that say again, for each broker, what another line has said."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the feed."""

    at: str
    glyph: str
    role: str
    text: str


def notable(event: Event) -> bool:
    """Whether an event is worth a line."""
    return not (event.kind in DATA_KINDS or event.kind in QUIET_KINDS or own_action(event))


class Feed:
    """Takes trace events, keeps the latest lines."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEEP)
        self._notable = 0
        self.version = 0
        """Changes whenever a line did."""

    @property
    def notable(self) -> int:
        """How many events worth a line there have been."""
        return self._notable

    def take(self, events: Iterable[Event]) -> None:
        """Add what is worth a line."""
        for event in events:
            if not notable(event):
                continue
            self._notable += 1
            self.version += 1
            self._add(event)

    def lines(self, most: int, width: int = 1000) -> tuple[Line, ...]:
        """The latest lines, oldest first; words that take more than ``width`` cells go on below."""
        if most <= 0:
            return ()
        if not self._entries:
            return (Line("", "", "quiet", "nothing rare has happened yet"),)
        found: list[Line] = []
        for entry in reversed(self._entries):
            texts = wrap(entry.say(entry), max(20, width - INDENT)) or [""]
            lines = [Line(clock(entry.at_us), entry.glyph, entry.role, texts[0])]
            lines += [Line("", "", entry.role, text) for text in texts[1:]]
            if found and len(found) + len(lines) > most:
                break
            found = lines + found
        return tuple(found[:most])

    def _add(self, event: Any) -> None:
        glyph, role, key, say = describe(event)
        entry = self._same((event.kind, *key), event.at_us)
        if entry is None:
            entry = Entry((event.kind, *key), event.at_us, glyph, role, say, event)
            self._entries.append(entry)
        entry.event = event
        entry.times += 1
        entry.records += getattr(event, "count", 0)
        partition = getattr(event, "partition", "")
        if partition and partition not in entry.partitions:
            entry.partitions.append(partition)

    def _same(self, key: tuple[object, ...], at_us: int) -> Entry | None:
        for back in range(1, min(MERGE_BACK, len(self._entries)) + 1):
            entry = self._entries[-back]
            if entry.key == key and at_us - entry.at_us <= MERGE_US:
                return entry
        return None


class Happened:
    """All events worth a line so far. They are few beside the records, whose logs a session keeps as well."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._numbers: list[int] = []
        """Of each: how many events of the trace there were with it."""

    def take(self, events: Sequence[Event], count: int) -> None:
        """Events in order, after which there were ``count`` in all."""
        for number, event in enumerate(events, count - len(events) + 1):
            if notable(event):
                self._events.append(event)
                self._numbers.append(number)

    def feed(self, count: int) -> Feed:
        """The feed as it was after ``count`` events of the trace."""
        upto = bisect_right(self._numbers, count)
        then = Feed()
        then.take(self._events[max(0, upto - TOLD_AGAIN) : upto])
        return then

    def before(self, at_us: int, count: int) -> int:
        """When the last of the first ``count`` events happened that is worth a line and older; -1 for none."""
        upto = bisect_right(self._numbers, count)
        at = bisect_left(self._events, at_us, hi=upto, key=_when)
        return int(self._events[at - 1].at_us) if at else -1

    def after(self, count: int) -> int:
        """When the next one after the first ``count`` events happened, -1 for none."""
        at = bisect_right(self._numbers, count)
        return int(self._events[at].at_us) if at < len(self._events) else -1

    def during(self, first_us: int, last_us: int, most: int) -> list[Any]:
        """The first so many within a span of time, both ends included."""
        at = bisect_left(self._events, first_us, key=_when)
        upto = bisect_right(self._events, last_us, lo=at, hi=min(len(self._events), at + most), key=_when)
        return self._events[at:upto]


def _when(event: Any) -> int:
    return int(event.at_us)
