"""The control plane of ZooKeeper mode: an ensemble of servers, and a KafkaController in every broker."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.broker.broker import Broker
from cluster_model.controller.cluster_parts import (
    ClusterParts,
    ControllerRole,
    ControllerView,
    ControlPlaneServer,
    FinalizedFeatures,
    Software,
)
from cluster_model.controller.committed_state import CommittedPartition, TopicRegistry
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.broker_side import ZooKeeperBrokerClient
from cluster_model.controller.zookeeper.controller_context import LiveBroker, PartitionMachineState, ReplicaMachineState
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_IDS,
    CONFIG_CHANGES,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    ISR_CHANGES,
    PERSISTENT,
    TOPICS,
    BrokerNode,
    ReplicaAssignment,
    StateNode,
    TopicNode,
    broker_config_path,
    broker_path,
    config_path,
    index_of,
    partition_at,
    partition_paths,
    state_of,
    state_path,
    topic_at,
    topic_of,
    topic_path,
    topic_with_config_at,
)
from cluster_model.controller.zookeeper.messages import UpdateMetadataRequest
from cluster_model.controller.zookeeper.zk_admin_manager import RandomPlacement
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import BrokerFenced, BrokerRegistered, Event
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import ClusterSpec
from cluster_model.zookeeper.ensemble import Ensemble
from cluster_model.zookeeper.messages import ServerState

# The start of a ZooKeeper-mode cluster: all znodes exist, brokers are registered, metadata is delivered.


FIRST_EPOCH = 1
"""Controller epoch of the first controller."""
Step = tuple[int, Any]
"""A broker and an operation of it."""


def form_cluster(
    service: Ensemble,
    controls: dict[int, ZooKeeperBrokerClient],
    spec: ClusterSpec,
    records: Mapping[str, CommittedPartition],
) -> None:
    """Form the cluster at its start; the broker with the lowest id is the controller."""
    first = min(controls)
    by_topic: dict[str, list[CommittedPartition]] = {}
    for name, record in records.items():
        by_topic.setdefault(topic_of(name), []).append(record)
    steps: list[Step] = [(first, kafka_zk_client.create(path)) for path in PERSISTENT]
    steps += [
        (first, kafka_zk_client.create(CONTROLLER_EPOCH, (0,))),
        (first, kafka_zk_client.put(CONTROLLER_EPOCH, (FIRST_EPOCH,))),
    ]
    steps += [
        (broker, kafka_zk_client.create(broker_path(broker), BrokerNode(control.rack), ephemeral=True))
        for broker, control in controls.items()
    ]
    steps.append((first, kafka_zk_client.create(CONTROLLER, (first,), ephemeral=True)))
    configs = {topic.name: tuple(topic.config.items()) for topic in spec.topics}
    for topic, partitions in by_topic.items():
        steps += _topic(first, topic, configs.get(topic, ()), partitions)
    steps += _watches(first, controls, list(by_topic))
    registered = len(steps)
    steps += [(first, kafka_zk_client.get(broker_path(broker))) for broker in controls]
    clients = [(broker, control.session.client) for broker, control in controls.items()]
    results = service.begin(clients, steps)
    live: dict[int, LiveBroker] = {}
    for (broker, control), result in zip(controls.items(), results[registered:], strict=True):
        assert result.stat is not None
        live[broker] = LiveBroker(result.stat.czxid, control.rack)
    _activate(controls[first], first, live, by_topic)
    _deliver_metadata(controls, first, live, records)


def _topic(first: int, topic: str, config: tuple[Any, ...], partitions: list[CommittedPartition]) -> list[Step]:
    assignment = tuple(ReplicaAssignment(index_of(record.name), record.assignment) for record in partitions)
    steps = [
        (first, kafka_zk_client.create(config_path(topic), config)),
        (first, kafka_zk_client.create(topic_path(topic), TopicNode(partitions[0].topic_id, assignment))),
        (first, kafka_zk_client.create(partition_paths(partitions[0].name)[0])),
    ]
    for record in partitions:
        node = StateNode(record.leader, record.leader_epoch, record.isr, FIRST_EPOCH, by="new partition")
        steps += [
            (first, kafka_zk_client.create(partition_paths(record.name)[1])),
            (first, kafka_zk_client.create(state_path(record.name), node)),
        ]
    return steps


def _watches(first: int, controls: dict[int, ZooKeeperBrokerClient], topics: list[str]) -> list[Step]:
    steps: list[Step] = []
    for broker in controls:
        steps += [
            (broker, kafka_zk_client.exists(CONTROLLER, watch=True)),
            (broker, kafka_zk_client.children(CONFIG_CHANGES, watch=True)),
        ]
    steps += [
        (first, kafka_zk_client.children(path, watch=True)) for path in (BROKER_IDS, TOPICS, DELETE_TOPICS, ISR_CHANGES)
    ]
    steps += [(first, kafka_zk_client.get(topic_path(topic), watch=True)) for topic in topics]
    return steps


def _activate(
    control: ZooKeeperBrokerClient,
    first: int,
    live: dict[int, LiveBroker],
    by_topic: dict[str, list[CommittedPartition]],
) -> None:
    """Fill the context of the first controller, as after a failover."""
    context = control.controller.work.context
    context.active = True
    context.epoch, context.epoch_version = FIRST_EPOCH, 1
    context.brokers = dict(live)
    for topic, partitions in by_topic.items():
        context.assign(
            topic,
            partitions[0].topic_id,
            tuple(ReplicaAssignment(index_of(record.name), record.assignment) for record in partitions),
        )
        for record in partitions:
            context.update_state(record.name, StateNode(record.leader, record.leader_epoch, record.isr, FIRST_EPOCH), 0)
            context.partition_states[record.name] = PartitionMachineState.ONLINE
            for broker in record.assignment:
                context.replicas[record.name, broker] = ReplicaMachineState.ONLINE
    control.controller.begin()


def _deliver_metadata(
    controls: dict[int, ZooKeeperBrokerClient],
    first: int,
    live: dict[int, LiveBroker],
    records: Mapping[str, CommittedPartition],
) -> None:
    states = tuple([record.state for record in records.values()])
    epochs = tuple([known.epoch for known in live.values()])
    racks = tuple([known.rack for known in live.values()])
    metadata = UpdateMetadataRequest(0, first, FIRST_EPOCH, -1, states, tuple(live), epochs, racks)
    for broker, control in controls.items():
        control.controller.work.context.leader = first
        control.controller_requests.begin(metadata, FIRST_EPOCH)
        control.controller_requests.apply_roles(tuple([state for state in states if broker in state.replicas]))
        control.begin(live[broker].epoch)


# The writes that the ensemble commits, for the registry of topics and for the event log. No node reads them here. They
# are published when a majority of the ensemble has a write, before any client learns of it.


class ZooKeeperStatePublisher:
    """Publishes the ensemble's committed writes to the registry and as events."""

    __slots__ = ("_config", "_emit", "_now", "_registry", "_topic_node")

    def __init__(
        self,
        registry: TopicRegistry,
        emit: Callable[[Event], None],
        now: Callable[[], int],
        topic_node: Callable[[str], TopicNode],
        config: Callable[[str], dict[str, Any]],
    ) -> None:
        """``topic_node`` and ``config`` read committed data: a topic's znode, and the settings at a path."""
        self._registry = registry
        self._emit = emit
        self._now = now
        self._topic_node = topic_node
        self._config = config

    def commit(self, path: str, data: Any, version: int, _zxid: int, operation: str) -> None:
        """Publish one znode that was created, set or deleted."""
        if path.startswith(f"{BROKER_IDS}/"):
            self._broker_changed(int(path.rpartition("/")[2]), operation)
        elif partition_at(path):
            if operation != "delete":
                self._partition_changed(partition_at(path), data, version)
        elif topic_at(path):
            self._topic_changed(topic_at(path), data, operation)
        elif topic_with_config_at(path):
            topic = topic_with_config_at(path)
            if operation == "set" and self._registry.has_topic(topic):
                self._registry.configure(topic, dict(data), self._now())
        elif path == broker_config_path("") and operation != "delete":
            self._registry.configure_brokers(dict(data))

    def _broker_changed(self, broker: int, operation: str) -> None:
        if operation == "create":
            self._emit(BrokerRegistered(self._now(), broker))
        elif operation == "delete":
            self._emit(BrokerFenced(self._now(), broker, "its session with ZooKeeper is over"))

    def _partition_changed(self, partition: str, node: Any, version: int) -> None:
        now = self._now()
        topic = topic_of(partition)
        state = state_of(partition, self._topic_node(topic), node, version)
        if partition in self._registry.committed.records:
            self._registry.committed.commit(PartitionChange(state, node.by, node.clean), now)
        else:
            first = not self._registry.has_topic(topic)
            self._registry.record_created((state,), self._config(config_path(topic)) if first else None, now)

    def _topic_changed(self, topic: str, node: Any, operation: str) -> None:
        if operation == "delete":
            if self._registry.has_topic(topic):
                self._registry.delete(topic, self._now())
        elif operation == "set":
            for index, replicas, adding, removing in node.partitions:
                record = self._registry.committed.records.get(f"{topic}-{index}")
                if record is not None:
                    state = record.state._replace(replicas=replicas, adding=adding, removing=removing)
                    self._registry.committed.commit(PartitionChange(state, "reassignment"), self._now())


_ROLES: Final[dict[ServerState, ControllerRole]] = {
    ServerState.LOOKING: "looking",
    ServerState.FOLLOWING: "follower",
    ServerState.LEADING: "leader",
}


class ZooKeeperControlPlane:
    """Control plane of one ZooKeeper-mode cluster."""

    def __init__(
        self,
        spec: ClusterSpec,
        parts: ClusterParts,
        network: Network,
        streams: RandomStreams,
        emit: Callable[[Event], None],
    ) -> None:
        self._spec = spec
        self._parts = parts
        self._network = network
        self._streams = streams
        self._emit = emit
        truth = ZooKeeperStatePublisher(
            parts.registry, emit, lambda: network.kernel.now, self._topic_node, self._config
        )
        self.service = Ensemble(network, spec.zookeepers, on_commit=truth.commit)
        self.servers: dict[int, tuple[str, ControlPlaneServer]] = dict(self.service.nodes)
        self.controls: dict[int, ZooKeeperBrokerClient] = {}
        self.on_features: Callable[[int], None] = lambda node: None

    def finalized_features(self, node: int) -> FinalizedFeatures:
        """Return nothing: ZooKeeper mode has no feature levels."""
        return FinalizedFeatures({}, 0)

    def install(self, node: int, software: Software) -> None:
        """Do nothing: servers of ZooKeeper are not of a Kafka release."""

    def join(self, broker: Broker, port: NodeContext, rack: str, software: Software) -> ZooKeeperBrokerClient:
        """Make the control-plane client of a broker."""
        control = ZooKeeperBrokerClient(
            broker, port, rack, self.service.servers, software.profile, software.config, dict(self._spec.config),
            self._emit, self._draw, lambda: tuple(self.controls),
        )  # fmt: skip
        self.controls[broker.id] = control
        return control

    def _draw(self, topic: str, brokers: int) -> RandomPlacement:
        stream = self._streams.named(f"placement:{topic}")
        return RandomPlacement(self._parts.registry.new_topic_id(), stream.below(brokers), stream.below(brokers))

    def _topic_node(self, topic: str) -> TopicNode:
        node: TopicNode = self.service.tree.nodes[topic_path(topic)].data  # type: ignore[assignment]
        return node

    def _config(self, path: str) -> dict[str, Any]:
        node = self.service.tree.nodes.get(path)
        return {} if node is None else dict(node.data)

    def begin(self) -> None:
        """Start as a formed cluster: all brokers registered with metadata, the lowest id controller in epoch 1."""
        form_cluster(self.service, self.controls, self._spec, self._parts.committed.records)

    def _newest(self) -> ZooKeeperBrokerClient | None:
        active = [control for control in self.controls.values() if control.controller.is_active]
        return max(active, key=lambda control: control.controller.work.context.epoch, default=None)

    def controllers(self) -> tuple[int, ...]:
        """Ids of all brokers, each of which can become the controller."""
        return tuple(self.controls)

    def active(self) -> int:
        """The broker that acts as the controller; if several do, the one of the newest epoch."""
        newest = self._newest()
        return NO_LEADER if newest is None else newest.controller.work.broker_id

    def controller_epoch(self) -> int:
        """Controller epoch in ZooKeeper."""
        node = self.service.tree.nodes.get("/controller_epoch")
        return 0 if node is None else int(node.data[0])

    def member_views(self) -> tuple[ControllerView, ...]:
        """The servers, then every broker that acts as the controller, rightly or as a zombie."""
        views = [self._server_view(number, name) for number, (name, _node) in self.service.nodes.items()]
        newest = self._newest()
        for broker, control in self.controls.items():
            if control.controller.is_active:
                role: ControllerRole = "active" if control is newest else "zombie"
                epoch = control.controller.work.context.epoch
                views.append(ControllerView(broker, f"broker {broker}", role, epoch, -1, -1))
        return tuple(views)

    def _server_view(self, number: int, name: str) -> ControllerView:
        node = self.service.server(number)
        role = _ROLES[node.state]
        if self._network.processes[number].state in (ProcessState.DOWN, ProcessState.OFF):
            role = "down"
        elif node.state is ServerState.LEADING and not node.leader.established:
            role = "candidate"
        store = node.store
        return ControllerView(number, name, role, store.current_epoch, store.last_zxid, store.committed)

    def is_live(self, broker: int) -> bool:
        """Whether the broker's znode exists."""
        return broker_path(broker) in self.service.tree.nodes

    @property
    def session_us(self) -> int:
        """``zookeeper.session.timeout.ms`` in µs."""
        return self._parts.config.session_us

    def is_shutting_down(self, broker: int) -> bool:
        """Whether the newest controller knows the broker to be shutting down."""
        newest = self._newest()
        return newest is not None and broker in newest.controller.work.context.shutting_down

    def broker_epoch(self, broker: int) -> int:
        """Czxid of the broker's znode (KIP-380), -1 if there is none."""
        node = self.service.tree.nodes.get(broker_path(broker))
        return NO_LEADER if node is None else node.czxid

    def being_deleted(self, topic: str) -> bool:
        """Whether the topic is listed in /admin/delete_topics."""
        return f"{DELETE_TOPICS}/{topic}" in self.service.tree.nodes

    def accepted_controller_epoch(self, broker: int) -> int:
        """Highest controller epoch of any request that the broker has received."""
        return self.controls[broker].controller_requests.controller_epoch

    def known_controller(self, broker: int) -> int:
        """The controller by the broker's last UpdateMetadata; the broker itself if it acts as one."""
        control = self.controls[broker]
        return broker if control.controller.is_active else control.controller_requests.controller

    def expire_session(self, broker: int) -> bool:
        """End a broker's session at the ensemble: its ephemeral znodes are removed."""
        return self.service.expire_session(broker)

    def resign_controller(self) -> bool:
        """Delete /controller as an operator does; the session of its creator remains."""
        return self.service.delete(CONTROLLER)

    def delay_metadata(self, broker: int, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Delay the controller's requests at a broker."""
        self.controls[broker].controller_requests.hold_metadata(fault, delay_us, cache_only=cache_only)

    def stop_delaying_metadata(self, broker: int, fault: int) -> None:
        """Undo :meth:`delay_metadata`."""
        self.controls[broker].controller_requests.pass_metadata(fault)

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """Run an administrator's election: checked at once in the controller's context, run by its event thread."""
        newest = self._newest()
        if newest is None:
            return KafkaError.LEADER_NOT_AVAILABLE
        return newest.controller.elect(partition, unclean=unclean)

    def save(self) -> tuple[Any, ...]:
        """State of the ensemble; brokers save their own part."""
        return self.service.save()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.service.load(saved)
