"""Side panes: producers, groups with their members, active faults, the replica under the cursor; client table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from cluster_model.clients.consumer.record_handler import SUFFIX
from cluster_model.observation import BrokerState, BrokerView, ClusterView, GroupView, PartitionView, ProducerView
from cluster_model.util.quantities import acks_text, compact_count, compact_duration, counted
from faults.declarations import Action
from playbooks.model import action_text
from playbooks.results.client_stats import (
    Clients,
    ClientStats,
    Counts,
    GroupStats,
    GroupSummary,
    LatencySummary,
    MemberSummary,
    ProducerStats,
    ProducerSummary,
    transactions_text,
)
from playbooks.text import fits
from tui.terminal import glyphs
from tui.terminal.format import parameters
from tui.viewmodel.activity import (
    Activity,
    ActivityHistory,
    chart,
    latency_height,
    latency_line,
    latency_role,
    rate_line,
)
from tui.viewmodel.partition_matrix import BROKER_STATUS, STATUS, conditions, lag_text, stale_metadata
from tui.viewmodel.row import HEAL, Row

# The side panes as rows: producers and groups, active faults, the replica under the cursor.


NO_CLIENTS: Final = "the playbook of this session has no producers and no groups"
UNREAD: Final = "no group reads this topic"
_EPOCH_STARTS: Final = 24
"""Cells for the leader epochs of a replica with their start offsets."""


def clients(
    view: ClusterView, rates: dict[str, float], stats: ClientStats, activity: ActivityHistory | None = None,
    width: int = 0,
) -> tuple[Row, ...]:  # fmt: skip
    """Return producers with their counters, then groups; ``rates``: acked or read records per virtual second.

    With ``activity``, sparklines of throughput and latency are at the right of two lines where ``width`` has room.
    """
    rows: list[Row] = []
    states: dict[str, BrokerState] = {client.name: client.state for client in view.clients}
    for producer in view.producers:
        state = states.get(producer.name.removesuffix(SUFFIX), "up")
        lines = _producer_pieces(producer, state, rates.get(producer.name), stats.producers.get(producer.name))
        if activity is not None:
            lines = _with_lines(lines, activity.client(producer.name, view.now_us, LONGEST_LINE), width)
        rows += [replace(row, about=producer.name) for row in lines]
    for group in view.groups:
        members = [states.get(name, "up") for name, _partitions in group.assignment]
        lines = _group_pieces(group, members, rates.get(group.name), stats.groups.get(group.name))
        if activity is not None:
            lines = _with_lines(lines, activity.group(group.name, view.now_us, LONGEST_LINE), width)
        rows += [replace(row, about=group.name) for row in lines]
    return tuple(rows) or (Row(((NO_CLIENTS, "quiet"),)),)


LONGEST_LINE: Final = 40
"""Maximum cells of a sparkline beside a client."""
SHORTEST_LINE: Final = 6
"""Minimum cells; with less room there is none."""


def _with_lines(lines: list[Row], activity: Activity, width: int) -> list[Row]:
    """Return the lines of a client with a sparkline of throughput in the first, and of latency in the second."""
    last = activity.last_us
    pairs = (
        (lines[0].end, rate_line(activity.rates)),
        ((f"{compact_duration(last)}" if last >= 0 else "", latency_role(last)), latency_line(activity.slowest_us)),
    )
    found = []
    for line, ((words, role), spark) in zip(lines, pairs, strict=False):
        text = words.rjust(WORDS)
        room = width - 2 - sum(len(piece) for piece, _role in line.pieces) - len(text)
        shown = spark[-min(room, LONGEST_LINE) :] if room >= SHORTEST_LINE else ""
        found.append(replace(line, end=(f" {shown}{text}", role)) if shown.strip() else line)
    return [*found, *lines[len(found) :]]


WORDS: Final = 7
"""Cells of the number behind a sparkline."""


def faults(
    view: ClusterView, limit: int = 1000, queued: Sequence[Action] = (), key: str = "f"
) -> tuple[Row, ...]:  # fmt: skip
    """Return queued faults, active faults with the time left, then operations with their age, newest first.

    At most ``limit`` lines; without any line it names the ``key`` that injects a fault.
    """
    rows = [
        Row(((f"{glyphs.PAUSED} ", "calm"), (action_text(action).partition(" ")[2], "text")), (" queued", "calm"))
        for action in queued
    ]
    for fault in reversed(view.faults):
        left = "" if fault.until_us < 0 else f" {compact_duration(max(0, fault.until_us - view.now_us))}"
        pieces: tuple[tuple[str, str], ...] = (
            (f"{glyphs.MORE_BELOW} ", "warning"),
            (f"{fault.name.replace('_', ' ')} ", "warning"),
            (fault.target, "text"),
        )
        if fault.detail:
            pieces += ((f" {parameters(fault.name, fault.detail)}", "quiet"),)
        rows.append(Row(pieces, (f"{left} {HEAL}", "key"), fault=fault.id))
    for operation in reversed(view.operations):
        progress = operation.progress or operation.detail
        rows.append(
            Row(
                (
                    (f"{glyphs.MORE_RIGHT} ", "calm"),
                    (f"{operation.name.replace('_', ' ')} ", "calm"),
                    (progress, "quiet"),
                ),
                (f" {compact_duration(view.now_us - operation.since_us)}", "text"),
            )
        )
    if len(rows) > limit > 0:
        hidden = len(rows) - limit + 1
        rows[limit - 1 :] = [Row(((f"and {hidden} more", "quiet"),))]
    return tuple(rows) or (Row((("no active faults; press ", "quiet"), (key, "key"))),)


def replica(
    view: ClusterView, partition: int, broker: int, activity: ActivityHistory | None = None, width: int = 0
) -> tuple[Row, ...]:
    """Return state and metadata of the broker under the cursor, and the state of its replica.

    With ``activity`` the last two lines are sparklines of the partition.
    """
    rows = _replica(view, partition, broker)
    return (*rows, *_partition_lines(view, partition, activity, width)) if rows and activity is not None else rows


def _partition_lines(view: ClusterView, partition: int, activity: ActivityHistory, width: int) -> tuple[Row, ...]:
    """Return the sparklines of throughput and latency of a partition."""
    shown = activity.partition(view.partitions[partition].name, view.now_us, max(0, width - 18))
    if not any(shown.rates):
        return ()
    last = shown.last_us
    return (
        Row((("acked   ", "quiet"), (rate_line(shown.rates), "calm")), (f" {shown.rates[-1]:.0f}/s", "text")),
        Row(
            (("latency ", "quiet"), (latency_line(shown.slowest_us), latency_role(last) if last >= 0 else "text")),
            (f" {compact_duration(last)}" if last >= 0 else "", latency_role(last)),
        ),
    )


def _replica(view: ClusterView, partition: int, broker: int) -> tuple[Row, ...]:
    """Return the lines about a replica."""
    if not (0 <= partition < len(view.partitions) and 0 <= broker < len(view.brokers)):
        return ()
    node, home = view.brokers[broker], view.partitions[partition]
    glyph, role = BROKER_STATUS[node.state]
    state = ", ".join([node.state] + ["fenced"] * node.fenced + ["shutting down"] * node.shutting_down)
    rack = f" rack {node.rack}" if node.rack else ""
    old = f", {node.stale} stale" if node.stale else ""
    registered = (f"broker epoch {node.epoch}" if node.epoch >= 0 else "", "quiet")
    pieces = ((f"{glyph} b{node.id} ", role), (state, "text"), (old, "warning"), (rack, "quiet"))
    rows = [Row(pieces, (f" leads {node.leads}", "quiet"))]
    if node.release:
        rows.append(Row(((node.release, "text"),)))
    held = next((each for each in home.replicas if each.broker == node.id), None)
    if held is None:
        absent = Row(((f"no replica of {home.name}", "quiet"),))
        return (*rows, absent, _epochs(home), *_special(home), *_unread(view, home))
    glyph, role = STATUS[held.status]
    word = held.status.replace("_", "-")
    believed = f"leader b{held.believed_leader}" if held.believed_leader >= 0 else "no leader"
    rows += [
        Row(((f"{glyph} {word} ", role), (home.name, "text"))),
        _epochs(home),
        Row(
            (
                ("LEO ", "quiet"),
                (compact_count(held.leo), "text"),
                ("  HW ", "quiet"),
                (compact_count(held.hw), "text"),
            ),
            registered,
        ),
        Row((("epoch cache: ", "quiet"), (_epoch_starts(held.epochs), "text"))),
    ]
    if node.state == "down":
        gone = Row((("in-memory metadata lost", "quiet"),))
        return (*rows, gone, *_special(home), *_unread(view, home))
    wrong = held.broker in home.leaders and held.broker != home.leader
    belief = [("metadata: ", "quiet"), (f"{believed} epoch {held.believed_epoch}", "alarm" if wrong else "text")]
    if held.believed_isr:
        belief += [(" ISR ", "quiet"), (",".join(map(str, held.believed_isr)), "text")]
    rows.append(Row(tuple(belief)))
    return (*rows, *_other_controller(view, node), *_special(home), *_unread(view, home))


def _unread(view: ClusterView, home: PartitionView) -> list[Row]:
    """Return a note on a topic that no group reads; internal topics are not meant to be read."""
    topic = home.name.rpartition("-")[0]
    read = home.internal or any(topic in group.topics for group in view.groups)
    return [] if read else [Row(((UNREAD, "quiet"),))]


def _other_controller(view: ClusterView, node: BrokerView) -> list[Row]:
    """Return a note if the broker believes another node to be the active controller."""
    active = [each.node for each in view.controllers if each.role == "active"]
    if node.controller < 0 or not active or node.controller in active:
        return []
    taken = next((each.name for each in view.controllers if each.node == node.controller), f"broker {node.controller}")
    return [Row((("metadata: active controller is ", "quiet"), (taken, "warning")))]


def _epochs(home: PartitionView) -> Row:
    pieces = (("leader epoch ", "quiet"), (str(home.leader_epoch), "text"))
    return Row((*pieces, ("  partition epoch ", "quiet"), (str(home.partition_epoch), "text")))


def _epoch_starts(epochs: Sequence[tuple[int, int]]) -> str:
    """Return the newest leader epochs of a replica with their start offsets, as many as fit."""
    texts = [f"{epoch} from {start}" for epoch, start in epochs]
    while len(texts) > 1 and len(", ".join(texts)) > _EPOCH_STARTS:
        texts = texts[1:]
    return ", ".join(texts) or "none"


def _special(home: PartitionView) -> list[Row]:
    """Return special conditions of the partition, and the brokers whose metadata of it is stale."""
    rows: list[Row] = []
    if home.split:
        rows.append(Row(((f"two leaders: {', '.join(f'b{each}' for each in home.leaders)}", "alarm"),)))
    special = conditions(home)
    if special:
        rows.append(Row(((special, "warning"),)))
    rows += [Row(((f"{broker} ", "text"), (words, "warning"))) for broker, words in stale_metadata(home)]
    return rows


def _producer_pieces(
    producer: ProducerView, state: BrokerState, rate: float | None, book: ProducerStats | None
) -> list[Row]:
    trouble = producer.failed or producer.unknown
    glyph, role = BROKER_STATUS[state]
    if state == "up" and (producer.queued > 1000 or trouble):
        glyph, role = glyphs.LAGGING, "lagging"
    per_second = f"{rate:.0f}/s" if rate is not None else ""
    head = Row(
        (
            (f"{glyph} ", role),
            (producer.name, "strong"),
            (f" acks={acks_text(producer.acks)}" if state == "up" else f" {state}", "quiet" if state == "up" else role),
        ),
        (per_second if state == "up" else "", "text"),
    )
    counts = [(f"  sent {compact_count(producer.sent)} acked {compact_count(producer.acked)}", "text")]
    if producer.failed:
        counts.append((f" failed {compact_count(producer.failed)}", "warning"))
    if producer.unknown:
        counts.append((f" unknown {compact_count(producer.unknown)}", "warning"))
    if producer.queued:
        counts.append((f" queued {compact_count(producer.queued)}", "quiet"))
    retries = 0 if book is None else book.retries
    if producer.unconnected and state == "up":
        broker, connection = producer.unconnected[0]
        return [head, Row(tuple(counts)), Row(((f"  b{broker} ", "text"), (connection, "warning")))]
    if not (retries or producer.refused):
        return [head, Row(tuple(counts)), Row((("  no errors", "quiet"),))]
    tried = f"  retries {compact_count(retries)} " if retries else f"  errors {compact_count(producer.refused)} "
    return [head, Row(tuple(counts)), Row(((tried, "quiet"), (producer.last_error, "warning")))]


def _group_pieces(
    group: GroupView, states: Sequence[BrokerState], rate: float | None, book: GroupStats | None
) -> list[Row]:
    behind = (group.position_lag if group.lag is None else group.lag) > 1000
    missing = {state: states.count(state) for state in ("down", "paused") if state in states}
    glyph, shown = BROKER_STATUS[states[0] if len({*states}) == 1 else "up"]
    if shown == "in_sync" and (behind or missing):
        glyph, shown = glyphs.LAGGING, "lagging"
    pieces = (
        (f"{glyph} ", shown),
        (group.name, "strong"),
        (f" {lag_text(group, compact_count)}", "warning" if behind else "text"),
    )
    head = Row(
        (*pieces, *[(f" {number} {state}", "warning") for state, number in missing.items()]),
        (f"{rate:.0f}/s" if rate is not None else "", "text"),
    )
    members = f"  {counted(group.members, 'member', zero='0')}"
    if group.generation < 0 and (book is None or not book.rebalances):
        return [head, Row(((members, "quiet"),))]
    generation = f" generation {group.generation}" if group.generation >= 0 else " no coordinator"
    rebalances = 0 if book is None else book.rebalances
    role = "quiet" if group.generation >= 0 else "warning"
    return [head, Row(((members, "quiet"), (generation, role), (f" rebalances {rebalances}", "quiet")))]


Piece = tuple[str, str]

WIDE: Final = 100
"""Minimum width for longer names and headings."""


class ClientColumns(NamedTuple):
    """Widths and headings of the client table."""

    name: int
    """Cells of a name."""
    cell: int
    """Cells of a number."""
    producer: tuple[str, ...]
    group: tuple[str, ...]
    rate: str


NARROW: Final = ClientColumns(
    14, 7, ("sent", "acked", "failed", "unkn.", "retry", "errors", "queue"),
    ("read", "reread", "lag", "gen.", "rebal.", "idle", "commit"), "rate",
)  # fmt: skip
ROOMY: Final = ClientColumns(
    22, 8, ("sent", "acked", "failed", "unknown", "retries", "errors", "queued"),
    ("read", "reread", "lag", "gen.", "rebal.", "idle", "commits"), "per second",
)  # fmt: skip


class ClientOrder(NamedTuple):
    """Order of the client table: index of a column, -1 for the order of the playbook, and whether it is reversed."""

    column: int = -1
    reverse: bool = False

    @property
    def is_default(self) -> bool:
        """Whether it is the order of the playbook."""
        return self == AS_GIVEN

    def next(self) -> "ClientOrder":
        """Return the order by the next column; after the last one the order of the playbook."""
        return ClientOrder(self.column + 1 if self.column < RATE else -1)

    def by(self, column: int) -> "ClientOrder":
        """Return the order by a column, or its reverse if it is that already."""
        return self._replace(reverse=not self.reverse) if column == self.column else ClientOrder(column)

    def sorted(self, rows: Sequence[Any], values: Callable[[Any], tuple[float, ...]]) -> tuple[Any, ...]:
        """Return clients in this order, the largest number first unless reversed."""
        if self.column < 0:
            return tuple(rows[::-1] if self.reverse else rows)
        return tuple(sorted(rows, key=lambda each: values(each)[self.column], reverse=not self.reverse))


RATE: Final = 7
"""Index of the last column."""
AS_GIVEN: Final = ClientOrder()
"""Order of the playbook."""


class ClientPosition(NamedTuple):
    """Lines of a client in the table: its own line, and the last of those about it."""

    name: str
    group: bool
    """Whether it is a group, not a producer or member."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ClientTable:
    """Lines of the table, and the clients that can be selected in it."""

    rows: tuple[Row, ...]
    places: tuple[ClientPosition, ...]

    def chosen(self, name: str) -> ClientPosition | None:
        """Return the position of a client, else of the first one; None without any client."""
        return next((each for each in self.places if each.name == name), self.places[0] if self.places else None)

    def marked(self, position: ClientPosition | None) -> tuple[Row, ...]:
        """Return the lines, with one client marked."""
        if position is None:
            return self.rows
        return tuple(replace(row, chosen=at == position.first) for at, row in enumerate(self.rows))


def fitting(clients: Clients, words: str) -> Clients:
    """Return the clients that match the words of a filter; a group also by the names of its members."""
    return replace(
        clients,
        producers=tuple(each for each in clients.producers if fits(words, each.name)),
        groups=tuple(each for each in clients.groups if fits(words, _names_of(each))),
    )


def _names_of(group: GroupSummary) -> str:
    return " ".join((group.name, *(member.name for member in group.members)))


def build(
    clients: Clients, view: ClusterView, rates: dict[str, float], width: int, words: str = "",
    order: ClientOrder = AS_GIVEN, activity: ActivityHistory | None = None,
) -> ClientTable:  # fmt: skip
    """Return the table of all clients; ``rates`` in records per virtual second, ``words`` of the active filter.

    With ``activity`` there are sparklines at the right where ``width`` has room.
    """
    columns = ROOMY if width >= WIDE else NARROW
    clients = replace(
        clients,
        producers=order.sorted(clients.producers, lambda each: _producer_values(each, rates)),
        groups=order.sorted(clients.groups, lambda each: _group_values(each, rates)),
    )
    rows: list[Row] = []
    places: list[ClientPosition] = []
    if clients.producers:
        rows.append(_head("producer", columns.producer, columns, order))
        levels = {each.name: acks_text(each.acks) for each in view.producers}
        for one in clients.producers:
            lines = _producer_rows(one, levels.get(one.name, ""), rates.get(one.name), columns)
            if activity is not None:
                lines = _with_lines(lines, activity.client(one.name, view.now_us, LONGEST_LINE), width)
            places.append(ClientPosition(one.name, False, len(rows), len(rows) + len(lines) - 1))
            rows += [replace(row, about=one.name) for row in lines]
    if clients.groups:
        rows += [Row(())] * bool(rows)
        rows.append(_head("group", columns.group, columns, order))
        views = {each.name: each for each in view.groups}
        for group in clients.groups:
            lines = _group_rows(group, views.get(group.name), rates.get(group.name), columns)
            if activity is not None:
                shown, at = activity.group(group.name, view.now_us, LONGEST_LINE), 1 + len(group.members)
                first, *latency = _with_lines([lines[0], *lines[at : at + 1]], shown, width)
                lines = [first, *lines[1:at], *latency, *lines[at + 1 :]]
            names = [(group.name, True), *[(each.name, False) for each in group.members]]
            places += [
                ClientPosition(name, whole, len(rows) + at, len(rows) + at) for at, (name, whole) in enumerate(names)
            ]
            places[-1] = places[-1]._replace(last=len(rows) + len(lines) - 1)
            rows += lines
    nothing = f"no producer and no group matches {words}" if words.strip() else NO_CLIENTS
    return ClientTable(tuple(rows) or (Row(((nothing, "quiet"),)),), tuple(places))


# Charts of the selected client below the table, where the terminal has room for them.


LEAST_CHART: Final = 3
"""Minimum lines of a chart ..."""
MOST_CHART: Final = 16
"""... and the maximum."""
_BESIDE: Final = 7
"""Lines of both charts beside their own: blank lines, titles, the axis of time."""
_LABEL: Final = 9
"""Cells of the labels at the left of a chart."""
_WIDEST_BIN: Final = 4
"""Maximum cells of a bin."""


def charts(position: ClientPosition, activity: ActivityHistory, now_us: int, width: int, room: int) -> tuple[Row, ...]:
    """Return charts of throughput and latency of a client over time, in at most ``room`` lines; else nothing."""
    lines = min(MOST_CHART, (room - _BESIDE) // 2)
    cells = width - _LABEL - 3
    shown = (activity.group if position.group else activity.client)(position.name, now_us, max(0, cells))
    if lines < LEAST_CHART or not any(shown.rates):
        return ()
    wide = max(1, min(_WIDEST_BIN, cells // len(shown.rates)))
    top = max(shown.rates)
    rates = [each / top if each else -1 for each in shown.rates for _ in range(wide)]
    slowest = [(latency_height(each) + 1) / 8 if each >= 0 else -1 for each in shown.slowest_us for _ in range(wide)]
    start_us = (now_us // activity.width_us - len(shown.rates)) * activity.width_us
    start, end = (
        compact_duration(start_us) if start_us else "0s",
        compact_duration(start_us + len(shown.rates) * activity.width_us),
    )
    axis = start + end.rjust(max(0, len(rates) - len(start)))
    labels = (f"{top:.0f}/s", *[""] * (lines - 2), "0")
    times = ("3s", *[""] * (lines - 2), "1ms")
    return (
        Row(),
        Row(((f"  {position.name}", "strong"), (f" {glyphs.NOTHING} records per second", "quiet"))),
        *_chart_rows(rates, lines, labels, "calm"),
        Row(),
        Row((("  slowest record", "quiet"), (f" {glyphs.NOTHING} each step is three times the one below", "quiet"))),
        *_chart_rows(slowest, lines, times, "warning"),
        Row(((" " * _LABEL, "text"), (axis, "quiet"))),
    )


def _chart_rows(heights: Sequence[float], lines: int, labels: Sequence[str], role: str) -> list[Row]:
    return [
        Row(((label.rjust(_LABEL - 1) + " ", "quiet"), (line, role)))
        for label, line in zip(labels, chart(heights, lines), strict=True)
    ]


def window(rows: Sequence[Row], first: int, height: int) -> tuple[Row, ...]:
    """Return ``height`` rows from ``first`` on; the last one has the number of rows that follow."""
    shown = list(rows[first : first + height])
    rest = len(rows) - first - height
    if rest > 0 and shown:
        shown[-1] = Row(((f"{rest + 1} more lines {glyphs.MORE_BELOW}", "quiet"),))
    return tuple(shown)


def shown_from(first: int, position: ClientPosition | None, height: int, total: int) -> int:
    """Return the first line of a window with a client in it, moved as little as possible."""
    if position is not None:
        first = max(first, min(position.first, position.last + 2 - height))
        first = min(first, position.first if position.first > 1 else 0)
    return max(0, min(first, total - height))


def last_window(rows: Sequence[Row], height: int) -> int:
    """Return the first row of the last window."""
    return max(0, len(rows) - height)


def _head(what: str, names: Sequence[str], columns: ClientColumns, order: ClientOrder) -> Row:
    arrow = glyphs.MORE_ABOVE if order.reverse == (order.column >= 0) else glyphs.MORE_BELOW
    shown = [what, *names, columns.rate]
    if not order.is_default:
        shown[order.column + 1] += arrow
    heads = [(name.rjust(columns.cell), "quiet") for name in shown[1:-1]]
    return Row(((shown[0].ljust(columns.name + 2), "calm"), *heads), (shown[-1], "quiet"), head=True)


def column_at(width: int, x: int) -> int:
    """Return the column of the table that a click on cell ``x`` of a heading sorts by."""
    columns = ROOMY if width >= WIDE else NARROW
    return max(-1, min((x - 1 - columns.name - 2) // columns.cell, RATE))


def _producer_values(one: ProducerSummary, rates: dict[str, float]) -> tuple[float, ...]:
    errors = sum(times for _error, times in one.refused)
    rate = rates.get(one.name, -1.0)
    return (one.sent, one.acked, one.failed, one.unknown, one.retries, errors, one.queued, rate)


def _group_values(one: GroupSummary, rates: dict[str, float]) -> tuple[float, ...]:
    lag, rate = -1 if one.lag is None else one.lag, rates.get(one.name, -1.0)
    return (one.read, one.reread, lag, one.generation, one.rebalances, one.idle_us, one.commits, rate)


def _producer_rows(one: ProducerSummary, level: str, rate: float | None, columns: ClientColumns) -> list[Row]:
    trouble = bool(one.failed or one.unknown or one.failure)
    numbers = (
        _number(columns, one.sent),
        _number(columns, one.acked),
        _number(columns, one.failed, "warning"),
        _number(columns, one.unknown, "warning"),
        _number(columns, one.retries, "warning"),
        _number(columns, sum(times for _error, times in one.refused), "warning"),
        _number(columns, one.queued),
    )
    name = f"{one.name} acks={level}"
    if not level or len(name) >= columns.name:
        name = one.name
    rows = [Row((*_named(columns, name, trouble=trouble), *numbers), _rate(rate)), *_latency("produce", one.latency)]
    if one.failure:
        rows.append(Row((("    stopped: ", "quiet"), (one.failure, "alarm"))))
    if one.transactions:
        texts = [transactions_text(one), f"{compact_count(one.aborted)} records aborted" if one.aborted else ""]
        wrong = one.transactions_unknown or one.failure
        rows.append(_text_row([each for each in texts if each], "warning" if wrong else "text"))
    stopped = _stopped(one.killed, one.closed)
    thrown = f"an interceptor threw {compact_count(one.interceptor_failures)} times" if one.interceptor_failures else ""
    rows += [_text_row([each for each in (stopped, thrown) if each], "warning")] if stopped or thrown else []
    rows += _errors("attempts failed", one.refused, columns) + _errors("records failed", one.errors, columns)
    return rows


def _latency(what: str, latency: LatencySummary) -> list[Row]:
    """Return the latency percentiles until records were acknowledged, or read."""
    times = {"p50": latency.p50_us, "p95": latency.p95_us, "p99": latency.p99_us, "max": latency.max_us}
    percentiles = ", ".join(f"{name} {compact_duration(us)}" for name, us in times.items())
    return [Row(((f"    {what} latency ", "quiet"), (percentiles, "text")))] if latency.records else []


def _text_row(words: Sequence[str], role: str) -> Row:
    return Row((("    ", "text"), (", ".join(words), role)))


def _stopped(killed: int, closed: int) -> str:
    """Return how often processes were killed or closed, as text."""
    return ", ".join(f"{how} {times}" for how, times in (("killed", killed), ("closed", closed)) if times)


def _group_rows(one: GroupSummary, view: GroupView | None, rate: float | None, columns: ClientColumns) -> list[Row]:
    behind = (one.lag or 0) > 1000
    numbers = (
        _number(columns, one.read),
        _number(columns, one.reread, "warning"),
        _blank(columns, "-") if one.lag is None else _number(columns, one.lag, "warning" if behind else "text"),
        _number(columns, one.generation) if one.generation >= 0 else _blank(columns, "-"),
        _number(columns, one.rebalances),
        _time(columns, one.idle_us),
        _number(columns, one.commits),
    )
    named = _named(columns, f"{one.name} ({len(one.members)})", trouble=behind or bool(one.failures))
    rows = [Row((*named, *numbers), _rate(rate), about=one.name)]
    owned = dict(view.assignment) if view is not None else {}
    rows += [_member(each, owned.get(each.name, ()), columns) for each in one.members]
    rows += _latency("end-to-end", one.latency)
    texts = [
        f"truncations detected {one.truncations}" if one.truncations else "",
        f"offset resets {one.resets}" if one.resets else "",
        f"handler failures {one.handler_failed}" if one.handler_failed else "",
        f"skipped {one.abandoned}" if one.abandoned else "",
        _stopped(sum(each.killed for each in one.members), sum(each.closed for each in one.members)),
    ]
    if any(texts):
        rows.append(_text_row([each for each in texts if each], "warning"))
    return rows + _errors("commits failed", one.commit_errors, columns)


def _member(one: MemberSummary, owned: Sequence[str], columns: ClientColumns) -> Row:
    pieces: list[Piece] = [
        (f"    {one.name}"[: columns.name + 1].ljust(columns.name + 2), "text"),
        _number(columns, one.read),
        _number(columns, one.reread, "warning"),
        *[_blank(columns, "")] * 4,
        _number(columns, one.commits),
    ]
    words = one.failure or (", ".join(owned) if owned else "no partitions")
    role = "alarm" if one.failure else "quiet"
    if columns is NARROW:  # columns without numbers of a member
        pieces[3:7] = [(f"  {words}"[: columns.cell * 4].ljust(columns.cell * 4), role)]
    else:
        pieces.append((f"  {words}", role))
    return Row(tuple(pieces), about=one.name)


def _errors(what: str, errors: Counts, columns: ClientColumns) -> list[Row]:
    """Return error names with their counts, the most frequent first."""
    if not errors:
        return []
    most = sorted(errors, key=lambda each: (-each[1], each[0]))[: 2 if columns is NARROW else 4]
    text = ", ".join(f"{name} {compact_count(times)}" for name, times in most)
    more = f" and {len(errors) - len(most)} more kinds" if len(errors) > len(most) else ""
    return [Row(((f"    {what} ", "quiet"), (text + more, "warning")))]


def _named(columns: ClientColumns, name: str, *, trouble: bool) -> tuple[Piece, Piece]:
    glyph, role = (glyphs.LAGGING, "lagging") if trouble else (glyphs.IN_SYNC, "in_sync")
    return (f"{glyph} ", role), (name[: columns.name - 1].ljust(columns.name), "strong")


def _number(columns: ClientColumns, value: int, role: str = "text") -> Piece:
    """Return a number as a cell; 0 is quiet."""
    return compact_count(value).rjust(columns.cell), role if value else "quiet"


def _time(columns: ClientColumns, span_us: int) -> Piece:
    return (compact_duration(span_us) if span_us else "0").rjust(columns.cell), "text" if span_us else "quiet"


def _blank(columns: ClientColumns, text: str) -> Piece:
    return text.rjust(columns.cell), "quiet"


def _rate(rate: float | None) -> Piece:
    return f"{rate:.0f}/s" if rate is not None else "", "text"
