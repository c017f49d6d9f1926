"""Storage of a running cluster: retention, DeleteRecords, checkpoints, clean and unclean starts, and the ledger."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.log.crash_recovery import RECOVERY_BYTES_PER_SECOND
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import (
    ConsumerReset,
    Event,
    LogStartMoved,
    NodeDown,
    RecordsMissing,
    RecoveryFinished,
    SegmentRolled,
)
from cluster_model.protocol.records import Batch
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.cluster_model.again import comes_out_again

pytestmark = pytest.mark.slow

SECOND = 1_000_000
P = "orders-0"
QUICK: dict[str, Any] = {"log.retention.check.interval.ms": 5_000}
RETAIN: dict[str, Any] = {"segment.bytes": 20_000, "retention.bytes": 60_000}
LARGE: dict[str, Any] = {"each_us": 50_000, "record_bytes": 1_000}
"""The usual number of bytes per second, in a fifth of the records."""


def spec(
    kafka: str = "3.9",
    topic: dict[str, Any] | None = None,
    broker: dict[str, Any] | None = None,
    producer: dict[str, Any] | None = None,
    processing_us: int = 0,
    record_bytes: int = 200,
    each_us: int = 10_000,
) -> ClusterSpec:
    topics = (TopicSpec("orders", 1, 3, ((1, 2, 3),), {"min.insync.replicas": 2, **(topic or {})}),)
    maker = ProducerSpec(
        "checkout", "orders", each_us, record_bytes=record_bytes, config={"acks": "all", **(producer or {})}
    )
    group = GroupSpec("billing", ("orders",), 1, processing_us, {"auto.offset.reset": "earliest"})
    brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
    return ClusterSpec(kafka, None, brokers, topics, (maker,), (group,), config=broker or {})


def build(**more: Any) -> Cluster:
    return Cluster.build(spec(**more), 7)


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def finish(cluster: Cluster) -> None:
    cluster.stop_producers()
    cluster.run(cluster.now_us + 20 * SECOND)
    cluster.close()


def test_retention_first_runs_after_thirty_seconds_and_then_by_its_interval() -> None:
    cluster = build(topic=RETAIN, each_us=100_000, record_bytes=2_000)
    cluster.run(29 * SECOND)
    assert of(cluster.drain(), LogStartMoved) == []
    cluster.run(300 * SECOND)
    first = of(cluster.drain(), LogStartMoved)
    assert {event.broker for event in first} == {1, 2, 3}
    assert {event.at_us for event in first if event.by == "retention.bytes"} == {30 * SECOND}
    cluster.run(331 * SECOND)
    again = of(cluster.drain(), LogStartMoved)
    assert {event.at_us for event in again if event.by == "retention.bytes"} == {330 * SECOND}
    assert cluster.query.log_start(P) == max(event.end_offset for event in again)


def test_leader_and_followers_roll_and_say_why() -> None:
    cluster = build(topic=RETAIN)
    cluster.run(10 * SECOND)
    rolled = of(cluster.drain(), SegmentRolled)
    assert {event.broker for event in rolled} == {1, 2, 3}
    assert {event.rule for event in rolled} == {"segment.bytes"}
    leader = [event.log_offset for event in rolled if event.broker == 1]
    assert leader == list(range(100, 1_000, 100))[: len(leader)]
    assert len(leader) >= 8


def test_records_deleted_by_retention_are_not_lost() -> None:
    cluster = build(topic=RETAIN, broker=QUICK, **LARGE)
    cluster.run(41 * SECOND)
    assert cluster.query.log_start(P) > 600
    finish(cluster)
    events = cluster.drain()
    assert of(events, RecordsMissing) == []
    ledger = cluster.view().ledger
    assert (ledger.acked, ledger.acked_lost, ledger.missing, ledger.committed_lost) == (ledger.sent, 0, 0, 0)
    assert cluster.query.violations() == 0


def test_a_consumer_that_lags_behind_retention_is_reset() -> None:
    cluster = build(topic=RETAIN, broker=QUICK, processing_us=200_000, **LARGE)
    cluster.run(40 * SECOND)
    resets = of(cluster.drain(), ConsumerReset)
    assert resets
    assert all(event.log_offset > event.end_offset for event in resets), "forward to the log's start, records skipped"


def test_a_follower_that_returns_below_the_leaders_start_begins_there() -> None:
    cluster = build(topic=RETAIN, broker=QUICK, **LARGE)
    cluster.run(15 * SECOND)
    cluster.crash(3)
    cluster.run(36 * SECOND)
    cluster.drain()
    behind = cluster.query.leo(P, 3)
    assert behind < cluster.query.log_start(P)
    cluster.restart(3)
    cluster.run(46 * SECOND)
    moved = [event for event in of(cluster.drain(), LogStartMoved) if event.broker == 3]
    assert moved[0].by == "out of range"
    assert moved[0].end_offset > behind
    assert cluster.query.isr(P) == [1, 2, 3]
    finish(cluster)
    assert (cluster.view().ledger.acked_lost, cluster.query.violations(), cluster.query.diverged(P)) == (0, 0, 0)


def test_an_election_of_a_log_without_the_deleted_records_misses_none_of_them() -> None:
    cluster = build(topic=RETAIN, broker=QUICK, **LARGE)
    cluster.run(36 * SECOND)
    assert cluster.query.log_start(P) > 400
    cluster.crash(1)
    cluster.run(50 * SECOND)
    assert cluster.query.leader(P) != 1
    cluster.restart(1)
    finish(cluster)
    ledger = cluster.view().ledger
    assert (ledger.missing, ledger.acked_lost) == (0, 0)


def test_records_lost_before_retention_stay_lost() -> None:
    config = {"unclean.leader.election.enable": True, "min.insync.replicas": 1, **RETAIN}
    cluster = build(topic=config, broker=QUICK, producer={"acks": "1"}, **LARGE)
    cluster.run(5 * SECOND)
    for broker in (2, 3):
        cluster.pause(broker)
    cluster.run(7 * SECOND)
    cluster.power_loss(1, 60)
    for broker in (2, 3):
        cluster.resume(broker)
    cluster.run(29 * SECOND)
    lost = cluster.query.missing()
    assert lost > 0
    cluster.run(41 * SECOND)
    assert cluster.query.log_start(P) > 200
    assert cluster.query.missing() == lost
    finish(cluster)
    assert cluster.view().ledger.acked_lost >= lost


# --- DeleteRecords --------------------------------------------------------------------------------------------------


def test_delete_records_moves_the_start_of_every_live_replica() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    assert cluster.delete_records(P, 200) is KafkaError.NONE
    assert (cluster.query.log_start(P), cluster.cluster_state.low_watermark(P)) == (200, 0)
    cluster.run(6 * SECOND)
    assert cluster.cluster_state.low_watermark(P) == 200
    assert cluster.delete_records(P, 100) is KafkaError.NONE
    assert cluster.query.log_start(P) == 200
    by = {event.broker: event.by for event in of(cluster.drain(), LogStartMoved)}
    assert by == {1: "DeleteRecords", 2: "leader", 3: "leader"}
    hw = cluster.query.hw(P)
    assert cluster.delete_records(P, -1) is KafkaError.NONE
    assert cluster.query.log_start(P) == hw
    finish(cluster)
    assert cluster.view().ledger.acked_lost == 0


def test_delete_records_is_refused_with_kafkas_errors() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    for offset in (cluster.query.hw(P) + 1, -2):
        assert cluster.delete_records(P, offset) is KafkaError.OFFSET_OUT_OF_RANGE
    cluster.crash(1)
    assert cluster.delete_records(P, 1) is KafkaError.LEADER_NOT_AVAILABLE
    with pytest.raises(ModelError) as caught:
        cluster.delete_records("nowhere-0", 1)
    assert caught.value.code == "no_partition"
    assert "'nowhere-0'" in str(caught.value)
    old = build(kafka="0.10.2")
    assert old.delete_records(P, 0) is KafkaError.UNSUPPORTED_VERSION


def test_a_crash_forgets_a_log_start_that_no_checkpoint_has() -> None:
    cluster = build(each_us=20_000)
    cluster.run(5 * SECOND)
    cluster.delete_records(P, 200)
    cluster.run(6 * SECOND)
    cluster.crash(3)
    cluster.restart(3)
    assert cluster.query.log_start(P, 3) == 0
    cluster.run(31 * SECOND)
    assert cluster.query.log_start(P, 3) == 200, "told again by the leader"
    cluster.run(65 * SECOND)
    cluster.crash(3)
    cluster.restart(3)
    assert cluster.query.log_start(P, 3) == 200


# --- stops and starts -----------------------------------------------------------------------------------------------


def replica(cluster: Cluster, broker: int) -> Any:
    return cluster.cluster_state.replica(P, broker)


def test_a_clean_shutdown_leaves_nothing_to_recover(snapshot: SnapshotAssertion) -> None:
    cluster = build()
    cluster.run(12 * SECOND)
    cluster.shutdown(2)
    cluster.run(18 * SECOND)
    end, hw = cluster.query.leo(P, 2), cluster.query.hw(P, 2)
    assert of(cluster.drain(), NodeDown)[-1].detail == "shutdown"
    with pytest.raises(ModelError) as caught:
        cluster.shutdown(2)
    assert caught.value.code == "not_running"
    assert str(caught.value) == snapshot
    log = replica(cluster, 2).log
    assert (log.durable, log.recovery_point, replica(cluster, 2).checkpointed_hw) == (end, end, hw)
    assert cluster.brokers[2].logs.marker
    cluster.restart(2)
    assert not cluster.brokers[2].logs.marker, "read, and gone"
    (told,) = of(cluster.drain(), RecoveryFinished)
    logs = len(cluster.brokers[2].replicas)
    assert (told.broker, told.clean, told.count, told.latency_us, told.at_us) == (2, True, logs, 0, 18 * SECOND)
    assert (cluster.query.leo(P, 2), cluster.query.hw(P, 2)) == (end, hw)


@pytest.mark.parametrize(
    ("how", "survives"), [("crash", "everything"), ("power_loss", "what was written back"), ("shutdown", "everything")]
)
def test_records_that_survive_each_kind_of_stop(how: str, survives: str) -> None:
    cluster = build(topic={"segment.bytes": 50_000})
    cluster.run(12 * SECOND)
    log = replica(cluster, 2).log
    end, durable = log.leo, log.durable
    assert 0 < durable == log.segments.base < end, "rolls flush what precedes them"
    getattr(cluster, how)(2)
    cluster.run(cluster.now_us)
    assert log.leo == (end if survives == "everything" else durable)
    assert cluster.query.leo(P, 2) == log.leo
    cluster.restart(2)
    assert log.leo == (end if survives == "everything" else durable)
    finish(cluster)
    assert (cluster.query.leo(P, 2), cluster.view().ledger.acked_lost) == (cluster.query.leo(P, 1), 0)


def test_power_loss_cuts_each_partition_by_itself() -> None:
    made = spec(topic={"segment.bytes": 50_000})
    topic = TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1)), {"segment.bytes": 50_000})
    few = ProducerSpec("few", "other", 100_000, config={"acks": "all"})
    other = TopicSpec("other", 1, 3, ((3, 1, 2),), {"flush.messages": 1})
    cluster = Cluster.build(ClusterSpec("3.9", None, made.brokers, (topic, other), (*made.producers, few)), 7)
    cluster.run(12 * SECOND)
    kept = {name: (r.log.durable, r.log.leo) for name, r in cluster.brokers[2].replicas.items()}
    cluster.power_loss(2)
    assert {name: r.log.leo for name, r in cluster.brokers[2].replicas.items()} == {
        name: durable for name, (durable, _leo) in kept.items()
    }
    assert kept["other-0"][0] == kept["other-0"][1] > 0
    assert kept["orders-0"][0] < kept["orders-0"][1]


def test_log_recovery_takes_time_by_the_size_of_unflushed_segments() -> None:
    record = 2 * 1024 * 1024
    cluster = build(
        broker={"replica.fetch.max.bytes": record, "message.max.bytes": record},
        producer={"batch.size": record, "max.request.size": 2 * record},
        record_bytes=record,
    )
    cluster.run(3 * SECOND)
    cluster.crash(2)
    size = replica(cluster, 2).log.segments.total
    cluster.drain()
    started = cluster.now_us
    cluster.restart(2)
    cluster.run(started + 20 * SECOND)
    (told,) = of(cluster.drain(), RecoveryFinished)
    expected = size * SECOND // RECOVERY_BYTES_PER_SECOND
    assert expected > SECOND
    assert (told.clean, told.latency_us, told.at_us) == (False, expected, started + expected)
    assert told.detail == f"{size} bytes checked"


def test_a_stop_in_the_middle_of_recovery_leaves_no_marker() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.crash(2)
    cluster.restart(2)
    assert not cluster.brokers[2].logs.loaded
    cluster.shutdown(2)
    cluster.run(cluster.now_us)
    assert not cluster.brokers[2].logs.marker
    cluster.restart(2)
    cluster.run(cluster.now_us + 10 * SECOND)
    assert cluster.brokers[2].logs.loaded
    cluster.shutdown(2)
    cluster.run(cluster.now_us + 5 * SECOND)
    assert cluster.brokers[2].logs.marker


def test_recovery_points_are_written_once_a_minute_from_the_thirtieth_second_on() -> None:
    cluster = build(topic={"segment.bytes": 20_000}, each_us=40_000, record_bytes=800)
    cluster.run(30 * SECOND - 1)
    assert replica(cluster, 1).checkpointed_recovery == 0
    cluster.run(30 * SECOND)
    first = replica(cluster, 1).checkpointed_recovery
    assert first == replica(cluster, 1).log.recovery_point > 500
    cluster.run(90 * SECOND - 1)
    assert replica(cluster, 1).checkpointed_recovery == first
    cluster.run(90 * SECOND)
    assert replica(cluster, 1).checkpointed_recovery > first


# --- keyframes, versions, codecs --------------------------------------------------------------------------------------


def test_a_keyframe_restores_segments_checkpoints_and_what_was_deleted() -> None:
    cluster = build(topic=RETAIN, broker=QUICK, **LARGE)
    cluster.run(33 * SECOND)
    cluster.crash(2)
    cluster.restart(2)

    def act(cluster: Cluster) -> None:
        cluster.run(41 * SECOND)
        cluster.delete_records(P, cluster.query.hw(P) - 5)
        cluster.shutdown(3)
        cluster.run(45 * SECOND)
        finish(cluster)

    assert comes_out_again(cluster, act)


@pytest.mark.parametrize("slice_us", [7_000, 1_300_000])
def test_slices_leave_no_mark_on_storage(slice_us: int) -> None:
    # Retention runs twice, at 30 and 35 s.
    whole, sliced = [build(topic=RETAIN, broker=QUICK, **LARGE) for _each in range(2)]
    for cluster, step in ((whole, 36 * SECOND), (sliced, slice_us)):
        while cluster.now_us < 36 * SECOND:
            cluster.run(min(cluster.now_us + step, 36 * SECOND))
            cluster.drain()
    assert whole.query.log_start(P) > 0
    assert whole.digest() == sliced.digest()


@pytest.mark.parametrize(("kafka", "stamped"), [("0.9", False), ("0.10.0", True), ("3.9", True)])
def test_records_have_timestamps_since_0_10(kafka: str, stamped: bool) -> None:
    cluster = build(kafka=kafka)
    cluster.run(2 * SECOND)
    (epoch_branch,) = cluster.epoch_branches[P].by_id
    assert all((batch.timestamp_us >= 0) is stamped for batch in epoch_branch.between(0, epoch_branch.end))
    assert all(batch.timestamp_us < batch.appended_us for batch in epoch_branch.between(0, epoch_branch.end))


def _written(cluster: Cluster) -> list[Batch]:
    (epoch_branch,) = cluster.epoch_branches[P].by_id
    return list(epoch_branch.between(0, epoch_branch.end))


def test_log_append_time_is_the_leaders() -> None:
    cluster = build(topic={"message.timestamp.type": "LogAppendTime"})
    cluster.run(2 * SECOND)
    assert all(batch.timestamp_us == batch.appended_us for batch in _written(cluster))


def test_a_compressed_batch_is_smaller_and_later() -> None:
    plain, packed = build(), build(producer={"compression.type": "gzip"})
    for cluster in (plain, packed):
        cluster.run(2 * SECOND)
    one, other = _written(plain)[0], _written(packed)[0]
    assert (one.size, other.size, one.codec, other.codec) == (200, 50, 0, 1)
    assert one.timestamp_us == other.timestamp_us


@pytest.mark.parametrize(("topic", "producer", "size", "codec"), [
    ("producer", "gzip", 50, 1),
    ("gzip", "none", 50, 1),
    ("uncompressed", "gzip", 200, 0),
    ("zstd", "gzip", 54, 4),
])  # fmt: skip
def test_a_leader_compresses_by_the_topic(topic: str, producer: str, size: int, codec: int) -> None:
    """The batch is stored with the codec of ``compression.type``, whatever the producer's (``LogValidator``)."""
    cluster = build(producer={"compression.type": producer}, topic={"compression.type": topic})
    cluster.run(2 * SECOND)
    batch = _written(cluster)[0]
    assert (batch.size, batch.codec) == (size, codec)


def test_a_batch_that_is_too_large_once_unpacked_is_refused() -> None:
    cluster = build(
        producer={"compression.type": "gzip"}, topic={"compression.type": "uncompressed", "max.message.bytes": 100}
    )
    cluster.run(2 * SECOND)
    finish(cluster)
    assert cluster.view().ledger.acked == 0
    assert cluster.producers["checkout"].last_error == "MESSAGE_TOO_LARGE"


def test_a_batch_larger_than_a_segment_is_refused_for_good() -> None:
    cluster = build(topic={"segment.bytes": 150})
    cluster.run(2 * SECOND)
    finish(cluster)
    ledger = cluster.view().ledger
    assert (ledger.acked, ledger.unknown, ledger.failed) == (0, 0, ledger.sent)
    assert cluster.producers["checkout"].last_error == "RECORD_LIST_TOO_LARGE"


@pytest.mark.parametrize("kafka", ["0.11", "2.0", "3.9"])
def test_followers_of_an_idle_partition_learn_of_deleted_records_and_keyframes_hold_it(kafka: str) -> None:
    topic = TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1)))
    producer = ProducerSpec("checkout", "orders", 10_000, stop_us=2 * SECOND, keys=1_000)
    spec = ClusterSpec(kafka, None, tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (topic,), (producer,))
    cluster = Cluster.build(spec, 1)
    cluster.run(6 * SECOND)
    cluster.save()
    assert cluster.delete_records("orders-0", 50).name == "NONE"
    keyframe = cluster.save()
    cluster.run(20 * SECOND)
    starts = {broker: replica.log.log_start for broker, replica in cluster.cluster_state.replicas["orders-0"].items()}
    assert starts == {1: 50, 2: 50, 3: 50}

    digest = cluster.digest()
    cluster.load(keyframe)
    assert cluster.query.log_start("orders-0") == 50
    cluster.run(20 * SECOND)
    assert cluster.digest() == digest
