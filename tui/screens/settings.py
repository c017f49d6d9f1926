"""The settings, over the main screen: changed at once, and written into the user's file when that is asked for."""

from typing import ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from tui.keybindings.scopes import bindings_of
from tui.screens import settings_page
from tui.screens.reachable import Reachable
from tui.screens.settings_page import Piece
from tui.session import settings_changes
from tui.session.session_controller import SimBridge
from tui.session.settings_changes import SettingsHolder
from tui.settings.schema import OPTIONS, Settings
from tui.settings.settings_file import read_settings
from tui.settings.writing import WritingError, write
from tui.terminal.theme import Look
from tui.viewmodel.jump import Place


class SettingsScreen(ModalScreen[None], Reachable):
    """One setting is marked; the session goes on behind it."""

    SCOPE = "setting"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("setting")

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self._look = look
        self._bridge = bridge
        self._found = read_settings()
        self._page = Static()
        self._said: Piece = ("", "text")
        self.marked = 0
        """Number of the option that the arrows change."""

    def compose(self) -> ComposeResult:
        """One page."""
        with VerticalScroll(id="settings"):
            yield self._page

    def on_mount(self) -> None:
        """The first look, when the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Lines break elsewhere."""
        self.call_after_refresh(self.present)

    @property
    def chosen(self) -> Settings:
        """What is in force now, whatever it was at the start."""
        return settings_changes.in_force(self._floodmark)

    def present(self) -> None:
        """Show the page."""
        if not self._page.is_attached:
            return
        rows = settings_page.lines(
            self.chosen, self.marked, self._found, self.keys_in_force, self._said, max(20, self._page.size.width)
        )
        self._page.update(Content("\n").join([self._line(row) for row in rows]))

    def action_mark(self, step: int) -> None:
        """Another setting."""
        self.marked = (self.marked + step) % len(OPTIONS)
        self.present()

    def spots(self) -> list[Place]:
        """The settings."""
        left, top = self._page.region.offset
        return [Place(left, top + at, "setting", str(at)) for at in range(len(OPTIONS))]

    def go_to_spot(self, place: Place) -> None:
        """Mark that one."""
        self.marked = int(place.key)
        self.present()

    def action_change(self, step: int) -> None:
        """Another value of it, at once."""
        wanted = settings_page.stepped(self.chosen, OPTIONS[self.marked].name, step)
        settings_changes.apply(self._floodmark, wanted)
        self._look = self._floodmark.look
        self._said = ("", "text")
        self.present()

    def action_undo(self) -> None:
        """Set back what was set last by its name, here and in the file."""
        self._said = (settings_changes.undo(self._floodmark), "calm")
        self._look, self._found = self._floodmark.look, read_settings(self._found.path)
        self.present()

    def action_write(self) -> None:
        """Have the file say what is in force."""
        self._found = read_settings(self._found.path)
        values = {
            each.name: self.chosen.value(each.name)
            for each in OPTIONS
            if self.chosen.value(each.name) != self._found.settings.value(each.name)
        }
        try:
            write(self._found.path, values)
        except WritingError as error:
            self._said = (str(error), "warning")
        else:
            told = ", ".join(f"{name} {_word(value)}" for name, value in values.items())
            self._said = (f"written: {told}" if told else "the file says all of it already", "calm")
            self._found = read_settings(self._found.path)
        self.present()

    @property
    def _floodmark(self) -> SettingsHolder:
        return cast("SettingsHolder", self.app)

    def _line(self, row: tuple[Piece, ...]) -> Content:
        return Content.assemble(
            *(
                Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
                for text, role in row
            )
        )


def _word(value: object) -> str:
    return (
        ("yes" if value else "no")
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
