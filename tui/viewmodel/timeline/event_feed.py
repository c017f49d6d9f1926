"""The event feed, the tape of what happened by lane, and records per virtual second.

The tape is as long after a million events as after a thousand: bins grow twice as wide when there are too many of
them. Until then every instant is a bin of its own. It is fed as time goes on and never looks back at an event.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from cluster_model.observation import ClusterView
from cluster_model.protocol.events import DATA_KINDS, Event
from cluster_model.util.quantities import clock
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.timeline.event_text import (
    LANES,
    LOAD_KIND,
    FeedEntry,
    describe_event,
    in_records,
    lane_of,
    own_action,
)

# The event feed: rare events in plain words, the newest last, with equal things merged into one line.
#
# A crash moves every partition that its broker led; twelve elections in one instant are one line that names the
# partitions, not twelve.


KEEP: Final = 500
"""Lines kept; a session on disk has them all."""
MERGE_US: Final = 1_000_000
"""Equal events within this much virtual time become one line ..."""
MERGE_BACK: Final = 8
"""... when it is among so many latest lines."""

FOLD_US: Final = 30_000_000
"""A line that is repeated within this much virtual time is one line, the newest, that says how often."""

TOLD_AGAIN: Final = 2_000
"""Rare events that the feed of a past instant is made of: more lines than any screen has."""
INDENT: Final = 15
"""Cells that time and glyph take in front of the words."""

WEIGHTS: Final = {
    role: weight
    for weight, role in enumerate(
        ("faint", "quiet", "text", "calm", "in_sync", "lagging", "warning", "strong", "down", "truncating", "alarm",
         "lost")
    )
}  # fmt: skip
"""Role of an event → how much it matters."""


class Level(NamedTuple):
    """Which events the feed shows: those whose role weighs so much at least."""

    name: str
    least: int
    nothing: str
    """What stands there while there are none."""


ALL: Final = Level("all", 0, "nothing rare has happened yet")
WARNINGS: Final = Level("warnings", WEIGHTS["warning"], "no warning so far")
ALARMS: Final = Level("alarms", WEIGHTS["alarm"], "no alarm so far")
LEVELS: Final = (ALL, WARNINGS, ALARMS)
"""In the order in which a key goes through them."""


def level_after(level: Level) -> Level:
    """The level that the key shows next."""
    return LEVELS[(LEVELS.index(level) + 1) % len(LEVELS)]


def level_title(level: Level, key: str) -> str:
    """The title of the feed: which events it shows, and what the key shows next."""
    shown = "Events" if level == ALL else f"Events: {level.name}"
    return f"{shown} {glyphs.NOTHING} {key}: {level_after(level).name}"


QUIET_KINDS: Final = frozenset({"became_follower", "became_leader"})
"""Rare events that say again, for each broker, what another line has said."""


def _weight(role: str) -> int:
    """How much an event of that role matters."""
    return WEIGHTS.get(role, 0)


@dataclass(frozen=True, slots=True)
class FeedLine:
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
        self._entries: deque[FeedEntry] = deque(maxlen=KEEP)
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

    def lines(self, most: int, width: int = 1000, level: Level = ALL) -> tuple[FeedLine, ...]:
        """The latest lines of a level, oldest first; words that take more than ``width`` cells go on below.

        Alarms that newer lines would push out of sight stay at the top, in up to a third of the lines, cut to that.
        """
        if most <= 0:
            return ()
        entries = [each for each in self._entries if _weight(each.role) >= level.least]
        if not entries:
            return (FeedLine("", "", "quiet", level.nothing),)
        newest = _placed([*enumerate(entries)][-most:], width)
        room = most // 3
        before = _latest(newest, most - room)[0][0]
        alarms = [(at, each) for at, each in enumerate(entries[:before]) if _weight(each.role) >= ALARMS.least]
        kept = _latest(_placed(alarms[-room:], width), room) if room else []
        if _height(kept) > room:
            ((at, lines),) = kept
            last = f"{wrap(lines[room - 1].text, _columns(width) - 2)[0]} {glyphs.MORE}"
            kept = [(at, [*lines[: room - 1], replace(lines[room - 1], text=last)])]
        shown = dict(kept)
        shown |= _latest([each for each in newest if each[0] not in shown], most - _height(kept))
        return tuple([line for _at, lines in sorted(shown.items()) for line in lines][:most])

    def _add(self, event: Any) -> None:
        glyph, role, key, say = describe_event(event)
        partition = getattr(event, "partition", "")
        known = self._same((event.kind, *key), event.at_us)
        entry = known or FeedEntry((event.kind, *key), event.at_us, glyph, role, say, event)
        entry.event = event
        entry.records += getattr(event, "count", 0)
        if partition and partition not in entry.partitions:
            entry.partitions.append(partition)
        elif known is not None:
            entry.repeats += 1
        if known is None:
            counts = in_records(event.kind)
            entry.repeat_key = (*entry.key, partition) if counts else (event.kind, role, say(entry))
            self._append(entry)

    def _append(self, entry: FeedEntry) -> None:
        """Add a line; an older one that it repeats takes it in and becomes the latest."""
        for back, known in enumerate(reversed(self._entries), 1):
            if entry.at_us - known.last_us > FOLD_US:
                break
            if known.repeat_key == entry.repeat_key and len(known.partitions) <= 1:
                del self._entries[-back]
                known.event = entry.event
                known.records += entry.records
                known.repeats += 1
                entry = known
                break
        self._entries.append(entry)

    def _same(self, key: tuple[object, ...], at_us: int) -> FeedEntry | None:
        for back in range(1, min(MERGE_BACK, len(self._entries)) + 1):
            entry = self._entries[-back]
            if entry.key == key and at_us - entry.at_us <= MERGE_US:
                return entry
        return None


PlacedLines = tuple[int, list[FeedLine]]
"""The place of an entry among those of its level, and its lines."""


def _placed(entries: Sequence[tuple[int, FeedEntry]], width: int) -> list[PlacedLines]:
    """Entries with their places, in lines."""
    return [(at, _lines(each, width)) for at, each in entries]


def _columns(width: int) -> int:
    """Cells that words may take behind time and glyph."""
    return max(20, width - INDENT)


def _height(placed: Sequence[PlacedLines]) -> int:
    """How many lines they take."""
    return sum(len(lines) for _at, lines in placed)


def _latest(placed: Sequence[PlacedLines], most: int) -> list[PlacedLines]:
    """Of entries, by their places, the latest that have so many lines together; the newest one in any case."""
    found = 0
    for _at, lines in reversed(placed):
        most -= len(lines)
        if most < 0 and found:
            break
        found += 1
    return list(placed[len(placed) - found :])


def _lines(entry: FeedEntry, width: int) -> list[FeedLine]:
    """The lines of an entry, with how often it happened, and since when if that is not one moment."""
    text, at_us = entry.say(entry), entry.last_us if entry.last_us - entry.at_us > MERGE_US else entry.at_us
    counted = in_records(entry.event.kind)  # then the words say how many
    text += f" {glyphs.TIMES}{entry.repeats}" if entry.repeats > 1 and not counted else ""
    text += f" since {clock(entry.at_us)}" if entry.repeats > 1 and at_us != entry.at_us else ""
    texts = wrap(text, _columns(width)) or [""]
    first = FeedLine(clock(at_us), entry.glyph, entry.role, texts[0])
    return [first, *(FeedLine("", "", entry.role, text) for text in texts[1:])]


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


MOST: Final = 2048
"""Bins of a lane."""
LOAD_BIN_US: Final = 10_000
"""Width of the bins that the load is counted in, to begin with."""


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
        return _weight(self.role)

    def same(self, kind: str, role: str) -> bool:
        """Whether such an event belongs to it."""
        return self.role == role and bool(self.first.kind == kind)

    def merge(self, later: "Mark") -> None:
        """Take in the events of another mark of the same kind and role."""
        self.last_us = max(self.last_us, later.last_us)
        self.times += later.times
        self.records += later.records


class TapeLane:
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
        self.lanes = {name: TapeLane() for name in LANES}
        self.load = Load()

    def take(self, events: Iterable[Any]) -> None:
        """Add what is worth a mark, and count the load."""
        for event in events:
            kind = event.kind
            if kind == LOAD_KIND:
                self.load.add(event.at_us, event.count)
            elif kind not in DATA_KINDS and notable(event):
                glyph, role, _key, _say = describe_event(event)
                mark = Mark(event, glyph, role, event.at_us, 1, getattr(event, "count", 0))
                self.lanes[lane_of(kind)].add(mark)


# Records per virtual second, over the last two seconds or so.


SPAN_US: Final = 2_000_000
"""How far back a rate looks, in virtual time."""
_STEP_US: Final = 100_000


class Rates:
    """Remembers the books of a few instants and tells how fast they grow."""

    def __init__(self) -> None:
        self._books: deque[tuple[int, dict[str, int]]] = deque()

    def of(self, view: ClusterView) -> dict[str, float]:
        """Producers' acked and groups' read records per virtual second, by name; empty before time has passed."""
        now = {each.name: each.acked for each in view.producers} | {each.name: each.read for each in view.groups}
        if not self._books or view.now_us - self._books[-1][0] >= _STEP_US:
            self._books.append((view.now_us, now))
        while len(self._books) > 2 and self._books[1][0] <= view.now_us - SPAN_US:
            self._books.popleft()
        at_us, then = self._books[0]
        if view.now_us <= at_us:
            return {}
        return {name: (value - then.get(name, 0)) * 1e6 / (view.now_us - at_us) for name, value in now.items()}
