"""A node's metadata log, over one shared store of what each epoch's leader wrote.

Raft acknowledges only what was forced to disk, and a follower's next fetch is its acknowledgement, so neither a crash
nor a power loss takes anything from this log.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from cluster_model.controller.raft.messages import Extent

# What each epoch's leader wrote, stored once and shared by every node's log.
#
# An epoch has at most one leader, and whatever a leader wrote is on its disk, so an epoch's batches only ever grow at
# the end: (epoch, offset) tells a record for good. A node's log is then a list of epochs and a length, and cheap to
# save.


class MetadataBatch(NamedTuple):
    """Records written together. A control batch (LeaderChange) holds one record that is nobody else's business."""

    base: int
    epoch: int
    records: tuple[Any, ...]
    control: bool

    @property
    def end(self) -> int:
        """Offset behind the last record."""
        return self.base + (1 if self.control else len(self.records))


class Stint:
    """The batches of one epoch's leader, dense in offsets from ``start``."""

    __slots__ = ("batches", "epoch", "leader", "start")

    def __init__(self, epoch: int, leader: int, start: int) -> None:
        self.epoch = epoch
        self.leader = leader
        self.start = start
        self.batches: list[MetadataBatch] = []

    @property
    def end(self) -> int:
        """Offset behind everything written."""
        return self.batches[-1].end if self.batches else self.start

    def between(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """The batches that lie in ``[start, end)``."""
        index = bisect_right(self.batches, start, key=lambda batch: batch.base) - 1
        while 0 <= index < len(self.batches) and self.batches[index].base < end:
            yield self.batches[index]
            index += 1


class QuorumStore:
    """All stints by epoch. ``whole``: another store, of the same history, that keyframes are read out of."""

    __slots__ = ("stints", "whole")

    def __init__(self, whole: "QuorumStore | None" = None) -> None:
        self.stints: dict[int, Stint] = {}
        self.whole = whole

    def append(self, epoch: int, leader: int, base: int, records: tuple[Any, ...], *, control: bool) -> MetadataBatch:
        """Write a batch as that epoch's leader.

        Raises:
            ValueError: the epoch has another leader, or its records end elsewhere: two leaders in one epoch.
        """
        stint = self.stints.get(epoch)
        if stint is None:
            stint = self.stints[epoch] = Stint(epoch, leader, base)
        if stint.leader != leader or stint.end != base:
            raise ValueError(
                f"{leader} writes at {base} in epoch {epoch}, which {stint.leader} wrote up to {stint.end}"
            )
        batch = MetadataBatch(base, epoch, records, control)
        stint.batches.append(batch)
        return batch

    def save(self) -> tuple[tuple[int, int, int, int], ...]:
        """(epoch, leader, start, batches) of each stint; the batches themselves stay where they are."""
        return tuple([(s.epoch, s.leader, s.start, len(s.batches)) for s in self.stints.values()])

    def load(self, saved: tuple[tuple[int, int, int, int], ...]) -> None:
        """Forget what was written since, or read what ``whole`` has of it.

        Raises:
            ValueError: the keyframe is not of this history.
        """
        known = (self if self.whole is None else self.whole).stints
        found: dict[int, Stint] = {}
        for epoch, leader, start, length in saved:
            stint = known.get(epoch)
            if stint is None or (stint.leader, stint.start) != (leader, start) or len(stint.batches) < length:
                raise ValueError(f"a keyframe with {length} batches of epoch {epoch} that were never written here")
            found[epoch] = Stint(epoch, leader, start)
            found[epoch].batches = stint.batches[:length]
        self.stints = found


class QuorumLog:
    """Extents over the shared store. ``end`` is the offset behind the last record."""

    __slots__ = ("_starts", "_store", "end")

    def __init__(self, store: QuorumStore) -> None:
        self._store = store
        self._starts: list[tuple[int, int]] = []
        """(epoch, first offset) of every epoch with records here, oldest first."""
        self.end = 0

    @property
    def last_epoch(self) -> int:
        """Epoch of the last record, 0 for an empty log."""
        return self._starts[-1][0] if self._starts else 0

    def write(self, epoch: int, leader: int, records: tuple[Any, ...], *, control: bool = False) -> MetadataBatch:
        """Append a batch as the leader of ``epoch``."""
        batch = self._store.append(epoch, leader, self.end, records, control=control)
        self._grow(epoch, batch.base, batch.end)
        return batch

    def take(self, extents: tuple[Extent, ...]) -> None:
        """Append what the leader sent.

        Raises:
            ValueError: it does not begin where this log ends, or goes back in epochs.
        """
        for epoch, start, end in extents:
            if start != self.end or epoch < self.last_epoch:
                raise ValueError(f"a log that ends at {self.end} in epoch {self.last_epoch} got {start} of {epoch}")
            self._grow(epoch, start, end)

    def _grow(self, epoch: int, start: int, end: int) -> None:
        if epoch != self.last_epoch:
            self._starts.append((epoch, start))
        self.end = end

    def extents(self, start: int, end: int) -> tuple[Extent, ...]:
        """What lies in ``[start, end)``."""
        found: list[Extent] = []
        for index, (epoch, first) in enumerate(self._starts):
            last = self._starts[index + 1][1] if index + 1 < len(self._starts) else self.end
            if first < end and last > start:
                found.append((epoch, max(first, start), min(last, end)))
        return tuple(found)

    def batches(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """The batches in ``[start, end)``, both ends of which lie between batches."""
        for epoch, first, last in self.extents(start, end):
            yield from self._store.stints[epoch].between(first, last)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The largest epoch here up to ``epoch`` and where it ends; (0, 0) before all of them."""
        found = 0
        for known, start in self._starts:
            if known > epoch:
                return found, start
            found = known
        return found, self.end if found else 0

    def cut(self, diverging: tuple[int, int]) -> int:
        """Drop what the leader's log, which goes so far in that epoch, does not share; where it ends now."""
        epoch, end = diverging
        found, own_end = self.end_of(epoch)
        self.end = min(end, own_end) if found == epoch else own_end
        self._starts = [(known, start) for known, start in self._starts if start < self.end]
        return self.end

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._starts), self.end)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the store's."""
        starts, self.end = saved
        self._starts = list(starts)
