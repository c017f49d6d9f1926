"""A member of a group against brokers that answer as the test says: joining, heartbeats, positions, triggers."""

from typing import Any

import pytest

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ConsumerFailed, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from cluster_model.protocol.group_messages import (
    Assignment,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
)
from cluster_model.protocol.messages import EpochEndRequest, FetchRequest, ListOffsetsRequest
from tests.cluster_model.clients.consumer.test_consumer import answer, data, fill
from tests.cluster_model.member_rig import COORDINATOR, E, MemberRig, member
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, SECOND, state

# --- finding and joining


def test_a_coordinator_is_looked_for_again_after_the_back_off() -> None:
    rig = MemberRig()
    (request,) = [each for broker in BROKERS for each in rig.asked(FindCoordinatorRequest, broker)]
    assert (request.key, request.key_type) == ("g", 0)
    asked_of = next(broker for broker in BROKERS if rig.asked(FindCoordinatorRequest, broker))
    rig.tell(FindCoordinatorResponse(request.correlation_id, E.COORDINATOR_NOT_AVAILABLE, -1), asked_of)
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
def test_a_join_at_the_wrong_broker_looks_up_the_coordinator_and_keeps_the_member_id(error: KafkaError) -> None:
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
def test_fatal_join_errors_end_the_application(error: KafkaError, name: str) -> None:
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
    rig.tell(OffsetFetchResponse(request.correlation_id, 0, answers))
    assert rig.newest(EpochEndRequest, 1).partitions == (("t-0", 2, 0),)
    assert rig.newest(ListOffsetsRequest, 1).partition == "t-1"
    assert rig.asked(FetchRequest, 1) == []


def test_committed_offsets_are_fetched_again_while_the_coordinator_loads() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    rig.synced("t-0")
    rig.tell(OffsetFetchResponse(rig.newest(OffsetFetchRequest).correlation_id, E.COORDINATOR_LOAD_IN_PROGRESS, ()))
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


def test_heartbeats_continue_while_records_are_processed() -> None:
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


def test_before_2_4_lost_partitions_are_reported_as_revoked() -> None:
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


def test_a_coordinator_silent_for_a_session_timeout_is_looked_up_again() -> None:
    rig = member(config={"session.timeout.ms": 10_000})
    before = sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS)
    rig.run(9 * SECOND)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) == before
    rig.run(2 * SECOND)
    assert sum(len(rig.asked(FindCoordinatorRequest, broker)) for broker in BROKERS) > before


# --- max.poll.interval.ms


@pytest.mark.parametrize(("instance", "left"), [("", 1), ("a", 0)])
def test_a_consumer_that_does_not_poll_in_time_leaves_unless_it_is_static(instance: str, left: int) -> None:
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


def test_a_consumer_that_subscribes_to_a_pattern_joins_again_when_other_topics_match_it() -> None:
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


def test_a_loaded_member_continues_exactly_as_the_first_time() -> None:
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
