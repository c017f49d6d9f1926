"""A playbook as checked, immutable values: what the loader makes and the session engine runs."""

from dataclasses import dataclass, field
from typing import Any, Literal

from cluster_model.spec.cluster_spec import ClusterSpec
from faults.guardrails import Limits
from playbooks.conditions.conditions import Condition
from playbooks.model.grid import Grid
from playbooks.model.ranges import Ranges

StepVerb = Literal["inject", "heal", "admin", "settle", "stop", "reseed", "manual", "round"]


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands in its file; lines and columns from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a step acts: ``at`` a virtual time, ``after`` the step before it by so much, or ``when`` a condition holds.

    A step without any of the three acts right after the one before it (``after`` 0).
    """

    kind: Literal["at", "after", "when"]
    time_us: int = 0
    condition: Condition | None = None
    within_us: int = -1
    """How long a ``when`` may wait, from the step before it; -1 for ever. Waiting longer is inconclusive."""
    since_round: int = 0
    """What ``at`` counts from: 0 the session's beginning, else that of the round at this depth of groups."""
    executed: int = -1
    """Of an ``at``: acts within its instant as soon as the run has handled so many kernel events; -1 after all due."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: exactly one verb. ``name`` is the fault, the operation or the manual verb (``append``, ``fetch``).

    A group of steps is read as its rounds, one after the other. A step of the verb ``round`` begins each of them and
    does nothing else; its name says which one it is (``2 of 3``).
    """

    index: int
    """From 0, in the order in which steps act; those for other versions of Kafka are counted, too."""
    where: Position
    trigger: Trigger
    verb: StepVerb
    name: str
    target: str = ""
    """Selector text; empty for manual verbs."""
    params: dict[str, Any] = field(default_factory=dict)
    """In model units: times in microseconds, sizes in bytes."""
    for_us: int = -1
    if_any: bool = False
    """Whether an injection that finds nobody is skipped."""
    refused: str = ""
    """Kafka's error expected of the step, ``any``, ``never``, or empty: no opinion."""
    then: dict[str, Any] = field(default_factory=dict)
    """Expected state: partition → broker id as text (or ``controller``, ``consumer``) → field → value."""
    event: str = ""
    """Begins a row of a manual playbook's table, and says what happens in it."""
    note: str = ""
    """A line for the reader, printed as the step is taken."""
    label: str = ""
    """How people call it where groups are about: ``3.1 round 2`` is the first step of the third, which is a group."""
    depth: int = 0
    """Of the group that a round is of; 1 for one that is in no other."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition that must hold at the ``end``, ``always``, or ``eventually`` within a time since an instant."""

    text: str
    kind: Literal["end", "always", "eventually"]
    condition: Condition
    where: Position
    within_us: int = -1
    since: str = "start"
    """``start``, or ``heal``: the moment the last fault was healed, settling included."""


@dataclass(frozen=True, slots=True)
class Guarding:
    """Limits on the chaos, and the condition that ends it."""

    limits: Limits
    stop_when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Playbook:
    """A whole chaos session, ready to run."""

    path: str
    name: str
    title: str
    story: str
    seed: int
    spec: ClusterSpec
    steps: tuple[Step, ...]
    settle_us: int
    expectations: tuple[Expectation, ...]
    tags: tuple[str, ...]
    source: str
    """The file's text, kept with every recorded session."""
    guards: Guarding | None = None
    origins: tuple[str, ...] = ()
    """Where the story comes from: the key ``source`` of the file."""
    profiles: tuple[str, ...] = ()
    """The Kafka versions under which it is expected to pass, oldest first."""
    fragments: dict[str, str] = field(default_factory=dict)
    """Text of every fragment it includes, by the path from the playbook; kept with every recorded session, too."""
    variables: tuple[str, ...] = ()
    """Names of its variables, and of those of the fragments at its head."""
    grid: Grid | None = None
    """What ``vary`` says, where the playbook has one."""
    storm: Ranges | None = None
    """What it allows its storms, where it says so."""

    @property
    def load_alone(self) -> bool:
        """Producers and no steps: without a screen they write for as long as ``settle``, and then it settles."""
        return bool(self.spec.producers) and not self.steps
