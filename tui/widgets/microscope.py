"""Rows of the log microscope as strips."""

from textual.strip import Strip

from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel.log_view import LaneRow, MarksRow, Row, TextRow
from tui.widgets.line import Span, left, strip


def paint(row: Row, width: int, look: Look) -> Strip:
    """One line of the microscope."""
    if isinstance(row, TextRow):
        return strip([(f" {row.text}", row.role)], width, look)
    if isinstance(row, MarksRow):
        return strip([(" " * row.columns.label, "text"), *row.pieces], width, look)
    return _lane(row, width, look)


def _lane(row: LaneRow, width: int, look: Look) -> Strip:
    spans: list[Span] = [
        (glyphs.MARKER if row.selected else " ", "key"),
        (row.glyph, row.role),
        (left(f"b{row.broker}", 4), "strong"),
        (left(row.word, row.columns.label - 6), row.role if row.role != "leader" else "text"),
        *row.cells,
        (f" {row.note}", "text"),
    ]
    if row.odd:
        spans.append((f" {row.odd}", "diverged"))
    return strip(spans, width, look)
