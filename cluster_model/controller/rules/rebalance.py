"""Which leaderships go back to their preferred replicas, and when (``auto.leader.rebalance.enable``). Pure."""

from collections.abc import Iterable
from typing import Final

from cluster_model.controller.rules.change import Brokers
from cluster_model.protocol.messages import PartitionState

MOST_ELECTIONS: Final = 1_000
"""Partitions that a KRaft controller moves in one round; it goes on at once if there are more."""
PERCENTAGE: Final = 10
"""``leader.imbalance.per.broker.percentage`` by default; KRaft pays no attention to it."""


def preferred(state: PartitionState) -> int:
    """Who should lead: the first replica."""
    return state.replicas[0]


def imbalanced_kraft(states: Iterable[PartitionState], *, active: Brokers, most: int = MOST_ELECTIONS) -> list[str]:
    """Partitions to elect the preferred replica for, however few, at most ``most`` of them.

    ``ReplicationControlManager.maybeBalancePartitionLeaders``. As many as asked for: there may be more.
    """
    found: list[str] = []
    for state in states:
        if len(found) == most:
            break
        if _can_go_back(state, active):
            found.append(state.partition)
    return found


def imbalanced_zk(states: Iterable[PartitionState], *, live: Brokers, percentage: int = PERCENTAGE) -> list[str]:
    """Partitions to elect the preferred replica for: those of brokers that lead too few of what they should.

    ``KafkaController.checkAndTriggerAutoLeaderRebalance``: more than ``percentage`` of the partitions whose first
    replica a live broker is must be led by others. Partitions under reassignment count, but stay as they are.
    """
    by_broker: dict[int, list[PartitionState]] = {}
    for state in states:
        by_broker.setdefault(preferred(state), []).append(state)
    found: list[str] = []
    for broker in sorted(by_broker):
        mine = by_broker[broker]
        astray = [state for state in mine if state.leader != broker]
        if live(broker) and len(astray) * 100 > percentage * len(mine):
            found.extend(
                state.partition
                for state in astray
                if _can_go_back(state, live) and not state.adding and not state.removing
            )
    return found


def _can_go_back(state: PartitionState, live: Brokers) -> bool:
    first = preferred(state)
    return state.leader != first and first in state.isr and live(first)
