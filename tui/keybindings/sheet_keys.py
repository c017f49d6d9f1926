"""The keys of the sheets: a letter for each fault and each operation, as the catalogue has them, and how one moves."""

from collections.abc import Sequence
from typing import Final

from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS as ALL_OPERATIONS
from tui.keybindings.keymap import PageKey


def _letters(choices: Sequence[tuple[str, str, str]]) -> tuple[PageKey, ...]:
    """Of a sheet: name, letter, words."""
    return tuple(PageKey(name, letter, f"pick('{name}')", words) for name, letter, words in choices)


def _moves(what: str) -> tuple[PageKey, ...]:
    """What both sheets can do beside acting."""
    return (
        PageKey("up", "up", "mark(-1)", f"read about the {what} above"),
        PageKey("down", "down", "mark(1)", f"read about the {what} below"),
        PageKey("page_up", "pageup", "page(-1)", "page before"),
        PageKey("page_down", "pagedown", "page(1)", "next page"),
        PageKey("left", "left,shift+tab", "aim(-1)", "aim at the node before"),
        PageKey("right", "right,tab", "aim(1)", "aim at the next node"),
        PageKey("out", "escape", "close", "leave the sheet"),
    )


FAULTS: Final = (
    *_letters([(each.name, each.letter, each.title) for each in CATALOGUE.values()]),
    PageKey("edit", "enter", "edit", "set parameters of the marked one first"),
    PageKey("queue", "space", "queue", "queue the marked one while the cluster is paused"),
    PageKey("unqueue", "backspace", "unqueue", "take back what was queued last"),
    *_moves("fault"),
)
OPERATIONS: Final = (
    *_letters([(each.name, each.letter, each.title) for each in ALL_OPERATIONS.values()]),
    PageKey("ask", "enter", "pick_marked", "ask for the marked one"),
    *_moves("operation"),
)
