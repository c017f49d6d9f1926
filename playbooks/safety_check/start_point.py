"""Where a question is asked: a session of a playbook, or a recorded one, at an instant, to be made again anywhere.

The session is run once to find the place, a recorded one compared with its recording on the way. What is kept of that
is plain: the playbook, the seed, what the operator did, and where it stood. From that every process makes the same
session again, with the steps that were taken and none of those to come.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.protocol.errors import CodedError
from playbooks.engine.replay import ReplayComparison, begin, playbook_of
from playbooks.engine.session import SETTLE, SLICE_US, TAKE_OVER, Session
from playbooks.engine.session_runner import reach, repeat
from playbooks.engine.step_scheduler import PATIENCE_US
from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.parser.loader import loads
from playbooks.recording.event_codec import decode
from playbooks.recording.reader import RecordedAction, RecordedSession
from playbooks.session_format.session_files import SessionError
from playbooks.units import duration_text

WARM_US: Final = 10_000_000
"""Where a playbook without steps is asked about: its load has been running for ten seconds."""
_CHUNK: Final = 2_000
"""Kernel events between two comparisons."""
_FOREVER: Final = 1 << 62
LATEST_US: Final = 3_600_000_000
"""What has no end of its own is asked about within its first hour: farther on is a long way to run."""

Tell = Callable[[str], None]
"""Called with how far it is."""


class StartPointError(CodedError):
    """There is no such place to ask at; the message says what there is."""


@dataclass(frozen=True, slots=True)
class At:
    """An instant: a virtual time, so many kernel events, or the usual one where both are -1."""

    us: int = -1
    executed: int = -1


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A session at an instant. All of it is plain, so that it can go to another process."""

    text: str
    """The playbook's, with settings made."""
    path: str
    fragments: Mapping[str, str]
    seed: int
    actions: tuple[RecordedAction, ...]
    """What the operator did up to here."""
    at_us: int
    executed: int
    steps: int
    """How many steps of the playbook acted."""
    acted: tuple[tuple[int, int], ...]
    """When each of them did, and after how many kernel events."""
    pending: bool
    """Whether events of this very instant are still to come, so that the time alone does not tell the place."""
    digest: str
    """Of all that has happened."""

    def playbook(self) -> Playbook:
        """The playbook, without what it expects."""
        return replace(loads(self.text, self.path, self.fragments), expectations=(), grid=None)

    def session(self) -> Session:
        """The session, standing there, with nothing to come but what goes on.

        Raises:
            StandingError: it does not come to the same state as when the place was found.
        """
        playbook = self.playbook()
        session = Session.start(replace(playbook, steps=playbook.steps[: self.steps]), seed=self.seed, open_ended=True)
        for each in self.actions:
            reach(session, each.at_us, each.executed, each.steps)
            repeat(session, each.verb, each.action())
        reach(session, self.at_us, self.executed, self.steps)
        session.drain()
        wanted = {"at_us": self.at_us, "executed": self.executed, "steps": self.steps}
        if session.position() != wanted or session.cluster.digest() != self.digest:
            raise StartPointError(
                f"{self.path} does not replay to the same state at {duration_text(self.at_us)}",
                code="another_state",
            )
        return session

    def rest(self) -> tuple[Step, ...]:
        """The steps that the playbook would still take, to be taken after one that acts here and now."""
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
        """What counted from the step before counts from now."""
        gone_us = self.at_us - before_us
        if trigger.kind == "after":
            return replace(trigger, time_us=max(0, trigger.time_us - gone_us))
        if trigger.kind == "when":
            limit_us = trigger.within_us if trigger.within_us >= 0 else PATIENCE_US
            return replace(trigger, within_us=max(0, limit_us - gone_us))
        return trigger


def of_playbook(playbook: Playbook, seed: int, at: At, tell: Tell = lambda text: None) -> StartPoint:
    """A session of a playbook at an instant; the usual one is right before its first step acts.

    Raises:
        StandingError: it never comes there, or is over by then.
        ModelError: its cluster cannot be built.
    """
    _refuse_manual(playbook)
    session = Session.start(replace(playbook, expectations=(), grid=None), seed=seed, open_ended=True)
    acted = _watched(session)
    first = at == At()
    wanted = At(WARM_US) if first and not playbook.steps else at
    while first and playbook.steps and not acted and session.next_step is not None:
        if not session.advance(session.cluster.now_us + SLICE_US):
            break
        session.drain()
        tell(f"looking for the first step: at {duration_text(session.cluster.now_us)}")
    if first and acted:
        bare = Session.start(replace(playbook, steps=(), expectations=(), grid=None), seed=seed, open_ended=True)
        reach(bare, *acted[0], 0)
        return _stood(playbook, seed, (), [], bare)
    if first and playbook.steps:
        raise StartPointError(
            f"{playbook.path}: its first step never acts; --at says where to ask", code="first_step_never_acts"
        )
    _go(session, wanted, tell)
    return _stood(playbook, seed, (), acted, session)


def of_session(recorded: RecordedSession, at: At, tell: Tell = lambda text: None) -> StartPoint:
    """A recorded session at an instant; the usual one is where it begins to settle, or breaks off.

    Raises:
        StandingError: it is over by then.
        ReplayMismatchError: this version of the model comes to other events than the recording.
        SessionError: it holds nothing to go by.
        PlaybookError: the session's playbook is not one that this version runs.
    """
    comparison = begin(recorded, lambda done, total: tell(f"running it again: {done} of {total} events"))
    session = comparison.session
    if not isinstance(session, Session):
        raise SessionError(f"{recorded.path} was stepped by hand: time stands still in it", code="stepped_by_hand")
    acted = _watched(session)
    if at == At():
        actions = _to_the_usual(recorded, comparison)
    else:
        _within(recorded, at)
        actions = _to_a_place(recorded, comparison, at)
        _go(session, at, tell, comparison)
    source = playbook_of(recorded)
    return _stood(source, recorded.start.seed, actions, acted, session)


def _to_the_usual(recorded: RecordedSession, comparison: ReplayComparison) -> tuple[RecordedAction, ...]:
    """Where it breaks off, where its operator left, or right before it settles by itself."""
    if recorded.cut_short:
        comparison.to_the_last()
        return tuple(each for each in recorded.actions if each.at_us <= comparison.session.cluster.now_us)
    done: list[RecordedAction] = []
    for each in recorded.actions:
        if each.verb == SETTLE:
            comparison.stand(each)
            return tuple(done)
        comparison.repeat(each)
        done.append(each)
    comparison.to(_settled_us(recorded) - 1)
    return tuple(done)


def _settled_us(recorded: RecordedSession) -> int:
    """When the quiet time began, or the session ended without one."""
    lines = [line for line in recorded.events.splitlines() if b'"kind":"step_taken"' in line]
    for line in decode(b"\n".join(lines)):
        if line.by == "playbook":
            return int(line.at_us)
    return recorded.manifest.virtual_us if recorded.manifest is not None else recorded.last_us


def _to_a_place(recorded: RecordedSession, comparison: ReplayComparison, at: At) -> tuple[RecordedAction, ...]:
    """Do again what the operator did by then."""
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
    """When each step acts from now on, and after how many kernel events; a list that grows."""
    acted: list[tuple[int, int]] = []
    cluster = session.cluster
    session.on_step = lambda step: acted.append((cluster.now_us, cluster.executed))
    return acted


def _go(session: Session, at: At, tell: Tell, comparison: ReplayComparison | None = None) -> None:
    """Run on to an instant; a recording that breaks off before is gone beyond."""
    cluster = session.cluster
    running = True
    _not_too_far(at)
    while running and session.phase == "steps":
        left = at.executed - cluster.executed
        end_us = _settles_us(session) if comparison is None and at != At() else _FOREVER
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
        tell(f"going there: at {duration_text(cluster.now_us)}{of}")
        if at.us < 0:
            _not_too_far(At(us=cluster.now_us))
        if cluster.now_us == at.us:
            break


def _settles_us(session: Session) -> int:
    """When it would settle by itself: the last step has acted and its faults are over. Without steps it has no end."""
    if not session.playbook.steps or session.next_step is not None:
        return _FOREVER
    faults_us = max((each.until_us for each in session.board.active()), default=-1)
    return faults_us if faults_us >= 0 else session.cluster.now_us


def _within(recorded: RecordedSession, at: At) -> None:
    """Refuse a time at which a recorded session was over, or about to be."""
    if not recorded.cut_short and at.us >= 0:
        settled_us = _settled_us(recorded)
        if at.us >= settled_us:
            raise _beyond(at, settled_us)


def _beyond(at: At, settles_us: int) -> StartPointError:
    found = duration_text(at.us) if at.us >= 0 else f"{at.executed} events"
    return StartPointError(
        f"--at: found {found}, allowed is before {duration_text(settles_us)}, when the session begins to settle",
        code="after_the_steps",
    )


def _not_too_far(at: At) -> None:
    if at.us > LATEST_US:
        raise StartPointError(
            f"--at: found {duration_text(at.us)}, allowed is {duration_text(LATEST_US)} or earlier",
            code="too_far_ahead",
        )


def _stood(
    playbook: Playbook, seed: int, actions: tuple[RecordedAction, ...], acted: list[tuple[int, int]], session: Session
) -> StartPoint:
    cluster = session.cluster
    if session.phase != "steps":
        raise StartPointError(
            f"--at: the session is {session.phase} at {duration_text(cluster.now_us)};"
            " allowed is an instant before that",
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
            f"{playbook.path}: it is stepped by hand, and time stands still in it", code="stepped_by_hand"
        )
