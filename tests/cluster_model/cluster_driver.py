"""Driver of a cluster whose controller changes topics at once: it commits the change and notifies chosen brokers."""

from collections.abc import Callable, Iterable

from cluster_model.broker.control_plane_client import MetadataUpdate
from cluster_model.broker.partition.partition import Replica
from cluster_model.cluster import Cluster
from cluster_model.controller.cluster_parts import ClusterParts, ControlPlane
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import PartitionState
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.cluster_model.single import CONTROLLER_ID
from tests.cluster_model.single_plane import SinglePlane

MS = 1_000
SECOND = 1_000_000


def spec_of(
    kafka: str = "3.9",
    mode: str | None = None,
    *,
    topic: str = "orders",
    acks: str = "all",
    config: dict[str, ConfigValue] | None = None,
    producer: dict[str, ConfigValue] | None = None,
    brokers: int = 4,
) -> ClusterSpec:
    """Four brokers, the topic ``base`` with one partition on the first three; clients of ``topic``."""
    ids = tuple(BrokerSpec(broker) for broker in range(1, brokers + 1))
    topics = tuple(TopicSpec(name, 1, 3, ((1, 2, 3),)) for name in dict.fromkeys(("base", topic)))
    making = ProducerSpec("checkout", topic, 20 * MS, 2, config={"acks": acks, **(producer or {})})
    return ClusterSpec(
        kafka, mode, ids, topics, (making,), (GroupSpec("billing", (topic,), coordinated=False),), config=config or {}
    )  # fmt: skip


def one_controller(
    _spec: ClusterSpec,
    parts: ClusterParts,
    port_of: Callable[[int], NodeContext],
    _streams: RandomStreams,
    emit: Callable[[Event], None],
    _network: Network,
) -> ControlPlane:
    """Return a control plane of one node that uses the committed state, whatever the mode."""
    return SinglePlane(port_of(CONTROLLER_ID), parts.profile, parts.config, parts.committed, emit)


def user_topics(names: Iterable[str]) -> list[str]:
    """Drop the names of internal topics."""
    return [name for name in names if not name.startswith("__")]


class ClusterDriver:
    """Driver of one cluster: commits changes of topics and partitions, and notifies its brokers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.topics = cluster.topics

    def run(self, seconds: float) -> None:
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))

    def replica(self, partition: str, broker: int) -> Replica:
        return self.cluster.cluster_state.replica(partition, broker)

    def create(self, topic: str, *placement: tuple[int, ...], **config: ConfigValue) -> tuple[PartitionState, ...]:
        """Commit a topic, and notify every broker."""
        overrides = {name.replace("_", "."): value for name, value in config.items()}
        states = self.topics.create(topic, placement, overrides, self.live(), self.cluster.now_us)
        for broker in self.running():
            self.cluster.brokers[broker].configure_topic(topic, overrides)
        self.notify(states)
        return states

    def add(self, topic: str, *placement: tuple[int, ...]) -> None:
        """Commit more partitions, and notify every broker."""
        self.notify(self.topics.add_partitions(topic, placement, self.live(), self.cluster.now_us))

    def delete(self, topic: str, brokers: Iterable[int] | None = None) -> None:
        """Commit a deletion, and notify ``brokers``, by default all that are running."""
        gone = self.topics.delete(topic, self.cluster.now_us)
        for broker in self.running() if brokers is None else brokers:
            for partition in gone:
                self.cluster.brokers[broker].forget(partition)
                self.cluster.brokers[broker].stop_replica(partition, delete=True)

    def decide(self, partition: str, **fields: object) -> PartitionState:
        """Commit a change of a partition's state, and notify every broker."""
        record = self.cluster.committed.records[partition]
        state = record.state._replace(**fields)  # type: ignore[arg-type]
        bumped = state._replace(leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)
        record.state = bumped
        self.notify((bumped,))
        return bumped

    def notify(self, states: tuple[PartitionState, ...], brokers: Iterable[int] | None = None) -> None:
        live = self.cluster.brokers[self.running()[0]].metadata.live
        for broker in self.running() if brokers is None else brokers:
            self.cluster.brokers[broker].apply_metadata(MetadataUpdate(states, tuple(live), tuple(live.values())))

    def running(self) -> list[int]:
        return [broker for broker in self.cluster.brokers if self.cluster.is_up(broker)]

    def live(self) -> list[int]:
        return [broker for broker in self.cluster.brokers if self.cluster.plane.is_live(broker)]


def new_driver(*args: object, seed: int = 3, **kwargs: object) -> ClusterDriver:
    return ClusterDriver(Cluster.build(spec_of(*args, **kwargs), seed))  # type: ignore[arg-type]
