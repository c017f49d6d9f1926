"""Every strategy of ``--reset-offsets`` as a table, and the tool's messages."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.coordinators.group.consumer_groups_tool import (
    PartitionOffsets,
    ResetError,
    Strategy,
    new_offset,
    refusal,
)

P = "orders-1"
NOTHING = PartitionOffsets(start=10, end=90)
BEHIND = PartitionOffsets(5, 10, 90, 40)
"""The committed offset's records are deleted."""
INSIDE = PartitionOffsets(50, 10, 90, 40)
AHEAD = PartitionOffsets(120, 10, 90, -1)
"""The committed offset's records are truncated, and all records are older than the requested time."""
HOLLOW = PartitionOffsets(7, 30, 30, -1)
"""A log without records."""

S = Strategy
TABLE: list[tuple[Strategy, int, PartitionOffsets, int, bool]] = [
    (S.TO_EARLIEST, 0, INSIDE, 10, False),
    (S.TO_EARLIEST, 0, HOLLOW, 30, False),
    (S.TO_LATEST, 0, INSIDE, 90, False),
    (S.TO_LATEST, 0, HOLLOW, 30, False),
    (S.TO_CURRENT, 0, INSIDE, 50, False),
    (S.TO_CURRENT, 0, NOTHING, 90, False),
    (S.TO_CURRENT, 0, BEHIND, 5, False),  # kept, though there is no such record
    (S.TO_CURRENT, 0, AHEAD, 120, False),
    (S.TO_CURRENT, 0, PartitionOffsets(0, 10, 90), 0, False),
    (S.TO_OFFSET, 40, INSIDE, 40, False),
    (S.TO_OFFSET, 10, INSIDE, 10, False),
    (S.TO_OFFSET, 90, INSIDE, 90, False),
    (S.TO_OFFSET, 91, INSIDE, 90, True),
    (S.TO_OFFSET, 9, INSIDE, 10, True),
    (S.TO_OFFSET, 40, HOLLOW, 30, True),
    (S.TO_OFFSET, 20, HOLLOW, 30, True),
    (S.SHIFT_BY, 5, INSIDE, 55, False),
    (S.SHIFT_BY, -5, INSIDE, 45, False),
    (S.SHIFT_BY, 0, INSIDE, 50, False),
    (S.SHIFT_BY, 41, INSIDE, 90, True),
    (S.SHIFT_BY, -41, INSIDE, 10, True),
    (S.SHIFT_BY, 0, AHEAD, 90, True),
    (S.SHIFT_BY, -40, AHEAD, 80, False),
    (S.SHIFT_BY, 0, BEHIND, 10, True),
    (S.TO_DATETIME, 7, INSIDE, 40, False),
    (S.TO_DATETIME, 7, PartitionOffsets(50, 0, 90, 0), 0, False),
    (S.TO_DATETIME, 7, AHEAD, 90, True),
    (S.TO_DATETIME, 7, HOLLOW, 30, True),
    (S.BY_DURATION, 7, INSIDE, 40, False),
    (S.BY_DURATION, 7, AHEAD, 90, True),
    (S.FROM_FILE, 60, INSIDE, 60, False),
    (S.FROM_FILE, 95, INSIDE, 90, True),
    (S.FROM_FILE, 3, INSIDE, 10, True),
]


@pytest.mark.parametrize(
    ("strategy", "value", "known", "offset", "warns"),
    TABLE,
    ids=[f"{row[0].value}-{i}" for i, row in enumerate(TABLE)],
)
def test_new_offsets(
    strategy: Strategy, value: int, known: PartitionOffsets, offset: int, warns: bool, snapshot: SnapshotAssertion
) -> None:
    reset = new_offset(strategy, P, value, known)
    assert (reset.offset, bool(reset.warning)) == (offset, warns)
    if warns:
        assert reset.warning == snapshot


def test_every_strategy_is_in_the_table() -> None:
    assert [each for each in Strategy if not any(row[0] is each for row in TABLE)] == []


def test_shift_by_needs_a_committed_offset(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ResetError) as caught:
        new_offset(Strategy.SHIFT_BY, P, 1, NOTHING)
    assert str(caught.value) == snapshot


def test_only_groups_without_members_are_reset(snapshot: SnapshotAssertion) -> None:
    assert (refusal("g", "Empty"), refusal("g", "Dead")) == ("", "")
    busy = ("Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
    refusals = {state: refusal("g", state) for state in busy}
    assert all(state in text for state, text in refusals.items())
    assert refusals == snapshot
