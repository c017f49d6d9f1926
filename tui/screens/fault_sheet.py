"""Sheets of faults and operations at the bottom of a screen; a second letter acts on the selected target."""

from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual.screen import Screen

from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS, Action, ExpectedImpact, FaultError, Operation, selector_of
from playbooks.model import action_text
from tui.session.session_controller import READ_ONLY, SessionController
from tui.terminal.theme import Appearance
from tui.viewmodel.fault_sheet import SheetSize
from tui.widgets.panes import Pane, Status
from tui.widgets.which_key import OperationSheet, WhichKey

if TYPE_CHECKING:
    from tui.screens.cluster import MainScreen


NO_BROKER: Final = "there is no broker yet: let time run first"


UNCONTROLLED: Final = "there is no controller yet: let time run first"


class Sheets(Screen[None]):
    """Screen with a selected target of faults; the main screen injects them."""

    appearance: Appearance
    session_controller: SessionController
    whichkey: WhichKey
    operations: OperationSheet
    sheet: WhichKey
    """Sheet that is open, or was last."""
    _aim = -1
    """Target node of the open sheet, -1 for the selection of the screen."""
    CHANGES: ClassVar[frozenset[str]] = frozenset(
        {"fault", "admin", "control", "heal", "take_over", "undo", "redo", "what_if", "settings"}
    )
    """Actions that a read-only TUI refuses."""

    def make_sheets(self) -> None:
        """Create both sheets, closed."""
        self.whichkey, self.operations = WhichKey(self.appearance), OperationSheet(self.appearance)
        self.sheet = self.whichkey

    def sheet_panes(self) -> list[Pane]:
        """Return their panes, which are over all others."""
        return [
            Pane(self.whichkey, self.appearance, title="", id="whichkey-pane"),
            Pane(self.operations, self.appearance, title="", id="operations-pane"),
        ]

    # -- target -----------------------------------------------------------------------------------------------------

    @property
    def main(self) -> "MainScreen":
        """Main screen, which performs the actions."""
        return cast("MainScreen", self.app.screen_stack[0])

    def chosen(self) -> int:
        """Return the id of the node selected on this screen, -1 for none."""
        return -1

    def group_selector(self) -> str:
        """Return the selector of the selection if it is more than one node, else empty."""
        return ""

    def no_target(self) -> str:
        """Return why there is no target here; empty if there is one."""
        return ""

    def go_to_selected_time(self) -> None:
        """Go to the time selected on this screen, if it is not the one shown."""

    def action_performed(self) -> None:
        """Handle that an action on the selection was performed."""

    @property
    def target(self) -> int:
        """Id of the target node of the sheet, else of the selected node."""
        return self._aim if self._aim >= 0 else self.chosen()

    def broker_id(self) -> int:
        """Return the target if it is a broker, else the broker under the main screen's cursor."""
        brokers = [each.id for each in self.session_controller.view.brokers]
        return self.target if self.target in brokers else self.main.broker_under_cursor

    def partition_name(self) -> str:
        """Return the partition that operations apply to; empty without one."""
        partitions = self.session_controller.view.partitions
        return partitions[self.main.matrix.cursor[0]].name if partitions else ""

    def selector(self) -> str:
        """Return the target as a selector of playbooks."""
        if self._aim < 0 and self.group_selector():
            return self.group_selector()
        client = next((each.name for each in self.session_controller.view.clients if each.node == self.target), "")
        return selector_of(self.target, client)

    def target_words(self) -> str:
        """Return the target for the title of the sheet."""
        return dict(self.main.operator.targets()).get(self.target) or self.session_controller.session.cluster.name_of(
            self.target
        )

    def aimed(self, name: str) -> str:
        """Return the selector with which a fault affects the target, or the fault's own default."""
        return self.session_controller.session.board.default_target(name, self.target) or self.selector()

    def aim_at(self, node: int) -> None:
        """Select another node as the target of the sheet."""
        self._aim = node

    # -- opening ----------------------------------------------------------------------------------------------------

    def action_fault(self) -> None:
        """Open the fault sheet."""
        self._open_sheet(self.whichkey)

    def action_admin(self) -> None:
        """Open the operation sheet."""
        self._open_sheet(self.operations)

    def action_control(self) -> None:
        """Open the fault sheet on the active controller, or on the first control-plane node without one."""
        nodes = self.session_controller.view.controllers
        if not nodes:
            self.main.toast(UNCONTROLLED, "warning")
        elif not self.main.toosmall.display:
            self.go_to_selected_time()
            self.aim_at(max(nodes, key=lambda each: (each.role == "active", each.epoch, -each.node)).node)
            self._show(self.whichkey)

    def on_status_node_clicked(self, message: Status.NodeClicked) -> None:
        """Open the fault sheet on the clicked node."""
        self.aim_at(message.node)
        self._show(self.whichkey)

    def _open_sheet(self, sheet: WhichKey) -> None:
        if self.main.toosmall.display:
            return
        if why := self.no_target() or ("" if self.session_controller.view.brokers else NO_BROKER):
            self.main.toast(why, "warning")
            return
        self.go_to_selected_time()
        self._aim = -1
        self._show(sheet)

    def _show(self, sheet: WhichKey) -> None:
        if self.session_controller.read_only:
            self.main.toast(READ_ONLY, "warning")
            return
        self.sheet = sheet
        self.add_class("-sheet")
        self._sheet_pane().display = True
        self.set_focus(sheet)
        self.show_sheet()

    def close_sheet(self) -> None:
        """Close the sheet; the next one targets the selection again."""
        self._aim = -1
        self.remove_class("-sheet")
        self._sheet_pane().display = False
        self.set_focus(None)

    # -- showing ----------------------------------------------------------------------------------------------------

    def show_sheet(self) -> None:
        """Show the predicted impact in the open sheet."""
        pane, name = self._sheet_pane(), self.target_words()
        if self.sheet is self.operations:
            name = ", ".join(each for each in (self.partition_name(), f"b{self.broker_id()}") if each)
        built = self.sheet.present(name, self, SheetSize(self.size.width - 2, self.size.height))
        pane.caption(f"{built.title}{self.main.operator.queue_words()}", self.sheet.keys_words(self.size.width))
        self.place_sheet()

    def place_sheet(self) -> None:
        """Place the sheet at the bottom, above the bar."""
        pane = self._sheet_pane()
        height = min(len(self.sheet.rows) + 2, max(3, self.size.height - 4))
        pane.styles.offset = (0, max(0, self.size.height - 1 - height))
        pane.styles.width, pane.styles.height = self.size.width, height

    def _sheet_pane(self) -> Pane:
        return self.query_one(f"#{self.sheet.id}-pane", Pane)

    def expected(self, name: str) -> ExpectedImpact:
        """Return the predicted impact of the marked fault or operation."""
        board = self.session_controller.session.board
        if self.sheet is self.operations:
            return ExpectedImpact(f"{action_text(self._usual(name))}; may break: {OPERATIONS[name].may_break}")
        if self._aim >= 0 or not self.group_selector():
            return board.predict(name, self.target)
        try:
            return board.predict_action(self._injection(name))
        except FaultError as error:
            return ExpectedImpact(f"none: {error}")

    def fitting(self) -> tuple[str, ...]:
        """Return the names of the faults that apply to the target."""
        return self.session_controller.session.board.applicable_faults(self.target)

    def _injection(self, name: str) -> Action:
        """Return the action of a fault's letter: usual duration, default parameters."""
        return Action("inject", name, self.aimed(name), for_us=CATALOGUE[name].default_duration_us)

    def _usual(self, name: str) -> Action:
        """Return the action of an operation's letter."""
        return self.session_controller.session.board.usual(name, self.partition_name(), self.broker_id())

    # -- acting -----------------------------------------------------------------------------------------------------

    def on_which_key_fault_chosen(self, message: WhichKey.FaultChosen) -> None:
        """Perform the chosen fault or operation."""
        name = message.choice.name
        action = self._usual(name) if isinstance(message.choice, Operation) else self._injection(name)
        self.close_sheet()
        self.action_performed()
        self.main.operator.do(action)

    def on_which_key_edited(self, message: WhichKey.Edited) -> None:
        """Open the form of the marked fault."""
        from tui.screens.fault_forms import FaultForm  # noqa: PLC0415 - first paint does without it

        self.app.push_screen(FaultForm(self.appearance, self.main, message.fault, self.aimed(message.fault.name)))

    def on_which_key_fault_queued(self, message: WhichKey.FaultQueued) -> None:
        """Queue the marked fault, or remove the last queued one."""
        if message.fault is None:
            self.session_controller.queued = self.session_controller.queued[:-1]
        elif refused := self.main.operator.queued(self._injection(message.fault.name)):
            self.main.toast(refused, "warning")
        self.main.present()
        self.show_sheet()

    def on_which_key_target_moved(self, message: WhichKey.TargetMoved) -> None:
        """Select another target node; 0: another fault was marked."""
        nodes = [node for node, _name in self.main.operator.targets()]
        aimed = self.target
        if self.sheet is self.operations:
            nodes, aimed = [each.id for each in self.session_controller.view.brokers], self.broker_id()
        if message.brokers:
            at = nodes.index(aimed) + message.brokers if aimed in nodes else 0
            self.aim_at(nodes[at % len(nodes)])
        self.show_sheet()

    def on_which_key_sheet_cancelled(self) -> None:
        """Close the sheet."""
        self.close_sheet()
