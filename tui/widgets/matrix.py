"""The matrix of partitions × brokers with its cursor; it scrolls by moving the window over the model's rows."""

from dataclasses import replace

from textual import events
from textual.message import Message

from cluster_model.observation.views import ClusterView, PartitionView
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel import filtering, glance, heat, partition_matrix
from tui.viewmodel.animation import Motion
from tui.viewmodel.jump import Place
from tui.viewmodel.matrix_motion import moved
from tui.widgets import matrix_part as paint
from tui.widgets.line_widget import RIGHT, LineGrid


class Matrix(
    LineGrid[partition_matrix.Head | partition_matrix.Row | partition_matrix.Said | glance.GlanceRow], can_focus=True
):
    """Partitions × brokers. The cursor stands on a (partition, broker) pair, both counted from 0.

    A filter leaves partitions out: the cursor stands on one that is shown then, as long as there is one.
    """

    class Moved(Message):
        """The cursor stands somewhere else."""

    class Faulted(Message):
        """The operator asked (right button) for the fault sheet of the cell under the pointer."""

    class Drilled(Message):
        """A cell was clicked twice."""

    def __init__(self, look: Look, motion: Motion | None = None) -> None:
        super().__init__(paint.paint, look, id="matrix")
        self._motion = motion or Motion()
        self.cursor = (0, 0)
        self.position = ""
        """Which part of the partitions is in view, for the border."""
        self.words = ""
        """Of the filter."""
        self.heat = False
        """Whether cells tell how far behind replicas are."""
        self.glance = False
        """Whether a partition is no more than a cell."""
        self._fitting: list[int] = []
        """Numbers of the partitions that it shows."""
        self._first = (0, 0)
        self._first_line = 0
        self._sizes = (0, 0)

    def present(self, view: ClusterView) -> None:
        """Show the view, with the cursor in sight."""
        before = self.cursor
        self.keep_within(view)
        if self.words and self.cursor != before:
            self.post_message(self.Moved())
        shown = view
        if len(self._fitting) < len(view.partitions):
            shown = replace(view, partitions=tuple(view.partitions[number] for number in self._fitting))
        place = (self._fitting.index(self.cursor[0]) if self._fitting else 0, self.cursor[1])
        if self.glance:
            self._present_glance(shown, place[0], len(view.partitions))
            return
        width, height = self.size
        built = partition_matrix.build(
            shown, width=width, height=height - self.heat, cursor=place, before=self._first, heat=self.heat
        )
        self._first = (built.first, built.head.columns.first)
        self._say_position(built.position, len(view.partitions))
        seen = shown.partitions[built.first : built.first + len(built.rows)]
        rows = moved(built.rows, seen, self._motion, paint.pieces(built.head.columns))
        self.show((built.head, *rows, *self._said(built.head.columns)))

    def _say_position(self, position: str, total: int) -> None:
        told = filtering.told(self.words, len(self._fitting), total)
        self.position = f" {glyphs.NOTHING} ".join(each for each in (told, position) if each)

    def _present_glance(self, view: ClusterView, place: int, total: int) -> None:
        width, height = self.size
        built = glance.build(view.partitions, place, width, height, self._first_line)
        self._first_line = built.first
        self._say_position("", total)
        parts = partition_matrix.columns(view, width, self.cursor[1])
        legend = built.legend or ((f"  no partition fits {self.words}" if self.words else "  no partitions", "quiet"),)
        self.show((*built.rows, partition_matrix.Said(parts, legend)))

    def _said(self, columns: partition_matrix.Columns) -> list[partition_matrix.Said]:
        """Lines below the partitions."""
        said: list[partition_matrix.Said] = []
        if self.words and not self._fitting:
            said.append(partition_matrix.Said(columns, ((f"  no partition fits {self.words}", "quiet"),)))
        if self.heat:
            said.append(partition_matrix.Said(columns, heat.legend(self.size.width)))
        return said

    def in_turn(self, view: ClusterView) -> tuple[PartitionView, ...]:
        """The partition under the cursor, then those that follow it, around the end."""
        at = self.cursor[0]
        others = [number for number in self._fitting if number != at]
        return tuple(
            view.partitions[number] for number in (at, *(n for n in others if n > at), *(n for n in others if n < at))
        )

    def places(self) -> list[Place]:
        """Partitions and brokers in sight, as places on the screen."""
        found, left, top = [], self.region.x, self.region.y
        for number, row in enumerate(self.rows):
            if isinstance(row, partition_matrix.Row):
                partition = self._fitting[self._first[0] + number - 1]
                found.append(Place(left, top + number, "row", str(partition)))
            elif isinstance(row, partition_matrix.Head):
                parts = row.columns
                start = left + paint.lead(parts)
                found += [
                    Place(start + at * parts.broker, top, "column", str(parts.first + at)) for at in range(parts.shown)
                ]
        return found

    def keep_within(self, view: ClusterView) -> None:
        """Keep the cursor on what there is, for whoever goes by it without a look at the matrix."""
        self._sizes = (len(view.partitions), len(view.brokers))
        self._fitting = filtering.fitting(view.partitions, self.words)
        self.cursor = self._within(self.cursor)

    def move(self, partitions: int, brokers: int) -> None:
        """Move the cursor; it stops at the edges. At a glance it goes over cells, and lines of them."""
        if self.glance:
            lines = partitions if abs(partitions) == 1 else partitions // 5
            partitions, brokers = brokers + lines * glance.per_row(self.size.width), 0
        partition = filtering.stepped(self._fitting, self.cursor[0], partitions) if partitions else self.cursor[0]
        self._go((partition, self.cursor[1] + brokers))

    def turn(self, partitions: int) -> None:
        """Move the cursor over partitions, from the last to the first."""
        self._go((filtering.stepped(self._fitting, self.cursor[0], partitions, around=True), self.cursor[1]))

    def place(self, partition: int, broker: int) -> None:
        """Put the cursor somewhere."""
        self._go((partition, broker))

    def spot(self, x: int, y: int) -> tuple[int, int] | None:
        """Which partition and which broker, -1 for the heading and for none; None below all lines."""
        row = self.rows[y] if 0 <= y < len(self.rows) else None
        if row is None:
            return None
        if isinstance(row, glance.GlanceRow):
            inside = 2 <= x < 2 + len(row.cells)
            cell = (self._first_line + y) * glance.per_row(self.size.width) + x - 2
            return (self._fitting[cell] if inside else -1, -1)
        partition = self._fitting[self._first[0] + y - 1] if isinstance(row, partition_matrix.Row) else -1
        return partition, paint.broker_at(row.columns, x)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Left: select the cell. Right: its fault sheet."""
        spot = self.spot(event.x, event.y)
        if spot is None:
            return
        partition, broker = spot
        self._go((partition if partition >= 0 else self.cursor[0], broker if broker >= 0 else self.cursor[1]))
        if event.button == RIGHT:
            self.post_message(self.Faulted())

    def on_click(self, event: events.Click) -> None:
        """Twice: the log of that replica."""
        spot = self.spot(event.x, event.y)
        if event.chain == 2 and event.button != RIGHT and spot is not None and spot[0] >= 0:
            self.post_message(self.Drilled())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move(1, 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move(-1, 0)

    def _within(self, cursor: tuple[int, int]) -> tuple[int, int]:
        partitions, brokers = self._sizes
        partition = max(0, min(cursor[0], partitions - 1))
        return filtering.nearest(self._fitting, partition), max(0, min(cursor[1], brokers - 1))

    def _go(self, cursor: tuple[int, int]) -> None:
        cursor = self._within(cursor)
        if cursor != self.cursor:
            self.cursor = cursor
            self.post_message(self.Moved())
