"""Mode clients: what each has sent, read, tried again and lost."""

from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.widget import Widget

from playbooks.client_summary import summed_up
from tui import glyphs, tips
from tui.bridge import SimBridge
from tui.keymap import KEYS
from tui.screens.filtering import Filtering
from tui.screens.mode import ModeScreen
from tui.theme import Look
from tui.viewmodel import client_table, yank
from tui.viewmodel.row import Row
from tui.widgets.filterbar import FilterBar
from tui.widgets.panes import Pane, SidePane

HINT: Final = "names of producers, groups and members; ! before a word: without it"


class ClientsScreen(ModeScreen, Filtering):
    """Producers and groups."""

    MODE = "clients"
    HINTS = f"↑ ↓ scroll {glyphs.NOTHING} / filter {glyphs.NOTHING} c or esc: cluster"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,q", "main(\"mode('cluster')\")", "close", show=False),
        Binding("up,k", "move(-1)", "a line up", show=False),
        Binding("down,j", "move(1)", "a line down", show=False),
        Binding("pageup", "move(-10)", "ten lines up", show=False),
        Binding("pagedown", "move(10)", "ten lines down", show=False),
        *(Binding(key.keys, "filter", key.words, id=key.id, show=False) for key in KEYS if key.id == "filter"),
    ]

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self._table = SidePane(look, "clients-table")
        self._table.teller = tips.of_side(self._table, bridge)
        self._pane = Pane(self._table, look, title="Clients", id="clients-all-pane")
        self._first = 0
        self._words = ""
        self.filter_bar = FilterBar(HINT)

    def body(self) -> list[Widget]:
        """One table, and the line of its filter."""
        return [self._pane, self.filter_bar]

    def _rows(self, width: int) -> tuple[Row, ...]:
        """All lines, of those that the filter shows."""
        bridge = self.bridge
        summed = client_table.fitting(summed_up(bridge.session.client_books, bridge.view), self._words)
        return client_table.build(summed, bridge.view, bridge.rates, width, self._words)

    def show(self) -> None:
        """Show the clients as they are now."""
        height = self._table.size.height
        rows = self._rows(self._table.size.width)
        self._first = min(self._first, client_table.last_window(rows, height))
        self._table.show(client_table.window(rows, self._first, height))
        self._pane.caption(
            "Clients", f"/{self._words.strip()} {glyphs.NOTHING} esc: all" if self._words.strip() else ""
        )

    def under_cursor(self) -> tuple[str, str]:
        """The whole table."""
        return "the table of clients", yank.plain(self._rows(yank.CELLS))

    # -- the filter -------------------------------------------------------------------------------------------------

    @property
    def filter_words(self) -> str:
        """Of the table."""
        return self._words

    def filter_by(self, words: str) -> None:
        """Show the clients that fit, and no others."""
        self._words, self._first = words, 0
        self.present()

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """The keys are the page's again."""
        super().on_filter_bar_left(message)
        self.set_focus(None)

    def on_filter_bar_stepped(self, message: FilterBar.Stepped) -> None:
        """Scroll in what is left."""
        self.action_move(message.lines)

    async def leave(self) -> None:
        """Out of the filter, then out of the mode."""
        if not self.unfiltered():
            await super().leave()

    # -- moving -----------------------------------------------------------------------------------------------------

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Scroll."""
        self.action_move(lines)

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
