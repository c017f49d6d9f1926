"""A client's connection to a coordinator: its lookup, and the requests in flight to it (``AbstractCoordinator``).

Any broker can answer a lookup, from its own metadata: stale metadata names the old coordinator, which answers
NOT_COORDINATOR. The retry backoff applies between lookups. All requests to a lost coordinator fail.
"""

from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import GROUP, FindCoordinatorRequest, FindCoordinatorResponse
from cluster_model.protocol.messages import NO_LEADER

_FIND: Final = "find"

Lost = list[tuple[str, int]]
"""(kind, correlation) of failed requests."""


class CoordinatorConnection:
    """The coordinator of one group or transactional id known to a client, and the requests in flight to it."""

    __slots__ = (
        "_backoff_us", "_correlation", "_in_flight", "_key", "_key_type", "_looked_up_at", "_metadata", "_port",
        "_timeout_us", "keeps_node", "node",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        metadata: Metadata,
        key: str,
        timing: tuple[int, int],
        key_type: int = GROUP,
        first: int = 0,
        *,
        keeps_node: bool = False,
    ) -> None:
        """Make it; ``timing`` is (backoff, request timeout) in µs, and correlations begin after ``first``.

        ``keeps_node``: a broken connection alone does not make the coordinator unknown (KAFKA-17293).
        """
        self.keeps_node = keeps_node
        self._port = port
        self._metadata = metadata
        self._key = key
        self._key_type = key_type
        self._backoff_us, self._timeout_us = timing
        self.node = NO_LEADER
        self._correlation = port.first_number + first
        self._looked_up_at = -self._backoff_us
        self._in_flight: dict[int, tuple[str, int, int]] = {}
        """Correlation → (kind, broker, deadline)."""

    @property
    def is_known(self) -> bool:
        """Whether the coordinator is known."""
        return self.node != NO_LEADER

    @property
    def waits(self) -> bool:
        """Whether any request is in flight."""
        return bool(self._in_flight)

    def busy(self, broker: int) -> bool:
        """Return whether a request to a broker is in flight."""
        return any(target == broker for _kind, target, _deadline in self._in_flight.values())

    def find(self) -> None:
        """Look up the coordinator, unless it is known, a lookup is in flight, or the backoff is not over."""
        now = self._port.now
        if self.is_known or now < self._looked_up_at + self._backoff_us or self._finding():
            return
        self._looked_up_at = now
        broker = self._metadata.pick()
        correlation_id = self._register(_FIND, broker, self._timeout_us)
        self._port.send(broker, FindCoordinatorRequest(correlation_id, self._key, self._key_type))

    def _finding(self) -> bool:
        return any(kind == _FIND for kind, _broker, _deadline in self._in_flight.values())

    def on_coordinator_found(self, response: FindCoordinatorResponse) -> None:
        """Handle the response to a lookup; after an error it is repeated after the backoff."""
        if self._in_flight.pop(response.correlation_id, None) is None:
            return
        if response.error == KafkaError.NONE:
            self.node = response.node_id
        else:
            self._metadata.refresh()

    def send(self, kind: str, request: Any, timeout_us: int = 0) -> int:
        """Send a request to the coordinator; return the correlation that it was given."""
        correlation_id = self._register(kind, self.node, timeout_us or self._timeout_us)
        self._port.send(self.node, request._replace(correlation_id=correlation_id))
        return correlation_id

    def _register(self, kind: str, broker: int, timeout_us: int) -> int:
        self._correlation += 1
        self._in_flight[self._correlation] = (kind, broker, self._port.now + timeout_us)
        return self._correlation

    def complete(self, correlation_id: int) -> bool:
        """Handle a response; return False if its request is no longer in flight."""
        return self._in_flight.pop(correlation_id, None) is not None

    def unknown(self) -> None:
        """Forget the coordinator, which has changed or is unavailable (``markCoordinatorUnknown``)."""
        self.node = NO_LEADER

    def on_disconnect(self, broker: int) -> Lost:
        """Handle a broken connection to a broker; return the failed requests."""
        failed = [(kind, number) for number, (kind, target, _deadline) in self._in_flight.items() if target == broker]
        for _kind, number in failed:
            del self._in_flight[number]
        if broker == self.node and not self.keeps_node:
            # It is looked up again at once, except during the backoff.
            self.unknown()
        return [(kind, number) for kind, number in failed if kind != _FIND]

    def timed_out(self, now: int) -> list[int]:
        """Return the brokers of requests that timed out."""
        return [broker for _kind, broker, deadline in self._in_flight.values() if deadline <= now]

    def next_action_us(self) -> int:
        """Return the time of the next action, -1 for none."""
        times = [deadline for _kind, _broker, deadline in self._in_flight.values()]
        if not self.is_known and not self._finding():
            times.append(max(self._port.now, self._looked_up_at + self._backoff_us))
        return min(times, default=-1)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self.node, self._correlation, self._looked_up_at, tuple(self._in_flight.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.node, self._correlation, self._looked_up_at, waiting = saved
        self._in_flight = dict(waiting)
