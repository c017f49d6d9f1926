"""Acknowledged records as ranges, against plain sets."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.checker.ledger.ack_evidence import AckedRecords
from cluster_model.util.ranges import RangeSet

ADDS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), max_size=25)


@pytest.mark.slow
@given(ADDS)
def test_ranges_hold_what_was_put_in_and_never_touch(adds: list[tuple[int, int]]) -> None:
    ranges, plain = RangeSet(), set[int]()
    for start, count in adds:
        new = not set(range(start, start + count)) <= plain
        assert bool(ranges.add(start, start + count)) is new
        plain |= set(range(start, start + count))
        assert {at for low, high in ranges.ranges() for at in range(low, high)} == plain
        found = ranges.ranges()
        assert all(one[1] < other[0] for one, other in pairwise(found))


def test_acknowledgements_in_order_are_one_range() -> None:
    ranges = RangeSet()
    for start in range(0, 1_000, 10):
        assert ranges.add(start, start + 10)
    assert ranges.ranges() == [(0, 1_000)]


@pytest.mark.slow
@given(ADDS, ADDS)
def test_a_rewind_forgets_later_ranges(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
    ranges = RangeSet()
    for start, count in before:
        ranges.add(start, start + count)
    saved, kept = ranges.save(), ranges.ranges()
    for start, count in after:
        ranges.add(start, start + count)
    ranges.load(saved)
    assert (ranges.ranges(), ranges.save()) == (kept, saved)


def test_log_branches_are_kept_apart() -> None:
    acked = AckedRecords(0)
    assert acked.add(1, 10, 20)
    assert acked.add(2, 10, 20)
    assert not acked.add(1, 12, 18)
    assert {log_branch: ranges.ranges() for log_branch, ranges in acked.by_log_branch.items()} == {
        1: [(10, 20)],
        2: [(10, 20)],
    }


def test_commitment_only_grows() -> None:
    acked = AckedRecords(0)
    for start, end in ((0, 5), (5, 9), (3, 7)):
        acked.commit(3, start, end)
    assert acked.committed_in(3) == [(0, 9)]
    assert acked.committed_in(4) == []


def test_records_that_no_leader_exposed_are_not_committed() -> None:
    acked = AckedRecords(0)
    acked.commit(3, 0, 5)
    acked.commit(3, 8, 9)
    assert acked.committed_in(3) == [(0, 5), (8, 9)]


@given(ADDS, st.integers(0, 30), st.integers(1, 12))
def test_ranges_can_be_removed_and_searched(adds: list[tuple[int, int]], start: int, count: int) -> None:
    ranges, plain = RangeSet(), set[int]()
    for low, more in adds:
        ranges.add(low, low + more)
        plain |= set(range(low, low + more))
    gone = set(range(start, start + count))
    assert ranges.any_within(start, start + count) is bool(plain & gone)
    ranges.remove(start, start + count)
    assert {at for low, high in ranges.ranges() for at in range(low, high)} == plain - gone
    assert ranges.size == len(plain - gone)
    assert ranges.entries == len(ranges.ranges())


def test_the_state_is_restored() -> None:
    acked = AckedRecords(0)
    acked.add(1, 0, 5)
    acked.commit(1, 0, 3)
    saved = acked.save()
    acked.add(1, 5, 9)
    acked.add(2, 0, 1)
    acked.commit(1, 3, 8)
    acked.load(saved)
    assert acked.save() == saved
    assert (list(acked.by_log_branch), acked.committed_in(1)) == ([1], [(0, 3)])
