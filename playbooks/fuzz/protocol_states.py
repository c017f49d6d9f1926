"""States of a live cluster in which a storm prefers to inject faults, under Kafka's names.

A storm may read the whole cluster state, as target selectors do. The states are evaluated after every event while a
fault is waiting, so each reads the live objects without building views of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cluster_model.broker.partition import PartitionLeaderState
from cluster_model.cluster import Cluster
from cluster_model.controller import CommittedPartition
from cluster_model.kernel import ProcessState
from playbooks.model.playbook import SECOND

STEADY: Final = "Steady"
"""Name for a cluster in none of the other states."""

FAILOVER_US: Final = 2 * SECOND
"""Time after a new controller is active during which the change still counts as a failover."""


@dataclass(slots=True)
class StateContext:
    """The cluster whose states are evaluated, with the little history that this needs."""

    cluster: Cluster
    partitions: tuple[str, ...] = ()
    """Partitions of the playbook's own topics, which a fault may wait for."""
    all_partitions: bool = False
    """Whether internal topics count as well."""
    epoch: int = field(init=False)
    changed_us: int = field(init=False, default=-FAILOVER_US)

    def __post_init__(self) -> None:
        self.epoch = self.cluster.plane.controller_epoch()

    def records(self) -> list[CommittedPartition]:
        """Return the committed state of the partitions that count."""
        there = self.cluster.cluster_state.records
        if self.all_partitions:
            return list(there.values())
        return [there[name] for name in self.partitions if name in there]


def own_partitions(cluster: Cluster) -> tuple[str, ...]:
    """Return all partitions except those of internal topics."""
    return tuple([name for name in cluster.cluster_state.records if not name.startswith("__")])


Found = tuple[str, ...]
"""Where a state holds: partitions, groups, brokers; a single empty text for the cluster as a whole."""


def _where(state: StateContext, holds: Callable[[CommittedPartition], bool]) -> Found:
    return tuple([record.name for record in state.records() if holds(record)])


def _isr_of_one(state: StateContext) -> Found:
    return _where(state, lambda record: len(record.isr) == 1 < len(record.assignment))


def _under_min_isr(state: StateContext) -> Found:
    needed = state.cluster.cluster_state.effective_min_isr
    return _where(state, lambda record: len(record.isr) < needed(record.name))


def _under_replicated(state: StateContext) -> Found:
    return _where(state, lambda record: record.under_replicated)


def _leaderships(state: StateContext, holds: Callable[[CommittedPartition, int, PartitionLeaderState], bool]) -> Found:
    """Return partitions that a running broker leads, or believes to lead, where ``holds`` is true."""
    cluster_state, names = state.cluster.cluster_state, []
    for record in state.records():
        for broker, replica in cluster_state.replicas[record.name].items():
            leadership = replica.leadership
            if leadership is not None and holds(record, broker, leadership) and cluster_state.is_up(broker):
                names.append(record.name)
                break
    return tuple(names)


def _pending_shrink(state: StateContext) -> Found:
    return _leaderships(
        state, lambda _record, _broker, each: each.pending is not None and len(each.pending) < len(each.isr)
    )


def _pending_expand(state: StateContext) -> Found:
    return _leaderships(
        state, lambda _record, _broker, each: each.pending is not None and len(each.pending) > len(each.isr)
    )


def _stale_leader(state: StateContext) -> Found:
    return _leaderships(state, lambda record, broker, _each: record.leader != broker)


def _truncating(state: StateContext) -> Found:
    """A follower has to find the offset where its log diverges; since KIP-595 its next fetch returns it."""
    cluster_state, names = state.cluster.cluster_state, []
    for record in state.records():
        leader = cluster_state.committed_leader(record.name)
        for replica in cluster_state.replicas[record.name].values():
            following = replica.following
            if following is None:
                continue
            ahead = leader is not None and replica.log.leo > leader.log.leo
            if following.truncating or ahead:
                names.append(record.name)
                break
    return tuple(names)


def _offline(state: StateContext) -> Found:
    return _where(state, lambda record: record.leader < 0)


def _reassigning(state: StateContext) -> Found:
    return _where(state, lambda record: bool(record.state.adding or record.state.removing))


def _electing(state: StateContext) -> Found:
    """A new leader has not yet received its leader epoch."""
    cluster_state, names = state.cluster.cluster_state, []
    for record in state.records():
        replica = cluster_state.replicas[record.name].get(record.leader)
        if replica is not None and replica.leader_epoch < record.leader_epoch and cluster_state.is_up(record.leader):
            names.append(record.name)
    return tuple(names)


def _open_transaction(state: StateContext) -> Found:
    cluster_state = state.cluster.cluster_state
    names = []
    for record in state.records():
        leader = cluster_state.committed_leader(record.name)
        if leader is not None and leader.lso < leader.hw:
            names.append(record.name)
    return tuple(names)


def _failover(state: StateContext) -> Found:
    plane, now = state.cluster.plane, state.cluster.now_us
    epoch = plane.controller_epoch()
    if epoch != state.epoch:
        state.epoch, state.changed_us = epoch, now
    return ("",) if plane.active() < 0 or now - state.changed_us < FAILOVER_US else ()


def _fenced(state: StateContext) -> Found:
    """A broker process runs and is fenced by the controller."""
    cluster = state.cluster
    return tuple(
        [
            f"broker({broker})"
            for broker in cluster.brokers
            if not cluster.plane.is_live(broker) and cluster.is_up(broker)
        ]
    )


def _starting(state: StateContext) -> Found:
    """A broker process recovers its logs, or is not registered yet."""
    cluster = state.cluster
    return tuple(
        [
            f"broker({broker})"
            for broker, each in cluster.brokers.items()
            if not each.control.registered and cluster.state_of(broker) is ProcessState.RUNNING
        ]
    )


def _rebalancing(state: StateContext) -> Found:
    query, groups = state.cluster.query, state.cluster.spec.groups
    return tuple([group.name for group in groups if query.group_state(group.name) in _REBALANCING])


def _afflicted(state: StateContext) -> Found:
    return ("",) if state.cluster.query.faults() else ()


_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


@dataclass(frozen=True, slots=True)
class ProtocolState:
    """A protocol state with the function that finds it."""

    name: str
    doc: str
    where: Callable[[StateContext], Found]
    needs: str = ""
    """``groups`` or ``transactions``: clients that a playbook must have for it."""


STATES: Final[Mapping[str, ProtocolState]] = {
    state.name: state
    for state in (
        ProtocolState("FaultActive", "another fault is active", _afflicted),
        ProtocolState(
            "UnderReplicated", "a partition has fewer in-sync replicas than assigned ones", _under_replicated
        ),
        ProtocolState("UnderMinIsr", "a partition has too few in-sync replicas for acks=all", _under_min_isr),
        ProtocolState("IsrOfOne", "a partition's ISR is its leader alone", _isr_of_one),
        ProtocolState("PendingShrinkIsr", "a leader's ISR shrink request is pending", _pending_shrink),
        ProtocolState("PendingExpandIsr", "a leader's ISR expansion request is pending", _pending_expand),
        ProtocolState("Truncating", "a follower has to truncate its log, or to find the offset", _truncating),
        ProtocolState("OfflinePartition", "a partition has no leader", _offline),
        ProtocolState("LeaderElection", "a leader is elected and has not received the election yet", _electing),
        ProtocolState(
            "StaleLeader", "a broker believes that it is the leader after another was elected", _stale_leader
        ),
        ProtocolState("ControllerFailover", "there is no active controller, or a new one for less than 2 s", _failover),
        ProtocolState("FencedBroker", "a broker runs and is fenced", _fenced),
        ProtocolState("BrokerStarting", "a broker's process runs and is not registered yet", _starting),
        ProtocolState("Reassigning", "replicas are being added or removed", _reassigning),
        ProtocolState("Rebalancing", "a group is between two generations", _rebalancing, "groups"),
        ProtocolState(
            "OngoingTransaction", "a transaction is open below the high watermark", _open_transaction, "transactions"
        ),
    )
}
"""All states by name."""


def possible(cluster: Cluster) -> tuple[str, ...]:
    """Return the names of the states that a cluster can be in, given its clients."""
    has = {
        "": True,
        "groups": bool(cluster.spec.groups),
        "transactions": any(each.config.get("transactional.id") for each in cluster.spec.producers),
    }
    return tuple([state.name for state in STATES.values() if has[state.needs]])


def current_states(state: StateContext, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the states that hold now, or :data:`STEADY`."""
    found = tuple([name for name in names if STATES[name].where(state)])
    return found or (STEADY,)
