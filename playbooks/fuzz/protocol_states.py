"""States of a live cluster that a storm prefers to strike in, under the names that Kafka has for them.

A storm may look at everything, as target selectors do. What is asked here is asked after every event while a strike
waits, so each answer is had from the live objects, without making views of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cluster_model.broker.partition import Leadership
from cluster_model.cluster import Cluster
from cluster_model.controller import CommittedPartition
from cluster_model.kernel import ProcessState
from playbooks.model.playbook import SECOND

NOTHING: Final = "Steady"
"""No other state holds."""

FAILOVER_US: Final = 2 * SECOND
"""For how long a change of the controller counts as under way once there is a new one."""


@dataclass(slots=True)
class StateContext:
    """What is looked at, and the little that has to be remembered for it."""

    cluster: Cluster
    partitions: tuple[str, ...] = ()
    """Those of the playbook's own topics, which a strike may wait for."""
    all_partitions: bool = False
    """Whether Kafka's own topics count as well."""
    epoch: int = field(init=False)
    changed_us: int = field(init=False, default=-FAILOVER_US)

    def __post_init__(self) -> None:
        self.epoch = self.cluster.plane.controller_epoch()

    def records(self) -> list[CommittedPartition]:
        """The partitions that count, as committed."""
        there = self.cluster.world.records
        if self.all_partitions:
            return list(there.values())
        return [there[name] for name in self.partitions if name in there]


def own_partitions(cluster: Cluster) -> tuple[str, ...]:
    """All but those of Kafka's own topics."""
    return tuple([name for name in cluster.world.records if not name.startswith("__")])


Found = tuple[str, ...]
"""Where a state holds: partitions, groups, brokers; a single empty text for the cluster as a whole."""


def _where(sight: StateContext, holds: Callable[[CommittedPartition], bool]) -> Found:
    return tuple([record.name for record in sight.records() if holds(record)])


def _isr_of_one(sight: StateContext) -> Found:
    return _where(sight, lambda record: len(record.isr) == 1 < len(record.assignment))


def _under_min_isr(sight: StateContext) -> Found:
    needed = sight.cluster.world.effective_min_isr
    return _where(sight, lambda record: len(record.isr) < needed(record.name))


def _under_replicated(sight: StateContext) -> Found:
    return _where(sight, lambda record: record.under_replicated)


def _leaderships(sight: StateContext, holds: Callable[[CommittedPartition, int, Leadership], bool]) -> Found:
    """Partitions of which a running broker presumes to lead, in a way that ``holds``."""
    world, found = sight.cluster.world, []
    for record in sight.records():
        for broker, replica in world.replicas[record.name].items():
            leadership = replica.leadership
            if leadership is not None and holds(record, broker, leadership) and world.is_up(broker):
                found.append(record.name)
                break
    return tuple(found)


def _pending_shrink(sight: StateContext) -> Found:
    return _leaderships(
        sight, lambda _record, _broker, each: each.pending is not None and len(each.pending) < len(each.isr)
    )


def _pending_expand(sight: StateContext) -> Found:
    return _leaderships(
        sight, lambda _record, _broker, each: each.pending is not None and len(each.pending) > len(each.isr)
    )


def _stale_leader(sight: StateContext) -> Found:
    return _leaderships(sight, lambda record, broker, _each: record.leader != broker)


def _truncating(sight: StateContext) -> Found:
    """A follower that has to find out where its log and its leader's part; since KIP-595 its next fetch tells."""
    world, found = sight.cluster.world, []
    for record in sight.records():
        leader = world.true_leader(record.name)
        for replica in world.replicas[record.name].values():
            following = replica.following
            if following is None:
                continue
            ahead = leader is not None and replica.log.leo > leader.log.leo
            if following.truncating or ahead:
                found.append(record.name)
                break
    return tuple(found)


def _offline(sight: StateContext) -> Found:
    return _where(sight, lambda record: record.leader < 0)


def _reassigning(sight: StateContext) -> Found:
    return _where(sight, lambda record: bool(record.state.adding or record.state.removing))


def _electing(sight: StateContext) -> Found:
    """A leader epoch that its new leader has not heard of."""
    world, found = sight.cluster.world, []
    for record in sight.records():
        replica = world.replicas[record.name].get(record.leader)
        if replica is not None and replica.leader_epoch < record.leader_epoch and world.is_up(record.leader):
            found.append(record.name)
    return tuple(found)


def _open_transaction(sight: StateContext) -> Found:
    world = sight.cluster.world
    found = []
    for record in sight.records():
        leader = world.true_leader(record.name)
        if leader is not None and leader.lso < leader.hw:
            found.append(record.name)
    return tuple(found)


def _failover(sight: StateContext) -> Found:
    plane, now = sight.cluster.plane, sight.cluster.now_us
    epoch = plane.controller_epoch()
    if epoch != sight.epoch:
        sight.epoch, sight.changed_us = epoch, now
    return ("",) if plane.active() < 0 or now - sight.changed_us < FAILOVER_US else ()


def _fenced(sight: StateContext) -> Found:
    """A process that runs and that the controller does not count on."""
    cluster = sight.cluster
    return tuple(
        [
            f"broker({broker})"
            for broker in cluster.brokers
            if not cluster.plane.is_live(broker) and cluster.is_up(broker)
        ]
    )


def _starting(sight: StateContext) -> Found:
    """A process that recovers its logs, or has not been registered yet."""
    cluster = sight.cluster
    return tuple(
        [
            f"broker({broker})"
            for broker, each in cluster.brokers.items()
            if not each.control.registered and cluster.state_of(broker) is ProcessState.RUNNING
        ]
    )


def _rebalancing(sight: StateContext) -> Found:
    query, groups = sight.cluster.query, sight.cluster.spec.groups
    return tuple([group.name for group in groups if query.group_state(group.name) in _REBALANCING])


def _afflicted(sight: StateContext) -> Found:
    return ("",) if sight.cluster.query.faults() else ()


_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


@dataclass(frozen=True, slots=True)
class ProtocolState:
    """A state, and how it is seen."""

    name: str
    doc: str
    where: Callable[[StateContext], Found]
    needs: str = ""
    """``groups`` or ``transactions``: what a playbook must have for it."""


STATES: Final[Mapping[str, ProtocolState]] = {
    state.name: state
    for state in (
        ProtocolState("FaultActive", "another fault is active", _afflicted),
        ProtocolState(
            "UnderReplicated", "a partition has fewer in-sync replicas than assigned ones", _under_replicated
        ),
        ProtocolState("UnderMinIsr", "a partition has too few in-sync replicas for acks=all", _under_min_isr),
        ProtocolState("IsrOfOne", "a partition's ISR is its leader alone", _isr_of_one),
        ProtocolState("PendingShrinkIsr", "a leader has asked to shrink an ISR, and has no answer", _pending_shrink),
        ProtocolState("PendingExpandIsr", "a leader has asked to expand an ISR, and has no answer", _pending_expand),
        ProtocolState("Truncating", "a follower has to cut its log, or to ask where", _truncating),
        ProtocolState("OfflinePartition", "a partition has no leader", _offline),
        ProtocolState("LeaderElection", "a leader is elected and has not heard of it", _electing),
        ProtocolState("StaleLeader", "a broker takes itself to lead, and another was elected", _stale_leader),
        ProtocolState("ControllerFailover", "there is no active controller, or a new one for less than 2 s", _failover),
        ProtocolState("FencedBroker", "a broker runs, and is not counted on", _fenced),
        ProtocolState("BrokerStarting", "a broker's process runs, and is not registered yet", _starting),
        ProtocolState("Reassigning", "replicas are being added or removed", _reassigning),
        ProtocolState("Rebalancing", "a group is between two generations", _rebalancing, "groups"),
        ProtocolState(
            "OngoingTransaction", "a transaction is open below the high watermark", _open_transaction, "transactions"
        ),
    )
}
"""All states by name."""


def possible(cluster: Cluster) -> tuple[str, ...]:
    """Names of the states that a cluster can be in, for what its clients are."""
    has = {
        "": True,
        "groups": bool(cluster.spec.groups),
        "transactions": any(each.config.get("transactional.id") for each in cluster.spec.producers),
    }
    return tuple([state.name for state in STATES.values() if has[state.needs]])


def standing(sight: StateContext, names: tuple[str, ...]) -> tuple[str, ...]:
    """The states that hold now, :data:`NOTHING` where none does."""
    found = tuple([name for name in names if STATES[name].where(sight)])
    return found or (NOTHING,)
