"""The main screen: the whole cluster at a glance, and every key."""

from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from cluster_model.observation.views import LogView
from faults.declarations.action import Action
from tui.keybindings.keymap import Key, bindings, key_of
from tui.screens.arranged import SHEETS, Arranged
from tui.screens.fault_sheet import Sheets
from tui.screens.layout import SMALLEST, plan
from tui.screens.pointing import Pointing
from tui.session.railing import Railing
from tui.session.scrubbing import Scrubbing
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel import control, hint_words, side, status_bar
from tui.viewmodel.animation import Motion
from tui.viewmodel.row import Row
from tui.widgets import tips
from tui.widgets.lanes_part import Lanes
from tui.widgets.line_widget import LineGrid
from tui.widgets.matrix import Matrix
from tui.widgets.panes import FeedPane, KeyBar, Pane, SidePane, Status
from tui.widgets.rows import row
from tui.widgets.timeline import TimeStrip

LANES_LEGEND: Final = (
    f"digit = epoch {glyphs.NOTHING} solid below its HW {glyphs.NOTHING} {glyphs.ABOVE_HW} above"
    f" {glyphs.NOTHING} {glyphs.DIVERGED} differs {glyphs.NOTHING} {glyphs.LOST} acked, lost"
)


class MainScreen(Arranged, Sheets, Pointing):
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
        self.motion = Motion()
        """Off until somebody says otherwise."""
        self.matrix = Matrix(look, self.motion)
        self.lanes = Lanes(look)
        self.feed = FeedPane(look)
        self.clients = SidePane(look, "clients")
        self.faults = SidePane(look, "faults")
        self.replica = SidePane(look, "replica")
        self.control = SidePane(look, "control")
        self.timeline = TimeStrip(look, "timeline")
        self.railing = Railing()
        self.scrubbing = Scrubbing(bridge.clock, self.near, self.scrub_to)
        self.matrix.teller = tips.of_matrix(self.matrix, bridge)
        self.lanes.teller = tips.of_lanes(self.lanes, bridge)
        for pane in (self.clients, self.faults, self.control):
            pane.teller = tips.of_side(pane, bridge)
        self.timeline.teller = tips.of_timeline(
            self.timeline, bridge, self.timeline_shown, lambda: self.railing.rails(bridge)
        )
        self.status = Status(look)
        self.make_sheets()
        self.toosmall: LineGrid[Row] = LineGrid(row, look, id="toosmall")

    def compose(self) -> ComposeResult:
        """All panes; :meth:`share_out` puts them in their places."""
        look, more = self.look, key_of("mode_timeline", self.keys)
        yield self.status
        yield Pane(self.matrix, look, title=f"Partitions {glyphs.TIMES} brokers", id="matrix-pane")
        yield Pane(self.clients, look, title="Producers & groups", id="clients-pane")
        yield Pane(self.faults, look, title="Active faults", id="faults-pane")
        yield Pane(self.replica, look, title="Under the cursor", id="replica-pane")
        yield Pane(self.control, look, title="Control plane", id="control-pane")
        yield Pane(self.lanes, look, title="Log", id="lanes-pane")
        yield Pane(self.feed, look, title="Events", id="feed-pane")
        yield Pane(self.timeline, look, title=f"Timeline {glyphs.NOTHING} {more}: more of it", id="timeline-pane")
        yield KeyBar(look, self.keys)
        yield self.filter_bar
        yield from self.sheet_panes()
        yield self.toosmall

    def grids(self) -> list[LineGrid[Any]]:
        """Every live pane."""
        return list(self.query(LineGrid).results(LineGrid))

    # -- showing ----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The first picture."""
        self.choose_pane(self.chosen_pane)
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
            controllers=len(view.controllers), rails=len(self.railing.rails(self.bridge)),
        )  # fmt: skip
        boxes = self.arranged(boxes)
        for pane in self.query(Pane):
            if pane.id in SHEETS:
                continue
            box = boxes.get(pane.id or "")
            pane.display = box is not None
            if box is not None:
                pane.styles.offset = (box.x, box.y)
                pane.styles.width, pane.styles.height = box.width, box.height
        self.query_one(KeyBar).styles.offset = self.filter_bar.styles.offset = (0, height - 1)
        self.toosmall.display = not boxes
        self.place_sheet()
        self.call_after_refresh(self.present)

    def on_screen_resume(self) -> None:
        """It is seen again: what happened meanwhile was not shown."""
        self.present()

    @property
    def covered(self) -> bool:
        """Whether a screen above hides all of it."""
        return any(above.styles.background.a == 1 for above in self.app.screen_stack[1:])

    def present(self) -> None:
        """Show what the bridge saw last; widgets find out what changed. Nothing is built that nobody sees."""
        if not self.is_mounted or not self.size.width:
            return
        bridge, view = self.bridge, self.bridge.view
        self.motion.turn(bridge.clock.now(), view.now_us)
        if self.covered:
            self.matrix.keep_within(view)
            return
        if self.toosmall.display:
            self._say_too_small()
            return
        width = self.size.width
        self.status.show(self.status_rows(width))
        self.matrix.present(view)
        self.query_one("#matrix-pane", Pane).caption(f"Partitions {glyphs.TIMES} brokers", self.matrix.position)
        partition, broker = self.matrix.cursor
        if view.partitions and view.brokers:
            ordered = self.matrix.in_turn(view)
            self.lanes.present(view, ordered, view.brokers[broker].id, self._log)
        scrolled = f"from {self.lanes.start} {glyphs.NOTHING} {key_of('log_tail', self.keys)}: follow the tail"
        legend = LANES_LEGEND if self.lanes.start is None else scrolled
        self.query_one("#lanes-pane", Pane).caption(self.lanes.title or "Log", legend)
        self.feed.show(bridge.feed.lines(self.feed.size.height, self.feed.size.width))
        if self.clients.size.width:
            self.clients.show(side.clients(view, bridge.rates, bridge.session.client_books))
            self.faults.show(side.faults(view, self.faults.size.height, bridge.queued, key_of("fault", self.keys)))
            self.replica.show(side.replica(view, partition, broker))
        if self.control.size.width:
            self.control.show(control.rows(view))
        if self.query_one("#timeline-pane", Pane).display:
            forks = self.railing.rails(bridge)
            self.timeline.present(bridge.tape, view.now_us, bridge.session.present_us, forks)
        if self.sheet.has_focus:
            self.show_sheet()

    def status_rows(self, width: int) -> tuple[status_bar.StatusBar | control.ControlBar, ...]:
        """The lines of the status bar, the same in every mode."""
        bridge = self.bridge
        running = status_bar.Running(
            self.playbook, self.seed, bridge.paused, bridge.seeking, bridge.ended, bridge.speed, bridge.real_speed,
            recorded=bridge.session.recorded is not None,
            present_us=bridge.session.present_us if bridge.session.in_past else -1,
            branch=bridge.branches.current.letter if len(bridge.branches) > 1 else "", queued=len(bridge.queued),
            rough=bridge.rough,
        )  # fmt: skip
        return status_bar.build(bridge.view, running, width).told(self.motion), control.bar(bridge.view, width)

    def _log(self, name: str, start: int, end: int) -> LogView:
        """A window of a partition's logs, with what is left of what was just cut off them."""
        bridge = self.bridge
        log = bridge.session.cluster.log_view(name, start, end)
        return self.motion.eaten("lanes", log, bridge.log_book.cuts(name, bridge.view.now_us))

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
        hinting, view = getattr(self.app, "hinting", None), self.bridge.view
        if hinting is not None and self.partition is not None and view.brokers:
            hinting.looked_at(hint_words.word_of(self.partition, view.brokers[self.matrix.cursor[1]].id))

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
        """Id of the node that is aimed at, by this screen or by a mode over it."""
        top = self.foremost()
        found = super().target if top is self else top.target
        return found if found >= 0 else self.chosen()

    def chosen(self) -> int:
        """The broker under the cursor."""
        return self.broker_under_cursor

    def broker_meant(self) -> int:
        """Of this screen, or of the mode over it."""
        return self.foremost().broker_id()

    def open_faults(self, node: int) -> None:
        """The sheet of faults on a node."""
        self.aim_at(node)
        self._show(self.whichkey)

    def aim_at(self, node: int) -> None:
        """Brokers are aimed at by the cursor."""
        ids = [each.id for each in self.bridge.view.brokers]
        self._aim = -1 if node in ids else node
        if node in ids:
            self.matrix.place(self.matrix.cursor[0], ids.index(node))

    def close_sheet(self) -> None:
        """The keys are the matrix' again."""
        super().close_sheet()
        self.set_focus(self.matrix)

    def on_side_pane_heal(self, message: SidePane.Heal) -> None:
        """Heal one fault by the mouse."""
        self.do(Action("heal", str(message.fault)))

    def on_matrix_faulted(self) -> None:
        """The right button opens the sheet."""
        self.action_fault()

    # -- the rest ---------------------------------------------------------------------------------------------------

    async def on_key_bar_pressed(self, message: KeyBar.Pressed) -> None:
        """A key of the bar was clicked."""
        await self.run_action(message.action)
