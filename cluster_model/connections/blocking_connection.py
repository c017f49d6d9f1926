"""The connection of a thread that waits until it is there (``NetworkClientUtils.awaitReady``, ``BlockingChannel``).

A replica fetcher has one to its leader, the controller's thread for a broker one to that, and a broker that shuts down
one to the controller. None of them asks for API versions: it is open as soon as the operating systems have made it. An
attempt fails if it is refused, after ``socket.connection.setup.timeout.ms`` (KIP-601, 2.7), and at the latest after the
thread's own time limit. The thread closes the connection then (``NetworkClient.close``), which forgets the failure: it
pauses as after any other, and the next attempt is like the first.
"""

from typing import Any

from cluster_model.connections.network_client import growing_us
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.configs import ConnectionSettings


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
