"""Brokers have numbers, but no broker is special: states that differ by who is who count once.

Each replica gets a signature that says nothing of numbers; replicas are put in the order of their signatures, and only
where these are equal all orders are tried, of which the least one stands for all.
"""

from itertools import groupby, permutations, product

from cluster_model.model_checker.shape import Decision, Held, Local
from cluster_model.model_checker.transitions import Moves, Numbers, State

Renaming = tuple[int, ...]
"""Each broker's new number."""


class Symmetry:
    """Finds the state that stands for all that are the same but for the numbers of brokers."""

    def __init__(self, moves: Moves) -> None:
        self._moves = moves
        self._brokers = moves.bounds.replicas
        self._signs: Numbers[object] = Numbers()
        self._own: dict[tuple[int, int], int] = {}
        self._in_held: dict[tuple[int, int], int] = {}
        self._locals: dict[tuple[Renaming, int], int] = {}
        self._held: dict[tuple[Renaming, int], int] = {}
        self._orders: dict[tuple[int, ...], tuple[Renaming, ...]] = {}

    def stands_for(self, state: State) -> State:
        """The one of all these that stands for them."""
        held = state[self._brokers]
        own, in_held = self._own, self._in_held
        signs = []
        for broker in range(self._brokers):
            number = state[broker]
            one, two = own.get((broker, number)), in_held.get((broker, held))
            if one is None:
                one = own[broker, number] = self._signs.of(_sign(broker, self._moves.locals.things[number]))
            if two is None:
                two = in_held[broker, held] = self._signs.of(_sign_in(broker, self._moves.held.things[held]))
            signs.append((one << 32) + two)
        key = tuple(signs)
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
                local = _renamed_local(self._moves.locals.things[key[1]], new)
                number = self._locals[key] = self._moves.locals.of(local)
            renamed[new[broker]] = number
        key = (new, state[brokers])
        number = self._held.get(key)
        if number is None:
            number = self._held[key] = self._moves.held.of(_renamed_held(self._moves.held.things[key[1]], new))
        renamed[brokers] = number
        return tuple(renamed)


def _sign(broker: int, local: Local) -> object:
    leads = local.leader == broker
    return (local.log, local.hw, local.epoch, local.leader < 0, leads, len(local.isr), broker in local.isr, local.start)


def _sign_in(broker: int, held: Held) -> object:
    decisions, isr = held
    return (tuple([(each.leader == broker, broker in each.isr) for each in decisions]), broker in isr)


def _orders(signs: tuple[int, ...]) -> list[Renaming]:
    """Every renaming that puts brokers in the order of their signatures."""
    ordered = sorted(range(len(signs)), key=signs.__getitem__)
    ties = [list(group) for _sign, group in groupby(ordered, key=signs.__getitem__)]
    found = []
    for choice in product(*(permutations(tie) for tie in ties)):
        new = [0] * len(signs)
        for place, broker in enumerate([each for tie in choice for each in tie]):
            new[broker] = place
        found.append(tuple(new))
    return found


def _names(brokers: tuple[int, ...], new: Renaming) -> tuple[int, ...]:
    return tuple(sorted(new[broker] for broker in brokers))


def _renamed_local(local: Local, new: Renaming) -> Local:
    leader = local.leader if local.leader < 0 else new[local.leader]
    return local._replace(leader=leader, isr=_names(local.isr, new))


def _renamed_held(held: Held, new: Renaming) -> Held:
    decisions, isr = held
    renamed = tuple(
        Decision(each.leader if each.leader < 0 else new[each.leader], _names(each.isr, new)) for each in decisions
    )
    return (renamed, _names(isr, new))
