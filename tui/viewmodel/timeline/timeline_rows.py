"""The timeline as rows: the time window, lanes of marks with labels, and the stops that can be selected.

Where labels would overlap, the least severe are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rich.cells import cell_len

from cluster_model.util.quantities import clock, compact_duration, exact_seconds
from tui.terminal import glyphs
from tui.terminal.theme import Over
from tui.viewmodel.timeline.event_feed import WEIGHTS, Load, Mark, TapeLane, TimelineMarks
from tui.viewmodel.timeline.event_text import LANES, mark_label

# The window of a timeline: columns of equal width on a fixed grid.


UNITS: Final[tuple[int, ...]] = tuple(step * 10**power for power in range(1, 11) for step in (10, 15, 20, 30, 50))
"""Microseconds that a column may stand for: 100 us and longer."""
_TICK: Final = 20
"""Columns between two times on the ruler."""


class Window(NamedTuple):
    """Time window: ``columns`` columns of ``unit_us`` each, the first one with the number ``first``."""

    unit_us: int
    first: int
    columns: int

    @property
    def start_us(self) -> int:
        """Start of the window, inclusive."""
        return self.first * self.unit_us

    @property
    def end_us(self) -> int:
        """End of the window, exclusive."""
        return (self.first + self.columns) * self.unit_us

    def column(self, at_us: int) -> int:
        """Return the column of a time, counted from the left edge; it may lie outside of the window."""
        return at_us // self.unit_us - self.first

    def instant(self, column: int, present_us: int) -> int:
        """Return the start time of a column; the present time for its own column and all later ones."""
        return present_us if column >= self.column(present_us) else (self.first + column) * self.unit_us

    def holds(self, at_us: int) -> bool:
        """Return whether a time lies inside of the window."""
        return 0 <= self.column(at_us) < self.columns


def fit(present_us: int, columns: int) -> int:
    """Return the smallest unit at which the whole session fits, with some room after the present."""
    room = max(1, columns - columns // 8)
    return next((unit for unit in UNITS if present_us // unit < room), UNITS[-1])


def zoomed(unit_us: int, steps: int, widest_us: int) -> int:
    """Return the unit ``steps`` steps closer (farther if negative), at most ``widest_us``."""
    index = UNITS.index(unit_us) - steps
    return UNITS[min(max(0, index), UNITS.index(widest_us))]


def around(at_us: int, unit_us: int, columns: int, shown: Window | None = None) -> Window:
    """Return a window that contains a time: the current one if it does, else one with the time in its second half.

    The window moves in steps of a quarter of its width, so that a running session stays readable.
    """
    if shown is not None and (shown.unit_us, shown.columns) == (unit_us, columns) and shown.holds(at_us):
        return shown
    quarter, column = max(1, columns // 4), at_us // unit_us
    return Window(unit_us, max(0, (column // quarter - 2) * quarter, column - columns + 1), columns)


def ticks(window: Window) -> list[tuple[int, str]]:
    """Return the columns of the ruler that have a time, and its text."""
    first = -(-window.first // _TICK) * _TICK
    return [
        (number - window.first, tick_text(number * window.unit_us))
        for number in range(first, window.first + window.columns, _TICK)
    ]


def unit_text(unit_us: int) -> str:
    """Return the duration of one column as text."""
    if unit_us < 1000:
        return f"{unit_us}us"
    return f"{unit_us / 1000:g}ms" if unit_us < 1_000_000 else compact_duration(unit_us).replace(".0s", "s")


def tick_text(at_us: int) -> str:
    """Return a time in its shortest form: ``0s``, ``2.5s``, ``01:20``."""
    if at_us < 60_000_000:
        return exact_seconds(at_us)
    return clock(at_us).removesuffix(".000")


# Stops: the marks of a timeline that can be selected, one for each column of a lane.
#
# No mark is left out: the marks of one column become one stop that shows how many they are.


LONGEST: Final = 28
"""Maximum cells of a label."""


@dataclass(frozen=True, slots=True)
class LaneColumn:
    """Marks of one column of a lane as one stop that can be selected."""

    lane: str
    at_us: int
    """Time of the most severe event in it, which is the time to go to."""
    first_us: int
    last_us: int
    glyph: str
    role: str
    text: str
    times: int


@dataclass(frozen=True, slots=True)
class TimelineView:
    """State of the timeline view: window, times, visible lanes and selection."""

    window: Window
    now_us: int
    """Virtual time that is shown."""
    present_us: int
    lanes: tuple[str, ...]
    """Lanes that are not hidden, including the load."""
    selected: tuple[str, int] | None = None
    """Lane and time of the selected mark."""
    span: tuple[int, int] | None = None
    """First and last column of the selected time span; they may lie outside of the window."""


def stops(name: str, lane: TapeLane, window: Window) -> tuple[LaneColumn, ...]:
    """Return one stop for each column with a mark, from the left."""
    columns: dict[int, list[Mark]] = {}
    for mark in lane.marks(window.start_us, window.end_us):
        _add(columns.setdefault(window.column(mark.at_us), []), mark)
    return tuple([_stop(name, columns[column]) for column in sorted(columns)])


def _add(there: list[Mark], mark: Mark) -> None:
    """Add a copy of a mark to those of its column, or merge it into one of them."""
    for known in there:
        if known.same(mark.first.kind, mark.role):
            known.merge(mark)
            return
    there.append(replace(mark))


def _stop(name: str, marks: Sequence[Mark]) -> LaneColumn:
    top = max(marks, key=lambda mark: (mark.weight, -mark.at_us))
    others = sum(mark.times for mark in marks) - top.times
    text = mark_label(top.first, top.times, top.records, top.role) + (f" +{others}" if others else "")
    return LaneColumn(
        name, top.at_us, min(mark.at_us for mark in marks), max(mark.last_us for mark in marks), top.glyph, top.role,
        _narrow(text), top.times + others,
    )  # fmt: skip


def _narrow(text: str) -> str:
    """Return the label shortened, with only characters of one cell, as columns are counted in characters and cells."""
    if not text.isascii():
        text = "".join(char if cell_len(char) == 1 else "?" for char in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def stop_at(tape: TimelineMarks, lane: str, at_us: int, unit_us: int) -> LaneColumn | None:
    """Return the stop of the column of a time; if marks were merged into an earlier bin, the last stop before."""
    there = tape.lanes[lane]
    found = stops(lane, there, Window(unit_us, at_us // unit_us, 1))
    if found:
        return found[0]
    before_us = there.before(at_us + 1)
    return None if before_us < 0 else stops(lane, there, Window(unit_us, before_us // unit_us, 1))[0]


def of_column(tape: TimelineMarks, lane: str, shown: TimelineView, column: int) -> LaneColumn | None:
    """Return the stop in a column of the window; None if there is none, or the lane has no marks."""
    if lane not in event_lanes(shown.lanes):
        return None
    found = stops(lane, tape.lanes[lane], shown.window)
    return next((each for each in found if shown.window.column(each.first_us) == column), None)


def step(tape: TimelineMarks, shown: TimelineView, forward: int) -> LaneColumn | None:
    """Return the next or previous stop of all visible lanes; None at the end.

    Without a selection it is the last stop up to the time shown, or the first one after it.
    """
    unit_us, lanes = shown.window.unit_us, event_lanes(shown.lanes)
    if shown.selected is None:
        column, index = shown.now_us // unit_us, -1 if forward > 0 else len(lanes)
        column += forward > 0
    else:
        column, index = shown.selected[1] // unit_us, _lane_index(lanes, shown.selected[0])
    stops = []
    for number, name in enumerate(lanes):
        lane = tape.lanes[name]
        if forward > 0:
            at_us = lane.after((column if number > index else column + 1) * unit_us)
        else:
            at_us = lane.before((column + 1 if number < index else column) * unit_us)
        if at_us >= 0:
            stops.append((at_us // unit_us, number, name, at_us))
    if not stops:
        return None
    _column, _number, name, at_us = min(stops) if forward > 0 else max(stops)
    return stop_at(tape, name, at_us, unit_us)


def across(tape: TimelineMarks, shown: TimelineView, down: int) -> LaneColumn | None:
    """Return the nearest stop in the next lane below (or above) that has one; None without any."""
    lanes = event_lanes(shown.lanes)
    lane, at_us = shown.selected or (lanes[0] if lanes else "", shown.now_us)
    index = _lane_index(lanes, lane) if shown.selected else (-1 if down > 0 else len(lanes))
    for name in lanes[index + 1 :] if down > 0 else reversed(lanes[: max(index, 0)]):
        near = [each for each in (tape.lanes[name].before(at_us + 1), tape.lanes[name].after(at_us)) if each >= 0]
        if near:
            return stop_at(tape, name, min(near, key=lambda each: abs(each - at_us)), shown.window.unit_us)
    return None


def event_lanes(lanes: Sequence[str]) -> tuple[str, ...]:
    """Return those of the lanes that hold marks."""
    return tuple(name for name in LANES if name in lanes)


def _lane_index(lanes: Sequence[str], lane: str) -> int:
    """Return the index of a lane, -1 if it is hidden."""
    return lanes.index(lane) if lane in lanes else -1


LABEL: Final = 11
"""Cells before a lane."""
LOAD: Final = "load"
TIME: Final = "time"
Letters = Mapping[str, str]
"""Lane → the key that shows or hides it; empty: no keys are shown."""
NONE: Final[Letters] = {}

Span = tuple[str, str, Over]


@dataclass(frozen=True, slots=True)
class TimeRow:
    """Line of the timeline; ``lane`` is empty for the ruler."""

    lane: str
    label: tuple[Span, ...]
    spans: tuple[Span, ...]


class Canvas:
    """Character grid with a role and an overlay for each cell."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns = columns
        self._cells = [[" "] * columns for _ in range(lines)]
        self._looks: list[list[tuple[str, Over]]] = [[("text", "")] * columns for _ in range(lines)]

    def put(self, line: int, column: int, text: str, role: str, over: Over = "") -> None:
        """Write text into a line; text beyond the right edge is cut off."""
        for at, char in enumerate(text[: max(0, self.columns - column)], column):
            self._cells[line][at] = char
            self._looks[line][at] = role, over

    def cover(self, line: int, span: tuple[int, int] | None) -> None:
        """Highlight a selected span in a line, except for cells under the cursor."""
        if span is not None:
            for at in range(max(0, span[0]), min(span[1], self.columns - 1) + 1):
                role, over = self._looks[line][at]
                self._looks[line][at] = role, over or "row"

    def spans(self, line: int) -> tuple[Span, ...]:
        """Return a line as pieces of equal style."""
        pieces: list[Span] = []
        start, looks, cells = 0, self._looks[line], self._cells[line]
        for at in range(1, self.columns + 1):
            if at == self.columns or looks[at] != looks[start]:
                pieces.append(("".join(cells[start:at]), *looks[start]))
                start = at
        return tuple(pieces)


class Drawer:
    """Draws the lanes; a lane is drawn again only when it has changed."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[tuple[object, ...], tuple[TimeRow, ...]]] = {}

    def rows(
        self, tape: TimelineMarks, shown: TimelineView, lanes: Sequence[str], lines: int, *, keys: Letters
    ) -> tuple[TimeRow, ...]:
        """Return the rows of the lanes in order, ``lines`` per lane of marks, then time and ruler."""
        lines_of_canvas: list[TimeRow] = []
        for name in lanes:
            if name == LOAD:
                lines_of_canvas.append(self._load(tape.load, shown, keys=keys))
            elif name in LANES:
                lines_of_canvas += self._lane(name, tape.lanes[name], shown, lines, keys=keys)
        return (*lines_of_canvas, time_row(shown), ruler_row(shown))

    def _lane(
        self, name: str, lane: TapeLane, shown: TimelineView, lines: int, *, keys: Letters
    ) -> tuple[TimeRow, ...]:
        window, selected = shown.window, shown.selected if shown.selected and shown.selected[0] == name else None
        ends = (window.column(shown.now_us), min(window.column(shown.present_us), window.columns))
        state = (lane.version, window, ends, name in shown.lanes, selected, shown.span, lines, keys)
        known = self._cache.get(name)
        if known is None or known[0] != state:
            drawn = lane_rows(name, lane, shown, lines, keys=keys)
            known = self._cache[name] = (state, drawn)
        return known[1]

    def _load(self, load: Load, shown: TimelineView, *, keys: Letters) -> TimeRow:
        tail = tuple(load.counts[-1:])
        ends = shown.window.column(shown.present_us)
        state = (len(load.counts), tail, load.width_us, shown.window, ends, LOAD in shown.lanes, shown.span, keys)
        known = self._cache.get(LOAD)
        if known is None or known[0] != state:
            known = self._cache[LOAD] = (state, (load_row(load, shown, keys=keys),))
        return known[1][0]


def lane_rows(name: str, lane: TapeLane, shown: TimelineView, lines: int, *, keys: Letters) -> tuple[TimeRow, ...]:
    """Return the rows of one lane."""
    window = shown.window
    if name not in shown.lanes:
        return (_hidden(name, keys=keys), *[_blank(name)] * (lines - 1))
    canvas = Canvas(window.columns, lines)
    passed = min(max(0, window.column(shown.present_us) + 1), window.columns)
    canvas.put(0, 0, glyphs.EDGE * passed, "faint")
    looked = window.column(shown.now_us)
    if 0 <= looked < window.columns:
        for line in range(lines):
            canvas.put(line, looked, glyphs.RULE, "key")
    found = stops(name, lane, window)
    for stop, line in _placed(found, window, lines):
        column = window.column(stop.first_us)
        over: Over = "cell" if _is_selected(stop, shown, window) else ""
        canvas.put(0, column, stop.glyph, stop.role, over)
        if line == 0:
            canvas.put(0, column + 1, stop.text, _text_role(stop), over)
        elif line > 0:
            canvas.put(line, column, stop.glyph, stop.role, over)
            canvas.put(line, column + 1, stop.text, _text_role(stop), over)
    for line in range(lines):
        canvas.cover(line, shown.span)
    first = TimeRow(name, _label(name, keys=keys), canvas.spans(0))
    return (first, *[TimeRow(name, _blank(name).label, canvas.spans(line)) for line in range(1, lines)])


def _text_role(stop: LaneColumn) -> str:
    return stop.role if stop.role in ("alarm", "lost", "strong", "warning") else "text"


def _is_selected(stop: LaneColumn, shown: TimelineView, window: Window) -> bool:
    selected = shown.selected
    return selected is not None and window.column(selected[1]) == window.column(stop.first_us)


def _placed(stops: Sequence[LaneColumn], window: Window, lines: int) -> list[tuple[LaneColumn, int]]:
    """Return each stop with the line of its label, -1 where it fits on none; the most severe are placed first."""
    taken = [bytearray(window.columns + 1) for _ in range(lines)]
    for stop in stops:
        taken[0][window.column(stop.first_us)] = 1
    placed: dict[int, int] = {}
    for number in sorted(range(len(stops)), key=lambda each: (-WEIGHTS.get(stops[each].role, 0), -each)):
        stop = stops[number]
        column = window.column(stop.first_us)
        placed[number] = -1
        for line in range(lines):
            start, end = column + (line == 0), column + 1 + len(stop.text)
            if end <= window.columns and not any(taken[line][start : end + 1]):
                taken[line][start:end] = b"\1" * (end - start)
                placed[number] = line
                break
    return [(stop, placed[number]) for number, stop in enumerate(stops)]


def load_row(load: Load, shown: TimelineView, *, keys: Letters) -> TimeRow:
    """Return the row of acknowledged records per second, scaled to the highest column; a dot means none."""
    window = shown.window
    if LOAD not in shown.lanes:
        return _hidden(LOAD, keys=keys)
    rates = column_rates(load, window, shown.present_us)
    peak = max(rates, default=0)
    canvas = Canvas(window.columns, 1)
    for column, rate in enumerate(rates):
        canvas.put(0, column, glyphs.SPARK[rate * 7 // peak] if rate else glyphs.NOTHING, "calm" if rate else "quiet")
    canvas.cover(0, shown.span)
    return TimeRow(LOAD, _label(LOAD, keys=keys), canvas.spans(0))


def column_rates(load: Load, window: Window, present_us: int) -> list[int]:
    """Return records per second for each column up to the present; the last column covers only its elapsed part."""
    unit, start = window.unit_us, window.start_us
    passed = min(max(0, window.column(present_us - 1) + 1), window.columns)
    return [
        load.rate(start + column * unit, min(start + (column + 1) * unit, present_us)) for column in range(passed)
    ]  # fmt: skip


def time_row(shown: TimelineView) -> TimeRow:
    """Return the row of elapsed time: the time shown, the present if it is another one, and the future."""
    window = shown.window
    canvas = Canvas(window.columns, 1)
    looked, present = window.column(shown.now_us), window.column(shown.present_us)
    for column in range(window.columns):
        glyph, role = (glyphs.PASSED, "calm") if column <= looked else (glyphs.EDGE, "quiet")
        canvas.put(0, column, glyph if column <= present else glyphs.FUTURE, role if column <= present else "faint")
    if present != looked and 0 <= present < window.columns:
        canvas.put(0, present, glyphs.PLAY, "text")
    if 0 <= looked < window.columns:
        canvas.put(0, looked, glyphs.IN_SYNC, "strong")
    if shown.span is not None:
        for at, glyph in zip(shown.span, (glyphs.OPENED, glyphs.CLOSED), strict=True):
            if 0 <= at < window.columns:
                canvas.put(0, at, glyph, "key")
        canvas.cover(0, shown.span)
    return TimeRow(TIME, _label(TIME, keys=NONE), canvas.spans(0))


def ruler_row(shown: TimelineView) -> TimeRow:
    """Return the ruler with times; the time shown takes precedence."""
    window = shown.window
    canvas = Canvas(window.columns, 1)
    free = bytearray(b"\1" * window.columns)
    looked = window.column(shown.now_us)
    if 0 <= looked < window.columns:
        time_text = clock(shown.now_us)
        before = looked + 2 + len(time_text) > window.columns
        start = max(0, looked - len(time_text) - 1) if before else looked
        canvas.put(0, start, f"{time_text} {glyphs.TICK}" if before else f"{glyphs.TICK} {time_text}", "strong")
        taken = slice(max(0, start - 1), start + len(time_text) + 3)
        free[taken] = bytes(len(free[taken]))
    for column, text in ticks(window):
        if column + len(text) <= window.columns and all(free[column : column + len(text)]):
            canvas.put(0, column, text, "quiet")
    return TimeRow("", _blank("").label, canvas.spans(0))


def _label(name: str, *, keys: Letters) -> tuple[Span, ...]:
    letter = keys.get(name, "")
    letter = letter if len(letter) == 1 or not keys else " "
    text = f"{letter} {name}"
    return ((text[: len(letter)], "key", ""), (text[len(letter) :].ljust(LABEL - len(letter)), "text", ""))


def _blank(name: str) -> TimeRow:
    return TimeRow(name, ((" " * LABEL, "text", ""),), ())


def _hidden(name: str, *, keys: Letters) -> TimeRow:
    return TimeRow(name, _label(name, keys=keys), ((f"{glyphs.NOTHING} hidden", "quiet", ""),))
