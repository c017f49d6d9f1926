"""Playbooks of the library, to be started in place of the session on the screen."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from playbooks.library.shelf import shelf
from tui.offers import Offer, Offers
from tui.screens.cluster import MainScreen
from tui.session.playbook_choice import RefusedError, playbook_wish

if TYPE_CHECKING:
    from tui.app import FloodmarkApp


class PlaybookProvider(Offers):
    """By name, title and tags; those that are stepped by hand have no time to play."""

    async def startup(self) -> None:
        """Read their heads, which takes half a second the first time, while somebody types."""
        await asyncio.to_thread(shelf)

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """The whole shelf."""
        for each in shelf():
            if not each.manual:
                words = f"playbook {each.name} {' '.join(each.tags)}".rstrip()
                yield Offer(words, each.title, partial(self._start, main, each.name))

    def _start(self, main: MainScreen, name: str) -> None:
        try:
            wish = playbook_wish(name)
        except RefusedError as error:
            main.toast(str(error), "warning")
        else:
            cast("FloodmarkApp", self.app).leave_for(wish)
