"""The keys of the sheets: a letter for each fault and each operation, as the catalogue has them, and how one moves."""

from collections.abc import Sequence
from typing import Final

from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS as ALL_OPERATIONS
from tui.keybindings.keymap import Own


def _letters(choices: Sequence[tuple[str, str, str]]) -> tuple[Own, ...]:
    """Of a sheet: name, letter, words."""
    return tuple(Own(name, letter, f"pick('{name}')", words) for name, letter, words in choices)


def _moves(what: str) -> tuple[Own, ...]:
    """What both sheets can do beside acting."""
    return (
        Own("up", "up", "mark(-1)", f"read about the {what} above"),
        Own("down", "down", "mark(1)", f"read about the {what} below"),
        Own("page_up", "pageup", "page(-1)", "page before"),
        Own("page_down", "pagedown", "page(1)", "next page"),
        Own("left", "left,shift+tab", "aim(-1)", "aim at the node before"),
        Own("right", "right,tab", "aim(1)", "aim at the next node"),
        Own("out", "escape", "close", "leave the sheet"),
    )


FAULTS: Final = (
    *_letters([(each.name, each.letter, each.title) for each in CATALOGUE.values()]),
    Own("edit", "enter", "edit", "set parameters of the marked one first"),
    Own("queue", "space", "queue", "queue the marked one while time stands still"),
    Own("unqueue", "backspace", "unqueue", "take back what was queued last"),
    *_moves("fault"),
)
OPERATIONS: Final = (
    *_letters([(each.name, each.letter, each.title) for each in ALL_OPERATIONS.values()]),
    Own("ask", "enter", "pick_marked", "ask for the marked one"),
    *_moves("operation"),
)
