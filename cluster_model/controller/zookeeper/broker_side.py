"""A broker's side of ZooKeeper mode: its session, its registration, the controller's requests, its ISR changes.

The KafkaController lives here too (:mod:`kafka_controller`), and the request handlers that write for an administrator,
so that a crash or a pause of the process is one of all of them. What a broker knows of others comes from
UpdateMetadata alone.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Handlers, Listening
from cluster_model.controller.rules.admin_rules import in_progress
from cluster_model.controller.zookeeper.controller_event_queue import Hands, Lane
from cluster_model.controller.zookeeper.controller_requests import HELD, Obedience
from cluster_model.controller.zookeeper.errands import EVERYBODY, REGISTER_AGAIN, Errands
from cluster_model.controller.zookeeper.isr_proposals import IsrProposals
from cluster_model.controller.zookeeper.isr_update import PROPAGATE, IsrWriter
from cluster_model.controller.zookeeper.kafka_controller import KafkaController
from cluster_model.controller.zookeeper.kafka_zk_client import CONFIG_CHANGES
from cluster_model.controller.zookeeper.leaving import Leaving
from cluster_model.controller.zookeeper.messages import (
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
from cluster_model.controller.zookeeper.session import FROM_SERVERS, Session
from cluster_model.controller.zookeeper.settings import ControlSettings
from cluster_model.controller.zookeeper.zk_admin_manager import Drawn, TopicRequests
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.admin_messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    UnregisterBrokerRequest,
    refusal,
)
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import AlterPartitionRequest
from cluster_model.protocol.versions import Profile

STARTUP_US: Final = 2_000_000
"""From loaded logs until the process turns to ZooKeeper. Kafka has no figure for it; a small broker takes seconds."""
START: Final = "zookeeper start"


class ZooKeeperControl:
    """One broker's."""

    def __init__(
        self,
        broker: Broker,
        port: Port,
        rack: str,
        servers: tuple[int, ...],
        profile: Profile,
        config: BrokerConfig,
        defaults: dict[str, Any],
        emit: Callable[[Event], None],
        draw: Callable[[str, int], Drawn],
        known: Callable[[], tuple[int, ...]],
    ) -> None:
        """``draw`` makes what a new topic gets by chance; ``known`` are the ids of all brokers."""
        self.rack = rack
        self.broker_epoch = -1
        self.registered = False
        self._broker = broker
        self._port = port
        self._profile = profile
        self._draw = draw
        self._dynamic: dict[str, dict[str, Any]] = {}
        """Brokers' configurations set at run time: all brokers' under no name, and this one's own."""
        self._serving = False
        """Whether this process has begun its periodic tasks."""
        settings = ControlSettings.of(defaults)
        hands = Hands(port, emit)
        self.session = Session(port, servers, config.session_us, self)
        ask = self.session.ask
        self.controller = KafkaController(port, profile, config, defaults, hands, ask)
        self.writer = IsrWriter(port, profile, hands, ask, broker.isr_answered)
        self.obedience = Obedience(broker, port, self.writer, lambda: self.broker_epoch)
        self.proposals = IsrProposals(
            port,
            settings.socket_timeout_us,
            lambda: self.obedience.controller,
            lambda: self.broker_epoch,
            broker.isr_answered,
            broker.propose_again,
        )
        retry_us = config.session_us if profile.number < (0, 9, 0) else STARTUP_US
        self.errands = Errands(
            broker.id, rack, retry_us, hands, ask, self._registered, self._configured, self._controller_found
        )
        self.leaving = Leaving(port, settings, lambda: self.broker_epoch, self._find_controller, self._exit)
        self._topics = TopicRequests(profile, defaults, hands, self._live, known)
        self.requests = Lane("requests", self._topics.begin, ask, hands, tuple, _nothing)
        for lane in (self.controller.lane, self.writer.lane, self.errands.lane, self.requests):
            self.session.answers_to(lane.name, lane.answered)
        self.handlers: Handlers = self._make_handlers()

    def _make_handlers(self) -> Handlers:
        controller = self.controller
        table: Handlers = {
            LeaderAndIsrRequest: self.obedience.receive,
            UpdateMetadataRequest: self.obedience.receive,
            StopReplicaRequest: self.obedience.receive,
            ControlledShutdownRequest: controller.controlled_shutdown,
            AlterPartitionsRequest: controller.alter_partitions,
            AlterPartitionsResponse: lambda _source, response: self.proposals.receive(response),
            ControlledShutdownResponse: lambda _source, response: self.leaving.receive(response),
            ElectLeadersRequest: lambda source, request: controller.lane.put("elect_leaders", source, request),
            AlterPartitionReassignmentsRequest: lambda source, request: controller.lane.put(
                "reassign", source, request
            ),
            ListPartitionReassignmentsRequest: self._list_reassignments,
            DescribeClusterRequest: self._describe,
            UnregisterBrokerRequest: self._unregister,
        }
        for answer in (LeaderAndIsrResponse, UpdateMetadataResponse, StopReplicaResponse):
            table[answer] = controller.responded
        for request in (
            CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest, IncrementalAlterConfigsRequest,
        ):  # fmt: skip
            table[request] = self._of_topics
        for client in FROM_SERVERS:
            table[client] = self._from_zookeeper
        return table

    def _from_zookeeper(self, source: int, message: Any) -> None:
        self.session.client.receive(source, message)

    # -- the process's life -----------------------------------------------------------------------------------------

    def begin(self, broker_epoch: int) -> None:
        """Be registered at the first instant; roles and metadata are given by who forms the cluster."""
        self.session.begin(self.session.id)
        self.broker_epoch = broker_epoch
        self.registered = True
        self._serve()

    def _serve(self) -> None:
        self._serving = True
        self.writer.serving()
        self._broker.serve()

    @property
    def listening(self) -> Listening:
        """Acceptors start when the process has registered (``KafkaServer.startup``); it need not know anything yet."""
        return Listening.OPEN if self._serving else Listening.CLOSED

    def told_controller(self) -> int:
        """By the last UpdateMetadata."""
        return self.obedience.controller

    def started(self, after_us: int) -> None:
        """The process runs; when its logs are loaded it turns to ZooKeeper."""
        self._port.timer(after_us + STARTUP_US, START)

    def stopped(self) -> None:
        """The process died: its session lapses by itself, unless it was closed."""
        self.registered = False
        self._serving = False
        self.session.stopped()
        self.controller.stopped()
        self.writer.stopped()
        self.obedience.stopped()
        self.proposals.stopped()
        self.errands.stopped()
        self.leaving.stopped()
        self.requests.abandon()
        self._dynamic.clear()

    def shut_down(self) -> None:
        """SIGTERM; before it has registered there is nothing to hand over."""
        self.leaving.start(registered=self.registered)

    def _find_controller(self) -> None:
        self.errands.lane.put("find")

    def _controller_found(self, controller: int) -> None:
        self.leaving.found(controller)

    def _exit(self) -> None:
        self.session.close()
        self._broker.halt()

    # -- the session ------------------------------------------------------------------------------------------------

    def session_began(self) -> None:
        """Register, learn configurations, and run for controller once registered."""
        # What was asked while there was no session will never be answered.
        self.errands.lane.abandon()
        self.writer.expired()
        if not self._serving:
            self.errands.lane.put("configure")
        self.errands.lane.put("register", self.session.id)
        if self._serving:
            # The watch went with the old session, and with it perhaps news of a change.
            self.errands.lane.put("configs_changed")
        self.leaving.session_began()

    def session_expired(self) -> None:
        """The node of this broker is gone, and the controllership if it had it; its roles it keeps."""
        self.registered = False
        self.errands.lane.abandon()
        self.controller.expired()
        self.requests.abandon()
        self.writer.expired()

    def _registered(self, czxid: int) -> None:
        self.registered = True
        self.broker_epoch = czxid
        self._broker.registered_anew()
        if not self._serving:
            self._serve()
            self.obedience.open()
        self.controller.session_began()

    def _configured(self, kind: str, name: str, settings: tuple[Any, ...]) -> None:
        overrides = dict(settings)
        if kind == "topic":
            self._broker.configure_topic(name, overrides)
            if overrides.get("unclean.leader.election.enable") and self._profile.number >= (2, 0, 0):
                self.controller.lane.put("unclean_allowed", (name,))
        else:
            self._dynamic["" if name == EVERYBODY else name] = overrides
            given = self._given()
            if self._broker.update_config(given) is KafkaError.NONE:
                self.controller.configured(tuple(given.items()))

    def _given(self) -> dict[str, Any]:
        """What was configured at run time, for this broker alone above what is for all."""
        return {**self._dynamic.get("", {}), **self._dynamic.get(str(self._broker.id), {})}

    def watch_went_off(self, path: str) -> None:
        """Something changed in ZooKeeper."""
        if path == CONFIG_CHANGES:
            self.errands.lane.put("configs_changed")
        else:
            self.controller.watched(path)

    # -- events -----------------------------------------------------------------------------------------------------

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is the broker's."""
        name = timer[0]
        if name == START:
            self.session.client.started()
        elif name == REGISTER_AGAIN:
            if timer[1] == self.session.id and not self.registered:
                self.errands.lane.put("register", timer[1])
        elif name == PROPAGATE:
            self.writer.on_timer()
        elif name == HELD:
            self.obedience.rang()
        else:
            return (
                self.session.client.on_timer(timer)
                or self.controller.on_timer(timer)
                or self.proposals.on_timer(timer)
                or self.leaving.on_timer(timer)
            )
        return True

    def on_disconnect(self, peer: int) -> None:
        """A connection broke."""
        self.session.client.on_disconnect(peer)
        self.controller.channels.on_disconnect(peer)
        self.proposals.on_disconnect(peer)
        self.leaving.on_disconnect(peer)

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Have an ISR changed."""
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

    def _list_reassignments(self, source: int, request: ListPartitionReassignmentsRequest) -> None:
        if not self.controller.is_active:
            self._port.send(source, refusal(request, KafkaError.NOT_CONTROLLER))
            return
        moving = tuple(
            OngoingReassignment(state.partition, state.replicas, state.adding, state.removing)
            for state in self.controller.work.context.partitions.values()
            if in_progress(state) and (not request.partitions or state.partition in request.partitions)
        )
        response = ListPartitionReassignmentsResponse(request.correlation, KafkaError.NONE, moving)
        self._port.send(source, response)

    def _describe(self, source: int, request: DescribeClusterRequest) -> None:
        live = tuple(self._broker.metadata.live)
        self._port.send(source, DescribeClusterResponse(request.correlation, self.obedience.controller, live))

    def _unregister(self, source: int, request: UnregisterBrokerRequest) -> None:
        said = "brokers are unregistered in KRaft mode only"
        self._port.send(source, refusal(request, KafkaError.UNSUPPORTED_VERSION, said))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.broker_epoch, self.registered, self._serving, self.session.save(), self.controller.save(),
            self.writer.save(), self.obedience.save(), self.proposals.save(), self.errands.lane.save(),
            self.leaving.save(), self.requests.save(),
            tuple((name, tuple(settings.items())) for name, settings in self._dynamic.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            self.broker_epoch, self.registered, self._serving, session, controller, writer, obedience, proposals,
            errands, leaving, requests, dynamic,
        ) = saved  # fmt: skip
        self._dynamic = {name: dict(settings) for name, settings in dynamic}
        self.session.load(session)
        self.controller.load(controller)
        self.writer.load(writer)
        self.obedience.load(obedience)
        self.proposals.load(proposals)
        self.errands.lane.load(errands)
        self.leaving.load(leaving)
        self.requests.load(requests)


def _nothing(_saved: Any) -> None:
    """That lane changes no state of its own."""
