"""A run that is not kept: its timeline, and before each fault what it is expected to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from cluster_model.cluster import Cluster
from faults.declarations.action import Action
from playbooks.engine.dry_timeline import Entry, Timeline
from playbooks.engine.foretelling import Foretold, foretell
from playbooks.engine.guarding import board_for
from playbooks.engine.session import SLICE_US, Session
from playbooks.model.playbook import Playbook
from playbooks.model.wording import step_name, step_words
from playbooks.results.result import Verdict


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
    cluster = Cluster.build(playbook.spec, seed)
    session = Session(playbook, cluster, board_for(playbook, cluster), None, until_us)
    found = Timeline(playbook, tell)

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
