"""Lines of a page."""

from collections.abc import Callable

from textual import events
from textual.message import Message
from textual.strip import Strip

from tui.terminal.theme import Look
from tui.viewmodel.row import Row
from tui.widgets.line_widget import LineGrid
from tui.widgets.rows import row


class Rows(LineGrid[Row]):
    """Shows lines; a click says on which, and with which button."""

    class Pressed(Message):
        """A line was clicked."""

        def __init__(self, rows: "Rows", line: int, button: int) -> None:
            super().__init__()
            self.rows = rows
            self.line = line
            self.button = button

    def __init__(self, look: Look, id: str, painter: Callable[[Row, int, Look], Strip] = row) -> None:  # noqa: A002
        super().__init__(painter, look, id=id)

    def on_click(self, event: events.Click) -> None:
        """Say so."""
        self.post_message(self.Pressed(self, event.y, event.button))
