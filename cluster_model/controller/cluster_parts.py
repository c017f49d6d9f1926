"""Parts that a cluster is built from, and the interface of its control plane."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import ControlPlaneClient
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.topic_configs import TopicConfigs
from cluster_model.controller.committed_state import CommittedState, TopicRegistry
from cluster_model.controller.rules.replica_placement import UsableBroker, place_striped, place_zk
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Node
from cluster_model.kernel.rng import RandomStreams
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.record_keys import KeyModel, KeySet, ProducerKeys, key_model
from cluster_model.protocol.config_defaults import check_release
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import DUPLICATE_SUFFIX, ClusterSpec, ProducerSpec, TopicSpec


@dataclass(frozen=True, slots=True)
class ClusterParts:
    """Brokers' disks and the controller's state of a new cluster, before any broker has metadata."""

    profile: Profile
    config: BrokerConfig
    committed: CommittedState
    metadata: dict[int, BrokerMetadata]
    replicas: dict[str, dict[int, Replica]]
    epoch_branches: dict[str, BatchStore]
    registry: TopicRegistry
    keys: dict[str, ProducerKeys]
    """Keys of the records of each producer that writes keyed records, by producer name."""


class Software(NamedTuple):
    """Software of a broker or controller: the rules of its release, and its static configuration with its defaults."""

    profile: Profile
    config: BrokerConfig

    @classmethod
    def of(cls, profile: Profile, config: Mapping[str, ConfigValue]) -> "Software":
        """Return the software of a release with the given static configuration."""
        return cls(profile, BrokerConfig.of(profile, config))


def assign_replicas(topic: TopicSpec, spec: ClusterSpec, streams: RandomStreams) -> tuple[tuple[int, ...], ...]:
    """Return the replica assignment of each partition: as given, else spread as Kafka's controller of that mode does.

    Raises:
        ModelError: more replicas than brokers, or an unknown broker.
    """
    broker_ids = [broker.id for broker in spec.brokers]
    if topic.placement:
        for replicas in topic.placement:
            for broker in replicas:
                if broker not in broker_ids:
                    known = ", ".join(map(str, broker_ids))
                    raise ModelError(
                        f"topic {topic.name} is placed on broker {broker}; known brokers: {known}", code="no_broker"
                    )
        return topic.placement
    if topic.replication > len(broker_ids):
        raise ModelError(
            f"topic {topic.name} wants {topic.replication} replicas of {len(broker_ids)} brokers",
            code="too_few_brokers",
        )
    if len(broker_ids) == 1:
        return ((broker_ids[0],),) * topic.partitions
    stream = streams.named(f"placement:{topic.name}")
    if Profile.of(spec.kafka, spec.mode).kraft:
        usable = [UsableBroker(broker.id, broker.rack) for broker in spec.brokers]
        return place_striped(usable, topic.partitions, topic.replication, stream.below)
    racks = [(broker.id, broker.rack) for broker in spec.brokers]
    count = len(broker_ids)
    return place_zk(racks, topic.partitions, topic.replication, stream.below(count), stream.below(count))


def build_parts(
    spec: ClusterSpec,
    streams: RandomStreams,
    emit: Callable[[Event], None],
    live: Mapping[int, int],
    full_stores: Mapping[str, BatchStore] | None = None,
) -> ClusterParts:
    """Create the partitions and replicas of every topic; with ``full_stores``, batches are looked up in those logs.

    Raises:
        ModelError: the spec contradicts itself, or has a configuration that its release lacks.
    """
    profile = spec.profile
    for name in spec.config:
        check_release("broker", name, profile.number)
    for topic in spec.topics:
        for name in topic.config:
            check_release("topic", name, profile.number)
    config = BrokerConfig.of(profile, spec.config)
    committed = CommittedState(emit)
    metadata = {broker.id: BrokerMetadata() for broker in spec.brokers}
    settings = TopicConfigs(profile, spec.config, spec.writeback_us)

    producer_keys = {
        name: _keys_of(producer) for producer in spec.producers if producer.keys for name in _processes_of(producer)
    }

    def keys(topic: str, partition: str) -> dict[str, KeyModel]:
        index = int(partition.rpartition("-")[2])
        return {
            name: key_model(name, topic, index, producer_keys[name])
            for producer in spec.producers
            if producer.topic == topic and producer.keys
            for name in _processes_of(producer)
        }

    registry = TopicRegistry(profile, config, settings, committed, metadata, emit, keys, streams.seed, full_stores)
    for topic in spec.topics:
        registry.create_initial(topic, assign_replicas(topic, spec, streams), live)
    return ClusterParts(
        profile, config, committed, metadata, registry.replicas, registry.epoch_branches, registry, producer_keys
    )


def initial_topic_configs(spec: ClusterSpec, profile: Profile) -> TopicConfigs:
    """Return the topic settings that a broker knows at the start of the cluster: all of them."""
    settings = TopicConfigs(profile, spec.config, spec.writeback_us)
    for topic in spec.topics:
        settings.configure(topic.name, topic.config)
    return settings


def _processes_of(producer: ProducerSpec) -> tuple[str, ...]:
    """Client names that a producer's records carry: a transactional producer may have a duplicate instance."""
    return (
        (producer.name, producer.name + DUPLICATE_SUFFIX)
        if producer.config.get("transactional.id")
        else (producer.name,)
    )


def _keys_of(producer: ProducerSpec) -> ProducerKeys:
    return ProducerKeys(KeySet(producer.keys, producer.skew, producer.partitioner), producer.tombstones)


# The interface of a control plane: its own servers, each broker's part in it, and the view of its members.


# The view of one member of the control plane, as the TUI and playbook conditions read it.


ControllerRole = Literal["active", "leader", "follower", "candidate", "looking", "standby", "zombie", "down"]
"""``active``: acts as the controller; ``zombie``: acts as the controller although a newer one exists; ``standby``: can
become the controller.

``leader``, ``follower``, ``candidate`` and ``looking`` are the states of a quorum member that is not the controller.
"""


@dataclass(frozen=True, slots=True)
class ControllerView:
    """A node of the control plane: a KRaft controller, a ZooKeeper server, or a broker that is the controller."""

    node: int
    name: str
    role: ControllerRole
    """As the node itself believes; ``down`` while its process is not running."""
    epoch: int
    """The newest epoch that it knows: of the quorum, or the controller epoch of a ZooKeeper-mode controller."""
    end: int
    """End offset of its log, -1 if it has none."""
    committed: int
    """End of the part of its log that it knows to be committed, -1 if it has no log."""
    faults: tuple[str, ...] = ()
    """Names of the faults active on it."""


class FinalizedFeatures(NamedTuple):
    """Feature levels that were finalized since the cluster was formed, by name, and the offset of the last one."""

    levels: Mapping[str, int]
    offset: int


class ControlPlaneServer(Node, Protocol):
    """A separate process of the control plane: a KRaft controller or a ZooKeeper server."""

    def stopped(self) -> None:
        """The process died; its memory is lost."""

    def started(self) -> None:
        """The process was started again."""

    def shut_down(self) -> None:
        """SIGTERM: the process shuts down cleanly."""


class ControlPlane(Protocol):
    """Interface of the control plane of a cluster; its answers are for views and selectors, not for nodes."""

    on_features: Callable[[int], None]
    """Called with a node that has replayed a record of a feature level."""
    servers: dict[int, tuple[str, ControlPlaneServer]]
    """Node id → name and node of every process of the control plane that is not a broker."""

    def join(self, broker: Broker, port: NodeContext, rack: str, software: Software) -> ControlPlaneClient:
        """Make the control-plane client of a broker; every broker joins before :meth:`begin`, and after an upgrade."""

    def install(self, node: int, software: Software) -> None:
        """Replace the software of a controller that is a process of its own; its state is kept."""

    def finalized_features(self, node: int) -> FinalizedFeatures:
        """Return the feature levels finalized since the cluster was formed that a node knows of."""

    def begin(self) -> None:
        """Start as a formed cluster: all brokers registered, all metadata known to every broker."""

    def controllers(self) -> tuple[int, ...]:
        """Nodes that are or can become the controller, including brokers."""

    def active(self) -> int:
        """The acting controller, NO_LEADER if there is none; of several the one of the newest epoch."""

    def controller_epoch(self) -> int:
        """Epoch of the newest controller."""

    def member_views(self) -> tuple[ControllerView, ...]:
        """Every node of the control plane as it sees itself; in ZooKeeper mode the servers, then the controller.

        ``role`` is ``down`` where the process is not running. A new controller also emits :class:`ControllerChanged`.
        """

    def is_live(self, broker: int) -> bool:
        """Whether a broker is alive by the committed state: registered, and not fenced."""

    def is_shutting_down(self, broker: int) -> bool:
        """Whether the controller knows a broker to be in controlled shutdown."""

    def broker_epoch(self, broker: int) -> int:
        """The epoch of a broker's committed registration, -1 if it has none."""

    def being_deleted(self, topic: str) -> bool:
        """Whether a topic's deletion is committed while its partitions still exist."""

    def accepted_controller_epoch(self, broker: int) -> int:
        """The newest controller epoch that a broker's process has seen."""

    def known_controller(self, broker: int) -> int:
        """The node that a running broker believes to be the active controller, NO_LEADER while it knows none."""

    @property
    def session_us(self) -> int:
        """The session timeout after which a silent broker is fenced, in µs."""

    def expire_session(self, broker: int) -> bool:
        """Expire a broker's session now, as if its session timeout had passed; False if no node can do so.

        The ZooKeeper ensemble or the active KRaft controller does it. The broker is not notified.
        """

    def resign_controller(self) -> bool:
        """Make the active controller, whose process keeps running, lose its role; False if there is none or it cannot.

        In ZooKeeper mode an operator deletes /controller, in KRaft mode the leader of the quorum resigns its epoch.
        """

    def delay_metadata(self, broker: int, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Delay the effect of metadata updates on a broker by ``delay_us``; 0: until :meth:`stop_delaying_metadata`.

        ``cache_only``: in ZooKeeper mode delay UpdateMetadata alone, so that the broker still becomes leader and
        follower in time.
        """

    def stop_delaying_metadata(self, broker: int, fault: int) -> None:
        """Undo :meth:`delay_metadata` of that fault."""

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """Run a leader election that an administrator requests."""

    def save(self) -> tuple[Any, ...]:
        """Return all state but that of the brokers' control-plane clients."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
