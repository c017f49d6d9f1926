"""How the screen looks: themes and glyphs by name. Modes and panes are among the keys."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tui.glyphs import choose
from tui.palette.offers import Offer, Offers
from tui.screens.main import MainScreen
from tui.settings.schema import OPTIONS
from tui.theme import Look, ThemeName

if TYPE_CHECKING:
    from tui.app import FloodmarkApp


class ViewProvider(Offers):
    """Choices of the settings that are about looks; as there, they hold until the program ends unless written."""

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """Every choice."""
        del main
        for option in OPTIONS:
            if option.name in ("theme", "glyphs"):
                for choice in option.choices:
                    yield Offer(f"view {option.name} {choice}", option.words, partial(self._set, option.name, choice))

    def _set(self, name: str, choice: str) -> None:
        app = cast("FloodmarkApp", self.app)
        changed: dict[str, Any] = {"theme": app.look.theme, name: choice}
        app.settings = wanted = replace(app.settings, **changed)
        app.set_look(Look(colour=app.look.colour, glyphs=choose(wanted.glyphs), theme=cast("ThemeName", wanted.theme)))
