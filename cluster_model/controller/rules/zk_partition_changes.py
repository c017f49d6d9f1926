"""How a ZooKeeper-mode controller decides (``PartitionStateMachine``, ``ReplicaStateMachine``, ``Election``).

The order of the assignment decides, never that of the ISR, and never the longest log. Each of these changes is one
write of the partition's state node, whose version is the partition epoch, and each raises the leader epoch, even if
only a follower died.
"""

from cluster_model.controller.rules.partition_change import Brokers, Change
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile


def _written(
    state: PartitionState, leader: int, isr: tuple[int, ...], by: str, *, clean: bool = True, recovering: bool = False
) -> Change:
    written = state._replace(
        leader=leader,
        isr=isr,
        leader_epoch=state.leader_epoch + 1,
        partition_epoch=state.partition_epoch + 1,
        recovering=recovering or state.recovering,
    )
    return Change(written, by, clean)


def offline_election(
    state: PartitionState, *, live: Brokers, profile: Profile, topic: TopicConfig, by: str, unclean: bool = False
) -> Change | None:
    """For a partition without a live leader: the first live replica in the ISR, whose live members stay.

    Else, if the topic allows it or the caller insists, the first live replica alone; else None, nothing is written.
    """
    leader = _first(state.replicas, state.isr, live)
    if leader != NOBODY:
        return _written(state, leader, tuple(broker for broker in state.isr if live(broker)), by)
    if topic.unclean or unclean:
        leader = next((broker for broker in state.replicas if live(broker)), NOBODY)
    if leader == NOBODY:
        return None
    return _written(state, leader, (leader,), by, clean=False, recovering=profile.recovery_state)


def reassign_election(state: PartitionState, target: tuple[int, ...], *, live: Brokers, by: str) -> Change | None:
    """The first replica of a reassignment's target that is live and in the ISR; the ISR stays as it is."""
    leader = _first(target, state.isr, live)
    return None if leader == NOBODY else _written(state, leader, state.isr, by)


def preferred_election(state: PartitionState, *, live: Brokers, by: str) -> Change | None:
    """The first replica of the assignment if it is live and in the ISR and does not lead yet."""
    leader = _first(state.replicas[:1], state.isr, live)
    return None if leader in (NOBODY, state.leader) else _written(state, leader, state.isr, by)


def controlled_shutdown_election(state: PartitionState, *, live: Brokers, stopping: Brokers, by: str) -> Change | None:
    """The leader is shutting down: the first replica in the ISR that is not takes over, and the ISR is without those.

    None if there is no such replica: the leader keeps the partition until it is gone. ``live`` counts the brokers that
    are shutting down, too.
    """
    isr = tuple(broker for broker in state.isr if not stopping(broker))
    leader = _first(state.replicas, isr, live)
    return None if leader == NOBODY else _written(state, leader, isr, by)


def remove_from_isr(
    state: PartitionState, broker: int, *, profile: Profile, topic: TopicConfig, by: str
) -> Change | None:
    """A replica is offline: it leaves the ISR, and the lead if it had it (``removeReplicasFromIsr``).

    The last member stays; up to 1.0 only where unclean election is off. Written even if that leaves all as it was.
    """
    if broker not in state.isr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    if not isr and (profile.keeps_last_isr or not topic.unclean):
        isr = state.isr
    return _written(state, NOBODY if state.leader == broker else state.leader, isr, by)


def same_leader(state: PartitionState, *, by: str) -> Change:
    """A new leader epoch and nothing else, so that every replica hears of a new assignment (``updateLeaderEpoch``)."""
    return _written(state, state.leader, state.isr, by)


def _first(order: tuple[int, ...], isr: tuple[int, ...], live: Brokers) -> int:
    return next((broker for broker in order if broker in isr and live(broker)), NOBODY)
