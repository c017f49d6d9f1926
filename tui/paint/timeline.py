"""Rows of the timeline as strips."""

from textual.strip import Strip

from tui.paint.line import strip
from tui.theme import Look
from tui.viewmodel.timeline import TimeRow


def paint(row: TimeRow, width: int, look: Look) -> Strip:
    """One line of it."""
    return strip((*row.label, *row.spans), width, look)
