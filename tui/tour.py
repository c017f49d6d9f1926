"""Guided tour: one task at a time, explained in a small pane that advances with what the user does, never by time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from tui.keybindings.keymap import KEYS, KeyBinding, key_of
from tui.screens.autopsy import AutopsyScreen
from tui.screens.fault_sheet import Sheets
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.terminal.theme import Appearance
from tui.viewmodel.row import Row
from tui.widgets.line_widget import Rows
from tui.widgets.panes import Pane

if TYPE_CHECKING:
    from tui.app import FloodmarkApp

NAME: Final = "tour"
"""Name of the bundled playbook that the tour runs."""
WIDTH: Final = 66
LEAVE: Final = "{tour} leaves the tour"


@dataclass(frozen=True, slots=True)
class TourContext:
    """State of session and TUI that decides whether a task of the tour is done."""

    now_us: int
    paused: bool
    at_follower: bool
    """Whether the cursor is on the follower."""
    follower_paused: bool
    in_sync: int
    """Number of replicas in the ISR."""
    leader_down: bool
    missing: int
    """Acknowledged records that are missing on the leader, or lost."""
    autopsy: bool
    prevention_requested: bool
    """Whether the autopsy is computing, or shows, what would have prevented the loss."""
    in_past: bool
    unexpected: str = ""
    """Brokers that are down or paused although the tour did not request it, as text; empty for none."""


@dataclass(frozen=True, slots=True)
class TourTask:
    """Task of the tour: text, keys to press, and when it is done."""

    text: str
    keys: str
    done: Callable[[TourContext], bool]
    missed: Callable[[TourContext], bool] = lambda tour_context: False
    """Whether the task can no longer be done, so that the tour returns to :data:`PAUSE_TASK`."""
    stops_time: bool = False
    """Whether time is paused once the task is done."""
    past: bool = False
    """Whether the task is also checked while the past is shown."""


def _is_healthy(context: TourContext) -> bool:
    """Return whether the partition is healthy again."""
    return context.in_sync > 1 and not context.leader_down and not context.missing


STOPS: Final = (
    TourTask(
        "A producer will write orders with acks=all: both replicas, on two of three brokers, must have a record"
        " before it is acknowledged. Time is paused: start it.",
        "{pause}",
        lambda tour_context: tour_context.now_us > 0 and not tour_context.paused,
    ),
    TourTask(
        f"A row is a partition. {glyphs.LEADER} is the leader with its log end offset; {glyphs.IN_SYNC} is an in-sync"
        " follower, = means fully caught up. Move the cursor to {tour_follower}.",
        "{right}",
        lambda tour_context: tour_context.at_follower,
    ),
    TourTask(
        "Now pause the process of {tour_follower} for 15 s, like a long garbage collection: {fault} opens the"
        " fault sheet, g is the GC pause.",
        "{fault}, then g",
        lambda tour_context: tour_context.follower_paused,
    ),
    TourTask(
        "It no longer fetches. After 4 s (replica.lag.time.max.ms) the leader removes it from the ISR:"
        f" {glyphs.IN_SYNC} becomes {glyphs.LAGGING}, and acks=all now means a single copy. Watch.",
        "nothing, just watch",
        lambda tour_context: tour_context.in_sync == 1,
        lambda tour_context: tour_context.in_sync > 1 and not tour_context.follower_paused,
        stops_time=True,
    ),
    TourTask(
        "Time is paused. From now on acknowledged records are on the leader only, which min.insync.replicas=1 allows."
        " Move back to {tour_leader} and crash it.",
        "{left}, then {fault}, then c",
        lambda tour_context: tour_context.leader_down,
        _is_healthy,
    ),
    TourTask(
        "Start time again. The leader's session times out after 9 s; then the paused follower is elected although it"
        " lags: unclean.leader.election.enable=true.",
        "{pause}; {faster} is faster",
        lambda tour_context: tour_context.missing > 0,
        _is_healthy,
    ),
    TourTask(
        f"{glyphs.LOST} counts acknowledged records that the leader does not have. The producer got no error."
        " Open the autopsy.",
        "{finding}",
        lambda tour_context: tour_context.autopsy,
    ),
    TourTask(
        "The frames show which replicas had the records at each event, and where the last copy was dropped. Find out"
        " what would have prevented it.",
        "s",
        lambda tour_context: tour_context.prevention_requested,
    ),
    TourTask(
        f"The session is run again with one setting changed per run; this takes about a minute. {glyphs.OK} prevents"
        " the loss, with its cost beside it (↓ scrolls). Then close the page and go back in time.",
        "esc, then {previous}",
        lambda tour_context: tour_context.in_past and not tour_context.autopsy,
        past=True,
    ),
    TourTask(
        "{previous} and {seek} go to the previous and next notable event, {present} to the present. {export} exports"
        " the session as a playbook, {playbooks} opens the library, {help} shows all keys. The tour ends here.",
        "{quit} to quit and save the session",
        lambda tour_context: False,
    ),
)
PAUSE_TASK: Final = 2
"""Index of the task to pause the follower."""
CRASH_TASK: Final = 4
"""Index of the task to crash the leader."""
UNEXPECTED: Final = "{broker}, which is not part of the tour; {heal} heals it"


class Tour:
    """Progress of the tour, kept as long as the program runs."""

    def __init__(self, keys: Sequence[KeyBinding] = KEYS) -> None:
        self.at = 0
        self.leader, self.follower = 1, 2
        """Brokers that the tasks name."""
        self.amiss = ""
        """Brokers that are down or paused although the tour did not request it, as text."""
        self._names = {key.id: key.shown.replace(" ", " or ") for key in keys}

    @property
    def stop(self) -> TourTask:
        """Current task."""
        return STOPS[self.at]

    @property
    def over(self) -> bool:
        """Whether the tour is at its last task."""
        return self.at == len(STOPS) - 1

    def advance(self, context: TourContext) -> bool:
        """Advance past all tasks that are done; return whether time has to be paused for the next one."""
        halt = False
        self.amiss = "" if context.in_past or self.over else context.unexpected
        if context.in_past and not self.stop.past:
            return False
        if self.stop.missed(context):
            self.at = PAUSE_TASK
        while self.stop.done(context):
            halt = self.stop.stops_time
            self.at += 1
        return halt

    def title(self) -> str:
        """Return the title of the pane."""
        return f"Tour {glyphs.NOTHING} {self.at + 1} of {len(STOPS)}"

    def rows(self, width: int) -> tuple[Row, ...]:
        """Return the text of the task, and the keys below it."""
        lines = [Row(((line, "text"),)) for line in wrap(self.filled(self.stop.text), width)]
        if self.amiss:
            warning = UNEXPECTED.format(broker=self.amiss, heal=self._names["heal"])
            lines += [Row(((line, "warning"),)) for line in wrap(warning, width)]
        return (
            *lines,
            Row((("press ", "quiet"), (self.filled(self.stop.keys), "key")), (f"{self.filled(LEAVE)} ", "quiet")),
        )

    def filled(self, text: str) -> str:
        """Return a text with the current keys and the brokers filled in."""
        brokers = {"tour_leader": f"b{self.leader}", "tour_follower": f"b{self.follower}"}
        return text.format_map(self._names | brokers)


# The guide of the tour: observes session and TUI, and keeps the pane of the tour on the topmost screen.


STATUS_LINES = 2


class CoachPane(Pane):
    """Pane that shows the current task of the tour."""

    def __init__(self, appearance: Appearance) -> None:
        self.rows = Rows(appearance, "coach")
        super().__init__(self.rows, appearance, title="", id="coach-pane")

    def present(self, tour: Tour, at_top: bool) -> None:
        """Show the task in the lower right corner, or at the top."""
        width, height = self.screen.size
        own = min(WIDTH, width)
        rows = tour.rows(own - 4)
        lines = len(rows) + 2
        self.styles.width, self.styles.height = own, lines
        self.styles.offset = (width - own, STATUS_LINES if at_top else max(0, height - 1 - lines))
        self.rows.show(rows)
        self.caption(tour.title())


class TourGuide:
    """Guide of the tour through a session of its playbook."""

    def __init__(self, app: "FloodmarkApp") -> None:
        """Pause time at the start, and let it pause again where records go missing."""
        self.tour = Tour(app.main.keys)
        self.hidden = False
        self._app = app
        app.session_controller.pause(True)
        app.session_controller.stops_at_loss = True

    def refresh(self) -> None:
        """Advance past tasks that are done, and show the current one."""
        screen = self._app.screen
        if not self.hidden and self.tour.advance(self._tour_context()):
            self._app.session_controller.pause(True)
            self._app.main.present()
        panes = screen.query(CoachPane)
        if self.hidden:
            panes.remove()
        elif not screen.size.width or not screen.is_mounted:
            return
        elif not panes:
            pane = CoachPane(self._app.appearance)
            screen.mount(pane)
            pane.call_after_refresh(self.refresh)
        else:
            panes.first().present(self.tour, self._in_the_way(screen))

    @staticmethod
    def _in_the_way(screen: Screen[object]) -> bool:
        """Return whether the important part of the screen is at its bottom."""
        if isinstance(screen, AutopsyScreen):
            return screen.busy or screen.answered
        return isinstance(screen, Sheets) and screen.sheet.has_focus

    def toggle(self) -> str:
        """Leave the tour, or resume it; return the message to show."""
        self.hidden = not self.hidden
        self.refresh()
        key = key_of("tour", self._app.main.keys)
        return f"tour closed, the session continues; {key} resumes the tour" if self.hidden else ""

    def _tour_context(self) -> TourContext:
        session_controller, main = self._app.session_controller, self._app.main
        view, screen = session_controller.view, self._app.screen
        partition = view.partitions[0]
        row, column = main.matrix.cursor
        tour, replicas = self.tour, [each.broker for each in partition.replicas]
        states = {broker.id: broker.state for broker in view.brokers if broker.state in ("down", "paused")}
        if tour.at <= PAUSE_TASK and not states and partition.leader in replicas:
            tour.leader = partition.leader
            tour.follower = next(each for each in replicas if each != partition.leader)
        expected = {(tour.follower, "paused"), *([(tour.leader, "down")] if tour.at >= CRASH_TASK else [])}
        amiss = [f"b{broker} is {state}" for broker, state in states.items() if (broker, state) not in expected]
        autopsy = screen if isinstance(screen, AutopsyScreen) else None
        return TourContext(
            now_us=view.now_us,
            paused=session_controller.paused,
            at_follower=row == 0 and view.brokers[column].id == tour.follower,
            follower_paused=states.get(tour.follower) == "paused",
            in_sync=len(partition.isr),
            leader_down=states.get(tour.leader) == "down",
            missing=view.ledger.missing + view.ledger.acked_lost,
            autopsy=autopsy is not None,
            prevention_requested=autopsy is not None and (autopsy.busy or autopsy.answered),
            in_past=session_controller.session.in_past,
            unexpected=", ".join(amiss),
        )
