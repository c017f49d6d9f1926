"""Rows of the matrix as strips."""

from textual.strip import Strip

from tui.terminal import glyphs
from tui.terminal.theme import Look, Over
from tui.viewmodel.glance import GlanceRow
from tui.viewmodel.partition_matrix import Columns, Head, Row, Said
from tui.widgets.line import Span, left, right, strip


def paint(row: Head | Row | Said | GlanceRow, width: int, look: Look) -> Strip:
    """One line of the matrix."""
    if isinstance(row, GlanceRow):
        return _glance(row, width, look)
    if isinstance(row, Said):
        return strip(row.pieces, width, look)
    return _head(row, width, look) if isinstance(row, Head) else _row(row, width, look)


def _glance(row: GlanceRow, width: int, look: Look) -> Strip:
    cells: list[Span] = [(text, role, "cell" if at == row.cursor else "") for at, (text, role) in enumerate(row.cells)]
    return strip([(f"{glyphs.MARKER if row.cursor >= 0 else ' '} ", "key"), *cells], width, look)


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


def pieces(parts: Columns) -> int:
    """Of how many pieces a row is, over each of which a sweep stands for a moment."""
    return 2 + parts.shown + bool(parts.isr) + 2


def _row(row: Row, width: int, look: Look) -> Strip:
    parts = row.columns
    here = row.cursor >= 0
    over: Over = "row" if here else ""
    fresh: Over = "fresh row" if here else "fresh"

    def lies(name: str, piece: int) -> Over:
        return "cell" if piece == row.sweep else fresh if name in row.fresh else over

    name = left(row.name, parts.name) + " "
    spans: list[Span] = (
        [(f"{glyphs.MARKER if here else ' '} ", "key", over), (name, "strong" if here else "text", lies("name", 0))]
        if here or row.fresh or row.sweep >= 0
        else [(f"  {name}", "text", over)]
    )
    spans.append((left(row.epoch, 5), row.epoch_role, lies("epoch", 1)))
    for index, cell in enumerate(row.cells):
        if index == row.cursor:
            # The cursor is as wide as its text, so that the columns stay apart.
            text = left(cell.text, parts.broker - 1).rstrip()
            spans.append((text, cell.role, "cell"))
            spans.append((" " * (parts.broker - len(text)), "text", over))
        else:
            swept = row.sweep == index + 2
            spans.append((left(cell.text, parts.broker), cell.role, "cell" if swept else fresh if cell.fresh else over))
    at = 2 + len(row.cells)
    if parts.isr:
        spans.append((left(f"  {row.isr}", parts.isr + 1), row.isr_role, lies("isr", at)))
        at += 1
    spans.append((f"{'' if parts.isr else ' '}{right(row.hw, 7)}", "text", lies("hw", at)))
    spans.append((right(row.lag, 7), row.lag_role, lies("lag", at + 1)))
    if row.lost:
        spans += [(" ", "text", over), (row.lost, "lost", fresh if "lost" in row.fresh else over)]
    return strip(spans, width, look, over=over)
