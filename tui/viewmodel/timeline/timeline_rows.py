"""The lanes of the timeline: marks where something happened, with their names as far as these fit.

Where names would overlap, those of what matters least give way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tui.terminal import glyphs
from tui.terminal.format import clock
from tui.terminal.theme import Over
from tui.viewmodel.timeline.event_feed import WEIGHTS, Lane, Load, Tape
from tui.viewmodel.timeline.mark_words import LANES
from tui.viewmodel.timeline.stops import Shown, Stop, stops
from tui.viewmodel.timeline.time_window import Window, ticks

LABEL: Final = 11
"""Cells in front of a lane."""
LOAD: Final = "load"
TIME: Final = "time"
Letters = Mapping[str, str]
"""Lane → the key that shows and hides it; none: no keys are told."""
NONE: Final[Letters] = {}

Span = tuple[str, str, Over]


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A line of the timeline; ``lane`` is empty where it belongs to none."""

    lane: str
    label: tuple[Span, ...]
    spans: tuple[Span, ...]


class Canvas:
    """Lines of cells with a role each, and what lies over them."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns = columns
        self._cells = [[" "] * columns for _ in range(lines)]
        self._looks: list[list[tuple[str, Over]]] = [[("text", "")] * columns for _ in range(lines)]

    def put(self, line: int, column: int, text: str, role: str, over: Over = "") -> None:
        """Write; what does not fit is cut."""
        for at, char in enumerate(text[: max(0, self.columns - column)], column):
            self._cells[line][at] = char
            self._looks[line][at] = role, over

    def cover(self, line: int, span: tuple[int, int] | None) -> None:
        """Lay a chosen span over a line, but not over what the cursor is on."""
        if span is not None:
            for at in range(max(0, span[0]), min(span[1], self.columns - 1) + 1):
                role, over = self._looks[line][at]
                self._looks[line][at] = role, over or "row"

    def spans(self, line: int) -> tuple[Span, ...]:
        """A line in pieces."""
        pieces: list[Span] = []
        start, looks, cells = 0, self._looks[line], self._cells[line]
        for at in range(1, self.columns + 1):
            if at == self.columns or looks[at] != looks[start]:
                pieces.append(("".join(cells[start:at]), *looks[start]))
                start = at
        return tuple(pieces)


class Drawer:
    """Draws the lanes, each only when something of it has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[object, ...], tuple[TimeRow, ...]]] = {}

    def rows(self, tape: Tape, shown: Shown, lanes: Sequence[str], lines: int, *, keys: Letters) -> tuple[TimeRow, ...]:
        """The lanes in that order, ``lines`` for each lane of marks, then the time; ``keys``: with their keys."""
        found: list[TimeRow] = []
        for name in lanes:
            if name == LOAD:
                found.append(self._load(tape.load, shown, keys=keys))
            elif name in LANES:
                found += self._lane(name, tape.lanes[name], shown, lines, keys=keys)
        return (*found, time_row(shown), ruler_row(shown))

    def _lane(self, name: str, lane: Lane, shown: Shown, lines: int, *, keys: Letters) -> tuple[TimeRow, ...]:
        window, selected = shown.window, shown.selected if shown.selected and shown.selected[0] == name else None
        ends = (window.column(shown.now_us), min(window.column(shown.present_us), window.columns))
        state = (lane.version, window, ends, name in shown.lanes, selected, shown.span, lines, keys)
        known = self._known.get(name)
        if known is None or known[0] != state:
            drawn = lane_rows(name, lane, shown, lines, keys=keys)
            known = self._known[name] = (state, drawn)
        return known[1]

    def _load(self, load: Load, shown: Shown, *, keys: Letters) -> TimeRow:
        tail = tuple(load.counts[-1:])
        ends = shown.window.column(shown.present_us)
        state = (len(load.counts), tail, load.width_us, shown.window, ends, LOAD in shown.lanes, shown.span, keys)
        known = self._known.get(LOAD)
        if known is None or known[0] != state:
            known = self._known[LOAD] = (state, (load_row(load, shown, keys=keys),))
        return known[1][0]


def lane_rows(name: str, lane: Lane, shown: Shown, lines: int, *, keys: Letters) -> tuple[TimeRow, ...]:
    """One lane."""
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


def _text_role(stop: Stop) -> str:
    return stop.role if stop.role in ("alarm", "lost", "strong", "warning") else "text"


def _is_selected(stop: Stop, shown: Shown, window: Window) -> bool:
    selected = shown.selected
    return selected is not None and window.column(selected[1]) == window.column(stop.first_us)


def _placed(found: Sequence[Stop], window: Window, lines: int) -> list[tuple[Stop, int]]:
    """Each stop with the line that its name goes on, -1 where it fits on none: what matters most chooses first."""
    taken = [bytearray(window.columns + 1) for _ in range(lines)]
    for stop in found:
        taken[0][window.column(stop.first_us)] = 1
    placed: dict[int, int] = {}
    for number in sorted(range(len(found)), key=lambda each: (-WEIGHTS.get(found[each].role, 0), -each)):
        stop = found[number]
        column = window.column(stop.first_us)
        placed[number] = -1
        for line in range(lines):
            start, end = column + (line == 0), column + 1 + len(stop.text)
            if end <= window.columns and not any(taken[line][start : end + 1]):
                taken[line][start:end] = b"\1" * (end - start)
                placed[number] = line
                break
    return [(stop, placed[number]) for number, stop in enumerate(found)]


def load_row(load: Load, shown: Shown, *, keys: Letters) -> TimeRow:
    """Records acknowledged a second, the highest column as high as a cell; a dot where there was none."""
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
    """Records a second, column by column, up to the present; of its own column what has passed counts."""
    unit, start = window.unit_us, window.start_us
    passed = min(max(0, window.column(present_us - 1) + 1), window.columns)
    return [
        load.rate(start + column * unit, min(start + (column + 1) * unit, present_us)) for column in range(passed)
    ]  # fmt: skip


def time_row(shown: Shown) -> TimeRow:
    """How much has passed: the instant looked at, the present where that is another, and what is yet to come."""
    window = shown.window
    canvas = Canvas(window.columns, 1)
    looked, present = window.column(shown.now_us), window.column(shown.present_us)
    for column in range(window.columns):
        glyph, role = (glyphs.PASSED, "calm") if column <= looked else (glyphs.EDGE, "quiet")
        canvas.put(0, column, glyph if column <= present else glyphs.AHEAD, role if column <= present else "faint")
    if present != looked and 0 <= present < window.columns:
        canvas.put(0, present, glyphs.PLAY, "text")
    if 0 <= looked < window.columns:
        canvas.put(0, looked, glyphs.IN_SYNC, "strong")
    if shown.span is not None:
        for at, glyph in zip(shown.span, (glyphs.OPENED, glyphs.UNENDED), strict=True):
            if 0 <= at < window.columns:
                canvas.put(0, at, glyph, "key")
        canvas.cover(0, shown.span)
    return TimeRow(TIME, _label(TIME, keys=NONE), canvas.spans(0))


def ruler_row(shown: Shown) -> TimeRow:
    """Times below, the one looked at first of all."""
    window = shown.window
    canvas = Canvas(window.columns, 1)
    free = bytearray(b"\1" * window.columns)
    looked = window.column(shown.now_us)
    if 0 <= looked < window.columns:
        told = clock(shown.now_us)
        before = looked + 2 + len(told) > window.columns
        start = max(0, looked - len(told) - 1) if before else looked
        canvas.put(0, start, f"{told} {glyphs.TICK}" if before else f"{glyphs.TICK} {told}", "strong")
        free[max(0, start - 1) : start + len(told) + 3] = bytes(len(free[max(0, start - 1) : start + len(told) + 3]))
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
