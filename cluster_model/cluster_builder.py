"""Puts a cluster together: its control plane, its coordinators and its liveness checks."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cluster_model.broker.broker import Broker
from cluster_model.checker.liveness.deadlines import LivenessDeadlines
from cluster_model.checker.liveness.disturbances import Weather
from cluster_model.checker.liveness.liveness_checker import Liveness
from cluster_model.checker.liveness.partition_state import LivenessContext
from cluster_model.controller.cluster_parts import Parts, Plane
from cluster_model.coordinators.group.auto_topic_creation import TopicMaker
from cluster_model.coordinators.group.consumer_protocol.consumer_group import ModernConfig
from cluster_model.coordinators.group.consumer_protocol.subscription_patterns import PatternCompiler
from cluster_model.coordinators.group.group_coordinator import GroupCoordinator
from cluster_model.coordinators.group.group_metadata import GroupConfig
from cluster_model.coordinators.group.offset_commits import commit_error
from cluster_model.coordinators.transaction.transaction_coordinator import TransactionConfig, TransactionCoordinator
from cluster_model.coordinators.transaction.transaction_verification import Write
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import Streams
from cluster_model.protocol.control_plane_settings import ControlSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import ProduceRequest
from cluster_model.protocol.transaction_messages import TxnMarker
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ClusterSpec
from cluster_model.spec.internal_topics import INTERNAL, OFFSETS, configured_partitions

if TYPE_CHECKING:
    from cluster_model.cluster import Cluster


def host_coordinators(
    spec: ClusterSpec,
    profile: Profile,
    brokers: Iterable[tuple[Broker, NodeContext]],
    streams: Streams,
    emit: Callable[[Event], None],
    compile_pattern: PatternCompiler,
) -> dict[int, GroupCoordinator]:
    """Give every broker its coordinators; returns those of groups, by broker.

    How many partitions an internal topic has they know for good: from the spec's, else from the configuration. One that
    is made later gets as many.
    """
    partitions = configured_partitions(spec.profile, spec.config)
    for topic in spec.topics:
        if topic.name in INTERNAL:
            partitions[topic.name] = len(topic.placement) or topic.partitions
    found: dict[int, GroupCoordinator] = {}
    for broker, port in brokers:
        stream = streams.named(f"groups:{broker.id}")
        config = GroupConfig.of(profile, spec.config)
        modern = (ModernConfig.of(profile, spec.config), emit, compile_pattern)
        maker = TopicMaker(port, profile, spec.config, broker.tenants, partitions, broker.control.told_controller)
        coordinator = GroupCoordinator(port, profile, config, broker.tenants, partitions, stream, modern, maker)
        broker.host(coordinator)
        transactions = TransactionConfig.of(profile, spec.config)
        written = _tell_groups(coordinator)
        host = TransactionCoordinator(
            port, profile, transactions, broker.tenants, partitions, broker.producer_ids, written,
            _going_on(broker, coordinator), broker.connections,
        )  # fmt: skip
        broker.host(host)
        if transactions.verifies:
            broker.check_writes(host.verifier.holds)
            coordinator.gate = host.verifier.holds
        found[broker.id] = coordinator
    return found


def _going_on(broker: Broker, groups: GroupCoordinator) -> Callable[[int, Write, KafkaError], None]:
    """What a coordinator was asked about goes on where it came from."""

    def go_on(source: int, write: Write, error: KafkaError) -> None:
        if isinstance(write, ProduceRequest):
            broker.go_on(source, write, error)
        else:
            groups.commit_in_transaction(source, write, commit_error(error))

    return go_on


def _tell_groups(groups: GroupCoordinator) -> Callable[[str, TxnMarker], None]:
    """Markers in ``__consumer_offsets`` end what transactions have committed there."""

    def written(partition: str, marker: TxnMarker) -> None:
        if partition.rpartition("-")[0] == OFFSETS:
            groups.transaction_ended(partition, marker.producer_id, committed=marker.committed)

    return written


# The choice of the control plane. Only the one that is needed is imported.


def make_plane(
    spec: ClusterSpec,
    parts: Parts,
    port_of: Callable[[int], NodeContext],
    streams: Streams,
    emit: Callable[[Event], None],
    network: Network,
) -> Plane:
    """The plane of the spec's mode, with ports of its own nodes from ``port_of``."""
    if parts.profile.kraft:
        from cluster_model.controller.kraft.control_plane import KraftPlane  # noqa: PLC0415

        return KraftPlane(spec, parts, port_of, streams, emit)
    from cluster_model.controller.zookeeper.control_plane import ZooKeeperPlane  # noqa: PLC0415

    return ZooKeeperPlane(spec, parts, network, streams, emit)


def share(plane: Plane, other: Plane) -> None:
    """Let a twin's plane read what keyframes leave out of the other one's."""
    from cluster_model.controller.kraft.control_plane import KraftPlane  # noqa: PLC0415 - looking back comes later, if ever

    if isinstance(plane, KraftPlane) and isinstance(other, KraftPlane):
        plane.read_out_of(other)


# The liveness checker of a timed cluster.


def watch_over(cluster: "Cluster") -> Liveness:
    """Liveness of a cluster that stands at its first instant."""
    spec, world, plane, brokers, network = (
        cluster.spec, cluster.world, cluster.plane, cluster.brokers, cluster.network,
    )  # fmt: skip

    def unwell(node: int) -> bool:
        broker = brokers.get(node)
        slowed = broker is not None and bool(broker.slowed or not broker.disk.healthy)
        return slowed or network.is_slowed(node)

    weather = Weather(network, (*brokers, *plane.servers), unwell)
    voters = spec.voters if world.profile.kraft else tuple(plane.servers)
    if not all(voter in network.processes for voter in voters):
        voters = ()  # a plane of tests, that decides alone
    percentage = 0 if world.profile.kraft else ControlSettings.of(world.profile, spec.config).imbalance_percentage
    return Liveness(
        LivenessContext(world, plane, brokers, weather, LivenessDeadlines.of(spec), voters, percentage), cluster.emit
    )
