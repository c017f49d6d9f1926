"""Rules of reassignments (KIP-455), requested elections (KIP-460) and the leader rebalance. Pure.

A reassignment is defined the same in both modes; the changes made here are KRaft's, because a ZooKeeper-mode controller
needs several writes, one after the other (``zookeeper/reassignment.py``).

During a reassignment the replicas are those of the target, followed by those to be removed; ``adding`` are the replicas
that are new, ``removing`` those that are dropped. It is complete when all replicas of the target are in sync.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.controller.rules.kraft_partition_changes import build_change
from cluster_model.controller.rules.partition_change import (
    Brokers,
    ElectionMode,
    PartitionChange,
    offline_election,
    preferred_election,
)
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile


def in_progress(state: PartitionState) -> bool:
    """Whether the partition is being reassigned."""
    return bool(state.adding or state.removing)


def original(state: PartitionState) -> tuple[int, ...]:
    """Replicas before the reassignment, to which a cancelled one returns."""
    return tuple(broker for broker in state.replicas if broker not in state.adding)


def target(state: PartitionState) -> tuple[int, ...]:
    """Replicas after the reassignment."""
    return tuple(broker for broker in state.replicas if broker not in state.removing)


def check_target(new: tuple[int, ...], is_known: Brokers) -> KafkaError:
    """Validate requested replicas: INVALID_REPLICA_ASSIGNMENT for none, a duplicate, or an unknown broker."""
    wrong = not new or len(set(new)) != len(new) or not all(is_known(broker) for broker in new)
    return KafkaError.INVALID_REPLICA_ASSIGNMENT if wrong else KafkaError.NONE


def begin_kraft(
    state: PartitionState,
    new: tuple[int, ...],
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | None:
    """Start a reassignment; complete it if all of ``new`` is in sync already. None if it would change nothing.

    It replaces a reassignment in progress: a replica that was being added and is no longer wanted is removed.
    """
    return build_change(
        state,
        target_replicas=new + tuple(sorted(broker for broker in state.replicas if broker not in new)),
        target_adding=tuple(sorted(broker for broker in new if broker not in original(state))),
        target_removing=tuple(sorted(broker for broker in state.replicas if broker not in new)),
        active=active, profile=profile, topic=topic, by=by, elr=elr,
    )  # fmt: skip


def cancel_kraft(
    state: PartitionState,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | KafkaError:
    """Return to the replicas before the reassignment (``PartitionReassignmentRevert``), or why not.

    If none of them is in sync, the first one becomes leader uncleanly, where the topic allows it.
    """
    if not in_progress(state):
        return KafkaError.NO_REASSIGNMENT_IN_PROGRESS
    replicas = original(state)
    isr = tuple(broker for broker in state.isr if broker not in state.adding)
    clean = bool(isr)
    if not replicas or (not clean and not topic.unclean):
        return KafkaError.INVALID_REPLICA_ASSIGNMENT
    change = build_change(
        state, target_isr=isr or replicas[:1], target_replicas=replicas, target_adding=(), target_removing=(),
        election=ElectionMode.ONLINE if clean else ElectionMode.UNCLEAN, active=active, profile=profile, topic=topic,
        by=by,
        elr=elr,
    )  # fmt: skip
    if change is None:
        return KafkaError.NONE
    return change._replace(clean=change.clean and clean)


# Elections that an administrator requests (ELECT_LEADERS, KIP-460), in both modes. Pure.


def elect_requested_kraft(
    state: PartitionState,
    *,
    unclean: bool,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | KafkaError:
    """Elect the preferred replica, or for a leaderless partition any active one if ``unclean``; or why not."""
    if not _is_needed(state, unclean=unclean):
        return KafkaError.ELECTION_NOT_NEEDED
    election = ElectionMode.UNCLEAN if unclean else ElectionMode.PREFERRED
    change = build_change(state, election=election, active=active, profile=profile, topic=topic, by=by, elr=elr)
    return change if change is not None and change.state.leader != NO_LEADER else _no_candidate(unclean=unclean)


def elect_requested_zk(
    state: PartitionState, *, unclean: bool, live: Brokers, profile: Profile, topic: TopicConfig, by: str
) -> PartitionChange | KafkaError:
    """Elect as :func:`elect_requested_kraft` in ZooKeeper mode, where the leader may also be one that has just died."""
    if not _is_needed(state, unclean=unclean) and (not unclean or live(state.leader)):
        return KafkaError.ELECTION_NOT_NEEDED
    if unclean:
        change = offline_election(state, live=live, profile=profile, topic=topic, by=by, unclean=True)
    else:
        change = preferred_election(state, live=live, by=by)
    return _no_candidate(unclean=unclean) if change is None else change


def _is_needed(state: PartitionState, *, unclean: bool) -> bool:
    return state.leader == NO_LEADER if unclean else state.leader != state.replicas[0]


def _no_candidate(*, unclean: bool) -> KafkaError:
    return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE


# The leader rebalance to preferred replicas (``auto.leader.rebalance.enable``). Pure.


MOST_ELECTIONS: Final = 1_000
"""Partitions that a KRaft controller moves per round; the next round follows at once if there are more."""
PERCENTAGE: Final = 10
"""Default of ``leader.imbalance.per.broker.percentage``; a KRaft controller ignores it."""


def preferred(state: PartitionState) -> int:
    """The preferred leader: the first replica."""
    return state.replicas[0]


def imbalanced_kraft(states: Iterable[PartitionState], *, active: Brokers, limit: int = MOST_ELECTIONS) -> list[str]:
    """Partitions whose preferred replica is to be elected, at most ``limit``.

    ``ReplicationControlManager.maybeBalancePartitionLeaders``; there is no lower limit. With exactly ``limit`` of them
    there may be more.
    """
    partitions: list[str] = []
    for state in states:
        if len(partitions) == limit:
            break
        if _can_elect_preferred(state, active):
            partitions.append(state.partition)
    return partitions


def imbalanced_zk(states: Iterable[PartitionState], *, live: Brokers, percentage: int = PERCENTAGE) -> list[str]:
    """Partitions whose preferred replica is to be elected: those of brokers that lead too few of their own.

    ``KafkaController.checkAndTriggerAutoLeaderRebalance``: other brokers must lead more than ``percentage`` of the
    partitions whose preferred replica is a given live broker. Partitions under reassignment count, but are not changed.
    """
    by_broker: dict[int, list[PartitionState]] = {}
    for state in states:
        by_broker.setdefault(preferred(state), []).append(state)
    partitions: list[str] = []
    for broker in sorted(by_broker):
        mine = by_broker[broker]
        displaced = [state for state in mine if state.leader != broker]
        if live(broker) and len(displaced) * 100 > percentage * len(mine):
            partitions.extend(
                state.partition
                for state in displaced
                if _can_elect_preferred(state, live) and not state.adding and not state.removing
            )
    return partitions


def _can_elect_preferred(state: PartitionState, live: Brokers) -> bool:
    first = preferred(state)
    return state.leader != first and first in state.isr and live(first)
