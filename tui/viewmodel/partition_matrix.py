"""Partitions × brokers as plain rows: who leads, who follows how far behind, what is lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cluster_model.observation.views import BrokerView, ClusterView, GroupView, PartitionView, ReplicaView
from tui.terminal import glyphs
from tui.terminal.format import count
from tui.viewmodel import heat as heating
from tui.viewmodel.beliefs import marks

STATUS: Final[dict[str, tuple[str, str]]] = {
    "leader": (glyphs.LEADER, "leader"),
    "in_sync": (glyphs.IN_SYNC, "in_sync"),
    "lagging": (glyphs.LAGGING, "lagging"),
    "truncating": (glyphs.TRUNCATING, "truncating"),
    "down": (glyphs.DOWN, "down"),
    "diverged": (glyphs.DIVERGED, "diverged"),
}
"""Replica status → glyph, role."""

BROKER_STATUS: Final[dict[str, tuple[str, str]]] = {
    "up": (glyphs.IN_SYNC, "in_sync"),
    "paused": (glyphs.PAUSED, "lagging"),
    "down": (glyphs.DOWN, "down"),
    "starting": (glyphs.TRUNCATING, "lagging"),
}
"""Broker state → glyph, role."""

_NARROWEST: Final = 7
_WIDEST: Final = 12
_RIGHT: Final = 8 + 7 + 6
"""Columns HW, lag and lost."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where things stand in a row, all in cells; the same for every row of a frame."""

    name: int
    broker: int
    first: int
    """Index of the first broker shown."""
    shown: int
    total: int
    isr: int
    """Width of the ISR column, 0 where there is no room for it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One replica, or the absence of one."""

    text: str
    role: str
    fresh: bool = False
    """Whether it has just changed."""


@dataclass(frozen=True, slots=True)
class Head:
    """The heading: brokers with their state; ``cursor`` counts among the brokers shown."""

    columns: Columns
    brokers: tuple[Cell, ...]
    cursor: int


@dataclass(frozen=True, slots=True)
class Row:
    """One partition."""

    columns: Columns
    name: str
    epoch: str
    epoch_role: str
    isr: str
    isr_role: str
    cells: tuple[Cell, ...]
    hw: str
    lag: str
    lag_role: str
    lost: str
    cursor: int
    """Index of the cell under the cursor among those shown, -1 on other rows."""
    fresh: tuple[str, ...] = ()
    """Names of the numbers that have just changed, beside those in cells."""
    sweep: int = -1
    """Which of its pieces, from the left, a sweep is at; -1: none."""


@dataclass(frozen=True, slots=True)
class Said:
    """A line of words in the place of partitions: (text, role) pieces."""

    columns: Columns
    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """What fits: a heading, and the partitions from ``first`` on."""

    head: Head
    rows: tuple[Row, ...]
    first: int
    total: int
    hidden: int = 0
    """Partitions of Kafka's own topics that are left out."""

    @property
    def position(self) -> str:
        """Where the window stands, for the pane's border; empty when everything is in view."""
        hidden = f"i: {self.hidden} internal" if self.hidden else ""
        if len(self.rows) >= self.total:
            return hidden
        above = glyphs.MORE_ABOVE if self.first else ""
        below = glyphs.MORE_BELOW if self.first + len(self.rows) < self.total else ""
        return f"{self.first + 1}-{self.first + len(self.rows)} of {self.total} {above}{below}" + (
            f" · {hidden}" if hidden else ""
        )


def columns(view: ClusterView, width: int, cursor: int, before: int = 0) -> Columns:
    """Share ``width`` cells out; when not all brokers fit, keep the cursor's in view, moving as little as possible."""
    name = min(max((len(each.name) for each in view.partitions), default=8), 24)
    room = max(width - (2 + name + 1 + 5) - _RIGHT, _NARROWEST)
    total = len(view.brokers)
    isr = 2 + max((len(_isr(each.assignment)) for each in view.partitions), default=3)
    if room - isr >= total * _NARROWEST:
        room -= isr
    else:
        isr = 0
    shown = max(1, min(total, room // _NARROWEST))
    broker = max(_NARROWEST, min(_WIDEST, room // shown))
    first = window(before, shown, total, cursor)
    return Columns(name, broker, first, shown, total, isr)


def window(first: int, shown: int, total: int, cursor: int) -> int:
    """The first of ``shown`` items out of ``total`` so that ``cursor`` is among them, near ``first``."""
    first = min(max(first, cursor - shown + 1), cursor)
    return max(0, min(first, total - shown))


def build(
    view: ClusterView,
    *,
    width: int,
    height: int,
    cursor: tuple[int, int],
    before: tuple[int, int] = (0, 0),
    heat: bool = False,
) -> Matrix:
    """The matrix for ``width`` × ``height`` cells, with the cursor on (partition, broker) in view.

    ``before`` holds the first row and the first broker of the frame before, so that the window does not jump. With
    ``heat`` a cell tells how far behind its replica is, and nothing else.
    """
    partition_at, broker_at = cursor
    parts = columns(view, width, broker_at, before[1])
    total = len(view.partitions)
    shown = max(0, min(total, height - 1))
    first = window(before[0], shown, total, partition_at) if shown else 0
    brokers = view.brokers[parts.first : parts.first + parts.shown]
    head = Head(parts, tuple(_broker(each, parts.broker) for each in brokers), broker_at - parts.first)
    seen = view.partitions[first : first + shown]
    lags, here = lags_of(seen, view.groups), broker_at - parts.first
    rows = tuple(
        _row(each, lags.get(each.name), parts, brokers, here if index == partition_at else -1, heat=heat)
        for index, each in enumerate(seen, first)
    )
    return Matrix(head, rows, first, total, len(view.internal))


def lags_of(partitions: Iterable[PartitionView], groups: Iterable[GroupView]) -> dict[str, int]:
    """Records that the slowest group has yet to read, by partition; one that no group reads is not in it."""
    first: dict[str, int] = {}
    for group in groups:
        for name, position in group.positions:
            first[name] = min(first.get(name, position), position)
    return {each.name: max(0, each.hw - first[each.name]) for each in partitions if each.name in first}


def replica_text(replica: ReplicaView, leader: int) -> str:
    """The LEO of the leader, dead or alive, for others how far from it: ``=``, ``-87`` or ``+3``."""
    if replica.broker == leader:
        return count(replica.leo)
    if replica.behind == 0:
        return "="
    return f"-{count(replica.behind)}" if replica.behind > 0 else f"+{count(-replica.behind)}"


def _broker(broker: BrokerView, width: int) -> Cell:
    glyph, role = BROKER_STATUS[broker.state]
    if broker.state == "up" and (broker.fenced or broker.shutting_down or broker.stale):
        role = "lagging"
    if broker.state == "up" and broker.faults:
        glyph, role = glyphs.LAGGING, "lagging"
    name = f"{glyph} b{broker.id}"
    return Cell(name + marks(broker, width - 1 - len(name)), role)


def _row(
    partition: PartitionView,
    lag: int | None,
    parts: Columns,
    brokers: tuple[BrokerView, ...],
    cursor: int,
    *,
    heat: bool,
) -> Row:
    held = {replica.broker: replica for replica in partition.replicas}
    return Row(
        columns=parts,
        name=partition.name,
        epoch=f"e{partition.leader_epoch}",
        epoch_role="quiet" if any(each.status == "leader" for each in partition.replicas) else "alarm",
        isr=_isr(partition.isr),
        isr_role="alarm" if partition.under_min_isr else "warning" if partition.under_replicated else "quiet",
        cells=tuple((_heat if heat else _cell)(held.get(each.id), partition) for each in brokers),
        hw=count(partition.hw),
        lag=count(lag) if lag is not None else "–",
        lag_role=_lag_role(lag, heat=heat),
        lost=f"{glyphs.LOST}{count(partition.missing)}" if partition.missing else "",
        cursor=cursor,
    )


def _lag_role(lag: int | None, *, heat: bool) -> str:
    if heat:
        return heating.role(lag or 0)
    return "warning" if lag is not None and lag > 1000 else "text"


def _isr(isr: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, isr))}}}"


def _cell(replica: ReplicaView | None, partition: PartitionView) -> Cell:
    if replica is None:
        return Cell(glyphs.NOTHING, "faint")
    glyph, role = STATUS[replica.status]
    if replica.broker in partition.leaders and replica.broker != partition.leader:
        glyph, role = glyphs.SPLIT, "alarm"
    return Cell(f"{glyph}{replica_text(replica, partition.leader)}", role)


def _heat(replica: ReplicaView | None, partition: PartitionView) -> Cell:
    """How far behind; who leads has nothing to be behind of, and who is ahead of the leader differs from it."""
    if replica is None or replica.broker == partition.leader or replica.behind < 0:
        return _cell(replica, partition)
    return Cell(heating.text(replica.behind), heating.role(replica.behind))
