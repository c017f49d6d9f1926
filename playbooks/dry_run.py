"""A run that is not kept, and tells before each fault what it is expected to do: ``floodmark run --dry-run``."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cluster_model.cluster import Cluster
from faults.action import Action
from faults.board import FaultBoard
from faults.catalogue import CATALOGUE
from faults.fault import Expectation, FaultError, NobodyError
from playbooks.foretold_words import expected_json
from playbooks.guarding import board_for
from playbooks.model import Playbook, Step
from playbooks.result import Verdict
from playbooks.session import SLICE_US, Session
from playbooks.wording import step_name, step_words


@dataclass(frozen=True, slots=True)
class Foretold:
    """A step that injects a fault, at the instant at which it is about to."""

    step: int
    """From 1, in the order in which steps act."""
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

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        acts = {"guard": self.guard, "does": self.guard_does, "reason": self.guard_reason}
        return {
            "step": self.step,
            "name": self.name,
            "at_us": self.at_us,
            "text": self.text,
            "targets": list(self.targets),
            "refused": self.refused,
            "skipped": self.skipped,
            "guard": acts if self.guard else None,
            "expected": None if self.expected is None else expected_json(self.expected),
        }


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
    foretold: tuple[Foretold, ...]
    unreached: tuple[Unreached, ...]
    reason: str
    """Why they did not; also why the run would be inconclusive."""
    verdict: Verdict
    """Of a run with this seed."""
    virtual_us: int

    def to_json(self) -> dict[str, Any]:
        """The published document."""
        return {
            "playbook": self.playbook,
            "seed": self.seed,
            "profile": self.profile,
            "verdict": self.verdict,
            "virtual_us": self.virtual_us,
            "steps": [each.to_json() for each in self.foretold],
            "unreached": [each._asdict() for each in self.unreached],
            "reason": self.reason,
        }


def dry_run(
    playbook: Playbook,
    seed: int,
    *,
    until_us: int = -1,
    tell: Callable[[Foretold], None] = lambda foretold: None,
    progress: Callable[[Session], None] = lambda session: None,
) -> DryRun:
    """Run a timed playbook to its end; ``tell`` is called before each fault of a step, at its instant.

    Raises:
        ModelError: the cluster cannot be built.
    """
    cluster = Cluster.build(playbook.spec, seed)
    session = Session(playbook, cluster, board_for(playbook, cluster), None, until_us)
    found: list[Foretold] = []

    def before(action: Action) -> None:
        step = session.next_step
        if step is not None:
            found.append(replace(foretell(session.board, step, action), name=step_name(step)))
            tell(found[-1])

    session.board.before = before
    session.begin()
    while session.advance(session.cluster.now_us + SLICE_US):
        session.drain()
        progress(session)
    left = playbook.steps[session.steps_taken :]
    result = session.finish()
    return DryRun(
        playbook.name,
        seed,
        session.cluster.profile.name,
        tuple(found),
        tuple(Unreached(each.index + 1, step_words(each), step_name(each)) for each in left),
        result.reason,
        result.verdict,
        result.virtual_us,
    )


def foretell(board: FaultBoard, step: Step, action: Action) -> Foretold:
    """What a step would do now; nothing is changed."""
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
