"""What a member commits, when, and what becomes of errors."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import CommitFailed, HandlerFailed, OffsetsCommitted, PartitionsAssigned, RecordsRead
from cluster_model.protocol.group_messages import (
    CommittedOffset,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
)
from cluster_model.spec.cluster_spec import Application
from tests.cluster_model.clients.consumer.test_consumer import answer, data, fill
from tests.cluster_model.member_rig import COORDINATOR, E, MemberRig, member
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, SECOND

# --- automatic commits


def test_an_automatic_commit_has_what_earlier_polls_returned() -> None:
    rig = member()
    fill(rig, "t-0", 3)
    answer(rig, data(rig, "t-0", 0, 3))
    rig.run(4_900 * MS)
    assert rig.commits() == []
    rig.run(200 * MS)
    assert rig.commits() == [{"t-0": 3, "t-1": 0}]
    rig.accept()
    assert [(event.partition, event.log_offset, event.by) for event in rig.of(OffsetsCommitted)] == [
        ("t-0", 3, "auto"), ("t-1", 0, "auto"),
    ]  # fmt: skip
    rig.run(5 * SECOND)
    rig.accept()
    assert (len(rig.commits()), len(rig.of(OffsetsCommitted))) == (2, 2)


def test_without_a_poll_there_is_no_automatic_commit() -> None:
    rig = member(processing_us=8 * SECOND)
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    handed = rig.of(RecordsRead)[0].at_us
    rig.run(handed + 8 * SECOND - 1 - rig.now)
    assert rig.commits() == []
    rig.run(1 + LATENCY)
    assert rig.commits() == [{"t-0": 1, "t-1": 0}]


def test_an_automatic_commit_that_may_pass_is_made_again_after_the_back_off_and_others_are_not() -> None:
    rig = member()
    rig.run(5_100 * MS)
    rig.accept(E.COORDINATOR_LOAD_IN_PROGRESS)
    rig.run(110 * MS)
    assert len(rig.commits()) == 2
    rig.accept(E.OFFSET_METADATA_TOO_LARGE)
    rig.run(4 * SECOND)
    assert len(rig.commits()) == 2
    assert [event.error for event in rig.of(CommitFailed)] == [
        "RetriableCommitFailedException", "OffsetMetadataTooLargeException",
    ]  # fmt: skip
    assert rig.consumer.failed == ""


def test_before_a_rebalance_it_commits_and_waits_and_hands_out_nothing_meanwhile() -> None:
    rig = member()
    fill(rig, "t-0", 3)
    answer(rig, data(rig, "t-0", 0, 2))
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    assert rig.commits() == [{"t-0": 2, "t-1": 0}]
    answer(rig, data(rig, "t-0", 2, 3))
    assert (rig.consumer.read, len(rig.asked(JoinGroupRequest, COORDINATOR))) == (2, 1)
    rig.accept()
    assert rig.of(OffsetsCommitted)[0].by == "rebalance"
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 2


def test_an_assignment_restarts_the_auto_commit_interval() -> None:
    rig = member(config={"auto.commit.interval.ms": 4_000})
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    rig.accept()
    rig.joined(2)
    rig.synced("t-0")
    rig.committed(t_0=0)
    assigned = rig.of(PartitionsAssigned)[-1].at_us
    rig.run(assigned + 4 * SECOND - rig.now)
    assert len(rig.commits()) == 1
    rig.run(LATENCY)
    assert len(rig.commits()) == 2


def test_a_close_commits_and_leaves_and_a_static_member_only_commits() -> None:
    for instance, left in (("", 1), ("a", 0)):
        rig = member(instance=instance)
        rig.consumer.close()
        rig.run(2 * LATENCY)
        assert (len(rig.commits()), rig.asked(LeaveGroupRequest, COORDINATOR)) == (1, [])
        rig.accept()
        assert len(rig.asked(LeaveGroupRequest, COORDINATOR)) == left
        rig.run(20 * SECOND)
        assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == 0


# --- commits of the application


def reading(commit: str, **how: Any) -> MemberRig:
    """A member that has been handed two records of t-0, and is done with them 10 ms later."""
    rig = member(commit=commit, processing_us=5 * MS, **how)
    fill(rig, "t-0", 5)
    answer(rig, data(rig, "t-0", 0, 2))
    return rig


def test_commit_sync_comes_after_processing_and_the_next_poll_after_it() -> None:
    rig = reading("sync")
    assert rig.commits() == []
    rig.run(10 * MS)
    assert rig.commits() == [{"t-0": 2, "t-1": 0}]
    answer(rig, data(rig, "t-0", 2, 5))
    assert rig.consumer.read == 2
    rig.accept()
    assert rig.consumer.read == 5


def test_commit_before_processing() -> None:
    rig = reading("before")
    assert rig.commits() == [{"t-0": 2, "t-1": 0}]
    rig.accept()
    answer(rig, data(rig, "t-0", 2, 5))
    assert rig.consumer.read == 2
    rig.run(10 * MS)
    assert rig.consumer.read == 5


def test_commit_async_does_not_wait() -> None:
    rig = reading("async")
    rig.run(10 * MS)
    assert rig.commits() == [{"t-0": 2, "t-1": 0}]
    answer(rig, data(rig, "t-0", 2, 5))
    assert rig.consumer.read == 5


def test_without_commits_nothing_is_committed() -> None:
    rig = reading("none")
    rig.run(20 * SECOND)
    assert rig.commits() == []


@pytest.mark.parametrize("error", [E.COORDINATOR_LOAD_IN_PROGRESS, E.UNKNOWN_TOPIC_OR_PARTITION])
def test_commit_sync_is_repeated_and_commit_async_is_not(error: KafkaError) -> None:
    for commit, sent in (("sync", 2), ("async", 1)):
        rig = reading(commit)
        rig.run(10 * MS)
        rig.accept(error)
        rig.run(110 * MS)
        assert len(rig.commits()) == sent
    assert [event.error for event in rig.of(CommitFailed)] == ["RetriableCommitFailedException"]


def test_commit_sync_gives_up_when_its_time_is_over() -> None:
    rig = reading("sync", config={"default.api.timeout.ms": 250})
    rig.run(10 * MS)
    for _ in range(3):
        rig.accept(E.COORDINATOR_LOAD_IN_PROGRESS)
        rig.run(100 * MS)
    assert [event.error for event in rig.of(CommitFailed)] == ["TimeoutException"]
    assert rig.consumer.failed == ""


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.REQUEST_TIMED_OUT])
def test_a_rejected_commit_looks_up_the_coordinator(error: KafkaError) -> None:
    rig = reading("sync")
    rig.run(10 * MS)
    before = sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS)
    rig.accept(error)
    rig.run(110 * MS)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) == before + 1
    rig.find(2)
    rig.run(110 * MS)
    assert len(rig.asked(OffsetCommitRequest, 2)) == 1


@pytest.mark.parametrize(
    ("error", "name", "member_id"),
    [
        (E.ILLEGAL_GENERATION, "CommitFailedException", "m"),
        (E.UNKNOWN_MEMBER_ID, "CommitFailedException", ""),
        (E.REBALANCE_IN_PROGRESS, "RebalanceInProgressException", "m"),
    ],
)
def test_a_commit_out_of_turn_fails_and_joins_again(error: KafkaError, name: str, member_id: str) -> None:
    rig = reading("sync")
    rig.run(10 * MS)
    rig.accept(error)
    assert [event.error for event in rig.of(CommitFailed)] == [name]
    assert len(rig.commits()) == 1
    assert rig.newest(JoinGroupRequest).member_id == member_id


def test_a_commit_during_a_rebalance_fails_without_being_sent() -> None:
    rig = member(commit="none", config={"partition.assignment.strategy": "CooperativeStickyAssignor"})
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    coordination = rig.consumer.coordination
    assert coordination is not None
    coordination.commits.commit("async", coordination.commits.named({"t-0": 0}), rig.now)
    assert [event.error for event in rig.of(CommitFailed)] == ["RebalanceInProgressException"]
    assert rig.commits() == []


def test_given_offsets_are_committed_as_they_are(snapshot: SnapshotAssertion) -> None:
    rig = member(commit="none")
    coordination = rig.consumer.coordination
    assert coordination is not None
    coordination.commits.commit("async", coordination.commits.named({"other-7": 99, "t-0": 40}), rig.now)
    rig.run(2 * LATENCY)
    assert rig.newest(OffsetCommitRequest).offsets == (CommittedOffset("other-7", 99), CommittedOffset("t-0", 40))
    with pytest.raises(ModelError) as caught:
        coordination.commits.named({"t-0": -1})
    assert caught.value.code == "negative_offset"
    assert str(caught.value) == snapshot


def test_a_commit_carries_the_epoch_of_the_last_record_since_2_3() -> None:
    for kafka, epoch in (("2.2", -1), ("2.3", 0)):
        rig = reading("sync", kafka=kafka)
        rig.run(10 * MS)
        assert rig.newest(OffsetCommitRequest).offsets[0] == CommittedOffset("t-0", 2, epoch)


# --- handlers that fail


def test_a_record_that_cannot_be_processed_is_tried_again_and_skipped() -> None:
    application = Application(5 * MS, "sync", fails=4, retries=3, pause_us=100 * MS)
    assert application.failing("t-0", 0, 2) is None
    assert application.failing("t-0", 3, 3) == ("t-0", 3, 1)
    assert application.failing("t-0", 4, 15) == ("t-0", 7, 3)
    assert Application(5 * MS).failing("t-0", 0, 100) is None
    rig = member(processing_us=5 * MS, commit="sync")
    rig.consumer.handling.application = application
    fill(rig, "t-0", 5)
    answer(rig, data(rig, "t-0", 0, 5))
    rig.run(25 * MS + 3 * 105 * MS - 2 * MS)
    assert (rig.commits(), rig.of(HandlerFailed)) == ([], [])
    rig.run(3 * MS)
    (failed,) = rig.of(HandlerFailed)
    assert (failed.partition, failed.log_offset, failed.count) == ("t-0", 3, 1)
    assert rig.commits() == [{"t-0": 5, "t-1": 0}]
