"""Breadth first through all states: the first way that is found to one is a shortest one."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from cluster_model.model_checker.properties import STUCK, Properties
from cluster_model.model_checker.symmetry import Symmetry
from cluster_model.model_checker.transitions import Moves, State, Step

Key = State | int


@dataclass(slots=True)
class Broken:
    """What does not hold."""

    states: int
    """In how many distinct states."""
    steps: tuple[Step, ...]
    """A shortest way to the first of them."""
    at: State


@dataclass(slots=True)
class Explored:
    """What an exploration came to."""

    distinct: int = 0
    generated: int = 0
    """States, as often as they were met."""
    depth: int = 0
    """Steps to the state that is farthest from the start."""
    frontier: int = 0
    """States at which it was ended early; 0 when all there is was seen."""
    pairs: int = 0
    """With fingerprints: pairs of states, each of which may be taken for one with a chance of 1 in 2 to the 64th."""
    broken: dict[str, Broken] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether everything within the bounds was seen."""
        return not self.frontier


Progress = Callable[[Explored], bool]
"""Told after each step outwards; False ends the exploration."""


class Search:
    """An exploration of one cluster within its bounds."""

    def __init__(self, moves: Moves, *, symmetry: bool = False, fingerprints: bool = False) -> None:
        """``fingerprints``: 64 bits stand for a state, which takes less memory and might confuse two of them."""
        self._moves = moves
        self._symmetry = Symmetry(moves) if symmetry else None
        self._fingerprints = fingerprints
        self._properties = Properties(moves)
        self._before: dict[Key, Key | None] = {}

    def _stands_for(self, state: State) -> State:
        return state if self._symmetry is None else self._symmetry.stands_for(state)

    def _key(self, state: State) -> Key:
        if not self._fingerprints:
            return state
        return int.from_bytes(blake2b(array("q", state).tobytes(), digest_size=8).digest(), "big")

    def run(self, *, most: int = 0, stop_on_first: bool = False, progress: Progress | None = None) -> Explored:
        """Explore until nothing is new, ``most`` states are known (0: no limit), or something is broken."""
        explored = Explored()
        start = self._stands_for(self._moves.start())
        self._before = {self._key(start): None}
        front = [start]
        self._look(start, explored)
        while front:
            if (most and len(self._before) >= most) or (stop_on_first and explored.broken):
                break
            front = self._outwards(front, explored)
            explored.depth += bool(front)
            explored.distinct = len(self._before)
            explored.frontier = len(front)
            if progress is not None and not progress(explored):
                break
        if self._fingerprints:
            explored.pairs = explored.distinct * (explored.distinct - 1) // 2
        return explored

    def _outwards(self, front: list[State], explored: Explored) -> list[State]:
        """One step further from every state of the front."""
        before, after, symmetry = self._before, self._moves.after, self._symmetry
        plain = symmetry is None and not self._fingerprints
        found: list[State] = []
        for state in front:
            key = state if plain else self._key(state)
            steps = after(state)
            explored.generated += len(steps)
            if not steps and self._properties.stuck(state):
                self._note(STUCK, state, explored)
            for _step, met in steps:
                new = met if symmetry is None else symmetry.stands_for(met)
                its = new if plain else self._key(new)
                if its not in before:
                    before[its] = key
                    found.append(new)
                    self._look(new, explored)
        return found

    def _look(self, state: State, explored: Explored) -> None:
        for name in self._properties.broken(state):
            self._note(name, state, explored)

    def _note(self, name: str, state: State, explored: Explored) -> None:
        known = explored.broken.get(name)
        if known is None:
            steps, at = self._way_to(state)
            explored.broken[name] = Broken(1, steps, at)
        else:
            known.states += 1

    def _way_to(self, state: State) -> tuple[tuple[Step, ...], State]:
        """The steps to a state, by the names that brokers have from the start, and the state by these names."""
        keys: list[Key] = []
        key: Key | None = self._key(state)
        while key is not None:
            keys.append(key)
            key = self._before[key]
        at, steps = self._moves.start(), []
        for wanted in keys[-2::-1]:
            step, at = next(
                (step, new) for step, new in self._moves.after(at) if self._key(self._stands_for(new)) == wanted
            )
            steps.append(step)
        return tuple(steps), at
