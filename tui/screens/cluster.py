"""The main screen: the whole cluster at a glance, its keys, its filter, and the mouse."""

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
from tui.screens.base import Filtering, LiveScreen, Paned
from tui.screens.branch_controller import BranchController
from tui.screens.fault_sheet import Sheets
from tui.screens.layout import BARS, SMALLEST, Box, plan
from tui.screens.target_actions import CommandRunner, FaultOperator, TargetNavigator
from tui.session.session_controller import Railing, Scrubbing, SimBridge
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel import clipboard_text, partition_matrix, side_panes, status_bar
from tui.viewmodel import help as help_text
from tui.viewmodel.animation import Motion
from tui.viewmodel.help import Here
from tui.viewmodel.row import LabelPosition, Row
from tui.viewmodel.timeline.branches import Bookmark, letter_of
from tui.viewmodel.timeline.event_feed import ALL, level_after, level_title
from tui.viewmodel.timeline.timeline_rows import TimelineView
from tui.widgets import tooltips
from tui.widgets.line_widget import LineGrid, row
from tui.widgets.log import Lanes
from tui.widgets.matrix import Matrix
from tui.widgets.panes import FeedPane, FilterBar, KeyBar, Pane, SidePane, Status
from tui.widgets.timeline import TimeLanes, TimeStrip

if TYPE_CHECKING:
    from tui.screens.autopsy import Onward
    from tui.screens.base import ModeScreen

SHEETS: Final = ("whichkey-pane", "operations-pane")
"""Panes that lie over the others while they are open."""
MATRIX: Final = "matrix-pane"
SHEET_HELP: Final = {"whichkey": help_text.SHEET, "operations": help_text.OPERATIONS}
"""Id of a sheet → its help."""
SECOND_US: Final = 1_000_000
PAST: Final = "this is the past: acting here begins a branch; {pause} plays it on, {present}: back to the present"
BEGINNING: Final = "this is the beginning: there is nothing before it"
PRESENT: Final = "this is the present already"
LANES_LEGEND: Final = (
    f"digit: epoch {glyphs.NOTHING} solid below its HW {glyphs.NOTHING} {glyphs.ABOVE_HW} above"
    f" {glyphs.NOTHING} {glyphs.DIVERGED} differs {glyphs.NOTHING} {glyphs.LOST} acked, missing"
)


def screen_class(mode: Mode) -> "type[ModeScreen]":
    """The screen of a mode that has one of its own."""
    module, _colon, name = mode.where.partition(":")
    found: type[ModeScreen] = getattr(import_module(module), name)
    return found


class Wake(Message):
    """Frames may be needed again."""


class MainScreen(Paned, Filtering, Sheets):
    """Matrix, lanes, feed, side panes, status and keys over one session.

    What it does to branches, faults and targets is with its collaborators; the keys' actions are here.
    """

    AUTO_FOCUS = "#matrix"
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    chosen_pane = MATRIX

    def __init__(
        self, bridge: SimBridge, look: Look, *, playbook: str, seed: int, keys: tuple[KeyBinding, ...]
    ) -> None:
        super().__init__()
        self.keys = keys
        """The key map, with the keys that the user wants otherwise."""
        self.bridge = bridge
        self.branches = BranchController(self)
        self.operator = FaultOperator(self)
        self.navigator = TargetNavigator(self)
        self.commands = CommandRunner(self)
        self.finding = 0
        """Number of the finding that was looked at last, 0: none."""
        self.look = look
        self.playbook = playbook
        self.seed = seed
        self.motion = Motion()
        """Off until somebody says otherwise."""
        self.matrix = Matrix(look, self.motion)
        self.lanes = Lanes(look)
        self.feed = FeedPane(look)
        self.level = ALL
        """Which events the feed shows."""
        self.clients = SidePane(look, "clients")
        self.faults = SidePane(look, "faults")
        self.replica = SidePane(look, "replica")
        self.control = SidePane(look, "control")
        self.timeline = TimeStrip(look, "timeline")
        self.railing = Railing()
        self.scrubbing = Scrubbing(bridge.clock, self.near, self.scrub_to)
        self.matrix.teller = tooltips.of_matrix(self.matrix, bridge)
        self.lanes.teller = tooltips.of_lanes(self.lanes, bridge)
        for pane in (self.clients, self.faults, self.control):
            pane.teller = tooltips.of_side(pane, bridge)
        self.timeline.teller = tooltips.of_timeline(
            self.timeline, bridge, self.timeline_shown, lambda: self.railing.rails(bridge)
        )
        self.status = Status(look)
        self.filter_bar = FilterBar(partition_matrix.FILTER)
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

    # -- showing ------------------------------------------------------------------------------------------------------

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
        lines = len(side_panes.clients(view, self.bridge.rates, self.bridge.session.client_books))
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

    def lay_out(self) -> None:
        """Share the room out anew."""
        self.share_out()

    def arranged(self, boxes: dict[str, Box]) -> dict[str, Box]:
        """The places of the panes, of which one may have the whole room."""
        if not boxes:
            return boxes
        if self.maximised not in boxes:
            self.maximised = ""
        if self.chosen_pane not in boxes:
            self.choose_pane(MATRIX)
        width, height = self.size
        return {self.maximised: Box(0, BARS, width, height - BARS - 1)} if self.maximised else boxes

    def panes(self) -> list[Pane]:
        """Those in sight; a sheet is none of them."""
        return [pane for pane in super().panes() if pane.display and pane.id not in SHEETS]

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
        self.feed.show(bridge.feed.lines(self.feed.size.height, self.feed.size.width, self.level))
        self.query_one("#feed-pane", Pane).caption(level_title(self.level, key_of("events", self.keys)))
        if self.clients.size.width:
            self.clients.show(side_panes.clients(view, bridge.rates, bridge.session.client_books))
            self.faults.show(
                side_panes.faults(view, self.faults.size.height, bridge.queued, key_of("fault", self.keys))
            )
            self.replica.show(side_panes.replica(view, partition, broker))
        if self.control.size.width:
            self.control.show(status_bar.rows(view))
        if self.query_one("#timeline-pane", Pane).display:
            forks = self.railing.rails(bridge)
            self.timeline.present(bridge.tape, view.now_us, bridge.session.present_us, forks)
        if self.sheet.has_focus:
            self.show_sheet()

    def status_rows(self, width: int) -> tuple[status_bar.StatusBar | status_bar.ControlBar, ...]:
        """The lines of the status bar, the same in every mode."""
        bridge = self.bridge
        running = status_bar.RunStatus(
            self.playbook, self.seed, bridge.paused, bridge.seeking, bridge.ended, bridge.speed, bridge.real_speed,
            recorded=bridge.session.recorded is not None,
            present_us=bridge.session.present_us if bridge.session.in_past else -1,
            branch=bridge.branches.current.letter if len(bridge.branches) > 1 else "", queued=len(bridge.queued),
            rough=bridge.rough,
        )  # fmt: skip
        return status_bar.build(bridge.view, running, width).told(self.motion), status_bar.bar(bridge.view, width)

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

    def toast(self, text: str, severity: Any = "information", *, seconds: float = 4) -> None:
        """One line about what the operator did; it goes away by itself."""
        self.app.notify(self.look.text(text), severity=severity, timeout=seconds, markup=False)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def partition(self) -> PartitionView | None:
        """The one under the cursor, None where there is none."""
        partitions = self.bridge.view.partitions
        return partitions[min(self.matrix.cursor[0], len(partitions) - 1)] if partitions else None

    @property
    def broker_under_cursor(self) -> int:
        """Id of the broker under the cursor."""
        return self.bridge.view.brokers[self.matrix.cursor[1]].id

    def action_move(self, partitions: int, brokers: int) -> None:
        """Move the cursor."""
        self.matrix.move(partitions, brokers)
        hinting, view = getattr(self.app, "hinting", None), self.bridge.view
        if hinting is not None and self.partition is not None and view.brokers:
            hinting.looked_at(help_text.word_of(self.partition, view.brokers[self.matrix.cursor[1]].id))

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

    def action_events(self) -> None:
        """Show only warnings and alarms among the events, then only alarms, then all again."""
        self.level = level_after(self.level)
        self.present()

    def action_heat(self) -> None:
        """Tell by colour and bars how far behind replicas and groups are; then all partitions at a glance; no more."""
        shown = self.matrix
        shown.heat, shown.glance = not (shown.heat or shown.glance), shown.heat
        self.motion.forget()
        self.present()

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

    # -- the filter ---------------------------------------------------------------------------------------------------

    @property
    def filter_words(self) -> str:
        """Of the matrix."""
        return self.matrix.words

    def filter_by(self, words: str) -> None:
        """Show the partitions that fit, and no others."""
        self.matrix.words = words
        self.present()

    def action_filter(self) -> None:
        """Type a filter, where there is a matrix to see it in."""
        if not self.toosmall.display:
            super().action_filter()

    def on_filter_bar_filter_closed(self, message: FilterBar.FilterClosed) -> None:
        """The keys are the matrix's again."""
        super().on_filter_bar_filter_closed(message)
        self.set_focus(self.matrix)

    def on_filter_bar_stepped(self, message: FilterBar.Stepped) -> None:
        """Move the cursor among what is shown."""
        self.matrix.move(message.lines, 0)

    def action_out(self) -> None:
        """One step back: out of the filter's line, of the pane that has the whole room, of the filter."""
        if self.filter_bar.display or not self.minimised():
            self.unfiltered()

    # -- jumping and copying ------------------------------------------------------------------------------------------

    def places(self) -> list[LabelPosition]:
        """Partitions and brokers of the matrix, where that is in sight."""
        return self.matrix.places() if any(pane.id == MATRIX for pane in self.panes()) else []

    def go_to_place(self, place: LabelPosition) -> None:
        """A partition, or a broker."""
        partition, broker = self.matrix.cursor
        number = int(place.key)
        self.matrix.place(*((number, broker) if place.kind == "row" else (partition, number)))
        self.choose_pane(MATRIX)

    def under_cursor(self) -> tuple[str, str]:
        """The cell of the matrix."""
        view = self.bridge.view
        if self.chosen_pane != MATRIX or not view.partitions or not view.brokers:
            return "", ""
        partition, broker = view.partitions[self.matrix.cursor[0]], view.brokers[self.matrix.cursor[1]]
        return f"{partition.name} {glyphs.NOTHING} b{broker.id}", clipboard_text.replica_line(view, partition, broker)

    # -- pages, which are read when they are first wanted, for the first paint's sake ---------------------------------

    def action_mode(self, name: str) -> None:
        """Another mode over the whole terminal, wherever anything fits; pages over this one are left."""
        mode = mode_of(name)
        if self.toosmall.display:
            return
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        if mode.where:
            self.app.push_screen(screen_class(mode)(self.look, self.bridge))

    def action_ask(self) -> None:
        """Ask whether something is safe to do now."""
        from tui.screens.autopsy import AskScreen  # noqa: PLC0415
        from tui.session.background_tasks import recording_of  # noqa: PLC0415

        recorder = getattr(self.app, "recorder", None)
        path = recording_of(self.bridge.session.recorded, recorder)
        if path is None:
            self.notify("this session is not being recorded: nothing can be asked about it", severity="warning")
        elif not self.toosmall.display and self.bridge.view.brokers:
            self.app.push_screen(AskScreen(self.look, self.bridge, path, recorder, self.broker_meant()))

    def action_finding(self, findings: int) -> None:
        """The autopsy of the next finding, or of the one before, as many as there are so far."""
        from tui.session.background_tasks import findings_so_far  # noqa: PLC0415

        found = len(findings_so_far(self.bridge))
        if not found:
            self.notify(self._nothing_found())
        elif self.finding < 1:
            self.open_autopsy(1 if findings > 0 else found)
        else:
            self.open_autopsy((min(self.finding, found) - 1 + findings) % found + 1)

    def open_autopsy(self, number: int) -> None:
        """The autopsy of the finding of a number from 1, of which there is one."""
        from tui.screens.autopsy import AutopsyScreen  # noqa: PLC0415

        if self.toosmall.display:
            return
        page = AutopsyScreen(self.look, self.bridge, number, getattr(self.app, "recorder", None))

        def closed(onward: "Onward | None") -> None:
            self.finding = page.case.number
            if onward is not None:
                self.call_later(self.branches.go_onward, onward)

        self.app.push_screen(page, closed)

    def _nothing_found(self) -> str:
        violations = self.bridge.view.violations
        broken = f"; the events tell of {violations} broken rules" if violations else ""
        return f"no finding so far: nothing is wrong with any record{broken}"

    def action_help(self) -> None:
        """What is looked at, then keys and glyphs."""
        from tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.look, self.keys, self._here()))

    def _here(self) -> Here:
        """What is looked at."""
        focused = getattr(self.app.screen.focused, "id", "")
        if focused in SHEET_HELP:
            return SHEET_HELP[focused]
        name, scope = getattr(self.app.screen, "MODE", ""), getattr(self.app.screen, "SCOPE", "")
        if name:
            return help_text.MODES["compare" if scope == "compare" else name]
        return help_text.of_page(scope) if scope else help_text.CLUSTER

    def action_settings(self) -> None:
        """Colours, glyphs, speed, and the file that keeps them."""
        from tui.screens.settings import SettingsScreen  # noqa: PLC0415

        if not self.toosmall.display:
            self.app.push_screen(SettingsScreen(self.look, self.bridge))

    def action_command(self) -> None:
        """Open the line of commands."""
        self.commands.open_command()

    # -- time ---------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Stop, or go on."""
        self.bridge.pause(not self.bridge.paused)
        self.moved()

    def action_step(self) -> None:
        """One event."""
        if not self.bridge.step():
            self.toast("nothing is pending: no event is left", "warning")
        self.moved()

    def action_seek(self) -> None:
        """On to the next notable event."""
        was_past = self.bridge.session.in_past
        if not self.bridge.seek():
            self.toast("nothing notable from there to the present")
        self.jumped() if was_past else self.moved()

    def action_faster(self) -> None:
        """One step faster."""
        self.bridge.faster()
        self.moved()

    def action_slower(self) -> None:
        """One step slower."""
        self.bridge.slower()
        self.moved()

    def action_speed_one(self) -> None:
        """As fast as real time."""
        self.bridge.set_speed(1.0)
        self.moved()

    def action_take_over(self) -> None:
        """Leave out what is left of the playbook's steps."""
        try:
            self.toast(self.bridge.take_over())
        except FaultError as error:
            self.toast(f"refused: {error}", "warning")
        self.moved()

    def action_autopause(self) -> None:
        """Pause by itself where the next acknowledged record goes missing, or no longer."""
        self.bridge.stops_at_loss = not self.bridge.stops_at_loss
        armed = "pausing where the next acknowledged record goes missing"
        self.notify(armed if self.bridge.stops_at_loss else "not pausing by itself any more")

    def action_back(self) -> None:
        """One event back."""
        self.jump(self.bridge.back)

    def action_previous(self) -> None:
        """Back to the previous notable event."""
        self.jump(self.bridge.previous, "nothing notable happened before this")

    def action_second(self, seconds: int) -> None:
        """Seconds on, or back."""
        self.jump(lambda: self.bridge.by(seconds * SECOND_US))

    def action_beginning(self) -> None:
        """Back to the beginning."""
        self.go_to(self.bridge.session.timeline.first_us)

    def action_present(self) -> None:
        """Back to the present."""
        self.jump(self.bridge.to_present, PRESENT)

    def action_goto(self) -> None:
        """Ask for a time."""
        from tui.screens.time_travel import GotoScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            session = self.bridge.session
            marks = tuple(self.branches.bookmarks)
            page = GotoScreen(self.look, session.timeline.first_us, lambda: session.present_us, marks)
            self.app.push_screen(page, self._gone)

    def _gone(self, chosen: int | Bookmark | None) -> None:
        if isinstance(chosen, Bookmark):
            self.branches.go_to_bookmark(chosen)
        else:
            self.go_to(chosen)

    def go_to(self, at_us: int | None) -> None:
        """Show a time; None shows what is shown."""
        if at_us is not None:
            self.jump(lambda: self.bridge.to_time(at_us))

    def jump(self, jump: Callable[[], object], failed: str = BEGINNING) -> None:
        """Go to another time; what to say where that cannot be done."""
        was_past = self.bridge.session.in_past
        if jump() is False:
            self.toast(failed)
        elif self.bridge.session.in_past and not was_past:
            self.toast(PAST.format(pause=word_of("pause", self.keys), present=word_of("present", self.keys)))
        self.jumped()

    def jumped(self) -> None:
        """Another instant may have other partitions, and shorter logs."""
        self.motion.forget()  # nothing has moved in another picture
        partitions = self.bridge.view.partitions
        shown = self.lanes.start
        at = min(self.matrix.cursor[0], len(partitions) - 1)
        if shown is not None and (at < 0 or shown >= max((each.leo for each in partitions[at].replicas), default=0)):
            self.lanes.follow()
        self.moved()
        self.share_out()

    def moved(self) -> None:
        """Something changed by a key: show it, and let frames come again if they had stopped."""
        self.bridge.look()
        self.present()
        for screen in self.app.screen_stack:
            if isinstance(screen, LiveScreen):
                screen.present()
        self.post_message(Wake())

    # -- branches and bookmarks ---------------------------------------------------------------------------------------

    def action_undo(self) -> None:
        """Back to right before the last action, without it."""
        self.branches.undo()

    def action_redo(self) -> None:
        """Back to the branch in which it stands."""
        self.branches.redo()

    def action_what_if(self) -> None:
        """A branch from this instant on, in which nothing is done yet."""
        self.branches.what_if()

    def action_branches(self) -> None:
        """The list of branches."""
        self.branches.open_branches()

    def action_bookmark(self) -> None:
        """Remember this instant."""
        self.branches.put_bookmark()

    def action_bookmarks(self) -> None:
        """The list of bookmarks."""
        self.branches.open_bookmarks()

    def change_over(self, letter: str, at_us: int = -1) -> None:
        """To a branch: to an instant of it that is its own, else to its present."""
        branch = next(each for each in self.bridge.branches if each.letter == letter)
        self.branches.switch(branch)
        if max(0, branch.left_us) <= at_us < branch.session.present_us:
            self.go_to(at_us)

    # -- acting -------------------------------------------------------------------------------------------------------

    def foremost(self) -> Sheets:
        """The uppermost screen on which something can be selected, this one or a mode over it."""
        return next(each for each in reversed(self.app.screen_stack) if isinstance(each, Sheets))

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

    def fault_on(self, node: int) -> None:
        """The sheet of faults on a node, over the cluster, whichever mode is looked at."""
        if self.toosmall.display:
            return
        self.action_mode("cluster")
        self.open_faults(node)

    def fault_about(self, name: str) -> None:
        """The same by a name: that of a client, of a group, whose first member it is then, or of a node."""
        view = self.bridge.view
        nodes = [each.node for each in view.clients if each.name == name]
        nodes += [each.node for each in view.controllers if each.name == name]
        nodes += [each.node for each in view.clients if each.name.startswith(f"{name}/")]
        if nodes:
            self.fault_on(nodes[0])
        else:
            self.toast(f"{name} has no process that could be broken", "warning")

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

    def action_heal(self) -> None:
        """Heal everything."""
        self.operator.heal()

    # -- the mouse ----------------------------------------------------------------------------------------------------

    def scrub(self, at_us: int) -> None:
        """Show an instant that the pointer is dragged to: now, or with the next frame that may."""
        if not self.scrubbing.want(at_us):
            self.post_message(Wake())

    def near(self, at_us: int) -> int:
        """What costs little to show in the place of an instant."""
        return self.bridge.session.timeline.near(at_us)

    def scrub_to(self, at_us: int, exact: bool) -> None:
        """Show an instant: what was meant, or something near it on the way there."""
        if exact:
            self.go_to(at_us)
        else:
            self.jump(lambda: self.bridge.to_near(at_us))

    def on_time_lanes_released(self) -> None:
        """The drag is over: exactly there."""
        self.scrubbing.settle()

    def on_time_lanes_scrubbed(self, message: TimeLanes.Scrubbed) -> None:
        """The strip at the foot is a scrubber."""
        self.scrub(self.timeline.window.instant(message.column, self.bridge.session.present_us))

    def timeline_shown(self) -> TimelineView:
        """What the strip at the foot shows."""
        bridge = self.bridge
        return TimelineView(self.timeline.window, bridge.view.now_us, bridge.session.present_us, self.timeline.LANES)

    def on_time_lanes_picked(self, message: TimeLanes.Picked) -> None:
        """A rail of the strip: over to that branch."""
        lane, column = message.spot
        window, letter = self.timeline.window, letter_of(lane)
        if letter:
            self.change_over(letter, (window.first + column) * window.unit_us if column >= 0 else -1)

    async def press(self, name: str) -> None:
        """Do what the key of an id does."""
        await self.run_action(next(key.action for key in self.keys if key.id == name))

    async def on_status_word_clicked(self, message: Status.WordClicked) -> None:
        """A word of the status bar that stands for a key."""
        await self.press(message.key)

    def on_side_pane_subject_clicked(self, message: SidePane.SubjectClicked) -> None:
        """Somebody that a line is about: faults, or two clicks for the mode of all clients."""
        if message.faults:
            self.fault_about(message.about)
        elif message.about not in [each.name for each in self.bridge.view.controllers]:
            self.action_mode("clients")

    def on_side_pane_heal(self, message: SidePane.Heal) -> None:
        """Heal one fault by the mouse."""
        self.operator.do(Action("heal", str(message.fault)))

    def on_matrix_partition_right_clicked(self) -> None:
        """The right button opens the sheet."""
        self.action_fault()

    def on_matrix_partition_double_clicked(self) -> None:
        """Two clicks on a cell: its log."""
        self.action_mode("log")

    def on_lanes_lane_clicked(self, message: Lanes.LaneClicked) -> None:
        """A log at the foot: its replica is chosen, with the right button for a fault, by two clicks for its mode."""
        view, spot = self.bridge.view, message.spot
        partitions, brokers = [each.name for each in view.partitions], [each.id for each in view.brokers]
        if message.faults:
            self.fault_on(spot.broker)
        elif message.times == 1 and spot.partition in partitions and spot.broker in brokers:
            self.matrix.place(partitions.index(spot.partition), brokers.index(spot.broker))
        elif message.times == 2:
            self.action_mode("log")

    def on_lanes_log_scrolled(self, message: Lanes.LogScrolled) -> None:
        """The wheel over the log."""
        self.action_log(message.offsets)

    async def on_key_bar_key_clicked(self, message: KeyBar.KeyClicked) -> None:
        """A key of the bar was clicked."""
        await self.run_action(message.action)
