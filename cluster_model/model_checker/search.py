"""Breadth-first state-space search with symmetry reduction and the properties checked in each state."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby, permutations, product

from cluster_model.model_checker.transitions import (
    ACTIONS,
    NO_NODE,
    ControllerState,
    Interner,
    LeaderDecision,
    ReplicaState,
    State,
    Step,
    Transitions,
)

# Properties of every state. The names of the first two are those of Kafka's TLA+ modules.


STRONG_ISR = "strong-isr"
"""All records below the HW of a broker that believes it is leader are in the log of every member of the true ISR.

Where this is violated, a clean election can lose records acknowledged with acks=all.
"""

WEAK_ISR = "weak-isr"
"""As strong-isr, for the members of the ISR that such a leader itself knows."""

LOG_MATCHING = "log-matching"
"""A follower that has reconciled its log with its leader's, in that epoch, holds nothing that differs from it."""

LOG_BOUNDS = "log-bounds"
"""The HW of every replica is within its log."""

STUCK = "stuck"
"""No step is possible, there is a leader, and yet the replicas do not agree."""

PROPERTIES = (STRONG_ISR, WEAK_ISR, LOG_MATCHING, LOG_BOUNDS, STUCK)


class Properties:
    """Checker of a state's properties. Each pair of replica states is compared only once."""

    def __init__(self, moves: Transitions) -> None:
        self._moves = moves
        self._brokers = range(moves.bounds.replicas)
        self._below: dict[tuple[int, int], bool] = {}
        self._prefix: dict[tuple[int, int], bool] = {}

    def broken(self, state: State) -> list[str]:
        """Return the names of the violated properties."""
        things = self._moves.locals.items
        violations: list[str] = []
        for broker in self._brokers:
            own = state[broker]
            local = things[own]
            if local.hw > len(local.log) and LOG_BOUNDS not in violations:
                violations.append(LOG_BOUNDS)
            if local.leader == broker:
                if local.hw:
                    true_isr = self._moves.held.items[state[len(self._brokers)]][1]
                    self._members(state, own, true_isr, STRONG_ISR, violations)
                    self._members(state, own, local.isr, WEAK_ISR, violations)
            elif local.leader != NO_NODE:
                leader_number = state[local.leader]
                leader = things[leader_number]
                follows = leader.leader == local.leader and leader.epoch == local.epoch
                if follows and not self._agree(own, leader_number) and LOG_MATCHING not in violations:
                    violations.append(LOG_MATCHING)
        return violations

    def _members(self, state: State, own: int, isr: tuple[int, ...], name: str, violations: list[str]) -> None:
        for member in isr:
            member_number = state[member]
            same = self._below.get((own, member_number))
            if same is None:
                local, other = self._moves.locals.items[own], self._moves.locals.items[member_number]
                same = self._below[own, member_number] = local.log[: local.hw] == other.log[: local.hw]
            if not same and name not in violations:
                violations.append(name)

    def _agree(self, own: int, its: int) -> bool:
        same = self._prefix.get((own, its))
        if same is None:
            local, leader = self._moves.locals.items[own].log, self._moves.locals.items[its].log
            both = min(len(local), len(leader))
            same = self._prefix[own, its] = local[:both] == leader[:both]
        return same

    def stuck(self, state: State) -> bool:
        """Whether a state without further steps is stuck, rather than complete or limited by the allowed actions."""
        if len(self._moves.bounds.actions) < len(ACTIONS):
            return False
        decisions, isr = self._moves.held.items[state[len(self._brokers)]]
        if not decisions or decisions[-1].leader == NO_NODE:
            return False
        leader = decisions[-1].leader
        lead: ReplicaState = self._moves.locals.items[state[leader]]
        everyone = tuple(self._brokers)
        if lead.hw != len(lead.log) or isr != everyone:
            return True
        replicas = [self._moves.locals.items[state[broker]] for broker in everyone]
        return any(each.log != lead.log or each.epoch != lead.epoch for each in replicas)


# Symmetry reduction: states that differ only in broker numbers count once.
#
# Each replica gets a signature that does not depend on broker numbers; replicas are sorted by signature, and only among
# equal ones all orders are tried, of which the least one represents all.


Renaming = tuple[int, ...]
"""New number of each broker."""


class SymmetryReduction:
    """Finder of the representative of all states that differ only in broker numbers."""

    def __init__(self, moves: Transitions) -> None:
        self._moves = moves
        self._brokers = moves.bounds.replicas
        self._signature_ids: Interner[object] = Interner()
        self._own: dict[tuple[int, int], int] = {}
        self._in_held: dict[tuple[int, int], int] = {}
        self._locals: dict[tuple[Renaming, int], int] = {}
        self._held: dict[tuple[Renaming, int], int] = {}
        self._orders: dict[tuple[int, ...], tuple[Renaming, ...]] = {}

    def stands_for(self, state: State) -> State:
        """Return the representative of a state."""
        held = state[self._brokers]
        own, in_held = self._own, self._in_held
        signatures = []
        for broker in range(self._brokers):
            number = state[broker]
            local_signature, controller_signature = own.get((broker, number)), in_held.get((broker, held))
            if local_signature is None:
                local_signature = own[broker, number] = self._signature_ids.of(
                    _signature(broker, self._moves.locals.items[number])
                )
            if controller_signature is None:
                controller_signature = in_held[broker, held] = self._signature_ids.of(
                    _controller_signature(broker, self._moves.held.items[held])
                )
            signatures.append((local_signature << 32) + controller_signature)
        key = tuple(signatures)
        orders = self._orders.get(key)
        if orders is None:
            orders = self._orders[key] = tuple(_orders(key))
        if len(orders) == 1:
            return self._renamed(state, orders[0])
        return min([self._renamed(state, order) for order in orders])

    def _renamed(self, state: State, new: Renaming) -> State:
        brokers = self._brokers
        renamed = list(state)
        for broker in range(brokers):
            key = (new, state[broker])
            number = self._locals.get(key)
            if number is None:
                local = _renamed_local(self._moves.locals.items[key[1]], new)
                number = self._locals[key] = self._moves.locals.of(local)
            renamed[new[broker]] = number
        key = (new, state[brokers])
        number = self._held.get(key)
        if number is None:
            number = self._held[key] = self._moves.held.of(_renamed_held(self._moves.held.items[key[1]], new))
        renamed[brokers] = number
        return tuple(renamed)


def _signature(broker: int, local: ReplicaState) -> object:
    leads = local.leader == broker
    role = (local.leader < 0, leads, len(local.isr), broker in local.isr, local.start)
    return (local.log, local.hw, local.epoch, role, local.epochs)


def _controller_signature(broker: int, held: ControllerState) -> object:
    decisions, isr = held
    return (tuple([(each.leader == broker, broker in each.isr) for each in decisions]), broker in isr)


def _orders(signs: tuple[int, ...]) -> list[Renaming]:
    """Return every renaming that sorts brokers by signature."""
    ordered = sorted(range(len(signs)), key=signs.__getitem__)
    ties = [list(group) for _signature, group in groupby(ordered, key=signs.__getitem__)]
    renamings = []
    for choice in product(*(permutations(tie) for tie in ties)):
        new = [0] * len(signs)
        for position, broker in enumerate([each for tie in choice for each in tie]):
            new[broker] = position
        renamings.append(tuple(new))
    return renamings


def _names(brokers: tuple[int, ...], new: Renaming) -> tuple[int, ...]:
    return tuple(sorted(new[broker] for broker in brokers))


def _renamed_local(local: ReplicaState, new: Renaming) -> ReplicaState:
    leader = local.leader if local.leader < 0 else new[local.leader]
    return local._replace(leader=leader, isr=_names(local.isr, new))


def _renamed_held(held: ControllerState, new: Renaming) -> ControllerState:
    decisions, isr = held
    renamed = tuple(
        LeaderDecision(each.leader if each.leader < 0 else new[each.leader], _names(each.isr, new))
        for each in decisions
    )
    return (renamed, _names(isr, new))


Key = State | int


@dataclass(slots=True)
class Counterexample:
    """A violated property with a shortest path to it."""

    states: int
    """Number of distinct states that violate it."""
    steps: tuple[Step, ...]
    """A shortest path to the first of them."""
    at: State


@dataclass(slots=True)
class SearchResult:
    """Result of a search: numbers of states, depth, and violated properties."""

    distinct: int = 0
    generated: int = 0
    """Number of states generated, including repeated ones."""
    depth: int = 0
    """Number of steps to the farthest state."""
    frontier: int = 0
    """Number of unexplored states at an early end; 0 if everything was explored."""
    pairs: int = 0
    """With fingerprints: pairs of states, each mistaken for one state with a probability of 1 in 2 to the 64th."""
    violated: dict[str, Counterexample] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all states within the bounds were explored."""
        return not self.frontier


Progress = Callable[[SearchResult], bool]
"""Called after each depth; False ends the search."""


class StateSpaceSearch:
    """State-space search of one partition within bounds."""

    def __init__(self, moves: Transitions, *, symmetry: bool = False, fingerprints: bool = False) -> None:
        """Prepare a search; ``fingerprints``: 64 bits represent a state, which saves memory and might confuse two."""
        self._moves = moves
        self._symmetry = SymmetryReduction(moves) if symmetry else None
        self._fingerprints = fingerprints
        self._properties = Properties(moves)
        self._before: dict[Key, Key | None] = {}

    def _stands_for(self, state: State) -> State:
        return state if self._symmetry is None else self._symmetry.stands_for(state)

    def _key(self, state: State) -> Key:
        if not self._fingerprints:
            return state
        return int.from_bytes(blake2b(array("q", state).tobytes(), digest_size=8).digest(), "big")

    def run(
        self, *, max_states: int = 0, stop_on_first: bool = False, progress: Progress | None = None
    ) -> SearchResult:
        """Search until no state is new, ``max_states`` states are known (0: no limit), or a property is violated."""
        explored = SearchResult()
        start = self._stands_for(self._moves.start())
        self._before = {self._key(start): None}
        front = [start]
        self._check(start, explored)
        while front:
            if (max_states and len(self._before) >= max_states) or (stop_on_first and explored.violated):
                break
            front = self._expand(front, explored)
            explored.depth += bool(front)
            explored.distinct = len(self._before)
            explored.frontier = len(front)
            if progress is not None and not progress(explored):
                break
        if self._fingerprints:
            explored.pairs = explored.distinct * (explored.distinct - 1) // 2
        return explored

    def _expand(self, front: list[State], explored: SearchResult) -> list[State]:
        """Return the new states one step after every state of the front."""
        before, after, symmetry = self._before, self._moves.after, self._symmetry
        plain = symmetry is None and not self._fingerprints
        successors: list[State] = []
        for state in front:
            key = state if plain else self._key(state)
            steps = after(state)
            explored.generated += len(steps)
            if not steps and self._properties.stuck(state):
                self._note(STUCK, state, explored)
            for _step, successor in steps:
                new = successor if symmetry is None else symmetry.stands_for(successor)
                new_key = new if plain else self._key(new)
                if new_key not in before:
                    before[new_key] = key
                    successors.append(new)
                    self._check(new, explored)
        return successors

    def _check(self, state: State, explored: SearchResult) -> None:
        for name in self._properties.broken(state):
            self._note(name, state, explored)

    def _note(self, name: str, state: State, explored: SearchResult) -> None:
        violation = explored.violated.get(name)
        if violation is None:
            steps, at = self._way_to(state)
            explored.violated[name] = Counterexample(1, steps, at)
        else:
            violation.states += 1

    def _way_to(self, state: State) -> tuple[tuple[Step, ...], State]:
        """Return the steps to a state and the state itself, with the broker numbers of the start."""
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
