"""A client's way to its coordinator: finding it, and the requests under way to it (``AbstractCoordinator``).

Any broker is asked who it is, and answers from its own metadata: a stale one names the old coordinator, who says
NOT_COORDINATOR. Between two lookups there is the retry back-off. A coordinator that is lost takes all requests with it.
"""

from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import GROUP, FindCoordinatorRequest, FindCoordinatorResponse
from cluster_model.protocol.messages import NOBODY

_FIND: Final = "find"

Lost = list[tuple[str, int]]
"""(kind, correlation) of requests that will not be answered."""


class CoordinatorLink:
    """Who coordinates, as far as this client knows, and what it has been asked."""

    __slots__ = (
        "_backoff_us", "_correlation", "_key", "_key_type", "_looked_at", "_metadata", "_port", "_timeout_us",
        "_waiting", "node",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        metadata: Metadata,
        key: str,
        timing: tuple[int, int],
        key_type: int = GROUP,
        first: int = 0,
    ) -> None:
        """``timing``: back-off and request timeout in µs. Behind ``first`` its requests are numbered."""
        self._port = port
        self._metadata = metadata
        self._key = key
        self._key_type = key_type
        self._backoff_us, self._timeout_us = timing
        self.node = NOBODY
        self._correlation = port.first_number + first
        self._looked_at = -self._backoff_us
        self._waiting: dict[int, tuple[str, int, int]] = {}
        """Correlation → (kind, broker, deadline)."""

    @property
    def known(self) -> bool:
        """Whether there is somebody to ask."""
        return self.node != NOBODY

    @property
    def waits(self) -> bool:
        """Whether any answer is due."""
        return bool(self._waiting)

    def busy(self, broker: int) -> bool:
        """Whether a request to a broker is unanswered."""
        return any(asked == broker for _kind, asked, _deadline in self._waiting.values())

    def find(self) -> None:
        """Look the coordinator up, unless it is known, being asked for, or was asked for just now."""
        now = self._port.now
        if self.known or now < self._looked_at + self._backoff_us or self._finding():
            return
        self._looked_at = now
        broker = self._metadata.pick()
        correlation = self._note(_FIND, broker, self._timeout_us)
        self._port.send(broker, FindCoordinatorRequest(correlation, self._key, self._key_type))

    def _finding(self) -> bool:
        return any(kind == _FIND for kind, _broker, _deadline in self._waiting.values())

    def found(self, response: FindCoordinatorResponse) -> None:
        """An answer; COORDINATOR_NOT_AVAILABLE and others are asked again after the back-off."""
        if self._waiting.pop(response.correlation, None) is None:
            return
        if response.error == KafkaError.NONE:
            self.node = response.node_id
        else:
            self._metadata.refresh()

    def ask(self, kind: str, request: Any, timeout_us: int = 0) -> int:
        """Send the coordinator a request, which gets its correlation here; returns that."""
        correlation = self._note(kind, self.node, timeout_us or self._timeout_us)
        self._port.send(self.node, request._replace(correlation=correlation))
        return correlation

    def _note(self, kind: str, broker: int, timeout_us: int) -> int:
        self._correlation += 1
        self._waiting[self._correlation] = (kind, broker, self._port.now + timeout_us)
        return self._correlation

    def take(self, correlation: int) -> bool:
        """An answer came; False if nobody waits for it any more."""
        return self._waiting.pop(correlation, None) is not None

    def unknown(self) -> None:
        """The coordinator is another one, or none, or gone (``markCoordinatorUnknown``)."""
        self.node = NOBODY

    def lost(self, broker: int) -> Lost:
        """The connection to a broker broke: what was asked of it will not be answered."""
        gone = [(kind, number) for number, (kind, asked, _deadline) in self._waiting.items() if asked == broker]
        for _kind, number in gone:
            del self._waiting[number]
        if broker == self.node:
            # It is looked up again at once, but not more often than the back-off says.
            self.unknown()
        return [(kind, number) for kind, number in gone if kind != _FIND]

    def overdue(self, now: int) -> list[int]:
        """Brokers that have not answered in time."""
        return [broker for _kind, broker, deadline in self._waiting.values() if deadline <= now]

    def due(self) -> int:
        """When something is to be done, -1 never."""
        times = [deadline for _kind, _broker, deadline in self._waiting.values()]
        if not self.known and not self._finding():
            times.append(max(self._port.now, self._looked_at + self._backoff_us))
        return min(times, default=-1)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.node, self._correlation, self._looked_at, tuple(self._waiting.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.node, self._correlation, self._looked_at, waiting = saved
        self._waiting = dict(waiting)
