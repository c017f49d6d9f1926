"""What every page over the screen can do beside its own: jump by letters, the line of commands, help about itself."""

from typing import Any, ClassVar

from textual.screen import Screen
from textual.widget import Widget

from tui.keybindings.keymap import Key, with_keys
from tui.keybindings.scopes import in_force
from tui.terminal.theme import Look
from tui.viewmodel.jump import Place

FOCUS = "focus"
"""Kind of the places that take what is typed, or scroll."""


class Reachable(Screen[Any]):
    """A page; it adds its own places by :meth:`spots`."""

    SCOPE: ClassVar[str] = ""
    """Its name in :data:`tui.keybindings.scopes.SCOPES`."""

    @property
    def keys_in_force(self) -> tuple[Key, ...]:
        """All keys, with those that the user has otherwise."""
        return in_force(self.app)

    def keyed(self, text: str) -> str:
        """``text`` with the key of an action where its id stands in braces."""
        return with_keys(text, self.keys_in_force)

    async def action_main(self, action: str) -> None:
        """A key that is the main screen's."""
        await self.app.screen_stack[0].run_action(action)

    # -- jumping ----------------------------------------------------------------------------------------------------

    def spots(self) -> list[Place]:
        """What the page has to go to, beside what can be focused."""
        return []

    def go_to_spot(self, place: Place) -> None:
        """Go to one of them."""

    def _focusable(self) -> list[Widget]:
        found = [each for each in self.walk_children(Widget) if each.focusable and each.region.area]
        return sorted(found, key=lambda each: (each.region.y, each.region.x))

    def action_jump(self) -> None:
        """Put letters over everything that can be gone to."""
        from tui.screens.jump import JumpScreen  # noqa: PLC0415 - first paint does without it

        found = self._focusable()
        places = [Place(each.region.x, each.region.y, FOCUS, str(at)) for at, each in enumerate(found)]
        places += self.spots()

        def go(place: Place) -> None:
            if place.kind == FOCUS:
                found[int(place.key)].focus()
            else:
                self.go_to_spot(place)

        if places:
            look: Look = self.app.look  # type: ignore[attr-defined]
            self.app.push_screen(JumpScreen(look, places, go))
        else:
            self.notify("there is nothing here to go to", markup=False)
