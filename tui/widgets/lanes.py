"""Rows of the log lanes as strips."""

from textual.strip import Strip

from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel.lanes import LABEL, Lane, Marks, Row, Ruler, Title
from tui.widgets.line import Span, left, strip


def paint(row: Row, width: int, look: Look) -> Strip:
    """One line of the lanes."""
    match row:
        case Title():
            return strip([(" " + row.text, "strong")], width, look)
        case Ruler():
            return strip([(" " * LABEL, "text"), (row.text, "quiet")], width, look)
        case Marks():
            return strip([(" " * LABEL, "text"), *row.pieces], width, look)
        case Lane():
            return _lane(row, width, look)


def _lane(lane: Lane, width: int, look: Look) -> Strip:
    spans: list[Span] = [
        (glyphs.MARKER if lane.cursor else " ", "key"),
        (lane.glyph, lane.role),
        (left(lane.broker, 3), "strong"),
        (left(lane.word, LABEL - 5), lane.role if lane.role != "leader" else "text"),
    ]
    spans += lane.cells
    spans.append((f" {lane.note}", "text"))
    if lane.odd:
        spans.append((f" {lane.odd}", "diverged"))
    return strip(spans, width, look)
