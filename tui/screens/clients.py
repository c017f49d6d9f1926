"""All clients over the main screen: what each has sent, read, tried again and lost.

It moves with the session, back in time too: the keys of time are those of the main screen.
"""

from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from playbooks.client_summary import summed_up
from tui import glyphs
from tui.bridge import SimBridge
from tui.keymap import KEYS
from tui.screens.live import LiveScreen
from tui.theme import Look
from tui.viewmodel import client_table
from tui.widgets.panes import Pane, SidePane

KEYS_WORDS: Final = f"↑ ↓ scroll {glyphs.NOTHING} space pause {glyphs.NOTHING} esc"


class ClientsScreen(LiveScreen):
    """Producers and groups."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,c,q", "app.pop_screen", "close"),
        Binding("up,k", "move(-1)", "a line up", show=False),
        Binding("down,j", "move(1)", "a line down", show=False),
        Binding("pageup", "move(-10)", "ten lines up", show=False),
        Binding("pagedown", "move(10)", "ten lines down", show=False),
        *(Binding(key.keys, f"time({key.action!r})", key.words, show=False) for key in KEYS if key.group == "time"),
    ]

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._table = SidePane(look, "clients-table")
        self._pane = Pane(self._table, look, title="Clients", id="clients-all-pane")
        self._first = 0

    def compose(self) -> ComposeResult:
        """One table."""
        yield self._pane

    def on_mount(self) -> None:
        """The first look, when the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Another number of lines fits."""
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show the clients as they are now."""
        if not self.is_mounted or not self._table.size.height:
            return
        bridge, height = self._bridge, self._table.size.height
        summed = summed_up(bridge.session.client_books, bridge.view)
        rows = client_table.build(summed, bridge.view, bridge.rates, self._table.size.width)
        self._first = min(self._first, client_table.last_window(rows, height))
        self._table.show(client_table.window(rows, self._first, height))
        self._pane.caption("Clients", KEYS_WORDS)

    def action_move(self, lines: int) -> None:
        """Scroll."""
        self._first = max(0, self._first + lines)
        self.present()

    async def action_time(self, action: str) -> None:
        """A key of time: the main screen's."""
        await self.app.screen_stack[0].run_action(action)
