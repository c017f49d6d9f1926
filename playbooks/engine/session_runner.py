"""Starts the engine that a playbook needs, brings a rerun to a point, and describes how far a session is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cluster_model.util.quantities import counted, seconds_to_the_tenth
from faults.declarations import Action, FaultError
from playbooks.engine.expectations import holds
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import step_name, step_of, step_words
from playbooks.recording.event_codec import WIRE, ingress_of
from playbooks.recording.recorder import Recorder
from playbooks.results.result import ExpectationResult, SessionResult
from playbooks.units import duration_text

if TYPE_CHECKING:
    from playbooks.engine.manual_session import ManualSession


@dataclass(frozen=True, slots=True)
class Next:
    """One thing that the session will do."""

    words: str
    """``step 3 inject crash on leader(orders-0)``, ``settling for 30s``, ``the end``."""
    at_us: int
    """When by the clock, in virtual time; of a step with a condition when it stops waiting, -1 for never."""
    condition: str = ""
    """What a step waits for."""

    def told(self, now_us: int) -> str:
        """On one line, counted from now: ``step 3 inject crash on leader(orders-0) in 4.2 s``."""
        left = f"{seconds_to_the_tenth(max(0, self.at_us - now_us))} s"
        if self.condition:
            return f"{self.words} when {self.condition}{f', for {left} at most' if self.at_us >= 0 else ''}"
        return f"{self.words} in {left}"


def coming(session: Session) -> Next | None:
    """What a session does next; None once it has ended."""
    if session.phase == "ended":
        return None
    moment, step = session.moment_us(), session.next_step
    condition = step.trigger.condition if step is not None and session.phase == "steps" else None
    if step is not None and condition is not None:
        return Next(f"{step_name(step)} {step_words(step)}", moment, condition.text)
    if moment == session.until_us:
        return Next("the cut", moment)
    if session.phase == "settling":
        return Next("the end", moment)
    if step is None:
        return Next(f"settling for {duration_text(session.playbook.settle_us)}", moment)
    return Next(f"{step_name(step)} {step_words(step)}", moment)


# Brings a rerun of a session to the place where its operator acted, and acts there again.


def reach(session: "Session | ManualSession", at_us: int, executed: int, steps: int) -> None:
    """Run to where a session stood before; all three tell it, for events and steps may share an instant.

    A rerun that goes other ways stops elsewhere: ``session.position()`` tells.
    """
    if executed > session.cluster.executed:
        session.advance(at_us, executed - session.cluster.executed)
    if session.cluster.now_us < at_us or session.steps_taken < steps:
        session.advance(at_us)


def repeat(session: "Session | ManualSession", verb: str, action: Action) -> bool:
    """Do again what an operator did; what was refused then is refused again, and the trace says so.

    Returns whether it was done.
    """
    try:
        if verb == SETTLE and isinstance(session, Session):
            session.settle()
        elif verb == TAKE_OVER and isinstance(session, Session):
            session.take_over()
        elif verb == WIRE and isinstance(session, Session):
            session.hand_in(ingress_of(action))
        else:
            session.act(action)
    except FaultError:
        return False
    return True


# Starts the engine that a playbook asks for: virtual time, or one protocol action at a time.


def start_session(
    playbook: Playbook,
    *,
    seed: int | None = None,
    recorder: Recorder | None = None,
    until_us: int = -1,
    open_ended: bool = False,
) -> "Session | ManualSession":
    """A session at its beginning. ``until_us`` and ``open_ended`` mean nothing where time stands still.

    Raises:
        ModelError: the cluster cannot be built.
        RecordingError: the recording cannot be begun.
    """
    if playbook.spec.manual:
        from playbooks.engine.manual_session import ManualSession  # noqa: PLC0415 - few are stepped by hand

        return ManualSession.start(playbook, seed=seed, recorder=recorder)
    return Session.start(playbook, seed=seed, recorder=recorder, until_us=until_us, open_ended=open_ended)


# The result of a session so far: nothing is closed, and the session continues as before.


OPEN = "the session goes on"
"""Detail of what is not decided yet."""


@dataclass(frozen=True, slots=True)
class SoFar:
    """A result that is not final."""

    result: SessionResult
    holding: tuple[str, ...]
    """Expectations of the end that would hold if it were now ..."""
    failing: tuple[str, ...]
    """... and those that would not."""

    @property
    def failed(self) -> bool:
        """Whether something has been found not to hold that nothing can mend."""
        return self.result.verdict == "fail"


def so_far(session: Session) -> SoFar:
    """How a session stands. Nothing of it changes by being asked."""
    result = session.standing(OPEN)
    query = session.cluster.query
    undecided = [each.text for each in result.expectations if is_open(each)]
    ends = [each for each in session.playbook.expectations if each.kind == "end" and each.text in undecided]
    holding = [each.text for each in ends if holds(each.condition, query)]
    return SoFar(result, tuple(holding), tuple([each.text for each in ends if each.text not in holding]))


def is_open(checked: ExpectationResult) -> bool:
    """Whether an expectation is yet to be decided."""
    return checked.detail == OPEN and not checked.ok


# The progress of a running session, in a few words.


def stage(session: "Session | ManualSession") -> str:
    """What the session is at: the step before which it stands, and what that waits for, or that it settles."""
    if session.phase != "steps":
        return session.phase
    step, count = session.next_step, len(session.playbook.steps)
    if step is None:
        return f"{counted(count, 'step')} taken" if count else "load without steps"
    waits = f", which waits for {step.trigger.condition.text}" if step.trigger.condition else ""
    return f"before {step_of(step, session.playbook.steps)}{waits}"
