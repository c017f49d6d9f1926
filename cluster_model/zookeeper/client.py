"""The ZooKeeper client of a process: one session over one connection at a time (``ClientCnxn``).

It pings when it has sent nothing for a third of the session timeout, considers the connection lost when it has received
nothing for two thirds, and then tries the next server. Only a server can report that the session has expired.
Simplifications: the pause before a reconnection, random up to a second in ``ClientCnxn``, is a fixed function of client
and attempt; and the order of servers, shuffled there, starts at one given by the client's id.
"""

from collections import deque
from typing import Any, Final, Protocol

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.zookeeper.data_tree import ClientWatches
from cluster_model.zookeeper.messages import (
    READS,
    ClientPing,
    ClientPong,
    ClientRequest,
    CloseSession,
    ConnectionClosed,
    ConnectRequest,
    ConnectResponse,
    Hangup,
    Operation,
    OpResult,
    ServerReply,
    WatchEvent,
    WatchKind,
    ZkError,
)

TIMER: Final = "zookeeper client"
IDLE, WAITING, CONNECTING, CONNECTED, EXPIRED = range(5)
"""Client states: no session wanted; waiting for the next attempt; connecting; connected; session expired."""
PAUSE_US: Final = 1_000_000
"""Longest pause before a reconnection."""


class ZkClientListener(Protocol):
    """Callbacks of a client to its owner, which can send operations, connect and close from inside of them."""

    def on_connected(self) -> None:
        """A connection was opened: the first one of a session, or a later one of the same session."""

    def on_disconnected(self) -> None:
        """The connection is lost; the session may still exist."""

    def on_expired(self) -> None:
        """The session expired: its ephemeral nodes are deleted. :meth:`ZkClient.connect` starts another."""

    def on_answer(self, token: Any, result: OpResult) -> None:
        """Result of ``ask(operation, token)``: one for each, in the order of the calls."""

    def on_watch(self, path: str, kind: WatchKind) -> None:
        """A watch fired; it must be set again to fire again."""


class ZkClient:
    """One ZooKeeper client. Its owner forwards messages, timers, disconnections, and the process's start and end."""

    __slots__ = (
        "_attempt", "_listener", "_port", "_queue", "_received_at", "_retry_at", "_sent", "_sent_at", "_servers",
        "_state", "_timer", "_tried", "_wanted_us", "_watches", "_xid", "last_zxid", "server", "session", "timeout_us",
    )  # fmt: skip

    def __init__(
        self, port: NodeContext, servers: tuple[int, ...], session_timeout_us: int, listener: ZkClientListener
    ) -> None:
        """``servers`` are node ids; ``session_timeout_us`` is the requested timeout."""
        self.session = 0
        """Session id, 0 for none."""
        self.server = servers[port.node_id % len(servers)]
        """Server that it is connected to, or connecting to."""
        self.timeout_us = session_timeout_us
        """Session timeout as negotiated with the server."""
        self.last_zxid = 0
        """Newest state that it has seen; it accepts no server with an older state."""
        self._port = port
        self._servers = servers
        self._wanted_us = session_timeout_us
        self._listener = listener
        self._state = IDLE
        self._attempt = 0
        self._tried = 0
        """Failed connection attempts since the last connection."""
        self._retry_at = -1
        self._xid = 0
        self._queue: deque[tuple[int, Any, Operation]] = deque()
        """Operations without a response: (xid, token, operation)."""
        self._sent = 0
        """Number of them, from the front, that were sent over this connection."""
        self._sent_at = 0
        self._received_at = 0
        self._watches = ClientWatches()
        self._timer = DeadlineTimer(port, TIMER)

    @property
    def connected(self) -> bool:
        """Whether the client considers itself connected."""
        return self._state == CONNECTED

    @property
    def expired(self) -> bool:
        """Whether the session expired and no other one has been requested."""
        return self._state == EXPIRED

    # -- calls of the owner -------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Start a session; ValueError if there is one already."""
        if self._state not in (IDLE, EXPIRED):
            raise ValueError("found a session that exists or is being created, close it first")
        self.session = self.last_zxid = 0
        self._tried = 0
        self._watches.clear()
        self._try()

    def ask(self, operation: Operation, token: Any) -> None:
        """Send an operation. Without a connection it waits for the result of the connection attempt in progress."""
        self._xid += 1
        self._queue.append((self._xid, token, operation))
        if self._state == CONNECTED:
            self._flush()
        elif self._state in (IDLE, EXPIRED):
            self._timer.arm(self._port.now)

    def close(self) -> None:
        """Close the session without a response, which removes its ephemeral nodes. If unconnected, it expires."""
        if self._state == CONNECTED:
            self._xid += 1
            self._send(ClientRequest(self._attempt, self._xid, CloseSession()))
        elif self._state == CONNECTING:
            self._send(Hangup(self._attempt))
        self._state = IDLE
        self.session = 0
        self._watches.clear()
        self._fail(ZkError.SESSION_EXPIRED)

    # -- process lifecycle --------------------------------------------------------------------------------------------

    def started(self) -> None:
        """The process started: start a session."""
        self.connect()

    def stopped(self) -> None:
        """The process died and lost all its state; the server will notice."""
        self.session = self.last_zxid = self._xid = self._sent = self._tried = 0
        self._state = IDLE
        self._attempt = 0
        self._retry_at = -1
        self.timeout_us = self._wanted_us
        self.server = self._servers[self._port.node_id % len(self._servers)]
        self._queue.clear()
        self._watches.clear()
        self._timer.forget()

    def begin(self, session: int, timeout_us: int, zxid: int) -> int:
        """Start connected in a formed cluster, with this session; return the number of the connection."""
        self._begin_attempt()
        self._connected(session, timeout_us, zxid)
        return self._attempt

    def begin_watching(self, operation: Any, result: OpResult) -> None:
        """Register the watch of a read that was answered before the start."""
        self._watches.read(operation, result)

    # -- events -------------------------------------------------------------------------------------------------------

    def receive(self, source: int, message: Any) -> bool:
        """Handle a message; False if it is not for the client. Messages of a broken connection are ignored."""
        if not isinstance(message, ConnectResponse | ClientPong | ServerReply | WatchEvent | ConnectionClosed):
            return False
        if message.attempt != self._attempt or self._state not in (CONNECTING, CONNECTED):
            return True
        self._received_at = self._port.now
        if isinstance(message, ConnectionClosed):
            self._disconnect()
        elif isinstance(message, ConnectResponse):
            self._on_response(message)
        elif isinstance(message, ServerReply):
            self._reply(message)
        elif isinstance(message, WatchEvent):
            if self._watches.fired(message.path, message.kind):
                self._listener.on_watch(message.path, message.kind)
        else:
            self.last_zxid = max(self.last_zxid, message.zxid)
        return True

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is not one of the client."""
        if timer[0] != TIMER:
            return False
        if self._timer.take_expired():
            now = self._port.now
            if self._state in (IDLE, EXPIRED):
                self._fail(ZkError.SESSION_EXPIRED)
            elif self._state == WAITING:
                if now >= self._retry_at:
                    self._try()
            elif now >= self._received_at + self._read_timeout():
                self._disconnect()
            elif self._state == CONNECTED and now >= self._sent_at + self.timeout_us // 3:
                self._send(ClientPing(self._attempt))
            self._set_alarm()
        return True

    def on_disconnect(self, peer: int) -> None:
        """A connection broke because the server's process ended."""
        if peer == self.server and self._state in (CONNECTING, CONNECTED):
            self._disconnect(is_closed=True)

    # -- connections --------------------------------------------------------------------------------------------------

    def _read_timeout(self) -> int:
        """Read timeout or connection timeout (``readTimeout`` and ``connectTimeout`` of ``ClientCnxn``)."""
        return self.timeout_us * 2 // 3 if self._state == CONNECTED else self.timeout_us // len(self._servers)

    def _set_alarm(self) -> None:
        if self._state == WAITING:
            self._timer.arm(self._retry_at)
        elif self._state == CONNECTING:
            self._timer.arm(self._received_at + self._read_timeout())
        elif self._state == CONNECTED:
            self._timer.arm(min(self._received_at + self._read_timeout(), self._sent_at + self.timeout_us // 3))

    def _begin_attempt(self) -> None:
        self._attempt = max(self._attempt, self._port.incarnation << 24) + 1
        self._received_at = self._port.now

    def _try(self) -> None:
        self._begin_attempt()
        self._state = CONNECTING
        self._send(ConnectRequest(self._attempt, self.session, self._wanted_us, self.last_zxid))
        self._set_alarm()

    def _send(self, message: Any) -> None:
        self._sent_at = self._port.now
        self._port.send(self.server, message)

    def _disconnect(self, *, is_closed: bool = False) -> None:
        """Drop the connection and go to the next server; ``is_closed``: the other side has closed the connection."""
        was_connected = self._state == CONNECTED
        if not is_closed:
            self._send(Hangup(self._attempt))
        self._tried += 1
        self.server = self._servers[(self._servers.index(self.server) + 1) % len(self._servers)]
        pause = (self._port.node_id * 389_171 + self._attempt * 211_049) % PAUSE_US
        if self._tried % len(self._servers) == 0:
            pause = PAUSE_US
        self._state = WAITING
        self._retry_at = self._port.now + pause
        self._set_alarm()
        self._fail(ZkError.CONNECTION_LOSS)
        if was_connected:
            self._listener.on_disconnected()

    def _on_response(self, message: ConnectResponse) -> None:
        if message.session:
            self._connected(message.session, message.timeout_us, message.zxid)
            self._listener.on_connected()
            if self._state == CONNECTED:
                self._flush()
            return
        self._state = EXPIRED
        self.session = 0
        self._watches.clear()
        self._fail(ZkError.SESSION_EXPIRED)
        self._listener.on_expired()

    def _connected(self, session: int, timeout_us: int, zxid: int) -> None:
        self._state = CONNECTED
        self._tried = 0
        self.session = session
        self.timeout_us = timeout_us
        watches = self._watches.again(self._attempt, self.last_zxid)
        self.last_zxid = max(self.last_zxid, zxid)
        if watches is not None:
            self._send(watches)
        self._set_alarm()

    # -- requests -----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        while self._sent < len(self._queue):
            xid, _token, operation = self._queue[self._sent]
            self._sent += 1
            self._send(ClientRequest(self._attempt, xid, operation))

    def _reply(self, message: ServerReply) -> None:
        if not self._sent or self._queue[0][0] != message.xid:
            # A response was lost on the way: as ClientCnxn at "Xid out of order".
            self._disconnect()
            return
        _xid, token, operation = self._queue.popleft()
        self._sent -= 1
        self.last_zxid = max(self.last_zxid, message.zxid)
        if isinstance(operation, READS) and operation.watch:
            self._watches.read(operation, message.result)
        self._listener.on_answer(token, message.result)

    def _fail(self, error: ZkError) -> None:
        """Fail all operations sent so far; those sent by callbacks in the meantime are kept."""
        failed, self._queue = self._queue, deque()
        self._sent = 0
        for _xid, token, operation in failed:
            self._listener.on_answer(token, OpResult(error, getattr(operation, "path", "")))

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        connection = (self._state, self.server, self.session, self.timeout_us, self.last_zxid, self._attempt)
        times = (self._tried, self._retry_at, self._sent_at, self._received_at, self._timer.save())
        return (connection, times, self._xid, tuple(self._queue), self._sent, self._watches.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        connection, times, self._xid, queue, self._sent, watches = saved
        self._state, self.server, self.session, self.timeout_us, self.last_zxid, self._attempt = connection
        self._tried, self._retry_at, self._sent_at, self._received_at, timer = times
        self._queue = deque(queue)
        self._watches.load(watches)
        self._timer.load(timer)
