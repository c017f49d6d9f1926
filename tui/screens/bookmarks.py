"""The bookmarks of a session: a list to go to one of them."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from tui.keybindings.keymap import KEYS, Key, word_of
from tui.keybindings.scopes import bindings_of
from tui.screens.choice import ChoiceScreen, Piece
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel.timeline.bookmarks import Bookmark, Bookmarks


class BookmarksScreen(ChoiceScreen):
    """``go`` is told which, after the list is gone."""

    TITLE_WORDS = "Bookmarks"
    KEYS_WORDS = f"{{marks_take}}: go there {glyphs.NOTHING} {{marks_forget}}: forget it {glyphs.NOTHING} esc"
    SCOPE = "marks"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("marks")

    def __init__(
        self, look: Look, marks: Bookmarks, go: Callable[[Bookmark], None], keys: Sequence[Key] = KEYS
    ) -> None:  # fmt: skip
        super().__init__(look)
        self._keys = keys
        self._marks = marks
        self._go = go

    def lines(self, width: int) -> list[list[Piece]]:
        """A bookmark each."""
        return [
            [
                (f"{glyphs.MARKER if at == self.chosen else ' '} ", "key"),
                (f"{self._marks[at].words:<{width - 2}}", "text"),
            ]
            for at in range(len(self._marks))
        ]

    def foot(self, width: int) -> str:
        """What there is to say."""
        none = f"no bookmarks yet: {word_of('bookmark', self._keys)} puts one at the instant on the screen"
        return "kept until you quit" if self._marks else none

    def action_take(self) -> None:
        """Go there."""
        if self._marks:
            mark = self._marks[self.chosen]
            self.dismiss()
            self._go(mark)

    def action_forget(self) -> None:
        """Take it out of the list."""
        if self._marks:
            self._marks.drop(self._marks[self.chosen])
            self.action_choose(0)
