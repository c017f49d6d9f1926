"""Sticky and cooperative-sticky: worked examples, with the results of Kafka's own assignors where those have one."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.assignors.base import Assignment, AssignmentError, Assignor, MemberSubscription, Topics
from cluster_model.assignors.sticky import CooperativeStickyAssignor, PartitionMovements, StickyAssignor
from cluster_model.clients.consumer.config import rules_of
from cluster_model.protocol.versions import ClientProfile
from tests.cluster_model.assignors.groups import (
    TOPICS,
    after,
    as_written,
    clusters,
    different,
    is_even,
    is_valid,
    member,
    mismatched,
    parts,
    same,
    shown,
    spread,
)

STICKY, COOPERATIVE = StickyAssignor(), CooperativeStickyAssignor()
BOTH = [STICKY, COOPERATIVE]
TWO = Topics({"t0": 3, "t1": 3})


def settled(members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
    """What cooperative members have after as many rebalances as they ask for.

    A second one hands out what the first one held back. Where racks take partitions away, and evenness gives them
    back, it can take some more.
    """
    current = list(members)
    for generation in range(2, 12 if topics.racks else 5):
        assignment = COOPERATIVE.assign(current, topics)
        if all(set(each.owned) <= set(assignment[each.id]) for each in current):
            return assignment
        current = after(current, assignment, generation)
    raise AssertionError("the group does not come to rest")


# All members subscribe to the same.


@pytest.mark.parametrize("assignor", BOTH)
def test_a_fresh_group_gets_partitions_in_turn(assignor: Assignor) -> None:
    members = [member(f"C{number}", "t0 t1") for number in range(3)]
    assert shown(assignor.assign(members, TWO)) == {f"C{number}": f"t0-{number} t1-{number}" for number in range(3)}


@pytest.mark.parametrize("assignor", BOTH)
def test_when_one_leaves_the_others_keep_theirs_and_share_what_it_had(assignor: Assignor) -> None:
    members = [member("C0", "t0 t1", "t0-0 t1-0", 1), member("C1", "t0 t1", "t0-1 t1-1", 1)]
    assert shown(assignor.assign(members, TWO)) == {"C0": "t0-0 t0-2 t1-0", "C1": "t0-1 t1-1 t1-2"}


JOINED = [
    member("C0", "t0 t1", "t0-0 t0-2 t1-0", 2), member("C1", "t0 t1", "t0-1 t1-1 t1-2", 2), member("C3", "t0 t1"),
]  # fmt: skip


def test_one_that_joins_gets_what_the_others_have_too_much() -> None:
    assert shown(STICKY.assign(JOINED, TWO)) == {"C0": "t0-0 t1-0", "C1": "t0-1 t1-1", "C3": "t0-2 t1-2"}


def test_cooperative_members_give_up_first_and_the_newcomer_gets_next_time() -> None:
    first = COOPERATIVE.assign(JOINED, TWO)
    assert shown(first) == {"C0": "t0-0 t1-0", "C1": "t0-1 t1-1", "C3": ""}
    second = COOPERATIVE.assign(after(JOINED, first, 3), TWO)
    assert shown(second) == {"C0": "t0-0 t1-0", "C1": "t0-1 t1-1", "C3": "t0-2 t1-2"}


SIX = Topics({"topic": 3, "topic2": 3})
NINE = Topics({"topic": 3, "topic2": 3, "topic3": 3})
TWELVE = Topics({"topic": 3, "topic1": 3, "topic2": 3, "topic3": 3})
T12, T123, T0123 = "topic topic2", "topic topic2 topic3", "topic topic1 topic2 topic3"

CASES = {
    "one has the least and gets one more": (
        Topics({"topic1": 2, "topic2": 3}),
        [
            member("consumer1", "topic1 topic2", "topic1-0 topic2-1", 1),
            member("consumer2", "topic1 topic2", "topic1-1 topic2-2", 1),
        ],
        {"consumer1": "topic1-0 topic2-0 topic2-1", "consumer2": "topic1-1 topic2-2"},
    ),
    # Which of the two keeps two is open; here the first by id.
    "more have one extra than there are extras": (
        Topics({"topic1": 2, "topic2": 2}),
        [
            member("consumer1", "topic1 topic2", "topic1-0 topic2-0", 1),
            member("consumer2", "topic1 topic2", "topic1-1 topic2-1", 1),
            member("consumer3", "topic1 topic2", "", 1),
        ],
        {"consumer1": "topic1-0 topic2-0", "consumer2": "topic1-1", "consumer3": "topic2-1"},
    ),
    "all have too few": (
        Topics({"topic1": 2, "topic2": 3}),
        [
            member("consumer1", "topic1 topic2", "topic1-0", 1),
            member("consumer2", "topic1 topic2", "topic1-1", 1),
            member("consumer3", "topic1 topic2", "", 1),
        ],
        {"consumer1": "topic1-0 topic2-1", "consumer2": "topic1-1 topic2-2", "consumer3": "topic2-0"},
    ),
    "one is added to one": (
        Topics({"topic": 3}),
        [member("consumer1", "topic", "topic-0 topic-1 topic-2", 1), member("consumer2", "topic", "", 1)],
        {"consumer1": "topic-0 topic-1", "consumer2": "topic-2"},
    ),
    "two are added to two": (
        Topics({"topic1": 3, "topic2": 4}),
        [
            member("consumer1", "topic1 topic2", "topic1-0 topic1-2 topic2-1 topic2-3", 1),
            member("consumer2", "topic1 topic2", "topic1-1 topic2-0 topic2-2", 1),
            member("consumer3", "topic1 topic2", "", 1),
            member("consumer4", "topic1 topic2", "", 1),
        ],
        {
            "consumer1": "topic1-0 topic2-1", "consumer2": "topic1-1 topic2-0", "consumer3": "topic1-2 topic2-3",
            "consumer4": "topic2-2",
        },
    ),
    "two of four leave": (
        Topics({"topic1": 3, "topic2": 4}),
        [
            member("consumer3", "topic1 topic2", "topic1-2 topic2-3", 1),
            member("consumer4", "topic1 topic2", "topic2-2", 1),
        ],
        {"consumer3": "topic1-0 topic1-2 topic2-1 topic2-3", "consumer4": "topic1-1 topic2-0 topic2-2"},
    ),
    "the extra stays where it is": (
        Topics({"topic": 4}),
        [
            member("consumer1", "topic", "topic-0 topic-1", 1), member("consumer2", "topic", "topic-2", 1),
            member("consumer3", "topic", "", 1),
        ],
        {"consumer1": "topic-0 topic-1", "consumer2": "topic-2", "consumer3": "topic-3"},
    ),
    "what an older generation claims it loses to a newer one": (
        SIX,
        [
            member("consumer1", T12, "topic-0 topic-2 topic2-1", 10),
            member("consumer2", T12, "topic-0 topic-2 topic2-1", 9),
        ],
        {"consumer1": "topic-0 topic-2 topic2-1", "consumer2": "topic-1 topic2-0 topic2-2"},
    ),
    "what it claims without a generation it loses": (
        SIX,
        [
            member("consumer1", T12, "topic-0 topic-2 topic2-1", 10),
            member("consumer2", T12, "topic-0 topic-2 topic2-1"),
        ],
        {"consumer1": "topic-0 topic-2 topic2-1", "consumer2": "topic-1 topic2-0 topic2-2"},
    ),
    "an older generation keeps what nobody else claims": (
        SIX,
        [
            member("consumer1", T12, "topic-0 topic2-1 topic-1", 10),
            member("consumer2", T12, "topic-0 topic2-1 topic2-2", 8),
        ],
        {"consumer1": "topic-0 topic-1 topic2-1", "consumer2": "topic-2 topic2-0 topic2-2"},
    ),
    "three generations": (
        NINE,
        [
            member("consumer1", T123, "topic-0 topic2-0 topic3-0", 10),
            member("consumer2", T123, "topic-1 topic2-1 topic3-1", 9),
            member("consumer3", T123, "topic2-1 topic3-0 topic3-2", 8),
        ],
        {
            "consumer1": "topic-0 topic2-0 topic3-0", "consumer2": "topic-1 topic2-1 topic3-1",
            "consumer3": "topic-2 topic2-2 topic3-2",
        },
    ),
    "four generations, nothing disputed": (
        TWELVE,
        [
            member("consumer1", T0123),
            member("consumer2", T0123, "topic-0 topic2-0 topic1-0", 9),
            member("consumer3", T0123, "topic3-2 topic2-2 topic1-1", 8),
            member("consumer4", T0123, "topic3-1 topic-1 topic-2", 7),
        ],
        {
            "consumer1": "topic1-2 topic2-1 topic3-0", "consumer2": "topic-0 topic1-0 topic2-0",
            "consumer3": "topic1-1 topic2-2 topic3-2", "consumer4": "topic-1 topic-2 topic3-1",
        },
    ),
    "claimed by two of one generation": (
        Topics({"topic": 3}),
        [
            member("consumer1", "topic", "topic-0 topic-1", 1), member("consumer2", "topic", "topic-0 topic-2", 1),
            member("consumer3", "topic", "", 1),
        ],
        {"consumer1": "topic-1", "consumer2": "topic-2", "consumer3": "topic-0"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_worked_examples(case: str) -> None:
    topics, members, shares = CASES[case]
    assert shown(STICKY.assign(members, topics)) == shares


@pytest.mark.parametrize(
    ("case", "held"),
    [
        ("one has the least and gets one more", {}),
        ("more have one extra than there are extras", {"consumer3": "topic2-1"}),
        ("all have too few", {}),
        ("one is added to one", {"consumer2": "topic-2"}),
        ("two are added to two", {"consumer3": "topic1-2 topic2-3", "consumer4": "topic2-2"}),
        ("two of four leave", {}),
        ("what an older generation claims it loses to a newer one", {}),
        ("three generations", {}),
        ("four generations, nothing disputed", {}),
        ("claimed by two of one generation", {"consumer3": "topic-0"}),
    ],
)
def test_cooperative_holds_back_what_another_one_has_or_two_claim(case: str, held: dict[str, str]) -> None:
    topics, members, shares = CASES[case]
    first = shown(COOPERATIVE.assign(members, topics))
    assert {name: share for name, share in shares.items() if first[name] != share} == held
    assert all(first[name] == "" for name in held)
    assert shown(settled(members, topics)) == shares


def test_the_newest_of_three_claims_wins() -> None:
    members = [member("a", "t", "t-0", 1), member("b", "t", "t-0", 1), member("c", "t", "t-0", 2)]
    for order in (members, members[::-1]):
        assert shown(STICKY.assign(order, Topics({"t": 3})))["c"] == "t-0"


def test_partitions_of_deleted_topics_are_not_kept() -> None:
    members = [member("a", "t gone", "t-0 t-5 gone-0", 1), member("b", "t gone", "t-1", 1)]
    assert shown(STICKY.assign(members, Topics({"t": 3}))) == {"a": "t-0 t-2", "b": "t-1"}


# Members subscribe to different topics.


def test_those_with_few_subscribers_are_given_out_first() -> None:
    members = [member("consumer1", "topic1"), member("consumer2", "topic1 topic2"), member("consumer3", "topic1")]
    assert shown(STICKY.assign(members, Topics({"topic1": 3, "topic2": 2}))) == {
        "consumer1": "topic1-0 topic1-2", "consumer2": "topic2-0 topic2-1", "consumer3": "topic1-1",
    }  # fmt: skip


def test_a_change_of_subscription_takes_away() -> None:
    members = [member("a", "t1", "t0-0 t1-0", 1), member("b", "t0 t1", "t0-1 t1-1", 1)]
    topics = Topics({"t0": 2, "t1": 2})
    assert shown(STICKY.assign(members, topics)) == {"a": "t1-0 t1-1", "b": "t0-0 t0-1"}
    assert shown(COOPERATIVE.assign(members, topics)) == {"a": "t1-0", "b": "t0-1"}
    assert shown(settled(members, topics)) == {"a": "t1-0 t1-1", "b": "t0-0 t0-1"}


def test_a_partition_moves_on_to_let_another_one_move() -> None:
    members = [
        member("consumer1", "topic1 topic2", "topic1-0", 1),
        member("consumer2", "topic1 topic2 topic3 topic4", "topic2-0 topic3-0", 1),
        member("consumer3", "topic2 topic3 topic4 topic5 topic6", "topic4-0 topic5-0 topic6-0", 1),
    ]
    topics = Topics({f"topic{number}": 1 for number in range(1, 7)})
    assignment = STICKY.assign(members, topics)
    assert is_valid(members, topics, assignment)
    assert is_even(members, assignment)


def test_a_partition_returns_to_its_owner_of_an_older_generation() -> None:
    topics = Topics({"t0": 6, "t1": 1, "t2": 1})
    members = [
        member("a", "t0", "t0-0 t0-1 t0-2 t0-3 t0-4 t0-5", 5),
        member("b", "t0 t1"),
        member("c", "t0 t2", "t0-0", 4),
    ]
    # b and c end up alike but for t0-0, the first that is moved: c had it before.
    assert "t0-0" in shown(STICKY.assign(members, topics))["c"]
    forgot = [*members[:2], members[2]._replace(owned=())]
    assert "t0-0" in shown(STICKY.assign(forgot, topics))["b"]


def test_partitions_that_were_free_move_before_those_that_were_owned() -> None:
    members = [member("a", "t1", "t1-1 t1-3", 1), member("b", "t0 t1", "t0-0", 1), member("c", "t0", "t0-1", 1)]
    # The free t0-2 and t1-2 make three for b, and c has one: c gets t0-2, though t0-0 comes first in the list.
    assert shown(STICKY.assign(members, Topics({"t0": 3, "t1": 4}))) == {
        "a": "t1-0 t1-1 t1-3", "b": "t0-0 t1-2", "c": "t0-1 t0-2",
    }  # fmt: skip


def test_where_a_subscription_took_something_away_all_partitions_move_alike() -> None:
    members = [
        member("a", "t0 t1 t2", "t0-1 t2-2", 1), member("b", "t1 t2", "t0-3 t1-0 t1-1 t2-0", 1),
        member("c", "t0", "t0-0", 1),
    ]  # fmt: skip
    # a ends up with four, two of them from t0: t0-1, its own, is the first that can go.
    assert shown(STICKY.assign(members, Topics({"t0": 4, "t1": 2, "t2": 3}))) == {
        "a": "t0-3 t2-1 t2-2", "b": "t1-0 t1-1 t2-0", "c": "t0-0 t0-1 t0-2",
    }  # fmt: skip


def test_an_earlier_move_is_undone_rather_than_a_second_one_made() -> None:
    members = [
        member("a", "t0 t1", "t0-3", 2), member("b", "t1", "", 2),
        member("c", "t0 t1", "t0-1 t0-4 t0-5 t1-0 t1-1", 3),
    ]  # fmt: skip
    # c gives t0-1 to a, loses t1 to b, and can then have one of t0 back: its own again, not t0-0.
    assert shown(STICKY.assign(members, Topics({"t0": 6, "t1": 2}))) == {
        "a": "t0-0 t0-2 t0-3", "b": "t1-0 t1-1", "c": "t0-1 t0-4 t0-5",
    }  # fmt: skip


def test_the_way_back_counts_from_the_first_owner() -> None:
    movements = PartitionMovements()
    first, second, third = parts("t-0 t-1 t-2")
    assert movements.better(first, "b", "c") == first
    movements.record_move(first, "a", "b")
    movements.record_move(second, "c", "a")
    assert movements.better(third, "b", "c") == third
    assert movements.better(third, "a", "c") == second
    # The first came from a: for it to go on from b to c is as if it went from a to c, and undoes the second's.
    assert movements.better(first, "b", "c") == second
    movements.record_move(second, "a", "c")
    assert movements.better(first, "b", "c") == first


def test_two_moves_of_one_partition_count_as_one() -> None:
    movements = PartitionMovements()
    first, second = parts("t-0 t-1")
    movements.record_move(first, "a", "b")
    movements.record_move(first, "b", "c")
    assert movements.better(second, "c", "a") == first
    assert movements.better(second, "b", "a") == second


def test_one_of_two_claims_is_kept_if_subscriptions_differ() -> None:
    members = [member("a", "t0", "t0-0", 1), member("b", "t0 t1", "t0-0 t1-0", 1)]
    topics = Topics({"t0": 1, "t1": 1})
    assert shown(COOPERATIVE.assign(members, topics)) == {"a": "t0-0", "b": "t1-0"}


def test_claims_are_settled_the_same_way() -> None:
    topics = Topics({"t0": 2, "t1": 2})
    members = [member("a", "t0", "t0-0", 3), member("b", "t0 t1", "t0-0 t1-0", 2), member("c", "t1", "t1-1", 3)]
    assert shown(STICKY.assign(members, topics)) == {"a": "t0-0 t0-1", "b": "t1-0", "c": "t1-1"}


# Racks (KIP-881).

ABC = ("a", "b", "c")
SMALL = {"t1": 6, "t2": 7, "t3": 2}
ALL, FEW = "t1 t2 t3", "t1 t3"
IN_TURN = ("t1-0 t1-3 t2-0 t2-3 t2-6", "t1-1 t1-4 t2-1 t2-4 t3-0", "t1-2 t1-5 t2-2 t2-5 t3-1")
MIXED = ("t1-5 t2-0 t2-2 t2-4 t2-6", "t1-3 t2-1 t2-3 t2-5 t3-0", "t1-0 t1-1 t1-2 t1-4 t3-1")
ASTRAY = ("t1-0 t1-1 t1-2 t1-3 t1-4", "t1-5 t2-0 t2-1 t2-2 t2-3", "t2-4 t2-5 t2-6 t3-0 t3-1")


def in_racks(third: str, racks: Sequence[str], owned: Sequence[str] = ("", "", "")) -> list[MemberSubscription]:
    subscriptions = (ALL, ALL, third)
    return [member(f"consumer{place}", subscriptions[place], owned[place], rack=racks[place]) for place in range(3)]


@pytest.mark.parametrize("assignor", BOTH)
@pytest.mark.parametrize(
    ("third", "replicas", "brokers", "racks", "shares", "apart"),
    [
        (ALL, 3, ("", "", ""), ABC, IN_TURN, 15),
        (ALL, 3, ABC, ("", "", ""), IN_TURN, 0),
        (ALL, 3, ABC, ABC, IN_TURN, 0),
        (ALL, 3, ABC, ("d", "e", "f"), IN_TURN, 15),
        (ALL, 1, ABC, ABC, IN_TURN, 0),
        (ALL, 2, ABC, ABC, IN_TURN, 0),
        (ALL, 3, ("a", "b"), ABC, IN_TURN, 5),
        (FEW, 3, ("", "", ""), ABC, MIXED, 15),
        (FEW, 3, ABC, ("", "", ""), MIXED, 0),
        (FEW, 3, ABC, ABC, MIXED, 0),
        (FEW, 4, ("a", "b", "c", "d"), ABC, MIXED, 0),
        (FEW, 3, ABC, ("", "e", "f"), MIXED, 10),
        (FEW, 1, ABC, ABC, ("t1-3 t2-0 t2-2 t2-3 t2-6", "t1-4 t2-1 t2-4 t2-5 t3-0", "t1-0 t1-1 t1-2 t1-5 t3-1"), 4),
        (FEW, 2, ABC, ABC, ("t1-3 t2-0 t2-2 t2-5 t2-6", "t1-0 t2-1 t2-3 t2-4 t3-0", "t1-1 t1-2 t1-4 t1-5 t3-1"), 0),
        (FEW, 3, ("a", "b"), ABC, MIXED, 5),
    ],
)
def test_sticky_prefers_members_in_the_rack(
    assignor: Assignor, third: str, replicas: int, brokers: tuple[str, ...], racks: tuple[str, ...],
    shares: tuple[str, ...], apart: int,
) -> None:  # fmt: skip
    topics = spread(SMALL, replicas, brokers)
    fresh = in_racks(third, racks)
    assignment = assignor.assign(fresh, topics)
    assert shown(assignment) == as_written(shares)
    assert mismatched(fresh, topics, assignment) == apart
    assert settled(in_racks(third, racks, shares), topics) == assignment


def racked(placed: str, *members: MemberSubscription) -> dict[str, str]:
    """Sticky over one topic, given the rack of each partition's only replica, or of its replicas."""
    words = placed.split()
    return shown(
        STICKY.assign(
            members, Topics({"t": len(words)}, {parts(f"t-{at}")[0]: tuple(word) for at, word in enumerate(words)})
        )
    )


def test_members_of_one_rack_get_its_partitions_in_turn() -> None:
    members = [member("m0", "t", rack="a"), member("m1", "t", rack="a"), member("m2", "t", rack="b")]
    assert racked("a a a a b b", *members) == {"m0": "t-0 t-2", "m1": "t-1 t-3", "m2": "t-4 t-5"}


def test_partitions_with_few_members_nearby_are_given_out_first() -> None:
    members = [member("m0", "t", rack="a"), member("m1", "t", rack="b")]
    assert racked("ab a", *members) == {"m0": "t-1", "m1": "t-0"}


def test_a_rack_gives_no_extra_when_there_is_none_left() -> None:
    # m0 has the only extra; t-3 is near m1, who has its share, but m2 still has nothing.
    members = [
        member("m0", "t", "t-0 t-1", 1, rack="a"), member("m1", "t", "t-2", 1, rack="b"), member("m2", "t", rack="c"),
    ]  # fmt: skip
    assert racked("a a b b", *members) == {"m0": "t-0 t-1", "m1": "t-2", "m2": "t-3"}
    members[1] = member("m1", "t", rack="b")
    assert racked("a a b b", *members) == {"m0": "t-0 t-1", "m1": "t-2", "m2": "t-3"}


def test_equal_subscriptions_move_partitions_to_members_in_their_rack() -> None:
    topics = spread(SMALL, 1, ABC)
    members = in_racks(ALL, ABC, ASTRAY)
    first = COOPERATIVE.assign(members, topics)
    assert shown(first) == as_written(("t1-0 t1-3", "t2-1", "t2-5 t3-1"))
    assert shown(STICKY.assign(members, topics)) == as_written(IN_TURN)


def test_different_subscriptions_move_partitions_to_members_in_their_rack() -> None:
    topics = spread(SMALL, 1, ABC)
    first = COOPERATIVE.assign(in_racks(FEW, ABC, ASTRAY), topics)
    assert shown(first) == as_written(("t1-3", "t2-1", "t3-1"))
    second = COOPERATIVE.assign(in_racks(FEW, ABC, ("t1-3", "t2-1", "t3-1")), topics)
    assert shown(second) == as_written(
        ("t1-3 t2-0 t2-2 t2-3 t2-6", "t1-4 t2-1 t2-4 t2-5 t3-0", "t1-0 t1-1 t1-2 t1-5 t3-1")
    )


def test_where_every_rack_has_everything_owners_keep_what_they_want() -> None:
    topics = spread(SMALL, 3, ABC)
    first = COOPERATIVE.assign(in_racks(FEW, ABC, ASTRAY), topics)
    held = ("t1-2 t1-3 t1-4", "t2-0 t2-1 t2-2 t2-3", "t3-0 t3-1")
    assert shown(first) == as_written(held)
    second = COOPERATIVE.assign(in_racks(FEW, ABC, held), topics)
    assert shown(second) == as_written(
        ("t1-2 t1-3 t1-4 t2-4 t2-5", "t2-0 t2-1 t2-2 t2-3 t2-6", "t1-0 t1-1 t1-5 t3-0 t3-1")
    )


# Any group.


@st.composite
def with_claims(draw: st.DrawFn, groups: st.SearchStrategy[list[MemberSubscription]]) -> list[MemberSubscription]:
    """Members that claim anything, of several generations, disputed or out of date."""
    claimed = st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(0, 7)), max_size=8, unique=True)
    return [
        member(each.id, " ".join(each.topics), " ".join(f"{t}-{n}" for t, n in draw(claimed)),
               draw(st.integers(-1, 3)), instance=each.instance, rack=each.rack)
        for each in draw(groups)
    ]  # fmt: skip


@pytest.mark.slow
@given(st.one_of(with_claims(same()), with_claims(different())), clusters())
def test_whatever_members_claim_the_result_is_valid(members: list[MemberSubscription], topics: Topics) -> None:
    assignment = STICKY.assign(members, topics)
    assert is_valid(members, topics, assignment)
    assert STICKY.assign(members, topics) == assignment
    again = STICKY.assign(members[::-1], topics)
    assert {name: again[name] for name in assignment} == assignment


@pytest.mark.slow
@given(with_claims(same()), clusters())
def test_with_one_subscription_sizes_differ_by_one_at_most(members: list[MemberSubscription], topics: Topics) -> None:
    sizes = [len(share) for share in STICKY.assign(members, topics).values()]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.slow
@given(different(), clusters())
def test_a_fresh_group_is_even(members: list[MemberSubscription], topics: Topics) -> None:
    assert is_even(members, STICKY.assign(members, topics))


@pytest.mark.slow
@given(same(), clusters(), st.data())
def test_members_lose_nothing_but_what_evenness_asks_for(
    members: list[MemberSubscription], topics: Topics, data: st.DataObject
) -> None:
    blind = Topics(topics.sizes)
    before = STICKY.assign(members, blind)
    newcomers = data.draw(st.integers(0, 3))
    group = [
        *after(members, before, 1),
        *(members[0]._replace(id=f"new{place}", owned=()) for place in range(newcomers)),
    ]
    leaves = data.draw(st.integers(0, len(members) - 1))
    group = group[leaves:]
    result = STICKY.assign(group, blind)
    total = sum(len(share) for share in result.values())
    for each in group:
        kept = len(set(each.owned) & set(result[each.id]))
        assert kept >= min(len(each.owned), total // len(group))
        if leaves >= 1 and not newcomers:
            assert kept == len(each.owned)


@pytest.mark.slow
@given(different(), clusters())
def test_nothing_changes_when_nothing_changed(members: list[MemberSubscription], topics: Topics) -> None:
    for assignor in BOTH:
        first = settled(members, topics) if assignor is COOPERATIVE else STICKY.assign(members, topics)
        assert assignor.assign(after(members, first, 1), Topics(topics.sizes)) == first


@st.composite
def owning(draw: st.DrawFn) -> tuple[list[MemberSubscription], Topics]:
    """A group in which every partition has one owner at most, and then something changed."""
    topics = draw(clusters())
    members = draw(different())
    first = STICKY.assign(members, topics)
    members = after(members, first, 1)
    gone = draw(st.integers(0, len(members) - 1))
    changed = [each._replace(topics=draw(st.one_of(st.just(each.topics), st.just(TOPICS)))) for each in members[gone:]]
    joined = draw(st.lists(st.sampled_from(["n0", "n1"]), unique=True))
    return [*changed, *(MemberSubscription(name, draw(st.sampled_from([TOPICS, ("t0",)]))) for name in joined)], topics


@pytest.mark.slow
@given(owning())
def test_cooperative_never_gives_what_another_one_has(group: tuple[list[MemberSubscription], Topics]) -> None:
    members, topics = group
    assignment = COOPERATIVE.assign(members, topics)
    owner = {partition: each.id for each in members for partition in each.owned}
    for each in members:
        assert all(owner.get(partition, each.id) == each.id for partition in assignment[each.id])
    eager = STICKY.assign(members, topics)
    for each in members:
        held_back = {partition for partition in eager[each.id] if owner.get(partition, each.id) != each.id}
        assert set(assignment[each.id]) == set(eager[each.id]) - held_back


@pytest.mark.slow
@given(owning())
def test_a_cooperative_group_converges_with_all_partitions_assigned(
    group: tuple[list[MemberSubscription], Topics],
) -> None:
    members, topics = group
    for known in (topics, Topics(topics.sizes)):
        assert is_valid(members, topics, settled(members, known))


def test_a_group_of_hundreds_is_assigned_in_one_go() -> None:
    topics = Topics({f"t{number}": 20 for number in range(20)})
    names = [f"t{number}" for number in range(20)]
    members = [member(f"m{place:03}", " ".join(names[place % 4 : 12 + place % 9])) for place in range(300)]
    assignment = STICKY.assign(members, topics)
    assert is_valid(members, topics, assignment)
    again = STICKY.assign(after(members, assignment, 1)[:250], topics)
    assert is_valid(members[:250], topics, again)


# Claims on one partition by several members.


@pytest.mark.parametrize(("kafka", "shares"), [
    ("2.7", {"C0": "t-0 t-1 t-3", "C1": "t-1 t-2"}), ("2.8.0", {"C0": "t-0 t-1 t-3", "C1": "t-1 t-2"}),
    ("2.8.1", {"C0": "t-0", "C1": "t-2 t-3"}), ("3.9", {"C0": "t-0", "C1": "t-2 t-3"}),
])  # fmt: skip
def test_up_to_2_8_0_two_members_keep_a_partition_that_both_claim(kafka: str, shares: dict[str, str]) -> None:
    """KAFKA-12984: later assignors take it from both, and give it to one once they have revoked it."""
    members = [member("C0", "t", "t-0 t-1", 3), member("C1", "t", "t-1 t-2", 3)]
    cooperative = CooperativeStickyAssignor(rules_of(ClientProfile.of(kafka)))
    assert shown(cooperative.assign(members, Topics({"t": 4}))) == shares


def test_up_to_2_8_0_there_may_be_no_assignment_that_keeps_every_claim() -> None:
    """KAFKA-12984: all members have their most, and partitions are left."""
    members = [member(name, "t", "t-0 t-1 t-2", 3) for name in ("C0", "C1")]
    cooperative = CooperativeStickyAssignor(rules_of(ClientProfile.of("2.8.0")))
    with pytest.raises(AssignmentError):
        cooperative.assign(members, Topics({"t": 5}))
