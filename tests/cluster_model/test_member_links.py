"""A member and its coordinator: one question of a kind at a time, how long answers are waited for, what is repeated."""

from typing import Any

from cluster_model.events import ConsumerFailed
from cluster_model.groups.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from cluster_model.messages import MetadataRequest
from tests.cluster_model.member_rig import COORDINATOR, E, MemberRig, member
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, SECOND


def everywhere(rig: MemberRig, kind: type[Any]) -> int:
    return sum(len(rig.asked(kind, broker)) for broker in BROKERS)


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


def test_who_hears_of_no_coordinator_asks_for_metadata() -> None:
    rig = MemberRig()
    before = everywhere(rig, MetadataRequest)
    who = next(broker for broker in BROKERS if rig.asked(FindCoordinatorRequest, broker))
    number = rig.newest(FindCoordinatorRequest, who).correlation
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


def test_what_is_not_answered_in_time_is_asked_again() -> None:
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


def test_what_is_committed_is_asked_for_again_after_the_back_off() -> None:
    rig = MemberRig()
    rig.find()
    rig.joined()
    rig.synced("t-0")
    number = rig.newest(OffsetFetchRequest).correlation
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


def test_a_sticky_assignor_is_told_what_the_member_had_last() -> None:
    rig = member(config={"partition.assignment.strategy": "StickyAssignor"}, commit="none")
    rig.run(3 * SECOND)
    rig.beat(E.REBALANCE_IN_PROGRESS)
    (protocol,) = rig.newest(JoinGroupRequest).protocols
    assert (protocol.metadata.owned, protocol.metadata.generation) == (("t-0", "t-1"), 1)
