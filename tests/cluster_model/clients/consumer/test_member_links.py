"""A member and its coordinator: one question of a kind at a time, how long answers are waited for, what is repeated."""

from typing import Any

from cluster_model.clients.consumer.coordinator import ClassicGroupClient
from cluster_model.clients.consumer.membership import STABLE
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import CommitFailed, ConsumerFailed
from cluster_model.protocol.group_messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from cluster_model.protocol.messages import MetadataRequest
from tests.cluster_model.clients.consumer.test_consumer import answer, data, fill
from tests.cluster_model.member_rig import COORDINATOR, E, MemberRig, member
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, SECOND

COOPERATIVE: dict[str, ConfigValue] = {"partition.assignment.strategy": "CooperativeStickyAssignor"}


def everywhere(rig: MemberRig, kind: type[Any]) -> int:
    return sum(len(rig.asked(kind, broker)) for broker in BROKERS)


def classic(rig: MemberRig) -> ClassicGroupClient:
    """A member's side of a group by the classic protocol."""
    coordination = rig.consumer.coordination
    assert isinstance(coordination, ClassicGroupClient)
    return coordination


def test_one_heartbeat_is_under_way_at_a_time() -> None:
    rig = member()
    rig.run(10 * SECOND)
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == 1


def test_a_coordinator_that_answers_is_not_looked_for_again() -> None:
    rig = member(config={"session.timeout.ms": 6_000}, commit="none")
    lookups = everywhere(rig, FindCoordinatorRequest)
    for _ in range(5):
        rig.run(3 * SECOND)
        rig.beat()
    assert everywhere(rig, FindCoordinatorRequest) == lookups
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) >= 4


def test_after_a_refused_heartbeat_the_next_waits_for_the_back_off_only() -> None:
    rig = member(commit="none")
    rig.run(3 * SECOND)
    beats = len(rig.asked(HeartbeatRequest, COORDINATOR))
    rig.beat(E.COORDINATOR_NOT_AVAILABLE)
    rig.find()
    rig.run(150 * MS)
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == beats + 1


def test_one_lookup_is_under_way_at_a_time() -> None:
    rig = MemberRig()
    rig.run(5 * SECOND)
    assert everywhere(rig, FindCoordinatorRequest) == 1


def test_a_member_without_a_coordinator_requests_metadata() -> None:
    rig = MemberRig()
    before = everywhere(rig, MetadataRequest)
    who = next(broker for broker in BROKERS if rig.asked(FindCoordinatorRequest, broker))
    number = rig.newest(FindCoordinatorRequest, who).correlation_id
    rig.tell(FindCoordinatorResponse(number, E.COORDINATOR_NOT_AVAILABLE, -1), who)
    rig.run(50 * MS)
    assert everywhere(rig, MetadataRequest) == before + 1


def test_a_join_is_waited_for_as_long_as_the_rebalance_may_take() -> None:
    rig = MemberRig(config={"max.poll.interval.ms": 60_000})
    rig.find()
    rig.run(64 * SECOND)
    assert (len(rig.asked(JoinGroupRequest, COORDINATOR)), everywhere(rig, FindCoordinatorRequest)) == (1, 1)
    rig.run(2 * SECOND)
    assert everywhere(rig, FindCoordinatorRequest) == 2


def test_a_request_that_times_out_is_sent_again() -> None:
    rig = MemberRig(config={"request.timeout.ms": 2_000})
    rig.find()
    rig.joined()
    rig.synced("t-0")
    asked = len(rig.asked(OffsetFetchRequest, COORDINATOR))
    rig.run(1_900 * MS)
    assert everywhere(rig, FindCoordinatorRequest) == 1
    rig.run(200 * MS)
    rig.find()
    rig.run(150 * MS)
    assert len(rig.asked(OffsetFetchRequest, COORDINATOR)) == asked + 1


def test_committed_offsets_are_fetched_again_after_the_backoff() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    rig.synced("t-0")
    number = rig.newest(OffsetFetchRequest).correlation_id
    rig.tell(OffsetFetchResponse(number, E.COORDINATOR_LOAD_IN_PROGRESS, ()))
    assert len(rig.asked(OffsetFetchRequest, COORDINATOR)) == 1
    rig.run(110 * MS)
    assert len(rig.asked(OffsetFetchRequest, COORDINATOR)) == 2
    rig.committed(t_0=3)
    assert rig.positions == {"t-0": 3}


def test_a_rebalance_waits_for_its_commit_to_be_repeated() -> None:
    rig = member(config={"auto.commit.interval.ms": 60_000})
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    joins = len(rig.asked(JoinGroupRequest, COORDINATOR))
    rig.accept(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == joins
    rig.run(110 * MS)
    assert len(rig.asked(OffsetCommitRequest, COORDINATOR)) == 2
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == joins
    rig.accept()
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == joins + 1


def test_a_commit_of_a_fenced_instance_ends_the_application() -> None:
    rig = member(instance="i", config={"auto.commit.interval.ms": 1_000})
    rig.run(SECOND)
    rig.accept(E.FENCED_INSTANCE_ID)
    rig.run(2 * LATENCY + 5 * SECOND)
    assert [event.error for event in rig.events if isinstance(event, ConsumerFailed)] == ["FencedInstanceIdException"]


def test_a_sticky_assignor_is_reported_what_the_member_had_last() -> None:
    rig = member(config={"partition.assignment.strategy": "StickyAssignor"}, commit="none")
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    (protocol,) = rig.newest(JoinGroupRequest).protocols
    assert (protocol.metadata.owned, protocol.metadata.generation) == (("t-0", "t-1"), 1)


def test_an_answer_to_a_heartbeat_of_before_a_rebalance_is_of_no_interest() -> None:
    rig = member(commit="none")
    rig.run(3 * SECOND)
    heartbeat = classic(rig).member.heartbeat
    number = rig.newest(HeartbeatRequest).correlation_id
    assert heartbeat.expects(number)
    heartbeat.stop()
    assert not heartbeat.expects(number)
    heartbeat.start(rig.now)
    assert not heartbeat.expects(number)
    assert heartbeat.due_now(rig.now + 3 * SECOND)


def test_requests_in_flight_are_lost_with_the_connection() -> None:
    rig = MemberRig()
    rig.find()
    link = classic(rig).link
    number = rig.newest(JoinGroupRequest).correlation_id
    assert (link.on_disconnect(1), link.is_known, link.busy(COORDINATOR)) == ([], True, True)
    assert link.on_disconnect(COORDINATOR) == [("join", number)]
    assert (link.is_known, link.waits, link.complete(number)) == (False, False, False)


def test_a_disconnected_coordinator_is_looked_up_and_the_request_repeated() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    rig.synced("t-0")
    rig.consumer.on_disconnect(COORDINATOR)
    rig.run(110 * MS)
    assert everywhere(rig, FindCoordinatorRequest) == 2
    rig.find(2)
    rig.run(110 * MS)
    assert len(rig.asked(OffsetFetchRequest, 2)) == 1


def test_a_consumer_that_is_about_to_join_commits_nothing_automatically() -> None:
    rig = member(config={"auto.commit.interval.ms": 60_000, **COOPERATIVE})
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    rig.accept()
    coordination = classic(rig)
    assert coordination.member.state != STABLE
    before = len(rig.commits())
    coordination.commits.auto(rig.now + 60 * SECOND)
    assert (len(rig.commits()), rig.of(CommitFailed)) == (before, [])


def test_committed_offsets_are_not_fetched_during_a_rebalance() -> None:
    rig = MemberRig(config=COOPERATIVE, commit="none")
    rig.find()
    rig.joined()
    rig.synced("t-0", "t-1")
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    assert len(rig.asked(JoinGroupRequest, COORDINATOR)) == 2
    number = rig.newest(OffsetFetchRequest).correlation_id
    rig.tell(OffsetFetchResponse(number, E.COORDINATOR_LOAD_IN_PROGRESS, ()))
    rig.run(300 * MS)
    assert len(rig.asked(OffsetFetchRequest, COORDINATOR)) == 1
    rig.joined(2)
    rig.synced("t-0", "t-1")
    assert len(rig.asked(OffsetFetchRequest, COORDINATOR)) == 2


def test_a_coordinator_is_looked_for_while_the_application_processes() -> None:
    rig = member(processing_us=60 * SECOND, commit="none")
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    rig.run(3 * SECOND)
    lookups = everywhere(rig, FindCoordinatorRequest)
    rig.beat(E.NOT_COORDINATOR)
    rig.run(200 * MS)
    assert everywhere(rig, FindCoordinatorRequest) == lookups + 1


def test_without_a_thread_of_their_own_heartbeats_continue_while_a_commit_is_waited_for() -> None:
    rig = member(kafka="0.9", commit="sync", config={"session.timeout.ms": 10_000})
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    rig.run(10 * MS)
    assert len(rig.commits()) == 1
    assert rig.asked(HeartbeatRequest, COORDINATOR) == []
    rig.run(4 * SECOND)
    assert len(rig.asked(HeartbeatRequest, COORDINATOR)) == 1
    assert len(rig.commits()) == 1
