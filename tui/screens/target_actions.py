"""Actions of the main screen on targets: fault injection, navigation, typed commands."""

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

RUNNING: Final = "faults are queued only while paused; a letter injects at once"
MOST_CLIENTS: Final = 100
"""Maximum number of clients offered as targets."""


class FaultOperator:
    """Injects, queues and heals faults for the main screen and the sheets and forms over it."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._session_controller = screen.session_controller

    def targets(self) -> tuple[tuple[int, str], ...]:
        """Return targets of faults with short names: brokers, other control-plane nodes, clients."""
        view = self._session_controller.view
        brokers = [(each.id, f"b{each.id}") for each in view.brokers]
        ids = [broker for broker, _name in brokers]
        nodes = [
            (each.node, status_bar.short(each.name, each.node)) for each in view.controllers if each.node not in ids
        ]
        return (*brokers, *nodes, *[(each.node, each.name) for each in view.clients[:MOST_CLIENTS]])

    def inject(self, name: str, node: int) -> None:
        """Inject a fault on a node now; an error is shown as a toast."""
        client = next((each.name for each in self._session_controller.view.clients if each.node == node), "")
        target = self._session_controller.session.board.default_target(name, node) or selector_of(node, client)
        self.do(Action("inject", name, target, for_us=CATALOGUE[name].default_duration_us))

    def do(self, action: Action) -> None:
        """Perform an action, and show an error as a toast."""
        if refused := self.act(action):
            self._screen.toast(refused, "warning")

    def act(self, action: Action) -> str:
        """Perform an action, and show its result; return the error, empty for none. In the past it starts a branch."""
        refused = ""
        try:
            message = self._session_controller.act(action)
            if message:
                self._screen.toast(f"{message} {glyphs.NOTHING} {key_of('undo', self._screen.keys)}: undo")
        except FaultError as error:
            refused = f"not done: {error}"
        self._screen.moved()
        self._screen.branches.branched()
        return refused

    def heal(self) -> None:
        """Heal all faults."""
        if self._session_controller.view.faults:
            self.do(Action("heal", "all"))
        else:
            self._screen.toast("no active faults to heal")

    def injected(self, action: Action) -> str:
        """Inject the fault of the form now; return the error, empty for none."""
        sheets = self._screen.top_selection()
        refused = self.act(action)
        if not refused:
            sheets.close_sheet()
            sheets.action_performed()
        return refused

    def queued(self, action: Action) -> str:
        """Queue a fault until time continues; return the error, empty for none."""
        if not self._session_controller.paused:
            return RUNNING
        try:
            self._session_controller.queue(action)
        except FaultError as error:
            return f"not queued: {error}"
        self._screen.moved()
        return ""

    def queue_words(self) -> str:
        """Return the queued faults for the title of the sheet, or that time is running."""
        waiting = self._session_controller.queued
        if not waiting:
            return "" if self._session_controller.paused else f" {glyphs.NOTHING} time is running"
        last = f"{CATALOGUE[waiting[-1].name].title} {waiting[-1].target}"
        return f" {glyphs.NOTHING} {len(waiting)} queued, last {last} (backspace removes)"


class TargetNavigator:
    """Navigation to a partition, a broker, an offset or a client."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._session_controller = screen.session_controller

    def show(self, kind: str, name: str) -> None:
        """Show what a typed command names: a topic, as a filter; a partition, a broker or a client."""
        if kind == "topic":
            self._screen.action_mode("cluster")
            self._screen.show_topic(name)
        elif kind == "partition":
            self.show_partition(name)
        elif kind == "broker":
            self.show_broker(int(name))
        else:
            self.show_client(name)

    def show_partition(self, name: str) -> None:
        """Show a partition on the main screen, with the cursor on its leader."""
        self._screen.action_mode("cluster")
        self._point_at(name)

    def show_broker(self, broker: int) -> None:
        """Show a broker on the main screen."""
        self._screen.action_mode("cluster")
        ids = [each.id for each in self._session_controller.view.brokers]
        if broker in ids:
            self._screen.matrix.move_to(self._screen.matrix.cursor[0], ids.index(broker))
            self._screen.present()

    def show_offset(self, name: str, offset: int) -> None:
        """Show an offset in the log, with the cursor in the leader's lane."""
        self._point_at(name)
        self._screen.action_mode("log")
        log = self._screen.app.screen
        if hasattr(log, "microscope"):
            log.microscope.go(offset)
            self._screen.call_after_refresh(log.present)  # type: ignore[attr-defined]

    def show_client(self, name: str) -> None:
        """Show a client in the clients mode."""
        self._screen.action_mode("clients")
        clients = self._screen.app.screen
        if hasattr(clients, "point_at"):
            clients.point_at(name)

    def _point_at(self, name: str) -> None:
        """Move the cursor to a partition, if it still exists."""
        view = self._session_controller.view
        ids = [each.id for each in view.brokers]
        for row, partition in enumerate(view.partitions):
            if partition.name == name:
                leads = ids.index(partition.leader) if partition.leader in ids else self._screen.matrix.cursor[1]
                self._screen.matrix.move_to(row, leads)
                self._screen.present()


class CommandRunner:
    """Opens the command line, and runs typed commands."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._session_controller = screen.session_controller
        self.typed_before: tuple[str, ...] = ()
        """History of typed lines, the oldest first."""

    def open_command(self, text: str = "", back: int = 0) -> None:
        """Open the command line with initial text, the cursor ``back`` characters before its end."""
        from tui.screens.command_line import CommandScreen  # noqa: PLC0415 - first paint does without it

        if not self._screen.toosmall.display and self._session_controller.view.brokers:
            self._screen.app.push_screen(CommandScreen(self._screen.appearance, self._screen, text, back))

    def context(self) -> "CommandContext":
        """Return the partitions and nodes that a typed line can name now."""
        from tui.session.typed_commands import place_in  # noqa: PLC0415 - first paint does without it

        view = self._session_controller.view
        return place_in(self._session_controller.session, view, aimed=self._screen.top_selection().selector())

    async def run(self, typed: "Typed") -> str:
        """Run a typed command; return the error, empty for none."""
        from tui.session.typed_commands import (  # noqa: PLC0415 - first paint does without it
            ActionCommand,
            JumpCommand,
            KeyCommand,
            PlayCommand,
            ShowCommand,
            Speed,
        )

        if isinstance(typed, ActionCommand):
            self._screen.top_selection().go_to_selected_time()
            refused = self._act(typed.actions)
            if not refused:
                self._screen.top_selection().action_performed()
            return refused
        if isinstance(typed, KeyCommand):
            await self._screen.press(typed.id)
        elif isinstance(typed, ShowCommand):
            self._screen.navigator.show(typed.kind, typed.name)
        elif isinstance(typed, JumpCommand):
            self._screen.go_to(typed.at_us)
        elif isinstance(typed, PlayCommand):
            self._session_controller.pause(False)
            self._screen.moved()
        elif isinstance(typed, Speed):
            self._screen.toast(f"speed ×{speed(self._session_controller.set_speed(typed.speed))}")
            self._screen.moved()
        return ""

    def _act(self, actions: tuple[Action, ...]) -> str:
        refused = ""
        for action in actions:
            refused = self._screen.operator.act(action)
            if refused or self._session_controller.growing is not None:
                break
        return refused
