"""Widgets of logs: the lanes of the main screen, and the log microscope."""

from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.message import Message
from textual.strip import Strip

from cluster_model.cluster import Cluster
from cluster_model.inspection.log_inspector import lane_marks
from cluster_model.observation import ClusterView, LogView, PartitionView, ReplicaLogView
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import log_view
from tui.viewmodel.animation import Animation
from tui.viewmodel.log_view import (
    LABEL,
    OVERVIEW,
    LaneRow,
    LanesRow,
    LogLane,
    LogMarkers,
    LogPosition,
    LogTextRow,
    LogWindow,
    MarksRow,
    MicroscopeRow,
    PartitionHeading,
    Ruler,
    bounds,
    fork,
    whole,
)
from tui.viewmodel.partition_history import ReplicaTruncation
from tui.viewmodel.row import LabelPosition
from tui.widgets.line_widget import RIGHT, LineGrid, Span, left, strip

# Rows of the log lanes as strips.


def paint_lanes(row: LanesRow, width: int, appearance: Appearance) -> Strip:
    """Paint one line of the lanes."""
    match row:
        case PartitionHeading():
            return strip([(" " + row.text, "strong")], width, appearance)
        case Ruler():
            return strip([(" " * LABEL, "text"), (row.text, "quiet")], width, appearance)
        case LogMarkers():
            return strip([(" " * LABEL, "text"), *row.pieces], width, appearance)
        case LogLane():
            return _lane_strip(row, width, appearance)


def _lane_strip(lane: LogLane, width: int, appearance: Appearance) -> Strip:
    spans: list[Span] = [
        (glyphs.MARKER if lane.cursor else " ", "key"),
        (lane.glyph, lane.role),
        (left(lane.broker, 3), "strong"),
        (left(lane.word, LABEL - 5), lane.role if lane.role != "leader" else "text"),
    ]
    spans += lane.cells
    spans.append((f" {lane.note}", "text"))
    if lane.odd:
        spans.append((f" {lane.odd}", "diverged"))
    return strip(spans, width, appearance)


# The log lanes of the selected partition, and of the next ones where there is room.


LogSource = Callable[[str, int, int], LogView]

_WHOLE_LOG: Final = 1 << 62
WHEEL: Final = 5
"""Offsets per turn of the mouse wheel."""


class Lanes(LineGrid[log_view.LanesRow]):
    """Log lanes, one per replica; the window follows the tail unless it was scrolled."""

    class LaneClicked(Message):
        """A lane was clicked with the right button, or ``times`` times with the left one."""

        def __init__(self, spot: log_view.LogPosition, *, faults: bool, times: int) -> None:
            super().__init__()
            self.spot = spot
            self.faults = faults
            """Whether the fault sheet is requested."""
            self.times = times

    class LogScrolled(Message):
        """The mouse wheel scrolled by ``offsets``, negative for back."""

        def __init__(self, offsets: int) -> None:
            super().__init__()
            self.offsets = offsets

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(paint_lanes, appearance, id="lanes")
        self.start: int | None = None
        """First offset of the window; None while it follows the tail."""
        self.title = ""
        self._places: list[tuple[str, int, int]] = []
        """For each line: partition, broker of the replica (-1 on other lines), and first offset."""

    def present(self, view: ClusterView, partitions: Sequence[PartitionView], broker: int, logs: LogSource) -> None:
        """Show the first of ``partitions``, and as many of the others below it as fit."""
        rows: list[log_view.LanesRow] = []
        places: list[tuple[str, int, int]] = []
        size = log_view.cells(self.size.width)
        for index, partition in enumerate(partitions):
            start, end = log_view.window(partition, size, self.start if index == 0 else None)
            needed = len(partition.replicas) + 2 + (2 if index else 0)
            if index and len(rows) + needed > self.size.height:
                break
            log = logs(partition.name, start, end)
            built = log_view.build_lanes(view, partition, log, broker, log_view.note_cells(self.size.width))
            if index == 0:
                self.title = built.title
            else:
                rows += [log_view.PartitionHeading(""), log_view.PartitionHeading(built.title)]
            rows += built.rows
            brokers = iter([lane.broker for lane in log.lanes])
            places += [("", -1, 0)] * (len(rows) - len(places) - len(built.rows))
            held = [next(brokers) if isinstance(row, log_view.LogLane) else -1 for row in built.rows]
            places += [(partition.name, broker_id, start) for broker_id in held]
        self._places = places
        self.show(rows[: self.size.height])

    def spot(self, x: int, y: int) -> log_view.LogPosition | None:
        """Return replica and offset at a cell; None outside of all lanes."""
        partition, broker, start = self._places[y] if 0 <= y < len(self.rows) else ("", -1, 0)
        if broker < 0:
            return None
        cell = x - log_view.LABEL
        return log_view.LogPosition(
            partition, broker, start + cell if 0 <= cell < log_view.cells(self.size.width) else -1
        )

    def on_click(self, event: events.Click) -> None:
        """Post which lane was clicked."""
        spot = self.spot(event.x, event.y)
        if spot is not None:
            self.post_message(self.LaneClicked(spot, faults=event.button == RIGHT, times=event.chain))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll the log."""
        event.stop()
        self.post_message(self.LogScrolled(WHEEL))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll the log."""
        event.stop()
        self.post_message(self.LogScrolled(-WHEEL))

    def scroll_log(self, partition: PartitionView, offsets: int) -> None:
        """Move the window; it stops at the start, and follows again when it reaches the tail."""
        size = log_view.cells(self.size.width)
        at, _end = log_view.window(partition, size, self.start)
        at = max(0, at + offsets)
        newest = log_view.window(partition, size, None)[0]
        self.start = None if at >= newest and offsets > 0 else at

    def to_fork(self, partition: PartitionView, logs: LogSource) -> int:
        """Move the window to the first offset where replicas differ; return it, -1 if none do."""
        at = log_view.fork(logs(partition.name, 0, _WHOLE_LOG))
        if at >= 0:
            self.start = max(0, at - log_view.cells(self.size.width) // 3)
        return at

    def follow(self) -> None:
        """Follow the tail again."""
        self.start = None


# Rows of the log microscope as strips.


def paint_microscope(row: MicroscopeRow, width: int, appearance: Appearance) -> Strip:
    """Paint one line of the microscope."""
    if isinstance(row, LogTextRow):
        return strip([(f" {row.text}", row.role)], width, appearance)
    if isinstance(row, MarksRow):
        return strip([(" " * row.columns.label, "text"), *row.pieces], width, appearance)
    return _microscope_strip(row, width, appearance)


def _microscope_strip(row: LaneRow, width: int, appearance: Appearance) -> Strip:
    spans: list[Span] = [
        (glyphs.MARKER if row.selected else " ", "key"),
        (row.glyph, row.role),
        (left(f"b{row.broker}", 4), "strong"),
        (left(row.word, row.columns.label - 6), row.role if row.role != "leader" else "text"),
        *row.cells,
        (f" {row.note}", "text"),
    ]
    if row.odd:
        spans.append((f" {row.odd}", "diverged"))
    return strip(spans, width, appearance)


_ENDLESS = 1 << 62
_MARKED = 20_000
"""Largest window in offsets for which transaction markers are shown."""


class Microscope(LineGrid[log_view.MicroscopeRow]):
    """Log microscope: lanes of one partition, with a cursor on an offset of one replica."""

    class CellClicked(Message):
        """A cell was clicked: a replica and an offset."""

        def __init__(self, broker: int, offset: int) -> None:
            super().__init__()
            self.broker = broker
            self.log_offset = offset

    class WheelTurned(Message):
        """The mouse wheel moved by ``cells``; with ctrl it zooms."""

        def __init__(self, cells: int, *, zooms: bool) -> None:
            super().__init__()
            self.cells = cells
            self.zooms = zooms

    class CellDoubleClicked(Message):
        """Message: a cell of a log was double-clicked."""

    class LaneRightClicked(Message):
        """A lane was clicked with the right button."""

        def __init__(self, broker: int) -> None:
            super().__init__()
            self.broker = broker

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(paint_microscope, appearance, id="microscope")
        self.motion = Animation()
        self.scope = LogWindow()
        self.log_offset = 0
        self.lanes: tuple[ReplicaLogView, ...] = ()
        self.partition = ""
        """Partition whose logs are shown."""
        self._own = 0
        """Number of rows before those of the overview, which shows the window below."""
        self._over = LogWindow()

    def present(
        self, cluster: Cluster, partition: PartitionView, broker: int, cuts: tuple[ReplicaTruncation, ...]
    ) -> None:
        """Show the current logs of a partition."""
        self.partition = partition.name
        shape = log_view.columns(self.size.width)
        self.scope, self.log_offset = self.scope.over(partition, broker, shape.cells)
        sight = self._sight(cluster, partition, broker, cuts, self.scope)
        self.lanes = sight.log.lanes
        rows = log_view.build_microscope(sight, self.scope, shape, self.size.height)
        self._own = len(rows)
        if self.size.height - len(rows) >= len(self.lanes) + OVERVIEW:
            self._over = over = whole(partition, shape.cells)
            beyond = self._sight(cluster, partition, broker, cuts, over)
            rows += log_view.overview(beyond, over, shape, self.scope)
        self.show(rows)

    def _sight(
        self,
        cluster: Cluster,
        partition: PartitionView,
        broker: int,
        cuts: tuple[ReplicaTruncation, ...],
        scope: LogWindow,
    ) -> log_view.MicroscopeInput:
        log = cluster.log_view(partition.name, scope.start, scope.end)
        log = self.motion.with_truncated(f"microscope {scope.zoom}", log, cuts)
        near = log.end - log.start <= _MARKED
        marks = lane_marks(cluster.cluster_state, log.partition, log.start, log.end, transactions=near)
        return log_view.MicroscopeInput(partition, log, marks, cuts, broker, self.log_offset)

    def move(self, cells: int, partition: PartitionView) -> None:
        """Move the cursor by cells; it stops at the ends."""
        first, last = bounds(partition)
        here = self.log_offset + cells * self.scope.zoom
        self.scope = self.scope.at(min(max(here, first), last))

    def go(self, offset: int) -> None:
        """Move the cursor to an offset, and centre the window on it."""
        self.scope = self.scope.around(offset)

    def zoom(self, steps: int) -> None:
        """Zoom out (positive) or in."""
        self.scope = self.scope.zoomed(steps, self.log_offset)

    def follow(self) -> None:
        """Follow the end of the log."""
        self.scope = self.scope.following()

    def fork(self, cluster: Cluster, partition: PartitionView) -> int:
        """Return the first offset where replicas differ, -1 if none do."""
        return fork(cluster.log_view(partition.name, 0, _ENDLESS))

    def places(self) -> list[LabelPosition]:
        """Return the replicas as jump targets."""
        rows = enumerate(self.rows[: self._own])
        left, top = self.region.offset
        return [
            LabelPosition(left, top + at, "lane", str(row.broker))
            for at, row in rows
            if isinstance(row, log_view.LaneRow)
        ]

    def spot(self, x: int, y: int) -> LogPosition | None:
        """Return replica and offset at a cell, None outside of all lanes."""
        row = self.rows[y] if 0 <= y < len(self.rows) else None
        if not isinstance(row, log_view.LaneRow):
            return None
        cell = x - row.columns.label
        scope = self.scope if y < self._own else self._over
        inside = 0 <= cell < row.columns.cells
        return LogPosition(self.partition, row.broker, scope.start + cell * scope.zoom if inside else -1, scope.zoom)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Select a cell; with the right button request the fault sheet of the replica's broker."""
        spot = self.spot(event.x, event.y)
        if spot is None:
            return
        if event.button == RIGHT:
            self.post_message(self.LaneRightClicked(spot.broker))
        elif spot.offset >= 0:
            self.post_message(self.CellClicked(spot.broker, spot.offset))

    def on_click(self, event: events.Click) -> None:
        """Treat a double click as enter."""
        spot = self.spot(event.x, event.y)
        if event.chain == 2 and event.button != RIGHT and spot is not None and spot.offset >= 0:
            self.post_message(self.CellDoubleClicked())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the cursor, or zoom."""
        event.stop()
        self.post_message(self.WheelTurned(3, zooms=event.ctrl))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the cursor, or zoom."""
        event.stop()
        self.post_message(self.WheelTurned(-3, zooms=event.ctrl))
