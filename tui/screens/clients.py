"""Mode clients: what each has sent, read, tried again and lost."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from playbooks.client_summary import summed_up
from tui import glyphs
from tui.bridge import SimBridge
from tui.screens.mode import ModeScreen
from tui.theme import Look
from tui.viewmodel import client_table
from tui.widgets.panes import Pane, SidePane


class ClientsScreen(ModeScreen):
    """Producers and groups."""

    MODE = "clients"
    HINTS = f"↑ ↓ scroll {glyphs.NOTHING} c or esc: cluster"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,q", "main(\"mode('cluster')\")", "close", show=False),
        Binding("up,k", "move(-1)", "a line up", show=False),
        Binding("down,j", "move(1)", "a line down", show=False),
        Binding("pageup", "move(-10)", "ten lines up", show=False),
        Binding("pagedown", "move(10)", "ten lines down", show=False),
    ]

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self._table = SidePane(look, "clients-table")
        self._pane = Pane(self._table, look, title="Clients", id="clients-all-pane")
        self._first = 0

    def body(self) -> list[Widget]:
        """One table."""
        return [self._pane]

    def show(self) -> None:
        """Show the clients as they are now."""
        bridge, height = self.bridge, self._table.size.height
        summed = summed_up(bridge.session.client_books, bridge.view)
        rows = client_table.build(summed, bridge.view, bridge.rates, self._table.size.width)
        self._first = min(self._first, client_table.last_window(rows, height))
        self._table.show(client_table.window(rows, self._first, height))

    def point_at(self, name: str) -> None:
        """Bring a client into sight, its line the first."""
        bridge = self.bridge
        summed = summed_up(bridge.session.client_books, bridge.view)
        rows = client_table.build(summed, bridge.view, bridge.rates, max(20, self.app.size.width - 2))
        self._first = next((at for at, row in enumerate(rows) if client_table.is_of(row, name)), 0)
        self.present()

    def action_move(self, lines: int) -> None:
        """Scroll."""
        self._first = max(0, self._first + lines)
        self.present()
