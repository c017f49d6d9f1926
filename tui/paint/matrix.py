"""Rows of the matrix as strips."""

from textual.strip import Strip

from tui import glyphs
from tui.paint.line import Span, left, right, strip
from tui.theme import Look
from tui.viewmodel.matrix import Columns, Head, Row


def paint(row: Head | Row, width: int, look: Look) -> Strip:
    """One line of the matrix."""
    return _head(row, width, look) if isinstance(row, Head) else _row(row, width, look)


def broker_at(parts: Columns, x: int) -> int:
    """Which broker (index among all) the cell ``x`` belongs to, -1 for none."""
    offset = x - lead(parts)
    if offset < 0 or offset >= parts.broker * parts.shown:
        return -1
    return parts.first + offset // parts.broker


def lead(parts: Columns) -> int:
    """Cells in front of the first broker."""
    return 2 + parts.name + 1 + 5


def _head(head: Head, width: int, look: Look) -> Strip:
    parts = head.columns
    more_left = glyphs.MORE_LEFT if parts.first else " "
    more_right = glyphs.MORE_RIGHT if parts.first + parts.shown < parts.total else " "
    spans: list[Span] = [(" " * (lead(parts) - 1) + more_left, "quiet")]
    for index, cell in enumerate(head.brokers):
        text = left(cell.text, parts.broker)
        spans.append((text, "strong" if index == head.cursor and cell.role == "in_sync" else cell.role))
    spans.append((f"{more_right}{left(' ISR', parts.isr)}{right('HW', 7)}{right('lag', 7)}", "quiet"))
    return strip(spans, width, look)


def _row(row: Row, width: int, look: Look) -> Strip:
    parts = row.columns
    here = row.cursor >= 0
    name = left(row.name, parts.name) + " "
    spans: list[Span] = [(f"{glyphs.MARKER} ", "key"), (name, "strong")] if here else [(f"  {name}", "text")]
    spans.append((left(row.epoch, 5), row.epoch_role))
    for index, cell in enumerate(row.cells):
        if index == row.cursor:
            # The cursor is as wide as its text, so that the columns stay apart.
            text = left(cell.text, parts.broker - 1).rstrip()
            spans.append((text, cell.role, "cell"))
            spans.append((" " * (parts.broker - len(text)), "text"))
        else:
            spans.append((left(cell.text, parts.broker), cell.role))
    if parts.isr:
        spans.append((left(f"  {row.isr}", parts.isr + 1), row.isr_role))
    spans.append((f"{'' if parts.isr else ' '}{right(row.hw, 7)}", "text"))
    spans.append((right(row.lag, 7), row.lag_role))
    if row.lost:
        spans += [(" ", "text"), (row.lost, "lost")]
    return strip(spans, width, look, over="row" if here else "")
