"""Text of tooltips: exact numbers of the cell under the pointer, in one or a few short lines."""

from collections.abc import Callable, Sequence

from cluster_model.observation import (
    BrokerView,
    ClusterView,
    EpochRun,
    GroupView,
    InflightFetch,
    LogView,
    PartitionView,
    ReplicaLogView,
    ReplicaView,
    inflight_fetches,
)
from cluster_model.util.quantities import acks_text, clock, counted
from tui.session.session_controller import SessionController
from tui.viewmodel import log_view
from tui.viewmodel.partition_matrix import lag_text, lags_of
from tui.viewmodel.timeline import selection, timeline_rows
from tui.viewmodel.timeline.branches import BranchLine, letter_of, outcome
from tui.viewmodel.timeline.event_feed import Feed
from tui.viewmodel.timeline.timeline_rows import LABEL, LaneColumn, TimelineView
from tui.widgets.log import Lanes, Microscope
from tui.widgets.matrix import Matrix
from tui.widgets.panes import SidePane
from tui.widgets.timeline import TimeLanes

NONE = "none"


def replica_tip(
    partition: PartitionView, broker: BrokerView, view: ClusterView, fetching: Sequence[InflightFetch] = ()
) -> str:
    """Return the tip of a matrix cell: state of the replica, and its fetch in flight."""
    held = next((each for each in partition.replicas if each.broker == broker.id), None)
    if held is None:
        return f"b{broker.id} has no replica of {partition.name}; replicas are on {_brokers(partition.assignment)}"
    leader = f" (leader {partition.hw})" if partition.leader >= 0 and held.broker != partition.leader else ""
    words = [f"LEO {held.leo}", f"HW {held.hw}{leader}", f"epoch {_epoch(held)}", *_replica_state(held, partition)]
    lines = [f"b{broker.id} {partition.name}: {', '.join(words)}"]
    if broker.state == "down":
        lines.append("broker is down; the numbers are those on its disk")
    wire = next((each for each in fetching if each.follower == broker.id), None)
    if wire is not None:
        lines.append("".join(text for text, _role in _wire(wire, partition, view)).strip())
    return "\n".join(lines)


def _wire(wire: InflightFetch, partition: PartitionView, view: ClusterView) -> tuple[tuple[str, str], ...]:
    (row,) = log_view.build_fetches((wire,), partition, view)
    return (*row.pieces, row.end)


def _epoch(held: ReplicaView) -> str:
    return str(held.epochs[-1][0]) if held.epochs else "none yet"


def _replica_state(held: ReplicaView, partition: PartitionView) -> list[str]:
    """Return role, ISR membership and distance to the leader of a replica."""
    words = [
        "leader" if held.broker == partition.leader else "in ISR" if held.broker in partition.isr else "out of ISR"
    ]
    if held.broker in partition.leaders and held.broker != partition.leader:
        words.append(f"believes that it is the leader in epoch {held.believed_epoch}")
    if held.broker != partition.leader and held.behind:
        words.append(f"{held.behind} behind" if held.behind > 0 else f"{-held.behind} ahead")
    if held.status in ("diverged", "truncating"):
        words.append("records differ from the leader's" if held.status == "diverged" else "truncating")
    return words


def partition_tip(home: PartitionView, groups: Sequence[GroupView]) -> str:
    """Return the tip of a matrix row."""
    leader = f"leader b{home.leader}, epoch {home.leader_epoch}" if home.leader >= 0 else "no leader"
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
    """Return the tip of a column heading."""
    replicas = [each for home in view.partitions for each in home.replicas if each.broker == node.id]
    inside = sum(node.id in home.isr for home in view.partitions)
    words = [node.state, *["fenced"] * node.fenced, *["in controlled shutdown"] * node.shutting_down]
    words.append(f"leader of {node.leads}, {len(replicas)} replicas, {inside} in ISR")
    if node.epoch >= 0:
        words.append(f"broker epoch {node.epoch}")
    if node.rack:
        words.append(f"rack {node.rack}")
    lines = [f"b{node.id} {', '.join(words)}"]
    if node.release:
        lines.append(f"runs {node.release}")
    if node.stale:
        lines.append(f"its metadata is stale for {node.stale} partitions")
    if node.faults:
        lines.append(f"active faults: {', '.join(each.replace('_', ' ') for each in node.faults)}")
    return "\n".join(lines)


def offsets_tip(log: LogView, broker_id: int, first: int, count: int = 1) -> str:
    """Return the tip of a log cell: offsets, epoch, and which replicas have the same record."""
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
        words.append("acknowledged, missing on the leader")
    elif here.diverged:
        words.append("differs from the leader's")
    return f"{head}{', '.join(words)}\n{_holders(log, broker_id, first, here)}"


def _many(log: LogView, lane: ReplicaLogView, first: int, count: int) -> str:
    end = first + count
    runs = [(max(run.start, first), min(run.end, end), run) for run in lane.runs]
    runs = [each for each in runs if each[0] < each[1]]
    head = f"{log.partition} offsets {first} to {end - 1} on b{lane.broker}: "
    if not runs:
        return head + _nothing(lane, first)
    held = sum(high - low for low, high, _run in runs)
    epochs = sorted({run.epoch for _low, _high, run in runs})
    words = [f"{held} offsets with records", f"epoch{'s' if len(epochs) > 1 else ''} {', '.join(map(str, epochs))}"]
    for name, chosen in (
        ("acknowledged and missing on the leader", [each for each in runs if each[2].lost]),
        ("differ from the leader's", [each for each in runs if each[2].diverged and not each[2].lost]),
    ):
        if chosen:
            words.append(f"{sum(high - low for low, high, _run in chosen)} {name}")
    return head + ", ".join(words)


def _run(lane: ReplicaLogView, offset: int) -> EpochRun | None:
    return next((run for run in lane.runs if run.start <= offset < run.end), None)


def _nothing(lane: ReplicaLogView, offset: int) -> str:
    if offset < lane.log_start:
        return f"its log starts at {lane.log_start}"
    return f"its log ends at LEO {lane.leo}" if offset >= lane.leo else "removed by compaction"


def _holders(log: LogView, broker_id: int, offset: int, here: EpochRun) -> str:
    """Return which other replicas have the same record there, another one, or none."""
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
            (same, "has the same record" if len(same) == 1 else "have the same record"),
            (other, "has another record" if len(other) == 1 else "have another record"),
            (none, "has no record" if len(none) == 1 else "have no record"),
        )
        if found
    ]
    return "; ".join(words) or "the only replica"


def client_tip(name: str, view: ClusterView) -> str:
    """Return the tip of a producer, a group, a member of one, or a node of the control plane, by its name."""
    for producer in view.producers:
        if producer.name == name:
            text = (
                f"{name} acks={acks_text(producer.acks)} on {producer.topic}: sent {producer.sent}, "
                f"acked {producer.acked}, failed {producer.failed}, unknown {producer.unknown}\n"
                f"{producer.queued} records queued, {producer.in_flight} batches in flight"
            )
            return text + (
                f"\n{producer.refused} failed attempts, last error {producer.last_error}" if producer.refused else ""
            )
    for group in view.groups:
        if group.name == name:
            return _group(group)
        owned = dict(group.assignment).get(name)
        if owned is not None:
            return f"{name} of group {group.name} owns {', '.join(owned) or 'no partitions'}"
    node = next((each for each in view.controllers if each.name == name), None)
    if node is None:
        return ""
    known = f", epoch {node.epoch}" if node.epoch >= 0 else ""
    active = f"\nactive faults: {', '.join(each.replace('_', ' ') for each in node.faults)}" if node.faults else ""
    return f"{name}: {node.role}{known}{active}"


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
    """Return the tip of a column of the time line."""
    return f"{clock(at_us)} of {clock(present_us)}"


def _brokers(ids: Sequence[int]) -> str:
    return ", ".join(f"b{each}" for each in ids) or NONE


# The text of a tooltip, from a cell of a widget.


TooltipFunction = Callable[[int, int], str]
EVENTS = 3
"""Maximum number of events of a mark in its tooltip."""


def of_matrix(matrix: Matrix, session_controller: SessionController) -> TooltipFunction:
    """Return the tooltips of the matrix: replicas, brokers, partitions."""

    def tooltip(x: int, y: int) -> str:
        spot, view = matrix.spot(x, y), session_controller.view
        if spot is None:
            return ""
        at, broker = spot
        if at < 0:
            return broker_tip(view.brokers[broker], view) if broker >= 0 else ""
        partition = view.partitions[at]
        if broker < 0:
            return partition_tip(partition, view.groups)
        fetching = inflight_fetches(session_controller.session.cluster, partition.name)
        return replica_tip(partition, view.brokers[broker], view, fetching)

    return tooltip


def of_lanes(lanes: Lanes, session_controller: SessionController) -> TooltipFunction:
    """Return the tooltips of the log lanes of the main screen."""

    def tooltip(x: int, y: int) -> str:
        spot = lanes.spot(x, y)
        if spot is None or spot.offset < 0:
            return ""
        log = session_controller.session.cluster.log_view(spot.partition, spot.offset, spot.offset + 1)
        return offsets_tip(log, spot.broker, spot.offset)

    return tooltip


def of_log(scope: Microscope, session_controller: SessionController) -> TooltipFunction:
    """Return the tooltips of the log microscope."""

    def tooltip(x: int, y: int) -> str:
        spot = scope.spot(x, y)
        if spot is None or spot.offset < 0:
            return ""
        log = session_controller.session.cluster.log_view(spot.partition, spot.offset, spot.offset + spot.offsets)
        return offsets_tip(log, spot.broker, spot.offset, spot.offsets)

    return tooltip


def of_side(pane: SidePane, session_controller: SessionController) -> TooltipFunction:
    """Return the tooltips of a side pane: clients, nodes, ``[heal]``."""

    def tooltip(x: int, y: int) -> str:
        row = pane.rows[y] if 0 <= y < len(pane.rows) else None
        if row is None:
            return ""
        if row.fault >= 0:
            return "click to heal this fault" if pane.heals(x, y) else ""
        return client_tip(row.about, session_controller.view) if row.about else ""

    return tooltip


def of_timeline(
    lanes: TimeLanes,
    session_controller: SessionController,
    shown: Callable[[], TimelineView],
    rails: Callable[[], Sequence[BranchLine]],
) -> TooltipFunction:
    """Return the tooltips of the timeline: marks, times, rails."""

    def tooltip(x: int, y: int) -> str:
        if not 0 <= y < len(lanes.rows) or x < LABEL:
            return ""
        lane, looked = lanes.rows[y].lane, shown()
        column, present_us = x - LABEL, looked.present_us
        if letter := letter_of(lane):
            return next((_rail(each) for each in rails() if each.branch.letter == letter), "")
        if lanes.scrubs(lane) and lane not in looked.lanes:
            return time_tip(looked.window.instant(column, present_us), present_us)
        stop = timeline_rows.of_column(session_controller.tape, lane, looked, column)
        return _mark(stop, session_controller) if stop is not None else ""

    return tooltip


def _mark(stop: LaneColumn, session_controller: SessionController) -> str:
    happened = session_controller.notable_events(stop.first_us, stop.last_us, selection.EVENTS_READ)
    feed = Feed()
    feed.take(selection.events_of_stop(happened, stop))
    until = f" to {clock(stop.last_us)}" if stop.last_us != stop.first_us else ""
    lines = [f"{clock(stop.first_us)}{until}, {counted(stop.times, 'event')}"]
    return "\n".join([*lines, *(line.text for line in feed.lines(selection.EVENTS_READ)[:EVENTS])])


def _rail(rail: BranchLine) -> str:
    row = rail.branch
    origin = f" forked from {row.parent} at {clock(row.forked_us)}" if row.parent else ": the original session"
    return f"{row.letter}{origin}, now at {clock(row.now_us)}: {outcome(row)[0]}" + (
        ", dropped" if rail.dropped else ""
    )
