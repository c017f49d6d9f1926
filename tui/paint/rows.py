"""A line of a page as a strip: its end stands at the right edge, what is in between is cut."""

from rich.cells import cell_len
from textual.strip import Strip

from tui.paint.line import Span, strip
from tui.theme import Look, Over
from tui.viewmodel.row import Row, fitted


def row(line: Row, width: int, look: Look) -> Strip:
    """One line."""
    over: Over = "row" if line.chosen else ""
    end, role = line.end
    room = width - cell_len(end) - 1
    spans: list[Span] = [(" ", "text")]
    used = 1
    for text, piece_role in line.pieces:
        shown = fitted(text, room - used + 1)
        used += cell_len(shown)
        spans.append((shown, piece_role))
        if shown != text:
            break
    if end:
        spans += [(" " * max(0, width - used - cell_len(end)), "text"), (end, role)]
    return strip(spans, width, look, over=over)
