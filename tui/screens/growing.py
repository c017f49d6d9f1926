"""A branch on its way: how far it is. Nothing else moves meanwhile; escape gives it up."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tui.keybindings.scopes import bindings_of
from tui.screens.live import LiveScreen
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.format import clock
from tui.terminal.theme import Look

WIDTH: Final = 40
"""Cells of the whole way."""


class GrowingScreen(LiveScreen):
    """It closes by itself when the branch has come."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("growing")

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self._look = look
        self._bridge = bridge
        self._page = Static()

    def compose(self) -> ComposeResult:
        """Three lines."""
        with VerticalScroll(id="growing", can_focus=False):
            yield self._page

    def on_mount(self) -> None:
        """The first look."""
        self.present()

    def present(self) -> None:
        """How far it is."""
        growing = self._bridge.growing
        if growing is None or not self._page.is_attached:
            return
        letter, percent = growing.branch.letter, growing.percent
        done = min(WIDTH, percent * WIDTH // 100)
        way = f"{glyphs.ABOVE_HW * done}{glyphs.NOTHING * (WIDTH - done)} {percent:>3} %"
        lines = (
            (f"Branch {letter} runs again what happened up to {clock(growing.until_us)}", "calm"),
            (way, "text"),
            ("everything else stands still meanwhile; esc: never mind", "quiet"),
        )
        self._page.update(Content("\n").join([self._styled(*line) for line in lines]))

    def action_give_up(self) -> None:
        """Forget the branch; what was looked at before is looked at still."""
        self._bridge.branches.give_up()
        self.dismiss()

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
