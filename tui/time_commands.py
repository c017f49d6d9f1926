"""What the command palette offers of time: ``go 00:44`` to any instant, and the bookmarks."""

from functools import partial
from typing import Final

from textual.command import Hit, Hits, Provider

from tui.offers import FIRST, main_of
from tui.screens.cluster import MainScreen
from tui.terminal.format import clock
from tui.terminal.instant import InstantError, instant_us

GO: Final = "go "


class TimeProvider(Provider):
    """Instants to go to."""

    async def search(self, query: str) -> Hits:
        """A time that was typed, and the bookmarks whose words match."""
        screen = main_of(self.screen)
        if screen is None:
            return
        at_us = self._typed(screen, query)
        if at_us >= 0:
            yield Hit(FIRST, f"{GO}{clock(at_us)}", lambda: screen.go_to(at_us), help="show this instant")
        matcher = self.matcher(query)
        for mark in screen.bookmarks:
            words = f"{GO}{mark.words}"
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, matcher.highlight(words), partial(screen.go_to_bookmark, mark), help="bookmark")

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
