"""What became of a transactional producer's records: nothing is promised before the commit.

A batch that its leader has acknowledged waits for the transaction's end. With the commit its records are *acked*, with
the abort *aborted*; where nobody can tell which it was, they are *unknown*. What certainly was not written is *failed*
at once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cluster_model.clients.accumulator import Outgoing
from cluster_model.clients.books import Books
from cluster_model.clients.pacing import Pacing
from cluster_model.errors import KafkaError
from cluster_model.events import Event, RecordsAborted, RecordsAcked, RecordsFailed, RecordsUnknown

BY_WISH = "TransactionAbortedException"
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

    __slots__ = ("_wants", "_written", "aborted", "open_records")

    def __init__(
        self, name: str, acks: int, emit: Callable[[Event], None], pace: Pacing, wants: Callable[[str], None]
    ) -> None:
        """``wants`` is told of the partition of records that were handed over."""
        super().__init__(name, acks, emit, pace)
        self._wants = wants
        self._written: list[_Written] = []
        """Of the transaction at hand."""
        self.aborted = 0
        self.open_records = 0
        """Handed over since the transaction began."""

    def made(self, now: int, partition: str, sequence: int, count: int) -> None:
        """Records were handed to the producer."""
        super().made(now, partition, sequence, count)
        if sequence >= 0:
            self.open_records += count
            self._wants(partition)

    def acknowledged(self, now: int, batch: Outgoing, broker: int, epoch: int, offset: int, lineage: int) -> None:
        """The success callback, which promises nothing yet."""
        self._pace.settled(batch.records, now - batch.created_us)
        self._written.append(
            _Written(batch.partition, batch.sequence, batch.records, batch.created_us, broker, epoch, offset, lineage)
        )

    def gave_up(self, now: int, batch: Outgoing, error: KafkaError) -> None:
        """The error callback. What may be in the log shares the transaction's fate."""
        self._pace.settled(batch.records, now - batch.created_us)
        if batch.written:
            self._written.append(_Written(batch.partition, batch.sequence, batch.records, batch.created_us))
            return
        self.failed += batch.records
        self._emit(
            RecordsFailed(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks,
                error.name if error else BY_WISH, now - batch.created_us,
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
