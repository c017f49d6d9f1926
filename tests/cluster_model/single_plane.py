"""A test double: the plane of one controller node (:mod:`tests.cluster_model.single`), and the brokers' sides of it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Handlers, ListenerState, MetadataUpdate
from cluster_model.controller.cluster_parts import ControllerView, ControlPlaneServer, FinalizedFeatures, Software
from cluster_model.controller.committed_state import CommittedState
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from cluster_model.protocol.versions import Profile
from tests.cluster_model.single import CONTROLLER_ID, SingleController
from tests.cluster_model.single_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    LeaderAndIsrRequest,
)

ALTER_PARTITION_RETRY_US: Final = 50_000
"""Pause after an AlterPartition answer that asks for another try (``AlterPartitionManager``)."""
FIRST_REGISTRATION_RETRY_US: Final = 100_000
LAST_REGISTRATION_RETRY_US: Final = 9_000_000
STARTUP_US: Final = 2_000_000
"""From loaded logs until the process registers. Kafka has no figure for it; a small broker takes a few seconds."""


class SinglePlane:
    """The controller node, and every broker's way to it."""

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: BrokerConfig,
        committed: CommittedState,
        emit: Callable[[Event], None],
    ) -> None:
        self.controller = SingleController(port, profile, config, committed, emit)
        self.servers: dict[int, tuple[str, ControlPlaneServer]] = {CONTROLLER_ID: ("controller", self.controller)}
        self._config = config
        self._committed = committed
        self._controls: dict[int, SingleControl] = {}
        self.on_features: Callable[[int], None] = lambda node: None

    def install(self, node: int, software: Software) -> None:
        """It is of no release."""

    def finalized_features(self, node: int) -> FinalizedFeatures:
        """It has none."""
        return FinalizedFeatures({}, 0)

    def join(self, broker: Broker, port: NodeContext, rack: str, software: Software) -> "SingleControl":
        """A broker's side."""
        self._controls[broker.id] = SingleControl(broker, port, self._config, rack)
        return self._controls[broker.id]

    def begin(self) -> None:
        """Every broker registered and told."""
        self.controller.begin({broker: control.rack for broker, control in self._controls.items()})
        everything = self.controller.everything()
        for broker, control in self._controls.items():
            control.begin(everything, self.controller.live[broker])

    def controllers(self) -> tuple[int, ...]:
        """The one node."""
        return (CONTROLLER_ID,)

    def active(self) -> int:
        """The one node, whatever its state."""
        return CONTROLLER_ID

    def controller_epoch(self) -> int:
        """Raised by each restart."""
        return self.controller.epoch

    def member_views(self) -> tuple[ControllerView, ...]:
        """The one node."""
        return (ControllerView(CONTROLLER_ID, "controller", "active", self.controller.epoch, -1, -1),)

    def is_live(self, broker: int) -> bool:
        """Whether the controller counts on it."""
        return broker in self.controller.live

    def is_shutting_down(self, broker: int) -> bool:
        """It is never told of one."""
        return False

    def being_deleted(self, topic: str) -> bool:
        """It deletes topics at once."""
        return False

    def broker_epoch(self, broker: int) -> int:
        """It goes by whether the broker is live."""
        return 0

    def accepted_controller_epoch(self, broker: int) -> int:
        """There is only the one."""
        return self.controller.epoch

    def known_controller(self, broker: int) -> int:
        """There is only the one."""
        return CONTROLLER_ID

    @property
    def session_us(self) -> int:
        """Silence after which a broker is fenced."""
        return self._config.session_us

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """An administrator's election, answered at once."""
        return self.controller.elect_leaders(partition, unclean=unclean)

    def save(self) -> tuple[Any, ...]:
        """The controller's state."""
        return self.controller.save()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo :meth:`save`."""
        self.controller.load(saved)


class SingleControl:
    """A broker's side: registration, heartbeats, decisions, proposals."""

    def __init__(self, broker: Broker, port: NodeContext, config: BrokerConfig, rack: str) -> None:
        self.rack = rack
        self.broker_epoch = 0
        self.registered = True
        self._broker = broker
        self._port = port
        self._config = config
        self._starting = False
        self._controller_epoch = 0
        self._retry_us = FIRST_REGISTRATION_RETRY_US
        self._retrying: dict[str, None] = {}
        """Partitions whose ISR change is about to be proposed again."""
        self.handlers: Handlers = {
            AlterPartitionResponse: self._alter_partition_answered,
            BrokerRegistrationResponse: self._registration_answered,
            BrokerHeartbeatResponse: self._heartbeat_answered,
            LeaderAndIsrRequest: self._decided,
        }

    def begin(self, everything: LeaderAndIsrRequest, broker_epoch: int) -> None:
        """Be registered and told at the first instant."""
        self.broker_epoch = broker_epoch
        self._take(everything)
        self._serve()

    def _serve(self) -> None:
        share = self._broker.id % 8
        self._port.timer(self._config.heartbeat_us * (8 + share) // 16, "heartbeat")
        self._broker.serve()

    @property
    def listening(self) -> ListenerState:
        """While it is registered, or registers again."""
        return ListenerState.CLOSED if self._starting else ListenerState.OPEN

    def known_controller(self) -> int:
        """The one node."""
        return CONTROLLER_ID

    def dynamic_config(self, name: str) -> Mapping[str, ConfigValue]:
        """None is given here."""
        return {}

    def fenced_brokers(self) -> tuple[int, ...]:
        """None is known."""
        return ()

    def started(self, after_us: int) -> None:
        """The process registers once its logs are loaded."""
        self._starting = True
        self._retry_us = FIRST_REGISTRATION_RETRY_US
        self._port.timer(after_us + STARTUP_US, "register")

    def stopped(self) -> None:
        """The process died."""
        self._retrying.clear()
        self.registered = False
        self._starting = False
        self._controller_epoch = 0

    def shut_down(self) -> None:
        """Leave without a word to the controller."""
        self._broker.halt()

    def on_timer(self, timer: Payload) -> bool:
        """Heartbeats, registration, proposals."""
        name = timer[0]
        if name == "heartbeat":
            self._port.send(CONTROLLER_ID, BrokerHeartbeatRequest(self._broker.id, self.broker_epoch))
            self._port.timer(self._config.heartbeat_us, "heartbeat")
        elif name == "register":
            self._register()
        elif name == "alter_partition":
            self._retrying.pop(timer[1], None)
            self._broker.propose_again(timer[1])
        else:
            return False
        return True

    def on_disconnect(self, peer: int) -> None:
        """Proposals under way are lost."""
        if peer == CONTROLLER_ID:
            for partition in self._broker.pending():
                self._retry(partition)

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Send it."""
        self._port.send(CONTROLLER_ID, proposal._replace(broker_epoch=self.broker_epoch))

    def _retry(self, partition: str) -> None:
        """Propose again a little later, once: every proposal that is lost brings a reset of its own."""
        if partition not in self._retrying:
            self._retrying[partition] = None
            self._port.timer(ALTER_PARTITION_RETRY_US, "alter_partition", partition)

    def _alter_partition_answered(self, _source: int, response: AlterPartitionResponse) -> None:
        if self._broker.isr_answered(response):
            self._retry(response.partition)

    def _heartbeat_answered(self, _source: int, response: BrokerHeartbeatResponse) -> None:
        if response.error and self.registered:
            self.registered = False
            self._register()

    def _register(self) -> None:
        if not self.registered:
            request = BrokerRegistrationRequest(self._broker.id, self._port.incarnation, self.rack)
            self._port.send(CONTROLLER_ID, request)
            self._port.timer(LAST_REGISTRATION_RETRY_US, "register")

    def _registration_answered(self, _source: int, response: BrokerRegistrationResponse) -> None:
        if self.registered:
            return
        if response.error:
            self._port.timer(self._retry_us, "register")
            self._retry_us = min(2 * self._retry_us, LAST_REGISTRATION_RETRY_US)
            return
        self.registered = True
        self._broker.registered_anew()
        self.broker_epoch = response.broker_epoch
        if self._starting:
            self._starting = False
            self._serve()

    def _decided(self, _source: int, request: LeaderAndIsrRequest) -> None:
        if request.controller_epoch >= self._controller_epoch:
            self._controller_epoch = request.controller_epoch
            self._take(request)

    def _take(self, request: LeaderAndIsrRequest) -> None:
        self._broker.apply_metadata(
            MetadataUpdate(request.partitions, request.brokers, request.broker_epochs, request.racks)
        )

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.broker_epoch, self.registered, self._starting, self._controller_epoch, self._retry_us,
            tuple(self._retrying),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo :meth:`save`."""
        (
            self.broker_epoch, self.registered, self._starting, self._controller_epoch, self._retry_us, retrying,
        ) = saved  # fmt: skip
        self._retrying = dict.fromkeys(retrying)
