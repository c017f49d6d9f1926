"""Groups by the consumer protocol in whole clusters (KIP-848): sharing out, failover, and who has to stop when."""

from dataclasses import replace
from itertools import pairwise

import pytest

from cluster_model.cluster import Cluster
from cluster_model.protocol.admin_messages import CreatePartitionsRequest, NewPartitions
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import (
    CommitFailed,
    ConsumerFailed,
    GroupRebalanced,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsRead,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import ClusterSpec, TopicSpec
from tests.cluster_model.clients.consumer.test_group_sessions import ALL, FIRST_MEMBER, SECOND, of, owned
from tests.cluster_model.clients.consumer.test_group_sessions import spec as classic
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

ASKED: dict[str, ConfigValue] = {"group.coordinator.rebalance.protocols": "classic,consumer"}


def spec(
    kafka: str = "4.1",
    *,
    members: int = 2,
    config: dict[str, ConfigValue] | None = None,
    broker: dict[str, ConfigValue] | None = None,
    commit: str = "auto",
    processing_us: int = 0,
    stop_us: int = -1,
    pattern: str = "",
    each_us: int = 40_000,
) -> ClusterSpec:
    consumer: dict[str, ConfigValue] = {"group.protocol": "consumer", **(config or {})}
    found = classic(
        kafka, members=members, config=consumer, commit=commit, processing_us=processing_us, stop_us=stop_us,
        pattern=pattern, each_us=each_us,
    )  # fmt: skip
    return replace(found, config={**found.config, **({} if kafka >= "4" else ASKED), **(broker or {})})


SHORT: dict[str, ConfigValue] = {"group.consumer.session.timeout.ms": 10_000}


@pytest.mark.parametrize("kafka", spread_sample(["3.7", "3.8", "3.9", "4.0", "4.1"], 3))
def test_a_group_shares_out_what_there_is_and_reads_everything_once(kafka: str) -> None:
    cluster = Cluster.build(spec(kafka, stop_us=6 * SECOND), 1)
    cluster.run(12 * SECOND)
    events = cluster.drain()
    assert owned(cluster) == ALL
    assert {len(consumer.assignment) for consumer in cluster.consumers.values()} == {2}
    assert sum(event.count for event in of(events, RecordsRead)) == cluster.query.acked() > 100
    assert (of(events, CommitFailed), of(events, PartitionsLost)) == ([], [])
    last = {event.partition: event.log_offset for event in of(events, OffsetsCommitted)}
    assert last == {name: cluster.query.hw(name) for name in ALL}
    assert [(event.group_id, event.count, event.detail) for event in of(events, GroupRebalanced)] == [
        ("g", 1, "epoch 1 by uniform"), ("g", 2, "epoch 2 by uniform"),
    ]  # fmt: skip


def test_where_the_cluster_does_not_have_it_the_application_ends() -> None:
    found = spec("3.9")
    cluster = Cluster.build(replace(found, config={"offsets.topic.num.partitions": 5}), 1)
    cluster.run(5 * SECOND)
    failed = of(cluster.drain(), ConsumerFailed)
    assert {(event.client, event.error) for event in failed} == {
        ("g/0", "UnsupportedVersionException"), ("g/1", "UnsupportedVersionException"),
    }  # fmt: skip


def test_views_and_questions_show_the_group_epoch_and_what_is_committed() -> None:
    cluster = Cluster.build(spec(stop_us=15 * SECOND), 1)
    assert (cluster.query.members("g"), cluster.query.committed("g", "t-0")) == (0, -1)
    cluster.run(25 * SECOND)
    (group,) = cluster.view().groups
    assert (group.members, group.generation, group.lag) == (2, 2, 0)
    assert dict(group.committed) == {name: cluster.query.hw(name) for name in ALL}
    assert sorted(sum((share for _name, share in group.assignment), ())) == ALL
    assert cluster.query.generation("g") == 2
    assert cluster.query.committed("g", "t-3") == cluster.query.hw("t-3") > 0


def test_a_pause_below_the_session_is_not_seen_and_a_longer_one_makes_a_zombie() -> None:
    cluster = Cluster.build(spec(broker=SHORT), 1)
    cluster.run(15 * SECOND)
    cluster.drain()
    cluster.pause(FIRST_MEMBER)
    cluster.run(19 * SECOND)
    cluster.resume(FIRST_MEMBER)
    cluster.run(30 * SECOND)
    events = cluster.drain()
    assert (of(events, GroupRebalanced), of(events, PartitionsAssigned)) == ([], [])
    before = cluster.consumers["g/0"].assignment
    cluster.pause(FIRST_MEMBER)
    cluster.run(50 * SECOND)
    assert cluster.consumers["g/1"].assignment == tuple(ALL)
    assert cluster.consumers["g/0"].assignment == before
    cluster.drain()
    cluster.resume(FIRST_MEMBER)
    cluster.run(70 * SECOND)
    events = cluster.drain()
    lost = of(events, PartitionsLost)
    zombie = [event for event in of(events, RecordsRead) if event.client == "g/0" and event.at_us <= lost[0].at_us]
    assert [(event.client, event.count) for event in lost] == [("g/0", 2)]
    assert zombie, "it handed out what it had, before it knew"
    assert owned(cluster) == ALL


def test_members_follow_a_moved_coordinator_without_loss() -> None:
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


def test_a_topic_that_grows_is_noticed_by_the_coordinator_within_a_heartbeat() -> None:
    cluster = Cluster.build(spec(), 1)
    cluster.run(15 * SECOND)
    cluster.admin.ask(1, CreatePartitionsRequest(0, (NewPartitions("t", 6),)))
    cluster.run(26 * SECOND)
    assert owned(cluster) == [*ALL, "t-4", "t-5"]
    assert {len(consumer.assignment) for consumer in cluster.consumers.values()} == {3}
    assert cluster.query.generation("g") == 3
    positions = {name for consumer in cluster.consumers.values() for name in consumer.positions}
    assert positions == {*ALL, "t-4", "t-5"}


@pytest.mark.parametrize("kafka", ["3.9", "4.0"])
def test_a_pattern_reads_what_matches_it(kafka: str) -> None:
    cluster = Cluster.build(spec(kafka, pattern="t|u"), 1)
    cluster.run(15 * SECOND)
    assert owned(cluster) == ALL


def test_slow_processing_loses_the_membership_and_comes_back() -> None:
    config: dict[str, ConfigValue] = {"max.poll.interval.ms": 6_000}
    cluster = Cluster.build(spec(members=1, processing_us=40_000, each_us=10_000, config=config, commit="sync"), 1)
    cluster.run(40 * SECOND)
    events = cluster.drain()
    assert len(of(events, PartitionsLost)) > 1
    assert {event.error for event in of(events, CommitFailed)} == {"CommitFailedException"}


def test_a_static_member_that_closes_leaves_its_share_alone_for_a_session() -> None:
    for instance, rebalances in (("", 1), ("i", 0)):
        config: dict[str, ConfigValue] = {"group.instance.id": instance} if instance else {}
        cluster = Cluster.build(spec(config=config), 1)
        cluster.run(15 * SECOND)
        cluster.drain()
        cluster.consumers["g/1"].close()
        cluster.run(30 * SECOND)
        assert len(of(cluster.drain(), GroupRebalanced)) == rebalances


# -- against the classic protocol --------------------------------------------------------------------------------------


def longest_silence(events: list[TraceEvent], client: str, partition: str, start: int, end: int) -> int:
    """The longest time in which a consumer read nothing of a partition."""
    reads = [
        event.at_us
        for event in of(events, RecordsRead)
        if (event.client, event.partition) == (client, partition) and start <= event.at_us <= end
    ]
    times = [start, *reads, end]
    return max(later - earlier for earlier, later in pairwise(times))


def one_pauses_while_one_leaves(found: ClusterSpec) -> tuple[Cluster, dict[str, int], int]:
    """g/1 stands still for 5 s, less than any session, while g/2 leaves; returns silences of what g/0 keeps."""
    (producer,) = found.producers
    evenly = replace(producer, config={**producer.config, "partitioner.class": "RoundRobinPartitioner"})
    found = replace(found, topics=(TopicSpec("t", 6, 3),), producers=(evenly,))
    cluster = Cluster.build(found, 1)
    cluster.run(25 * SECOND)
    cluster.drain()
    had = cluster.consumers["g/0"].assignment
    cluster.pause(FIRST_MEMBER + 1)
    cluster.consumers["g/2"].close()
    cluster.run(30 * SECOND)
    cluster.resume(FIRST_MEMBER + 1)
    cluster.run(50 * SECOND)
    events = cluster.drain()
    kept = [name for name in had if name in cluster.consumers["g/0"].assignment]
    silences = {name: longest_silence(events, "g/0", name, 25 * SECOND, 50 * SECOND) for name in kept}
    revoked = len([event for event in of(events, PartitionsRevoked) if event.client == "g/0"])
    return cluster, silences, revoked


def left(cluster: Cluster) -> list[str]:
    return sorted(cluster.consumers["g/0"].assignment + cluster.consumers["g/1"].assignment)


def test_members_that_keep_what_they_have_never_stop_as_they_do_in_the_classic_protocol() -> None:
    cluster, silences, revoked = one_pauses_while_one_leaves(spec(members=3))
    assert len(silences) == 2
    assert max(silences.values()) < SECOND // 2
    assert revoked == 0
    assert left(cluster) == [*ALL, "t-4", "t-5"]
    cluster, silences, revoked = one_pauses_while_one_leaves(classic("4.1", members=3))
    assert max(silences.values()) > 2 * SECOND, "everybody waits for the one that stands still"
    assert revoked == 1
    assert left(cluster) == [*ALL, "t-4", "t-5"]


# -- determinism -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "commit"), spread_sample([("3.9", "sync"), ("4.1", "auto"), ("4.1", "async")], 2))
def test_slices_and_keyframes_leave_no_mark(kafka: str, commit: str) -> None:
    config: dict[str, ConfigValue] = {"max.poll.records": 7, "request.timeout.ms": 3_000}
    found = spec(kafka, members=3, processing_us=9_000, commit=commit, config=config, broker=SHORT, each_us=120_000)

    def digest(step: int) -> str:
        cluster = Cluster.build(found, 3)
        faults = {8 * SECOND: "pause", 16 * SECOND: "crash", 20 * SECOND: "resume", 24 * SECOND: "restart"}
        for at in range(step, 36 * SECOND + 1, step):
            cluster.run(at)
            if step == SECOND:
                cluster.load(cluster.save())
            if at in faults:
                node = FIRST_MEMBER if faults[at] in ("pause", "resume") else 2
                getattr(cluster, faults[at])(node)
        return cluster.digest()

    assert digest(4 * SECOND) == digest(SECOND)


def test_going_back_and_on_again_ends_the_same_from_every_moment_of_a_rebalance() -> None:
    cluster = Cluster.build(spec(members=3), 5)
    frames = []
    for at in (2_500, 3_300, 3_700, 31_500, 35_000, 40_100, 5_004_000, 5_007_000):
        cluster.run(at)
        frames.append(cluster.save())
    cluster.run(12 * SECOND)
    end = cluster.digest()
    for keyframe in frames:
        cluster.load(keyframe)
        cluster.run(12 * SECOND)
        assert cluster.digest() == end


def test_different_seeds_give_different_member_ids_and_the_classic_protocol_draws_none() -> None:
    ids = []
    for seed in (1, 2):
        cluster = Cluster.build(spec(), seed)
        cluster.run(2 * SECOND)
        coordination = cluster.consumers["g/0"].coordination
        assert coordination is not None
        ids.append(coordination.member.member_id)
    assert ids[0] != ids[1]
    assert [len(each) for each in ids] == [36, 36]
    _seed, places = Cluster.build(classic("4.1"), 1).streams.save()
    assert not [name for name, _drawn in places if name.startswith("member:")]
