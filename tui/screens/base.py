"""A mode: a page over the whole terminal between the status bar, which never moves, and the bar of the modes.

It moves with the session, back in time too; keys that it does not know are the main screen's.
"""

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.widget import Widget

from tui.keybindings.keymap import with_keys
from tui.keybindings.modes import mode_of
from tui.keybindings.scopes import all_keys
from tui.screens.fault_sheet import Sheets
from tui.screens.live import LiveScreen
from tui.screens.paned import Paned
from tui.session.session_controller import SimBridge
from tui.terminal.theme import Look
from tui.viewmodel.jump import Place
from tui.widgets.filterbar import FilterBar
from tui.widgets.panes import ModeBar, Pane, Status
from tui.widgets.panes_part import ModeBarRow, mode_places

WHEEL = 3
"""Lines that a turn of the wheel scrolls by."""
ROOM = ("display", "width", "height")
"""What a pane has otherwise while another one, or it itself, has the whole room."""


class ModeScreen(LiveScreen, Paned):
    """What every mode has; a mode adds :meth:`body` and :meth:`show`."""

    MODE: ClassVar[str] = ""
    """Its name in :data:`tui.keybindings.modes.MODES`."""
    HINTS: ClassVar[tuple[str, ...]] = ()
    """Its own keys for the bar at the bottom, those that matter most first; ``{id}`` is the key of an action."""
    SCOPE: ClassVar[str] = ""
    """Its name in :data:`tui.keybindings.scopes.SCOPES`."""

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self.look = look
        self.bridge = bridge
        self.status = Status(look)

    def compose(self) -> ComposeResult:
        """The bars, and the body between them."""
        yield self.status
        yield from self.body()
        yield ModeBar(self.look, mode_of(self.MODE), self.hints())

    def hints(self) -> tuple[str, ...]:
        """Those on the bar, with the keys that are in force."""
        return tuple(self.keyed(each) for each in self.HINTS)

    def body(self) -> list[Widget]:
        """The panes of the mode, from top to bottom."""
        return []

    def show(self) -> None:
        """Show the session in them as it is now; their sizes are known."""

    def on_mount(self) -> None:
        """The first look, when the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Another number of lines fits."""
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show the session as it is now."""
        if not self.is_mounted or not self.status.size.width:
            return
        self.status.show(self._main.status_rows(self.size.width))
        self.show()
        if self.maximised:
            self._give_all_room()

    def resized(self) -> None:
        """Sizes that :meth:`show` gave once have to be given again."""

    def lay_out(self) -> None:
        """Take back what a pane had when it had the whole room; :meth:`present` gives it."""
        for widget in self._movable():
            for rule in ROOM:
                widget.styles.inline.clear_rule(rule)
            widget.refresh(layout=True)
        self.resized()
        self.call_after_refresh(self.present)
        self.call_after_refresh(self.present)  # with the sizes that follow from it

    def _movable(self) -> list[Widget]:
        """The panes and what they stand in."""
        found = [each for each in self.walk_children(Widget) if isinstance(each, Container | Horizontal | Vertical)]
        return [each for each in found if not isinstance(each, FilterBar)]

    def _give_all_room(self) -> None:
        """Hide whatever neither is nor holds nor belongs to the pane that has the whole room."""
        chosen = self.query_one(f"#{self.maximised}", Pane)
        path = (*chosen.ancestors_with_self, *chosen.walk_children(Widget))
        for widget in self._movable():
            if widget.id == "coach-pane":
                continue
            widget.display = widget in path
            if widget in path:
                widget.styles.width = widget.styles.height = "1fr"

    async def action_out(self) -> None:
        """One step back."""
        if not self.minimised():
            await self.leave()

    async def leave(self) -> None:
        """Back to the cluster."""
        await self.action_main("mode('cluster')")

    def places(self) -> list[Place]:
        """The modes, on the bar of them, and what the mode has."""
        row = self.size.height - 1
        bar = ModeBarRow(self.MODE, self.hints())
        modes = [Place(start, row, "mode", mode.name) for start, _end, mode in mode_places(bar, self.size.width)]
        return [*modes, *self.spots()]

    def spots(self) -> list[Place]:
        """What the mode has to go to."""
        return []

    def go_to_spot(self, place: Place) -> None:
        """Go to one of them."""

    def go_to_place(self, place: Place) -> None:
        """To another mode, or a spot of this one."""
        if place.kind == "mode":
            self._main.action_mode(place.key)
        else:
            self.go_to_spot(place)

    async def action_main(self, action: str) -> None:
        """A key that is the main screen's."""
        await self._main.run_action(action)

    async def press(self, name: str) -> None:
        """Do what the key of an id does here."""
        found = next(key for key in all_keys() if key.id == name)
        if found.group == self.SCOPE:
            await self.run_action(found.action)
        else:
            await self._main.run_action(found.action)

    def keyed(self, text: str) -> str:
        """``text`` with the key of an action where its id stands in braces."""
        return with_keys(text, self._main.keys)

    async def on_status_pressed(self, message: Status.Pressed) -> None:
        """A word of the status bar that stands for a key."""
        await self.press(message.key)

    def on_status_aimed(self, message: Status.Aimed) -> None:
        """A node of the control plane: the sheet on it, here where there is one."""
        if not isinstance(self, Sheets):
            self._main.fault_on(message.node)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        self.wheeled(WHEEL, event.widget)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        self.wheeled(-WHEEL, event.widget)

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Scroll what the pointer is over by so many lines, in a mode that has pages."""

    async def on_mode_bar_pressed(self, message: ModeBar.Pressed) -> None:
        """A mode was clicked."""
        await self._main.run_action(message.action)

    @property
    def _main(self) -> Any:
        return self.app.screen_stack[0]
