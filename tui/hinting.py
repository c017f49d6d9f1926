"""Explains a word of Kafka the first time that somebody rests on it, and never again."""

from typing import TYPE_CHECKING, Final

from textual.geometry import Region
from textual.timer import Timer

from tui.keybindings.keymap import word_of as key_word
from tui.settings.seen_words import SeenWords
from tui.viewmodel.glossary import term
from tui.viewmodel.hint_words import word_at
from tui.widgets.line_widget import LineGrid

if TYPE_CHECKING:
    from tui.app import FloodmarkApp

REST_S: Final = 0.5
"""How long the pointer rests on a word before it is explained."""
STANDS_S: Final = 12.0
"""How long an explanation stands on the screen."""


class Hinting:
    """Follows the pointer, and the cursor of the matrix."""

    def __init__(self, app: "FloodmarkApp", seen: SeenWords) -> None:
        self._app = app
        self._seen = seen
        self._word = ""
        self._timer: Timer | None = None

    def moved(self, x: int, y: int) -> None:
        """The pointer is there now."""
        word = self._under(x, y)
        if word == self._word:
            return
        self._word = word
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._wants(word):
            self._timer = self._app.set_timer(REST_S, self.rested)

    def rested(self) -> None:
        """It has rested long enough."""
        self.looked_at(self._word)

    def looked_at(self, word: str) -> None:
        """Explain a word, unless that was done before or is not wanted."""
        if not self._wants(word):
            return
        self._seen.add(word)
        keys = self._app.main.keys
        more = f"{key_word('help', keys)}, g: all words; {key_word('settings', keys)}: no more of these"
        self._app.main.toast(f"{word}: {term(word).meaning} ({more})", seconds=STANDS_S)

    def _wants(self, word: str) -> bool:
        return bool(word) and self._app.settings.hints and word not in self._seen

    def _under(self, x: int, y: int) -> str:
        screen = self._app.screen
        if not screen.region.contains(x, y):
            return ""
        widget, region = screen.get_widget_at(x, y)
        if not isinstance(widget, LineGrid):
            return ""
        (line,) = widget.render_lines(Region(0, y - region.y, region.width, 1))
        return word_at("".join(segment.text for segment in line), x - region.x)
