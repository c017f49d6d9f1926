"""What every screen of panes can do: choose one, give it the whole room, jump to what is in sight, copy."""

from typing import Any

from textual import events
from textual.screen import Screen

from tui.terminal.theme import Look
from tui.viewmodel.jump import Place
from tui.widgets.panes import Pane

CHOSEN = "-chosen"
COPIED = 60
"""So much of what was copied is told."""


class Paned(Screen[Any]):
    """A screen of panes; the first one is chosen until another is."""

    look: Look
    maximised = ""
    """Id of the pane that has the whole room, empty while all have some."""
    chosen_pane = ""
    """Id of the pane that was chosen, empty for the first one."""

    def panes(self) -> list[Pane]:
        """Those in sight, in the order in which they are read."""
        found = [pane for pane in self.query(Pane) if pane.id != "coach-pane" and pane.region.area]
        return sorted(found, key=lambda pane: (pane.region.y, pane.region.x))

    @property
    def pane(self) -> Pane | None:
        """The chosen one, None where there is none in sight."""
        panes = self.panes()
        return next((pane for pane in panes if pane.id == self.chosen_pane), panes[0] if panes else None)

    def choose_pane(self, name: str) -> None:
        """Choose the pane of an id."""
        self.chosen_pane = name
        for pane in self.query(Pane):
            pane.set_class(pane.id == name, CHOSEN)

    def action_pane(self, steps: int) -> None:
        """The next pane, or the one before."""
        panes, pane = self.panes(), self.pane
        if pane is not None and not self.maximised:
            self.choose_pane(panes[(panes.index(pane) + steps) % len(panes)].id or "")

    def on_click(self, event: events.Click) -> None:
        """A click chooses the pane, beside what else it does."""
        inside = event.widget.ancestors_with_self if event.widget is not None else ()
        pane = next((each for each in inside if isinstance(each, Pane)), None)
        if pane is not None and pane in self.panes():
            self.choose_pane(pane.id or "")

    # -- the whole room ---------------------------------------------------------------------------------------------

    def action_maximise(self) -> None:
        """Give the chosen pane the whole room, or all of them theirs again."""
        if self.minimised():
            return
        pane = self.pane
        if pane is not None:
            self.maximised = pane.id or ""
            self.choose_pane(self.maximised)
            self.lay_out()

    def minimised(self) -> bool:
        """Give every pane its room again; False where it has it."""
        if not self.maximised:
            return False
        self.maximised = ""
        self.lay_out()
        return True

    def lay_out(self) -> None:
        """Share the room out anew."""

    # -- jumping ----------------------------------------------------------------------------------------------------

    def places(self) -> list[Place]:
        """What can be gone to, beside the panes."""
        return []

    def go_to_place(self, place: Place) -> None:
        """Go to one of them."""

    def action_jump(self) -> None:
        """Put letters over everything that can be gone to."""
        from tui.screens.jump import JumpScreen  # noqa: PLC0415 - first paint does without it

        panes = [Place(pane.region.x + 1, pane.region.y, "pane", pane.id or "") for pane in self.panes()]
        places = [*panes, *self.places()]
        if places:
            self.app.push_screen(JumpScreen(self.look, places, self._jumped_to))

    def _jumped_to(self, place: Place) -> None:
        if place.kind == "pane":
            self.choose_pane(place.key)
        else:
            self.go_to_place(place)

    # -- copying ----------------------------------------------------------------------------------------------------

    def under_cursor(self) -> tuple[str, str]:
        """What it is, and its text, where the chosen pane has a cursor; nothing otherwise."""
        return "", ""

    def action_yank(self) -> None:
        """Copy what is under the cursor, or else all that the chosen pane shows."""
        what, text = self.under_cursor()
        pane = self.pane
        if not text and pane is not None:
            what, text = f"the pane: {pane.heading}", pane.text()
        if not text.strip():
            self.app.notify("there is nothing here to copy", severity="warning", markup=False)
            return
        self.app.copy_to_clipboard(text)
        told = f"copied {what}"
        self.app.notify(self.look.text(told if len(told) <= COPIED else f"{told[: COPIED - 1]}…"), markup=False)
