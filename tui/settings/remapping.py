"""Other keys for actions: from what a file says to a key map without conflicts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tui.keymap import KEYS, Key
from tui.settings.key_names import shown

Wanted = Mapping[str, tuple[str, ...]]
"""Id of an action → the keys it is to have, as Textual names them."""
HELP: Final = "see: floodmark settings --example"


class Conflict(NamedTuple):
    """Two actions on one key; the one that was changed keeps its own keys."""

    id: str
    key: str
    other: str

    @property
    def words(self) -> str:
        """What was found, and what is allowed."""
        return f"found {shown(self.key)!r}, which is the key of {self.other} already; allowed is one that is free"


def remapped(wanted: Wanted, keys: Sequence[Key] = KEYS) -> tuple[Key, ...]:
    """The key map with those keys instead; whoever asks has taken the conflicts out."""
    return tuple(
        replace(key, keys=",".join(wanted[key.id]), shown=shown(",".join(wanted[key.id]))) if key.id in wanted else key
        for key in keys
    )


def without_conflicts(wanted: Wanted, keys: Sequence[Key] = KEYS) -> tuple[dict[str, tuple[str, ...]], list[Conflict]]:
    """What of it can be had, and why not the rest.

    Giving an action its own keys back can bring the next conflict, so this goes on until there is none.
    """
    kept, told = dict(wanted), list[Conflict]()
    while (found := _conflict(kept, keys)) is not None:
        told.append(found)
        del kept[found.id]
    return kept, told


def _conflict(wanted: Wanted, keys: Sequence[Key]) -> Conflict | None:
    owners: dict[str, str] = {}
    for each in remapped(wanted, keys):
        for key in each.keys.split(","):
            other = owners.setdefault(key, each.id)
            if other != each.id:
                changed, kept = (each.id, other) if each.id in wanted else (other, each.id)
                return Conflict(changed, key, kept)
    return None
