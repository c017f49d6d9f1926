"""A broker's side of KRaft mode: registration, heartbeats, metadata and proposals (``BrokerLifecycleManager``).

Where a broker is a controller too (``process.roles=broker,controller``) its peer is a voter, and the controller lives
in here: one process, one replay of the log, one fate.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Handlers, ListenerState, MetadataUpdate
from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.controller.committed_state import Holdback
from cluster_model.controller.kraft.controller_channel import (
    AGAIN,
    AlterPartitionManager,
    ControllerChannel,
    Forwarding,
)
from cluster_model.controller.kraft.messages import (
    AlterPartitionBatchResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import Base, MetadataImage, MetadataLoader, Record
from cluster_model.controller.kraft.quorum_controller import QuorumController
from cluster_model.controller.raft.raft_client import MetadataListener, QuorumPeer
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.admin_messages import EnvelopeResponse
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig, ControllerSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from cluster_model.protocol.versions import Profile

# A broker's lifecycle (``BrokerLifecycleManager``): registration, heartbeats, shutdown.
#
# It never fences itself. While no controller answers it serves on in its last known role, and goes on asking.


CATCHING_UP_US: Final = 10_000
"""Between heartbeats until the broker has replayed its own registration."""
SHUTTING_DOWN_US: Final = 50_000
"""Between heartbeats while the controller moves its leaderships."""
FIRST_BACKOFF_US: Final = 100_000
MOST_BACKOFF_US: Final = 9_000_000
JITTER_PERCENT: Final = 2
SHUTDOWN_TIMEOUT_US: Final = 300_000_000
"""How long a controlled shutdown waits for the controller (``BrokerServer.shutdown``)."""

NEXT: Final = "lifecycle"
DEADLINE: Final = "lifecycle deadline"


class BrokerState(IntEnum):
    """``BrokerState`` of Kafka's metrics."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class LifecycleOwner(Protocol):
    """Whose life it is."""

    def registered_as(self, epoch: int) -> None:
        """The controller has accepted the registration."""

    def caught_up(self) -> None:
        """The broker has replayed the log up to its own registration, and may load its logs."""

    def may_halt(self) -> None:
        """The process may end: nothing depends on it any more, or nobody can be asked."""

    def give_up(self) -> None:
        """The process ends: it could not register in time."""


class BrokerLifecycle:
    """One broker's."""

    __slots__ = (
        "_correlation", "_failures", "_former", "_jitter", "_living", "_metadata_offset", "_port", "_rack",
        "_serial", "_settings", "_times", "channel", "epoch", "previous_epoch", "ready", "state", "unfenced",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        rack: str,
        channel: ControllerChannel,
        times: BrokerConfig,
        settings: ControllerSettings,
        jitter: Stream,
        metadata_offset: Callable[[], int],
        living: LifecycleOwner,
    ) -> None:
        """``metadata_offset`` tells the offset of the last record that the broker has replayed.

        A process that has not registered after ``registration_us`` of the settings ends itself.
        """
        self.channel = channel
        self.state = BrokerState.NOT_RUNNING
        self.epoch = -1
        self.previous_epoch = -1
        """The broker epoch that a clean shutdown left on disk, until the next start has read it; -1 for none."""
        self._former = -1
        """What the start has read there."""
        self.ready = False
        """Whether its logs are loaded, so that it does not want to be fenced any more."""
        self.unfenced = False
        """Whether the controller has told this process once that it is not fenced any more."""
        self._port = port
        self._rack = rack
        self._times = times
        self._settings = settings
        self._jitter = jitter
        self._metadata_offset = metadata_offset
        self._living = living
        self._failures = 0
        self._correlation = 0
        self._serial = 0
        """Of the timer that says when to speak next; all others are of the past."""

    def begin(self, epoch: int) -> None:
        """Stand in a formed cluster, registered and unfenced."""
        self.epoch = epoch
        self.state = BrokerState.RUNNING
        self.ready = self.unfenced = True
        # Brokers do not beat as one: the first heartbeat comes after a share of the interval.
        self._after(self._times.heartbeat_us * (8 + self._port.node_id % 8) // 16)

    def come_up(self, *, clean: bool) -> None:
        """The process starts; ``clean``: it found the mark of a clean shutdown, in which the broker epoch stands."""
        self._former = self.previous_epoch if clean else -1
        self.previous_epoch = -1

    def start(self) -> None:
        """The process has come up: register."""
        self.state = BrokerState.STARTING
        self._port.timer(self._settings.registration_us, DEADLINE, int(BrokerState.STARTING))
        self._speak()

    def logs_loaded(self) -> None:
        """The broker can serve, as soon as it is not fenced any more."""
        self.ready = True
        if self.state is BrokerState.RECOVERY:
            self._speak()

    def shut_down(self) -> None:
        """SIGTERM: go on serving until the controller has moved what this broker leads.

        With ``controlled.shutdown.enable`` off nobody is told: it leads, for all others, until its session lapses.
        """
        if not self._settings.controlled_shutdown:
            self._end()
        elif self.state in (BrokerState.RECOVERY, BrokerState.RUNNING):
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._port.timer(SHUTDOWN_TIMEOUT_US, DEADLINE, int(self.state))
            self._speak()
        elif self.state in (BrokerState.NOT_RUNNING, BrokerState.STARTING):
            self._end()

    def stopped(self) -> None:
        """The process died."""
        self.state = BrokerState.NOT_RUNNING
        self.epoch = -1
        self.ready = self.unfenced = False
        self._failures = 0
        self.channel.stopped()

    def _after(self, delay: int) -> None:
        self._serial += 1
        self._port.timer(delay, NEXT, self._serial)

    def _after_failure(self) -> None:
        backoff = min(FIRST_BACKOFF_US << min(self._failures, 16), MOST_BACKOFF_US)
        self._failures += 1
        spread = backoff * JITTER_PERCENT // 100
        self._after(backoff - spread + self._jitter.below(2 * spread + 1))

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        """Its timers: time to speak, or a deadline."""
        if timer[0] == NEXT:
            if timer[1] == self._serial:
                self._speak()
        elif timer[1] == self.state:
            if self.state is BrokerState.STARTING and self.epoch < 0:
                self._living.give_up()
            elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
                self._end()

    def _speak(self) -> None:
        """Register, or send a heartbeat; what is still under way is waited for."""
        self._serial += 1
        if self.channel.busy or self.state in (BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN):
            return
        self._correlation += 1
        broker = self._port.node_id
        if self.epoch < 0:
            incarnation = self._port.incarnation
            self.channel.send(
                BrokerRegistrationRequest(self._correlation, broker, incarnation, self._rack, self._former)
            )
            return
        stops = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self.channel.send(
            BrokerHeartbeatRequest(
                self._correlation, broker, self.epoch, self._metadata_offset(), not self.ready, stops
            )
        )  # fmt: skip

    def registration_answered(self, response: BrokerRegistrationResponse) -> None:
        """Registered, or refused for now."""
        if self.channel.answered(response) is None:
            return
        if response.error != KafkaError.NONE:
            self._after_failure()
            return
        self._failures = 0
        self.epoch = response.broker_epoch
        self._living.registered_as(self.epoch)
        self._speak()

    def heartbeat_answered(self, response: BrokerHeartbeatResponse) -> None:
        """How the controller sees this broker, and what that means for it."""
        request = self.channel.answered(response)
        if request is None:
            return
        if response.error != KafkaError.NONE:
            self._after_failure()
            return
        self._failures = 0
        if self.state is BrokerState.STARTING:
            if response.caught_up:
                self.state = BrokerState.RECOVERY
                self._living.caught_up()
            delay = CATCHING_UP_US if not response.caught_up else self._times.heartbeat_us
        elif self.state is BrokerState.RECOVERY:
            if not response.fenced:
                self.state = BrokerState.RUNNING
                self.unfenced = True
            delay = self._times.heartbeat_us
        elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            if response.should_shut_down:
                self._end()
                return
            delay = SHUTTING_DOWN_US
        else:
            delay = self._times.heartbeat_us
        self._after_answer(request, delay)

    def _after_answer(self, request: BrokerHeartbeatRequest, delay: int) -> None:
        """The next heartbeat, at once where this one did not say what the broker wants by now."""
        stops = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        if request.want_fence == self.ready or request.want_shut_down != stops:
            self._speak()
        else:
            self._after(delay)

    def _end(self) -> None:
        self.state = BrokerState.SHUTTING_DOWN
        self.channel.clear()
        self._living.may_halt()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            int(self.state), self.epoch, self.previous_epoch, self._former, self.ready, self.unfenced, self._failures,
            self._correlation, self._serial, self.channel.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            state, self.epoch, self.previous_epoch, self._former, self.ready, self.unfenced, self._failures,
            self._correlation, self._serial, channel,
        ) = saved  # fmt: skip
        self.state = BrokerState(state)
        self.channel.load(channel)


STARTUP_US: Final = 2_000_000
"""From the start of the process until it registers. Kafka has no figure for it; a small broker takes a few seconds."""
STARTED: Final = "kraft started"
LOADED: Final = "kraft loaded"
HEARTBEATS: Final = "heartbeat channel"
HELD: Final = "kraft held metadata"
PROPOSALS: Final = "alter partition channel"
FORWARDED: Final = "forwarding channel"

PeerOf = Callable[[NodeContext, MetadataListener, ProcessConnections], QuorumPeer]
ControllerOf = Callable[[NodeContext, QuorumPeer, MetadataImage], QuorumController]
Told = Callable[[int, tuple[Record, ...]], None]
"""What the observer is told of a committed batch: its offset and records."""


class KraftControl:
    """A broker's."""

    __slots__ = (
        "_alarm",
        "_base",
        "_broker",
        "_committed",
        "_forwarding",
        "_held",
        "_late_port",
        "_lifecycle",
        "_loaded_at",
        "_loader",
        "_port",
        "_proposals",
        "_told",
        "controller",
        "handlers",
        "peer",
        "registered",
        "runs",
    )  # fmt: skip

    def __init__(
        self,
        broker: Broker,
        port: NodeContext,
        rack: str,
        base: Base,
        profile: Profile,
        config: BrokerConfig,
        settings: ControllerSettings,
        jitter: Stream,
        peer_of: PeerOf,
        controller_of: ControllerOf | None,
        told: Told,
    ) -> None:
        """``peer_of`` makes its member of the quorum, ``controller_of`` its controller, if it is to have one."""
        self.registered = False
        self.runs = True
        """Whether there is a process."""
        self._broker = broker
        self._port = port
        self._base = base
        self._late_port = profile.late_port
        self._told = told
        self._loaded_at = 0
        """When the logs of this life are loaded."""
        self.peer = peer_of(port, self, broker.connections)
        self.peer.on_left = broker.halt
        self._loader = MetadataLoader(port.node_id, MetadataImage(base), self)
        self._committed = self._loader.image
        """What the node has of the log; the loader has one of its own while its news are held back."""
        self._held = Holdback()
        self._alarm = Alarm(port, HELD)
        self.controller = None if controller_of is None else controller_of(port, self.peer, self._committed)
        heartbeats = self._channel(HEARTBEATS, config.session_us // 2)
        self._lifecycle = BrokerLifecycle(
            port, rack, heartbeats, config, settings, jitter, lambda: self._loader.image.until - 1, self
        )  # fmt: skip
        proposals = self._channel(PROPOSALS, config.socket_timeout_us)
        self._proposals = AlterPartitionManager(port, proposals, lambda: self.broker_epoch, self._isr_answered)
        self._forwarding = Forwarding(port, self._channel(FORWARDED, config.socket_timeout_us))
        self.handlers: Handlers = {
            BrokerRegistrationResponse: lambda _source, answer: self._lifecycle.registration_answered(answer),
            BrokerHeartbeatResponse: lambda _source, answer: self._lifecycle.heartbeat_answered(answer),
            AlterPartitionBatchResponse: lambda _source, answer: self._proposals.answered(answer),
            EnvelopeResponse: lambda _source, answer: self._forwarding.answered(answer),
            **dict.fromkeys(Forwarding.REQUESTS, self._forwarding.forward),
            **self.peer.handlers,
        }
        if self.controller is not None:
            self.handlers = {**self.controller.handlers, **self.handlers}

    @property
    def broker_epoch(self) -> int:
        """Of its registration, as it knows it; -1 for none."""
        return self._lifecycle.epoch

    @property
    def listening(self) -> ListenerState:
        """Acceptors start when the image is published (``BrokerServer.startup``), since 3.5 when it is unfenced too.

        Before 3.5 the port is bound when the process starts, long before (KAFKA-14658).
        """
        lifecycle = self._lifecycle
        if lifecycle.unfenced if self._late_port else lifecycle.ready:
            return ListenerState.OPEN
        early = not self._late_port and lifecycle.state is not BrokerState.NOT_RUNNING
        return ListenerState.SILENT if early else ListenerState.CLOSED

    @property
    def image(self) -> MetadataImage:
        """Metadata as this broker has it."""
        return self._loader.image

    @property
    def state(self) -> str:
        """Where it is in its life, for views."""
        return self._lifecycle.state.name

    def begin(self, epoch: int) -> None:
        """Stand in a formed cluster at its first instant."""
        self.registered = True
        self._lifecycle.begin(epoch)
        self._loader.begin()
        self._broker.serve()

    def _channel(self, name: str, timeout_us: int) -> ControllerChannel:
        """Requests of one kind to the controller, over a connection of their own."""
        channel = self._broker.connections.open(timeout_us, asks_versions=True)
        requests = ControllerChannel(channel.client, name, self.peer, timeout_us)
        channel.failed = requests.on_disconnect
        return requests

    # -- the process --------------------------------------------------------------------------------------------------

    def told_controller(self) -> int:
        """The broker itself: it hands requests on (KIP-590)."""
        return self._port.node_id

    def dynamic_config(self, name: str) -> Mapping[str, ConfigValue]:
        """By the metadata that it has replayed."""
        return self._loader.image.config("broker", name)

    def fenced_brokers(self) -> tuple[int, ...]:
        """By the metadata that it has replayed (``BrokerRegistration.fenced``)."""
        return tuple([known.broker for known in self._loader.image.brokers.values() if known.fenced])

    def started(self, after_us: int) -> None:
        """The process comes up. It serves once the log told it of its own registration, and its logs are loaded."""
        self.runs = True
        self._loaded_at = self._port.now + after_us
        self._loader.image.reset(self._base)
        self._committed.reset(self._base)
        self._lifecycle.come_up(clean=self._broker.logs.was_clean)
        self.peer.started()
        self._port.timer(STARTUP_US, STARTED)

    def stopped(self) -> None:
        """The process died."""
        self.registered = False
        self.runs = False
        self.peer.stopped()
        self._lifecycle.stopped()
        self._proposals.stopped()
        self._forwarding.stopped()
        self._loader.stopped()
        self._held.clear()
        self._alarm.forget()
        self._catch_up()
        if self.controller is not None:
            self.controller.stopped()

    def shut_down(self) -> None:
        """SIGTERM: a controlled shutdown (KIP-631)."""
        self._lifecycle.shut_down()

    def on_timer(self, timer: Payload) -> bool:
        """Its timers, those of its parts, and its controller's."""
        name = timer[0]
        if name in (NEXT, DEADLINE):
            self._lifecycle.on_timer(timer)
        elif name == HEARTBEATS:
            self._lifecycle.channel.on_timer()
        elif name == PROPOSALS:
            self._proposals.channel.on_timer()
        elif name == FORWARDED:
            self._forwarding.channel.on_timer()
        elif name == AGAIN:
            self._proposals.on_timer(timer)
        elif name == HELD:
            if self._alarm.rang():
                self._catch_up()
        elif name == STARTED:
            self._lifecycle.start()
        elif name == LOADED:
            self._lifecycle.logs_loaded()
            self._loader.first()
            self._broker.serve()
        else:
            return self.peer.on_timer(timer) or (self.controller is not None and self.controller.on_timer(timer))
        return True

    def on_disconnect(self, peer: int) -> None:
        """All its connections are among the broker's, which tell those that they are for."""

    # -- the quorum's word --------------------------------------------------------------------------------------------

    def on_leader(self, epoch: int) -> None:
        """The process has become the active controller."""
        if self.controller is not None:
            self.controller.on_leader(epoch)

    def on_resigned(self) -> None:
        """It is no longer."""
        if self.controller is not None:
            self.controller.on_resigned()

    def on_committed(self, base_offset: int, _epoch: int, records: tuple[Record, ...]) -> None:
        """A committed batch."""
        self._told(base_offset, records)
        if self._loader.image is not self._committed:
            self._committed.replay(base_offset, records)
        if self._held.holds or self._held.waits:
            self._held.put((base_offset, records), self._port.now)
            self._catch_up()
        else:
            self._loader.replay(base_offset, records)
        if self.controller is not None:
            self.controller.on_committed(base_offset + len(records))

    # -- news that come late ------------------------------------------------------------------------------------------

    def hold_metadata(self, fault: int, delay_us: int) -> None:
        """Let the loader take up committed records that late, 0: not until :meth:`pass_metadata`.

        Its member of the quorum goes on, so do heartbeats, which tell how far the broker has got; so does a controller
        in the same process, which replays the log for itself.
        """
        if self._loader.image is self._committed:
            self._loader.image = MetadataImage(self._base)
            self._loader.image.copy_of(self._committed)
        self._held.hold(fault, delay_us)

    def pass_metadata(self, fault: int) -> None:
        """Undo of :meth:`hold_metadata` by that fault; the process takes up what is due when it next runs."""
        self._held.release(fault)
        if self._held.waits:
            self._alarm.want(self._port.now)
        else:
            self._catch_up()

    def _catch_up(self) -> None:
        """Take up what is due, and be as ever once nothing is held."""
        while (batch := self._held.due(self._port.now)) is not None:
            self._loader.replay(*batch)
        if self._held.holds:
            at = self._held.next_at()
            if at >= 0:
                self._alarm.want(at)
        else:
            self._loader.image = self._committed

    # -- the lifecycle's word -----------------------------------------------------------------------------------------

    def registered_as(self, epoch: int) -> None:
        """The controller accepted the registration."""
        self.registered = True
        self._broker.registered_anew()

    def caught_up(self) -> None:
        """The broker knows what the log says of itself: now it loads its logs."""
        self._port.timer(max(0, self._loaded_at - self._port.now), LOADED)

    def may_halt(self) -> None:
        """The process ends in order; if it is a controller too, that ends first (``KafkaRaftServer.shutdown``)."""
        self._lifecycle.previous_epoch = self._lifecycle.epoch
        if self.controller is None:
            self._broker.halt()
        else:
            self.peer.leave()

    def give_up(self) -> None:
        """The process could not register in time."""
        self._port.exit("could not register with the controllers")

    # -- news for the broker ------------------------------------------------------------------------------------------

    def take(self, decisions: MetadataUpdate) -> None:
        """Lead, follow and know what was decided."""
        self._broker.take(decisions)

    def forget(self, partition: str) -> None:
        """A partition is gone, and the replica with it."""
        self._broker.forget(partition)
        self._broker.stop_replica(partition, delete=True)

    def clean_up(self, assigned: Mapping[str, int]) -> None:
        """Logs that are left of former partitions go."""
        self._broker.delete_strays(assigned)

    def configure(self, topic: str, overrides: dict[str, ConfigValue]) -> None:
        """A topic's own configurations."""
        self._broker.configure_topic(topic, overrides)

    def reconfigure(self, overrides: dict[str, ConfigValue]) -> None:
        """The broker's dynamic configurations; what it cannot take it goes without."""
        self._broker.update_config(overrides)

    # -- proposals ----------------------------------------------------------------------------------------------------

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """A leader wants another ISR."""
        self._proposals.propose(proposal)

    def _isr_answered(self, response: AlterPartitionResponse) -> None:
        if self._broker.isr_answered(response):
            self._broker.propose_again(response.partition)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        controller = () if self.controller is None else self.controller.save()
        held = (self._held.save(), self._committed.save()) if self._held.holds or self._held.waits else ()
        return (
            self.registered, self.runs, self._loaded_at, self.peer.save(), self._loader.save(), self._lifecycle.save(),
            self._proposals.save(), self._forwarding.save(), controller, self._alarm.save(), held,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the network's and the plane's."""
        (
            self.registered, self.runs, self._loaded_at, peer, loader, lifecycle, proposals, forwarding, controller,
            alarm, held,
        ) = saved  # fmt: skip
        self.peer.load(peer)
        waiting, committed = held or ((), ())
        self._held.load(waiting)
        self._alarm.load(alarm)
        self._loader.image = MetadataImage(self._base) if held else self._committed
        self._loader.load(loader)
        if held:
            self._committed.load(committed)
        self._lifecycle.load(lifecycle)
        self._proposals.load(proposals)
        self._forwarding.load(forwarding)
        if self.controller is not None:
            self.controller.load(controller)
