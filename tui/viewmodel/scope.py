"""Where the microscope points: which offset, which part of the log, how many offsets to a cell."""

from dataclasses import dataclass, replace
from typing import Final

from cluster_model.observation.views import PartitionView
from tui.viewmodel.lanes import tail

ZOOMS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
"""Offsets to a cell."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A window of ``size`` cells with a cursor in it."""

    zoom: int = 1
    offset: int | None = None
    """Under the cursor; None while it follows the newest record of its replica."""
    start: int = 0
    """First offset of the window, always at the edge of a cell."""
    size: int = 10

    @property
    def end(self) -> int:
        """Behind the window's last offset."""
        return self.start + self.size * self.zoom

    def cell(self, offset: int) -> int:
        """The cell of an offset; it may lie outside."""
        return (offset - self.start) // self.zoom

    def over(self, partition: PartitionView, broker: int, size: int) -> tuple["Scope", int]:
        """The window as it lies over a partition's logs now, with the offset under the cursor on that broker's."""
        first, last = bounds(partition)
        ends = {each.broker: each.leo for each in partition.replicas}
        at = ends.get(broker, last + 1) - 1 if self.offset is None else self.offset
        at = min(max(at, first), last)
        start = self.start
        if self.offset is None:
            start = tail(-(-(last + 1) // self.zoom), size) * self.zoom
        scope = replace(self, start=start // self.zoom * self.zoom, size=size)
        if not 0 <= scope.cell(at) < size:
            aside = size // 3 if self.offset is not None else size * 2 // 3
            scope = replace(scope, start=max(0, at // self.zoom - aside) * self.zoom)
        return scope, at

    def at(self, offset: int) -> "Scope":
        """Point at an offset; the window moves only if it has to."""
        return replace(self, offset=offset)

    def around(self, offset: int) -> "Scope":
        """Point at an offset, in the middle of the window."""
        start = max(0, offset // self.zoom - self.size // 2) * self.zoom
        return replace(self, offset=offset, start=start)

    def following(self) -> "Scope":
        """Follow the end of the log."""
        return replace(self, offset=None)

    def zoomed(self, steps: int, at: int) -> "Scope":
        """So many steps nearer (negative) or further; ``at`` is what stays under the cursor, in its place."""
        zoom = ZOOMS[min(max(ZOOMS.index(self.zoom) + steps, 0), len(ZOOMS) - 1)]
        return replace(self, zoom=zoom, start=max(0, at // zoom - self.cell(at)) * zoom)


def whole(partition: PartitionView, size: int) -> Scope:
    """The window that shows all of a partition's logs in so many cells."""
    first, last = bounds(partition)
    least = -(-(last + 1 - first) // max(1, size - 1))
    zoom = next((each for each in ZOOMS if each >= least), least)
    return Scope(zoom=zoom, start=first // zoom * zoom, size=size)


def bounds(partition: PartitionView) -> tuple[int, int]:
    """The first and the last offset that any replica has; of an empty log where its first record will stand."""
    first = min((each.log_start for each in partition.replicas), default=0)
    return first, max(max((each.leo for each in partition.replicas), default=0) - 1, first)
