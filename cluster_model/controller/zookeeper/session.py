"""A broker's session with ZooKeeper: what is asked over it, and again over the next connection (``ZooKeeperClient``).

An operation that a broken connection swallowed is asked again when there is one, and may then have been done twice
over; whoever asks for a write has to bear that. Only the session's end makes it fail, and then nobody is answered.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from cluster_model.controller.zookeeper.zk import Answer
from cluster_model.kernel.node_context import Port
from cluster_model.zookeeper.client import ZkClient
from cluster_model.zookeeper.messages import (
    ClientPong,
    Closed,
    ConnectResponse,
    Reply,
    Result,
    WatchEvent,
    WatchKind,
    ZkError,
)

FROM_SERVERS: Final = (ConnectResponse, ClientPong, Reply, WatchEvent, Closed)
"""Messages for the client."""


class Owner(Protocol):
    """Whom a session tells."""

    def session_began(self) -> None:
        """There is a session, the first of this process or the next one."""

    def session_expired(self) -> None:
        """It is over, and the next one is being made."""

    def watch_went_off(self, path: str) -> None:
        """Something changed there."""


class Session:
    """One per broker."""

    __slots__ = ("_asked", "_lost", "_owner", "_seen", "_takers", "client")

    def __init__(self, port: Port, servers: tuple[int, ...], timeout_us: int, owner: Owner) -> None:
        self.client = ZkClient(port, servers, timeout_us, self)
        self._owner = owner
        self._takers: dict[str, Callable[[Any, Answer], None]] = {}
        self._asked: deque[tuple[Any, Any]] = deque()
        """(operation, token) of everything that the client has not answered yet, in order."""
        self._lost: list[tuple[Any, Any]] = []
        """What a broken connection swallowed."""
        self._seen = 0
        """The session that its owner has been told of."""

    @property
    def id(self) -> int:
        """Of the session, 0 for none."""
        return self.client.session

    def answers_to(self, name: str, taker: Callable[[Any, Answer], None]) -> None:
        """Give answers to tokens that begin with ``name`` to this one."""
        self._takers[name] = taker

    def ask(self, operation: Any, token: Any) -> None:
        """Have an operation done; nothing comes of it without a session."""
        if self._seen:
            self._asked.append((operation, token))
            self.client.ask(operation, token)

    def begin(self, session: int) -> None:
        """Stand in a formed cluster at its first instant."""
        self._seen = session

    def stopped(self) -> None:
        """The process died."""
        self.client.stopped()
        self._forget()

    def close(self) -> None:
        """End the session in order: what is ephemeral goes at once."""
        self._seen = 0
        self.client.close()
        self._forget()

    def _forget(self) -> None:
        self._asked.clear()
        self._lost.clear()
        self._seen = 0

    def on_connected(self) -> None:
        """The client has a connection."""
        lost, self._lost = self._lost, []
        for operation, token in lost:
            self._asked.append((operation, token))
            self.client.ask(operation, token)
        if self.client.session != self._seen:
            self._seen = self.client.session
            self._owner.session_began()

    def on_disconnected(self) -> None:
        """It has none; what waits goes on waiting."""

    def on_expired(self) -> None:
        """The session is over."""
        self._forget()
        self._owner.session_expired()
        self.client.connect()

    def on_answer(self, token: Any, result: Result) -> None:
        """An answer, or what became of a question without one."""
        if not self._asked:
            return
        operation, _token = self._asked.popleft()
        if result.error is ZkError.CONNECTION_LOSS:
            self._lost.append((operation, token))
        elif result.error is not ZkError.SESSION_EXPIRED:
            self._takers[token[0]](token, Answer.of(operation, result))

    def on_watch(self, path: str, _kind: WatchKind) -> None:
        """A watch went off."""
        self._owner.watch_went_off(path)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.client.save(), tuple(self._asked), tuple(self._lost), self._seen)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        client, asked, lost, self._seen = saved
        self.client.load(client)
        self._asked = deque(asked)
        self._lost = list(lost)
