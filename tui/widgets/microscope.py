"""The log microscope: lanes of one partition with a cursor on an offset of a replica."""

from textual import events
from textual.message import Message

from cluster_model.cluster import Cluster
from cluster_model.log_marks import lane_marks
from cluster_model.views import LaneView, PartitionView
from tui.paint import microscope as paint
from tui.theme import Look
from tui.viewmodel import microscope
from tui.viewmodel.lanes import fork
from tui.viewmodel.log_book import Cut
from tui.viewmodel.log_layout import OVERVIEW
from tui.viewmodel.scope import Scope, bounds, whole
from tui.widgets.linegrid import LineGrid

_WHOLE = 1 << 62
_MARKED = 20_000
"""Markers are looked for in a window of as many offsets at most: beyond that a cell of one would say nothing."""


class Microscope(LineGrid[microscope.Row]):
    """Its cursor stands on ``offset``, on the replica of ``broker``."""

    class Pointed(Message):
        """A cell was clicked: a replica and an offset, and with which button."""

        def __init__(self, broker: int, offset: int, button: int) -> None:
            super().__init__()
            self.broker = broker
            self.log_offset = offset
            self.button = button

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
        self._own = 0
        """Rows before those of the whole log, whose window this is:"""
        self._over = Scope()

    def present(self, cluster: Cluster, partition: PartitionView, broker: int, cuts: tuple[Cut, ...]) -> None:
        """Show a partition as it is now."""
        shape = microscope.columns(self.size.width)
        self.scope, self.log_offset = self.scope.over(partition, broker, shape.cells)
        sight = self._sight(cluster, partition, broker, cuts, self.scope)
        self.lanes = sight.log.lanes
        rows = microscope.build(sight, self.scope, shape, self.size.height)
        self._own = len(rows)
        if self.size.height - len(rows) >= len(self.lanes) + OVERVIEW:
            self._over = over = whole(partition, shape.cells)
            beyond = self._sight(cluster, partition, broker, cuts, over)
            rows += microscope.overview(beyond, over, shape, self.scope)
        self.show(rows)

    def _sight(
        self, cluster: Cluster, partition: PartitionView, broker: int, cuts: tuple[Cut, ...], scope: Scope
    ) -> microscope.Sight:
        log = cluster.log_view(partition.name, scope.start, scope.end)
        near = log.end - log.start <= _MARKED
        marks = lane_marks(cluster.world, log.partition, log.start, log.end, transactions=near)
        return microscope.Sight(partition, log, marks, cuts, broker, self.log_offset)

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
        return fork(cluster.log_view(partition.name, 0, _WHOLE))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Point at a cell."""
        row = self.rows[event.y] if 0 <= event.y < len(self.rows) else None
        if not isinstance(row, microscope.LaneRow):
            return
        cell = event.x - row.columns.label
        if 0 <= cell < row.columns.cells:
            scope = self.scope if event.y < self._own else self._over
            self.post_message(self.Pointed(row.broker, scope.start + cell * scope.zoom, event.button))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.post_message(self.Turned(3))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.post_message(self.Turned(-3))
