"""The side panes as rows of labelled pieces: producers and groups, active faults, the replica under the cursor."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cluster_model.clients.consumer.dead_letters import SUFFIX
from cluster_model.observation.views import BrokerState, BrokerView, ClusterView, GroupView, PartitionView, ProducerView
from faults.declarations.action import Action
from playbooks.model.wording import words
from playbooks.results.client_books import ClientBooks, GroupBook, ProducerBook
from tui.terminal import glyphs
from tui.terminal.format import acks, count, duration, parameters
from tui.viewmodel.beliefs import beliefs, conditions
from tui.viewmodel.partition_matrix import BROKER_STATUS, STATUS
from tui.viewmodel.row import HEAL, Row

NO_CLIENTS: Final = "no producers and no groups: the playbook of this session has none"
UNREAD: Final = "no group reads this topic"


def clients(view: ClusterView, rates: dict[str, float], books: ClientBooks) -> tuple[Row, ...]:
    """Producers with their books, then groups; ``rates`` holds acked or read records per virtual second by name."""
    rows: list[Row] = []
    states: dict[str, BrokerState] = {client.name: client.state for client in view.clients}
    for producer in view.producers:
        state = states.get(producer.name.removesuffix(SUFFIX), "up")
        told = _producer(producer, state, rates.get(producer.name), books.producers.get(producer.name))
        rows += [replace(row, about=producer.name) for row in told]
    for group in view.groups:
        members = [states.get(name, "up") for name, _partitions in group.assignment]
        told = _group(group, members, rates.get(group.name), books.groups.get(group.name))
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
        left = "" if fault.until_us < 0 else f" {duration(max(0, fault.until_us - view.now_us))}"
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
                (f" {duration(view.now_us - operation.since_us)}", "text"),
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
        Row((("LEO ", "quiet"), (count(held.leo), "text"), ("  HW ", "quiet"), (count(held.hw), "text")), registered),
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


def _producer(producer: ProducerView, state: BrokerState, rate: float | None, book: ProducerBook | None) -> list[Row]:
    trouble = producer.failed or producer.unknown
    glyph, role = BROKER_STATUS[state]
    if state == "up" and (producer.queued > 1000 or trouble):
        glyph, role = glyphs.LAGGING, "lagging"
    per_second = f"{rate:.0f}/s" if rate is not None else ""
    head = Row(
        (
            (f"{glyph} ", role),
            (producer.name, "strong"),
            (f" acks={acks(producer.acks)}" if state == "up" else f" {state}", "quiet" if state == "up" else role),
        ),
        (per_second if state == "up" else "", "text"),
    )
    told = [(f"  sent {count(producer.sent)} acked {count(producer.acked)}", "text")]
    if producer.failed:
        told.append((f" failed {count(producer.failed)}", "warning"))
    if producer.unknown:
        told.append((f" unknown {count(producer.unknown)}", "warning"))
    if producer.queued:
        told.append((f" queued {count(producer.queued)}", "quiet"))
    retries = 0 if book is None else book.retries
    if not (retries or producer.refused):
        return [head, Row(tuple(told)), Row((("  no error", "quiet"),))]
    tried = f"  retries {count(retries)} " if retries else f"  refused {count(producer.refused)} "
    return [head, Row(tuple(told)), Row(((tried, "quiet"), (producer.last_error, "warning")))]


def _group(group: GroupView, states: Sequence[BrokerState], rate: float | None, book: GroupBook | None) -> list[Row]:
    behind = group.lag > 1000
    gone = {state: states.count(state) for state in ("down", "paused") if state in states}
    glyph, shown = BROKER_STATUS[states[0] if len({*states}) == 1 else "up"]
    if shown == "in_sync" and (behind or gone):
        glyph, shown = glyphs.LAGGING, "lagging"
    pieces = (
        (f"{glyph} ", shown),
        (group.name, "strong"),
        (f" lag {count(group.lag)}", "warning" if behind else "text"),
    )
    head = Row(
        (*pieces, *[(f" {number} {state}", "warning") for state, number in gone.items()]),
        (f"{rate:.0f}/s" if rate is not None else "", "text"),
    )
    members = f"  {group.members} member{'' if group.members == 1 else 's'}"
    if group.generation < 0 and (book is None or not book.rebalances):
        return [head, Row(((members, "quiet"),))]
    generation = f" generation {group.generation}" if group.generation >= 0 else " no coordinator"
    rebalances = 0 if book is None else book.rebalances
    role = "quiet" if group.generation >= 0 else "warning"
    return [head, Row(((members, "quiet"), (generation, role), (f" rebalances {rebalances}", "quiet")))]
