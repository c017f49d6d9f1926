"""Administration of groups, and automatic expiry: KIP-211, KIP-229, KIP-496."""

import pytest

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.protocol.group_messages import (
    NOTHING,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    OffsetDeleteRequest,
)
from tests.cluster_model.coordinators.group.asking import (
    ERROR,
    OWNER,
    commit,
    errors,
    fetch,
    offsets,
    read_until_loading,
    started,
    with_member,
)
from tests.cluster_model.coordinators.group.members import SECOND


def test_groups_are_described() -> None:
    talk = started()
    member = with_member(talk)
    found = talk.ask(OWNER, DescribeGroupsRequest(0, ("g", "y", "elsewhere"))).groups
    described, unknown, elsewhere = found
    assert (described.state, described.protocol_type, described.protocol) == ("Stable", "consumer", "range")
    (one,) = described.members
    assert (one.member_id, one.client_id, one.host) == (member.member_id, "a", member.port.node_id)
    assert (one.metadata.topics, one.assignment.partitions) == (("orders",), ("orders-0", "orders-1"))
    assert (unknown.error, unknown.state) == (ERROR.NONE, "Dead")
    assert (elsewhere.error, elsewhere.state) == (ERROR.NOT_COORDINATOR, "")
    listed = talk.ask(OWNER, ListGroupsRequest(0)).groups
    assert [(each.group_id, each.state) for each in listed] == [("g", "Stable")]
    assert talk.ask(OWNER, ListGroupsRequest(0, ("Empty",))).groups == ()


def test_while_a_group_rebalances_only_its_members_names_are_reported() -> None:
    talk = started()
    with_member(talk)
    talk.cluster.coordinators[OWNER].registry.groups["g"].state = GroupState.PREPARING
    (described,) = talk.ask(OWNER, DescribeGroupsRequest(0, ("g",))).groups
    assert (described.state, described.protocol) == ("PreparingRebalance", "")
    assert [(one.metadata, one.assignment) for one in described.members] == [(None, NOTHING)]


def test_only_a_group_without_members_is_deleted() -> None:
    talk = started()
    member = with_member(talk)
    member.commit("orders-0", 5)
    talk.run(1)
    assert talk.ask(OWNER, DeleteGroupsRequest(0, ("g",))).groups == (("g", ERROR.NON_EMPTY_GROUP),)
    member.stopped = True
    talk.ask(OWNER, LeaveGroupRequest(0, "g", (LeavingMember(member.member_id),)))
    assert talk.ask(OWNER, DeleteGroupsRequest(0, ("g",))).groups == (("g", ERROR.NONE),)
    assert talk.ask(OWNER, DeleteGroupsRequest(0, ("g",))).groups == (("g", ERROR.GROUP_ID_NOT_FOUND),)
    assert offsets(talk.ask(OWNER, fetch())) == {}
    # A new coordinator does not find it either.
    talk.cluster.crash(OWNER)
    registry = read_until_loading(talk, 3)
    talk.run(0.05)
    assert (registry.groups, list(registry.owned)) == ({}, [2, 1])


def test_offsets_of_subscribed_topics_are_not_deleted() -> None:
    talk = started()
    member = with_member(talk)
    member.commit("orders-0", 5)
    talk.run(1)
    asked = OffsetDeleteRequest(0, "g", ("orders-0", "nowhere-0"))
    wanted = [ERROR.GROUP_SUBSCRIBED_TO_TOPIC, ERROR.UNKNOWN_TOPIC_OR_PARTITION]
    assert errors(talk.ask(OWNER, asked)) == wanted
    member.stopped = True
    talk.run(12)
    assert errors(talk.ask(OWNER, asked)) == [ERROR.NONE, ERROR.UNKNOWN_TOPIC_OR_PARTITION]
    assert offsets(talk.ask(OWNER, fetch())) == {}
    assert talk.ask(OWNER, asked).error == ERROR.GROUP_ID_NOT_FOUND


RETENTION = {"offsets.retention.minutes": 2, "offsets.retention.check.interval.ms": 10_000}


def test_offsets_of_an_empty_group_expire_with_the_time_since_it_became_empty() -> None:
    talk = started(config=RETENTION)
    member = with_member(talk)
    member.commit("orders-0", 5)
    talk.run(150)
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-0": 5}  # of a subscribed topic
    member.stopped = True
    talk.run(100)
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-0": 5}
    talk.run(50)
    assert offsets(talk.ask(OWNER, fetch())) == {}
    assert not talk.cluster.coordinators[OWNER].registry.groups


def test_offsets_of_a_group_that_never_had_members_expire_by_their_commit() -> None:
    talk = started(config=RETENTION)
    talk.ask(OWNER, commit(1))
    talk.run(100)
    talk.ask(OWNER, commit(2, partition="orders-1"))
    talk.run(35)
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-1": 2}
    talk.run(100)
    assert not talk.cluster.coordinators[OWNER].registry.groups


@pytest.mark.parametrize(("kafka", "left"), [("2.0", {}), ("2.1", {"orders-0": 5})])
def test_before_2_1_even_a_subscribed_topics_offsets_expire(kafka: str, left: dict[str, int]) -> None:
    talk = started(kafka, config=RETENTION)
    member = with_member(talk)
    member.commit("orders-0", 5)
    talk.run(150)
    assert offsets(talk.ask(OWNER, fetch())) == left


def test_a_commit_may_name_its_own_retention() -> None:
    talk = started("2.0", config=RETENTION)
    talk.ask(OWNER, commit(1, retention_us=20 * SECOND))
    talk.ask(OWNER, commit(1, partition="orders-1"))
    talk.run(35)
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-1": 1}


def test_a_deleted_topics_offsets_go_with_it() -> None:
    talk = started()
    talk.ask(OWNER, commit(1))
    broker = talk.cluster.brokers[OWNER]
    broker.forget("orders-1")
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-0": 1}
    broker.forget("orders-0")
    assert offsets(talk.ask(OWNER, fetch())) == {}
