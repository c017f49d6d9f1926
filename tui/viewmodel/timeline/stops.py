"""The marks of a timeline as they can be gone through: what one column of a lane stands for.

A mark is never left out; marks of one column are one mark with their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len

from tui.viewmodel.timeline.event_feed import Lane, Mark, Tape
from tui.viewmodel.timeline.mark_words import LANES, label
from tui.viewmodel.timeline.time_window import Window

LONGEST: Final = 28
"""Cells of a name."""


@dataclass(frozen=True, slots=True)
class Stop:
    """What one column of a lane stands for."""

    lane: str
    at_us: int
    """The first event of what matters most in it: the instant to go to."""
    first_us: int
    last_us: int
    glyph: str
    role: str
    text: str
    times: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What of the session is looked at."""

    window: Window
    now_us: int
    """The instant looked at."""
    present_us: int
    lanes: tuple[str, ...]
    """Those that are not hidden, the load included."""
    selected: tuple[str, int] | None = None
    """Lane and time of a mark."""
    span: tuple[int, int] | None = None
    """First and last column of what is chosen; they may lie outside."""


def stops(name: str, lane: Lane, window: Window) -> tuple[Stop, ...]:
    """One for each column in which something happened, from the left."""
    columns: dict[int, list[Mark]] = {}
    for mark in lane.marks(window.start_us, window.end_us):
        _add(columns.setdefault(window.column(mark.at_us), []), mark)
    return tuple([_stop(name, columns[column]) for column in sorted(columns)])


def _add(there: list[Mark], mark: Mark) -> None:
    """Add a mark to those of its column; the tape's own stays as it is."""
    for known in there:
        if known.same(mark.first.kind, mark.role):
            known.merge(mark)
            return
    there.append(replace(mark))


def _stop(name: str, marks: Sequence[Mark]) -> Stop:
    top = max(marks, key=lambda mark: (mark.weight, -mark.at_us))
    others = sum(mark.times for mark in marks) - top.times
    text = label(top.first, top.times, top.records, top.role) + (f" +{others}" if others else "")
    return Stop(
        name, top.at_us, min(mark.at_us for mark in marks), max(mark.last_us for mark in marks), top.glyph, top.role,
        _narrow(text), top.times + others,
    )  # fmt: skip


def _narrow(text: str) -> str:
    """Cut, and a cell for each character: places are counted in both."""
    if not text.isascii():
        text = "".join(char if cell_len(char) == 1 else "?" for char in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def stop_at(tape: Tape, lane: str, at_us: int, unit_us: int) -> Stop | None:
    """The one whose column holds a time; where marks have grown together, the last one before."""
    there = tape.lanes[lane]
    found = stops(lane, there, Window(unit_us, at_us // unit_us, 1))
    if found:
        return found[0]
    before_us = there.before(at_us + 1)
    return None if before_us < 0 else stops(lane, there, Window(unit_us, before_us // unit_us, 1))[0]


def of_column(tape: Tape, lane: str, shown: Shown, column: int) -> Stop | None:
    """The one in a column of what is shown, None where there is none, and in a lane without marks."""
    if lane not in event_lanes(shown.lanes):
        return None
    found = stops(lane, tape.lanes[lane], shown.window)
    return next((each for each in found if shown.window.column(each.first_us) == column), None)


def step(tape: Tape, shown: Shown, forward: int) -> Stop | None:
    """The next stop of any lane that is shown, or the one before; None where there is no more.

    With nothing selected it is the last one up to the instant looked at, or the first behind it.
    """
    unit_us, lanes = shown.window.unit_us, event_lanes(shown.lanes)
    if shown.selected is None:
        column, place = shown.now_us // unit_us, -1 if forward > 0 else len(lanes)
        column += forward > 0
    else:
        column, place = shown.selected[1] // unit_us, _place(lanes, shown.selected[0])
    found = []
    for number, name in enumerate(lanes):
        lane = tape.lanes[name]
        if forward > 0:
            at_us = lane.after((column if number > place else column + 1) * unit_us)
        else:
            at_us = lane.before((column + 1 if number < place else column) * unit_us)
        if at_us >= 0:
            found.append((at_us // unit_us, number, name, at_us))
    if not found:
        return None
    _column, _number, name, at_us = min(found) if forward > 0 else max(found)
    return stop_at(tape, name, at_us, unit_us)


def across(tape: Tape, shown: Shown, down: int) -> Stop | None:
    """The nearest stop in the next lane below that has any, or above; None where there is none."""
    lanes = event_lanes(shown.lanes)
    lane, at_us = shown.selected or (lanes[0] if lanes else "", shown.now_us)
    place = _place(lanes, lane) if shown.selected else (-1 if down > 0 else len(lanes))
    for name in lanes[place + 1 :] if down > 0 else reversed(lanes[: max(place, 0)]):
        near = [each for each in (tape.lanes[name].before(at_us + 1), tape.lanes[name].after(at_us)) if each >= 0]
        if near:
            return stop_at(tape, name, min(near, key=lambda each: abs(each - at_us)), shown.window.unit_us)
    return None


def event_lanes(lanes: Sequence[str]) -> tuple[str, ...]:
    """The lanes of marks among these."""
    return tuple(name for name in LANES if name in lanes)


def _place(lanes: Sequence[str], lane: str) -> int:
    """Where a lane stands; one that was hidden since, above them all."""
    return lanes.index(lane) if lane in lanes else -1
