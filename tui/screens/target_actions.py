"""Actions of the main screen on a target: typed commands, going to a target, and injecting faults."""

from typing import TYPE_CHECKING

from cluster_model.observation import PartitionView
from faults.catalogue import CATALOGUE
from faults.declarations import Action, FaultError, selector_of
from tui.screens.fault_sheet import Sheets
from tui.screens.main_keys import Forking
from tui.terminal import glyphs
from tui.terminal.format import speed
from tui.viewmodel import status_bar

if TYPE_CHECKING:
    from tui.session.typed_commands import Place, Typed


# Typed commands of the main screen.


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
        from tui.session.typed_commands import place_in  # noqa: PLC0415 - first paint does without it

        view = self.bridge.view
        return place_in(self.bridge.session, view, aimed=self.foremost().selector())

    async def told(self, typed: "Typed") -> str:
        """Do what a line stands for; why not, where it was refused."""
        from tui.session.typed_commands import Act, Go, Play, Press, Speed  # noqa: PLC0415 - first paint does without it

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


# Shows what was named: a partition, a broker, an offset, a client.


class Showing(Commanded):
    """A screen with a matrix, whose cursor goes to what is named."""

    @property
    def partition(self) -> PartitionView | None:
        """The one under the cursor, None where there is none."""
        partitions = self.bridge.view.partitions
        return partitions[min(self.matrix.cursor[0], len(partitions) - 1)] if partitions else None

    def show_partition(self, name: str) -> None:
        """On the main screen, the cursor on it and on its leader."""
        self.action_mode("cluster")
        self._point_at(name)

    def show_broker(self, broker: int) -> None:
        """On the main screen, the cursor on it."""
        self.action_mode("cluster")
        ids = [each.id for each in self.bridge.view.brokers]
        if broker in ids:
            self.matrix.place(self.matrix.cursor[0], ids.index(broker))
            self.present()

    def show_offset(self, name: str, offset: int) -> None:
        """In the log, the cursor on it in the leader's lane."""
        self._point_at(name)
        self.action_mode("log")
        log = self.app.screen
        if hasattr(log, "microscope"):
            log.microscope.go(offset)
            self.call_after_refresh(log.present)  # type: ignore[attr-defined]

    def show_client(self, name: str) -> None:
        """Among the clients, the first line its own."""
        self.action_mode("clients")
        clients = self.app.screen
        if hasattr(clients, "point_at"):
            clients.point_at(name)

    def _point_at(self, name: str) -> None:
        """Nothing happens where it is gone by now."""
        view = self.bridge.view
        ids = [each.id for each in view.brokers]
        for row, partition in enumerate(view.partitions):
            if partition.name == name:
                leads = ids.index(partition.leader) if partition.leader in ids else self.matrix.cursor[1]
                self.matrix.place(row, leads)
                self.present()


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
        nodes = [
            (each.node, status_bar.short(each.name, each.node)) for each in view.controllers if each.node not in ids
        ]
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
