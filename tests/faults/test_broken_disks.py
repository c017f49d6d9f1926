"""Full, read-only and failed disks: when the broker ends, and what starts it again."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.storage.disk import BLOCK
from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import NodeDown, NodeUp, Truncated
from cluster_model.protocol.messages import CONSUMER, FetchPartition, FetchRequest
from faults.injector import FaultInjector
from tests.faults.disks import MIB, Probe, quiet, told
from tests.faults.rigs import MS, SECOND, board_of, inject, unsettled

# --- full -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["3.9", "2.8", "1.0", "0.11"])
def test_a_broker_halts_at_the_append_that_does_not_fit(kafka: str) -> None:
    cluster = quiet(kafka=kafka)
    board = board_of(cluster)
    writer = Probe(cluster, 901)
    inject(board, "full_disk", "broker(1)", free=BLOCK + 250)
    for _time in range(3):
        writer.produce((BLOCK + 250) // 2, acks=1)
        cluster.run(cluster.now_us + 100 * MS)
    assert cluster.query.leo("orders-0", 1) == 2
    down = told(cluster, NodeDown)
    assert [event.node for event in down] == ["broker 1"]
    errors = [answer if isinstance(answer, str) else answer.error for _at, answer in writer.answers]
    storage = [KafkaError.KAFKA_STORAGE_ERROR] if kafka != "0.11" else []
    assert errors == [0, 0, *storage, "disconnected from 1"]


def test_an_idle_broker_halts_at_its_next_checkpoint(snapshot: SnapshotAssertion) -> None:
    cluster = quiet()
    inject(board_of(cluster), "full_disk", "broker(2)", free=BLOCK - 1)
    inject(board_of(cluster), "full_disk", "broker(3)", free=BLOCK)
    cluster.run(7 * SECOND)
    assert [(event.node, event.detail) for event in told(cluster, NodeDown)] == snapshot


def test_a_follower_halts_too_and_acks_all_continues(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    inject(board, "full_disk", "broker(3)")
    cluster.run(cluster.now_us + 100 * MS)
    assert [(event.node, event.detail) for event in told(cluster, NodeDown)] == snapshot
    acked = cluster.query.acked()
    cluster.run(cluster.now_us + 12 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2]
    assert cluster.query.acked() > acked + 150


def test_a_restart_ends_again_and_healing_starts_it(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "full_disk", "broker(1)")
    cluster.run(2 * SECOND)
    assert not cluster.is_up(1)
    cluster.drain()
    inject(board, "restart", "broker(1)")
    cluster.run(3 * SECOND)
    assert not cluster.is_up(1)
    events = [(type(event), event.at_us) for event in cluster.drain() if isinstance(event, (NodeUp, NodeDown))]
    assert events == [(NodeUp, 2 * SECOND), (NodeDown, 2 * SECOND)]
    assert board.on_node(1) == ("full_disk",)
    board.heal("full_disk")
    cluster.run(20 * SECOND)
    assert cluster.is_up(1)
    assert 1 in cluster.query.isr("orders-0")


def test_only_the_last_of_two_broken_disks_starts_it(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "full_disk", "broker(1)")
    second = inject(board, "read_only_disk", "broker(1)")
    cluster.run(2 * SECOND)
    board.heal(str(first))
    cluster.run(3 * SECOND)
    assert not cluster.is_up(1)
    assert told(cluster, NodeUp) == []
    board.heal(str(second))
    assert cluster.is_up(1)


def test_healing_starts_nothing_that_something_else_has_ended(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "full_disk", "broker(1)", free=MIB)
    crash = inject(board, "crash", "broker(1)")
    board.heal("full_disk")
    cluster.run(3 * SECOND)
    assert not cluster.is_up(1)
    board.heal(str(crash))
    assert cluster.is_up(1)


def test_a_broker_that_is_just_halting_starts_when_it_has() -> None:
    cluster = quiet()
    board = board_of(cluster)
    number = inject(board, "log_dir_failure", "broker(1)")
    board.heal(str(number))
    cluster.run(SECOND)
    events = [(type(event), event.at_us) for event in cluster.drain() if isinstance(event, (NodeUp, NodeDown))]
    assert events == [(NodeDown, SECOND), (NodeUp, SECOND)]
    cluster.run(20 * SECOND)
    assert sorted(cluster.query.isr("orders-0")) == [1, 2, 3]


def test_retention_frees_space_on_a_full_disk() -> None:
    config: dict[str, int | str | bool] = {
        "log.retention.check.interval.ms": 1_000,
        "log.initial.task.delay.ms": 500,
        "log.segment.delete.delay.ms": 0,
        "log.segment.bytes": 1_100_000,
        "log.retention.bytes": 1_000_000,
    }
    cluster = quiet(config)
    board = board_of(cluster)
    writer = Probe(cluster, 901)
    inject(board, "full_disk", "broker(1)", free=3_000_000)
    for _time in range(20):
        writer.produce(500_000)
        cluster.run(cluster.now_us + 2 * SECOND)
    assert [answer.error for _at, answer in writer.answers] == [0] * 20
    assert cluster.is_up(1)


# --- read-only and gone ---------------------------------------------------------------------------------------------


def test_reads_continue_until_a_write_ends_it(snapshot: SnapshotAssertion) -> None:
    cluster = quiet()
    board = board_of(cluster)
    probe = Probe(cluster, 901)
    probe.produce(100)
    cluster.run(2 * SECOND)
    inject(board, "read_only_disk", "broker(1)")
    probe.answers.clear()
    fetch = FetchRequest(1, CONSUMER, -1, 0, MIB, (FetchPartition("orders-0", 0, -1, -1, -1),))
    probe.port.send(1, fetch)
    cluster.run(2 * SECOND + 10 * MS)
    assert [answer.partitions[0].records.end for _at, answer in probe.answers] == [1]
    assert cluster.is_up(1)
    probe.produce(100)
    cluster.run(2 * SECOND + 20 * MS)
    assert [event.detail for event in told(cluster, NodeDown)] == snapshot
    assert cluster.query.leo("orders-0", 1) == 1


def test_an_idle_broker_on_a_read_only_disk_ends_by_its_next_checkpoint(snapshot: SnapshotAssertion) -> None:
    cluster = quiet()
    inject(board_of(cluster), "read_only_disk", "brokers", 20 * SECOND)
    cluster.run(SECOND + 5 * SECOND)
    assert [(event.node, event.detail) for event in told(cluster, NodeDown)] == snapshot
    cluster.run(40 * SECOND)
    assert sorted(cluster.query.isr("orders-0")) == [1, 2, 3]


@pytest.mark.parametrize("task", ["log.flush.offset.checkpoint.interval.ms", "log.retention.check.interval.ms"])
def test_other_tasks_of_the_log_manager_end_it_too(task: str, snapshot: SnapshotAssertion) -> None:
    config: dict[str, int | str | bool] = {
        "replica.high.watermark.checkpoint.interval.ms": 3_600_000,
        "log.initial.task.delay.ms": 100,
        "log.flush.offset.checkpoint.interval.ms": 3_600_000,
        "log.flush.start.offset.checkpoint.interval.ms": 3_600_000,
        "log.retention.check.interval.ms": 3_600_000,
        task: 2_000,
    }
    cluster = quiet(config)
    inject(board_of(cluster), "read_only_disk", "broker(2)")
    cluster.run(4 * SECOND)
    assert [event.detail for event in told(cluster, NodeDown)] == snapshot


@pytest.mark.slow
def test_a_failed_directory_ends_the_broker_at_once_and_keeps_what_it_held(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    leo = cluster.query.leo("orders-0", 1)
    inject(board, "log_dir_failure", "broker(1)", 6 * SECOND)
    cluster.run(2 * SECOND)
    assert [(event.at_us, event.detail) for event in told(cluster, NodeDown)] == snapshot
    cluster.run(7 * SECOND)
    assert cluster.query.leo("orders-0", 1) >= leo
    cluster.run(25 * SECOND)
    assert 1 in cluster.query.isr("orders-0")


@pytest.mark.slow
def test_a_lost_directory_comes_back_empty(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "log_dir_failure", "broker(1)", 6 * SECOND, lost=True)
    cut = [event for event in told(cluster, Truncated) if event.rule == "disk loss"]
    assert [(event.partition, event.broker, event.log_offset) for event in cut] == [("orders-0", 1, 0)]
    cluster.run(3 * SECOND)
    inject(board, "restart", "broker(1)")
    cluster.run(4 * SECOND)
    assert not cluster.is_up(1)
    cluster.run(30 * SECOND)
    assert 1 in cluster.query.isr("orders-0")
    cluster.stop_producers()
    cluster.run(60 * SECOND)
    assert (cluster.query.acked_lost(), unsettled(cluster)) == (0, [])
