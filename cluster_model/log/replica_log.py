"""One replica's log: extents over lineages, its end and start, and how much of it is safe on disk.

An append by a follower is one assignment however many batches it carries, a snapshot is a few numbers, truncation
moves the end. Two layers are kept apart: the page cache (``leo``), which a process crash leaves alone, and the part
that has reached the disk (``durable``), which is all that a power loss leaves.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_model.log.epochs import EpochCache
from cluster_model.log.lineage import Batch, Lineage, Lineages

Extent = tuple[int, int]
"""(first offset, lineage id); it ends where the next begins."""

WRITEBACK_US: Final = 30_000_000
"""Age at which the operating system has written a dirty page back (Linux: dirty_expire_centisecs, 30 s)."""


class Slice(NamedTuple):
    """Records as a read found them: extents over ``[start, end)``, frozen when the fetch was served."""

    start: int
    end: int
    extents: tuple[Extent, ...]


class ReplicaLog:
    """The log of one replica of one partition."""

    __slots__ = ("_marks", "durable", "epochs", "extents", "leo", "lineages", "log_start", "uses_epochs")

    def __init__(self, lineages: Lineages, *, uses_epochs: bool, replaces: bool) -> None:
        """``uses_epochs``: message format 2, whose batches carry epochs (0.11 and later)."""
        self.lineages = lineages
        self.extents: list[Extent] = []
        self.leo = 0
        self.log_start = 0
        self.durable = 0
        self.uses_epochs = uses_epochs
        self.epochs = EpochCache(replaces=replaces)
        self._marks: list[tuple[int, int]] = []

    def extent_index(self, offset: int) -> int:
        """Index of the extent that covers ``offset``."""
        return bisect_right(self.extents, offset, key=lambda extent: extent[0]) - 1

    def lineage_at(self, offset: int) -> Lineage:
        """The lineage that covers ``offset``, which must be in the log."""
        return self.lineages.by_id[self.extents[self.extent_index(offset)][1]]

    def held(self, lineage_id: int) -> list[tuple[int, int]]:
        """The offsets ``[start, end)`` of a lineage that this log holds, ascending.

        Usually one range or none. An unfenced follower of an old generation can have another stint's records in
        between: what it fetched before and after it was led astray.
        """
        extents = self.extents
        found: list[tuple[int, int]] = []
        for index, (first, owner) in enumerate(extents):
            if owner == lineage_id:
                start = max(first, self.log_start)
                end = extents[index + 1][0] if index + 1 < len(extents) else self.leo
                if start < end:
                    found.append((start, end))
        return found

    def holds(self, lineage_id: int, start: int, end: int) -> bool:
        """Whether this log holds ``[start, end)`` of a lineage; quick where it is the newest one."""
        if self.extents and self.extents[-1][1] == lineage_id and self.extents[-1][0] <= start and end <= self.leo:
            return start >= self.log_start
        return any(first <= start and end <= last for first, last in self.held(lineage_id))

    def append_batch(self, lineage: Lineage, batch: Batch) -> None:
        """Write as leader."""
        extents = self.extents
        if not extents or extents[-1][1] != lineage.id:
            extents.append((batch.base, lineage.id))
        lineage.append(batch)
        self.leo = batch.base + batch.records
        if self.uses_epochs:
            self.epochs.assign(lineage.epoch, batch.base)

    def append_slice(self, records: Slice) -> None:
        """Write as follower what a fetch brought; it must begin at the log's end."""
        if records.start != self.leo:
            raise ValueError(f"append at {records.start} to a log that ends at {self.leo}")
        for start, lineage_id in records.extents:
            if not self.extents or self.extents[-1][1] != lineage_id:
                self.extents.append((start, lineage_id))
                if self.uses_epochs:
                    self.epochs.assign(self.lineages.by_id[lineage_id].epoch, start)
        self.leo = records.end

    def read(self, start: int, bound: int, max_bytes: int) -> Slice:
        """Whole batches of ``[start, bound)`` within ``max_bytes``, at least one where there is any."""
        end = min(bound, self.leo)
        if start >= end:
            return Slice(start, start, ())
        extents = self.extents
        if start >= extents[-1][0]:
            lineage = self.lineages.by_id[extents[-1][1]]
            return Slice(start, lineage.fit(start, end, max_bytes), ((start, lineage.id),))
        found: list[Extent] = []
        at = start
        index = self.extent_index(start)
        while at < end:
            lineage = self.lineages.by_id[extents[index][1]]
            stop = min(end, extents[index + 1][0] if index + 1 < len(extents) else end)
            fitted = lineage.fit(at, stop, max_bytes)
            if found and lineage.bytes_between(at, fitted) > max_bytes:
                break
            found.append((at, lineage.id))
            max_bytes -= lineage.bytes_between(at, fitted)
            at = fitted
            if fitted < stop or max_bytes <= 0:
                break
            index += 1
        return Slice(start, at, tuple(found))

    def truncate(self, offset: int) -> None:
        """Drop everything from ``offset`` on (``UnifiedLog.truncateTo``); at or behind the end only the epoch cache."""
        if offset < self.leo:
            del self.extents[bisect_right(self.extents, offset - 1, key=lambda extent: extent[0]) :]
            self.leo = offset
            self.log_start = min(self.log_start, offset)
            self.durable = min(self.durable, offset)
            self._marks = [(at, min(leo, offset)) for at, leo in self._marks]
        self.epochs.truncate_from_end(self.leo)

    def restart_at(self, offset: int) -> None:
        """Drop everything and begin anew at ``offset`` (``UnifiedLog.truncateFullyAndStartAt``)."""
        self.extents.clear()
        self.leo = self.log_start = self.durable = offset
        self._marks.clear()
        self.epochs.clear()

    def age(self, now: int) -> None:
        """Count as durable what has been dirty for long enough."""
        while self._marks and now - self._marks[0][0] >= WRITEBACK_US:
            self.durable = max(self.durable, self._marks.pop(0)[1])

    def mark(self, now: int) -> None:
        """Note what has been written by now, so that its age can be told; called every few seconds."""
        self.age(now)
        if not self._marks or self._marks[-1][1] != self.leo:
            self._marks.append((now, self.leo))

    def flush(self) -> None:
        """Force everything to disk."""
        self.durable = self.leo

    def batches(self) -> Iterator[tuple[Lineage, Batch, int, int]]:
        """Every batch with its lineage and the offsets ``[start, end)`` of it that this log holds, oldest first."""
        for index, (first, lineage_id) in enumerate(self.extents):
            lineage = self.lineages.by_id[lineage_id]
            start = max(first, self.log_start)
            end = self.extents[index + 1][0] if index + 1 < len(self.extents) else self.leo
            if start < end:
                for batch in lineage.batches[lineage.index_at(start) : lineage.index_at(end - 1) + 1]:
                    yield lineage, batch, max(start, batch.base), min(end, batch.end)

    def save(self) -> tuple[Any, ...]:
        """All state but the lineages, which the partition keeps."""
        return (tuple(self.extents), self.leo, self.log_start, self.durable, self.epochs.entries, tuple(self._marks))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        extents, self.leo, self.log_start, self.durable, self.epochs.entries, marks = saved
        self.extents = list(extents)
        self._marks = list(marks)
