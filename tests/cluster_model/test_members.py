"""A member of a group against brokers that answer as the test says: joining, heartbeats, commits, positions."""

from typing import Any

import pytest

from cluster_model.clients.application import Application
from cluster_model.clients.consumer import Consumer
from cluster_model.clients.group_settings import GroupSettings
from cluster_model.config import ConfigValue, ConsumerConfig
from cluster_model.errors import KafkaError, ModelError
from cluster_model.events import (
    CommitFailed,
    ConsumerFailed,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsRead,
)
from cluster_model.groups.messages import (
    Assignment,
    CommittedOffset,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster_model.kernel.port import Port
from cluster_model.messages import EpochEndRequest, FetchRequest, ListOffsetsRequest
from cluster_model.profiles import Profile
from tests.cluster_model.rigs import BROKERS, CLIENT, LATENCY, MS, SECOND, ReadingRig, state
from tests.cluster_model.test_consumer import answer, data, fill

E = KafkaError
COORDINATOR = 3


class MemberRig(ReadingRig):
    """A member; broker 1 leads the partitions of ``t``, broker 3 coordinates."""

    def __init__(
        self,
        *,
        kafka: str = "3.9",
        config: dict[str, ConfigValue] | None = None,
        partitions: int = 2,
        processing_us: int = 0,
        commit: str = "auto",
        instance: str = "",
        pattern: str = "",
    ) -> None:
        super().__init__(partitions)
        profile = Profile.of(kafka)
        given = {"enable.auto.commit": commit == "auto", **(config or {})}
        self.consumer = Consumer(
            Port(self.network, CLIENT), "g/0", "g", profile, ConsumerConfig.of(profile, given), (), BROKERS,
            Application(processing_us, commit), self.lineages, self.events.append,
        )  # fmt: skip
        self.network.add(CLIENT, "g/0", self.consumer)
        self.consumer.subscribe(GroupSettings.of(profile, given, instance), () if pattern else ("t",), pattern)
        self.consumer.begin(tuple(state(name, 1) for name in self.partitions))
        self.run(LATENCY)

    @property
    def positions(self) -> dict[str, int]:
        return self.consumer.positions

    def newest(self, kind: type[Any], broker: int = COORDINATOR) -> Any:
        return self.asked(kind, broker)[-1]

    def tell(self, message: tuple[Any, ...], broker: int = COORDINATOR) -> None:
        self.reply(broker, message)
        self.run(2 * LATENCY)

    def find(self, broker: int = COORDINATOR) -> None:
        """Answer the newest lookup, whoever was asked."""
        asked = [(at, who) for who in BROKERS for at in self.times(FindCoordinatorRequest, who)]
        _at, who = max(asked)
        request = self.newest(FindCoordinatorRequest, who)
        self.tell(FindCoordinatorResponse(request.correlation, 0, broker), who)

    def joined(
        self, generation: int = 1, *, leads: bool = False, error: KafkaError = E.NONE, member: str = "m"
    ) -> None:
        request = self.newest(JoinGroupRequest)
        members = (JoinGroupMember("m", "", Subscription(("t",))), JoinGroupMember("n", "", Subscription(("t",))))
        response = JoinGroupResponse(
            request.correlation, error, -1 if error else generation, request.protocols[0].name, "m" if leads else "n",
            member, members if leads else (),
        )  # fmt: skip
        self.tell(response)

    def synced(self, *partitions: str, error: KafkaError = E.NONE) -> None:
        request = self.newest(SyncGroupRequest)
        self.tell(SyncGroupResponse(request.correlation, error, Assignment(partitions)))

    def committed(self, **offsets: int) -> None:
        """Answer the OffsetFetch: offsets by partition, with an underscore for the dash."""
        request = self.newest(OffsetFetchRequest)
        found = {name.replace("_", "-"): offset for name, offset in offsets.items()}
        answers = [FetchedOffset(name, found.get(name, -1), -1, "", 0) for name in request.partitions]
        self.tell(OffsetFetchResponse(request.correlation, 0, tuple(answers)))

    def accept(self, error: KafkaError = E.NONE) -> None:
        """Answer the newest commit."""
        request = self.newest(OffsetCommitRequest)
        self.tell(OffsetCommitResponse(request.correlation, tuple((each.partition, error) for each in request.offsets)))

    def beat(self, error: KafkaError = E.NONE) -> None:
        self.tell(HeartbeatResponse(self.newest(HeartbeatRequest).correlation, error))

    def commits(self) -> list[dict[str, int]]:
        return [
            {each.partition: each.offset for each in request.offsets}
            for request in self.asked(OffsetCommitRequest, COORDINATOR)
        ]


def member(**how: Any) -> MemberRig:
    """One that has joined, and reads both partitions from 0."""
    rig = MemberRig(**how)
    rig.find()
    rig.joined()
    rig.synced(*rig.partitions)
    rig.committed(**{name.replace("-", "_"): 0 for name in rig.partitions})
    return rig


# --- finding and joining


def test_a_coordinator_is_looked_for_again_after_the_back_off() -> None:
    rig = MemberRig()
    (request,) = [each for broker in BROKERS for each in rig.asked(FindCoordinatorRequest, broker)]
    assert (request.key, request.key_type) == ("g", 0)
    asked_of = next(broker for broker in BROKERS if rig.asked(FindCoordinatorRequest, broker))
    rig.tell(FindCoordinatorResponse(request.correlation, E.COORDINATOR_NOT_AVAILABLE, -1), asked_of)
    rig.run(90 * MS)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) == 1
    rig.run(20 * MS)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) == 2
    assert rig.asked(JoinGroupRequest, COORDINATOR) == []


def test_a_member_joins_with_its_assignors_and_its_times() -> None:
    rig = MemberRig()
    rig.find()
    (join,) = rig.asked(JoinGroupRequest, COORDINATOR)
    assert (join.group_id, join.client_id, join.member_id) == ("g", "g/0", "")
    assert (join.session_timeout_us, join.rebalance_timeout_us) == (45 * SECOND, 300 * SECOND)
    assert [(each.name, each.metadata.topics) for each in join.protocols] == [
        ("range", ("t",)), ("cooperative-sticky", ("t",)),
    ]  # fmt: skip


def test_a_new_member_joins_at_once_with_the_id_that_it_is_given() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined(error=E.MEMBER_ID_REQUIRED, member="g/0-1")
    assert [join.member_id for join in rig.asked(JoinGroupRequest, COORDINATOR)] == ["", "g/0-1"]


def test_the_leader_brings_everybodys_assignment_and_the_others_none() -> None:
    rig = MemberRig(partitions=3)
    rig.find()
    rig.joined(leads=True)
    assert rig.newest(SyncGroupRequest).assignments == (
        ("m", Assignment(("t-0", "t-1"))), ("n", Assignment(("t-2",))),
    )  # fmt: skip
    other = MemberRig()
    other.find()
    other.joined(4)
    assert (other.newest(SyncGroupRequest).assignments, other.newest(SyncGroupRequest).generation_id) == ((), 4)


@pytest.mark.parametrize(
    ("error", "again_after", "member_id", "generation"),
    [
        (E.COORDINATOR_LOAD_IN_PROGRESS, 100 * MS, "m", 1),
        (E.REBALANCE_IN_PROGRESS, 0, "m", 1),
        (E.UNKNOWN_MEMBER_ID, 0, "", -1),
        (E.ILLEGAL_GENERATION, 0, "m", -1),
    ],
    ids=lambda value: value.name if isinstance(value, KafkaError) else str(value),
)
def test_a_refused_sync_joins_again(error: KafkaError, again_after: int, member_id: str, generation: int) -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    refused_at = rig.now + LATENCY
    rig.synced(error=error)
    rig.run(again_after)
    assert rig.times(JoinGroupRequest, COORDINATOR)[1:] == [refused_at + again_after + LATENCY]
    assert rig.newest(JoinGroupRequest).member_id == member_id
    assert rig.consumer.coordination is not None
    assert rig.consumer.coordination.member.generation == generation


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE], ids=lambda error: error.name)
def test_a_join_at_the_wrong_broker_looks_for_the_right_one_and_keeps_the_member_id(error: KafkaError) -> None:
    rig = MemberRig()
    rig.find()
    rig.joined(error=E.MEMBER_ID_REQUIRED, member="x")
    rig.joined(error=error, member="")
    rig.run(110 * MS)
    rig.find(2)
    rig.run(110 * MS)
    assert rig.newest(JoinGroupRequest, 2).member_id == "x"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.INCONSISTENT_GROUP_PROTOCOL, "InconsistentGroupProtocolException"),
        (E.INVALID_SESSION_TIMEOUT, "InvalidSessionTimeoutException"),
        (E.GROUP_MAX_SIZE_REACHED, "GroupMaxSizeReachedException"),
        (E.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
    ],
)
def test_what_will_not_pass_ends_the_application(error: KafkaError, name: str) -> None:
    rig = MemberRig()
    rig.find()
    rig.joined(error=error)
    assert [event.error for event in rig.of(ConsumerFailed)] == [name]
    rig.run(20 * SECOND)
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 1


# --- positions


def test_a_member_starts_at_what_its_group_has_committed_and_holds_it_against_the_leader() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    rig.synced("t-0", "t-1")
    request = rig.newest(OffsetFetchRequest)
    assert (request.partitions, request.require_stable) == (("t-0", "t-1"), True)
    answers = (FetchedOffset("t-0", 7, 2, "", 0), FetchedOffset("t-1", -1, -1, "", 0))
    rig.tell(OffsetFetchResponse(request.correlation, 0, answers))
    assert rig.newest(EpochEndRequest, 1).partitions == (("t-0", 2, 0),)
    assert rig.newest(ListOffsetsRequest, 1).partition == "t-1"
    assert rig.asked(FetchRequest, 1) == []


def test_what_is_committed_is_asked_for_again_while_it_is_loaded() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    rig.synced("t-0")
    rig.tell(OffsetFetchResponse(rig.newest(OffsetFetchRequest).correlation, E.COORDINATOR_LOAD_IN_PROGRESS, ()))
    rig.run(110 * MS)
    assert len(rig.asked(OffsetFetchRequest, COORDINATOR)) == 2
    rig.committed(t_0=3)
    assert rig.positions == {"t-0": 3}


def test_without_a_policy_a_group_that_has_committed_nothing_cannot_begin() -> None:
    rig = MemberRig(config={"auto.offset.reset": "none"})
    rig.find()
    rig.joined()
    rig.synced("t-0")
    rig.committed()
    assert rig.consumer.failed == "NoOffsetForPartitionException"
    assert len(rig.asked(LeaveGroupRequest, COORDINATOR)) == 1


# --- heartbeats


def test_heartbeats_go_on_while_records_are_processed() -> None:
    rig = member(processing_us=20 * SECOND)
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    for _ in range(4):
        rig.run(3 * SECOND)
        rig.beat()
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == 4


def test_before_0_10_1_they_are_the_polls() -> None:
    rig = member(kafka="0.10.0", processing_us=20 * SECOND)
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    rig.run(19 * SECOND)
    assert rig.asked(HeartbeatRequest, COORDINATOR) == []
    rig.run(2 * SECOND)
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == 1


@pytest.mark.parametrize(
    ("error", "member_id", "lost"),
    [(E.ILLEGAL_GENERATION, "m", True), (E.UNKNOWN_MEMBER_ID, "", True), (E.REBALANCE_IN_PROGRESS, "m", False)],
    ids=lambda value: value.name if isinstance(value, KafkaError) else str(value),
)
def test_a_refused_heartbeat_joins_again(error: KafkaError, member_id: str, lost: bool) -> None:
    rig = member()
    rig.run(3 * SECOND)
    rig.beat(error)
    if rig.commits():
        rig.accept()
    assert rig.newest(JoinGroupRequest).member_id == member_id
    assert [event.detail for event in rig.of(PartitionsLost)] == (["t-0, t-1"] if lost else [])
    assert [event.detail for event in rig.of(PartitionsRevoked)] == ([] if lost else ["generation 1: t-0, t-1"])
    assert rig.positions == {}


def test_before_2_4_lost_partitions_are_told_as_revoked() -> None:
    rig = member(kafka="2.3")
    rig.run(3 * SECOND)
    rig.beat(E.UNKNOWN_MEMBER_ID)
    assert (rig.of(PartitionsLost), len(rig.of(PartitionsRevoked))) == ([], 1)


def test_a_fenced_member_ends() -> None:
    rig = member(instance="a")
    assert rig.asked(JoinGroupRequest, COORDINATOR)[0].group_instance_id == "a"
    rig.run(3 * SECOND)
    rig.beat(E.FENCED_INSTANCE_ID)
    rig.run(SECOND)
    assert rig.consumer.failed == "FencedInstanceIdException"
    assert rig.asked(LeaveGroupRequest, COORDINATOR) == []


def test_another_coordinator_is_gone_to_without_a_rebalance() -> None:
    rig = member()
    rig.run(3 * SECOND)
    rig.beat(E.NOT_COORDINATOR)
    rig.run(110 * MS)
    rig.find(2)
    rig.run(3 * SECOND)
    beats = rig.asked(HeartbeatRequest, 2)
    assert (beats[0].member_id, beats[0].generation_id) == ("m", 1)
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 1
    assert rig.asked(JoinGroupRequest, 2) == []


def test_a_coordinator_that_is_silent_for_a_session_is_looked_for_anew() -> None:
    rig = member(config={"session.timeout.ms": 10_000})
    before = sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS)
    rig.run(9 * SECOND)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) == before
    rig.run(2 * SECOND)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) > before


# --- max.poll.interval.ms


@pytest.mark.parametrize(("instance", "left"), [("", 1), ("a", 0)])
def test_who_does_not_poll_in_time_leaves_unless_it_is_static(instance: str, left: int) -> None:
    rig = member(processing_us=20 * SECOND, instance=instance, config={"max.poll.interval.ms": 10_000})
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    for _ in range(3):
        rig.run(3 * SECOND)
        rig.beat()
    assert rig.asked(LeaveGroupRequest, COORDINATOR) == []
    rig.run(2 * SECOND)
    beats = len(rig.asked(HeartbeatRequest, COORDINATOR))
    assert len(rig.asked(LeaveGroupRequest, COORDINATOR)) == left
    rig.run(7 * SECOND)
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == beats
    assert rig.of(PartitionsLost) == []
    rig.run(3 * SECOND)
    assert rig.newest(JoinGroupRequest).member_id == ""
    assert len(rig.of(PartitionsLost)) == 1


# --- automatic commits


def test_an_automatic_commit_has_what_earlier_polls_handed_out() -> None:
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


def test_the_interval_begins_anew_with_an_assignment() -> None:
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
def test_a_commit_that_the_coordinator_cannot_make_looks_for_another(error: KafkaError) -> None:
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


def test_given_offsets_are_committed_as_they_are() -> None:
    rig = member(commit="none")
    coordination = rig.consumer.coordination
    assert coordination is not None
    coordination.commits.commit("async", coordination.commits.named({"other-7": 99, "t-0": 40}), rig.now)
    rig.run(2 * LATENCY)
    assert rig.newest(OffsetCommitRequest).offsets == (CommittedOffset("other-7", 99), CommittedOffset("t-0", 40))
    with pytest.raises(ModelError, match="IllegalArgumentException"):
        coordination.commits.named({"t-0": -1})


def test_a_commit_carries_the_epoch_of_the_last_record_since_2_1() -> None:
    for kafka, epoch in (("2.0", -1), ("2.1", 0)):
        rig = reading("sync", kafka=kafka)
        rig.run(10 * MS)
        assert rig.newest(OffsetCommitRequest).offsets[0] == CommittedOffset("t-0", 2, epoch)


# --- cooperative


COOPERATIVE: dict[str, ConfigValue] = {"partition.assignment.strategy": "CooperativeStickyAssignor"}


def test_a_cooperative_member_keeps_what_it_has_and_reads_on_during_a_rebalance() -> None:
    rig = member(config=COOPERATIVE, commit="none")
    fill(rig, "t-0", 3)
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    join = rig.newest(JoinGroupRequest)
    assert join.protocols[0].metadata == Subscription(("t",), ("t-0", "t-1"), 1)
    answer(rig, data(rig, "t-0", 0, 2))
    assert (rig.consumer.read, rig.of(PartitionsRevoked)) == (2, [])
    rig.joined(2)
    rig.synced("t-0")
    assert [event.detail for event in rig.of(PartitionsRevoked)] == ["generation 2: t-1"]
    assert len(rig.of(PartitionsAssigned)) == 1
    assert rig.newest(JoinGroupRequest).protocols[0].metadata.owned == ("t-0",)
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 3
    assert rig.positions == {"t-0": 2}


def test_a_round_that_revokes_nothing_is_the_last() -> None:
    rig = member(config=COOPERATIVE, commit="none")
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    rig.joined(2)
    rig.synced("t-0", "t-1")
    rig.run(SECOND)
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 2
    assert len(rig.of(PartitionsAssigned)) == 1


# --- triggers


def grow(rig: MemberRig, *names: str) -> None:
    """Metadata tells of more."""
    rig.run(5_200 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], *(state(name, 1) for name in (*rig.partitions, *names)))
    rig.run(2 * LATENCY)


@pytest.mark.parametrize(("leads", "joins"), [(True, 2), (False, 1)])
def test_only_the_leader_joins_again_when_a_topic_grows(leads: bool, joins: int) -> None:
    rig = MemberRig(config={"metadata.max.age.ms": 5_000}, commit="none")
    rig.find()
    rig.joined(leads=leads)
    rig.synced("t-0")
    rig.committed(t_0=0)
    grow(rig, "t-2")
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == joins


def test_who_subscribes_to_a_pattern_joins_again_when_other_topics_match_it() -> None:
    rig = MemberRig(config={"metadata.max.age.ms": 5_000}, commit="none", pattern="t.*")
    rig.find()
    rig.joined()
    rig.synced("t-0")
    rig.committed(t_0=0)
    grow(rig, "t-2", "u-0", "__consumer_offsets-0")
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 1
    grow(rig, "tea-0", "__consumer_offsets-0")
    assert rig.newest(JoinGroupRequest).protocols[0].metadata.topics == ("t", "tea")


# --- whatever else


def test_a_broken_connection_to_the_coordinator_is_no_rebalance() -> None:
    rig = member()
    rig.network.crash(COORDINATOR)
    rig.run(200 * MS)
    rig.find(2)
    rig.run(4 * SECOND)
    assert len(rig.asked(HeartbeatRequest, 2)) >= 1
    assert rig.asked(JoinGroupRequest, 2) == []
    assert rig.of(PartitionsLost) == []


def test_a_loaded_member_goes_on_exactly_as_the_first_time() -> None:
    rig = member(processing_us=MS)
    fill(rig, "t-0", 4)
    answer(rig, data(rig, "t-0", 0, 2))
    rig.run(5_100 * MS)
    saved = rig.network.save(), rig.consumer.save()

    def go_on() -> Any:
        rig.accept()
        rig.beat(E.REBALANCE_IN_PROGRESS)
        rig.accept()
        rig.joined(2)
        rig.synced("t-1")
        rig.run(SECOND)
        return rig.consumer.save()

    got = {broker: len(node.got) for broker, node in rig.brokers.items()}
    first = go_on()
    for broker, node in rig.brokers.items():
        del node.got[got[broker] :]
    rig.network.load(saved[0])
    rig.consumer.load(saved[1])
    assert rig.consumer.save() == saved[1]
    assert go_on() == first
