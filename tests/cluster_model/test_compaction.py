"""Compacted topics in a running cluster: cleaner threads, followers, consumers, the ledger, every release line."""

from random import Random
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.storage.log_manager import run_cleaner
from cluster_model.client_factory import FIRST_CONSUMER
from cluster_model.cluster import Cluster
from cluster_model.controller.cluster_parts import build_parts
from cluster_model.kernel.rng import RandomStreams
from cluster_model.log.record_keys import Key, keys_of
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event, LogCleaned, LogStartMoved, RecordsRead
from cluster_model.protocol.records import Batch
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster
from tests.support.breadth import EVENING, spread_sample

pytestmark = pytest.mark.slow

SECOND = 1_000_000
P = "orders-0"
COMPACT: dict[str, Any] = {"cleanup.policy": "compact", "segment.bytes": 20_000, "min.insync.replicas": 2}
READER = FIRST_CONSUMER


def build(
    kafka: str = "3.9",
    *,
    topic: dict[str, Any] | None = None,
    broker: dict[str, Any] | None = None,
    keys: int = 20,
    tombstones: int = 8,
    acks: str = "all",
    read: bool = True,
) -> Cluster:
    topics = (TopicSpec("orders", 1, 3, ((1, 2, 3),), {**COMPACT, **(topic or {})}),)
    maker = ProducerSpec("checkout", "orders", 100_000, 10, keys=keys, tombstones=tombstones, config={"acks": acks})
    group = GroupSpec("billing", ("orders",), 1, config={"auto.offset.reset": "earliest"})
    brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
    groups = (group,) if read else ()
    return Cluster.build(ClusterSpec(kafka, None, brokers, topics, (maker,), groups, config=broker or {}), 7)


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def log_of(cluster: Cluster, broker: int) -> ReplicaLog:
    return cluster.brokers[broker].replicas[P].log


def table(log: ReplicaLog, *, whole: bool = False) -> dict[Key, int]:
    """What a reader of the log ends with: the newest offset of every key that is not deleted.

    ``whole``: as if nothing had ever been removed.
    """
    newest: dict[Key, int] = {}
    deleted: dict[Key, None] = {}
    for _epoch_branch, batch, start, end in log.batches():
        told = keys_of(log.epoch_branches.keys, batch)
        for low, high in [(start, end)] if whole else log.remaining(start, end):
            for offset in range(low, high):
                key = told.keys[offset - batch.base]
                assert key is not None
                newest[key] = offset
                deleted.pop(key, None)
                if offset - batch.base in told.deletes:
                    deleted[key] = None
    return {key: newest[key] for key in sorted(newest, key=str) if key not in deleted}


def left(log: ReplicaLog) -> int:
    return sum(high - low for low, high in log.remaining(log.log_start, log.leo))


def stop(cluster: Cluster) -> None:
    cluster.stop_producers()
    cluster.run(cluster.now_us + 16 * SECOND)
    cluster.close()


def judged_well(cluster: Cluster) -> None:
    """Nothing is missing, lost, doubled or against the protocol, and every log says the same of every key."""
    query = cluster.query
    assert (query.missing(), query.acked_lost(), query.duplicates(), query.unexpected_violations()) == (0, 0, 0, 0)
    assert query.diverged(P) == 0
    logs = [log_of(cluster, broker) for broker in (1, 2, 3)]
    assert len({log.leo for log in logs}) == 1
    for log in logs:
        assert log.cleaned is not None
        assert table(log) == table(log, whole=True)


# --- the thread -----------------------------------------------------------------------------------------------------


def test_every_broker_cleans_its_own_log_by_the_backoff() -> None:
    cluster = build(broker={"log.cleaner.backoff.ms": 7_000})
    cluster.run(6_999_999)
    assert of(cluster.drain(), LogCleaned) == []
    cluster.run(8 * SECOND)
    first = of(cluster.drain(), LogCleaned)
    assert [(event.at_us, event.broker) for event in first] == [(7 * SECOND, broker) for broker in (1, 2, 3)]
    assert all(event.log_offset == 0 < event.count < event.end_offset for event in first)
    cluster.run(50 * SECOND)
    again = [event for event in of(cluster.drain(), LogCleaned) if event.broker == 1]
    assert len(again) > 2
    assert [event.log_offset for event in again] == [first[0].end_offset, *(event.end_offset for event in again[:-1])]
    stop(cluster)
    judged_well(cluster)
    log = log_of(cluster, 1)
    assert cluster.brokers[1].replicas[P].cleaner_offset <= log.segments.base
    assert left(log) < log.leo // 10


def test_a_pass_keeps_the_thread_busy_for_as_long_as_reading_takes() -> None:
    cluster = build(topic={"min.cleanable.dirty.ratio": "0"})
    cluster.run(15 * SECOND)
    (event, *_others) = of(cluster.drain(), LogCleaned)
    read = int(event.detail.split()[0])
    replica = cluster.brokers[event.broker].replicas[P]
    replica.cleaner_offset = 0
    cluster.run(15 * SECOND + read * SECOND // (100 << 20) - 1)
    assert of(cluster.drain(), LogCleaned) == []
    cluster.run(cluster.now_us + 1)
    (again,) = of(cluster.drain(), LogCleaned)
    assert (again.broker, again.count) == (event.broker, 0)


def test_without_a_compacted_topic_there_is_no_cleaner() -> None:
    ends = []
    for enabled in (True, False):
        # A group would bring __consumer_offsets, which is compacted.
        cluster = build(topic={"cleanup.policy": "delete"}, broker={"log.cleaner.enable": enabled}, read=False)
        cluster.run(60 * SECOND)
        ends.append((cluster.executed, cluster.digest()))
        assert log_of(cluster, 1).cleaned is None
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("kafka", "broker", "cleans"),
    [
        ("0.8.2", {}, False),
        ("0.8.2", {"log.cleaner.enable": True}, True),
        ("0.9", {}, True),
        ("3.9", {"log.cleaner.enable": False}, False),
    ],
)
def test_the_cleaner_is_off_by_default_in_0_8_2_only(kafka: str, broker: dict[str, Any], cleans: bool) -> None:
    cluster = build(kafka, broker=broker)
    cluster.run(40 * SECOND)
    assert (log_of(cluster, 2).cleaned is not None) is cleans


# --- policies -------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"retention.bytes": 40_000}
RETAINED = 46 * SECOND
"""Retention looks through all logs for the first time after half a minute, cleaners every 15 s."""


def test_compact_alone_keeps_every_key_whatever_the_retention() -> None:
    cluster = build(topic={**SMALL, "retention.ms": 1_000})
    cluster.run(RETAINED)
    assert of(cluster.drain(), LogStartMoved) == []
    assert cluster.delete_records(P, 10) is KafkaError.POLICY_VIOLATION


def test_both_policies_compact_and_delete_and_the_cleaner_does_both() -> None:
    cluster = build(topic={**SMALL, "cleanup.policy": "compact,delete"}, keys=2_000)
    cluster.run(61 * SECOND)
    events = cluster.drain()
    moves = of(events, LogStartMoved)
    assert of(events, LogCleaned)
    assert {event.at_us // 1_000 % 15_000 for event in moves} <= set(range(20)), "not by the broker's retention task"
    assert {event.broker for event in moves} == {1, 2, 3}
    assert cluster.delete_records(P, 500) is KafkaError.NONE
    stop(cluster)
    assert (cluster.query.acked_lost(), cluster.query.unexpected_violations()) == (0, 0)


def test_with_the_cleaner_off_a_compacted_log_keeps_everything() -> None:
    cluster = build(topic={**SMALL, "cleanup.policy": "compact,delete"}, broker={"log.cleaner.enable": False})
    cluster.run(RETAINED)
    assert of(cluster.drain(), LogStartMoved) == []


def test_two_policies_at_once_are_refused_before_0_10_1(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        build("0.10.0", topic={"cleanup.policy": "delete,compact"})
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert build("0.10.1", topic={"cleanup.policy": "delete,compact"})


@pytest.mark.parametrize(
    ("kafka", "error"),
    [("4.1", "INVALID_RECORD"), ("2.4", "INVALID_RECORD"), ("2.3", "CORRUPT_MESSAGE"), ("0.9", "CORRUPT_MESSAGE")],
)
def test_records_without_keys_are_refused(kafka: str, error: str) -> None:
    cluster = build(kafka, keys=0, tombstones=0)
    cluster.run(SECOND)
    cluster.stop_producers()
    cluster.run(300 * SECOND)
    producer = cluster.producers["checkout"]
    assert (producer.acked, producer.unknown + producer.failed) == (0, producer.sent)
    # Only CORRUPT_MESSAGE is tried again, from 2.1 for so long that a last attempt may be under way at the end.
    assert producer.unknown == 0 or kafka == "2.3"
    assert (producer.last_error, log_of(cluster, 1).leo) == (error, 0)


def test_manual_records_have_their_key_in_their_name() -> None:
    stepped = HandSteppedCluster("3.9", config={"cleanup.policy": "compact"})
    stepped.notify(1)
    assert stepped.append(1, "a=1", "b=2") == ""
    assert stepped.append(1, "plain") == "INVALID_RECORD"
    assert stepped.names(1) == ["a=1", "b=2"]


def test_0_8_2_takes_them() -> None:
    cluster = build("0.8.2", keys=0, tombstones=0)
    cluster.run(5 * SECOND)
    assert log_of(cluster, 1).leo > 0


def test_every_producer_with_keys_has_a_model_of_them_in_each_partition() -> None:
    topics = (TopicSpec("orders", 2, 1, (), COMPACT), TopicSpec("other", 1, 1, (), {}))
    makers = [
        ProducerSpec("a", "orders", SECOND, keys=5),
        ProducerSpec("b", "orders", SECOND),
        ProducerSpec("c", "orders", SECOND, keys=7, tombstones=2),
        ProducerSpec("d", "other", SECOND, keys=9),
    ]
    cluster = Cluster.build(ClusterSpec("3.9", None, (BrokerSpec(1),), topics, tuple(makers)), 1)
    for partition in ("orders-0", "orders-1"):
        models = cluster.epoch_branches[partition].keys
        assert {name: (model.producer.keys.distinct, model.producer.tombstones) for name, model in models.items()} == {
            "a": (5, 0),
            "c": (7, 2),
        }
        assert {model.number for model in models.values()} == {int(partition[-1])}
    assert list(cluster.epoch_branches["other-0"].keys) == ["d"]


# --- replicas and readers -------------------------------------------------------------------------------------------


def test_replicas_may_have_different_records_left_and_do_not_contradict() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.pause(3)
    cluster.run(16 * SECOND)
    cluster.resume(3)
    cluster.run(40 * SECOND)
    counts = {broker: left(log_of(cluster, broker)) for broker in (1, 2, 3)}
    assert len(set(counts.values())) > 1
    assert differing(log_of(cluster, 1), log_of(cluster, 3)) == []
    stop(cluster)
    judged_well(cluster)


def test_a_wiped_follower_copies_what_its_leader_has_left() -> None:
    cluster = build()
    cluster.run(60 * SECOND)
    cluster.disk_loss(3)
    cluster.stop_producers()
    cluster.run(62 * SECOND)
    assert (log_of(cluster, 3).leo, log_of(cluster, 3).cleaned) == (0, None)
    leader = log_of(cluster, 1)
    before = (leader.leo, left(leader))
    cluster.restart(3)
    cluster.run(80 * SECOND)
    copy = log_of(cluster, 3)
    assert (copy.leo, copy.cleaned, copy.segments.total) == (before[0], leader.cleaned, leader.segments.total)
    assert cluster.query.isr(P) == [1, 2, 3]
    stop(cluster)
    assert (cluster.query.acked_lost(), cluster.query.unexpected_violations()) == (0, 0)


def test_a_consumer_skips_the_holes() -> None:
    cluster = build()
    cluster.pause(READER)
    cluster.run(90 * SECOND)
    cluster.stop_producers()
    cluster.run(140 * SECOND)
    cluster.drain()
    cluster.resume(READER)
    cluster.run(200 * SECOND)
    leader = log_of(cluster, 1)
    reads = of(cluster.drain(), RecordsRead)
    assert sum(event.count for event in reads) == left(leader) < leader.leo
    assert all(0 < event.count <= 500 for event in reads)
    assert cluster.query.lag("billing") == 0


def test_a_crash_leaves_holes_and_the_cleaners_checkpoint_alone() -> None:
    cluster = build()
    cluster.run(50 * SECOND)
    before = (log_of(cluster, 2).cleaned, cluster.brokers[2].replicas[P].cleaner_offset)
    assert before[1] > 0
    cluster.power_loss(2)
    cluster.restart(2)
    assert (log_of(cluster, 2).cleaned, cluster.brokers[2].replicas[P].cleaner_offset) == before
    cluster.run(80 * SECOND)
    assert cluster.brokers[2].replicas[P].cleaner_offset > before[1]
    stop(cluster)
    judged_well(cluster)


def test_records_lost_before_compaction_stay_lost() -> None:
    cluster = build(topic={"min.insync.replicas": 1, "unclean.leader.election.enable": True}, acks="1")
    cluster.run(20 * SECOND)
    cluster.pause(2)
    cluster.pause(3)
    cluster.run(90 * SECOND)
    assert cluster.query.isr(P) == [1]
    cluster.power_loss(1)
    cluster.resume(2)
    cluster.resume(3)
    cluster.run(140 * SECOND)
    cluster.restart(1)
    stop(cluster)
    assert cluster.query.acked_lost() > 1_000
    assert cluster.query.diverged(P) == 0


def test_a_truncation_takes_the_cleaners_checkpoint_along() -> None:
    cluster = build()
    cluster.run(50 * SECOND)
    replica = cluster.brokers[2].replicas[P]
    assert replica.cleaner_offset > 1_000
    cluster.power_loss(2, keep=1_000)
    assert (replica.log.leo, replica.cleaner_offset) == (1_000, 1_000)
    cluster.restart(2)
    stop(cluster)
    judged_well(cluster)


def test_the_dirtiest_log_goes_first() -> None:
    topics = tuple(TopicSpec(name, 1, 1, ((1,),), COMPACT) for name in ("some", "most", "few"))
    spec = ClusterSpec("3.9", None, (BrokerSpec(1),), topics)
    parts = build_parts(spec, RandomStreams(1), lambda _event: None, {1: 0})
    replicas = {name: parts.replicas[f"{name}-0"][1] for name in ("some", "most", "few")}
    for name, replica in replicas.items():
        log_branch = replica.log.epoch_branches.begin(1, 0, 0)
        for at in range(5):
            replica.log.append_batch(log_branch, Batch(at, 1, 15_000, 0, "p", -1, at, 1, (f"k{at}=1",)))
        replica.hw = 5
        replica.cleaner_offset = {"some": 1, "most": 0, "few": 1}[name]
    order = []
    for _round in range(3):
        run_cleaner(replicas.values(), parts.config, 0)
        order.append([name for name, replica in replicas.items() if replica.cleaner_offset == 4])
    assert order == [["most"], ["some", "most"], ["some", "most", "few"]]
    assert run_cleaner(replicas.values(), parts.config, 0) == parts.config.cleaner_backoff_us


def test_views_show_the_holes() -> None:
    cluster = build(keys=3)
    cluster.run(20 * SECOND)
    log = log_of(cluster, 2)
    assert log.cleaned is not None
    lanes = {lane.broker: lane for lane in cluster.log_view(P, 0, log.leo).lanes}
    shown = [(run.start, run.end) for run in lanes[2].runs]
    assert [at for start, end in shown for at in range(start, end)] == [
        at for start, end in log.remaining(0, log.leo) for at in range(start, end)
    ]
    assert len(cluster.query.log(P, 2)) == left(log)


# --- every release line ---------------------------------------------------------------------------------------------


# By high watermark, by epochs with and without KIP-279, by what fetches answer, with eligible replicas.
@pytest.mark.parametrize("kafka", RELEASE_LINES if EVENING else ["0.8.2", "0.11", "2.0", "2.7", "4.1"])
def test_compaction_survives_a_change_of_leader_in_every_release(kafka: str) -> None:
    cluster = build(kafka, broker={"log.cleaner.enable": True, "log.cleaner.backoff.ms": 3_000})
    cluster.run(12 * SECOND)
    cluster.crash(1)
    cluster.run(36 * SECOND)
    cluster.restart(1)
    cluster.run(40 * SECOND)
    assert cluster.query.leader(P) != 1
    stop(cluster)
    assert len({log_of(cluster, broker).leo for broker in (1, 2, 3)}) == 1
    assert (cluster.query.acked_lost(), cluster.query.unexpected_violations()) == (0, 0)
    for broker in (1, 2, 3):
        assert table(log_of(cluster, broker)) == table(log_of(cluster, broker), whole=True)


@pytest.mark.parametrize("kafka", spread_sample(["2.1", "2.8", "3.9", "4.1"], 2))
@pytest.mark.parametrize("seed", spread_sample([1, 2], 1))
def test_one_broker_after_the_other_in_any_way_costs_nothing(kafka: str, seed: int) -> None:
    drawn = Random(seed)
    cluster = build(kafka, broker={"log.cleaner.backoff.ms": 2_000}, topic={"min.cleanable.dirty.ratio": "0.2"})
    for _round in range(5):
        cluster.run(cluster.now_us + drawn.randrange(1, 12) * SECOND)
        broker = drawn.choice((1, 2, 3))
        how = drawn.choice(("crash", "flushed", "torn", "disk", "pause"))
        if how == "pause":
            cluster.pause(broker)
        elif how == "crash":
            cluster.crash(broker, torn=True)
        elif how == "disk":
            cluster.disk_loss(broker)
        else:
            cluster.power_loss(broker, tail=how)
        cluster.run(cluster.now_us + drawn.randrange(1, 20) * SECOND)
        if how == "pause":
            cluster.resume(broker)
        else:
            cluster.restart(broker)
        until = cluster.now_us + 120 * SECOND
        cluster.run(cluster.now_us + 8 * SECOND)
        cluster.run(until, stop=lambda: cluster.query.isr(P) == [1, 2, 3])
        assert cluster.query.isr(P) == [1, 2, 3]
    stop(cluster)
    judged_well(cluster)


def test_a_keyframe_takes_a_cleaned_log_back() -> None:
    cluster = build()
    cluster.run(31 * SECOND)
    keyframe = cluster.save()
    cluster.run(60 * SECOND)
    digest, cleaned = cluster.digest(), log_of(cluster, 1).cleaned
    cluster.load(keyframe)
    assert log_of(cluster, 1).cleaned != cleaned
    while cluster.now_us < 60 * SECOND:
        cluster.run(min(60 * SECOND, cluster.now_us + 777_777))
    assert (cluster.digest(), log_of(cluster, 1).cleaned) == (digest, cleaned)
