"""Other keys for actions: from what a file says to a key map without conflicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tui.keybindings.key_names import shown
from tui.keybindings.keymap import FIRST, GROUPS, Key
from tui.keybindings.scopes import all_keys, scopes

Wanted = Mapping[str, tuple[str, ...]]
"""Id of an action → the keys it is to have, as Textual names them."""
HELP: Final = "see: floodmark settings --example"


class Conflict(NamedTuple):
    """Two actions of one scope on one key; the one that was changed keeps its own keys."""

    id: str
    key: str
    other: str

    @property
    def words(self) -> str:
        """What was found, and what is allowed."""
        return f"found {shown(self.key)!r}, which is the key of {self.other} already; allowed is one that is free"


def remapped(wanted: Wanted, keys: Sequence[Key] | None = None) -> tuple[Key, ...]:
    """The key map with those keys instead; whoever asks has taken the conflicts out."""
    return tuple(
        replace(key, keys=",".join(wanted[key.id]), shown=shown(",".join(wanted[key.id]))) if key.id in wanted else key
        for key in (all_keys() if keys is None else keys)
    )


def without_conflicts(
    wanted: Wanted, keys: Sequence[Key] | None = None
) -> tuple[dict[str, tuple[str, ...]], list[Conflict]]:
    """What of it can be had, and why not the rest.

    Giving an action its own keys back can bring the next conflict, so this goes on until there is none.
    """
    kept, told = dict(wanted), list[Conflict]()
    while (found := next(_conflicts(kept, keys), None)) is not None:
        told.append(found)
        del kept[found.id]
    return kept, told


def _conflicts(wanted: Wanted, keys: Sequence[Key] | None) -> Iterator[Conflict]:
    """In every scope by itself: the main screen with the program, then each mode, page and sheet.

    What comes first wherever one is, the palette and quitting, cannot have a key of any of them.
    """
    found = remapped(wanted, keys)
    first = [each for each in found if each.id in FIRST]
    yield from _clashes(wanted, [each for each in found if each.group in GROUPS])
    for scope in scopes():
        own = [each for each in found if each.group == scope.name]
        yield from _clashes(wanted, [*(first if scope.kind != "program" else ()), *own])


def _clashes(wanted: Wanted, keys: Sequence[Key]) -> Iterator[Conflict]:
    owners: dict[str, str] = {}
    for each in keys:
        for key in each.keys.split(","):
            other = owners.setdefault(key, each.id)
            if other != each.id:
                changed, kept = (each.id, other) if each.id in wanted else (other, each.id)
                yield Conflict(changed, key, kept)


def hidden(wanted: Wanted, keys: Sequence[Key] | None = None) -> list[tuple[str, str]]:
    """Id of a changed action, and a sentence: where a mode's own key hides one of the main screen's there."""
    found = {each.id: each for each in remapped(wanted, keys)}
    told = []
    for scope in (each for each in scopes() if each.kind == "mode"):
        own = {key: each.id for each in found.values() if each.group == scope.name for key in each.keys.split(",")}
        for name in scope.through:
            for key in found[name].keys.split(","):
                over = own.get(key)
                if over is not None and (over in wanted or name in wanted):
                    changed = over if over in wanted else name
                    where = scope.title[0].lower() + scope.title[1:]
                    told.append((changed, f"{shown(key)!r} is {over} {where}, and not {name} as elsewhere"))
    return told
