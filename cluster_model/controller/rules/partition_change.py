"""The result of a decision about a partition, and the rules of a ZooKeeper-mode controller. Pure."""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile


class BrokerControlState(Enum):
    """State of a broker at its controller (``BrokerControlState``)."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"
    """The process can exit."""


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
    """Return the state that a heartbeat brings a broker to (``BrokerHeartbeatManager.calculateNextBrokerState``).

    ``metadata_offset`` is how far the broker has replayed the metadata log, ``registration_offset`` the offset of its
    registration; ``leads`` is whether it leads any partition. A shutdown that began at ``shutdown_offset`` ends once
    every active broker has replayed that far: ``lowest_active_offset`` is the lowest of them, None without any.
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
        replayed = lowest_active_offset is None or shutdown_offset <= lowest_active_offset
        return BrokerControlState.CONTROLLED_SHUTDOWN if leads or not replayed else BrokerControlState.SHUTDOWN_NOW
    return BrokerControlState.SHUTDOWN_NOW


# The result of every rule, and the kinds of election.


LEADER: Final = "leader"
"""``by`` of a change that the partition's own leader proposed (AlterPartition, or its write to ZooKeeper)."""

LAST_KNOWN: Final = "the last known leader"
"""End of ``by`` when no eligible replica was left and the last known leader was elected (KIP-966)."""

Brokers = Callable[[int], bool]
"""Predicate of a broker id: whether the broker is live, active or shutting down."""


class ElectionMode(Enum):
    """Kind of a leader election (``PartitionChangeBuilder.Election``)."""

    ONLINE = "online"
    """Keep the leader if it is eligible, else elect any eligible replica; unclean where the topic allows it."""
    PREFERRED = "preferred"
    """Elect the first replica if it is eligible."""
    UNCLEAN = "unclean"
    """As ONLINE, and unclean even if the topic does not allow it."""


class PartitionChange(NamedTuple):
    """New state of a partition, and why it changes."""

    state: PartitionState
    by: str
    """Reason: :data:`LEADER`, or a text."""
    clean: bool = True
    """False if the new leader may lack committed records."""


def created(partition: str, replicas: tuple[int, ...], live: Brokers) -> PartitionState:
    """Return the state of a new partition: all live replicas in sync, the first of them leader (if any), epochs 0.

    The same in both modes, but KRaft rejects a partition without a live replica (``PartitionStateMachine``,
    ``ReplicationControlManager.createTopic``).
    """
    isr = tuple(broker for broker in replicas if live(broker))
    return PartitionState(partition, isr[0] if isr else NO_LEADER, 0, isr, 0, replicas)


# Rules of a ZooKeeper-mode controller (``PartitionStateMachine``, ``ReplicaStateMachine``, ``ElectionMode``). The order
# of the assignment decides, never that of the ISR, and never the longest log. Each of these changes is one write of the
# partition's state znode, whose version is the partition epoch, and each raises the leader epoch, even if only a
# follower died.


def _with_leader(
    state: PartitionState, leader: int, isr: tuple[int, ...], by: str, *, clean: bool = True, recovering: bool = False
) -> PartitionChange:
    changed = state._replace(
        leader=leader,
        isr=isr,
        leader_epoch=state.leader_epoch + 1,
        partition_epoch=state.partition_epoch + 1,
        recovering=recovering or state.recovering,
    )
    return PartitionChange(changed, by, clean)


def offline_election(
    state: PartitionState, *, live: Brokers, profile: Profile, topic: TopicConfig, by: str, unclean: bool = False
) -> PartitionChange | None:
    """Elect the first live replica in the ISR for a partition without a live leader; live ISR members remain.

    If there is none and the topic or the caller allows it, elect the first live replica alone; else return None,
    nothing is written.
    """
    leader = _first(state.replicas, state.isr, live)
    if leader != NO_LEADER:
        return _with_leader(state, leader, tuple(broker for broker in state.isr if live(broker)), by)
    if topic.unclean or unclean:
        leader = next((broker for broker in state.replicas if live(broker)), NO_LEADER)
    if leader == NO_LEADER:
        return None
    return _with_leader(state, leader, (leader,), by, clean=False, recovering=profile.recovery_state)


def reassign_election(
    state: PartitionState, target: tuple[int, ...], *, live: Brokers, by: str
) -> PartitionChange | None:
    """Elect the first replica of a reassignment's target that is live and in the ISR; the ISR does not change."""
    leader = _first(target, state.isr, live)
    return None if leader == NO_LEADER else _with_leader(state, leader, state.isr, by)


def preferred_election(state: PartitionState, *, live: Brokers, by: str) -> PartitionChange | None:
    """Elect the first replica of the assignment if it is live, in the ISR and not the leader yet."""
    leader = _first(state.replicas[:1], state.isr, live)
    return None if leader in (NO_LEADER, state.leader) else _with_leader(state, leader, state.isr, by)


def controlled_shutdown_election(
    state: PartitionState, *, live: Brokers, stopping: Brokers, by: str
) -> PartitionChange | None:
    """Elect the first ISR replica that is not shutting down, and remove those that are from the ISR.

    None if there is no such replica: the leader keeps the partition until it exits. ``live`` includes brokers that are
    shutting down.
    """
    isr = tuple(broker for broker in state.isr if not stopping(broker))
    leader = _first(state.replicas, isr, live)
    return None if leader == NO_LEADER else _with_leader(state, leader, isr, by)


def remove_from_isr(
    state: PartitionState, broker: int, *, profile: Profile, topic: TopicConfig, by: str
) -> PartitionChange | None:
    """Remove an offline replica from the ISR, and from the leadership if it leads (``removeReplicasFromIsr``).

    The last member remains; up to 1.0 only where unclean election is off. Written even if nothing else changes.
    """
    if broker not in state.isr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    if not isr and (profile.keeps_last_isr or not topic.unclean):
        isr = state.isr
    return _with_leader(state, NO_LEADER if state.leader == broker else state.leader, isr, by)


def same_leader(state: PartitionState, *, by: str) -> PartitionChange:
    """Raise the leader epoch only, so that every replica receives a new assignment (``updateLeaderEpoch``)."""
    return _with_leader(state, state.leader, state.isr, by)


def _first(order: tuple[int, ...], isr: tuple[int, ...], live: Brokers) -> int:
    return next((broker for broker in order if broker in isr and live(broker)), NO_LEADER)
