"""Scopes of keys (modes, pages, sheets) with keys of their own, and the user's remapped keys.

The same key may have another action in another scope. A mode's own key hides the main screen's key there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, NamedTuple

from textual.binding import Binding, BindingType

from tui.keybindings.keymap import FIRST, GROUPS, KEYS, KeyBinding, KeyPage, PageKey, key, manual_rows, shown

# Keys of each mode.


_LIST_OF_MODE: Final = (
    PageKey("up", "up,k", "move(-1)", "a line up"),
    PageKey("down", "down,j", "move(1)", "a line down"),
    PageKey("page_up", "pageup", "move(-10)", "ten lines up"),
    PageKey("page_down", "pagedown", "move(10)", "ten lines down"),
)

LOG: Final = (
    PageKey("left", "left,h", "offset(-1)", "one cell back"),
    PageKey("right", "right,l", "offset(1)", "one cell forward"),
    PageKey("back", "shift+left", "offset(-10)", "ten cells back"),
    PageKey("on", "shift+right", "offset(10)", "ten cells forward"),
    PageKey("page_up", "pageup", "window(-1)", "one window back"),
    PageKey("page_down", "pagedown", "window(1)", "one window forward"),
    PageKey("up", "up,k", "replica(-1)", "replica above"),
    PageKey("down", "down,j", "replica(1)", "replica below"),
    PageKey("next_partition", "tab", "partition(1)", "next partition"),
    PageKey("partition_before", "shift+tab", "partition(-1)", "previous partition"),
    PageKey("more", "plus,equals_sign", "zoom(1)", "zoom out: more offsets per cell"),
    PageKey("fewer", "minus", "zoom(-1)", "zoom in: fewer offsets per cell"),
    PageKey("hw", "t", "high_watermark", "go to the high watermark"),
    PageKey("fork", "F", "fork", "go to the first offset where the logs differ"),
    PageKey("start", "g", "log_start", "go to the log start offset"),
    PageKey("tail", "end", "tail", "follow the end of the log"),
    PageKey("written", "enter", "written", "go to the time at which the record was written"),
    PageKey("peek", "p", "peek", "page of the record"),
    PageKey("internal", "i", "internal", "show or hide internal topics"),
)
CLIENTS: Final = (
    PageKey("close", "c", "main(\"mode('cluster')\")", "back to the cluster"),
    PageKey("up", "up,k", "move(-1)", "client above; a group means all its members"),
    PageKey("down", "down,j", "move(1)", "client below"),
    PageKey("page_up", "pageup", "move(-10)", "ten clients up"),
    PageKey("page_down", "pagedown", "move(10)", "ten clients down"),
    PageKey("sort", "o", "sort", "sort by the next column; after the last one as in the playbook"),
    PageKey("sort_reverse", "O", "sort_reverse", "sort in the reverse order"),
)
LANES: Final = {"faults": "t", "cluster": "c", "clients": "i", "safety": "x", "load": "o"}
"""Lane of the timeline → the key that shows or hides it, distinct from keys that act."""
TIMELINE: Final = (
    PageKey("left", "left,h", "mark(-1)", "previous mark"),
    PageKey("right", "right,l", "mark(1)", "next mark"),
    PageKey("up", "up,k", "across(-1)", "nearest mark of the lane above"),
    PageKey("down", "down,j", "across(1)", "nearest mark of the lane below; below the lanes: branches"),
    PageKey("go", "enter", "go", "go to the mark's time; again: return to the present; on a branch: switch to it"),
    PageKey("nearer", "plus,equals_sign", "zoom(1)", "zoom in"),
    PageKey("farther", "minus", "zoom(-1)", "zoom out"),
    PageKey("whole", "z", "whole", "zoom out to the whole session"),
    PageKey("page_up", "pageup", "scroll(-1)", "half a window back"),
    PageKey("page_down", "pagedown", "scroll(1)", "half a window forward"),
    PageKey("follow", "end", "follow", "drop the selection and follow time"),
    PageKey("back", "shift+left", "nudge(-1)", "one second back; with a span: move its end one column back"),
    PageKey("on", "shift+right", "nudge(1)", "one second forward; with a span: move its end one column forward"),
    PageKey("span", "v", "span", "start a span here, whose end the arrows move; again: drop it"),
    PageKey("export", "e", "export_span", "export the events of the span to a file beside the recording"),
    *(
        PageKey(f"lane_{lane}", each, f"lane({lane!r})", f"show or hide the lane {lane}")
        for lane, each in LANES.items()
    ),
)
PLAYBOOKS: Final = (
    PageKey("close", "P", "main(\"mode('cluster')\")", "back to the cluster"),
    *_LIST_OF_MODE,
    PageKey("text_down", "J", "text(5)", "scroll the text five lines down"),
    PageKey("text_up", "K", "text(-5)", "scroll the text five lines up"),
    PageKey("other", "tab", "other", "switch between playbooks and sessions"),
    PageKey("filter", "slash", "filter", "filter by words; ! before a word excludes"),
    PageKey("open", "o", "open", "open a file, a name or a session"),
    PageKey("start", "enter", "start", "start the playbook, or open the session; the current session is saved first"),
    PageKey("back", "b", "back", "back to the previous session"),
)
REPORT: Final = (
    *_LIST_OF_MODE,
    PageKey("left", "left,h", "choose(-1)", "previous finding"),
    PageKey("right", "right,l", "choose(1)", "next finding"),
    PageKey("open", "enter", "open", "autopsy of the finding"),
    PageKey("export", "e", "app.export", "export the session so far as a playbook"),
)
COMPARE: Final = (
    PageKey("up", "up,k", "partition(-1)", "partition above"),
    PageKey("down", "down,j", "partition(1)", "partition below"),
)


# Keys of each page over the main screen.


_CLOSE: Final = "app.pop_screen"
_LIST_OF_PAGE: Final = (
    PageKey("up", "up,k", "choose(-1)", "line above"),
    PageKey("down", "down,j", "choose(1)", "line below"),
)

AUTOPSY: Final = (
    PageKey("out", "escape,q", "leave", "close"),
    PageKey("left", "left,h", "frame(-1)", "previous frame"),
    PageKey("right", "right,l", "frame(1)", "next frame"),
    *(
        PageKey(f"frame_{number}", str(number), f"go({number})", f"go to the time of frame {number}")
        for number in range(1, 6)
    ),
    PageKey("up", "up,k", "scroll(-1)", "a line up"),
    PageKey("down", "down,j", "scroll(1)", "a line down"),
    PageKey("page_up", "pageup", "scroll(-10)", "ten lines up"),
    PageKey("page_down", "pagedown", "scroll(10)", "ten lines down"),
    PageKey("finding", "n", "finding(1)", "next finding"),
    PageKey("finding_before", "N", "finding(-1)", "previous finding"),
    PageKey("what_if", "w", "what_if", "what if: branch at the marked frame"),
    PageKey("saves", "s", "why", "what would have prevented it"),
    PageKey("next_change", "tab", "mark(1)", "mark the next change"),
    PageKey("change_before", "shift+tab", "mark(-1)", "mark the previous change"),
    PageKey("take", "enter", "take", "run the marked change as a branch"),
    PageKey("playbook", "c", "copy_playbook", "copy the session so far as a playbook"),
    PageKey("copy", "y", "copy", "copy the sentence of the finding"),
    PageKey("export", "e", "app.export", "export the session so far as a playbook"),
)

PAGES: Final = (
    KeyPage("autopsy", "In an autopsy", AUTOPSY),
    KeyPage(
        "record", "In a record",
        (
            PageKey("out", "escape,p,q", _CLOSE, "close"),
            PageKey("left", "left,h", "move(-1)", "one offset back"),
            PageKey("right", "right,l", "move(1)", "one offset forward"),
            PageKey("back", "shift+left", "move(-10)", "ten offsets back"),
            PageKey("on", "shift+right", "move(10)", "ten offsets forward"),
            PageKey("copy", "y", "copy", "copy the record as text"),
        ),
    ),
    KeyPage(
        "branch", "In the list of branches",
        (
            PageKey("out", "escape,q,b", "leave", "close"),
            *_LIST_OF_PAGE,
            PageKey("take", "enter", "take", "switch to it"),
            PageKey("compare", "c", "compare", "compare it with the current branch"),
        ),
    ),
    KeyPage(
        "marks", "In the list of bookmarks",
        (
            PageKey("out", "escape,q,ctrl+b", "leave", "close"),
            *_LIST_OF_PAGE,
            PageKey("take", "enter", "take", "go to it"),
            PageKey("forget", "d,delete", "forget", "delete it"),
        ),
    ),
    KeyPage(
        "setting", "In the settings",
        (
            PageKey("out", "escape,S,q", _CLOSE, "close"),
            PageKey("up", "up,k", "mark(-1)", "setting above"),
            PageKey("down", "down,j", "mark(1)", "setting below"),
            PageKey("left", "left,h", "change(-1)", "previous value"),
            PageKey("right", "right,l", "change(1)", "next value"),
            PageKey("write", "w", "write", "write the settings file"),
            PageKey("undo", "u", "undo", "undo the last change, also in the file"),
        ),
    ),
    KeyPage(
        "help", "In this help",
        (
            PageKey("out", "escape,question_mark,q", _CLOSE, "close"),
            PageKey("glossary", "g", "glossary", "glossary"),
        ),
    ),
    KeyPage("growing", "While a branch is created", (PageKey("out", "escape,q", "give_up", "cancel"),)),
    KeyPage("label", "While jump labels are shown", (PageKey("out", "escape", _CLOSE, "cancel"),)),
    KeyPage(
        "word", "In the glossary",
        (
            PageKey("out", "escape", _CLOSE, "close"),
            PageKey("up", "up", "scroll(-1)", "a line up"),
            PageKey("down", "down", "scroll(1)", "a line down"),
            PageKey("page_up", "pageup", "scroll(-10)", "ten lines up"),
            PageKey("page_down", "pagedown", "scroll(10)", "ten lines down"),
        ),
    ),
    KeyPage(
        "form", "In the form of a fault",
        (
            PageKey("out", "escape", _CLOSE, "back"),
            PageKey("up", "up", "app.focus_previous", "field above"),
            PageKey("down", "down", "app.focus_next", "field below"),
            PageKey("queue", "ctrl+n", "queue", "queue the fault while paused"),
        ),
    ),
    KeyPage(
        "value", "In the form of a setting",
        (
            PageKey("out", "escape", _CLOSE, "back"),
            PageKey("up", "up", "step(-1)", "previous value, if there is a list"),
            PageKey("down", "down", "step(1)", "next value, if there is a list"),
        ),
    ),
    KeyPage(
        "to_time", "In the prompt for a time",
        (
            PageKey("out", "escape,ctrl+g", "leave", "close"),
            PageKey("up", "up", "choose(-1)", "bookmark above"),
            PageKey("down", "down", "choose(1)", "bookmark below"),
        ),
    ),
    KeyPage(
        "line", "In the command line",
        (
            PageKey("out", "escape", _CLOSE, "close"),
            PageKey("complete", "tab", "complete", "complete the word"),
            PageKey("up", "up", "before(-1)", "previous line of the history"),
            PageKey("down", "down", "before(1)", "next line of the history"),
        ),
    ),
    KeyPage("question", "In the is-it-safe prompt",
            (PageKey("out", "escape", "leave", "cancel, then close"),)),
    KeyPage(
        "words", "In the filter line",
        (
            PageKey("out", "escape", "leave(False)", "drop the filter"),
            PageKey("keep", "enter", "leave(True)", "keep the filter"),
            PageKey("up", "up", "step(-1)", "a line up"),
            PageKey("down", "down", "step(1)", "a line down"),
        ),
    ),
)  # fmt: skip

BARE: Final = ("growing", "label", "words")
"""Scopes without any keys of the main screen."""
TYPED: Final = ("word", "form", "value", "to_time", "line", "question", "words")
"""Scopes with text input."""

Kind = Literal["mode", "page", "typed", "sheet", "program"]

SHARED_GROUPS: Final = ("time", "mode")
"""Groups of keys that act on the main screen in every mode."""
SHARED_KEYS: Final = ("finding", "finding_before", "command", "settings", "help")
"""Ids of further keys that do."""
OWN: Final = ("maximise", "jump", "yank", "out", "close")
"""Ids of keys that a mode handles itself, as the main screen does."""
ACTS: Final = tuple(each.id for each in KEYS if each.group == "act" or each.id in ("bookmark", "playbooks"))
"""Ids of keys that act on the selection of a mode."""
OF_PAGES: Final = ("jump", "command", "help")
"""Ids of keys that work in every page; with text input only the first one does."""
NOWHERE: Final = "unbound"
"""Key that no terminal sends, for actions without a key."""


@dataclass(frozen=True, slots=True)
class KeyScope:
    """Scope of keys: a mode, page or sheet with its own keys, and those of the main screen that work in it."""

    name: str
    title: str
    kind: Kind
    keys: tuple[KeyBinding, ...]
    shared: tuple[str, ...] = ()
    """Ids of keys of the main screen that work in it."""

    @property
    def typed(self) -> bool:
        """Whether it has text input, so that characters cannot be keys."""
        return self.kind == "typed"


def _through_mode() -> tuple[str, ...]:
    """Return the ids of the main screen's keys that work in modes, in the order of the key map."""
    more = (*SHARED_KEYS, *OWN, *ACTS)
    return tuple(each.id for each in KEYS if each.group in SHARED_GROUPS or each.id in more)


def _scope(name: str, title: str, kind: Kind, own: Sequence[PageKey], more: tuple[str, ...] = ()) -> KeyScope:
    through = {"mode": _through_mode(), "page": OF_PAGES, "typed": OF_PAGES[:1]}.get(kind, ())
    if name in BARE:
        through = ()
    return KeyScope(name, title, kind, tuple(key(name, each) for each in own), (*through, *more))


SCOPES: Final[tuple[KeyScope, ...]] = (
    _scope("microscope", "In log mode", "mode", LOG),
    _scope("clients", "In clients mode", "mode", CLIENTS, ("filter",)),
    _scope("timeline", "In timeline mode", "mode", TIMELINE),
    _scope("playbooks", "In playbooks mode", "mode", PLAYBOOKS),
    _scope("report", "In report mode", "mode", REPORT),
    _scope("compare", "In the comparison of branches", "mode", COMPARE),
    *(_scope(each.name, each.title, "page", each.keys) for each in PAGES if each.name not in TYPED),
    *(_scope(each.name, each.title, "typed", each.keys) for each in PAGES if each.name in TYPED),
    _scope(
        "welcome", "On the welcome page", "program",
        (
            PageKey("up", "up,k", "move(-1)", "a line up"),
            PageKey("down", "down,j", "move(1)", "a line down"),
            PageKey("page_up", "pageup", "move(-10)", "ten lines up"),
            PageKey("page_down", "pagedown", "move(10)", "ten lines down"),
            PageKey("choose", "enter", "choose", "open it"),
            PageKey("tour", "t", "open('tour')", "guided tour"),
            PageKey("sandbox", "s", "open('sandbox')", "sandbox"),
            PageKey("out", "escape", "leave", "back, or quit"),
            PageKey("quit", "q,ctrl+q", "quit", "quit"),
        ),
    ),
    _scope(
        "imported", "In an imported session", "program",
        (
            PageKey("left", "left,h", "event(-1)", "previous event"),
            PageKey("right", "right,l", "event(1)", "next event"),
            PageKey("back", "shift+left,pageup", "event(-10)", "ten events back"),
            PageKey("on", "shift+right,pagedown", "event(10)", "ten events forward"),
            PageKey("first", "home,g", "first", "first event"),
            PageKey("last", "end,G", "last", "last event"),
            PageKey("up", "up,k", "partition(-1)", "partition above"),
            PageKey("down", "down,j", "partition(1)", "partition below"),
            PageKey("own", "o", "own", "events of this partition only, or all"),
            PageKey("fork", "F", "fork", "go to the first offset where the logs differ"),
            PageKey("finding", "x", "finding", "page of the next finding, and the time of its last event"),
            PageKey("out", "escape", "leave", "close the page of the finding, or the session"),
            PageKey("quit", "q,ctrl+q", "quit", "quit"),
        ),
    ),
)  # fmt: skip
"""All scopes but the sheets."""


@cache
def scopes() -> tuple[KeyScope, ...]:
    """Return all scopes, including the sheets, which import the fault catalogue (not needed by the welcome page)."""
    from tui.keybindings.sheet_keys import FAULTS, OPERATIONS  # noqa: PLC0415

    return (
        *SCOPES,
        _scope("faults", "In the fault sheet", "sheet", FAULTS),
        _scope("operations", "In the operation sheet", "sheet", OPERATIONS),
    )


@cache
def all_keys() -> tuple[KeyBinding, ...]:
    """Return every key of the program."""
    return (*KEYS, *(each for scope in scopes() for each in scope.keys))


def scope_of(name: str) -> KeyScope:
    """Return the scope with that name; raises KeyError."""
    light = {each.name: each for each in SCOPES}
    return light[name] if name in light else {each.name: each for each in scopes()}[name]


def keys_of(name: str, keys: Sequence[KeyBinding]) -> tuple[KeyBinding, ...]:
    """Return the own keys of a scope among ``keys``."""
    return tuple(each for each in keys if each.group == name)


def current_keys(app: object) -> tuple[KeyBinding, ...]:
    """Return all keys of a running app, including the user's own."""
    found: tuple[KeyBinding, ...] = getattr(getattr(app, "main", None), "keys", ())
    return found or all_keys()


def of_main(keys: Sequence[KeyBinding]) -> tuple[KeyBinding, ...]:
    """Return the keys of the main screen and of the app."""
    return tuple(each for each in keys if each.group in GROUPS)


def scoped_id(scope: str, name: str) -> str:
    """Return the id of the binding of a main-screen key in a scope."""
    return f"{scope}:{name}"


def bindings_of(name: str) -> list[BindingType]:
    """Return a scope's own bindings, then those shared with the main screen; the first one on a key counts.

    With text input they take precedence over the input field, except for escape.
    """
    scope = scope_of(name)
    early = scope.typed or scope.kind == "program"
    return [*_own(scope, early=early), *_shared(scope)]


def _own(scope: KeyScope, *, early: bool) -> Iterator[Binding]:
    for each in scope.keys:
        priority = early and "escape" not in each.keys
        yield Binding(each.keys, each.action, each.description, id=each.id, show=False, priority=priority)


def _shared(scope: KeyScope) -> Iterator[Binding]:
    for each in (each for each in KEYS if each.id in scope.shared):
        action = f"main({each.action!r})"
        if scope.kind == "mode" and each.id in ACTS:
            action = f"act({each.id!r})"
        elif each.id in (*OWN, "filter"):
            action = each.action
        yield Binding(each.keys, action, each.description, id=scoped_id(scope.name, each.id), show=False)


def keymap_of(keys: Sequence[KeyBinding]) -> dict[str, str]:
    """Return binding id → keys, such that no two bindings of a scope have the same key."""
    keymap = {each.id: each.keys for each in keys}
    by_id = {each.id: each for each in keys}
    for scope in scopes():
        taken = {name for each in keys_of(scope.name, keys) for name in each.keys.split(",")}
        for name in scope.shared:
            left = [each for each in by_id[name].keys.split(",") if each not in taken]
            keymap[scoped_id(scope.name, name)] = ",".join(left) or NOWHERE
    return keymap


def manual() -> str:
    """Return the key tables of the manual in Markdown."""
    main = manual_rows([(title, [each for each in KEYS if each.group == group]) for group, title in GROUPS.items()])
    scoped = manual_rows([(each.title, list(each.keys)) for each in scopes()])
    return f"{main}\n\nKeys of one scope, which may have another action elsewhere:\n\n{scoped}\n"


# Remapped keys: from the settings file to a key map without conflicts.


Wanted = Mapping[str, tuple[str, ...]]
"""Id of an action → its requested keys, as Textual names them."""
HELP: Final = "see: floodmark settings --example"


class Conflict(NamedTuple):
    """Conflict of two actions of one scope on one key; the remapped one keeps its default keys."""

    id: str
    key: str
    other: str

    @property
    def words(self) -> str:
        """Message: what was found, and what is allowed."""
        return f"found {shown(self.key)!r}, which is already the key of {self.other}; expected an unused key"


def remapped(wanted: Wanted, keys: Sequence[KeyBinding] | None = None) -> tuple[KeyBinding, ...]:
    """Return the key map with the requested keys, which must be free of conflicts."""
    return tuple(
        replace(key, keys=",".join(wanted[key.id]), shown=shown(",".join(wanted[key.id]))) if key.id in wanted else key
        for key in (all_keys() if keys is None else keys)
    )


def without_conflicts(
    wanted: Wanted, keys: Sequence[KeyBinding] | None = None
) -> tuple[dict[str, tuple[str, ...]], list[Conflict]]:
    """Return the requested keys without conflicts, and the conflicts.

    Restoring an action's default keys can cause another conflict, so this repeats until there is none.

    Raises:
        ValueError: the default keys of two actions of one scope conflict.
    """
    kept, conflicts = dict(wanted), list[Conflict]()
    while (conflict := next(_conflicts(kept, keys), None)) is not None:
        if conflict.id not in kept:
            raise ValueError(
                f"found the key {shown(conflict.key)!r} in the declarations of {conflict.other} and {conflict.id}, "
                "which have the same scope; expected a key that is unused there (tui/keybindings)"
            )
        conflicts.append(conflict)
        del kept[conflict.id]
    return kept, conflicts


def _conflicts(wanted: Wanted, keys: Sequence[KeyBinding] | None) -> Iterator[Conflict]:
    """Yield the conflicts of each scope: the main screen with the app, then each mode, page and sheet.

    Palette and quit take precedence everywhere, so they must not share a key with any scope.
    """
    found = remapped(wanted, keys)
    first = [each for each in found if each.id in FIRST]
    yield from _clashes(wanted, [each for each in found if each.group in GROUPS])
    for scope in scopes():
        own = [each for each in found if each.group == scope.name]
        yield from _clashes(wanted, [*(first if scope.kind != "program" else ()), *own])


def _clashes(wanted: Wanted, keys: Sequence[KeyBinding]) -> Iterator[Conflict]:
    owners: dict[str, str] = {}
    for each in keys:
        for pressed in each.keys.split(","):
            other = owners.setdefault(pressed, each.id)
            if other != each.id:
                changed, kept = (each.id, other) if each.id in wanted else (other, each.id)
                yield Conflict(changed, pressed, kept)


def hidden(wanted: Wanted, keys: Sequence[KeyBinding] | None = None) -> list[tuple[str, str]]:
    """Return (id of a remapped action, note) where a mode's own key hides a key of the main screen."""
    by_id = {each.id: each for each in remapped(wanted, keys)}
    notes = []
    for scope in (each for each in scopes() if each.kind == "mode"):
        own = {key: each.id for each in by_id.values() if each.group == scope.name for key in each.keys.split(",")}
        for name in scope.shared:
            for pressed in by_id[name].keys.split(","):
                over = own.get(pressed)
                if over is not None and (over in wanted or name in wanted):
                    changed = over if over in wanted else name
                    where = scope.title[0].lower() + scope.title[1:]
                    notes.append((changed, f"{shown(pressed)!r} is {over} {where}, instead of {name}"))
    return notes
