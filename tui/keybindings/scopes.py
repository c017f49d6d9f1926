"""Where keys work: the scopes (modes, pages, sheets) with keys of their own, and the user's remapped keys.

The same key may do something else in another scope. A mode's own key hides the main screen's key there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, NamedTuple

from textual.binding import Binding, BindingType

from tui.keybindings.keymap import FIRST, GROUPS, KEYS, KeyBinding, KeyPage, PageKey, key, manual_rows, shown

# The keys that each mode has for itself alone.


_LIST_OF_MODE: Final = (
    PageKey("up", "up,k", "move(-1)", "a line up"),
    PageKey("down", "down,j", "move(1)", "a line down"),
    PageKey("page_up", "pageup", "move(-10)", "ten lines up"),
    PageKey("page_down", "pagedown", "move(10)", "ten lines down"),
)

LOG: Final = (
    PageKey("left", "left,h", "offset(-1)", "a cell back"),
    PageKey("right", "right,l", "offset(1)", "a cell on"),
    PageKey("back", "shift+left", "offset(-10)", "ten cells back"),
    PageKey("on", "shift+right", "offset(10)", "ten cells on"),
    PageKey("page_up", "pageup", "window(-1)", "a window back"),
    PageKey("page_down", "pagedown", "window(1)", "a window on"),
    PageKey("up", "up,k", "replica(-1)", "replica above"),
    PageKey("down", "down,j", "replica(1)", "replica below"),
    PageKey("next_partition", "tab", "partition(1)", "next partition"),
    PageKey("partition_before", "shift+tab", "partition(-1)", "partition before"),
    PageKey("more", "plus,equals_sign", "zoom(1)", "more offsets to a cell"),
    PageKey("fewer", "minus", "zoom(-1)", "fewer offsets to a cell"),
    PageKey("hw", "t", "high_watermark", "around the high watermark"),
    PageKey("fork", "F", "fork", "where the logs part"),
    PageKey("start", "g", "log_start", "where the log begins"),
    PageKey("tail", "end", "tail", "follow the end of the log"),
    PageKey("written", "enter", "written", "back to the moment at which the record was written"),
    PageKey("peek", "p", "peek", "the record whole"),
    PageKey("internal", "i", "internal", "show or hide Kafka's own topics"),
)
CLIENTS: Final = (
    PageKey("close", "c,q", "main(\"mode('cluster')\")", "back to the cluster"),
    PageKey("up", "up,k", "move(-1)", "the client above; a group is all its members"),
    PageKey("down", "down,j", "move(1)", "the client below"),
    PageKey("page_up", "pageup", "move(-10)", "ten clients up"),
    PageKey("page_down", "pagedown", "move(10)", "ten clients down"),
)
LANES: Final = {"faults": "t", "cluster": "c", "clients": "i", "safety": "x", "load": "o"}
"""Lane of the timeline → the key that shows and hides it; none of them is a key that acts."""
TIMELINE: Final = (
    PageKey("left", "left,h", "mark(-1)", "the mark before"),
    PageKey("right", "right,l", "mark(1)", "the next mark"),
    PageKey("up", "up,k", "across(-1)", "the nearest mark of the lane above"),
    PageKey("down", "down,j", "across(1)", "the nearest mark of the lane below; below them, the branches"),
    PageKey("go", "enter", "go", "go to that instant; again: back to the present; over to a branch"),
    PageKey("nearer", "plus,equals_sign", "zoom(1)", "zoom: nearer"),
    PageKey("farther", "minus", "zoom(-1)", "zoom: farther"),
    PageKey("whole", "z", "whole", "the whole session"),
    PageKey("page_up", "pageup", "scroll(-1)", "back by half a window"),
    PageKey("page_down", "pagedown", "scroll(1)", "on by half a window"),
    PageKey("follow", "end", "follow", "let go of the mark, follow time"),
    PageKey("back", "shift+left", "nudge(-1)", "one second back; the end of a span one column"),
    PageKey("on", "shift+right", "nudge(1)", "one second on; the end of a span one column"),
    PageKey("span", "v", "span", "begin a span here, whose end the arrows move; or let go of it"),
    PageKey("export", "e", "export_span", "write the events of the span beside the recording"),
    *(
        PageKey(f"lane_{lane}", each, f"lane({lane!r})", f"hide the lane {lane}, or show it")
        for lane, each in LANES.items()
    ),
)
PLAYBOOKS: Final = (
    PageKey("close", "P", "main(\"mode('cluster')\")", "back to the cluster"),
    *_LIST_OF_MODE,
    PageKey("text_down", "J", "text(5)", "the text: five lines down"),
    PageKey("text_up", "K", "text(-5)", "the text: five lines up"),
    PageKey("other", "tab", "other", "playbooks, or sessions"),
    PageKey("filter", "slash", "filter", "choose by words; ! before a word: without it"),
    PageKey("open", "o", "open", "open a file, a name or a session"),
    PageKey("start", "enter", "start", "start the playbook, or open the session; that on the screen is sealed first"),
    PageKey("back", "b", "back", "back to what was on the screen before"),
)
REPORT: Final = (
    *_LIST_OF_MODE,
    PageKey("left", "left,h", "choose(-1)", "the finding before"),
    PageKey("right", "right,l", "choose(1)", "the next finding"),
    PageKey("open", "enter", "open", "the autopsy of the finding"),
    PageKey("export", "e", "app.export", "a playbook of the session so far"),
)
COMPARE: Final = (
    PageKey("close", "q", "main(\"mode('cluster')\")", "back to the cluster"),
    PageKey("up", "up,k", "partition(-1)", "partition above"),
    PageKey("down", "down,j", "partition(1)", "partition below"),
)


# The keys that each page over the screen has for itself alone.


_CLOSE: Final = "app.pop_screen"
_LIST_OF_PAGE: Final = (
    PageKey("up", "up,k", "choose(-1)", "line above"),
    PageKey("down", "down,j", "choose(1)", "line below"),
)

AUTOPSY: Final = (
    PageKey("out", "escape", "leave", "close"),
    PageKey("left", "left,h", "frame(-1)", "the frame before"),
    PageKey("right", "right,l", "frame(1)", "the next frame"),
    *(PageKey(f"frame_{number}", str(number), f"go({number})", f"to frame {number}") for number in range(1, 6)),
    PageKey("up", "up,k", "scroll(-1)", "a line up"),
    PageKey("down", "down,j", "scroll(1)", "a line down"),
    PageKey("page_up", "pageup", "scroll(-10)", "ten lines up"),
    PageKey("page_down", "pagedown", "scroll(10)", "ten lines down"),
    PageKey("finding", "n", "finding(1)", "the next finding"),
    PageKey("finding_before", "N", "finding(-1)", "the finding before"),
    PageKey("what_if", "w", "what_if", "a branch from the marked frame on"),
    PageKey("saves", "s", "why", "what would have saved it"),
    PageKey("next_change", "tab", "mark(1)", "mark the next change"),
    PageKey("change_before", "shift+tab", "mark(-1)", "mark the change before"),
    PageKey("take", "enter", "take", "run the marked change as a branch"),
    PageKey("playbook", "c", "copy_playbook", "copy the session so far as a playbook"),
    PageKey("copy", "y", "copy", "copy the sentence"),
    PageKey("export", "e", "app.export", "a playbook of the session so far"),
)

PAGES: Final = (
    KeyPage("autopsy", "In an autopsy", AUTOPSY),
    KeyPage(
        "record", "In a record",
        (
            PageKey("out", "escape,p,q", _CLOSE, "close"),
            PageKey("left", "left,h", "move(-1)", "one offset back"),
            PageKey("right", "right,l", "move(1)", "one offset on"),
            PageKey("back", "shift+left", "move(-10)", "ten offsets back"),
            PageKey("on", "shift+right", "move(10)", "ten offsets on"),
            PageKey("copy", "y", "copy", "copy it"),
        ),
    ),
    KeyPage(
        "branch", "In the list of branches",
        (
            PageKey("out", "escape,q,b", "leave", "close"),
            *_LIST_OF_PAGE,
            PageKey("take", "enter", "take", "change over to it"),
            PageKey("compare", "c", "compare", "compare it with the one on the screen"),
        ),
    ),
    KeyPage(
        "marks", "In the list of bookmarks",
        (
            PageKey("out", "escape,q,ctrl+b", "leave", "close"),
            *_LIST_OF_PAGE,
            PageKey("take", "enter", "take", "go there"),
            PageKey("forget", "d,delete", "forget", "forget it"),
        ),
    ),
    KeyPage(
        "setting", "In the settings",
        (
            PageKey("out", "escape,S,q", _CLOSE, "close"),
            PageKey("up", "up,k", "mark(-1)", "the one above"),
            PageKey("down", "down,j", "mark(1)", "the one below"),
            PageKey("left", "left,h", "change(-1)", "the value before"),
            PageKey("right", "right,l", "change(1)", "the next value"),
            PageKey("write", "w", "write", "write the file"),
            PageKey("undo", "u", "undo", "undo what was set last, in the file too"),
        ),
    ),
    KeyPage(
        "help", "In this help",
        (
            PageKey("out", "escape,question_mark,q", _CLOSE, "close"),
            PageKey("glossary", "g", "glossary", "all words"),
        ),
    ),
    KeyPage("growing", "While a branch is on its way", (PageKey("out", "escape", "give_up", "never mind"),)),
    KeyPage("label", "While there are letters over the screen", (PageKey("out", "escape", _CLOSE, "never mind"),)),
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
            PageKey("up", "up", "app.focus_previous", "the field above"),
            PageKey("down", "down", "app.focus_next", "the field below"),
            PageKey("queue", "ctrl+n", "queue", "queue it while the cluster is paused"),
        ),
    ),
    KeyPage(
        "value", "In the form of a setting",
        (
            PageKey("out", "escape", _CLOSE, "back"),
            PageKey("up", "up", "step(-1)", "the value before, where they can be counted"),
            PageKey("down", "down", "step(1)", "the next value"),
        ),
    ),
    KeyPage(
        "to_time", "Where a time is asked for",
        (
            PageKey("out", "escape,ctrl+g", "leave", "close"),
            PageKey("up", "up", "choose(-1)", "the bookmark above"),
            PageKey("down", "down", "choose(1)", "the bookmark below"),
        ),
    ),
    KeyPage(
        "line", "In the line of commands",
        (
            PageKey("out", "escape", _CLOSE, "close"),
            PageKey("complete", "tab", "complete", "complete the word"),
            PageKey("up", "up", "before(-1)", "the line before"),
            PageKey("down", "down", "before(1)", "the next line"),
        ),
    ),
    KeyPage("question", "In a question about the future",
            (PageKey("out", "escape", "leave", "never mind, then close"),)),
    KeyPage(
        "words", "In the line of a filter",
        (
            PageKey("out", "escape", "leave(False)", "drop the filter"),
            PageKey("keep", "enter", "leave(True)", "keep the filter"),
            PageKey("up", "up", "step(-1)", "a line up"),
            PageKey("down", "down", "step(1)", "a line down"),
        ),
    ),
)  # fmt: skip

BARE: Final = ("growing", "label", "words")
"""Names of those in which nothing else can be done."""
TYPED: Final = ("word", "form", "value", "to_time", "line", "question", "words")
"""Names of those in which something is typed."""

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
class KeyScope:
    """Keys that work in one place alone, and those of the main screen that do there too."""

    name: str
    title: str
    kind: Kind
    keys: tuple[KeyBinding, ...]
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


def _scope(name: str, title: str, kind: Kind, own: Sequence[PageKey], more: tuple[str, ...] = ()) -> KeyScope:
    through = {"mode": _through_mode(), "page": OF_PAGES, "typed": OF_PAGES[:1]}.get(kind, ())
    if name in BARE:
        through = ()
    return KeyScope(name, title, kind, tuple(key(name, each) for each in own), (*through, *more))


SCOPES: Final[tuple[KeyScope, ...]] = (
    _scope("microscope", "In the log", "mode", LOG),
    _scope("clients", "Among the clients", "mode", CLIENTS, ("filter",)),
    _scope("timeline", "On the timeline", "mode", TIMELINE),
    _scope("playbooks", "On the page of playbooks", "mode", PLAYBOOKS),
    _scope("report", "On the report", "mode", REPORT),
    _scope("compare", "While two branches are compared", "mode", COMPARE),
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
            PageKey("tour", "t", "open('tour')", "the tour"),
            PageKey("sandbox", "s", "open('sandbox')", "the sandbox"),
            PageKey("out", "escape", "leave", "back, or quit"),
            PageKey("quit", "q,ctrl+q", "quit", "quit"),
        ),
    ),
)  # fmt: skip
"""Those of everything but the sheets."""


@cache
def scopes() -> tuple[KeyScope, ...]:
    """All of them. Those of the sheets read the catalogue of faults, which the welcome page does without."""
    from tui.keybindings.sheet_keys import FAULTS, OPERATIONS  # noqa: PLC0415

    return (
        *SCOPES,
        _scope("faults", "In the sheet of faults", "sheet", FAULTS),
        _scope("operations", "In the sheet of operations", "sheet", OPERATIONS),
    )


@cache
def all_keys() -> tuple[KeyBinding, ...]:
    """Every key of the program."""
    return (*KEYS, *(each for scope in scopes() for each in scope.keys))


def scope_of(name: str) -> KeyScope:
    """The one of a name; KeyError: there is none."""
    light = {each.name: each for each in SCOPES}
    return light[name] if name in light else {each.name: each for each in scopes()}[name]


def keys_of(name: str, keys: Sequence[KeyBinding]) -> tuple[KeyBinding, ...]:
    """A scope's own keys, as ``keys`` has them."""
    return tuple(each for each in keys if each.group == name)


def in_force(app: object) -> tuple[KeyBinding, ...]:
    """All keys of a running program, with those that the user has otherwise."""
    found: tuple[KeyBinding, ...] = getattr(getattr(app, "main", None), "keys", ())
    return found or all_keys()


def of_main(keys: Sequence[KeyBinding]) -> tuple[KeyBinding, ...]:
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


def _own(scope: KeyScope, *, early: bool) -> Iterator[Binding]:
    for each in scope.keys:
        priority = early and "escape" not in each.keys
        yield Binding(each.keys, each.action, each.words, id=each.id, show=False, priority=priority)


def _shared(scope: KeyScope) -> Iterator[Binding]:
    for each in (each for each in KEYS if each.id in scope.through):
        action = f"main({each.action!r})"
        if scope.kind == "mode" and each.id in ACTS:
            action = f"act({each.id!r})"
        elif each.id in (*OWN, "filter"):
            action = each.action
        yield Binding(each.keys, action, each.words, id=there(scope.name, each.id), show=False)


def keymap_of(keys: Sequence[KeyBinding]) -> dict[str, str]:
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


# Remapped keys: from the user's file to a key map without conflicts.


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


def remapped(wanted: Wanted, keys: Sequence[KeyBinding] | None = None) -> tuple[KeyBinding, ...]:
    """The key map with those keys instead; whoever asks has taken the conflicts out."""
    return tuple(
        replace(key, keys=",".join(wanted[key.id]), shown=shown(",".join(wanted[key.id]))) if key.id in wanted else key
        for key in (all_keys() if keys is None else keys)
    )


def without_conflicts(
    wanted: Wanted, keys: Sequence[KeyBinding] | None = None
) -> tuple[dict[str, tuple[str, ...]], list[Conflict]]:
    """What of it can be had, and why not the rest.

    Giving an action its own keys back can bring the next conflict, so this goes on until there is none.

    Raises:
        ValueError: two actions of one scope are declared with one key, which nobody has changed.
    """
    kept, told = dict(wanted), list[Conflict]()
    while (found := next(_conflicts(kept, keys), None)) is not None:
        if found.id not in kept:
            raise ValueError(
                f"found the key {shown(found.key)!r} in the declarations of {found.other} and {found.id}, which are "
                "keys of one place; allowed is one that no other has there (tui/keybindings)"
            )
        told.append(found)
        del kept[found.id]
    return kept, told


def _conflicts(wanted: Wanted, keys: Sequence[KeyBinding] | None) -> Iterator[Conflict]:
    """In every scope by itself: the main screen with the program, then each mode, page and sheet.

    What comes first wherever one is, the palette and quitting, cannot have a key of any of them.
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
    """Id of a changed action, and a sentence: where a mode's own key hides one of the main screen's there."""
    found = {each.id: each for each in remapped(wanted, keys)}
    told = []
    for scope in (each for each in scopes() if each.kind == "mode"):
        own = {key: each.id for each in found.values() if each.group == scope.name for key in each.keys.split(",")}
        for name in scope.through:
            for pressed in found[name].keys.split(","):
                over = own.get(pressed)
                if over is not None and (over in wanted or name in wanted):
                    changed = over if over in wanted else name
                    where = scope.title[0].lower() + scope.title[1:]
                    told.append((changed, f"{shown(pressed)!r} is {over} {where}, and not {name} as elsewhere"))
    return told
