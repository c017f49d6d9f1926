"""The coordinator's own assignors, worked examples with the results of Kafka's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.assignors.assignors import (
    HeterogeneousAssignment,
    MemberAssignmentBalancer,
    UniformAssignor,
    server_assignors,
)
from cluster_model.assignors.base import NEWEST_SERVER_RULES, MemberSubscription, Topics
from tests.cluster_model.assignors.groups import (
    after,
    clusters,
    different,
    is_even,
    is_valid,
    member,
    parts,
    same,
    shown,
)

UNIFORM = UniformAssignor()
BOTH = "t1 t2"

CASES = {
    # All subscribe to the same.
    "fresh": (
        {"t1": 3, "t2": 2},
        [member("A", BOTH), member("B", BOTH)],
        {"A": "t1-0 t1-1", "B": "t1-2 t2-0 t2-1"},
    ),
    "fewer partitions than members": (
        {"t": 2},
        [member("A", "t"), member("B", "t"), member("C", "t")],
        {"A": "", "B": "t-0", "C": "t-1"},
    ),
    "not even before": (
        {"t1": 3, "t2": 3},
        [member("A", BOTH, "t1-0 t1-1 t2-0 t2-1"), member("B", BOTH, "t1-2 t2-2")],
        {"A": "t1-0 t1-1 t2-0", "B": "t1-2 t2-1 t2-2"},
    ),
    "more partitions than before": (
        {"t1": 6, "t2": 5},
        [member("A", BOTH, "t1-0 t1-2 t2-0"), member("B", BOTH, "t1-1 t2-1 t2-2")],
        {"A": "t1-0 t1-2 t1-3 t1-4 t2-0", "B": "t1-1 t1-5 t2-1 t2-2 t2-3 t2-4"},
    ),
    "one joins": (
        {"t1": 3, "t2": 3},
        [member("A", BOTH, "t1-0 t1-2 t2-0"), member("B", BOTH, "t1-1 t2-1 t2-2"), member("C", BOTH)],
        {"A": "t1-0 t1-2", "B": "t1-1 t2-1", "C": "t2-0 t2-2"},
    ),
    "nobody's go before what is over": (
        {"t": 5},
        [member("A", "t", "t-0 t-1 t-2"), member("B", "t"), member("C", "t")],
        {"A": "t-0 t-1", "B": "t-3", "C": "t-2 t-4"},
    ),
    "the second has one more": (
        {"t": 5},
        [member("A", "t", "t-0 t-1"), member("B", "t", "t-2 t-3 t-4")],
        {"A": "t-0 t-1", "B": "t-2 t-3 t-4"},
    ),
    "one left": (
        {"t1": 3, "t2": 3},
        [member("A", BOTH, "t1-0 t2-0"), member("B", BOTH, "t1-1 t2-1")],
        {"A": "t1-0 t1-2 t2-0", "B": "t1-1 t2-1 t2-2"},
    ),
    "a topic is dropped": (
        {"t1": 2, "t2": 2},
        [member("A", "t2", "t1-0 t2-0"), member("B", "t2", "t1-1 t2-1")],
        {"A": "t2-0", "B": "t2-1"},
    ),
    # Subscriptions differ.
    "fresh, one wants more": (
        {"t1": 3, "t3": 6},
        [member("A", "t1 t3"), member("B", "t3")],
        {"A": "t1-0 t1-1 t1-2 t3-4", "B": "t3-0 t3-1 t3-2 t3-3 t3-5"},
    ),
    "more subscribers than partitions": (
        {"t1": 2, "t3": 1},
        [member("A", "t3"), member("B", "t3"), member("C", "t1")],
        {"A": "t3-0", "B": "", "C": "t1-0 t1-1"},
    ),
    "not even before, subscriptions differ": (
        {"t1": 6, "t2": 4, "t3": 4},
        [
            member("A", "t1", "t1-0 t1-1 t1-2"),
            member("B", "t1 t2", "t1-3 t2-0"),
            member("C", "t1 t2 t3", "t1-4 t1-5 t2-1 t2-2 t2-3 t3-0 t3-1 t3-2 t3-3"),
        ],
        {"A": "t1-0 t1-1 t1-2 t1-5", "B": "t1-3 t2-0 t2-1 t2-2 t2-3", "C": "t1-4 t3-0 t3-1 t3-2 t3-3"},
    ),
    "more partitions, subscriptions differ": (
        {"t1": 6, "t2": 5, "t3": 3, "t4": 3},
        [
            member("A", "t1 t3", "t1-0 t1-1 t1-2 t1-3 t3-0 t3-1"),
            member("B", "t1 t2 t3 t4", "t2-0 t2-1 t2-2 t4-0 t4-1 t4-2"),
        ],
        {
            "A": "t1-0 t1-1 t1-2 t1-3 t1-4 t1-5 t3-0 t3-1 t3-2",
            "B": "t2-0 t2-1 t2-2 t2-3 t2-4 t4-0 t4-1 t4-2",
        },
    ),
    "one joins, and more partitions": (
        {"t1": 6, "t2": 7},
        [
            member("A", "t1", "t1-0 t1-2 t2-0"),
            member("B", BOTH, "t1-1 t2-1 t2-2"),
            member("C", BOTH),
        ],
        {"A": "t1-0 t1-2 t1-3 t1-4 t1-5", "B": "t1-1 t2-1 t2-2 t2-6", "C": "t2-0 t2-3 t2-4 t2-5"},
    ),
    "one left, subscriptions differ": (
        {"t1": 3, "t2": 8, "t3": 3},
        [member("A", "t1 t3", "t1-0 t1-1 t1-2 t3-0 t3-1"), member("B", "t2", "t2-3 t2-4 t2-5 t2-6")],
        {"A": "t1-0 t1-1 t1-2 t3-0 t3-1 t3-2", "B": "t2-0 t2-1 t2-2 t2-3 t2-4 t2-5 t2-6 t2-7"},
    ),
    "one drops a topic": (
        {"t1": 3, "t2": 5},
        [member("A", "t1", "t1-0 t1-2 t2-1 t2-3"), member("B", BOTH, "t1-1 t2-0 t2-2 t2-4")],
        {"A": "t1-0 t1-1 t1-2", "B": "t2-0 t2-1 t2-2 t2-3 t2-4"},
    ),
    "one wants nothing": (
        {"t1": 3},
        [member("A", "t1"), member("B", "")],
        {"A": "t1-0 t1-1 t1-2", "B": ""},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_worked_examples(case: str) -> None:
    sizes, members, shares = CASES[case]
    assert shown(UNIFORM.assign(members, Topics(sizes))) == shares


def test_up_to_3_9_the_first_members_get_the_surplus() -> None:
    """KAFKA-18688."""
    sizes, members, _shares = CASES["the second has one more"]
    before = UniformAssignor(NEWEST_SERVER_RULES._replace(keeps_extra_partition=False)).assign(members, Topics(sizes))
    assert shown(before) == {"A": "t-0 t-1 t-4", "B": "t-2 t-3"}


def test_the_way_for_different_subscriptions_levels_equal_ones_too() -> None:
    wants = "t1 t2 t3"
    members = [member("A", wants, "t1-0 t1-1 t2-0 t2-1 t3-0 t3-1"), member("B", wants)]
    shares = HeterogeneousAssignment(members, Topics({"t1": 2, "t2": 2, "t3": 2})).shares()
    assert {name: sorted(share) for name, share in shares.items()} == {
        "A": sorted(parts("t2-0 t3-0 t3-1")), "B": sorted(parts("t1-0 t1-1 t2-1")),
    }  # fmt: skip


def test_range_on_the_coordinator_is_the_consumers_without_racks() -> None:
    members = [member("A", "t1 t3"), member("B", "t3"), member("C", "t1 t3", instance="i")]
    found = shown(server_assignors(NEWEST_SERVER_RULES)["range"].assign(members, Topics({"t1": 3, "t3": 5})))
    assert {name: share.split() for name, share in found.items()} == {
        "A": ["t1-2", "t3-2", "t3-3"], "B": ["t3-4"], "C": ["t1-0", "t1-1", "t3-0", "t3-1"],
    }  # fmt: skip


def test_a_group_without_members_has_no_assignment() -> None:
    assert UNIFORM.assign([], Topics({"t": 3})) == {}
    assert UNIFORM.assign([member("A", "ghost")], Topics({"t": 3})) == {"A": ()}


def test_levels_fill_from_below_and_empty_from_above() -> None:
    sizes = [0, 0, 2, 5, 3]
    levels = MemberAssignmentBalancer(sizes, range(5))
    assert levels.difference == 5
    got = []
    for _partition in range(5):
        place = levels.least()
        sizes[place] += 1
        got.append(place)
    assert got == [0, 1, 0, 1, 0]
    sizes[:] = [0, 0, 2, 5, 3]
    levels = MemberAssignmentBalancer(sizes, range(5))
    expired = []
    for _partition in range(4):
        place = levels.next_giver()
        assert place is not None
        sizes[place] -= 1
        expired.append(place)
    assert expired == [3, 3, 3, 4]


def test_levels_pass_over_those_that_have_nothing_to_give() -> None:
    levels = MemberAssignmentBalancer([1, 2, 4, 4], range(4))
    assert levels.next_giver() == 3
    levels.leave_out()
    assert levels.next_giver() == 2
    levels.leave_out()
    assert levels.next_giver() == 1
    levels.leave_out()
    assert levels.next_giver() == 0
    levels.leave_out()
    assert levels.next_giver() is None


@st.composite
def with_targets(
    draw: st.DrawFn, groups: st.SearchStrategy[list[MemberSubscription]]
) -> tuple[list[MemberSubscription], Topics]:
    """A group whose targets are whatever an older one had: uneven, or of topics that are no longer wanted."""
    topics = draw(clusters())
    members = draw(groups)
    free = [partition for topic in topics.sizes for partition in topics.partitions(topic)]
    owned: dict[str, list[str]] = {each.id: [] for each in members}
    for partition in free:
        owner = draw(st.sampled_from([None, *owned]))
        if owner is not None:
            owned[owner].append(str(partition))
    return [each._replace(owned=parts(" ".join(owned[each.id]))) for each in members], topics


@pytest.mark.slow
@given(st.one_of(with_targets(same()), with_targets(different())))
def test_the_result_is_valid_and_does_not_depend_on_order(group: tuple[list[MemberSubscription], Topics]) -> None:
    members, topics = group
    assignment = UNIFORM.assign(members, topics)
    assert is_valid(members, topics, assignment)
    again = UNIFORM.assign(members[::-1], topics)
    assert {name: again[name] for name in assignment} == assignment


@pytest.mark.slow
@given(with_targets(same()))
def test_with_one_subscription_it_is_even_and_members_keep_what_they_can(
    group: tuple[list[MemberSubscription], Topics],
) -> None:
    members, topics = group
    assignment = UNIFORM.assign(members, topics)
    sizes = [len(assignment[each.id]) for each in sorted(members)]
    assert max(sizes) - min(sizes) <= 1
    for each in members:
        wanted = [partition for partition in each.owned if partition.topic in each.topics]
        assert len(set(wanted) & set(assignment[each.id])) == min(len(wanted), len(assignment[each.id]))


@pytest.mark.slow
@given(with_targets(different()))
def test_with_different_subscriptions_it_is_even(group: tuple[list[MemberSubscription], Topics]) -> None:
    members, topics = group
    assert is_even(members, UNIFORM.assign(members, topics))


@pytest.mark.slow
@given(st.one_of(same(), different()), clusters())
def test_nothing_changes_when_nothing_changed(members: list[MemberSubscription], topics: Topics) -> None:
    first = UNIFORM.assign(members, topics)
    assert UNIFORM.assign(after(members, first, 1), topics) == first


@pytest.mark.slow
@given(different(), clusters())
def test_racks_do_not_matter(members: list[MemberSubscription], topics: Topics) -> None:
    assert UNIFORM.assign(members, topics) == UNIFORM.assign(members, Topics(topics.sizes))


def test_a_group_of_hundreds_is_assigned_in_one_go() -> None:
    topics = Topics({f"t{number}": 20 for number in range(20)})
    names = [f"t{number}" for number in range(20)]
    members = [member(f"m{place:03}", " ".join(names[place % 4 : 12 + place % 9])) for place in range(300)]
    assignment = UNIFORM.assign(members, topics)
    assert is_valid(members, topics, assignment)
    again = UNIFORM.assign(after(members, assignment, 1)[:250], topics)
    assert is_valid(members[:250], topics, again)
