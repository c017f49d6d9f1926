"""Connections of a broker or controller to others, by purpose, and those of a blocking thread.

Each purpose has connections of its own, as in Kafka: one process may be connected to another several times. The same
message reports the end of a process to all of them; only open connections are lost by it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol

from cluster_model.connections.network_client import NetworkClient, growing_us
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.configs import ConnectionSettings
from cluster_model.protocol.messages import ApiVersionsResponse

# Connection of a thread that blocks until it is connected (``NetworkClientUtils.awaitReady``, ``BlockingChannel``).
#
# A replica fetcher has one to its leader, the controller's send thread one to each broker, and a broker in controlled
# shutdown one to the controller. None of them requests API versions: it is open after the TCP handshake. An attempt
# fails if it is refused, after ``socket.connection.setup.timeout.ms`` (KIP-601, 2.7), and at the latest after the
# thread's own timeout. The thread then closes the connection (``NetworkClient.close``), which forgets the failure: it
# backs off as after any other, and the next attempt is like the first.


class Connector:
    """Factory of a process's blocking connections: its context, its settings and its random stream."""

    __slots__ = ("_jitter", "_settings", "port")

    def __init__(self, port: NodeContext, settings: ConnectionSettings, jitter: RandomStream) -> None:
        self.port = port
        self._settings = settings
        self._jitter = jitter

    def longest_us(self, most_us: int) -> int:
        """Return the timeout of an attempt, at most ``most_us``, in microseconds."""
        settings = self._settings
        if not settings.setup_us:
            return most_us
        return min(growing_us(settings, settings.setup_us, settings.setup_max_us, 0, self._jitter), most_us)


class BlockingConnection:
    """A thread's blocking connection to one process."""

    __slots__ = ("_attempt", "_connector", "is_open", "peer", "until")

    def __init__(self, connector: Connector, peer: int, *, is_open: bool) -> None:
        """Start without an attempt; ``is_open``: the thread has been running since before the start of the session."""
        self._connector = connector
        self.peer = peer
        self._attempt = 0
        self.is_open = is_open
        self.until = 0
        """Time when the current attempt times out."""

    @property
    def is_being_made(self) -> bool:
        """Whether an attempt is in progress."""
        return self._attempt != 0

    def begin(self, most_us: int) -> int:
        """Start an attempt that may take ``most_us``; returns the time when it times out."""
        port = self._connector.port
        self._attempt = port.connect(self.peer)
        self.until = port.now + self._connector.longest_us(most_us)
        return self.until

    def on_response(self, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of the attempt; False for that of another one."""
        if not self._attempt or message.attempt != self._attempt:
            return False
        self._attempt = 0
        self.is_open = isinstance(message, Connected)
        return True

    def broke(self) -> bool:
        """Handle a broken connection to the process; False if it is not this one."""
        was_open, self.is_open = self.is_open, False
        return was_open

    def close(self) -> None:
        """Close the connection or stop the attempt."""
        self.is_open = False
        if self._attempt:
            self._connector.port.stop_connecting(self._attempt)
            self._attempt = 0

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.is_open, self._attempt, self.until)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.is_open, self._attempt, self.until = saved


# Connections of a broker or controller to others, by purpose.


class ConnectionHandler(Protocol):
    """Handler of the connections of one purpose."""

    def connection_result(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of a connection attempt; False if it is not of this purpose."""

    def disconnected(self, peer: int) -> None:
        """Handle a broken connection to ``peer``, of this purpose or another."""


class RequestChannel:
    """Connections for requests that wait until they are connected (``InterBrokerSendThread``)."""

    __slots__ = ("client", "failed")

    def __init__(self, client: NetworkClient) -> None:
        self.client = client
        self.failed: Callable[[int], None]
        """Called with a process to which a connection was lost or could not be made; set by the owner."""

    def connection_result(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of a connection attempt; False if it is not of this purpose."""
        if not self.client.awaits(peer, message):
            return False
        if self.client.handle_refused(peer, message):
            self.failed(peer)
        else:
            self.client.handle(peer, message)
        return True

    def disconnected(self, peer: int) -> None:
        """Handle a broken connection to ``peer``, of this purpose or another."""
        if self.client.broke(peer):
            self.failed(peer)

    def on_timer(self) -> None:
        """Handle a timer: attempts or requests may have failed."""
        for peer in self.client.on_timer():
            self.failed(peer)


class ProcessConnections:
    """All connections that one process makes."""

    __slots__ = ("_channels", "_jitter", "_port", "_requests", "_settings", "connector", "handlers")

    def __init__(self, port: NodeContext, settings: ConnectionSettings, jitter: RandomStream) -> None:
        """Start without purposes; ``jitter`` is the random stream of timeouts and backoff."""
        self._port = port
        self._settings = settings
        self._jitter = jitter
        self.connector = Connector(port, settings, jitter)
        """Factory of blocking connections."""
        self._channels: list[ConnectionHandler] = []
        self._requests: list[RequestChannel] = []
        self.handlers: Final[dict[type[Any], Callable[[int, Any], None]]] = {
            Connected: self._on_response,
            ConnectionRefused: self._on_response,
            ApiVersionsResponse: self._handle_api_versions,
        }
        """Message type → handler of (source, message)."""

    def add(self, channel: ConnectionHandler) -> None:
        """Add the connections of another purpose; called once each, before the run."""
        self._channels.append(channel)

    def open(self, timeout_us: int, *, asks_versions: bool) -> RequestChannel:
        """Add a channel for requests that wait until they are connected; called once for each purpose.

        ``timeout_us`` is the request timeout, ``asks_versions`` is Kafka's ``discoverBrokerVersions``.
        """
        settings = replace(self._settings, asks_versions=asks_versions)
        client = NetworkClient(self._port, settings, timeout_us, self._jitter, len(self._requests) + 1)
        channel = RequestChannel(client)
        self._channels.append(channel)
        self._requests.append(channel)
        return channel

    def _on_response(self, source: int, message: Connected | ConnectionRefused) -> None:
        for channel in self._channels:
            if channel.connection_result(source, message):
                return

    def _handle_api_versions(self, source: int, message: ApiVersionsResponse) -> None:
        for channel in self._requests:
            channel.client.handle(source, message)

    def on_timer(self, number: int) -> None:
        """Handle a timer of a channel: attempts or requests may have failed."""
        self._requests[number - 1].on_timer()

    def disconnected(self, peer: int) -> None:
        """Handle a broken connection to ``peer``."""
        for channel in self._channels:
            channel.disconnected(peer)

    def stopped(self) -> None:
        """Discard the connections of a process that died."""
        for channel in self._requests:
            channel.client.stopped()

    def save(self) -> tuple[Any, ...]:
        """Return the state of the request channels; the others save theirs."""
        return tuple([channel.client.save() for channel in self._requests])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        for channel, state in zip(self._requests, saved, strict=True):
            channel.client.load(state)
