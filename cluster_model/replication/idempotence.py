"""What a leader remembers of idempotent producers (``ProducerStateManager``, KIP-98): their last five batches each."""

from typing import Final

from cluster_model.log.replica_log import ReplicaLog

REMEMBERED: Final = 5
"""Batches kept per producer (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``)."""

_Kept = tuple[int, int, int]
"""(first sequence, last sequence, base offset)."""


class ProducerMemory:
    """Sequences by producer id, rebuilt from the log by each new leader."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[int, tuple[_Kept, ...]] = {}

    def rebuild(self, log: ReplicaLog) -> None:
        """Read what the log says."""
        self._last.clear()
        for _lineage, batch, _start, end in log.batches():
            if batch.producer_id >= 0 and batch.end == end:
                self.note(batch.producer_id, batch.sequence, batch.records, batch.base)

    def note(self, producer_id: int, sequence: int, count: int, base: int) -> None:
        """A batch was appended."""
        kept = self._last.get(producer_id, ())
        self._last[producer_id] = (*kept[1 - REMEMBERED :], (sequence, sequence + count - 1, base))

    def duplicate_of(self, producer_id: int, sequence: int, count: int) -> int:
        """Base offset of the very same batch if it is among those remembered, else -1."""
        for first, last, base in self._last.get(producer_id, ()):
            if first == sequence and last == sequence + count - 1:
                return base
        return -1

    def follows(self, producer_id: int, sequence: int) -> bool:
        """Whether a batch is the next one; an unknown producer may begin anywhere (``ProducerAppendInfo``)."""
        kept = self._last.get(producer_id)
        return kept is None or sequence == kept[-1][1] + 1

    def save(self) -> tuple[tuple[int, tuple[_Kept, ...]], ...]:
        """All state."""
        return tuple(self._last.items())

    def load(self, saved: tuple[tuple[int, tuple[_Kept, ...]], ...]) -> None:
        """Undo of :meth:`save`."""
        self._last = dict(saved)
