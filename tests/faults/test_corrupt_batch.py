"""A damaged batch: who comes upon it, who does not, what that stops, and how an operator gets out."""

from itertools import pairwise
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    BatchCorrupted,
    ConsumerFailed,
    CorruptBatchFound,
    IsrChanged,
    TraceEvent,
    Truncated,
)
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action, FaultError
from tests.faults.rigs import MS, SECOND, begun, board_of, busy_cluster, inject, unsettled

pytestmark = pytest.mark.slow

ERAS = pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper"), ("0.10.2", "zookeeper")])


class RecordedCluster:
    """A cluster with everything rare that it told."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.board = board_of(cluster)
        self._events: list[Any] = []

    def run(self, second: float) -> None:
        self.cluster.run(int(second * SECOND))

    def of(self, kind: type[TraceEvent], **fields: Any) -> list[Any]:
        self._events += self.cluster.drain()
        return [
            event
            for event in self._events
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def end(self, *, settle: float = 30) -> None:
        self.cluster.stop_producers()
        self.cluster.run(self.cluster.now_us + int(settle * SECOND))


def busy(second: float = 5, **era: Any) -> RecordedCluster:
    return RecordedCluster(begun(int(second * SECOND), busy_cluster, **era)[0])


def lines(told: RecordedCluster, broker: int, partition: str = "orders-0") -> Any:
    return told.cluster.brokers[broker].replicas[partition]


# --- one copy is damaged, and nobody needs it


@ERAS
def test_damage_to_a_follower_is_not_noticed_and_nothing_is_missing(kafka: str, mode: str) -> None:
    told = busy(kafka=kafka, mode=mode)
    inject(told.board, "corrupt_batch", "broker(3)", partition="orders-0")
    (event,) = told.of(BatchCorrupted)
    hw = lines(told, 3).hw
    assert (event.partition, event.broker, event.end_offset, event.detail) == ("orders-0", 3, hw, "value")
    told.run(15)
    told.end()
    assert unsettled(told.cluster) == []
    assert told.of(CorruptBatchFound) == []
    assert told.cluster.query.missing() == 0
    told.cluster.close()
    assert told.cluster.query.acked_lost() == 0


def test_the_leaders_copy_counts_as_missing_and_in_the_end_as_lost(snapshot: SnapshotAssertion) -> None:
    told = busy()
    inject(told.board, "corrupt_batch", "leader(orders-0)", partition="orders-0", offset=10)
    (event,) = told.of(BatchCorrupted)
    count = event.end_offset - event.log_offset
    assert event.log_offset <= 10 < event.end_offset
    assert told.cluster.query.missing() == count > 0
    assert told.cluster.query.acked_lost() == 0
    told.run(20)
    told.end()
    assert told.cluster.query.violations() == 0
    told.cluster.close()
    assert told.cluster.query.acked_lost() == told.cluster.query.committed_lost() == count
    (lost,) = [event for event in told.cluster.drain() if event.kind == "records_lost"]
    assert lost.cause == snapshot


def test_another_leader_has_a_whole_copy() -> None:
    told = busy()
    inject(told.board, "corrupt_batch", "leader(orders-0)", partition="orders-0", offset=10)
    assert told.cluster.query.missing() > 0
    inject(told.board, "crash", "leader(orders-0)", for_us=15 * SECOND)
    told.run(15)
    assert told.cluster.query.leader("orders-0") == 2
    assert told.cluster.query.missing() == 0
    told.run(40)
    told.end()
    told.cluster.close()
    assert told.cluster.query.acked_lost() == 0


def test_a_node_that_is_elected_with_a_damaged_copy_makes_it_missing_and_is_blamed(snapshot: SnapshotAssertion) -> None:
    told = busy()
    inject(told.board, "corrupt_batch", "broker(2)", partition="orders-0", offset=10)
    assert told.cluster.query.missing() == 0
    inject(told.board, "crash", "leader(orders-0)")
    told.run(15)
    assert (told.cluster.query.leader("orders-0"), told.cluster.query.missing()) == (2, 1)
    (missing,) = [event for event in told.cluster.drain() if event.kind == "records_missing"]
    assert missing.cause == snapshot
    assert told.cluster.query.violations() == 0


# --- a follower that has yet to fetch it


def behind(**era: Any) -> RecordedCluster:
    """Broker 3 was down, and the leader's last batch was damaged meanwhile; it is back."""
    told = busy(**era)
    inject(told.board, "crash", "broker(3)")
    told.run(15)
    inject(told.board, "corrupt_batch", "leader(orders-0)", partition="orders-0")
    told.run(16)
    told.board.heal("crash")
    return told


@ERAS
def test_a_follower_asks_again_for_ever_and_stays_out_of_the_isr(
    kafka: str, mode: str, snapshot: SnapshotAssertion
) -> None:
    told = behind(kafka=kafka, mode=mode)
    told.run(30)
    (found,) = told.of(CorruptBatchFound)
    (damaged,) = told.of(BatchCorrupted)
    assert (found.partition, found.broker, found.log_offset) == ("orders-0", 3, damaged.log_offset)
    assert found.by == "follower"
    assert found.detail == snapshot
    # What one fetch brings is appended as a whole, or not at all.
    assert lines(told, 3).log.leo <= damaged.log_offset
    assert told.cluster.query.isr("orders-0") == [1, 2]
    # The other partition's replica of the same broker is none the worse.
    assert sorted(told.cluster.query.isr("orders-1")) == [2, 3, 4]


def test_it_asks_once_in_a_back_off() -> None:
    told = behind()
    told.run(30)
    fetcher = told.cluster.brokers[3]._fetchers.running[1, 0]
    tries = []
    for step in range(30 * 50, 33 * 50):
        told.run(step / 50)
        until = fetcher._delayed.get("orders-0", 0)
        if until > told.cluster.now_us and until not in tries:
            tries.append(until)
    gaps = [later - earlier for earlier, later in pairwise(tries)]
    assert len(gaps) >= 2
    assert all(SECOND <= gap <= SECOND + 10 * MS for gap in gaps)


def test_before_0_10_1_1_a_corrupt_batch_ends_the_fetcher_thread(snapshot: SnapshotAssertion) -> None:
    told = RecordedCluster(_one_leader("0.10.1.0"))
    told.run(5)
    inject(told.board, "crash", "broker(3)")
    told.run(20)
    inject(told.board, "corrupt_batch", "broker(1)", partition="a-0")
    told.run(21)
    told.board.heal("crash")
    told.run(40)
    (found,) = told.of(CorruptBatchFound)
    assert found.by == "follower"
    assert found.detail == snapshot
    assert told.cluster.query.isr("a-0") == told.cluster.query.isr("b-0") == [1, 2]
    newer = RecordedCluster(_one_leader("0.10.1.1"))
    newer.run(5)
    inject(newer.board, "crash", "broker(3)")
    newer.run(20)
    inject(newer.board, "corrupt_batch", "broker(1)", partition="a-0")
    newer.run(21)
    newer.board.heal("crash")
    newer.run(40)
    assert newer.cluster.query.isr("a-0") == [1, 2]
    assert sorted(newer.cluster.query.isr("b-0")) == [1, 2, 3]


def test_an_answer_that_is_cut_to_size_carries_the_damage_too() -> None:
    told = RecordedCluster(_one_leader("3.9", **{"replica.fetch.response.max.bytes": 1_000}))
    told.run(5)
    inject(told.board, "crash", "broker(3)")
    told.run(20)
    inject(told.board, "corrupt_batch", "broker(1)", partition="a-0")
    told.board.heal("crash")
    told.run(35)
    (damaged,) = told.of(BatchCorrupted)
    # An answer holds five batches, and is appended as a whole or not at all.
    assert 0 <= damaged.log_offset - lines(told, 3, "a-0").log.leo < 5
    assert [event.log_offset for event in told.of(CorruptBatchFound)] == [damaged.log_offset]
    assert sorted(told.cluster.query.isr("b-0")) == [1, 2, 3]


def test_records_after_a_corrupt_batch_are_missing_at_once() -> None:
    told = RecordedCluster(_one_leader("3.9"))
    told.run(5)
    cluster, log = told.cluster, lines(told, 1, "a-0").log
    before = log.leo
    while log.leo == before:
        cluster.run(cluster.now_us + 100)
    assert cluster.query.acked("to-a") <= before
    inject(told.board, "corrupt_batch", "broker(1)", partition="a-0", offset=before)
    assert cluster.query.missing() == 0
    told.run(6)
    assert cluster.query.acked("to-a") > before
    assert cluster.query.missing() == log.branch_at(before).batch_at(before).records


def _one_leader(kafka: str, **config: Any) -> Cluster:
    """Two topics, both led by broker 1."""
    names = ("a", "b")
    spec = ClusterSpec(
        kafka=kafka,
        mode="kraft" if kafka == "3.9" else "zookeeper",
        brokers=tuple(BrokerSpec(broker, "") for broker in (1, 2, 3)),
        topics=tuple(TopicSpec(name, 1, 3, ((1, 2, 3),)) for name in names),
        producers=tuple(ProducerSpec(f"to-{name}", name, 50 * MS, config={"acks": "1"}) for name in names),
        config={"replica.lag.time.max.ms": 4_000, "offsets.topic.replication.factor": 9, **config},
    )
    return Cluster.build(spec, 3)


# --- ways out


@ERAS
def test_an_operator_has_another_lead_and_wipes_the_damaged_copy(kafka: str, mode: str) -> None:
    told = behind(kafka=kafka, mode=mode)
    told.run(25)
    inject(told.board, "crash", "broker(1)")
    told.run(48)
    assert told.cluster.query.leader("orders-0") == 2
    assert told.cluster.query.missing() == 0
    told.cluster.disk_loss(1)
    told.board.heal("all")
    told.run(65)
    told.end()
    assert lines(told, 1).damages == ()
    assert unsettled(told.cluster) == []
    told.cluster.close()
    assert told.cluster.query.acked_lost() == 0


def test_a_follower_that_follows_another_leader_gets_the_whole_batch() -> None:
    told = behind()
    told.run(30)
    assert told.cluster.query.isr("orders-0") == [1, 2]
    inject(told.board, "crash", "broker(1)", for_us=20 * SECOND)
    told.run(45)
    assert 3 in told.cluster.query.isr("orders-0")
    told.end(settle=60)
    assert unsettled(told.cluster) == []


# --- recovery


def test_a_start_that_recovers_ends_the_log_at_the_damage_and_fetches_the_rest() -> None:
    told = busy(20)
    before = lines(told, 3).log.leo
    inject(told.board, "corrupt_batch", "broker(3)", partition="orders-0", offset=30)
    inject(told.board, "crash", "broker(3)", for_us=SECOND)
    told.run(21.5)
    (found,) = told.of(CorruptBatchFound, by="recovery")
    (cut,) = told.of(Truncated)
    assert found.log_offset == cut.log_offset <= 30 < before
    assert (cut.broker, cut.rule) == (3, "corrupt batch")
    told.run(30)
    told.end()
    assert unsettled(told.cluster) == []
    assert lines(told, 3).damages == ()


def test_a_start_does_not_look_below_the_recovery_point() -> None:
    told = busy(20)
    replica = lines(told, 3)
    replica.log.roll(told.cluster.now_us, "segment.bytes")
    replica.checkpointed_recovery = replica.log.recovery_point
    assert replica.checkpointed_recovery > 30
    inject(told.board, "corrupt_batch", "broker(3)", partition="orders-0", offset=30)
    inject(told.board, "crash", "broker(3)", for_us=SECOND)
    told.run(22)
    assert told.of(CorruptBatchFound) == told.of(Truncated) == []
    assert len(replica.damages) == 1


def test_a_clean_stop_leaves_the_damage_alone() -> None:
    told = busy(20)
    inject(told.board, "corrupt_batch", "broker(3)", partition="orders-0", offset=30)
    told.cluster.shutdown(3)
    told.run(25)
    told.cluster.restart(3)
    told.run(30)
    assert told.of(CorruptBatchFound) == told.of(Truncated) == []
    assert len(lines(told, 3).damages) == 1


# --- consumers


def reader(config: dict[str, int | str | bool]) -> RecordedCluster:
    """A group that joins late, and reads from the start."""
    spec = ClusterSpec(
        kafka="3.9",
        mode="kraft",
        brokers=tuple(BrokerSpec(broker, "") for broker in (1, 2, 3)),
        topics=(TopicSpec("t", 1, 3, ((1, 2, 3),)),),
        producers=(ProducerSpec("p", "t", 50 * MS),),
        groups=(GroupSpec("g", ("t",), 1, config=config, coordinated=False),),
    )
    cluster = Cluster.build(spec, 5)
    told = RecordedCluster(cluster)
    cluster.crash(next(node for node, name in cluster.clients.names.items() if name == "g/0"))
    told.run(10)
    return told


def start_reader(told: RecordedCluster) -> None:
    told.cluster.restart(next(node for node, name in told.cluster.clients.names.items() if name == "g/0"))


@pytest.mark.parametrize(
    ("config", "what", "stops"),
    [
        ({}, "value", True),
        ({}, "length", True),
        ({"check.crcs": False}, "value", False),
        ({"check.crcs": False}, "length", True),
    ],
)
def test_a_consumer_hands_out_what_comes_before_and_then_throws(config: dict[str, Any], what: str, stops: bool) -> None:
    told = reader(config)
    inject(told.board, "corrupt_batch", "leader(t-0)", partition="t-0", offset=50, field=what)
    (damaged,) = told.of(BatchCorrupted)
    start_reader(told)
    told.run(15)
    failed = told.of(ConsumerFailed)
    member = told.cluster.consumers["g/0"]
    if stops:
        assert [event.error for event in failed] == ["CorruptRecordException"]
        assert member.read == damaged.log_offset > 0
    else:
        assert failed == []
        assert member.read > damaged.end_offset + 100


def test_a_consumer_reads_on_past_it_from_a_whole_copy() -> None:
    told = reader({})
    inject(told.board, "corrupt_batch", "leader(t-0)", partition="t-0", offset=50)
    inject(told.board, "crash", "leader(t-0)")
    told.run(30)
    start_reader(told)
    told.run(40)
    assert told.of(ConsumerFailed) == []
    assert told.cluster.consumers["g/0"].read > 300


# --- the cleaner


@pytest.mark.parametrize(("kafka", "goes_on"), [("3.9", True), ("2.1", True), ("2.0", False)])
def test_the_cleaner_skips_a_log_with_a_corrupt_batch_or_ends(
    kafka: str, goes_on: bool, snapshot: SnapshotAssertion
) -> None:
    config: dict[str, int | str | bool] = {
        "cleanup.policy": "compact", "segment.bytes": 4_000, "min.cleanable.dirty.ratio": 0.1,
    }  # fmt: skip
    spec = ClusterSpec(
        kafka=kafka,
        mode="kraft" if kafka == "3.9" else "zookeeper",
        brokers=(BrokerSpec(1, ""),),
        topics=tuple(TopicSpec(name, 1, 1, ((1,),), config=config) for name in ("a", "b")),
        producers=tuple(ProducerSpec(f"to-{name}", name, 50 * MS, keys=20) for name in ("a", "b")),
        config={"log.cleaner.backoff.ms": 3_000, "offsets.topic.replication.factor": 9},
    )
    told = RecordedCluster(Cluster.build(spec, 5))
    told.run(3)
    inject(told.board, "corrupt_batch", "broker(1)", partition="a-0", field="length")
    told.run(45)
    (found,) = told.of(CorruptBatchFound)
    assert (found.partition, found.by) == ("a-0", "cleaner")
    assert found.detail == snapshot
    cleaned = [event.partition for event in told._events if event.kind == "log_cleaned" and event.at_us > found.at_us]
    assert "a-0" not in cleaned
    assert ("b-0" in cleaned) == goes_on


# --- refusals, overlap, rewinding


def test_invalid_corruption_targets_are_rejected(snapshot: SnapshotAssertion) -> None:
    told = busy()
    for params, code in (
        ({"partition": "nobody-0"}, "no_partition"),
        ({"partition": "orders-0", "offset": 10_000}, "no_record"),
        ({"partition": "orders-1"}, "no_replica"),
    ):
        with pytest.raises(FaultError) as caught:
            inject(told.board, "corrupt_batch", "broker(1)", **params)
        assert caught.value.code == code
        assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(told.board, "corrupt_batch", "broker(5)")
    assert caught.value.code == "no_record"
    assert str(caught.value) == snapshot
    with pytest.raises(ModelError) as refused:
        told.cluster.broker_faults.damage(5, "orders-0", -1, "value")
    assert refused.value.code == "no_replica"
    assert told.of(BatchCorrupted) == []


def test_a_batch_corrupted_twice_is_one_damage_and_a_wrong_length_stays() -> None:
    told = busy()
    for what in ("value", "length", "value"):
        inject(told.board, "corrupt_batch", "broker(1)", partition="orders-0", offset=10, field=what)
    inject(told.board, "corrupt_batch", "broker(1)", partition="orders-0", offset=3)
    first, second = lines(told, 1).damages
    assert (first.start <= 3 < first.end, first.kind) == (True, "value")
    assert (second.start <= 10 < second.end, second.kind) == (True, "length")


def test_corruption_predicts_the_affected_readers(snapshot: SnapshotAssertion) -> None:
    told = reader({})
    start_reader(told)
    told.run(20)
    inject(told.board, "gc_pause", "client(g/0)")
    inject(told.board, "crash", "broker(3)")
    told.run(40)
    said = told.board.predict_action(Action("inject", "corrupt_batch", "leader(t-0)"))
    assert said.clients == ("g/0",)
    assert said.sentence == snapshot
    said = told.board.predict_action(Action("inject", "corrupt_batch", "leader(t-0)", {"offset": 0}))
    assert said.clients == ()
    assert said.sentence == snapshot
    said = told.board.predict_action(Action("inject", "corrupt_batch", "broker(2)"))
    assert said.clients == ()
    assert said.sentence == snapshot
    assert told.board.impact_sentence("corrupt_batch", 1) == snapshot


def test_it_goes_back_with_a_keyframe() -> None:
    told = behind()
    told.run(25)
    saved, board = told.cluster.save(), told.board.save()

    def on() -> tuple[str, int, tuple[Any, ...]]:
        inject(told.board, "crash", "broker(1)", for_us=10 * SECOND)
        told.run(45)
        return told.cluster.digest(), told.cluster.query.missing(), lines(told, 1).damages

    first = on()
    told.cluster.load(saved)
    told.board.load(board)
    assert [each.kind for each in lines(told, 1).damages] == ["value"]
    assert told.cluster.query.missing() == 1
    assert on() == first


@pytest.mark.parametrize("step", [8 * MS, 7 * SECOND])
def test_slices_change_nothing(step: int) -> None:
    def digest(step: int) -> str:
        told = busy()
        inject(told.board, "crash", "broker(3)")
        while told.cluster.now_us < 12 * SECOND:
            told.cluster.run(min(12 * SECOND, told.cluster.now_us + step))
        inject(told.board, "corrupt_batch", "broker(1)", partition="orders-0")
        told.board.heal("all")
        while told.cluster.now_us < 25 * SECOND:
            told.cluster.run(min(25 * SECOND, told.cluster.now_us + step))
        return told.cluster.digest()

    assert digest(step) == digest(60 * SECOND)


def test_the_isr_learns_of_nothing_but_the_lag() -> None:
    told = behind()
    told.run(30)
    again = [event for event in told.of(IsrChanged, partition="orders-0") if event.at_us > 16 * SECOND]
    assert again == []
