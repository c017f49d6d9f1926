"""A broker's part in ZooKeeper mode: session, registration, ISR changes and controlled shutdown.

The KafkaController (:mod:`~.zookeeper.kafka_controller`) and the handlers that write for administrators run in the same
process, so a crash or a pause of the process affects all of them. A broker learns of other brokers from UpdateMetadata
alone.
"""

from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Handlers, ListenerState
from cluster_model.connections.process_connections import BlockingConnection, Connector
from cluster_model.controller.rules.admin_rules import in_progress
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_event_queue import ControllerEventThread, SideEffects, Steps, Task
from cluster_model.controller.zookeeper.controller_requests import HELD, ControllerRequestHandler
from cluster_model.controller.zookeeper.isr_update import PROPAGATE, AlterIsrManager, IsrWriter
from cluster_model.controller.zookeeper.kafka_controller import KafkaController
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    CONTROLLER,
    TOPIC_CONFIGS,
    BrokerNode,
    ZkResult,
    broker_config_path,
    broker_path,
    config_path,
)
from cluster_model.controller.zookeeper.messages import (
    NO_EPOCH,
    AlterPartitionsRequest,
    AlterPartitionsResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cluster_model.controller.zookeeper.zk_admin_manager import (
    DELAYED,
    DelayedTopicOperations,
    RandomPlacement,
    ZkAdminManager,
)
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    UnregisterBrokerRequest,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
    refusal,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig, ZkControllerSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest
from cluster_model.protocol.versions import Profile
from cluster_model.zookeeper.client import ZkClient
from cluster_model.zookeeper.messages import (
    ClientPong,
    ConnectionClosed,
    ConnectResponse,
    OpResult,
    ServerReply,
    WatchEvent,
    WatchKind,
    ZkError,
)

# Tasks of a broker in ZooKeeper mode: registering, reading configurations, finding the controller.


TaskSteps = Generator[tuple[Any, ...], tuple[ZkResult, ...], None]
REGISTER_AGAIN = "register again"
ALL_BROKERS = "<default>"
"""Name of the configuration of all brokers."""


class BrokerTasks:
    """A broker's tasks in ZooKeeper, which run one at a time."""

    __slots__ = (
        "_broker", "_configured", "_effects", "_on_found", "_rack", "_read", "_registered", "_retry_us", "thread",
    )  # fmt: skip

    def __init__(
        self,
        broker: int,
        rack: str,
        retry_us: int,
        effects: SideEffects,
        ask: Callable[[Any, Task], None],
        registered: Callable[[int], None],
        configured: Callable[[str, str, tuple[Any, ...]], None],
        on_found: Callable[[int], None],
    ) -> None:
        """``registered`` receives the broker epoch; ``configured`` kind (``topic``, ``broker``), name and settings."""
        self._broker = broker
        self._rack = rack
        self._retry_us = retry_us
        self._effects = effects
        self._registered = registered
        self._configured = configured
        self._on_found = on_found
        self._read = 0
        """Number after that of the last config change notification that was read."""
        self.thread = ControllerEventThread("errands", self._begin, ask, effects, lambda: self._read, self._restore)

    def _restore(self, read: int) -> None:
        self._read = read

    def _begin(self, task: Task) -> Steps:
        name, *arguments = task
        if name == "register":
            return self._register(*arguments)
        if name == "configure":
            return self._configure()
        if name == "configs_changed":
            return self._configs_changed()
        if name == "topic":
            return self._read_configs([("topic", *arguments)])
        return self._find()

    def _register(self, session: int) -> TaskSteps:
        """Create the broker's ephemeral znode; its czxid is the broker epoch.

        A broker that restarts before its old session has expired finds its old znode. 0.8.2 waits for a session timeout
        and tries again (``ZkUtils.createEphemeralPathExpectConflictHandleZKBug``). From 0.9 on the process exits and is
        restarted by its supervisor: modelled as another try after the time of a start.
        """
        path = broker_path(self._broker)
        (created,) = yield (kafka_zk_client.create(path, BrokerNode(self._rack), ephemeral=True),)
        (found,) = yield (kafka_zk_client.get(path),)
        if found.ok and (created.ok or found.owner == session):
            self._effects.do(self._registered, found.czxid)
        else:
            self._effects.timer(self._retry_us, REGISTER_AGAIN, session)

    def _configure(self) -> TaskSteps:
        """Read all configurations at the start of the process."""
        (notes,) = yield (kafka_zk_client.children(CONFIG_CHANGES, watch=True),)
        (topics, brokers) = yield (kafka_zk_client.children(TOPIC_CONFIGS), kafka_zk_client.children(BROKER_CONFIGS))
        wanted = [("topic", name) for name in topics.children]
        wanted += [("broker", name) for name in (ALL_BROKERS, str(self._broker)) if name in brokers.children]
        yield from self._read_configs(wanted)
        self._read = _newest(notes.children, self._read)

    def _configs_changed(self) -> TaskSteps:
        """Read the configurations named in new change notifications (``DynamicConfigManager``)."""
        (listed,) = yield (kafka_zk_client.children(CONFIG_CHANGES, watch=True),)
        fresh = [note for note in listed.children if _number(note) >= self._read]
        if not fresh:
            return
        notes = yield tuple([kafka_zk_client.get(f"{CONFIG_CHANGES}/{note}") for note in fresh])
        wanted = list({answer.data: None for answer in notes if answer.ok})
        mine = ("", ALL_BROKERS, str(self._broker))
        yield from self._read_configs([(kind, name) for kind, name in wanted if kind == "topic" or name in mine])
        self._read = _newest(listed.children, self._read)

    def _read_configs(self, wanted: list[tuple[str, str]]) -> TaskSteps:
        if not wanted:
            return
        paths = [
            config_path(name) if kind == "topic" else broker_config_path("" if name == ALL_BROKERS else name)
            for kind, name in wanted
        ]
        answers = yield tuple([kafka_zk_client.get(path) for path in paths])
        for (kind, name), answer in zip(wanted, answers, strict=True):
            if answer.ok:
                self._effects.do(self._configured, kind, name, answer.data)

    def _find(self) -> TaskSteps:
        (found,) = yield (kafka_zk_client.get(CONTROLLER),)
        self._effects.do(self._on_found, found.data[0] if found.ok else NO_LEADER)

    def stopped(self) -> None:
        """The process died."""
        self.thread.abandon()
        self._read = 0


def _number(note: str) -> int:
    return int(note.rpartition("_")[2])


def _newest(notes: tuple[str, ...], read: int) -> int:
    return max([read, *[_number(note) + 1 for note in notes]])


# A broker's controlled shutdown (``KafkaServer.controlledShutdown``): it hands its leaderships over before it exits. It
# requests that of the controller that ZooKeeper names, up to three times with pauses, and then exits in any case. Its
# session is closed, so that its znode is removed at once. If ZooKeeper is unreachable it waits for it, as Kafka does.


AGAIN: Final = "controlled shutdown again"
TIMED_OUT: Final = "controlled shutdown timeout"


class ControlledShutdown:
    """Controlled shutdown of one broker; idle until SIGTERM."""

    __slots__ = (
        "_connection", "_connector", "_correlation", "_epoch", "_find", "_finish", "_left", "_looks", "_port",
        "_settings", "_target", "in_progress",
    )  # fmt: skip

    def __init__(
        self,
        connector: Connector,
        settings: ZkControllerSettings,
        epoch: Callable[[], int],
        find: Callable[[], None],
        finish: Callable[[], None],
    ) -> None:
        """``find`` looks up the controller and calls :meth:`on_controller_found`; ``finish`` ends the process."""
        self._connector = connector
        self._port = connector.port
        self._connection: BlockingConnection | None = None
        """Connection to the last requested controller, None before the first attempt."""
        self._settings = settings
        self._epoch = epoch
        self._find = find
        self._finish = finish
        self.in_progress = False
        self._left = 0
        """Number of attempts left."""
        self._target = NO_LEADER
        """The controller whose response or connection is awaited, NO_LEADER for none."""
        self._correlation = 0
        self._looks = False
        """Whether the lookup of the controller in ZooKeeper is in progress."""

    def start(self, *, registered: bool) -> None:
        """SIGTERM: start the shutdown; a broker that is not registered has nothing to hand over."""
        if self.in_progress:
            return
        self.in_progress = True
        self._left = self._settings.shutdown_retries
        if registered and self._settings.controlled_shutdown:
            self._try()
        else:
            self._finish()

    def _try(self) -> None:
        if self._left:
            self._left -= 1
            self._looks = True
            self._find()
        else:
            self._finish()

    def on_controller_found(self, controller: int) -> None:
        """Continue with the controller that ZooKeeper names, NO_LEADER if there is none."""
        if not self.in_progress:
            return
        self._looks = False
        if controller == NO_LEADER:
            self._failed()
            return
        self._target = controller
        self._correlation += 1
        if self._connection is None or self._connection.peer != controller:
            self._disconnect()
            self._connection = BlockingConnection(self._connector, controller, is_open=False)
        if self._connection.is_open:
            self._send_request()
        else:
            until = self._connection.begin(self._settings.socket_timeout_us)
            self._port.timer(until - self._port.now, TIMED_OUT, self._correlation)

    def connection_result(self, _peer: int, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of a connection attempt; False if it is of another connection."""
        connection = self._connection
        if connection is None or not connection.on_response(message):
            return False
        if connection.is_open:
            self._send_request()
        else:
            self._failed()
        return True

    def _send_request(self) -> None:
        self._correlation += 1
        request = ControlledShutdownRequest(self._correlation, self._port.node_id, self._epoch())
        self._port.send(self._target, request)
        self._port.timer(self._settings.socket_timeout_us, TIMED_OUT, self._correlation)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def session_began(self) -> None:
        """A new session began: repeat a lookup that was lost with the old one."""
        if self.in_progress and self._looks:
            self._find()

    def receive(self, response: ControlledShutdownResponse) -> None:
        """Handle the controller's response."""
        if self._target == NO_LEADER or response.correlation_id != self._correlation:
            return
        self._target = NO_LEADER
        if response.error or response.remaining:
            self._failed()
        else:
            self._finish()

    def _failed(self) -> None:
        self._target = NO_LEADER
        self._port.timer(self._settings.shutdown_backoff_us, AGAIN)

    def disconnected(self, peer: int) -> None:
        """The connection to the controller broke."""
        connection = self._connection
        if connection is not None and connection.peer == peer and connection.broke() and self._target != NO_LEADER:
            self._failed()

    def on_timer(self, timer: tuple[Any, ...]) -> bool:
        """Handle a timer; False if it is not one of the shutdown."""
        if timer[0] == AGAIN:
            if self.in_progress and self._target == NO_LEADER:
                self._try()
        elif timer[0] == TIMED_OUT:
            if self._target != NO_LEADER and timer[1] == self._correlation:
                self._disconnect()
                self._failed()
        else:
            return False
        return True

    def stopped(self) -> None:
        """The process ended."""
        self.in_progress = self._looks = False
        self._target = NO_LEADER
        self._disconnect()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        known = self._connection
        connection = () if known is None else (known.peer, known.save())
        return (self.in_progress, self._left, self._target, self._correlation, self._looks, connection)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.in_progress, self._left, self._target, self._correlation, self._looks, connection = saved
        self._connection = None
        if connection:
            self._connection = BlockingConnection(self._connector, connection[0], is_open=False)
            self._connection.load(connection[1])


# A broker's session with ZooKeeper: its operations, repeated over the next connection if one breaks
# (``ZooKeeperClient``). An operation whose response was lost is repeated, and may therefore take effect twice; callers
# of writes must handle that. Only the end of the session makes an operation fail, without a response.


FROM_SERVERS: Final = (ConnectResponse, ClientPong, ServerReply, WatchEvent, ConnectionClosed)
"""Messages of servers to the client."""


class SessionOwner(Protocol):
    """Callbacks of a session to the broker that it belongs to."""

    def session_began(self) -> None:
        """A session began: the first of this process, or a new one after an expiry."""

    def session_expired(self) -> None:
        """The session expired, and a new one is being created."""

    def watch_fired(self, path: str) -> None:
        """A watch of that path fired."""


class ZooKeeperSession:
    """ZooKeeper session of one broker (``ZooKeeperClient``)."""

    __slots__ = ("_lost", "_owner", "_pending", "_seen", "_takers", "client")

    def __init__(self, port: NodeContext, servers: tuple[int, ...], timeout_us: int, owner: SessionOwner) -> None:
        self.client = ZkClient(port, servers, timeout_us, self)
        self._owner = owner
        self._takers: dict[str, Callable[[Any, ZkResult], None]] = {}
        self._pending: deque[tuple[Any, Any]] = deque()
        """(operation, token) of every operation without a response, in order."""
        self._lost: list[tuple[Any, Any]] = []
        """Operations whose response was lost with a connection."""
        self._seen = 0
        """Id of the session that its owner knows of, 0 for none."""

    @property
    def id(self) -> int:
        """Id of the session, 0 for none."""
        return self.client.session

    def route(self, name: str, taker: Callable[[Any, ZkResult], None]) -> None:
        """Deliver responses to tokens that begin with ``name`` to this function."""
        self._takers[name] = taker

    def send(self, operation: Any, token: Any) -> None:
        """Send an operation; it is dropped if there is no session."""
        if self._seen:
            self._pending.append((operation, token))
            self.client.ask(operation, token)

    def begin(self, session: int) -> None:
        """Start in a formed cluster, with a session."""
        self._seen = session

    def stopped(self) -> None:
        """The process died."""
        self.client.stopped()
        self._forget()

    def close(self) -> None:
        """Close the session: its ephemeral znodes are removed at once."""
        self._seen = 0
        self.client.close()
        self._forget()

    def _forget(self) -> None:
        self._pending.clear()
        self._lost.clear()
        self._seen = 0

    def on_connected(self) -> None:
        """The client is connected: repeat lost operations, and announce a new session."""
        lost, self._lost = self._lost, []
        for operation, token in lost:
            self._pending.append((operation, token))
            self.client.ask(operation, token)
        if self.client.session != self._seen:
            self._seen = self.client.session
            self._owner.session_began()

    def on_disconnected(self) -> None:
        """The client lost its connection; operations keep waiting."""

    def on_expired(self) -> None:
        """The session expired."""
        self._forget()
        self._owner.session_expired()
        self.client.connect()

    def on_answer(self, token: Any, result: OpResult) -> None:
        """Handle the result of the oldest operation; one lost with the connection is repeated later."""
        if not self._pending:
            return
        operation, _token = self._pending.popleft()
        if result.error is ZkError.CONNECTION_LOSS:
            self._lost.append((operation, token))
        elif result.error is not ZkError.SESSION_EXPIRED:
            self._takers[token[0]](token, ZkResult.of(operation, result))

    def on_watch(self, path: str, _kind: WatchKind) -> None:
        """A watch fired."""
        self._owner.watch_fired(path)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.client.save(), tuple(self._pending), tuple(self._lost), self._seen)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        client, pending, lost, self._seen = saved
        self.client.load(client)
        self._pending = deque(pending)
        self._lost = list(lost)


STARTUP_US: Final = 2_000_000
"""From loaded logs until the process contacts ZooKeeper. Kafka has no such setting; a small broker takes seconds."""
START: Final = "zookeeper start"


class ZooKeeperBrokerClient:
    """Control-plane client of one broker in ZooKeeper mode."""

    def __init__(
        self,
        broker: Broker,
        port: NodeContext,
        rack: str,
        servers: tuple[int, ...],
        profile: Profile,
        config: BrokerConfig,
        defaults: dict[str, Any],
        emit: Callable[[Event], None],
        draw: Callable[[str, int], RandomPlacement],
        known_brokers: Callable[[], tuple[int, ...]],
    ) -> None:
        """``draw`` makes the random values of a new topic; ``known_brokers`` returns the ids of all brokers."""
        self.rack = rack
        self.broker_epoch = -1
        self.registered = False
        self._broker = broker
        self._port = port
        self._profile = profile
        self._draw = draw
        self._dynamic: dict[str, dict[str, Any]] = {}
        """Dynamic configurations of brokers: those of all brokers under the empty name, and this broker's own."""
        self._serving = False
        """Whether this process has registered and started its periodic tasks."""
        settings = ZkControllerSettings.of(profile, defaults)
        hands = SideEffects(port, emit)
        self.session = ZooKeeperSession(port, servers, config.session_us, self)
        ask = self.session.send
        self.controller = KafkaController(port, profile, config, defaults, hands, ask, broker.connections)
        self.writer = IsrWriter(port, profile, hands, ask, broker.isr_answered)
        self.controller_requests = ControllerRequestHandler(
            broker, port, self.writer, lambda: self.broker_epoch, lambda topic: self.tasks.thread.put("topic", topic)
        )
        versions = profile.controller_api_versions
        to_controller = broker.connections.open(settings.socket_timeout_us, asks_versions=versions)
        self.proposals = AlterIsrManager(
            to_controller.client,
            settings.socket_timeout_us,
            lambda: self.controller_requests.controller,
            lambda: self.broker_epoch,
            broker.isr_answered,
            broker.propose_again,
        )
        to_controller.failed = self.proposals.on_disconnect
        retry_us = config.session_us if profile.waits_for_own_session else STARTUP_US
        self.tasks = BrokerTasks(
            broker.id, rack, retry_us, hands, ask, self._registered, self._configured, self._controller_found
        )
        epoch = (lambda: self.broker_epoch) if profile.bounce_detected else (lambda: NO_EPOCH)
        self.controlled_shutdown = ControlledShutdown(
            broker.connections.connector, settings, epoch, self._find_controller, self._exit
        )
        broker.connections.add(self.controlled_shutdown)
        self._delayed = DelayedTopicOperations(port, lambda: broker.states)
        self._topics = ZkAdminManager(profile, defaults, hands, self._live, known_brokers, self._delayed.answer)
        self.requests = ControllerEventThread("requests", self._topics.begin, ask, hands, tuple, _nothing)
        for lane in (self.controller.lane, self.writer.lane, self.tasks.thread, self.requests):
            self.session.route(lane.name, lane.on_response)
        self.handlers: Handlers = self._make_handlers()

    def _make_handlers(self) -> Handlers:
        controller = self.controller
        table: Handlers = {
            LeaderAndIsrRequest: self.controller_requests.receive,
            UpdateMetadataRequest: self._update_metadata,
            StopReplicaRequest: self.controller_requests.receive,
            ControlledShutdownRequest: controller.controlled_shutdown,
            AlterPartitionsRequest: controller.alter_partitions,
            AlterPartitionsResponse: lambda _source, response: self.proposals.receive(response),
            ControlledShutdownResponse: lambda _source, response: self.controlled_shutdown.receive(response),
            ElectLeadersRequest: lambda source, request: controller.lane.put("elect_leaders", source, request),
            AlterPartitionReassignmentsRequest: lambda source, request: controller.lane.put(
                "reassign", source, request
            ),
            ListPartitionReassignmentsRequest: self._list_reassignments,
            DescribeClusterRequest: self._describe,
            UnregisterBrokerRequest: self._unregister,
            UpdateFeaturesRequest: self._update_features,
        }
        for answer in (LeaderAndIsrResponse, UpdateMetadataResponse, StopReplicaResponse):
            table[answer] = controller.responded
        for request in (
            CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest,
        ):  # fmt: skip
            table[request] = self._of_topics
        table[IncrementalAlterConfigsRequest] = table[DescribeConfigsRequest] = self._of_configs
        for client in FROM_SERVERS:
            table[client] = self._from_zookeeper
        return table

    def _update_metadata(self, source: int, request: UpdateMetadataRequest) -> None:
        self.controller_requests.receive(source, request)
        self._delayed.check()

    def _from_zookeeper(self, source: int, message: Any) -> None:
        self.session.client.receive(source, message)

    # -- process lifecycle ------------------------------------------------------------------------------------------

    def begin(self, broker_epoch: int) -> None:
        """Start registered in a formed cluster; roles and metadata are set by :func:`form`."""
        self.session.begin(self.session.id)
        self.broker_epoch = broker_epoch
        self.registered = True
        self._serve()

    def _serve(self) -> None:
        self._serving = True
        self.writer.serving()
        self._broker.serve()

    @property
    def listening(self) -> ListenerState:
        """State of the listeners: they open when the process has registered (``KafkaServer.startup``)."""
        return ListenerState.OPEN if self._serving else ListenerState.CLOSED

    def known_controller(self) -> int:
        """The controller named in the last UpdateMetadata."""
        return self.controller_requests.controller

    def dynamic_config(self, name: str) -> Mapping[str, ConfigValue]:
        """Dynamic configuration by ZooKeeper's change notifications (``DynamicConfigManager``)."""
        return self._dynamic.get(name, {})

    def fenced_brokers(self) -> tuple[int, ...]:
        """Always empty: in ZooKeeper mode a broker is either registered or not."""
        return ()

    def started(self, after_us: int) -> None:
        """The process started; once its logs are loaded it contacts ZooKeeper."""
        self._port.timer(after_us + STARTUP_US, START)

    def stopped(self) -> None:
        """The process died: its session expires later, unless it was closed."""
        self.registered = False
        self._serving = False
        self.session.stopped()
        self.controller.stopped()
        self.writer.stopped()
        self.controller_requests.stopped()
        self._delayed.stopped()
        self.proposals.stopped()
        self.tasks.stopped()
        self.controlled_shutdown.stopped()
        self.requests.abandon()
        self._dynamic.clear()

    def shut_down(self) -> None:
        """SIGTERM: start a controlled shutdown."""
        self.controlled_shutdown.start(registered=self.registered)

    def _find_controller(self) -> None:
        self.tasks.thread.put("find")

    def _controller_found(self, controller: int) -> None:
        self.controlled_shutdown.on_controller_found(controller)

    def _exit(self) -> None:
        self.session.close()
        self._broker.halt()

    # -- the session ------------------------------------------------------------------------------------------------

    def session_began(self) -> None:
        """Register, read configurations, and once registered take part in the controller election."""
        # Operations sent without a session are never answered.
        self.tasks.thread.abandon()
        self.writer.expired()
        if not self._serving:
            self.tasks.thread.put("configure")
        self.tasks.thread.put("register", self.session.id)
        if self._serving:
            # The watch ended with the old session, so a change may have been missed.
            self.tasks.thread.put("configs_changed")
        self.controlled_shutdown.session_began()

    def session_expired(self) -> None:
        """Handle the loss of the broker's znode: it is no longer controller, but keeps its partition roles."""
        self.registered = False
        self.tasks.thread.abandon()
        self.controller.expired()
        self.requests.abandon()
        self.writer.expired()

    def _registered(self, czxid: int) -> None:
        self.registered = True
        self.broker_epoch = czxid
        self._broker.registered_anew()
        if not self._serving:
            self._serve()
            self.controller_requests.start_listening()
        self.controller.session_began()

    def _configured(self, kind: str, name: str, settings: tuple[Any, ...]) -> None:
        overrides = dict(settings)
        if kind == "topic":
            self._broker.configure_topic(name, overrides)
            if overrides.get("unclean.leader.election.enable") and self._profile.topic_unclean_election:
                self.controller.lane.put("unclean_allowed", (name,))
        else:
            self._dynamic["" if name == ALL_BROKERS else name] = overrides
            overrides = self._dynamic_overrides()
            if self._broker.update_config(overrides) is KafkaError.NONE:
                self.controller.configured(tuple(overrides.items()))

    def _dynamic_overrides(self) -> dict[str, Any]:
        """Dynamic configuration of this broker: its own values override those of all brokers."""
        return {**self._dynamic.get("", {}), **self._dynamic.get(str(self._broker.id), {})}

    def watch_fired(self, path: str) -> None:
        """A watch fired: something changed in ZooKeeper."""
        if path == CONFIG_CHANGES:
            self.tasks.thread.put("configs_changed")
        else:
            self.controller.watched(path)

    # -- events -----------------------------------------------------------------------------------------------------

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is not one of the control plane."""
        name = timer[0]
        if name == START:
            self.session.client.started()
        elif name == REGISTER_AGAIN:
            if timer[1] == self.session.id and not self.registered:
                self.tasks.thread.put("register", timer[1])
        elif name == PROPAGATE:
            self.writer.on_timer()
        elif name == HELD:
            self.controller_requests.on_timer()
            self._delayed.check()
        elif name == DELAYED:
            self._delayed.on_timer()
        else:
            return (
                self.session.client.on_timer(timer)
                or self.controller.on_timer(timer)
                or self.proposals.on_timer(timer)
                or self.controlled_shutdown.on_timer(timer)
            )
        return True

    def on_disconnect(self, peer: int) -> None:
        """A connection broke."""
        self.session.client.on_disconnect(peer)

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Request a change of an ISR: at the controller since 2.7, by a write to ZooKeeper before."""
        (self.proposals if self._profile.alter_partition else self.writer).propose(proposal)

    # -- administrators ---------------------------------------------------------------------------------------------

    def _live(self) -> tuple[tuple[int, str], ...]:
        metadata = self._broker.metadata
        return tuple((broker, metadata.racks.get(broker, "")) for broker in sorted(metadata.live))

    def _of_topics(self, source: int, request: Any) -> None:
        if not self.controller.is_active:
            self._port.send(source, refusal(request, KafkaError.NOT_CONTROLLER))
            return
        self.requests.put(*self._topics.task(source, request, self._draw))

    def _of_configs(self, source: int, request: Any) -> None:
        """Queue a request about configurations: every broker handles them (``KafkaApis.handleAlterConfigsRequest``)."""
        self.requests.put(*self._topics.task(source, request, self._draw))

    def _list_reassignments(self, source: int, request: ListPartitionReassignmentsRequest) -> None:
        if not self.controller.is_active:
            self._port.send(source, refusal(request, KafkaError.NOT_CONTROLLER))
            return
        ongoing = tuple(
            OngoingReassignment(state.partition, state.replicas, state.adding, state.removing)
            for state in self.controller.work.context.partitions.values()
            if in_progress(state) and (not request.partitions or state.partition in request.partitions)
        )
        response = ListPartitionReassignmentsResponse(request.correlation_id, KafkaError.NONE, ongoing)
        self._port.send(source, response)

    def _describe(self, source: int, request: DescribeClusterRequest) -> None:
        live = tuple(self._broker.metadata.live)
        self._port.send(
            source, DescribeClusterResponse(request.correlation_id, self.controller_requests.controller, live)
        )

    def _update_features(self, source: int, request: UpdateFeaturesRequest) -> None:
        """Reject feature updates, as brokers support no feature (``KafkaController.processFeatureUpdates``)."""
        if not self.controller.is_active:
            self._port.send(source, refusal(request, KafkaError.NOT_CONTROLLER))
            return
        message = "no feature is supported in ZooKeeper mode"
        results = [AdminError(update.feature, KafkaError.INVALID_REQUEST, message) for update in request.updates]
        self._port.send(source, UpdateFeaturesResponse(request.correlation_id, KafkaError.NONE, "", tuple(results)))

    def _unregister(self, source: int, request: UnregisterBrokerRequest) -> None:
        message = "brokers can be unregistered in KRaft mode only"
        self._port.send(source, refusal(request, KafkaError.UNSUPPORTED_VERSION, message))

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.broker_epoch, self.registered, self._serving, self.session.save(), self.controller.save(),
            self.writer.save(), self.controller_requests.save(), self.proposals.save(), self.tasks.thread.save(),
            self.controlled_shutdown.save(), self.requests.save(), self._delayed.save(),
            tuple((name, tuple(settings.items())) for name, settings in self._dynamic.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        (
            self.broker_epoch, self.registered, self._serving, session, controller, writer, obedience, proposals,
            tasks, leaving, requests, delayed, dynamic,
        ) = saved  # fmt: skip
        self._dynamic = {name: dict(settings) for name, settings in dynamic}
        self.session.load(session)
        self.controller.load(controller)
        self.writer.load(writer)
        self.controller_requests.load(obedience)
        self.proposals.load(proposals)
        self.tasks.thread.load(tasks)
        self.controlled_shutdown.load(leaving)
        self.requests.load(requests)
        self._delayed.load(delayed)


def _nothing(_saved: Any) -> None:
    """Restore nothing: the thread's events change no saved state."""
