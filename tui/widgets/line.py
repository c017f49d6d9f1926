"""From spans of text with a role each to one strip of exactly the width asked for."""

from collections.abc import Iterable
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.terminal.theme import Look, Over

Span: TypeAlias = tuple[str, str] | tuple[str, str, Over]
"""Text, role, and optionally what lies over it (else what lies over the whole line)."""


def strip(spans: Iterable[Span], width: int, look: Look, *, over: Over = "", fill: str = "text") -> Strip:
    """One line: spans one after the other, cut at ``width`` cells, or filled up in the role ``fill``.

    Neighbours of equal style become one segment: a segment costs more than its characters.
    """
    segments: list[Segment] = []
    used = 0
    text_waiting, style_waiting = "", Style.null()
    for span in spans:
        if used >= width:
            break
        text = look.text(span[0])
        size = len(text) if text.isascii() else cell_len(text)
        if used + size > width:
            text, size = set_cell_size(text, width - used), width - used
        used += size
        style = look.style(span[1], span[2] if len(span) == 3 else over)
        if style is style_waiting:
            text_waiting += text
            continue
        if text_waiting:
            segments.append(Segment(text_waiting, style_waiting))
        text_waiting, style_waiting = text, style
    if used < width:
        style = look.style(fill, over)
        if style is not style_waiting and text_waiting:
            segments.append(Segment(text_waiting, style_waiting))
            text_waiting = ""
        text_waiting, style_waiting = text_waiting + " " * (width - used), style
    if text_waiting:
        segments.append(Segment(text_waiting, style_waiting))
    return Strip(segments, width)


def right(text: str, width: int) -> str:
    """``text`` at the right edge of ``width`` cells; never longer."""
    size = cell_len(text)
    return " " * (width - size) + text if size <= width else set_cell_size(text, width)


def left(text: str, width: int) -> str:
    """``text`` at the left edge of ``width`` cells; never longer."""
    return set_cell_size(text, width)
