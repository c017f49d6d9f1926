"""Base classes of all screens: panes, jumping, filters, lists to choose from, and the frame of a mode.

A mode moves with the session, back in time too; keys that it does not know are the main screen's.
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
from tui.keybindings.scopes import ACTS, all_keys, bindings_of, in_force
from tui.screens.fault_sheet import Sheets
from tui.session.session_controller import SimBridge
from tui.terminal.theme import Look, Over
from tui.viewmodel import row
from tui.viewmodel.row import LabelPosition
from tui.widgets.panes import FilterBar, ModeBar, ModeBarRow, Pane, Status, mode_places

if TYPE_CHECKING:
    pass

# What lies beneath see-through pages is painted through all of them.


class StackedScreen(Screen[Any]):
    """A screen whose changes are seen through every page above it.

    Textual keeps a picture of what is beneath in each page, and renews only that of the page at the top: with two pages
    open, the lower one would show the session as it was when the upper one opened.
    """

    def _compositor_refresh(self) -> None:
        """Paint what changed, and have the pages between this one and the top take a new picture of it."""
        changed = tuple(self._compositor._dirty_regions)
        super()._compositor_refresh()
        beneath = self.app._background_screens
        if changed and self in beneath:
            for page in beneath[beneath.index(self) + 1 :]:
                page._set_dirty(*changed)


# The key of filters: on every screen that has a list of its own.


class Filtering(Screen[Any]):
    """A screen with a :class:`FilterBar`, which its body has to have."""

    filter_bar: FilterBar

    @property
    def filter_words(self) -> str:
        """What is filtered by."""
        return ""

    def filter_by(self, words: str) -> None:
        """Show what fits these words, and nothing else."""

    def action_filter(self) -> None:
        """Type a filter, or change the one that there is."""
        self.filter_bar.open(self.filter_words)

    def unfiltered(self) -> bool:
        """Show everything again, and close the line; False where everything is shown already."""
        if not self.filter_bar.display and not self.filter_words:
            return False
        self.filter_bar.display = False
        self.filter_by("")
        return True

    def on_filter_bar_typed(self, message: FilterBar.Typed) -> None:
        """Filter as one types."""
        self.filter_by(message.words)

    def on_filter_bar_filter_closed(self, message: FilterBar.FilterClosed) -> None:
        """The keys are the screen's again."""
        if not message.kept:
            self.filter_by("")


# Labels over whatever is beneath: a letter goes there.


class JumpScreen(ModalScreen[None]):
    """Leaves at the first key that is no letter of a label, at a click, and when the size changes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("label")

    def __init__(self, look: Look, places: Sequence[LabelPosition], go: Callable[[LabelPosition], None]) -> None:
        super().__init__()
        self._places = places
        self._names = row.jump_labels(len(places))
        self._go = go
        self._typed = ""
        self._size_before: Size | None = None
        style = Style.from_rich_style(look.style("jump"))
        self._labels: list[Static] = []
        for name, place in zip(self._names, places, strict=True):
            label = Static(Content.styled(name, style), classes="jump-label")
            label.styles.offset = (place.x, place.y)
            self._labels.append(label)

    def compose(self) -> ComposeResult:
        """One label for each place."""
        yield from self._labels

    def on_key(self, event: events.Key) -> None:
        """Narrow it down, and go where one is left."""
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        self._typed += event.character or event.key
        found = row.labels_left(self._names, self._typed)
        if found and self._names[found[0]] != self._typed:
            for number, label in enumerate(self._labels):
                label.display = number in found
            return
        self.dismiss()
        if found:
            self._go(self._places[found[0]])

    def on_click(self, _event: events.Click) -> None:
        """Never mind."""
        self.dismiss()

    def on_resize(self, event: events.Resize) -> None:
        """Everything stands somewhere else."""
        if self._size_before not in (None, event.size):
            self.dismiss()
        self._size_before = event.size


# A screen over the main one that moves with the session.


class LiveScreen(ModalScreen[None], StackedScreen):
    """The app has it painted anew with every frame."""

    look: Look

    def present(self) -> None:
        """Show the session as it is now; a page without anything that moves shows nothing new."""


# Screens of panes: choose one, maximize it, jump to what is in sight, copy.


CHOSEN = "-chosen"
COPIED = 60
"""So much of what was copied is told."""


class Paned(StackedScreen):
    """A screen of panes; the first one is chosen until another is."""

    look: Look
    maximised = ""
    """Id of the pane that has the whole room, empty while all have some."""
    chosen_pane = ""
    """Id of the pane that was chosen, empty for the first one."""

    def panes(self) -> list[Pane]:
        """Those in sight, in the order in which they are read."""
        found = [pane for pane in self.query(Pane) if pane.id != "coach-pane" and pane.region.area]
        return sorted(found, key=lambda pane: (pane.region.y, pane.region.x))

    @property
    def pane(self) -> Pane | None:
        """The chosen one, None where there is none in sight."""
        panes = self.panes()
        return next((pane for pane in panes if pane.id == self.chosen_pane), panes[0] if panes else None)

    def choose_pane(self, name: str) -> None:
        """Choose the pane of an id."""
        self.chosen_pane = name
        for pane in self.query(Pane):
            pane.set_class(pane.id == name, CHOSEN)

    def action_pane(self, steps: int) -> None:
        """The next pane, or the one before."""
        panes, pane = self.panes(), self.pane
        if pane is not None and not self.maximised:
            self.choose_pane(panes[(panes.index(pane) + steps) % len(panes)].id or "")

    def on_click(self, event: events.Click) -> None:
        """A click chooses the pane, beside what else it does."""
        inside = event.widget.ancestors_with_self if event.widget is not None else ()
        pane = next((each for each in inside if isinstance(each, Pane)), None)
        if pane is not None and pane in self.panes():
            self.choose_pane(pane.id or "")

    # -- the whole room ---------------------------------------------------------------------------------------------

    def action_maximise(self) -> None:
        """Give the chosen pane the whole room, or all of them theirs again."""
        if self.minimised():
            return
        pane = self.pane
        if pane is not None:
            self.maximised = pane.id or ""
            self.choose_pane(self.maximised)
            self.lay_out()

    def minimised(self) -> bool:
        """Give every pane its room again; False where it has it."""
        if not self.maximised:
            return False
        self.maximised = ""
        self.lay_out()
        return True

    def lay_out(self) -> None:
        """Share the room out anew."""

    # -- jumping ----------------------------------------------------------------------------------------------------

    def places(self) -> list[LabelPosition]:
        """What can be gone to, beside the panes."""
        return []

    def go_to_place(self, place: LabelPosition) -> None:
        """Go to one of them."""

    def action_jump(self) -> None:
        """Put letters over everything that can be gone to."""
        panes = [LabelPosition(pane.region.x + 1, pane.region.y, "pane", pane.id or "") for pane in self.panes()]
        places = [*panes, *self.places()]
        if places:
            self.app.push_screen(JumpScreen(self.look, places, self._jumped_to))

    def _jumped_to(self, place: LabelPosition) -> None:
        if place.kind == "pane":
            self.choose_pane(place.key)
        else:
            self.go_to_place(place)

    # -- copying ----------------------------------------------------------------------------------------------------

    def under_cursor(self) -> tuple[str, str]:
        """What it is, and its text, where the chosen pane has a cursor; nothing otherwise."""
        return "", ""

    def action_yank(self) -> None:
        """Copy what is under the cursor, or else all that the chosen pane shows."""
        what, text = self.under_cursor()
        pane = self.pane
        if not text and pane is not None:
            what, text = f"the pane: {pane.heading}", pane.text()
        if not text.strip():
            self.app.notify("there is nothing here to copy", severity="warning", markup=False)
            return
        self.app.copy_to_clipboard(text)
        told = f"copied {what}"
        self.app.notify(self.look.text(told if len(told) <= COPIED else f"{told[: COPIED - 1]}…"), markup=False)


WHEEL = 3
"""Lines that a turn of the wheel scrolls by."""
ROOM = ("display", "width", "height")
"""What a pane has otherwise while another one, or it itself, has the whole room."""


BY_SHEET: Final = ("fault", "admin", "control")
"""Ids of the keys that open a sheet on this screen; all others are pressed on the main one."""
THERE: Final = ("heal", "undo", "what_if", "ask", "bookmark")
"""Ids of those that are about the instant that is selected."""
LASTING: Final = ("ask", "bookmark")
"""Those after which it stays selected."""


def led_by(view: ClusterView, name: str, otherwise: int) -> int:
    """Id of the broker that leads a partition; another where nobody does."""
    leaders = (each.leader for each in view.partitions if each.name == name and each.leader >= 0)
    return next(leaders, otherwise)


class ModeScreen(LiveScreen, Paned, Sheets):
    """The frame of a mode, which adds :meth:`body` and :meth:`show`. What is selected in it is the target of faults.

    A mode with nodes to choose from has its own :meth:`chosen`; the keys that act work as on the main screen.
    """

    AUTO_FOCUS = ""  # not the closed sheet

    MODE: ClassVar[str] = ""
    """Its name in :data:`tui.keybindings.keymap.MODES`."""
    HINTS: ClassVar[tuple[str, ...]] = ()
    """Its own keys for the bar at the bottom, those that matter most first; ``{id}`` is the key of an action."""
    SCOPE: ClassVar[str] = ""
    """Its name in :data:`tui.keybindings.scopes.SCOPES`."""

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self.look = look
        self.bridge = bridge
        self.status = Status(look)
        self.make_sheets()

    def compose(self) -> ComposeResult:
        """The bars, the body between them, and the sheets over it."""
        yield self.status
        yield from self.body()
        yield ModeBar(self.look, mode_of(self.MODE), self.hints())
        yield from self.sheet_panes()

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
        """Show the session as it is now, and in an open sheet what would be done to it."""
        if self.is_mounted and self.status.size.width:
            self.status.show(self.main.status_rows(self.size.width))
            self.show()
            if self.maximised:
                self._give_all_room()
        if self.sheet.has_focus:
            self.show_sheet()

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

    def places(self) -> list[LabelPosition]:
        """The modes, on the bar of them, and what the mode has."""
        row = self.size.height - 1
        bar = ModeBarRow(self.MODE, self.hints())
        modes = [
            LabelPosition(start, row, "mode", mode.name) for start, _end, mode in mode_places(bar, self.size.width)
        ]
        return [*modes, *self.spots()]

    def spots(self) -> list[LabelPosition]:
        """What the mode has to go to."""
        return []

    def go_to_spot(self, place: LabelPosition) -> None:
        """Go to one of them."""

    def go_to_place(self, place: LabelPosition) -> None:
        """To another mode, or a spot of this one."""
        if place.kind == "mode":
            self.main.action_mode(place.key)
        else:
            self.go_to_spot(place)

    async def action_main(self, action: str) -> None:
        """A key that is the main screen's."""
        await self.main.run_action(action)

    def chosen(self) -> int:
        """The broker under the main screen's cursor, where the mode has no node of its own to choose."""
        return self.main.broker_under_cursor

    async def action_act(self, name: str) -> None:
        """A key that acts, on what is selected here."""
        if name in BY_SHEET:
            await self.run_action(name)
            return
        if name in THERE:
            self.arrive()
        await self.main.press(name)
        if name in THERE and name not in LASTING:
            self.done()

    async def press(self, name: str) -> None:
        """Do what the key of an id does here."""
        if name in ACTS:
            await self.action_act(name)
            return
        found = next(key for key in all_keys() if key.id == name)
        if found.group == self.SCOPE:
            await self.run_action(found.action)
        else:
            await self.main.run_action(found.action)

    def keyed(self, text: str) -> str:
        """``text`` with the key of an action where its id stands in braces."""
        return with_keys(text, self.main.keys)

    async def on_status_word_clicked(self, message: Status.WordClicked) -> None:
        """A word of the status bar that stands for a key."""
        await self.press(message.key)

    def on_status_node_clicked(self, message: Status.NodeClicked) -> None:
        """A node of the control plane: the sheet on it, here where there is one."""
        if not isinstance(self, Sheets):
            self.main.fault_on(message.node)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        self.wheeled(WHEEL, event.widget)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        self.wheeled(-WHEEL, event.widget)

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Scroll what the pointer is over by so many lines, in a mode that has pages."""

    async def on_mode_bar_mode_clicked(self, message: ModeBar.ModeClicked) -> None:
        """A mode was clicked."""
        await self.main.run_action(message.action)


# Pages: jump by letters, typed commands, help about the page.


FOCUS = "focus"
"""Kind of the places that take what is typed, or scroll."""


class Reachable(StackedScreen):
    """A page; it adds its own places by :meth:`spots`."""

    SCOPE: ClassVar[str] = ""
    """Its name in :data:`tui.keybindings.scopes.SCOPES`."""

    @property
    def keys_in_force(self) -> tuple[KeyBinding, ...]:
        """All keys, with those that the user has otherwise."""
        return in_force(self.app)

    def keyed(self, text: str) -> str:
        """``text`` with the key of an action where its id stands in braces."""
        return with_keys(text, self.keys_in_force)

    async def action_main(self, action: str) -> None:
        """A key that is the main screen's."""
        await self.app.screen_stack[0].run_action(action)

    # -- jumping ----------------------------------------------------------------------------------------------------

    def spots(self) -> list[LabelPosition]:
        """What the page has to go to, beside what can be focused."""
        return []

    def go_to_spot(self, place: LabelPosition) -> None:
        """Go to one of them."""

    def _focusable(self) -> list[Widget]:
        found = [each for each in self.walk_children(Widget) if each.focusable and each.region.area]
        return sorted(found, key=lambda each: (each.region.y, each.region.x))

    def action_jump(self) -> None:
        """Put letters over everything that can be gone to."""
        found = self._focusable()
        places = [LabelPosition(each.region.x, each.region.y, FOCUS, str(at)) for at, each in enumerate(found)]
        places += self.spots()

        def go(place: LabelPosition) -> None:
            if place.kind == FOCUS:
                found[int(place.key)].focus()
            else:
                self.go_to_spot(place)

        if places:
            look: Look = self.app.look  # type: ignore[attr-defined]
            self.app.push_screen(JumpScreen(look, places, go))
        else:
            self.notify("there is nothing here to go to", markup=False)


# A list over the main screen, one line of which is chosen by the arrows. The session goes on behind it.


Piece = tuple[str, str]


class ChoiceScreen(LiveScreen, Reachable):
    """What every such list has; one of them adds its lines."""

    TITLE_WORDS: ClassVar[str] = ""
    KEYS_WORDS: ClassVar[str] = ""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look
        self.chosen = 0
        self._page = Static()
        self._scroll = VerticalScroll(self._page, id="choice", can_focus=False)

    def compose(self) -> ComposeResult:
        """One page."""
        yield self._scroll

    def head(self, width: int) -> list[Piece]:
        """The line above the list."""
        return []

    def lines(self, width: int) -> list[list[Piece]]:
        """The list."""
        return []

    def foot(self, width: int) -> str:
        """A sentence about the chosen line, or about there being none."""
        return ""

    def action_take(self) -> None:
        """The chosen line."""

    def on_mount(self) -> None:
        """The first look, when the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Another width has other columns."""
        self.call_after_refresh(self.present)

    def action_choose(self, lines: int) -> None:
        """Another line; there is none beyond the ends."""
        count = len(self.lines(self._width))
        self.chosen = max(0, min(self.chosen + lines, count - 1))
        self.present()
        self._scroll.scroll_to(y=max(0, self.chosen + 3 - self._scroll.size.height // 2), animate=False)

    def on_click(self, event: events.Click) -> None:
        """Once chooses a line, twice takes it."""
        above = 2 if self.head(self._width) else 1
        at = event.screen_y - self._page.region.y - above
        if 0 <= at < len(self.lines(self._width)):
            self.chosen = at
            self.present()
            if event.chain == 2:
                self.action_take()

    def spots(self) -> list[LabelPosition]:
        """The lines of the list that are in sight."""
        first = self._page.region.y + (2 if self.head(self._width) else 1)
        seen = self._scroll.region
        lines = range(len(self.lines(self._width)))
        return [
            LabelPosition(seen.x, first + at, "line", str(at)) for at in lines if seen.y <= first + at < seen.bottom
        ]

    def go_to_spot(self, place: LabelPosition) -> None:
        """Choose that line."""
        self.chosen = int(place.key)
        self.present()

    def action_leave(self) -> None:
        """Back to the screen below."""
        self.dismiss()

    def present(self) -> None:
        """Show the list as it is now."""
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
            Content.styled(self.look.text(text), Style.from_rich_style(self.look.style(role, over)))
            for text, role in pieces
        ]
        return Content("").join(styled)
