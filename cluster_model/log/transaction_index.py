"""Transactions as a log knows them: open, ended, aborted (``ProducerStateManager``, ``TransactionIndex``, KIP-98).

Everything here follows from the batches alone, so every replica finds the same out. A follower of a log reads it as
it appends; who truncates reads what is left.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

from cluster_model.protocol.records import ABORT, TRANSACTIONAL, Batch

NOTHING_OPEN: Final = 1 << 62
"""Where the first unstable offset is when there is none."""


class AbortedTxn(NamedTuple):
    """An entry of the transaction index (``AbortedTxn``): ``last_offset`` is the marker's.

    ``last_stable_offset`` is what was stable behind it: the first offset of the oldest transaction still open then.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The transactions of one log."""

    __slots__ = ("aborted", "ended", "ongoing")

    def __init__(self) -> None:
        self.ongoing: dict[int, int] = {}
        """Producer id → first offset of its open transaction, the oldest first."""
        self.ended: list[tuple[int, int]] = []
        """(first offset, marker) of transactions whose marker is not known to be replicated (``unreplicatedTxns``)."""
        self.aborted: list[AbortedTxn] = []
        """By ``last_offset``."""

    def note(self, batch: Batch, start: int) -> None:
        """A batch that is transactional or a marker stands in the log from ``start`` on (``ProducerAppendInfo``).

        A marker of a transaction that wrote nothing here ends nothing.
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
        """Go over batches as a log lists those that have anything left, each with where it begins in it."""
        for _lineage, batch, _size, start, _end in batches:
            if batch.kind:
                self.note(batch, start)

    def replicated(self, hw: int) -> None:
        """The high watermark has reached ``hw``: markers below it are settled (``onHighWatermarkUpdated``)."""
        self.ended = [each for each in self.ended if each[1] >= hw]

    def first_unstable(self, hw: int) -> int:
        """First offset of the oldest transaction that is open, or whose marker is not below ``hw``."""
        found = next(iter(self.ongoing.values()), NOTHING_OPEN)
        for first, marker in self.ended:
            if marker >= hw and first < found:
                found = first
        return found

    def aborted_between(self, start: int, end: int) -> tuple[AbortedTxn, ...]:
        """Those that a read of ``[start, end)`` must know of (``TransactionIndex.collectAbortedTxns``).

        The scan stops at the first entry behind which everything up to ``end`` was stable.
        """
        found: list[AbortedTxn] = []
        for index in range(bisect_left(self.aborted, start, key=lambda each: each.last_offset), len(self.aborted)):
            entry = self.aborted[index]
            if entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                break
        return tuple(found)

    def is_aborted(self, batch: Batch) -> bool:
        """Whether a transactional batch belongs to a transaction that was aborted."""
        at = bisect_left(self.aborted, batch.base, key=lambda each: each.last_offset)
        return batch.kind == TRANSACTIONAL and any(
            each.producer_id == batch.producer_id and each.first_offset <= batch.base for each in self.aborted[at:]
        )

    def forget_markers(self, markers: Container[int]) -> None:
        """Compaction dropped these markers: nothing is left of what they aborted (``CleanedTransactionMetadata``)."""
        self.aborted = [each for each in self.aborted if each.last_offset not in markers]

    def forget_below(self, offset: int) -> None:
        """Segments below ``offset`` are deleted, and their indexes with them."""
        self.aborted = [each for each in self.aborted if each.last_offset >= offset]

    def clear(self) -> None:
        """Know of none."""
        self.ongoing.clear()
        self.ended, self.aborted = [], []

    def save(self) -> tuple[Any, ...]:
        """All state; nothing where there is none."""
        if not (self.ongoing or self.ended or self.aborted):
            return ()
        return (tuple(self.ongoing.items()), tuple(self.ended), tuple(self.aborted))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.clear()
        if saved:
            ongoing, ended, aborted = saved
            self.ongoing.update(ongoing)
            self.ended, self.aborted = list(ended), list(aborted)
