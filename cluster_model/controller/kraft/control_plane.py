"""The control plane of a KRaft cluster: controllers, control-plane clients of brokers, and committed state."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Handlers
from cluster_model.connections.network_client import CONNECTIONS
from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.controller.cluster_parts import (
    ClusterParts,
    ControllerRole,
    ControllerView,
    ControlPlaneServer,
    FinalizedFeatures,
    Software,
)
from cluster_model.controller.committed_state import TopicRegistry
from cluster_model.controller.kraft.broker_side import (
    BatchObserver,
    ControllerOf,
    FeatureObserver,
    KraftBrokerClient,
    PeerOf,
)
from cluster_model.controller.kraft.metadata import (
    FENCE,
    UNFENCE,
    BrokerRegistration,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    InitialImage,
    MetadataImage,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    topic_of,
)
from cluster_model.controller.kraft.quorum_controller import QuorumController
from cluster_model.controller.raft.raft import Role
from cluster_model.controller.raft.raft_client import MetadataListener, RaftClient, form_quorum
from cluster_model.controller.raft.raft_log import QuorumStore
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.controller.rules.replica_placement import Draw
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.config_defs import MIN_ISR, ConfigValue
from cluster_model.protocol.configs import BrokerConfig, ControllerSettings, QuorumConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import BrokerFenced, BrokerRegistered, ControllerChanged, Event, FeatureFinalized
from cluster_model.protocol.messages import NO_LEADER, ApiVersionsRequest, ApiVersionsResponse, PartitionState
from cluster_model.protocol.metadata_versions import latest_of
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ClusterSpec

# A dedicated controller: a separate process with a voter of the quorum (``process.roles=controller``).


class ControllerNode:
    """A controller process that is not a broker: a quorum voter with a QuorumController."""

    __slots__ = (
        "_base", "_handlers", "_node", "_on_batch", "_on_features", "connections", "controller", "image", "is_running",
        "peer",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        base: InitialImage,
        peer_of: PeerOf,
        controller_of: ControllerOf,
        on_batch: BatchObserver,
        on_features: FeatureObserver,
        connections: ProcessConnections,
    ) -> None:
        self.is_running = True
        """Whether the process is running."""
        self._base = base
        self._on_batch = on_batch
        self._on_features = on_features
        self._node = port.node_id
        self.image = MetadataImage(base)
        """Image of the records that this node knows to be committed."""
        self.connections = connections
        """Connections to other controllers."""
        self.peer = peer_of(port, self, connections)
        self.peer.on_left = lambda: port.exit("shutdown")
        self.controller = controller_of(port, self.peer, self.image)

        def send_versions(source: int, request: ApiVersionsRequest) -> None:
            port.send(source, ApiVersionsResponse(request.correlation_id))

        self._handlers: Handlers = {
            **self.controller.handlers, **connections.handlers, ApiVersionsRequest: send_versions
        }  # fmt: skip

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""
        if not self.peer.receive(source, message):
            self._handlers[type(message)](source, message)

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        if timer[0] == CONNECTIONS:
            self.connections.on_timer(timer[1])
        elif not self.peer.on_timer(timer):
            self.controller.on_timer(timer)

    def on_disconnect(self, peer: int) -> None:
        """A connection broke."""
        self.connections.disconnected(peer)

    def on_leader(self, epoch: int) -> None:
        """The node became the leader of the quorum: activate the controller."""
        self.controller.on_leader(epoch)

    def on_resigned(self) -> None:
        """The node lost the leadership: deactivate the controller."""
        self.controller.on_resigned()

    def on_committed(self, base_offset: int, _epoch: int, records: tuple[Record, ...]) -> None:
        """Apply a committed batch."""
        self._on_batch(base_offset, records)
        before = self.image.features_offset
        self.image.replay(base_offset, records)
        self.controller.on_committed(base_offset + len(records))
        if self.image.features_offset != before:
            self._on_features(self._node)

    def started(self) -> None:
        """The process was restarted; it replays the log up to the high watermark that the quorum reports."""
        self.is_running = True
        self.image.reset(self._base)
        self.peer.started()

    def shut_down(self) -> None:
        """SIGTERM: a leader resigns first."""
        self.peer.leave()

    def stopped(self) -> None:
        """The process died."""
        self.is_running = False
        self.controller.stopped()
        self.peer.stopped()
        self.connections.stopped()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.is_running, self.peer.save(), self.image.save(), self.controller.save(), self.connections.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the network."""
        self.is_running, peer, image, controller, connections = saved
        self.connections.load(connections)
        self.peer.load(peer)
        self.image.load(image)
        self.controller.load(controller)


# The committed state of a KRaft cluster, for observers: up to date as soon as any quorum node sees a commit.


class KraftStatePublisher:
    """Publishes committed metadata records to the registry and as events, once, when the first node sees them."""

    __slots__ = ("_emit", "_now", "_registry", "image")

    def __init__(
        self, base: InitialImage, registry: TopicRegistry, now: Callable[[], int], emit: Callable[[Event], None]
    ) -> None:
        self.image = MetadataImage(base)
        self._registry = registry
        self._now = now
        self._emit = emit

    def publish(self, base_offset: int, records: tuple[Record, ...]) -> None:
        """Publish a batch that a node has seen committed; repeats by later nodes are ignored."""
        if base_offset < self.image.next_offset:
            return
        for offset, record in enumerate(records, base_offset):
            self._before(record)
            cleared = self.image.with_elr(record.topic) if isinstance(record, ClearElrRecord) else ()
            self.image.replay(offset, (record,))
            self._after(record, records)
            for partition in cleared:
                change = PartitionChange(self.image.partitions[partition], f"{MIN_ISR} changed")
                self._registry.committed.commit(change, self._now())

    def _before(self, record: Record) -> None:
        if isinstance(record, RemoveTopicRecord):
            self._registry.delete(record.name, self._now())

    def _after(self, record: Record, records: tuple[Record, ...]) -> None:
        now = self._now()
        if isinstance(record, PartitionChangeRecord):
            self._registry.committed.commit(PartitionChange(record.state, record.by, record.clean), now)
        elif isinstance(record, PartitionRecord):
            self._created(record.state, now)
        elif isinstance(record, BrokerRegistrationChangeRecord):
            if record.fenced == FENCE:
                self._emit(BrokerFenced(now, record.broker, record.reason))
            elif record.fenced == UNFENCE:
                self._emit(BrokerRegistered(now, record.broker))
        elif isinstance(record, ConfigRecord):
            self._configured(record, records)
        elif isinstance(record, FeatureLevelRecord):
            self._emit(FeatureFinalized(now, f"{record.name} {record.level}"))
        elif isinstance(record, RegisterBrokerRecord) and not record.fenced:
            self._emit(BrokerRegistered(now, record.broker))

    def _created(self, state: PartitionState, now: int) -> None:
        topic = topic_of(state.partition)
        first = not self._registry.has_topic(topic)
        self._registry.record_created((state,), dict(self.image.config("topic", topic)) if first else None, now)

    def _configured(self, record: ConfigRecord, records: tuple[Record, ...]) -> None:
        """Publish changed settings once per batch, at the last record of a resource."""
        same = [each for each in records if isinstance(each, ConfigRecord) and each[:2] == record[:2]]
        if same[-1] is not record:
            return
        if record.type == "topic":
            if self._registry.has_topic(record.name):
                self._registry.configure(record.name, dict(self.image.config("topic", record.name)), self._now())
        elif not record.name:
            self._registry.configure_brokers(dict(self.image.config("broker", "")))


_ROLES: Final[dict[Role, ControllerRole]] = {
    Role.UNATTACHED: "looking",
    Role.FOLLOWER: "follower",
    Role.PROSPECTIVE: "candidate",
    Role.CANDIDATE: "candidate",
    Role.LEADER: "leader",
    Role.RESIGNED: "looking",
}


def initial_image(spec: ClusterSpec, parts: ClusterParts) -> InitialImage:
    """Return the initial content of the log of a formed cluster: all brokers registered, all topics created.

    It stands for the records up to offset 0, which is therefore the broker epoch of every registration.
    """
    states = tuple(record.state for record in parts.committed.records.values())
    ids = {state.partition.rpartition("-")[0]: state.topic_id for state in states}
    return InitialImage(
        tuple(
            BrokerRegistration(
                broker.id, 0, 0, broker.rack, fenced=False, newest_level=latest_of(parts.profile.version).number
            )
            for broker in spec.brokers
        ),
        tuple(ids.items()),
        states,
        tuple((("topic", topic.name), tuple(topic.config.items())) for topic in spec.topics if topic.config),
    )


class NodeSettings(NamedTuple):
    """Settings of a node of the quorum, or an observer of it, by its release and its static configuration."""

    profile: Profile
    controller: ControllerSettings
    quorum: QuorumConfig

    @classmethod
    def of(cls, profile: Profile, config: Mapping[str, ConfigValue]) -> "NodeSettings":
        """Return the settings of a release with the given static configuration."""
        return cls(profile, ControllerSettings.of(profile, config), QuorumConfig.of(profile, config))


class KraftControlPlane:
    """Control plane of one KRaft cluster."""

    def __init__(
        self,
        spec: ClusterSpec,
        parts: ClusterParts,
        port_of: Callable[[int], NodeContext],
        streams: RandomStreams,
        emit: Callable[[Event], None],
    ) -> None:
        self._spec = spec
        self._parts = parts
        self._streams = streams
        self._base = initial_image(spec, parts)
        self._settings = NodeSettings.of(parts.profile, spec.config)
        self._installed: dict[int, NodeSettings] = {}
        """Settings of nodes that run another release than the cluster was formed with."""
        self._store = QuorumStore()
        self._emit = emit
        self._clock = clock = port_of(spec.voters[0]).clock
        self._truth = KraftStatePublisher(self._base, parts.registry, lambda: clock.now, emit)
        self._controls: dict[int, KraftBrokerClient] = {}
        self._port_of = port_of
        self.on_features: Callable[[int], None] = lambda node: None
        """Called with a node that has replayed a record of a feature level."""
        self._nodes = {
            node: self._controller_node(node, parts.config) for node in spec.voters if node not in spec.combined
        }
        self.servers: dict[int, tuple[str, ControlPlaneServer]] = {
            node: (f"controller {node}", server) for node, server in self._nodes.items()
        }

    def _controller_node(self, node: int, config: BrokerConfig) -> ControllerNode:
        port, jitter = self._port_of(node), self._streams.named(f"connections:{node}")
        return ControllerNode(
            port, self._base, self._peer, self._controller, self._truth.publish, self._features_replayed,
            ProcessConnections(port, config.connections, jitter),
        )  # fmt: skip

    def _features_replayed(self, node: int) -> None:
        self.on_features(node)

    def finalized_features(self, node: int) -> FinalizedFeatures:
        """Return the feature levels finalized since the cluster was formed that a node knows of."""
        image = self._nodes[node].image if node in self._nodes else self._controls[node].image
        return FinalizedFeatures(image.features, image.features_offset)

    def _settings_of(self, node: int) -> NodeSettings:
        return self._installed.get(node, self._settings)

    def install(self, node: int, software: Software) -> None:
        """Replace the software of a dedicated controller; its state is kept."""
        self._installed[node] = NodeSettings.of(software.profile, self._spec.config)
        saved = self._nodes[node].save()
        self._nodes[node] = upgraded = self._controller_node(node, software.config)
        upgraded.load(saved)
        self.servers[node] = (self.servers[node][0], upgraded)

    def load_from(self, other: "KraftControlPlane") -> None:
        """Prepare to load snapshots of another cluster: batches that they leave out are in its log store."""
        self._store.original = other._store

    def _peer(self, port: NodeContext, listener: MetadataListener, connections: ProcessConnections) -> RaftClient:
        """Make a quorum member and its connections (``KafkaRaftManager.buildNetworkClient``)."""
        stream = self._streams.named(f"raft:{port.node_id}")
        quorum = self._settings_of(port.node_id).quorum
        channel = connections.open(quorum.request_timeout_us, asks_versions=True)
        peer = RaftClient(port, self._spec.voters, self._store, quorum, stream, listener, channel.client)
        channel.failed, channel.client.opened = peer.on_disconnect, peer.opened
        return peer

    def _draw(self, topic: str) -> Draw:
        return self._streams.named(f"placement:{topic}").below

    def _controller(self, port: NodeContext, peer: RaftClient, committed: MetadataImage) -> QuorumController:
        settings = self._settings_of(port.node_id)
        return QuorumController(
            port, peer, committed, self._base, settings.profile, settings.controller, self._spec.config, self._draw,
            self._emit_active,
        )  # fmt: skip

    def _emit_active(self, node: int, epoch: int) -> None:
        """Emit that a controller became active; the first epoch, in which the cluster forms, is no event."""
        if epoch > 1:
            broker = node if node in self._controls else NO_LEADER
            self._emit(ControllerChanged(self._clock.now, self._name(node), broker, epoch))

    def _name(self, node: int) -> str:
        return f"broker {node}" if node in self._controls else f"controller {node}"

    def join(self, broker: Broker, port: NodeContext, rack: str, software: Software) -> KraftBrokerClient:
        """Make the control-plane client of a broker, with a controller in it if the broker is one."""
        if broker.id in self._controls:
            self._installed[broker.id] = NodeSettings.of(software.profile, self._spec.config)
        control = KraftBrokerClient(
            broker,
            port,
            rack,
            self._base,
            software.profile,
            software.config,
            self._settings_of(broker.id).controller,
            self._streams.named(f"lifecycle:{broker.id}"),
            self._peer,
            self._controller if broker.id in self._spec.combined else None,
            self._truth.publish,
            self._features_replayed,
        )
        self._controls[broker.id] = control
        return control

    def begin(self) -> None:
        """Start as a formed cluster: the first voter leads epoch 1, and every node has all metadata."""
        peers = (*(node.peer for node in self._nodes.values()), *(control.peer for control in self._controls.values()))
        form_quorum(peers, self._spec.voters[0], ())
        for control in self._controls.values():
            control.begin(0)

    def _controllers(self) -> dict[int, QuorumController]:
        """Controllers by node id."""
        controllers = {number: node.controller for number, node in self._nodes.items()}
        for broker, control in self._controls.items():
            if control.controller is not None:
                controllers[broker] = control.controller
        return controllers

    def controllers(self) -> tuple[int, ...]:
        """Node ids of the voters."""
        return self._spec.voters

    def _newest(self) -> QuorumController | None:
        active = [controller for controller in self._controllers().values() if controller.active]
        return max(active, key=lambda controller: controller.epoch, default=None)

    def active(self) -> int:
        """The active controller; if an older one has not noticed its successor yet, the one of the newest epoch."""
        newest = self._newest()
        return NO_LEADER if newest is None else newest.node

    def controller_epoch(self) -> int:
        """The newest epoch in which a node became the active controller."""
        newest = self._newest()
        return max(self._store.log_branches) if newest is None else newest.epoch

    def member_views(self) -> tuple[ControllerView, ...]:
        """The voters as each sees itself."""
        newest = self._newest()
        views: list[ControllerView] = []
        for number in self._spec.voters:
            member = self._nodes[number] if number in self._nodes else self._controls[number]
            role = _ROLES[member.peer.node.role]
            controller = member.controller
            if not member.is_running:
                role = "down"
            elif controller is not None and controller.active:
                role = "active" if controller is newest else "zombie"
            peer = member.peer
            views.append(
                ControllerView(number, self._name(number), role, peer.epoch, peer.end, peer.high_watermark)
            )  # fmt: skip
        return tuple(views)

    def is_live(self, broker: int) -> bool:
        """Whether a broker is registered and not fenced, by the committed state."""
        known = self._truth.image.brokers.get(broker)
        return known is not None and not known.fenced

    def is_shutting_down(self, broker: int) -> bool:
        """Whether a broker's registration is committed as in controlled shutdown."""
        known = self._truth.image.brokers.get(broker)
        return known is not None and known.in_controlled_shutdown

    def broker_epoch(self, broker: int) -> int:
        """Offset of the record of a broker's registration, -1 if it has none."""
        known = self._truth.image.brokers.get(broker)
        return NO_LEADER if known is None else known.epoch

    def being_deleted(self, topic: str) -> bool:
        """Never true: the record that removes a topic removes its partitions."""
        del topic
        return False

    def accepted_controller_epoch(self, broker: int) -> int:
        """The quorum epoch that the broker's own quorum member knows."""
        return self._controls[broker].peer.epoch

    def known_controller(self, broker: int) -> int:
        """The quorum leader that the broker's own quorum member knows."""
        return self._controls[broker].peer.leader

    @property
    def session_us(self) -> int:
        """``broker.session.timeout.ms`` in µs."""
        newest = self._newest()
        return (self._settings if newest is None else self._settings_of(newest.node)).controller.session_us

    def expire_session(self, broker: int) -> bool:
        """Fence a broker at the active controller as if its heartbeats were late; its next heartbeat unfences it."""
        newest = self._newest()
        return newest is not None and newest.expire_session(broker)

    def resign_controller(self) -> bool:
        """Make the leader resign (``KafkaRaftClient.resign``): it notifies the voters, and can be elected again."""
        newest = self._newest()
        if newest is None:
            return False
        member = self._nodes[newest.node] if newest.node in self._nodes else self._controls[newest.node]
        member.peer.resign()
        return True

    def delay_metadata(self, broker: int, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Delay committed records at a broker; in KRaft mode its cache and its roles cannot be delayed separately."""
        del cache_only
        self._controls[broker].hold_metadata(fault, delay_us)

    def stop_delaying_metadata(self, broker: int, fault: int) -> None:
        """Undo :meth:`delay_metadata`."""
        self._controls[broker].pass_metadata(fault)

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """Run an administrator's election at the active controller, without a network message."""
        newest = self._newest()
        if newest is None:
            return KafkaError.NOT_CONTROLLER
        return newest.elect_leader(partition, unclean=unclean)

    def save(self) -> tuple[Any, ...]:
        """Lengths of the log, the committed image, and the dedicated controllers."""
        return (self._store.save(), self._truth.image.save(), tuple(node.save() for node in self._nodes.values()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after those of the network and the random streams."""
        store, truth, nodes = saved
        self._store.load(store)
        self._truth.image.load(truth)
        for node, state in zip(self._nodes.values(), nodes, strict=True):
            node.load(state)
