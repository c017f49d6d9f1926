"""The timeline as a widget: the lanes, and clicks on them."""

from textual import events
from textual.message import Message

from tui.paint.timeline import paint
from tui.theme import Look
from tui.viewmodel.timeline import LABEL, TimeRow
from tui.widgets.linegrid import LineGrid


class TimeLanes(LineGrid[TimeRow]):
    """Lines of lanes; a click says where."""

    class Picked(Message):
        """A column was clicked, in a lane or below all of them."""

        def __init__(self, lane: str, column: int) -> None:
            super().__init__()
            self.lane = lane
            self.column = column

    def __init__(self, look: Look, id: str) -> None:  # noqa: A002
        super().__init__(paint, look, id=id)

    @property
    def columns(self) -> int:
        """How many columns of time there is room for."""
        return max(1, self.size.width - LABEL)

    def on_click(self, event: events.Click) -> None:
        """Say which lane and column; a click on a label says column -1."""
        if 0 <= event.y < len(self.rows):
            self.post_message(self.Picked(self.rows[event.y].lane, max(-1, event.x - LABEL)))
