"""Base classes of all screens: panes, jumping, filters, lists to choose from, and the frame of a mode.

A mode follows the session, also back in time; keys that it does not define are those of the main screen.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from cluster_model.observation import ClusterView
from tui.keybindings.keymap import KeyBinding, mode_of, with_keys
from tui.keybindings.scopes import ACTS, all_keys, bindings_of, current_keys
from tui.screens.fault_sheet import Sheets
from tui.session.session_controller import SessionController
from tui.terminal.theme import Appearance, Over
from tui.viewmodel import row
from tui.viewmodel.row import LabelPosition
from tui.widgets.panes import FilterBar, ModeBar, ModeBarRow, Pane, Status, mode_places

if TYPE_CHECKING:
    pass

# Screens below transparent pages.


class StackedScreen(Screen[Any]):
    """Screen whose changes are visible through every transparent page above it.

    Textual keeps a background image in each page, and updates only that of the top page: with two pages open, the lower
    one would show the session as it was when the upper one opened.
    """

    def _compositor_refresh(self) -> None:
        """Paint what changed, and update the background image of the pages above."""
        changed = tuple(self._compositor._dirty_regions)
        super()._compositor_refresh()
        beneath = self.app._background_screens
        if changed and self in beneath:
            for page in beneath[beneath.index(self) + 1 :]:
                page._set_dirty(*changed)


# Filters, on every screen that has a list of its own.


class Filtering(Screen[Any]):
    """Screen with a filter; its body has to contain the :class:`FilterBar`."""

    filter_bar: FilterBar

    @property
    def filter_words(self) -> str:
        """Words of the current filter."""
        return ""

    def filter_by(self, words: str) -> None:
        """Show only what matches these words."""

    def action_filter(self) -> None:
        """Open the filter line with the current filter."""
        self.filter_bar.open(self.filter_words)

    def unfiltered(self) -> bool:
        """Drop the filter and close the line; return False if there is no filter."""
        if not self.filter_bar.display and not self.filter_words:
            return False
        self.filter_bar.display = False
        self.filter_by("")
        return True

    def on_filter_bar_typed(self, message: FilterBar.Typed) -> None:
        """Apply the filter while it is typed."""
        self.filter_by(message.words)

    def on_filter_bar_filter_closed(self, message: FilterBar.FilterClosed) -> None:
        """Drop the filter unless it is kept."""
        if not message.kept:
            self.filter_by("")


# Jump labels over the screen below.


class JumpScreen(ModalScreen[None]):
    """Jump labels over the screen below; closes at a key that is no letter of a label, a click, or a resize."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("label")

    def __init__(
        self, appearance: Appearance, places: Sequence[LabelPosition], go: Callable[[LabelPosition], None]
    ) -> None:
        super().__init__()
        self._places = places
        self._names = row.jump_labels(len(places))
        self._go = go
        self._typed = ""
        self._size_before: Size | None = None
        style = Style.from_rich_style(appearance.style("jump"))
        self._labels: list[Static] = []
        for name, place in zip(self._names, places, strict=True):
            label = Static(Content.styled(name, style), classes="jump-label")
            label.styles.offset = (place.x, place.y)
            self._labels.append(label)

    def compose(self) -> ComposeResult:
        """Yield one label for each target."""
        yield from self._labels

    def on_key(self, event: events.Key) -> None:
        """Narrow down the labels, and jump once one is left."""
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        self._typed += event.character or event.key
        matching = row.labels_left(self._names, self._typed)
        if matching and self._names[matching[0]] != self._typed:
            for number, label in enumerate(self._labels):
                label.display = number in matching
            return
        self.dismiss()
        if matching:
            self._go(self._places[matching[0]])

    def on_click(self, _event: events.Click) -> None:
        """Close without a jump."""
        self.dismiss()

    def on_resize(self, event: events.Resize) -> None:
        """Close, as the labels would be at wrong positions."""
        if self._size_before not in (None, event.size):
            self.dismiss()
        self._size_before = event.size


# A screen over the main one that follows the session.


class LiveScreen(ModalScreen[None], StackedScreen):
    """Screen over the main one that the app presents again with every frame."""

    appearance: Appearance

    def present(self) -> None:
        """Show the current state of the session; pages without live content do nothing."""


# Screens of panes: choose one, maximise it, jump, copy.


CHOSEN = "-chosen"
COPIED = 60
"""Maximum characters in the message about a copy."""


class PanedScreen(StackedScreen):
    """Screen of panes, one of which is chosen; the first one by default."""

    appearance: Appearance
    maximised = ""
    """Id of the maximised pane, empty for none."""
    chosen_pane = ""
    """Id of the chosen pane, empty for the first one."""

    def panes(self) -> list[Pane]:
        """Return the visible panes in reading order."""
        found = [pane for pane in self.query(Pane) if pane.id != "coach-pane" and pane.region.area]
        return sorted(found, key=lambda pane: (pane.region.y, pane.region.x))

    @property
    def pane(self) -> Pane | None:
        """Chosen pane, None if no pane is visible."""
        panes = self.panes()
        return next((pane for pane in panes if pane.id == self.chosen_pane), panes[0] if panes else None)

    def choose_pane(self, name: str) -> None:
        """Choose the pane with this id."""
        self.chosen_pane = name
        for pane in self.query(Pane):
            pane.set_class(pane.id == name, CHOSEN)

    def action_pane(self, steps: int) -> None:
        """Choose the next pane, or the previous one."""
        panes, pane = self.panes(), self.pane
        if pane is not None and not self.maximised:
            self.choose_pane(panes[(panes.index(pane) + steps) % len(panes)].id or "")

    def on_click(self, event: events.Click) -> None:
        """Choose the pane that was clicked."""
        inside = event.widget.ancestors_with_self if event.widget is not None else ()
        pane = next((each for each in inside if isinstance(each, Pane)), None)
        if pane is not None and pane in self.panes():
            self.choose_pane(pane.id or "")

    # -- maximising -------------------------------------------------------------------------------------------------

    def action_maximise(self) -> None:
        """Maximise the chosen pane, or restore all panes."""
        if self.minimised():
            return
        pane = self.pane
        if pane is not None:
            self.maximised = pane.id or ""
            self.choose_pane(self.maximised)
            self.lay_out()

    def minimised(self) -> bool:
        """Restore all panes; return False if none is maximised."""
        if not self.maximised:
            return False
        self.maximised = ""
        self.lay_out()
        return True

    def lay_out(self) -> None:
        """Lay out the panes again."""

    # -- jumping ----------------------------------------------------------------------------------------------------

    def places(self) -> list[LabelPosition]:
        """Return jump targets besides the panes."""
        return []

    def go_to_place(self, position: LabelPosition) -> None:
        """Go to a jump target."""

    def action_jump(self) -> None:
        """Show jump labels."""
        panes = [LabelPosition(pane.region.x + 1, pane.region.y, "pane", pane.id or "") for pane in self.panes()]
        places = [*panes, *self.places()]
        if places:
            self.app.push_screen(JumpScreen(self.appearance, places, self._jumped_to))

    def _jumped_to(self, position: LabelPosition) -> None:
        if position.kind == "pane":
            self.choose_pane(position.key)
        else:
            self.go_to_place(position)

    # -- copying ----------------------------------------------------------------------------------------------------

    def under_cursor(self) -> tuple[str, str]:
        """Return name and text of the item under the cursor, if the chosen pane has a cursor; else empty texts."""
        return "", ""

    def action_yank(self) -> None:
        """Copy the item under the cursor, or else the text of the chosen pane."""
        what, text = self.under_cursor()
        pane = self.pane
        if not text and pane is not None:
            what, text = f"the pane: {pane.heading}", pane.text()
        if not text.strip():
            self.app.notify("nothing to copy here", severity="warning", markup=False)
            return
        self.app.copy_to_clipboard(text)
        message = f"copied {what}"
        message = message if len(message) <= COPIED else f"{message[: COPIED - 1]}…"
        self.app.notify(self.appearance.text(message), markup=False)


WHEEL = 3
"""Lines per turn of the mouse wheel."""
ROOM = ("display", "width", "height")
"""Styles of panes that change while one is maximised."""


SHEET_KEYS: Final = ("fault", "admin", "control")
"""Ids of the keys that open a sheet on this screen; all others act on the main screen."""
AT_SELECTED_TIME: Final = ("heal", "undo", "what_if", "ask", "bookmark")
"""Ids of the keys that act at the selected time."""
KEEPS_SELECTION: Final = ("ask", "bookmark")
"""Ids of the keys after which the time stays selected."""


def leader_of(view: ClusterView, name: str, otherwise: int) -> int:
    """Return the id of the leader of a partition, ``otherwise`` without one."""
    leaders = (each.leader for each in view.partitions if each.name == name and each.leader >= 0)
    return next(leaders, otherwise)


class ModeScreen(LiveScreen, PanedScreen, Sheets):
    """Frame of a mode, which defines :meth:`body` and :meth:`show`. Its selection is the target of faults.

    A mode with nodes to select has its own :meth:`chosen`; keys that act work as on the main screen.
    """

    AUTO_FOCUS = ""  # not the closed sheet

    MODE: ClassVar[str] = ""
    """Name of the mode in :data:`tui.keybindings.keymap.MODES`."""
    HINTS: ClassVar[tuple[str, ...]] = ()
    """Hints of its own keys for the mode bar, the most important first; ``{id}`` is the key of an action."""
    SCOPE: ClassVar[str] = ""
    """Name of its scope in :data:`tui.keybindings.scopes.SCOPES`."""

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__()
        self.appearance = appearance
        self.session_controller = session_controller
        self.status = Status(appearance)
        self.make_sheets()

    def compose(self) -> ComposeResult:
        """Yield the bars, the body between them, and the sheets over it."""
        yield self.status
        yield from self.body()
        yield ModeBar(self.appearance, mode_of(self.MODE), self.hints())
        yield from self.sheet_panes()

    def hints(self) -> tuple[str, ...]:
        """Return the hints on the bar with the current keys."""
        return tuple(self.keyed(each) for each in self.HINTS)

    def body(self) -> list[Widget]:
        """Return the panes of the mode, from top to bottom."""
        return []

    def show(self) -> None:
        """Show the current state of the session in the panes; their sizes are known."""

    def on_mount(self) -> None:
        """Present once the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Present for the new size."""
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show the current state of the session, and the predicted impact in an open sheet."""
        if self.is_mounted and self.status.size.width:
            self.status.show(self.main.status_rows(self.size.width))
            self.show()
            if self.maximised:
                self._give_all_room()
        if self.sheet.has_focus:
            self.show_sheet()

    def resized(self) -> None:
        """Reset sizes that :meth:`show` sets only once."""

    def lay_out(self) -> None:
        """Reset the styles of maximising; :meth:`present` sets them again if needed."""
        for widget in self._movable():
            for rule in ROOM:
                widget.styles.inline.clear_rule(rule)
            widget.refresh(layout=True)
        self.resized()
        self.call_after_refresh(self.present)
        self.call_after_refresh(self.present)  # again, with the sizes that result from it

    def _movable(self) -> list[Widget]:
        """Return the panes and their containers."""
        found = [each for each in self.walk_children(Widget) if isinstance(each, Container | Horizontal | Vertical)]
        return [each for each in found if not isinstance(each, FilterBar)]

    def _give_all_room(self) -> None:
        """Hide everything that does not contain, or belong to, the maximised pane."""
        chosen = self.query_one(f"#{self.maximised}", Pane)
        path = (*chosen.ancestors_with_self, *chosen.walk_children(Widget))
        for widget in self._movable():
            if widget.id == "coach-pane":
                continue
            widget.display = widget in path
            if widget in path:
                widget.styles.width = widget.styles.height = "1fr"

    async def action_out(self) -> None:
        """Restore a maximised pane, else leave the mode."""
        if not self.minimised():
            await self.leave()

    async def action_close(self) -> None:
        """Go one step back."""
        await self.action_out()

    async def leave(self) -> None:
        """Return to the cluster."""
        await self.action_main("mode('cluster')")

    def places(self) -> list[LabelPosition]:
        """Return the modes on the bar, and the targets of this mode, as jump targets."""
        row = self.size.height - 1
        bar = ModeBarRow(self.MODE, self.hints())
        modes = [
            LabelPosition(start, row, "mode", mode.name) for start, _end, mode in mode_places(bar, self.size.width)
        ]
        return [*modes, *self.spots()]

    def spots(self) -> list[LabelPosition]:
        """Return the jump targets of this mode."""
        return []

    def go_to_spot(self, position: LabelPosition) -> None:
        """Go to a jump target of this screen."""

    def go_to_place(self, position: LabelPosition) -> None:
        """Change to another mode, or go to a target of this one."""
        if position.kind == "mode":
            self.main.action_mode(position.key)
        else:
            self.go_to_spot(position)

    async def action_main(self, action: str) -> None:
        """Run an action of the main screen."""
        await self.main.run_action(action)

    def chosen(self) -> int:
        """Return the broker under the main screen's cursor; modes with nodes of their own override it."""
        return self.main.broker_under_cursor

    async def action_act(self, name: str) -> None:
        """Perform a key that acts, on the selection of this mode."""
        if name in SHEET_KEYS:
            await self.run_action(name)
            return
        if name in AT_SELECTED_TIME:
            self.go_to_selected_time()
        await self.main.press(name)
        if name in AT_SELECTED_TIME and name not in KEEPS_SELECTION:
            self.action_performed()

    async def press(self, name: str) -> None:
        """Perform the key with this id."""
        if name in ACTS:
            await self.action_act(name)
            return
        found = next(key for key in all_keys() if key.id == name)
        if found.group == self.SCOPE:
            await self.run_action(found.action)
        else:
            await self.main.run_action(found.action)

    def keyed(self, text: str) -> str:
        """Return ``text`` with ids in braces replaced by the keys of their actions."""
        return with_keys(text, self.main.keys)

    async def on_status_word_clicked(self, message: Status.WordClicked) -> None:
        """Press the key of a clicked field of the status bar."""
        await self.press(message.key)

    def on_status_node_clicked(self, message: Status.NodeClicked) -> None:
        """Open the fault sheet on a clicked node of the control plane."""
        if not isinstance(self, Sheets):
            self.main.fault_on(message.node)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll."""
        self.wheeled(WHEEL, event.widget)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll."""
        self.wheeled(-WHEEL, event.widget)

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Scroll the widget under the pointer, in a mode that has pages."""

    async def on_mode_bar_mode_clicked(self, message: ModeBar.ModeClicked) -> None:
        """Change to the clicked mode."""
        await self.main.run_action(message.action)


# Pages: jump labels, typed commands, help about the page.


FOCUS = "focus"
"""Kind of jump targets that take focus."""


class OverlayPage(StackedScreen):
    """Page over the main screen; it adds its own jump targets by :meth:`spots`."""

    SCOPE: ClassVar[str] = ""
    """Name of its scope in :data:`tui.keybindings.scopes.SCOPES`."""

    @property
    def keys_in_force(self) -> tuple[KeyBinding, ...]:
        """All keys, including the user's own."""
        return current_keys(self.app)

    def keyed(self, text: str) -> str:
        """Return ``text`` with ids in braces replaced by the keys of their actions."""
        return with_keys(text, self.keys_in_force)

    async def action_main(self, action: str) -> None:
        """Run an action of the main screen."""
        await self.app.screen_stack[0].run_action(action)

    # -- jumping ----------------------------------------------------------------------------------------------------

    def spots(self) -> list[LabelPosition]:
        """Return jump targets besides the widgets that take focus."""
        return []

    def go_to_spot(self, position: LabelPosition) -> None:
        """Go to a jump target of this screen."""

    def _focusable(self) -> list[Widget]:
        found = [each for each in self.walk_children(Widget) if each.focusable and each.region.area]
        return sorted(found, key=lambda each: (each.region.y, each.region.x))

    def action_jump(self) -> None:
        """Show jump labels."""
        widgets = self._focusable()
        places = [LabelPosition(each.region.x, each.region.y, FOCUS, str(at)) for at, each in enumerate(widgets)]
        places += self.spots()

        def go(position: LabelPosition) -> None:
            if position.kind == FOCUS:
                widgets[int(position.key)].focus()
            else:
                self.go_to_spot(position)

        if places:
            appearance: Appearance = self.app.appearance  # type: ignore[attr-defined]
            self.app.push_screen(JumpScreen(appearance, places, go))
        else:
            self.notify("nothing to jump to here", markup=False)


# A list over the main screen, with one line selected by the arrows. The session continues.


Piece = tuple[str, str]


class ChoiceScreen(LiveScreen, OverlayPage):
    """Base of lists over the main screen; subclasses define the lines."""

    TITLE_WORDS: ClassVar[str] = ""
    KEYS_WORDS: ClassVar[str] = ""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.appearance = appearance
        self.chosen = 0
        self._page = Static()
        self._scroll = VerticalScroll(self._page, id="choice", can_focus=False)

    def compose(self) -> ComposeResult:
        """Yield the page."""
        yield self._scroll

    def head(self, width: int) -> list[Piece]:
        """Return the line above the list."""
        return []

    def lines(self, width: int) -> list[list[Piece]]:
        """Return the lines of the list."""
        return []

    def foot(self, width: int) -> str:
        """Return a sentence about the selected line, or about an empty list."""
        return ""

    def action_take(self) -> None:
        """Take the selected line."""

    def on_mount(self) -> None:
        """Present once the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Present for the new size."""
        self.call_after_refresh(self.present)

    def action_choose(self, lines: int) -> None:
        """Select another line; stops at the ends."""
        count = len(self.lines(self._width))
        self.chosen = max(0, min(self.chosen + lines, count - 1))
        self.present()
        self._scroll.scroll_to(y=max(0, self.chosen + 3 - self._scroll.size.height // 2), animate=False)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked line; a double click takes it."""
        above = 2 if self.head(self._width) else 1
        at = event.screen_y - self._page.region.y - above
        if 0 <= at < len(self.lines(self._width)):
            self.chosen = at
            self.present()
            if event.chain == 2:
                self.action_take()

    def spots(self) -> list[LabelPosition]:
        """Return the visible lines of the list as jump targets."""
        first = self._page.region.y + (2 if self.head(self._width) else 1)
        seen = self._scroll.region
        lines = range(len(self.lines(self._width)))
        return [
            LabelPosition(seen.x, first + at, "line", str(at)) for at in lines if seen.y <= first + at < seen.bottom
        ]

    def go_to_spot(self, position: LabelPosition) -> None:
        """Select that line."""
        self.chosen = int(position.key)
        self.present()

    def action_leave(self) -> None:
        """Close the list."""
        self.dismiss()

    def present(self) -> None:
        """Show the current list."""
        if not self._page.is_attached or not self._scroll.size.width:
            return
        width = self._width
        lines = [[(self.TITLE_WORDS, "calm")]]
        if head := self.head(width):
            lines.append(head)
        shown = [self._line(each) for each in lines]
        shown += [self._line(each, "row" if at == self.chosen else "") for at, each in enumerate(self.lines(width))]
        shown += [
            self._line([("", "text")]),
            self._line([(self.foot(width), "text")]),
            self._line([(self.keyed(self.KEYS_WORDS), "quiet")]),
        ]
        self._page.update(Content("\n").join(shown))

    @property
    def _width(self) -> int:
        return self._scroll.content_size.width

    def _line(self, pieces: list[Piece], over: Over = "") -> Content:
        styled = [
            Content.styled(self.appearance.text(text), Style.from_rich_style(self.appearance.style(role, over)))
            for text, role in pieces
        ]
        return Content("").join(styled)
