"""What became of a transactional producer's records: nothing is promised before the commit.

A batch that its leader has acknowledged waits for the transaction's end. With the commit its records are *acked*, with
the abort *aborted*; where nobody can tell which it was, they are *unknown*. What certainly was not written is *failed*
at once.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.clients.producer.before_sending import UNSERIALIZED
from cluster_model.clients.producer.delivery_stats import DIED, Books
from cluster_model.clients.producer.ending import FORCED
from cluster_model.clients.producer.io_thread import IoThread
from cluster_model.clients.producer.record_accumulator import Outgoing
from cluster_model.clients.workload import Pacing
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, RecordsAborted, RecordsAcked, RecordsFailed, RecordsUnknown

BY_WISH: Final = "TransactionAbortedException"
"""The error of records that were not sent yet when their transaction was aborted; Kafka gives it no code."""


class _Written(NamedTuple):
    """A batch that may be in the log; broker, epoch, offset and stint -1: nobody has said so."""

    partition: str
    sequence: int
    records: int
    created_us: int
    broker: int = -1
    leader_epoch: int = -1
    offset: int = -1
    stint: int = -1


class TransactionalBooks(Books):
    """Books in which outcomes come by transactions."""

    __slots__ = ("_refused", "_wants", "_written", "io", "open_records")

    def __init__(
        self,
        name: str,
        acks: int,
        emit: Callable[[Event], None],
        pace: Pacing,
        wants: Callable[[str], None],
        refused: Callable[[KafkaError], None],
    ) -> None:
        """``wants`` is told of the partition of records that were handed over, ``refused`` why a ``send`` failed."""
        super().__init__(name, acks, emit, pace)
        self._wants = wants
        self._refused = refused
        self.io: IoThread | None = None
        """Where callbacks take time."""
        self._written: list[_Written] = []
        """Of the transaction at hand."""
        self.open_records = 0
        """Handed over since the transaction began."""

    def made(self, now: int, partition: str, sequence: int, count: int) -> None:
        """Records were handed to the producer."""
        super().made(now, partition, sequence, count)
        if sequence >= 0:
            self.open_records += count
            self._wants(partition)

    def never_taken(self, now: int, where: str, count: int, error: str, waited: int) -> None:
        """``send`` failed, and the transaction with it unless that is the application's own fault (``doSend``)."""
        super().never_taken(now, where, count, error, waited)
        if error not in (UNSERIALIZED, FORCED):
            self._refused(KafkaError.__members__.get(error, KafkaError.REQUEST_TIMED_OUT))

    def acknowledged(self, now: int, batch: Outgoing, broker: int, epoch: int, offset: int, lineage: int) -> None:
        """The success callback, which promises nothing yet."""
        self._pace.settled(batch.records, now - batch.created_us)
        self._written.append(
            _Written(batch.partition, batch.sequence, batch.records, batch.created_us, broker, epoch, offset, lineage)
        )
        if self.io is not None:
            self.io.ran(batch.records)

    def gave_up(self, now: int, batch: Outgoing, error: str) -> None:
        """The error callback. What may be in the log shares the transaction's fate."""
        self._pace.settled(batch.records, now - batch.created_us)
        self._over(now, batch, error)
        if self.io is not None:
            self.io.ran(batch.records)

    def died(self, now: int, batch: Outgoing) -> None:
        """The process is gone; :meth:`undone` or :meth:`undecided` is to follow."""
        self.last_error = DIED
        batch.written = batch.written or batch.in_flight
        self._over(now, batch, DIED)

    def _over(self, now: int, batch: Outgoing, error: str) -> None:
        if batch.written:
            self._written.append(_Written(batch.partition, batch.sequence, batch.records, batch.created_us))
            return
        self.failed += batch.records
        self._emit(
            RecordsFailed(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks, error,
                now - batch.created_us,
            )
        )  # fmt: skip

    def committed(self, now: int) -> int:
        """The transaction is committed: every record is acked. Returns how many."""
        for each in self._written:
            self.acked += each.records
            self._emit(
                RecordsAcked(
                    now, self._name, each.partition, each.sequence, each.records, self._acks, each.broker,
                    each.leader_epoch, each.offset, now - each.created_us, each.stint,
                )
            )  # fmt: skip
        return self._closed()

    def undone(self, now: int) -> int:
        """It is aborted. Returns how many records went with it."""
        for each in self._written:
            self.aborted += each.records
            self._emit(
                RecordsAborted(
                    now, self._name, each.partition, each.sequence, each.records, self._acks, each.broker,
                    each.leader_epoch, each.offset, now - each.created_us, each.stint,
                )
            )  # fmt: skip
        return self._closed()

    def undecided(self, now: int, error: str) -> int:
        """Nobody can tell. Returns of how many records."""
        for each in self._written:
            self.unknown += each.records
            self._emit(
                RecordsUnknown(
                    now, self._name, each.partition, each.sequence, each.records, self._acks, error,
                    now - each.created_us,
                )
            )  # fmt: skip
        return self._closed()

    def _closed(self) -> int:
        count = sum(each.records for each in self._written)
        self._written.clear()
        self.open_records = 0
        return count

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (super().save(), self.aborted, self.open_records, tuple(self._written))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        books, self.aborted, self.open_records, written = saved
        super().load(books)
        self._written = list(written)
