"""Every unclean end of a broker: content of its logs and checkpoints afterwards, and the next start."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.log.crash_recovery import DISK_LOSS, FLUSHED, POWER_LOSS, TAILS, TORN, WRITTEN_BACK, bytes_to_check
from cluster_model.protocol.configs import WRITEBACK_US
from cluster_model.protocol.events import Event, NodeDown, RecordsLost, RecoveryFinished, Truncated
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from tests.support.breadth import EVENING

SECOND = 1_000_000
P = "orders-0"


def build(kafka: str = "3.9", *, writeback_us: int = WRITEBACK_US, **topic: Any) -> Cluster:
    config = {"min.insync.replicas": 2, **{name.replace("_", "."): value for name, value in topic.items()}}
    topics = (TopicSpec("orders", 1, 3, ((1, 2, 3),), config),)
    maker = ProducerSpec("checkout", "orders", 100_000, 10, config={"acks": "all"})
    spec = ClusterSpec(
        kafka, None, tuple(BrokerSpec(number) for number in (1, 2, 3)), topics, (maker,), writeback_us=writeback_us
    )
    return Cluster.build(spec, 7)


def replica(cluster: Cluster, broker: int) -> Any:
    return cluster.brokers[broker].replicas[P]


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def finish(cluster: Cluster) -> None:
    cluster.run(cluster.now_us + 25 * SECOND)
    cluster.stop_producers()
    cluster.run(cluster.now_us + 25 * SECOND)
    cluster.close()


# --- power loss -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_kinds_of_tail_leave_more_or_less() -> None:
    ends = {}
    for tail in TAILS:
        cluster = build(segment_bytes=900_000)
        cluster.run(85 * SECOND)
        log = replica(cluster, 2).log
        flushed, whole = log.recovery_point, log.leo
        cluster.power_loss(2, tail=tail)
        ends[tail] = log.leo
        assert (flushed > 0, log.torn > 0) == (True, tail == TORN)
        assert log.durable <= log.leo < whole
        if tail == FLUSHED:
            assert log.leo == flushed == log.segments.base
    assert ends[FLUSHED] < ends[WRITTEN_BACK] == ends[TORN]


@pytest.mark.slow
def test_the_disk_may_be_faster_than_linux_is_by_default() -> None:
    ends = []
    for writeback in (30, 10, 0):
        cluster = build(writeback_us=writeback * SECOND)
        cluster.run(45 * SECOND)
        cluster.power_loss(2)
        ends.append(replica(cluster, 2).log.leo)
    # Ages are checked when high watermarks are checkpointed, every five seconds.
    assert [1_000 < ends[0] < 1_500, 3_000 < ends[1] < 3_500, 4_000 < ends[2] <= 4_500] == [True] * 3


def test_a_given_number_of_records_goes_before_the_kind_of_tail() -> None:
    for tail in TAILS:
        cluster = build()
        cluster.run(10 * SECOND)
        cluster.power_loss(2, keep=57, tail=tail)
        assert replica(cluster, 2).log.leo == 50, "between whole batches"


@pytest.mark.slow
def test_a_torn_batch_is_truncated_and_recorded(snapshot: SnapshotAssertion) -> None:
    told = {}
    for tail in (WRITTEN_BACK, TORN):
        cluster = build()
        cluster.run(45 * SECOND)
        cluster.power_loss(2, tail=tail)
        log = replica(cluster, 2).log
        size = log.disk_bytes
        to_check = bytes_to_check(log.segments, replica(cluster, 2).checkpointed_recovery) + log.torn
        end = log.leo
        cluster.drain()
        cluster.restart(2)
        cluster.run(46 * SECOND)
        (event,) = of(cluster.drain(), RecoveryFinished)
        told[tail] = event.detail.partition(", ")[2]
        assert event.detail.startswith(f"{to_check} bytes checked")
        assert (log.torn, log.disk_bytes, log.leo) == (0, size - (1_000 if tail == TORN else 0), end)
        finish(cluster)
        assert (cluster.query.acked_lost(), cluster.query.violations()) == (0, 0)
    assert told[WRITTEN_BACK] == ""
    assert told[TORN] == snapshot


def test_a_log_that_was_all_on_disk_has_no_torn_tail() -> None:
    cluster = build(flush_messages=1)
    cluster.run(10 * SECOND)
    log = replica(cluster, 2).log
    whole = log.leo
    for tail in TAILS:
        cluster.power_loss(2, tail=tail)
        assert (log.leo, log.torn) == (whole, 0)


# --- process crash --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("torn", [False, True])
def test_a_killed_process_loses_nothing_that_was_written(torn: bool) -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    log = replica(cluster, 1).log
    whole, size = log.leo, log.segments.total
    cluster.crash(1, torn=torn)
    assert (log.leo, log.torn) == (whole, 1_000 if torn else 0)
    assert log.disk_bytes == size + log.torn
    keyframe = cluster.save()
    cluster.restart(1)
    cluster.load(keyframe)
    assert log.torn == (1_000 if torn else 0)
    cluster.restart(1)
    cluster.run(12 * SECOND)
    (event,) = of(cluster.drain(), RecoveryFinished)
    assert ("torn" in event.detail) is torn
    finish(cluster)
    assert (cluster.query.acked_lost(), cluster.query.violations()) == (0, 0)


# --- disk loss ------------------------------------------------------------------------------------------------------


def test_a_lost_disk_takes_checkpoints_and_marker_along() -> None:
    cluster = build(retention_bytes=10_000, segment_bytes=10_000)
    cluster.run(100 * SECOND)
    held = replica(cluster, 3)
    assert min(held.log.log_start, held.checkpointed_hw, held.checkpointed_start, held.checkpointed_recovery) > 0
    cluster.drain()
    cluster.disk_loss(3)
    log = held.log
    assert (log.leo, log.log_start, log.durable, log.recovery_point, log.epochs.entries) == (0, 0, 0, 0, ())
    assert (log.disk_bytes, len(log.segments.all)) == (0, 1)
    assert (held.hw, held.checkpointed_hw, held.checkpointed_recovery, held.checkpointed_start) == (0, 0, 0, 0)
    down, cut = cluster.drain()
    assert (down.kind, down.detail, cut.rule, cut.log_offset) == ("node_down", "disk_loss", DISK_LOSS, 0)
    cluster.restart(3)
    cluster.run(101 * SECOND)
    (recovery,) = of(cluster.drain(), RecoveryFinished)
    assert (recovery.clean, recovery.latency_us, recovery.detail) == (False, 0, "0 bytes checked")


def test_the_disk_of_a_broker_that_is_down_can_go_too() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.shutdown(3)
    cluster.run(15 * SECOND)
    cluster.drain()
    cluster.disk_loss(3)
    assert of(cluster.drain(), NodeDown) == []
    assert not cluster.brokers[3].logs.marker
    assert replica(cluster, 3).log.leo == 0


# Each of these truncates, or lets into the ISR, by other rules.
@pytest.mark.slow
@pytest.mark.parametrize("kafka", RELEASE_LINES if EVENING else ["0.8.2", "0.11", "2.0", "2.7", "4.1"])
def test_a_wiped_follower_comes_back_with_everything_in_every_release(kafka: str) -> None:
    cluster = build(kafka, retention_bytes=20_000, segment_bytes=10_000)
    cluster.run(40 * SECOND)
    start = replica(cluster, 1).log.log_start
    assert start > 0
    cluster.disk_loss(3)
    cluster.run(62 * SECOND)
    cluster.restart(3)
    finish(cluster)
    assert cluster.query.isr(P) == [1, 2, 3]
    leader = cluster.query.leader(P)
    assert replica(cluster, 3).log.leo == replica(cluster, leader).log.leo
    assert replica(cluster, 3).log.log_start >= start, "it began where its leader began"
    assert (cluster.query.acked_lost(), cluster.query.diverged(P), cluster.query.violations()) == (0, 0, 0)


def test_a_wiped_leader_is_no_leader_any_more_and_nothing_is_lost() -> None:
    cluster = build()
    cluster.run(20 * SECOND)
    cluster.disk_loss(1)
    cluster.run(50 * SECOND)
    cluster.restart(1)
    finish(cluster)
    assert cluster.query.leader(P) in (2, 3)
    assert (cluster.query.acked_lost(), cluster.query.violations()) == (0, 0)


@pytest.mark.slow
def test_the_last_in_sync_replica_takes_everything_along_with_its_disk(snapshot: SnapshotAssertion) -> None:
    cluster = build(min_insync_replicas=1)
    cluster.run(20 * SECOND)
    cluster.pause(2)
    cluster.pause(3)
    cluster.run(80 * SECOND)
    assert cluster.query.isr(P) == [1]
    cluster.disk_loss(1)
    cluster.restart(1)
    cluster.run(90 * SECOND)
    cluster.resume(2)
    cluster.resume(3)
    finish(cluster)
    assert cluster.query.acked_lost() > 400
    lost = of(cluster.drain(), RecordsLost)
    assert {event.cause.partition("; ")[2] for event in lost} == snapshot
    assert cluster.query.violations("acks-all-durability") == 0, "a lost disk excuses it"


def test_a_disk_loss_is_an_allowed_truncation() -> None:
    cluster = build()
    cluster.run(20 * SECOND)
    cluster.power_loss(2)
    cluster.disk_loss(3)
    assert [event.rule for event in of(cluster.drain(), Truncated)] == [POWER_LOSS, DISK_LOSS]
    assert cluster.checker.invariants.allowed_losses.ever_lossy(P)
