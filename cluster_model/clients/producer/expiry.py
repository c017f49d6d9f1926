"""When a producer gives a batch up for want of time.

Since 2.1 (KIP-91) a batch has ``delivery.timeout.ms`` from its creation, wherever it is. Before, from 0.9 on (KIP-19),
``request.timeout.ms`` bounded the wait in the queue alone, each time anew, and ``retries`` bounded the rest; 0.8.2 kept
what it could not send for ever.
"""

from typing import Final

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.record_accumulator import Accumulator, Line, Outgoing
from cluster_model.clients.sizes import RecordSizes
from cluster_model.kernel.wall_clocks import WallClock

NEVER: Final = 1 << 62


class Expiry:
    """Deadlines of batches, by the era of the client."""

    __slots__ = ("_config", "_sizes", "bounds_flights", "wall")

    def __init__(self, config: ProducerConfig, sizes: RecordSizes, wall: WallClock | None = None) -> None:
        self.wall = WallClock() if wall is None else wall
        """The machine's clock: what it shows stamps records."""
        self._config = config
        self._sizes = sizes
        self.bounds_flights = config.era.expiry == "delivery"
        """Whether a batch under way can expire, too."""

    def waiting(self, line: Line) -> int:
        """When the head of a line is given up; those behind it never go before it."""
        config = self._config
        head = line.waiting[0]
        if self.bounds_flights:
            return head.created_us - head.aged_us + config.delivery_timeout_us
        if config.era.expiry == "none" or line.muted:
            return NEVER
        patience = config.request_timeout_us + 1
        if head.attempts:
            return head.retry_at + patience
        at = head.created_us - head.aged_us + config.linger_us
        closed = len(line.waiting) > 1 or head.closed
        if closed or self._sizes.of(head.partition, head.sequence, head.records) >= config.batch_bytes:
            at = min(at, head.newest_us - head.aged_us)
        return at + patience

    def under_way(self, batch: Outgoing) -> int:
        """The same of a batch whose answer is due."""
        if not self.bounds_flights:
            return NEVER
        return batch.created_us - batch.aged_us + self._config.delivery_timeout_us

    def clock_stepped(self, by: int, batches: list[Outgoing]) -> None:
        """The machine's clock was set: a batch's age goes by it, but what was made before keeps its timestamps."""
        for batch in batches:
            batch.aged_us += by

    def first(self, accumulator: Accumulator, flights: list[Outgoing]) -> int:
        """The earliest deadline, :data:`NEVER` for none."""
        at = min(map(self.waiting, accumulator.busy.values()), default=NEVER)
        if self.bounds_flights:
            for batch in flights:
                if not batch.done:
                    at = min(at, self.under_way(batch))
        return at
