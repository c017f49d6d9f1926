"""Keys of the main screen, modes with their digits, and names of keys."""

import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from textual.binding import Binding, BindingType

# Names of keys: as written in the settings file, as in Textual, and as shown in the TUI.


ARROWS: Final = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
FUNCTION: Final = tuple(f"f{number}" for number in range(1, 13))
NAMED: Final = (*ARROWS, "space", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace", *FUNCTION)
RESERVED: Final = ("escape", "enter", "tab", "shift+tab", "ctrl+c")
"""Reserved keys, which mean the same everywhere."""
UNAVAILABLE: Final = ("ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+z", "ctrl+s")
"""Keys that a terminal sends as other keys, or handles itself."""
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
"""Unicode name → Textual's name, where they differ."""
_SHORT: Final = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "insert": "ins", "delete": "del"}


def of_character(character: str) -> str:
    """Return Textual's name of the key of a printable ASCII character."""
    if character.isalnum():
        return character
    if character == " ":
        return "space"
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return _SPELLED.get(name, name)


_CHARACTERS: Final = {of_character(each): each for each in string.punctuation}
"""Textual's name → the character, where they differ."""
_SHIFTED: Final = (*ARROWS, "home", "end", "pageup", "pagedown", *FUNCTION)


def key_named(text: str) -> str | None:
    """Return Textual's name of a key; None if no action can have that key."""
    if len(text) == 1:
        return of_character(text) if text.isascii() and text.isprintable() else None
    name = text.lower()
    if name in RESERVED or name in UNAVAILABLE:
        return None
    if name in NAMED or text in _CHARACTERS:
        return name
    held, _plus, key = name.rpartition("+")
    if held == "ctrl" and (key in _SHIFTED or (len(key) == 1 and key in string.ascii_lowercase)):
        return name
    return name if held == "shift" and key in _SHIFTED else None


def in_file(name: str) -> str:
    """Return how the settings file writes a key: the character if there is one."""
    return _CHARACTERS.get(name, name)


def shown(keys: str) -> str:
    """Return how the TUI shows keys, given as Textual's names separated by commas: ``↑ k``, ``^g``, ``shift+←``."""
    return " ".join(_shown(each) for each in keys.split(","))


def _shown(name: str) -> str:
    held, _plus, key = name.rpartition("+")
    key = _CHARACTERS.get(key, ARROWS.get(key, _SHORT.get(key, key)))
    return f"^{key}" if held == "ctrl" else f"{held}+{key}" if held else key


# The modes, with one digit each.


@dataclass(frozen=True, slots=True)
class Mode:
    """Mode: a page over the whole terminal."""

    digit: str
    name: str
    title: str
    words: str
    """Description for the help page and the palette."""
    where: str = ""
    """``module:class`` of its screen, imported when first opened; empty for the main screen."""


CLUSTER: Final = Mode("1", "cluster", "Cluster", "overview of the whole cluster")

MODES: Final = (
    CLUSTER,
    Mode("2", "log", "Log", "the logs of one partition, offset by offset", "tui.screens.modes.log:LogScreen"),
    Mode(
        "3", "clients", "Clients", "producers, groups and members with their counters",
        "tui.screens.modes.clients:ClientsScreen",
    ),
    Mode(
        "4", "timeline", "Timeline", "events over time, and time travel",
        "tui.screens.modes.timeline:TimelineScreen",
    ),
    Mode(
        "5", "playbooks", "Playbooks", "library, progress of steps, recorded sessions",
        "tui.screens.modes.playbooks:PlaybooksScreen",
    ),
    Mode("6", "report", "Report", "interim report of the session", "tui.screens.modes.report:ReportScreen"),
)  # fmt: skip


def mode_of(name: str) -> Mode:
    """Return the mode with that name; raises KeyError."""
    return {mode.name: mode for mode in MODES}[name]


@dataclass(frozen=True, slots=True)
class KeyBinding:
    """Binding of one or more keys to an action."""

    id: str
    keys: str
    """Textual's names of the keys, separated by commas."""
    shown: str
    action: str
    description: str
    group: str
    bar: str = ""
    """Label on the key bar; empty if it is not on the bar."""


KEYS: Final = (
    KeyBinding("pause", "space", "space", "pause", "pause or resume", "time", "pause"),
    KeyBinding("step", "full_stop", ".", "step", "step one event, paused", "time", "step"),
    KeyBinding("seek", "greater_than_sign", ">", "seek", "run to the next notable event, then pause", "time", "next"),
    KeyBinding("back", "comma", ",", "back", "step one event back, paused", "time"),
    KeyBinding("previous", "less_than_sign", "<", "previous", "back to the previous notable event", "time"),
    KeyBinding("second_back", "left_curly_bracket", "{", "second(-1)", "one second back", "time"),
    KeyBinding("second_on", "right_curly_bracket", "}", "second(1)", "one second forward, then pause", "time"),
    KeyBinding("beginning", "home", "home", "beginning", "go to the beginning", "time"),
    KeyBinding("present", "backspace", "backspace", "present", "return to the present", "time"),
    KeyBinding("goto", "ctrl+g", "^g", "goto", "go to a time, such as 12.5s or 1m", "time"),
    KeyBinding("branches", "b", "b", "branches", "branches: switch to another one, or compare two", "time"),
    KeyBinding("bookmark", "B", "B", "bookmark", "bookmark the current time", "time"),
    KeyBinding("bookmarks", "ctrl+b", "^b", "bookmarks", "list of bookmarks", "time"),
    KeyBinding("slower", "left_square_bracket", "[", "slower", "slower", "time"),
    KeyBinding("faster", "right_square_bracket", "]", "faster", "faster", "time", "speed"),
    KeyBinding("speed_one", "backslash", "\\", "speed_one", "speed ×1", "time"),
    KeyBinding(
        "autopause", "A", "A", "autopause", "toggle auto-pause when the next acknowledged record goes missing", "time"
    ),
    KeyBinding(
        "fault", "f", "f", "fault", "inject a fault on what is selected: broker, replica, client", "act", "fault"
    ),
    KeyBinding("control", "C", "C", "control", "inject a fault on the controller; arrows: other nodes", "act"),
    KeyBinding(
        "admin", "a", "a", "admin", "admin operation on the partition and broker under the cursor", "act", "admin"
    ),
    KeyBinding("heal", "H", "H", "heal", "heal all faults", "act", "heal"),
    KeyBinding("take_over", "T", "T", "take_over", "take over: skip the remaining steps of the playbook", "act"),
    KeyBinding("undo", "u", "u", "undo", "undo: branch from right before the last action, without it", "act"),
    KeyBinding("redo", "U", "U", "redo", "redo: return to the branch with the undone action", "act"),
    KeyBinding("what_if", "w", "w", "what_if", "what if: branch at the current time", "act"),
    KeyBinding("ask", "s", "s", "ask", "is it safe to ...? Simulate many seeds from here", "act", "safe?"),
    KeyBinding("up", "up,k", "↑ k", "move(-1,0)", "partition above", "look"),
    KeyBinding("down", "down,j", "↓ j", "move(1,0)", "partition below", "look"),
    KeyBinding("left", "left,h", "← h", "move(0,-1)", "broker to the left", "look"),
    KeyBinding("right", "right,l", "→ l", "move(0,1)", "broker to the right", "look"),
    KeyBinding("page_up", "pageup", "pgup", "move(-10,0)", "ten partitions up", "look"),
    KeyBinding("page_down", "pagedown", "pgdn", "move(10,0)", "ten partitions down", "look"),
    KeyBinding(
        "filter", "slash", "/", "filter", "filter by words (! before a word excludes); esc shows all again", "look"
    ),
    KeyBinding(
        "search", "ctrl+f", "^f", "search", "search the events by words, as / does in the chosen pane of events", "look"
    ),
    KeyBinding("sort", "o", "o", "sort", "sort by the next column: epoch, ISR, HW, lag, lost; then by name", "look"),
    KeyBinding("sort_reverse", "O", "O", "sort_reverse", "sort in the reverse order", "look"),
    KeyBinding("heat", "z", "z", "heat", "heat map of the lag; again: overview, one cell per partition", "look"),
    KeyBinding("next_pane", "tab", "tab", "pane(1)", "choose the next pane", "look"),
    KeyBinding("pane_before", "shift+tab", "shift+tab", "pane(-1)", "choose the previous pane", "look"),
    KeyBinding("maximise", "m", "m", "maximise", "maximise the chosen pane, or restore it (esc)", "look"),
    KeyBinding("jump", "ctrl+o", "^o", "jump", "jump: labels over all targets; esc cancels", "look"),
    KeyBinding("yank", "y", "y", "yank", "copy the item under the cursor, else the chosen pane, as text", "look"),
    KeyBinding("internal", "i", "i", "internal", "show or hide internal topics", "look"),
    KeyBinding("events", "e", "e", "events", "event level: all, warnings and alarms, alarms only", "look"),
    KeyBinding("out", "escape", "esc", "out", "one step back: filter line, maximised pane, filter", "look"),
    KeyBinding("log_back", "shift+left", "shift+←", "log(-10)", "log: ten offsets back", "look"),
    KeyBinding("log_on", "shift+right", "shift+→", "log(10)", "log: ten offsets forward", "look"),
    KeyBinding("log_fork", "F", "F", "fork", "log: first offset where the replicas differ", "look"),
    KeyBinding("log_tail", "end", "end", "tail", "log: follow the end", "look"),
    KeyBinding("peek", "p", "p", "peek", "log: newest record of this replica, or the first visible one", "look"),
    KeyBinding("log", "enter", "enter", "mode('log')", "log of the partition under the cursor: mode 2", "look"),
    KeyBinding(
        "clients", "c", "c", "mode('clients')", "producers, groups and their members: mode 3", "look", "clients"
    ),
    KeyBinding("playbooks", "P", "P", "mode('playbooks')", "playbooks and recorded sessions: mode 5", "look"),
    KeyBinding("finding", "n", "n", "finding(1)", "autopsy of the next finding about records", "look"),
    KeyBinding("finding_before", "N", "N", "finding(-1)", "autopsy of the previous finding", "look"),
    *(
        KeyBinding(
            f"mode_{mode.name}", mode.digit, mode.digit, f"mode('{mode.name}')", f"{mode.title}: {mode.words}", "mode"
        )
        for mode in MODES
    ),
    KeyBinding(
        "export", "E", "E", "app.export", "export the session so far as a playbook, beside its recording", "program"
    ),
    KeyBinding("tour", "ctrl+t", "^t", "app.tour", "leave or resume the tour", "program"),
    KeyBinding("command", "colon", ":", "command", "command line, such as crash b2 8s; tab completes", "program"),
    KeyBinding("settings", "S", "S", "settings", "settings: colours, glyphs, speed, and the settings file", "program"),
    KeyBinding("help", "question_mark", "?", "help", "this help", "program", "help"),
    KeyBinding("palette", "ctrl+p", "^p", "app.command_palette", "all commands by name", "program", "commands"),
    KeyBinding(
        "quit", "ctrl+q", "^q", "app.leave", "quit, save the session, and print its report command", "program", "quit"
    ),
    KeyBinding(
        "close",
        "q",
        "q",
        "close",
        "one step back, as esc; on the main screen q twice quits and saves the session",
        "program",
    ),
    KeyBinding("copy_hint", "ctrl+c", "^c", "app.hint", "show how to quit; ctrl+c copies in many terminals", "program"),
)

FIRST: Final = ("palette", "quit")
"""Ids of keys that mean the same on every screen."""
GROUPS: Final = {"time": "Time", "act": "Act", "look": "Look", "mode": "Modes", "program": "Program"}


def key_of(name: str, keys: Sequence[KeyBinding] = KEYS) -> str:
    """Return how the TUI shows the key of an action."""
    return next(key.shown for key in keys if key.id == name)


def word_of(name: str, keys: Sequence[KeyBinding] = KEYS) -> str:
    """Return the first key of an action for use in a sentence: ``ctrl+b``, not ``^b``."""
    first = key_of(name, keys).split()[0]
    return f"ctrl+{first[1:]}" if len(first) > 1 and first[0] == "^" else first


def with_keys(text: str, keys: Sequence[KeyBinding] = KEYS) -> str:
    """Return ``text`` with ids in braces replaced by the first key of the action."""
    return text.format_map({key.id: key.shown.split()[0] for key in keys})


def bindings() -> list[BindingType]:
    """Return the bindings of the main screen; those of the app are :func:`program_bindings`."""
    return [_binding(key) for key in KEYS if not key.action.startswith("app.")]


def program_bindings() -> list[BindingType]:
    """Return the bindings of the app; palette and quit take precedence on every screen."""
    return [
        _binding(key, key.action.removeprefix("app."), first=key.id in FIRST)
        for key in KEYS
        if key.action.startswith("app.")
    ]


def _binding(key: KeyBinding, action: str = "", *, first: bool = False) -> Binding:
    return Binding(key.keys, action or key.action, key.description, id=key.id, show=False, priority=first)


def manual_rows(groups: Sequence[tuple[str, Sequence[KeyBinding]]]) -> str:
    """Return a Markdown table of keys with a heading for each group; ids are the names in the settings file."""
    lines = ["| key | what it does | id |", "|---|---|---|"]
    for title, keys in groups:
        lines.append(f"| **{title}** | | |")
        lines += [f"| `{key.shown}` | {key.description} | `{key.id}` |" for key in keys]
    return "\n".join(lines)


# Keys of one mode, page or sheet.


class PageKey(NamedTuple):
    """Key of one scope: name within the scope, Textual's key names, action, description."""

    name: str
    keys: str
    action: str
    words: str


class KeyPage(NamedTuple):
    """Page over the main screen: name, heading, keys."""

    name: str
    title: str
    keys: tuple[PageKey, ...]


def key(scope: str, own: PageKey) -> KeyBinding:
    """Return the binding of a scope's own key, with a unique id."""
    return KeyBinding(f"{scope}_{own.name}", own.keys, shown(own.keys), own.action, own.words, scope)
