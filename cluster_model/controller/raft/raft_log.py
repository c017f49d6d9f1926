"""A node's metadata log, over one shared store of the batches of each epoch's leader.

Raft acknowledges only records that are forced to disk, and a follower's next fetch is its acknowledgement, so neither a
crash nor a power loss removes anything from this log.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from cluster_model.controller.raft.messages import Extent

# Batches of each epoch's leader, stored once and shared by the logs of all nodes. An epoch has at most one leader, and
# everything that a leader wrote is on its disk, so the batches of an epoch only grow at the end: (epoch, offset)
# identifies a record permanently. The log of a node is therefore a list of epochs and a length, and cheap to save.


class MetadataBatch(NamedTuple):
    """Records written together. A control batch (LeaderChange) holds one record, which listeners do not get."""

    base: int
    epoch: int
    records: tuple[Any, ...]
    control: bool

    @property
    def end(self) -> int:
        """Offset after the last record."""
        return self.base + (1 if self.control else len(self.records))


class EpochBatches:
    """Batches of one epoch's leader, contiguous in offsets from ``start``."""

    __slots__ = ("batches", "epoch", "leader", "start")

    def __init__(self, epoch: int, leader: int, start: int) -> None:
        self.epoch = epoch
        self.leader = leader
        self.start = start
        self.batches: list[MetadataBatch] = []

    @property
    def end(self) -> int:
        """Offset after the last batch."""
        return self.batches[-1].end if self.batches else self.start

    def between(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """Yield the batches in ``[start, end)``."""
        index = bisect_right(self.batches, start, key=lambda batch: batch.base) - 1
        while 0 <= index < len(self.batches) and self.batches[index].base < end:
            yield self.batches[index]
            index += 1


class QuorumStore:
    """Batches of all epochs. ``original``: another store of the same history, from which snapshots are loaded."""

    __slots__ = ("log_branches", "original")

    def __init__(self, original: "QuorumStore | None" = None) -> None:
        self.log_branches: dict[int, EpochBatches] = {}
        self.original = original

    def append(self, epoch: int, leader: int, base: int, records: tuple[Any, ...], *, control: bool) -> MetadataBatch:
        """Append a batch as the leader of an epoch.

        Raises:
            ValueError: the epoch has another leader, or ends at another offset: two leaders in one epoch.
        """
        log_branch = self.log_branches.get(epoch)
        if log_branch is None:
            log_branch = self.log_branches[epoch] = EpochBatches(epoch, leader, base)
        if log_branch.leader != leader or log_branch.end != base:
            written = f"node {log_branch.leader} wrote up to {log_branch.end}"
            raise ValueError(f"node {leader} writes at offset {base} in epoch {epoch}, which {written}")
        batch = MetadataBatch(base, epoch, records, control)
        log_branch.batches.append(batch)
        return batch

    def save(self) -> tuple[tuple[int, int, int, int], ...]:
        """(epoch, leader, start, number of batches) of each epoch; the batches themselves stay in the store."""
        return tuple(
            [(known.epoch, known.leader, known.start, len(known.batches)) for known in self.log_branches.values()]
        )

    def load(self, saved: tuple[tuple[int, int, int, int], ...]) -> None:
        """Drop later batches, or read the batches from ``original``.

        Raises:
            ValueError: the snapshot does not belong to this history.
        """
        log_branches = (self if self.original is None else self.original).log_branches
        branches: dict[int, EpochBatches] = {}
        for epoch, leader, start, length in saved:
            log_branch = log_branches.get(epoch)
            if (
                log_branch is None
                or (log_branch.leader, log_branch.start) != (leader, start)
                or len(log_branch.batches) < length
            ):
                raise ValueError(f"snapshot holds {length} batches of epoch {epoch}, which were never written here")
            branches[epoch] = EpochBatches(epoch, leader, start)
            branches[epoch].batches = log_branch.batches[:length]
        self.log_branches = branches


class QuorumLog:
    """Log of one node, as ranges of the shared store. ``end`` is the offset after the last record."""

    __slots__ = ("_starts", "_store", "end")

    def __init__(self, store: QuorumStore) -> None:
        self._store = store
        self._starts: list[tuple[int, int]] = []
        """(epoch, first offset) of every epoch with records in this log, oldest first."""
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

    def append_extents(self, extents: tuple[Extent, ...]) -> None:
        """Append the ranges that the leader sent.

        Raises:
            ValueError: they do not start at the end of this log, or an epoch is older than its last.
        """
        for epoch, start, end in extents:
            if start != self.end or epoch < self.last_epoch:
                raise ValueError(
                    f"log ends at {self.end} in epoch {self.last_epoch}, cannot append offset {start} of epoch {epoch}"
                )
            self._grow(epoch, start, end)

    def _grow(self, epoch: int, start: int, end: int) -> None:
        if epoch != self.last_epoch:
            self._starts.append((epoch, start))
        self.end = end

    def extents(self, start: int, end: int) -> tuple[Extent, ...]:
        """Return the part of the log in ``[start, end)``."""
        branch_extents: list[Extent] = []
        for index, (epoch, first) in enumerate(self._starts):
            last = self._starts[index + 1][1] if index + 1 < len(self._starts) else self.end
            if first < end and last > start:
                branch_extents.append((epoch, max(first, start), min(last, end)))
        return tuple(branch_extents)

    def batches(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """Yield the batches in ``[start, end)``; both offsets must be batch boundaries."""
        for epoch, first, last in self.extents(start, end):
            yield from self._store.log_branches[epoch].between(first, last)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch in the log up to ``epoch`` and its end offset; (0, 0) if there is none."""
        last_epoch = 0
        for known, start in self._starts:
            if known > epoch:
                return last_epoch, start
            last_epoch = known
        return last_epoch, self.end if last_epoch else 0

    def truncate(self, diverging: tuple[int, int]) -> int:
        """Truncate what the leader's log does not share, given its end in that epoch; return the new end."""
        epoch, end = diverging
        found, own_end = self.end_of(epoch)
        self.end = min(end, own_end) if found == epoch else own_end
        self._starts = [(known, start) for known, start in self._starts if start < self.end]
        return self.end

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._starts), self.end)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the store."""
        starts, self.end = saved
        self._starts = list(starts)
