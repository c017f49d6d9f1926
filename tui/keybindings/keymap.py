"""Every key of the main screen, the modes and their digits, and the names of keys."""

import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from textual.binding import Binding, BindingType

# Keys as people write them in a file, as Textual names them, and as the screen shows them.


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


# The modes of the screen, with one digit each.


@dataclass(frozen=True, slots=True)
class Mode:
    """A page over the whole terminal."""

    digit: str
    name: str
    title: str
    words: str
    """What it shows, for the help page and the palette."""
    where: str = ""
    """``module:class`` of its screen, read when it is first wanted; empty for the main screen underneath."""


CLUSTER: Final = Mode("1", "cluster", "Cluster", "the whole cluster at a glance")

MODES: Final = (
    CLUSTER,
    Mode("2", "log", "Log", "the logs of one partition under the microscope", "tui.screens.modes.log:LogScreen"),
    Mode(
        "3", "clients", "Clients", "producers, groups, members, their books",
        "tui.screens.modes.clients:ClientsScreen",
    ),
    Mode(
        "4", "timeline", "Timeline", "what happened when, and the way there",
        "tui.screens.modes.timeline:TimelineScreen",
    ),
    Mode(
        "5", "playbooks", "Playbooks", "the library, steps as they run, recorded sessions",
        "tui.screens.modes.playbooks:PlaybooksScreen",
    ),
    Mode("6", "report", "Report", "what it has come to so far", "tui.screens.modes.report:ReportScreen"),
)  # fmt: skip


def mode_of(name: str) -> Mode:
    """The mode of a name; KeyError: no such mode."""
    return {mode.name: mode for mode in MODES}[name]


@dataclass(frozen=True, slots=True)
class KeyBinding:
    """One or more keys for one action."""

    id: str
    keys: str
    """Textual's names, separated by commas."""
    shown: str
    action: str
    words: str
    group: str
    bar: str = ""
    """Word on the bar; empty keeps the key off it."""


KEYS: Final = (
    KeyBinding("pause", "space", "space", "pause", "pause and go on", "time", "pause"),
    KeyBinding("step", "full_stop", ".", "step", "one event further, paused", "time", "step"),
    KeyBinding("seek", "greater_than_sign", ">", "seek", "on to the next notable event, then pause", "time", "next"),
    KeyBinding("back", "comma", ",", "back", "one event back, paused: the past", "time"),
    KeyBinding("previous", "less_than_sign", "<", "previous", "back to the previous notable event", "time"),
    KeyBinding("second_back", "left_curly_bracket", "{", "second(-1)", "one second back", "time"),
    KeyBinding("second_on", "right_curly_bracket", "}", "second(1)", "one second on, then pause", "time"),
    KeyBinding("beginning", "home", "home", "beginning", "back to the beginning", "time"),
    KeyBinding("present", "backspace", "backspace", "present", "back to the present (end is the log's)", "time"),
    KeyBinding("goto", "ctrl+g", "^g", "goto", "go to a time, such as 12.5s or 1m", "time"),
    KeyBinding("branches", "b", "b", "branches", "branches: change over to another one, or compare two", "time"),
    KeyBinding("bookmark", "B", "B", "bookmark", "bookmark this instant", "time"),
    KeyBinding("bookmarks", "ctrl+b", "^b", "bookmarks", "the bookmarks, to go to one", "time"),
    KeyBinding("slower", "left_square_bracket", "[", "slower", "slower", "time"),
    KeyBinding("faster", "right_square_bracket", "]", "faster", "faster", "time", "speed"),
    KeyBinding("speed_one", "backslash", "\\", "speed_one", "speed ×1", "time"),
    KeyBinding(
        "autopause", "A", "A", "autopause", "pause where the next acknowledged record goes missing, or not", "time"
    ),
    KeyBinding(
        "fault", "f", "f", "fault", "inject a fault on what is selected: broker, replica, client", "act", "fault"
    ),
    KeyBinding("control", "C", "C", "control", "inject a fault on the controller; arrows: on another node", "act"),
    KeyBinding("admin", "a", "a", "admin", "an administrator's operation on what is under the cursor", "act", "admin"),
    KeyBinding("heal", "H", "H", "heal", "heal all faults", "act", "heal"),
    KeyBinding("take_over", "T", "T", "take_over", "take over: leave out what is left of the playbook's steps", "act"),
    KeyBinding("undo", "u", "u", "undo", "undo: a branch from right before the last action, without it", "act"),
    KeyBinding("redo", "U", "U", "redo", "redo: back to the branch in which it stands", "act"),
    KeyBinding("what_if", "w", "w", "what_if", "what if: a branch from this instant on, with nothing done yet", "act"),
    KeyBinding("ask", "s", "s", "ask", "is it safe to ...? Asked of many futures from here", "act", "safe?"),
    KeyBinding("up", "up,k", "↑ k", "move(-1,0)", "partition above", "look"),
    KeyBinding("down", "down,j", "↓ j", "move(1,0)", "partition below", "look"),
    KeyBinding("left", "left,h", "← h", "move(0,-1)", "broker to the left", "look"),
    KeyBinding("right", "right,l", "→ l", "move(0,1)", "broker to the right", "look"),
    KeyBinding("page_up", "pageup", "pgup", "move(-10,0)", "ten partitions up", "look"),
    KeyBinding("page_down", "pagedown", "pgdn", "move(10,0)", "ten partitions down", "look"),
    KeyBinding(
        "filter", "slash", "/", "filter", "filter by words, ! before one: without it; esc shows all again", "look"
    ),
    KeyBinding("heat", "z", "z", "heat", "heat: how far behind; again: every partition a cell", "look"),
    KeyBinding("next_pane", "tab", "tab", "pane(1)", "choose the next pane", "look"),
    KeyBinding("pane_before", "shift+tab", "shift+tab", "pane(-1)", "choose the pane before", "look"),
    KeyBinding("maximise", "m", "m", "maximise", "give the chosen pane the whole room, or no more (esc)", "look"),
    KeyBinding("jump", "ctrl+o", "^o", "jump", "jump: letters over all there is to go to; esc: never mind", "look"),
    KeyBinding("yank", "y", "y", "yank", "copy what is under the cursor, else the chosen pane, as text", "look"),
    KeyBinding("internal", "i", "i", "internal", "show or hide Kafka's own topics", "look"),
    KeyBinding("events", "e", "e", "events", "events: all, warnings and alarms, or alarms only", "look"),
    KeyBinding("out", "escape", "esc", "out", "one step back", "look"),
    KeyBinding("log_back", "shift+left", "shift+←", "log(-10)", "log: ten offsets back", "look"),
    KeyBinding("log_on", "shift+right", "shift+→", "log(10)", "log: ten offsets on", "look"),
    KeyBinding("log_fork", "F", "F", "fork", "log: to where the replicas differ", "look"),
    KeyBinding("log_tail", "end", "end", "tail", "log: follow the end again", "look"),
    KeyBinding("peek", "p", "p", "peek", "log: the newest record of this replica, or the first shown", "look"),
    KeyBinding("log", "enter", "enter", "mode('log')", "the log of the partition under the cursor: mode 2", "look"),
    KeyBinding(
        "clients", "c", "c", "mode('clients')", "producers, groups and their members: mode 3", "look", "clients"
    ),
    KeyBinding("playbooks", "P", "P", "mode('playbooks')", "playbooks and recorded sessions: mode 5", "look"),
    KeyBinding(
        "finding", "n", "n", "finding(1)", "autopsy: the next thing that went wrong with records, and why", "look"
    ),
    KeyBinding("finding_before", "N", "N", "finding(-1)", "autopsy: the one before", "look"),
    *(
        KeyBinding(
            f"mode_{mode.name}", mode.digit, mode.digit, f"mode('{mode.name}')", f"{mode.title}: {mode.words}", "mode"
        )
        for mode in MODES
    ),
    KeyBinding(
        "export", "E", "E", "app.export", "write a playbook of the session so far, beside its recording", "program"
    ),
    KeyBinding("tour", "ctrl+t", "^t", "app.tour", "leave the tour, or go on with it", "program"),
    KeyBinding("command", "colon", ":", "command", "type a command, such as crash b2 8s; tab completes", "program"),
    KeyBinding(
        "settings", "S", "S", "settings", "settings: colours, glyphs, speed; and the file that keeps them", "program"
    ),
    KeyBinding("help", "question_mark", "?", "help", "this help", "program", "help"),
    KeyBinding("palette", "ctrl+p", "^p", "app.command_palette", "all commands by name", "program", "commands"),
    KeyBinding(
        "quit", "ctrl+q", "^q", "app.leave", "quit: seal the session, name it and its report", "program", "quit"
    ),
    KeyBinding(
        "how_to_quit", "q", "q", "app.hint", "how to quit: by another key, so that a slip ends nothing", "program"
    ),
    KeyBinding("copy_hint", "ctrl+c", "^c", "app.hint", "how to quit: that key copies in many terminals", "program"),
)

FIRST: Final = ("palette", "quit")
"""Ids of keys that mean the same wherever one is."""
GROUPS: Final = {"time": "Time", "act": "Act", "look": "Look", "mode": "Modes", "program": "Program"}


def key_of(name: str, keys: Sequence[KeyBinding] = KEYS) -> str:
    """How the screen writes the key of an action."""
    return next(key.shown for key in keys if key.id == name)


def word_of(name: str, keys: Sequence[KeyBinding] = KEYS) -> str:
    """The key of an action within a sentence: the first of them, ``ctrl+b`` and not ``^b``."""
    first = key_of(name, keys).split()[0]
    return f"ctrl+{first[1:]}" if len(first) > 1 and first[0] == "^" else first


def with_keys(text: str, keys: Sequence[KeyBinding] = KEYS) -> str:
    """``text`` with the key of an action, the first of them, where its id stands in braces."""
    return text.format_map({key.id: key.shown.split()[0] for key in keys})


def bindings() -> list[BindingType]:
    """The bindings of the main screen; the program's own belong to the app. Other keys are laid over them there."""
    return [_binding(key) for key in KEYS if not key.action.startswith("app.")]


def program_bindings() -> list[BindingType]:
    """Those of the app; the palette and quitting come before whatever is looked at."""
    return [
        _binding(key, key.action.removeprefix("app."), first=key.id in FIRST)
        for key in KEYS
        if key.action.startswith("app.")
    ]


def _binding(key: KeyBinding, action: str = "", *, first: bool = False) -> Binding:
    return Binding(key.keys, action or key.action, key.words, id=key.id, show=False, priority=first)


def manual_rows(groups: Sequence[tuple[str, Sequence[KeyBinding]]]) -> str:
    """A table of keys with a heading for each group, in Markdown; ids are what a file of settings calls them."""
    lines = ["| key | what it does | id |", "|---|---|---|"]
    for title, keys in groups:
        lines.append(f"| **{title}** | | |")
        lines += [f"| `{key.shown}` | {key.words} | `{key.id}` |" for key in keys]
    return "\n".join(lines)


# A key of one mode, page or sheet alone, as the tables of them write it.


class PageKey(NamedTuple):
    """Name within its place, Textual's names of the keys, action, words."""

    name: str
    keys: str
    action: str
    words: str


class KeyPage(NamedTuple):
    """A page over the screen: its name, how a heading calls it, its keys."""

    name: str
    title: str
    keys: tuple[PageKey, ...]


def key(place: str, own: PageKey) -> KeyBinding:
    """With an id that nothing else has."""
    return KeyBinding(f"{place}_{own.name}", own.keys, shown(own.keys), own.action, own.words, place)
