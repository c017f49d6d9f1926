"""Lines of a page."""

from textual import events
from textual.message import Message

from tui.paint.rows import row
from tui.theme import Look
from tui.viewmodel.row import Row
from tui.widgets.linegrid import LineGrid


class Rows(LineGrid[Row]):
    """Shows lines; a click says on which."""

    class Pressed(Message):
        """A line was clicked."""

        def __init__(self, rows: "Rows", line: int) -> None:
            super().__init__()
            self.rows = rows
            self.line = line

    def __init__(self, look: Look, id: str) -> None:  # noqa: A002
        super().__init__(row, look, id=id)

    def on_click(self, event: events.Click) -> None:
        """Say so."""
        self.post_message(self.Pressed(self, event.y))
