"""Rows of the smaller panes as strips: status bar, key bar, feed, side panes, the which-key sheet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from textual.strip import Strip

from tui.keybindings.keymap import KEYS, Key, key_of
from tui.keybindings.modes import MODES, Mode
from tui.terminal import glyphs
from tui.terminal.theme import Look, Over
from tui.viewmodel.control import ControlBar
from tui.viewmodel.hints import BETWEEN, HintPlace, fitted, places
from tui.viewmodel.sheet import SUMMARY_AT, Heading, Item, ItemRow, TextRow
from tui.viewmodel.status_bar import StatusBar
from tui.viewmodel.timeline.feed import INDENT, Line
from tui.widgets.line import Span, left, strip


def status(row: StatusBar | ControlBar, width: int, look: Look) -> Strip:
    """A line of the status bar."""
    return strip(row.fields, width, look, fill="bar")


def feed(row: Line, width: int, look: Look) -> Strip:
    """A line of the event feed."""
    role = row.role if row.role in ("alarm", "lost", "strong") else "text"
    return strip(
        [(left(f" {row.at}", INDENT - 2), "quiet"), (left(row.glyph, 2), row.role), (row.text, role)], width, look
    )


def sheet(row: ItemRow | TextRow, width: int, look: Look) -> Strip:
    """A line of the which-key sheet."""
    if isinstance(row, TextRow):
        return strip([("  ", "text"), (row.label, "quiet"), (row.text, "text")], width, look)
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
    return strip(spans, width, look, over=whole)


def _fault(item: Item, width: int) -> list[Span]:
    """A fault in its column: marker, letter, glyph, title; all faint where it does not fit the target."""
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
    """The bar at the bottom: only what fits, in the order of the key map."""

    width: int
    keys: tuple[Key, ...] = KEYS


def bar_places(width: int, keys: Sequence[Key] = KEYS) -> list[tuple[int, int, Key]]:
    """Which key stands from which cell to which (exclusive) on a bar of ``width`` cells."""
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


def bar_keys(key: Key, keys: Sequence[Key] = KEYS) -> str:
    """How the bar writes a key: the pair for the speed."""
    return f"{key_of('slower', keys)} {key.shown}" if key.id == "faster" else key.shown


def key_bar(row: KeyBarRow, width: int, look: Look) -> Strip:
    """The bar at the bottom."""
    spans: list[Span] = [(" ", "bar")]
    for _start, _end, key in bar_places(row.width, row.keys):
        spans += [(bar_keys(key, row.keys), "bar_key"), (f" {key.bar}  ", "bar")]
    return strip(spans, width, look, fill="bar")


MOST_WANTED: Final = 3
"""So many hints stand on the bar of a mode before the other modes get their titles too."""


@dataclass(frozen=True, slots=True)
class ModeBarRow:
    """The bar of a mode: all modes, this one marked, and its own keys, those that matter most first."""

    mode: str
    hints: tuple[str, ...] = ()


def mode_places(row: ModeBarRow, width: int) -> list[tuple[int, int, Mode]]:
    """Which mode stands from which cell to which (exclusive): with its title where that leaves room for the hints."""
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


def mode_bar(row: ModeBarRow, width: int, look: Look) -> Strip:
    """The bar of a mode."""
    spans: list[Span] = [(" ", "bar")]
    modes = mode_places(row, width)
    for start, end, mode in modes:
        over: Over = "row" if mode.name == row.mode else ""
        title = f" {mode.title}" if end - start > len(mode.digit) + 2 else ""
        spans += [(mode.digit, "bar_key", over), (title, "bar", over)]
        spans.append((" " * (end - start - len(mode.digit) - len(title)), "bar"))
    spans.append((f" {BETWEEN.join(_hints(row, width)[1])}", "bar"))
    return strip(spans, width, look, fill="bar")


def _hints(row: ModeBarRow, width: int) -> tuple[int, tuple[str, ...]]:
    """From which cell on they stand, and as many of them as fit."""
    used = mode_places(row, width)[-1][1] + 1
    return used, fitted(row.hints, width - used)


def hint_places(row: ModeBarRow, width: int) -> list[HintPlace]:
    """Which cells of the bar press which key of the mode."""
    used, hints = _hints(row, width)
    return [HintPlace(used + start, used + end, key) for start, end, key in places(hints)]
