"""A line of a page as a strip: its end stands at the right edge and is never cut, what is in between is."""

from rich.cells import cell_len
from textual.strip import Strip

from tui.terminal import glyphs
from tui.terminal.theme import Look, Over
from tui.viewmodel.row import HEAL, MORE, Row, fitted
from tui.widgets.line import Span, strip


def row(line: Row, width: int, look: Look, more: str = MORE, marker: str = " ") -> Strip:
    """One line; ``more`` stands where something is cut, ``marker`` in front of all."""
    over: Over = "row" if line.chosen else ""
    end, role = line.end
    room = width - cell_len(end)
    spans: list[Span] = [(marker, "key" if line.chosen else "text")]
    used = 1
    for text, piece_role in line.pieces:
        shown = fitted(text, room - used, more)
        used += cell_len(shown)
        spans.append((shown, piece_role))
        if shown != text:
            break
    if end:
        linked = line.fault >= 0 and end.endswith(HEAL)
        spans.append((" " * max(0, room - used), "text"))
        spans += [(end.removesuffix(HEAL), role), (HEAL, "link")] if linked else [(end, role)]
    return strip(spans, width, look, over=over)


def side(line: Row, width: int, look: Look) -> Strip:
    """A line of a side pane, where a cell is worth more than the word that something is cut; a chosen one is marked."""
    return row(line, width, look, more="", marker=glyphs.MARKER if line.chosen else " ")
