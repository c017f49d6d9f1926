"""Comparison of logs by log branch, and sums of ranges, against plain sets of offsets."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.batch_store import BatchStore
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.protocol.records import Batch, Slice
from cluster_model.util.ranges import Range, length, subtract, union


def spread(ranges: list[Range]) -> set[int]:
    return {offset for start, end in ranges for offset in range(start, end)}


def ordered(ranges: list[Range]) -> bool:
    """Whether ranges are ascending, not empty, and not adjacent."""
    inside = all(start < end for start, end in ranges)
    return inside and all(one[1] < other[0] for one, other in pairwise(ranges))


RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)


@given(RANGES)
def test_union_covers_the_same_offsets_in_as_few_ranges_as_possible(ranges: list[Range]) -> None:
    merged = union(ranges)
    assert spread(merged) == spread(ranges)
    assert ordered(merged)


@pytest.mark.slow
@given(RANGES, RANGES)
def test_subtract_leaves_what_no_hole_covers(ranges: list[Range], holes: list[Range]) -> None:
    left = subtract(union(ranges), union(holes))
    assert spread(left) == spread(ranges) - spread(holes)
    assert all(start < end for start, end in left)
    assert left == sorted(left)


@pytest.mark.slow
@given(RANGES)
def test_length_counts_offsets(ranges: list[Range]) -> None:
    assert length(union(ranges)) == len(spread(ranges))


@given(RANGES)
def test_a_hole_without_offsets_takes_nothing(ranges: list[Range]) -> None:
    assert subtract(union(ranges), [(0, 0)]) == union(ranges)


def log_of(epoch_branches: BatchStore, start: int, *pieces: tuple[int, int]) -> ReplicaLog:
    """Return a log that begins at ``start`` and holds pieces of (branch, records) one after the other."""
    log = ReplicaLog(epoch_branches, uses_epochs=False, replaces=True)
    log.restart_at(start)
    for epoch_branch, records in pieces:
        written = epoch_branches.by_id[epoch_branch]
        if written.end < log.leo + records:
            written.append(Batch(written.end, log.leo + records - written.end, 1, 0, "", -1, 0, 1))
        log.append_slice(Slice(log.leo, log.leo + records, ((log.leo, epoch_branch),)))
    return log


def plain(log: ReplicaLog) -> dict[int, int]:
    return {offset: log.branch_at(offset).id for offset in range(log.log_start, log.leo)}


PIECES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), max_size=5)


@pytest.mark.slow
@given(st.integers(0, 6), PIECES, st.integers(0, 6), PIECES)
def test_logs_differ_exactly_where_other_log_branches_cover_the_offset(
    start: int, one: list[tuple[int, int]], other_start: int, other: list[tuple[int, int]]
) -> None:
    epoch_branches = BatchStore()
    for number in range(3):
        epoch_branches.begin(number, number, 0)
    left, right = log_of(epoch_branches, start, *one), log_of(epoch_branches, other_start, *other)
    expected = {at for at, epoch_branch in plain(left).items() if plain(right).get(at, epoch_branch) != epoch_branch}
    assert spread(differing(left, right)) == expected
    assert ordered(differing(left, right))
    assert differing(left, right) == differing(right, left)


def test_the_shorter_of_two_logs_does_not_differ_where_it_ends() -> None:
    epoch_branches = BatchStore()
    epoch_branches.begin(1, 0, 0)
    assert differing(log_of(epoch_branches, 0, (0, 9)), log_of(epoch_branches, 0, (0, 4))) == []


def test_two_log_branches_of_one_leader_in_one_epoch_are_distinguished() -> None:
    epoch_branches = BatchStore()
    first, second = epoch_branches.begin(1, 5, 0), epoch_branches.begin(1, 5, 3)
    kept = log_of(epoch_branches, 0, (first.id, 6))
    rewritten = log_of(epoch_branches, 0, (first.id, 3), (second.id, 2))
    assert differing(kept, rewritten) == [(3, 5)]


def test_log_diff_ignores_offsets_deleted_by_retention() -> None:
    epoch_branches = BatchStore()
    epoch_branches.begin(1, 0, 0)
    epoch_branches.begin(2, 1, 0)
    one, other = log_of(epoch_branches, 0, (0, 6)), log_of(epoch_branches, 0, (1, 6))
    one.log_start = 4
    assert differing(one, other) == [(4, 6)]
