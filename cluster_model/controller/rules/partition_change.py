"""Decisions about a partition: what all rules return, and how a ZooKeeper-mode controller decides. Pure."""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile


class BrokerControlState(Enum):
    """A broker as its controller has it."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"
    """It may end its process."""


def next_state(
    now: BrokerControlState,
    *,
    want_fence: bool,
    want_shut_down: bool,
    metadata_offset: int,
    registration_offset: int,
    leads: bool,
    shutdown_offset: int = -1,
    lowest_active_offset: int | None = None,
) -> BrokerControlState:
    """The state that a heartbeat leads to.

    ``metadata_offset`` is how far the broker has the metadata log, ``registration_offset`` where its registration is;
    ``leads`` whether it leads any partition. A shutdown that began at ``shutdown_offset`` ends once every active broker
    has got there: ``lowest_active_offset`` is where the last of them is, None without any.
    """
    if now is BrokerControlState.FENCED:
        if want_shut_down:
            return BrokerControlState.SHUTDOWN_NOW
        caught_up = not want_fence and metadata_offset >= registration_offset
        return BrokerControlState.UNFENCED if caught_up else BrokerControlState.FENCED
    if now is BrokerControlState.UNFENCED:
        if want_fence:
            return BrokerControlState.SHUTDOWN_NOW if want_shut_down else BrokerControlState.FENCED
        if want_shut_down:
            return BrokerControlState.CONTROLLED_SHUTDOWN if leads else BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.UNFENCED
    if now is BrokerControlState.CONTROLLED_SHUTDOWN:
        told = lowest_active_offset is None or shutdown_offset <= lowest_active_offset
        return BrokerControlState.CONTROLLED_SHUTDOWN if leads or not told else BrokerControlState.SHUTDOWN_NOW
    return BrokerControlState.SHUTDOWN_NOW


# A decision about a partition, and the kinds of election. What all rules return.


LEADER: Final = "leader"
"""``by`` of a change that the partition's own leader proposed (AlterPartition, or its write to ZooKeeper)."""

LAST_KNOWN: Final = "the last known leader"
"""How ``by`` ends where nobody eligible was left, and who had led last was elected (KIP-966)."""

Brokers = Callable[[int], bool]
"""Whether a broker is one of those meant: live, active, shutting down."""


class ElectionMode(Enum):
    """How a leader is looked for (``PartitionChangeBuilder.Election``)."""

    ONLINE = "online"
    """Keep the leader if it may lead, else anyone who may; unclean where the topic allows it."""
    PREFERRED = "preferred"
    """The first replica, if it may lead."""
    UNCLEAN = "unclean"
    """As ONLINE, and unclean whatever the topic says."""


class PartitionChange(NamedTuple):
    """The state that a partition is to have next."""

    state: PartitionState
    by: str
    """Why: :data:`LEADER`, or words for people."""
    clean: bool = True
    """False if it gives the lead to a replica that may lack committed records."""


def created(partition: str, replicas: tuple[int, ...], live: Brokers) -> PartitionState:
    """A new partition: every live replica is in sync, the first of them leads, epochs 0; nobody leads if none lives.

    The same in both modes, but KRaft refuses a partition without a live replica (``PartitionStateMachine``,
    ``ReplicationControlManager.createTopic``).
    """
    isr = tuple(broker for broker in replicas if live(broker))
    return PartitionState(partition, isr[0] if isr else NOBODY, 0, isr, 0, replicas)


# How a ZooKeeper-mode controller decides (``PartitionStateMachine``, ``ReplicaStateMachine``, ``ElectionMode``).
#
# The order of the assignment decides, never that of the ISR, and never the longest log. Each of these changes is one
# write of the partition's state node, whose version is the partition epoch, and each raises the leader epoch, even if
# only a follower died.


def _written(
    state: PartitionState, leader: int, isr: tuple[int, ...], by: str, *, clean: bool = True, recovering: bool = False
) -> PartitionChange:
    written = state._replace(
        leader=leader,
        isr=isr,
        leader_epoch=state.leader_epoch + 1,
        partition_epoch=state.partition_epoch + 1,
        recovering=recovering or state.recovering,
    )
    return PartitionChange(written, by, clean)


def offline_election(
    state: PartitionState, *, live: Brokers, profile: Profile, topic: TopicConfig, by: str, unclean: bool = False
) -> PartitionChange | None:
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


def reassign_election(
    state: PartitionState, target: tuple[int, ...], *, live: Brokers, by: str
) -> PartitionChange | None:
    """The first replica of a reassignment's target that is live and in the ISR; the ISR stays as it is."""
    leader = _first(target, state.isr, live)
    return None if leader == NOBODY else _written(state, leader, state.isr, by)


def preferred_election(state: PartitionState, *, live: Brokers, by: str) -> PartitionChange | None:
    """The first replica of the assignment if it is live and in the ISR and does not lead yet."""
    leader = _first(state.replicas[:1], state.isr, live)
    return None if leader in (NOBODY, state.leader) else _written(state, leader, state.isr, by)


def controlled_shutdown_election(
    state: PartitionState, *, live: Brokers, stopping: Brokers, by: str
) -> PartitionChange | None:
    """The leader is shutting down: the first replica in the ISR that is not takes over, and the ISR is without those.

    None if there is no such replica: the leader keeps the partition until it is gone. ``live`` counts the brokers that
    are shutting down, too.
    """
    isr = tuple(broker for broker in state.isr if not stopping(broker))
    leader = _first(state.replicas, isr, live)
    return None if leader == NOBODY else _written(state, leader, isr, by)


def remove_from_isr(
    state: PartitionState, broker: int, *, profile: Profile, topic: TopicConfig, by: str
) -> PartitionChange | None:
    """A replica is offline: it leaves the ISR, and the lead if it had it (``removeReplicasFromIsr``).

    The last member stays; up to 1.0 only where unclean election is off. Written even if that leaves all as it was.
    """
    if broker not in state.isr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    if not isr and (profile.keeps_last_isr or not topic.unclean):
        isr = state.isr
    return _written(state, NOBODY if state.leader == broker else state.leader, isr, by)


def same_leader(state: PartitionState, *, by: str) -> PartitionChange:
    """A new leader epoch and nothing else, so that every replica hears of a new assignment (``updateLeaderEpoch``)."""
    return _written(state, state.leader, state.isr, by)


def _first(order: tuple[int, ...], isr: tuple[int, ...], live: Brokers) -> int:
    return next((broker for broker in order if broker in isr and live(broker)), NOBODY)
