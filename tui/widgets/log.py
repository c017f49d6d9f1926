"""The log microscope: lanes of one partition with a cursor on an offset of a replica."""

from textual import events
from textual.message import Message

from cluster_model.cluster import Cluster
from cluster_model.inspection.log_marks import lane_marks
from cluster_model.observation.views import LaneView, PartitionView
from tui.terminal.theme import Look
from tui.viewmodel import log_view
from tui.viewmodel.animation import Motion
from tui.viewmodel.jump import Place
from tui.viewmodel.lanes import Spot, fork
from tui.viewmodel.log_book import Cut
from tui.viewmodel.log_layout import OVERVIEW
from tui.viewmodel.scope import Scope, bounds, whole
from tui.widgets import microscope as paint
from tui.widgets.line_widget import RIGHT, LineGrid

_WHOLE = 1 << 62
_MARKED = 20_000
"""Markers are looked for in a window of as many offsets at most: beyond that a cell of one would say nothing."""


class Microscope(LineGrid[log_view.Row]):
    """Its cursor stands on ``offset``, on the replica of ``broker``."""

    class Pointed(Message):
        """A cell was clicked: a replica and an offset."""

        def __init__(self, broker: int, offset: int) -> None:
            super().__init__()
            self.broker = broker
            self.log_offset = offset

    class Turned(Message):
        """The wheel: so many cells back, or on; with ctrl it zooms."""

        def __init__(self, cells: int, *, zooms: bool) -> None:
            super().__init__()
            self.cells = cells
            self.zooms = zooms

    class Drilled(Message):
        """A cell was clicked twice."""

    class Faulted(Message):
        """A lane was clicked with the right button."""

        def __init__(self, broker: int) -> None:
            super().__init__()
            self.broker = broker

    def __init__(self, look: Look) -> None:
        super().__init__(paint.paint, look, id="microscope")
        self.motion = Motion()
        self.scope = Scope()
        self.log_offset = 0
        self.lanes: tuple[LaneView, ...] = ()
        self.partition = ""
        """Whose logs are shown."""
        self._own = 0
        """Rows before those of the whole log, whose window this is:"""
        self._over = Scope()

    def present(self, cluster: Cluster, partition: PartitionView, broker: int, cuts: tuple[Cut, ...]) -> None:
        """Show a partition as it is now."""
        self.partition = partition.name
        shape = log_view.columns(self.size.width)
        self.scope, self.log_offset = self.scope.over(partition, broker, shape.cells)
        sight = self._sight(cluster, partition, broker, cuts, self.scope)
        self.lanes = sight.log.lanes
        rows = log_view.build(sight, self.scope, shape, self.size.height)
        self._own = len(rows)
        if self.size.height - len(rows) >= len(self.lanes) + OVERVIEW:
            self._over = over = whole(partition, shape.cells)
            beyond = self._sight(cluster, partition, broker, cuts, over)
            rows += log_view.overview(beyond, over, shape, self.scope)
        self.show(rows)

    def _sight(
        self, cluster: Cluster, partition: PartitionView, broker: int, cuts: tuple[Cut, ...], scope: Scope
    ) -> log_view.Sight:
        log = cluster.log_view(partition.name, scope.start, scope.end)
        log = self.motion.eaten(f"microscope {scope.zoom}", log, cuts)
        near = log.end - log.start <= _MARKED
        marks = lane_marks(cluster.world, log.partition, log.start, log.end, transactions=near)
        return log_view.Sight(partition, log, marks, cuts, broker, self.log_offset)

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

    def places(self) -> list[Place]:
        """The replicas, as places on the screen."""
        rows = enumerate(self.rows[: self._own])
        left, top = self.region.offset
        return [Place(left, top + at, "lane", str(row.broker)) for at, row in rows if isinstance(row, log_view.LaneRow)]

    def spot(self, x: int, y: int) -> Spot | None:
        """Which cell of which lane is there, None for none."""
        row = self.rows[y] if 0 <= y < len(self.rows) else None
        if not isinstance(row, log_view.LaneRow):
            return None
        cell = x - row.columns.label
        scope = self.scope if y < self._own else self._over
        inside = 0 <= cell < row.columns.cells
        return Spot(self.partition, row.broker, scope.start + cell * scope.zoom if inside else -1, scope.zoom)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Point at a cell; with the right button at a replica."""
        spot = self.spot(event.x, event.y)
        if spot is None:
            return
        if event.button == RIGHT:
            self.post_message(self.Faulted(spot.broker))
        elif spot.offset >= 0:
            self.post_message(self.Pointed(spot.broker, spot.offset))

    def on_click(self, event: events.Click) -> None:
        """Twice: as enter."""
        spot = self.spot(event.x, event.y)
        if event.chain == 2 and event.button != RIGHT and spot is not None and spot.offset >= 0:
            self.post_message(self.Drilled())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.post_message(self.Turned(3, zooms=event.ctrl))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.post_message(self.Turned(-3, zooms=event.ctrl))
