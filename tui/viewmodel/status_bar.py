"""Status bar, control plane, and clickable key hints: fields of fixed width, so that nothing moves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.cells import cell_len

from cluster_model.controller import ControllerView
from cluster_model.observation import BrokerView, ClusterView
from cluster_model.util.quantities import clock, compact_count, counted, few_names
from playbooks.timetravel.branches import MAIN
from tui.terminal import glyphs
from tui.terminal.format import speed
from tui.terminal.theme import Over
from tui.viewmodel.animation import Animation
from tui.viewmodel.row import Row

NARROW: Final = 100
"""Below this width labels are short ..."""
ROOMY: Final = 132
"""... and from this width on they are long, if they fit."""
VERY_ROOMY: Final = 150
"""From this width on the seed is shown beside the branch, and broker states have labels."""
_DIGITS: Final = re.compile(r"[0-9]+")


KEYS_OF: Final = {
    "logo": "help", "name": "playbooks", "pill": "pause", "speed": "faster", "clock": "goto", "branch": "branches",
    "missing": "finding", "lost": "finding",
}  # fmt: skip
"""Field → id of the key that a click on it presses; the pill of the past returns to the present."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """State of the session: time, speed, branch."""

    playbook: str
    seed: int
    paused: bool
    seeking: bool
    ended: bool
    requested_speed: float
    real_speed: float
    recorded: bool = False
    """Whether a recording is shown."""
    present_us: int = -1
    """Time of the present while the past is shown, else -1."""
    branch: str = ""
    """Branch that is shown; empty if there is only one."""
    approximate: bool = False
    """Whether the time shown is only approximately the requested one."""
    queued: int = 0
    """Number of faults queued until time continues."""


@dataclass(frozen=True, slots=True)
class StatusBar:
    """Line of the status bar: fields as (text, role), padded, with an optional overlay for a recent change."""

    fields: tuple[tuple[str, str] | tuple[str, str, Over], ...]
    places: tuple[tuple[int, int, str], ...] = ()
    """Clickable fields: first cell, end cell, id of the key."""

    def key_at(self, x: int) -> str:
        """Return the id of the key that a click on cell ``x`` presses, empty for none."""
        return next((key for start, end, key in self.places if start <= x < end), "")

    def with_changes(self, motion: Animation) -> "StatusBar":
        """Return the bar with counts that have just changed marked, without clock and speed."""
        if not motion.on:
            return self
        return StatusBar(tuple(_with_change(field[0], field[1], motion) for field in self.fields), self.places)


SHORT, LONG, LONGEST = 0, 1, 2
"""Length of the labels of the bar."""
DROPPED: Final = ("seed", "name", "speed", "offline", "missing", "logo", "branch")
"""Fields that are left out where even short labels do not fit, in this order."""
NAME: Final = (3, 18)
"""Minimum and maximum cells of the playbook's name."""


def build(view: ClusterView, running: RunStatus, width: int) -> StatusBar:
    """Return the bar for ``width`` cells, with the longest labels that fit for any numbers.

    The playbook's name takes the rest, and is the only field that is ever cut.
    """
    least = (LONGEST if width >= ROOMY else LONG) if width >= NARROW else SHORT
    fields = _fields(view, running, least, width)
    while least > SHORT and _size(fields) + NAME[0] + 1 > width:
        least -= 1
        fields = _fields(view, running, least, width)
    fields["name"] = ("." * NAME[0] + " ", "bar")
    for name in DROPPED:
        if _size(fields) > width:
            fields.pop(name, None)
    if "name" in fields:
        room = min(NAME[1], NAME[0] + width - _size(fields))
        if least == SHORT and "seed" in fields and len(running.playbook) > room:  # the name matters more than the seed
            room = min(NAME[1], room + len(fields.pop("seed")[0]))
        name = running.playbook if len(running.playbook) <= room else running.playbook[: room - 1] + "…"
        fields["name"] = (f"{name} ", "bar")
    shown = {name: fields[name] for name in dict.fromkeys(("logo", "name", *fields)) if name in fields}
    past = {"pill": "present"} if running.present_us >= 0 else {}
    return StatusBar(tuple(shown.values()), _places(shown, KEYS_OF | past))


def _places(fields: dict[str, tuple[str, str]], keys: dict[str, str]) -> tuple[tuple[int, int, str], ...]:
    areas, at = [], 0
    for name, (text, _role) in fields.items():
        if name in keys:
            areas.append((at, at + len(text), keys[name]))
        at += len(text)
    return tuple(areas)


def _size(fields: dict[str, tuple[str, str]]) -> int:
    return sum(len(text) for text, _role in fields.values())


def _fields(view: ClusterView, running: RunStatus, words: int, width: int) -> dict[str, tuple[str, str]]:
    """Return all fields but the name, from the left, each as wide as it can become."""
    wide, few, many = words > SHORT, 3 if words == LONGEST else 2, 5 if words == LONGEST else 3
    up, paused, down = (
        sum(each.state in states for each in view.brokers) for states in (("up",), ("paused", "starting"), ("down",))
    )
    everything = (*view.partitions, *view.internal)
    under = sum(each.under_replicated for each in everything)
    offline = sum(each.offline for each in everything)
    ledger, digits = view.ledger, len(str(len(view.brokers)))
    fields = {"logo": (f" {glyphs.LOGO} floodmark  " if wide else f" {glyphs.LOGO} ", "bar_strong")}
    if not running.branch or width >= VERY_ROOMY:
        fields["seed"] = (f"seed {running.seed}  " if wide else f"s{running.seed} ", "bar_quiet")
    fields |= _time(view.now_us, running, wide) if running.present_us < 0 else _past(view.now_us, running, wide)
    if running.branch:
        fields["branch"] = _branch(running.branch, wide)
    labels = (" up", " paused", " down") if words == LONGEST and width >= VERY_ROOMY else ("", "", "")
    return fields | {
        "up": (f" {glyphs.IN_SYNC}{up}{labels[0]}".ljust(digits + 2 + wide + len(labels[0])), "bar_calm"),
        "paused": (
            f"{glyphs.PAUSED}{paused}{labels[1]}".ljust(digits + 1 + wide + len(labels[1])),
            "bar_warning" if paused else "bar_quiet",
        ),
        "down": (
            f"{glyphs.DOWN}{down}{labels[2]}".ljust(digits + 1 + wide + len(labels[2])),
            "bar_alarm" if down else "bar_quiet",
        ),
        "under": _number("under-repl" if words == LONGEST else "urp", under, "bar_warning", few),
        "offline": _number("offline" if wide else "off", offline, "bar_alarm", few),
        "missing": _number("missing" if wide else "miss", ledger.missing, "bar_warning", many),
        "lost": _number("lost", ledger.acked_lost, "bar_lost", many),
    }


def _time(now_us: int, running: RunStatus, wide: bool) -> dict[str, tuple[str, str]]:
    return {
        "pill": _pill(running),
        "speed": (_speed(running, wide), "bar"),
        "clock": (f"{_clock(now_us)} ".rjust(11 if wide else 10), "bar_strong"),
    }


def _clock(at_us: int) -> str:
    """Return a time in at most nine cells: from one hour on with tenths, from ten hours on with seconds."""
    return clock(at_us)[:9].rstrip(".")


def _past(now_us: int, running: RunStatus, wide: bool) -> dict[str, tuple[str, str]]:
    """Return the time shown, the present and the speed, as wide as the fields of the present; tenths if narrow."""
    glyph, role = (glyphs.PAUSED, "pill_paused") if running.paused else (glyphs.PLAY, "pill_seek")
    speeds = f"{glyphs.TIMES}{speed(running.requested_speed)}"
    present = clock(running.present_us)
    now, about = clock(now_us).rjust(len(present)), glyphs.ABOUT if running.approximate else " "
    if wide:
        return {"pill": (f" {glyph} PAST{about}{now} of {present} ", role), "speed": (f" {speeds}".ljust(6), "bar")}
    return {"pill": (f"{glyph}PAST{about}{now[:-2]} of {present[:-2]}", role), "speed": (speeds.rjust(5), "bar")}


def _branch(letter: str, wide: bool) -> tuple[str, str]:
    """Return the field of the branch."""
    if letter == MAIN:
        return f" {glyphs.FORK} main   " if wide else f" {glyphs.FORK}main ", "bar_calm"
    return f" {glyphs.FORK} FORK {letter} " if wide else f" {glyphs.FORK} {letter} ".ljust(7), "pill_seek"


def _pill(running: RunStatus) -> tuple[str, str]:
    if running.ended:
        return " AT END  " if running.recorded else " ENDED   ", "pill_paused"
    if running.seeking:
        return f" {glyphs.SEEK} SEEK  ", "pill_seek"
    if running.paused and running.queued:
        return f" {glyphs.PAUSED}{min(running.queued, 99):>2} WAIT", "pill_paused"
    if running.paused:
        return f" {glyphs.PAUSED} PAUSED", "pill_paused"
    return f" {glyphs.PLAY} {'PLAY' if running.recorded else 'LIVE'}  ", "pill_live"


def _speed(running: RunStatus, wide: bool) -> str:
    """Return the requested speed, and the real one if the machine is the limit."""
    requested = f" {glyphs.TIMES}{speed(running.requested_speed)}"
    held_back = running.real_speed < running.requested_speed * 0.9 and not (
        running.paused or running.seeking or running.ended
    )
    room = 17 if wide else 10
    between = " real " if wide else glyphs.ARROW
    texts = [
        f"{requested}{between}{glyphs.TIMES if wide else ''}{speed(float(f'{running.real_speed:.{n}g}'))}"
        for n in (2, 1)
    ]
    fitting = next((text for text in texts if len(text) <= room), requested)
    return (fitting if held_back else requested).ljust(room)


def _number(label: str, number: int, role: str, width: int) -> tuple[str, str]:
    """Return a number in its field; one that is too wide is shown as ``99+``."""
    text = compact_count(number)
    if len(text) > width:
        text = f"{'9' * (width - 1)}+"
    return f" {label} {text:<{width}}", role if number else "bar_quiet"


def _with_change(text: str, role: str, motion: Animation) -> tuple[str, str] | tuple[str, str, Over]:
    label = _DIGITS.sub("", text).strip()
    counts = label and any(char.isdigit() for char in text) and not any(each in text for each in (":", glyphs.TIMES))
    return (text, role, "fresh") if counts and motion.fresh(("status", label), text.strip()) else (text, role)


# The control plane: the second line of the status bar, and a pane with a row for each node.


ROLE: Final[dict[str, tuple[str, str]]] = {
    "active": (glyphs.LEADER, "leader"),
    "leader": (glyphs.BULLET, "in_sync"),
    "follower": (glyphs.IN_SYNC, "in_sync"),
    "standby": (glyphs.IN_SYNC, "quiet"),
    "candidate": (glyphs.LAGGING, "lagging"),
    "looking": (glyphs.LAGGING, "lagging"),
    "zombie": (glyphs.SPLIT, "alarm"),
    "down": (glyphs.DOWN, "down"),
}
"""Role of a node of the control plane → glyph, colour role."""

_BAR: Final = {"leader": "bar_strong", "in_sync": "bar_calm", "quiet": "bar_quiet", "lagging": "bar_warning"}
_FIELD: Final = (16, 28)
"""Cells of the first field on narrow and on wide terminals, fixed so that the rest does not move."""

_ZXID_EPOCH: Final = 32
"""Bits of a zxid below its epoch."""


@dataclass(frozen=True, slots=True)
class ControlBar:
    """Line of the control plane: fields as (text, role), and the cells of each node: (first, end, node)."""

    fields: tuple[tuple[str, str], ...]
    places: tuple[tuple[int, int, int], ...]

    def node_at(self, x: int) -> int:
        """Return the node whose name is at cell ``x``, -1 for none."""
        return next((node for start, end, node in self.places if start <= x < end), -1)


def short(name: str, node: int) -> str:
    """Return a node's short name: ``c1001``, ``zk2``, ``b3``."""
    kind, _space, number = name.partition(" ")
    letters = {"controller": "c", "zookeeper": "zk", "broker": "b"}.get(kind, kind)
    return f"{letters}{number or node}"


def glyph_of(node: ControllerView) -> tuple[str, str]:
    """Return glyph and role of a node; a fault of the process takes precedence over its role."""
    if node.role != "down" and "gc_pause" in node.faults:
        return glyphs.PAUSED, "lagging"
    glyph, role = ROLE[node.role]
    return (glyph, "lagging") if node.faults and node.role != "down" else (glyph, role)


def bar(view: ClusterView, width: int) -> ControlBar:
    """Return the line for ``width`` cells: the controller and its epoch, every node, then problems, worst first."""
    wide = width >= NARROW
    fields = [_controller(view, wide=wide)]
    at = len(fields[0][0])
    places: list[tuple[int, int, int]] = []
    for node in view.controllers:
        glyph, role = glyph_of(node)
        text = f"{glyph}{short(node.name, node.node)}"
        if at + len(text) > width:
            break
        fields += [(text, _BAR.get(role, "bar_alarm")), (" ", "bar")]
        places.append((at, at + len(text), node.node))
        at += len(text) + 1
    shown = problems(view, wide=wide)
    if wide and at + sum(len(words) + 2 for words, _role in shown) > width:
        shown = problems(view, wide=False)
    for words, role in shown:
        text = f" {words} "
        if at + len(text) > width:
            text = _whole_words(words, width - at)
        fields.append((text, role))
        at += len(text)
    return ControlBar(tuple(fields), tuple(places))


def _whole_words(words: str, width: int) -> str:
    """Return as many words as fit, with an ellipsis."""
    fitting = words[: max(0, width - 2)].rpartition(" ")[0].rstrip(", ")
    return f" {fitting}…" if width > 1 else ""


def _controller(view: ClusterView, *, wide: bool) -> tuple[str, str]:
    active = [node for node in view.controllers if node.role == "active"]
    if not active:
        return " no controller".ljust(_FIELD[wide]), "bar_alarm"
    newest = max(active, key=lambda node: node.epoch)
    word, epoch = ("controller", "epoch ") if wide else ("ctrl", "e")
    name = short(newest.name, newest.node)
    return f" {word} {name} {epoch}{view.controller_epoch}".ljust(_FIELD[wide]), "bar_strong"


def problems(view: ClusterView, *, wide: bool = True) -> tuple[tuple[str, str], ...]:
    """Return problems of the control plane as (text, role): split brain, stale metadata, brokers not in service."""
    shown_problems: list[tuple[str, str]] = []
    split = [
        f"{each.name} has two leaders ({', '.join(f'b{broker}' for broker in each.leaders)})" if wide else each.name
        for each in view.partitions
        if each.split
    ]
    if split:
        more = f" +{len(split) - 1}{' more' if wide else ''}" if len(split) > 1 else ""
        shown_problems.append((f"{'split brain: ' if wide else 'two leaders '}{split[0]}{more}", "bar_alarm"))
    stale = [
        f"b{each.id} ({counted(each.stale, 'partition')})" if wide else f"b{each.id}{glyphs.STALE}{each.stale}"
        for each in view.brokers
        if each.stale
    ]
    if stale:
        shown_problems.append((f"{'stale metadata: ' if wide else 'stale '}{few_names(stale)}", "bar_warning"))
    for word, those in (
        ("fenced", [each for each in view.brokers if each.fenced]),
        ("shutting down" if wide else "stopping", [each for each in view.brokers if each.shutting_down]),
        ("starting", [each for each in view.brokers if each.state == "starting"]),
    ):
        if those:
            shown_problems.append((f"{word} {_ids(those)}", "bar_warning"))
    return tuple(shown_problems)


def _ids(brokers: Sequence[BrokerView]) -> str:
    return few_names([f"b{each.id}" for each in brokers], 6)


def rows(view: ClusterView) -> tuple[Row, ...]:
    """Return a row for each node: name, role, epoch, log end and committed offset."""
    node_rows: list[Row] = []
    for node in view.controllers:
        glyph, role = glyph_of(node)
        pieces = [(f"{glyph} ", role), (node.name, "text"), (f" {_state(node)}", "quiet")]
        if node.epoch >= 0:
            pieces.append((f" epoch {node.epoch}", "quiet"))
        node_rows.append(Row(tuple(pieces), (_log(node), "quiet"), about=node.name))
    return tuple(node_rows) or (Row((("no controllers (manual steps)", "quiet"),)),)


def _log(node: ControllerView) -> str:
    """Return log end and committed offset; for a ZooKeeper server its last zxid as epoch:counter."""
    if node.end < 0:
        return ""
    if node.end >> _ZXID_EPOCH:
        counter = (1 << _ZXID_EPOCH) - 1
        return f"zxid {node.end >> _ZXID_EPOCH}:{node.end & counter} committed {max(node.committed, 0) & counter}"
    return f"log {compact_count(node.end)} committed {compact_count(max(node.committed, 0))}"


def _state(node: ControllerView) -> str:
    return f"{node.role}, paused" if "gc_pause" in node.faults and node.role != "down" else node.role


# The clickable hints of a mode's bar: which of their words name which key.


BETWEEN: Final = f" {glyphs.NOTHING} "
"""Separator of hints."""
NAMES: Final = {
    "↑": "up", "↓": "down", "←": "left", "→": "right", "+": "plus", "-": "minus", "/": "slash", "enter": "enter",
    "esc": "escape", "tab": "tab", "end": "end", "home": "home", "space": "space", "pgup": "pageup",
    "pgdn": "pagedown",
}  # fmt: skip
"""How a key is written → its Textual name; a single letter or digit is its own name."""


CTRL: Final = 2
"""Characters of a key with ctrl, as in ^g."""


class HintArea(NamedTuple):
    """Cells of a hint that press a key when clicked: start, end (exclusive), key."""

    start: int
    end: int
    key: str


def fitted(hints: tuple[str, ...], room: int) -> tuple[str, ...]:
    """Return as many of the first hints as fit."""
    while hints and cell_len(BETWEEN.join(hints)) > room:
        hints = hints[:-1]
    return hints


def places(hints: tuple[str, ...]) -> tuple[HintArea, ...]:
    """Return the clickable cells: each key name, and the words after it, which press the first key of their hint."""
    areas: list[HintArea] = []
    at = 0
    for hint in hints:
        keys = _keys(hint, at)
        areas += keys
        if keys and keys[-1].end < at + len(hint):
            areas.append(HintArea(keys[-1].end, at + len(hint), keys[0].key))
        at += len(hint) + len(BETWEEN)
    return tuple(areas)


def _keys(hint: str, at: int) -> list[HintArea]:
    """Return the keys at the start of a hint."""
    areas: list[HintArea] = []
    for word in hint.split(" "):
        bare = word.rstrip(":")
        if bare in NAMES:
            areas.append(HintArea(at, at + len(bare), NAMES[bare]))
        elif len(bare) == CTRL and bare[0] == "^":
            areas.append(HintArea(at, at + len(bare), f"ctrl+{bare[1]}"))
        elif bare and (len(bare) == 1 or all(char in NAMES for char in bare)):
            names = [NAMES.get(char, char) for char in bare]
            areas += [HintArea(at + number, at + number + 1, name) for number, name in enumerate(names)]
        elif bare != "or":
            break
        at += len(word) + 1
    return areas


def terminal_title(view: ClusterView, *, running: bool) -> str:
    """Return the title of the terminal, such as ``floodmark ▶ 00:53 †4``: state, time, missing acknowledged records."""
    lost = max(view.ledger.missing, view.ledger.acked_lost)
    state = glyphs.PLAY if running else glyphs.PAUSED
    return f"floodmark {state} {clock(view.now_us)[:-4]}{f' {glyphs.LOST}{lost}' if lost else ''}"
