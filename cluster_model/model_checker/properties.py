"""What must hold in every state. The names of the first two are those of Kafka's TLA+ modules."""

from cluster_model.model_checker.shape import ACTIONS, NOBODY, Local
from cluster_model.model_checker.transitions import Moves, State

STRONG_ISR = "strong-isr"
"""What lies below the HW of whoever takes itself for the leader is in the log of every member of the true ISR.

Where it breaks, a clean election can lose what was acknowledged with acks=all."""

WEAK_ISR = "weak-isr"
"""The same for the members of the ISR that such a leader itself knows of."""

LOG_MATCHING = "log-matching"
"""A follower that has made its log agree with its leader's, in that epoch, has nothing that differs from it."""

STUCK = "stuck"
"""Nothing more can happen, with a leader in place, and yet the replicas do not agree."""

PROPERTIES = (STRONG_ISR, WEAK_ISR, LOG_MATCHING, STUCK)


class Properties:
    """Finds what a state breaks. Two replicas at a time are compared once."""

    def __init__(self, moves: Moves) -> None:
        self._moves = moves
        self._brokers = range(moves.bounds.replicas)
        self._below: dict[tuple[int, int], bool] = {}
        self._prefix: dict[tuple[int, int], bool] = {}

    def broken(self, state: State) -> list[str]:
        """The names of what does not hold."""
        things = self._moves.locals.things
        found: list[str] = []
        for broker in self._brokers:
            own = state[broker]
            local = things[own]
            if local.leader == broker:
                if local.hw:
                    true_isr = self._moves.held.things[state[len(self._brokers)]][1]
                    self._members(state, own, true_isr, STRONG_ISR, found)
                    self._members(state, own, local.isr, WEAK_ISR, found)
            elif local.leader != NOBODY:
                its = state[local.leader]
                leader = things[its]
                follows = leader.leader == local.leader and leader.epoch == local.epoch
                if follows and not self._agree(own, its) and LOG_MATCHING not in found:
                    found.append(LOG_MATCHING)
        return found

    def _members(self, state: State, own: int, isr: tuple[int, ...], name: str, found: list[str]) -> None:
        for member in isr:
            its = state[member]
            same = self._below.get((own, its))
            if same is None:
                local, other = self._moves.locals.things[own], self._moves.locals.things[its]
                same = self._below[own, its] = local.log[: local.hw] == other.log[: local.hw]
            if not same and name not in found:
                found.append(name)

    def _agree(self, own: int, its: int) -> bool:
        same = self._prefix.get((own, its))
        if same is None:
            local, leader = self._moves.locals.things[own].log, self._moves.locals.things[its].log
            both = min(len(local), len(leader))
            same = self._prefix[own, its] = local[:both] == leader[:both]
        return same

    def stuck(self, state: State) -> bool:
        """Of a state in which nothing more can happen: whether that is not because all is done, or not allowed."""
        if len(self._moves.bounds.actions) < len(ACTIONS):
            return False
        decisions, isr = self._moves.held.things[state[len(self._brokers)]]
        if not decisions or decisions[-1].leader == NOBODY:
            return False
        leader = decisions[-1].leader
        lead: Local = self._moves.locals.things[state[leader]]
        everyone = tuple(self._brokers)
        if lead.hw != len(lead.log) or isr != everyone:
            return True
        replicas = [self._moves.locals.things[state[broker]] for broker in everyone]
        return any(each.log != lead.log or each.epoch != lead.epoch for each in replicas)
