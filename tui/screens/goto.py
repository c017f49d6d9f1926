"""A time to go to: a prompt over the main screen, with what is allowed below it."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from tui.keybindings.scopes import bindings_of
from tui.screens.reachable import Reachable
from tui.terminal import glyphs
from tui.terminal.format import clock
from tui.terminal.instant import InstantError, instant_us
from tui.terminal.theme import Look
from tui.viewmodel.jump import Place
from tui.viewmodel.timeline.bookmarks import Bookmark

TITLE: Final = "Go to"
MOST: Final = 8
"""Bookmarks shown at once."""


class GotoScreen(ModalScreen[int | Bookmark | None], Reachable):
    """Returns a time of the session in microseconds, a bookmark that was chosen, None when it is left."""

    SCOPE = "to_time"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("to_time")

    def __init__(
        self, look: Look, first_us: int, present_us: Callable[[], int], marks: Sequence[Bookmark] = ()
    ) -> None:  # fmt: skip
        super().__init__()
        self._look = look
        self._marks = marks
        self._list = Static()
        self.chosen = -1
        """Which bookmark is marked, -1: none."""
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
            yield self._list

    def on_mount(self) -> None:
        """Ready to be typed at."""
        first, last = clock(self._first_us), clock(self._present_us())
        self._tell(f"a time from {first} to {last}: 12.5s, 1m or 00:12.5; esc", "text")
        self._show()
        self._prompt.focus()

    def action_choose(self, marks: int) -> None:
        """Mark another bookmark; above the first one there is none."""
        self.chosen = max(-1, min(self.chosen + marks, len(self._marks) - 1))
        self._show()

    def on_input_changed(self, _message: Input.Changed) -> None:
        """What is typed goes before what is marked."""
        self.chosen = -1
        self._show()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go there, or say what is wrong."""
        if self.chosen >= 0:
            self.dismiss(self._marks[self.chosen])
            return
        try:
            self.dismiss(instant_us(message.value.strip(), self._first_us, self._present_us()))
        except InstantError as error:
            self._tell(str(error), "warning")

    def action_leave(self) -> None:
        """Stay where we are."""
        self.dismiss(None)

    def spots(self) -> list[Place]:
        """The bookmarks in sight."""
        left, top = self._list.region.offset
        shown = range(self._start, min(self._start + MOST, len(self._marks)))
        return [Place(left, top + 1 + at - self._start, "bookmark", str(at)) for at in shown]

    def go_to_spot(self, place: Place) -> None:
        """Mark that one."""
        self.chosen = int(place.key)
        self._show()

    @property
    def _start(self) -> int:
        """The first bookmark that is shown."""
        return max(0, min(self.chosen - MOST // 2, len(self._marks) - MOST))

    def _show(self) -> None:
        """The bookmarks around the marked one."""
        start = self._start
        lines = []
        for at, mark in enumerate(self._marks[start : start + MOST], start):
            here = at == self.chosen
            lines.append(self._styled(f"{glyphs.MARKER if here else ' '} {mark.words}", "strong" if here else "text"))
        heading = (
            [self._styled(self.keyed("bookmarks: {to_time_up} {to_time_down} mark one, enter goes there"), "quiet")]
            if lines
            else []
        )
        self._list.update(Content("\n").join([*heading, *lines]))

    def _tell(self, text: str, role: str) -> None:
        self._page.update(self._styled(text, role))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
