"""The coordinator's assignors before 4.0: worked examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.assignors.assignors import server_assignors
from cluster_model.assignors.base import AssignmentError, MemberSubscription, ServerAssignorRules, Topics
from cluster_model.coordinators.group.consumer_protocol.consumer_group import assignor_rules
from cluster_model.protocol.versions import Profile
from tests.cluster_model.assignors.groups import after, clusters, different, is_valid, member, same, shown

LINES = ("3.7", "3.8", "3.9")
BOTH = "t1 t2"
UNEVEN = ({"t": 5}, [member("A", "t", "t-0 t-1 t-2 t-3"), member("B", "t"), member("C", "t")])
EXCHANGE = (
    {"t1": 3, "t2": 3},
    [member("A", "t1"), member("B", "t1"), member("C", BOTH, "t2-1"), member("D", BOTH, "t1-0 t1-1 t1-2 t2-0 t2-2")],
)
"""A partition of t1 would have to move from B back to D."""


def assigned(kafka: str, name: str, members: list[MemberSubscription], sizes: dict[str, int]) -> dict[str, str]:
    rules = assignor_rules(Profile.of(kafka, "kraft"))
    return shown(server_assignors(rules)[name].assign(members, Topics(sizes)))


def test_rules_change_release_by_release() -> None:
    found = {kafka: assignor_rules(Profile.of(kafka, "kraft")) for kafka in (*LINES, "4.0")}
    assert found["3.7"] == ServerAssignorRules(False, False, False, False)
    assert found["3.8"] == found["3.7"]._replace(uniform_by_member=True)
    assert found["3.9"] == found["3.8"]._replace(contiguous_ranges=True)
    assert found["4.0"] == ServerAssignorRules()


def test_equal_subscriptions_are_filled_in_turns_in_3_7_and_one_after_another_later() -> None:
    members = [member("A", BOTH), member("B", BOTH)]
    sizes = {"t1": 3, "t2": 2}
    assert assigned("3.7", "uniform", members, sizes) == {"A": "t1-0 t1-2 t2-1", "B": "t1-1 t2-0"}
    assert assigned("3.8", "uniform", members, sizes) == {"A": "t1-0 t1-1 t1-2", "B": "t2-0 t2-1"}


def test_3_7_keeps_one_extra_partition_for_the_first_that_has_more() -> None:
    sizes, members = UNEVEN
    assert assigned("3.7", "uniform", members, sizes) == {"A": "t-0 t-1", "B": "t-2 t-4", "C": "t-3"}


@pytest.mark.parametrize(("kafka", "first"), [("3.7", "t-3 t-4"), ("3.8", "t-3 t-4"), ("3.9", "t-0 t-1 t-2")])
def test_members_keep_partitions_of_a_range_until_3_8(kafka: str, first: str) -> None:
    found = assigned(kafka, "range", [member("A", "t", "t-3 t-4"), member("B", "t", "t-0 t-1 t-2")], {"t": 5})
    rest = " ".join(f"t-{number}" for number in range(5) if str(number) not in first)
    assert found == {"A": first, "B": rest}


def test_partitions_move_one_by_one_with_different_subscriptions() -> None:
    members = [
        member("A", "t1", "t1-0"),
        member("B", BOTH, "t2-0 t2-2 t2-4 t2-6"),
        member("C", BOTH),
        member("D", "t1"),
    ]
    sizes = {"t1": 2, "t2": 5}
    found = {kafka: assigned(kafka, "uniform", members, sizes) for kafka in (*LINES, "4.0")}
    assert found["3.7"] == found["3.8"] == found["3.9"]
    assert found["3.9"] == {"A": "t1-0", "B": "t2-0 t2-2 t2-4", "C": "t2-1 t2-3", "D": "t1-1"}


def test_the_result_need_not_be_even() -> None:
    members = [
        member("A", "t1 t2 t3", "t1-1 t2-2 t2-3 t3-0 t3-1"), member("B", "t1"), member("C", "t1 t2 t3"),
        member("D", "t1 t2 t3", "t1-0 t2-0 t2-1"),
    ]  # fmt: skip
    sizes = {"t1": 2, "t2": 4, "t3": 2}
    assert assigned("3.9", "uniform", members, sizes) == {
        "A": "t3-0 t3-1", "B": "t1-0 t1-1", "C": "t2-0 t2-2 t2-3", "D": "t2-1",
    }  # fmt: skip


@pytest.mark.parametrize("kafka", LINES)
def test_a_move_back_fails(kafka: str) -> None:
    sizes, members = EXCHANGE
    with pytest.raises(AssignmentError):
        assigned(kafka, "uniform", members, sizes)
    assert assigned("4.0", "uniform", members, sizes)["A"] == "t1-2"


@pytest.mark.slow
@given(st.sampled_from(LINES), st.sampled_from(["uniform", "range"]), st.one_of(same(), different()), clusters())
def test_the_result_is_valid_and_stays(
    kafka: str, name: str, members: list[MemberSubscription], topics: Topics
) -> None:
    assignor = server_assignors(assignor_rules(Profile.of(kafka, "kraft")))[name]
    first = assignor.assign(members, topics)
    assert is_valid(members, topics, first)
    again = assignor.assign(after(members[::-1], first, 1), topics)
    assert {name: again[name] for name in first} == first
