"""Keys as people write them in a file, as Textual names them, and as the screen shows them."""

import string
import unicodedata
from typing import Final

ARROWS: Final = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
FUNCTION: Final = tuple(f"f{number}" for number in range(1, 13))
NAMED: Final = (*ARROWS, "space", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace", *FUNCTION)
KEPT: Final = ("escape", "enter", "tab", "shift+tab", "ctrl+c")
"""Keys that mean the same everywhere, and so nothing else."""
EATEN: Final = ("ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+z", "ctrl+s")
"""Keys that a terminal sends as others, or keeps for itself."""
ALLOWED: Final = (
    'a character such as "x", a name such as "space", "f5" or "home", "ctrl+x" or "shift+left", or a list of them'
)

_SPELLED: Final = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Unicode's names that Textual has another one for."""
_SHORT: Final = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "insert": "ins", "delete": "del"}


def of_character(character: str) -> str:
    """What Textual calls the key of a printed ASCII character."""
    if character.isalnum():
        return character
    if character == " ":
        return "space"
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return _SPELLED.get(name, name)


_CHARACTERS: Final = {of_character(each): each for each in string.punctuation}
"""Textual's name → the character, where those differ."""
_SHIFTED: Final = (*ARROWS, "home", "end", "pageup", "pagedown", *FUNCTION)


def key_named(text: str) -> str | None:
    """Textual's name of a key; None: there is no such key that an action can have."""
    if len(text) == 1:
        return of_character(text) if text.isascii() and text.isprintable() else None
    name = text.lower()
    if name in KEPT or name in EATEN:
        return None
    if name in NAMED or text in _CHARACTERS:
        return name
    held, _plus, key = name.rpartition("+")
    if held == "ctrl" and (key in _SHIFTED or (len(key) == 1 and key in string.ascii_lowercase)):
        return name
    return name if held == "shift" and key in _SHIFTED else None


def in_file(name: str) -> str:
    """How a file has a key: the character itself where there is one."""
    return _CHARACTERS.get(name, name)


def shown(keys: str) -> str:
    """How the screen writes keys that Textual has separated by commas: ``↑ k``, ``^g``, ``shift+←``."""
    return " ".join(_shown(each) for each in keys.split(","))


def _shown(name: str) -> str:
    held, _plus, key = name.rpartition("+")
    key = _CHARACTERS.get(key, ARROWS.get(key, _SHORT.get(key, key)))
    return f"^{key}" if held == "ctrl" else f"{held}+{key}" if held else key
