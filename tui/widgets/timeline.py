"""The timeline as a widget: the lanes, and clicks on them."""

from textual import events
from textual.message import Message

from tui.paint.timeline import paint
from tui.theme import Look
from tui.viewmodel.mark_words import CLUSTER, FAULTS, SAFETY
from tui.viewmodel.stops import Shown
from tui.viewmodel.tape import Tape
from tui.viewmodel.time_window import Window, fit
from tui.viewmodel.timeline import LABEL, Drawer, TimeRow
from tui.widgets.linegrid import LineGrid


class TimeLanes(LineGrid[TimeRow]):
    """Lines of lanes; a click says where."""

    class Picked(Message):
        """A column was clicked, in a lane or below all of them, and with which button."""

        def __init__(self, lane: str, column: int, button: int) -> None:
            super().__init__()
            self.lane = lane
            self.column = column
            self.button = button

    def __init__(self, look: Look, id: str) -> None:  # noqa: A002
        super().__init__(paint, look, id=id)

    @property
    def columns(self) -> int:
        """How many columns of time there is room for."""
        return max(1, self.size.width - LABEL)

    def on_click(self, event: events.Click) -> None:
        """Say which lane and column; a click on a label says column -1."""
        if 0 <= event.y < len(self.rows):
            self.post_message(self.Picked(self.rows[event.y].lane, max(-1, event.x - LABEL), event.button))


class TimeStrip(TimeLanes):
    """A few lanes over the whole session, for the foot of another screen."""

    LANES = (FAULTS, CLUSTER, SAFETY)

    def __init__(self, look: Look, id: str) -> None:  # noqa: A002
        super().__init__(look, id)
        self._drawer = Drawer()
        self.window = Window(1, 0, 1)

    def present(self, tape: Tape, now_us: int, present_us: int) -> None:
        """Draw what has changed."""
        self.window = Window(fit(present_us, self.columns), 0, self.columns)
        shown = Shown(self.window, now_us, present_us, self.LANES)
        self.show(self._drawer.rows(tape, shown, self.LANES, 1, keys=False))
