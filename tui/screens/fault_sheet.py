"""The sheets of faults and operations at the bottom of a screen: a second letter acts on what is selected there."""

from typing import TYPE_CHECKING, Final, cast

from textual.screen import Screen

from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS, Action, ExpectedImpact, FaultError, Operation, selector_of
from playbooks.model import words
from tui.session.session_controller import SimBridge
from tui.terminal.theme import Look
from tui.viewmodel.fault_sheet import Room
from tui.widgets.panes import Pane, Status
from tui.widgets.which_key import OperationSheet, WhichKey

if TYPE_CHECKING:
    from tui.screens.cluster import MainScreen


NOBODY: Final = "there is no broker yet that could be broken: let time go on first"


UNCONTROLLED: Final = "there is no controller that could be broken: let time go on first"


class Sheets(Screen[None]):
    """A screen with something selected on it that can be struck; who does it is the main screen."""

    look: Look
    bridge: SimBridge
    whichkey: WhichKey
    operations: OperationSheet
    sheet: WhichKey
    """The one that is open, or was last."""
    _aim = -1
    """Node that the open sheet was aimed at, -1 for what is selected on the screen."""

    def make_sheets(self) -> None:
        """Both of them, closed."""
        self.whichkey, self.operations = WhichKey(self.look), OperationSheet(self.look)
        self.sheet = self.whichkey

    def sheet_panes(self) -> list[Pane]:
        """Their panes, which lie over all others."""
        return [
            Pane(self.whichkey, self.look, title="", id="whichkey-pane"),
            Pane(self.operations, self.look, title="", id="operations-pane"),
        ]

    # -- whom -------------------------------------------------------------------------------------------------------

    @property
    def main(self) -> "MainScreen":
        """The main screen, which does what is chosen here."""
        return cast("MainScreen", self.app.screen_stack[0])

    def chosen(self) -> int:
        """Id of the node that is selected on this screen, -1 for none."""
        return -1

    def several(self) -> str:
        """The selector of what is selected, where that is more than one node; else empty."""
        return ""

    def nothing(self) -> str:
        """Why nothing can be aimed at here; empty where something can."""
        return ""

    def arrive(self) -> None:
        """Go to the instant that is selected on this screen, where that is another one than is shown."""

    def done(self) -> None:
        """Something was done to what is selected."""

    @property
    def target(self) -> int:
        """Id of the node that is aimed at, or selected."""
        return self._aim if self._aim >= 0 else self.chosen()

    def broker_id(self) -> int:
        """Id of the broker that is meant: the node aimed at, or the one under the main screen's cursor."""
        brokers = [each.id for each in self.bridge.view.brokers]
        return self.target if self.target in brokers else self.main.broker_under_cursor

    def partition_name(self) -> str:
        """The partition that operations are about; empty where there is none."""
        partitions = self.bridge.view.partitions
        return partitions[self.main.matrix.cursor[0]].name if partitions else ""

    def selector(self) -> str:
        """What is aimed at, as playbooks write it."""
        if self._aim < 0 and self.several():
            return self.several()
        client = next((each.name for each in self.bridge.view.clients if each.node == self.target), "")
        return selector_of(self.target, client)

    def target_words(self) -> str:
        """What is aimed at, as the sheet's title calls it."""
        return dict(self.main.operator.targets()).get(self.target) or self.bridge.session.cluster.name_of(self.target)

    def aimed(self, name: str) -> str:
        """The target by which a fault strikes what is aimed at, or its own where it cannot mean that."""
        return self.bridge.session.board.own_target(name, self.target) or self.selector()

    def aim_at(self, node: int) -> None:
        """Aim the sheet at another node."""
        self._aim = node

    # -- opening ----------------------------------------------------------------------------------------------------

    def action_fault(self) -> None:
        """Open the sheet of faults."""
        self._open_sheet(self.whichkey)

    def action_admin(self) -> None:
        """Open the sheet of operations."""
        self._open_sheet(self.operations)

    def action_control(self) -> None:
        """Open the sheet on the controller, or on the first node of the control plane while there is none."""
        nodes = self.bridge.view.controllers
        if not nodes:
            self.main.toast(UNCONTROLLED, "warning")
        elif not self.main.toosmall.display:
            self.arrive()
            self.aim_at(max(nodes, key=lambda each: (each.role == "active", each.epoch, -each.node)).node)
            self._show(self.whichkey)

    def on_status_node_clicked(self, message: Status.NodeClicked) -> None:
        """A click on a node opens the sheet there."""
        self.aim_at(message.node)
        self._show(self.whichkey)

    def _open_sheet(self, sheet: WhichKey) -> None:
        if self.main.toosmall.display:
            return
        if why := self.nothing() or ("" if self.bridge.view.brokers else NOBODY):
            self.main.toast(why, "warning")
            return
        self.arrive()
        self._aim = -1
        self._show(sheet)

    def _show(self, sheet: WhichKey) -> None:
        self.sheet = sheet
        self.add_class("-sheet")
        self._sheet_pane().display = True
        self.set_focus(sheet)
        self.show_sheet()

    def close_sheet(self) -> None:
        """Put it away; whoever opens the next one aims at what is selected."""
        self._aim = -1
        self.remove_class("-sheet")
        self._sheet_pane().display = False
        self.set_focus(None)

    # -- showing ----------------------------------------------------------------------------------------------------

    def show_sheet(self) -> None:
        """Show in the open one what would be done now."""
        pane, name = self._sheet_pane(), self.target_words()
        if self.sheet is self.operations:
            name = ", ".join(each for each in (self.partition_name(), f"b{self.broker_id()}") if each)
        built = self.sheet.present(name, self, Room(self.size.width - 2, self.size.height))
        pane.caption(f"{built.title}{self.main.operator.queue_words()}", self.sheet.keys_words(self.size.width))
        self.place_sheet()

    def place_sheet(self) -> None:
        """At the bottom, above the bar."""
        pane = self._sheet_pane()
        height = min(len(self.sheet.rows) + 2, max(3, self.size.height - 4))
        pane.styles.offset = (0, max(0, self.size.height - 1 - height))
        pane.styles.width, pane.styles.height = self.size.width, height

    def _sheet_pane(self) -> Pane:
        return self.query_one(f"#{self.sheet.id}-pane", Pane)

    def expected(self, name: str) -> ExpectedImpact:
        """What the marked fault or operation would do now."""
        board = self.bridge.session.board
        if self.sheet is self.operations:
            return ExpectedImpact(f"{words(self._usual(name))}; may break: {OPERATIONS[name].may_break}")
        if self._aim >= 0 or not self.several():
            return board.foreseen(name, self.target)
        try:
            return board.expect(self._injection(name))
        except FaultError as error:
            return ExpectedImpact(f"nothing: {error}")

    def fitting(self) -> tuple[str, ...]:
        """Names of the faults that can be done to what is aimed at."""
        return self.bridge.session.board.fitting(self.target)

    def _injection(self, name: str) -> Action:
        """A fault as a letter asks for it: for as long as is usual, all else by default."""
        return Action("inject", name, self.aimed(name), for_us=CATALOGUE[name].usual_for_us)

    def _usual(self, name: str) -> Action:
        """An operation as a key asks for it."""
        return self.bridge.session.board.usual(name, self.partition_name(), self.broker_id())

    # -- acting -----------------------------------------------------------------------------------------------------

    def on_which_key_fault_chosen(self, message: WhichKey.FaultChosen) -> None:
        """Second letter: act."""
        name = message.choice.name
        action = self._usual(name) if isinstance(message.choice, Operation) else self._injection(name)
        self.close_sheet()
        self.done()
        self.main.operator.do(action)

    def on_which_key_edited(self, message: WhichKey.Edited) -> None:
        """Enter: the form of the marked fault."""
        from tui.screens.fault_forms import FaultForm  # noqa: PLC0415 - first paint does without it

        self.app.push_screen(FaultForm(self.look, self.main, message.fault, self.aimed(message.fault.name)))

    def on_which_key_fault_queued(self, message: WhichKey.FaultQueued) -> None:
        """Space: the marked fault waits; backspace: the last one that waits does not."""
        if message.fault is None:
            self.bridge.queued = self.bridge.queued[:-1]
        elif refused := self.main.operator.queued(self._injection(message.fault.name)):
            self.main.toast(refused, "warning")
        self.main.present()
        self.show_sheet()

    def on_which_key_target_moved(self, message: WhichKey.TargetMoved) -> None:
        """Aim at another node; 0: another fault was marked."""
        nodes = [node for node, _name in self.main.operator.targets()]
        aimed = self.target
        if self.sheet is self.operations:
            nodes, aimed = [each.id for each in self.bridge.view.brokers], self.broker_id()
        if message.brokers:
            at = nodes.index(aimed) + message.brokers if aimed in nodes else 0
            self.aim_at(nodes[at % len(nodes)])
        self.show_sheet()

    def on_which_key_sheet_cancelled(self) -> None:
        """Escape."""
        self.close_sheet()
