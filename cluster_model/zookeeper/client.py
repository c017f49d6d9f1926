"""The client library inside a process: one session with the ensemble over one connection at a time (``ClientCnxn``).

It pings when it has sent nothing for a third of the session timeout, takes the connection for lost when it has heard
nothing for two thirds, and then tries the next server. Only a server can tell it that its session has expired. Chosen:
the pause before a reconnection, up to a second and drawn at random in ``ClientCnxn``, is a fixed mix of client and
attempt; and the order of servers, shuffled there, starts at one given by the client's id.
"""

from collections import deque
from typing import Any, Final, Protocol

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Alarm, NodeContext
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
"""No session wanted; waiting to try the next server; asked one; has a connection; its session was lost."""
PAUSE_US: Final = 1_000_000
"""The longest pause before a reconnection."""


class ZkClientListener(Protocol):
    """Whom a client tells. It may ask, connect and close from inside these calls."""

    def on_connected(self) -> None:
        """A connection stands: the first of a session, or the same session over another one."""

    def on_disconnected(self) -> None:
        """The connection is lost, the session perhaps not."""

    def on_expired(self) -> None:
        """The session is over: its ephemeral nodes are gone. :meth:`ZkClient.connect` begins another."""

    def on_answer(self, token: Any, result: OpResult) -> None:
        """The answer to ``ask(operation, token)``: one for each, in the order in which they were asked."""

    def on_watch(self, path: str, kind: WatchKind) -> None:
        """A watch went off; it must be set again to go off again."""


class ZkClient:
    """One client. Its owner forwards messages, timers, disconnections, and the process's start and end."""

    __slots__ = (
        "_alarm", "_attempt", "_heard_at", "_listener", "_port", "_queue", "_retry_at", "_sent", "_sent_at",
        "_servers", "_state", "_tried", "_wanted_us", "_watches", "_xid", "last_zxid", "server", "session",
        "timeout_us",
    )  # fmt: skip

    def __init__(
        self, port: NodeContext, servers: tuple[int, ...], session_timeout_us: int, listener: ZkClientListener
    ) -> None:
        """``servers`` are node ids; ``session_timeout_us`` is what it asks for."""
        self.session = 0
        """0: none, or none yet."""
        self.server = servers[port.node_id % len(servers)]
        """Whom it is connected to, or tries."""
        self.timeout_us = session_timeout_us
        """As agreed with the server."""
        self.last_zxid = 0
        """The newest state it has seen: it takes no server that is behind it."""
        self._port = port
        self._servers = servers
        self._wanted_us = session_timeout_us
        self._listener = listener
        self._state = IDLE
        self._attempt = 0
        self._tried = 0
        """Servers tried in vain since the last connection."""
        self._retry_at = -1
        self._xid = 0
        self._queue: deque[tuple[int, Any, Operation]] = deque()
        """Asked and not answered: (xid, token, operation)."""
        self._sent = 0
        """How many of them, from the front, have been sent over this connection."""
        self._sent_at = 0
        self._heard_at = 0
        self._watches = ClientWatches()
        self._alarm = Alarm(port, TIMER)

    @property
    def connected(self) -> bool:
        """Whether it believes to have a connection."""
        return self._state == CONNECTED

    @property
    def expired(self) -> bool:
        """Whether it has been told that its session is over, and no other has been asked for."""
        return self._state == EXPIRED

    # -- what the owner asks for --------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Begin a session. ValueError when there is one already."""
        if self._state not in (IDLE, EXPIRED):
            raise ValueError("there is a session already, or one is being made")
        self.session = self.last_zxid = 0
        self._tried = 0
        self._watches.clear()
        self._try()

    def ask(self, operation: Operation, token: Any) -> None:
        """Have an operation done. Without a connection it waits for the attempt under way to succeed or fail."""
        self._xid += 1
        self._queue.append((self._xid, token, operation))
        if self._state == CONNECTED:
            self._flush()
        elif self._state in (IDLE, EXPIRED):
            self._alarm.want(self._port.now)

    def close(self) -> None:
        """End the session cleanly, without an answer: its ephemeral nodes go at once. Unconnected, it just lapses."""
        if self._state == CONNECTED:
            self._xid += 1
            self._send(ClientRequest(self._attempt, self._xid, CloseSession()))
        elif self._state == CONNECTING:
            self._send(Hangup(self._attempt))
        self._state = IDLE
        self.session = 0
        self._watches.clear()
        self._fail(ZkError.SESSION_EXPIRED)

    # -- the process's life -------------------------------------------------------------------------------------------

    def started(self) -> None:
        """The process runs: begin a session."""
        self.connect()

    def stopped(self) -> None:
        """The process died, and everything it knew with it; the server will find out."""
        self.session = self.last_zxid = self._xid = self._sent = self._tried = 0
        self._state = IDLE
        self._attempt = 0
        self._retry_at = -1
        self.timeout_us = self._wanted_us
        self.server = self._servers[self._port.node_id % len(self._servers)]
        self._queue.clear()
        self._watches.clear()
        self._alarm.forget()

    def begin(self, session: int, timeout_us: int, zxid: int) -> int:
        """Stand connected at the first instant, with this session; the number of the connection."""
        self._begin_attempt()
        self._connected(session, timeout_us, zxid)
        return self._attempt

    def begin_watching(self, operation: Any, result: OpResult) -> None:
        """A read with a watch was answered so before the first instant."""
        self._watches.read(operation, result)

    # -- events -------------------------------------------------------------------------------------------------------

    def receive(self, source: int, message: Any) -> bool:
        """Handle a message; False when it is not of this library. One of a broken connection changes nothing."""
        if not isinstance(message, ConnectResponse | ClientPong | ServerReply | WatchEvent | ConnectionClosed):
            return False
        if message.attempt != self._attempt or self._state not in (CONNECTING, CONNECTED):
            return True
        self._heard_at = self._port.now
        if isinstance(message, ConnectionClosed):
            self._lost()
        elif isinstance(message, ConnectResponse):
            self._answered(message)
        elif isinstance(message, ServerReply):
            self._reply(message)
        elif isinstance(message, WatchEvent):
            if self._watches.went_off(message.path, message.kind):
                self._listener.on_watch(message.path, message.kind)
        else:
            self.last_zxid = max(self.last_zxid, message.zxid)
        return True

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False when it is not of this library."""
        if timer[0] != TIMER:
            return False
        if self._alarm.rang():
            now = self._port.now
            if self._state in (IDLE, EXPIRED):
                self._fail(ZkError.SESSION_EXPIRED)
            elif self._state == WAITING:
                if now >= self._retry_at:
                    self._try()
            elif now >= self._heard_at + self._patience():
                self._lost()
            elif self._state == CONNECTED and now >= self._sent_at + self.timeout_us // 3:
                self._send(ClientPing(self._attempt))
            self._watch_time()
        return True

    def on_disconnect(self, peer: int) -> None:
        """A connection broke: its server's process is gone."""
        if peer == self.server and self._state in (CONNECTING, CONNECTED):
            self._lost(told=True)

    # -- connections --------------------------------------------------------------------------------------------------

    def _patience(self) -> int:
        """``readTimeout`` and ``connectTimeout`` of ``ClientCnxn``."""
        return self.timeout_us * 2 // 3 if self._state == CONNECTED else self.timeout_us // len(self._servers)

    def _watch_time(self) -> None:
        if self._state == WAITING:
            self._alarm.want(self._retry_at)
        elif self._state == CONNECTING:
            self._alarm.want(self._heard_at + self._patience())
        elif self._state == CONNECTED:
            self._alarm.want(min(self._heard_at + self._patience(), self._sent_at + self.timeout_us // 3))

    def _begin_attempt(self) -> None:
        self._attempt = max(self._attempt, self._port.incarnation << 24) + 1
        self._heard_at = self._port.now

    def _try(self) -> None:
        self._begin_attempt()
        self._state = CONNECTING
        self._send(ConnectRequest(self._attempt, self.session, self._wanted_us, self.last_zxid))
        self._watch_time()

    def _send(self, message: Any) -> None:
        self._sent_at = self._port.now
        self._port.send(self.server, message)

    def _lost(self, *, told: bool = False) -> None:
        """Turn to the next server; ``told`` by the other side's end, so that it need not be told."""
        was_connected = self._state == CONNECTED
        if not told:
            self._send(Hangup(self._attempt))
        self._tried += 1
        self.server = self._servers[(self._servers.index(self.server) + 1) % len(self._servers)]
        pause = (self._port.node_id * 389_171 + self._attempt * 211_049) % PAUSE_US
        if self._tried % len(self._servers) == 0:
            pause = PAUSE_US
        self._state = WAITING
        self._retry_at = self._port.now + pause
        self._watch_time()
        self._fail(ZkError.CONNECTION_LOSS)
        if was_connected:
            self._listener.on_disconnected()

    def _answered(self, message: ConnectResponse) -> None:
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
        self._watch_time()

    # -- requests -----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        while self._sent < len(self._queue):
            xid, _token, operation = self._queue[self._sent]
            self._sent += 1
            self._send(ClientRequest(self._attempt, xid, operation))

    def _reply(self, message: ServerReply) -> None:
        if not self._sent or self._queue[0][0] != message.xid:
            # As ClientCnxn does at "Xid out of order": an answer was lost on the way.
            self._lost()
            return
        _xid, token, operation = self._queue.popleft()
        self._sent -= 1
        self.last_zxid = max(self.last_zxid, message.zxid)
        if isinstance(operation, READS) and operation.watch:
            self._watches.read(operation, message.result)
        self._listener.on_answer(token, message.result)

    def _fail(self, error: ZkError) -> None:
        """Everything asked so far is answered by an error; what is asked meanwhile is not."""
        failed, self._queue = self._queue, deque()
        self._sent = 0
        for _xid, token, operation in failed:
            self._listener.on_answer(token, OpResult(error, getattr(operation, "path", "")))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        connection = (self._state, self.server, self.session, self.timeout_us, self.last_zxid, self._attempt)
        times = (self._tried, self._retry_at, self._sent_at, self._heard_at, self._alarm.save())
        return (connection, times, self._xid, tuple(self._queue), self._sent, self._watches.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        connection, times, self._xid, queue, self._sent, watches = saved
        self._state, self.server, self.session, self.timeout_us, self.last_zxid, self._attempt = connection
        self._tried, self._retry_at, self._sent_at, self._heard_at, alarm = times
        self._queue = deque(queue)
        self._watches.load(watches)
        self._alarm.load(alarm)
