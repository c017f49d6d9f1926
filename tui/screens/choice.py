"""A list over the main screen, one line of which is chosen by the arrows. The session goes on behind it."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tui.screens.live import LiveScreen
from tui.screens.reachable import Reachable
from tui.terminal.theme import Look, Over
from tui.viewmodel.jump import Place

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

    def spots(self) -> list[Place]:
        """The lines of the list that are in sight."""
        first = self._page.region.y + (2 if self.head(self._width) else 1)
        seen = self._scroll.region
        lines = range(len(self.lines(self._width)))
        return [Place(seen.x, first + at, "line", str(at)) for at in lines if seen.y <= first + at < seen.bottom]

    def go_to_spot(self, place: Place) -> None:
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
