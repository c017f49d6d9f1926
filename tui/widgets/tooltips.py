"""Tooltips: the exact numbers of what the pointer is on, in one or a few short lines."""

from collections.abc import Callable, Sequence

from cluster_model.observation import (
    BrokerView,
    ClusterView,
    EpochRun,
    FetchWire,
    GroupView,
    LaneView,
    LogView,
    PartitionView,
    ReplicaView,
    fetch_wires,
)
from cluster_model.util.quantities import acks_text, clock, counted
from tui.session.session_controller import SimBridge
from tui.viewmodel import log_view
from tui.viewmodel.partition_matrix import lag_text, lags_of
from tui.viewmodel.timeline import selection, timeline_rows
from tui.viewmodel.timeline.branches import Rail, letter_of, outcome
from tui.viewmodel.timeline.event_feed import Feed
from tui.viewmodel.timeline.timeline_rows import LABEL, LaneColumn, TimelineView
from tui.widgets.log import Lanes, Microscope
from tui.widgets.matrix import Matrix
from tui.widgets.panes import SidePane
from tui.widgets.timeline import TimeLanes

NOBODY = "nobody"


def replica_tip(
    partition: PartitionView, broker: BrokerView, view: ClusterView, fetching: Sequence[FetchWire] = ()
) -> str:
    """A cell of the matrix: what a broker's replica holds and believes, and its fetch that is under way."""
    held = next((each for each in partition.replicas if each.broker == broker.id), None)
    if held is None:
        return f"b{broker.id} keeps no replica of {partition.name}: {_brokers(partition.assignment)} do"
    leader = f" (leader {partition.hw})" if partition.leader >= 0 and held.broker != partition.leader else ""
    words = [f"LEO {held.leo}", f"HW {held.hw}{leader}", f"epoch {_epoch(held)}", *_standing(held, partition)]
    lines = [f"b{broker.id} {partition.name}: {', '.join(words)}"]
    if broker.state == "down":
        lines.append("its process is down: this is what its disk holds")
    wire = next((each for each in fetching if each.follower == broker.id), None)
    if wire is not None:
        lines.append("".join(text for text, _role in _wire(wire, partition, view)).strip())
    return "\n".join(lines)


def _wire(wire: FetchWire, partition: PartitionView, view: ClusterView) -> tuple[tuple[str, str], ...]:
    (row,) = log_view.build_fetches((wire,), partition, view)
    return (*row.pieces, row.end)


def _epoch(held: ReplicaView) -> str:
    return str(held.epochs[-1][0]) if held.epochs else "none yet"


def _standing(held: ReplicaView, partition: PartitionView) -> list[str]:
    """Whether it leads, is counted on, and how far it is from the leader."""
    words = ["leads" if held.broker == partition.leader else "in ISR" if held.broker in partition.isr else "out of ISR"]
    if held.broker in partition.leaders and held.broker != partition.leader:
        words.append(f"takes itself to lead in epoch {held.believed_epoch}")
    if held.broker != partition.leader and held.behind:
        words.append(f"{held.behind} behind" if held.behind > 0 else f"{-held.behind} ahead")
    if held.status in ("diverged", "truncating"):
        words.append("holds other records than the leader" if held.status == "diverged" else "cuts its log back")
    return words


def partition_tip(home: PartitionView, groups: Sequence[GroupView]) -> str:
    """A row of the matrix."""
    leader = f"led by b{home.leader} in epoch {home.leader_epoch}" if home.leader >= 0 else "led by nobody"
    lag = lags_of((home,), tuple(groups)).get(home.name)
    lines = [
        f"{home.name}: {leader}, ISR {_brokers(home.isr)} of {_brokers(home.assignment)}, min.isr {home.min_isr}",
        f"log from {home.log_start} to LEO {home.leo}, HW {home.hw}"
        + (f", lag of the slowest group {lag}" if lag is not None else ", no group has committed an offset"),
    ]
    if home.missing:
        lines.append(f"{home.missing} acknowledged records are not in the leader's log")
    return "\n".join(lines)


def broker_tip(node: BrokerView, view: ClusterView) -> str:
    """The head of a column."""
    replicas = [each for home in view.partitions for each in home.replicas if each.broker == node.id]
    inside = sum(node.id in home.isr for home in view.partitions)
    words = [node.state, *["fenced"] * node.fenced, *["in controlled shutdown"] * node.shutting_down]
    words.append(f"leads {node.leads}, keeps {len(replicas)} replicas, {inside} in ISR")
    if node.epoch >= 0:
        words.append(f"broker epoch {node.epoch}")
    if node.rack:
        words.append(f"rack {node.rack}")
    lines = [f"b{node.id} {', '.join(words)}"]
    if node.stale:
        lines.append(f"its metadata is older than what is decided for {node.stale} partitions")
    if node.faults:
        lines.append(f"under {', '.join(each.replace('_', ' ') for each in node.faults)}")
    return "\n".join(lines)


def offsets_tip(log: LogView, broker_id: int, first: int, count: int = 1) -> str:
    """A cell of a log: its offset or offsets, epoch, and who has the same there."""
    lane = next((each for each in log.lanes if each.broker == broker_id), None)
    if lane is None:
        return ""
    if count > 1:
        return _many(log, lane, first, count)
    here = _run(lane, first)
    head = f"{log.partition} offset {first} on b{broker_id}: "
    if here is None:
        return head + _nothing(lane, first)
    below = "below" if first < lane.hw else "above"
    words = [f"epoch {here.epoch}", f"{below} its HW {lane.hw}"]
    if here.lost:
        words.append("acknowledged, and the leader does not have it")
    elif here.diverged:
        words.append("differs from the leader's")
    return f"{head}{', '.join(words)}\n{_holders(log, broker_id, first, here)}"


def _many(log: LogView, lane: LaneView, first: int, count: int) -> str:
    end = first + count
    runs = [(max(run.start, first), min(run.end, end), run) for run in lane.runs]
    runs = [each for each in runs if each[0] < each[1]]
    head = f"{log.partition} offsets {first} to {end - 1} on b{lane.broker}: "
    if not runs:
        return head + _nothing(lane, first)
    held = sum(high - low for low, high, _run in runs)
    epochs = sorted({run.epoch for _low, _high, run in runs})
    words = [f"{held} offsets written", f"epoch{'s' if len(epochs) > 1 else ''} {', '.join(map(str, epochs))}"]
    for name, chosen in (
        ("acknowledged and not on the leader", [each for each in runs if each[2].lost]),
        ("differ from the leader's", [each for each in runs if each[2].diverged and not each[2].lost]),
    ):
        if chosen:
            words.append(f"{sum(high - low for low, high, _run in chosen)} {name}")
    return head + ", ".join(words)


def _run(lane: LaneView, offset: int) -> EpochRun | None:
    return next((run for run in lane.runs if run.start <= offset < run.end), None)


def _nothing(lane: LaneView, offset: int) -> str:
    if offset < lane.log_start:
        return f"its log begins at {lane.log_start}"
    return f"its log ends at LEO {lane.leo}" if offset >= lane.leo else "emptied by compaction"


def _holders(log: LogView, broker_id: int, offset: int, here: EpochRun) -> str:
    """Who else has a record of the same epoch there, who another one, who none; the leader's own is told as such."""
    same: list[int] = []
    other: list[int] = []
    none: list[int] = []
    for lane in log.lanes:
        if lane.broker == broker_id:
            continue
        run = _run(lane, offset)
        equal = run is not None and run.epoch == here.epoch and run.diverged == here.diverged
        (none if run is None else same if equal else other).append(lane.broker)
    words = [
        f"{_brokers(found)} {text}"
        for found, text in (
            (same, "has the same" if len(same) == 1 else "have the same"),
            (other, "has another record" if len(other) == 1 else "have another record"),
            (none, "has none" if len(none) == 1 else "have none"),
        )
        if found
    ]
    return "; ".join(words) or "the only replica"


def who(name: str, view: ClusterView) -> str:
    """A client by its name: a producer, a group, one of its members, or a node of the control plane."""
    for producer in view.producers:
        if producer.name == name:
            told = (
                f"{name} acks={acks_text(producer.acks)} on {producer.topic}: sent {producer.sent}, "
                f"acked {producer.acked}, failed {producer.failed}, unknown {producer.unknown}\n"
                f"{producer.queued} records wait, {producer.in_flight} batches in flight"
            )
            return told + (f"\n{producer.refused} refused, last {producer.last_error}" if producer.refused else "")
    for group in view.groups:
        if group.name == name:
            return _group(group)
        owned = dict(group.assignment).get(name)
        if owned is not None:
            return f"{name} of group {group.name} owns {', '.join(owned) or 'no partitions'}"
    node = next((each for each in view.controllers if each.name == name), None)
    if node is None:
        return ""
    known = f", knows epoch {node.epoch}" if node.epoch >= 0 else ""
    under = f"\nunder {', '.join(each.replace('_', ' ') for each in node.faults)}" if node.faults else ""
    return f"{name}: {node.role}{known}{under}"


def _group(group: GroupView) -> str:
    generation = f"generation {group.generation}" if group.generation >= 0 else "no coordinator"
    committed = dict(group.committed)
    lines = [f"{group.name}: {group.members} members, {generation}, read {group.read}, {lag_text(group)}"]
    lines += [
        f"{name} at {at}" + (f", committed {committed[name]}" if name in committed else "")
        for name, at in group.positions[:6]
    ]
    return "\n".join([*lines, f"and {len(group.positions) - 6} more"] if len(group.positions) > 6 else lines)


def time_tip(at_us: int, present_us: int) -> str:
    """A column of the scrubber."""
    return f"{clock(at_us)} of {clock(present_us)}"


def _brokers(ids: Sequence[int]) -> str:
    return ", ".join(f"b{each}" for each in ids) or NOBODY


# The text of a tooltip, from a cell of a widget.


Teller = Callable[[int, int], str]
EVENTS = 3
"""Events of a mark that its tooltip tells."""


def of_matrix(matrix: Matrix, bridge: SimBridge) -> Teller:
    """Replicas, the brokers above them, and the partitions beside them."""

    def tell(x: int, y: int) -> str:
        spot, view = matrix.spot(x, y), bridge.view
        if spot is None:
            return ""
        at, broker = spot
        if at < 0:
            return broker_tip(view.brokers[broker], view) if broker >= 0 else ""
        partition = view.partitions[at]
        if broker < 0:
            return partition_tip(partition, view.groups)
        fetching = fetch_wires(bridge.session.cluster, partition.name)
        return replica_tip(partition, view.brokers[broker], view, fetching)

    return tell


def of_lanes(lanes: Lanes, bridge: SimBridge) -> Teller:
    """Cells of the logs at the foot of the cluster."""

    def tell(x: int, y: int) -> str:
        spot = lanes.spot(x, y)
        if spot is None or spot.offset < 0:
            return ""
        log = bridge.session.cluster.log_view(spot.partition, spot.offset, spot.offset + 1)
        return offsets_tip(log, spot.broker, spot.offset)

    return tell


def of_log(scope: Microscope, bridge: SimBridge) -> Teller:
    """Cells of the microscope."""

    def tell(x: int, y: int) -> str:
        spot = scope.spot(x, y)
        if spot is None or spot.offset < 0:
            return ""
        log = bridge.session.cluster.log_view(spot.partition, spot.offset, spot.offset + spot.offsets)
        return offsets_tip(log, spot.broker, spot.offset, spot.offsets)

    return tell


def of_side(pane: SidePane, bridge: SimBridge) -> Teller:
    """Clients and nodes by the lines about them; what heals a fault."""

    def tell(x: int, y: int) -> str:
        row = pane.rows[y] if 0 <= y < len(pane.rows) else None
        if row is None:
            return ""
        if row.fault >= 0:
            return "a click heals it" if pane.heals(x, y) else ""
        return who(row.about, bridge.view) if row.about else ""

    return tell


def of_timeline(
    lanes: TimeLanes, bridge: SimBridge, shown: Callable[[], TimelineView], rails: Callable[[], Sequence[Rail]]
) -> Teller:
    """Marks, the scrubber, and rails."""

    def tell(x: int, y: int) -> str:
        if not 0 <= y < len(lanes.rows) or x < LABEL:
            return ""
        lane, looked = lanes.rows[y].lane, shown()
        column, present_us = x - LABEL, looked.present_us
        if letter := letter_of(lane):
            return next((_rail(each) for each in rails() if each.branch.letter == letter), "")
        if lanes.scrubs(lane) and lane not in looked.lanes:
            return time_tip(looked.window.instant(column, present_us), present_us)
        stop = timeline_rows.of_column(bridge.tape, lane, looked, column)
        return _mark(stop, bridge) if stop is not None else ""

    return tell


def _mark(stop: LaneColumn, bridge: SimBridge) -> str:
    happened = bridge.happened(stop.first_us, stop.last_us, selection.EVENTS_READ)
    feed = Feed()
    feed.take(selection.of_stop(happened, stop))
    until = f" to {clock(stop.last_us)}" if stop.last_us != stop.first_us else ""
    lines = [f"{clock(stop.first_us)}{until}, {counted(stop.times, 'event')}"]
    return "\n".join([*lines, *(line.text for line in feed.lines(selection.EVENTS_READ)[:EVENTS])])


def _rail(rail: Rail) -> str:
    row = rail.branch
    origin = f" left {row.parent} at {clock(row.left_us)}" if row.parent else " is the session as it began"
    return f"{row.letter}{origin}, come to {clock(row.come_us)}: {outcome(row)[0]}" + (
        ", dropped" if rail.dropped else ""
    )
