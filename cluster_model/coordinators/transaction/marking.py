"""WriteTxnMarkers at a partition's leader: markers are written like any batch with acks=all (``KafkaApis``)."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import Tenants
from cluster_model.protocol.batch import ABORT, COMMIT
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.transaction_messages import TxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from cluster_model.spec.internal_topics import TRANSACTIONS

MARKER_BYTES: Final = 78
"""A batch of one control record: 61 bytes of header, a key of 4 and a value of 6 with what surrounds them."""


class _Asked(NamedTuple):
    source: int
    correlation: int
    marker: TxnMarker
    verdicts: tuple[tuple[str, int], ...] = ()


class Marking:
    """Markers that this broker writes for coordinators."""

    __slots__ = ("_answer", "_asked", "_begins", "_next", "_number", "_tenants", "_timeout_us", "_tokens", "written")

    def __init__(
        self,
        tenants: Tenants,
        timeout_us: int,
        next_token: Callable[[], int],
        answer: Callable[[int, WriteTxnMarkersResponse], None],
        begins: Callable[[str, int], None],
        written: Callable[[str, TxnMarker], None],
    ) -> None:
        """``begins`` is told of each before it is written, by partition and producer id.

        ``written`` is told of each that is replicated: offsets of a transaction count from then on.
        """
        self._tenants = tenants
        self._timeout_us = timeout_us
        self._next = next_token
        self._answer = answer
        self._begins = begins
        self.written = written
        self._asked: dict[int, _Asked] = {}
        self._tokens: dict[int, tuple[int, str]] = {}
        """Append → (request, partition)."""
        self._number = 0

    def asked(self, source: int, request: WriteTxnMarkersRequest) -> None:
        """Write the marker to every partition named; the answer waits for all of them."""
        marker = request.marker
        self._number += 1
        number = self._number
        self._asked[number] = _Asked(source, request.correlation, marker)
        for partition in marker.partitions:
            token = self._next()
            self._tokens[token] = (number, partition)
            batch = ProduceRequest(
                0, partition, ALL, self._timeout_us, TRANSACTIONS, marker.producer_id, -1, 1, MARKER_BYTES,
                producer_epoch=marker.producer_epoch, kind=COMMIT if marker.committed else ABORT,
                coordinator_epoch=marker.coordinator_epoch,
            )  # fmt: skip
            self._begins(partition, marker.producer_id)
            self._tenants.submit(TRANSACTIONS, batch, token)

    def appended(self, token: int, error: KafkaError) -> bool:
        """How one went; False if it was none of these."""
        if token not in self._tokens:
            return False
        number, partition = self._tokens.pop(token)
        asked = self._asked[number]
        asked = self._asked[number] = asked._replace(verdicts=(*asked.verdicts, (partition, error)))
        if not error:
            self.written(partition, asked.marker)
        if len(asked.verdicts) == len(asked.marker.partitions):
            del self._asked[number]
            self._answer(asked.source, WriteTxnMarkersResponse(asked.correlation, asked.verdicts))
        return True

    def stopped(self) -> None:
        """The process died."""
        self._asked.clear()
        self._tokens.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._asked.items()), tuple(self._tokens.items()), self._number)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        asked, tokens, self._number = saved
        self._asked, self._tokens = dict(asked), dict(tokens)
