"""The only place that moves the model: a slice of work per frame, inside the event loop.

A slice ends when the frame's share of virtual time is used up or after eight milliseconds, whichever comes first, so
a key never waits long. How the work is sliced never changes results: the model is advanced by virtual time and by
whole events, and knows nothing of frames.

Time can be looked back into as well: the screen is shown an instant of the past then, and nothing of the session moves.
A jump is one seek, so it costs no more than the widest gap between two keyframes; what is played from there goes by
slices again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.observation.views import ClusterView
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from playbooks.engine.session import Session
from playbooks.model.wording import words
from playbooks.timetravel.branches import Branches
from playbooks.timetravel.history_view import Reopened
from tui.session.branching import Branching
from tui.terminal.frame_clock import FrameClock
from tui.terminal.framerate import FRAME_S
from tui.terminal.slices import BATCH, SLICE_S
from tui.terminal.speeds import SPEEDS, faster, slower
from tui.viewmodel.timeline.feed import Feed
from tui.viewmodel.timeline.rates import Rates

BEHIND_PAINT_S: Final = 0.1
"""Between paints while the machine is the limit: numbers above 12 Hz cannot be read anyway."""
AWAY_PAINT_S: Final = 1 / 4
"""Between paints while nobody looks: the terminal has not got the focus."""
BEHIND_REST_S: Final = 0.004
"""Rest between slices while the machine is the limit."""
LONGEST_FRAME_S: Final = 0.25
"""A frame that took longer (a suspended laptop) counts as this long."""
SEEK_LIMIT_US: Final = 120_000_000
"""How far ahead a search for the next notable event looks."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a frame did: whether there is something to paint, and when the next one should come."""

    paint: bool
    delay: float | None
    """Seconds; None: nothing moves until a key is pressed."""


class SimBridge(Branching):
    """Drives a session for the screen, and keeps what the screen shows of it."""

    def __init__(
        self,
        session: Session | Reopened | Branches,
        clock: FrameClock,
        *,
        speed: float = 1.0,
        frame_s: float = FRAME_S,
        at_end: Callable[[], str] | None = None,
    ) -> None:
        """``at_end``, for a recording: what to say where it ends."""
        super().__init__(session if isinstance(session, Branches) else Branches(session))
        self.at_end = at_end
        self.clock = clock
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.real_speed = self.speed
        self.paused = False
        self.stops_at_loss = False
        """Whether to pause by itself where the next acknowledged record goes missing; that disarms it."""
        self.stopped_at_loss = False
        """Whether it just has."""
        self.rates: dict[str, float] = {}
        self.queued: tuple[Action, ...] = ()
        """What is done as soon as time goes on."""
        self.fired: list[tuple[str, bool]] = []
        """What came of what was queued, and whether it was done: for whoever tells it, and takes it out."""
        self.ran_out = False
        """Whether the last search for a notable event found none."""
        self.rough = False
        """Whether the instant that is shown is only near the one that was meant."""
        self.shows_internal = False
        """Whether Kafka's own topics stand among the others."""
        self._feed_then = Feed()
        self._rates_then = Rates()
        self.frame_s = frame_s
        """Between frames while time runs."""
        self.away = False
        """Whether nobody looks."""
        self._last = clock.now()
        self._painted = self._last
        self._fraction_us = 0.0
        self._behind = False
        self._seek_until_us = -1
        self._seek_from = -1
        """Notable events when the search began, -1 where none is wanted."""
        self.view = self.look()

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to run; of the past there always is."""
        return self._now.ended and not self.session.in_past

    @property
    def feed(self) -> Feed:
        """What was worth a line, up to the instant that is looked at."""
        return self._feed_then if self.session.in_past else self._now.feed

    def happened(self, first_us: int, last_us: int, most: int) -> list[Any]:
        """What was worth a line within a span of time, both ends included: the first so many."""
        return self._now.happened.during(first_us, last_us, most)

    @property
    def seeking(self) -> bool:
        """Whether a search for the next notable event is under way."""
        return self._seek_until_us >= 0

    def frame(self) -> Frame:
        """Do this frame's share of the work."""
        now = self.clock.now()
        elapsed = min(max(now - self._last, 0.0), LONGEST_FRAME_S)
        self._last = now
        if self.growing is not None:
            self._grow(now + SLICE_S)
            return Frame(True, BEHIND_REST_S)
        lags = self.companion is not None and self.companion.lags
        if not lags and not self.seeking and (self.paused or self.ended):
            return Frame(False, None)
        if not lags:
            self._fire()
        if lags:
            pass  # it comes first
        elif self.seeking:
            self._seek(now)
        else:
            self._play(now, elapsed)
        if not self._abreast(now + SLICE_S):
            return Frame(False, BEHIND_REST_S)
        if not self.paused and now - self._painted < self._rest_s():
            return Frame(False, BEHIND_REST_S if self._behind else self.frame_s)
        self._painted = now
        self.look()
        return Frame(True, BEHIND_REST_S if self._behind else None if self.paused else self.frame_s)

    def _rest_s(self) -> float:
        """The least time between two paints."""
        if self.away:
            return AWAY_PAINT_S
        return BEHIND_PAINT_S if self._behind else 0.0

    def look(self) -> ClusterView:
        """Take a fresh view, after something changed."""
        self._listen()
        view, board = self.session.cluster.view(), self.session.board
        brokers = tuple(replace(each, faults=board.on_node(each.id)) for each in view.brokers)
        controllers = tuple(replace(each, faults=board.on_node(each.node)) for each in view.controllers)
        internal = () if self.shows_internal else tuple(each for each in view.partitions if each.internal)
        own = tuple(each for each in view.partitions if not each.internal) if internal else view.partitions
        self.view = replace(
            view, partitions=own, internal=internal, brokers=brokers, controllers=controllers, faults=board.active(),
            operations=board.operations(),
        )  # fmt: skip
        self.rates = (self._rates_then if self.session.in_past else self._now.rates).of(self.view)
        return self.view

    def pause(self, paused: bool) -> None:
        """Stop or go on; stopping also ends a search."""
        self.rough = False
        self.paused = paused
        self._seek_until_us = -1
        self._last = self.clock.now()

    def faster(self) -> float:
        """One step up; returns the speed asked for."""
        return self.set_speed(faster(self.speed))

    def slower(self) -> float:
        """One step down; returns the speed asked for."""
        return self.set_speed(slower(self.speed))

    def set_speed(self, speed: float) -> float:
        """Ask for a speed; the machine may not reach it."""
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.real_speed = self.speed
        self._fraction_us = 0.0
        return self.speed

    def step(self) -> bool:
        """Handle exactly one kernel event, paused; False when nothing is pending."""
        self.pause(True)
        if self.session.in_past:
            self.session.one_event_on()
            self._abreast(self.clock.now() + SLICE_S)
            self.look()
            return True
        self._fire()
        due = self.session.cluster.next_event_us()
        if due < 0 or self.ended:
            return False
        self._now.ended = not self.session.advance(due, 1)
        self._abreast(self.clock.now() + SLICE_S)
        self.look()
        return True

    def seek(self) -> bool:
        """Run, as fast as can be, until something worth a line in the feed has happened; then pause.

        In the past that is a jump; False when it led to the present, because nothing worth a line lies between.
        """
        if not self.session.in_past:
            self._go(SEEK_LIMIT_US, self._now.feed.notable)
            return True
        at_us = self._now.happened.after(self.session.cluster.trace.count)
        self.to_time(at_us if at_us >= 0 else self.session.present_us)
        return at_us >= 0

    def _go(self, span_us: int, seek_from: int) -> None:
        self._last = self.clock.now()
        self.ran_out = False
        self._seek_from = seek_from
        self._seek_until_us = self.session.cluster.now_us + span_us

    # -- looking back -----------------------------------------------------------------------------------------------

    def to_time(self, at_us: int) -> None:
        """Show the session as it was at a virtual time, paused: the earliest that there is, or the present at most."""
        self._listen()
        self.session.to_time(at_us)
        self._arrived()

    def to_near(self, at_us: int) -> None:
        """The same, on the way to another instant close by: what is shown is only about that one."""
        self.to_time(at_us)
        self.rough = True
        self.look()

    def to_present(self) -> bool:
        """Show it as it is, paused; False when it is shown already."""
        if not self.session.in_past:
            return False
        self.to_time(self.session.present_us)
        return True

    def back(self) -> bool:
        """Show it as it was one event before, paused; False at the beginning."""
        self._listen()
        moved = self.session.one_event_back()
        self._arrived()
        return moved

    def previous(self) -> bool:
        """Show the last instant before this one at which something worth a line happened; False when nothing did."""
        self._listen()
        cluster = self.session.cluster
        at_us = self._now.happened.before(cluster.now_us, cluster.trace.count)
        if at_us < self.session.timeline.first_us:
            self.pause(True)
            return False
        self.to_time(at_us)
        return True

    def by(self, span_us: int) -> bool:
        """So much virtual time on, paused then, or back where it is negative; False at the beginning."""
        now_us, first_us = self.session.cluster.now_us, self.session.timeline.first_us
        if span_us > 0 and not self.session.in_past:
            self._go(span_us, -1)
        else:
            self.to_time(now_us + span_us)
        return span_us > 0 or now_us > first_us

    def _arrived(self) -> None:
        """After a jump."""
        self.pause(True)
        self._fraction_us = 0.0
        if self.session.in_past:
            self._feed_then = self._now.happened.feed(self.session.cluster.trace.count)
            self._rates_then = Rates()
        self.look()
        if self.companion is not None:
            self.companion.jump(self.view.now_us)

    # -- work -------------------------------------------------------------------------------------------------------

    def act(self, action: Action) -> str:
        """An operator's action, now; in the past, and in a recording, it begins a branch: there are news of it then.

        Refusals come as the session raises them.
        """
        if self.session.stays_as_it_is:
            self.branches.fork(action)
            return self._begun()
        try:
            return self.session.act(action)
        finally:
            self.look()

    def take_over(self) -> str:
        """Drop what is left of the playbook's steps. Refusals come as the session raises them."""
        try:
            return self.session.take_over()
        finally:
            self.look()

    def queue(self, action: Action) -> None:
        """Have an action done as soon as time goes on.

        Raises:
            FaultError: nothing can be changed in what is looked at.
        """
        if self.session.stays_as_it_is:
            raise FaultError("only the present of a live session can be changed")
        self.queued = (*self.queued, action)

    def _fire(self) -> None:
        """Do what was queued, in its order, at the instant at which time stood."""
        if self.session.in_past:
            return
        queued, self.queued = self.queued, ()
        for action in queued:
            try:
                self.fired.append((self.session.act(action), True))
            except FaultError as error:
                self.fired.append((f"refused: {words(action)}: {error}", False))

    def _listen(self) -> None:
        fresh = self.session.drain()
        if self.session.in_past:
            self._feed_then.take(fresh)
        else:
            self._now.take(fresh, self.session.cluster.trace.count)

    def _play(self, now: float, elapsed: float) -> None:
        start_us = self.session.cluster.now_us
        share = self.speed * elapsed * 1e6 + self._fraction_us
        target = start_us + int(share)
        self._fraction_us = share - int(share)
        seen = self.chronicle.losses
        batch = 1 if self.stops_at_loss else BATCH
        reached = self._run(target, now + SLICE_S, batch, lambda: self._alarmed(seen))
        self._behind = not reached and not self.ended
        if self._alarmed(seen):
            self.pause(True)
            self.stops_at_loss, self.stopped_at_loss = False, True
        if elapsed > 0:
            real = (self.session.cluster.now_us - start_us) / 1e6 / elapsed
            weight = min(1.0, elapsed * 2)
            self.real_speed += (real - self.real_speed) * weight

    def _alarmed(self, seen: int) -> bool:
        return self.stops_at_loss and self.chronicle.losses > seen

    def _seek(self, now: float) -> None:
        wanted = self._seek_from
        found = self._run(self._seek_until_us, now + SLICE_S, 1, lambda: -1 < wanted < self.feed.notable)
        self._behind = not found
        if found:
            self.ran_out = wanted == self.feed.notable
            self.pause(True)

    def _run(self, target: int, end: float, batch: int, stop: Callable[[], bool]) -> bool:
        """Advance to ``target``, or until ``stop`` or the end of the session; False when the slice was used up.

        What is played of the past goes on in the present when it has come there.
        """
        while True:
            before = self.session.cluster.executed
            if not self.session.advance(target, batch):
                self._now.ended = True
                return True
            self._listen()
            cluster = self.session.cluster
            if stop() or (cluster.now_us >= target and cluster.executed - before < batch):
                return True
            if self.clock.now() >= end:
                return False
