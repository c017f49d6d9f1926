"""The cells of one replica's log at any scale: of all that a cell covers, the worst is shown."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.inspection.log_marks import LaneMarks
from cluster_model.observation.views import LaneView, Run
from tui.terminal import glyphs
from tui.terminal.theme import Over
from tui.viewmodel.record_look import record_look
from tui.viewmodel.scope import Scope

Piece = tuple[str, str, Over]
"""Text, role, and whether the cursor lies on it."""


class Cell(NamedTuple):
    """What one cell shows; the greater ``rank`` is worse, and wins."""

    rank: int
    text: str
    role: str


EMPTY: Final = Cell(0, " ", "text")
HOLE: Final = Cell(1, glyphs.HOLE, "quiet")
START: Final = Cell(1, glyphs.LOG_START, "quiet")
_SOLID, _ABOVE, _DIVERGED, _LOST = 2, 4, 5, 6
"""Ranks; between the first two stands a marker."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A lane with what is drawn into it."""

    lane: LaneView
    marks: LaneMarks
    hw: int
    """The leader's, -1 without one."""


def pieces(drawing: Drawing, scope: Scope, cursor: int) -> tuple[Piece, ...]:
    """The lane over the window, neighbours of equal look together; ``cursor`` is a cell, -1: not on this lane."""
    lane = drawing.lane
    cells = [EMPTY] * scope.size
    for low, high in drawing.marks.holes:
        _put(cells, scope, (low, high), HOLE)
    for run in lane.runs:
        certain = min(max(lane.hw, run.start), run.end)
        _put(cells, scope, (run.start, certain), _cell(run, sure=True))
        _put(cells, scope, (certain, run.end), _cell(run, sure=False))
    for low, high in drawing.marks.control:
        _over(cells, scope, range(low, high), glyphs.CONTROL)
    for low, high in drawing.marks.open:
        _over(cells, scope, (high - 1,), glyphs.UNENDED)
        _over(cells, scope, (low,), glyphs.OPENED)
    if scope.start < lane.log_start <= scope.end:
        at = scope.cell(lane.log_start - 1)
        cells[at] = START if cells[at] is EMPTY else cells[at]
    _own_hw(cells, scope, drawing)
    _elsewhere(cells, scope, lane)
    return _joined(cells, cursor)


def _cell(run: Run, *, sure: bool) -> Cell:
    rank = _LOST if run.lost else _DIVERGED if run.diverged else _SOLID if sure else _ABOVE
    return Cell(rank, *record_look(run, sure=sure))


def _put(cells: list[Cell], scope: Scope, offsets: tuple[int, int], cell: Cell) -> None:
    start, end = max(offsets[0], scope.start), min(offsets[1], scope.end)
    if start >= end:
        return
    for at in range(scope.cell(start), scope.cell(end - 1) + 1):
        if cell.rank >= cells[at].rank:
            cells[at] = cell


def _over(cells: list[Cell], scope: Scope, offsets: tuple[int, ...] | range, text: str) -> None:
    """Write over sound cells, in their colour."""
    for offset in offsets:
        at = scope.cell(offset)
        if 0 <= at < len(cells) and cells[at].rank in (_SOLID, _ABOVE):
            cells[at] = cells[at]._replace(text=text)


def _own_hw(cells: list[Cell], scope: Scope, drawing: Drawing) -> None:
    """A tick where this replica's own high watermark stands, when it is not the leader's."""
    hw = drawing.lane.hw
    at = scope.cell(hw)
    if hw != drawing.hw and drawing.hw >= 0 and 0 <= at < len(cells) and cells[at].rank in (EMPTY.rank, _ABOVE):
        cells[at] = Cell(_ABOVE, glyphs.OWN_HW, "warning")


def _elsewhere(cells: list[Cell], scope: Scope, lane: LaneView) -> None:
    """An empty lane would look like an empty log."""
    text = ""
    if lane.leo <= scope.start and lane.leo > lane.log_start:
        text = f"{glyphs.MORE_LEFT} ends at {lane.leo}"
    elif lane.log_start >= scope.end:
        text = f"begins at {lane.log_start} {glyphs.MORE_RIGHT}"
    elif lane.leo == lane.log_start and scope.start <= lane.leo:
        text = "empty"
    free = next((at for at, cell in enumerate(cells) if cell is EMPTY), len(cells))
    room = len(cells) - free
    if text and all(cell is EMPTY for cell in cells[free:]):
        for at, letter in enumerate(text[:room]):
            cells[free + at] = Cell(0, letter, "quiet")


def _joined(cells: list[Cell], cursor: int) -> tuple[Piece, ...]:
    found: list[Piece] = []
    text, role = "", ""
    for at, cell in enumerate(cells):
        if at == cursor or cell.role != role:
            if text:
                found.append((text, role, ""))
            text, role = "", cell.role
        if at == cursor:
            found.append((cell.text, cell.role, "cell"))
        else:
            text += cell.text
    if text:
        found.append((text, role, ""))
    return tuple(found)
