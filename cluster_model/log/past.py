"""Logs as they stood earlier, read out of the logs as they stand: nothing is copied to look into the past.

A stint's batches are only ever added to, so an earlier instant is a length. What runs on from there repeats, batch by
batch, what is written already, and so writes nothing; the first batch that is another one, or that goes beyond the
present, parts it from the original for good.
"""

from typing import Any

from cluster_model.log.batch_store import Lineage, Lineages
from cluster_model.protocol.batch import Batch


class PastLineage(Lineage):
    """The first ``length`` batches of a stint that belongs to somebody else, or its own after it parted."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Lineage, length: int) -> None:
        super().__init__(whole.id, whole.broker, whole.epoch, whole.start, whole.topic_id)
        self._whole: Lineage | None = whole
        """Whose columns these are, until it parts from them."""
        self.share(whole)
        self.stand_at(whole, length)

    def append(self, batch: Batch) -> None:
        """Write a batch at the end, unless it stands there already."""
        whole = self._whole
        if whole is not None:
            if self.length < whole.length and whole.batch(self.length) == batch:
                self.transactional = whole.transactional
                self.stand_at(whole, self.length + 1)
                return
            self._whole = None
            self.unshare()
        super().append(batch)


class PastLineages(Lineages):
    """All lineages of a partition at an earlier instant."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Lineages) -> None:
        super().__init__()
        self._whole = whole
        self.keys = whole.keys

    def begin(self, broker: int, epoch: int, start: int, topic_id: int = 0) -> Lineage:
        """A new stint: the one that followed, if it is that."""
        number = len(self.by_id)
        if number < len(self._whole.by_id):
            known = self._whole.by_id[number]
            if (known.broker, known.epoch, known.start, known.topic_id) == (broker, epoch, start, topic_id):
                self.by_id.append(PastLineage(known, 0))
                return self.by_id[-1]
        self.by_id.append(PastLineage(Lineage(number, broker, epoch, start, topic_id), 0))
        return self.by_id[-1]

    def is_past_of(self, whole: Lineages) -> bool:
        """Whether these are read out of ``whole``."""
        return self._whole is whole

    def save(self) -> tuple[int, ...]:
        """Lengths as of now."""
        return tuple([lineage.length for lineage in self.by_id if isinstance(lineage, PastLineage)])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Stand at those lengths of the original, whatever was written since."""
        self._whole.check(saved)
        self.by_id[:] = [PastLineage(self._whole.by_id[number], length) for number, length in enumerate(saved)]
