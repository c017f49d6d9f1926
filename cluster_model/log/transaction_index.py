"""Transactions in a log: open, ended, aborted (``ProducerStateManager``, ``TransactionIndex``, KIP-98).

Everything here follows from the batches alone, so every replica has the same result. A follower updates it as it
appends; after a truncation the remaining batches are read again.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

from cluster_model.protocol.records import ABORT, TRANSACTIONAL, Batch

NOTHING_OPEN: Final = 1 << 62
"""First unstable offset if no transaction is open."""


class AbortedTxn(NamedTuple):
    """An entry of the transaction index (``AbortedTxn``): ``last_offset`` is the marker's.

    ``last_stable_offset`` is the one after the marker: the first offset of the oldest transaction still open then.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """Open, ended and aborted transactions of one log."""

    __slots__ = ("aborted", "ended", "ongoing")

    def __init__(self) -> None:
        self.ongoing: dict[int, int] = {}
        """Producer id → first offset of its open transaction, the oldest first."""
        self.ended: list[tuple[int, int]] = []
        """(first offset, marker offset) of transactions whose marker may not be replicated (``unreplicatedTxns``)."""
        self.aborted: list[AbortedTxn] = []
        """Aborted transactions, sorted by ``last_offset``."""

    def note(self, batch: Batch, start: int) -> None:
        """Record a transactional batch or a marker at offset ``start`` (``ProducerAppendInfo``).

        A marker of a transaction that wrote nothing here has no effect.
        """
        producer_id = batch.producer_id
        if batch.kind == TRANSACTIONAL:
            self.ongoing.setdefault(producer_id, start)
            return
        first = self.ongoing.pop(producer_id, -1)
        if first < 0:
            return
        self.ended.append((first, start))
        if batch.kind == ABORT:
            stable = next(iter(self.ongoing.values()), start + 1)
            self.aborted.append(AbortedTxn(producer_id, first, start, stable))

    def read(self, batches: Iterable[tuple[Any, Batch, int, int, int]]) -> None:
        """Record the batches that a log lists with their start offsets."""
        for _epoch_branch, batch, _size, start, _end in batches:
            if batch.kind:
                self.note(batch, start)

    def replicated(self, hw: int) -> None:
        """Apply the high watermark: markers below it are replicated (``onHighWatermarkUpdated``)."""
        self.ended = [each for each in self.ended if each[1] >= hw]

    def first_unstable(self, hw: int) -> int:
        """Return the first offset of the oldest transaction that is open, or whose marker is not below ``hw``."""
        found = next(iter(self.ongoing.values()), NOTHING_OPEN)
        for first, marker in self.ended:
            if marker >= hw and first < found:
                found = first
        return found

    def aborted_between(self, start: int, end: int) -> tuple[AbortedTxn, ...]:
        """Return the aborted transactions that concern a read of ``[start, end)`` (``collectAbortedTxns``).

        The scan stops at the first entry after which everything up to ``end`` was stable.
        """
        aborted: list[AbortedTxn] = []
        for index in range(bisect_left(self.aborted, start, key=lambda each: each.last_offset), len(self.aborted)):
            entry = self.aborted[index]
            if entry.first_offset < end:
                aborted.append(entry)
            if entry.last_stable_offset >= end:
                break
        return tuple(aborted)

    def is_aborted(self, batch: Batch) -> bool:
        """Whether a transactional batch belongs to an aborted transaction."""
        at = bisect_left(self.aborted, batch.base, key=lambda each: each.last_offset)
        return batch.kind == TRANSACTIONAL and any(
            each.producer_id == batch.producer_id and each.first_offset <= batch.base for each in self.aborted[at:]
        )

    def forget_markers(self, markers: Container[int]) -> None:
        """Forget aborted transactions whose markers compaction dropped (``CleanedTransactionMetadata``)."""
        self.aborted = [each for each in self.aborted if each.last_offset not in markers]

    def forget_below(self, offset: int) -> None:
        """Forget aborted transactions below ``offset``, whose segments and indexes are deleted."""
        self.aborted = [each for each in self.aborted if each.last_offset >= offset]

    def clear(self) -> None:
        """Forget all transactions."""
        self.ongoing.clear()
        self.ended, self.aborted = [], []

    def save(self) -> tuple[Any, ...]:
        """Return all state; empty if there are no transactions."""
        if not (self.ongoing or self.ended or self.aborted):
            return ()
        return (tuple(self.ongoing.items()), tuple(self.ended), tuple(self.aborted))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.clear()
        if saved:
            ongoing, ended, aborted = saved
            self.ongoing.update(ongoing)
            self.ended, self.aborted = list(ended), list(aborted)
