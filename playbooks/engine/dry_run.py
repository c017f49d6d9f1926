"""A dry run: the timeline of a playbook, and what each fault is expected to do just before it acts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import AdminAnswered, Event, ExpectationChecked, FaultHealed, GuardActed, StepTaken
from cluster_model.util.quantities import time_in_seconds
from faults.catalogue import CATALOGUE
from faults.declarations import Action, ExpectedImpact, FaultError, NobodyError
from faults.injector import FaultBoard
from playbooks.engine.expectations import NEVER_ASKED
from playbooks.engine.session import SLICE_US, Session, board_for, compile_re2_pattern
from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import expected_json, step_name, step_words
from playbooks.results.result import Verdict
from playbooks.units import duration_text

# What a step that injects a fault is about to do: told at its instant, before it acts.


@dataclass(frozen=True, slots=True)
class Foretold:
    """A step that injects a fault, at the instant at which it is about to."""

    step: int
    """From 1, in the order in which steps act; those for other versions of Kafka are counted, too."""
    at_us: int
    text: str
    """The step in words."""
    targets: tuple[str, ...]
    """Whom its target means now."""
    expected: ExpectedImpact | None
    """None where it is refused."""
    refused: str = ""
    """Why it cannot be done now."""
    guard: str = ""
    """The guard whose limit it would cross."""
    guard_reason: str = ""
    guard_does: str = ""
    """``refuse`` or ``heal``."""
    skipped: str = ""
    """Who is not there to be struck, where the step allows that."""
    name: str = ""
    """How people call it: ``step 3.1 round 2``."""
    when: str = ""
    """The condition that brought it on, and how long it took; empty for a step that goes by the clock."""

    @property
    def what(self) -> str:
        """What kind of entry of a timeline it is."""
        return "fault"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
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


def foretell(board: FaultBoard, step: Step, action: Action) -> Foretold:
    """What a step would do now; nothing is changed."""
    return replace(_foretold(board, step, action), name=step_name(step))


def _foretold(board: FaultBoard, step: Step, action: Action) -> Foretold:
    now, text, number = board.cluster.now_us, step_words(step), step.index + 1
    try:
        aim = board.aimed(action)
        expected = board.expect(action)
    except FaultError as error:
        if action.if_any and isinstance(error, NobodyError):
            return Foretold(number, now, text, (), None, skipped=str(error))
        return Foretold(number, now, text, (), None, str(error))
    targets = tuple(board.cluster.name_of(node) for node in aim.nodes)
    guards, fault = board.guards, CATALOGUE[action.name]
    if guards is not None:
        does = "refuse" if guards.stopped else guards.limits.on_breach
        breach = guards.objection(fault, expected) or guards.crossing(fault, expected)
        if breach is not None:
            return Foretold(number, now, text, targets, expected, "", breach.guard, breach.reason, does)
    return Foretold(number, now, text, targets, expected)


# The timeline of a dry run: every step in order, what ends by itself, the end, and steps that never act.


What = Literal["step", "healed", "answer", "guard", "expectation", "settle", "cut", "end", "never"]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something on the timeline that is no fault."""

    what: What
    at_us: int
    """-1 for what never comes."""
    text: str
    step: int = 0
    """From 1; 0 where it is no step."""
    name: str = ""
    """How people call the step."""
    when: str = ""
    """The condition that brought a step on, and how long it took; of one that never came what it goes by."""
    refused: str = ""
    """Why a step could not act."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        step = {"step": self.step, "name": self.name, "when": self.when, "refused": self.refused} if self.step else {}
        return {"at_us": self.at_us if self.at_us >= 0 else None, "text": self.text, **step}


Entry = Foretold | Moment


class DryRunTimeline:
    """Puts the entries in order, and tells each as it is there."""

    def __init__(self, playbook: Playbook, tell: Callable[[Entry], None]) -> None:
        self.entries: list[Entry] = []
        self._settle_us = playbook.settle_us
        self._steps = {step_name(step): step for step in playbook.steps}
        self._tell = tell
        self._foretold: list[Foretold] = []
        self._previous_us = 0
        self._settling_us = -1

    def expect(self, foretold: Foretold) -> None:
        """A fault is about to be injected; the line that says so is yet to come."""
        self._foretold.append(foretold)

    def take(self, events: Sequence[Event]) -> None:
        """What happened since."""
        for event in events:
            entry = self._entry(event)
            if entry is not None:
                self._add(entry)

    def close(self, events: Sequence[Event], end_us: int, until_us: int, left: Sequence[Step]) -> None:
        """The run is over: what failed as the books were closed, why it ended, and the steps that never acted."""
        for event in events:
            if isinstance(event, ExpectationChecked) and not event.ok:
                self._add(_judged(event))
        ended = self._settling_us >= 0 and self._settling_us + self._settle_us == end_us
        if end_us == until_us and not ended:
            self._add(Moment("cut", end_us, f"cut off, as --until {duration_text(until_us)} says"))
        else:
            self._add(Moment("end", end_us, "the end"))
        for step in left:
            self._add(Moment("never", -1, step_words(step), step.index + 1, step_name(step), _goes_by(step)))

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._tell(entry)

    def _entry(self, event: Event) -> Entry | None:
        if isinstance(event, StepTaken):
            return self._taken(event)
        if isinstance(event, FaultHealed):
            return Moment("healed", event.at_us, f"{event.fault} on {event.target} is over")
        if isinstance(event, ExpectationChecked):
            return _judged(event)
        if isinstance(event, AdminAnswered):
            told = f"refused: {event.error}" if event.error else event.detail or "done"
            return Moment("answer", event.at_us, f"{event.operation} of {event.by}: {told}")
        if isinstance(event, GuardActed) and event.detail != "refused":
            return Moment("guard", event.at_us, f"{event.rule} {event.detail}: {event.cause}")
        return None

    def _taken(self, event: StepTaken) -> Entry | None:
        step = self._steps.get(event.by)
        if step is None:
            self._settling_us = event.at_us
            return Moment("settle", event.at_us, event.detail)
        when = ""
        if step.trigger.condition is not None:
            waited = event.at_us - self._previous_us
            when = f"{step.trigger.condition.text}, " + (f"after {time_in_seconds(waited)}" if waited else "at once")
        self._previous_us = event.at_us
        if self._foretold and self._foretold[0].name == event.by:
            return replace(self._foretold.pop(0), when=when)
        return Moment("step", event.at_us, step_words(step), step.index + 1, event.by, when, event.error)


def _judged(event: ExpectationChecked) -> Moment:
    detail = f" ({event.detail})" if event.detail else ""
    word = "ok" if event.ok else "unasked" if event.detail.endswith(NEVER_ASKED) else "FAILED"
    return Moment("expectation", event.at_us, f"{word} {event.rule}{detail}")


def _goes_by(step: Step) -> str:
    trigger = step.trigger
    if trigger.condition is not None:
        return f"when {trigger.condition.text}"
    if trigger.kind == "at":
        return f"at {duration_text(trigger.time_us)}"
    return f"{duration_text(trigger.time_us)} after the step before" if trigger.time_us else ""


class Unreached(NamedTuple):
    """A step that never acted."""

    step: int
    """From 1, in the order in which steps act."""
    text: str
    """The step in words."""
    name: str
    """How people call it."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The whole of it."""

    playbook: str
    seed: int
    profile: str
    timeline: tuple[Entry, ...]
    """Everything in the order in which it happens, then what never does."""
    unreached: tuple[Unreached, ...]
    reason: str
    """Why they did not; also why the run would be inconclusive."""
    verdict: Verdict
    """Of a run with this seed."""
    virtual_us: int

    @property
    def foretold(self) -> tuple[Foretold, ...]:
        """The faults among it."""
        return tuple(each for each in self.timeline if isinstance(each, Foretold))

    def to_json(self) -> dict[str, Any]:
        """The published document."""
        return {
            "playbook": self.playbook,
            "seed": self.seed,
            "profile": self.profile,
            "verdict": self.verdict,
            "virtual_us": self.virtual_us,
            "timeline": [{"what": each.what, **each.to_json()} for each in self.timeline],
            "steps": [each.to_json() for each in self.foretold],
            "unreached": [each._asdict() for each in self.unreached],
            "reason": self.reason,
        }


def dry_run(
    playbook: Playbook,
    seed: int,
    *,
    until_us: int = -1,
    tell: Callable[[Entry], None] = lambda entry: None,
    progress: Callable[[Session], None] = lambda session: None,
) -> DryRun:
    """Run a timed playbook to its end; ``tell`` is called with every entry of the timeline, in order.

    Raises:
        ModelError: the cluster cannot be built.
    """
    cluster = Cluster.build(playbook.spec, seed, compile_pattern=compile_re2_pattern)
    session = Session(playbook, cluster, board_for(playbook, cluster), None, until_us)
    found = DryRunTimeline(playbook, tell)

    def before(action: Action) -> None:
        step = session.next_step
        if step is not None:
            found.expect(foretell(session.board, step, action))

    session.board.before = before
    session.begin()
    while session.advance(session.cluster.now_us + SLICE_US):
        found.take(session.drain())
        progress(session)
    found.take(session.drain())
    left = playbook.steps[session.steps_taken :]
    result = session.finish()
    found.close(session.drain(), result.virtual_us, until_us, left)
    return DryRun(
        playbook.name,
        seed,
        session.cluster.profile.name,
        tuple(found.entries),
        tuple(Unreached(each.index + 1, step_words(each), step_name(each)) for each in left),
        result.reason,
        result.verdict,
        result.virtual_us,
    )
