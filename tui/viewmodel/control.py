"""Who controls the cluster: the second line of the status bar, and a pane with a row for each node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.controller.view import ControllerView
from cluster_model.observation.views import BrokerView, ClusterView
from tui.terminal import glyphs
from tui.terminal.format import count, names
from tui.viewmodel.row import Row
from tui.viewmodel.status_bar import NARROW

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
"""Role of a node of the control plane → glyph, role of its colour."""

_BAR: Final = {"leader": "bar_strong", "in_sync": "bar_calm", "quiet": "bar_quiet", "lagging": "bar_warning"}
_FIELD: Final = (16, 22)
"""Cells of the first field, in few columns and in many: what follows stands still when the controller changes."""

_ZXID_EPOCH: Final = 32
"""Bits of a zxid below its epoch."""


@dataclass(frozen=True, slots=True)
class ControlBar:
    """Fields as (text, role), and which cells belong to which node: (first, end, node)."""

    fields: tuple[tuple[str, str], ...]
    places: tuple[tuple[int, int, int], ...]

    def node_at(self, x: int) -> int:
        """The node whose name stands at cell ``x``, -1 for none."""
        return next((node for start, end, node in self.places if start <= x < end), -1)


def short(name: str, node: int) -> str:
    """A node's name in a few cells: ``c1001``, ``zk2``, ``b3``."""
    kind, _space, number = name.partition(" ")
    letters = {"controller": "c", "zookeeper": "zk", "broker": "b"}.get(kind, kind)
    return f"{letters}{number or node}"


def look_of(node: ControllerView) -> tuple[str, str]:
    """Glyph and role: what befalls the process comes before what it believes."""
    if node.role != "down" and "gc_pause" in node.faults:
        return glyphs.PAUSED, "lagging"
    glyph, role = ROLE[node.role]
    return (glyph, "lagging") if node.faults and node.role != "down" else (glyph, role)


def bar(view: ClusterView, width: int) -> ControlBar:
    """The line for ``width`` cells: the controller and its epoch, every node, then what is amiss, the worst first."""
    wide = width >= NARROW
    fields = [_controller(view, wide=wide)]
    at = len(fields[0][0])
    places: list[tuple[int, int, int]] = []
    for node in view.controllers:
        glyph, role = look_of(node)
        text = f"{glyph}{short(node.name, node.node)}"
        if at + len(text) > width:
            break
        fields += [(text, _BAR.get(role, "bar_alarm")), (" ", "bar")]
        places.append((at, at + len(text), node.node))
        at += len(text) + 1
    for words, role in troubles(view, wide=wide):
        text = f" {words} "
        if at + len(text) > width:
            text = _whole_words(words, width - at)
        fields.append((text, role))
        at += len(text)
    return ControlBar(tuple(fields), tuple(places))


def _whole_words(words: str, width: int) -> str:
    """As many words as fit, and that there are more."""
    fitting = words[: max(0, width - 2)].rpartition(" ")[0].rstrip(", ")
    return f" {fitting}…" if width > 1 else ""


def _controller(view: ClusterView, *, wide: bool) -> tuple[str, str]:
    active = [node for node in view.controllers if node.role == "active"]
    if not active:
        return " no controller".ljust(_FIELD[wide]), "bar_alarm"
    newest = max(active, key=lambda node: node.epoch)
    word = "controller" if wide else "ctrl"
    return f" {word} {short(newest.name, newest.node)} e{view.controller_epoch}".ljust(_FIELD[wide]), "bar_strong"


def troubles(view: ClusterView, *, wide: bool = True) -> tuple[tuple[str, str], ...]:
    """What a person should know of who controls and who believes what, as (words, role)."""
    found: list[tuple[str, str]] = []
    split = [
        f"{each.name} by {'+'.join(f'b{broker}' for broker in each.leaders)}" if wide else each.name
        for each in view.partitions
        if each.split
    ]
    if split:
        more = f" +{len(split) - 1}" if len(split) > 1 else ""
        found.append((f"two lead {split[0]}{more}", "bar_alarm"))
    stale = [f"b{each.id}{' ' if wide else ''}{glyphs.STALE}{each.stale}" for each in view.brokers if each.stale]
    if stale:
        found.append((f"stale {names(stale)}", "bar_warning"))
    for word, those in (
        ("fenced", [each for each in view.brokers if each.fenced]),
        ("leaving", [each for each in view.brokers if each.shutting_down]),
        ("starting", [each for each in view.brokers if each.state == "starting"]),
    ):
        if those:
            found.append((f"{word} {_ids(those)}", "bar_warning"))
    return tuple(found)


def _ids(brokers: Sequence[BrokerView]) -> str:
    return names([f"b{each.id}" for each in brokers], 6)


def rows(view: ClusterView) -> tuple[Row, ...]:
    """A row for each node: name, what it is, its epoch, and how far its log is known to be committed."""
    found: list[Row] = []
    for node in view.controllers:
        glyph, role = look_of(node)
        pieces = [(f"{glyph} ", role), (node.name, "text"), (f" {_state(node)}", "quiet")]
        if node.epoch >= 0:
            pieces.append((f" epoch {node.epoch}", "quiet"))
        found.append(Row(tuple(pieces), (_log(node), "quiet"), about=node.name))
    return tuple(found) or (Row((("steps by hand decide", "quiet"),)),)


def _log(node: ControllerView) -> str:
    """End of its log and what is committed; of a ZooKeeper server its last zxid, epoch and counter, likewise."""
    if node.end < 0:
        return ""
    if node.end >> _ZXID_EPOCH:
        counter = (1 << _ZXID_EPOCH) - 1
        return f"zxid {node.end >> _ZXID_EPOCH}:{node.end & counter} committed {max(node.committed, 0) & counter}"
    return f"log {count(node.end)} committed {count(max(node.committed, 0))}"


def _state(node: ControllerView) -> str:
    return f"{node.role}, paused" if "gc_pause" in node.faults and node.role != "down" else node.role
