"""A server's clients: connections, request order, watches (``CommitProcessor``, ``FinalRequestProcessor``).

Writes go to the leader in order of arrival. Reads are answered from this server's own tree, which may lag; a read waits
for earlier writes of its own client. Watch events of a transaction are sent before any response that would show the
change.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.configs import ZkSettings
from cluster_model.zookeeper.data_tree import DataTree, WatchTable
from cluster_model.zookeeper.messages import (
    READS,
    ClientPing,
    ClientPong,
    ClientRequest,
    CloseSession,
    ConnectionClosed,
    ConnectRequest,
    ConnectResponse,
    CreateSession,
    Hangup,
    Operation,
    OpResult,
    Read,
    RequestOrigin,
    ServerReply,
    SetWatches,
    Txn,
    WatchEvent,
    WatchKind,
    Write,
)

FROM_CLIENTS = (ConnectRequest, ClientRequest, SetWatches, ClientPing, Hangup)


class Upstream:
    """Target of a server's requests: itself as the leader, or its leader."""

    __slots__ = ()

    def submit(self, origin: RequestOrigin, session: int, operation: Write | CreateSession | CloseSession) -> None:
        """Submit an operation to be proposed."""

    def touch(self, session: int) -> None:
        """Report activity of a session's client."""

    def reopen(self, session: int, client: int, attempt: int) -> None:
        """Check whether a session still exists; :meth:`RequestProcessor.reopened` receives the result."""


class ClientConnection:
    """Connection of one client to this server."""

    __slots__ = ("attempt", "pending", "session")

    def __init__(self, attempt: int) -> None:
        self.attempt = attempt
        self.session = 0
        """Session id, 0 until the session is created or revalidated."""
        self.pending: deque[tuple[int, Operation]] = deque()
        """Requests without a response, in order; the first one is a write."""


class RequestProcessor:
    """Clients of one server; it accepts none until it is opened, and drops all when it is closed."""

    __slots__ = ("_connections", "_port", "_settings", "_tree", "_upstream", "_watches", "running")

    def __init__(
        self, port: NodeContext, settings: ZkSettings, tree: DataTree, upstream: Callable[[], Upstream]
    ) -> None:
        self.running = False
        self._port = port
        self._settings = settings
        self._tree = tree
        self._upstream = upstream
        self._connections: dict[int, ClientConnection] = {}
        """Connections by the client's node id."""
        self._watches = WatchTable()

    def stop(self) -> None:
        """Close every connection for lack of a quorum (``ZooKeeperServer.shutdown``); sessions are not affected."""
        for client, connection in self._connections.items():
            self._port.send(client, ConnectionClosed(connection.attempt))
        self.forget()

    def forget(self) -> None:
        """The process died."""
        self.running = False
        self._connections.clear()
        self._watches.clear()

    def begin(self, client: int, attempt: int, session: int) -> None:
        """Add a client that is connected at the start."""
        self._connections[client] = connection = ClientConnection(attempt)
        connection.session = session

    def begin_watching(self, client: int, operation: Read, result: OpResult) -> None:
        """Add a watch that is set at the start."""
        self._watches.read(client, operation, result)

    def drop(self, client: int) -> None:
        """Remove a closed connection; its session lasts until its timeout."""
        if self._connections.pop(client, None) is not None:
            self._watches.forget(client)

    # -- messages -----------------------------------------------------------------------------------------------------

    def receive(self, client: int, message: Any) -> None:
        """Handle one of :data:`FROM_CLIENTS`."""
        if isinstance(message, ConnectRequest):
            self._connect(client, message)
            return
        connection = self._connections.get(client)
        if connection is None or connection.attempt != message.attempt:
            return
        if isinstance(message, Hangup):
            self.drop(client)
        elif not connection.session:
            return
        elif isinstance(message, ClientPing):
            self._upstream().touch(connection.session)
            self._port.send(client, ClientPong(connection.attempt, self._tree.zxid))
        elif isinstance(message, SetWatches):
            for path, kind in self._watches.restore(client, message, self._tree):
                self._port.send(client, WatchEvent(connection.attempt, path, kind))
        elif isinstance(message, ClientRequest):
            self._request(client, connection, message)

    def _connect(self, client: int, message: ConnectRequest) -> None:
        """Accept a connection, unless the client has seen a newer state than this server: its view must not go back."""
        self.drop(client)
        if not self.running or message.last_zxid > self._tree.zxid:
            self._port.send(client, ConnectionClosed(message.attempt))
            return
        self._connections[client] = ClientConnection(message.attempt)
        if message.session:
            self._upstream().reopen(message.session, client, message.attempt)
            return
        timeout_us = max(self._settings.min_session_us, min(message.timeout_us, self._settings.max_session_us))
        origin = RequestOrigin(self._port.node_id, client, message.attempt, 0)
        self._upstream().submit(origin, 0, CreateSession(timeout_us, client))

    def reopened(self, client: int, attempt: int, session: int, timeout_us: int) -> None:
        """Handle the leader's revalidation of a session; ``timeout_us`` 0: it has ended."""
        connection = self._connections.get(client)
        if connection is None or connection.attempt != attempt or connection.session:
            return
        if timeout_us:
            connection.session = session
            self._port.send(client, ConnectResponse(attempt, session, timeout_us, self._tree.zxid))
        else:
            self.drop(client)
            self._port.send(client, ConnectResponse(attempt, 0, 0, self._tree.zxid))

    def _request(self, client: int, connection: ClientConnection, message: ClientRequest) -> None:
        operation = message.operation
        if isinstance(operation, READS):
            self._upstream().touch(connection.session)
            if connection.pending:
                connection.pending.append((message.xid, operation))
            else:
                self._answer_read(client, connection, message.xid, operation)
            return
        connection.pending.append((message.xid, operation))
        origin = RequestOrigin(self._port.node_id, client, connection.attempt, message.xid)
        self._upstream().submit(origin, connection.session, operation)

    def _answer_read(self, client: int, connection: ClientConnection, xid: int, operation: Read) -> None:
        result = self._tree.read(operation)
        if operation.watch:
            self._watches.read(client, operation, result)
        self._port.send(client, ServerReply(connection.attempt, xid, self._tree.zxid, result))

    # -- transactions -------------------------------------------------------------------------------------------------

    def trigger(self, path: str, kind: WatchKind) -> None:
        """Send the watch events of a change of a node."""
        for client in self._watches.trigger(path, kind):
            self._port.send(client, WatchEvent(self._connections[client].attempt, path, kind))

    def applied(self, txn: Txn) -> None:
        """Respond to the client that waits for an applied transaction, and close sessions that it ended."""
        origin = txn.origin
        if origin.server == self._port.node_id:
            connection = self._connections.get(origin.client)
            if connection is not None and connection.attempt == origin.attempt:
                self._answer(origin.client, connection, txn)
        for change in txn.changes:
            if change.kind == "close":
                self._end(change.owner)

    def _answer(self, client: int, connection: ClientConnection, txn: Txn) -> None:
        if not txn.origin.xid:
            connection.session = txn.zxid
            timeout_us = self._tree.sessions[txn.zxid].timeout_us
            self._port.send(client, ConnectResponse(connection.attempt, txn.zxid, timeout_us, txn.zxid))
            return
        connection.pending.popleft()
        self._port.send(client, ServerReply(connection.attempt, txn.origin.xid, txn.zxid, txn.result))
        while connection.pending:
            xid, operation = connection.pending[0]
            if not isinstance(operation, READS):
                return
            connection.pending.popleft()
            self._answer_read(client, connection, xid, operation)

    def _end(self, session: int) -> None:
        """Close an ended session's connection; its client learns of it when it reconnects (``closeSession``)."""
        for client, connection in self._connections.items():
            if connection.session == session:
                self.drop(client)
                self._port.send(client, ConnectionClosed(connection.attempt))
                return

    def save(self) -> tuple[Any, ...]:
        """Return all state but the tree."""
        connections = tuple(
            [
                (client, connection.attempt, connection.session, tuple(connection.pending))
                for client, connection in self._connections.items()
            ]
        )
        return (self.running, connections, self._watches.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.running, connections, watches = saved
        self._connections.clear()
        for client, attempt, session, pending in connections:
            self._connections[client] = connection = ClientConnection(attempt)
            connection.session = session
            connection.pending.extend(pending)
        self._watches.load(watches)
