"""The line at the bottom in which a filter is typed; nothing is swallowed by it once it is closed."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tui.keybindings.scopes import bindings_of


class FilterBar(Horizontal):
    """What is typed filters at once; enter keeps it, escape drops it, and the arrows move in what is left."""

    class Typed(Message):
        """Other words."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Left(Message):
        """It is closed: with the words kept, or dropped."""

        def __init__(self, *, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    class Stepped(Message):
        """Up or down by so many lines."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("words")

    def __init__(self, hint: str) -> None:
        super().__init__(id="filterbar")
        self._prompt = Input(placeholder=hint, id="filter-prompt", select_on_focus=False)

    def compose(self) -> ComposeResult:
        """The key, and what is typed behind it."""
        yield Static(" /")
        yield self._prompt

    def open(self, words: str) -> None:
        """Go on with the words that there are."""
        self._prompt.value = words
        self._prompt.cursor_position = len(words)
        self.display = True
        self._prompt.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Say so."""
        message.stop()
        if self.display:
            self.post_message(self.Typed(message.value))

    def action_leave(self, kept: bool) -> None:
        """Close it."""
        self.display = False
        self.post_message(self.Left(kept=kept))

    def action_step(self, lines: int) -> None:
        """Move in what is left."""
        self.post_message(self.Stepped(lines))
