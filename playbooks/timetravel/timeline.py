"""Timeline of a running session: keyframes, and any past time rebuilt from the keyframe before it.

The session itself is never moved. A past time is shown by a second session, its twin: it is loaded from a keyframe and
runs from there, with the operator's actions, up to the requested time. It reads the logs of the first session, so a
keyframe needs no records, and what it writes again exists already.

Keyframes are taken after a number of events, not after a time, since events are the cost of a rerun. Their memory is
counted exactly; beyond the budget the least useful ones are dropped: gaps may be wider the older they are.
"""

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.events import Event
from cluster_model.snapshots import PackedKeyframe, pack, unpack
from faults.declarations import Action, FaultError
from faults.injector import FaultInjector
from playbooks.engine.session import SETTLE, SLICE_US, TAKE_OVER, Session
from playbooks.engine.session_runner import repeat_action, run_to_position
from playbooks.results.client_stats import ClientStats
from playbooks.results.result import SessionResult

BUDGET: Final = 64 * 1024 * 1024
"""Memory budget of all keyframes together, in bytes."""
NEAREST: Final = 2_500
"""Minimum number of events between two keyframes: a tenth of a second of rerun, even with a dozen busy brokers."""
CHEAP: Final = 500
"""Maximum number of events rerun for a preview that the next pointer movement replaces."""
BYTES_PER_EVENT: Final = 20
"""Size of a keyframe allowed per event that need not be rerun: large ones are taken less often."""
_FOREVER: Final = 1 << 62


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection: many objects are created here and all of them are kept."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class TimelineError(CodedError, ValueError):
    """A time outside of the session's memory; the message says what is available."""


class SessionPosition(NamedTuple):
    """Exact position of a session: several events and steps can share a time."""

    at_us: int
    executed: int
    steps: int
    phase: str
    waits_for: int
    """Index of the next step, -1 if there is none or the steps were cancelled."""


class TimelineAction(NamedTuple):
    """An operator's action, and the position of the session."""

    position: SessionPosition
    verb: str
    action: Action
    refused: bool = False


class _TimelineKeyframe(NamedTuple):
    """A keyframe: time, number of events and actions, and the state."""

    at_us: int
    executed: int
    acted: int
    packed: PackedKeyframe


class Timeline:
    """Timed session with memory. All advances and actions must go through this class."""

    def __init__(
        self,
        session: Session,
        *,
        budget: int = BUDGET,
        nearest: int = NEAREST,
        bytes_per_event: int = BYTES_PER_EVENT,
    ) -> None:
        """Earlier events of ``session`` are not available; use a new session to keep all of them."""
        self.session = session
        self.budget = budget
        self.bytes = 0
        """Memory used by the keyframes."""
        self.replayed = 0
        """Events rerun by the last seek."""
        self._nearest = nearest
        self._bytes_per_event = bytes_per_event
        self._frames: list[_TimelineKeyframe] = []
        self._acted: list[TimelineAction] = []
        self._past: Session | None = None
        self._again = 0
        """Index of the next action in the past."""
        self._due = 0
        self._take()

    @property
    def kept(self) -> list[int]:
        """Positions of the keyframes, as numbers of events."""
        return [frame.executed for frame in self._frames]

    @property
    def keyframes(self) -> int:
        """Number of keyframes."""
        return len(self._frames)

    @property
    def widest(self) -> int:
        """Maximum number of events that a seek may have to rerun."""
        kept = self.kept
        ends = [*kept[1:], self.session.cluster.executed]
        return max(end - start for start, end in zip(kept, ends, strict=True))

    @property
    def first_us(self) -> int:
        """Earliest available time."""
        return self._frames[0].at_us

    # -- the present ------------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Cluster:
        """The session's model."""
        return self.session.cluster

    @property
    def board(self) -> FaultInjector:
        """The session's fault injector."""
        return self.session.board

    @property
    def client_stats(self) -> ClientStats:
        """Statistics of the session's clients so far."""
        return self.session.client_stats

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Continue as :meth:`Session.advance`."""
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
        """Act as :meth:`Session.act`.

        Raises:
            FaultError: it was refused; the message says why.
        """
        return self._noted(action.verb, action, lambda: self.session.act(action))

    def take_over(self) -> str:
        """Cancel the steps as :meth:`Session.take_over`. Raises :class:`FaultError` as that does."""
        return self._noted(TAKE_OVER, Action("heal", ""), self.session.take_over)

    def _noted(self, verb: str, action: Action, do: Callable[[], str]) -> str:
        """Execute an operator's action, and remember it, even if it was refused."""
        noted = self.note(verb, action)
        try:
            return do()
        except FaultError:
            if noted:
                self.note_refused()
            raise

    def settle(self) -> None:
        """Settle as :meth:`Session.settle`."""
        self.note(SETTLE, Action("heal", "all"))
        self.session.settle()

    def drain(self) -> list[Event]:
        """Return events as :meth:`Session.drain`."""
        return self.session.drain()

    def finish(self) -> SessionResult:
        """End as :meth:`Session.finish`; the events of the end belong to no past time."""
        if self.session.open_ended:
            self.settle()
        while self.advance(self.session.cluster.now_us + SLICE_US):
            pass
        return self.session.finish()

    def note(self, verb: str, action: Action) -> bool:
        """Remember an action on the session at this position that does not go through this class.

        Return False, without remembering it, if the session has ended.
        """
        if self.session.phase != "steps":
            return False
        self._acted.append(TimelineAction(position_of(self.session), verb, action))
        return True

    def note_refused(self) -> None:
        """Mark the last remembered action as refused."""
        self._acted[-1] = self._acted[-1]._replace(refused=True)

    def so_far(self, *, past: bool = False) -> tuple[SessionPosition, tuple[TimelineAction, ...]]:
        """Return the position of the present, or of the last seek, and the operator's actions up to it."""
        if past and self._past is not None:
            return position_of(self._past), tuple(self._acted[: self._again])
        return position_of(self.session), tuple(self._acted)

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
        """Limit the memory from now on; the first and the last keyframe are always kept."""
        self.budget = budget
        while self.bytes > budget and len(self._frames) > 2:
            self.bytes -= self._frames.pop(self._least_missed()).packed.size

    def _least_missed(self) -> int:
        """Return the keyframe whose removal leaves the smallest gap for its age; never the first or the last."""
        frames = self._frames
        now = frames[-1].executed

        def gap_for_age(index: int) -> int:
            return (frames[index + 1].executed - frames[index - 1].executed << 32) // (now - frames[index].executed)

        return min(range(1, len(frames) - 1), key=gap_for_age)

    # -- the past ---------------------------------------------------------------------------------------------------

    def near(self, at_us: int) -> int:
        """Return the time nearest to one that is cheap to show.

        That is the time itself if few events have to be rerun for it, else that of a keyframe or the present.
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
        """Return the session at ``at_us``, when nothing more was to happen at that time.

        It is valid until the next seek.

        Raises:
            TimelineError: before the first keyframe, or in the future.
        """
        present = position_of(self.session)
        self._check("at", at_us, self._frames[0].at_us, present.at_us, " us")
        frame = self._frames[bisect_right(self._frames, at_us, key=lambda frame: frame.at_us) - 1]
        past = self._loaded(frame, [acted for acted in self._acted if acted.position.at_us <= at_us])
        if at_us < present.at_us:
            past.advance(at_us)
        else:  # events due now may not have happened yet
            move_to_position(past, present)
        return self._arrived(past, frame)

    @_no_collection()
    def seek_event(self, executed: int) -> Session:
        """Return the session right after this many events, before any step or action that followed.

        It is valid until the next seek.

        Raises:
            TimelineError: before the first keyframe, or in the future.
        """
        present = self.session.cluster.executed
        self._check("after", executed, self._frames[0].executed, present, " events")
        frame = self._frames[bisect_right(self._frames, executed, key=lambda frame: frame.executed) - 1]
        past = self._loaded(frame, [acted for acted in self._acted if acted.position.executed < executed])
        if executed > past.cluster.executed:
            past.advance(_FOREVER, executed - past.cluster.executed)
        return self._arrived(past, frame)

    def continue_past(self, until_us: int, max_events: int = 0) -> bool:
        """Continue from the last seek through the recorded history, repeating the operator's actions.

        Run to a virtual time, or for ``max_events``. Return False, and stop, at the present. No keyframe is taken on
        the way.

        Raises:
            TimelineError: there was no seek before.
        """
        past = self._past
        if past is None:
            raise TimelineError("seek a past time before continuing from it", code="nothing_sought")
        left = max_events
        while True:
            acted = self._acted[self._again] if self._again < len(self._acted) else None
            position = acted.position if acted is not None else position_of(self.session)
            share = position.executed - past.cluster.executed
            if share > 0:
                share = min(share, left) if max_events else share
                done = _run(past, min(until_us, position.at_us), share)
                left -= done
                if done < share or (max_events and not left):
                    return True
            if position.at_us > until_us:  # every event up to there is handled; only the clock is behind
                past.advance(until_us)
                return True
            move_to_position(past, position)
            if acted is None:
                return False
            repeat_action(past, acted.verb, acted.action)
            self._again += 1

    @staticmethod
    def _check(word: str, wanted: int, first: int, last: int, unit: str) -> None:
        if not first <= wanted <= last:
            raise TimelineError(
                f"no position {word} {wanted}{unit}: the session has {first} to {last}", code="not_seen"
            )

    def _loaded(self, frame: _TimelineKeyframe, acted: list[TimelineAction]) -> Session:
        """Return the twin loaded from a keyframe, and run through these actions."""
        if self._past is None:
            self._past = self.session.unrecorded_copy()
        past = self._past
        past.load(*unpack(frame.packed))
        for each in acted[frame.acted :]:
            move_to_position(past, each.position)
            repeat_action(past, each.verb, each.action)
        self._again = len(acted)
        return past

    def _arrived(self, past: Session, frame: _TimelineKeyframe) -> Session:
        self.replayed = past.cluster.executed - frame.executed
        past.drain()
        return past


def position_of(session: Session) -> SessionPosition:
    """Return the current position of a session."""
    step = session.next_step
    return SessionPosition(phase=session.phase, waits_for=-1 if step is None else step.index, **session.position())


def _run(past: Session, until_us: int, events: int) -> int:
    """Run to a time, at most ``events`` events; return the number of events handled."""
    before = past.cluster.executed
    past.advance(until_us, events)
    return past.cluster.executed - before


def move_to_position(past: Session, position: SessionPosition) -> None:
    """Bring a session to the position of another one with the same history, as far as possible."""
    run_to_position(past, position.at_us, position.executed, position.steps)
    if position_of(past) != position:  # a phase began, or steps were cancelled, without an event
        past.advance(position.at_us)
