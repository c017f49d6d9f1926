"""What the main screen does to a target: typed commands, going to a target, and injecting faults."""

from typing import TYPE_CHECKING, Final

from faults.catalogue import CATALOGUE
from faults.declarations import Action, FaultError, selector_of
from tui.keybindings.keymap import key_of
from tui.terminal import glyphs
from tui.terminal.format import speed
from tui.viewmodel import status_bar

if TYPE_CHECKING:
    from tui.screens.cluster import MainScreen
    from tui.session.typed_commands import CommandContext, Typed

RUNNING: Final = "time goes on, so nothing waits: a letter injects at once"
MOST_CLIENTS: Final = 100
"""More are not offered as targets."""


class FaultOperator:
    """Injects, queues and heals faults for the main screen and the sheets and forms over it."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._bridge = screen.bridge

    def targets(self) -> tuple[tuple[int, str], ...]:
        """Whom a fault can be aimed at, with short names: brokers, other nodes of the control plane, clients."""
        view = self._bridge.view
        brokers = [(each.id, f"b{each.id}") for each in view.brokers]
        ids = [broker for broker, _name in brokers]
        nodes = [
            (each.node, status_bar.short(each.name, each.node)) for each in view.controllers if each.node not in ids
        ]
        return (*brokers, *nodes, *[(each.node, each.name) for each in view.clients[:MOST_CLIENTS]])

    def inject(self, name: str, node: int) -> None:
        """Inject a fault on a node, now; a refusal is a toast with its reason."""
        client = next((each.name for each in self._bridge.view.clients if each.node == node), "")
        target = self._bridge.session.board.own_target(name, node) or selector_of(node, client)
        self.do(Action("inject", name, target, for_us=CATALOGUE[name].usual_for_us))

    def do(self, action: Action) -> None:
        """Act, and say what came of it."""
        if refused := self.act(action):
            self._screen.toast(refused, "warning")

    def act(self, action: Action) -> str:
        """Do what is asked, and say what came of it; why not, where it was refused. In the past a branch begins."""
        refused = ""
        try:
            told = self._bridge.act(action)
            if told:
                self._screen.toast(f"{told} {glyphs.NOTHING} {key_of('undo', self._screen.keys)}: undo")
        except FaultError as error:
            refused = f"refused: {error}"
        self._screen.moved()
        self._screen.branches.branched()
        return refused

    def heal(self) -> None:
        """Heal everything."""
        if self._bridge.view.faults:
            self.do(Action("heal", "all"))
        else:
            self._screen.toast("nothing to heal: no faults are active")

    def injected(self, action: Action) -> str:
        """Inject a fault of the form now; why not, where it was refused."""
        sheets = self._screen.foremost()
        refused = self.act(action)
        if not refused:
            sheets.close_sheet()
            sheets.done()
        return refused

    def queued(self, action: Action) -> str:
        """Have a fault wait for time to go on; why not, where it cannot."""
        if not self._bridge.paused:
            return RUNNING
        try:
            self._bridge.queue(action)
        except FaultError as error:
            return f"refused: {error}"
        self._screen.moved()
        return ""

    def queue_words(self) -> str:
        """What waits, for the title of the sheet; or that time goes on."""
        waiting = self._bridge.queued
        if not waiting:
            return "" if self._bridge.paused else f" {glyphs.NOTHING} time goes on"
        last = f"{CATALOGUE[waiting[-1].name].title} {waiting[-1].target}"
        return f" {glyphs.NOTHING} {len(waiting)} waiting, last {last} (backspace)"


class TargetNavigator:
    """Goes to what is named: a partition, a broker, an offset, a client."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._bridge = screen.bridge

    def show_partition(self, name: str) -> None:
        """On the main screen, the cursor on it and on its leader."""
        self._screen.action_mode("cluster")
        self._point_at(name)

    def show_broker(self, broker: int) -> None:
        """On the main screen, the cursor on it."""
        self._screen.action_mode("cluster")
        ids = [each.id for each in self._bridge.view.brokers]
        if broker in ids:
            self._screen.matrix.place(self._screen.matrix.cursor[0], ids.index(broker))
            self._screen.present()

    def show_offset(self, name: str, offset: int) -> None:
        """In the log, the cursor on it in the leader's lane."""
        self._point_at(name)
        self._screen.action_mode("log")
        log = self._screen.app.screen
        if hasattr(log, "microscope"):
            log.microscope.go(offset)
            self._screen.call_after_refresh(log.present)  # type: ignore[attr-defined]

    def show_client(self, name: str) -> None:
        """Among the clients, the first line its own."""
        self._screen.action_mode("clients")
        clients = self._screen.app.screen
        if hasattr(clients, "point_at"):
            clients.point_at(name)

    def _point_at(self, name: str) -> None:
        """Nothing happens where it is gone by now."""
        view = self._bridge.view
        ids = [each.id for each in view.brokers]
        for row, partition in enumerate(view.partitions):
            if partition.name == name:
                leads = ids.index(partition.leader) if partition.leader in ids else self._screen.matrix.cursor[1]
                self._screen.matrix.place(row, leads)
                self._screen.present()


class CommandRunner:
    """Opens the line of typed commands, and does what they say."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._bridge = screen.bridge
        self.typed_before: tuple[str, ...] = ()
        """Lines that were typed, the oldest first."""

    def open_command(self, text: str = "", back: int = 0) -> None:
        """Open it with something typed already, the cursor so many characters before its end."""
        from tui.screens.command_line import CommandScreen  # noqa: PLC0415 - first paint does without it

        if not self._screen.toosmall.display and self._bridge.view.brokers:
            self._screen.app.push_screen(CommandScreen(self._screen.look, self._screen, text, back))

    def place(self) -> "CommandContext":
        """What a line can speak of now."""
        from tui.session.typed_commands import place_in  # noqa: PLC0415 - first paint does without it

        view = self._bridge.view
        return place_in(self._bridge.session, view, aimed=self._screen.foremost().selector())

    async def run(self, typed: "Typed") -> str:
        """Do what a line stands for; why not, where it was refused."""
        from tui.session.typed_commands import Act, Go, Play, Press, Speed  # noqa: PLC0415 - first paint does without it

        if isinstance(typed, Act):
            self._screen.foremost().arrive()
            refused = self._act(typed.actions)
            if not refused:
                self._screen.foremost().done()
            return refused
        if isinstance(typed, Press):
            await self._screen.press(typed.id)
        elif isinstance(typed, Go):
            self._screen.go_to(typed.at_us)
        elif isinstance(typed, Play):
            self._bridge.pause(False)
            self._screen.moved()
        elif isinstance(typed, Speed):
            self._screen.toast(f"speed ×{speed(self._bridge.set_speed(typed.speed))}")
            self._screen.moved()
        return ""

    def _act(self, actions: tuple[Action, ...]) -> str:
        refused = ""
        for action in actions:
            refused = self._screen.operator.act(action)
            if refused or self._bridge.growing is not None:
                break
        return refused
