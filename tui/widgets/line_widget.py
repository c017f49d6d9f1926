"""Base widget of every live pane: paints whole lines, and only those that changed.

It bypasses Textual's style cache, because looking up styles for every line took a third of the time of a frame. This is
allowed as it has no border, padding or effects of its own; a container draws the frame. Each row keeps its strip until
its data, the width or the appearance changes.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.terminal import glyphs
from tui.terminal.theme import Appearance, Over
from tui.viewmodel.row import HEAL, MORE, Row, fitted

# From spans of text with a role each to one strip of exactly the requested width.


Span: TypeAlias = tuple[str, str] | tuple[str, str, Over]
"""Text, role, and optionally an overlay (else that of the whole line)."""


def strip(spans: Iterable[Span], width: int, appearance: Appearance, *, over: Over = "", fill: str = "text") -> Strip:
    """Return one line of spans, cut at ``width`` cells, or padded in the role ``fill``.

    Neighbours of equal style become one segment: a segment costs more than its characters.
    """
    segments: list[Segment] = []
    used = 0
    text_waiting, style_waiting = "", Style.null()
    for span in spans:
        if used >= width:
            break
        text = appearance.text(span[0])
        size = len(text) if text.isascii() else cell_len(text)
        if used + size > width:
            text, size = set_cell_size(text, width - used), width - used
        used += size
        style = appearance.style(span[1], span[2] if len(span) == 3 else over)
        if style is style_waiting:
            text_waiting += text
            continue
        if text_waiting:
            segments.append(Segment(text_waiting, style_waiting))
        text_waiting, style_waiting = text, style
    if used < width:
        style = appearance.style(fill, over)
        if style is not style_waiting and text_waiting:
            segments.append(Segment(text_waiting, style_waiting))
            text_waiting = ""
        text_waiting, style_waiting = text_waiting + " " * (width - used), style
    if text_waiting:
        segments.append(Segment(text_waiting, style_waiting))
    return Strip(segments, width)


def right(text: str, width: int) -> str:
    """Return ``text`` right-aligned in exactly ``width`` cells."""
    size = cell_len(text)
    return " " * (width - size) + text if size <= width else set_cell_size(text, width)


def left(text: str, width: int) -> str:
    """Return ``text`` left-aligned in exactly ``width`` cells."""
    return set_cell_size(text, width)


R = TypeVar("R", bound=Hashable)

RIGHT: Final = 3
"""Right mouse button, which opens the fault sheet."""


class LineGrid(Widget, Generic[R]):
    """Widget that shows rows of plain data; ``painter`` turns a row into a strip."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "LineGrid { width: 1fr; height: 1fr; }"

    def __init__(
        self, painter: Callable[[R, int, Appearance], Strip], appearance: Appearance, *,
        id: str | None = None,  # noqa: A002
    ) -> None:  # fmt: skip
        super().__init__(id=id)
        self.appearance = appearance
        self.dirtied = 0
        """Number of rows found changed since the start."""
        self.built = 0
        """Number of strips built since the start."""
        self.printer: Callable[[int, int], str] | None = None
        """Function that returns the tooltip of a cell by column and line, empty for none."""
        self._pointed: tuple[int, int] | None = None
        """Cell under the pointer."""
        self._tip = ""
        self._painter = painter
        self._rows: list[R] = []
        self._strips: list[Strip | None] = []
        self._width = 0
        self._blank: Strip | None = None

    @property
    def rows(self) -> Sequence[R]:
        """Rows shown."""
        return self._rows

    def show(self, rows: Sequence[R]) -> None:
        """Show ``rows`` from the top; only lines that differ from before are painted again."""
        old, strips = self._rows, self._strips
        dirty = [at for at, row in enumerate(rows) if at >= len(old) or old[at] != row]
        removed = range(len(rows), len(old))
        if not dirty and not removed:
            return
        self._rows = list(rows)
        del strips[len(rows) :]
        strips.extend([None] * (len(rows) - len(strips)))
        for at in dirty:
            strips[at] = None
        self.dirtied += len(dirty)
        changed = [at for at in (*dirty, *removed) if at < self.size.height]
        if len(changed) * 2 > self.size.height:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, at, self.size.width, 1) for at in changed))
        self._update_tooltip()

    def text(self) -> str:
        """Return the rows shown as plain text."""
        width = max(1, self.size.width)
        return "\n".join(self._painter(row, width, self.appearance).text.strip("\n").rstrip() for row in self._rows)

    def set_look(self, appearance: Appearance) -> None:
        """Redraw everything with another appearance."""
        self.appearance = appearance
        self._forget()
        self.refresh()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show the tooltip of the cell under the pointer; none while dragging."""
        self._pointed = None if event.button else (event.x, event.y)
        self._update_tooltip()

    def on_leave(self) -> None:
        """Hide the tooltip."""
        self._pointed = None
        self._update_tooltip()

    def _update_tooltip(self) -> None:
        """Update the tooltip, also whenever rows change, so that its numbers agree with the pane."""
        pointed = self._pointed
        if pointed is None and not self._tip:
            return
        text = self.printer(*pointed) if pointed is not None and self.printer is not None else ""
        if text != self._tip:
            self._tip = text
            shown = "\n".join(self.appearance.text(line) for line in text.split("\n"))
            self.tooltip = Content(shown) if text else None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of ``crop``, cached ones where possible."""
        if self.size.width != self._width:
            self._width = self.size.width
            self._forget()
        lines = [self._line(at) for at in range(crop.y, crop.bottom)]
        if crop.x or crop.width != self._width:
            lines = [line.crop(crop.x, crop.right) for line in lines]
        return lines

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Return the full width of the container."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows."""
        return max(1, len(self._rows))

    def _forget(self) -> None:
        self.dirtied += len(self._strips)
        self._strips = [None] * len(self._strips)
        self._blank = None

    def _line(self, at: int) -> Strip:
        if at >= len(self._rows):
            if self._blank is None:
                self._blank = self._filtered(strip((), self._width, self.appearance))
            return self._blank
        cached = self._strips[at]
        if cached is None:
            self.built += 1
            cached = self._filtered(self._painter(self._rows[at], self._width, self.appearance))
            self._strips[at] = cached
        return cached

    def _filtered(self, line: Strip) -> Strip:
        """Apply the app's filters (NO_COLOR, dim), except the one to true colours, which colours here already are."""
        for each in self.app.get_line_filters():
            if not isinstance(each, ANSIToTruecolor):
                line = line.apply_filter(each, self.background_colors[1])
        return line


# A row of a page as a strip: its end is at the right edge and is never cut; the text before it may be.


def row(line: Row, width: int, appearance: Appearance, more: str = MORE, marker: str = " ") -> Strip:
    """Paint one row; ``more`` marks a cut, ``marker`` comes before everything."""
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
    return strip(spans, width, appearance, over=over)


def side(line: Row, width: int, appearance: Appearance) -> Strip:
    """Paint a row of a side pane: cuts are not marked, to save a cell; a selected row has a marker."""
    return row(line, width, appearance, more="", marker=glyphs.MARKER if line.chosen else " ")


# Rows of a page.


class Rows(LineGrid[Row]):
    """Widget of plain rows; posts clicks with line and button."""

    class LineClicked(Message):
        """Message: a line of the widget was clicked."""

        def __init__(self, rows: "Rows", line: int, button: int, x: int = 0) -> None:
            super().__init__()
            self.rows = rows
            self.line = line
            self.button = button
            self.x = x

    def __init__(self, appearance: Appearance, id: str, painter: Callable[[Row, int, Appearance], Strip] = row) -> None:  # noqa: A002
        super().__init__(painter, appearance, id=id)

    def on_click(self, event: events.Click) -> None:
        """Post which line was clicked."""
        self.post_message(self.LineClicked(self, event.y, event.button, event.x))
