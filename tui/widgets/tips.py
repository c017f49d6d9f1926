"""Who tells a tooltip what: from a cell of a widget to the words about what stands there."""

from collections.abc import Callable, Sequence

from cluster_model.observation.inflight_fetches import fetch_wires
from tui.session.session_controller import SimBridge
from tui.terminal.format import clock
from tui.viewmodel.timeline import mark_detail, stops
from tui.viewmodel.timeline.branches import Rail, letter_of, outcome
from tui.viewmodel.timeline.feed import Feed
from tui.viewmodel.timeline.stops import Shown, Stop
from tui.viewmodel.timeline.timeline_rows import LABEL
from tui.widgets import tooltips
from tui.widgets.lanes_part import Lanes
from tui.widgets.log import Microscope
from tui.widgets.matrix import Matrix
from tui.widgets.panes import SidePane
from tui.widgets.timeline import TimeLanes

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
            return tooltips.broker(view.brokers[broker], view) if broker >= 0 else ""
        partition = view.partitions[at]
        if broker < 0:
            return tooltips.partition(partition, view.groups)
        fetching = fetch_wires(bridge.session.cluster, partition.name)
        return tooltips.replica(partition, view.brokers[broker], view, fetching)

    return tell


def of_lanes(lanes: Lanes, bridge: SimBridge) -> Teller:
    """Cells of the logs at the foot of the cluster."""

    def tell(x: int, y: int) -> str:
        spot = lanes.spot(x, y)
        if spot is None or spot.offset < 0:
            return ""
        log = bridge.session.cluster.log_view(spot.partition, spot.offset, spot.offset + 1)
        return tooltips.offsets(log, spot.broker, spot.offset)

    return tell


def of_log(scope: Microscope, bridge: SimBridge) -> Teller:
    """Cells of the microscope."""

    def tell(x: int, y: int) -> str:
        spot = scope.spot(x, y)
        if spot is None or spot.offset < 0:
            return ""
        log = bridge.session.cluster.log_view(spot.partition, spot.offset, spot.offset + spot.offsets)
        return tooltips.offsets(log, spot.broker, spot.offset, spot.offsets)

    return tell


def of_side(pane: SidePane, bridge: SimBridge) -> Teller:
    """Clients and nodes by the lines about them; what heals a fault."""

    def tell(x: int, y: int) -> str:
        row = pane.rows[y] if 0 <= y < len(pane.rows) else None
        if row is None:
            return ""
        if row.fault >= 0:
            return "a click heals it" if pane.heals(x, y) else ""
        return tooltips.who(row.about, bridge.view) if row.about else ""

    return tell


def of_timeline(
    lanes: TimeLanes, bridge: SimBridge, shown: Callable[[], Shown], rails: Callable[[], Sequence[Rail]]
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
            return tooltips.instant(looked.window.instant(column, present_us), present_us)
        stop = stops.of_column(bridge.tape, lane, looked, column)
        return _mark(stop, bridge) if stop is not None else ""

    return tell


def _mark(stop: Stop, bridge: SimBridge) -> str:
    happened = bridge.happened(stop.first_us, stop.last_us, mark_detail.EVENTS_READ)
    feed = Feed()
    feed.take(mark_detail.of_stop(happened, stop))
    until = f" to {clock(stop.last_us)}" if stop.last_us != stop.first_us else ""
    lines = [f"{clock(stop.first_us)}{until}, {stop.times} event{'' if stop.times == 1 else 's'}"]
    return "\n".join([*lines, *(line.text for line in feed.lines(mark_detail.EVENTS_READ)[:EVENTS])])


def _rail(rail: Rail) -> str:
    row = rail.branch
    origin = f" left {row.parent} at {clock(row.left_us)}" if row.parent else " is the session as it began"
    return f"{row.letter}{origin}, come to {clock(row.come_us)}: {outcome(row)[0]}" + (
        ", dropped" if rail.dropped else ""
    )
