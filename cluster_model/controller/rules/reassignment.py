"""Moving a partition to other brokers (KIP-455, 2.4 and later), in both modes. Pure.

While it moves, its replicas are the target's, then those that leave; ``adding`` are those that it has not had, and
``removing`` those that it will not have. It ends when the whole target is in sync.
"""

from cluster_model.config import TopicConfig
from cluster_model.controller.rules.change import Brokers, Change, Election
from cluster_model.controller.rules.kraft_changes import build
from cluster_model.controller.rules.zk_changes import reassign_election, remove_from_isr, same_leader
from cluster_model.errors import KafkaError
from cluster_model.messages import PartitionState
from cluster_model.profiles import Profile


def in_progress(state: PartitionState) -> bool:
    """Whether the partition is being moved."""
    return bool(state.adding or state.removing)


def original(state: PartitionState) -> tuple[int, ...]:
    """The replicas that the partition had before: where a cancelled reassignment goes back to."""
    return tuple(broker for broker in state.replicas if broker not in state.adding)


def target(state: PartitionState) -> tuple[int, ...]:
    """The replicas that it is to have."""
    return tuple(broker for broker in state.replicas if broker not in state.removing)


def effective_replication_factor(state: PartitionState) -> int:
    """Replicas that count when a partition is called under-replicated or at its minimum: not those still to come."""
    return len(original(state))


def check_target(new: tuple[int, ...], known: Brokers) -> KafkaError:
    """Whether replicas can be asked for: INVALID_REPLICA_ASSIGNMENT for none, twice the same, or an unknown broker."""
    wrong = not new or len(set(new)) != len(new) or not all(known(broker) for broker in new)
    return KafkaError.INVALID_REPLICA_ASSIGNMENT if wrong else KafkaError.NONE


# -- KRaft ------------------------------------------------------------------------------------------------------------


def begin_kraft(
    state: PartitionState,
    new: tuple[int, ...],
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> Change | None:
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
) -> Change | KafkaError:
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
        election=Election.ONLINE if clean else Election.UNCLEAN, active=active, profile=profile, topic=topic, by=by,
        elr=elr,
    )  # fmt: skip
    if change is None:
        return KafkaError.NONE
    return change._replace(clean=change.clean and clean)


# -- ZooKeeper --------------------------------------------------------------------------------------------------------


def begin_zk(
    state: PartitionState, new: tuple[int, ...], *, live: Brokers, profile: Profile, topic: TopicConfig, by: str
) -> tuple[Change, ...]:
    """Phase A, the writes in order: last the assignment, with a new leader epoch that makes every replica hear of it.

    Whoever a reassignment under way was adding and this one does not want leaves first. Empty if nobody else can lead.
    """
    old = original(state)
    replicas = new + tuple(broker for broker in old if broker not in new)
    left = _without_others(state, replicas, live=live, profile=profile, topic=topic, by=by)
    if left is None:
        return ()
    stays = left[-1].state if left else state
    adding = tuple(broker for broker in new if broker not in old)
    removing = tuple(broker for broker in old if broker not in new)
    return (*left, same_leader(stays._replace(replicas=replicas, adding=adding, removing=removing), by=by))


def is_complete_zk(state: PartitionState) -> bool:
    """Whether every replica of the target is in the ISR, so that :func:`complete_zk` may end the reassignment."""
    return in_progress(state) and all(broker in state.isr for broker in target(state))


def complete_zk(
    state: PartitionState, *, live: Brokers, profile: Profile, topic: TopicConfig, by: str
) -> tuple[Change, ...]:
    """Phase B, the writes in order, of which the last, the assignment, raises no epoch.

    First a leader out of the target, or a new epoch for the one that it has; then those who leave go out of the ISR,
    one by one. Empty if nobody of the target can lead: then the partition stays as it is.
    """
    wanted = target(state)
    if state.leader in wanted and live(state.leader):
        renewed = same_leader(state, by=by)
        left = _without_others(renewed.state, wanted, live=live, profile=profile, topic=topic, by=by)
        changes = None if left is None else [renewed, *left]
    else:
        changes = _without_others(state, wanted, live=live, profile=profile, topic=topic, by=by)
    if not changes:
        return ()
    return (*changes, Change(changes[-1].state._replace(replicas=wanted, adding=(), removing=()), by))


def cancel_zk(
    state: PartitionState, *, live: Brokers, profile: Profile, topic: TopicConfig, by: str
) -> tuple[Change, ...] | KafkaError:
    """Back to the replicas it had: the original ones become the target; who was being added leaves.

    INVALID_REPLICA_ASSIGNMENT while none of the original ones could lead.
    """
    if not in_progress(state):
        return KafkaError.NO_REASSIGNMENT_IN_PROGRESS
    turned = state._replace(replicas=original(state) + state.adding, adding=(), removing=state.adding)
    return complete_zk(turned, live=live, profile=profile, topic=topic, by=by) or KafkaError.INVALID_REPLICA_ASSIGNMENT


def _without_others(
    state: PartitionState,
    wanted: tuple[int, ...],
    *,
    live: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
) -> list[Change] | None:
    """Lead and ISR go to ``wanted``: an election if the leader is not of them or dead, then one write per leaver."""
    changes: list[Change] = []
    if state.leader not in wanted or not live(state.leader):
        elected = reassign_election(state, wanted, live=live, by=by)
        if elected is None:
            return None
        changes.append(elected)
    for broker in state.isr:
        if broker not in wanted:
            now = changes[-1].state if changes else state
            gone = remove_from_isr(now, broker, profile=profile, topic=topic, by=by)
            if gone is not None:
                changes.append(gone)
    return changes
