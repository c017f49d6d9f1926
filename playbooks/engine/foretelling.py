"""What a step that injects a fault is about to do: told at its instant, before it acts."""

from dataclasses import dataclass, replace
from typing import Any

from faults.catalogue import CATALOGUE
from faults.declarations.action import Action
from faults.declarations.fault import Expectation, FaultError, NobodyError
from faults.injector import FaultBoard
from playbooks.engine.foretold_words import expected_json
from playbooks.model.playbook import Step
from playbooks.model.wording import step_name, step_words


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
    expected: Expectation | None
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
