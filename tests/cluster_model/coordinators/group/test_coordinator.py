"""A coordinator in its broker: its groups, and its responses about members and offsets."""

import re
from typing import Any

import pytest

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.coordinators.group.offset_commits import commit_error, store_error
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    TRANSACTION,
    CommittedOffset,
    DeleteGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    OffsetDeleteRequest,
    SyncGroupRequest,
)
from tests.cluster_model.coordinators.group.asking import (
    ERROR,
    OWNER,
    commit,
    errors,
    fetch,
    join,
    offsets,
    started,
    with_member,
)
from tests.cluster_model.coordinators.group.members import MS, SECOND

# -- finding -----------------------------------------------------------------------------------------------------------


def test_any_broker_names_the_leader_of_the_groups_partition() -> None:
    talk = started()
    for broker in (1, 2, 3):
        answer = talk.ask(broker, FindCoordinatorRequest(0, "g"))
        assert (answer.error, answer.node_id) == (ERROR.NONE, OWNER)


def test_a_broker_with_stale_metadata_names_the_old_coordinator() -> None:
    talk = started()
    for other in (1, 3, 1_001, 1_002, 1_003):
        talk.cluster.cut(OWNER, other, 1)
        talk.cluster.cut(other, OWNER, 1)
    talk.run(20)
    assert talk.ask(1, FindCoordinatorRequest(0, "g")).node_id == 3
    assert talk.ask(OWNER, FindCoordinatorRequest(0, "g")).node_id == OWNER
    # It considers itself the coordinator, but none of its writes is replicated.
    assert errors(talk.ask(OWNER, commit(), 6)) == [ERROR.REQUEST_TIMED_OUT]


def test_without_a_live_leader_or_topic_there_is_no_coordinator() -> None:
    talk = started()
    assert talk.ask(1, FindCoordinatorRequest(0, "t", TRANSACTION)).error == ERROR.COORDINATOR_NOT_AVAILABLE
    assert talk.ask(1, FindCoordinatorRequest(0, "t", 7)).error == ERROR.INVALID_REQUEST
    talk.cluster.crash(2)
    talk.cluster.crash(3)
    talk.run(0.2)
    talk.cluster.brokers[1].metadata.live.pop(2)
    assert talk.ask(1, FindCoordinatorRequest(0, "g")).error == ERROR.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(
    "request_",
    [
        join(), SyncGroupRequest(0, "g", 1, "m"), HeartbeatRequest(0, "g", 1, "m"),
        LeaveGroupRequest(0, "g", (LeavingMember("m"),)), fetch("orders-0"), OffsetDeleteRequest(0, "g", ("orders-0",)),
    ],
)  # fmt: skip
def test_another_broker_is_not_the_coordinator(request_: Any) -> None:
    talk = started()
    assert talk.ask(1, request_).error == ERROR.NOT_COORDINATOR
    assert errors(talk.ask(1, commit())) == [ERROR.NOT_COORDINATOR]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (join()._replace(group_id=""), ERROR.INVALID_GROUP_ID),
        (SyncGroupRequest(0, "", 1, "m"), ERROR.INVALID_GROUP_ID),
        (HeartbeatRequest(0, "", 1, "m"), ERROR.INVALID_GROUP_ID),
        (LeaveGroupRequest(0, "", (LeavingMember("m"),)), ERROR.INVALID_GROUP_ID),
        (fetch("orders-0", group=""), ERROR.NONE),
    ],
)
def test_a_group_without_a_name_may_only_keep_offsets(request_: Any, error: KafkaError) -> None:
    talk = started()
    assert talk.ask(1, request_).error == error  # partition 0 is led by broker 1


def test_members_of_a_group_that_nobody_knows() -> None:
    talk = started()
    assert talk.ask(OWNER, join("app-1")).error == ERROR.UNKNOWN_MEMBER_ID
    assert talk.ask(OWNER, SyncGroupRequest(0, "g", 1, "m")).error == ERROR.UNKNOWN_MEMBER_ID
    assert talk.ask(OWNER, HeartbeatRequest(0, "g", 1, "m")).error == ERROR.UNKNOWN_MEMBER_ID
    answer = talk.ask(OWNER, LeaveGroupRequest(0, "g", (LeavingMember("m"), LeavingMember("n"))))
    assert (answer.error, answer.members) == (ERROR.NONE, (ERROR.UNKNOWN_MEMBER_ID,) * 2)
    assert not talk.cluster.coordinators[OWNER].registry.groups


@pytest.mark.parametrize("session", [6 * SECOND - MS, 1_800 * SECOND + MS])
def test_a_session_must_be_neither_short_nor_long(session: int) -> None:
    talk = started()
    assert talk.ask(OWNER, join(session=session)).error == ERROR.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize(
    ("kafka", "request_", "error"),
    [
        ("0.8.2", join(), ERROR.UNSUPPORTED_VERSION),
        ("0.8.2", ListGroupsRequest(0), ERROR.UNSUPPORTED_VERSION),
        ("2.2", join(instance="pod"), ERROR.UNSUPPORTED_VERSION),
        ("2.3", join(instance="pod", session=MS), ERROR.INVALID_SESSION_TIMEOUT),
        ("2.3", LeaveGroupRequest(0, "g", (LeavingMember("a"), LeavingMember("b"))), ERROR.UNSUPPORTED_VERSION),
        ("2.3", OffsetDeleteRequest(0, "g", ("orders-0",)), ERROR.UNSUPPORTED_VERSION),
        ("2.4", OffsetDeleteRequest(0, "g", ("orders-0",)), ERROR.GROUP_ID_NOT_FOUND),
    ],
)
def test_unsupported_requests_get_an_error(kafka: str, request_: Any, error: KafkaError) -> None:
    talk = started(kafka)
    assert talk.ask(OWNER, request_).error == error


def test_groups_are_deleted_since_1_1() -> None:
    for kafka, error in (("1.0", ERROR.UNSUPPORTED_VERSION), ("1.1", ERROR.GROUP_ID_NOT_FOUND)):
        assert started(kafka).ask(OWNER, DeleteGroupsRequest(0, ("g",))).groups == (("g", error),)


# -- offsets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["0.8.2", "2.8", "3.9"])
def test_a_commit_is_there_when_it_is_answered(kafka: str) -> None:
    talk = started(kafka)
    assert errors(talk.ask(OWNER, commit(5))) == [ERROR.NONE]
    assert errors(talk.ask(OWNER, commit(3))) == [ERROR.NONE]
    answer = talk.ask(OWNER, fetch("orders-0", "orders-1"))
    assert offsets(answer) == {"orders-0": 3, "orders-1": -1}
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-0": 3}
    assert offsets(talk.ask(OWNER, fetch("orders-0", group="y"))) == {"orders-0": -1}  # of this broker, and unknown


def test_each_offset_is_judged_by_itself() -> None:
    talk = started(config={"offset.metadata.max.bytes": 4})
    overlong = CommittedOffset("orders-0", 2, -1, "12345")
    both = commit()._replace(offsets=(CommittedOffset("nowhere-0", 1), overlong, CommittedOffset("orders-1", 3)))
    wanted = [ERROR.UNKNOWN_TOPIC_OR_PARTITION, ERROR.OFFSET_METADATA_TOO_LARGE, ERROR.NONE]
    assert errors(talk.ask(OWNER, both)) == wanted
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-1": 3}
    assert errors(talk.ask(OWNER, commit(metadata="12345"))) == [ERROR.OFFSET_METADATA_TOO_LARGE]


def test_which_members_may_commit_to_a_group_with_members() -> None:
    talk = started()
    assert errors(talk.ask(OWNER, commit(generation=1, member="m"))) == [ERROR.ILLEGAL_GENERATION]
    member = with_member(talk)
    own: dict[str, Any] = {"member": member.member_id, "generation": 1}
    assert errors(talk.ask(OWNER, commit(**own))) == [ERROR.NONE]
    assert errors(talk.ask(OWNER, commit())) == [ERROR.UNKNOWN_MEMBER_ID]
    assert errors(talk.ask(OWNER, commit(member="m", generation=1))) == [ERROR.UNKNOWN_MEMBER_ID]
    assert errors(talk.ask(OWNER, commit(**{**own, "generation": 2}))) == [ERROR.ILLEGAL_GENERATION]
    assert errors(talk.ask(OWNER, commit(**{**own, "generation": 0}))) == [ERROR.ILLEGAL_GENERATION]
    group = talk.cluster.coordinators[OWNER].registry.groups["g"]
    group.state = GroupState.PREPARING
    assert errors(talk.ask(OWNER, commit(7, **own))) == [ERROR.NONE]
    group.state = GroupState.COMPLETING
    assert errors(talk.ask(OWNER, commit(8, **own))) == [ERROR.REBALANCE_IN_PROGRESS]
    group.state = GroupState.STABLE
    assert offsets(talk.ask(OWNER, fetch())) == {"orders-0": 7}


def test_a_static_member_commits_by_both_of_its_names() -> None:
    talk = started()
    member = with_member(talk, instance="pod")
    own: dict[str, Any] = {"member": member.member_id, "generation": 1}
    assert errors(talk.ask(OWNER, commit(group_instance_id="pod", **own))) == [ERROR.NONE]
    other = {**own, "member": "m"}
    assert errors(talk.ask(OWNER, commit(group_instance_id="pod", **other))) == [ERROR.FENCED_INSTANCE_ID]
    assert errors(talk.ask(OWNER, commit(group_instance_id="x", **own))) == [ERROR.UNKNOWN_MEMBER_ID]


def test_a_commit_keeps_its_members_session_alive() -> None:
    talk = started()
    member = with_member(talk)
    member.stopped = True
    for _ in range(4):
        talk.run(6)
        assert errors(talk.ask(OWNER, commit(member=member.member_id, generation=1))) == [ERROR.NONE]
    talk.run(10)
    assert errors(talk.ask(OWNER, commit(member=member.member_id, generation=1))) == [ERROR.UNKNOWN_MEMBER_ID]


def test_a_commit_that_nobody_replicates_in_time_is_unstable_then_refused() -> None:
    talk = started()
    for follower in (1, 3):
        talk.cluster.pause(follower)
    assert talk.ask(OWNER, commit(), 1) is None
    (stable,) = talk.ask(OWNER, fetch("orders-0", stable=True)).partitions
    assert (stable.error, stable.offset) == (ERROR.UNSTABLE_OFFSET_COMMIT, -1)
    (plain,) = talk.ask(OWNER, fetch("orders-0")).partitions
    assert (plain.error, plain.offset) == (ERROR.NONE, -1)
    talk.run(4)
    assert errors(talk.hand.got[-1]) == [ERROR.REQUEST_TIMED_OUT]
    assert talk.ask(OWNER, fetch("orders-0", stable=True)).partitions[0].error == ERROR.NONE


def test_before_2_5_nobody_asks_for_stable_offsets() -> None:
    talk = started("2.4")
    for follower in (1, 3):
        talk.cluster.pause(follower)
    talk.ask(OWNER, commit(), 1)
    assert talk.ask(OWNER, fetch("orders-0", stable=True)).partitions[0].error == ERROR.NONE


@pytest.mark.parametrize(
    ("max_bytes", "error"), [(1_000_000, ERROR.NONE), (100, ERROR.INVALID_COMMIT_OFFSET_SIZE)]
)  # fmt: skip
def test_a_commit_may_be_too_large_for_the_topic(max_bytes: int, error: KafkaError) -> None:
    talk = started(offsets={"max.message.bytes": max_bytes})
    assert errors(talk.ask(OWNER, commit())) == [error]


def test_with_too_few_in_sync_the_coordinator_is_not_available() -> None:
    talk = started(offsets={"min.insync.replicas": 3})
    talk.cluster.crash(3)
    talk.run(15)
    assert errors(talk.ask(OWNER, commit())) == [ERROR.COORDINATOR_NOT_AVAILABLE]
    both = commit()._replace(offsets=(CommittedOffset("nowhere-0", 1), CommittedOffset("orders-0", 1)))
    wanted = [ERROR.UNKNOWN_TOPIC_OR_PARTITION, ERROR.COORDINATOR_NOT_AVAILABLE]
    assert errors(talk.ask(OWNER, both)) == wanted


@pytest.mark.parametrize(
    ("error", "committer", "member"),
    [
        (ERROR.NONE, ERROR.NONE, ERROR.NONE),
        (ERROR.UNKNOWN_TOPIC_OR_PARTITION, ERROR.COORDINATOR_NOT_AVAILABLE, ERROR.COORDINATOR_NOT_AVAILABLE),
        (ERROR.NOT_ENOUGH_REPLICAS, ERROR.COORDINATOR_NOT_AVAILABLE, ERROR.COORDINATOR_NOT_AVAILABLE),
        (ERROR.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ERROR.COORDINATOR_NOT_AVAILABLE, ERROR.COORDINATOR_NOT_AVAILABLE),
        (ERROR.NOT_LEADER_OR_FOLLOWER, ERROR.NOT_COORDINATOR, ERROR.NOT_COORDINATOR),
        (ERROR.KAFKA_STORAGE_ERROR, ERROR.NOT_COORDINATOR, ERROR.NOT_COORDINATOR),
        (ERROR.MESSAGE_TOO_LARGE, ERROR.INVALID_COMMIT_OFFSET_SIZE, ERROR.UNKNOWN_SERVER_ERROR),
        (ERROR.RECORD_LIST_TOO_LARGE, ERROR.INVALID_COMMIT_OFFSET_SIZE, ERROR.UNKNOWN_SERVER_ERROR),
        (ERROR.REQUEST_TIMED_OUT, ERROR.REQUEST_TIMED_OUT, ERROR.REBALANCE_IN_PROGRESS),
        (ERROR.NETWORK_EXCEPTION, ERROR.COORDINATOR_LOAD_IN_PROGRESS, ERROR.NETWORK_EXCEPTION),
    ],
)
def test_errors_of_a_write_as_clients_are_reported(
    error: KafkaError, committer: KafkaError, member: KafkaError
) -> None:
    assert (commit_error(error), store_error(error)) == (committer, member)


def test_a_member_id_ends_with_a_random_uuid() -> None:
    talk = started()
    ids = [talk.ask(OWNER, join()).member_id for _ in range(4)]
    form = re.compile("app-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert all(form.fullmatch(each) for each in ids)
    assert len(set(ids)) == 4
