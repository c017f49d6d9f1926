"""Where keys work: a scope is a mode, a page over the screen, or a sheet, with keys of its own.

The same key may do something else in another scope. A mode's own key hides the main screen's key there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from textual.binding import Binding, BindingType

from tui.keybindings.keymap import GROUPS, KEYS, Key, manual_rows
from tui.keybindings.keys_of_modes import CLIENTS as CLIENT_KEYS
from tui.keybindings.keys_of_modes import COMPARE, LOG, PLAYBOOKS, REPORT, TIMELINE
from tui.keybindings.keys_of_pages import BARE, PAGES, TYPED
from tui.keybindings.scoped import Own, key

Kind = Literal["mode", "page", "typed", "sheet", "program"]

THROUGH: Final = ("time", "mode")
"""Groups of keys that are the main screen's on every mode."""
THROUGH_TOO: Final = ("finding", "finding_before", "command", "settings", "help")
"""Ids of further ones."""
OWN: Final = ("maximise", "jump", "yank", "out")
"""Ids of keys that a mode answers by itself, in the way of the main screen."""
ACTS: Final = tuple(each.id for each in KEYS if each.group == "act" or each.id in ("bookmark", "playbooks"))
"""Ids of keys that act on what is selected in a mode."""
OF_PAGES: Final = ("jump", "command", "help")
"""Ids of keys that work in every page too; where something is typed only the first does."""
NOWHERE: Final = "unbound"
"""A key that no terminal sends: for what has no key left."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Keys that work in one place alone, and those of the main screen that do there too."""

    name: str
    title: str
    kind: Kind
    keys: tuple[Key, ...]
    through: tuple[str, ...] = ()
    """Ids of keys of the main screen."""

    @property
    def typed(self) -> bool:
        """Whether characters are typed there, so that none of them can be a key."""
        return self.kind == "typed"


def _through_mode() -> tuple[str, ...]:
    """In the order of the key map."""
    more = (*THROUGH_TOO, *OWN, *ACTS)
    return tuple(each.id for each in KEYS if each.group in THROUGH or each.id in more)


def _scope(name: str, title: str, kind: Kind, own: Sequence[Own], more: tuple[str, ...] = ()) -> Scope:
    through = {"mode": _through_mode(), "page": OF_PAGES, "typed": OF_PAGES[:1]}.get(kind, ())
    if name in BARE:
        through = ()
    return Scope(name, title, kind, tuple(key(name, each) for each in own), (*through, *more))


SCOPES: Final[tuple[Scope, ...]] = (
    _scope("microscope", "In the log", "mode", LOG),
    _scope("clients", "Among the clients", "mode", CLIENT_KEYS, ("filter",)),
    _scope("timeline", "On the timeline", "mode", TIMELINE),
    _scope("playbooks", "On the page of playbooks", "mode", PLAYBOOKS),
    _scope("report", "On the report", "mode", REPORT),
    _scope("compare", "While two branches are compared", "mode", COMPARE),
    *(_scope(each.name, each.title, "page", each.keys) for each in PAGES if each.name not in TYPED),
    *(_scope(each.name, each.title, "typed", each.keys) for each in PAGES if each.name in TYPED),
    _scope(
        "welcome", "On the welcome page", "program",
        (
            Own("up", "up,k", "move(-1)", "a line up"),
            Own("down", "down,j", "move(1)", "a line down"),
            Own("page_up", "pageup", "move(-10)", "ten lines up"),
            Own("page_down", "pagedown", "move(10)", "ten lines down"),
            Own("choose", "enter", "choose", "open it"),
            Own("tour", "t", "open('tour')", "the tour"),
            Own("sandbox", "s", "open('sandbox')", "the sandbox"),
            Own("out", "escape", "leave", "back, or quit"),
            Own("quit", "q,ctrl+q", "quit", "quit"),
        ),
    ),
)  # fmt: skip
"""Those of everything but the sheets."""


@cache
def scopes() -> tuple[Scope, ...]:
    """All of them. Those of the sheets read the catalogue of faults, which the welcome page does without."""
    from tui.keybindings.sheet_keys import (
        FAULTS,  # noqa: PLC0415
        OPERATIONS,  # noqa: PLC0415
    )

    return (
        *SCOPES,
        _scope("faults", "In the sheet of faults", "sheet", FAULTS),
        _scope("operations", "In the sheet of operations", "sheet", OPERATIONS),
    )


@cache
def all_keys() -> tuple[Key, ...]:
    """Every key of the program."""
    return (*KEYS, *(each for scope in scopes() for each in scope.keys))


def scope_of(name: str) -> Scope:
    """The one of a name; KeyError: there is none."""
    light = {each.name: each for each in SCOPES}
    return light[name] if name in light else {each.name: each for each in scopes()}[name]


def keys_of(name: str, keys: Sequence[Key]) -> tuple[Key, ...]:
    """A scope's own keys, as ``keys`` has them."""
    return tuple(each for each in keys if each.group == name)


def in_force(app: object) -> tuple[Key, ...]:
    """All keys of a running program, with those that the user has otherwise."""
    found: tuple[Key, ...] = getattr(getattr(app, "main", None), "keys", ())
    return found or all_keys()


def of_main(keys: Sequence[Key]) -> tuple[Key, ...]:
    """Those of the main screen and of the program alone."""
    return tuple(each for each in keys if each.group in GROUPS)


def there(scope: str, name: str) -> str:
    """Id of the binding by which a key of the main screen works in a scope too."""
    return f"{scope}:{name}"


def bindings_of(name: str) -> list[BindingType]:
    """A scope's own bindings, before those that it shares with the main screen: the first on a key counts.

    Where something is typed they go before the field, which would take them; escape goes the usual way.
    """
    scope = scope_of(name)
    early = scope.typed or scope.kind == "program"
    return [*_own(scope, early=early), *_shared(scope)]


def _own(scope: Scope, *, early: bool) -> Iterator[Binding]:
    for each in scope.keys:
        priority = early and "escape" not in each.keys
        yield Binding(each.keys, each.action, each.words, id=each.id, show=False, priority=priority)


def _shared(scope: Scope) -> Iterator[Binding]:
    for each in (each for each in KEYS if each.id in scope.through):
        action = f"main({each.action!r})"
        if scope.kind == "mode" and each.id in ACTS:
            action = f"act({each.id!r})"
        elif each.id in (*OWN, "filter"):
            action = each.action
        yield Binding(each.keys, action, each.words, id=there(scope.name, each.id), show=False)


def keymap_of(keys: Sequence[Key]) -> dict[str, str]:
    """Every binding by its id → its keys, such that in no scope two have the same one."""
    found = {each.id: each.keys for each in keys}
    by_id = {each.id: each for each in keys}
    for scope in scopes():
        taken = {name for each in keys_of(scope.name, keys) for name in each.keys.split(",")}
        for name in scope.through:
            left = [each for each in by_id[name].keys.split(",") if each not in taken]
            found[there(scope.name, name)] = ",".join(left) or NOWHERE
    return found


def manual() -> str:
    """The key tables of the manual, in Markdown."""
    main = manual_rows([(title, [each for each in KEYS if each.group == group]) for group, title in GROUPS.items()])
    scoped = manual_rows([(each.title, list(each.keys)) for each in scopes()])
    return f"{main}\n\nKeys of one place alone, which elsewhere may do something else:\n\n{scoped}\n"
