"""The tour: one thing to do at a time, explained in a small pane that follows what is done, never a clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from tui.keybindings.keymap import KEYS, KeyBinding, key_of
from tui.screens.autopsy import AutopsyScreen
from tui.screens.fault_sheet import Sheets
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.terminal.theme import Look
from tui.viewmodel.row import Row
from tui.widgets.line_widget import Rows
from tui.widgets.panes import Pane

if TYPE_CHECKING:
    from tui.app import FloodmarkApp

NAME: Final = "tour"
"""The bundled playbook that it is about."""
WIDTH: Final = 66
LEAVE: Final = "{tour} leaves"


@dataclass(frozen=True, slots=True)
class TourContext:
    """What the tour looks at."""

    now_us: int
    paused: bool
    at_follower: bool
    """Whether the cursor is on the follower."""
    follower_paused: bool
    in_sync: int
    """How many replicas are in the ISR."""
    leader_down: bool
    missing: int
    """Acknowledged records that the leader does not hold, or that are lost for good."""
    autopsy: bool
    asked: bool
    """Whether the autopsy is asked, or tells, what would have saved them."""
    in_past: bool
    amiss: str = ""
    """A broker that is down or paused without having been asked for, and which of the two; empty for none."""


@dataclass(frozen=True, slots=True)
class TourStop:
    """One thing to do."""

    text: str
    keys: str
    done: Callable[[TourContext], bool]
    again: Callable[[TourContext], bool] = lambda sight: False
    """Whether the chance is gone, so that the tour goes back to :data:`PAUSE_IT`."""
    stops_time: bool = False
    """Whether time stands still once it is done."""
    past: bool = False
    """Whether the past counts, where otherwise nothing is looked at."""


def _whole(sight: TourContext) -> bool:
    """Nothing is broken any more."""
    return sight.in_sync > 1 and not sight.leader_down and not sight.missing


STOPS: Final = (
    TourStop(
        "A producer is about to write orders. Two of three brokers keep them, and acks=all waits for both."
        " Time stands still: let it run.",
        "{pause}",
        lambda sight: sight.now_us > 0 and not sight.paused,
    ),
    TourStop(
        f"A row is a partition. {glyphs.LEADER} leads, with the end of its log; {glyphs.IN_SYNC} follows, and = says"
        " that it has all of it. Go to {tour_follower}.",
        "{right}",
        lambda sight: sight.at_follower,
    ),
    TourStop(
        "Now pause the process of {tour_follower} for 15 s, as a long garbage collection does: {fault} opens the"
        " faults, g is that one.",
        "{fault}, then g",
        lambda sight: sight.follower_paused,
    ),
    TourStop(
        "It fetches nothing. After 4 s the leader stops waiting for it and takes it out of the ISR:"
        f" {glyphs.IN_SYNC} becomes {glyphs.LAGGING}, and acks=all means one copy. Watch.",
        "only watch",
        lambda sight: sight.in_sync == 1,
        lambda sight: sight.in_sync > 1 and not sight.follower_paused,
        stops_time=True,
    ),
    TourStop(
        "I stopped time. What is acknowledged from here on is on the leader alone. Go back to {tour_leader} and crash"
        " it: min.insync.replicas=1 lets that happen.",
        "{left}, then {fault}, then c",
        lambda sight: sight.leader_down,
        _whole,
    ),
    TourStop(
        "Let time run. The dead leader's session ends after 9 s; then the one that slept is elected, behind or not:"
        " unclean.leader.election.enable=true.",
        "{pause}; {faster} is faster",
        lambda sight: sight.missing > 0,
        _whole,
    ),
    TourStop(
        f"{glyphs.LOST} counts records that were acknowledged and that the leader does not have. Nobody has told the"
        " producer. Open the autopsy.",
        "{finding}",
        lambda sight: sight.autopsy,
    ),
    TourStop(
        "Who had them, who left, who took over: that is why they are gone. Ask what would have saved them.",
        "s",
        lambda sight: sight.asked,
    ),
    TourStop(
        f"It is run again with one setting changed at a time, a minute or so. Each {glyphs.OK} keeps them; the price"
        " beside it counts until all has recovered (↓ scrolls). Then close the page, and go back in time.",
        "esc, then {previous}",
        lambda sight: sight.in_past and not sight.autopsy,
        past=True,
    ),
    TourStop(
        "{previous} and {seek} go from one notable event to the next, {present} to the present. {export} saves what you"
        " did as a playbook, {playbooks} opens the library, {help} shows every key. That was the tour.",
        "{quit} seals this session",
        lambda sight: False,
    ),
)
PAUSE_IT: Final = 2
"""The stop at which the follower is paused."""
CRASH_IT: Final = 4
"""The stop at which the leader is crashed."""
AMISS: Final = "{broker}: the tour did not ask for that; {heal} heals it"


class Tour:
    """How far it has come. Kept as long as the program runs."""

    def __init__(self, keys: Sequence[KeyBinding] = KEYS) -> None:
        self.at = 0
        self.leader, self.follower = 1, 2
        """The brokers that it asks for."""
        self.amiss = ""
        """Which broker is down or paused without having been asked for."""
        self._names = {key.id: key.shown.replace(" ", " or ") for key in keys}

    @property
    def stop(self) -> TourStop:
        """What is to be done."""
        return STOPS[self.at]

    @property
    def over(self) -> bool:
        """Whether it is at its end."""
        return self.at == len(STOPS) - 1

    def look(self, sight: TourContext) -> bool:
        """Go on past everything that is done; whether time has to stand still for what comes."""
        halt = False
        self.amiss = "" if sight.in_past or self.over else sight.amiss
        if sight.in_past and not self.stop.past:
            return False
        if self.stop.again(sight):
            self.at = PAUSE_IT
        while self.stop.done(sight):
            halt = self.stop.stops_time
            self.at += 1
        return halt

    def title(self) -> str:
        """Above the pane."""
        return f"Tour {glyphs.NOTHING} {self.at + 1} of {len(STOPS)}"

    def rows(self, width: int) -> tuple[Row, ...]:
        """The text, and the keys below it."""
        lines = [Row(((line, "text"),)) for line in wrap(self.told(self.stop.text), width)]
        if self.amiss:
            words = AMISS.format(broker=self.amiss, heal=self._names["heal"])
            lines += [Row(((line, "warning"),)) for line in wrap(words, width)]
        return (
            *lines,
            Row((("press ", "quiet"), (self.told(self.stop.keys), "key")), (f"{self.told(LEAVE)} ", "quiet")),
        )

    def told(self, text: str) -> str:
        """A text with the keys that its actions have now, and the brokers it asks for."""
        brokers = {"tour_leader": f"b{self.leader}", "tour_follower": f"b{self.follower}"}
        return text.format_map(self._names | brokers)


# The guide of the tour: looks at the screen, and keeps its pane on whichever screen is on top.


STATUS_LINES = 2


class CoachPane(Pane):
    """Tells what is to be done."""

    def __init__(self, look: Look) -> None:
        self.rows = Rows(look, "coach")
        super().__init__(self.rows, look, title="", id="coach-pane")

    def present(self, tour: Tour, at_top: bool) -> None:
        """Show it in the lower right corner of the screen, or at the top."""
        width, height = self.screen.size
        own = min(WIDTH, width)
        rows = tour.rows(own - 4)
        lines = len(rows) + 2
        self.styles.width, self.styles.height = own, lines
        self.styles.offset = (width - own, STATUS_LINES if at_top else max(0, height - 1 - lines))
        self.rows.show(rows)
        self.caption(tour.title())


class Guide:
    """Leads through a session of the tour's playbook."""

    def __init__(self, app: "FloodmarkApp") -> None:
        """Time stands still, to begin with; it does again where records go missing."""
        self.tour = Tour(app.main.keys)
        self.hidden = False
        self._app = app
        app.bridge.pause(True)
        app.bridge.stops_at_loss = True

    def look(self) -> None:
        """Go on past what was done, and show what is to be done."""
        screen = self._app.screen
        if not self.hidden and self.tour.look(self._sight()):
            self._app.bridge.pause(True)
            self._app.main.present()
        found = screen.query(CoachPane)
        if self.hidden:
            found.remove()
        elif not screen.size.width or not screen.is_mounted:
            return
        elif not found:
            pane = CoachPane(self._app.look)
            screen.mount(pane)
            pane.call_after_refresh(self.look)
        else:
            found.first().present(self.tour, self._in_the_way(screen))

    @staticmethod
    def _in_the_way(screen: Screen[object]) -> bool:
        """Whether what matters on the screen stands at its bottom."""
        if isinstance(screen, AutopsyScreen):
            return screen.busy or screen.answered
        return isinstance(screen, Sheets) and screen.sheet.has_focus

    def toggle(self) -> str:
        """Leave the tour, or go on with it where it was left; what to say."""
        self.hidden = not self.hidden
        self.look()
        key = key_of("tour", self._app.main.keys)
        return f"the tour is left, the session goes on; {key} goes on with the tour" if self.hidden else ""

    def _sight(self) -> TourContext:
        bridge, main = self._app.bridge, self._app.main
        view, screen = bridge.view, self._app.screen
        partition = view.partitions[0]
        row, column = main.matrix.cursor
        tour, replicas = self.tour, [each.broker for each in partition.replicas]
        states = {broker.id: broker.state for broker in view.brokers if broker.state in ("down", "paused")}
        if tour.at <= PAUSE_IT and not states and partition.leader in replicas:
            tour.leader = partition.leader
            tour.follower = next(each for each in replicas if each != partition.leader)
        asked = {(tour.follower, "paused"), *([(tour.leader, "down")] if tour.at >= CRASH_IT else [])}
        amiss = [f"b{broker} is {state}" for broker, state in states.items() if (broker, state) not in asked]
        autopsy = screen if isinstance(screen, AutopsyScreen) else None
        return TourContext(
            now_us=view.now_us,
            paused=bridge.paused,
            at_follower=row == 0 and view.brokers[column].id == tour.follower,
            follower_paused=states.get(tour.follower) == "paused",
            in_sync=len(partition.isr),
            leader_down=states.get(tour.leader) == "down",
            missing=view.ledger.missing + view.ledger.acked_lost,
            autopsy=autopsy is not None,
            asked=autopsy is not None and (autopsy.busy or autopsy.answered),
            in_past=bridge.session.in_past,
            amiss=", ".join(amiss),
        )
