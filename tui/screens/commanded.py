"""The line of commands of the main screen: where it is opened, and what comes of a line."""

from typing import TYPE_CHECKING

from faults.declarations.action import Action
from tui.screens.fault_sheet import Sheets
from tui.screens.main_keys import Forking
from tui.terminal.format import speed

if TYPE_CHECKING:
    from tui.session.typed_commands import Place, Typed


class Commanded(Forking):
    """A screen that can be told what to do by typed lines."""

    typed_before: tuple[str, ...] = ()
    """Lines that were typed, the oldest first."""

    def foremost(self) -> Sheets:
        """The uppermost screen on which something can be selected, this one or a mode over it."""
        return next(each for each in reversed(self.app.screen_stack) if isinstance(each, Sheets))

    def action_command(self) -> None:
        """Open the line of commands."""
        self.open_command()

    def open_command(self, text: str = "", back: int = 0) -> None:
        """Open it with something typed already, the cursor so many characters before its end."""
        from tui.screens.command_line import CommandScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display and self.bridge.view.brokers:
            self.app.push_screen(CommandScreen(self.look, self, text, back))

    def place(self) -> "Place":
        """What a line can speak of now."""
        from tui.session.placing import place_in  # noqa: PLC0415 - first paint does without it

        view = self.bridge.view
        return place_in(self.bridge.session, view, aimed=self.foremost().selector())

    async def told(self, typed: "Typed") -> str:
        """Do what a line stands for; why not, where it was refused."""
        from tui.session.typed_commands import (
            Act,  # noqa: PLC0415 - first paint does without it
            Go,  # noqa: PLC0415 - first paint does without it
            Play,  # noqa: PLC0415 - first paint does without it
            Press,  # noqa: PLC0415 - first paint does without it
            Speed,  # noqa: PLC0415 - first paint does without it
        )

        if isinstance(typed, Act):
            self.foremost().arrive()
            refused = self._act(typed.actions)
            if not refused:
                self.foremost().done()
            return refused
        if isinstance(typed, Press):
            await self.run_action(next(key.action for key in self.keys if key.id == typed.id))
        elif isinstance(typed, Go):
            self.go_to(typed.at_us)
        elif isinstance(typed, Play):
            self.bridge.pause(False)
            self._moved()
        elif isinstance(typed, Speed):
            self.toast(f"speed ×{speed(self.bridge.set_speed(typed.speed))}")
            self._moved()
        return ""

    def _act(self, actions: tuple[Action, ...]) -> str:
        refused = ""
        for action in actions:
            refused = self.acted(action)
            if refused or self.bridge.growing is not None:
                break
        return refused
