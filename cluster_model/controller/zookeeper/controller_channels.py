"""The controller's requests to brokers: gathered in batches, then sent in order (``ControllerChannelManager``).

A request is sent again until it is answered or the broker is given up (``ControllerChannelManager``,
``RequestSendThread``), so brokers can be in different states for any length of time.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from cluster_model.controller.zookeeper.controller_context import ControllerContext
from cluster_model.controller.zookeeper.messages import (
    DELETE_EPOCH,
    DURING_DELETE,
    ControlRequest,
    ControlResponse,
    LeaderAndIsrRequest,
    StoppedReplica,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile

BACKOFF_US: Final = 100_000
"""Until a request that could not be sent is tried again."""
RETRY: Final = "controller channel"
TIMEOUTS: Final = "controller sockets"
"""Names of timers."""


class Channel:
    """The connection to one broker."""

    __slots__ = ("deadline", "queue", "resting")

    def __init__(self) -> None:
        self.queue: deque[ControlRequest] = deque()
        """The first is under way, unless ``resting``."""
        self.deadline = -1
        """When the first counts as unanswered, -1 while nothing is under way."""
        self.resting = False
        """A retry waits for its time."""


class Channels:
    """All of them."""

    __slots__ = ("_alarm", "_answered", "_channels", "_correlation", "_port", "_timeout_us")

    def __init__(
        self, port: Port, timeout_us: int, answered: Callable[[int, ControlRequest, ControlResponse], None]
    ) -> None:
        self._port = port
        self._timeout_us = timeout_us
        self._answered = answered
        self._channels: dict[int, Channel] = {}
        self._correlation = 0
        self._alarm = Alarm(port, TIMEOUTS)

    def add(self, broker: int) -> None:
        """A broker is there; with nothing under way to it yet."""
        self._channels.setdefault(broker, Channel())

    def remove(self, broker: int) -> None:
        """A broker is given up, and with it what was still to be sent."""
        self._channels.pop(broker, None)

    def clear(self) -> None:
        """Not the controller any more, or dead."""
        self._channels.clear()

    def stopped(self) -> None:
        """The process died."""
        self._channels.clear()
        self._alarm.forget()

    def send(self, broker: int, request: ControlRequest) -> None:
        """Put a request behind the others; nothing for a broker that is not there."""
        channel = self._channels.get(broker)
        if channel is None:
            return
        self._correlation += 1
        channel.queue.append(request._replace(correlation=self._correlation))
        if len(channel.queue) == 1 and not channel.resting:
            self._transmit(broker, channel)

    def _transmit(self, broker: int, channel: Channel) -> None:
        self._port.send(broker, channel.queue[0])
        channel.deadline = self._port.now + self._timeout_us
        self._alarm.want(channel.deadline)

    def receive(self, source: int, response: ControlResponse) -> None:
        """A broker's answer; one to a request that is not under way any more means nothing."""
        channel = self._channels.get(source)
        if channel is None or channel.deadline < 0 or channel.queue[0].correlation != response.correlation:
            return
        request = channel.queue.popleft()
        channel.deadline = -1
        if channel.queue:
            self._transmit(source, channel)
        self._answered(source, request, response)

    def on_disconnect(self, peer: int) -> None:
        """What is under way to ``peer`` is lost; it is sent again a little later."""
        channel = self._channels.get(peer)
        if channel is not None and channel.deadline >= 0:
            self._rest(peer, channel)

    def _rest(self, broker: int, channel: Channel) -> None:
        channel.deadline = -1
        channel.resting = True
        self._port.timer(BACKOFF_US, RETRY, broker)

    def on_retry(self, broker: int) -> None:
        """A timer: try again."""
        channel = self._channels.get(broker)
        if channel is not None and channel.resting:
            channel.resting = False
            if channel.queue:
                self._transmit(broker, channel)

    def on_timeouts(self) -> None:
        """A timer: perhaps an answer is overdue (``controller.socket.timeout.ms``)."""
        if not self._alarm.rang():
            return
        for broker, channel in self._channels.items():
            if 0 <= channel.deadline <= self._port.now:
                self._port.abandon(broker)
                self._rest(broker, channel)
        deadlines = [channel.deadline for channel in self._channels.values() if channel.deadline >= 0]
        if deadlines:
            self._alarm.want(min(deadlines))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        channels = tuple((b, tuple(c.queue), c.deadline, c.resting) for b, c in self._channels.items())
        return (channels, self._correlation, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        channels, self._correlation, alarm = saved
        self._channels.clear()
        for broker, queue, deadline, resting in channels:
            channel = self._channels[broker] = Channel()
            channel.queue.extend(queue)
            channel.deadline, channel.resting = deadline, resting
        self._alarm.load(alarm)


# Requests to brokers, gathered while states change and sent together (``ControllerBrokerRequestBatch``).


class RequestBatch:
    """What is to be sent; :meth:`send` empties it."""

    __slots__ = ("_broker_id", "_context", "_leader_and_isr", "_metadata", "_profile", "_stop", "_told")

    def __init__(self, broker_id: int, profile: Profile, context: ControllerContext) -> None:
        self._broker_id = broker_id
        self._profile = profile
        self._context = context
        self._leader_and_isr: dict[int, dict[str, PartitionState]] = {}
        self._metadata: dict[str, PartitionState] = {}
        self._told: dict[int, None] = {}
        """Brokers that get an UpdateMetadata."""
        self._stop: dict[int, dict[str, StoppedReplica]] = {}

    def lead_and_follow(self, brokers: Iterable[int], partition: str) -> None:
        """LeaderAndIsr to these brokers, and UpdateMetadata to all."""
        state = self._context.partitions[partition]
        for broker in brokers:
            self._leader_and_isr.setdefault(broker, {})[partition] = state
        self.tell(self._context.reachable, (partition,))

    def tell(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        """UpdateMetadata to these brokers, about these partitions as far as anything was decided of them."""
        self._told.update(dict.fromkeys(brokers))
        for partition in partitions:
            state = self._context.partitions[partition]
            if self._context.is_deleting(partition):
                self._metadata[partition] = state._replace(leader=DURING_DELETE)
            elif self._context.decided(partition):
                self._metadata[partition] = state

    def stop(self, broker: int, partition: str, *, delete: bool) -> None:
        """StopReplica; the leader epoch is told from 2.6 on (KIP-570)."""
        if self._profile.number < (2, 6, 0):
            epoch = -1
        elif self._context.is_deleting(partition):
            epoch = DELETE_EPOCH
        else:
            epoch = self._context.partitions[partition].leader_epoch
        self._stop.setdefault(broker, {})[partition] = StoppedReplica(partition, epoch, delete)

    def send(self, send: Callable[[int, ControlRequest], None]) -> None:
        """LeaderAndIsr first, then UpdateMetadata, then StopReplica, each to whom it is for."""
        for broker in sorted(self._leader_and_isr):
            states = tuple(self._leader_and_isr[broker].values())
            self._to(send, broker, LeaderAndIsrRequest(0, self._broker_id, self._context.epoch, -1, states))
        if self._told:
            request = self._update_metadata()
            for broker in sorted(self._told):
                self._to(send, broker, request)
        for broker in sorted(self._stop):
            stopped = tuple(self._stop[broker].values())
            self._to(send, broker, StopReplicaRequest(0, self._broker_id, self._context.epoch, -1, stopped))
        self.clear()

    def clear(self) -> None:
        """Forget what was gathered: who gathered it has failed half-way."""
        self._leader_and_isr.clear()
        self._metadata.clear()
        self._told.clear()
        self._stop.clear()

    def _update_metadata(self) -> UpdateMetadataRequest:
        known = self._context.brokers
        return UpdateMetadataRequest(
            0,
            self._broker_id,
            self._context.epoch,
            -1,
            tuple(self._metadata.values()),
            tuple(known),
            tuple(broker.epoch for broker in known.values()),
            tuple(broker.rack for broker in known.values()),
        )

    def _to(self, send: Callable[[int, ControlRequest], None], broker: int, request: ControlRequest) -> None:
        known = self._context.brokers.get(broker)
        if known is None:
            return
        if self._profile.bounce_detected:
            request = request._replace(broker_epoch=known.epoch)
        send(broker, request)
