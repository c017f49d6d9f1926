"""A playbook as checked, immutable values: steps, expectations, its grid, and its ranges for storms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final, Literal

import yaml

from cluster_model.spec import ClusterSpec
from faults.guardrails import Limits
from playbooks.conditions.condition import Condition

# The grid of a playbook (``vary``) and its cells.
#
# A cell is one combination: a value for each axis. Cells come in the order in which one would write them down, the
# last axis changing fastest; with ``cases`` these come first and change slowest.


SEED: Final = "seed"
"""The axis that is no setting of the file: the seed of every random stream."""

Cell = tuple[tuple[str, str], ...]
"""Axis → value, as ``--set`` takes it."""


@dataclass(frozen=True, slots=True)
class GridAxis:
    """What is varied, by the name that the file uses, and its values as text."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """All axes of a playbook. ``cases`` are combinations that are written out, beside the axes."""

    axes: tuple[GridAxis, ...]
    cases: tuple[Cell, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All axes, those of the cases first, in the order in which they are named first."""
        found = [name for case in self.cases for name, _value in case]
        return tuple(dict.fromkeys([*found, *(axis.name for axis in self.axes)]))

    @property
    def size(self) -> int:
        """Number of cells."""
        size = max(1, len(self.cases))
        for axis in self.axes:
            size *= len(axis.values)
        return size

    def cells(self) -> Iterator[Cell]:
        """All cells."""
        choices = [[((axis.name, value),) for value in axis.values] for axis in self.axes]
        for chosen in product(self.cases or ((),), *choices):
            yield tuple(pair for part in chosen for pair in part)

    def lines(self) -> list[str]:
        """What it runs over, a line for each axis, and one for each case: ``acks: 0, 1, all``."""
        cases = [", ".join(f"{name}={value}" for name, value in case) for case in self.cases]
        return [*cases, *(f"{axis.name}: {', '.join(axis.values)}" for axis in self.axes)]

    def without(self, name: str) -> "Grid":
        """The grid without an axis; cases keep theirs."""
        return Grid(tuple(axis for axis in self.axes if axis.name != name), self.cases)

    def with_axis(self, axis: GridAxis) -> "Grid":
        """The grid with one more axis, or with other values of one."""
        if any(each.name == axis.name for each in self.axes):
            return Grid(tuple(axis if each.name == axis.name else each for each in self.axes), self.cases)
        return Grid((*self.axes, axis), self.cases)


def cell_words(cell: Cell) -> str:
    """``acks=all min.insync.replicas=2``."""
    return " ".join(f"{name}={value_words(value)}" for name, value in cell)


def value_words(value: str) -> str:
    """A value as people read it: a text that is in quotes so that it stays one, without them."""
    return str(yaml.safe_load(value)) if value.startswith('"') else value


def grid_json(grid: Grid) -> dict[str, Any]:
    """As a file has it."""
    return {
        "axes": [[axis.name, list(axis.values)] for axis in grid.axes],
        "cases": [list(map(list, case)) for case in grid.cases],
    }


def grid_of(found: Mapping[str, Any]) -> Grid:
    """The other way round. Raises ValueError, KeyError or TypeError for what is none."""
    axes = tuple([GridAxis(name, tuple(values)) for name, values in found["axes"]])
    cases: tuple[Cell, ...] = tuple([tuple([(name, value) for name, value in case]) for case in found["cases"]])
    return Grid(axes, cases)


# Ranges of storms: what each run draws from, which faults may come, and what is expected.


SECOND: Final = 1_000_000

Span = tuple[int, int]
"""The least and the most, both of them allowed."""


@dataclass(frozen=True, slots=True)
class StormRanges:
    """What each run of a campaign draws its own options from. Times are virtual microseconds."""

    chaos_us: Span = (15 * SECOND, 25 * SECOND)
    """How long faults are injected, before everything heals."""
    fault_us: Span = (SECOND // 2, 12 * SECOND)
    """The longest that a fault of a run lasts."""
    healthy_us: Span = (SECOND // 4, 5 * SECOND)
    """The longest from one strike of a run to the next."""
    at_once: Span = (1, 3)
    """Faults that are active at once."""
    steered: Span = (30, 90)
    """Strikes in a hundred that wait for an interesting state."""
    faults: tuple[str, ...] = ()
    """Names of the faults and operations that may come; empty: all that storms know."""
    without: tuple[str, ...] = ()
    """... but these."""
    expected: tuple[str, ...] = ()
    """Keys of what is no surprise, such as ``finding:lost/unreplicated-tail``; ``*`` stands for anything."""


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
    storm: StormRanges | None = None
    """What it allows its storms, where it says so."""

    @property
    def load_alone(self) -> bool:
        """Producers and no steps: without a screen they write for as long as ``settle``, and then it settles."""
        return bool(self.spec.producers) and not self.steps
