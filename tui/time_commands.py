"""What the command palette offers of time: ``go 00:44`` to any instant, and the bookmarks."""

from typing import Final

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.commands import main_of
from tui.screens.main import MainScreen
from tui.viewmodel.bookmarks import Bookmark
from tui.viewmodel.instant import InstantError, instant_us
from tui.viewmodel.words import clock

GO: Final = "go "


class TimeProvider(Provider):
    """Instants to go to."""

    async def discover(self) -> Hits:
        """The bookmarks."""
        for mark in self._marks():
            yield DiscoveryHit(f"{GO}{mark.words}", lambda mark=mark: self._go(mark), help="bookmark")

    async def search(self, query: str) -> Hits:
        """A time that was typed, and the bookmarks whose words match."""
        screen = main_of(self.screen)
        if screen is None:
            return
        at_us = self._typed(screen, query)
        if at_us >= 0:
            yield Hit(1.0, f"{GO}{clock(at_us)}", lambda: screen.go_to(at_us), help="show this instant")
        matcher = self.matcher(query)
        for mark in self._marks():
            words = f"{GO}{mark.words}"
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, matcher.highlight(words), lambda mark=mark: self._go(mark), help="bookmark")

    @staticmethod
    def _typed(screen: MainScreen, query: str) -> int:
        """The instant that ``go 00:44`` names, -1 for anything else."""
        if not query.startswith(GO):
            return -1
        session = screen.bridge.session
        try:
            return instant_us(query.removeprefix(GO).strip(), session.timeline.first_us, session.present_us)
        except InstantError:
            return -1

    def _marks(self) -> list[Bookmark]:
        main = main_of(self.screen)
        return [] if main is None else list(main.bookmarks)

    def _go(self, mark: Bookmark) -> None:
        if (main := main_of(self.screen)) is not None:
            main.go_to_bookmark(mark)
