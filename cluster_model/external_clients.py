"""What clients outside of the model were told of their records, as far as their connections show it.

Nobody out there says which records are new and which are sent once more. A batch that an idempotent producer numbers is
known by its number; any other that comes again byte for byte, after an attempt that failed, is that attempt's retry.
What was refused for now has no outcome until it is acknowledged, or until the session ends: a client that gives up
tells no broker of it. Records of a transaction have theirs when that ends.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.protocol.errors import PROVES_NOT_WRITTEN, RETRIABLE, WHILE_WAITING_TOO, KafkaError
from cluster_model.protocol.events import (
    Event,
    ProduceRefused,
    ProduceRetried,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.protocol.messages import ALL, ProduceRequest, ProduceResponse

REMEMBERED: Final = 5
"""Acknowledged batches of a producer and a partition that are known again, as many as a leader knows."""
GIVEN_UP: Final = "never acknowledged"
"""Why records have no other outcome when the session ends, where no broker refused them."""
_CRC: Final = slice(17, 21)
"""Where a batch has its checksum."""

Mark = tuple[Any, ...]
"""What a batch is known by when it comes again."""


class Attempt(NamedTuple):
    """A batch of a client, numbered; ``written``: some attempt at it may have reached a log."""

    client: str
    partition: str
    first: int
    records: int
    acks: int
    sent_at: int
    producer_id: int
    mark: Mark
    written: bool = False
    error: str = GIVEN_UP


class Writing:
    """Of all clients outside."""

    __slots__ = ("_acked", "_committing", "_emit", "_flying", "_left", "_next", "_open")

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._next: dict[tuple[str, str], int] = {}
        """(client, partition) → number of its next record."""
        self._flying: dict[int, tuple[int, Attempt]] = {}
        """Token of a request → (broker, batch)."""
        self._left: dict[tuple[str, str, Mark], Attempt] = {}
        """Batches that wait for another attempt."""
        self._acked: dict[tuple[str, str], tuple[tuple[Mark, int], ...]] = {}
        """(client, partition) → its last acknowledged batches that carry numbers: (mark, first number)."""
        self._open: dict[int, tuple[RecordsAcked, ...]] = {}
        """Producer id → what its open transaction has written."""
        self._committing: dict[int, bool] = {}
        """Producers that have asked for the commit of theirs, and have not been told of it."""

    def sent(self, now: int, token: int, broker: int, request: ProduceRequest) -> ProduceRequest:
        """A batch goes out; returns it with the numbers that it has here."""
        client, partition = place = request.client, request.partition
        idempotent = request.producer_id >= 0
        mark: Mark = (
            (request.producer_id, request.producer_epoch, request.sequence)
            if idempotent
            else (request.payload[_CRC], request.records, request.size)
        )
        attempt = self._left.pop((client, partition, mark), None)
        known = next((first for other, first in self._acked.get(place, ()) if other == mark), -1)
        count, acks = request.records, request.acks
        if attempt is None and known < 0:
            first = self._next.get(place, 0)
            self._next[place] = first + count
            attempt = Attempt(client, partition, first, count, acks, now, request.producer_id, mark)
            self._emit(RecordsSent(now, client, partition, first, count, acks))
        else:
            attempt = attempt or Attempt(client, partition, known, count, acks, now, request.producer_id, mark)
            self._emit(ProduceRetried(now, client, partition, broker, attempt.first, count))
        if acks:
            self._flying[token] = (broker, attempt)
        else:
            self._emit(RecordsAcked(now, client, partition, attempt.first, count, 0, broker, -1, -1, 0, -1))
        origin = attempt.first - request.sequence if idempotent else 0
        return request._replace(correlation=token, sequence=attempt.first, origin=origin)

    def answered(self, now: int, broker: int, response: ProduceResponse) -> None:
        """A broker's word on a batch."""
        _broker, attempt = self._flying.pop(response.correlation, (broker, None))
        if attempt is None:
            return
        if response.error and response.error != KafkaError.DUPLICATE_SEQUENCE_NUMBER:
            self._refused(now, broker, attempt, KafkaError(response.error))
            return
        place, mark = (attempt.client, attempt.partition), attempt.mark
        acked = self._acked.get(place, ())
        if any(other == mark for other, _first in acked):
            return
        if attempt.producer_id >= 0:
            self._acked[place] = (*acked[1 - REMEMBERED :], (mark, attempt.first))
        event = RecordsAcked(
            now, attempt.client, attempt.partition, attempt.first, attempt.records, attempt.acks, broker,
            response.leader_epoch, response.log_offset, now - attempt.sent_at, response.lineage,
        )  # fmt: skip
        if attempt.producer_id in self._open:
            self._open[attempt.producer_id] += (event,)
        else:
            self._emit(event)

    def _refused(self, now: int, broker: int, attempt: Attempt, error: KafkaError) -> None:
        may_be_there = error not in PROVES_NOT_WRITTEN and (error not in WHILE_WAITING_TOO or attempt.acks == ALL)
        attempt = attempt._replace(written=attempt.written or may_be_there, error=error.name)
        client, partition, first, count, acks = attempt[:5]
        self._emit(ProduceRefused(now, client, partition, broker, acks, error.name, first, count))
        if error in RETRIABLE:
            self._left[client, partition, attempt.mark] = attempt
        else:
            self._ended(now, attempt)

    def _ended(self, now: int, attempt: Attempt) -> None:
        ended: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown if attempt.written else RecordsFailed
        client, partition, first, count, acks, sent_at = attempt[:6]
        self._emit(ended(now, client, partition, first, count, acks, attempt.error, now - sent_at))

    def unanswered(self, now: int, token: int) -> None:
        """The connection broke first, or its client closed it."""
        flown = self._flying.pop(token, None)
        if flown is not None:
            self._refused(now, flown[0], flown[1], KafkaError.NETWORK_EXCEPTION)

    # -- transactions -----------------------------------------------------------------------------------------------

    def begun(self, producer_id: int) -> None:
        """A transaction has partitions: what is written from now on has its outcome when it ends."""
        self._open.setdefault(producer_id, ())

    def commits(self, producer_id: int) -> None:
        """The end of its transaction is asked for: until that is answered it may be decided or not."""
        if producer_id in self._open:
            self._committing[producer_id] = True

    def transaction_ended(self, now: int, producer_id: int, *, committed: bool) -> None:
        """It is decided."""
        self._committing.pop(producer_id, None)
        for each in self._open.pop(producer_id, ()):
            at_us, *told, latency_us, stint = each.values()
            fields = (now, *told, latency_us + now - at_us, stint)
            self._emit(RecordsAcked(*fields) if committed else RecordsAborted(*fields))

    def begun_anew(self, now: int, producer_id: int) -> None:
        """Another process of its id is there: what was open is aborted, unless its commit was on its way."""
        if self._committing.pop(producer_id, False):
            self._left_open(now, self._open.pop(producer_id, ()))
        else:
            self.transaction_ended(now, producer_id, committed=False)

    def _left_open(self, now: int, written: tuple[RecordsAcked, ...]) -> None:
        for each in written:
            told = (each.client, each.partition, each.sequence, each.count, each.acks)
            self._emit(RecordsUnknown(now, *told, "transaction left open", each.latency_us))

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self, now: int) -> None:
        """The session ends: nobody will be told anything any more."""
        for _broker, attempt in self._flying.values():
            self._ended(now, attempt._replace(written=True))
        for attempt in self._left.values():
            self._ended(now, attempt)
        for written in self._open.values():
            self._left_open(now, written)
        self._flying.clear()
        self._left.clear()
        self._open.clear()
        self._committing.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self._next, self._flying, self._left, self._acked, self._open, self._committing)
        return tuple([tuple(table.items()) for table in tables])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._next, self._flying, self._left, self._acked, self._open, self._committing = map(dict, saved)
