"""The matrix of partitions × brokers with its cursor; it scrolls by moving the window over the model's rows."""

from textual import events
from textual.message import Message

from cluster_model.views import ClusterView
from tui.paint import matrix as paint
from tui.theme import Look
from tui.viewmodel import matrix
from tui.widgets.linegrid import LineGrid


class Matrix(LineGrid[matrix.Head | matrix.Row], can_focus=True):
    """Partitions × brokers. The cursor stands on a (partition, broker) pair, both counted from 0."""

    class Moved(Message):
        """The cursor stands somewhere else."""

    class Faulted(Message):
        """The operator asked (right button) for the fault sheet of the cell under the pointer."""

    def __init__(self, look: Look) -> None:
        super().__init__(paint.paint, look, id="matrix")
        self.cursor = (0, 0)
        self.position = ""
        """Which part of the partitions is in view, for the border."""
        self._first = (0, 0)
        self._sizes = (0, 0)

    def present(self, view: ClusterView) -> None:
        """Show the view, with the cursor in sight."""
        self.keep_within(view)
        built = matrix.build(
            view, width=self.size.width, height=self.size.height, cursor=self.cursor, before=self._first
        )
        self._first = (built.first, built.head.columns.first)
        self.position = built.position
        self.show((built.head, *built.rows))

    def keep_within(self, view: ClusterView) -> None:
        """Keep the cursor on what there is, for whoever goes by it without a look at the matrix."""
        self._sizes = (len(view.partitions), len(view.brokers))
        self.cursor = self._within(self.cursor)

    def move(self, partitions: int, brokers: int) -> None:
        """Move the cursor; it stops at the edges."""
        self._go((self.cursor[0] + partitions, self.cursor[1] + brokers))

    def place(self, partition: int, broker: int) -> None:
        """Put the cursor somewhere."""
        self._go((partition, broker))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Left: select the cell. Right: its fault sheet."""
        row = self.rows[event.y] if 0 <= event.y < len(self.rows) else None
        if row is None:
            return
        broker = paint.broker_at(row.columns, event.x)
        partition = self._first[0] + event.y - 1 if isinstance(row, matrix.Row) else self.cursor[0]
        self._go((partition, broker if broker >= 0 else self.cursor[1]))
        if event.button == 3:
            self.post_message(self.Faulted())

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
        return max(0, min(cursor[0], partitions - 1)), max(0, min(cursor[1], brokers - 1))

    def _go(self, cursor: tuple[int, int]) -> None:
        cursor = self._within(cursor)
        if cursor != self.cursor:
            self.cursor = cursor
            self.post_message(self.Moved())
