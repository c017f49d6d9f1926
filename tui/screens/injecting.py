"""What the fault sheet can do beside acting at once: set parameters, and have a fault wait for time to go on."""

from faults.action import Action
from faults.catalogue import CATALOGUE
from faults.fault import FaultError
from faults.selectors import selector_of
from tui import glyphs
from tui.screens.showing import Showing
from tui.widgets.whichkey import WhichKey

RUNNING = "time goes on, so nothing waits: a letter injects at once"


class Injecting(Showing):
    """A screen with a fault sheet."""

    def on_which_key_edited(self, message: WhichKey.Edited) -> None:
        """Enter: the form of the marked fault."""
        from tui.screens.fault_form import FaultForm  # noqa: PLC0415 - first paint does without it

        fault = message.fault
        self.app.push_screen(FaultForm(self.look, self, fault, self.aimed(fault.name, self.target)))

    def on_which_key_queued(self, message: WhichKey.Queued) -> None:
        """Space: the marked fault waits; backspace: the last one that waits does not."""
        if message.fault is None:
            self.bridge.queued = self.bridge.queued[:-1]
        else:
            fault = message.fault
            target = self.aimed(fault.name, self.target)
            refused = self.queued(Action("inject", fault.name, target, for_us=fault.usual_for_us))
            if refused:
                self.toast(refused, "warning")
        self.present()

    def aimed(self, name: str, node: int) -> str:
        """The target by which a fault strikes a node, or its own where it cannot mean that node."""
        client = next((each.name for each in self.bridge.view.clients if each.node == node), "")
        return self.bridge.session.board.own_target(name, node) or selector_of(node, client)

    def injected(self, action: Action) -> str:
        """Inject a fault of the form now; why not, where it was refused."""
        refused = self.acted(action)
        if not refused:
            self.close_sheet()
        return refused

    def queued(self, action: Action) -> str:
        """Have a fault wait for time to go on; why not, where it cannot."""
        if not self.bridge.paused:
            return RUNNING
        try:
            self.bridge.queue(action)
        except FaultError as error:
            return f"refused: {error}"
        self._moved()
        return ""

    def queue_words(self) -> str:
        """What waits, for the title of the sheet; or that time goes on."""
        waiting = self.bridge.queued
        if not waiting:
            return "" if self.bridge.paused else f" {glyphs.NOTHING} time goes on"
        last = f"{CATALOGUE[waiting[-1].name].title} {waiting[-1].target}"
        return f" {glyphs.NOTHING} {len(waiting)} waiting, last {last} (backspace)"

    def close_sheet(self) -> None:
        """Put the sheet away."""
