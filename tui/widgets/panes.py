"""Small panes and their frames: status bar, key bar, mode bar, feed, side panes, and the filter line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from tui.keybindings.keymap import KEYS, MODES, KeyBinding, Mode, key_of
from tui.keybindings.scopes import bindings_of
from tui.terminal import glyphs
from tui.terminal.theme import Appearance, Over
from tui.viewmodel.fault_sheet import SUMMARY_AT, Heading, Item, ItemRow, SheetTextRow
from tui.viewmodel.row import HEAL
from tui.viewmodel.status_bar import BETWEEN, ControlBar, HintArea, StatusBar, fitted, places
from tui.viewmodel.timeline.event_feed import INDENT, FeedLine
from tui.widgets.line_widget import RIGHT, LineGrid, Rows, Span, left, side, strip

# The filter line at the bottom.


class FilterBar(Horizontal):
    """Filter line: filters while typing; enter keeps the filter, escape drops it, arrows move the selection."""

    class Typed(Message):
        """The text of the filter changed."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class FilterClosed(Message):
        """The filter line was closed; the filter is kept or dropped."""

        def __init__(self, *, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    class Stepped(Message):
        """The selection is to move by ``lines``."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("words")

    def __init__(self, hint: str) -> None:
        super().__init__(id="filterbar")
        self._prompt = Input(placeholder=hint, id="filter-prompt", select_on_focus=False)

    def compose(self) -> ComposeResult:
        """Yield the prompt and the input."""
        yield Static(" /")
        yield self._prompt

    def open(self, words: str, hint: str = "") -> None:
        """Open the line with the current filter; ``hint`` replaces the hint in the empty line."""
        self._prompt.placeholder = hint or self._prompt.placeholder
        self._prompt.value = words
        self._prompt.cursor_position = len(words)
        self.display = True
        self._prompt.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Post the new text."""
        message.stop()
        if self.display:
            self.post_message(self.Typed(message.value))

    def action_leave(self, kept: bool) -> None:
        """Close the line."""
        self.display = False
        self.post_message(self.FilterClosed(kept=kept))

    def action_step(self, lines: int) -> None:
        """Move the selection."""
        self.post_message(self.Stepped(lines))


# Rows of the smaller panes as strips: status bar, key bar, feed, side panes, the which-key sheet.


def status(row: StatusBar | ControlBar, width: int, appearance: Appearance) -> Strip:
    """Paint a line of the status bar."""
    return strip(row.fields, width, appearance, fill="bar")


def feed(row: FeedLine, width: int, appearance: Appearance) -> Strip:
    """Paint a line of the event feed."""
    role = row.role if row.role in ("alarm", "lost", "strong") else "text"
    return strip(
        [(left(f" {row.at}", INDENT - 2), "quiet"), (left(row.glyph, 2), row.role), (row.text, role)], width, appearance
    )


def sheet(row: ItemRow | SheetTextRow, width: int, appearance: Appearance) -> Strip:
    """Paint a line of the which-key sheet."""
    if isinstance(row, SheetTextRow):
        return strip([("  ", "text"), (row.label, "quiet"), (row.text, "text")], width, appearance)
    spans: list[Span] = []
    lonely = len(row.items) == 1
    for item in row.items:
        if item is None:
            spans.append((" " * row.width, "text"))
        elif isinstance(item, Heading):
            spans.append((left(f"  {item.text}", row.width), "quiet"))
        elif item.glyph:
            spans += _fault(item, row.width)
        else:
            over: Over = "row" if item.chosen else ""
            marker = glyphs.MARKER if item.chosen else " "
            spans += [(f"{marker} ", "key", over), (item.letter, "key", over), ("  ", "text", over)]
            title = left(item.title, 20) if lonely else left(item.title, max(0, row.width - 5))
            spans.append((title, "strong", over))
            if lonely:
                room = max(1, width - SUMMARY_AT)
                summary = item.summary if len(item.summary) <= room else f"{item.summary[: room - 1]}…"
                spans.append((f" {summary}", "quiet", over))
    only = row.items[0]
    whole: Over = "row" if lonely and isinstance(only, Item) and only.chosen else ""
    return strip(spans, width, appearance, over=whole)


def _fault(item: Item, width: int) -> list[Span]:
    """Return the spans of a fault in its column: marker, letter, glyph, title; faint if it does not apply."""
    over: Over = "row" if item.chosen else ""
    marker = glyphs.MARKER if item.chosen else " "
    key, glyph, title = ("faint", "faint", "quiet") if item.dim else ("key", item.colour, "strong")
    room = max(0, width - 7)
    text = item.title if len(item.title) <= room else f"{item.title[: max(0, room - 1)]}…"
    return [
        (f"{marker} ", "key", over), (f"{item.letter} ", key, over), (f"{item.glyph} ", glyph, over),
        (left(text, room), title, over), (" ", "text"),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyBarRow:
    """Row of the key bar at the bottom."""

    width: int
    keys: tuple[KeyBinding, ...] = KEYS
    note: str = ""
    """Word after the keys."""


def bar_places(width: int, keys: Sequence[KeyBinding] = KEYS) -> list[tuple[int, int, KeyBinding]]:
    """Return (start, end, key) of the keys that fit on a bar of ``width`` cells; ``end`` is exclusive."""
    places = []
    at = 1
    for key in sorted(
        (key for key in keys if key.bar), key=lambda key: key.id not in ("quit", "help", "fault", "pause")
    ):
        size = cell_len(bar_keys(key, keys)) + 1 + len(key.bar) + 2
        if at + size <= width:
            places.append(key)
            at += size
    at, out = 1, []
    for key in (key for key in keys if key in places):
        size = cell_len(bar_keys(key, keys)) + 1 + len(key.bar) + 2
        out.append((at, at + size, key))
        at += size
    return out


def bar_keys(key: KeyBinding, keys: Sequence[KeyBinding] = KEYS) -> str:
    """Return how the bar writes a key; both keys for the speed."""
    return f"{key_of('slower', keys)} {key.shown}" if key.id == "faster" else key.shown


def key_bar(row: KeyBarRow, width: int, appearance: Appearance) -> Strip:
    """Paint the key bar at the bottom."""
    spans: list[Span] = [(" ", "bar")]
    for _start, _end, key in bar_places(row.width, row.keys):
        spans += [(bar_keys(key, row.keys), "bar_key"), (f" {key.bar}  ", "bar")]
    if row.note:
        spans.append((f" {row.note} ", "pill_paused"))
    return strip(spans, width, appearance, fill="bar")


MOST_WANTED: Final = 3
"""Number of hints that must fit on a mode bar before the other modes get their titles."""


@dataclass(frozen=True, slots=True)
class ModeBarRow:
    """Row of a mode bar: all modes, the current one marked, and its own keys, the most important first."""

    mode: str
    hints: tuple[str, ...] = ()


def mode_places(row: ModeBarRow, width: int) -> list[tuple[int, int, Mode]]:
    """Return (start, end, mode) of the modes on a bar; with titles if that leaves room for the hints."""
    titled = _mode_places(row.mode, titles=True)
    wanted = cell_len(BETWEEN.join(row.hints[:MOST_WANTED]))
    return titled if titled[-1][1] + wanted + 1 <= width else _mode_places(row.mode, titles=False)


def _mode_places(name: str, *, titles: bool) -> list[tuple[int, int, Mode]]:
    at, out = 1, []
    for mode in MODES:
        titled = titles or mode.name == name
        size = len(mode.digit) + (1 + len(mode.title)) * titled + 1 + titles
        out.append((at, at + size, mode))
        at += size
    return out


def mode_bar(row: ModeBarRow, width: int, appearance: Appearance) -> Strip:
    """Paint a mode bar."""
    spans: list[Span] = [(" ", "bar")]
    modes = mode_places(row, width)
    for start, end, mode in modes:
        over: Over = "row" if mode.name == row.mode else ""
        title = f" {mode.title}" if end - start > len(mode.digit) + 2 else ""
        spans += [(mode.digit, "bar_key", over), (title, "bar", over)]
        spans.append((" " * (end - start - len(mode.digit) - len(title)), "bar"))
    spans.append((f" {BETWEEN.join(_hints(row, width)[1])}", "bar"))
    return strip(spans, width, appearance, fill="bar")


def _hints(row: ModeBarRow, width: int) -> tuple[int, tuple[str, ...]]:
    """Return the first cell of the hints, and the hints that fit."""
    used = mode_places(row, width)[-1][1] + 1
    return used, fitted(row.hints, width - used)


def hint_places(row: ModeBarRow, width: int) -> list[HintArea]:
    """Return the cells of the bar that press a key of the mode."""
    used, hints = _hints(row, width)
    return [HintArea(used + start, used + end, key) for start, end, key in places(hints)]


class Pane(Container):
    """Border with a title around one live widget; the title is only set when it changed."""

    def __init__(self, child: LineGrid, appearance: Appearance, *, title: str, id: str) -> None:  # type: ignore[type-arg]  # noqa: A002
        super().__init__(child, id=id)
        self._appearance = appearance
        self._child = child
        self._words = (title, "")
        self.caption(title)

    @property
    def heading(self) -> str:
        """Title of the pane."""
        return self._words[0]

    def text(self) -> str:
        """Return its content as text."""
        return self._child.text()

    def set_look(self, appearance: Appearance) -> None:
        """Apply another appearance to the border."""
        self._appearance = appearance
        self.caption(*self._words)

    def caption(self, title: str, subtitle: str = "") -> None:
        """Set the text on the border, above and below."""
        self._words = (title, subtitle)
        title, subtitle = (
            self._appearance.text(title).replace("[", "\\["),
            self._appearance.text(subtitle).replace("[", "\\["),
        )
        if title != self.border_title:
            self.border_title = title
        if subtitle != (self.border_subtitle or ""):
            self.border_subtitle = subtitle


class Status(LineGrid[StatusBar | ControlBar]):
    """Status bar: the line of the session with clickable fields, and that of the control plane with its nodes."""

    class NodeClicked(Message):
        """A node of the control plane was clicked."""

        def __init__(self, node: int) -> None:
            super().__init__()
            self.node = node

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(status, appearance, id="status")

    class WordClicked(Message):
        """A field that presses a key was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def on_click(self, event: events.Click) -> None:
        """Post the clicked node, or the key of the clicked field."""
        row = self.rows[event.y] if 0 <= event.y < len(self.rows) else None
        node = row.node_at(event.x) if isinstance(row, ControlBar) else -1
        if node >= 0:
            self.post_message(self.NodeClicked(node))
        elif isinstance(row, StatusBar) and (key := row.key_at(event.x)):
            self.post_message(self.WordClicked(key))


class FeedPane(LineGrid[FeedLine]):
    """Widget of the event feed."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(feed, appearance, id="feed")


class SidePane(Rows):
    """Side pane; a click on ``[heal]`` in a fault's row heals it."""

    class Heal(Message):
        """Message: the operator clicked ``[heal]`` of a fault."""

        def __init__(self, fault: int) -> None:
            super().__init__()
            self.fault = fault

    class SubjectClicked(Message):
        """A line about a client or node was clicked with the right button, or double-clicked."""

        def __init__(self, about: str, *, faults: bool) -> None:
            super().__init__()
            self.about = about
            self.faults = faults
            """Whether the fault sheet is requested."""

    class Resized(Message):
        """The size of the pane changed."""

    def __init__(self, appearance: Appearance, id: str) -> None:  # noqa: A002
        super().__init__(appearance, id, side)

    def on_resize(self) -> None:
        """Notify the screen that fills the pane."""
        self.post_message(self.Resized())

    def on_click(self, event: events.Click) -> None:
        """Heal only on ``[heal]`` at the right edge, so that a stray click does nothing."""
        if not 0 <= event.y < len(self.rows):
            return
        row, right = self.rows[event.y], event.button == RIGHT
        if self.heals(event.x, event.y) and not right:
            self.post_message(self.Heal(row.fault))
        elif row.about and (right or event.chain == 2):
            self.post_message(self.SubjectClicked(row.about, faults=right))

    def heals(self, x: int, y: int) -> bool:
        """Return whether the cell is part of ``[heal]``."""
        return self.rows[y].fault >= 0 and self.size.width - len(HEAL) <= x < self.size.width


class KeyBar(LineGrid[KeyBarRow]):
    """Key bar at the bottom; a click on a key presses it."""

    class KeyClicked(Message):
        """A key of the bar was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, appearance: Appearance, keys: tuple[KeyBinding, ...] = KEYS, *, read_only: bool = False) -> None:
        """``read_only``: without the keys that act."""
        super().__init__(key_bar, appearance, id="keybar")
        self._keys = tuple(each for each in keys if each.group != "act") if read_only else keys
        self._note = "read-only" if read_only else ""

    def on_resize(self, event: events.Resize) -> None:
        """Show the keys that fit the new width."""
        self.show((KeyBarRow(event.size.width, self._keys, self._note),))

    def on_click(self, event: events.Click) -> None:
        """Press the key under the pointer."""
        for start, end, key in bar_places(self.size.width, self._keys):
            if start <= event.x < end:
                slower = key.id == "faster" and event.x < start + len(key_of("slower", self._keys))
                self.post_message(self.KeyClicked("slower" if slower else key.action))


class ModeBar(LineGrid[ModeBarRow]):
    """Mode bar at the bottom of a mode: all modes and its own keys, clickable."""

    class ModeClicked(Message):
        """Message: a mode of the bar was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, appearance: Appearance, mode: Mode, hints: tuple[str, ...]) -> None:
        super().__init__(mode_bar, appearance, id="modebar")
        self._row = ModeBarRow(mode.name, hints)
        self.show((self._row,))

    def on_click(self, event: events.Click) -> None:
        """Change to the mode under the pointer, or press the key named there."""
        for start, end, mode in mode_places(self._row, self.size.width):
            if start <= event.x < end:
                self.post_message(self.ModeClicked(f"mode('{mode.name}')"))
        for start, end, key in hint_places(self._row, self.size.width):
            if start <= event.x < end:
                self.app.simulate_key(key)
