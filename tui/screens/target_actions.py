"""Acting on a target: at once, as a form was filled in, or as soon as time goes on; by a sheet on any screen."""

from faults.catalogue import CATALOGUE
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from faults.declarations.targets import selector_of
from tui.screens.showing import Showing
from tui.terminal import glyphs
from tui.viewmodel import control

RUNNING = "time goes on, so nothing waits: a letter injects at once"
MOST_CLIENTS = 100
"""More are not offered as targets."""


class Injecting(Showing):
    """A screen that does what sheets and forms ask for."""

    @property
    def broker_under_cursor(self) -> int:
        """Id of the broker under the cursor."""
        return self.bridge.view.brokers[self.matrix.cursor[1]].id

    def targets(self) -> tuple[tuple[int, str], ...]:
        """Whom a fault can be aimed at, with short names: brokers, other nodes of the control plane, clients."""
        view = self.bridge.view
        brokers = [(each.id, f"b{each.id}") for each in view.brokers]
        ids = [broker for broker, _name in brokers]
        nodes = [(each.node, control.short(each.name, each.node)) for each in view.controllers if each.node not in ids]
        return (*brokers, *nodes, *[(each.node, each.name) for each in view.clients[:MOST_CLIENTS]])

    def inject(self, name: str, node: int) -> None:
        """Inject a fault on a node, now; a refusal is a toast with its reason."""
        client = next((each.name for each in self.bridge.view.clients if each.node == node), "")
        target = self.bridge.session.board.own_target(name, node) or selector_of(node, client)
        self.do(Action("inject", name, target, for_us=CATALOGUE[name].usual_for_us))

    def do(self, action: Action) -> None:
        """Act, and say what came of it."""
        if refused := self.acted(action):
            self.toast(refused, "warning")

    def action_heal(self) -> None:
        """Heal everything."""
        if self.bridge.view.faults:
            self.do(Action("heal", "all"))
        else:
            self.toast("nothing to heal: no faults are active")

    def injected(self, action: Action) -> str:
        """Inject a fault of the form now; why not, where it was refused."""
        sheets = self.foremost()
        refused = self.acted(action)
        if not refused:
            sheets.close_sheet()
            sheets.done()
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
