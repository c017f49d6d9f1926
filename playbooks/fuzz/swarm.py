"""What one run of a campaign is like, drawn before it begins: swarm testing (Groce et al., 2012).

Runs differ in what they leave out as much as in what they do: a run with three faults in play gets further with each of
them than a run that may draw any of fifty.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

from cluster_model.cluster import Cluster
from faults.catalogue import CATALOGUE
from faults.declarations.operation import OPERATIONS
from playbooks.fuzz.protocol_states import possible
from playbooks.fuzz.seeds import Dice, run_seed
from playbooks.model.grid import SEED, Cell, Grid
from playbooks.model.ranges import Ranges
from playbooks.parser.sections.storm import STORM_OPERATIONS

MOST_KINDS: Final = 8
"""Kinds of faults in play in one run, at most; and kinds of states that it waits for."""


@dataclass(frozen=True, slots=True)
class Swarm:
    """The options of one run. Times are virtual microseconds."""

    run: int
    seed: int
    cell: Cell
    """The values of the playbook's ``vary``, an axis each."""
    chaos_us: int
    fault_us: int
    """The longest that a fault lasts in it; each draws its own time up to this."""
    healthy_us: int
    """The longest from one strike to the next."""
    at_once: int
    steered: int
    """Strikes in a hundred that wait for one of ``states``."""
    faults: tuple[tuple[str, int], ...]
    """What is in play, each with its weight."""
    states: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As a line of the campaign has it."""
        return {**asdict(self), "cell": dict(self.cell), "faults": dict(self.faults), "states": list(self.states)}


def candidates_of(ranges: Ranges, cluster: Cluster) -> tuple[str, ...]:
    """Faults and operations that may come over a cluster."""
    profile = cluster.profile
    clients = (bool(cluster.producers), bool(cluster.consumers))
    named = ranges.faults or (*CATALOGUE, *STORM_OPERATIONS)
    allowed = [name for name in named if name not in ranges.without]
    return tuple([name for name in allowed if _possible(name, profile.mode, profile.number, clients)])


def _possible(name: str, mode: str, kafka: tuple[int, ...], clients: tuple[bool, bool]) -> bool:
    if name in OPERATIONS:
        return not OPERATIONS[name].lacking(kafka, mode)
    fault = CATALOGUE[name]
    producers, consumers = clients
    needed = {"producers": producers, "consumers": consumers, "clients": producers or consumers}
    return fault.mode in ("", mode) and needed.get(fault.accepts, True)


def draw_cell(grid: Grid | None, dice: Dice) -> Cell:
    """One cell of a grid, its axis of seeds left out."""
    cells = list(grid.without(SEED).cells()) if grid is not None else []
    return tuple([pair for pair in dice.of(cells) if pair[0] != SEED]) if cells else ()


def cell_of(campaign: int, run: int, grid: Grid | None) -> Cell:
    """The settings that a run has."""
    return draw_cell(grid, Dice(run_seed(campaign, run), "settings"))


def draw(campaign: int, run: int, cell: Cell, ranges: Ranges, cluster: Cluster) -> Swarm:
    """The options of a run; ``cluster`` is one of its kind, at its first instant."""
    seed = run_seed(campaign, run)
    dice = Dice(seed, "swarm")
    in_reach = candidates_of(ranges, cluster)
    kinds = dice.some(in_reach, dice.between(1, min(MOST_KINDS, max(1, len(in_reach)))))
    states = possible(cluster)
    return Swarm(
        run=run,
        seed=seed,
        cell=cell,
        chaos_us=dice.between(*ranges.chaos_us),
        fault_us=dice.spread(*ranges.fault_us),
        healthy_us=dice.spread(*ranges.healthy_us),
        at_once=dice.between(*ranges.at_once),
        steered=dice.between(*ranges.steered),
        faults=tuple([(name, 1 << dice.below(3)) for name in kinds]),
        states=dice.some(states, dice.between(1, min(MOST_KINDS, len(states)))),
    )
