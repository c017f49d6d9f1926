"""The line of commands of the main screen: where it is opened, and what comes of a line."""

from faults.action import Action
from faults.fault import FaultError
from playbooks.reading.live import facts_of
from tui.screens.forking import Forking
from tui.screens.sheets import Sheets
from tui.typed.language import Act, Go, Place, Play, Press, Speed, Typed, facts_now
from tui.viewmodel.words import speed


class Commanded(Forking):
    """A screen that can be told what to do by typed lines."""

    typed_before: tuple[str, ...] = ()
    """Lines that were typed, the oldest first."""

    def foremost(self) -> Sheets:
        """The uppermost screen on which something can be selected, this one or a mode over it."""
        return next(each for each in reversed(self.app.screen_stack) if isinstance(each, Sheets))

    def action_command(self) -> None:
        """Open the line of commands."""
        from tui.screens.command import CommandScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display and self.bridge.view.brokers:
            self.app.push_screen(CommandScreen(self.look, self))

    def place(self) -> Place:
        """What a line can speak of now."""
        session, view = self.bridge.session, self.bridge.view
        return Place(
            facts_now(facts_of(session.cluster.spec), view), tuple(each.name for each in view.clients), self._is_down,
            self.foremost().selector(), session.timeline.first_us, session.present_us,
        )  # fmt: skip

    async def told(self, typed: Typed) -> str:
        """Do what a line stands for; why not, where it was refused."""
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

    def _is_down(self, target: str) -> bool:
        """Whether all that a target means is down; what means nobody is not."""
        view = self.bridge.view
        down = [each.id for each in view.brokers if each.state == "down"]
        down += [each.node for each in view.controllers if each.role == "down"]
        down += [each.node for each in view.clients if each.state == "down"]
        try:
            nodes = self.bridge.session.board.targets(target)
        except FaultError:
            return False
        return bool(nodes) and all(node in down for node in nodes)
