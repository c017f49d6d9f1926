"""What each epoch's leader wrote, stored once and shared by every node's log.

An epoch has at most one leader, and whatever a leader wrote is on its disk, so an epoch's batches only ever grow at
the end: (epoch, offset) tells a record for good. A node's log is then a list of epochs and a length, and cheap to save.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple


class Batch(NamedTuple):
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
        self.batches: list[Batch] = []

    @property
    def end(self) -> int:
        """Offset behind everything written."""
        return self.batches[-1].end if self.batches else self.start

    def between(self, start: int, end: int) -> Iterator[Batch]:
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

    def append(self, epoch: int, leader: int, base: int, records: tuple[Any, ...], *, control: bool) -> Batch:
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
        batch = Batch(base, epoch, records, control)
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
