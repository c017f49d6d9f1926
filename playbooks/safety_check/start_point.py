"""Start point of a safety check: a session of a playbook, or a recorded one, at a point in time.

The session is run once to find the point; a recorded one is compared with its recording on the way. Only plain data
is kept: the playbook, the seed, the operator's actions, and the position. From that every process rebuilds the same
session, with the steps taken so far and none of the later ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.protocol.errors import CodedError
from playbooks.engine.replay import ReplayComparison, begin, playbook_of
from playbooks.engine.session import SETTLE, SLICE_US, TAKE_OVER, Session
from playbooks.engine.session_runner import repeat_action, run_to_position
from playbooks.engine.step_scheduler import PATIENCE_US
from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.parser.loader import loads
from playbooks.recording.event_codec import decode
from playbooks.recording.reader import RecordedAction, RecordedSession
from playbooks.session_format.session_files import SessionError
from playbooks.units import duration_text

WARM_US: Final = 10_000_000
"""Default start point of a playbook without steps: its load has run for ten seconds."""
_CHUNK: Final = 2_000
"""Number of kernel events between two comparisons."""
_FOREVER: Final = 1 << 62
LATEST_US: Final = 3_600_000_000
"""Latest start point in a session without an end, to limit the run time."""

ProgressText = Callable[[str], None]
"""Progress callback."""


class StartPointError(CodedError):
    """There is no such start point; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A point in time: a virtual time, a number of kernel events, or the default if both are -1."""

    us: int = -1
    executed: int = -1


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A session at a point in time, as plain data that can be sent to another process."""

    text: str
    """Text of the playbook, with settings applied."""
    path: str
    fragments: Mapping[str, str]
    seed: int
    actions: tuple[RecordedAction, ...]
    """Actions of the operator up to this point."""
    at_us: int
    executed: int
    steps: int
    """Number of steps of the playbook that have acted."""
    acted: tuple[tuple[int, int], ...]
    """Time of each of them, and the number of kernel events before it."""
    pending: bool
    """Whether further events have this very time, so that the time alone does not identify the position."""
    digest: str
    """Digest of all events so far."""

    def playbook(self) -> Playbook:
        """Return the playbook without its expectations."""
        return replace(loads(self.text, self.path, self.fragments), expectations=(), grid=None)

    def session(self) -> Session:
        """Rebuild the session at this point, without the remaining steps.

        Raises:
            StartPointError: it does not reach the same state as when the point was found.
        """
        playbook = self.playbook()
        session = Session.start(replace(playbook, steps=playbook.steps[: self.steps]), seed=self.seed, open_ended=True)
        for each in self.actions:
            run_to_position(session, each.at_us, each.executed, each.steps)
            repeat_action(session, each.verb, each.action())
        run_to_position(session, self.at_us, self.executed, self.steps)
        session.drain()
        wanted = {"at_us": self.at_us, "executed": self.executed, "steps": self.steps}
        if session.position() != wanted or session.cluster.digest() != self.digest:
            raise StartPointError(
                f"{self.path} does not replay to the same state at {duration_text(self.at_us)}",
                code="another_state",
            )
        return session

    def remaining_steps(self) -> tuple[Step, ...]:
        """Return the remaining steps of the playbook, to be taken after a step that acts now."""
        if any(each.verb == TAKE_OVER for each in self.actions):
            return ()
        playbook = self.playbook()
        left = [step for step in playbook.steps[self.steps :] if step.verb not in (SETTLE, "stop")]
        if not left:
            return ()
        before_us = self.acted[-1][0] if self.acted else 0
        left[0] = replace(left[0], trigger=self._from_here(left[0].trigger, before_us))
        return tuple(left)

    def _from_here(self, trigger: Trigger, before_us: int) -> Trigger:
        """Make a trigger relative to the previous step relative to now."""
        gone_us = self.at_us - before_us
        if trigger.kind == "after":
            return replace(trigger, time_us=max(0, trigger.time_us - gone_us))
        if trigger.kind == "when":
            limit_us = trigger.within_us if trigger.within_us >= 0 else PATIENCE_US
            return replace(trigger, within_us=max(0, limit_us - gone_us))
        return trigger


def of_playbook(
    playbook: Playbook, seed: int, at: TimePoint, on_progress: ProgressText = lambda text: None
) -> StartPoint:
    """Return a session of a playbook at a point in time; by default right before its first step acts.

    Raises:
        StartPointError: the session ends before that point.
        ModelError: its cluster cannot be built.
    """
    _refuse_manual(playbook)
    session = Session.start(replace(playbook, expectations=(), grid=None), seed=seed, open_ended=True)
    acted = _watched(session)
    first = at == TimePoint()
    wanted = TimePoint(WARM_US) if first and not playbook.steps else at
    while first and playbook.steps and not acted and session.next_step is not None:
        if not session.advance(session.cluster.now_us + SLICE_US):
            break
        session.drain()
        on_progress(f"searching the first step: at {duration_text(session.cluster.now_us)}")
    if first and acted:
        bare = Session.start(replace(playbook, steps=(), expectations=(), grid=None), seed=seed, open_ended=True)
        run_to_position(bare, *acted[0], 0)
        return _stood(playbook, seed, (), [], bare)
    if first and playbook.steps:
        raise StartPointError(
            f"{playbook.path}: its first step never acts; set a time with --at", code="first_step_never_acts"
        )
    _go(session, wanted, on_progress)
    return _stood(playbook, seed, (), acted, session)


def of_session(recorded: RecordedSession, at: TimePoint, on_progress: ProgressText = lambda text: None) -> StartPoint:
    """Return a recorded session at a point in time; by default where it begins to settle, or where the recording ends.

    Raises:
        StartPointError: the session ends before that point.
        ReplayMismatchError: this version of the model replays other events than the recording.
        SessionError: the recording lacks the data for a replay.
        PlaybookError: the session's playbook is not valid in this version.
    """
    comparison = begin(recorded, lambda done, total: on_progress(f"replaying: {done} of {total} events"))
    session = comparison.session
    if not isinstance(session, Session):
        raise SessionError(f"{recorded.path} has manual steps, so no time", code="stepped_by_hand")
    acted = _watched(session)
    if at == TimePoint():
        actions = _to_the_usual(recorded, comparison)
    else:
        _within(recorded, at)
        actions = _to_a_place(recorded, comparison, at)
        _go(session, at, on_progress, comparison)
    source = playbook_of(recorded)
    return _stood(source, recorded.start.seed, actions, acted, session)


def _to_the_usual(recorded: RecordedSession, comparison: ReplayComparison) -> tuple[RecordedAction, ...]:
    """Go to the end of the recording, the exit of its operator, or right before it settles by itself."""
    if recorded.cut_short:
        comparison.run_to_last_event()
        return tuple(each for each in recorded.actions if each.at_us <= comparison.session.cluster.now_us)
    done: list[RecordedAction] = []
    for each in recorded.actions:
        if each.verb == SETTLE:
            comparison.run_to_action(each)
            return tuple(done)
        comparison.repeat(each)
        done.append(each)
    comparison.run_to(_settled_us(recorded) - 1)
    return tuple(done)


def _settled_us(recorded: RecordedSession) -> int:
    """Return when the quiet time began, or when the session ended without one."""
    lines = [line for line in recorded.events.splitlines() if b'"kind":"step_taken"' in line]
    for line in decode(b"\n".join(lines)):
        if line.by == "playbook":
            return int(line.at_us)
    return recorded.manifest.virtual_us if recorded.manifest is not None else recorded.last_us


def _to_a_place(recorded: RecordedSession, comparison: ReplayComparison, at: TimePoint) -> tuple[RecordedAction, ...]:
    """Repeat the operator's actions up to the point."""
    done: list[RecordedAction] = []
    for each in recorded.actions:
        later = each.at_us > at.us if at.us >= 0 else each.executed >= at.executed
        if each.verb == SETTLE and not later and each.at_us != at.us:
            raise _beyond(at, each.at_us)
        if later or each.verb == SETTLE or comparison.done:
            break
        comparison.repeat(each)
        done.append(each)
    return tuple(done)


def _watched(session: Session) -> list[tuple[int, int]]:
    """Return a growing list of the time of each step from now on, and the number of kernel events before it."""
    acted: list[tuple[int, int]] = []
    cluster = session.cluster
    session.on_step = lambda step: acted.append((cluster.now_us, cluster.executed))
    return acted


def _go(session: Session, at: TimePoint, on_progress: ProgressText, comparison: ReplayComparison | None = None) -> None:
    """Run to a point in time; a recording that ends earlier is continued beyond its end."""
    cluster = session.cluster
    running = True
    _not_too_far(at)
    while running and session.phase == "steps":
        left = at.executed - cluster.executed
        end_us = _settles_us(session) if comparison is None and at != TimePoint() else _FOREVER
        if at.us >= end_us or (at.us < 0 < left and cluster.now_us >= end_us):
            raise _beyond(at, end_us)
        if (at.us < 0 and left <= 0) or 0 <= at.us < cluster.now_us:
            break
        target = min(at.us if at.us >= 0 else end_us, cluster.now_us + SLICE_US)
        running = session.advance(target, min(left, _CHUNK) if at.us < 0 else 0)
        fresh = session.drain()
        if comparison is not None and not comparison.done:
            comparison.compare(fresh)
        of = f" of {duration_text(at.us)}" if at.us >= 0 else f", {cluster.executed} of {at.executed} events"
        on_progress(f"replaying: at {duration_text(cluster.now_us)}{of}")
        if at.us < 0:
            _not_too_far(TimePoint(us=cluster.now_us))
        if cluster.now_us == at.us:
            break


def _settles_us(session: Session) -> int:
    """Return when it would settle by itself: after the last step and its faults. Without steps it has no end."""
    if not session.playbook.steps or session.next_step is not None:
        return _FOREVER
    faults_us = max((each.until_us for each in session.board.active()), default=-1)
    return faults_us if faults_us >= 0 else session.cluster.now_us


def _within(recorded: RecordedSession, at: TimePoint) -> None:
    """Reject a time after the end of a recorded session, or after it begins to settle."""
    if not recorded.cut_short and at.us >= 0:
        settled_us = _settled_us(recorded)
        if at.us >= settled_us:
            raise _beyond(at, settled_us)


def _beyond(at: TimePoint, settles_us: int) -> StartPointError:
    found = duration_text(at.us) if at.us >= 0 else f"{at.executed} events"
    return StartPointError(
        f"--at: found {found}, expected before {duration_text(settles_us)}, when the session begins to settle",
        code="after_the_steps",
    )


def _not_too_far(at: TimePoint) -> None:
    if at.us > LATEST_US:
        raise StartPointError(
            f"--at: found {duration_text(at.us)}, expected {duration_text(LATEST_US)} or earlier",
            code="too_far_ahead",
        )


def _stood(
    playbook: Playbook, seed: int, actions: tuple[RecordedAction, ...], acted: list[tuple[int, int]], session: Session
) -> StartPoint:
    cluster = session.cluster
    if session.phase != "steps":
        raise StartPointError(
            f"--at: the session is {session.phase} at {duration_text(cluster.now_us)}; expected an earlier time",
            code="after_the_steps",
        )
    return StartPoint(
        text=playbook.source,
        path=playbook.path,
        fragments=playbook.fragments,
        seed=seed,
        actions=actions,
        at_us=cluster.now_us,
        executed=cluster.executed,
        steps=session.steps_taken,
        acted=tuple(acted[: session.steps_taken]),
        pending=0 <= cluster.next_event_us() <= cluster.now_us,
        digest=cluster.digest(),
    )


def _refuse_manual(playbook: Playbook) -> None:
    if playbook.spec.manual:
        raise StartPointError(
            f"{playbook.path}: it has manual steps, so no time; ask about a timed playbook", code="stepped_by_hand"
        )
