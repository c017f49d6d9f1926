"""A mode: a page over the whole terminal between the status bar, which never moves, and the bar of the modes.

It moves with the session, back in time too; keys that it does not know are the main screen's.
"""

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from tui.bridge import SimBridge
from tui.keymap import KEYS, with_keys
from tui.modes import mode_of
from tui.screens.live import LiveScreen
from tui.theme import Look
from tui.widgets.panes import ModeBar, Status

THROUGH = ("time", "mode")
"""Groups of keys that are the main screen's on every mode."""
THROUGH_TOO = ("finding", "finding_before", "command", "settings", "help")
"""Ids of further ones."""


class ModeScreen(LiveScreen):
    """What every mode has; a mode adds :meth:`body` and :meth:`show`."""

    MODE: ClassVar[str] = ""
    """Its name in :data:`tui.modes.MODES`."""
    HINTS: ClassVar[tuple[str, ...]] = ()
    """Its own keys for the bar at the bottom, those that matter most first; ``{id}`` is a key of the main screen."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "main(\"mode('cluster')\")", "back to the cluster", show=False),
        *(
            Binding(key.keys, f"main({key.action!r})", key.words, id=key.id, show=False)
            for key in KEYS
            if key.group in THROUGH or key.id in THROUGH_TOO
        ),
    ]

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self.look = look
        self.bridge = bridge
        self.status = Status(look)

    def compose(self) -> ComposeResult:
        """The bars, and the body between them."""
        yield self.status
        yield from self.body()
        hints = tuple(with_keys(each, self._main.keys) for each in self.HINTS)
        yield ModeBar(self.look, mode_of(self.MODE), hints)

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

    async def action_main(self, action: str) -> None:
        """A key that is the main screen's."""
        await self._main.run_action(action)

    async def press(self, name: str) -> None:
        """Do what the key of an id does here."""
        await self._main.run_action(next(key.action for key in KEYS if key.id == name))

    async def on_mode_bar_pressed(self, message: ModeBar.Pressed) -> None:
        """A mode was clicked."""
        await self._main.run_action(message.action)

    @property
    def _main(self) -> Any:
        return self.app.screen_stack[0]
