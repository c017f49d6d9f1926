"""Logs as they stood earlier, read out of the logs as they stand: nothing is copied to look into the past.

A stint's batches are only ever added to, so an earlier instant is a length. What runs on from there repeats, batch by
batch, what is written already, and so writes nothing; the first batch that is another one, or that goes beyond the
present, parts it from the original for good.
"""

from typing import Any

from cluster_model.log.lineage import Batch, Lineage, Lineages


class PastLineage(Lineage):
    """The first ``length`` batches of a stint that belongs to somebody else, or its own after it parted."""

    __slots__ = ("_borrowed", "length")

    def __init__(self, whole: Lineage, length: int) -> None:
        super().__init__(whole.id, whole.broker, whole.epoch, whole.start)
        self.batches, self.bases, self.written, self.newest = whole.batches, whole.bases, whole.written, whole.newest
        self.length = length
        self._borrowed = True

    @property
    def end(self) -> int:
        """Offset behind everything written by then."""
        return self.batches[self.length - 1].end if self.length else self.start

    def append(self, batch: Batch) -> None:
        """Write a batch at the end, unless it stands there already."""
        at = self.length
        self.length += 1
        if self._borrowed:
            if at < len(self.batches) and self.batches[at] == batch:
                return
            self._part(at)
        super().append(batch)

    def _part(self, length: int) -> None:
        self.batches, self.bases = self.batches[:length], self.bases[:length]
        self.written, self.newest = self.written[:length], self.newest[:length]
        self._borrowed = False


class PastLineages(Lineages):
    """All lineages of a partition at an earlier instant."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Lineages) -> None:
        super().__init__()
        self._whole = whole

    def begin(self, broker: int, epoch: int, start: int) -> Lineage:
        """A new stint: the one that followed, if it is that."""
        number = len(self.by_id)
        if number < len(self._whole.by_id):
            known = self._whole.by_id[number]
            if (known.broker, known.epoch, known.start) == (broker, epoch, start):
                self.by_id.append(PastLineage(known, 0))
                return self.by_id[-1]
        self.by_id.append(PastLineage(Lineage(number, broker, epoch, start), 0))
        return self.by_id[-1]

    def save(self) -> tuple[int, ...]:
        """Lengths as of now."""
        return tuple([lineage.length for lineage in self.by_id if isinstance(lineage, PastLineage)])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Stand at those lengths of the original, whatever was written since."""
        self._whole.check(saved)
        self.by_id[:] = [PastLineage(self._whole.by_id[number], length) for number, length in enumerate(saved)]
