"""Keys of the fault and operation sheets: a letter for each, from the catalogue, and navigation keys."""

from collections.abc import Sequence
from typing import Final

from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS as ALL_OPERATIONS
from tui.keybindings.keymap import PageKey


def _letters(choices: Sequence[tuple[str, str, str]]) -> tuple[PageKey, ...]:
    """Return the keys of a sheet from (name, letter, description)."""
    return tuple(PageKey(name, letter, f"pick('{name}')", words) for name, letter, words in choices)


def _moves(what: str) -> tuple[PageKey, ...]:
    """Return the navigation keys of a sheet."""
    return (
        PageKey("up", "up", "mark(-1)", f"mark the {what} above"),
        PageKey("down", "down", "mark(1)", f"mark the {what} below"),
        PageKey("page_up", "pageup", "page(-1)", "previous page"),
        PageKey("page_down", "pagedown", "page(1)", "next page"),
        PageKey("left", "left,shift+tab", "aim(-1)", "target the previous node"),
        PageKey("right", "right,tab", "aim(1)", "target the next node"),
        PageKey("out", "escape", "close", "close the sheet"),
    )


FAULTS: Final = (
    *_letters([(each.name, each.letter, each.title) for each in CATALOGUE.values()]),
    PageKey("edit", "enter", "edit", "set parameters of the marked fault"),
    PageKey("queue", "space", "queue", "queue the marked fault while paused"),
    PageKey("unqueue", "backspace", "unqueue", "remove the last queued fault"),
    *_moves("fault"),
)
OPERATIONS: Final = (
    *_letters([(each.name, each.letter, each.title) for each in ALL_OPERATIONS.values()]),
    PageKey("ask", "enter", "pick_marked", "request the marked operation"),
    *_moves("operation"),
)
