"""Rows of the timeline as strips."""

from textual.strip import Strip

from tui.terminal.theme import Look
from tui.viewmodel.timeline.timeline_rows import TimeRow
from tui.widgets.line import strip


def paint(row: TimeRow, width: int, look: Look) -> Strip:
    """One line of it."""
    return strip((*row.label, *row.spans), width, look)
