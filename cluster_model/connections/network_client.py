"""Connections to brokers, and requests that wait for them (``NetworkClient``, ``ClusterConnectionStates``).

A connection is *disconnected*, *connecting* (TCP handshake), *checking API versions* (the broker's process has yet to
respond to the first request, KIP-97), or *ready*. Only a ready one carries requests. When it is lost, its requests in
flight fail; the next attempt waits for ``reconnect.backoff.ms``, twice as long after every further failure (KIP-144).
An attempt fails after ``socket.connection.setup.timeout.ms`` (KIP-601).

A process that is down refuses connections at once. A paused process can be connected to, as its operating system
accepts, but does not respond to the first request. A machine without power, or behind a cut, does not respond at all.

A producer calls :meth:`NetworkClient.ready` before it takes a batch out of the accumulator, so that a batch for a
broker without a connection stays there and costs no attempt. All other requests wait for the connection, and fail with
it (``ConsumerNetworkClient.unsent``, ``NetworkClientUtils.awaitReady``).

A client that runs from the start of the session has connections to all brokers then; an administrator is started for
each task. A consumer's second connection to its group coordinator is not distinguished from the first.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.configs import ConnectionSettings
from cluster_model.protocol.messages import ApiVersionsRequest, ApiVersionsResponse

CONNECTIONS: Final = "connections"
"""Name of the timer at which an attempt times out, or another one may begin."""
_POLL_US: Final = 1_000
"""Delay until a request for a broker in backoff fails: the client's next poll."""
_NEVER: Final = 1 << 62
_MAX_DOUBLINGS: Final = 20
NO_REQUEST: Final = ()
"""Marks an entry that waits for a connection without a request to be sent."""
_NUMBER_BITS: Final = 24
"""Bits for the ApiVersions requests of one client in their correlation ids."""


class ConnectionState(IntEnum):
    """State of a connection as the client knows it."""

    DISCONNECTED = 0
    CONNECTING = 1
    CHECKING_API_VERSIONS = 2
    READY = 3

    @property
    def text(self) -> str:
        """The state as it is printed."""
        return self.name.lower().replace("_", " ").replace("api", "API")


DISCONNECTED: Final = ConnectionState.DISCONNECTED
CONNECTING: Final = ConnectionState.CONNECTING
CHECKING: Final = ConnectionState.CHECKING_API_VERSIONS
READY: Final = ConnectionState.READY


class NodeConnection:
    """State of a connection that is not ready (``NodeConnectionState``)."""

    __slots__ = ("api_versions_id", "attempt", "connects", "failures", "state", "unsent", "until", "wanted")

    def __init__(self) -> None:
        self.state = DISCONNECTED
        self.failures = 0
        """Failed attempts and lost connections since it was last ready."""
        self.attempt = 0
        """Number of the current or last attempt."""
        self.connects = 0
        """Consecutive attempts without any connection."""
        self.until = 0
        """Time when the next attempt may begin, or the current one times out."""
        self.wanted = False
        """Whether a request waits for the next attempt."""
        self.api_versions_id = 0
        """Correlation id of the ApiVersions request in flight."""
        self.unsent: list[tuple[int, tuple[Any, ...]]] = []
        """(deadline, request) of those that wait for the connection, oldest first."""

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (
            self.state, self.failures, self.attempt, self.connects, self.until, self.wanted, self.api_versions_id,
            tuple(self.unsent),
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "NodeConnection":
        """Return a connection with the state returned by :meth:`save`."""
        connection = cls()
        (
            state, connection.failures, connection.attempt, connection.connects, connection.until, connection.wanted,
            connection.api_versions_id, unsent,
        ) = saved  # fmt: skip
        connection.state, connection.unsent = ConnectionState(state), list(unsent)
        return connection


class NetworkClient(NodeContext):
    """A client's node context that sends over connections with states."""

    __slots__ = (
        "_cold", "_correlation", "_ended", "_jitter", "_number", "_settings", "_timeout_us", "_timer", "_unready",
        "open", "opened",
    )  # fmt: skip

    def __init__(
        self, port: NodeContext, settings: ConnectionSettings, timeout_us: int, jitter: RandomStream, number: int = 0
    ) -> None:
        """Start without used connections; ``jitter`` is the random stream of backoff times.

        ``port`` is the process's context; ``timeout_us`` is ``request.timeout.ms``; ``number`` distinguishes the
        clients of one process.
        """
        super().__init__(port.network, port.node_id)
        self._settings = settings
        self._timeout_us = timeout_us
        self._number = number
        self._jitter = jitter
        self.open: dict[int, None] = {}
        """Brokers with a ready connection."""
        self._unready: dict[int, NodeConnection] = {}
        """Broker → connection that is not ready."""
        self._ended: dict[int, None] = {}
        """Brokers whose connection from the start of the session is known to be closed."""
        self._cold = False
        self._correlation = self.first_number + (number << _NUMBER_BITS)
        self._timer = DeadlineTimer(self, CONNECTIONS, number)
        self.opened: Callable[[int], None] | None = None
        """Called with a broker when a connection to it is ready, for requests sent by exchanges of their own."""

    def start_disconnected(self) -> None:
        """Mark the process as started during the session: it has no connections yet."""
        self._cold = True

    def _is_established(self, peer: int) -> bool:
        """Whether a never used connection exists since the start of the session."""
        return not self._cold and peer not in self._ended

    def state(self, peer: int) -> ConnectionState:
        """Return the state of the connection to a broker."""
        if peer in self.open:
            return READY
        connection = self._unready.get(peer)
        if connection is None:
            return READY if self._is_established(peer) else DISCONNECTED
        return connection.state

    def rank(self, peer: int) -> tuple[int, int]:
        """Return a broker's rank for requests to any broker, best first (``NetworkClient.leastLoadedNode``).

        Ready ones come first, then those being connected to, then those tried longest ago. One that was never tried
        counts as ready, unless the client has no connections yet.
        """
        if not self._cold and peer not in self._unready:
            return (0, 0)
        state = self.state(peer)
        if state is not DISCONNECTED:
            return (0 if state is READY else 1, 0)
        connection = self._unready.get(peer)
        until = 0 if connection is None else connection.until
        return (2 if until <= self.clock.now else 3, until)

    def is_unavailable(self, peer: int) -> bool:
        """Whether the broker is in backoff (``NetworkClient.isUnavailable``); the client is woken at its end."""
        connection = self._unready.get(peer)
        if connection is None or connection.state is not DISCONNECTED or connection.until <= self.clock.now:
            return False
        self._want(connection)
        return True

    def ready(self, peer: int) -> bool:
        """Whether a request may be sent; without a connection, an attempt is started as soon as backoff allows."""
        if peer in self.open:
            return True
        connection = self._unready.get(peer)
        if connection is None:
            if self._is_established(peer):
                self.open[peer] = None
                return True
            connection = self._unready[peer] = NodeConnection()
        if connection.state is DISCONNECTED:
            if connection.until <= self.clock.now:
                self._begin(peer, connection)
            else:
                self._want(connection)
        return False

    def _want(self, connection: NodeConnection) -> None:
        connection.wanted = True
        self._timer.arm(connection.until)

    def _begin(self, peer: int, connection: NodeConnection) -> None:
        settings = self._settings
        connection.state = CONNECTING
        connection.wanted = False
        connection.until = _NEVER
        if settings.setup_us:
            setup_us = growing_us(settings, settings.setup_us, settings.setup_max_us, connection.connects, self._jitter)
            connection.until = self.clock.now + setup_us
            self._timer.arm(connection.until)
        connection.attempt = self.connect(peer)

    def send(self, target: int, message: tuple[Any, ...]) -> None:
        """Send a request, now or when connected; if the attempt fails, the request fails with it."""
        if target in self.open or self.ready(target):
            super().send(target, message)
            return
        self._queue_request(target, message)

    def await_connection(self, target: int) -> None:
        """Have :attr:`opened` called when connected; if the attempt fails, this fails as a request does."""
        self._queue_request(target, NO_REQUEST)

    def _queue_request(self, target: int, message: tuple[Any, ...]) -> None:
        """Queue a request until there is a connection.

        Between brokers a request that has waited for its timeout is not sent any more
        (``InterBrokerSendThread.failExpiredRequests``). A client times its requests out itself.
        """
        connection = self._unready[target]
        until = self.clock.now + self._timeout_us if self._number else _NEVER
        connection.unsent.append((until, message))
        if connection.state is DISCONNECTED:
            self._timer.arm(self.clock.now + _POLL_US)

    def awaits(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Whether a message is the result of the current attempt, not of an earlier one or another client's."""
        connection = self._unready.get(peer)
        return connection is not None and connection.state is CONNECTING and connection.attempt == message.attempt

    def handle(self, source: int, message: Any) -> bool:
        """Handle a message about a connection that is not a failure; False for any other message."""
        connection = self._unready.get(source)
        if isinstance(message, Connected):
            if connection is not None and self.awaits(source, message):
                self._connected(source, connection)
            return True
        if not isinstance(message, ApiVersionsResponse):
            return False
        if (
            connection is not None
            and connection.state is CHECKING
            and message.correlation_id == connection.api_versions_id
        ):
            self._opened(source, connection)
        return True

    def handle_refused(self, peer: int, message: Any) -> bool:
        """Handle the failure of the current attempt; False for any other message."""
        if not isinstance(message, ConnectionRefused) or not self.awaits(peer, message):
            return False
        self.disconnect(peer)
        return True

    def broke(self, peer: int) -> bool:
        """Handle a broken connection; False if this client has none to that process.

        While an attempt is in progress the message concerns an earlier connection, which is closed already.
        """
        connection = self._unready.get(peer)
        had_connection = self.state(peer) is READY or (connection is not None and connection.state is CHECKING)
        self._ended[peer] = None
        if had_connection:
            self.disconnect(peer)
        return had_connection

    def _connected(self, peer: int, connection: NodeConnection) -> None:
        connection.connects = 0
        if not self._settings.asks_versions:
            self._opened(peer, connection)
            return
        connection.state = CHECKING
        connection.until = self.clock.now + self._timeout_us
        self._correlation += 1
        connection.api_versions_id = self._correlation
        self._timer.arm(connection.until)
        super().send(peer, ApiVersionsRequest(connection.api_versions_id))

    def _opened(self, peer: int, connection: NodeConnection) -> None:
        del self._unready[peer]
        self.open[peer] = None
        for until, message in connection.unsent:
            if message and self.clock.now < until:
                super().send(peer, message)
        if self.opened is not None:
            self.opened(peer)

    def disconnect(self, peer: int) -> None:
        """Disconnect: requests in flight and requests that wait for the connection fail."""
        connection = self._unready.get(peer)
        if connection is None:
            connection = self._unready[peer] = NodeConnection()
            self.open.pop(peer, None)
        elif connection.state is DISCONNECTED:
            connection.unsent.clear()
            return
        elif connection.state is CONNECTING:
            connection.connects += 1
            self.stop_connecting(connection.attempt)
        else:
            connection.connects = 0
        connection.unsent.clear()
        settings = self._settings
        pause_us = growing_us(settings, settings.backoff_us, settings.backoff_max_us, connection.failures, self._jitter)
        connection.failures += 1
        connection.state = DISCONNECTED
        connection.until = self.clock.now + pause_us
        if connection.wanted:
            self._timer.arm(connection.until)

    def abandon(self, target: int, exchange: Any = None) -> None:
        """Close a connection because a response timed out; an attempt in progress continues.

        Every request on it, or waiting for it, fails: the caller notifies their senders.
        """
        if target in self.open or target not in self._unready:
            super().abandon(target, exchange)
            self.disconnect(target)
        else:
            self._unready[target].unsent.clear()

    def stopped(self) -> None:
        """Discard the connections of a process that died; the next one starts without any."""
        self._unready.clear()
        self.open.clear()
        self._timer.forget()
        self._cold = True

    def close(self) -> None:
        """Close all connections at the end of a task: the next task starts without them."""
        for connection in self._unready.values():
            if connection.state is CONNECTING:
                self.stop_connecting(connection.attempt)
        self._unready.clear()
        self.open.clear()

    def on_timer(self) -> list[int]:
        """Handle the timer; returns the brokers to which requests or an attempt have failed."""
        failed: list[int] = []
        if not self._timer.take_expired():
            return failed
        now = self.clock.now
        for peer, connection in tuple(self._unready.items()):
            if connection.state is DISCONNECTED:
                if connection.unsent:
                    failed.append(peer)
                if connection.until <= now:
                    connection.wanted = False
            elif connection.until <= now:
                if connection.state is CHECKING:
                    super().abandon(peer)
                failed.append(peer)
        for peer in failed:
            self.disconnect(peer)
        self._rearm(now)
        return failed

    def _rearm(self, now: int) -> None:
        due = [each.until for each in self._unready.values() if each.state is not DISCONNECTED or each.wanted]
        future = [at for at in due if now < at < _NEVER]
        if future:
            self._timer.arm(min(future))

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        unready = tuple([(peer, connection.save()) for peer, connection in self._unready.items()])
        return (
            tuple(self.open), unready, tuple(self._ended), self._cold, self._correlation, self._timer.save(),
            self._jitter.position,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        opened, unready, ended, self._cold, self._correlation, timer, self._jitter.position = saved
        self.open, self._ended = dict.fromkeys(opened), dict.fromkeys(ended)
        self._unready = {peer: NodeConnection.from_saved(connection) for peer, connection in unready}
        self._timer.load(timer)


def growing_us(settings: ConnectionSettings, first_us: int, most_us: int, times: int, jitter: RandomStream) -> int:
    """Return a backoff that doubles and varies by a fifth (``ExponentialBackoff``), constant if it cannot grow.

    Since KIP-580 (3.7) the jitter does not exceed the maximum.
    """
    if first_us >= most_us:
        return first_us
    grown_us = min(first_us << min(times, _MAX_DOUBLINGS), most_us)
    varied_us = grown_us * (800 + jitter.below(401)) // 1_000
    return min(varied_us, most_us) if settings.capped else varied_us
