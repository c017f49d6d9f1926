"""The log lanes of the selected partition, and of the next ones where there is room."""

from collections.abc import Callable, Sequence
from typing import Final

from cluster_model.views import ClusterView, LogView, PartitionView
from tui.paint import lanes as paint
from tui.theme import Look
from tui.viewmodel import lanes
from tui.widgets.linegrid import LineGrid

LogSource = Callable[[str, int, int], LogView]

_WHOLE: Final = 1 << 62


class Lanes(LineGrid[lanes.Row]):
    """One lane per replica. The window follows the tail unless somebody scrolled."""

    def __init__(self, look: Look) -> None:
        super().__init__(paint.paint, look, id="lanes")
        self.start: int | None = None
        """First offset of the window; None while it follows the tail."""
        self.title = ""

    def present(self, view: ClusterView, partitions: Sequence[PartitionView], broker: int, logs: LogSource) -> None:
        """Show the first of ``partitions``, and the others below it as far as they fit."""
        rows: list[lanes.Row] = []
        size = lanes.cells(self.size.width)
        for index, partition in enumerate(partitions):
            start, end = lanes.window(partition, size, self.start if index == 0 else None)
            needed = len(partition.replicas) + 2 + (2 if index else 0)
            if index and len(rows) + needed > self.size.height:
                break
            built = lanes.build(view, partition, logs(partition.name, start, end), broker)
            if index == 0:
                self.title = built.title
            else:
                rows += [lanes.Title(""), lanes.Title(built.title)]
            rows += built.rows
        self.show(rows[: self.size.height])

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
