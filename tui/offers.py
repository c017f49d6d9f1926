"""A provider of the palette over a list of offers: words, what they mean, and what is done."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Final

from textual.command import Hit, Hits, Provider
from textual.screen import Screen

from tui.screens.base import ModeScreen
from tui.screens.cluster import MainScreen

MOST_OFFERS: Final = 4_000
"""More are not looked through with every letter."""
MOST_HITS: Final = 40
FIRST: Final = 100.0
"""What is worth more than any match."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One line of the palette."""

    words: str
    about: str
    run: Callable[[], Any]


def main_of(screen: Screen[Any]) -> MainScreen | None:
    """The main screen, where the palette stands over it or over a mode; None over any other page."""
    found = screen.app.screen_stack[0] if isinstance(screen, ModeScreen) else screen
    return found if isinstance(found, MainScreen) and found.bridge.view.brokers else None


class Offers(Provider):
    """Those whose words match, the best first; a provider of these adds :meth:`offers`."""

    WORTH: ClassVar[float] = 0.5
    """What a match is worth beside one among faults and keys, which are what people look for most."""

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """Everything that there is."""
        del main
        return ()

    def answers(self, main: MainScreen, query: str) -> Iterator[Offer]:
        """What is meant by the query and stands in no list."""
        del main, query
        yield from ()

    async def search(self, query: str) -> Hits:
        """The best."""
        main = main_of(self.screen)
        if main is None:
            return
        for offer in self.answers(main, query):
            yield Hit(FIRST, offer.words, offer.run, help=offer.about)
        matcher = self.matcher(query)
        found = [(matcher.match(each.words), each) for each in islice(self.offers(main), MOST_OFFERS)]
        found = sorted([pair for pair in found if pair[0] > 0], key=lambda pair: -pair[0])
        for score, offer in found[:MOST_HITS]:
            yield Hit(score * self.WORTH, matcher.highlight(offer.words), offer.run, help=offer.about)
