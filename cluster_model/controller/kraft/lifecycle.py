"""A broker's life as it tells the controller (``BrokerLifecycleManager``): registration, heartbeats, shutdown.

It never fences itself. While no controller answers it serves on in its last known role, and goes on asking.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, Protocol

from cluster_model.controller.kraft.controller_channel import ControllerChannel
from cluster_model.controller.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.settings import ControllerSettings
from cluster_model.kernel.node_context import Port
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError

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


class Living(Protocol):
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
        port: Port,
        rack: str,
        channel: ControllerChannel,
        times: BrokerConfig,
        settings: ControllerSettings,
        jitter: Stream,
        metadata_offset: Callable[[], int],
        living: Living,
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
