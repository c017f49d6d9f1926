"""Records that consumer groups read, reread, skipped or abandoned, and the resets and commits that caused it.

Every skipped range has an entry; of all other events only the newest is kept.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cluster_model.checker.anomalies.operations import Empty
from cluster_model.checker.history.fault_history import FaultHistory, FaultRecord, about
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    ConsumerReset,
    OffsetsCommitted,
    OffsetsExpired,
    PartitionCreated,
    RecordsAbandoned,
    RecordsRead,
    TraceEvent,
)
from cluster_model.util.ranges import Range, RangeSet, length, load_all, save_all, subtract, union

_Key = tuple[str, str]
"""(group, partition)."""


class OffsetResetJump(NamedTuple):
    """An offset reset that moved a consumer's position past records."""

    at_us: int
    client: str
    start: int
    end: int
    log_start: int
    """Log start offset of the leader at that time."""
    created_us: int
    """When the partition was created, if the consumer had no position of it yet; else -1."""
    expired: OffsetsExpired | None = None
    """The expiration of the group's committed offset, if that is why it had no position."""
    uncommitted: bool = False
    """Whether the group had read the partition without a commit."""


class UnprocessedRecords(NamedTuple):
    """Records that an application had received and not processed when it ended."""

    at_us: int
    client: str
    start: int
    end: int
    by: str
    committed: int
    """The group's committed offset at that time, -1 for none."""
    commit_kind: str
    committed_us: int
    fault_record: FaultRecord | None


class ReaderEvents:
    """Offset resets, commits and abandoned records, by group and partition."""

    __slots__ = (
        "_cluster_state",
        "_commits",
        "_created",
        "_delivered",
        "_expired",
        "_fault_records",
        "_jumps",
        "_unprocessed",
        "changes",
    )

    def __init__(self, cluster_state: ClusterState, faults: FaultHistory) -> None:
        self._cluster_state = cluster_state
        self._fault_records = faults
        self._created: dict[str, int] = {}
        self._jumps: dict[_Key, tuple[OffsetResetJump, ...]] = {}
        self._unprocessed: dict[_Key, tuple[UnprocessedRecords, ...]] = {}
        self._commits: dict[_Key, OffsetsCommitted] = {}
        self._expired: dict[_Key, OffsetsExpired] = {}
        """Expired committed offsets, until the next commit."""
        self._delivered: dict[_Key, dict[int, RangeSet]] = {}
        """(group, partition) → log branch → offsets of the records received."""
        self.changes = 0
        """Counter that grows with every delivery and every abandoned record; it is not rewound."""

    def observe(self, event: TraceEvent) -> None:
        """Record the event if it is a reset, an expired offset or a new partition."""
        if isinstance(event, ConsumerReset):
            self._reset(event)
        elif isinstance(event, OffsetsExpired):
            self._expired[event.group_id, event.partition] = event
            self._commits.pop((event.group_id, event.partition), None)
        elif isinstance(event, PartitionCreated):
            self._created[event.partition] = event.at_us

    def committed(self, event: OffsetsCommitted) -> None:
        """Record the newest commit of a group, which may explain records abandoned later."""
        self._commits[event.group_id, event.partition] = event
        if self._expired:
            self._expired.pop((event.group_id, event.partition), None)

    def read(self, event: RecordsRead) -> None:
        """Record that an application received records."""
        self.changes += 1
        key = (event.group_id, event.partition)
        log_branches = self._delivered.get(key)
        if log_branches is None:
            log_branches = self._delivered[key] = {}
        handed = log_branches.get(event.log_branch)
        if handed is None:
            handed = log_branches[event.log_branch] = RangeSet()
        start, end, ends = event.log_offset, event.end_offset, handed.ends
        if ends and ends[-1] == start:
            ends[-1] = end
            return
        if ends and event.log_branch >= 0:
            start, end = handed.bridged(
                start, end, self._cluster_state.epoch_branches[event.partition].by_id[event.log_branch].markers_only
            )
        handed.add(start, end)

    def _reset(self, event: ConsumerReset) -> None:
        leader = (
            self._cluster_state.representative(event.partition)
            if event.partition in self._cluster_state.records
            else None
        )
        log_start = 0 if leader is None else leader.log.log_start
        key = (event.group_id, event.partition)
        created, start, expired, uncommitted = -1, event.end_offset, None, False
        if event.end_offset < 0:
            expired, handed = self._expired.get(key), self._delivered.get(key)
            uncommitted = expired is None and handed is not None and key not in self._commits
            if expired is not None:
                start = expired.log_offset
            elif uncommitted:
                start = max(spans.ends[-1] for spans in (handed or {}).values())
            else:
                created, start = self._created.get(event.partition, -1), log_start
                if created < 0:
                    return
        if start < event.log_offset:
            jump = OffsetResetJump(
                event.at_us, event.client, start, event.log_offset, log_start, created, expired, uncommitted
            )  # fmt: skip
            self._jumps[key] = (*self._jumps.get(key, ()), jump)

    def records_abandoned(self, event: RecordsAbandoned) -> None:
        """Record that an application left received records unprocessed."""
        self.changes += 1
        key = (event.group_id, event.partition)
        commit = self._commits.get(key)
        committed, commit_kind, committed_us = (
            (-1, "", -1) if commit is None else (commit.log_offset, commit.by, commit.at_us)
        )
        faults = about(self._fault_records.records(), event.client, event.at_us)
        fresh = UnprocessedRecords(
            event.at_us, event.client, event.log_offset, event.log_offset + event.count, event.by, committed,
            commit_kind, committed_us,
            faults[-1] if faults else None,
        )  # fmt: skip
        batches = self._unprocessed.get(key, ())
        if batches and batches[-1].end == fresh.start and batches[-1].at_us == fresh.at_us:
            last = batches[-1]
            fresh = UnprocessedRecords(
                last.at_us, last.client, last.start, fresh.end, last.by, last.committed, last.commit_kind,
                last.committed_us, last.fault_record,
            )  # fmt: skip
            batches = batches[:-1]
        self._unprocessed[key] = (*batches, fresh)

    def jumps(self) -> Iterator[tuple[str, str, OffsetResetJump, list[Range]]]:
        """Yield (group, partition, jump, ranges of it that the group has not received since)."""
        for (group, partition), jumps in self._jumps.items():
            read = [part for handed in self._delivered.get((group, partition), {}).values() for part in handed.ranges()]
            read_so_far = sorted(read)
            for jump in jumps:
                missed = subtract([(jump.start, jump.end)], read_so_far)
                if missed:
                    yield group, partition, jump, missed
                read_so_far = sorted([*read_so_far, (jump.start, jump.end)])

    def abandoned(self) -> Iterator[tuple[str, str, UnprocessedRecords]]:
        """Yield all abandoned ranges: (group, partition, records)."""
        for (group, partition), known in self._unprocessed.items():
            for each in known:
                yield group, partition, each

    def overwritten(self, only: str | None = None) -> Iterator[tuple[str, str, int, Range]]:
        """Yield records at offsets of others that a group had read, if it received later records but not these.

        (group, partition, log branch, offsets) each, of one group or of all.
        """
        for (group, partition), log_branches in self._delivered.items():
            if len(log_branches) < 2 or only not in (None, group):
                continue
            leader = (
                self._cluster_state.committed_leader(partition) if partition in self._cluster_state.records else None
            )
            if leader is None:
                continue
            held = [(log_branch, part) for log_branch in log_branches for part in leader.log.ranges_of(log_branch)]
            current = [self._intersection(log_branches[log_branch].ranges(), part) for log_branch, part in held]
            newest = max((high for ranges in current for _low, high in ranges), default=0)
            by_branch = {log_branch: handed.ranges() for log_branch, handed in log_branches.items()}
            for start, log_branch in leader.log.extents:
                end = next((high for low, high in leader.log.ranges_of(log_branch) if low <= start < high), start)
                stale = sorted(part for other, ranges in by_branch.items() if other != log_branch for part in ranges)
                seen = by_branch.get(log_branch, [])
                for low, high in self._intersection(stale, (start, min(end, newest))):
                    for part in subtract([(low, high)], seen):
                        yield group, partition, log_branch, part

    @staticmethod
    def _intersection(ranges: list[Range], part: Range) -> list[Range]:
        return [
            (max(low, part[0]), min(high, part[1])) for low, high in ranges if max(low, part[0]) < min(high, part[1])
        ]

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        for table in (self._jumps, self._unprocessed, self._commits, self._delivered, self._expired):
            for key in [key for key in table if key[1] == partition]:
                del table[key]
        self._created.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        handed = [(key, save_all(log_branches)) for key, log_branches in self._delivered.items()]
        tables = (self._created, self._jumps, self._unprocessed, self._commits, self._expired)
        return (tuple(handed), *(tuple(table.items()) for table in tables))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        handed, created, jumps, left, commits, expired = saved
        self._expired = dict(expired)
        self._created, self._jumps, self._unprocessed = dict(created), dict(jumps), dict(left)
        self._commits = dict(commits)
        self._delivered = {key: load_all(log_branches) for key, log_branches in handed}


# Offsets that each group's applications read once, again, or not at all.
#
# Only deliveries to the application count, not commits. A record is *reread* when it is delivered a second time; a
# different record at its offset after a truncation, of another log branch, is not. Offsets that are never delivered,
# such as those removed by compaction, count as skipped; transaction markers do not. Records that an application had
# received and not processed when it ended are *abandoned*, until a member of its group receives them.


class DeliveredRecords:
    """Records delivered to applications, by group and partition."""

    __slots__ = ("_abandoned", "_delivered", "_empty", "_read", "_records", "_reread")

    def __init__(self, empty: Empty = lambda *_part: False) -> None:
        """``empty`` returns whether a range holds only markers."""
        self._empty = empty
        self._read: dict[str, int] = {}
        """Group → number of records delivered, with repetitions."""
        self._delivered: dict[tuple[str, str], RangeSet] = {}
        """(group, partition) → offsets delivered, regardless of the record."""
        self._records: dict[tuple[str, str], dict[int, RangeSet]] = {}
        """(group, partition) → log branch → offsets of the records delivered."""
        self._reread: dict[str, tuple[int, int]] = {}
        """Group → (records reread, offsets skipped in partitions deleted since)."""
        self._abandoned: dict[tuple[str, str], list[Range]] = {}

    def records_read(self, event: RecordsRead) -> None:
        """Record that an application received records."""
        group = event.group_id
        self._read[group] = self._read.get(group, 0) + event.count
        key = (group, event.partition)
        ranges = self._delivered.get(key)
        if ranges is None:
            ranges = self._delivered[key] = RangeSet()
            self._records[key] = {}
        start, end = event.log_offset, event.log_offset + event.count
        if self._abandoned and key in self._abandoned:
            self._redelivered(key, start, end)
        records = self._records[key].get(event.log_branch)
        if records is None:
            records = self._records[key][event.log_branch] = RangeSet()
        if not records.extend(start, end):  # nearly always: the next ones
            repeated = event.count - length(records.add(start, end))
            if repeated:
                again, passed = self._reread.get(group, (0, 0))
                self._reread[group] = (again + repeated, passed)
        if not ranges.extend(start, end):
            bridges = ranges.ends and event.log_branch >= 0
            ranges.add(*(self._bridged(ranges, event) if bridges else (start, end)))

    def _bridged(self, ranges: RangeSet, event: RecordsRead) -> Range:
        """Return the range extended by adjacent markers, which are never delivered."""
        empty = self._empty
        key, log_branch = event.partition, event.log_branch
        return ranges.bridged(
            event.log_offset, event.log_offset + event.count, lambda low, high: empty(key, log_branch, low, high)
        )

    def _redelivered(self, key: tuple[str, str], start: int, end: int) -> None:
        """Drop abandoned records that were delivered again."""
        left = [part for low, high in self._abandoned[key] for part in ((low, min(high, start)), (max(low, end), high))]
        self._abandoned[key] = union(left)

    def records_abandoned(self, event: RecordsAbandoned) -> None:
        """Record that an application left received records unprocessed."""
        key = (event.group_id, event.partition)
        found = (event.log_offset, event.log_offset + event.count)
        self._abandoned[key] = union([*self._abandoned.get(key, ()), found])

    def deleted(self, partition: str) -> None:
        """Drop the state of a deleted partition; one created again with its name is new."""
        self._abandoned = {key: ranges for key, ranges in self._abandoned.items() if key[1] != partition}
        for group, name in tuple(self._delivered):
            if name == partition:
                again, passed = self._reread.get(group, (0, 0))
                self._reread[group] = (again, passed + self._delivered.pop((group, name)).gaps)
                del self._records[group, name]

    def read(self, group: str) -> int:
        """Return the number of records delivered to a group's applications, with repetitions."""
        return self._read.get(group, 0)

    def reread(self, group: str) -> int:
        """Return the number of records delivered to a group again."""
        return self._reread.get(group, (0, 0))[0]

    def gaps(self, group: str) -> tuple[int, dict[str, list[Range]]]:
        """Return the skipped offsets between delivered ones: (number in deleted partitions, partition → ranges)."""
        _reread, passed = self._reread.get(group, (0, 0))
        gaps = {
            partition: list(zip(ranges.ends[:-1], ranges.starts[1:], strict=True))
            for (name, partition), ranges in self._delivered.items()
            if name == group
        }
        return passed, gaps

    def abandoned(self, group: str) -> int:
        """Return the number of records that ended applications left unprocessed and no member has received since."""
        return sum(length(ranges) for (name, _partition), ranges in self._abandoned.items() if name == group)

    def abandoned_in(self, group: str, partition: str) -> list[Range]:
        """Return the abandoned ranges of one partition."""
        return self._abandoned.get((group, partition), [])

    def groups_that_read(self, partition: str, start: int, end: int) -> tuple[str, ...]:
        """Return the groups that received any offset of ``[start, end)``, regardless of the record."""
        return tuple(
            sorted(
                group
                for (group, name), ranges in self._delivered.items()
                if name == partition
                and any(low < end and high > start for low, high in zip(ranges.starts, ranges.ends, strict=True))
            )
        )

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        records = tuple([(key, save_all(log_branches)) for key, log_branches in self._records.items()])
        abandoned = tuple([(key, tuple(ranges)) for key, ranges in self._abandoned.items()])
        return (tuple(self._read.items()), save_all(self._delivered), tuple(self._reread.items()), abandoned, records)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        read, handed, again, abandoned, records = saved
        self._delivered, self._records = (
            load_all(handed),
            {key: load_all(log_branches) for key, log_branches in records},
        )
        self._abandoned = {key: list(ranges) for key, ranges in abandoned}
        self._read, self._reread = dict(read), dict(again)
