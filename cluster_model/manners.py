"""How clients outside of the model write and read, by what they have asked so far: it decides what they may see.

Nobody out there tells its configuration. What a producer asked for stands in its requests, and the weakest of what it
ever asked for is what it was promised. Where a reader goes next is its own choice, whatever group it is in.
"""

from typing import Any, Final

from cluster_model.checker.anomalies.client_settings import ProducerSettings
from cluster_model.checker.anomalies.operations import COMMITTED, WIRE
from cluster_model.protocol.batch import PLAIN
from cluster_model.protocol.messages import ALL, ProduceRequest

IN_FLIGHT: Final = 5
"""As many requests as any client may have under way."""

Asked = tuple[int, int, bool]
"""(acks, producer id, whether it was part of a transaction) of a batch."""


class Manners:
    """Of all clients outside."""

    __slots__ = ("_last", "producers", "readers", "transactional_ids")

    def __init__(self) -> None:
        self.producers: dict[str, ProducerSettings] = {}
        self.readers: dict[str, str] = {}
        self.transactional_ids: dict[str, str] = {}
        """Client → the one that it began with last."""
        self._last: dict[str, Asked] = {}

    def wrote(self, request: ProduceRequest) -> None:
        """A batch went out."""
        client = request.client
        asked = (request.acks, request.producer_id, request.kind != PLAIN)
        last = self._last.get(client)
        if asked == last:
            return
        self._last[client] = asked
        acks, producer_id, transactional = asked
        known = self.producers.get(client)
        found = ProducerSettings(acks, producer_id >= 0, 1, IN_FLIGHT, transactional)
        if known is not None and last is not None:
            found = ProducerSettings(
                max(acks, known.acks) if ALL in (acks, known.acks) else min(acks, known.acks),
                found.idempotent and known.idempotent, 1, IN_FLIGHT, transactional or known.transactional,
                known.resends or last[1] != producer_id,
            )  # fmt: skip
        self.producers[client] = found

    def begun(self, client: str, transactional_id: str) -> None:
        """It asked for a producer id."""
        if transactional_id:
            self.transactional_ids[client] = transactional_id

    def reads(self, client: str, *, committed_only: bool) -> None:
        """It fetches."""
        if self.readers.get(client) != WIRE:
            self.readers[client] = f"{WIRE} {COMMITTED}" if committed_only else WIRE

    @property
    def _tables(self) -> tuple[dict[str, Any], ...]:
        return (self.producers, self.readers, self.transactional_ids, self._last)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([tuple(table.items()) for table in self._tables])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; the tables stay the ones that others look into."""
        for table, rows in zip(self._tables, saved or ((),) * len(self._tables), strict=True):
            table.clear()
            table.update(rows)
