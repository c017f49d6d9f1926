"""The timeline of a dry run: every step in its order, what ends by itself, the end, and what never comes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cluster_model.protocol.events import AdminAnswered, Event, ExpectationChecked, FaultHealed, GuardActed, StepTaken
from playbooks.engine.expectations import NEVER_ASKED, seconds
from playbooks.engine.foretelling import Foretold
from playbooks.model.playbook import Playbook, Step
from playbooks.model.wording import step_name, step_words
from playbooks.units import duration_text

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


class Timeline:
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
            when = f"{step.trigger.condition.text}, " + (f"after {seconds(waited)}" if waited else "at once")
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
