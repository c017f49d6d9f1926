"""The main screen: the whole cluster at a glance, and every key."""

from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from faults.action import Action
from faults.catalogue import CATALOGUE
from faults.fault import Expectation
from faults.operations import OPERATIONS, Operation
from playbooks.wording import words
from tui import glyphs
from tui.bridge import SimBridge
from tui.keymap import Key, bindings
from tui.paint.rows import row
from tui.screens.injecting import Injecting
from tui.theme import Look
from tui.viewmodel import control, side, status
from tui.viewmodel.fault_sheet import Room
from tui.viewmodel.layout import SMALLEST, plan
from tui.viewmodel.row import Row
from tui.widgets.lanes import Lanes
from tui.widgets.linegrid import LineGrid
from tui.widgets.matrix import Matrix
from tui.widgets.operations import OperationSheet
from tui.widgets.panes import FeedPane, KeyBar, Pane, SidePane, Status
from tui.widgets.timeline import TimeLanes, TimeStrip
from tui.widgets.whichkey import WhichKey

MOST_CLIENTS: Final = 100
"""More are not offered as targets."""
LANES_LEGEND: Final = (
    f"digit = epoch {glyphs.NOTHING} solid below its HW {glyphs.NOTHING} {glyphs.ABOVE_HW} above"
    f" {glyphs.NOTHING} {glyphs.DIVERGED} differs {glyphs.NOTHING} {glyphs.LOST} acked, lost"
)


class MainScreen(Injecting):
    """Matrix, lanes, feed, side panes, status and keys over one session."""

    AUTO_FOCUS = "#matrix"
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(self, bridge: SimBridge, look: Look, *, playbook: str, seed: int, keys: tuple[Key, ...]) -> None:
        super().__init__()
        self.keys = keys
        self.bridge = bridge
        self.look = look
        self.playbook = playbook
        self.seed = seed
        self.matrix = Matrix(look)
        self.lanes = Lanes(look)
        self.feed = FeedPane(look)
        self.clients = SidePane(look, "clients")
        self.faults = SidePane(look, "faults")
        self.replica = SidePane(look, "replica")
        self.control = SidePane(look, "control")
        self.timeline = TimeStrip(look, "timeline")
        self._aim = -1
        """Node of the control plane that the fault sheet aims at, -1 for the broker under the cursor."""
        self.status = Status(look)
        self.whichkey = WhichKey(look)
        self.operations = OperationSheet(look)
        self.sheet: WhichKey = self.whichkey
        """The one that is open, or was last."""
        self.toosmall: LineGrid[Row] = LineGrid(row, look, id="toosmall")

    def compose(self) -> ComposeResult:
        """All panes; :meth:`share_out` puts them in their places."""
        look = self.look
        yield self.status
        yield Pane(self.matrix, look, title=f"Partitions {glyphs.TIMES} brokers", id="matrix-pane")
        yield Pane(self.clients, look, title="Producers & groups", id="clients-pane")
        yield Pane(self.faults, look, title="Active faults", id="faults-pane")
        yield Pane(self.replica, look, title="Under the cursor", id="replica-pane")
        yield Pane(self.control, look, title="Control plane", id="control-pane")
        yield Pane(self.lanes, look, title="Log", id="lanes-pane")
        yield Pane(self.feed, look, title="Events", id="feed-pane")
        yield Pane(self.timeline, look, title=f"Timeline {glyphs.NOTHING} 4: more of it", id="timeline-pane")
        yield KeyBar(look, self.keys)
        yield Pane(self.whichkey, look, title="", id="whichkey-pane")
        yield Pane(self.operations, look, title="", id="operations-pane")
        yield self.toosmall

    def grids(self) -> list[LineGrid[Any]]:
        """Every live pane."""
        return list(self.query(LineGrid).results(LineGrid))

    # -- showing ----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The first picture."""
        self.share_out()

    def on_resize(self, _event: events.Resize) -> None:
        """Share the new size out."""
        self.share_out()

    def share_out(self) -> None:
        """Put the panes where they belong at this size."""
        view = self.bridge.view
        width, height = self.size
        lines = len(side.clients(view, self.bridge.rates, self.bridge.session.client_books))
        replicas = max((len(each.replicas) for each in view.partitions), default=1)
        boxes = plan(
            width, height, partitions=len(view.partitions), replicas=replicas, clients=lines,
            controllers=len(view.controllers),
        )  # fmt: skip
        for pane in self.query(Pane):
            if pane.id in ("whichkey-pane", "operations-pane"):
                continue
            box = boxes.get(pane.id or "")
            pane.display = box is not None
            if box is not None:
                pane.styles.offset = (box.x, box.y)
                pane.styles.width, pane.styles.height = box.width, box.height
        self.query_one(KeyBar).styles.offset = (0, height - 1)
        self.toosmall.display = not boxes
        self._place_sheet()
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show what the bridge saw last; widgets find out what changed."""
        if not self.is_mounted or not self.size.width:
            return
        bridge, view = self.bridge, self.bridge.view
        if self.toosmall.display:
            self._say_too_small()
            return
        width = self.size.width
        self.status.show(self.status_rows(width))
        self.matrix.present(view)
        self.query_one("#matrix-pane", Pane).caption(f"Partitions {glyphs.TIMES} brokers", self.matrix.position)
        partition, broker = self.matrix.cursor
        if view.partitions and view.brokers:
            ordered = (*view.partitions[partition:], *view.partitions[:partition])
            self.lanes.present(view, ordered, view.brokers[broker].id, bridge.session.cluster.log_view)
        scrolled = f"from {self.lanes.start} {glyphs.NOTHING} end: follow the tail"
        legend = LANES_LEGEND if self.lanes.start is None else scrolled
        self.query_one("#lanes-pane", Pane).caption(self.lanes.title or "Log", legend)
        self.feed.show(bridge.feed.lines(self.feed.size.height, self.feed.size.width))
        if self.clients.size.width:
            self.clients.show(side.clients(view, bridge.rates, bridge.session.client_books))
            self.faults.show(side.faults(view, self.faults.size.height, bridge.queued))
            self.replica.show(side.replica(view, partition, broker))
        if self.control.size.width:
            self.control.show(control.rows(view))
        if self.query_one("#timeline-pane", Pane).display:
            self.timeline.present(bridge.tape, view.now_us, bridge.session.present_us)
        if self.sheet.has_focus:
            self._show_sheet()

    def status_rows(self, width: int) -> tuple[status.StatusBar | control.ControlBar, ...]:
        """The lines of the status bar, the same in every mode."""
        bridge = self.bridge
        running = status.Running(
            self.playbook, self.seed, bridge.paused, bridge.seeking, bridge.ended, bridge.speed, bridge.real_speed,
            recorded=bridge.at_end is not None, present_us=bridge.session.present_us if bridge.session.in_past else -1,
            branch=bridge.branches.current.letter if len(bridge.branches) > 1 else "", queued=len(bridge.queued),
        )  # fmt: skip
        return status.build(bridge.view, running, width), control.bar(bridge.view, width)

    def _say_too_small(self) -> None:
        width, height = self.size
        lines = (
            f"floodmark needs {SMALLEST[0]}x{SMALLEST[1]}",
            f"you have {width}x{height}",
            "the session goes on",
        )
        blank = [Row()] * max(0, (height - len(lines)) // 2)
        rows = [Row(((" " * max(0, (width - len(line)) // 2 - 1) + line, "text"),)) for line in lines]
        self.toosmall.show((*blank, *rows))

    # -- looking ----------------------------------------------------------------------------------------------------

    def action_move(self, partitions: int, brokers: int) -> None:
        """Move the cursor."""
        self.matrix.move(partitions, brokers)

    def on_matrix_moved(self) -> None:
        """Another partition's log follows its tail; everything about the cursor changes."""
        self.lanes.follow()
        self.present()

    def action_internal(self) -> None:
        """Show Kafka's own topics, or set them apart again."""
        self.bridge.shows_internal = not self.bridge.shows_internal
        self.bridge.look()
        self.matrix.place(0, self.matrix.cursor[1])
        self.share_out()

    def action_log(self, offsets: int) -> None:
        """Scroll the log."""
        if self.bridge.view.partitions:
            self.lanes.scroll_log(self.bridge.view.partitions[self.matrix.cursor[0]], offsets)
            self.present()

    def action_fork(self) -> None:
        """Show where the replicas differ."""
        if not self.bridge.view.partitions:
            return
        partition = self.bridge.view.partitions[self.matrix.cursor[0]]
        if self.lanes.to_fork(partition, self.bridge.session.cluster.log_view) < 0:
            self.toast(f"all replicas of {partition.name} agree with their leader")
        self.present()

    def action_tail(self) -> None:
        """Follow the end of the log."""
        self.lanes.follow()
        self.present()

    def action_peek(self) -> None:
        """Show a record: the first one of a log that was scrolled, else the newest of the replica under the cursor."""
        from tui.screens.record import RecordScreen  # noqa: PLC0415 - first paint does without it

        if not self.bridge.view.partitions or self.toosmall.display:
            return
        partition = self.bridge.view.partitions[self.matrix.cursor[0]]
        broker = self.bridge.view.brokers[self.matrix.cursor[1]].id
        newest = next((each.leo for each in partition.replicas if each.broker == broker), partition.leo) - 1
        offset = newest if self.lanes.start is None else self.lanes.start
        self.app.push_screen(RecordScreen(self.look, self.bridge, partition.name, max(0, offset)))

    # -- acting -----------------------------------------------------------------------------------------------------

    @property
    def target(self) -> int:
        """Id of the broker under the cursor, or of the other node that was aimed at."""
        return self._aim if self._aim >= 0 else self.bridge.view.brokers[self.matrix.cursor[1]].id

    def targets(self) -> tuple[tuple[int, str], ...]:
        """Whom a fault can be aimed at, with short names: brokers, other nodes of the control plane, clients."""
        view = self.bridge.view
        brokers = [(each.id, f"b{each.id}") for each in view.brokers]
        ids = [broker for broker, _name in brokers]
        nodes = [(each.node, control.short(each.name, each.node)) for each in view.controllers if each.node not in ids]
        return (*brokers, *nodes, *[(each.node, each.name) for each in view.clients[:MOST_CLIENTS]])

    def inject(self, name: str, node: int) -> None:
        """Inject a fault on a node, now; a refusal is a toast with its reason."""
        self.do(Action("inject", name, self.aimed(name, node), for_us=CATALOGUE[name].usual_for_us))

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

    def on_side_pane_heal(self, message: SidePane.Heal) -> None:
        """Heal one fault by the mouse."""
        self.do(Action("heal", str(message.fault)))

    def action_fault(self) -> None:
        """Open the sheet of faults."""
        self._open_sheet(self.whichkey)

    def action_admin(self) -> None:
        """Open the sheet of operations."""
        self._open_sheet(self.operations)

    def _open_sheet(self, sheet: WhichKey) -> None:
        if self.toosmall.display or not self.bridge.view.brokers:
            return
        self._aim = -1
        self._show(sheet)

    def action_control(self) -> None:
        """Open the sheet on the controller, or on the first node of the control plane while there is none."""
        nodes = self.bridge.view.controllers
        if nodes and not self.toosmall.display:
            self._aim_at(max(nodes, key=lambda each: (each.role == "active", each.epoch, -each.node)).node)
            self._show(self.whichkey)

    def on_status_aimed(self, message: Status.Aimed) -> None:
        """A click on a node opens the sheet there."""
        self._aim_at(message.node)
        self._show(self.whichkey)

    def _aim_at(self, node: int) -> None:
        """Brokers are aimed at by the cursor."""
        ids = [each.id for each in self.bridge.view.brokers]
        self._aim = -1 if node in ids else node
        if node in ids:
            self.matrix.place(self.matrix.cursor[0], ids.index(node))

    def _show(self, sheet: WhichKey) -> None:
        self.sheet = sheet
        self._sheet_pane().display = True
        self.set_focus(sheet)
        self._show_sheet()

    def _sheet_pane(self) -> Pane:
        return self.query_one(f"#{self.sheet.id}-pane", Pane)

    def on_matrix_faulted(self) -> None:
        """The right button opens the sheet."""
        self.action_fault()

    def on_which_key_chosen(self, message: WhichKey.Chosen) -> None:
        """Second letter: act."""
        target = self.target
        self.close_sheet()
        if isinstance(message.choice, Operation):
            self.do(self._usual(message.choice.name))
        else:
            self.inject(message.choice.name, target)

    def _usual(self, name: str) -> Action:
        """An operation as a key asks for it."""
        partitions = self.bridge.view.partitions
        partition = partitions[self.matrix.cursor[0]].name if partitions else ""
        return self.bridge.session.board.usual(name, partition, self.target)

    def expected(self, name: str) -> Expectation:
        """What the marked fault or operation would do now."""
        if self.sheet is self.whichkey:
            return self.bridge.session.board.foreseen(name, self.target)
        return Expectation(f"{words(self._usual(name))}; may break: {OPERATIONS[name].may_break}")

    def fitting(self) -> tuple[str, ...]:
        """Names of the faults that can be done to what is aimed at."""
        return self.bridge.session.board.fitting(self.target)

    def on_which_key_closed(self) -> None:
        """Escape."""
        self.close_sheet()

    def on_which_key_aimed(self, message: WhichKey.Aimed) -> None:
        """Aim at another node; the cursor goes with it as long as that is a broker."""
        brokers = [each.id for each in self.bridge.view.brokers]
        nodes = [node for node, _name in self.targets()] if self.sheet is self.whichkey else brokers
        self._aim_at(nodes[(nodes.index(self.target) + message.brokers) % len(nodes)])
        self._show_sheet()

    def _show_sheet(self) -> None:
        pane = self._sheet_pane()
        name = dict(self.targets())[self.target]
        partitions = self.bridge.view.partitions
        if self.sheet is self.operations and partitions:
            name = f"{partitions[self.matrix.cursor[0]].name}, {name}"
        built = self.sheet.present(name, self, Room(self.size.width - 2, self.size.height))
        pane.caption(f"{built.title}{self.queue_words()}", self.sheet.keys_words(self.size.width))
        self._place_sheet()

    def _place_sheet(self) -> None:
        pane = self._sheet_pane()
        height = min(len(self.sheet.rows) + 2, max(3, self.size.height - 4))
        pane.styles.offset = (0, max(0, self.size.height - 1 - height))
        pane.styles.width, pane.styles.height = self.size.width, height

    def close_sheet(self) -> None:
        """Put it away; whoever opens the next one aims at the broker under the cursor."""
        self._aim = -1
        self._sheet_pane().display = False
        self.set_focus(self.matrix)

    def on_time_lanes_picked(self, message: TimeLanes.Picked) -> None:
        """A click on the timeline is gone to."""
        if message.column >= 0:
            self.go_to(self.timeline.window.start_us + message.column * self.timeline.window.unit_us)

    # -- the rest ---------------------------------------------------------------------------------------------------

    async def on_key_bar_pressed(self, message: KeyBar.Pressed) -> None:
        """A key of the bar was clicked."""
        await self.run_action(message.action)
