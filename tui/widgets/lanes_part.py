"""The log lanes of the selected partition, and of the next ones where there is room."""

from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.message import Message

from cluster_model.observation.views import ClusterView, LogView, PartitionView
from tui.terminal.theme import Look
from tui.viewmodel import lanes
from tui.widgets import lanes as paint
from tui.widgets.line_widget import RIGHT, LineGrid

LogSource = Callable[[str, int, int], LogView]

_WHOLE: Final = 1 << 62
WHEEL: Final = 5
"""Offsets that a turn of the wheel scrolls by."""


class Lanes(LineGrid[lanes.Row]):
    """One lane per replica. The window follows the tail unless somebody scrolled."""

    class Pointed(Message):
        """A lane was clicked: with the right button, or with the left one, so often in a row."""

        def __init__(self, spot: lanes.Spot, *, faults: bool, times: int) -> None:
            super().__init__()
            self.spot = spot
            self.faults = faults
            """Whether faults are asked for."""
            self.times = times

    class Turned(Message):
        """The wheel: so many offsets back, or on."""

        def __init__(self, offsets: int) -> None:
            super().__init__()
            self.offsets = offsets

    def __init__(self, look: Look) -> None:
        super().__init__(paint.paint, look, id="lanes")
        self.start: int | None = None
        """First offset of the window; None while it follows the tail."""
        self.title = ""
        self._places: list[tuple[str, int, int]] = []
        """Of each line: its partition, the broker of the replica (-1 on other lines), and the first offset."""

    def present(self, view: ClusterView, partitions: Sequence[PartitionView], broker: int, logs: LogSource) -> None:
        """Show the first of ``partitions``, and the others below it as far as they fit."""
        rows: list[lanes.Row] = []
        places: list[tuple[str, int, int]] = []
        size = lanes.cells(self.size.width)
        for index, partition in enumerate(partitions):
            start, end = lanes.window(partition, size, self.start if index == 0 else None)
            needed = len(partition.replicas) + 2 + (2 if index else 0)
            if index and len(rows) + needed > self.size.height:
                break
            log = logs(partition.name, start, end)
            built = lanes.build(view, partition, log, broker)
            if index == 0:
                self.title = built.title
            else:
                rows += [lanes.Title(""), lanes.Title(built.title)]
            rows += built.rows
            brokers = iter([lane.broker for lane in log.lanes])
            places += [("", -1, 0)] * (len(rows) - len(places) - len(built.rows))
            held = [next(brokers) if isinstance(row, lanes.Lane) else -1 for row in built.rows]
            places += [(partition.name, broker_id, start) for broker_id in held]
        self._places = places
        self.show(rows[: self.size.height])

    def spot(self, x: int, y: int) -> lanes.Spot | None:
        """Whose log stands there, and which offset; None beside all lanes."""
        partition, broker, start = self._places[y] if 0 <= y < len(self.rows) else ("", -1, 0)
        if broker < 0:
            return None
        cell = x - lanes.LABEL
        return lanes.Spot(partition, broker, start + cell if 0 <= cell < lanes.cells(self.size.width) else -1)

    def on_click(self, event: events.Click) -> None:
        """Say on what."""
        spot = self.spot(event.x, event.y)
        if spot is not None:
            self.post_message(self.Pointed(spot, faults=event.button == RIGHT, times=event.chain))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls."""
        event.stop()
        self.post_message(self.Turned(WHEEL))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls."""
        event.stop()
        self.post_message(self.Turned(-WHEEL))

    def scroll_log(self, partition: PartitionView, offsets: int) -> None:
        """Move the window; it stops at the beginning and follows again when it reaches the tail."""
        size = lanes.cells(self.size.width)
        at, _end = lanes.window(partition, size, self.start)
        at = max(0, at + offsets)
        newest = lanes.window(partition, size, None)[0]
        self.start = None if at >= newest and offsets > 0 else at

    def to_fork(self, partition: PartitionView, logs: LogSource) -> int:
        """Move the window to where the replicas part; that offset, -1 when they agree."""
        at = lanes.fork(logs(partition.name, 0, _WHOLE))
        if at >= 0:
            self.start = max(0, at - lanes.cells(self.size.width) // 3)
        return at

    def follow(self) -> None:
        """Follow the tail again."""
        self.start = None
