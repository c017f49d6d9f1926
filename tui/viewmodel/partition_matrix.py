"""Matrix of partitions and brokers as rows: leaders, lag, losses; with filter, heat map and stale metadata."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cluster_model.observation import BrokerView, ClusterView, GroupView, PartitionView, ReplicaView
from cluster_model.util.quantities import compact_count, compact_duration
from playbooks.text import fits
from tui.terminal import glyphs
from tui.viewmodel.activity import ActivityHistory, latency_line, latency_role, rate_line

# Stale metadata of brokers: marks after a broker's name, and the content of its metadata.


def marks(broker: BrokerView, room: int) -> str:
    """Return what follows a broker's name in ``room`` cells: fenced, shutting down, number of stale partitions.

    Words where they fit, else marks.
    """
    states = ["fenced"] * broker.fenced + ["stopping"] * broker.shutting_down
    states += [f"{compact_count(broker.stale)} stale"] if broker.stale else []
    signs = glyphs.FENCED if broker.fenced else ""
    signs += glyphs.LEAVING if broker.shutting_down else ""
    stale = f"{glyphs.STALE}{compact_count(broker.stale)}" if broker.stale else ""
    choices = (
        f" {' '.join(states)}",
        f" {signs}{stale}",
        f"{signs}{stale}",
        f" {signs}{stale[:1]}",
        f"{signs}{stale[:1]}",
    )
    if not signs and not stale:
        return ""
    return next((text for text in choices if len(text) <= room), "")


def stale_metadata(partition: PartitionView) -> Iterator[tuple[str, str]]:
    """Yield, for each broker whose metadata of the partition is stale, its name and the content of its metadata."""
    for each in partition.beliefs:
        if each.leader_epoch < 0:
            yield f"b{each.broker}", "metadata does not have it yet"
            continue
        leader = f"leader b{each.leader}" if each.leader >= 0 else "no leader"
        isr = f" ISR {','.join(map(str, each.isr))}" if each.isr else ""
        yield (
            f"b{each.broker}",
            f"stale: {leader} epoch {each.leader_epoch}{isr} (partition epoch {each.partition_epoch})",
        )


def conditions(partition: PartitionView) -> str:
    """Return special conditions of a partition (recovery, ELR, reassignment) as text; empty without any."""
    words = []
    if partition.recovering:
        words.append("recovering")
    if partition.elr:
        words.append(f"ELR {{{','.join(map(str, partition.elr))}}}")
    words += [f"+b{each}" for each in partition.adding] + [f"{glyphs.MINUS}b{each}" for each in partition.removing]
    return f" {glyphs.NOTHING} ".join(words)


# The filter of the matrix: by name, and by state.


FILTER: Final = "names, offline, under, minisr, lost, split, b2 (leader); ! before a word excludes"
"""Hint for the filter line."""


def filter_text_of(partition: PartitionView) -> str:
    """Return the text of a partition that a filter matches."""
    words = [partition.name]
    if partition.offline:
        words.append("offline")
    else:
        words.append(f"b{partition.leader}")
    if partition.under_replicated:
        words.append("under")
    if partition.under_min_isr:
        words.append("minisr")
    if partition.missing:
        words.append("lost")
    if partition.split:
        words.append("split")
    return " ".join(words)


# The order of the partitions: by name and number, or by a column.


class PartitionOrder(NamedTuple):
    """Order of the partitions: a column, and whether it is the reverse of the column's usual direction."""

    column: str = ""
    """One of :data:`ORDERS`."""
    reverse: bool = False

    @property
    def descending(self) -> bool:
        """Whether the largest value comes first: numbers usually do, except for the size of the ISR."""
        return (self.column in LARGEST_FIRST) != self.reverse


ORDERS: Final = ("", "epoch", "ISR", "HW", "lag", "lost")
"""Columns that the key cycles through, by their headings; the first one is the usual order of the cluster."""
LARGEST_FIRST: Final = ("epoch", "HW", "lag", "lost")
IN_ORDER: Final = PartitionOrder()
"""Usual order."""


def order_after(order: PartitionOrder) -> PartitionOrder:
    """Return the order that the key selects next."""
    return PartitionOrder(ORDERS[(ORDERS.index(order.column) + 1) % len(ORDERS)])


def order_by(order: PartitionOrder, column: str) -> PartitionOrder:
    """Return the order after a click on a heading: that column, or its reverse if it is already sorted by it."""
    return order._replace(reverse=not order.reverse) if column == order.column else PartitionOrder(column)


def ordered(
    partitions: tuple[PartitionView, ...], groups: Sequence[GroupView], order: PartitionOrder
) -> tuple[PartitionView, ...]:
    """Return the partitions in an order; those with equal values in the usual order."""
    if order == IN_ORDER:
        return partitions
    if not order.column:
        return partitions[::-1]
    lags = lags_of(partitions, groups) if order.column == "lag" else {}
    value: dict[str, Callable[[PartitionView], int]] = {
        "epoch": lambda each: each.leader_epoch,
        "ISR": lambda each: len(each.isr),
        "HW": lambda each: each.hw,
        "lag": lambda each: lags.get(each.name, -1),
        "lost": lambda each: each.missing,
    }
    return tuple(sorted(partitions, key=value[order.column], reverse=order.descending))


def fitting(partitions: Sequence[PartitionView], words: str) -> list[int]:
    """Return the numbers of the partitions that match the filter, all of them without a filter."""
    if not words.strip():
        return list(range(len(partitions)))
    return [number for number, each in enumerate(partitions) if fits(words, filter_text_of(each))]


def nearest(numbers: Sequence[int], number: int) -> int:
    """Return ``number`` if it is among ``numbers``, else the next one, else the last; unchanged if there are none."""
    if not numbers:
        return number
    return numbers[min(bisect_left(numbers, number), len(numbers) - 1)]


def stepped(numbers: Sequence[int], number: int, steps: int, *, around: bool = False) -> int:
    """Return the number ``steps`` after ``number`` among ``numbers``; stops at the ends, or wraps ``around``."""
    if not numbers:
        return number
    index = bisect_left(numbers, number) + steps
    return numbers[index % len(numbers) if around else max(0, min(index, len(numbers) - 1))]


def filter_text(words: str, matching: int, total: int) -> str:
    """Return the filter for the border of the pane; empty without one."""
    if not words.strip():
        return ""
    return f"/{words.strip()} {glyphs.NOTHING} {matching} of {total} {glyphs.NOTHING} esc: show all"


# Heat map: lag in powers of ten.


LIMITS: Final = (1, 10, 100, 1_000, 10_000)
"""Lower limit in records of each step after 0."""
BARS: Final = f" {glyphs.SPARK[1]}{glyphs.SPARK[2]}{glyphs.SPARK[4]}{glyphs.SPARK[6]}{glyphs.SPARK[7]}"
"""Bar of each step."""
ROLES: Final = ("quiet", "heat1", "heat2", "heat3", "heat4", "heat5")


def heat_step(behind: int) -> int:
    """Return the step of a lag in records, from 0."""
    return bisect_right(LIMITS, behind)


def heat_role(behind: int) -> str:
    """Return the role of a lag in records."""
    return ROLES[heat_step(behind)]


def heat_text(behind: int) -> str:
    """Return a lag in records with the bar of its step."""
    return f"{BARS[heat_step(behind)]}-{compact_count(behind)}" if behind > 0 else f"{BARS[0]}="


def heat_legend(width: int) -> tuple[tuple[str, str], ...]:
    """Return the legend of the steps, with more words where there is room."""
    names = [f" {BARS[number]} {low}+ " for number, low in enumerate(("1", "10", "100", "1k", "10k"), 1)]
    before, after = "  records behind: ", f"  {glyphs.LEADER} leader, = caught up; lag: slowest group"
    steps = tuple((name, ROLES[number]) for number, name in enumerate(names, 1))
    room = width - len(before) - sum(map(len, names))
    return ((before, "quiet"), *steps, (after if len(after) <= room else "", "quiet"))


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
_WIDEST: Final = 14
_RIGHT: Final = 8 + 7 + 6
"""Cells of the columns HW, lag and lost."""


@dataclass(frozen=True, slots=True)
class MatrixColumns:
    """Widths of the columns in cells, the same for every row of a frame."""

    name: int
    broker: int
    first: int
    """Index of the first broker shown."""
    shown: int
    total: int
    isr: int
    """Width of the ISR column, 0 without room for it."""
    trend: int = 0
    """Bins of each sparkline at the right, 0 without room for them."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Cell of one replica, or of a broker without one."""

    text: str
    role: str
    fresh: bool = False
    """Whether it has just changed."""


@dataclass(frozen=True, slots=True)
class MatrixHeading:
    """Heading: brokers with their state; ``cursor`` is an index among the brokers shown."""

    columns: MatrixColumns
    brokers: tuple[MatrixCell, ...]
    cursor: int
    order: PartitionOrder = IN_ORDER
    """Order of the partitions, shown by an arrow."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """Row of one partition."""

    columns: MatrixColumns
    name: str
    epoch: str
    epoch_role: str
    isr: str
    isr_role: str
    cells: tuple[MatrixCell, ...]
    hw: str
    lag: str
    lag_role: str
    lost: str
    cursor: int
    """Index of the cell under the cursor among those shown, -1 on other rows."""
    fresh: tuple[str, ...] = ()
    """Names of the fields that have just changed, besides the cells."""
    trend: tuple[tuple[str, str], ...] = ()
    """Throughput and latency as (text, role) pieces, with their sparklines."""
    sweep: int = -1
    """Index of the piece that the sweep of a new leader is at, -1: none."""


@dataclass(frozen=True, slots=True)
class MatrixTextRow:
    """Line of text in place of partitions: (text, role) pieces."""

    columns: MatrixColumns
    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MatrixView:
    """Visible part of the matrix: heading, and the partitions from ``first`` on."""

    head: MatrixHeading
    rows: tuple[MatrixRow, ...]
    first: int
    total: int
    hidden: int = 0
    """Number of partitions of internal topics that are left out."""

    @property
    def position(self) -> str:
        """Position of the window for the pane's border; empty when everything is visible."""
        hidden = f"i: {self.hidden} internal" if self.hidden else ""
        if len(self.rows) >= self.total:
            return hidden
        above = glyphs.MORE_ABOVE if self.first else ""
        below = glyphs.MORE_BELOW if self.first + len(self.rows) < self.total else ""
        return f"{self.first + 1}-{self.first + len(self.rows)} of {self.total} {above}{below}" + (
            f" · {hidden}" if hidden else ""
        )


def columns(view: ClusterView, width: int, cursor: int, before: int = 0, *, trends: bool = False) -> MatrixColumns:
    """Return the column widths for ``width`` cells; if not all brokers fit, that of the cursor stays visible.

    ``trends``: with sparklines, if all brokers leave room for them.
    """
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
    rest = (room - broker * shown - 1 - 2 * TREND_WORDS) // 2
    trend = min(rest, LONGEST_TREND) if trends and shown == total and isr and rest >= SHORTEST_TREND else 0
    return MatrixColumns(name, broker, first, shown, total, isr, trend)


TREND_WORDS: Final = 8
"""Cells of the number before a sparkline, and of the blank before it."""
SHORTEST_TREND: Final = 8
LONGEST_TREND: Final = 30
"""Least and most bins of a sparkline of a partition."""


def trend_of(
    partition: PartitionView, activity: ActivityHistory, now_us: int, bins: int
) -> tuple[tuple[str, str], ...]:
    """Return throughput and latency of a partition with their sparklines, as (text, role) pieces."""
    shown = activity.partition(partition.name, now_us, bins)
    rate, last = shown.rates[-1] if shown.rates else 0.0, shown.last_us
    latency = compact_duration(last) if last >= 0 else "–"
    return (
        (f"{compact_count(round(rate))}/s".rjust(TREND_WORDS - 1), "text" if rate else "quiet"),
        (f" {rate_line(shown.rates).rjust(bins)}", "calm"),
        (latency.rjust(TREND_WORDS - 1), latency_role(last) if last >= 0 else "quiet"),
        (f" {latency_line(shown.slowest_us).rjust(bins)}", latency_role(last) if last >= 0 else "text"),
    )


def window(first: int, shown: int, total: int, cursor: int) -> int:
    """Return the first of ``shown`` items out of ``total`` such that ``cursor`` is among them, near ``first``."""
    first = min(max(first, cursor - shown + 1), cursor)
    return max(0, min(first, total - shown))


def build_matrix(
    view: ClusterView,
    *,
    width: int,
    height: int,
    cursor: tuple[int, int],
    before: tuple[int, int] = (0, 0),
    heat: bool = False,
    activity: ActivityHistory | None = None,
) -> MatrixView:
    """Return the matrix for ``width`` × ``height`` cells, with the cursor (partition, broker) visible.

    ``before`` holds the first row and the first broker of the previous frame, so that the window does not jump. With
    ``heat`` a cell shows only the lag of its replica, with ``activity`` there are sparklines where there is room.
    """
    partition_at, broker_at = cursor
    parts = columns(view, width, broker_at, before[1], trends=activity is not None)
    total = len(view.partitions)
    shown = max(0, min(total, height - 1))
    first = window(before[0], shown, total, partition_at) if shown else 0
    brokers = view.brokers[parts.first : parts.first + parts.shown]
    head = MatrixHeading(parts, tuple(_broker(each, parts.broker) for each in brokers), broker_at - parts.first)
    seen = view.partitions[first : first + shown]
    lags, here = lags_of(seen, view.groups), broker_at - parts.first
    rows = tuple(
        _row(each, lags.get(each.name), parts, brokers, here if index == partition_at else -1, heat=heat)
        for index, each in enumerate(seen, first)
    )
    if activity is not None and parts.trend:
        rows = tuple(
            replace(row, trend=trend_of(each, activity, view.now_us, parts.trend))
            for row, each in zip(rows, seen, strict=True)
        )
    return MatrixView(head, rows, first, total, len(view.internal))


def lags_of(partitions: Iterable[PartitionView], groups: Iterable[GroupView]) -> dict[str, int]:
    """Return the lag of the slowest group by partition; partitions without a committed offset are left out."""
    first: dict[str, int] = {}
    for group in groups:
        for name, offset in group.committed:
            first[name] = min(first.get(name, offset), offset)
    return {each.name: each.hw - first[each.name] for each in partitions if each.name in first}


def lag_text(group: GroupView, number: Callable[[int], str] = str) -> str:
    """Return the lag of a group as text; the position lag if it has not committed yet."""
    return f"position lag {number(group.position_lag)}" if group.lag is None else f"lag {number(group.lag)}"


def replica_text(replica: ReplicaView, leader: int) -> str:
    """Return the LEO for the leader (even if it is down), for others the distance to it: ``=``, ``-87`` or ``+3``."""
    if replica.broker == leader:
        return compact_count(replica.leo)
    if replica.behind == 0:
        return "="
    return f"-{compact_count(replica.behind)}" if replica.behind > 0 else f"+{compact_count(-replica.behind)}"


def _broker(broker: BrokerView, width: int) -> MatrixCell:
    glyph, role = BROKER_STATUS[broker.state]
    if broker.state == "up" and (broker.fenced or broker.shutting_down or broker.stale):
        role = "lagging"
    if broker.state == "up" and broker.faults:
        glyph, role = glyphs.LAGGING, "lagging"
    name = f"{glyph} b{broker.id}"
    return MatrixCell(name + marks(broker, width - 1 - len(name)), role)


def _row(
    partition: PartitionView,
    lag: int | None,
    parts: MatrixColumns,
    brokers: tuple[BrokerView, ...],
    cursor: int,
    *,
    heat: bool,
) -> MatrixRow:
    held = {replica.broker: replica for replica in partition.replicas}
    return MatrixRow(
        columns=parts,
        name=partition.name,
        epoch=f"e{partition.leader_epoch}",
        epoch_role="quiet" if any(each.status == "leader" for each in partition.replicas) else "alarm",
        isr=_isr(partition.isr),
        isr_role="alarm" if partition.under_min_isr else "warning" if partition.under_replicated else "quiet",
        cells=tuple((_heat if heat else _cell)(held.get(each.id), partition) for each in brokers),
        hw=compact_count(partition.hw),
        lag=compact_count(lag) if lag is not None else "–",
        lag_role=_lag_role(lag, heat=heat),
        lost=f"{glyphs.LOST}{compact_count(partition.missing)}" if partition.missing else "",
        cursor=cursor,
    )


def _lag_role(lag: int | None, *, heat: bool) -> str:
    if heat:
        return heat_role(lag or 0)
    return "warning" if lag is not None and lag > 1000 else "text"


def _isr(isr: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, isr))}}}"


def _cell(replica: ReplicaView | None, partition: PartitionView) -> MatrixCell:
    if replica is None:
        return MatrixCell(glyphs.NOTHING, "faint")
    glyph, role = STATUS[replica.status]
    if replica.broker in partition.leaders and replica.broker != partition.leader:
        glyph, role = glyphs.SPLIT, "alarm"
    return MatrixCell(f"{glyph}{replica_text(replica, partition.leader)}", role)


def _heat(replica: ReplicaView | None, partition: PartitionView) -> MatrixCell:
    """Return the heat cell of a replica; the leader and replicas ahead of it are shown as without heat."""
    if replica is None or replica.broker == partition.leader or replica.behind < 0:
        return _cell(replica, partition)
    return MatrixCell(heat_text(replica.behind), heat_role(replica.behind))


# Overview of all partitions: a cell for each, in order, with the worst of its states.


class PartitionCondition(NamedTuple):
    """Condition of a partition: glyph, role and text."""

    glyph: str
    role: str
    words: str


HEALTHY: Final = PartitionCondition(glyphs.NOTHING, "quiet", "healthy")
STATES: Final = (
    PartitionCondition(glyphs.LOST, "lost", "acked, missing"),
    PartitionCondition(glyphs.DOWN, "down", "offline"),
    PartitionCondition("!", "alarm", "under min.isr"),
    PartitionCondition(glyphs.LAGGING, "lagging", "under-replicated"),
    HEALTHY,
)
"""Conditions, the worst first."""


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """Line of the overview: cells of (glyph, role)."""

    cells: tuple[tuple[str, str], ...]
    cursor: int
    """Index of the cell under the cursor, -1: none."""


@dataclass(frozen=True, slots=True)
class MatrixOverview:
    """Visible part of the overview, with its legend."""

    rows: tuple[OverviewRow, ...]
    first: int
    """Index of the first line shown."""
    legend: tuple[tuple[str, str], ...]
    """Partition under the cursor, and the glyphs that occur with their numbers."""


def state_of(partition: PartitionView) -> PartitionCondition:
    """Return the worst condition of a partition."""
    troubles = (partition.missing, partition.offline, partition.under_min_isr, partition.under_replicated)
    return next((state for state, there in zip(STATES, troubles, strict=False) if there), HEALTHY)


def per_row(width: int) -> int:
    """Return the number of cells per line."""
    return max(1, width - 4)


def build_overview(
    partitions: Sequence[PartitionView], cursor: int, width: int, height: int, before: int = 0
) -> MatrixOverview:
    """Return ``height`` lines, the last one the legend, with the cursor visible."""
    size = per_row(width)
    total = -(-len(partitions) // size)
    shown = max(1, min(total, height - 1))
    first = window(before, shown, total, cursor // size) if total else 0
    rows = []
    for start in range(first * size, min(len(partitions), (first + shown) * size), size):
        states = [state_of(each) for each in partitions[start : start + size]]
        here = cursor - start if 0 <= cursor - start < len(states) else -1
        rows.append(OverviewRow(tuple((each.glyph, each.role) for each in states), here))
    return MatrixOverview(tuple(rows), first, _legend(partitions, cursor, width))


def _legend(partitions: Sequence[PartitionView], cursor: int, width: int) -> tuple[tuple[str, str], ...]:
    if not partitions:
        return ()
    counts = dict.fromkeys(STATES, 0)
    for each in partitions:
        counts[state_of(each)] += 1
    chosen = partitions[cursor]
    pieces = [(f"  {chosen.name}: {state_of(chosen).words}  ", "strong")]
    used = len(pieces[0][0])
    for state, number in counts.items():
        text = f" {number} {state.words}  "
        if not number or used + 1 + len(text) > width:
            continue
        pieces += [(state.glyph, state.role), (text, "quiet")]
        used += 1 + len(text)
    return tuple(pieces)
