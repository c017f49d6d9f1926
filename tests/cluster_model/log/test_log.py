"""A replica's log against a plain list of records: appends, copies, truncation, reads, and the durable part."""

import copy
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from syrupy.assertion import SnapshotAssertion

from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.protocol.configs import WRITEBACK_US
from cluster_model.protocol.records import Batch, Slice

pytestmark = pytest.mark.slow


@dataclass
class Record:
    """A record in one plain log."""

    log_branch: int
    epoch: int
    batch: int
    """First offset of its batch."""
    size: int
    """Size of its batch in bytes."""
    dirty_since: int = -1
    """Time when it was first recorded as dirty, -1 not yet."""
    safe: bool = False

    @property
    def identity(self) -> tuple[int, int]:
        return (self.log_branch, self.batch)

    def copied(self) -> "Record":
        return Record(self.log_branch, self.epoch, self.batch, self.size)


@dataclass
class Plain:
    """A log as a plain list of records."""

    start: int = 0
    records: list[Record] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.start + len(self.records)

    def read_end(self, start: int, bound: int, max_bytes: int) -> int:
        """Return the end of a read: after whole batches within ``max_bytes``, at least one."""
        at, used = start, 0
        wanted = self.records[start - self.start : max(0, min(bound, self.end) - self.start)]
        for _identity, group in groupby(wanted, key=lambda record: record.identity):
            found = list(group)
            used += found[0].size
            if used > max_bytes and at > start:
                break
            at += len(found)
        return at

    def durable(self) -> int:
        prefix = 0
        while prefix < len(self.records) and self.records[prefix].safe:
            prefix += 1
        return self.start + prefix


REPLICA = st.integers(0, 2)


class LogMachine(RuleBasedStateMachine):
    """Three replicas of a partition; a follower copies only from a log that agrees with its own."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch_branches = BatchStore()
        self.logs = [ReplicaLog(self.epoch_branches, uses_epochs=True, replaces=True) for _replica in range(3)]
        self.plain = [Plain() for _replica in range(3)]
        self.log_branches: list[int | None] = [None, None, None]
        self.epoch = 0
        self.now = 0
        self.saved: Any = None

    @initialize(records=st.integers(1, 4))
    def first_batch(self, records: int) -> None:
        self.lead(0)
        self.write(0, records, 10)

    @rule(replica=REPLICA)
    def lead(self, replica: int) -> None:
        self.epoch += 1
        self.log_branches[replica] = self.epoch_branches.begin(replica, self.epoch, self.logs[replica].leo).id

    @precondition(lambda self: any(log_branch is not None for log_branch in self.log_branches))
    @rule(replica=REPLICA, records=st.integers(1, 4), size=st.integers(1, 40))
    def write(self, replica: int, records: int, size: int) -> None:
        log_branch = self.log_branches[replica]
        if log_branch is None:
            return
        log, plain = self.logs[replica], self.plain[replica]
        epoch_branch: EpochBranch = self.epoch_branches.by_id[log_branch]
        base = plain.end
        log.append_batch(epoch_branch, Batch(base, records, size, self.now, "p", -1, base, 1))
        plain.records.extend(Record(log_branch, epoch_branch.epoch, base, size) for _record in range(records))

    @rule(follower=REPLICA, source=REPLICA, max_bytes=st.integers(0, 90), bound=st.integers(0, 30))
    def copy_from(self, follower: int, source: int, max_bytes: int, bound: int) -> None:
        ours, theirs = self.plain[follower], self.plain[source]
        if follower == source or not theirs.start <= ours.end <= theirs.end or not self._agree(ours, theirs):
            return
        found = self.logs[source].read(ours.end, bound, max_bytes)
        stop = theirs.read_end(ours.end, bound, max_bytes)
        assert (found.start, found.end) == (ours.end, max(stop, ours.end))
        taken = theirs.records[ours.end - theirs.start : found.end - theirs.start]
        self.logs[follower].append_slice(found)
        self.log_branches[follower] = None
        ours.records.extend(record.copied() for record in taken)

    @staticmethod
    def _agree(ours: Plain, theirs: Plain) -> bool:
        start = max(ours.start, theirs.start)
        mine = [record.identity for record in ours.records[start - ours.start :]]
        return mine == [record.identity for record in theirs.records[start - theirs.start : ours.end - theirs.start]]

    @rule(replica=REPLICA, offset=st.integers(0, 30))
    def truncate(self, replica: int, offset: int) -> None:
        plain = self.plain[replica]
        self.logs[replica].truncate(offset)
        if offset < plain.end:
            self.log_branches[replica] = None
            del plain.records[max(0, offset - plain.start) :]
            plain.start = min(plain.start, offset)

    @rule(replica=REPLICA, offset=st.integers(0, 12))
    def restart_at(self, replica: int, offset: int) -> None:
        self.logs[replica].restart_at(offset)
        self.plain[replica] = Plain(offset)
        self.log_branches[replica] = None

    @rule(replica=REPLICA, seconds=st.integers(0, 20))
    def mark(self, replica: int, seconds: int) -> None:
        self.now += seconds * 1_000_000
        self._age(replica)
        self.logs[replica].record_dirty_end(self.now)
        for record in self.plain[replica].records:
            if record.dirty_since < 0:
                record.dirty_since = self.now

    @rule(replica=REPLICA, seconds=st.integers(0, 40))
    def age(self, replica: int, seconds: int) -> None:
        self.now += seconds * 1_000_000
        self._age(replica)
        self.logs[replica].update_durable(self.now)

    def _age(self, replica: int) -> None:
        for record in self.plain[replica].records:
            if 0 <= record.dirty_since <= self.now - WRITEBACK_US:
                record.safe = True

    @rule(replica=REPLICA)
    def flush(self, replica: int) -> None:
        self.logs[replica].flush()
        for record in self.plain[replica].records:
            record.safe = True

    @rule()
    def save(self) -> None:
        state = (self.epoch_branches.save(), [log.save() for log in self.logs])
        self.saved = (state, copy.deepcopy((self.plain, self.log_branches, self.epoch, self.now)))

    @precondition(lambda self: self.saved is not None)
    @rule()
    def load(self) -> None:
        (epoch_branches, logs), plain = self.saved
        self.epoch_branches.load(epoch_branches)
        for log, state in zip(self.logs, logs, strict=True):
            log.load(state)
        self.plain, self.log_branches, self.epoch, self.now = copy.deepcopy(plain)

    @invariant()
    def the_same_records_stand_at_the_same_offsets(self) -> None:
        for log, plain in zip(self.logs, self.plain, strict=True):
            assert (log.log_start, log.leo) == (plain.start, plain.end)
            for offset, record in enumerate(plain.records, plain.start):
                epoch_branch = log.branch_at(offset)
                assert (epoch_branch.id, epoch_branch.epoch) == (record.log_branch, record.epoch)
                assert epoch_branch.batch_at(offset).base == record.batch

    @invariant()
    def the_epoch_cache_says_where_each_epoch_begins(self) -> None:
        for log, plain in zip(self.logs, self.plain, strict=True):
            begins: dict[int, int] = {}
            for offset, record in enumerate(plain.records, plain.start):
                begins.setdefault(record.epoch, offset)
            assert log.epochs.entries == tuple(begins.items())

    @invariant()
    def every_extent_holds_something(self) -> None:
        for log in self.logs:
            edges = [start for start, _epoch_branch in log.extents] + [log.leo]
            assert edges == sorted(set(edges))

    @invariant()
    def held_names_the_offsets_of_each_log_branch(self) -> None:
        for log, plain in zip(self.logs, self.plain, strict=True):
            for epoch_branch in self.epoch_branches.by_id:
                held = [
                    at for at, record in enumerate(plain.records, plain.start) if record.log_branch == epoch_branch.id
                ]
                assert [at for start, end in log.ranges_of(epoch_branch.id) for at in range(start, end)] == held

    @invariant()
    def what_is_durable_is_what_is_old_enough(self) -> None:
        for log, plain in zip(self.logs, self.plain, strict=True):
            assert log.durable == plain.durable()

    @invariant()
    def batches_are_listed_in_order_with_what_is_left_of_them(self) -> None:
        for log, plain in zip(self.logs, self.plain, strict=True):
            expected: list[tuple[int, int, int, int]] = []
            at = plain.start
            for (log_branch, batch), group in groupby(record.identity for record in plain.records):
                end = at + len(list(group))
                expected.append((log_branch, batch, at, end))
                at = end
            assert [
                (epoch_branch.id, batch.base, start, end) for epoch_branch, batch, start, end in log.batches()
            ] == expected

    @invariant()
    def logs_differ_where_the_lists_do(self) -> None:
        for one, other in ((0, 1), (1, 2), (0, 2)):
            left, right = (dict(enumerate(p.records, p.start)) for p in (self.plain[one], self.plain[other]))
            parted = {at for at in left.keys() & right.keys() if left[at].log_branch != right[at].log_branch}
            ranges = differing(self.logs[one], self.logs[other])
            assert {at for start, end in ranges for at in range(start, end)} == parted


LogMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
TestLogAgainstAList = LogMachine.TestCase


def log_with(*batches: tuple[int, int], uses_epochs: bool = True) -> tuple[ReplicaLog, EpochBranch]:
    """Return a leader's log in epoch 3 with batches of (records, bytes)."""
    log = ReplicaLog(BatchStore(), uses_epochs=uses_epochs, replaces=True)
    epoch_branch = log.epoch_branches.begin(1, 3, 0)
    for records, size in batches:
        log.append_batch(epoch_branch, Batch(log.leo, records, size, 0, "p", -1, log.leo, 1))
    return log, epoch_branch


def test_a_follower_may_not_leave_a_gap_or_overlap(snapshot: SnapshotAssertion) -> None:
    log, epoch_branch = log_with((3, 10))
    for start in (2, 4):
        with pytest.raises(ValueError, match=f"at {start}") as caught:
            log.append_slice(Slice(start, start + 1, ((start, epoch_branch.id),)))
        assert str(caught.value) == snapshot
    assert log.leo == 3


def test_reading_at_the_bound_or_behind_the_end_finds_nothing() -> None:
    log, _epoch_branch = log_with((3, 10))
    assert log.read(2, 2, 1_000) == Slice(2, 2, ())
    assert log.read(3, 99, 1_000) == Slice(3, 3, ())


def test_a_read_that_begins_inside_a_batch_continues_to_its_end() -> None:
    log, epoch_branch = log_with((3, 10), (3, 10))
    assert log.read(1, 6, 10) == Slice(1, 3, ((1, epoch_branch.id),))


def test_at_least_one_batch_is_for_the_whole_read_not_for_each_log_branch() -> None:
    log, first = log_with((2, 100))
    second = log.epoch_branches.begin(2, 4, 2)
    log.append_batch(second, Batch(2, 2, 100, 0, "p", -1, 2, 1))
    assert log.read(0, 4, 150) == Slice(0, 2, ((0, first.id),))
    assert log.read(0, 4, 200) == Slice(0, 4, ((0, first.id), (2, second.id)))


def test_a_slice_is_frozen_when_it_was_read() -> None:
    log, epoch_branch = log_with((2, 10))
    found = log.read(0, 99, 1_000)
    log.append_batch(epoch_branch, Batch(2, 5, 10, 0, "p", -1, 2, 1))
    assert (found.start, found.end) == (0, 2)


def test_truncating_at_the_end_or_behind_it_only_trims_the_epoch_cache() -> None:
    log, epoch_branch = log_with((3, 10))
    log.epochs.assign(9, 3)
    log.truncate(50)
    assert (log.leo, log.extents, log.epochs.entries) == (3, [(0, epoch_branch.id)], ((3, 0),))


def test_truncating_below_the_start_takes_the_start_along() -> None:
    log, _epoch_branch = log_with((5, 10))
    log.log_start = 4
    log.truncate(2)
    assert (log.log_start, log.leo) == (2, 2)


def test_a_log_of_the_old_message_format_keeps_no_epochs() -> None:
    log, epoch_branch = log_with((3, 10), uses_epochs=False)
    log.append_slice(Slice(3, 4, ((3, epoch_branch.id),)))
    assert log.epochs.entries == ()


def test_a_leader_that_lost_its_tail_writes_new_records_that_are_not_the_old_ones() -> None:
    log, epoch_branch = log_with((3, 10))
    copy_of = ReplicaLog(log.epoch_branches, uses_epochs=True, replaces=True)
    copy_of.append_slice(log.read(0, 3, 1_000))
    log.truncate(1)
    again = log.epoch_branches.begin(1, 3, 1)
    log.append_batch(again, Batch(1, 2, 10, 0, "p", -1, 1, 1))
    assert log.epochs.entries == copy_of.epochs.entries == ((3, 0),)
    assert (log.leo, differing(log, copy_of)) == (3, [(1, 3)])
    assert (log.ranges_of(epoch_branch.id), log.ranges_of(again.id)) == ([(0, 1)], [(1, 3)])


def test_held_leaves_out_what_retention_removed() -> None:
    log, epoch_branch = log_with((5, 10))
    log.log_start = 2
    assert (log.ranges_of(epoch_branch.id), log.ranges_of(99)) == ([(2, 5)], [])


def test_dirty_pages_are_safe_after_thirty_seconds_and_not_before() -> None:
    log, epoch_branch = log_with((2, 10))
    log.record_dirty_end(1_000)
    log.append_batch(epoch_branch, Batch(2, 2, 10, 0, "p", -1, 2, 1))
    log.update_durable(1_000 + WRITEBACK_US - 1)
    assert log.durable == 0
    log.update_durable(1_000 + WRITEBACK_US)
    assert log.durable == 2


def test_truncation_takes_back_what_was_safe_and_what_was_about_to_be() -> None:
    log, _epoch_branch = log_with((2, 10), (2, 10))
    log.record_dirty_end(0)
    log.truncate(2)
    log.update_durable(WRITEBACK_US)
    assert log.durable == 2
    log.truncate(1)
    assert log.durable == 1
