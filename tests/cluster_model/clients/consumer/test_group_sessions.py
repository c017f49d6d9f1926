"""Coordinated groups in a running cluster: every release line, members that come back, coordinators that move."""

from typing import TypeVar

import pytest

from cluster_model.clients.consumer.membership import STABLE
from cluster_model.cluster import Cluster
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import (
    CommitFailed,
    GroupRebalanced,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsRead,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

SECOND = 1_000_000
FIRST_MEMBER = 3_000

T = TypeVar("T")


def of(found: list[TraceEvent], kind: type[T]) -> list[T]:
    return [event for event in found if isinstance(event, kind)]


def spec(
    kafka: str = "3.9",
    *,
    members: int = 2,
    config: dict[str, ConfigValue] | None = None,
    commit: str = "auto",
    processing_us: int = 0,
    stop_us: int = -1,
    pattern: str = "",
    each_us: int = 40_000,
) -> ClusterSpec:
    """25 records a second by key."""
    consumer: dict[str, ConfigValue] = {"auto.offset.reset": "earliest", **(config or {})}
    group = GroupSpec(
        "g", () if pattern else ("t",), members, processing_us, consumer, coordinated=True, commit=commit,
        pattern=pattern,
    )  # fmt: skip
    return ClusterSpec(
        kafka,
        None,
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("t", 4, 3),),
        (ProducerSpec("p", "t", each_us, keys=50, stop_us=stop_us, config={"acks": "all"}),),
        (group,),
        config={"offsets.topic.num.partitions": 5},
    )


def member(cluster: Cluster, number: int) -> str:
    """Its state, as the client sees it."""
    coordination = cluster.consumers[f"g/{number}"].coordination
    assert coordination is not None
    return "stable" if coordination.member.state == STABLE else "other"


def owned(cluster: Cluster) -> list[str]:
    return sorted(name for consumer in cluster.consumers.values() for name in consumer.assignment)


ALL = ["t-0", "t-1", "t-2", "t-3"]


@pytest.mark.parametrize(
    "kafka", spread_sample(["0.9", "0.10.0", "0.10.1", "0.11", "2.0", "2.3", "2.8", "3.3", "3.9", "4.1"], 5)
)
def test_a_group_shares_out_what_there_is_and_reads_everything_once(kafka: str) -> None:
    cluster = Cluster.build(spec(kafka, stop_us=6 * SECOND), 1)
    cluster.run(12 * SECOND)
    events = cluster.drain()
    assert owned(cluster) == ALL
    assert sum(event.count for event in of(events, RecordsRead)) == cluster.query.acked() > 100
    assert (of(events, CommitFailed), of(events, PartitionsLost)) == ([], [])
    last = {event.partition: event.log_offset for event in of(events, OffsetsCommitted)}
    assert last == {name: cluster.query.hw(name) for name in ALL}


def test_before_0_9_there_are_no_members() -> None:
    cluster = Cluster.build(spec("0.8.2", stop_us=5 * SECOND), 1)
    cluster.run(10 * SECOND)
    assert all(consumer.coordination is None for consumer in cluster.consumers.values())
    assert sum(consumer.read for consumer in cluster.consumers.values()) == cluster.query.acked()


@pytest.mark.parametrize(
    ("strategy", "first"),
    [("RangeAssignor", "t-0, t-1"), ("RoundRobinAssignor", "t-0, t-2"), ("CooperativeStickyAssignor", "t-0, t-2")],
)
def test_assignors(strategy: str, first: str) -> None:
    cluster = Cluster.build(spec(config={"partition.assignment.strategy": strategy}), 1)
    cluster.run(15 * SECOND)
    given = {event.detail for event in of(cluster.drain(), PartitionsAssigned)}
    assert f"generation 1: {first}" in given


def test_a_pause_below_the_session_timeout_is_not_seen_and_a_longer_one_makes_a_zombie() -> None:
    cluster = Cluster.build(spec(config={"session.timeout.ms": 10_000}), 1)
    cluster.run(15 * SECOND)
    cluster.pause(FIRST_MEMBER)
    cluster.run(20 * SECOND)
    cluster.resume(FIRST_MEMBER)
    cluster.run(30 * SECOND)
    assert len(of(cluster.drain(), GroupRebalanced)) == 1
    cluster.pause(FIRST_MEMBER)
    cluster.run(50 * SECOND)
    events = cluster.drain()
    assert [event.count for event in of(events, GroupRebalanced)] == [1]
    assert cluster.consumers["g/1"].assignment == tuple(ALL)
    assert cluster.consumers["g/0"].assignment == ("t-0", "t-1")
    cluster.resume(FIRST_MEMBER)
    cluster.run(70 * SECOND)
    events = cluster.drain()
    lost = of(events, PartitionsLost)
    zombie = [event for event in of(events, RecordsRead) if event.client == "g/0" and event.at_us <= lost[0].at_us]
    assert [event.client for event in lost] == ["g/0"]
    assert zombie, "it handed out what it had, before it knew"
    assert owned(cluster) == ALL


def test_uncommitted_records_are_read_again_by_the_new_owner() -> None:
    cluster = Cluster.build(spec(config={"session.timeout.ms": 10_000, "auto.commit.interval.ms": 60_000}), 1)
    cluster.run(15 * SECOND)
    cluster.pause(FIRST_MEMBER)
    cluster.run(40 * SECOND)
    reads = of(cluster.drain(), RecordsRead)
    again = [event for event in reads if event.client == "g/1" and event.partition == "t-0"]
    assert again[0].log_offset == 0


def test_a_coordinator_that_moves_is_followed_without_a_rebalance() -> None:
    cluster = Cluster.build(spec(), 1)
    cluster.run(15 * SECOND)
    coordination = cluster.consumers["g/0"].coordination
    assert coordination is not None
    before = coordination.link.node
    cluster.drain()
    cluster.crash(before)
    cluster.run(40 * SECOND)
    events = cluster.drain()
    assert coordination.link.node not in (before, -1)
    assert (of(events, GroupRebalanced), of(events, PartitionsLost), of(events, PartitionsRevoked)) == ([], [], [])
    assert any(event.at_us > 30 * SECOND for event in of(events, OffsetsCommitted))


def test_slow_processing_loses_the_membership_and_comes_back() -> None:
    config: dict[str, ConfigValue] = {"max.poll.interval.ms": 6_000, "session.timeout.ms": 6_000}
    cluster = Cluster.build(spec(members=1, processing_us=40_000, each_us=10_000, config=config, commit="sync"), 1)
    cluster.run(40 * SECOND)
    events = cluster.drain()
    assert of(events, PartitionsLost)
    assert {event.error for event in of(events, CommitFailed)} == {"CommitFailedException"}


def test_a_restart_of_a_static_member_is_not_a_rebalance_while_a_dynamic_one_that_closes_is() -> None:
    for instance, rebalances in (("", 2), ("i", 1)):
        config: dict[str, ConfigValue] = {"group.instance.id": instance} if instance else {}
        cluster = Cluster.build(spec(config=config), 1)
        cluster.run(15 * SECOND)
        cluster.consumers["g/1"].close()
        cluster.run(30 * SECOND)
        assert len(of(cluster.drain(), GroupRebalanced)) == rebalances


def test_a_pattern_reads_what_matches_it() -> None:
    cluster = Cluster.build(spec(pattern="t|u"), 1)
    cluster.run(15 * SECOND)
    assert owned(cluster) == ALL


@pytest.mark.parametrize("commit", spread_sample(["auto", "sync", "async", "before", "none"], 2))
def test_slices_and_keyframes_leave_no_mark(commit: str) -> None:
    config: dict[str, ConfigValue] = {"session.timeout.ms": 6_000, "max.poll.records": 7}
    found = spec(members=3, processing_us=3_000, commit=commit, config=config)

    def digest(step: int) -> str:
        cluster = Cluster.build(found, 3)
        faults = {8 * SECOND: "pause", 16 * SECOND: "crash", 20 * SECOND: "resume", 24 * SECOND: "restart"}
        for at in range(step, 32 * SECOND + 1, step):
            cluster.run(at)
            if step == SECOND:
                cluster.load(cluster.save())
            if at in faults:
                node = FIRST_MEMBER if faults[at] in ("pause", "resume") else 2
                getattr(cluster, faults[at])(node)
        return cluster.digest()

    assert digest(4 * SECOND) == digest(SECOND)


def test_going_back_and_on_again_ends_the_same() -> None:
    cluster = Cluster.build(spec(members=3, processing_us=3_000, commit="sync"), 5)
    cluster.run(5 * SECOND)
    early = cluster.save()
    cluster.run(9 * SECOND)
    late = cluster.save()
    cluster.run(20 * SECOND)
    end = cluster.digest()
    for keyframe in (late, early, late):
        cluster.load(keyframe)
        cluster.run(20 * SECOND)
        assert cluster.digest() == end


def test_an_idle_member_costs_few_events() -> None:
    quiet = spec(members=1, stop_us=SECOND)
    cluster = Cluster.build(quiet, 1)
    cluster.run(20 * SECOND)
    with_member = cluster.executed
    cluster.run(80 * SECOND)
    a_second = (cluster.executed - with_member) / 60
    # Three brokers' fetches every half second, a heartbeat every three, a commit every five, and its replication.
    assert a_second < 60


# --- what is seen from outside


def test_views_and_questions_report_members_generation_assignment_and_what_is_committed() -> None:
    cluster = Cluster.build(spec(stop_us=15 * SECOND), 1)
    assert (cluster.query.members("g"), cluster.query.committed("g", "t-0")) == (0, -1)
    cluster.run(25 * SECOND)
    (group,) = cluster.view().groups
    assert (group.members, group.generation, group.lag) == (2, 1, 0)
    assert group.assignment == (("g/0", ("t-0", "t-1")), ("g/1", ("t-2", "t-3")))
    assert dict(group.committed) == {name: cluster.query.hw(name) for name in ALL}
    assert cluster.query.generation("g") == 1
    assert cluster.query.committed("g", "t-3") == cluster.query.hw("t-3") > 0


def test_lag_counts_from_what_is_committed_and_may_be_negative() -> None:
    cluster = Cluster.build(spec(commit="none", stop_us=15 * SECOND), 1)
    cluster.run(20 * SECOND)
    assert cluster.query.lag("g") == 0
    coordination = cluster.consumers["g/0"].coordination
    assert coordination is not None
    end = cluster.query.hw("t-0")
    for offset, lag in ((end - 10, 10), (end + 7, -7)):
        coordination.commits.commit("async", coordination.commits.named({"t-0": offset}), cluster.now_us)
        cluster.run(cluster.now_us + SECOND)
        assert (cluster.query.committed("g", "t-0"), cluster.query.lag("g")) == (offset, lag)
