"""Clients mode: counters of producers, groups and members; the selected client is the target of faults."""

from typing import ClassVar, Final

from textual.binding import BindingType
from textual.widget import Widget

from cluster_model.broker import topic_of
from cluster_model.clients.consumer.record_handler import SUFFIX
from playbooks.results.client_stats import summarize
from tui.keybindings.scopes import bindings_of
from tui.screens.base import Filtering, ModeScreen
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import clipboard_text, side_panes
from tui.viewmodel.side_panes import ClientOrder, ClientPosition, ClientTable
from tui.widgets import tooltips
from tui.widgets.line_widget import RIGHT, Rows
from tui.widgets.panes import FilterBar, Pane, SidePane

HINT: Final = "names of producers, groups and members; ! before a word excludes"


class ClientsScreen(ModeScreen, Filtering):
    """Clients mode: a table of producers and groups, with a filter."""

    MODE = "clients"
    SCOPE = "clients"
    HINTS = (
        "{clients_up} {clients_down} client",
        "{fault} fault",
        "{help} help",
        "esc cluster",
        "{filter} filter",
        "{admin} operation",
        "{undo} undo",
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("clients")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__(appearance, session_controller)
        self._table = SidePane(appearance, "clients-table")
        self._table.printer = tooltips.of_side(self._table, session_controller)
        self._pane = Pane(self._table, appearance, title="Clients", id="clients-all-pane")
        self._first = 0
        self._client = ""
        """Name of the selected client; empty for the first."""
        self._words = ""
        self._order = side_panes.AS_GIVEN
        self.filter_bar = FilterBar(HINT)

    def body(self) -> list[Widget]:
        """Return the table, and its filter line."""
        return [self._pane, self.filter_bar]

    def show(self) -> None:
        """Show the current counters of the clients."""
        table, height = self._built(), self._table.size.height
        place = table.chosen(self._client)
        self._first = side_panes.shown_from(self._first, place, height, len(table.rows))
        rows = side_panes.window(table.marked(place), self._first, height)
        if place is not None:
            controller, width = self.session_controller, self._table.size.width
            room = height - len(rows)
            rows += side_panes.charts(place, controller.activity, controller.view.now_us, width, room)
        self._table.show(rows)
        words = self._words.strip()
        self._pane.caption("Clients", f"/{words} {glyphs.NOTHING} esc: show all" if words else "")

    def _built(self, width: int = 0) -> ClientTable:
        """Return the table of the clients that match the filter."""
        session_controller = self.session_controller
        summed = side_panes.fitting(
            summarize(session_controller.session.client_stats, session_controller.view), self._words
        )
        return side_panes.build(
            summed, session_controller.view, session_controller.rates, width or self._table.size.width, self._words,
            self._order, None if width else session_controller.activity,
        )  # fmt: skip

    def under_cursor(self) -> tuple[str, str]:
        """Return the whole table."""
        return "the table of clients", clipboard_text.plain_text(self._built(clipboard_text.CELLS).rows)

    def point_at(self, name: str) -> None:
        """Select a client by its name."""
        self._client = name
        self.present()

    # -- the filter -------------------------------------------------------------------------------------------------

    @property
    def filter_words(self) -> str:
        """Words of the filter of the table."""
        return self._words

    def filter_by(self, words: str) -> None:
        """Show only the clients that match."""
        self._words, self._first = words, 0
        self.present()

    def on_filter_bar_filter_closed(self, message: FilterBar.FilterClosed) -> None:
        """Return the focus to the page."""
        super().on_filter_bar_filter_closed(message)
        self.set_focus(None)

    def on_filter_bar_stepped(self, message: FilterBar.Stepped) -> None:
        """Move the selection."""
        self.action_move(message.lines)

    async def leave(self) -> None:
        """Drop the filter, or leave the mode."""
        if not self.unfiltered():
            await super().leave()

    # -- the order --------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort(self._order.next())

    def action_sort_reverse(self) -> None:
        """Reverse the order."""
        self._sort(self._order.by(self._order.column))

    def _sort(self, order: ClientOrder) -> None:
        position = self.position
        self._client, self._order = position.name if position is not None else "", order
        self.present()

    # -- choosing ---------------------------------------------------------------------------------------------------

    def action_move(self, clients: int) -> None:
        """Select another client."""
        table = self._built()
        place = table.chosen(self._client)
        if place is not None:
            at = table.places.index(place) + clients
            self._client = table.places[max(0, min(at, len(table.places) - 1))].name
            self.present()

    def on_rows_line_clicked(self, message: Rows.LineClicked) -> None:
        """Select the clicked client; the right button opens its fault sheet."""
        line = self._first + message.line
        table = self._built()
        if line < len(table.rows) and table.rows[line].head and message.button != RIGHT:
            self._sort(self._order.by(side_panes.column_at(self._table.size.width, message.x)))
            return
        under = [each for each in table.places if each.first <= line <= each.last]
        if under:
            self._client = under[-1].name
            self.present()
            if message.button == RIGHT:
                self.action_fault()

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Move the selection by the mouse wheel."""
        self.action_move(1 if lines > 0 else -1)

    # -- acting on the selected client ------------------------------------------------------------------------------

    @property
    def position(self) -> ClientPosition | None:
        """Position of the selected client, None without any."""
        return self._built().chosen(self._client)

    def _processes(self) -> list[int]:
        """Return the processes of the selected client, or of all members of a group."""
        position, view = self.position, self.session_controller.view
        if position is None:
            return []
        names = [position.name.removesuffix(SUFFIX)]
        if position.group:
            names = [name for each in view.groups if each.name == position.name for name, _owned in each.assignment]
        return [each.node for each in view.clients if each.name in names]

    def chosen(self) -> int:
        """Return the process of the selected client, or of the first member of a group."""
        return next(iter(self._processes()), -1)

    def group_selector(self) -> str:
        """Return the selector of all members of a group."""
        place = self.position
        return f"members({place.name})" if place is not None and place.group and len(self._processes()) > 1 else ""

    def target_words(self) -> str:
        """Return the target for the title of the sheet."""
        place = self.position
        if self._aim < 0 and place is not None and self.group_selector():
            return f"all members of {place.name}"
        return super().target_words()

    def no_target(self) -> str:
        """Return why there is no target: no client, or one without a process."""
        place = self.position
        if place is None:
            return "there are no clients"
        return "" if self._processes() else f"{place.name} has no running process"

    def partition_name(self) -> str:
        """Return the first partition of a topic of the selected client, else the one under the main cursor."""
        position, view = self.position, self.session_controller.view
        topics: list[str] = []
        if position is not None:
            topics += [each.topic for each in view.producers if each.name == position.name]
            for group in view.groups:
                members = [name for name, _owned in group.assignment]
                topics += group.topics if position.name == group.name or position.name in members else ()
        found = [each.name for each in (*view.partitions, *view.internal) if topic_of(each.name) in topics]
        return found[0] if found else super().partition_name()
