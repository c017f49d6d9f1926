"""Range and round robin, worked examples; the cases with racks have the results of Kafka's own assignor."""

import pytest
from hypothesis import given

from cluster_model.assignors.assignors import CLIENT_ASSIGNORS, RangeAssignor, RoundRobinAssignor, server_assignors
from cluster_model.assignors.base import NEWEST_SERVER_RULES, MemberSubscription, Topics, in_order
from cluster_model.assignors.sticky import racks_matter
from tests.cluster_model.assignors.groups import (
    as_written,
    clusters,
    different,
    is_valid,
    member,
    mismatched,
    parts,
    shown,
    spread,
)

RANGE, ROUND_ROBIN = RangeAssignor(), RoundRobinAssignor()
ABC = ("a", "b", "c")


def test_two_topics_of_different_size() -> None:
    topics = Topics({"A": 3, "B": 2})
    members = [member("c1", "A B"), member("c2", "A B")]
    assert shown(RANGE.assign(members, topics)) == {"c1": "A-0 A-1 B-0", "c2": "A-2 B-1"}
    assert shown(ROUND_ROBIN.assign(members, topics)) == {"c1": "A-0 A-2 B-1", "c2": "A-1 B-0"}


@pytest.mark.parametrize("assignor", [RANGE, ROUND_ROBIN])
def test_overlapping_subscriptions(assignor: RangeAssignor | RoundRobinAssignor) -> None:
    members = [member("C0", "t0"), member("C1", "t0 t1"), member("C2", "t0 t1 t2")]
    found = shown(assignor.assign(members, Topics({"t0": 1, "t1": 2, "t2": 3})))
    assert {name: share.split() for name, share in found.items()} == {
        "C0": ["t0-0"], "C1": ["t1-0"], "C2": ["t1-1", "t2-0", "t2-1", "t2-2"],
    }  # fmt: skip


def test_the_first_members_extras_add_up_over_topics() -> None:
    topics = Topics({f"t{number}": 1 for number in range(4)})
    members = [member("a", "t0 t1 t2 t3"), member("b", "t0 t1 t2 t3")]
    found = shown(RANGE.assign(members, topics))
    assert (found["a"].split(), found["b"]) == (["t0-0", "t1-0", "t2-0", "t3-0"], "")
    assert shown(ROUND_ROBIN.assign(members, topics)) == {"a": "t0-0 t2-0", "b": "t1-0 t3-0"}


def test_static_members_come_first_by_their_instance_ids() -> None:
    members = [member("a", "t"), member("z", "t", instance="i1"), member("y", "t", instance="i2"), member("b", "t")]
    assert [each.id for each in in_order(members)] == ["z", "y", "a", "b"]
    assert shown(RANGE.assign(members, Topics({"t": 5}))) == {"a": "t-3", "z": "t-0 t-1", "y": "t-2", "b": "t-4"}
    assert shown(ROUND_ROBIN.assign(members, Topics({"t": 5}))) == {"a": "t-2", "z": "t-0 t-4", "y": "t-1", "b": "t-3"}


def test_a_static_member_keeps_its_partitions_under_a_new_member_id() -> None:
    before = [member("m1", "t", instance="i1"), member("m2", "t", instance="i2")]
    again = [member("m9", "t", instance="i1"), member("m2", "t", instance="i2")]
    topics = Topics({"t": 4})
    assert RANGE.assign(before, topics)["m1"] == RANGE.assign(again, topics)["m9"]


def test_a_topic_that_does_not_exist_is_nobodys() -> None:
    members = [member("a", "ghost t"), member("b", "ghost")]
    for assignor in CLIENT_ASSIGNORS.values():
        assert shown(assignor.assign(members, Topics({"t": 2, "other": 3}))) == {"a": "t-0 t-1", "b": ""}
        assert assignor.assign(members, Topics({})) == {"a": (), "b": ()}
        assert assignor.assign([], Topics({"t": 2})) == {}


def test_more_members_than_partitions() -> None:
    members = [member("a", "t"), member("b", "t"), member("c", "t")]
    for assignor in (RANGE, ROUND_ROBIN):
        assert shown(assignor.assign(members, Topics({"t": 2}))) == {"a": "t-0", "b": "t-1", "c": ""}


def test_names_and_protocols() -> None:
    assert {name: assignor.cooperative for name, assignor in CLIENT_ASSIGNORS.items()} == {
        "range": False, "roundrobin": False, "sticky": False, "cooperative-sticky": True,
    }  # fmt: skip
    assert list(server_assignors(NEWEST_SERVER_RULES)) == ["uniform", "range"]


# Racks.

SMALL = {"t1": 6, "t2": 7, "t3": 2}
EVEN = {"t1": 5, "t2": 5, "t3": 5}
ALL, FEW = "t1 t2 t3", "t1 t3"
WITHOUT = ("t1-0 t1-1 t2-0 t2-1 t2-2 t3-0", "t1-2 t1-3 t2-3 t2-4 t3-1", "t1-4 t1-5 t2-5 t2-6")
WITHOUT_FEW = ("t1-0 t1-1 t2-0 t2-1 t2-2 t2-3 t3-0", "t1-2 t1-3 t2-4 t2-5 t2-6 t3-1", "t1-4 t1-5")
EVEN_WITHOUT = ("t1-0 t1-1 t2-0 t2-1 t3-0 t3-1", "t1-2 t1-3 t2-2 t2-3 t3-2 t3-3", "t1-4 t2-4 t3-4")
EVEN_WITHOUT_FEW = ("t1-0 t1-1 t2-0 t2-1 t2-2 t3-0 t3-1", "t1-2 t1-3 t2-3 t2-4 t3-2 t3-3", "t1-4 t3-4")


@pytest.mark.parametrize(
    ("sizes", "third", "replicas", "brokers", "racks", "shares", "apart"),
    [
        # Nothing to look at: no racks at the brokers, or at the members, or every partition everywhere, or elsewhere.
        (SMALL, ALL, 3, ("", "", ""), ABC, WITHOUT, 15),
        (SMALL, ALL, 3, ABC, ("", "", ""), WITHOUT, 0),
        (SMALL, ALL, 3, ABC, ABC, WITHOUT, 0),
        (SMALL, ALL, 4, ("a", "b", "c", "d"), ABC, WITHOUT, 0),
        (SMALL, ALL, 3, ABC, ("d", "e", "f"), WITHOUT, 15),
        (SMALL, ALL, 3, ABC, ("", "e", "f"), WITHOUT, 9),
        (SMALL, FEW, 3, ABC, ABC, WITHOUT_FEW, 0),
        # Each rack has some of the partitions.
        (SMALL, ALL, 1, ABC, ABC,
         ("t1-0 t1-3 t2-0 t2-3 t2-6", "t1-1 t1-4 t2-1 t2-4 t3-0", "t1-2 t1-5 t2-2 t2-5 t3-1"), 0),
        (SMALL, ALL, 2, ABC, ABC,
         ("t1-0 t1-2 t2-0 t2-2 t2-3 t3-1", "t1-1 t1-3 t2-1 t2-4 t3-0", "t1-4 t1-5 t2-5 t2-6"), 1),
        (SMALL, FEW, 1, ABC, ABC,
         ("t1-0 t1-3 t2-0 t2-2 t2-3 t2-6", "t1-1 t1-4 t2-1 t2-4 t2-5 t3-0", "t1-2 t1-5 t3-1"), 2),
        (SMALL, FEW, 2, ABC, ABC,
         ("t1-0 t1-2 t2-0 t2-2 t2-3 t2-5 t3-1", "t1-1 t1-3 t2-1 t2-4 t2-6 t3-0", "t1-4 t1-5"), 0),
        # A member whose rack has nothing.
        (SMALL, ALL, 3, ("a", "b"), ABC, WITHOUT, 4),
        (SMALL, FEW, 3, ("a", "b"), ABC, WITHOUT_FEW, 2),
        # Topics of the same size and members: partitions of one number stay together, racks or not.
        (EVEN, ALL, 1, ABC, ABC, EVEN_WITHOUT, 10),
        (EVEN, ALL, 2, ABC, ABC, EVEN_WITHOUT, 5),
        (EVEN, ALL, 3, ("a", "b"), ABC, EVEN_WITHOUT, 3),
        (EVEN, FEW, 1, ABC, ABC,
         ("t1-0 t1-1 t2-0 t2-1 t2-4 t3-0 t3-1", "t1-2 t1-3 t2-2 t2-3 t3-2 t3-3", "t1-4 t3-4"), 9),
        (EVEN, FEW, 2, ABC, ABC,
         ("t1-2 t2-0 t2-1 t2-3 t3-2", "t1-0 t1-3 t2-2 t2-4 t3-0 t3-3", "t1-1 t1-4 t3-1 t3-4"), 0),
        (EVEN, FEW, 3, ("a", "b"), ABC, EVEN_WITHOUT_FEW, 2),
    ],
)  # fmt: skip
def test_range_matches_racks_where_that_helps(
    sizes: dict[str, int], third: str, replicas: int, brokers: tuple[str, ...], racks: tuple[str, ...],
    shares: tuple[str, ...], apart: int,
) -> None:  # fmt: skip
    topics = spread(sizes, replicas, brokers)
    subscriptions = (ALL, ALL, third)
    members = [member(f"consumer{place}", subscriptions[place], rack=racks[place]) for place in range(3)]
    assignment = RANGE.assign(members, topics)
    assert shown(assignment) == as_written(shares)
    assert mismatched(members, topics, assignment) == apart


PAIRS = {"t1": 6, "t2": 6, "t3": 2, "t4": 2}
TOGETHER = ("t1-0 t1-1 t2-0 t2-1 t3-0 t4-0", "t1-2 t1-3 t2-2 t2-3 t3-1 t4-1", "t1-4 t2-4", "t1-5 t2-5")


@pytest.mark.parametrize(
    ("subscriptions", "replicas", "brokers", "shares", "apart"),
    [
        (("t1 t2", "t1 t2", "t3 t4", "t3 t4"), 2, ("a", "b"),
         ("t1-0 t1-1 t1-2 t2-0 t2-1 t2-2", "t1-3 t1-4 t1-5 t2-3 t2-4 t2-5", "t3-0 t4-0", "t3-1 t4-1"), 0),
        (("t1 t2", "t1 t2", "t3 t4", "t3 t4"), 1, ("a", "b"),
         ("t1-0 t1-2 t1-4 t2-0 t2-2 t2-4", "t1-1 t1-3 t1-5 t2-1 t2-3 t2-5", "t3-1 t4-1", "t3-0 t4-0"), 0),
        (("t1 t2 t3 t4",) * 4, 2, ("a", "b"), TOGETHER, 0),
        (("t1 t2 t3 t4",) * 4, 1, ("a", "b"),
         ("t1-0 t1-2 t2-0 t2-2 t3-0 t4-0", "t1-1 t1-3 t2-1 t2-3 t3-1 t4-1", "t1-5 t2-5", "t1-4 t2-4"), 0),
        (("t1 t2 t3 t4",) * 4, 1, ABC,
         ("t1-0 t1-3 t2-0 t2-3 t3-0 t4-0", "t1-1 t1-4 t2-1 t2-4 t3-1 t4-1", "t1-2 t2-2", "t1-5 t2-5"), 6),
    ],
)  # fmt: skip
def test_range_keeps_topics_of_the_same_size_together(
    subscriptions: tuple[str, ...], replicas: int, brokers: tuple[str, ...], shares: tuple[str, ...], apart: int
) -> None:
    topics = spread(PAIRS, replicas, brokers)
    members = [
        member(f"consumer{place}", subscriptions[place], rack=rack) for place, rack in enumerate(("a", "b", "b", "a"))
    ]
    assignment = RANGE.assign(members, topics)
    assert shown(assignment) == as_written(shares)
    assert mismatched(members, topics, assignment) == apart


def test_a_member_without_a_rack_is_near_to_everything() -> None:
    topics = Topics({"t": 2}, dict(zip(parts("t-0 t-1"), (("b",), ("a",)), strict=True)))
    members = [member("m0", "t"), member("m1", "t", rack="b")]
    assert shown(RANGE.assign(members, topics)) == {"m0": "t-0", "m1": "t-1"}


def test_a_topic_that_has_all_its_replicas_in_the_same_racks_is_shared_out_as_ever() -> None:
    placed = dict.fromkeys(parts("t0-0 t0-1"), ("a",)) | {
        parts(f"t1-{number}")[0]: (("a", "b")[number % 2],) for number in range(4)
    }
    members = [member("m0", "t0 t1", rack="b"), member("m1", "t0 t1", rack="a")]
    assert shown(RANGE.assign(members, Topics({"t0": 2, "t1": 4}, placed))) == {
        "m0": "t0-0 t1-1 t1-3", "m1": "t0-1 t1-0 t1-2",
    }  # fmt: skip


def test_when_racks_matter() -> None:
    (one, two) = parts("t-0 t-1")
    assert racks_matter(["a"], {one: ("a", "b"), two: ("a",)})
    assert not racks_matter(["a"], {one: ("a", "b"), two: ("b", "a")})
    assert not racks_matter(["c"], {one: ("a", "b"), two: ("a",)})
    assert not racks_matter([], {one: ("a",), two: ("b",)})


# Any group.


@pytest.mark.slow
@given(different(), clusters())
def test_every_partition_is_assigned_to_one_subscribed_member(
    members: list[MemberSubscription], topics: Topics
) -> None:
    for assignor in (*CLIENT_ASSIGNORS.values(), *server_assignors(NEWEST_SERVER_RULES).values()):
        assignment = assignor.assign(members, topics)
        assert is_valid(members, topics, assignment), assignor.name
        again = assignor.assign(members[::-1], topics)
        assert {name: again[name] for name in assignment} == assignment, assignor.name


@pytest.mark.slow
@given(different(), clusters())
def test_range_is_even_within_each_topic_and_consecutive_without_racks(
    members: list[MemberSubscription], topics: Topics
) -> None:
    for known in (topics, Topics(topics.sizes)):
        assignment = RANGE.assign(members, known)
        for topic in topics.sizes:
            shares = [
                [partition.partition for partition in assignment[each.id] if partition.topic == topic]
                for each in in_order(members)
                if topic in each.topics
            ]
            sizes = [len(share) for share in shares]
            assert max(sizes, default=0) - min(sizes, default=0) <= 1
            if not known.racks:
                assert sizes == sorted(sizes, reverse=True)
                dealt = [number for share in shares for number in share]
                assert dealt == list(range(len(dealt)))


@pytest.mark.slow
@given(different(), clusters())
def test_round_robin_is_even_where_all_want_the_same(members: list[MemberSubscription], topics: Topics) -> None:
    same = [each._replace(topics=("t0", "t1", "t2")) for each in members]
    sizes = [len(share) for share in ROUND_ROBIN.assign(same, topics).values()]
    assert max(sizes) - min(sizes) <= 1
