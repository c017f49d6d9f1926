"""Views of a whole cluster at one time, including its consumer groups."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cluster_model.broker.hosted_coordinators import batches_in
from cluster_model.checker.liveness.properties import find_stalls
from cluster_model.clients.producer.producer import Producer
from cluster_model.coordinators.group.consumer_protocol.consumer_group import ConsumerGroup
from cluster_model.coordinators.group.group_metadata import GroupMetadata, GroupState
from cluster_model.coordinators.group.group_metadata_manager import replay_batches
from cluster_model.inspection import partition_views
from cluster_model.inspection.condition_functions import GroupQueries
from cluster_model.kernel.process import ProcessState
from cluster_model.observation.views import BrokerView, ClientView, ClusterView, GroupView, ProducerView
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import OFFSETS, GroupSpec, ProducerSpec, coordinator_partition

if TYPE_CHECKING:
    from cluster_model.cluster import Cluster


def coordinator(cluster: "Cluster", group: str) -> int:
    """Return the broker that coordinates a group by the controller's state, -1 for none."""
    records = cluster.cluster_state.records
    count = _partitions_of_offsets(records)
    return records[f"{OFFSETS}-{coordinator_partition(group, count)}"].leader if count else -1


def _partitions_of_offsets(records: Mapping[str, object]) -> int:
    """Return the number of partitions of ``__consumer_offsets`` by binary search, as it is queried often."""
    high = 1
    while f"{OFFSETS}-{high - 1}" in records:
        high *= 2
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        if f"{OFFSETS}-{middle - 1}" in records:
            low = middle
        else:
            high = middle
    return low


def group_metadata(cluster: "Cluster", group: str) -> GroupMetadata | None:
    """Return a group's metadata at its coordinator; None while that is down, loading, or does not know the group."""
    broker = coordinator(cluster, group)
    if broker < 0 or not cluster.is_up(broker):
        return None
    return cluster.coordinators[broker].registry.groups.get(group)


def known_modern(cluster: "Cluster", group: str) -> ConsumerGroup | None:
    """Return a consumer-protocol group (KIP-848) at its coordinator; None if that is down or does not know it."""
    broker = coordinator(cluster, group)
    if broker < 0 or not cluster.is_up(broker):
        return None
    return cluster.coordinators[broker].consumer_groups.groups.get(group)


def is_coordinated(cluster: "Cluster", spec: GroupSpec) -> bool:
    """Whether a coordinator assigns a group's partitions."""
    return spec.coordinated and cluster.profile.group_membership


def count_members(cluster: "Cluster", spec: GroupSpec) -> int:
    """Return the number of a group's members at its coordinator, 0 while no coordinator is available."""
    if not is_coordinated(cluster, spec):
        return spec.members
    modern = known_modern(cluster, spec.name)
    if modern is not None:
        return len(modern.members)
    found = group_metadata(cluster, spec.name)
    return 0 if found is None or found.state is GroupState.DEAD else len(found.members)


class CommittedOffsets:
    """Committed offsets of a group, by partition.

    They come from the group's coordinator. While that is down or loading they come from the log of the group's
    partition of ``__consumer_offsets``, to its end, which the next coordinator will load.
    """

    __slots__ = ("_cluster", "_read", "_spec", "_stored")

    def __init__(self, cluster: "Cluster", spec: GroupSpec) -> None:
        self._cluster = cluster
        self._spec = spec
        self._read: tuple[object, ...] = ()
        """State of the log from which ``_stored`` was read; a cache, as conditions are evaluated after every event."""
        self._stored: dict[str, int] = {}

    def __call__(self) -> dict[str, int]:
        """Return partition → offset, sorted by partition; empty for a group without a coordinator."""
        cluster, group = self._cluster, self._spec.name
        if not is_coordinated(cluster, self._spec):
            return {}
        broker = coordinator(cluster, group)
        if broker < 0 or not cluster.is_up(broker) or cluster.coordinators[broker].registry.status(group):
            return self._in_log()
        found = cluster.coordinators[broker].registry.groups.get(group)
        return {} if found is None else {name: value.offset for name, value in sorted(found.offsets.committed.items())}

    def _in_log(self) -> dict[str, int]:
        count = _partitions_of_offsets(self._cluster.cluster_state.records)
        if not count:
            return {}
        replica = self._cluster.cluster_state.representative(
            f"{OFFSETS}-{coordinator_partition(self._spec.name, count)}"
        )
        if replica is None:
            return {}
        log = replica.log
        state = (replica.broker, log.log_start, log.leo, *log.extents[-1:])
        if state != self._read:
            found = replay_batches(batches_in(log)).offsets
            offsets = sorted(
                (name, value.offset) for (group, name), (value, _at) in found.items() if group == self._spec.name
            )
            self._read, self._stored = state, dict(offsets)
        return self._stored


def state(cluster: "Cluster", spec: GroupSpec) -> str:
    """Return the group's state at its coordinator, Dead if that does not know it, empty while none is available."""
    broker = coordinator(cluster, spec.name) if is_coordinated(cluster, spec) else -1
    if broker < 0 or not cluster.is_up(broker) or cluster.coordinators[broker].registry.status(spec.name):
        return ""
    modern = known_modern(cluster, spec.name)
    if modern is not None:
        return str(modern.state.value)
    found = group_metadata(cluster, spec.name)
    return GroupState.DEAD.value if found is None else str(found.state.value)


def generation(cluster: "Cluster", spec: GroupSpec) -> int:
    """Return the group's generation, or its epoch (KIP-848), at its coordinator; -1 while none is available."""
    modern = known_modern(cluster, spec.name)
    if modern is not None:
        return modern.epoch
    found = group_metadata(cluster, spec.name) if is_coordinated(cluster, spec) else None
    return -1 if found is None else found.generation


def assignment(cluster: "Cluster", spec: GroupSpec) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each consumer with its assignment as it knows it: during a rebalance two may claim one partition."""
    return tuple(
        (consumer.name, consumer.assignment) for consumer in cluster.consumers.values() if consumer.group == spec.name
    )


def owned(cluster: "Cluster", spec: GroupSpec) -> int:
    """Return the number of partitions that some consumer claims."""
    return len(dict.fromkeys(name for _consumer, partitions in assignment(cluster, spec) for name in partitions))


def positions(cluster: "Cluster", spec: GroupSpec) -> dict[str, int]:
    """Return partition → the group's position; the furthest where a rebalance leaves several consumers."""
    furthest: dict[str, int] = {}
    for consumer in cluster.consumers.values():
        if consumer.group == spec.name:
            for name, position in consumer.positions.items():
                furthest[name] = max(position, furthest.get(name, position))
    return furthest


def facts(cluster: "Cluster", spec: GroupSpec) -> GroupQueries:
    """Return a group's functions for conditions, which can be evaluated at any time."""
    return GroupQueries(
        partial(count_members, cluster, spec), partial(positions, cluster, spec), CommittedOffsets(cluster, spec),
        partial(generation, cluster, spec), partial(state, cluster, spec), partial(owned, cluster, spec),
    )  # fmt: skip


# View of a whole timed cluster at one time.


def overview(cluster: "Cluster") -> ClusterView:
    """Return a view of the whole cluster now; active faults are added by the fault injector."""
    partitions = partition_views.partition_views(cluster.cluster_state, cluster.checker)
    led = Counter(each.leader for each in partitions)
    stale = Counter(belief.broker for each in partitions for belief in each.beliefs)
    return ClusterView(
        now_us=cluster.now_us,
        events=cluster.executed,
        profile=cluster.spec.profile.name,
        controller=_controller(cluster),
        controller_epoch=cluster.plane.controller_epoch(),
        controllers=cluster.plane.member_views(),
        brokers=tuple(
            _broker_view(cluster, each.id, each.rack, led[each.id], stale[each.id]) for each in cluster.spec.brokers
        ),
        partitions=partitions,
        producers=(
            *[_producer_view(cluster.producers[spec.name], spec) for spec in cluster.spec.producers],
            *[_producer_view(each, each.spec) for each in cluster.clients.dead_letter_producers],
            *[_producer_view(duplicate, spec) for spec, duplicate in cluster.clients.duplicate_nodes.present],
        ),
        groups=tuple(_group_view(cluster, spec.name) for spec in cluster.spec.groups),
        clients=tuple(_client_view(cluster, node, name) for node, name in cluster.clients.names.items()),
        ledger=partition_views.ledger_view(cluster.checker),
        faults=(),
        violations=cluster.query.violations(),
        stuck=() if cluster.checker.liveness is None else find_stalls(cluster.checker.liveness.context),
        liveness_violations=cluster.query.liveness_violations(),
        pending_liveness=() if cluster.checker.liveness is None else cluster.checker.liveness.pending_liveness,
    )


def _controller(cluster: "Cluster") -> str:
    """Return the name of the active controller, with its state if it is not running."""
    active = cluster.plane.active()
    if active == NO_LEADER:
        return "no controller"
    state = cluster.state_of(active).name.lower()
    name = cluster.name_of(active)
    return name if state == "running" else f"{name} ({state})"


def _broker_view(cluster: "Cluster", broker: int, rack: str, leads: int, stale: int) -> BrokerView:
    state = cluster.state_of(broker)
    shown: Any = {ProcessState.RUNNING: "up", ProcessState.PAUSED: "paused"}.get(state, "down")
    if shown == "up" and not cluster.brokers[broker].control.registered:
        shown = "starting"
    plane = cluster.plane
    return BrokerView(
        id=broker,
        rack=rack,
        state=shown,
        fenced=not plane.is_live(broker),
        leads=leads,
        faults=(),
        stale=stale,
        epoch=cluster.brokers[broker].control.broker_epoch,
        shutting_down=plane.is_shutting_down(broker),
        controller=plane.known_controller(broker) if cluster.is_up(broker) else NO_LEADER,
        release=cluster.releases.upgraded_text(broker),
    )


def _client_view(cluster: "Cluster", node: int, name: str) -> ClientView:
    state = cluster.state_of(node)
    shown: Any = {ProcessState.RUNNING: "up", ProcessState.PAUSED: "paused"}.get(state, "down")
    return ClientView(node, name, shown)


def _producer_view(producer: Producer, spec: ProducerSpec) -> ProducerView:
    return ProducerView(
        spec.name, spec.topic, producer.acks, producer.sent, producer.acked, producer.failed, producer.unknown,
        producer.in_flight, producer.queued, producer.refused, producer.last_error,
        producer.unconnected,
    )  # fmt: skip


def _group_view(cluster: "Cluster", name: str) -> GroupView:
    spec = next(spec for spec in cluster.spec.groups if spec.name == name)
    members = [consumer for consumer in cluster.consumers.values() if consumer.group == name]
    read = sum(consumer.read for consumer in members)
    committed = cluster.group_facts[name].committed()
    return GroupView(
        name,
        spec.topics,
        count_members(cluster, spec),
        read,
        cluster.query.lag(name) if any(partition in cluster.cluster_state.records for partition in committed) else None,
        tuple(item for consumer in members for item in consumer.positions.items()),
        generation=generation(cluster, spec),
        assignment=assignment(cluster, spec),
        committed=tuple(committed.items()),
        position_lag=cluster.query.position_lag(name),
    )
