"""Cache of leader epochs and their start offsets (``LeaderEpochFileCache``, KIP-101 and KIP-279)."""

from typing import Final

from cluster_model.protocol.records import EpochEntry

UNDEFINED: Final = -1
"""No such epoch, or no such offset."""


class EpochCache:
    """Entries with increasing epochs and start offsets; durable at once, so they survive a crash.

    Before 2.0.1 several epochs may start at the same offset.
    """

    __slots__ = ("_replaces", "entries")

    def __init__(self, *, replaces: bool) -> None:
        """Start empty; ``replaces``: a new entry replaces those it contradicts (since 2.0.1); before, it is ignored."""
        self.entries: tuple[EpochEntry, ...] = ()
        self._replaces = replaces

    @property
    def latest(self) -> int:
        """Newest epoch, UNDEFINED if empty."""
        return self.entries[-1][0] if self.entries else UNDEFINED

    def ends_empty(self, leo: int) -> bool:
        """Return whether the newest epoch has no records."""
        return bool(self.entries) and self.entries[-1][1] >= leo

    def assign(self, epoch: int, start: int) -> None:
        """Record that ``epoch`` starts at ``start``; since 2.0.1 an epoch without records is replaced by the next."""
        entries = self.entries
        if entries:
            last_epoch, last_start = entries[-1]
            if epoch == last_epoch and start >= last_start:
                return
            if not self._replaces and (epoch <= last_epoch or start < last_start):
                return
        kept = entries
        if self._replaces:
            kept = tuple(entry for entry in entries if entry[0] < epoch and entry[1] < start)
        self.entries = (*kept, (epoch, start))

    def end_offset_for(self, epoch: int, leo: int) -> EpochEntry:
        """Return (largest known epoch that is at most the requested one, its end offset), as since KIP-279."""
        entries = self.entries
        if epoch == UNDEFINED or not entries:
            return (UNDEFINED, UNDEFINED)
        if epoch == entries[-1][0]:
            return (epoch, leo)
        if epoch > entries[-1][0]:
            return (UNDEFINED, UNDEFINED)
        floor = UNDEFINED
        for known, start in entries:
            if known > epoch:
                return (epoch if floor == UNDEFINED else floor, start)
            floor = known
        return (UNDEFINED, UNDEFINED)

    def epoch_at(self, offset: int) -> int:
        """Return the epoch in which an offset was written, UNDEFINED if no entry reaches down to it."""
        return next((epoch for epoch, start in reversed(self.entries) if start <= offset), UNDEFINED)

    def end_offset_kip_101(self, epoch: int, leo: int) -> int:
        """Return the end offset of exactly ``epoch`` as in 0.11 to 1.1: the start of the first epoch above it."""
        entries = self.entries
        if epoch == UNDEFINED or not entries or epoch < entries[0][0] or epoch > entries[-1][0]:
            return UNDEFINED
        if epoch == entries[-1][0]:
            return leo
        return next(start for known, start in entries if known > epoch)

    def truncate_from_end(self, leo: int) -> None:
        """Drop epochs that start at or after the log's end."""
        self.entries = tuple(entry for entry in self.entries if entry[1] < leo)

    def truncate_from_start(self, log_start: int) -> None:
        """Drop epochs that ended before the log start; the one that spans it now starts there."""
        dropped = [entry for entry in self.entries if entry[1] < log_start]
        if dropped:
            kept = self.entries[len(dropped) :]
            is_spanned = not kept or kept[0][1] > log_start
            self.entries = ((dropped[-1][0], log_start), *kept) if is_spanned else kept

    def clear(self) -> None:
        """Drop all entries."""
        self.entries = ()
