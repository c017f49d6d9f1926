"""The cluster state that liveness properties examine, and the pending obligations that they find."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replication_quota import names_replica
from cluster_model.broker.partition.partition import PartitionLeaderState, Replica
from cluster_model.checker.liveness.deadlines import Disturbances, LivenessDeadlines
from cluster_model.controller.cluster_parts import ControlPlane
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.messages import NO_LEADER, PartitionState


@dataclass(slots=True)
class LivenessContext:
    """Read-only view of one cluster for the liveness properties."""

    cluster_state: ClusterState
    plane: ControlPlane
    brokers: Mapping[int, Broker]
    disturbances: Disturbances
    bounds: LivenessDeadlines
    voters: tuple[int, ...]
    """KRaft voters, or servers of the ZooKeeper ensemble."""
    imbalance_percentage: int = 0
    """Share of a broker's partitions that others may lead before a ZooKeeper-mode controller rebalances, in percent."""
    now: int = 0
    active: int = NO_LEADER
    """The active controller, if it runs."""
    controller: int = NO_LEADER
    """The active controller, if it can commit: with an undisturbed majority of the quorum or the ensemble."""
    majorities: tuple[tuple[int, ...], ...] = ()
    """Majorities of running, connected and undisturbed voters, the largest first."""
    hw_moved: dict[str, int] = field(default_factory=dict)
    """Partition → when a leader's high watermark last moved."""
    plane_nodes: tuple[int, ...] = ()
    """The controller, its majority, and former controllers whose responses may still be awaited."""

    def update(self, now: int) -> None:
        """Update the state that all properties use to time ``now``, in virtual microseconds."""
        self.now = now
        self.disturbances.update(now)
        active, disturbances, voters = self.plane.active(), self.disturbances, self.voters
        self.active = active if active != NO_LEADER and disturbances.runs(active) else NO_LEADER
        sizes = range(len(voters), len(voters) // 2, -1)
        self.majorities = tuple(
            [some for size in sizes for some in combinations(voters, size) if disturbances.are_undisturbed(some, now)]
        )
        kraft = self.cluster_state.profile.kraft
        own = next((some for some in self.majorities if not kraft or self.active in some), ())
        self.controller = self.active if own else NO_LEADER
        if self.active != NO_LEADER:
            disturbances.note_controller(self.active, now)
        recent = disturbances.recent_controllers(now - self.bounds.silence_us)
        self.plane_nodes = (
            tuple(dict.fromkeys((self.controller, *own, *recent))) if self.controller != NO_LEADER else ()
        )

    def imbalanced(self, broker: int) -> bool:
        """Return whether others lead more of a broker's partitions than a ZooKeeper-mode controller tolerates."""
        own = [record for record in self.cluster_state.records.values() if record.assignment[0] == broker]
        led_by_others = sum(record.leader != broker for record in own)
        return led_by_others * 100 > self.imbalance_percentage * len(own)

    def serves(self, broker: int) -> bool:
        """Return whether a broker runs, is live in the committed state and has registered.

        A broker that restarts before its session ends is live although its new process has not yet registered.
        """
        return (
            self.disturbances.runs(broker) and self.plane.is_live(broker) and self.brokers[broker].control.registered
        )  # fmt: skip

    def eligible(self, broker: int) -> bool:
        """Return whether a broker may lead or be in sync: it serves, and is not shutting down."""
        return self.serves(broker) and not self.plane.is_shutting_down(broker)

    def with_plane(self, *brokers: int) -> tuple[int, ...]:
        """Return the brokers and the nodes that decide about them: the active controller and its majority.

        Former controllers are included for a while: a broker sends no request besides the one in flight, which expires
        only after the socket timeout (``NodeToControllerRequestThread``).
        """
        return tuple(dict.fromkeys([*[broker for broker in brokers if broker != NO_LEADER], *self.plane_nodes]))


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """Current state of one partition, for the liveness properties."""

    state: PartitionState
    """The committed state."""
    replicas: Mapping[int, Replica]
    """Broker → replica, only those of the current topic id."""
    leader: Replica | None
    """Replica of the committed leader, if it serves and acts as leader; else None."""
    min_isr: int
    unclean: bool
    following: list[tuple[int, Replica]]
    """(broker, replica) of the other replicas, in assignment order."""

    @property
    def leadership(self) -> PartitionLeaderState:
        """Leadership of :attr:`leader`, which must not be None."""
        assert self.leader is not None
        assert self.leader.leadership is not None
        return self.leader.leadership

    @property
    def name(self) -> str:
        """Name of the partition, as Kafka prints it."""
        return self.state.partition

    def followers(self) -> list[tuple[int, Replica]]:
        """Return the replicas other than the leader's, in assignment order."""
        return self.following


def partition_context(context: LivenessContext, name: str) -> PartitionContext:
    """Return the current state of a partition."""
    cluster_state = context.cluster_state
    record = cluster_state.records[name]
    state = record.state
    replicas = {
        broker: replica
        for broker, replica in cluster_state.replicas[name].items()
        if replica.topic_id == state.topic_id
    }
    leader = replicas.get(state.leader) if state.leader != NO_LEADER and context.serves(state.leader) else None
    if leader is not None and (leader.leadership is None or leader.leader_epoch != state.leader_epoch):
        leader = None
    following = [
        (broker, replicas[broker]) for broker in state.replicas if broker != state.leader and broker in replicas
    ]
    return PartitionContext(
        state, replicas, leader, cluster_state.effective_min_isr(name), record.topic_config.unclean, following
    )


def throttled(replica: Replica, leader: Replica, brokers: Mapping[int, Broker]) -> bool:
    """Return whether a replication quota may slow a follower down (KIP-73)."""
    by_leader, by_follower = brokers[leader.broker].leader_quota, brokers[replica.broker].follower_quota
    partition = leader.partition
    return (by_leader.active and names_replica(leader.topic.leader_throttled, partition, leader.broker)) or (
        by_follower.active and names_replica(replica.topic.follower_throttled, partition, replica.broker)
    )


def is_blocked(replica: Replica) -> bool:
    """Return whether a follower waits for newer metadata or an intact batch, which no deadline bounds.

    Up to 2.6.0 it also waits for newer metadata if it asks again and again for the end of an epoch without records
    (KAFKA-10706).
    """
    following = replica.following
    if following is None:
        return False
    asks_again = (
        following.truncating and replica.profile.keeps_empty_epochs and replica.log.epochs.ends_empty(replica.log.leo)
    )
    return asks_again or following.failed or following.stuck_at >= 0


def known_quick_restart(context: LivenessContext, replica: Replica) -> str:
    """Return why a follower may know no leader: before KIP-380 a quick restart was not detected; else empty."""
    if (
        context.cluster_state.profile.kraft
        or context.cluster_state.profile.bounce_detected
        or replica.following is not None
    ):
        return ""
    return (
        f"known for {context.cluster_state.profile.version}: a broker that restarts before its session times out "
        "receives no leadership information; fixed by KIP-380 in 2.2"
    )


def known_small_isr(context: LivenessContext, state: PartitionState) -> str:
    """Return why the HW may not follow after a replica has left the ISR: up to 3.0 (KAFKA-13091); else empty.

    It then waits for an append, or for a follower that fetches from a higher offset than before.
    """
    if not context.cluster_state.profile.keeps_hw_at_shrink or len(state.isr) >= len(state.replicas):
        return ""
    return (
        f"known for {context.cluster_state.profile.version}: the high watermark does not advance as the ISR shrinks; "
        "fixed in 3.1 (KAFKA-13091)"
    )


# A pending obligation, as a property finds it; the liveness checker computes its deadline.


class PendingObligation(NamedTuple):
    """A pending obligation: something that has to change. Equal partition, broker and token mean the same one."""

    partition: str
    """Empty if it concerns no single partition."""
    broker: int
    """The broker that has to act, -1 for none in particular."""
    token: Any
    """Identity of the obligation besides partition and broker: an epoch, an offset, a request's number."""
    scope: tuple[int, ...]
    """Nodes whose disturbances, including those of the links between them, restart the deadline."""
    bound_us: int
    grace_us: int
    """Additional time after a silent disturbance, in microseconds: peers notice it only by their own timeouts."""
    text: str
    """Description of the unmet condition, a format string for ``facts``."""
    text_arguments: tuple[Any, ...] = ()
    known: str = ""
    """Why this version does not guarantee it; empty if it does."""
    since_us: int = -1
    """Virtual time from which it is pending, if the state records it, else -1: from when it was first observed. Later
    decisions about the partition restart it."""


class PartitionProperty(Protocol):
    """A liveness property of single partitions."""

    def __call__(self, context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
        """Yield the pending obligations of a partition."""


class ClusterProperty(Protocol):
    """A liveness property of the whole cluster or its brokers."""

    def __call__(self, context: LivenessContext) -> Iterator[PendingObligation]:
        """Yield the pending obligations."""


@dataclass(frozen=True, slots=True)
class LivenessProperty:
    """Definition of one liveness property, as the manual prints it."""

    name: str
    guarantee: str
    bound: str
    """The deadline as text; the numbers are in :mod:`~cluster_model.checker.liveness.deadlines`."""
    disturbed_by: str
    """Nodes and conditions that restart or suspend the deadline."""
    known: str = "none"
    """Versions that do not guarantee it, and the change that fixed it."""
