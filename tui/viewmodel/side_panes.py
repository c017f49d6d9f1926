"""The side panes: producers, groups with their members, active faults, the replica under the cursor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cluster_model.clients.consumer.record_handler import SUFFIX
from cluster_model.observation import BrokerState, BrokerView, ClusterView, GroupView, PartitionView, ProducerView
from cluster_model.util.quantities import acks_text, compact_count, compact_duration, counted
from faults.declarations import Action
from playbooks.model import words
from playbooks.results.client_stats import (
    ClientBooks,
    Clients,
    Counts,
    GroupBook,
    GroupSummary,
    LatencySummary,
    MemberSummary,
    ProducerBook,
    ProducerSummary,
    transaction_words,
)
from playbooks.text import fits
from tui.terminal import glyphs
from tui.terminal.format import parameters
from tui.viewmodel.partition_matrix import BROKER_STATUS, STATUS, beliefs, conditions, lag_text
from tui.viewmodel.row import HEAL, Row

# The side panes as rows of labelled pieces: producers and groups, active faults, the replica under the cursor.


NO_CLIENTS: Final = "no producers and no groups: the playbook of this session has none"
UNREAD: Final = "no group reads this topic"


def clients(view: ClusterView, rates: dict[str, float], books: ClientBooks) -> tuple[Row, ...]:
    """Producers with their books, then groups; ``rates`` holds acked or read records per virtual second by name."""
    rows: list[Row] = []
    states: dict[str, BrokerState] = {client.name: client.state for client in view.clients}
    for producer in view.producers:
        state = states.get(producer.name.removesuffix(SUFFIX), "up")
        told = _producer_pieces(producer, state, rates.get(producer.name), books.producers.get(producer.name))
        rows += [replace(row, about=producer.name) for row in told]
    for group in view.groups:
        members = [states.get(name, "up") for name, _partitions in group.assignment]
        told = _group_pieces(group, members, rates.get(group.name), books.groups.get(group.name))
        rows += [replace(row, about=group.name) for row in told]
    return tuple(rows) or (Row(((NO_CLIENTS, "quiet"),)),)


def faults(
    view: ClusterView, most: int = 1000, queued: Sequence[Action] = (), key: str = "f"
) -> tuple[Row, ...]:  # fmt: skip
    """What waits for time to go on, active faults with the time left, then operations with their age, newest first.

    In ``most`` lines; an empty board says by which ``key`` to fill it.
    """
    rows = [
        Row(((f"{glyphs.PAUSED} ", "calm"), (words(action).partition(" ")[2], "text")), (" waits", "calm"))
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
        told = operation.progress or operation.detail
        rows.append(
            Row(
                ((f"{glyphs.MORE_RIGHT} ", "calm"), (f"{operation.name.replace('_', ' ')} ", "calm"), (told, "quiet")),
                (f" {compact_duration(view.now_us - operation.since_us)}", "text"),
            )
        )
    if len(rows) > most > 0:
        hidden = len(rows) - most + 1
        rows[most - 1 :] = [Row(((f"and {hidden} more", "quiet"),))]
    return tuple(rows) or (Row((("no faults active, press ", "quiet"), (key, "key"))),)


def replica(view: ClusterView, partition: int, broker: int) -> tuple[Row, ...]:
    """What the broker under the cursor is, what its replica holds, and what it believes."""
    if not (0 <= partition < len(view.partitions) and 0 <= broker < len(view.brokers)):
        return ()
    node, home = view.brokers[broker], view.partitions[partition]
    glyph, role = BROKER_STATUS[node.state]
    state = ", ".join([node.state] + ["fenced"] * node.fenced + ["leaving"] * node.shutting_down)
    rack = f" rack {node.rack}" if node.rack else ""
    old = f" {glyphs.STALE}{node.stale} stale" if node.stale else ""
    registered = (f"broker epoch {node.epoch}" if node.epoch >= 0 else "", "quiet")
    pieces = ((f"{glyph} b{node.id} ", role), (state, "text"), (old, "warning"), (rack, "quiet"))
    rows = [Row(pieces, (f" leads {node.leads}", "quiet"))]
    held = next((each for each in home.replicas if each.broker == node.id), None)
    if held is None:
        absent = Row(((f"no replica of {home.name}", "quiet"),), _epochs(home))
        return (*rows, absent, *_special(home), *_unread(view, home))
    glyph, role = STATUS[held.status]
    word = held.status.replace("_", "-")
    epochs = " ".join(f"{epoch}@{start}" for epoch, start in held.epochs[-4:]) or "none"
    believed = f"b{held.believed_leader}" if held.believed_leader >= 0 else "nobody"
    rows += [
        Row(((f"{glyph} {word} ", role), (home.name, "text")), _epochs(home)),
        Row(
            (
                ("LEO ", "quiet"),
                (compact_count(held.leo), "text"),
                ("  HW ", "quiet"),
                (compact_count(held.hw), "text"),
            ),
            registered,
        ),
        Row((("epochs ", "quiet"), (epochs, "text"))),
    ]
    if node.state == "down":
        gone = Row((("what it believed died with it", "quiet"),))
        return (*rows, gone, *_special(home), *_unread(view, home))
    wrong = held.broker in home.leaders and held.broker != home.leader
    belief = [("believes leader ", "quiet"), (f"{believed} epoch {held.believed_epoch}", "alarm" if wrong else "text")]
    if held.believed_isr:
        belief += [(" ISR ", "quiet"), (",".join(map(str, held.believed_isr)), "text")]
    rows.append(Row(tuple(belief)))
    return (*rows, *_other_controller(view, node), *_special(home), *_unread(view, home))


def _unread(view: ClusterView, home: PartitionView) -> list[Row]:
    """Kafka's own topics are not meant to be read by groups."""
    topic = home.name.rpartition("-")[0]
    read = home.internal or any(topic in group.topics for group in view.groups)
    return [] if read else [Row(((UNREAD, "quiet"),))]


def _other_controller(view: ClusterView, node: BrokerView) -> list[Row]:
    """A broker that takes somebody else for the controller than who is."""
    active = [each.node for each in view.controllers if each.role == "active"]
    if node.controller < 0 or not active or node.controller in active:
        return []
    taken = next((each.name for each in view.controllers if each.node == node.controller), f"broker {node.controller}")
    return [Row((("takes ", "quiet"), (taken, "warning"), (" for the controller", "quiet")))]


def _epochs(home: PartitionView) -> tuple[str, str]:
    return f"epoch {home.leader_epoch}/{home.partition_epoch}", "quiet"


def _special(home: PartitionView) -> list[Row]:
    """What is special about the partition, and which brokers know it otherwise than it is decided."""
    rows: list[Row] = []
    if home.split:
        rows.append(Row(((f"{' and '.join(f'b{each}' for each in home.leaders)} lead at once", "alarm"),)))
    special = conditions(home)
    if special:
        rows.append(Row(((special, "warning"),)))
    rows += [Row(((f"{broker} ", "text"), (words, "warning"))) for broker, words in beliefs(home)]
    return rows


def _producer_pieces(
    producer: ProducerView, state: BrokerState, rate: float | None, book: ProducerBook | None
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
    told = [(f"  sent {compact_count(producer.sent)} acked {compact_count(producer.acked)}", "text")]
    if producer.failed:
        told.append((f" failed {compact_count(producer.failed)}", "warning"))
    if producer.unknown:
        told.append((f" unknown {compact_count(producer.unknown)}", "warning"))
    if producer.queued:
        told.append((f" queued {compact_count(producer.queued)}", "quiet"))
    retries = 0 if book is None else book.retries
    if producer.unconnected and state == "up":
        broker, connection = producer.unconnected[0]
        return [head, Row(tuple(told)), Row(((f"  b{broker} ", "text"), (connection, "warning")))]
    if not (retries or producer.refused):
        return [head, Row(tuple(told)), Row((("  no error", "quiet"),))]
    tried = f"  retries {compact_count(retries)} " if retries else f"  refused {compact_count(producer.refused)} "
    return [head, Row(tuple(told)), Row(((tried, "quiet"), (producer.last_error, "warning")))]


def _group_pieces(
    group: GroupView, states: Sequence[BrokerState], rate: float | None, book: GroupBook | None
) -> list[Row]:
    behind = (group.position_lag if group.lag is None else group.lag) > 1000
    gone = {state: states.count(state) for state in ("down", "paused") if state in states}
    glyph, shown = BROKER_STATUS[states[0] if len({*states}) == 1 else "up"]
    if shown == "in_sync" and (behind or gone):
        glyph, shown = glyphs.LAGGING, "lagging"
    pieces = (
        (f"{glyph} ", shown),
        (group.name, "strong"),
        (f" {lag_text(group, compact_count)}", "warning" if behind else "text"),
    )
    head = Row(
        (*pieces, *[(f" {number} {state}", "warning") for state, number in gone.items()]),
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
"""From this width on names have more room, and lines have words behind their numbers."""


class ClientColumns(NamedTuple):
    """How a table is shared out at a width."""

    name: int
    """Cells of a name ..."""
    cell: int
    """... and of a number."""
    producer: tuple[str, ...]
    group: tuple[str, ...]
    rate: str


NARROW: Final = ClientColumns(
    14, 7, ("sent", "acked", "failed", "unkn.", "retry", "refus.", "queue"),
    ("read", "again", "lag", "gen.", "rebal.", "idle", "commit"), "rate",
)  # fmt: skip
ROOMY: Final = ClientColumns(
    22, 8, ("sent", "acked", "failed", "unknown", "retries", "refused", "queued"),
    ("read", "again", "lag", "gener.", "rebal.", "idle", "commits"), "per second",
)  # fmt: skip


class ClientPosition(NamedTuple):
    """Where a client stands in the table: its own line, and the last of those about it."""

    name: str
    group: bool
    """Whether it is a whole group."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ClientTable:
    """The lines of the table, and who can be chosen in it."""

    rows: tuple[Row, ...]
    places: tuple[ClientPosition, ...]

    def chosen(self, name: str) -> ClientPosition | None:
        """The place of a client, else the first; None where there is nobody."""
        return next((each for each in self.places if each.name == name), self.places[0] if self.places else None)

    def marked(self, place: ClientPosition | None) -> tuple[Row, ...]:
        """The lines, with one of them marked."""
        if place is None:
            return self.rows
        return tuple(replace(row, chosen=at == place.first) for at, row in enumerate(self.rows))


def fitting(clients: Clients, words: str) -> Clients:
    """Those that the words of a filter fit; a group by the names of its members, too."""
    return replace(
        clients,
        producers=tuple(each for each in clients.producers if fits(words, each.name)),
        groups=tuple(each for each in clients.groups if fits(words, _said_of(each))),
    )


def _said_of(group: GroupSummary) -> str:
    return " ".join((group.name, *(member.name for member in group.members)))


def build(clients: Clients, view: ClusterView, rates: dict[str, float], width: int, words: str = "") -> ClientTable:
    """All of them; ``rates`` as the bridge has them, ``words`` of the filter by which clients were left out."""
    columns = ROOMY if width >= WIDE else NARROW
    rows: list[Row] = []
    places: list[ClientPosition] = []
    if clients.producers:
        rows.append(_head("producer", columns.producer, columns))
        levels = {each.name: acks_text(each.acks) for each in view.producers}
        for one in clients.producers:
            told = _producer_rows(one, levels.get(one.name, ""), rates.get(one.name), columns)
            places.append(ClientPosition(one.name, False, len(rows), len(rows) + len(told) - 1))
            rows += [replace(row, about=one.name) for row in told]
    if clients.groups:
        rows += [Row(())] * bool(rows)
        rows.append(_head("group", columns.group, columns))
        views = {each.name: each for each in view.groups}
        for group in clients.groups:
            told = _group_rows(group, views.get(group.name), rates.get(group.name), columns)
            names = [(group.name, True), *[(each.name, False) for each in group.members]]
            places += [
                ClientPosition(name, whole, len(rows) + at, len(rows) + at) for at, (name, whole) in enumerate(names)
            ]
            places[-1] = places[-1]._replace(last=len(rows) + len(told) - 1)
            rows += told
    nothing = f"no producer and no group fits {words}" if words.strip() else NO_CLIENTS
    return ClientTable(tuple(rows) or (Row(((nothing, "quiet"),)),), tuple(places))


def window(rows: Sequence[Row], first: int, height: int) -> tuple[Row, ...]:
    """``height`` rows from ``first`` on, the last of them with how many follow."""
    shown = list(rows[first : first + height])
    rest = len(rows) - first - height
    if rest > 0 and shown:
        shown[-1] = Row(((f"and {rest + 1} lines more {glyphs.MORE_BELOW}", "quiet"),))
    return tuple(shown)


def shown_from(first: int, place: ClientPosition | None, height: int, total: int) -> int:
    """The first line of a window with a client in it, moved as little as can be; the first has its heading too."""
    if place is not None:
        first = max(first, min(place.first, place.last + 2 - height))
        first = min(first, place.first if place.first > 1 else 0)
    return max(0, min(first, total - height))


def last_window(rows: Sequence[Row], height: int) -> int:
    """The first row of the last window."""
    return max(0, len(rows) - height)


def _head(what: str, names: Sequence[str], columns: ClientColumns) -> Row:
    heads = [(name.rjust(columns.cell), "quiet") for name in names]
    return Row(((what.ljust(columns.name + 2), "calm"), *heads), (columns.rate, "quiet"))


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
    rows = [Row((*_named(columns, name, trouble=trouble), *numbers), _rate(rate)), *_latency("acked", one.latency)]
    if one.failure:
        rows.append(Row((("    ended with ", "quiet"), (one.failure, "alarm"))))
    if one.transactions:
        told = [transaction_words(one), f"{compact_count(one.aborted)} records aborted" if one.aborted else ""]
        wrong = one.transactions_unknown or one.failure
        rows.append(_told([each for each in told if each], "warning" if wrong else "text"))
    stopped = _stopped(one.killed, one.closed)
    thrown = f"an interceptor threw at {compact_count(one.interceptor_failures)}" if one.interceptor_failures else ""
    rows += [_told([each for each in (stopped, thrown) if each], "warning")] if stopped or thrown else []
    rows += _errors("refused", one.refused, columns) + _errors("gave up", one.errors, columns)
    return rows


def _latency(what: str, latency: LatencySummary) -> list[Row]:
    """Within which times records were acknowledged, or read."""
    times = {"p50": latency.p50_us, "p95": latency.p95_us, "p99": latency.p99_us, "max": latency.max_us}
    told = ", ".join(f"{name} {compact_duration(us)}" for name, us in times.items())
    return [Row(((f"    {what} within ", "quiet"), (told, "text")))] if latency.records else []


def _told(words: Sequence[str], role: str) -> Row:
    return Row((("    ", "text"), (", ".join(words), role)))


def _stopped(killed: int, closed: int) -> str:
    """How often processes ended, one way or the other."""
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
    rows += _latency("read", one.latency)
    told = [
        f"truncated under it {one.truncations}" if one.truncations else "",
        f"reset {one.resets}" if one.resets else "",
        f"handler failed {one.handler_failed}" if one.handler_failed else "",
        f"unprocessed {one.abandoned}" if one.abandoned else "",
        _stopped(sum(each.killed for each in one.members), sum(each.closed for each in one.members)),
    ]
    if any(told):
        rows.append(_told([each for each in told if each], "warning"))
    return rows + _errors("not committed", one.commit_errors, columns)


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
    if columns is NARROW:  # the columns that a member has no number in
        pieces[3:7] = [(f"  {words}"[: columns.cell * 4].ljust(columns.cell * 4), role)]
    else:
        pieces.append((f"  {words}", role))
    return Row(tuple(pieces), about=one.name)


def _errors(what: str, errors: Counts, columns: ClientColumns) -> list[Row]:
    """Error names with their numbers, the most frequent first."""
    if not errors:
        return []
    most = sorted(errors, key=lambda each: (-each[1], each[0]))[: 2 if columns is NARROW else 4]
    told = ", ".join(f"{name} {compact_count(times)}" for name, times in most)
    more = f" and {len(errors) - len(most)} kinds more" if len(errors) > len(most) else ""
    return [Row(((f"    {what} ", "quiet"), (told + more, "warning")))]


def _named(columns: ClientColumns, name: str, *, trouble: bool) -> tuple[Piece, Piece]:
    glyph, role = (glyphs.LAGGING, "lagging") if trouble else (glyphs.IN_SYNC, "in_sync")
    return (f"{glyph} ", role), (name[: columns.name - 1].ljust(columns.name), "strong")


def _number(columns: ClientColumns, value: int, role: str = "text") -> Piece:
    """A number; what is nought is quiet."""
    return compact_count(value).rjust(columns.cell), role if value else "quiet"


def _time(columns: ClientColumns, span_us: int) -> Piece:
    return (compact_duration(span_us) if span_us else "0").rjust(columns.cell), "text" if span_us else "quiet"


def _blank(columns: ClientColumns, text: str) -> Piece:
    return text.rjust(columns.cell), "quiet"


def _rate(rate: float | None) -> Piece:
    return f"{rate:.0f}/s" if rate is not None else "", "text"
