"""One replica's log: extents over shared batches, its start and end, its durable part, and a comparison of two logs.

An append by a follower is one assignment however many batches it carries, a snapshot is a few numbers, truncation moves
the end. Three ends are distinguished: the page cache (``leo``), which survives a process crash; what has reached the
disk (``durable``), which survives a power loss; and what Kafka itself knows to be on disk because it flushed it
(``recovery_point``), above which a start after a crash checks everything.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.log.segments import BY_RETENTION, NO_TIMESTAMP, Segment, Segments
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.configs import DEFAULT_RULES, NEVER, LogConfig
from cluster_model.protocol.records import Batch, CompactionOverlay, Extent, Slice, concatenate
from cluster_model.util.ranges import Range, subtract


class ReplicaLog:
    """The log of one replica of one partition (``UnifiedLog``)."""

    __slots__ = (
        "_marks", "_unlinked", "cleaned", "durable", "epoch_branches", "epochs", "extents", "flush_aged_us",
        "flushed_us", "last_deleted", "last_truncated", "leo", "log_start", "on_roll", "recovery_point", "rules",
        "segments", "torn", "transactions", "uses_epochs",
    )  # fmt: skip

    def __init__(
        self, epoch_branches: BatchStore, *, uses_epochs: bool, replaces: bool, rules: LogConfig = DEFAULT_RULES
    ) -> None:
        """Start empty; ``uses_epochs``: message format 2, whose batches carry epochs (0.11 and later)."""
        self.epoch_branches = epoch_branches
        self.extents: list[Extent] = []
        self.leo = 0
        self.log_start = 0
        self.durable = 0
        self.recovery_point = 0
        self.uses_epochs = uses_epochs
        self.epochs = EpochCache(replaces=replaces)
        self.rules = rules
        self.segments = Segments(rules)
        self.cleaned: CompactionOverlay | None = None
        """What compaction removed. It affects sizes and reads, not extents, ends and epochs."""
        self.transactions = TransactionIndex()
        self.flushed_us = 0
        """Time of the last flush (``UnifiedLog.lastFlushTime``)."""
        self.flush_aged_us = 0
        """How much older the last flush is by the machine's clock, which was changed since."""
        self.torn = 0
        """Bytes of a torn batch after the log's end, until a start truncates it."""
        self.on_roll: Callable[[int, int, str], None] | None = None
        """Called with the time, the new segment's base and the rule after a roll."""
        self.last_truncated: tuple[tuple[int, int, int], ...] = ()
        """What the last truncation removed: (branch id, start, end) each."""
        self.last_deleted: tuple[tuple[int, int, int], ...] = ()
        """What the last move of the log start removed: (branch id, start, end) each; for the observer."""
        self._marks: list[tuple[int, int]] = []
        self._unlinked: list[tuple[int, int]] = []
        """(time of unlinking, bytes) of segments renamed to ``.deleted``."""

    def configure(self, rules: LogConfig) -> None:
        """Use other rules from here on (``UnifiedLog.updateConfig``)."""
        self.rules = rules
        self.segments.configure(rules)

    def extent_index(self, offset: int) -> int:
        """Return the index of the extent that covers ``offset``."""
        return bisect_right(self.extents, offset, key=lambda extent: extent[0]) - 1

    def branch_at(self, offset: int) -> EpochBranch:
        """Return the log branch that covers ``offset``, which must be in the log."""
        return self.epoch_branches.by_id[self.extents[self.extent_index(offset)][1]]

    def ranges_of(self, branch_id: int) -> list[tuple[int, int]]:
        """Return the ranges ``[start, end)`` of a log branch that this log holds, ascending, ignoring compaction.

        Usually one range or none. An unfenced follower of an old version can have another branch's records in between:
        it fetched from a stale leader in the meantime.
        """
        extents = self.extents
        ranges: list[tuple[int, int]] = []
        for index, (first, owner) in enumerate(extents):
            if owner == branch_id:
                start = max(first, self.log_start)
                end = extents[index + 1][0] if index + 1 < len(extents) else self.leo
                if start < end:
                    ranges.append((start, end))
        return ranges

    def holds(self, branch_id: int, start: int, end: int) -> bool:
        """Whether this log holds ``[start, end)`` of a log branch; fast for the newest one."""
        if self.extents and self.extents[-1][1] == branch_id and self.extents[-1][0] <= start and end <= self.leo:
            return start >= self.log_start
        return any(first <= start and end <= last for first, last in self.ranges_of(branch_id))

    def append_batch(self, epoch_branch: EpochBranch, batch: Batch) -> None:
        """Append a batch as leader."""
        base, records, size, now = batch[:4]
        stamp = batch.timestamp_us
        rule = self.segments.admit(base + records, size, stamp, stamp, now)
        if rule:
            self._roll(base, now, rule)
            self.segments.count_append(size, stamp, stamp, now)
        extents = self.extents
        if not extents or extents[-1][1] != epoch_branch.id:
            extents.append((base, epoch_branch.id))
        epoch_branch.append(batch)
        if batch.kind:
            self.transactions.note(batch, base)
        self.leo = base + records
        if self.uses_epochs:
            entries = self.epochs.entries
            if not entries or entries[-1][0] != epoch_branch.epoch:
                self.epochs.assign(epoch_branch.epoch, base)
        if self.leo - self.recovery_point >= self.rules.flush_messages:
            self.flush(batch.appended_us)

    def _admit(self, start: int, end: int, size: int, first_us: int, newest_us: int, now: int) -> None:
        """Count an append in the active segment; if it must roll first, flush what precedes the new segment."""
        rule = self.segments.admit(end, size, first_us, newest_us, now)
        if rule:
            self._roll(start, now, rule)
            self.segments.count_append(size, first_us, newest_us, now)

    def _roll(self, base: int, now: int, rule: str) -> None:
        """Roll a new segment (``UnifiedLog.roll``); the flush, which is asynchronous in Kafka, is done at once."""
        self.segments.roll(base, now)
        self.recovery_point = max(self.recovery_point, base)
        self.durable = max(self.durable, base)
        self.flushed_us, self.flush_aged_us = now, 0
        if self.on_roll is not None:
            self.on_roll(now, base, rule)

    def roll(self, now: int, rule: str) -> bool:
        """Roll a new segment at the log's end; False if the active one is empty."""
        if not self.segments.size:
            return False
        self._roll(self.leo, now, rule)
        return True

    def append_slice(self, records: Slice, now: int = 0) -> None:
        """Append fetched records as follower, as one append; they must start at the log's end."""
        if records.start != self.leo:
            raise ValueError(f"append at {records.start} to a log that ends at {self.leo}")
        extents = records.extents
        if len(extents) == 1 and self.extents and self.extents[-1][1] == extents[0][1] and records.cleaned is None:
            end = records.end
            epoch_branch = self.epoch_branches.by_id[extents[0][1]]
            size, first_us, newest_us = epoch_branch.measure(records.start, end)
            if size <= self.rules.segment_bytes and not epoch_branch.transactional:
                self._admit(records.start, end, size, first_us, newest_us, now)
                self.leo = end
                if end - self.recovery_point >= self.rules.flush_messages:
                    self.flush(now)
                return
        self._admit_slice(records, now)
        for start, branch_id in extents:
            if not self.extents or self.extents[-1][1] != branch_id:
                self.extents.append((start, branch_id))
                if self.uses_epochs:
                    self.epochs.assign(self.epoch_branches.by_id[branch_id].epoch, start)
        self.leo = records.end
        if self.epoch_branches.any_transactional(extents):
            self.transactions.read(self.kept_between(records.start, records.end))
        if self.leo - self.recovery_point >= self.rules.flush_messages:
            self.flush(now)

    def _admit_slice(self, records: Slice, now: int) -> None:
        by_id = self.epoch_branches.by_id
        if records.cleaned is not None:
            self._admit_cleaned(records, records.cleaned, now)
            return
        size, first_us, newest_us, end = 0, NO_TIMESTAMP, NO_TIMESTAMP, records.end
        for start, branch_id in reversed(records.extents):
            more, first_us, top = by_id[branch_id].measure(start, end)
            size += more
            newest_us = max(newest_us, top)
            end = start
        if size > self.rules.segment_bytes:
            # More than fits a segment: Kafka would reject it, here it is appended batch by batch.
            at = records.start
            for batch, end in self.epoch_branches.batches_of(records.extents, records.end):
                self._admit(at, end, batch.size, batch.timestamp_us, batch.timestamp_us, now)
                at = end
        elif records.extents:
            self._admit(records.start, records.end, size, first_us, newest_us, now)

    def _admit_cleaned(self, records: Slice, cleaned: CompactionOverlay, now: int) -> None:
        """Append the remaining batches of a compacted log one by one, including its gaps."""
        at = records.start
        for batch, end in self.epoch_branches.batches_of(records.extents, records.end):
            if not cleaned.is_removed(batch):
                size = cleaned.size_of(batch)
                self._admit(at, end, size, batch.timestamp_us, batch.timestamp_us, now)
            at = end
        self.cleaned = concatenate(self.cleaned, cleaned)

    def read(self, start: int, bound: int, max_bytes: int) -> Slice:
        """Return whole batches of ``[start, bound)`` within ``max_bytes``, at least one if there is any."""
        end = min(bound, self.leo)
        if start >= end:
            return Slice(start, start, ())
        if self.cleaned is not None and start < self.cleaned.end:
            return self._read_cleaned(self.cleaned, start, end, max_bytes)
        extents = self.extents
        if start >= extents[-1][0]:
            epoch_branch = self.epoch_branches.by_id[extents[-1][1]]
            return Slice(start, epoch_branch.fit(start, end, max_bytes), ((start, epoch_branch.id),))
        read_extents: list[Extent] = []
        at = start
        index = self.extent_index(start)
        while at < end:
            epoch_branch = self.epoch_branches.by_id[extents[index][1]]
            stop = min(end, extents[index + 1][0] if index + 1 < len(extents) else end)
            fitted = epoch_branch.fit(at, stop, max_bytes)
            if read_extents and epoch_branch.bytes_between(at, fitted) > max_bytes:
                break
            read_extents.append((at, epoch_branch.id))
            max_bytes -= epoch_branch.bytes_between(at, fitted)
            at = fitted
            if fitted < stop or max_bytes <= 0:
                break
            index += 1
        return Slice(start, at, tuple(read_extents))

    def _read_cleaned(self, cleaned: CompactionOverlay, start: int, end: int, max_bytes: int) -> Slice:
        """Read a compacted part: removed records take no bytes, and a gap at the end is skipped too."""
        at = start
        extents: list[Extent] = []
        empty = True
        for epoch_branch, batch, low, high in self.batches_between(start, end):
            size = cleaned.size_of(batch)
            if size > max_bytes and not empty:
                break
            if not extents or extents[-1][1] != epoch_branch.id:
                extents.append((low, epoch_branch.id))
            empty = empty and not size
            max_bytes -= size
            at = high
        return Slice(start, at, tuple(extents), cleaned.clip(start, at))

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield ``[start, end)`` by log branch: (branch id, start, end) each."""
        for index, (first, branch) in enumerate(self.extents):
            last = self.extents[index + 1][0] if index + 1 < len(self.extents) else self.leo
            if max(first, start) < min(last, end):
                yield branch, max(first, start), min(last, end)

    def truncate(self, offset: int, now: int = 0) -> None:
        """Truncate the log to ``offset`` (``UnifiedLog.truncateTo``); at or after the end only the epoch cache."""
        self.last_truncated = tuple(self.pieces(max(offset, self.log_start), self.leo))
        if offset < self.segments.first_base:
            self.restart_at(offset, now)
            return
        if offset < self.leo:
            del self.extents[bisect_right(self.extents, offset - 1, key=lambda extent: extent[0]) :]
            self.leo = offset
            self.log_start = min(self.log_start, offset)
            self.durable = min(self.durable, offset)
            self.recovery_point = min(self.recovery_point, offset)
            self._marks = [(at, min(leo, offset)) for at, leo in self._marks]
            self.cleaned = self.cleaned and self.cleaned.clip(0, offset)
            base = self.segments.reopen(offset, now)
            for _epoch_branch, batch, size, _start, _end in self.kept_between(base, offset):
                self.segments.count_append(size, batch.timestamp_us, batch.timestamp_us, now)
            self.transactions.clear()
            if self.epoch_branches.any_transactional(self.extents):
                self.transactions.read(self.kept_between(self.segments.first_base, offset))
        self.epochs.truncate_from_end(self.leo)

    def restart_at(self, offset: int, now: int = 0) -> None:
        """Drop everything and restart at ``offset`` (``UnifiedLog.truncateFullyAndStartAt``)."""
        self.extents.clear()
        self.last_deleted = ()
        self.cleaned = None
        self.torn = 0
        self.leo = self.log_start = self.durable = self.recovery_point = offset
        self._marks.clear()
        self.transactions.clear()
        self.epochs.clear()
        self.segments.restart_at(offset, now)

    def reload(self, start: int, recovery_point: int) -> None:
        """Load the log at a start: ``start`` and ``recovery_point`` from checkpoints, the end by scanning.

        A log that ends before its checkpointed start restarts there (``LogLoader.load``).
        """
        if self.leo < start:
            self.restart_at(start)
        self.log_start = max(start, self.segments.first_base)
        self.recovery_point = min(recovery_point, self.leo)
        self.epochs.truncate_from_end(self.leo)
        self.epochs.truncate_from_start(self.log_start)

    def move_start(self, offset: int) -> bool:
        """Advance the log start to ``offset``; False if it is not ahead (``maybeIncrementLogStartOffset``)."""
        before = self.log_start
        if offset <= before:
            return False
        self.last_deleted = tuple(self.pieces(before, offset))
        self.log_start = offset
        self.epochs.truncate_from_start(offset)
        return True

    def forget_deleted_transactions(self) -> None:
        """Forget open transactions of producers without records (``removeEvictedOngoingTransactions``)."""
        ongoing = self.transactions.ongoing
        if ongoing:
            kept = {batch.producer_id for _epoch_branch, batch, _start, _end in self.batches() if batch.sequence >= 0}
            for producer_id in [known for known in ongoing if known not in kept]:
                del ongoing[producer_id]

    def delete_segments(self, count: int, now: int) -> None:
        """Delete the oldest segments (``UnifiedLog.deleteSegments``) and advance the log start past them."""
        if not count:
            return
        segments = self.segments
        if count > len(segments.sealed):
            self._roll(self.leo, now, BY_RETENTION)
        self._unlinked.append((now + self.rules.delete_delay_us, segments.drop_first(count)))
        base = segments.first_base
        self.cleaned = self.cleaned and self.cleaned.clip(base, self.leo)
        self.transactions.forget_below(base)
        self.move_start(base)
        if base >= self.leo:
            self.extents.clear()
        else:
            del self.extents[: self.extent_index(base)]
            self.extents[0] = (max(base, self.extents[0][0]), self.extents[0][1])

    def replace_segments(self, count: int, fresh: list[Segment], now: int) -> None:
        """Replace the oldest ``count`` segments by cleaned ones (``LocalLog.replaceSegments``)."""
        self._unlinked.append((now + self.rules.delete_delay_us, self.segments.drop_first(count)))
        self.segments.sealed[:0] = fresh

    def unlink(self, now: int = NEVER) -> None:
        """Unlink the files of segments deleted ``file.delete.delay.ms`` ago; by default all."""
        if self._unlinked and self._unlinked[0][0] <= now:
            self._unlinked = [entry for entry in self._unlinked if entry[0] > now]

    @property
    def disk_bytes(self) -> int:
        """Bytes of all files, including renamed ones that are not unlinked yet and a torn batch."""
        return self.segments.total + self.torn + sum(size for _at, size in self._unlinked)

    def update_durable(self, now: int) -> None:
        """Count as durable what has been dirty for ``writeback_us``."""
        while self._marks and now - self._marks[0][0] >= self.rules.writeback_us:
            self.durable = max(self.durable, self._marks.pop(0)[1])

    def record_dirty_end(self, now: int) -> None:
        """Record the current end, for the age of dirty pages; called every few seconds."""
        self.update_durable(now)
        if self.leo != (self._marks[-1][1] if self._marks else self.durable):
            self._marks.append((now, self.leo))

    @property
    def has_dirty_marks(self) -> bool:
        """Whether a recorded end is not known to be durable yet."""
        return bool(self._marks)

    def flush(self, now: int = 0) -> None:
        """Flush everything, which advances the recovery point (``UnifiedLog.flush``)."""
        self.durable = self.recovery_point = self.leo
        self.flushed_us, self.flush_aged_us = now, 0

    def durable_end(self, keep: int = -1) -> int:
        """Return the end after a power loss: that of the last whole durable batch, or of the first ``keep`` records."""
        cut = min(self.durable if keep < 0 else max(keep, self.segments.first_base), self.leo)
        if not self.extents or not self.extents[0][0] < cut < self.leo:
            return cut
        return max(self.branch_at(cut).batch_at(cut).base, self.extents[self.extent_index(cut)][0])

    def batches(self) -> Iterator[tuple[EpochBranch, Batch, int, int]]:
        """Yield every batch with its log branch and its offsets ``[start, end)`` in this log, oldest first."""
        return self.batches_between(self.log_start, self.leo)

    def batches_between(self, start: int, end: int) -> Iterator[tuple[EpochBranch, Batch, int, int]]:
        """Yield batches as :meth:`batches` over ``[start, end)`` of the files, also below the log start."""
        for index in range(max(0, self.extent_index(start)), len(self.extents)):
            first, branch_id = self.extents[index]
            epoch_branch = self.epoch_branches.by_id[branch_id]
            low = max(first, start)
            high = min(self.extents[index + 1][0] if index + 1 < len(self.extents) else self.leo, end)
            if low >= high:
                continue
            for batch in epoch_branch.between(low, high):
                yield epoch_branch, batch, max(low, batch.base), min(high, batch.end)

    def kept_between(self, start: int, end: int) -> Iterator[tuple[EpochBranch, Batch, int, int, int]]:
        """Yield (branch, batch, remaining bytes, start, end) of batches in ``[start, end)`` with remaining records."""
        cleaned = self.cleaned
        for epoch_branch, batch, low, high in self.batches_between(start, end):
            if cleaned is None or low >= cleaned.end:
                yield epoch_branch, batch, batch.size, low, high
            elif not cleaned.is_removed(batch):
                yield epoch_branch, batch, cleaned.size_of(batch), low, high

    def remaining(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of ``[start, end)`` that compaction has not removed."""
        if self.cleaned is None:
            return [(start, end)] if start < end else []
        return self.cleaned.remaining(start, end)

    def save(self) -> tuple[Any, ...]:
        """Return all state except the batches, which the partition keeps."""
        return (
            tuple(self.extents), self.leo, self.log_start, self.durable, self.recovery_point, self.epochs.entries,
            tuple(self._marks), tuple(self._unlinked), self.segments.save(), self.cleaned, self.flushed_us, self.torn,
            self.transactions.save(), self.flush_aged_us,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            extents, self.leo, self.log_start, self.durable, self.recovery_point, self.epochs.entries, marks, unlinked,
            segments, self.cleaned, self.flushed_us, self.torn, transactions, self.flush_aged_us,
        ) = saved  # fmt: skip
        self.transactions.load(transactions)
        self.extents = list(extents)
        self._marks = list(marks)
        self._unlinked = list(unlinked)
        self.segments.load(segments)


# Comparison of two replicas' logs: exact, by log branch, without comparing records.


def differing(one: ReplicaLog, other: ReplicaLog) -> list[Range]:
    """Return offsets at which both logs hold different records; compacted records are no difference."""
    start = max(one.log_start, other.log_start)
    end = min(one.leo, other.leo)
    if start >= end or one.extents == other.extents:
        return []
    ranges: list[Range] = []
    at = start
    while at < end:
        left, right = one.extent_index(at), other.extent_index(at)
        stop = min(end, _next_start(one, left, end), _next_start(other, right, end))
        if one.extents[left][1] != other.extents[right][1]:
            if ranges and ranges[-1][1] == at:
                ranges[-1] = (ranges[-1][0], stop)
            else:
                ranges.append((at, stop))
        at = stop
    for cleaned in (one.cleaned, other.cleaned):
        if cleaned is not None and ranges:
            ranges = subtract(ranges, cleaned.holes)
    return ranges


def _next_start(log: ReplicaLog, index: int, end: int) -> int:
    return log.extents[index + 1][0] if index + 1 < len(log.extents) else end
