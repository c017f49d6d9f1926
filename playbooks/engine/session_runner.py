"""Start of the engine that a playbook needs, positioning of a rerun, and progress of a session."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cluster_model.util.quantities import counted, seconds_to_the_tenth
from faults.declarations import Action, FaultError
from playbooks.engine.expectations import holds
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import step_name, step_of, step_text
from playbooks.recording.event_codec import WIRE, ingress_of
from playbooks.recording.recorder import Recorder
from playbooks.results.result import ExpectationResult, SessionResult
from playbooks.units import duration_text

if TYPE_CHECKING:
    from playbooks.engine.manual_session import ManualSession


@dataclass(frozen=True, slots=True)
class NextAction:
    """Next action of a session, with its time or condition."""

    words: str
    """``step 3 inject crash on leader(orders-0)``, ``settling for 30s``, ``end of the session``."""
    at_us: int
    """Its virtual time; for a step with a condition the end of its wait, -1 for never."""
    condition: str = ""
    """Condition that a step waits for."""

    def text(self, now_us: int) -> str:
        """Format it on one line, relative to now: ``step 3 inject crash on leader(orders-0) in 4.2 s``."""
        left = f"{seconds_to_the_tenth(max(0, self.at_us - now_us))} s"
        if self.condition:
            return f"{self.words} when {self.condition}{f', for {left} at most' if self.at_us >= 0 else ''}"
        return f"{self.words} in {left}"


def next_action(session: Session) -> NextAction | None:
    """Return the next action of a session; None after its end."""
    if session.phase == "ended":
        return None
    moment, step = session.moment_us(), session.next_step
    condition = step.trigger.condition if step is not None and session.phase == "steps" else None
    if step is not None and condition is not None:
        return NextAction(f"{step_name(step)} {step_text(step)}", moment, condition.text)
    if moment == session.until_us:
        return NextAction("cut-off", moment)
    if session.phase == "settling":
        return NextAction("end of the session", moment)
    if step is None:
        return NextAction(f"settling for {duration_text(session.playbook.settle_us)}", moment)
    return NextAction(f"{step_name(step)} {step_text(step)}", moment)


# Positioning of a rerun where the operator acted, and repetition of the action.


def run_to_position(session: "Session | ManualSession", at_us: int, executed: int, steps: int) -> None:
    """Run to an earlier position of a session; it takes all three numbers, since events and steps may share a time.

    A rerun that differs stops elsewhere: compare ``session.position()``.
    """
    if executed > session.cluster.executed:
        session.advance(at_us, executed - session.cluster.executed)
    if session.cluster.now_us < at_us or session.steps_taken < steps:
        session.advance(at_us)


def repeat_action(session: "Session | ManualSession", verb: str, action: Action) -> bool:
    """Repeat an operator's action; an action that was refused is refused again, with a trace event.

    Return whether it was not refused.
    """
    try:
        if verb == SETTLE and isinstance(session, Session):
            session.settle()
        elif verb == TAKE_OVER and isinstance(session, Session):
            session.take_over()
        elif verb == WIRE and isinstance(session, Session):
            session.submit_request(ingress_of(action))
        else:
            session.act(action)
    except FaultError:
        return False
    return True


# Start of the engine that a playbook needs: timed or manual.


def start_session(
    playbook: Playbook,
    *,
    seed: int | None = None,
    recorder: Recorder | None = None,
    until_us: int = -1,
    open_ended: bool = False,
) -> "Session | ManualSession":
    """Start a session. ``until_us`` and ``open_ended`` have no effect on manual sessions.

    Raises:
        ModelError: the cluster cannot be built.
        RecordingError: the recording cannot be started.
    """
    if playbook.spec.manual:
        from playbooks.engine.manual_session import ManualSession  # noqa: PLC0415 - few playbooks are manual

        return ManualSession.start(playbook, seed=seed, recorder=recorder)
    return Session.start(playbook, seed=seed, recorder=recorder, until_us=until_us, open_ended=open_ended)


# The result of a session so far, without ending it.


UNDECIDED = "the session is running"
"""Detail of undecided expectations."""


@dataclass(frozen=True, slots=True)
class PreliminaryResult:
    """A preliminary result of a session that continues."""

    result: SessionResult
    holding: tuple[str, ...]
    """Expectations of the end that hold now ..."""
    failing: tuple[str, ...]
    """... and those that do not."""

    @property
    def failed(self) -> bool:
        """Whether a failure is already final."""
        return self.result.verdict == "fail"


def so_far(session: Session) -> PreliminaryResult:
    """Return the state of a session, without changing it."""
    result = session.result_so_far(UNDECIDED)
    query = session.cluster.query
    undecided = [each.text for each in result.expectations if is_open(each)]
    ends = [each for each in session.playbook.expectations if each.kind == "end" and each.text in undecided]
    holding = [each.text for each in ends if holds(each.condition, query)]
    return PreliminaryResult(result, tuple(holding), tuple([each.text for each in ends if each.text not in holding]))


def is_open(checked: ExpectationResult) -> bool:
    """Return whether an expectation is undecided."""
    return checked.detail == UNDECIDED and not checked.ok


# The progress of a running session as text.


def stage(session: "Session | ManualSession") -> str:
    """Return the stage of the session: its next step with the condition that it waits for, or settling."""
    if session.phase != "steps":
        return session.phase
    step, count = session.next_step, len(session.playbook.steps)
    if step is None:
        return f"{counted(count, 'step')} taken" if count else "load without steps"
    waits = f", waiting for {step.trigger.condition.text}" if step.trigger.condition else ""
    return f"before {step_of(step, session.playbook.steps)}{waits}"
