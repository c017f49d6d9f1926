"""The event feed, the tape of marks by lane for the timeline, and records per virtual second.

The tape keeps at most :data:`MOST` bins per lane: when there are more, bins become twice as wide. Before
that each time has its own bin. The tape takes each event once, in order, and keeps no reference to the trace.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from cluster_model.observation import ClusterView
from cluster_model.protocol.events import DATA_KINDS, Event
from cluster_model.util.quantities import clock
from playbooks.text import fits
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

# The event feed: rare events as lines, the newest last, with equal events merged into one line.
#
# A crash moves every partition that its broker led: twelve elections at one time are one line with the partitions.


KEEP: Final = 5_000
"""Entries kept, which a search finds; the recording on disk has all of them."""
SHOWN: Final = 500
"""Latest entries that are looked at without a search."""
MERGE_US: Final = 1_000_000
"""Equal events within this much virtual time become one line, if that line ..."""
MERGE_BACK: Final = 8
"""... is among this many of the latest lines."""

FOLD_US: Final = 30_000_000
"""A line repeated within this much virtual time is shown once, as the newest line with the number of repeats."""

REBUILT: Final = 2_000
"""Number of rare events that the feed of a past time is built from, and found in: more lines than a terminal has."""
INDENT: Final = 15
"""Cells that time and glyph take before the text."""

WEIGHTS: Final = {
    role: weight
    for weight, role in enumerate(
        ("faint", "quiet", "text", "calm", "in_sync", "lagging", "warning", "strong", "down", "truncating", "alarm",
         "lost")
    )
}  # fmt: skip
"""Role of an event → its severity."""


class Level(NamedTuple):
    """Filter of the feed: events whose role has at least this severity."""

    name: str
    least: int
    nothing: str
    """Text shown while there are no such events."""


ALL: Final = Level("all", 0, "no notable events yet")
WARNINGS: Final = Level("warnings", WEIGHTS["warning"], "no warnings so far")
ALARMS: Final = Level("alarms", WEIGHTS["alarm"], "no alarms so far")
LEVELS: Final = (ALL, WARNINGS, ALARMS)
"""Levels in the order in which the key cycles through them."""


def level_after(level: Level) -> Level:
    """Return the level that the key selects next."""
    return LEVELS[(LEVELS.index(level) + 1) % len(LEVELS)]


def level_title(level: Level, key: str) -> str:
    """Return the title of the feed: the current level, and the level that the key selects next."""
    shown = "Events" if level == ALL else f"Events: {level.name}"
    return f"{shown} {glyphs.NOTHING} {key}: show {level_after(level).name}{' only' if level != ALARMS else ''}"


def search_text(words: str, found: int) -> str:
    """Return the words of a search for the border of the pane, and the number of lines found; empty without words."""
    return f"/{words} {glyphs.NOTHING} {found} found {glyphs.NOTHING} esc: show all" if words else ""


SEARCH: Final = "words of events, such as b2 elected or orders-0; ! before a word excludes"
"""Hint for the line of the search."""


QUIET_KINDS: Final = frozenset({"became_follower", "became_leader"})
"""Rare events that repeat, for each broker, what another line already shows."""


def _weight(role: str) -> int:
    """Return the severity of a role."""
    return WEIGHTS.get(role, 0)


@dataclass(frozen=True, slots=True)
class FeedLine:
    """Line of the feed: time, glyph, role and text."""

    at: str
    glyph: str
    role: str
    text: str


def notable(event: Event) -> bool:
    """Return whether an event gets a line in the feed."""
    return not (event.kind in DATA_KINDS or event.kind in QUIET_KINDS or own_action(event))


class Feed:
    """Latest entries of the event feed, built from trace events."""

    def __init__(self) -> None:
        self._entries: deque[FeedEntry] = deque(maxlen=KEEP)
        self._notable = 0
        self._found: tuple[int, str, list[FeedEntry]] = (-1, "", [])
        """Version at which entries were searched, the words, and the entries found."""
        self.version = 0
        """Increases with every change of a line."""

    @property
    def notable(self) -> int:
        """Number of notable events so far."""
        return self._notable

    def take(self, events: Iterable[Event]) -> None:
        """Add the notable ones of these events."""
        for event in events:
            if not notable(event):
                continue
            self._notable += 1
            self.version += 1
            self._add(event)

    def found(self, words: str, level: Level = ALL) -> int:
        """Return the number of entries of a level that match the words of a search."""
        return len(self._matching(words, level))

    def _matching(self, words: str, level: Level) -> list[FeedEntry]:
        """Return the entries of a level that match the words; without either only the latest ones."""
        if not words and not level.least:
            return list(self._entries)[-SHOWN:]
        version, before, matching = self._found
        if (version, before) != (self.version, words):
            matching = [each for each in self._entries if not words or fits(words, each.searched())]
            self._found = (self.version, words, matching)
        return [each for each in matching if _weight(each.role) >= level.least]

    def lines(self, limit: int, width: int = 1000, level: Level = ALL, words: str = "") -> tuple[FeedLine, ...]:
        """Return the latest lines of a level that match the words of a search, oldest first.

        Text longer than ``width`` cells wraps.

        Alarms that newer lines would push out stay at the top, in up to a third of the lines.
        """
        if limit <= 0:
            return ()
        entries = self._matching(words, level)
        if not entries:
            nothing = f"no event matches {words}" if words else level.nothing
            return (FeedLine("", "", "quiet", nothing),)
        newest = _placed([*enumerate(entries)][-limit:], width)
        room = limit // 3
        before = _latest(newest, limit - room)[0][0]
        alarms = [(at, each) for at, each in enumerate(entries[:before]) if _weight(each.role) >= ALARMS.least]
        kept = _latest(_placed(alarms[-room:], width), room) if room else []
        if _height(kept) > room:
            ((at, lines),) = kept
            last = f"{wrap(lines[room - 1].text, _columns(width) - 2)[0]} {glyphs.MORE}"
            kept = [(at, [*lines[: room - 1], replace(lines[room - 1], text=last)])]
        shown = dict(kept)
        shown |= _latest([each for each in newest if each[0] not in shown], limit - _height(kept))
        return tuple([line for _at, lines in sorted(shown.items()) for line in lines][:limit])

    def _add(self, event: Any) -> None:
        glyph, role, key, say = describe_event(event)
        partition = getattr(event, "partition", "")
        earlier = self._same((event.kind, *key), event.at_us)
        entry = earlier or FeedEntry((event.kind, *key), event.at_us, glyph, role, say, event)
        entry.event = event
        entry.records += getattr(event, "count", 0)
        if partition and partition not in entry.partitions:
            entry.partitions.append(partition)
        elif earlier is not None:
            entry.repeats += 1
        if earlier is None:
            counts = in_records(event.kind)
            entry.repeat_key = (*entry.key, partition) if counts else (event.kind, role, say(entry))
            self._append(entry)

    def _append(self, entry: FeedEntry) -> None:
        """Add an entry; an older entry that it repeats absorbs it and becomes the latest."""
        for back, earlier in enumerate(reversed(self._entries), 1):
            if entry.at_us - earlier.last_us > FOLD_US:
                break
            if earlier.repeat_key == entry.repeat_key and len(earlier.partitions) <= 1:
                del self._entries[-back]
                earlier.event = entry.event
                earlier.records += entry.records
                earlier.repeats += 1
                entry = earlier
                break
        self._entries.append(entry)

    def _same(self, key: tuple[object, ...], at_us: int) -> FeedEntry | None:
        for back in range(1, min(MERGE_BACK, len(self._entries)) + 1):
            entry = self._entries[-back]
            if entry.key == key and at_us - entry.at_us <= MERGE_US:
                return entry
        return None


PlacedLines = tuple[int, list[FeedLine]]
"""Index of an entry among those of its level, and its lines."""


def _placed(entries: Sequence[tuple[int, FeedEntry]], width: int) -> list[PlacedLines]:
    """Return entries with their indexes, as lines."""
    return [(at, _lines(each, width)) for at, each in entries]


def _columns(width: int) -> int:
    """Return the cells left for text after time and glyph."""
    return max(20, width - INDENT)


def _height(placed: Sequence[PlacedLines]) -> int:
    """Return the number of lines of these entries."""
    return sum(len(lines) for _at, lines in placed)


def _latest(placed: Sequence[PlacedLines], limit: int) -> list[PlacedLines]:
    """Return the latest entries that fit into ``limit`` lines together; the newest one in any case."""
    count = 0
    for _at, lines in reversed(placed):
        limit -= len(lines)
        if limit < 0 and count:
            break
        count += 1
    return list(placed[len(placed) - count :])


def _lines(entry: FeedEntry, width: int) -> list[FeedLine]:
    """Return the lines of an entry, with the number of repeats and the time of the first."""
    text, at_us = entry.text_of(entry), entry.last_us if entry.last_us - entry.at_us > MERGE_US else entry.at_us
    counted = in_records(entry.event.kind)  # its text already has the number
    text += f" {glyphs.TIMES}{entry.repeats}" if entry.repeats > 1 and not counted else ""
    text += f" since {clock(entry.at_us)}" if entry.repeats > 1 and at_us != entry.at_us else ""
    texts = wrap(text, _columns(width)) or [""]
    first = FeedLine(clock(at_us), entry.glyph, entry.role, texts[0])
    return [first, *(FeedLine("", "", entry.role, text) for text in texts[1:])]


class NotableEvents:
    """All notable events so far, kept so that the feed of any past time can be built again."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._numbers: list[int] = []
        """Number of trace events up to and including each of them."""

    def take(self, events: Sequence[Event], count: int) -> None:
        """Add events in order; ``count`` is the number of trace events after them."""
        for number, event in enumerate(events, count - len(events) + 1):
            if notable(event):
                self._events.append(event)
                self._numbers.append(number)

    def feed(self, count: int) -> Feed:
        """Return the feed as it was after ``count`` events of the trace."""
        upto = bisect_right(self._numbers, count)
        then = Feed()
        then.take(self._events[max(0, upto - REBUILT) : upto])
        return then

    def before(self, at_us: int, count: int) -> int:
        """Return the time of the last notable event before ``at_us`` among the first ``count`` events, -1 for none."""
        upto = bisect_right(self._numbers, count)
        at = bisect_left(self._events, at_us, hi=upto, key=_when)
        return int(self._events[at - 1].at_us) if at else -1

    def after(self, count: int) -> int:
        """Return the time of the next notable event after the first ``count`` events, -1 for none."""
        at = bisect_right(self._numbers, count)
        return int(self._events[at].at_us) if at < len(self._events) else -1

    def during(self, first_us: int, last_us: int, limit: int) -> list[Any]:
        """Return the first ``limit`` events within a time span, both ends included."""
        at = bisect_left(self._events, first_us, key=_when)
        upto = bisect_right(self._events, last_us, lo=at, hi=min(len(self._events), at + limit), key=_when)
        return self._events[at:upto]


def _when(event: Any) -> int:
    return int(event.at_us)


MOST: Final = 2048
"""Maximum number of bins of a lane."""
LOAD_BIN_US: Final = 10_000
"""Initial width of the bins of the load."""


@dataclass(slots=True)
class Mark:
    """Mark on the timeline: events of one kind and severity within one bin."""

    first: Any
    """The earliest of the events."""
    glyph: str
    role: str
    last_us: int
    times: int = 1
    records: int = 0

    @property
    def at_us(self) -> int:
        """Virtual time of the earliest event."""
        return int(self.first.at_us)

    @property
    def weight(self) -> int:
        """Severity of its role."""
        return _weight(self.role)

    def same(self, kind: str, role: str) -> bool:
        """Return whether an event of that kind and role belongs to this mark."""
        return self.role == role and bool(self.first.kind == kind)

    def merge(self, later: "Mark") -> None:
        """Absorb a later mark of the same kind and role."""
        self.last_us = max(self.last_us, later.last_us)
        self.times += later.times
        self.records += later.records


class TapeLane:
    """Marks of a lane, in bins in order of time; empty bins are left out."""

    def __init__(self) -> None:
        self.version = 0
        """Increases with every change of a mark."""
        self.width_us = 1
        self.work = 0
        """Marks read or written so far; tests bound it."""
        self._bins: list[int] = []
        """Bin numbers: ``at_us // width_us``."""
        self._marks: list[list[Mark]] = []

    def __len__(self) -> int:
        return len(self._bins)

    def add(self, mark: Mark) -> None:
        """Add a mark that is not older than the last one."""
        self.version += 1
        self._put(mark.at_us // self.width_us, [mark])
        while len(self._bins) > MOST:
            self._widen()

    def marks(self, start_us: int, end_us: int) -> Iterator[Mark]:
        """Yield the marks whose earliest event is within ``[start_us, end_us)``, in order of bins."""
        for index in range(bisect_left(self._bins, start_us // self.width_us), len(self._bins)):
            if self._bins[index] * self.width_us >= end_us:
                break
            for mark in self._marks[index]:
                self.work += 1
                if start_us <= mark.at_us < end_us:
                    yield mark

    def after(self, at_us: int) -> int:
        """Return the time of the first mark at or after ``at_us``, -1 for none."""
        for index in range(bisect_left(self._bins, at_us // self.width_us), len(self._bins)):
            found = min((mark.at_us for mark in self._marks[index] if mark.at_us >= at_us), default=-1)
            if found >= 0:
                return found
        return -1

    def before(self, at_us: int) -> int:
        """Return the time of the last mark before ``at_us``, -1 for none."""
        for index in range(bisect_left(self._bins, at_us // self.width_us + 1) - 1, -1, -1):
            found = max((mark.at_us for mark in self._marks[index] if mark.at_us < at_us), default=-1)
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
        """Double the width of the bins."""
        self.width_us *= 2
        old = list(zip(self._bins, self._marks, strict=True))
        self._bins, self._marks = [], []
        for number, marks in old:
            self._put(number // 2, marks)


class Load:
    """Acknowledged records, counted in bins of equal width from time 0."""

    def __init__(self) -> None:
        self.width_us = LOAD_BIN_US
        self.counts: list[int] = []
        self.last_us = -1
        """Time of the latest acknowledgement."""

    def add(self, at_us: int, records: int) -> None:
        """Count ``records`` more at ``at_us``."""
        index = at_us // self.width_us
        while index >= MOST:
            self._widen()
            index = at_us // self.width_us
        if index >= len(self.counts):
            self.counts += [0] * (index + 1 - len(self.counts))
        self.counts[index] += records
        self.last_us = at_us

    def rate(self, start_us: int, end_us: int) -> int:
        """Return records per second over ``[start_us, end_us)``, as exactly as the bins allow."""
        first, last = start_us // self.width_us, max(start_us, end_us - 1) // self.width_us
        return sum(self.counts[first : last + 1]) * 1_000_000 // ((last - first + 1) * self.width_us)

    def within(self, start_us: int, end_us: int) -> tuple[int, bool]:
        """Return the records in the bins that overlap ``[start_us, end_us)``, and whether that count is exact."""
        first, last = start_us // self.width_us, max(start_us, end_us - 1) // self.width_us
        whole = start_us % self.width_us == 0 and (end_us % self.width_us == 0 or end_us > self.last_us)
        return sum(self.counts[first : last + 1]), whole

    def _widen(self) -> None:
        self.width_us *= 2
        even, odd = self.counts[::2], self.counts[1::2]
        self.counts = [one + other for one, other in zip(even, [*odd, 0], strict=False)]


class TimelineMarks:
    """Marks of all lanes and the load, built from trace events in order."""

    def __init__(self) -> None:
        self.lanes = {name: TapeLane() for name in LANES}
        self.load = Load()

    def take(self, events: Iterable[Any]) -> None:
        """Add marks for notable events, and count the load."""
        for event in events:
            kind = event.kind
            if kind == LOAD_KIND:
                self.load.add(event.at_us, event.count)
            elif kind not in DATA_KINDS and notable(event):
                glyph, role, _key, _say = describe_event(event)
                mark = Mark(event, glyph, role, event.at_us, 1, getattr(event, "count", 0))
                self.lanes[lane_of(kind)].add(mark)


# Records per virtual second, over about the last two seconds.


SPAN_US: Final = 2_000_000
"""Time span of a rate, in virtual time."""
_STEP_US: Final = 100_000


class Rates:
    """Rates of producers and groups, computed from their counters at recent times."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, dict[str, int]]] = deque()

    def of(self, view: ClusterView) -> dict[str, float]:
        """Return acked records of producers and read records of groups per virtual second, by name; empty at first."""
        now = {each.name: each.acked for each in view.producers} | {each.name: each.read for each in view.groups}
        if not self._samples or view.now_us - self._samples[-1][0] >= _STEP_US:
            self._samples.append((view.now_us, now))
        while len(self._samples) > 2 and self._samples[1][0] <= view.now_us - SPAN_US:
            self._samples.popleft()
        at_us, then = self._samples[0]
        if view.now_us <= at_us:
            return {}
        return {name: (value - then.get(name, 0)) * 1e6 / (view.now_us - at_us) for name, value in now.items()}
