"""Lineages: what each leader stint wrote, stored once per partition and shared by every replica.

A *stint* is one leader writing in one epoch from one starting point. Its batches form an append-only *lineage*. A
replica's log is then a short list of extents over lineages, replication copies no records, and two replicas hold the
same record at an offset exactly when the same lineage covers it in both: divergence is exact and cheap to find.

A leader that loses its tail and goes on in the same epoch starts a new lineage: (partition, epoch) would not tell
the lost records from those that took their offsets.
"""

from bisect import bisect_right
from typing import Any, NamedTuple


class Batch(NamedTuple):
    """Records written together. ``sequence`` numbers the client's records in this partition, from 0.

    ``producer_id`` is -1 without idempotence. ``name`` labels the records of a hand-stepped trace. ``timestamp_us`` is
    that of its newest record, by the producer's clock (CreateTime, KIP-32) or the leader's (LogAppendTime); -1 in the
    formats before. ``size`` is as compressed with ``codec`` (bits 0 to 2 of a batch's attributes).
    """

    base: int
    records: int
    size: int
    appended_us: int
    client: str
    producer_id: int
    sequence: int
    acks: int
    name: tuple[str, ...] = ()
    timestamp_us: int = -1
    codec: int = 0

    @property
    def end(self) -> int:
        """Offset behind the last record."""
        return self.base + self.records


class Lineage:
    """Batches of one stint, dense in offsets from ``start``."""

    __slots__ = ("bases", "batches", "broker", "epoch", "id", "newest", "start", "written")

    def __init__(self, lineage_id: int, broker: int, epoch: int, start: int) -> None:
        self.id = lineage_id
        self.broker = broker
        self.epoch = epoch
        self.start = start
        self.batches: list[Batch] = []
        self.bases: list[int] = []
        self.written: list[int] = []
        """Bytes up to and including each batch."""
        self.newest: list[int] = []
        """Largest timestamp up to and including each batch."""

    @property
    def end(self) -> int:
        """Offset behind everything written."""
        return self.batches[-1].end if self.batches else self.start

    def append(self, batch: Batch) -> None:
        """Write a batch at the end."""
        self.bases.append(batch.base)
        self.written.append((self.written[-1] if self.written else 0) + batch.size)
        self.batches.append(batch)
        newest = self.newest
        newest.append(newest[-1] if newest and newest[-1] > batch.timestamp_us else batch.timestamp_us)

    def index_at(self, offset: int) -> int:
        """Index of the batch that holds ``offset``."""
        return bisect_right(self.bases, offset) - 1

    def batch_at(self, offset: int) -> Batch:
        """The batch that holds ``offset``, which must have been written."""
        return self.batches[self.index_at(offset)]

    def fit(self, start: int, end: int, max_bytes: int) -> int:
        """Where a read of ``[start, end)`` stops: whole batches within ``max_bytes``, and at least one."""
        first = self.index_at(start)
        before = self.written[first] - self.batches[first].size
        if self.written[-1] - before <= max_bytes or self.written[self.index_at(end - 1)] - before <= max_bytes:
            return end
        index = max(first, bisect_right(self.written, before + max_bytes) - 1)
        return min(end, self.batches[index].end)

    def bytes_between(self, start: int, end: int) -> int:
        """Size of the batches that hold ``[start, end)``, which must not be empty."""
        first = self.index_at(start)
        return self.written[self.index_at(end - 1)] - self.written[first] + self.batches[first].size

    def measure(self, start: int, end: int) -> tuple[int, int, int]:
        """Of the batches that hold ``[start, end)``, not empty: bytes, the first timestamp and the largest one.

        A newest timestamp that nothing before them has must be theirs; only otherwise are they looked at.
        """
        first = bisect_right(self.bases, start) - 1
        batch = self.batches[first]
        if end <= batch.end:
            return batch.size, batch.timestamp_us, batch.timestamp_us
        last = bisect_right(self.bases, end - 1) - 1
        top = self.newest[last]
        if first and top <= self.newest[first - 1]:
            top = max(each.timestamp_us for each in self.batches[first : last + 1])
        return self.written[last] - self.written[first] + batch.size, batch.timestamp_us, top


class Lineages:
    """All lineages of a partition, by id."""

    __slots__ = ("by_id",)

    def __init__(self) -> None:
        self.by_id: list[Lineage] = []

    def begin(self, broker: int, epoch: int, start: int) -> Lineage:
        """A new stint."""
        lineage = Lineage(len(self.by_id), broker, epoch, start)
        self.by_id.append(lineage)
        return lineage

    def save(self) -> tuple[int, ...]:
        """Lengths: lineages only grow, so nothing else is needed to go back."""
        return tuple(len(lineage.batches) for lineage in self.by_id)

    def check(self, saved: tuple[Any, ...]) -> None:
        """Refuse lengths that these lineages never had: a keyframe of something else, or of what was forgotten.

        Raises:
            ValueError: there are not that many lineages or batches.
        """
        known = self.save()
        if len(saved) > len(known) or any(wanted > length for wanted, length in zip(saved, known, strict=False)):
            raise ValueError(f"a keyframe with stints of {saved} batches, and there are {known}")

    def load(self, saved: tuple[Any, ...]) -> None:
        """Forget what was written since.

        Raises:
            ValueError: the keyframe is not of this history.
        """
        self.check(saved)
        del self.by_id[len(saved) :]
        for lineage, length in zip(self.by_id, saved, strict=True):
            del lineage.batches[length:], lineage.bases[length:], lineage.written[length:], lineage.newest[length:]
