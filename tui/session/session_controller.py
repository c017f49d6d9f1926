"""The only place that moves the model, a slice of work in each frame; also branches, companion and scrubbing.

A slice ends when the frame's share of virtual time is used up or after eight milliseconds, whichever comes first, so
a key never waits long. How the work is sliced never changes results: the model is advanced by virtual time and by
whole events, and knows nothing of frames.

Time can be looked back into as well: the screen is shown an instant of the past then, and nothing of the session moves.
A jump is one seek, so it costs no more than the widest gap between two keyframes; what is played from there goes by
slices again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.observation import ClusterView
from cluster_model.protocol.events import Event
from faults.declarations import Action, FaultError
from playbooks.engine.session import Session
from playbooks.model import words
from playbooks.timetravel.branches import Branch, Branches, Growing, Otherwise
from playbooks.timetravel.history_view import LookingBack, Reopened
from tui.terminal.frame_clock import BATCH, FRAME_S, SLICE_S, SPEEDS, FrameClock, faster, slower
from tui.viewmodel.partition_history import Chronicle, LogBook
from tui.viewmodel.timeline import branches
from tui.viewmodel.timeline.branches import Rail
from tui.viewmodel.timeline.event_feed import Feed, Happened, Rates, Tape

# The companion: another branch, kept at the same virtual time as far as it has run.


class Companion:
    """Looks into the branch's past only: its session stands still."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.at_us = 0
        """The instant wanted."""
        self.lags = False
        """Whether it has yet to come there."""

    @property
    def reaches(self) -> bool:
        """Whether the branch has come as far as that."""
        return self.at_us <= self.branch.session.present_us

    def jump(self, at_us: int) -> None:
        """Show an instant; one that it has not come to is its present."""
        self.at_us, self.lags = at_us, False
        self.branch.session.to_time(at_us)

    def follow(self, at_us: int, out_of_time: Callable[[], bool]) -> bool:
        """Go on to a later instant; False when the time did not do for it."""
        self.at_us = max(at_us, self.at_us)
        self.lags = not self._come(out_of_time)
        return not self.lags

    def _come(self, out_of_time: Callable[[], bool]) -> bool:
        session = self.branch.session
        while session.in_past:
            before = session.cluster.executed
            session.advance(self.at_us, BATCH)
            if not session.in_past:
                break
            session.drain()
            if session.cluster.now_us >= self.at_us and session.cluster.executed - before < BATCH:
                break
            if out_of_time():
                return False
        return True

    def leave(self) -> None:
        """Show its present again."""
        self.branch.session.to_present()


# Scrubbing: what is near is shown at once, the exact time when the pointer rests or lets go.
#
# However often the pointer moves, time is gone to once a frame at most, and never twice in a row to the same instant.


SCRUB_S: Final = 1 / 30
"""Between two rewinds of a drag: a seek runs some thousand events again, a pointer moves more often than that."""
REST_S: Final = 0.12
"""How long the pointer rests before what is near gives way to what was meant."""


class Scrubbing:
    """Where a drag wants to be: the newest wish counts, those in between are never gone to."""

    def __init__(self, clock: FrameClock, near: Callable[[int], int], go: Callable[[int, bool], None]) -> None:
        """``near``: an instant that costs little, for one that is meant; ``go`` shows one, exact or not."""
        self.rewinds = 0
        """How often an instant was gone to."""
        self._clock = clock
        self._near = near
        self._go = go
        self._wanted_us = -1
        self._meant_us = -1
        """What was meant by the instant that is shown for now, -1 where it is exact."""
        self._shown_us = -1
        self._next_s = self._rested_s = clock.now()

    def want(self, at_us: int) -> bool:
        """Wish to be at an instant: True where it is shown and exact, else there is more to do with the next frames."""
        self._wanted_us = at_us
        self._rested_s = self._clock.now() + REST_S
        return self.frame() is None

    def frame(self) -> float | None:
        """Go where the pointer was last, if that is due; seconds until more is, None where nothing is wanted."""
        now = self._clock.now()
        if self._wanted_us >= 0:
            if now < self._next_s:
                return self._next_s - now
            at_us, self._wanted_us = self._wanted_us, -1
            self._next_s = now + SCRUB_S
            near_us = self._near(at_us)
            self._meant_us = -1 if near_us == at_us else at_us
            self._show(near_us, exact=near_us == at_us)
        if self._meant_us < 0:
            return None
        if now < self._rested_s:
            return self._rested_s - now
        self.settle()
        return None

    def forget(self) -> None:
        """Something else was gone to meanwhile: that is where one stays."""
        self._meant_us = self._shown_us = -1

    def settle(self) -> None:
        """Go to what was meant last: the pointer rests, or has let go."""
        at_us = self._wanted_us if self._wanted_us >= 0 else self._meant_us
        self._wanted_us = self._meant_us = -1
        if at_us >= 0:
            self._show(at_us, exact=True)
        self._shown_us = -1

    def _show(self, at_us: int, *, exact: bool) -> None:
        if at_us == self._shown_us and not exact:
            return
        self._shown_us = -1 if exact else at_us
        self.rewinds += 1
        self._go(at_us, exact)


# What the screen has shown of one branch, so that another can be viewed in between.


class BranchHistory:
    """Grows with the branch."""

    def __init__(self) -> None:
        self.chronicle = Chronicle()
        self.happened = Happened()
        self.feed = Feed()
        self.log_book = LogBook()
        self.tape = Tape()
        self.rates = Rates()
        self.ended = False
        """Whether there is nothing more of it to run."""

    def take(self, fresh: Sequence[Event], count: int) -> None:
        """Events in order, after which there were ``count`` in all."""
        self.feed.take(fresh)
        self.happened.take(fresh, count)
        self.chronicle.take(fresh)
        self.log_book.take(fresh)
        self.tape.take(fresh)


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
class FrameResult:
    """What a frame did: whether there is something to paint, and when the next one should come."""

    paint: bool
    delay: float | None
    """Seconds; None: nothing moves until a key is pressed."""


class SimBridge:
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
        self.branches = session if isinstance(session, Branches) else Branches(session)
        self.companion: Companion | None = None
        """Another branch that is kept at the instant of this one, to be compared with it."""
        self.news: list[tuple[str, bool]] = []
        """What to say of a branch that has come about, and whether that is good."""
        self.beside: Branch | None = None
        """The branch that one which has just come about is to be compared with."""
        self._seen = {self.branches.current: BranchHistory()}
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
    def session(self) -> LookingBack:
        """The branch that is looked at, at the instant that is."""
        return self.branches.current.session

    @property
    def chronicle(self) -> Chronicle:
        """Who led, who was in sync and who was down in it."""
        return self._now.chronicle

    @property
    def log_book(self) -> LogBook:
        """When records were acknowledged and logs cut: of the whole branch, also while the past is shown."""
        return self._now.log_book

    @property
    def tape(self) -> Tape:
        """What the timeline shows, up to the present."""
        return self._now.tape

    @property
    def growing(self) -> Growing | Otherwise | None:
        """A branch on its way, None where there is none."""
        return self.branches.growing

    @property
    def _now(self) -> BranchHistory:
        return self._seen[self.branches.current]

    def fork(self) -> str:
        """Begin a branch at this instant, as it is."""
        self.branches.fork()
        return self._begun()

    def otherwise(self, name: str, settings: Mapping[str, str]) -> str:
        """Begin a branch that has come to this instant with other settings; ``name`` tells them in a few words."""
        self.branches.otherwise(name, settings)
        return self._begun()

    def undo(self) -> str:
        """Go back to right before the operator's last action, without it; paused."""
        self.pause(True)
        return self._begun() if self.branches.undo() is not None else self._switched()

    def redo(self) -> str:
        """Back to the branch in which the last action stands."""
        self.branches.redo()
        return self._switched()

    def switch(self, branch: Branch) -> str:
        """Look at another branch, at its present, paused."""
        self.branches.switch(branch)
        return self._switched()

    def compare(self, branch: Branch | None) -> None:
        """Keep another branch at this one's instant; None: no longer."""
        if self.companion is not None:
            self.companion.leave()
        self.companion = Companion(branch) if branch is not None else None
        if self.companion is not None:
            self.pause(True)
            self.companion.jump(self.view.now_us)

    def _abreast(self, end: float) -> bool:
        """Bring what is compared with to this instant; False when the slice does not do for it."""
        if self.companion is None:
            return True
        return self.companion.follow(self.session.cluster.now_us, self._until(end))

    def _begun(self) -> str:
        """The first slice: a short way is over by then."""
        self._seek_until_us = -1
        growing = self.growing
        assert growing is not None
        self._seen[growing.branch] = BranchHistory()
        self._grow(self.clock.now() + SLICE_S)
        return ""

    def _switched(self) -> str:
        self.compare(None)
        self.pause(True)
        self._fraction_us = 0.0
        self.look()
        branch = self.branches.current
        return f"branch {branch.letter}"

    def _grow(self, end: float) -> None:
        """Bring the branch that is on its way on for a slice; when it has come, it is looked at."""
        growing = self.growing
        assert growing is not None
        out_of_time, seen, session = self._until(end), self._seen[growing.branch], growing.branch.session
        try:
            while not (come := growing.on(BATCH)) and not out_of_time():
                pass
            seen.take(session.drain(), session.cluster.trace.count)
            if come:
                told = self.branches.arrive()
                self._switched()
                self.news.append((growing.words(told), True))
                self.beside = growing.beside
        except FaultError as error:
            self.branches.give_up()
            self.news.append((f"no branch: {error}", False))

    def _until(self, end: float) -> Callable[[], bool]:
        return lambda: self.clock.now() >= end

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

    def frame(self) -> FrameResult:
        """Do this frame's share of the work."""
        now = self.clock.now()
        elapsed = min(max(now - self._last, 0.0), LONGEST_FRAME_S)
        self._last = now
        if self.growing is not None:
            self._grow(now + SLICE_S)
            return FrameResult(True, BEHIND_REST_S)
        lags = self.companion is not None and self.companion.lags
        if not lags and not self.seeking and (self.paused or self.ended):
            return FrameResult(False, None)
        if not lags:
            self._fire()
        if lags:
            pass  # it comes first
        elif self.seeking:
            self._seek(now)
        else:
            self._play(now, elapsed)
        if not self._abreast(now + SLICE_S):
            return FrameResult(False, BEHIND_REST_S)
        if not self.paused and now - self._painted < self._rest_s():
            return FrameResult(False, BEHIND_REST_S if self._behind else self.frame_s)
        self._painted = now
        self.look()
        return FrameResult(True, BEHIND_REST_S if self._behind else None if self.paused else self.frame_s)

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
            raise FaultError("only the present of a live session can be changed", code="not_the_present")
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


# The rails of the timeline: the branches of a session, each with its result so far.


class Railing:
    """Looks at the branches; those that stand still are looked at once."""

    def __init__(self) -> None:
        self._known: dict[Branch, tuple[int, branches.BranchRow]] = {}

    def rails(self, bridge: SimBridge) -> tuple[Rail, ...]:
        """In the order in which they began; none while there is only one."""
        known = bridge.branches
        if len(known) < 2:
            return ()
        undone = {each.undoes: each.left_us for each in known if each.undoes is not None}
        return tuple(
            Rail(self._row(each, bridge), undone.get(each, -1) if each is not known.current else -1) for each in known
        )

    def _row(self, branch: Branch, bridge: SimBridge) -> branches.BranchRow:
        shown, executed = branch is bridge.branches.current, branch.live.cluster.executed
        known = self._known.get(branch)
        if known is None or known[0] != executed or known[1].shown != shown:
            parent = branch.parent.letter if branch.parent is not None else ""
            view = bridge.view if shown and not branch.session.in_past else branch.live.cluster.view()
            row = branches.row(branch.letter, parent, branch.left_us, branch.began, view, shown=shown)
            known = self._known[branch] = (executed, row)
        return known[1]


def reach_us(rails: tuple[Rail, ...], present_us: int) -> int:
    """How far the one that has come farthest has come."""
    return max((each.branch.come_us for each in rails), default=present_us)
