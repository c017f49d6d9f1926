"""Pure rules of reassignments (KIP-455), requested elections (KIP-460) and the leader rebalance.

What a move is, is the same in both modes; the changes made here are KRaft's, for a ZooKeeper-mode controller takes
several writes, each waited for (``zookeeper/reassignment.py``).

While it moves, its replicas are the target's, then those that leave; ``adding`` are those that it has not had, and
``removing`` those that it will not have. It ends when the whole target is in sync.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.controller.rules.kraft_partition_changes import build
from cluster_model.controller.rules.partition_change import (
    Brokers,
    ElectionMode,
    PartitionChange,
    offline_election,
    preferred_election,
)
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile


def in_progress(state: PartitionState) -> bool:
    """Whether the partition is being moved."""
    return bool(state.adding or state.removing)


def original(state: PartitionState) -> tuple[int, ...]:
    """The replicas that the partition had before: where a cancelled reassignment goes back to."""
    return tuple(broker for broker in state.replicas if broker not in state.adding)


def target(state: PartitionState) -> tuple[int, ...]:
    """The replicas that it is to have."""
    return tuple(broker for broker in state.replicas if broker not in state.removing)


def check_target(new: tuple[int, ...], known: Brokers) -> KafkaError:
    """Whether replicas can be asked for: INVALID_REPLICA_ASSIGNMENT for none, twice the same, or an unknown broker."""
    wrong = not new or len(set(new)) != len(new) or not all(known(broker) for broker in new)
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
    """Phase A; the whole of it where all of ``new`` is in sync already. None if it would change nothing.

    A reassignment under way gives way to it: whoever was being added and is not wanted now leaves like any other.
    """
    return build(
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
    """Back to the replicas it had (``PartitionReassignmentRevert``), or why not.

    If none of them is in sync the first one takes over uncleanly, where the topic allows it.
    """
    if not in_progress(state):
        return KafkaError.NO_REASSIGNMENT_IN_PROGRESS
    replicas = original(state)
    isr = tuple(broker for broker in state.isr if broker not in state.adding)
    clean = bool(isr)
    if not replicas or (not clean and not topic.unclean):
        return KafkaError.INVALID_REPLICA_ASSIGNMENT
    change = build(
        state, target_isr=isr or replicas[:1], target_replicas=replicas, target_adding=(), target_removing=(),
        election=ElectionMode.ONLINE if clean else ElectionMode.UNCLEAN, active=active, profile=profile, topic=topic,
        by=by,
        elr=elr,
    )  # fmt: skip
    if change is None:
        return KafkaError.NONE
    return change._replace(clean=change.clean and clean)


# Elections that an administrator asks for (ELECT_LEADERS, KIP-460), in both modes. Pure.


def asked_kraft(
    state: PartitionState,
    *,
    unclean: bool,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | KafkaError:
    """An election of the preferred replica, or of any active one for a partition without a leader; or why not."""
    if not _is_needed(state, unclean=unclean):
        return KafkaError.ELECTION_NOT_NEEDED
    election = ElectionMode.UNCLEAN if unclean else ElectionMode.PREFERRED
    change = build(state, election=election, active=active, profile=profile, topic=topic, by=by, elr=elr)
    return change if change is not None and change.state.leader != NOBODY else _nobody(unclean=unclean)


def asked_zk(
    state: PartitionState, *, unclean: bool, live: Brokers, profile: Profile, topic: TopicConfig, by: str
) -> PartitionChange | KafkaError:
    """The same in ZooKeeper mode, where the leader may also be one that has just died."""
    if not _is_needed(state, unclean=unclean) and (not unclean or live(state.leader)):
        return KafkaError.ELECTION_NOT_NEEDED
    if unclean:
        change = offline_election(state, live=live, profile=profile, topic=topic, by=by, unclean=True)
    else:
        change = preferred_election(state, live=live, by=by)
    return _nobody(unclean=unclean) if change is None else change


def _is_needed(state: PartitionState, *, unclean: bool) -> bool:
    return state.leader == NOBODY if unclean else state.leader != state.replicas[0]


def _nobody(*, unclean: bool) -> KafkaError:
    return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE


# The leader rebalance to preferred replicas (``auto.leader.rebalance.enable``). Pure.


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
