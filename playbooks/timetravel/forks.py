"""A session forked anywhere: brought to a point of its past, to be acted on and run there as if it were the present.

A twin as :mod:`playbooks.timetravel.timeline` has it shares its logs with its original, so it must not go other ways.
Here one scratch session runs the history by itself and keeps keyframes of it. To fork it loads one of them, which
forgets whatever was written since, and runs on to the instant asked for. What a fork writes stands above that keyframe
only; so the keyframes behind it are given up, and those before it hold for good. Searching backwards is cheap this way,
and going forwards costs running what lies between.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from cluster_model.protocol.errors import CodedError
from cluster_model.snapshots import Packed, pack, unpack
from faults.declarations import Action
from playbooks.engine.session import Session
from playbooks.engine.session_runner import reach, repeat
from playbooks.recording.reader import RecordedAction

NEAREST: Final = 5_000
"""Kernel events between two keyframes at first."""
MOST: Final = 48
"""Keyframes kept; with more of them every second is dropped, and they are taken half as often."""
FOREVER: Final = 1 << 62


class ForkError(CodedError, ValueError):
    """An instant that the session never comes to; the message says how far it goes."""


class ForkAction(NamedTuple):
    """What an operator did, and where the session stood: all three numbers tell it."""

    at_us: int
    executed: int
    steps: int
    verb: str
    action: Action


class _ForkKeyframe(NamedTuple):
    """Right after so many kernel events, before any step or action that followed; ``acted`` actions had been done."""

    at_us: int
    executed: int
    acted: int
    packed: Packed


def acted_of(actions: Iterable[RecordedAction]) -> tuple[ForkAction, ...]:
    """The actions of a recorded session."""
    return tuple(ForkAction(each.at_us, each.executed, each.steps, each.verb, each.action()) for each in actions)


class Forks:
    """The history of one session, to leave it anywhere."""

    def __init__(
        self,
        start: Callable[[], Session],
        actions: Sequence[ForkAction] = (),
        *,
        nearest: int = NEAREST,
        most: int = MOST,
    ) -> None:
        """``start`` makes the session at its beginning, as it was made; ``actions`` are what its operator did.

        Raises:
            ModelError: the cluster cannot be built.
        """
        self._session = session = start()
        self._open_ended = session.open_ended
        self._until_us = session.until_us
        self._actions = tuple(actions)
        self._every = nearest
        self._most = most
        self._frames: list[_ForkKeyframe] = []
        self._acted = 0
        """Of the actions, how many the scratch session has done or passed by."""
        self.replayed = 0
        """Kernel events that were run to come to where forks began, all of them together."""
        self._take()

    @property
    def kept(self) -> list[int]:
        """Where the keyframes stand: each after so many kernel events."""
        return [frame.executed for frame in self._frames]

    def at_event(self, executed: int) -> Session:
        """The session right after so many kernel events, before any step or action that followed.

        What is returned may be acted on and run; it is good until the next call.

        Raises:
            ForkError: it never comes so far.
        """
        if executed < 0:
            raise ForkError(f"no instant after {executed} events", code="before_the_start")
        session = self._load(bisect_right(self._frames, executed, key=lambda frame: frame.executed) - 1)
        for acted in self._actions[self._acted :]:
            if acted.executed >= executed:
                break
            self._repeat(acted)
        self._run_events(executed)
        if session.cluster.executed != executed:
            raise ForkError(
                f"no instant after {executed} events: it ends after {session.cluster.executed}", code="after_the_end"
            )
        if self._frames[-1].executed != executed:
            self._take()  # more than one thing is often tried at a place
        session.drain()
        return session

    def at_time(self, at_us: int) -> Session:
        """The session when its clock has come to ``at_us`` and nothing more is to happen at that time.

        What is returned may be acted on and run; it is good until the next call.

        Raises:
            ForkError: it has ended by then.
        """
        if at_us < 0:
            raise ForkError(f"no instant at {at_us} us", code="before_the_start")
        session = self._load(bisect_right(self._frames, at_us, key=lambda frame: frame.at_us) - 1)
        for acted in self._actions[self._acted :]:
            if acted.at_us > at_us:
                break
            self._repeat(acted)
        while session.cluster.now_us < at_us and session.phase != "ended":
            self._on(at_us, FOREVER)
        session.advance(at_us)
        if session.cluster.now_us != at_us:
            raise ForkError(f"no instant at {at_us} us: it ends at {session.cluster.now_us}", code="after_the_end")
        session.drain()
        return session

    def run_on(self, until_us: int) -> Session:
        """Run the fork on, and let the operator do at their times what they did in the history from here on."""
        session = self._session
        while self._acted < len(self._actions) and self._actions[self._acted].at_us <= until_us:
            acted = self._actions[self._acted]
            self._acted += 1
            session.advance(acted.at_us)
            repeat(session, acted.verb, acted.action)
        session.advance(until_us)
        return session

    # -- the history ------------------------------------------------------------------------------------------------

    def _load(self, place: int) -> Session:
        """Stand at a keyframe; those behind it are of no use any more."""
        del self._frames[place + 1 :]
        frame = self._frames[place]
        session = self._session
        session.load(*unpack(frame.packed))
        session.open_ended = self._open_ended
        session.until_us = self._until_us
        self._acted = frame.acted
        return session

    def _repeat(self, acted: ForkAction) -> None:
        self._run_events(acted.executed, acted.at_us)
        reach(self._session, acted.at_us, acted.executed, acted.steps)
        if self._session.steps_taken == acted.steps and self._session.cluster.now_us == acted.at_us:
            repeat(self._session, acted.verb, acted.action)
        else:
            raise ForkError(
                f"the rerun never stands where its operator acted, at {acted.at_us} us", code="action_not_reached"
            )
        self._acted += 1

    def _run_events(self, executed: int, until_us: int = FOREVER) -> None:
        """Run to right after so many kernel events, or as far as it goes."""
        while self._session.cluster.executed < executed:
            if not self._on(until_us, executed):
                return

    def _on(self, until_us: int, executed: int) -> bool:
        """Run at most to the next keyframe, and take it; whether that changed anything."""
        session = self._session
        cluster = session.cluster
        before = cluster.executed, cluster.now_us, session.steps_taken, session.phase
        due = self._frames[-1].executed + self._every
        session.advance(until_us, min(due, executed) - before[0])
        session.drain()
        self.replayed += cluster.executed - before[0]
        if cluster.executed >= due:
            self._take()
        return before != (cluster.executed, cluster.now_us, session.steps_taken, session.phase)

    def _take(self) -> None:
        session = self._session
        cluster = session.cluster
        session.drain()
        self._frames.append(_ForkKeyframe(cluster.now_us, cluster.executed, self._acted, pack(*session.save())))
        if len(self._frames) > self._most:
            del self._frames[1:-1:2]
            self._every *= 2
