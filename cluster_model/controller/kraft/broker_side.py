"""A broker's part in KRaft mode: registration, heartbeats, metadata and AlterPartition requests.

It stands for Kafka's ``BrokerLifecycleManager``, ``MetadataLoader``, ``AlterPartitionManager`` and
``ForwardingManager`` in one broker. A broker that is a controller too (``process.roles=broker,controller``) has a voter
of the quorum and the controller in the same process: they share one replay of the log, and stop together.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Handlers, ListenerState, MetadataUpdate
from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.controller.committed_state import DelayedUpdates
from cluster_model.controller.kraft.controller_channel import (
    AGAIN,
    AlterPartitionManager,
    ControllerChannel,
    ForwardingManager,
)
from cluster_model.controller.kraft.messages import (
    AlterPartitionBatchResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import InitialImage, MetadataImage, MetadataLoader, Record
from cluster_model.controller.kraft.quorum_controller import QuorumController
from cluster_model.controller.raft.raft_client import MetadataListener, RaftClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.admin_messages import EnvelopeResponse
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig, ControllerSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from cluster_model.protocol.metadata_versions import latest_of
from cluster_model.protocol.versions import Profile

# The lifecycle of a broker (``BrokerLifecycleManager``): registration, heartbeats, shutdown. A broker never fences
# itself: while no controller answers it keeps serving in its last known role, and keeps retrying.


CATCHING_UP_US: Final = 10_000
"""Interval between heartbeats until the broker has replayed its own registration."""
SHUTTING_DOWN_US: Final = 50_000
"""Interval between heartbeats while the controller moves its leaderships."""
FIRST_BACKOFF_US: Final = 100_000
JITTER_PERCENT: Final = 2
SHUTDOWN_TIMEOUT_US: Final = 300_000_000
"""Longest wait of a controlled shutdown for the controller (``BrokerServer.shutdown``)."""

NEXT: Final = "lifecycle"
DEADLINE: Final = "lifecycle deadline"


class BrokerState(IntEnum):
    """States of a broker, as ``BrokerState`` in Kafka's metrics."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class LifecycleOwner(Protocol):
    """Callbacks of a broker lifecycle to the broker that it belongs to."""

    def registered_as(self, epoch: int) -> None:
        """The controller accepted the registration."""

    def caught_up(self) -> None:
        """The broker has replayed the log up to its own registration, and can load its logs."""

    def ready_to_halt(self) -> None:
        """The process can end: the controller has moved its leaderships, or cannot be reached."""

    def registration_timed_out(self) -> None:
        """End the process: it could not register in time."""


class BrokerLifecycleManager:
    """Registration, heartbeats and controlled shutdown of one broker (``BrokerLifecycleManager``)."""

    __slots__ = (
        "_correlation", "_failures", "_former", "_jitter", "_living", "_metadata_offset", "_newest_level", "_port",
        "_rack", "_serial", "_settings", "_times", "channel", "epoch", "previous_epoch", "ready", "state", "unfenced",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        rack: str,
        channel: ControllerChannel,
        times: BrokerConfig,
        settings: ControllerSettings,
        jitter: RandomStream,
        metadata_offset: Callable[[], int],
        living: LifecycleOwner,
        newest_level: int,
    ) -> None:
        """``metadata_offset`` returns the offset of the last record that the broker has replayed.

        ``newest_level`` is the newest level of ``metadata.version`` that its release supports.

        A process that is not registered after ``registration_us`` of the settings ends itself.
        """
        self.channel = channel
        self.state = BrokerState.NOT_RUNNING
        self.epoch = -1
        self.previous_epoch = -1
        """Broker epoch that a clean shutdown left on disk, until the next start has read it; -1 for none."""
        self._former = -1
        """Broker epoch of the previous process that this start read from disk, -1 for none."""
        self.ready = False
        """Whether its logs are loaded, so that it no longer asks to stay fenced."""
        self.unfenced = False
        """Whether the controller has reported this process unfenced at least once."""
        self._port = port
        self._rack = rack
        self._times = times
        self._settings = settings
        self._jitter = jitter
        self._metadata_offset = metadata_offset
        self._living = living
        self._newest_level = newest_level
        self._failures = 0
        self._correlation = 0
        self._serial = 0
        """Serial number of the timer for the next request; earlier timers are ignored."""
        if settings.heartbeat_retry_flat:
            channel.on_timeout = self._after_failure

    def begin(self, epoch: int) -> None:
        """Start in a formed cluster, registered and unfenced."""
        self.epoch = epoch
        self.state = BrokerState.RUNNING
        self.ready = self.unfenced = True
        # Heartbeats of brokers are not synchronous: the first one comes after a part of the interval.
        self._after(self._times.heartbeat_us * (8 + self._port.node_id % 8) // 16)

    def come_up(self, *, clean: bool) -> None:
        """Start the process; ``clean``: it found the marker of a clean shutdown, which holds the broker epoch."""
        self._former = self.previous_epoch if clean else -1
        self.previous_epoch = -1

    def start(self) -> None:
        """Register, once the process has started."""
        self.state = BrokerState.STARTING
        self._port.timer(self._settings.registration_us, DEADLINE, int(BrokerState.STARTING))
        self._send_next()

    def logs_loaded(self) -> None:
        """The logs are loaded: the broker can serve as soon as it is unfenced."""
        self.ready = True
        if self.state is BrokerState.RECOVERY:
            self._send_next()

    def shut_down(self) -> None:
        """SIGTERM: continue to serve until the controller has moved the leaderships of this broker.

        Without ``controlled.shutdown.enable`` the controller is not notified: the broker remains leader for all others
        until its session expires.
        """
        if not self._settings.controlled_shutdown:
            self._end()
        elif self.state in (BrokerState.RECOVERY, BrokerState.RUNNING):
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._port.timer(SHUTDOWN_TIMEOUT_US, DEADLINE, int(self.state))
            self._send_next()
        elif self.state in (BrokerState.NOT_RUNNING, BrokerState.STARTING):
            self._end()

    def stopped(self) -> None:
        """Reset all state after the broker process has stopped."""
        self.state = BrokerState.NOT_RUNNING
        self.epoch = -1
        self.ready = self.unfenced = False
        self._failures = 0
        self.channel.stopped()

    def _after(self, delay: int) -> None:
        self._serial += 1
        self._port.timer(delay, NEXT, self._serial)

    def _after_failure(self) -> None:
        if self._settings.heartbeat_retry_flat:
            self._after(self._times.heartbeat_us)
            return
        # Up to 3.9.1 the backoff grows to a whole session timeout, and in 4.0.0 to half of it (KAFKA-19294).
        most = self._times.session_us // (2 if self._settings.heartbeat_backoff_halved else 1)
        backoff = min(FIRST_BACKOFF_US << min(self._failures, 16), most)
        self._failures += 1
        spread = backoff * JITTER_PERCENT // 100
        self._after(backoff - spread + self._jitter.below(2 * spread + 1))

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        """Handle a timer: send the next request, or check a deadline."""
        if timer[0] == NEXT:
            if timer[1] == self._serial:
                self._send_next()
        elif timer[1] == self.state:
            if self.state is BrokerState.STARTING and self.epoch < 0:
                self._living.registration_timed_out()
            elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
                self._end()

    def _send_next(self) -> None:
        """Send a registration or a heartbeat, unless a request is still in flight."""
        self._serial += 1
        if self.channel.busy or self.state in (BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN):
            return
        self._correlation += 1
        broker = self._port.node_id
        if self.epoch < 0:
            incarnation = self._port.incarnation
            self.channel.send(
                BrokerRegistrationRequest(
                    self._correlation, broker, incarnation, self._rack, self._former, self._newest_level
                )
            )
            return
        stops = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self.channel.send(
            BrokerHeartbeatRequest(
                self._correlation, broker, self.epoch, self._metadata_offset(), not self.ready, stops
            )
        )  # fmt: skip

    def registration_answered(self, response: BrokerRegistrationResponse) -> None:
        """Handle the response to a registration: registered, or rejected for now."""
        if self.channel.take_response(response) is None:
            return
        if response.error != KafkaError.NONE:
            self._after_failure()
            return
        self._failures = 0
        self.epoch = response.broker_epoch
        self._living.registered_as(self.epoch)
        self._send_next()

    def heartbeat_answered(self, response: BrokerHeartbeatResponse) -> None:
        """Handle the response to a heartbeat: the controller's view of this broker, and the next state."""
        request = self.channel.take_response(response)
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
        """Schedule the next heartbeat; send it at once if the last one carried outdated requests."""
        stops = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        if request.want_fence == self.ready or request.want_shut_down != stops:
            self._send_next()
        else:
            self._after(delay)

    def _end(self) -> None:
        self.state = BrokerState.SHUTTING_DOWN
        self.channel.clear()
        self._living.ready_to_halt()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            int(self.state), self.epoch, self.previous_epoch, self._former, self.ready, self.unfenced, self._failures,
            self._correlation, self._serial, self.channel.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        (
            state, self.epoch, self.previous_epoch, self._former, self.ready, self.unfenced, self._failures,
            self._correlation, self._serial, channel,
        ) = saved  # fmt: skip
        self.state = BrokerState(state)
        self.channel.load(channel)


STARTUP_US: Final = 2_000_000
"""From the start of the process until it registers. Kafka has no such setting; a small broker takes a few seconds."""
STARTED: Final = "kraft started"
LOADED: Final = "kraft loaded"
HEARTBEATS: Final = "heartbeat channel"
HELD: Final = "kraft held metadata"
PROPOSALS: Final = "alter partition channel"
FORWARDED: Final = "forwarding channel"

PeerOf = Callable[[NodeContext, MetadataListener, ProcessConnections], RaftClient]
ControllerOf = Callable[[NodeContext, RaftClient, MetadataImage], QuorumController]
BatchObserver = Callable[[int, tuple[Record, ...]], None]
"""Observer of committed batches: base offset and records."""
FeatureObserver = Callable[[int], None]
"""Called with a node that has replayed a record of a feature level."""


class KraftBrokerClient:
    """Control-plane client of one broker in KRaft mode."""

    __slots__ = (
        "_base", "_broker", "_committed", "_forwarding", "_held", "_late_port", "_leads_until_stopped", "_lifecycle",
        "_loaded_at", "_loader", "_on_batch", "_on_features", "_port", "_proposals", "_timer", "controller", "handlers",
        "is_running", "peer", "registered",
    )  # fmt: skip

    def __init__(
        self,
        broker: Broker,
        port: NodeContext,
        rack: str,
        base: InitialImage,
        profile: Profile,
        config: BrokerConfig,
        settings: ControllerSettings,
        jitter: RandomStream,
        peer_of: PeerOf,
        controller_of: ControllerOf | None,
        on_batch: BatchObserver,
        on_features: FeatureObserver,
    ) -> None:
        """``peer_of`` makes its quorum member, ``controller_of`` its controller (None if it is to have none)."""
        self.registered = False
        self.is_running = True
        """Whether the process is running."""
        self._broker = broker
        self._port = port
        self._base = base
        self._late_port = profile.late_port
        self._leads_until_stopped = profile.leads_until_stopped
        self._on_batch = on_batch
        self._on_features = on_features
        self._loaded_at = 0
        """Time at which the logs of this process are loaded."""
        self.peer = peer_of(port, self, broker.connections)
        self.peer.on_left = broker.halt
        self._loader = MetadataLoader(port.node_id, MetadataImage(base), self)
        self._committed = self._loader.image
        """Image of all committed records; the loader has one of its own while a fault delays metadata."""
        self._held = DelayedUpdates()
        self._timer = DeadlineTimer(port, HELD)
        self.controller = None if controller_of is None else controller_of(port, self.peer, self._committed)
        heartbeats = self._channel(
            HEARTBEATS, config.heartbeat_us if settings.heartbeat_retry_flat else config.session_us // 2
        )
        self._lifecycle = BrokerLifecycleManager(
            port, rack, heartbeats, config, settings, jitter, lambda: self._loader.image.next_offset - 1, self,
            latest_of(profile.version).number,
        )  # fmt: skip
        proposals = self._channel(PROPOSALS, config.socket_timeout_us)
        self._proposals = AlterPartitionManager(port, proposals, lambda: self.broker_epoch, self._isr_answered)
        self._forwarding = ForwardingManager(port, self._channel(FORWARDED, config.socket_timeout_us))
        self.handlers: Handlers = {
            BrokerRegistrationResponse: lambda _source, answer: self._lifecycle.registration_answered(answer),
            BrokerHeartbeatResponse: lambda _source, answer: self._lifecycle.heartbeat_answered(answer),
            AlterPartitionBatchResponse: lambda _source, answer: self._proposals.on_response(answer),
            EnvelopeResponse: lambda _source, answer: self._forwarding.on_response(answer),
            **dict.fromkeys(ForwardingManager.REQUESTS, self._forwarding.forward),
            **self.peer.handlers,
        }
        if self.controller is not None:
            self.handlers = {**self.controller.handlers, **self.handlers}

    @property
    def broker_epoch(self) -> int:
        """Broker epoch of its registration as the broker knows it, -1 for none."""
        return self._lifecycle.epoch

    @property
    def listening(self) -> ListenerState:
        """State of the broker's listeners.

        Acceptors start when the image is published (``BrokerServer.startup``), since 3.5 only when the broker is also
        unfenced. Before 3.5 the port is bound when the process starts, long before (KAFKA-14658).
        """
        lifecycle = self._lifecycle
        if lifecycle.unfenced if self._late_port else lifecycle.ready:
            return ListenerState.OPEN
        early = not self._late_port and lifecycle.state is not BrokerState.NOT_RUNNING
        return ListenerState.SILENT if early else ListenerState.CLOSED

    @property
    def image(self) -> MetadataImage:
        """The metadata image of this broker."""
        return self._loader.image

    @property
    def state(self) -> str:
        """Name of its lifecycle state, for views."""
        return self._lifecycle.state.name

    def begin(self, epoch: int) -> None:
        """Start in a formed cluster."""
        self.registered = True
        self._lifecycle.begin(epoch)
        self._loader.begin()
        self._broker.serve()

    def _channel(self, name: str, timeout_us: int) -> ControllerChannel:
        """Make the channel for requests of one kind to the controller, over a connection of its own."""
        channel = self._broker.connections.open(timeout_us, asks_versions=True)
        requests = ControllerChannel(channel.client, name, self.peer, timeout_us)
        channel.failed = requests.on_disconnect
        return requests

    # -- the process --------------------------------------------------------------------------------------------------

    def known_controller(self) -> int:
        """The broker itself: it forwards requests to the controller (KIP-590)."""
        return self._port.node_id

    def dynamic_config(self, name: str) -> Mapping[str, ConfigValue]:
        """Dynamic configuration of a broker, by the metadata that it has replayed."""
        return self._loader.image.config("broker", name)

    def fenced_brokers(self) -> tuple[int, ...]:
        """Fenced brokers, by the metadata that it has replayed (``BrokerRegistration.fenced``)."""
        return tuple([known.broker for known in self._loader.image.brokers.values() if known.fenced])

    def started(self, after_us: int) -> None:
        """The process started. It serves once it has replayed its own registration and its logs are loaded."""
        self.is_running = True
        self._loaded_at = self._port.now + after_us
        self._loader.image.reset(self._base)
        self._committed.reset(self._base)
        self._lifecycle.come_up(clean=self._broker.logs.was_clean)
        self.peer.started()
        self._port.timer(STARTUP_US, STARTED)

    def stopped(self) -> None:
        """The process died."""
        self.registered = False
        self.is_running = False
        self.peer.stopped()
        self._lifecycle.stopped()
        self._proposals.stopped()
        self._forwarding.stopped()
        self._loader.stopped()
        self._held.clear()
        self._timer.forget()
        self._catch_up()
        if self.controller is not None:
            self.controller.stopped()

    def shut_down(self) -> None:
        """SIGTERM: a controlled shutdown (KIP-631)."""
        self._lifecycle.shut_down()

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer of this client, of its parts, or of its controller."""
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
            if self._timer.take_expired():
                self._catch_up()
        elif name == STARTED:
            self._lifecycle.start()
        elif name == LOADED:
            self._lifecycle.logs_loaded()
            self._loader.publish_all()
            self._broker.serve()
        else:
            return self.peer.on_timer(timer) or (self.controller is not None and self.controller.on_timer(timer))
        return True

    def on_disconnect(self, peer: int) -> None:
        """Does nothing: its connections are the broker's, which notify their users themselves."""

    # -- callbacks of the quorum --------------------------------------------------------------------------------------

    def on_leader(self, epoch: int) -> None:
        """The quorum member of this process became the leader: activate its controller."""
        if self.controller is not None:
            self.controller.on_leader(epoch)

    def on_resigned(self) -> None:
        """The quorum member of this process lost the leadership: deactivate its controller."""
        if self.controller is not None:
            self.controller.on_resigned()

    def on_committed(self, base_offset: int, _epoch: int, records: tuple[Record, ...]) -> None:
        """Apply a committed batch, or queue it while a fault delays metadata."""
        self._on_batch(base_offset, records)
        if self._loader.image is not self._committed:
            self._committed.replay(base_offset, records)
        if self._held.delaying or self._held.nonempty:
            self._held.put((base_offset, records), self._port.now)
            self._catch_up()
        else:
            self._replay(base_offset, records)
        if self.controller is not None:
            self.controller.on_committed(base_offset + len(records))

    def _replay(self, base_offset: int, records: tuple[Record, ...]) -> None:
        before = self._loader.image.features_offset
        self._loader.replay(base_offset, records)
        if self._loader.image.features_offset != before:
            self._on_features(self._port.node_id)

    # -- delayed metadata ----------------------------------------------------------------------------------------------

    def hold_metadata(self, fault: int, delay_us: int) -> None:
        """Delay the loader's replay of committed records by ``delay_us``; 0: until :meth:`pass_metadata`.

        Its quorum member is not affected, and neither are heartbeats, which report how far the broker has replayed. A
        controller in the same process replays the log on its own.
        """
        if self._loader.image is self._committed:
            self._loader.image = MetadataImage(self._base)
            self._loader.image.copy_of(self._committed)
        self._held.delay(fault, delay_us)

    def pass_metadata(self, fault: int) -> None:
        """Undo :meth:`hold_metadata` of that fault; the process replays what is due when it next runs."""
        self._held.release(fault)
        if self._held.nonempty:
            self._timer.arm(self._port.now)
        else:
            self._catch_up()

    def _catch_up(self) -> None:
        """Replay what is due; drop the separate image once nothing is delayed."""
        while (batch := self._held.take_due(self._port.now)) is not None:
            self._replay(*batch)
        if self._held.delaying:
            at = self._held.next_at()
            if at >= 0:
                self._timer.arm(at)
        else:
            self._loader.image = self._committed

    # -- callbacks of the lifecycle ---------------------------------------------------------------------------------

    def registered_as(self, epoch: int) -> None:
        """The controller accepted the registration."""
        self.registered = True
        self._broker.registered_anew()

    def caught_up(self) -> None:
        """The broker has replayed its own registration: it now loads its logs."""
        self._port.timer(max(0, self._loaded_at - self._port.now), LOADED)

    def ready_to_halt(self) -> None:
        """Shut the process down; if it is a controller too, that stops first (``KafkaRaftServer.shutdown``)."""
        self._lifecycle.previous_epoch = self._lifecycle.epoch
        if self.controller is None:
            self._broker.halt()
        else:
            self.peer.leave()

    def registration_timed_out(self) -> None:
        """End the process, which could not register in time."""
        self._port.exit("could not register with the controller in time")

    # -- callbacks of the loader ---------------------------------------------------------------------------------------

    def apply_metadata(self, decisions: MetadataUpdate) -> None:
        """Apply metadata changes: leadership, followers and the metadata cache.

        In 3.3.0 and 3.3.1 a broker in controlled shutdown does not become a follower (KAFKA-14296).
        """
        stops = self._lifecycle.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._broker.apply_metadata(decisions, act=not (stops and self._leads_until_stopped))

    def remove_partition(self, partition: str) -> None:
        """Remove a deleted partition and its replica."""
        self._broker.forget(partition)
        self._broker.stop_replica(partition, delete=True)

    def delete_strays(self, assigned: Mapping[str, int]) -> None:
        """Delete logs of partitions that are no longer assigned to the broker."""
        self._broker.delete_strays(assigned)

    def configure(self, topic: str, overrides: dict[str, ConfigValue]) -> None:
        """Apply a topic's own configuration."""
        self._broker.configure_topic(topic, overrides)

    def reconfigure(self, overrides: dict[str, ConfigValue]) -> None:
        """Apply the broker's dynamic configuration; values that it cannot apply are skipped."""
        self._broker.update_config(overrides)

    # -- ISR changes ---------------------------------------------------------------------------------------------------

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Request a change of the ISR that a leader proposes."""
        self._proposals.propose(proposal)

    def _isr_answered(self, response: AlterPartitionResponse) -> None:
        if self._broker.isr_answered(response):
            self._broker.propose_again(response.partition)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        controller = () if self.controller is None else self.controller.save()
        held = (self._held.save(), self._committed.save()) if self._held.delaying or self._held.nonempty else ()
        return (
            self.registered, self.is_running, self._loaded_at, self.peer.save(), self._loader.save(),
            self._lifecycle.save(), self._proposals.save(), self._forwarding.save(), controller, self._timer.save(),
            held,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after those of the network and the control plane."""
        (
            self.registered, self.is_running, self._loaded_at, peer, loader, lifecycle, proposals, forwarding,
            controller, timer, held,
        ) = saved  # fmt: skip
        self.peer.load(peer)
        waiting, committed = held or ((), ())
        self._held.load(waiting)
        self._timer.load(timer)
        self._loader.image = MetadataImage(self._base) if held else self._committed
        self._loader.load(loader)
        if held:
            self._committed.load(committed)
        self._lifecycle.load(lifecycle)
        self._proposals.load(proposals)
        self._forwarding.load(forwarding)
        if self.controller is not None:
            self.controller.load(controller)
