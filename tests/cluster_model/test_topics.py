"""Partitions and replicas that come and go while a cluster runs."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import (
    Event,
    LogStartMoved,
    PartitionCreated,
    PartitionDeleted,
    ProduceRefused,
    RecordsFailed,
    RecordsLost,
    RecordsUnknown,
    ReplicaDeleted,
)
from cluster_model.snapshots import pack, unpack
from tests.cluster_model.cluster_driver import SECOND, ClusterDriver, new_driver, one_controller, spec_of, user_topics

MODES = pytest.mark.parametrize(
    ("kafka", "mode"), [("0.10.2", None), ("2.6", None), ("3.9", "zookeeper"), ("4.1", None)]
)


@pytest.fixture(autouse=True)
def _planes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster_model.cluster.make_plane", one_controller)


def events_of(driver: ClusterDriver, kind: type[Any]) -> list[Any]:
    return [event for event in driver.cluster.drain() if isinstance(event, kind)]


def books(driver: ClusterDriver) -> tuple[int, int, int]:
    query = driver.cluster.query
    return (query.acked_lost(), query.missing(), query.violations())


@pytest.mark.slow
@MODES
def test_a_topic_made_while_the_cluster_runs_is_like_any_other(
    kafka: str, mode: str | None, snapshot: SnapshotAssertion
) -> None:
    at = new_driver(kafka, mode)
    at.run(2)
    with pytest.raises(ModelError) as caught:
        at.cluster.query.leo("late-0")
    assert caught.value.code == "no_partition"
    assert "'late-0'" in str(caught.value)
    at.create("late", (2, 3, 4), (4, 1, 2))
    at.run(2)
    made = [(event.partition, event.detail) for event in events_of(at, PartitionCreated)]
    least = at.cluster.cluster_state.effective_min_isr("late-0")
    assert made == [
        ("late-0", f"replicas 2, 3, 4; min.insync.replicas={least}"),
        ("late-1", f"replicas 4, 1, 2; min.insync.replicas={least}"),
    ]
    assert {broker for broker in at.cluster.brokers if "late-0" in at.cluster.brokers[broker].replicas} == {2, 3, 4}
    view = {partition.name: partition for partition in at.cluster.view().partitions}
    assert (view["late-1"].leader, view["late-1"].isr, view["late-1"].under_replicated) == (4, (4, 1, 2), False)
    assert [replica.status for replica in view["late-0"].replicas] == ["leader", "in_sync", "in_sync"]
    assert at.replica("late-0", 3).leader == 2
    with pytest.raises(ModelError) as caught:
        at.create("late", (1,))
    assert caught.value.code == "topic_exists"
    assert str(caught.value) == snapshot
    assert books(at) == (0, 0, 0)


def test_a_new_partition_has_no_log_before_brokers_learn_of_it() -> None:
    at = new_driver()
    at.topics.create("late", ((1, 2),), {}, (1, 2, 3), at.cluster.now_us)
    (partition,) = [each for each in at.cluster.view().partitions if each.name == "late-0"]
    assert (partition.leader, partition.leo, partition.hw, partition.replicas) == (1, 0, 0, ())
    assert (at.cluster.query.leo("late-0"), at.cluster.query.hw("late-0"), at.cluster.query.log_start("late-0")) == (
        0,
        0,
        0,
    )


@pytest.mark.slow
@MODES
def test_producers_find_a_topic_again_that_was_made_again_and_its_log_starts_empty(
    kafka: str, mode: str | None
) -> None:
    at = new_driver(kafka, mode, producer={"metadata.max.age.ms": 1_000})
    at.run(3)
    before = at.replica("orders-0", 1).log.leo
    assert before > 200
    at.delete("orders")
    gone = events_of(at, PartitionDeleted)
    assert [event.partition for event in gone] == ["orders-0"]
    assert "orders-0" not in at.cluster.cluster_state.replicas
    assert user_topics(each.name for each in at.cluster.view().partitions) == ["base-0"]
    assert at.cluster.query.lag("billing") == 0
    at.run(3)
    made = at.cluster.producers["checkout"].sent
    at.create("orders", (3, 2, 1))
    at.run(4)
    assert at.cluster.producers["checkout"].sent > made
    assert 50 < at.replica("orders-0", 3).log.leo < before + 300
    assert at.replica("orders-0", 3).log.branch_at(0).id > 0
    assert at.cluster.query.hw("orders-0") > 50
    at.cluster.stop_producers()
    at.run(2)
    at.cluster.close()
    assert books(at) == (0, 0, 0)
    assert events_of(at, RecordsLost) == []


def test_a_client_that_missed_the_deletion_takes_the_new_topics_lower_epochs() -> None:
    at = new_driver()
    for _again in range(3):
        at.decide("orders-0")
    at.run(2)
    at.delete("orders")
    at.create("orders", (2, 3, 4))
    at.run(3)
    assert at.cluster.query.epoch("orders-0") == 0
    assert at.cluster.query.leo("orders-0") > 100


def test_delayed_requests_of_a_deleted_partition_fail() -> None:
    at = new_driver(producer={"delivery.timeout.ms": 8_000, "request.timeout.ms": 2_000, "linger.ms": 0})
    at.run(1)
    at.cluster.pause(2)  # nothing is committed: produces wait
    at.cluster.pause(3)
    at.run(0.5)
    leader = at.cluster.brokers[1]
    assert leader.purgatory.produces
    assert leader.purgatory.readers["orders-0"]
    at.cluster.drain()
    at.delete("orders", (1,))
    assert not leader.purgatory.produces
    assert not leader.purgatory.readers["orders-0"]
    at.run(0.05)
    assert {event.error for event in events_of(at, ProduceRefused)} == {"UNKNOWN_TOPIC_OR_PARTITION"}
    at.run(12)
    ended = at.cluster.drain()
    unknown = [event for event in ended if isinstance(event, RecordsUnknown)]
    assert unknown  # they had been written to the log of the leader, and went with it
    assert books(at) == (0, 0, 0)


def test_a_producer_of_a_topic_that_stays_away_is_blocked_and_then_fails() -> None:
    at = new_driver(producer={"metadata.max.age.ms": 1_000})
    at.run(1)
    at.delete("orders")
    at.run(5)
    sent = at.cluster.producers["checkout"].sent
    at.run(50)
    assert at.cluster.producers["checkout"].sent == sent
    at.run(12)
    failed = events_of(at, RecordsFailed)
    assert [(event.error, event.partition, event.sequence, event.count) for event in failed] == [
        ("REQUEST_TIMED_OUT", "orders", -1, 2)
    ]
    assert 60 * SECOND <= failed[0].latency_us < 60 * SECOND + 40_000


def test_a_broker_without_a_replica_answers_by_its_metadata() -> None:
    at = new_driver()
    at.run(1)
    at.decide("orders-0", replicas=(4, 1, 2), isr=(1, 2), leader=1)
    at.cluster.brokers[3].stop_replica("orders-0", delete=True)
    assert at.cluster.brokers[3].delete_records("orders-0", 1) is KafkaError.NOT_LEADER_OR_FOLLOWER
    at.cluster.brokers[3].forget("orders-0")
    assert at.cluster.brokers[3].delete_records("orders-0", 1) is KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def test_added_partitions_get_their_share_of_a_producers_records(snapshot: SnapshotAssertion) -> None:
    at = new_driver(producer={"metadata.max.age.ms": 500, "client.version": "2.3"})  # It sends to all in turn.
    at.run(2)
    at.add("orders", (2, 3, 4), (3, 4, 1))
    assert at.topics.partitions("orders") == ("orders-0", "orders-1", "orders-2")
    at.run(4)
    ends = [at.cluster.query.leo(f"orders-{index}") for index in range(3)]
    assert ends[1] > 100
    assert abs(ends[1] - ends[2]) <= 2
    with pytest.raises(ModelError) as caught:
        at.add("nothing", (1,))
    assert caught.value.code == "no_topic"
    assert str(caught.value) == snapshot
    assert books(at) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), [("0.10.2", None), ("2.3", None), ("3.9", "zookeeper"), ("4.1", None)])
def test_a_replica_moves_and_the_leader_keeps_what_it_knows_of_the_others(kafka: str, mode: str | None) -> None:
    at = new_driver(kafka, mode)
    at.run(3)
    assert at.cluster.delete_records("orders-0", 100) in (KafkaError.NONE, KafkaError.UNSUPPORTED_VERSION)
    leadership = at.replica("orders-0", 1).leadership
    assert leadership is not None
    known = leadership.remotes[2]
    at.decide("orders-0", replicas=(1, 2, 3, 4), adding=(4,), removing=(3,))
    assert leadership.remotes[2] is known
    assert list(leadership.remotes) == [2, 3, 4]
    assert 4 not in leadership.maximal_isr
    assert at.cluster.query.under_replicated() == 0
    at.run(4)
    leader, new = at.replica("orders-0", 1), at.replica("orders-0", 4)
    assert new.log.log_start == leader.log.log_start == (0 if kafka == "0.10.2" else 100)
    assert leader.log.leo - new.log.leo < 20
    assert 4 in at.cluster.query.isr("orders-0")
    events = at.cluster.drain()
    if kafka != "0.10.2":
        assert any(isinstance(event, LogStartMoved) and event.by == "out of range" for event in events)

    at.decide("orders-0", replicas=(1, 2, 4), adding=(), removing=(), isr=(1, 2, 4))
    leadership = at.replica("orders-0", 1).leadership
    assert leadership is not None
    assert list(leadership.remotes) == [2, 4]
    if at.cluster.profile.kraft:
        events += at.cluster.drain()
        assert [event.by for event in events if isinstance(event, ReplicaDeleted)] == ["moved"]
    else:
        assert "orders-0" in at.cluster.brokers[3].replicas
        at.cluster.brokers[3].stop_replica("orders-0", delete=True)
    assert "orders-0" not in at.cluster.brokers[3].replicas
    assert list(at.cluster.cluster_state.replicas["orders-0"]) == [1, 2, 4]
    at.run(3)
    assert at.cluster.query.isr("orders-0") == [1, 2, 4]
    assert books(at) == (0, 0, 0)


def test_replicas_that_are_only_being_added_do_not_make_a_partition_under_replicated() -> None:
    at = new_driver()
    at.run(1)
    at.cluster.pause(4)
    at.decide("orders-0", replicas=(1, 2, 3, 4), adding=(4,))
    (partition,) = [each for each in at.cluster.view().partitions if each.name == "orders-0"]
    assert (partition.under_replicated, partition.adding, at.cluster.query.under_replicated()) == (False, (4,), 0)
    at.decide("orders-0", isr=(1, 2))
    (partition,) = [each for each in at.cluster.view().partitions if each.name == "orders-0"]
    assert (partition.under_replicated, at.cluster.query.under_replicated()) == (True, 1)


def test_min_isr_counts_as_at_most_the_replicas_there_are() -> None:
    at = new_driver()
    at.create("late", (1, 2), min_insync_replicas=3)
    assert at.replica("late-0", 1).min_isr == 2
    assert at.cluster.cluster_state.effective_min_isr("late-0") == 2
    at.decide("late-0", replicas=(1, 2, 3), adding=(3,))
    assert at.replica("late-0", 1).min_isr == 3
    at.decide("late-0", replicas=(1, 2, 3), adding=(), isr=(1, 2, 3))
    assert [each.name for each in at.cluster.view().partitions if len(each.isr) == each.min_isr] == ["late-0"]


def test_a_replica_that_is_stopped_keeps_its_log() -> None:
    at = new_driver()
    at.run(2)
    end = at.replica("orders-0", 2).log.leo
    at.cluster.brokers[2].stop_replica("orders-0", delete=False)
    at.run(2)
    replica = at.replica("orders-0", 2)
    assert end <= replica.log.leo < end + 20
    assert (replica.leadership, replica.following, replica.leader) == (None, None, -1)
    at.decide("orders-0")
    at.run(2)
    assert at.replica("orders-0", 2).log.leo > end + 100
    leader = at.cluster.brokers[1]
    leader.stop_replica("orders-0", delete=False)
    assert not leader.purgatory.produces
    at.cluster.drain()
    at.run(0.05)
    assert {event.error for event in events_of(at, ProduceRefused)} == {"NOT_LEADER_OR_FOLLOWER"}


def test_a_deleted_log_is_on_disk_until_its_delay_is_over() -> None:
    at = new_driver()
    at.run(2)
    logs = at.cluster.brokers[2].logs
    before = logs.disk_bytes
    size = at.replica("orders-0", 2).log.disk_bytes
    assert size > 10_000
    at.delete("orders")
    assert logs.disk_bytes == before
    at.run(59)
    assert logs.disk_bytes >= before
    at.run(2)
    assert logs.disk_bytes == at.replica("base-0", 2).log.disk_bytes


@pytest.mark.slow
@MODES
def test_a_broker_that_was_down_finds_strays(kafka: str, mode: str | None) -> None:
    at = new_driver(kafka, mode)
    at.run(2)
    at.cluster.crash(3)
    at.delete("orders")
    assert "orders-0" in at.cluster.cluster_state.replicas  # what stands on the disk of a broker that is down
    at.create("orders", (1, 2, 3))
    at.run(1)
    at.cluster.restart(3)
    broker = at.cluster.brokers[3]
    record = at.cluster.committed.records["orders-0"]
    ids = at.cluster.profile.topic_ids
    assert user_topics(broker.strays({})) == ["base-0", "orders-0"]
    assert user_topics(broker.strays({"base-0": 0, "orders-0": 0})) == []
    assert user_topics(broker.strays({"base-0": 0, "orders-0": record.topic_id})) == (["orders-0"] if ids else [])
    old = record.state._replace(leader_epoch=5)
    expected = KafkaError.INCONSISTENT_TOPIC_ID if ids else KafkaError.NONE
    assert broker.refusal(old) is expected
    broker.delete_strays({name: 0 for name in broker.replicas if name != "orders-0"})
    assert [event.by for event in events_of(at, ReplicaDeleted) if event.broker == 3] == ["stray"]
    assert user_topics(broker.replicas) == ["base-0"]
    at.run(12)
    assert 3 in at.cluster.query.isr("orders-0")
    assert at.replica("orders-0", 3).topic_id == record.topic_id
    assert books(at) == (0, 0, 0)


@pytest.mark.parametrize(
    ("kafka", "mode", "keeps"), [("2.6", None, True), ("3.9", "zookeeper", True), ("4.1", None, False)]
)
def test_an_old_log_under_a_new_topics_name_is_reported_by_the_topic_id(
    kafka: str, mode: str | None, keeps: bool
) -> None:
    at = new_driver(kafka, mode)
    at.run(2)
    at.cluster.crash(3)
    at.delete("orders")
    at.create("orders", (1, 2, 3))
    at.cluster.restart(3)
    old = at.cluster.cluster_state.replicas["orders-0"][3]
    at.notify((at.cluster.committed.records["orders-0"].state,), (3,))
    now = at.cluster.cluster_state.replicas["orders-0"][3]
    assert (now is old) is keeps
    if not keeps:
        assert (now.log.leo, now.leader) == (0, 1)
    elif at.cluster.profile.topic_ids:
        assert (now.leader, now.following) == (-1, None)  # INCONSISTENT_TOPIC_ID: it does not take part
    else:
        assert now.leader == 1  # nothing tells the old log from the new one


@pytest.mark.slow
def test_a_zombie_of_a_deleted_topic_is_nobodys_loss() -> None:
    at = new_driver(acks="1", producer={"metadata.max.age.ms": 200})
    at.run(1)
    zombie = at.cluster.brokers[1]
    at.delete("orders", (2, 3, 4))  # broker 1 has not heard: it goes on leading, and acknowledges
    acked = at.cluster.producers["checkout"].acked
    at.run(2)
    assert at.cluster.producers["checkout"].acked > acked
    at.topics.create("orders", ((2, 3, 4),), {}, at.live(), at.cluster.now_us)
    at.notify((at.cluster.committed.records["orders-0"].state,), (2, 3, 4))
    ends = zombie.replicas["orders-0"].log.leo, at.cluster.query.leo("orders-0")
    at.run(8)  # metadata comes now from the one and now from the other: both lead in epoch 0, each a topic of its own
    assert zombie.replicas["orders-0"].log.leo > ends[0]
    assert at.cluster.query.leo("orders-0") > ends[1] == 0
    assert books(at) == (0, 0, 0)
    at.cluster.power_loss(1)
    at.run(20)
    at.cluster.stop_producers()
    at.run(5)
    at.cluster.close()
    assert books(at) == (0, 0, 0)


def test_records_lost_before_their_topic_was_deleted_stay_lost() -> None:
    at = new_driver(acks="1")
    at.run(2)
    at.cluster.pause(2)
    at.cluster.pause(3)
    at.run(1)
    acked = at.cluster.producers["checkout"].acked
    at.cluster.disk_loss(1)
    at.cluster.resume(2)
    at.cluster.resume(3)
    at.decide("orders-0", leader=2, isr=(2, 3))
    at.run(1)
    lost = at.cluster.query.acked_lost()
    assert 0 < lost < acked
    at.cluster.drain()
    told = at.cluster.query.findings()
    [before] = at.cluster.checker.findings.findings(at.cluster.now_us)
    at.delete("orders")
    events: list[Event] = at.cluster.drain()
    assert sum(event.count for event in events if isinstance(event, RecordsLost)) == lost
    [after] = at.cluster.checker.findings.findings(at.cluster.now_us)
    assert at.cluster.query.findings() == told == 1
    assert (after.kind, after.cause, after.count) == (before.kind, before.cause, lost)
    assert at.cluster.query.acked_lost() == at.cluster.query.acked_lost("checkout") == lost
    at.run(20)
    at.cluster.close()
    assert at.cluster.query.acked_lost() == lost


def test_unappended_acks_0_records_of_a_deleted_topic_are_lost() -> None:
    at = new_driver(acks="0")
    at.run(2)
    at.cluster.crash(1)
    at.run(0.05)
    at.delete("orders")
    at.run(5)
    at.cluster.stop_producers()
    at.cluster.close()
    [finding] = at.cluster.checker.findings.findings(at.cluster.now_us)
    assert (finding.kind, finding.cause, finding.count) == ("lost", "acks-0-unplaced", at.cluster.query.acked_lost())


def busy(at: ClusterDriver, until: float = 0) -> None:
    """A life with a bit of everything, each thing at its time."""
    for second, act in (
        (2, lambda: at.create("late", (2, 3, 4), (4, 1, 2))),
        (4, lambda: at.add("late", (1, 4))),
        (5, lambda: at.cluster.brokers[1].update_config({"num.replica.fetchers": 2})),
        (6, lambda: at.decide("orders-0", replicas=(1, 2, 3, 4), adding=(4,), removing=(3,))),
        (8, lambda: at.delete("late")),
        (9, lambda: at.topics.configure("orders", {"min.insync.replicas": 2}, at.cluster.now_us)),
        (10, lambda: at.create("late", (3, 4))),
        (12, lambda: at.delete("orders")),
        (14, lambda: at.create("orders", (4, 3))),
    ):
        if at.cluster.now_us <= second * SECOND:
            if until and second > until:
                at.cluster.run(int(until * SECOND))
                return
            at.cluster.run(second * SECOND)
            act()
    at.cluster.run(18 * SECOND)


def seen(at: ClusterDriver) -> tuple[Any, ...]:
    cluster = at.cluster
    logs = [cluster.log_view(name, 0, 1 << 40) for name in cluster.cluster_state.records]
    holders = [(name, tuple(there)) for name, there in cluster.cluster_state.replicas.items()]
    return (cluster.digest(), cluster.view(), logs, holders, [tuple(b.replicas) for b in cluster.brokers.values()])


@pytest.mark.slow
@MODES
def test_keyframes_restore_the_partitions_and_replicas_of_their_time(kafka: str, mode: str | None) -> None:
    straight = new_driver(kafka, mode)
    busy(straight)
    at = new_driver(kafka, mode)
    kept = []
    for until in (3.5, 7, 11, 13.5):
        busy(at, until)
        kept.append((seen(at), pack(at.cluster.save())))
    busy(at)
    expected = seen(at)
    assert expected == seen(straight), "saving leaves no mark, and the same is done twice in the same way"

    twin = ClusterDriver(at.cluster.twin())
    for place in (3, 0, 2):
        before, packed = kept[place]
        twin.cluster.load(unpack(packed)[0])
        assert seen(twin) == before
        busy(twin)
        assert seen(twin) == expected
    assert seen(at) == expected

    for before, packed in (kept[3], kept[1]):
        at.cluster.load(unpack(packed)[0])
        assert seen(at) == before
        busy(at)
        assert seen(at) == expected
        at.cluster.load(unpack(packed)[0])


def test_a_keyframe_with_a_partition_that_never_was_is_refused(snapshot: SnapshotAssertion) -> None:
    at = new_driver()
    at.create("late", (1, 2))
    keyframe = at.cluster.save()
    with pytest.raises(ValueError, match="late-0") as caught:
        Cluster.build(spec_of(), 3).load(keyframe)
    assert str(caught.value) == snapshot
    with pytest.raises(ValueError, match="late-0") as caught:
        Cluster.build(spec_of(), 3).twin().load(keyframe)
    assert str(caught.value) == snapshot
