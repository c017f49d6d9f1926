"""Every strategy of ``--reset-offsets`` as a table, and the tool's words."""

import pytest

from cluster_model.coordinators.group.consumer_groups_tool import (
    Known,
    Reset,
    ResetError,
    Strategy,
    new_offset,
    refusal,
)

P = "orders-1"
NOTHING = Known(start=10, end=90)
BEHIND = Known(5, 10, 90, 40)
"""What is committed has been deleted."""
INSIDE = Known(50, 10, 90, 40)
AHEAD = Known(120, 10, 90, -1)
"""What is committed was truncated, and all records are older than what is asked for."""
HOLLOW = Known(7, 30, 30, -1)
"""A log without records."""

HIGH = "New offset ({}) is higher than latest offset for topic partition orders-1. Value will be set to {}"
LOW = "New offset ({}) is lower than earliest offset for topic partition orders-1. Value will be set to {}"
NO_TIME = "Warn: Partition 1 from topic orders is empty. Falling back to latest known offset."

S = Strategy
TABLE: list[tuple[Strategy, int, Known, Reset]] = [
    (S.TO_EARLIEST, 0, INSIDE, Reset(10)),
    (S.TO_EARLIEST, 0, HOLLOW, Reset(30)),
    (S.TO_LATEST, 0, INSIDE, Reset(90)),
    (S.TO_LATEST, 0, HOLLOW, Reset(30)),
    (S.TO_CURRENT, 0, INSIDE, Reset(50)),
    (S.TO_CURRENT, 0, NOTHING, Reset(90)),
    (S.TO_CURRENT, 0, BEHIND, Reset(5)),  # Kept as it is, though there is no such record.
    (S.TO_CURRENT, 0, AHEAD, Reset(120)),
    (S.TO_CURRENT, 0, Known(0, 10, 90), Reset(0)),
    (S.TO_OFFSET, 40, INSIDE, Reset(40)),
    (S.TO_OFFSET, 10, INSIDE, Reset(10)),
    (S.TO_OFFSET, 90, INSIDE, Reset(90)),
    (S.TO_OFFSET, 91, INSIDE, Reset(90, HIGH.format(91, 90))),
    (S.TO_OFFSET, 9, INSIDE, Reset(10, LOW.format(9, 10))),
    (S.TO_OFFSET, 40, HOLLOW, Reset(30, HIGH.format(40, 30))),
    (S.TO_OFFSET, 20, HOLLOW, Reset(30, LOW.format(20, 30))),
    (S.SHIFT_BY, 5, INSIDE, Reset(55)),
    (S.SHIFT_BY, -5, INSIDE, Reset(45)),
    (S.SHIFT_BY, 0, INSIDE, Reset(50)),
    (S.SHIFT_BY, 41, INSIDE, Reset(90, HIGH.format(91, 90))),
    (S.SHIFT_BY, -41, INSIDE, Reset(10, LOW.format(9, 10))),
    (S.SHIFT_BY, 0, AHEAD, Reset(90, HIGH.format(120, 90))),
    (S.SHIFT_BY, -40, AHEAD, Reset(80)),
    (S.SHIFT_BY, 0, BEHIND, Reset(10, LOW.format(5, 10))),
    (S.TO_DATETIME, 7, INSIDE, Reset(40)),
    (S.TO_DATETIME, 7, Known(50, 0, 90, 0), Reset(0)),
    (S.TO_DATETIME, 7, AHEAD, Reset(90, NO_TIME)),
    (S.TO_DATETIME, 7, HOLLOW, Reset(30, NO_TIME)),
    (S.BY_DURATION, 7, INSIDE, Reset(40)),
    (S.BY_DURATION, 7, AHEAD, Reset(90, NO_TIME)),
    (S.FROM_FILE, 60, INSIDE, Reset(60)),
    (S.FROM_FILE, 95, INSIDE, Reset(90, HIGH.format(95, 90))),
    (S.FROM_FILE, 3, INSIDE, Reset(10, LOW.format(3, 10))),
]


@pytest.mark.parametrize(
    ("strategy", "value", "known", "reset"), TABLE, ids=[f"{row[0].value}-{i}" for i, row in enumerate(TABLE)]
)
def test_new_offsets(strategy: Strategy, value: int, known: Known, reset: Reset) -> None:
    assert new_offset(strategy, P, value, known) == reset


def test_every_strategy_is_in_the_table() -> None:
    assert [each for each in Strategy if not any(row[0] is each for row in TABLE)] == []


def test_what_was_never_committed_cannot_be_shifted() -> None:
    with pytest.raises(ResetError, match="Cannot shift offset for partition orders-1 since there is no current"):
        new_offset(Strategy.SHIFT_BY, P, 1, NOTHING)


def test_only_groups_without_members_are_reset() -> None:
    assert (refusal("g", "Empty"), refusal("g", "Dead")) == ("", "")
    for state in ("Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"):
        assert refusal("g", state) == (
            f"Assignments can only be reset if the group 'g' is inactive, but the current state is {state}."
        )
