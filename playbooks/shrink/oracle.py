"""Whether a candidate still goes wrong in the same way: it is run, and what was wrong is held against the keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    AdminAnswered,
    Event,
    FaultInjected,
    FaultSkipped,
    InvariantViolated,
    LivenessOverdue,
    StepTaken,
)
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.running import start_session
from playbooks.engine.session import SLICE_US, Session
from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook
from playbooks.model.wording import step_name
from playbooks.parser.loader import loads
from playbooks.results.result import Result
from playbooks.results.wrongs import OVERDUE, VIOLATION, wrongs_of
from playbooks.shrink.candidate import PATH

HELD: Final = "held"
LOST: Final = "lost"
INVALID: Final = "invalid"
"""No playbook: edits that do not go together. Nothing was run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a candidate."""

    state: str
    """:data:`HELD`, :data:`LOST` or :data:`INVALID`."""
    wrong: tuple[str, ...] = ()
    """Keys of everything that was wrong; of a run that was cut as its keys had come, those."""
    refused: tuple[int, ...] = ()
    """Places of steps that were refused, or found nobody, from 1."""
    acted: tuple[tuple[int, int], ...] = ()
    """When each step acted, and after how many kernel events."""
    struck: tuple[str, ...] = ()
    """Whom each step's fault struck, empty where it is no fault."""
    virtual_us: int = 0
    sent: int = 0
    """Records that producers were handed."""
    digest: str = ""
    came_us: int = -1
    """When the last of the keys came, where it is known to the event; else -1."""

    @property
    def held(self) -> bool:
        """Whether all keys are there."""
        return self.state == HELD


class _Watch:
    """What the events of a run tell: refusals, and keys that are decided while it runs."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.refused: dict[int, None] = {}
        self.acted: list[tuple[int, int]] = []
        self.struck: list[str] = []
        self._target = ""
        self._waiting = set(keys)
        self._places: dict[str, int] = {}
        self._skipped = False
        self.came_us = -1

    @property
    def all_there(self) -> bool:
        """Whether every key has come."""
        return not self._waiting

    def on_step(self, name: str, now_us: int, executed: int) -> None:
        """A step acted."""
        self._places[name] = len(self.acted) + 1
        self.acted.append((now_us, executed))
        self.struck.append("")

    def take(self, events: Sequence[Event]) -> None:
        """The next events of the run."""
        for event in events:
            if isinstance(event, FaultSkipped):
                self._skipped = True
            elif isinstance(event, FaultInjected):
                self._target = event.target
            elif isinstance(event, StepTaken):
                if event.by in self._places:
                    self.struck[self._places[event.by] - 1] = self._target
                self._target = ""
                if (event.error or self._skipped) and event.by in self._places:
                    self.refused[self._places[event.by]] = None
                self._skipped = False
            elif isinstance(event, AdminAnswered):
                if event.error and event.by in self._places:
                    self.refused[self._places[event.by]] = None
            elif isinstance(event, InvariantViolated):
                self._came(f"{VIOLATION}:{event.invariant}", event.at_us)
            elif isinstance(event, LivenessOverdue):
                self._came(f"{OVERDUE}:{event.property}", event.at_us)

    def _came(self, key: str, at_us: int) -> None:
        if key in self._waiting:
            self._waiting.discard(key)
            self.came_us = at_us


def judge(text: str, keys: Sequence[str], *, whole: bool = False) -> Verdict:
    """Run a candidate.

    Without ``whole`` it ends as soon as nothing that is still to come can change the answer: what was violated stays
    so, while what is lost shows at the end alone.
    """
    try:
        return judged(loads(text, PATH), keys, whole=whole)[0]
    except (PlaybookError, ModelError):
        return Verdict(INVALID)


def judged(
    playbook: Playbook, keys: Sequence[str], *, seed: int | None = None, whole: bool = True
) -> tuple[Verdict, Result | None]:
    """The same of a playbook, and the result of its session where that was not cut.

    Raises:
        ModelError: the cluster cannot be built.
    """
    session = start_session(playbook, seed=seed)
    watch = _Watch(keys)
    wrong, result = tuple(keys), None
    if not _run(session, watch, cut=not whole):
        result = session.finish()
        watch.take(session.drain())
        wrong = tuple([each.key for each in wrongs_of(result)])
    verdict = Verdict(
        HELD if all(key in wrong for key in keys) else LOST,
        wrong,
        tuple(sorted(watch.refused)),
        tuple(watch.acted),
        tuple(watch.struck),
        session.cluster.now_us,
        result.ledger.sent if result is not None else 0,
        result.digest if result is not None else "",
        watch.came_us if watch.all_there else -1,
    )
    return verdict, result


def _run(session: Session | ManualSession, watch: _Watch, *, cut: bool) -> bool:
    """Run it to its end, or until all is decided; whether it was cut."""
    if isinstance(session, ManualSession):
        while session.next_step is not None:
            step = session.next_step
            watch.on_step(step_name(step), 0, session.steps_taken)
            session.advance(max_events=1)
            watch.take(session.drain())
        return False
    cluster = session.cluster
    session.on_step = lambda step: watch.on_step(step_name(step), cluster.now_us, cluster.executed)
    watch.take(session.drain())
    running = True
    while running:
        running = session.advance(cluster.now_us + SLICE_US)
        watch.take(session.drain())
        if cut and watch.all_there and session.next_step is None and running:
            return True
    return False
