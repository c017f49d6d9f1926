"""A time to go to: a prompt over the main screen, with what is allowed below it."""

from collections.abc import Callable
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from tui.theme import Look
from tui.viewmodel.instant import InstantError, instant_us
from tui.viewmodel.words import clock

TITLE: Final = "Go to"


class GotoScreen(ModalScreen[int | None]):
    """Returns a time of the session in microseconds, None when it is left."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+g", "leave", "close")]

    def __init__(self, look: Look, first_us: int, present_us: Callable[[], int]) -> None:
        super().__init__()
        self._look = look
        self._first_us = first_us
        self._present_us = present_us
        self._prompt = Input(id="goto-prompt")
        self._page = Static()

    def compose(self) -> ComposeResult:
        """The prompt, and a line."""
        with VerticalScroll(id="goto"):
            yield Static(self._styled(TITLE, "calm"))
            yield self._prompt
            yield self._page

    def on_mount(self) -> None:
        """Ready to be typed at."""
        first, last = clock(self._first_us), clock(self._present_us())
        self._tell(f"a time from {first} to {last}: 12.5s, 1m or 00:12.5; esc", "text")
        self._prompt.focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go there, or say what is wrong."""
        try:
            self.dismiss(instant_us(message.value.strip(), self._first_us, self._present_us()))
        except InstantError as error:
            self._tell(str(error), "warning")

    def action_leave(self) -> None:
        """Stay where we are."""
        self.dismiss(None)

    def _tell(self, text: str, role: str) -> None:
        self._page.update(self._styled(text, role))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
