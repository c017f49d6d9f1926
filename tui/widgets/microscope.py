"""The log microscope: lanes of one partition with a cursor on an offset of a replica."""

from dataclasses import replace

from textual import events
from textual.message import Message

from cluster_model.cluster import Cluster
from cluster_model.log_marks import LaneMarks, lane_marks
from cluster_model.views import LaneView, LogView, PartitionView
from tui.paint import microscope as paint
from tui.theme import Look
from tui.viewmodel import microscope
from tui.viewmodel.log_book import Cut
from tui.viewmodel.scope import Scope, bounds, parting
from tui.widgets.linegrid import LineGrid

_WHOLE = 1 << 62
_MARKED = 20_000
"""Markers are looked for in a window of as many offsets at most: beyond that a cell of one would say nothing."""


class Microscope(LineGrid[microscope.Row]):
    """Its cursor stands on ``offset``, on the replica of ``broker``."""

    class Pointed(Message):
        """A cell was clicked: a replica and an offset."""

        def __init__(self, broker: int, offset: int) -> None:
            super().__init__()
            self.broker = broker
            self.log_offset = offset

    class Turned(Message):
        """The wheel: so many cells back, or on."""

        def __init__(self, cells: int) -> None:
            super().__init__()
            self.cells = cells

    def __init__(self, look: Look) -> None:
        super().__init__(paint.paint, look, id="microscope")
        self.scope = Scope()
        self.log_offset = 0
        self.lanes: tuple[LaneView, ...] = ()

    def present(self, cluster: Cluster, partition: PartitionView, broker: int, cuts: tuple[Cut, ...]) -> None:
        """Show a partition as it is now."""
        shape = microscope.columns(self.size.width)
        self.scope, self.log_offset = self.scope.over(partition, broker, shape.cells)
        log = cluster.log_view(partition.name, self.scope.start, self.scope.end)
        self.lanes = log.lanes
        marks = self._marks(cluster, log)
        sight = microscope.Sight(partition, log, marks, cuts, broker, self.log_offset)
        self.show(microscope.build(sight, self.scope, shape, self.size.height))

    def _marks(self, cluster: Cluster, log: LogView) -> tuple[LaneMarks, ...]:
        start = log.start if log.end - log.start <= _MARKED else log.end
        marks = lane_marks(cluster.world, log.partition, start, log.end)
        if start == log.start:
            return marks
        return tuple(replace(each, holes=()) for each in marks)

    def move(self, cells: int, partition: PartitionView) -> None:
        """Move over offsets; it stops at the ends."""
        first, last = bounds(partition)
        here = self.log_offset + cells * self.scope.zoom
        self.scope = self.scope.at(min(max(here, first), last))

    def go(self, offset: int) -> None:
        """Put the cursor on an offset, in the middle."""
        self.scope = self.scope.around(offset)

    def zoom(self, steps: int) -> None:
        """See more of the log (positive), or more exactly."""
        self.scope = self.scope.zoomed(steps, self.log_offset)

    def follow(self) -> None:
        """Follow the end of the log."""
        self.scope = self.scope.following()

    def parting(self, cluster: Cluster, partition: PartitionView) -> int:
        """Where the replicas part; -1 when they agree."""
        return parting(cluster.log_view(partition.name, 0, _WHOLE))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Point at a cell."""
        row = self.rows[event.y] if 0 <= event.y < len(self.rows) else None
        if not isinstance(row, microscope.LaneRow):
            return
        cell = event.x - row.columns.label
        if 0 <= cell < row.columns.cells:
            self.post_message(self.Pointed(row.broker, self.scope.start + cell * self.scope.zoom))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.post_message(self.Turned(3))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.post_message(self.Turned(-3))
