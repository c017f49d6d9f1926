"""The parts that a cluster is put together from, and the interface of the control plane among them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Control
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.topic_configs import TopicSettings
from cluster_model.controller.committed_state import Committed, TopicRegistry
from cluster_model.controller.rules.replica_placement import Usable, place, place_striped
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Node
from cluster_model.kernel.rng import Streams
from cluster_model.log.batch_store import Lineages
from cluster_model.log.record_keys import KeyModel, KeySet, ProducerKeys, key_model
from cluster_model.protocol.config_defaults import check_release
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import RIVAL, ClusterSpec, ProducerSpec, TopicSpec


@dataclass(frozen=True, slots=True)
class Parts:
    """Brokers' disks and the controller's state, before anybody has been told anything."""

    profile: Profile
    config: BrokerConfig
    committed: Committed
    metadata: dict[int, BrokerMetadata]
    replicas: dict[str, dict[int, Replica]]
    lineages: dict[str, Lineages]
    registry: TopicRegistry
    keys: dict[str, ProducerKeys]
    """Producer → the keys of its records, of those that have any."""


def placement_of(topic: TopicSpec, spec: ClusterSpec, streams: Streams) -> tuple[tuple[int, ...], ...]:
    """Assignment of each partition: as given, else spread as Kafka's controller of that mode does.

    Raises:
        ModelError: more replicas than brokers, or an unknown broker.
    """
    known = [broker.id for broker in spec.brokers]
    if topic.placement:
        for replicas in topic.placement:
            for broker in replicas:
                if broker not in known:
                    raise ModelError(
                        f"topic {topic.name} is placed on broker {broker}; there are {known}", code="no_broker"
                    )
        return topic.placement
    if topic.replication > len(known):
        raise ModelError(
            f"topic {topic.name} wants {topic.replication} replicas of {len(known)} brokers", code="too_few_brokers"
        )
    if len(known) == 1:
        return ((known[0],),) * topic.partitions
    stream = streams.named(f"placement:{topic.name}")
    if Profile.of(spec.kafka, spec.mode).kraft:
        usable = [Usable(broker.id, broker.rack) for broker in spec.brokers]
        return place_striped(usable, topic.partitions, topic.replication, stream.below)
    racks = [(broker.id, broker.rack) for broker in spec.brokers]
    count = len(known)
    return place(racks, topic.partitions, topic.replication, stream.below(count), stream.below(count))


def build_parts(
    spec: ClusterSpec,
    streams: Streams,
    emit: Callable[[Event], None],
    live: Mapping[int, int],
    whole: Mapping[str, Lineages] | None = None,
) -> Parts:
    """Create every topic's partitions and replicas; with ``whole``, their batches are looked up in those logs.

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
    committed = Committed(emit)
    metadata = {broker.id: BrokerMetadata() for broker in spec.brokers}
    settings = TopicSettings(profile, spec.config, spec.writeback_us)

    of_producers = {name: _keys_of(each) for each in spec.producers if each.keys for name in _processes_of(each)}

    def keys(topic: str, partition: str) -> dict[str, KeyModel]:
        number = int(partition.rpartition("-")[2])
        return {
            name: key_model(name, topic, number, of_producers[name])
            for each in spec.producers
            if each.topic == topic and each.keys
            for name in _processes_of(each)
        }

    registry = TopicRegistry(profile, config, settings, committed, metadata, emit, keys, streams.seed, whole)
    for topic in spec.topics:
        registry.begin(topic.name, placement_of(topic, spec, streams), topic.config, live)
    return Parts(profile, config, committed, metadata, registry.replicas, registry.lineages, registry, of_producers)


def settings_of(spec: ClusterSpec, profile: Profile) -> TopicSettings:
    """What one broker knows of topics' settings at the first instant: everything."""
    settings = TopicSettings(profile, spec.config, spec.writeback_us)
    for topic in spec.topics:
        settings.configure(topic.name, topic.config)
    return settings


def _processes_of(producer: ProducerSpec) -> tuple[str, ...]:
    """The names that a producer's records go by: a transactional one may have a second process for a while."""
    return (producer.name, producer.name + RIVAL) if producer.config.get("transactional.id") else (producer.name,)


def _keys_of(producer: ProducerSpec) -> ProducerKeys:
    return ProducerKeys(KeySet(producer.keys, producer.skew, producer.partitioner), producer.tombstones)


# The interface of a control plane: its nodes, every broker's way to them, and the view of its members.


# The view of one member of the control plane, as screens and conditions see it.


ControllerRole = Literal["active", "leader", "follower", "candidate", "looking", "standby", "zombie", "down"]
"""``active``: acts as controller; ``zombie``: acts as one though there is a newer; ``standby``: waits to be one.

``leader``, ``follower``, ``candidate`` and ``looking`` tell where a quorum's member stands that is not the controller.
"""


@dataclass(frozen=True, slots=True)
class ControllerView:
    """A node of the control plane: a KRaft controller, a ZooKeeper server, or a broker that is the controller."""

    node: int
    name: str
    role: ControllerRole
    """As the node itself believes; ``down`` while its process is not there."""
    epoch: int
    """The newest epoch that it knows of: of the quorum, or the controller epoch of a ZooKeeper-mode controller."""
    end: int
    """End of its log, -1 where it has none."""
    committed: int
    """What it knows to be committed of that, -1 likewise."""
    faults: tuple[str, ...] = ()
    """Names of the faults active on it."""


class Server(Node, Protocol):
    """A process of its own that belongs to the plane: a controller, a ZooKeeper server."""

    def stopped(self) -> None:
        """The process died: memory is gone."""

    def started(self) -> None:
        """The process runs again."""

    def shut_down(self) -> None:
        """SIGTERM: the process ends in order."""


class Plane(Protocol):
    """One of them stands behind each cluster. What it tells here is for views and selectors, not for nodes."""

    servers: dict[int, tuple[str, Server]]
    """Node id → name and node of every process that the plane has besides the brokers'."""

    def join(self, broker: Broker, port: NodeContext, rack: str) -> Control:
        """Make a broker's side of it; every broker joins once, before :meth:`begin`."""

    def begin(self) -> None:
        """Stand in a formed cluster at its first instant: all registered, all decisions told to every broker."""

    def controllers(self) -> tuple[int, ...]:
        """Nodes that are or may become the controller, brokers' among them."""

    def active(self) -> int:
        """The node that acts as controller, NOBODY while none does. The newest by epoch, if several believe it."""

    def controller_epoch(self) -> int:
        """Epoch of the newest controller."""

    def view(self) -> tuple[ControllerView, ...]:
        """Every node of the plane as it sees itself; in ZooKeeper mode the servers, then the broker that is controller.

        ``role`` is ``down`` where the process is not there. A new controller also emits :class:`ControllerChanged`.
        """

    def is_live(self, broker: int) -> bool:
        """Whether a broker counts as alive by the committed state: registered, and not fenced."""

    def is_shutting_down(self, broker: int) -> bool:
        """Whether the controller knows a broker to be in controlled shutdown."""

    def broker_epoch(self, broker: int) -> int:
        """Of a broker's registration as committed, -1 for none."""

    def being_deleted(self, topic: str) -> bool:
        """Whether a topic's deletion is committed, and its partitions are still there."""

    def obeyed_epoch(self, broker: int) -> int:
        """The newest controller epoch that a broker's process has taken up."""

    def controller_known_to(self, broker: int) -> int:
        """Whom a running broker takes for the active controller, NOBODY while it knows none."""

    @property
    def session_us(self) -> int:
        """Silence after which a broker is given up."""

    def expire_session(self, broker: int) -> bool:
        """Give a broker up now, as if it had been silent for its session's time; False where nobody can.

        By the ensemble in ZooKeeper mode, by the active controller in KRaft mode. The broker is told nothing.
        """

    def depose_controller(self) -> bool:
        """Take the active controller's office from it, its process being well; False where it has none or nobody can.

        In ZooKeeper mode an operator deletes /controller, in KRaft mode the quorum's leader resigns its epoch.
        """

    def hold_metadata(self, broker: int, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Let what a broker is told of metadata take effect that late, 0: not until :meth:`pass_metadata`.

        ``cache_only``: in ZooKeeper mode UpdateMetadata alone, so that it leads and follows as it is told.
        """

    def pass_metadata(self, broker: int, fault: int) -> None:
        """Undo of :meth:`hold_metadata` by that fault."""

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """An administrator's election."""

    def save(self) -> tuple[Any, ...]:
        """All state but the brokers' sides."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
