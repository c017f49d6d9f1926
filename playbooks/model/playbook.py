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
# A cell is one combination: a value for each axis. The last axis changes fastest; ``cases`` come first and change
# slowest.


SEED: Final = "seed"
"""The axis that is not a setting of the file: the seed of every random stream."""

Cell = tuple[tuple[str, str], ...]
"""Axis → value, in the form of ``--set``."""


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One axis: its name in the file, and its values as text."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Grid of a playbook: all axes; ``cases`` are explicit combinations besides the axes."""

    axes: tuple[GridAxis, ...]
    cases: tuple[Cell, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All axes, those of the cases first, in order of first occurrence."""
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
        """Yield all cells."""
        choices = [[((axis.name, value),) for value in axis.values] for axis in self.axes]
        for chosen in product(self.cases or ((),), *choices):
            yield tuple(pair for part in chosen for pair in part)

    def lines(self) -> list[str]:
        """Describe the grid with a line for each case and each axis: ``acks: 0, 1, all``."""
        cases = [", ".join(f"{name}={value}" for name, value in case) for case in self.cases]
        return [*cases, *(f"{axis.name}: {', '.join(axis.values)}" for axis in self.axes)]

    def without(self, name: str) -> "Grid":
        """Return the grid without an axis; cases keep theirs."""
        return Grid(tuple(axis for axis in self.axes if axis.name != name), self.cases)

    def with_axis(self, axis: GridAxis) -> "Grid":
        """Return the grid with another axis, or with other values of one."""
        if any(each.name == axis.name for each in self.axes):
            return Grid(tuple(axis if each.name == axis.name else each for each in self.axes), self.cases)
        return Grid((*self.axes, axis), self.cases)


def cell_label(cell: Cell) -> str:
    """Return a cell as text: ``acks=all min.insync.replicas=2``."""
    return " ".join(f"{name}={value_label(value)}" for name, value in cell)


def value_label(value: str) -> str:
    """Return a value for people: without the quotes that keep it a text."""
    return str(yaml.safe_load(value)) if value.startswith('"') else value


def grid_json(grid: Grid) -> dict[str, Any]:
    """Return the JSON object of a grid."""
    return {
        "axes": [[axis.name, list(axis.values)] for axis in grid.axes],
        "cases": [list(map(list, case)) for case in grid.cases],
    }


def grid_of(document: Mapping[str, Any]) -> Grid:
    """Restore a grid. Raises ValueError, KeyError or TypeError for other documents."""
    axes = tuple([GridAxis(name, tuple(values)) for name, values in document["axes"]])
    cases: tuple[Cell, ...] = tuple([tuple([(name, value) for name, value in case]) for case in document["cases"]])
    return Grid(axes, cases)


# Options of storms: ranges for each run, allowed faults, and expected findings.


SECOND: Final = 1_000_000

Span = tuple[int, int]
"""Minimum and maximum, both inclusive."""


@dataclass(frozen=True, slots=True)
class StormRanges:
    """Ranges of the random options of a campaign's runs. Times are virtual microseconds."""

    chaos_us: Span = (15 * SECOND, 25 * SECOND)
    """Time in which faults are injected, before everything heals."""
    fault_us: Span = (SECOND // 2, 12 * SECOND)
    """Longest duration of a fault in a run."""
    healthy_us: Span = (SECOND // 4, 5 * SECOND)
    """Longest time from one fault of a run to the next."""
    at_once: Span = (1, 3)
    """Maximum number of active faults."""
    steered: Span = (30, 90)
    """Percentage of faults that wait for an interesting state."""
    faults: tuple[str, ...] = ()
    """Names of the allowed faults and operations; empty: all that storms know."""
    without: tuple[str, ...] = ()
    """Excluded faults and operations."""
    expected: tuple[str, ...] = ()
    """Keys of expected findings, such as ``finding:lost/unreplicated-tail``; ``*`` matches anything."""


StepVerb = Literal["inject", "heal", "admin", "settle", "stop", "reseed", "manual", "round"]


@dataclass(frozen=True, slots=True)
class Position:
    """Position in a file; lines and columns from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Trigger:
    """Trigger of a step: ``at`` a virtual time, a time ``after`` the step before it, or ``when`` a condition holds.

    A step without any of the three acts right after the one before it (``after`` 0).
    """

    kind: Literal["at", "after", "when"]
    time_us: int = 0
    condition: Condition | None = None
    within_us: int = -1
    """Limit of the wait of a ``when``, from the step before it; -1 for none. A longer wait is inconclusive."""
    since_round: int = 0
    """Start of the time of ``at``: 0 the session's beginning, else that of the round at this depth of groups."""
    executed: int = -1
    """For ``at``: acts within this time after this many kernel events of the run; -1 after all events due."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step with exactly one verb. ``name`` is the fault, the operation or the manual verb (``append``, ``fetch``).

    A group of steps is unrolled to its rounds. A step of the verb ``round`` begins each round and does nothing else;
    its name is its number (``2 of 3``).
    """

    index: int
    """Index from 0 in acting order; steps for other versions of Kafka are counted, too."""
    where: Position
    trigger: Trigger
    verb: StepVerb
    name: str
    target: str = ""
    """Target selector; empty for manual verbs."""
    params: dict[str, Any] = field(default_factory=dict)
    """Values in model units: times in microseconds, sizes in bytes."""
    for_us: int = -1
    if_any: bool = False
    """Whether an injection without a target is skipped."""
    refused: str = ""
    """Expected Kafka error of the step, ``any``, ``never``, or empty: not checked."""
    then: dict[str, Any] = field(default_factory=dict)
    """Expected state: partition → broker id as text (or ``controller``, ``consumer``) → field → value."""
    event: str = ""
    """Heading of a new row in a manual playbook's table."""
    note: str = ""
    """A line for the reader, printed as the step is taken."""
    label: str = ""
    """Name of a step in groups: ``3.1 round 2`` is the first step of the third, which is a group."""
    depth: int = 0
    """Depth of the group of a round; 1 for an outer group."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition that must hold at the ``end``, ``always``, or ``eventually`` within a time."""

    text: str
    kind: Literal["end", "always", "eventually"]
    condition: Condition
    where: Position
    within_us: int = -1
    since: str = "start"
    """``start``, or ``heal``: the time when the last fault was healed, settling included."""


@dataclass(frozen=True, slots=True)
class Guards:
    """Limits on fault injection, and the condition that ends it."""

    limits: Limits
    stop_when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Playbook:
    """A whole playbook, ready to run."""

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
    """Text of the file, stored with every recorded session."""
    guards: Guards | None = None
    origins: tuple[str, ...] = ()
    """Sources of the story: the key ``source`` of the file."""
    profiles: tuple[str, ...] = ()
    """The Kafka versions under which it should pass, oldest first."""
    fragments: dict[str, str] = field(default_factory=dict)
    """Text of every included fragment, by its path from the playbook; stored with every recorded session, too."""
    variables: tuple[str, ...] = ()
    """Names of its variables, and of those of the fragments at its head."""
    grid: Grid | None = None
    """The grid of ``vary``, if there is one."""
    storm: StormRanges | None = None
    """Options of its storms, if there are any."""

    @property
    def load_alone(self) -> bool:
        """Whether it has producers but no steps: outside the TUI they write for the time of ``settle`` first."""
        return bool(self.spec.producers) and not self.steps
