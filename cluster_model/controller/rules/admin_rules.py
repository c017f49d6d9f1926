"""Moving a partition to other brokers (KIP-455, 2.4 and later). Pure.

What a move is, is the same in both modes; the changes made here are KRaft's, for a ZooKeeper-mode controller takes
several writes, each waited for (``zookeeper/reassignment.py``).

While it moves, its replicas are the target's, then those that leave; ``adding`` are those that it has not had, and
``removing`` those that it will not have. It ends when the whole target is in sync.
"""

from cluster_model.controller.rules.change import Brokers, Change, Election
from cluster_model.controller.rules.kraft_partition_changes import build
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState
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
