"""A key of one mode, page or sheet alone, as the tables of them write it."""

from typing import NamedTuple

from tui.keybindings.key_names import shown
from tui.keybindings.keymap import Key


class Own(NamedTuple):
    """Name within its place, Textual's names of the keys, action, words."""

    name: str
    keys: str
    action: str
    words: str


class Page(NamedTuple):
    """A page over the screen: its name, how a heading calls it, its keys."""

    name: str
    title: str
    keys: tuple[Own, ...]


def key(place: str, own: Own) -> Key:
    """With an id that nothing else has."""
    return Key(f"{place}_{own.name}", own.keys, shown(own.keys), own.action, own.words, place)
