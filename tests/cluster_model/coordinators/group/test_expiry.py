"""Expiry of committed offsets: a table by the group's state (KIP-211), and commits in progress at that time."""

import pytest

from cluster_model.coordinators.group.group_metadata import GroupMetadata, GroupOffsets, GroupState, OffsetAndMetadata
from cluster_model.coordinators.group.offset_commits import deletable, expired
from cluster_model.protocol.group_messages import CONSUMER_PROTOCOL
from cluster_model.protocol.versions import Profile
from tests.cluster_model.coordinators.group.asking import ERROR

OLD, NEW, NOW, KEPT = 0, 90, 100, 50
"""Times of commits, now, and ``offsets.retention.minutes``."""


def committed_at(at: int, expires: int = -1) -> OffsetAndMetadata:
    return OffsetAndMetadata(5, -1, "", at, expires)


def group(
    state: GroupState, protocol_type: str = CONSUMER_PROTOCOL, *, since: int = 0, topics: tuple[str, ...] | None = ()
) -> GroupMetadata:
    """A group with an old and a recent commit, for a subscribed topic and for another one."""
    found = GroupMetadata("g", 1, since)
    found.state, found.protocol_type, found.topics = state, protocol_type, topics
    for index, (name, at) in enumerate((("in-0", OLD), ("in-1", NEW), ("out-0", OLD), ("out-1", NEW))):
        found.offsets.put(name, committed_at(at), index)
    return found


EVERYTHING = ["in-0", "in-1", "out-0", "out-1"]
AGED = ["in-0", "out-0"]

TABLE: list[tuple[str, GroupMetadata, list[str]]] = [
    ("empty for long enough: all, however new", group(GroupState.EMPTY, since=50), EVERYTHING),
    ("empty for less", group(GroupState.EMPTY, since=51), []),
    ("empty since an unknown time: by the commit", group(GroupState.EMPTY, since=-1), AGED),
    ("stable: topics without a subscriber, by the commit", group(GroupState.STABLE, topics=("in",)), ["out-0"]),
    ("stable, subscriptions unknown", group(GroupState.STABLE, topics=None), []),
    ("stable, not a consumers' group", group(GroupState.STABLE, "connect", topics=("in",)), []),
    ("rebalancing", group(GroupState.PREPARING, topics=("in",)), []),
    ("about to be stable", group(GroupState.COMPLETING, topics=("in",)), []),
    ("never had members: by the commit", group(GroupState.EMPTY, "", since=99), AGED),
]


@pytest.mark.parametrize(("what", "found", "gone"), TABLE, ids=[row[0] for row in TABLE])
def test_offsets_that_expire(what: str, found: GroupMetadata, gone: list[str]) -> None:
    assert expired(found, NOW, Profile.of("3.9", "kraft"), KEPT) == gone, what


@pytest.mark.parametrize(("what", "found", "gone"), TABLE, ids=[row[0] for row in TABLE])
def test_before_2_1_state_does_not_matter(what: str, found: GroupMetadata, gone: list[str]) -> None:
    del what, gone
    assert expired(found, NOW, Profile.of("2.0", "zookeeper"), KEPT) == AGED


@pytest.mark.parametrize("state", [GroupState.PREPARING, GroupState.COMPLETING])
@pytest.mark.parametrize(
    ("kafka", "early"),
    [("2.3", False), ("2.4", True), ("2.8.1", True), ("2.8.2", False), ("3.0.0", True), ("3.1", False)],
)
def test_in_a_rebalance_the_generation_before_decides_in_some_releases(
    state: GroupState, kafka: str, *, early: bool
) -> None:
    """KAFKA-13636: a group that was empty has the topics of its last, empty generation: none."""
    profile = Profile.of(kafka, "zookeeper")
    assert expired(group(state, topics=()), NOW, profile, KEPT) == (AGED if early else [])
    assert expired(group(state, topics=("in",)), NOW, profile, KEPT) == (["out-0"] if early else [])


@pytest.mark.parametrize(("kafka", "gone"), [("2.3", []), ("2.4", ["out-0"])])
def test_offsets_of_topics_without_a_subscriber_expire_since_2_4(kafka: str, gone: list[str]) -> None:
    """With KIP-496 coordinators know which topics members subscribe to."""
    found = group(GroupState.STABLE, topics=("in",))
    assert expired(found, NOW, Profile.of(kafka, "zookeeper"), KEPT) == gone


def test_a_time_of_its_own_goes_before_the_retention() -> None:
    found = group(GroupState.EMPTY, since=0)
    found.offsets.put("in-0", committed_at(OLD, 101), 9)
    found.offsets.put("out-1", committed_at(NEW, 100), 9)
    profile = Profile.of("3.9", "kraft")
    assert expired(found, NOW, profile, KEPT) == ["in-1", "out-0", "out-1"]
    assert "in-0" in expired(found, 101, profile, KEPT)


def test_offsets_with_a_pending_commit_do_not_expire() -> None:
    found = group(GroupState.EMPTY, since=0)
    found.offsets.prepare((("in-0", committed_at(NOW)),))
    assert expired(found, NOW, Profile.of("3.9", "kraft"), KEPT) == EVERYTHING[1:]


def test_a_transactions_offset_outlives_the_one_that_it_replaces() -> None:
    offsets = GroupOffsets()
    offsets.put("in-0", committed_at(OLD), 1)
    staged = (("in-0", committed_at(NOW)),)
    offsets.prepare_in_transaction(7, staged)
    offsets.appended_in_transaction(7, staged, 2)
    assert offsets.expire(["in-0", "in-1"]) == ["in-0"]
    assert not offsets.empty, "the group is not dropped"
    offsets.end_transaction(7, committed=True)
    assert offsets.committed == {"in-0": committed_at(NOW)}


@pytest.mark.parametrize(
    ("state", "topics", "verdict"),
    [
        (GroupState.EMPTY, None, ERROR.NONE),
        (GroupState.EMPTY, ("in",), ERROR.NONE),
        (GroupState.STABLE, ("in",), ERROR.GROUP_SUBSCRIBED_TO_TOPIC),
        (GroupState.STABLE, ("out",), ERROR.NONE),
        (GroupState.PREPARING, None, ERROR.GROUP_SUBSCRIBED_TO_TOPIC),
    ],
)
def test_offsets_are_deleted_of_topics_that_surely_nobody_subscribes_to(
    state: GroupState, topics: tuple[str, ...] | None, verdict: int
) -> None:
    assert deletable(group(state, topics=topics), ("in-0",), ("in-0",)) == (ERROR.NONE, (("in-0", verdict),))


def test_a_member_that_shares_by_other_rules_keeps_all_offsets_while_it_has_members() -> None:
    assert deletable(group(GroupState.STABLE, "connect"), ("in-0",), ("in-0",)) == (ERROR.NON_EMPTY_GROUP, ())
