"""Tables of the tool: columns, order of rows, missing and negative values."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.coordinators.group.consumer_groups_tool import (
    aligned,
    list_table,
    member_table,
    offset_table,
    partitions_of,
    state_table,
    warning,
)
from cluster_model.protocol.group_messages import Assignment, DescribedGroup, DescribedMember, ListedGroup


def member(name: str, *partitions: str, instance: str = "") -> DescribedMember:
    return DescribedMember(f"{name}-id", instance, name, 3_000, None, Assignment(partitions))


def named(node: int) -> str:
    return f"host-{node}"


STABLE = DescribedGroup(
    "g", 0, "Stable", "consumer", "range",
    (member("a", "t-2"), member("b"), member("c", "t-10", "u-0", "t-9"), member("d", "u-1")),
)  # fmt: skip


def test_members_with_most_come_first_and_what_nobody_has_last(snapshot: SnapshotAssertion) -> None:
    committed = {"t-2": 5, "t-9": 12, "x-1": 3, "x-0": 0, "u-0": -1}
    ends = {"t-2": 7, "t-9": 10, "t-10": 4, "u-0": 8, "x-1": 3, "u-1": 6}
    lines = aligned(offset_table(STABLE, committed, ends, named))
    assert lines == snapshot
    assert partitions_of(STABLE, committed) == ["u-0", "t-9", "t-10", "t-2", "u-1", "x-0", "x-1"]


def test_members_and_static_ones(snapshot: SnapshotAssertion) -> None:
    assert aligned(member_table(STABLE, named, verbose=True)) == snapshot
    static = STABLE._replace(members=(member("a", "t-0", instance="i"), member("b")))
    assert aligned(member_table(static, named, verbose=False)) == snapshot


def test_state(snapshot: SnapshotAssertion) -> None:
    assert aligned(state_table(STABLE, 2, named)) == snapshot
    empty = DescribedGroup("g", 0, "Empty")
    assert state_table(empty, -1, named)[1] == ("g", "-", "-", "Empty", "0")


def test_groups_are_listed_by_name() -> None:
    listed = [ListedGroup("b", "consumer", "Stable"), ListedGroup("a", "", "Empty")]
    assert aligned(list_table(listed)) == ["GROUP  STATE", "a      Empty", "b      Stable"]


@pytest.mark.parametrize(
    "state", ["Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Dead"]
)
def test_warnings_of_the_groups_tool_by_state(state: str, snapshot: SnapshotAssertion) -> None:
    words = warning(DescribedGroup("g", 0, state))
    assert bool(words) == (state != "Stable")
    assert words == snapshot
