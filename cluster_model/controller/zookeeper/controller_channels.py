"""The controller's requests to brokers: batched, then sent in order (``ControllerChannelManager``).

A request is repeated until it is answered or the broker is removed (``ControllerChannelManager``,
``RequestSendThread``), so brokers can be in different states for any length of time. Each thread has its own
connection, which it opens when it has something to send.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from cluster_model.connections.process_connections import BlockingConnection, Connector
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
from cluster_model.kernel.node_context import DeadlineTimer
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile

BACKOFF_US: Final = 100_000
"""Pause before a request that could not be sent is retried."""
RETRY: Final = "controller channel"
TIMEOUTS: Final = "controller sockets"
"""Name of the timer of request timeouts."""


class BrokerChannel:
    """Queue and connection to one broker (``ControllerBrokerStateInfo``)."""

    __slots__ = ("backing_off", "connection", "deadline", "queue")

    def __init__(self, connection: BlockingConnection) -> None:
        self.connection = connection
        self.queue: deque[ControlRequest] = deque()
        """Requests in order; the first is in flight or waits for the connection, unless ``resting``."""
        self.deadline = -1
        """Time at which the request or the connection attempt times out, -1 if there is none."""
        self.backing_off = False
        """Whether the channel waits before a retry."""


class ControllerChannels:
    """Channels of one controller to all brokers (``ControllerChannelManager``)."""

    __slots__ = ("_channels", "_connector", "_correlation", "_port", "_responded", "_timeout_us", "_timer")

    def __init__(
        self, connector: Connector, timeout_us: int, responded: Callable[[int, ControlRequest, ControlResponse], None]
    ) -> None:
        """``responded`` receives each response with its request; ``timeout_us`` limits the wait for a response."""
        self._connector = connector
        self._port = port = connector.port
        self._timeout_us = timeout_us
        self._responded = responded
        self._channels: dict[int, BrokerChannel] = {}
        self._correlation = 0
        self._timer = DeadlineTimer(port, TIMEOUTS)

    def add(self, broker: int, *, connected: bool = False) -> None:
        """Add a channel to a broker, with nothing in flight.

        ``connected``: the connection exists since before the start.
        """
        if broker not in self._channels:
            self._channels[broker] = self._new(broker, connected=connected)

    def _new(self, broker: int, *, connected: bool) -> BrokerChannel:
        return BrokerChannel(BlockingConnection(self._connector, broker, is_open=connected))

    def remove(self, broker: int) -> None:
        """Remove the channel of a broker that is gone, and drop its waiting requests."""
        channel = self._channels.pop(broker, None)
        if channel is not None:
            channel.connection.close()

    def clear(self) -> None:
        """Remove all channels: no longer the controller, or the process died."""
        for broker in tuple(self._channels):
            self.remove(broker)

    def stopped(self) -> None:
        """The process died."""
        self.clear()
        self._timer.forget()

    def send(self, broker: int, request: ControlRequest) -> None:
        """Queue a request; it is dropped if there is no channel to the broker."""
        channel = self._channels.get(broker)
        if channel is None:
            return
        self._correlation += 1
        channel.queue.append(request._replace(correlation_id=self._correlation))
        if len(channel.queue) == 1 and not channel.backing_off:
            self._transmit(broker, channel)

    def _transmit(self, broker: int, channel: BrokerChannel) -> None:
        """Send the first request, or open the connection for it first (``brokerReady``)."""
        if channel.connection.is_open:
            self._port.send(broker, channel.queue[0])
            channel.deadline = self._port.now + self._timeout_us
        else:
            channel.deadline = channel.connection.begin(self._timeout_us)
        self._timer.arm(channel.deadline)

    def connection_result(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of a connection attempt; False if it is of another connection."""
        channel = self._channels.get(peer)
        if channel is None or not channel.connection.on_response(message):
            return False
        if channel.connection.is_open:
            self._transmit(peer, channel)
        else:
            self._pause(peer, channel)
        return True

    def receive(self, source: int, response: ControlResponse) -> None:
        """Handle a broker's response; one to a request that is not in flight is ignored."""
        channel = self._channels.get(source)
        if channel is None or channel.deadline < 0 or not channel.connection.is_open:
            return
        if channel.queue[0].correlation_id != response.correlation_id:
            return
        request = channel.queue.popleft()
        channel.deadline = -1
        if channel.queue:
            self._transmit(source, channel)
        self._responded(source, request, response)

    def disconnected(self, peer: int) -> None:
        """The connection to ``peer`` broke: send the request in flight again after a pause."""
        channel = self._channels.get(peer)
        if channel is not None and channel.connection.broke() and channel.deadline >= 0:
            self._pause(peer, channel)

    def _pause(self, broker: int, channel: BrokerChannel) -> None:
        channel.deadline = -1
        channel.backing_off = True
        self._port.timer(BACKOFF_US, RETRY, broker)

    def on_retry(self, broker: int) -> None:
        """Retry after the pause."""
        channel = self._channels.get(broker)
        if channel is not None and channel.backing_off:
            channel.backing_off = False
            if channel.queue:
                self._transmit(broker, channel)

    def on_timeouts(self) -> None:
        """Time out requests without a response (``controller.socket.timeout.ms``)."""
        if not self._timer.take_expired():
            return
        for broker, channel in self._channels.items():
            if 0 <= channel.deadline <= self._port.now:
                if channel.connection.is_open:
                    self._port.abandon(broker)
                channel.connection.close()
                self._pause(broker, channel)
        deadlines = [channel.deadline for channel in self._channels.values() if channel.deadline >= 0]
        if deadlines:
            self._timer.arm(min(deadlines))

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        channels = tuple(
            [
                (broker, tuple(channel.queue), channel.deadline, channel.backing_off, channel.connection.save())
                for broker, channel in self._channels.items()
            ]
        )
        return (channels, self._correlation, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        channels, self._correlation, timer = saved
        self._channels.clear()
        for broker, queue, deadline, resting, connection in channels:
            channel = self._channels[broker] = self._new(broker, connected=False)
            channel.connection.load(connection)
            channel.queue.extend(queue)
            channel.deadline, channel.backing_off = deadline, resting
        self._timer.load(timer)


# Requests to brokers, collected during state changes and sent together (``ControllerBrokerRequestBatch``).


class RequestBatch:
    """Collected requests to brokers; :meth:`send` sends and clears them (``ControllerBrokerRequestBatch``)."""

    __slots__ = ("_broker_id", "_context", "_leader_and_isr", "_metadata", "_metadata_targets", "_profile", "_stop")

    def __init__(self, broker_id: int, profile: Profile, context: ControllerContext) -> None:
        self._broker_id = broker_id
        self._profile = profile
        self._context = context
        self._leader_and_isr: dict[int, dict[str, PartitionState]] = {}
        self._metadata: dict[str, PartitionState] = {}
        self._metadata_targets: dict[int, None] = {}
        """Brokers that get an UpdateMetadata request."""
        self._stop: dict[int, dict[str, StoppedReplica]] = {}

    def add_leader_and_isr(self, brokers: Iterable[int], partition: str) -> None:
        """Add a LeaderAndIsr request to these brokers, and UpdateMetadata to all brokers."""
        state = self._context.partitions[partition]
        for broker in brokers:
            self._leader_and_isr.setdefault(broker, {})[partition] = state
        self.add_update_metadata(self._context.reachable, (partition,))

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        """Add an UpdateMetadata request to these brokers, about those of the partitions that have a state."""
        self._metadata_targets.update(dict.fromkeys(brokers))
        for partition in partitions:
            state = self._context.partitions[partition]
            if self._context.is_deleting(partition):
                self._metadata[partition] = state._replace(leader=DURING_DELETE)
            elif self._context.has_state(partition):
                self._metadata[partition] = state

    def add_stop_replica(self, broker: int, partition: str, *, delete: bool) -> None:
        """Add a StopReplica request; it carries the leader epoch since 2.6 (KIP-570)."""
        if not self._profile.stop_replica_epoch:
            epoch = -1
        elif self._context.is_deleting(partition):
            epoch = DELETE_EPOCH
        else:
            epoch = self._context.partitions[partition].leader_epoch
        self._stop.setdefault(broker, {})[partition] = StoppedReplica(partition, epoch, delete)

    def send(self, send: Callable[[int, ControlRequest], None]) -> None:
        """Send LeaderAndIsr first, then UpdateMetadata, then StopReplica, each to its brokers."""
        for broker in sorted(self._leader_and_isr):
            states = tuple(self._leader_and_isr[broker].values())
            self._send_to(send, broker, LeaderAndIsrRequest(0, self._broker_id, self._context.epoch, -1, states))
        if self._metadata_targets:
            request = self._update_metadata()
            for broker in sorted(self._metadata_targets):
                self._send_to(send, broker, request)
        for broker in sorted(self._stop):
            stopped = tuple(self._stop[broker].values())
            self._send_to(send, broker, StopReplicaRequest(0, self._broker_id, self._context.epoch, -1, stopped))
        self.clear()

    def clear(self) -> None:
        """Drop the collected requests of an operation that failed half-way."""
        self._leader_and_isr.clear()
        self._metadata.clear()
        self._metadata_targets.clear()
        self._stop.clear()

    def _update_metadata(self) -> UpdateMetadataRequest:
        brokers = self._context.brokers
        return UpdateMetadataRequest(
            0,
            self._broker_id,
            self._context.epoch,
            -1,
            tuple(self._metadata.values()),
            tuple(brokers),
            tuple(broker.epoch for broker in brokers.values()),
            tuple(broker.rack for broker in brokers.values()),
        )

    def _send_to(self, send: Callable[[int, ControlRequest], None], broker: int, request: ControlRequest) -> None:
        known = self._context.brokers.get(broker)
        if known is None:
            return
        if self._profile.bounce_detected:
            request = request._replace(broker_epoch=known.epoch)
        send(broker, request)
