"""What became of a producer's records, as its application was told: counted, and told to the trace."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.producer.record_accumulator import Outgoing
from cluster_model.clients.workload import Pacing
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    Event,
    ProduceRefused,
    ProduceRetried,
    RecordsAcked,
    RecordsFailed,
    RecordsSent,
    RecordsUnknown,
)

DIED: Final = "process died"
"""Why a record has no outcome whose application was killed; no error of Kafka's."""


class DeliveryStats:
    """Records *acked*, *failed* (proven not to be written) and *unknown* (may be written) are never mixed."""

    __slots__ = ("_acks", "_emit", "_name", "_pace", "aborted", "acked", "failed", "last_error", "refused", "sent",
                 "unknown")  # fmt: skip

    def __init__(self, name: str, acks: int, emit: Callable[[Event], None], pace: Pacing) -> None:
        """``pace`` is told of outcomes: in a closed loop the next records follow them."""
        self._pace = pace
        self._name = name
        self._acks = acks
        self._emit = emit
        self.sent = self.acked = self.failed = self.unknown = self.refused = self.aborted = 0
        self.last_error = ""

    def made(self, now: int, partition: str, sequence: int, count: int) -> None:
        """Records were handed to the producer."""
        self.sent += count
        self._emit(RecordsSent(now, self._name, partition, sequence, count, self._acks))

    def never_taken(self, now: int, where: str, count: int, error: str, waited: int) -> None:
        """``send`` failed before the records were in any batch; they have no number."""
        self.made(now, where, -1, count)
        self.failed += count
        self.last_error = error
        self._pace.settled(count, waited)
        self._emit(RecordsFailed(now, self._name, where, -1, count, self._acks, error, waited))

    def acknowledged(self, now: int, batch: Outgoing, broker: int, epoch: int, offset: int, lineage: int) -> None:
        """The success callback, of each record: those that were handed over at one time share an event."""
        self.acked += batch.records
        self._pace.settled(batch.records, now - batch.created_us)
        for start, records, sent_us in batch.sent_together():
            self._emit(
                RecordsAcked(
                    now, self._name, batch.partition, batch.sequence + start, records, self._acks, broker, epoch,
                    offset + start if offset >= 0 else offset, now - sent_us, lineage,
                )
            )  # fmt: skip

    def attempt_failed(self, now: int, batch: Outgoing, broker: int, error: KafkaError) -> None:
        """One attempt ended in an error."""
        self.refused += 1
        self.last_error = error.name
        self._emit(
            ProduceRefused(
                now, self._name, batch.partition, broker, self._acks, error.name, batch.sequence, batch.records
            )
        )

    def tried_again(self, now: int, batch: Outgoing, broker: int) -> None:
        """An attempt beyond the first."""
        self._emit(ProduceRetried(now, self._name, batch.partition, broker, batch.sequence, batch.records))

    def gave_up(self, now: int, batch: Outgoing, error: str) -> None:
        """The error callback: failed only if nothing can have been written."""
        self._pace.settled(batch.records, now - batch.created_us)
        if batch.written:
            self.unknown += batch.records
            ended: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown
        else:
            self.failed += batch.records
            ended = RecordsFailed
        self._emit(
            ended(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks, error,
                now - batch.created_us,
            )
        )  # fmt: skip

    def died(self, now: int, batch: Outgoing) -> None:
        """The process is gone, and nobody is told. What never left it is in no log."""
        sent = batch.written or batch.in_flight
        if sent:
            self.unknown += batch.records
        else:
            self.failed += batch.records
        self.last_error = DIED
        ended: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown if sent else RecordsFailed
        self._emit(
            ended(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks, DIED,
                now - batch.created_us,
            )
        )  # fmt: skip

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.sent, self.acked, self.failed, self.unknown, self.refused, self.last_error)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.sent, self.acked, self.failed, self.unknown, self.refused, self.last_error = saved
