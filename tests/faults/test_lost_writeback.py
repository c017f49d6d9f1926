"""A disk that does not keep what it says: nothing before the power goes, and then more than Kafka thinks possible."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import RecoveryFinished, Truncated
from cluster_model.protocol.records import Batch
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject, unsettled, until_well
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

ERAS = pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper"), ("0.11", "zookeeper")])


def alone(kafka: str = "3.9", mode: str = "kraft", **topic: Any) -> tuple[Cluster, FaultInjector]:
    """One broker, one partition, every record flushed before it is acknowledged."""
    spec = ClusterSpec(
        kafka=kafka,
        mode=mode,
        brokers=(BrokerSpec(1, ""),),
        topics=(TopicSpec("t", 1, 1, ((1,),), config={"flush.messages": 1, **topic}),),
        producers=(ProducerSpec("p", "t", 50 * MS),),
        config={"offsets.topic.replication.factor": 9},
    )
    cluster = Cluster.build(spec, 3)
    return cluster, board_of(cluster)


def replica_of(cluster: Cluster, broker: int = 1, partition: str = "t-0") -> Any:
    return cluster.brokers[broker].replicas[partition]


def told(cluster: Cluster, kind: type[Any]) -> list[Any]:
    return [event for event in cluster.drain() if isinstance(event, kind)]


@ERAS
def test_flushed_records_are_gone_back_to_where_it_began(kafka: str, mode: str) -> None:
    cluster, board = alone(kafka, mode)
    cluster.run(70 * SECOND)
    replica = replica_of(cluster)
    began, hw, checkpoint = replica.log.leo, replica.checkpointed_hw, replica.checkpointed_recovery
    assert replica.log.recovery_point == began > 1_300
    assert hw > checkpoint > 0
    inject(board, "lost_writeback", "broker(1)")
    cluster.run(140 * SECOND)
    end = replica.log.leo
    # All that Kafka knows says that it is safe.
    assert replica.log.recovery_point == replica.log.durable == end > began + 1_300
    assert replica.checkpointed_hw > end - 200
    assert replica.checkpointed_recovery > began
    cluster.drain()
    inject(board, "power_loss", "broker(1)", for_us=2 * SECOND)
    (cut,) = told(cluster, Truncated)
    assert (cut.log_offset, cut.end_offset, cut.rule) == (began, end, "power loss")
    assert (replica.log.leo, replica.checkpointed_hw, replica.checkpointed_recovery) == (began, hw, checkpoint)
    cluster.run(155 * SECOND)
    cluster.stop_producers()
    cluster.run(170 * SECOND)
    assert cluster.query.unexpected_violations() == 0
    cluster.close()
    assert cluster.query.acked_lost() == end - began
    assert cluster.query.committed_lost() == end - began


def test_without_it_the_same_power_loss_takes_nothing() -> None:
    cluster, board = alone()
    cluster.run(200 * SECOND)
    end = replica_of(cluster).log.leo
    inject(board, "power_loss", "broker(1)", for_us=2 * SECOND)
    assert replica_of(cluster).log.leo == end
    assert told(cluster, Truncated) == []


def test_a_crash_loses_nothing() -> None:
    cluster, board = alone()
    cluster.run(10 * SECOND)
    inject(board, "lost_writeback", "broker(1)")
    cluster.run(60 * SECOND)
    end = replica_of(cluster).log.leo
    inject(board, "crash", "broker(1)", for_us=2 * SECOND)
    cluster.run(90 * SECOND)
    assert told(cluster, Truncated) == []
    assert replica_of(cluster).log.leo > end


@pytest.mark.parametrize(
    ("config", "after", "safe"),
    [({}, 29, False), ({}, 30, True), ({"flush.messages": 1}, 1, True), ({"segment.bytes": 2_000}, 5, True)],
)
def test_healed_it_writes_all_in_the_usual_time_or_with_the_next_flush(
    config: dict[str, Any], after: int, safe: bool
) -> None:
    cluster, board = alone(**{"flush.messages": 1_000_000, **config})
    cluster.run(40 * SECOND)
    replica = replica_of(cluster)
    inject(board, "lost_writeback", "broker(1)", for_us=80 * SECOND)
    cluster.run(120 * SECOND)
    healed = replica.log.leo
    cluster.run((120 + after) * SECOND)
    inject(board, "power_loss", "broker(1)")
    # What is younger than the time of a write-back is lost in any case, unless it was flushed.
    least = healed - 31 * 20 if "flush.messages" not in config else healed
    assert (replica.log.leo >= least) == safe
    if not safe:
        assert replica.log.leo <= 40 * 20


@pytest.mark.parametrize("direction", ["ahead", "behind"])
@pytest.mark.parametrize("flushed", [False, True])
def test_setting_the_machines_clock_writes_nothing_and_undoes_no_flush(direction: str, flushed: bool) -> None:
    cluster, board = alone(**{"flush.messages": 1 if flushed else 1_000_000})
    cluster.run(40 * SECOND)
    replica = replica_of(cluster)
    inject(board, "lost_writeback", "broker(1)", for_us=80 * SECOND)
    cluster.run(120 * SECOND)
    healed = replica.log.leo
    if direction == "behind":
        inject(board, "clock_skew", "broker(1)", by=3_600 * SECOND, direction=direction)
    cluster.run(122 * SECOND)
    cluster.stop_producers()
    cluster.run(123 * SECOND)
    if direction == "ahead":
        inject(board, "clock_skew", "broker(1)", by=3_600 * SECOND, direction=direction)
    inject(board, "power_loss", "broker(1)")
    assert (replica.log.leo >= healed) == flushed
    if not flushed:
        assert replica.log.leo <= 40 * 20


def test_two_of_them_heal_by_themselves() -> None:
    cluster, board = alone()
    cluster.run(10 * SECOND)
    began = replica_of(cluster).log.leo
    one = inject(board, "lost_writeback", "broker(1)")
    cluster.run(20 * SECOND)
    two = inject(board, "lost_writeback", "broker(1)")
    board.heal(str(one))
    cluster.run(120 * SECOND)
    saved, kept = cluster.save(), board.save()
    inject(board, "power_loss", "broker(1)")
    assert replica_of(cluster).log.leo == began
    cluster.load(saved)
    board.load(kept)
    board.heal(str(two))
    cluster.run(160 * SECOND)
    end = replica_of(cluster).log.leo
    inject(board, "power_loss", "broker(1)")
    assert replica_of(cluster).log.leo == end


def test_the_second_power_loss_finds_what_the_first_had_left() -> None:
    cluster, board = alone(**{"flush.messages": 1_000_000})
    cluster.run(50 * SECOND)
    inject(board, "lost_writeback", "broker(1)")
    cluster.run(100 * SECOND)
    inject(board, "power_loss", "broker(1)", for_us=2 * SECOND)
    left = replica_of(cluster).log.leo
    assert 0 < left <= 25 * 20
    cluster.run(150 * SECOND)
    assert replica_of(cluster).log.leo > left + 500
    inject(board, "power_loss", "broker(1)", keep=10_000, for_us=2 * SECOND)
    assert replica_of(cluster).log.leo == left


def test_keep_says_how_much_of_what_the_disk_had_is_left() -> None:
    cluster, board = alone()
    cluster.run(10 * SECOND)
    inject(board, "lost_writeback", "broker(1)")
    cluster.run(60 * SECOND)
    inject(board, "power_loss", "broker(1)", keep=7)
    assert replica_of(cluster).log.leo == 7


def test_lost_writeback_restores_deleted_records() -> None:
    cluster, board = alone()
    cluster.run(30 * SECOND)
    inject(board, "lost_writeback", "broker(1)")
    cluster.run(100 * SECOND)
    cluster.delete_records("t-0", 300)
    cluster.run(200 * SECOND)
    assert (replica_of(cluster).log.log_start, replica_of(cluster).checkpointed_start) == (300, 300)
    inject(board, "power_loss", "broker(1)", for_us=2 * SECOND)
    cluster.run(240 * SECOND)
    assert replica_of(cluster).log.log_start == 0


def test_a_partition_that_came_since_is_empty_and_one_that_went_stays_away() -> None:
    cluster, board = alone()
    board.admin(Action("admin", "create_topic", params={"topic": "old", "partitions": 1, "replication": 1}))
    cluster.run(10 * SECOND)
    inject(board, "lost_writeback", "broker(1)")
    board.admin(Action("admin", "create_topic", params={"topic": "new", "partitions": 1, "replication": 1}))
    board.admin(Action("admin", "delete_topic", params={"topic": "old"}))
    cluster.run(20 * SECOND)
    fresh = replica_of(cluster, 1, "new-0").log
    epoch_branch = fresh.epoch_branches.begin(1, 0, 0)
    fresh.append_batch(epoch_branch, Batch(0, 5, 500, cluster.now_us, "p", -1, 0, -1))
    fresh.flush(cluster.now_us)
    assert fresh.durable == 5
    inject(board, "power_loss", "broker(1)")
    assert (fresh.leo, fresh.recovery_point) == (0, 0)
    assert "old-0" not in cluster.brokers[1].replicas


def test_the_marker_of_a_clean_stop_comes_back_with_the_disk() -> None:
    cluster, board = alone()
    cluster.run(10 * SECOND)
    cluster.shutdown(1)
    cluster.run(15 * SECOND)
    began = replica_of(cluster).log.leo
    inject(board, "lost_writeback", "broker(1)")
    cluster.restart(1)
    cluster.run(60 * SECOND)
    inject(board, "power_loss", "broker(1)", for_us=2 * SECOND)
    cluster.drain()
    cluster.run(70 * SECOND)
    (recovery,) = told(cluster, RecoveryFinished)
    assert recovery.clean
    assert replica_of(cluster).log.leo >= began


@ERAS
def test_the_others_give_it_back_what_it_lost(kafka: str, mode: str) -> None:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    cluster.run(10 * SECOND)
    inject(board, "lost_writeback", "broker(3)")
    cluster.run(50 * SECOND)
    inject(board, "power_loss", "broker(3)", for_us=10 * SECOND)
    assert cluster.brokers[3].replicas["orders-0"].log.leo <= 10 * 10
    cluster.run(70 * SECOND)
    board.heal("all")
    cluster.stop_producers()
    until_well(cluster, unsettled)
    assert unsettled(cluster) == []
    cluster.close()
    assert cluster.query.acked_lost() == 0


def test_the_whole_cluster_dark_goes_back_to_the_beginning_though_all_was_flushed() -> None:
    spec = ClusterSpec(
        kafka="3.9",
        mode="kraft",
        brokers=tuple(BrokerSpec(broker, "") for broker in (1, 2, 3)),
        topics=(TopicSpec("t", 1, 3, ((1, 2, 3),), config={"flush.messages": 1}),),
        producers=(ProducerSpec("p", "t", 50 * MS, config={"acks": "all"}),),
        config={"offsets.topic.replication.factor": 9, "min.insync.replicas": 2},
    )

    def lost(lying: str) -> int:
        cluster = Cluster.build(spec, 3)
        board = board_of(cluster)
        cluster.run(10 * SECOND)
        if lying:
            inject(board, "lost_writeback", lying)
        cluster.run(40 * SECOND)
        inject(board, "power_loss", "all", for_us=5 * SECOND)
        cluster.run(60 * SECOND)
        cluster.stop_producers()
        cluster.run(100 * SECOND)
        cluster.close()
        return cluster.query.acked_lost()

    assert lost("") == 0
    assert 585 <= lost("all") <= 605
    # Sessions end one after the other, and the last to be fenced is the last in sync: its disk alone decides.
    assert lost("broker(1) + broker(2)") == 0
    assert lost("broker(3)") == lost("all")


def test_it_predicts_whose_records_are_at_stake(snapshot: SnapshotAssertion) -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    said = board.predict_action(Action("inject", "lost_writeback", "broker(1)"))
    assert said.sentence == snapshot
    said = board.predict_action(Action("inject", "lost_writeback", "isr(orders-0)"))
    assert said.sentence == snapshot
    assert "checkout" in said.clients


@pytest.mark.parametrize("at", [70, 165])
def test_it_goes_back_with_a_keyframe(at: int) -> None:
    """While it lies, and when it has ceased to and has not written yet."""
    cluster, board = alone(**{"flush.messages": 1_000_000})
    cluster.run(50 * SECOND)
    inject(board, "lost_writeback", "broker(1)", for_us=110 * SECOND)
    cluster.run(at * SECOND)
    saved, kept = cluster.save(), board.save()

    def on() -> tuple[str, int]:
        cluster.run((at + 5) * SECOND)
        inject(board, "power_loss", "broker(1)", for_us=SECOND)
        left = replica_of(cluster).log.leo
        cluster.run((at + 40) * SECOND)
        return cluster.digest(), left

    first = on()
    assert 0 < first[1] <= 25 * 20
    cluster.load(saved)
    board.load(kept)
    assert on() == first


@pytest.mark.parametrize("step", [8 * MS, 3_600 * SECOND] if EVENING else [8 * MS])
def test_slices_change_nothing(step: int) -> None:
    def digest(step: int) -> str:
        cluster = busy_cluster()
        board = board_of(cluster)

        def to(second: int) -> None:
            while cluster.now_us < second * SECOND:
                cluster.run(min(second * SECOND, cluster.now_us + step))

        to(5)
        inject(board, "lost_writeback", "all", for_us=20 * SECOND)
        to(15)
        inject(board, "power_loss", "broker(1)", for_us=5 * SECOND)
        to(24)
        inject(board, "power_loss", "broker(2)", for_us=3 * SECOND)
        to(32)
        return cluster.digest()

    assert digest(step) == digest(60 * SECOND)
