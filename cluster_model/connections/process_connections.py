"""The connections of a broker or controller to others, by what they are for, and those of a thread that waits.

Each kind has connections of its own, as in Kafka: one process may be connected to another several times. All of them
learn of the end of that process by the same message; only those that are open are lost by it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol

from cluster_model.connections.network_client import NetworkClient, growing_us
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.configs import ConnectionSettings
from cluster_model.protocol.messages import ApiVersionsResponse

# The connection of a thread that waits until it is there (``NetworkClientUtils.awaitReady``, ``BlockingChannel``).
#
# A replica fetcher has one to its leader, the controller's thread for a broker one to that, and a broker that shuts
# down one to the controller. None of them asks for API versions: it is open as soon as the operating systems have made
# it. An attempt fails if it is refused, after ``socket.connection.setup.timeout.ms`` (KIP-601, 2.7), and at the latest
# after the thread's own time limit. The thread closes the connection then (``NetworkClient.close``), which forgets the
# failure: it pauses as after any other, and the next attempt is like the first.


class Connector:
    """What one process makes such connections with: its port, its settings and its randomness."""

    __slots__ = ("_jitter", "_settings", "port")

    def __init__(self, port: NodeContext, settings: ConnectionSettings, jitter: Stream) -> None:
        self.port = port
        self._settings = settings
        self._jitter = jitter

    def longest_us(self, most_us: int) -> int:
        """How long an attempt may take of which its thread waits for ``most_us``."""
        settings = self._settings
        if not settings.setup_us:
            return most_us
        return min(growing_us(settings, settings.setup_us, settings.setup_max_us, 0, self._jitter), most_us)


class BlockingConnection:
    """One of them, to one process."""

    __slots__ = ("_attempt", "_connector", "is_open", "peer", "until")

    def __init__(self, connector: Connector, peer: int, *, is_open: bool) -> None:
        """``is_open``: the thread has been running since before the session's start."""
        self._connector = connector
        self.peer = peer
        self._attempt = 0
        self.is_open = is_open
        self.until = 0
        """When the attempt that is being made has failed."""

    @property
    def is_being_made(self) -> bool:
        """Whether an attempt is under way."""
        return self._attempt != 0

    def begin(self, most_us: int) -> int:
        """Begin an attempt that may take ``most_us``; when it will have failed."""
        port = self._connector.port
        self._attempt = port.connect(self.peer)
        self.until = port.now + self._connector.longest_us(most_us)
        return self.until

    def answered(self, message: Connected | ConnectionRefused) -> bool:
        """Take the answer to the attempt; False for one to any other."""
        if not self._attempt or message.attempt != self._attempt:
            return False
        self._attempt = 0
        self.is_open = isinstance(message, Connected)
        return True

    def broke(self) -> bool:
        """Take the message that a connection to the process has broken; False if it is not this one."""
        was_open, self.is_open = self.is_open, False
        return was_open

    def close(self) -> None:
        """Have none any more, nor wait for one."""
        self.is_open = False
        if self._attempt:
            self._connector.port.stop_connecting(self._attempt)
            self._attempt = 0

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.is_open, self._attempt, self.until)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.is_open, self._attempt, self.until = saved


# The connections of a broker or controller to others, by what they are for.


class ConnectionHandler(Protocol):
    """Connections of one kind."""

    def answered(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Take the answer to an attempt to connect; False if it is none of this kind's."""

    def disconnected(self, peer: int) -> None:
        """A connection to ``peer`` has broken, of this kind or another."""


class RequestChannel:
    """Connections over which requests are sent that wait for them (``InterBrokerSendThread``)."""

    __slots__ = ("client", "failed")

    def __init__(self, client: NetworkClient) -> None:
        self.client = client
        self.failed: Callable[[int], None]
        """Called with a process to which a connection was lost or could not be made; set by whom it is for."""

    def answered(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Take the answer to an attempt to connect; False if it is none of this kind's."""
        if not self.client.awaits(peer, message):
            return False
        if self.client.refused(peer, message):
            self.failed(peer)
        else:
            self.client.heard(peer, message)
        return True

    def disconnected(self, peer: int) -> None:
        """A connection to ``peer`` has broken, of this kind or another."""
        if self.client.broke(peer):
            self.failed(peer)

    def rang(self) -> None:
        """A timer: attempts or requests may have failed."""
        for peer in self.client.rang():
            self.failed(peer)


class ProcessConnections:
    """All of one process."""

    __slots__ = ("_channels", "_jitter", "_port", "_requests", "_settings", "connector", "handlers")

    def __init__(self, port: NodeContext, settings: ConnectionSettings, jitter: Stream) -> None:
        """``jitter`` is the stream from which the randomness of time limits and pauses is drawn."""
        self._port = port
        self._settings = settings
        self._jitter = jitter
        self.connector = Connector(port, settings, jitter)
        """For connections that a thread waits for."""
        self._channels: list[ConnectionHandler] = []
        self._requests: list[RequestChannel] = []
        self.handlers: Final[dict[type[Any], Callable[[int, Any], None]]] = {
            Connected: self._answered,
            ConnectionRefused: self._answered,
            ApiVersionsResponse: self._versions_told,
        }
        """Type of message → what takes (source, message)."""

    def add(self, channel: ConnectionHandler) -> None:
        """Have another kind of connections; once each, before anything happens."""
        self._channels.append(channel)

    def open(self, timeout_us: int, *, asks_versions: bool) -> RequestChannel:
        """Have another kind, over which requests are sent that wait for a connection; once each.

        ``timeout_us`` is how long an answer is waited for, ``asks_versions`` is Kafka's ``discoverBrokerVersions``.
        """
        settings = replace(self._settings, asks_versions=asks_versions)
        client = NetworkClient(self._port, settings, timeout_us, self._jitter, len(self._requests) + 1)
        channel = RequestChannel(client)
        self._channels.append(channel)
        self._requests.append(channel)
        return channel

    def _answered(self, source: int, message: Connected | ConnectionRefused) -> None:
        for channel in self._channels:
            if channel.answered(source, message):
                return

    def _versions_told(self, source: int, message: ApiVersionsResponse) -> None:
        for channel in self._requests:
            channel.client.heard(source, message)

    def rang(self, number: int) -> None:
        """A timer of a kind: attempts or requests may have failed."""
        self._requests[number - 1].rang()

    def disconnected(self, peer: int) -> None:
        """A connection to ``peer`` has broken."""
        for channel in self._channels:
            channel.disconnected(peer)

    def stopped(self) -> None:
        """The process died, and its connections with it."""
        for channel in self._requests:
            channel.client.stopped()

    def save(self) -> tuple[Any, ...]:
        """State of those that requests wait for; others save theirs."""
        return tuple([channel.client.save() for channel in self._requests])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        for channel, state in zip(self._requests, saved, strict=True):
            channel.client.load(state)
