"""Order of a client's requests on one connection: a broker reads the next one after it has answered the one before.

``SocketServer`` mutes a connection when it has received a request, and unmutes it when the response is sent. While a
write waits for its replicas, or for the verification of its transaction (KIP-890), later requests of the connection
stay in the socket's buffers: whatever the producer has in flight, its writes with acks=all are replicated one request
after the other.

Invariants: one connection has at most one request that is being handled; its requests are handled in the order in which
they were sent; a request of a lost connection does not delay those of the next one.

Only requests of modelled producers can delay others here. All else is answered at once (acks=0, acks=1, metadata), has
a connection with one request at a time (replica fetchers), or comes from the gateway, which keeps the order of each
connection itself. Not modelled: what a consumer or a group member sends while its fetch, JoinGroup or SyncGroup is
delayed, and what a producer sends while a request to its transaction coordinator is.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.messages import Message, ProduceRequest


class MutedConnection:
    """Connection whose current request has no response yet, and the requests that were sent after it."""

    __slots__ = ("number", "pending", "request", "unread")

    def __init__(self, number: int, request: int) -> None:
        self.number = number
        """How many connections the client had opened when this request came: another one has another number."""
        self.request = request
        """Number of the request being handled, see :attr:`ProduceRequest.request`."""
        self.pending = 0
        """Batches of the request that have no response yet."""
        self.unread: list[Message] = []
        """Requests that the broker has not read yet, oldest first."""

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.number, self.request, self.pending, tuple(self.unread))

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "MutedConnection":
        """Return a connection with the state returned by :meth:`save`."""
        number, request, pending, unread = saved
        connection = cls(number, request)
        connection.pending, connection.unread = pending, list(unread)
        return connection


class MutedConnections:
    """Muted connections of one broker, by client."""

    __slots__ = ("_closed", "_port", "muted", "readable")

    def __init__(self, port: NodeContext) -> None:
        self._port = port
        self.muted: dict[int, MutedConnection] = {}
        """Client's node → its connection."""
        self._closed: dict[tuple[int, int], MutedConnection] = {}
        """(client's node, request) → a connection that the client has closed without this broker's knowledge."""
        self.readable: list[tuple[int, int]] = []
        """(client's node, request) of those whose request is complete, in this order: see :meth:`read`."""

    def mute(self, source: int, request: ProduceRequest) -> None:
        """Mute the connection of a request that waits for something; once for each batch that does."""
        if request.request < 0:
            return
        connection = self._of(source, request.request)
        if connection is None:
            number = self._port.connections_from(source)
            connection = self.muted[source] = MutedConnection(number, request.request)
        connection.pending += 1

    def complete(self, source: int, request: int) -> None:
        """Note the response to a batch for which :meth:`mute` was called; the last one unmutes the connection."""
        connection = self._of(source, request)
        if connection is not None:
            connection.pending -= 1
            if not connection.pending:
                self.readable.append((source, request))

    def _of(self, source: int, request: int) -> MutedConnection | None:
        """Return the connection on which that request is being handled, None if it is not muted."""
        connection = self.muted.get(source)
        if connection is not None and connection.request == request:
            return connection
        return self._closed.get((source, request)) if self._closed else None

    def keep(self, source: int, message: Message) -> bool:
        """Keep a message of a client with a muted connection for later; False if it is to be handled now."""
        connection = self.muted[source]
        if connection.number != self._port.connections_from(source):
            self.closed(source)
            return False
        if not connection.unread and _is_part_of(message, connection.request):
            return False
        connection.unread.append(message)
        return True

    def closed(self, source: int) -> None:
        """Handle that a client's connection is closed, as its reset or its next connection shows.

        The broker does not look at a muted socket, so it learns of the close only by responding: after the response to
        the current request it still reads one request from the buffer, and the response to that one fails.
        """
        connection = self.muted.pop(source, None)
        if connection is not None:
            unread = connection.unread
            if unread and isinstance(unread[0], ProduceRequest):
                unread[:] = [each for each in unread if _is_part_of(each, unread[0].request)]
            self._closed[source, connection.request] = connection

    def read(self, handle: Callable[[int, Message], None]) -> None:
        """Handle the next requests of connections that are unmuted, until all of them are muted again or empty."""
        while self.readable:
            source, request = self.readable.pop(0)
            connection = self._of(source, request)
            if connection is None or connection.pending:
                continue
            if self._closed.pop((source, request), None) is None:
                del self.muted[source]
                self._read_open(source, connection.unread, handle)
            else:
                for message in connection.unread:
                    handle(source, message._replace(request=-1) if isinstance(message, ProduceRequest) else message)

    def _read_open(self, source: int, unread: list[Message], handle: Callable[[int, Message], None]) -> None:
        while unread:
            current = self.muted.get(source)
            if current is not None and not _is_part_of(unread[0], current.request):
                current.unread += unread
                return
            handle(source, unread.pop(0))

    def stopped(self) -> None:
        """Discard all connections of a process that died."""
        self.muted.clear()
        self._closed.clear()
        self.readable.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        muted = tuple([(source, connection.save()) for source, connection in self.muted.items()])
        closed = tuple([(key, connection.save()) for key, connection in self._closed.items()])
        return muted, closed, tuple(self.readable)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        muted, closed, readable = saved
        self.muted.clear()
        self.muted.update((source, MutedConnection.from_saved(state)) for source, state in muted)
        self._closed = {key: MutedConnection.from_saved(state) for key, state in closed}
        self.readable[:] = readable


def _is_part_of(message: Message, request: int) -> bool:
    """Whether a message is a batch of that request."""
    return isinstance(message, ProduceRequest) and message.request == request
