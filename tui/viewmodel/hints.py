"""The hints of a mode's bar as something to click: which of their words name which key."""

from typing import Final, NamedTuple

from rich.cells import cell_len

from tui.terminal import glyphs

BETWEEN: Final = f" {glyphs.NOTHING} "
"""Between two hints."""
NAMES: Final = {
    "↑": "up", "↓": "down", "←": "left", "→": "right", "+": "plus", "-": "minus", "/": "slash", "enter": "enter",
    "esc": "escape", "tab": "tab", "end": "end", "home": "home", "space": "space", "pgup": "pageup",
    "pgdn": "pagedown",
}  # fmt: skip
"""How a key is written → its name; a single letter or digit is its own."""


CTRL: Final = 2
"""Characters of a key that is pressed with ctrl, as in ^g."""


class HintPlace(NamedTuple):
    """Cells from one up to another one that press a key."""

    start: int
    end: int
    key: str


def fitted(hints: tuple[str, ...], room: int) -> tuple[str, ...]:
    """As many of them as fit, the first ones first."""
    while hints and cell_len(BETWEEN.join(hints)) > room:
        hints = hints[:-1]
    return hints


def places(hints: tuple[str, ...]) -> tuple[HintPlace, ...]:
    """What of them presses a key: each name of one, and the words behind, which press the first of their hint."""
    found: list[HintPlace] = []
    at = 0
    for hint in hints:
        keys = _keys(hint, at)
        found += keys
        if keys and keys[-1].end < at + len(hint):
            found.append(HintPlace(keys[-1].end, at + len(hint), keys[0].key))
        at += len(hint) + len(BETWEEN)
    return tuple(found)


def _keys(hint: str, at: int) -> list[HintPlace]:
    """The keys that a hint begins with."""
    found: list[HintPlace] = []
    for word in hint.split(" "):
        bare = word.rstrip(":")
        if bare in NAMES:
            found.append(HintPlace(at, at + len(bare), NAMES[bare]))
        elif len(bare) == CTRL and bare[0] == "^":
            found.append(HintPlace(at, at + len(bare), f"ctrl+{bare[1]}"))
        elif bare and (len(bare) == 1 or all(char in NAMES for char in bare)):
            names = [NAMES.get(char, char) for char in bare]
            found += [HintPlace(at + number, at + number + 1, name) for number, name in enumerate(names)]
        elif bare != "or":
            break
        at += len(word) + 1
    return found
