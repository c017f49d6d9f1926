"""Main screen: the whole cluster, keys, filter and mouse."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from cluster_model.observation import LogView, PartitionView
from faults.declarations import Action, FaultError
from tui.keybindings.keymap import KeyBinding, Mode, bindings, key_of, mode_of, word_of
from tui.screens.base import Filtering, LiveScreen, PanedScreen
from tui.screens.branch_controller import BranchController
from tui.screens.fault_sheet import Sheets
from tui.screens.layout import BARS, SMALLEST, Box, plan
from tui.screens.target_actions import CommandRunner, FaultOperator, TargetNavigator
from tui.session.session_controller import RailCache, Scrubbing, SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import clipboard_text, partition_matrix, side_panes, status_bar
from tui.viewmodel import help as help_text
from tui.viewmodel.animation import Animation
from tui.viewmodel.help import ScreenHelp
from tui.viewmodel.row import LabelPosition, Row
from tui.viewmodel.timeline.branches import Bookmark, letter_of
from tui.viewmodel.timeline.event_feed import ALL, SEARCH, level_after, level_title, search_text
from tui.viewmodel.timeline.timeline_rows import TimelineView
from tui.widgets import tooltips
from tui.widgets.line_widget import LineGrid, row
from tui.widgets.log import Lanes
from tui.widgets.matrix import Matrix
from tui.widgets.panes import FeedPane, FilterBar, KeyBar, Pane, SidePane, Status
from tui.widgets.timeline import TimeLanes, TimeStrip

if TYPE_CHECKING:
    from tui.screens.autopsy import AutopsyRequest
    from tui.screens.base import ModeScreen

SHEETS: Final = ("whichkey-pane", "operations-pane")
"""Panes that are over the others while open."""
MATRIX: Final = "matrix-pane"
FEED: Final = "feed-pane"
SHEET_HELP: Final = {"whichkey": help_text.SHEET, "operations": help_text.OPERATIONS}
"""Id of a sheet → its help."""
SECOND_US: Final = 1_000_000
PAST: Final = "showing the past: an action starts a branch; {pause} plays from here, {present} returns to the present"
BEGINNING: Final = "already at the beginning of the session"
PRESENT: Final = "already at the present"
QUIT_S: Final = 3.0
"""Seconds within which the second press of the key that goes back quits."""
LANES_LEGEND: Final = (
    f"digit: epoch {glyphs.NOTHING} solid below its HW {glyphs.NOTHING} {glyphs.ABOVE_HW} above"
    f" {glyphs.NOTHING} {glyphs.DIVERGED} differs {glyphs.NOTHING} {glyphs.LOST} acked, missing"
)


def screen_class(mode: Mode) -> "type[ModeScreen]":
    """Return the screen class of a mode."""
    module, _colon, name = mode.where.partition(":")
    found: type[ModeScreen] = getattr(import_module(module), name)
    return found


class WakeMessage(Message):
    """Message that frames may be needed again."""


class MainScreen(PanedScreen, Filtering, Sheets):
    """Main screen of one session: matrix, lanes, feed, side panes, status and keys.

    The actions of keys are here; work on branches, faults and targets is done by its collaborators.
    """

    AUTO_FOCUS = "#matrix"
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    chosen_pane = MATRIX

    def __init__(
        self,
        session_controller: SessionController,
        appearance: Appearance,
        *,
        playbook: str,
        seed: int,
        keys: tuple[KeyBinding, ...],
    ) -> None:
        super().__init__()
        self.keys = keys
        """Key map, including the user's own keys."""
        self.session_controller = session_controller
        self.branches = BranchController(self)
        self.operator = FaultOperator(self)
        self.navigator = TargetNavigator(self)
        self.commands = CommandRunner(self)
        self.finding = 0
        """Number of the finding that was shown last, 0: none."""
        self.appearance = appearance
        self.playbook = playbook
        self.seed = seed
        self.motion = Animation()
        """Animations, off by default."""
        self.matrix = Matrix(appearance, self.motion)
        self.lanes = Lanes(appearance)
        self.feed = FeedPane(appearance)
        self.level = ALL
        """Level of the events in the feed."""
        self.searched = ""
        """Words of the search of events."""
        self._searches = False
        """Whether the filter line is that of the events."""
        self.clients = SidePane(appearance, "clients")
        self.faults = SidePane(appearance, "faults")
        self.replica = SidePane(appearance, "replica")
        self.control = SidePane(appearance, "control")
        self.timeline = TimeStrip(appearance, "timeline")
        self.railing = RailCache()
        self.scrubbing = Scrubbing(session_controller.clock, self.near, self.scrub_to)
        self.matrix.printer = tooltips.of_matrix(self.matrix, session_controller)
        self.lanes.printer = tooltips.of_lanes(self.lanes, session_controller)
        for pane in (self.clients, self.faults, self.control):
            pane.printer = tooltips.of_side(pane, session_controller)
        self.timeline.printer = tooltips.of_timeline(
            self.timeline, session_controller, self.timeline_shown, lambda: self.railing.rails(session_controller)
        )
        self.status = Status(appearance)
        self.filter_bar = FilterBar(partition_matrix.FILTER)
        self._quit_asked_s = float("-inf")
        """Time of the last press of the key that goes back, with nothing to go back from."""
        self.make_sheets()
        self.toosmall: LineGrid[Row] = LineGrid(row, appearance, id="toosmall")

    def compose(self) -> ComposeResult:
        """Yield all panes; :meth:`place_panes` places them."""
        appearance, more = self.appearance, key_of("mode_timeline", self.keys)
        yield self.status
        yield Pane(self.matrix, appearance, title=f"Partitions {glyphs.TIMES} brokers", id="matrix-pane")
        yield Pane(self.clients, appearance, title="Producers & groups", id="clients-pane")
        yield Pane(self.faults, appearance, title="Active faults", id="faults-pane")
        yield Pane(self.replica, appearance, title="Under the cursor", id="replica-pane")
        yield Pane(self.control, appearance, title="Control plane", id="control-pane")
        yield Pane(self.lanes, appearance, title="Log", id="lanes-pane")
        yield Pane(self.feed, appearance, title="Events", id="feed-pane")
        yield Pane(self.timeline, appearance, title=f"Timeline {glyphs.NOTHING} {more}: full view", id="timeline-pane")
        yield KeyBar(appearance, self.keys, read_only=self.session_controller.read_only)
        yield self.filter_bar
        yield from self.sheet_panes()
        yield self.toosmall

    def grids(self) -> list[LineGrid[Any]]:
        """Return all live panes."""
        return list(self.query(LineGrid).results(LineGrid))

    # -- showing ------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Lay out the panes for the first paint."""
        self.choose_pane(self.chosen_pane)
        self.place_panes()

    def on_resize(self, _event: events.Resize) -> None:
        """Lay out the panes for the new size."""
        self.place_panes()

    def place_panes(self) -> None:
        """Place the panes for the current size."""
        view = self.session_controller.view
        width, height = self.size
        lines = len(
            side_panes.clients(view, self.session_controller.rates, self.session_controller.session.client_stats)
        )
        replicas = max((len(each.replicas) for each in view.partitions), default=1)
        boxes = plan(
            width, height, partitions=len(view.partitions), replicas=replicas, clients=lines,
            controllers=len(view.controllers), rails=len(self.railing.rails(self.session_controller)),
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

    def lay_out(self) -> None:
        """Lay out the panes again."""
        self.place_panes()

    def arranged(self, boxes: dict[str, Box]) -> dict[str, Box]:
        """Return the boxes of the panes, one of which may be maximised."""
        if not boxes:
            return boxes
        if self.maximised not in boxes:
            self.maximised = ""
        if self.chosen_pane not in boxes:
            self.choose_pane(MATRIX)
        width, height = self.size
        return {self.maximised: Box(0, BARS, width, height - BARS - 1)} if self.maximised else boxes

    def panes(self) -> list[Pane]:
        """Return the visible panes without sheets."""
        return [pane for pane in super().panes() if pane.display and pane.id not in SHEETS]

    def on_screen_resume(self) -> None:
        """Present again, as the screen was not updated while hidden."""
        self.present()

    @property
    def covered(self) -> bool:
        """Whether an opaque screen is above."""
        return any(above.styles.background.a == 1 for above in self.app.screen_stack[1:])

    def present(self) -> None:
        """Show the latest view of the session in visible widgets, which detect what changed."""
        if not self.is_mounted or not self.size.width:
            return
        session_controller, view = self.session_controller, self.session_controller.view
        self.motion.begin_frame(session_controller.clock.now(), view.now_us)
        if self.covered:
            self.matrix.keep_within(view)
            return
        if self.toosmall.display:
            self._say_too_small()
            return
        width = self.size.width
        self.status.show(self.status_rows(width))
        self.matrix.present(view, session_controller.activity)
        self.query_one("#matrix-pane", Pane).caption(f"Partitions {glyphs.TIMES} brokers", self.matrix.position)
        partition, broker = self.matrix.cursor
        if view.partitions and view.brokers:
            ordered = self.matrix.in_turn(view)
            self.lanes.present(view, ordered, view.brokers[broker].id, self._log)
        scrolled = f"from {self.lanes.start} {glyphs.NOTHING} {key_of('log_tail', self.keys)}: follow the tail"
        legend = LANES_LEGEND if self.lanes.start is None else scrolled
        self.query_one("#lanes-pane", Pane).caption(self.lanes.title or "Log", legend)
        self._present_feed()
        if self.clients.size.width:
            activity = session_controller.activity
            self.clients.show(
                side_panes.clients(
                    view, session_controller.rates, session_controller.session.client_stats, activity,
                    self.clients.size.width,
                )
            )  # fmt: skip
            self.faults.show(
                side_panes.faults(view, self.faults.size.height, session_controller.queued, key_of("fault", self.keys))
            )
            self.replica.show(side_panes.replica(view, partition, broker, activity, self.replica.size.width))
        if self.control.size.width:
            self.control.show(status_bar.rows(view))
        if self.query_one("#timeline-pane", Pane).display:
            forks = self.railing.rails(session_controller)
            self.timeline.present(session_controller.tape, view.now_us, session_controller.session.present_us, forks)
        if self.sheet.has_focus:
            self.show_sheet()

    def _present_feed(self) -> None:
        feed, words = self.session_controller.feed, self.searched.strip()
        self.feed.show(feed.lines(self.feed.size.height, self.feed.size.width, self.level, words))
        found = search_text(words, feed.found(words, self.level) if words else 0)
        self.query_one("#feed-pane", Pane).caption(level_title(self.level, key_of("events", self.keys)), found)

    def status_rows(self, width: int) -> tuple[status_bar.StatusBar | status_bar.ControlBar, ...]:
        """Return the lines of the status bar, the same in every mode."""
        session_controller = self.session_controller
        running = status_bar.RunStatus(
            self.playbook, self.seed, session_controller.paused, session_controller.seeking, session_controller.ended,
            session_controller.speed, session_controller.real_speed,
            recorded=session_controller.session.recorded is not None,
            present_us=session_controller.session.present_us if session_controller.session.in_past else -1,
            branch=session_controller.branches.current.letter if len(session_controller.branches) > 1 else "",
            queued=len(session_controller.queued),
            approximate=session_controller.is_approximate,
        )  # fmt: skip
        return status_bar.build(session_controller.view, running, width).with_changes(self.motion), status_bar.bar(
            session_controller.view, width
        )

    def _log(self, name: str, start: int, end: int) -> LogView:
        """Return a window of a partition's logs, including truncated cells that are still visible."""
        session_controller = self.session_controller
        log = session_controller.session.cluster.log_view(name, start, end)
        return self.motion.with_truncated(
            "lanes", log, session_controller.log_history.truncations(name, session_controller.view.now_us)
        )

    def _say_too_small(self) -> None:
        width, height = self.size
        lines = (
            f"floodmark needs {SMALLEST[0]}x{SMALLEST[1]}",
            f"this terminal has {width}x{height}",
            "the session continues",
        )
        blank = [Row()] * max(0, (height - len(lines)) // 2)
        rows = [Row(((" " * max(0, (width - len(line)) // 2 - 1) + line, "text"),)) for line in lines]
        self.toosmall.show((*blank, *rows))

    def toast(self, text: str, severity: Any = "information", *, seconds: float = 4) -> None:
        """Show one line about an operator's action for a few seconds."""
        self.app.notify(self.appearance.text(text), severity=severity, timeout=seconds, markup=False)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def partition(self) -> PartitionView | None:
        """Partition under the cursor, None without one."""
        partitions = self.session_controller.view.partitions
        return partitions[min(self.matrix.cursor[0], len(partitions) - 1)] if partitions else None

    @property
    def broker_under_cursor(self) -> int:
        """Id of the broker under the cursor."""
        return self.session_controller.view.brokers[self.matrix.cursor[1]].id

    def action_move(self, partitions: int, brokers: int) -> None:
        """Move the cursor."""
        self.matrix.move(partitions, brokers)
        hinting, view = getattr(self.app, "hinting", None), self.session_controller.view
        if hinting is not None and self.partition is not None and view.brokers:
            hinting.looked_at(help_text.word_of(self.partition, view.brokers[self.matrix.cursor[1]].id))

    def on_matrix_moved(self) -> None:
        """Follow the tail of the log of the new partition."""
        self.lanes.follow()
        self.present()

    def action_internal(self) -> None:
        """Show or hide internal topics."""
        self.session_controller.shows_internal = not self.session_controller.shows_internal
        self.session_controller.refresh_view()
        self.matrix.move_to(0, self.matrix.cursor[1])
        self.place_panes()

    def action_events(self) -> None:
        """Cycle the level of the event feed: all, warnings and alarms, alarms."""
        self.level = level_after(self.level)
        self.present()

    def action_sort(self) -> None:
        """Sort the partitions by the next column."""
        self._sort(partition_matrix.order_after(self.session_controller.order))

    def action_sort_reverse(self) -> None:
        """Reverse the order of the partitions."""
        order = self.session_controller.order
        self._sort(partition_matrix.order_by(order, order.column))

    def on_matrix_heading_clicked(self, message: Matrix.HeadingClicked) -> None:
        """Sort the partitions by the clicked column; again: reverse the order."""
        self._sort(partition_matrix.order_by(self.session_controller.order, message.column))

    def _sort(self, order: partition_matrix.PartitionOrder) -> None:
        self.matrix.follow()
        self.session_controller.order = self.matrix.order = order
        self.motion.forget()
        self.session_controller.refresh_view()
        self.present()

    def action_heat(self) -> None:
        """Cycle the matrix: heat map of the lag, overview of all partitions, normal."""
        shown = self.matrix
        shown.heat, shown.overview = not (shown.heat or shown.overview), shown.heat
        self.motion.forget()
        self.present()

    def action_log(self, offsets: int) -> None:
        """Scroll the log."""
        if self.session_controller.view.partitions:
            self.lanes.scroll_log(self.session_controller.view.partitions[self.matrix.cursor[0]], offsets)
            self.present()

    def action_fork(self) -> None:
        """Scroll the log to where the replicas differ."""
        if not self.session_controller.view.partitions:
            return
        partition = self.session_controller.view.partitions[self.matrix.cursor[0]]
        if self.lanes.to_fork(partition, self.session_controller.session.cluster.log_view) < 0:
            self.toast(f"all replicas of {partition.name} agree with their leader")
        self.present()

    def action_tail(self) -> None:
        """Follow the end of the log."""
        self.lanes.follow()
        self.present()

    def action_peek(self) -> None:
        """Open a record: the first visible one of a scrolled log, else the newest of the replica under the cursor."""
        from tui.screens.record import RecordScreen  # noqa: PLC0415 - first paint does without it

        if not self.session_controller.view.partitions or self.toosmall.display:
            return
        partition = self.session_controller.view.partitions[self.matrix.cursor[0]]
        broker = self.session_controller.view.brokers[self.matrix.cursor[1]].id
        newest = next((each.leo for each in partition.replicas if each.broker == broker), partition.leo) - 1
        offset = newest if self.lanes.start is None else self.lanes.start
        self.app.push_screen(RecordScreen(self.appearance, self.session_controller, partition.name, max(0, offset)))

    # -- the filter ---------------------------------------------------------------------------------------------------

    @property
    def filter_words(self) -> str:
        """Words of the filter that the line is for: of the matrix, or of the events."""
        return self.searched if self._searches else self.matrix.words

    def filter_by(self, words: str) -> None:
        """Show only the partitions that match, or the events."""
        if self._searches:
            self.searched = words
        else:
            self.matrix.words = words
        self.present()

    def show_topic(self, name: str) -> None:
        """Show only the partitions of a topic."""
        self._searches = False
        self.filter_by(name)

    def action_filter(self) -> None:
        """Open the filter line, of the events if their pane is chosen."""
        self._open_filter(events=self.chosen_pane == FEED)

    def action_search(self) -> None:
        """Open the filter line of the events."""
        self.choose_pane(FEED)
        self._open_filter(events=self.query_one(f"#{FEED}", Pane).display)

    def _open_filter(self, *, events: bool) -> None:
        if not self.toosmall.display:
            self._searches = events
            self.filter_bar.open(self.filter_words, SEARCH if events else partition_matrix.FILTER)

    def on_filter_bar_filter_closed(self, message: FilterBar.FilterClosed) -> None:
        """Return the focus to the matrix."""
        super().on_filter_bar_filter_closed(message)
        self.set_focus(self.matrix)

    def on_filter_bar_stepped(self, message: FilterBar.Stepped) -> None:
        """Move the cursor among the matching partitions."""
        self.matrix.move(message.lines, 0)

    def action_out(self) -> None:
        """Go one step back: close the filter line, restore a maximised pane, or drop a filter."""
        if not self.filter_bar.display:
            if self.minimised():
                return
            self._searches = bool(self.searched) and (self.chosen_pane == FEED or not self.matrix.words)
        self.unfiltered()

    def action_close(self) -> None:
        """Go one step back, or quit if pressed twice with nothing to go back from."""
        if self.filter_bar.display or self.maximised or self.matrix.words or self.searched:
            self.action_out()
            return
        now, asked = self.session_controller.clock.now(), self._quit_asked_s
        self._quit_asked_s = now
        if now - asked <= QUIT_S:
            self.app.exit(return_code=0)
        else:
            keys = f"{word_of('close', self.keys)} again, or {word_of('quit', self.keys)},"
            self.toast(f"{keys} quits and saves the session", seconds=QUIT_S)

    # -- jumping and copying ------------------------------------------------------------------------------------------

    def places(self) -> list[LabelPosition]:
        """Return partitions and brokers of the matrix as jump targets, if it is visible."""
        return self.matrix.places() if any(pane.id == MATRIX for pane in self.panes()) else []

    def go_to_place(self, position: LabelPosition) -> None:
        """Move the cursor to a partition or a broker."""
        partition, broker = self.matrix.cursor
        number = int(position.key)
        self.matrix.move_to(*((number, broker) if position.kind == "row" else (partition, number)))
        self.choose_pane(MATRIX)

    def under_cursor(self) -> tuple[str, str]:
        """Return name and text of the cell under the cursor."""
        view = self.session_controller.view
        if self.chosen_pane != MATRIX or not view.partitions or not view.brokers:
            return "", ""
        partition, broker = view.partitions[self.matrix.cursor[0]], view.brokers[self.matrix.cursor[1]]
        return f"{partition.name} {glyphs.NOTHING} b{broker.id}", clipboard_text.replica_line(view, partition, broker)

    # -- pages, which are imported when first opened, to speed up the first paint -------------------------------------

    def action_mode(self, name: str) -> None:
        """Change to another mode; open pages are closed."""
        mode = mode_of(name)
        if self.toosmall.display:
            return
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        if mode.where:
            self.app.push_screen(screen_class(mode)(self.appearance, self.session_controller))

    def action_ask(self) -> None:
        """Open the "is it safe to ...?" prompt."""
        from tui.screens.autopsy import AskScreen  # noqa: PLC0415
        from tui.session.background_tasks import recording_of  # noqa: PLC0415

        recorder = getattr(self.app, "recorder", None)
        path = recording_of(self.session_controller.session.recorded, recorder)
        if path is None:
            self.notify("'Is it safe?' needs a recorded session; this one is not recorded", severity="warning")
        elif not self.toosmall.display and self.session_controller.view.brokers:
            self.app.push_screen(
                AskScreen(self.appearance, self.session_controller, path, recorder, self.broker_meant())
            )

    def action_finding(self, findings: int) -> None:
        """Open the autopsy of the next or previous finding."""
        from tui.session.background_tasks import findings_so_far  # noqa: PLC0415

        count = len(findings_so_far(self.session_controller))
        if not count:
            self.notify(self._nothing_found())
        elif self.finding < 1:
            self.open_autopsy(1 if findings > 0 else count)
        else:
            self.open_autopsy((min(self.finding, count) - 1 + findings) % count + 1)

    def open_autopsy(self, number: int) -> None:
        """Open the autopsy of a finding by its number from 1, which has to exist."""
        from tui.screens.autopsy import AutopsyScreen  # noqa: PLC0415

        if self.toosmall.display:
            return
        page = AutopsyScreen(self.appearance, self.session_controller, number, getattr(self.app, "recorder", None))

        def closed(onward: "AutopsyRequest | None") -> None:
            self.finding = page.case.number
            if onward is not None:
                self.call_later(self.branches.go_onward, onward)

        self.app.push_screen(page, closed)

    def _nothing_found(self) -> str:
        violations = self.session_controller.view.violations
        others = f"; {violations} violations are among the events" if violations else ""
        return f"no finding about any record so far{others}"

    def action_help(self) -> None:
        """Open the help page about the current screen."""
        from tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.appearance, self.keys, self._here()))

    def _here(self) -> ScreenHelp:
        """Return the help about the current screen."""
        focused = getattr(self.app.screen.focused, "id", "")
        if focused in SHEET_HELP:
            return SHEET_HELP[focused]
        name, scope = getattr(self.app.screen, "MODE", ""), getattr(self.app.screen, "SCOPE", "")
        if name:
            return help_text.MODES["compare" if scope == "compare" else name]
        return help_text.of_page(scope) if scope else help_text.CLUSTER

    def action_settings(self) -> None:
        """Open the settings page."""
        from tui.screens.settings import SettingsScreen  # noqa: PLC0415

        if not self.toosmall.display:
            self.app.push_screen(SettingsScreen(self.appearance, self.session_controller))

    def action_command(self) -> None:
        """Open the command line."""
        self.commands.open_command()

    # -- time ---------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause or resume."""
        self.session_controller.pause(not self.session_controller.paused)
        self.moved()

    def action_step(self) -> None:
        """Step by one event."""
        if not self.session_controller.step():
            self.toast("no pending event is left", "warning")
        self.moved()

    def action_seek(self) -> None:
        """Run to the next notable event."""
        was_past = self.session_controller.session.in_past
        if not self.session_controller.seek():
            self.toast("no notable event up to the present")
        self.jumped() if was_past else self.moved()

    def action_faster(self) -> None:
        """Increase the speed by one step."""
        self.session_controller.faster()
        self.moved()

    def action_slower(self) -> None:
        """Decrease the speed by one step."""
        self.session_controller.slower()
        self.moved()

    def action_speed_one(self) -> None:
        """Set the speed to real time."""
        self.session_controller.set_speed(1.0)
        self.moved()

    def action_take_over(self) -> None:
        """Skip the remaining steps of the playbook."""
        try:
            self.toast(self.session_controller.take_over())
        except FaultError as error:
            self.toast(f"cannot take over: {error}", "warning")
        self.moved()

    def action_autopause(self) -> None:
        """Toggle pausing when the next acknowledged record goes missing."""
        self.session_controller.stops_at_loss = not self.session_controller.stops_at_loss
        armed = "auto-pause on: pauses when the next acknowledged record goes missing"
        self.notify(armed if self.session_controller.stops_at_loss else "auto-pause off")

    def action_back(self) -> None:
        """Go one event back."""
        self.jump(self.session_controller.back)

    def action_previous(self) -> None:
        """Go back to the previous notable event."""
        self.jump(self.session_controller.previous, "no notable event before this time")

    def action_second(self, seconds: int) -> None:
        """Go some seconds forward or back."""
        self.jump(lambda: self.session_controller.move_time(seconds * SECOND_US))

    def action_beginning(self) -> None:
        """Go to the beginning."""
        self.go_to(self.session_controller.session.timeline.first_us)

    def action_present(self) -> None:
        """Return to the present."""
        self.jump(self.session_controller.to_present, PRESENT)

    def action_goto(self) -> None:
        """Open the prompt for a time."""
        from tui.screens.time_travel import GotoScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            session = self.session_controller.session
            marks = tuple(self.branches.bookmarks)
            page = GotoScreen(self.appearance, session.timeline.first_us, lambda: session.present_us, marks)
            self.app.push_screen(page, self._jump_to)

    def _jump_to(self, chosen: int | Bookmark | None) -> None:
        if isinstance(chosen, Bookmark):
            self.branches.go_to_bookmark(chosen)
        else:
            self.go_to(chosen)

    def go_to(self, at_us: int | None) -> None:
        """Go to a time; None does nothing."""
        if at_us is not None:
            self.jump(lambda: self.session_controller.to_time(at_us))

    def jump(self, jump: Callable[[], object], failed: str = BEGINNING) -> None:
        """Go to another time; ``failed`` is the message if that is not possible."""
        was_past = self.session_controller.session.in_past
        if jump() is False:
            self.toast(failed)
        elif self.session_controller.session.in_past and not was_past:
            self.toast(PAST.format(pause=word_of("pause", self.keys), present=word_of("present", self.keys)))
        self.jumped()

    def jumped(self) -> None:
        """Adjust to another time, which may have other partitions and shorter logs."""
        self.motion.forget()  # changes between two times are not animated
        partitions = self.session_controller.view.partitions
        shown = self.lanes.start
        at = min(self.matrix.cursor[0], len(partitions) - 1)
        if shown is not None and (at < 0 or shown >= max((each.leo for each in partitions[at].replicas), default=0)):
            self.lanes.follow()
        self.moved()
        self.place_panes()

    def moved(self) -> None:
        """Present after a change by a key, and resume frames if they had stopped."""
        self.session_controller.refresh_view()
        self.present()
        for screen in self.app.screen_stack:
            if isinstance(screen, LiveScreen):
                screen.present()
        self.post_message(WakeMessage())

    # -- branches and bookmarks ---------------------------------------------------------------------------------------

    def action_undo(self) -> None:
        """Undo: start a branch from right before the last action, without it."""
        self.branches.undo()

    def action_redo(self) -> None:
        """Redo: return to the branch that contains the undone action."""
        self.branches.redo()

    def action_what_if(self) -> None:
        """Start a branch at the current time."""
        self.branches.what_if()

    def action_branches(self) -> None:
        """Open the list of branches."""
        self.branches.open_branches()

    def action_bookmark(self) -> None:
        """Bookmark the current time."""
        self.branches.put_bookmark()

    def action_bookmarks(self) -> None:
        """Open the list of bookmarks."""
        self.branches.open_bookmarks()

    def switch_branch(self, letter: str, at_us: int = -1) -> None:
        """Switch to a branch: to ``at_us`` if that is after its fork, else to its present."""
        branch = next(each for each in self.session_controller.branches if each.letter == letter)
        self.branches.switch(branch)
        if max(0, branch.left_us) <= at_us < branch.session.present_us:
            self.go_to(at_us)

    # -- acting -------------------------------------------------------------------------------------------------------

    def top_selection(self) -> Sheets:
        """Return the topmost screen with a selection: a mode, or this one."""
        return next(each for each in reversed(self.app.screen_stack) if isinstance(each, Sheets))

    @property
    def target(self) -> int:
        """Id of the target node of this screen, or of the mode over it."""
        top = self.top_selection()
        found = super().target if top is self else top.target
        return found if found >= 0 else self.chosen()

    def chosen(self) -> int:
        """Return the broker under the cursor."""
        return self.broker_under_cursor

    def broker_meant(self) -> int:
        """Return the target broker of this screen, or of the mode over it."""
        return self.top_selection().broker_id()

    def open_faults(self, node: int) -> None:
        """Open the fault sheet on a node."""
        self.aim_at(node)
        self._show(self.whichkey)

    def fault_on(self, node: int) -> None:
        """Change to the cluster mode, and open the fault sheet on a node."""
        if self.toosmall.display:
            return
        self.action_mode("cluster")
        self.open_faults(node)

    def fault_about(self, name: str) -> None:
        """Open the fault sheet on a client, on the first member of a group, or on a node, by its name."""
        view = self.session_controller.view
        nodes = [each.node for each in view.clients if each.name == name]
        nodes += [each.node for each in view.controllers if each.name == name]
        nodes += [each.node for each in view.clients if each.name.startswith(f"{name}/")]
        if nodes:
            self.fault_on(nodes[0])
        else:
            self.toast(f"{name} has no process to inject a fault into", "warning")

    def aim_at(self, node: int) -> None:
        """Select the target; brokers are selected by the cursor."""
        ids = [each.id for each in self.session_controller.view.brokers]
        self._aim = -1 if node in ids else node
        if node in ids:
            self.matrix.move_to(self.matrix.cursor[0], ids.index(node))

    def close_sheet(self) -> None:
        """Close the sheet, and return the focus to the matrix."""
        super().close_sheet()
        self.set_focus(self.matrix)

    def action_heal(self) -> None:
        """Heal all faults."""
        self.operator.heal()

    # -- the mouse ----------------------------------------------------------------------------------------------------

    def scrub(self, at_us: int) -> None:
        """Show the time that the pointer was dragged to, now or with the next frame."""
        if not self.scrubbing.want(at_us):
            self.post_message(WakeMessage())

    def near(self, at_us: int) -> int:
        """Return a time near ``at_us`` that is cheap to show."""
        return self.session_controller.session.timeline.near(at_us)

    def scrub_to(self, at_us: int, exact: bool) -> None:
        """Show a time exactly, or one near it while dragging."""
        if exact:
            self.go_to(at_us)
        else:
            self.jump(lambda: self.session_controller.to_near(at_us))

    def on_time_lanes_released(self) -> None:
        """Show the exact time at the end of a drag."""
        self.scrubbing.settle()

    def on_time_lanes_scrubbed(self, message: TimeLanes.Scrubbed) -> None:
        """Move time by dragging in the strip at the foot."""
        self.scrub(self.timeline.window.instant(message.column, self.session_controller.session.present_us))

    def timeline_shown(self) -> TimelineView:
        """Return the view of the strip at the foot."""
        session_controller = self.session_controller
        return TimelineView(
            self.timeline.window,
            session_controller.view.now_us,
            session_controller.session.present_us,
            self.timeline.LANES,
        )

    def on_time_lanes_picked(self, message: TimeLanes.Picked) -> None:
        """Switch to the branch of a clicked rail."""
        lane, column = message.spot
        window, letter = self.timeline.window, letter_of(lane)
        if letter:
            self.switch_branch(letter, (window.first + column) * window.unit_us if column >= 0 else -1)

    async def press(self, name: str) -> None:
        """Perform the key with this id."""
        await self.run_action(next(key.action for key in self.keys if key.id == name))

    async def on_status_word_clicked(self, message: Status.WordClicked) -> None:
        """Press the key of a clicked field of the status bar."""
        await self.press(message.key)

    def on_side_pane_subject_clicked(self, message: SidePane.SubjectClicked) -> None:
        """Open the fault sheet on the subject of a line, or the clients mode."""
        if message.faults:
            self.fault_about(message.about)
        elif message.about not in [each.name for each in self.session_controller.view.controllers]:
            self.action_mode("clients")

    def on_side_pane_heal(self, message: SidePane.Heal) -> None:
        """Heal the clicked fault."""
        self.operator.do(Action("heal", str(message.fault)))

    def on_matrix_partition_right_clicked(self) -> None:
        """Open the fault sheet."""
        self.action_fault()

    def on_matrix_partition_double_clicked(self) -> None:
        """Open the log of the cell."""
        self.action_mode("log")

    def on_lanes_lane_clicked(self, message: Lanes.LaneClicked) -> None:
        """Select the replica of a clicked lane; the right button opens its fault sheet, a double click its log."""
        view, spot = self.session_controller.view, message.spot
        partitions, brokers = [each.name for each in view.partitions], [each.id for each in view.brokers]
        if message.faults:
            self.fault_on(spot.broker)
        elif message.times == 1 and spot.partition in partitions and spot.broker in brokers:
            self.matrix.move_to(partitions.index(spot.partition), brokers.index(spot.broker))
        elif message.times == 2:
            self.action_mode("log")

    def on_lanes_log_scrolled(self, message: Lanes.LogScrolled) -> None:
        """Scroll the log."""
        self.action_log(message.offsets)

    async def on_key_bar_key_clicked(self, message: KeyBar.KeyClicked) -> None:
        """Perform the clicked key of the bar."""
        await self.run_action(message.action)
