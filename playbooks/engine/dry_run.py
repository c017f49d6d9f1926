"""Dry run of a playbook: its timeline, and the expected impact of each fault just before it acts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import AdminAnswered, Event, ExpectationChecked, FaultHealed, GuardActed, StepTaken
from cluster_model.util.quantities import time_in_seconds
from faults.catalogue import CATALOGUE
from faults.declarations import Action, ExpectedImpact, FaultError, NoTargetError
from faults.injector import FaultInjector
from playbooks.engine.expectations import NEVER_EVALUATED
from playbooks.engine.session import SLICE_US, Session, compile_re2_pattern, fault_injector_for
from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import expected_json, step_name, step_text
from playbooks.results.result import Verdict
from playbooks.units import duration_text

# Expected impact of a step that injects a fault, evaluated right before it acts.


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """Expected impact of a step that injects a fault, right before it acts."""

    step: int
    """Number from 1 in acting order; steps for other versions of Kafka are counted, too."""
    at_us: int
    text: str
    """The step as text."""
    targets: tuple[str, ...]
    """Current matches of its target."""
    expected: ExpectedImpact | None
    """None if it is refused."""
    refused: str = ""
    """Why it is impossible now."""
    guard: str = ""
    """Guard whose limit it would exceed."""
    guard_reason: str = ""
    guard_does: str = ""
    """``refuse`` or ``heal``."""
    skipped: str = ""
    """Why the target matches nothing, if the step allows that."""
    name: str = ""
    """Name of the step: ``step 3.1 round 2``."""
    when: str = ""
    """Condition that triggered it, with its wait; empty for a step with a time."""

    @property
    def what(self) -> str:
        """Kind of this timeline entry."""
        return "fault"

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        acts = {"guard": self.guard, "does": self.guard_does, "reason": self.guard_reason}
        return {
            "step": self.step,
            "name": self.name,
            "at_us": self.at_us,
            "text": self.text,
            "when": self.when,
            "targets": list(self.targets),
            "refused": self.refused,
            "skipped": self.skipped,
            "guard": acts if self.guard else None,
            "expected": None if self.expected is None else expected_json(self.expected),
        }


def predict_impact(board: FaultInjector, step: Step, action: Action) -> StepPrediction:
    """Return the expected impact of a step now; nothing is changed."""
    return replace(_predict(board, step, action), name=step_name(step))


def _predict(board: FaultInjector, step: Step, action: Action) -> StepPrediction:
    now, text, number = board.cluster.now_us, step_text(step), step.index + 1
    try:
        resolved = board.resolved_target(action)
        expected = board.predict_action(action)
    except FaultError as error:
        if action.if_any and isinstance(error, NoTargetError):
            return StepPrediction(number, now, text, (), None, skipped=str(error))
        return StepPrediction(number, now, text, (), None, str(error))
    targets = tuple(board.cluster.name_of(node) for node in resolved.nodes)
    guards, fault = board.guards, CATALOGUE[action.name]
    if guards is not None:
        does = "refuse" if guards.stopped else guards.limits.on_breach
        breach = guards.refusal(fault, expected) or guards.exceeded_limit(fault, expected)
        if breach is not None:
            return StepPrediction(number, now, text, targets, expected, "", breach.guard, breach.reason, does)
    return StepPrediction(number, now, text, targets, expected)


# The timeline of a dry run: every step in order, faults that end by themselves, the end, and steps that never act.


What = Literal["step", "healed", "answer", "guard", "expectation", "settle", "cut", "end", "never"]


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Timeline entry that is not a fault."""

    what: What
    at_us: int
    """Virtual time, -1 if it never occurs."""
    text: str
    step: int = 0
    """Number from 1; 0 if it is not a step."""
    name: str = ""
    """Name of the step."""
    when: str = ""
    """Condition that triggered a step, with its wait; for one that never acted its trigger."""
    refused: str = ""
    """Why a step failed."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        step = {"step": self.step, "name": self.name, "when": self.when, "refused": self.refused} if self.step else {}
        return {"at_us": self.at_us if self.at_us >= 0 else None, "text": self.text, **step}


Entry = StepPrediction | TimelineEntry


class DryRunTimeline:
    """Builder of the timeline; reports each entry as it is complete."""

    def __init__(self, playbook: Playbook, report: Callable[[Entry], None]) -> None:
        self.entries: list[Entry] = []
        self._settle_us = playbook.settle_us
        self._steps = {step_name(step): step for step in playbook.steps}
        self._report = report
        self._predicted: list[StepPrediction] = []
        self._previous_us = 0
        self._settling_us = -1

    def expect(self, predicted: StepPrediction) -> None:
        """Note that a fault is about to be injected; the event of its step follows."""
        self._predicted.append(predicted)

    def take(self, events: Sequence[Event]) -> None:
        """Process further events."""
        for event in events:
            entry = self._entry(event)
            if entry is not None:
                self._add(entry)

    def close(self, events: Sequence[Event], end_us: int, until_us: int, left: Sequence[Step]) -> None:
        """End the run: add expectations that failed at the end, the reason for the end, and steps that never acted."""
        for event in events:
            if isinstance(event, ExpectationChecked) and not event.ok:
                self._add(_judged(event))
        ended = self._settling_us >= 0 and self._settling_us + self._settle_us == end_us
        if end_us == until_us and not ended:
            self._add(TimelineEntry("cut", end_us, f"cut off by --until {duration_text(until_us)}"))
        else:
            self._add(TimelineEntry("end", end_us, "end of the session"))
        for step in left:
            self._add(TimelineEntry("never", -1, step_text(step), step.index + 1, step_name(step), _goes_by(step)))

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._report(entry)

    def _entry(self, event: Event) -> Entry | None:
        if isinstance(event, StepTaken):
            return self._taken(event)
        if isinstance(event, FaultHealed):
            return TimelineEntry("healed", event.at_us, f"{event.fault} on {event.target} healed")
        if isinstance(event, ExpectationChecked):
            return _judged(event)
        if isinstance(event, AdminAnswered):
            outcome = f"refused: {event.error}" if event.error else event.detail or "done"
            return TimelineEntry("answer", event.at_us, f"{event.operation} of {event.by}: {outcome}")
        if isinstance(event, GuardActed) and event.detail != "refused":
            return TimelineEntry("guard", event.at_us, f"{event.rule} {event.detail}: {event.cause}")
        return None

    def _taken(self, event: StepTaken) -> Entry | None:
        step = self._steps.get(event.by)
        if step is None:
            self._settling_us = event.at_us
            return TimelineEntry("settle", event.at_us, event.detail)
        when = ""
        if step.trigger.condition is not None:
            waited = event.at_us - self._previous_us
            when = f"{step.trigger.condition.text}, " + (f"after {time_in_seconds(waited)}" if waited else "at once")
        self._previous_us = event.at_us
        if self._predicted and self._predicted[0].name == event.by:
            return replace(self._predicted.pop(0), when=when)
        return TimelineEntry("step", event.at_us, step_text(step), step.index + 1, event.by, when, event.error)


def _judged(event: ExpectationChecked) -> TimelineEntry:
    detail = f" ({event.detail})" if event.detail else ""
    word = "ok" if event.ok else "unasked" if event.detail.endswith(NEVER_EVALUATED) else "FAILED"
    return TimelineEntry("expectation", event.at_us, f"{word} {event.rule}{detail}")


def _goes_by(step: Step) -> str:
    trigger = step.trigger
    if trigger.condition is not None:
        return f"when {trigger.condition.text}"
    if trigger.kind == "at":
        return f"at {duration_text(trigger.time_us)}"
    return f"{duration_text(trigger.time_us)} after the previous step" if trigger.time_us else ""


class UnreachedStep(NamedTuple):
    """A step that never acted in a dry run."""

    step: int
    """Number from 1 in acting order."""
    text: str
    """The step as text."""
    name: str
    """Name of the step."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """Result of a dry run: timeline, verdict and reason."""

    playbook: str
    seed: int
    profile: str
    timeline: tuple[Entry, ...]
    """All entries in the order in which they occur, then steps that never act."""
    unreached: tuple[UnreachedStep, ...]
    reason: str
    """Why they never acted; also why the run would be inconclusive."""
    verdict: Verdict
    """Verdict of a run with this seed."""
    virtual_us: int

    @property
    def predicted(self) -> tuple[StepPrediction, ...]:
        """The faults on the timeline."""
        return tuple(each for each in self.timeline if isinstance(each, StepPrediction))

    def to_json(self) -> dict[str, Any]:
        """Return the published document."""
        return {
            "playbook": self.playbook,
            "seed": self.seed,
            "profile": self.profile,
            "verdict": self.verdict,
            "virtual_us": self.virtual_us,
            "timeline": [{"what": each.what, **each.to_json()} for each in self.timeline],
            "steps": [each.to_json() for each in self.predicted],
            "unreached": [each._asdict() for each in self.unreached],
            "reason": self.reason,
        }


def dry_run(
    playbook: Playbook,
    seed: int,
    *,
    until_us: int = -1,
    on_progress: Callable[[Entry], None] = lambda entry: None,
    progress: Callable[[Session], None] = lambda session: None,
) -> DryRun:
    """Run a timed playbook to its end; ``on_progress`` is called with every entry of the timeline, in order.

    Raises:
        ModelError: the cluster cannot be built.
    """
    cluster = Cluster.build(playbook.spec, seed, compile_pattern=compile_re2_pattern)
    session = Session(playbook, cluster, fault_injector_for(playbook, cluster), None, until_us)
    timeline = DryRunTimeline(playbook, on_progress)

    def before(action: Action) -> None:
        step = session.next_step
        if step is not None:
            timeline.expect(predict_impact(session.board, step, action))

    session.board.on_inject = before
    session.begin()
    while session.advance(session.cluster.now_us + SLICE_US):
        timeline.take(session.drain())
        progress(session)
    timeline.take(session.drain())
    left = playbook.steps[session.steps_taken :]
    result = session.finish()
    timeline.close(session.drain(), result.virtual_us, until_us, left)
    return DryRun(
        playbook.name,
        seed,
        session.cluster.profile.name,
        tuple(timeline.entries),
        tuple(UnreachedStep(each.index + 1, step_text(each), step_name(each)) for each in left),
        result.reason,
        result.verdict,
        result.virtual_us,
    )
