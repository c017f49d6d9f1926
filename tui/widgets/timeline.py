"""Timeline widgets: the lanes with mouse control, and the strip at the foot of the main screen."""

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip

from tui.terminal.theme import Appearance
from tui.viewmodel.timeline.branches import BranchLine, rail_rows, window
from tui.viewmodel.timeline.event_feed import TimelineMarks
from tui.viewmodel.timeline.event_text import CLUSTER, FAULTS, SAFETY
from tui.viewmodel.timeline.timeline_rows import LABEL, NONE, TIME, Drawer, TimelineView, TimeRow, Window, fit
from tui.widgets.line_widget import RIGHT, LineGrid, strip

# Rows of the timeline as strips.


def paint(row: TimeRow, width: int, appearance: Appearance) -> Strip:
    """Paint one line of the timeline."""
    return strip((*row.label, *row.spans), width, appearance)


class LanePosition(NamedTuple):
    """Lane and column of it; column -1 is the name of the lane."""

    lane: str
    column: int


class TimeLanes(LineGrid[TimeRow]):
    """Lanes of the timeline. Dragging on the time line moves time, dragging on a lane selects a span."""

    class Picked(Message):
        """A lane was clicked; ``twice``: double-clicked."""

        def __init__(self, spot: LanePosition, *, twice: bool) -> None:
            super().__init__()
            self.spot = spot
            self.twice = twice

    class Scrubbed(Message):
        """Time was dragged to a column."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    class Spanned(Message):
        """A span was dragged from one column to another."""

        def __init__(self, first: int, column: int) -> None:
            super().__init__()
            self.first = first
            self.column = column

    class SpotRightClicked(Message):
        """A lane was clicked with the right button."""

        def __init__(self, spot: LanePosition) -> None:
            super().__init__()
            self.spot = spot

    class Released(Message):
        """Message: the user stopped dragging the time."""

    class LaneScrolled(Message):
        """The mouse wheel was turned at a column, with or without ctrl."""

        def __init__(self, steps: int, column: int, *, zooms: bool) -> None:
            super().__init__()
            self.steps = steps
            self.column = column
            self.zooms = zooms

    def __init__(self, appearance: Appearance, id: str) -> None:  # noqa: A002
        super().__init__(paint, appearance, id=id)
        self._held: LanePosition | None = None
        """Position where the left button was pressed, while it is held."""
        self._at = -1
        """Last column posted while dragging, -1 for none."""

    @property
    def columns(self) -> int:
        """Number of columns of time that fit."""
        return max(1, self.size.width - LABEL)

    def scrubs(self, lane: str) -> bool:
        """Return whether dragging there moves time: on the time line and the ruler."""
        return lane in (TIME, "")

    def spot(self, event: events.MouseEvent) -> LanePosition | None:
        """Return lane and column under the pointer, None outside of all lines."""
        if not 0 <= event.y < len(self.rows):
            return None
        return LanePosition(self.rows[event.y].lane, min(max(-1, event.x - LABEL), self.columns - 1))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Capture the mouse, so that a drag may leave the lanes."""
        spot, self._at = self.spot(event), -1
        if spot is None:
            return
        if event.button == RIGHT:
            self.post_message(self.SpotRightClicked(spot))
        elif event.button == 1 and spot.column >= 0:
            self._held = spot
            self.capture_mouse()
            if self.scrubs(spot.lane):
                self._move_to(spot.column)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Continue a drag."""
        held = self._held
        if held is None:
            return
        if not event.button:  # released outside of the terminal
            self.on_mouse_up()
            return
        column = min(max(0, event.x - LABEL), self.columns - 1)
        if column != (held.column if self._at < 0 else self._at):
            self._move_to(column)

    def _move_to(self, column: int) -> None:
        assert self._held is not None
        self._at = column
        if self.scrubs(self._held.lane):
            self.post_message(self.Scrubbed(column))
        else:
            self.post_message(self.Spanned(self._held.column, column))

    def on_mouse_up(self) -> None:
        """End a drag."""
        if self._held is not None:
            if self.scrubs(self._held.lane):
                self.post_message(self.Released())
            self._held = None
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """Post a click, unless it ends a drag."""
        spot, dragged = self.spot(event), self._at >= 0
        self._at = -1
        if spot is not None and event.button != RIGHT and not dragged and not self.scrubs(spot.lane):
            self.post_message(self.Picked(spot, twice=event.chain == 2))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll back, or zoom in with ctrl."""
        self._turn(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll forward, or zoom out with ctrl."""
        self._turn(event, 1)

    def _turn(self, event: events.MouseEvent, steps: int) -> None:
        event.stop()
        column = min(max(0, event.x - LABEL), self.columns - 1)
        self.post_message(self.LaneScrolled(steps, column, zooms=event.ctrl))


class TimeStrip(TimeLanes):
    """A few lanes over the whole session for the foot of the main screen; dragging anywhere moves time."""

    LANES = (FAULTS, CLUSTER, SAFETY)

    def __init__(self, appearance: Appearance, id: str) -> None:  # noqa: A002
        super().__init__(appearance, id)
        self._drawer = Drawer()
        self.window = Window(1, 0, 1)

    def scrubs(self, lane: str) -> bool:
        """Return True for every lane of the strip."""
        return lane in (*self.LANES, TIME, "")

    def present(self, tape: TimelineMarks, now_us: int, present_us: int, branches: Sequence[BranchLine] = ()) -> None:
        """Draw the lanes that changed."""
        reach_us = max(present_us, *(each.branch.now_us for each in branches), 0)
        self.window = Window(fit(reach_us, self.columns), 0, self.columns)
        shown = TimelineView(self.window, now_us, present_us, self.LANES)
        drawn = self._drawer.rows(tape, shown, self.LANES, 1, keys=NONE)
        room = max(0, self.size.height - len(drawn))
        self.show((*drawn, *(rail_rows(window(branches, room), shown) if room else ())))
