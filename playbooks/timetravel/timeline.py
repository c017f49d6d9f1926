"""Going back in a running session: keyframes taken on the way, and any instant made again from the one before it.

The session itself is never moved. An instant of the past is a second session, its twin: it is loaded from a keyframe
and runs on from there, the operator's actions included, up to the instant asked for. It reads the logs of the first
one, so a keyframe needs no records, and what it writes again is there already.

Keyframes are taken every so many events, for events are what running again costs. What they take of memory is
counted to the byte; when it is too much, those go first that are least missed: a gap may be the wider the longer ago
it is.
"""

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.events import Event
from cluster_model.snapshots import Packed, pack, unpack
from faults.declarations import Action, FaultError
from faults.injector import FaultBoard
from playbooks.engine.session import SETTLE, SLICE_US, TAKE_OVER, Session
from playbooks.engine.session_runner import reach, repeat
from playbooks.results.client_stats import ClientBooks
from playbooks.results.result import SessionResult

BUDGET: Final = 64 * 1024 * 1024
"""Bytes that all keyframes together may take."""
NEAREST: Final = 2_500
"""Events between two keyframes at least: a tenth of a second to run again, also where a dozen brokers are busy."""
CHEAP: Final = 500
"""Events that can be run again for a picture that is gone with the next movement of a pointer."""
BYTES_PER_EVENT: Final = 20
"""What a keyframe may cost for each event that need not be run again: large ones are taken further apart."""
_FOREVER: Final = 1 << 62


@contextmanager
def _no_collection() -> Iterator[None]:
    """Much is made here at once and all of it is kept: looking for garbage meanwhile would cost more than the work."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class TimelineError(CodedError, ValueError):
    """An instant that the session has not seen; the message says what it has."""


class SessionPosition(NamedTuple):
    """Where exactly a session stands: several things can happen in one instant, with and without events."""

    at_us: int
    executed: int
    steps: int
    phase: str
    waits_for: int
    """The next step, -1 when there is none or it was given up."""


class TimelineAction(NamedTuple):
    """An operator's action, and where the session stood."""

    place: SessionPosition
    verb: str
    action: Action
    refused: bool = False


class _TimelineKeyframe(NamedTuple):
    """A keyframe: when, after how many events and actions, and the state itself."""

    at_us: int
    executed: int
    acted: int
    packed: Packed


class Timeline:
    """A timed session that remembers. Advance it and act on it through here, and nowhere else."""

    def __init__(
        self,
        session: Session,
        *,
        budget: int = BUDGET,
        nearest: int = NEAREST,
        bytes_per_event: int = BYTES_PER_EVENT,
    ) -> None:
        """What ``session`` did before is forgotten; start at its beginning to remember all of it."""
        self.session = session
        self.budget = budget
        self.bytes = 0
        """What the keyframes take of memory."""
        self.replayed = 0
        """Events that the last seek ran again."""
        self._nearest = nearest
        self._bytes_per_event = bytes_per_event
        self._frames: list[_TimelineKeyframe] = []
        self._acted: list[TimelineAction] = []
        self._past: Session | None = None
        self._again = 0
        """Which action comes next in the past."""
        self._due = 0
        self._take()

    @property
    def kept(self) -> list[int]:
        """Where the keyframes stand: each after so many events."""
        return [frame.executed for frame in self._frames]

    @property
    def keyframes(self) -> int:
        """How many there are."""
        return len(self._frames)

    @property
    def widest(self) -> int:
        """The most events that a seek may have to run again."""
        kept = self.kept
        ends = [*kept[1:], self.session.cluster.executed]
        return max(end - start for start, end in zip(kept, ends, strict=True))

    @property
    def first_us(self) -> int:
        """The earliest instant that is remembered."""
        return self._frames[0].at_us

    # -- the present ------------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Cluster:
        """The session's model."""
        return self.session.cluster

    @property
    def board(self) -> FaultBoard:
        """The session's active faults."""
        return self.session.board

    @property
    def client_books(self) -> ClientBooks:
        """What the session's clients saw so far."""
        return self.session.client_books

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Like :meth:`Session.advance`."""
        cluster = self.session.cluster
        left = max_events
        while True:
            before = cluster.executed
            share = self._due - before
            if max_events:
                share = min(share, left)
            running = self.session.advance(until_us, share)
            done = cluster.executed - before
            left -= done
            if cluster.executed >= self._due:
                self._take()
            if not running or done < share or (max_events and not left):
                return running

    def act(self, action: Action) -> str:
        """Like :meth:`Session.act`.

        Raises:
            FaultError: it was refused; the message says why.
        """
        return self._noted(action.verb, action, lambda: self.session.act(action))

    def take_over(self) -> str:
        """Like :meth:`Session.take_over`. Raises :class:`FaultError` as that does."""
        return self._noted(TAKE_OVER, Action("heal", ""), self.session.take_over)

    def _noted(self, verb: str, action: Action, do: Callable[[], str]) -> str:
        """Do what an operator asks, and remember it, also that it was refused."""
        noted = self.note(verb, action)
        try:
            return do()
        except FaultError:
            if noted:
                self.note_refused()
            raise

    def settle(self) -> None:
        """Like :meth:`Session.settle`."""
        self.note(SETTLE, Action("heal", "all"))
        self.session.settle()

    def drain(self) -> list[Event]:
        """Like :meth:`Session.drain`."""
        return self.session.drain()

    def finish(self) -> SessionResult:
        """Like :meth:`Session.finish`; what closing the books adds belongs to no instant."""
        if self.session.open_ended:
            self.settle()
        while self.advance(self.session.cluster.now_us + SLICE_US):
            pass
        return self.session.finish()

    def note(self, verb: str, action: Action) -> bool:
        """Remember what somebody does to the session in this very place, without going through here.

        False, and nothing is remembered, when nothing can be done to it any more.
        """
        if self.session.phase != "steps":
            return False
        self._acted.append(TimelineAction(place_of(self.session), verb, action))
        return True

    def note_refused(self) -> None:
        """What was noted last was refused."""
        self._acted[-1] = self._acted[-1]._replace(refused=True)

    def so_far(self, *, past: bool = False) -> tuple[SessionPosition, tuple[TimelineAction, ...]]:
        """Where the present stands, or the instant sought last, and what the operator had done by then."""
        if past and self._past is not None:
            return place_of(self._past), tuple(self._acted[: self._again])
        return place_of(self.session), tuple(self._acted)

    # -- keyframes --------------------------------------------------------------------------------------------------

    def _take(self) -> None:
        cluster = self.session.cluster
        with _no_collection():
            packed = pack(*self.session.save())
        self._frames.append(_TimelineKeyframe(cluster.now_us, cluster.executed, len(self._acted), packed))
        self.bytes += packed.size
        self._due = cluster.executed + max(self._nearest, packed.size // self._bytes_per_event)
        self.keep_within(self.budget)

    def keep_within(self, budget: int) -> None:
        """From now on keep no more bytes than these; the first and the last keyframe stay in any case."""
        self.budget = budget
        while self.bytes > budget and len(self._frames) > 2:
            self.bytes -= self._frames.pop(self._least_missed()).packed.size

    def _least_missed(self) -> int:
        """The keyframe without which the gap is smallest for its age; never the first, never the last."""
        frames = self._frames
        now = frames[-1].executed

        def gap_for_age(place: int) -> int:
            return (frames[place + 1].executed - frames[place - 1].executed << 32) // (now - frames[place].executed)

        return min(range(1, len(frames) - 1), key=gap_for_age)

    # -- the past ---------------------------------------------------------------------------------------------------

    def near(self, at_us: int) -> int:
        """The instant nearest to one that costs little to show.

        That is itself where few events have to be run again for it, else a keyframe or the present.
        """
        at = bisect_right(self._frames, at_us, key=lambda frame: frame.at_us) - 1
        if at < 0:
            return at_us
        before, cluster = self._frames[at], self.session.cluster
        after = self._frames[at + 1 :][:1]
        end_us, end = (after[0].at_us, after[0].executed) if after else (cluster.now_us, cluster.executed)
        again = (end - before.executed) * (at_us - before.at_us) // max(1, end_us - before.at_us)
        if again <= CHEAP or at_us >= end_us:
            return at_us
        return before.at_us if at_us - before.at_us <= end_us - at_us else end_us

    @_no_collection()
    def seek_time(self, at_us: int) -> Session:
        """The session as it stood when its clock had come to ``at_us`` and nothing more was to happen at that time.

        What is returned is good until the next seek.

        Raises:
            TimelineError: before the first keyframe, or in the future.
        """
        present = place_of(self.session)
        self._check("at", at_us, self._frames[0].at_us, present.at_us, " us")
        frame = self._frames[bisect_right(self._frames, at_us, key=lambda frame: frame.at_us) - 1]
        past = self._loaded(frame, [acted for acted in self._acted if acted.place.at_us <= at_us])
        if at_us < present.at_us:
            past.advance(at_us)
        else:  # the present may not have done yet all that is due now
            stand(past, present)
        return self._arrived(past, frame)

    @_no_collection()
    def seek_event(self, executed: int) -> Session:
        """The session as it stood right after so many events, before any step or action that followed.

        What is returned is good until the next seek.

        Raises:
            TimelineError: before the first keyframe, or in the future.
        """
        present = self.session.cluster.executed
        self._check("after", executed, self._frames[0].executed, present, " events")
        frame = self._frames[bisect_right(self._frames, executed, key=lambda frame: frame.executed) - 1]
        past = self._loaded(frame, [acted for acted in self._acted if acted.place.executed < executed])
        if executed > past.cluster.executed:
            past.advance(_FOREVER, executed - past.cluster.executed)
        return self._arrived(past, frame)

    def go_on(self, until_us: int, max_events: int = 0) -> bool:
        """Run on from where the last seek arrived, through what happened: what the operator did is done again.

        Goes to a virtual time, or so many events far. Returns False, and goes no further, once it has come to the
        present. No keyframe is taken on the way.

        Raises:
            TimelineError: no instant was sought before.
        """
        past = self._past
        if past is None:
            raise TimelineError("nothing goes on in the past before an instant of it was sought", code="nothing_sought")
        left = max_events
        while True:
            acted = self._acted[self._again] if self._again < len(self._acted) else None
            place = acted.place if acted is not None else place_of(self.session)
            share = place.executed - past.cluster.executed
            if share > 0:
                share = min(share, left) if max_events else share
                done = _run(past, min(until_us, place.at_us), share)
                left -= done
                if done < share or (max_events and not left):
                    return True
            if place.at_us > until_us:  # every event up to there is handled, only the clock is behind
                past.advance(until_us)
                return True
            stand(past, place)
            if acted is None:
                return False
            repeat(past, acted.verb, acted.action)
            self._again += 1

    @staticmethod
    def _check(word: str, wanted: int, first: int, last: int, unit: str) -> None:
        if not first <= wanted <= last:
            raise TimelineError(
                f"no instant {word} {wanted}{unit}: the session goes from {first} to {last}", code="not_seen"
            )

    def _loaded(self, frame: _TimelineKeyframe, acted: list[TimelineAction]) -> Session:
        """The twin at a keyframe, and run on from there through these actions."""
        if self._past is None:
            self._past = self.session.twin()
        past = self._past
        past.load(*unpack(frame.packed))
        for each in acted[frame.acted :]:
            stand(past, each.place)
            repeat(past, each.verb, each.action)
        self._again = len(acted)
        return past

    def _arrived(self, past: Session, frame: _TimelineKeyframe) -> Session:
        self.replayed = past.cluster.executed - frame.executed
        past.drain()
        return past


def place_of(session: Session) -> SessionPosition:
    """Where it stands now."""
    step = session.next_step
    return SessionPosition(phase=session.phase, waits_for=-1 if step is None else step.index, **session.position())


def _run(past: Session, until_us: int, events: int) -> int:
    """Events handled on the way to a time, so many at most."""
    before = past.cluster.executed
    past.advance(until_us, events)
    return past.cluster.executed - before


def stand(past: Session, place: SessionPosition) -> None:
    """Bring it to where another one stood that has gone the same way, so far as that is possible."""
    reach(past, place.at_us, place.executed, place.steps)
    if place_of(past) != place:  # a phase began, or a step was given up, and no event tells of it
        past.advance(place.at_us)
