"""Wall clocks that are off: what goes by them, by how much, and what does not."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import (
    ConsumerReset,
    IsrChanged,
    LogStartMoved,
    ProduceRefused,
    RecordsFailed,
    RecordsUnknown,
    SegmentRolled,
    TraceEvent,
)
from cluster_model.protocol.records import Batch
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec, TransactionPlan
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject, unsettled
from tests.support.releases import those_of

HOUR = 3_600 * SECOND
DAY = 24 * HOUR


def of(cluster: Cluster, kind: type[TraceEvent], **fields: Any) -> list[Any]:
    return [
        event
        for event in cluster.drain()
        if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())
    ]


def batches(cluster: Cluster, broker: int = 1, partition: str = "t-0") -> list[Batch]:
    return [
        batch for _epoch_branch, batch, _start, _end in cluster.cluster_state.replicas[partition][broker].log.batches()
    ]


def small(kafka: str = "3.9", topic: dict[str, Any] | None = None, **more: Any) -> Cluster:
    """Three brokers, one partition led by the first, a record every 100 ms."""
    bounded = {"delivery.timeout.ms": 20_000, "request.timeout.ms": 5_000} if kafka >= "2.1" else {}
    spec = ClusterSpec(
        kafka,
        "zookeeper" if kafka < "3.3" else "kraft",
        tuple(map(BrokerSpec, (1, 2, 3))),
        (TopicSpec("t", 1, 3, ((1, 2, 3),), topic or {}),),
        (ProducerSpec("p", "t", 100 * MS, config={"acks": "all", **bounded}),),
        config=those_of(
            "broker",
            kafka,
            {
                "log.retention.check.interval.ms": 1_000,
                "log.initial.task.delay.ms": 1_000,
                "replica.lag.time.max.ms": 4_000,
                "offsets.topic.num.partitions": 1,
                "transaction.state.log.num.partitions": 1,
            },
        ),
    )
    return Cluster.build(replace(spec, **more), 3)


def skewed(cluster: Cluster, target: str, by: int, at: int = 5 * SECOND, **params: Any) -> FaultInjector:
    board = board_of(cluster)
    cluster.run(at)
    cluster.drain()
    inject(board, "clock_skew", target, by=by, **params)
    return board


# --- timestamps -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), [("0.11", "zookeeper"), ("2.8", "zookeeper"), ("3.9", "kraft")])
@pytest.mark.parametrize("direction", ["ahead", "behind"])
def test_a_producers_clock_stamps_its_records(kafka: str, mode: str, direction: str) -> None:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = skewed(cluster, "client(checkout)", HOUR, direction=direction)
    cluster.run(8 * SECOND)
    board.heal("all")
    cluster.run(11 * SECOND)
    off = HOUR if direction == "ahead" else -HOUR
    found = {}
    for batch in batches(cluster, 1, "orders-0"):
        made = batch.appended_us - 20 * MS > 5 * SECOND and batch.appended_us < 8 * SECOND
        if made or not 5 * SECOND <= batch.appended_us <= 8 * SECOND + 20 * MS:
            away = batch.timestamp_us - (off if made else 0)
            assert 0 <= batch.appended_us - away < 20 * MS
            found[made] = True
    assert list(found) == [False, True]
    cluster.stop_producers()
    cluster.run(60 * SECOND)
    assert unsettled(cluster) == []


@pytest.mark.parametrize("direction", ["ahead", "behind"])
def test_timestamps_before_a_clock_jump_are_kept(direction: str) -> None:
    producer = ProducerSpec("p", "t", 100 * MS, config={"acks": "all", "batch.size": 1, "delivery.timeout.ms": 60_000})
    cluster = small("3.9", producers=(producer,))
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", "broker(1)", 3 * SECOND)
    cluster.run(7 * SECOND)
    inject(board, "clock_skew", "client(p)", by=10 * SECOND, direction=direction)
    cluster.run(10 * SECOND)
    off = 10 * SECOND if direction == "ahead" else -10 * SECOND
    late = [batch.timestamp_us for batch in batches(cluster) if batch.appended_us > 7 * SECOND]
    # Five requests are under way when the clock jumps, the others wait, a record each.
    right = [5 * SECOND + number * 100 * MS for number in range(40)]
    assert late[:40] == right[:21] + [at + off for at in right[21:]]


def test_a_leaders_clock_stamps_where_the_topic_says_log_append_time() -> None:
    for who, off in (("broker(1)", HOUR), ("client(p)", 0), ("broker(2)", 0)):
        cluster = small(topic={"message.timestamp.type": "LogAppendTime"})
        skewed(cluster, who, HOUR)
        cluster.run(8 * SECOND)
        late = [batch for batch in batches(cluster) if batch.appended_us > 5_100 * MS]
        assert {batch.timestamp_us - batch.appended_us for batch in late} == {off}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "topic", "who", "direction", "refused"),
    [
        ("4.0", {}, "client(p)", "ahead", True),  # An hour is the most by default (KIP-1030).
        ("4.0", {"message.timestamp.after.max.ms": 8_000_000}, "client(p)", "ahead", False),
        ("4.0", {}, "client(p)", "behind", False),
        ("4.0", {}, "broker(1)", "behind", True),
        ("4.0", {"message.timestamp.type": "LogAppendTime"}, "client(p)", "ahead", False),
        ("3.9", {}, "client(p)", "ahead", False),
        ("3.9", {"message.timestamp.after.max.ms": 60_000}, "client(p)", "ahead", True),
        ("3.9", {"message.timestamp.before.max.ms": 60_000}, "client(p)", "behind", True),
        ("3.9", {"message.timestamp.before.max.ms": 60_000}, "broker(1)", "ahead", True),
        ("2.8", {"message.timestamp.difference.max.ms": 60_000}, "client(p)", "ahead", True),
        ("2.8", {"message.timestamp.difference.max.ms": 60_000}, "client(p)", "behind", True),
        ("2.8", {"message.timestamp.difference.max.ms": 60_000}, "broker(2)", "behind", False),
        ("0.11", {"message.timestamp.difference.max.ms": 60_000}, "client(p)", "ahead", True),
    ],
)
def test_a_timestamp_too_far_from_the_leaders_clock_is_refused(
    kafka: str, topic: dict[str, Any], who: str, direction: str, refused: bool
) -> None:
    cluster = small(kafka, topic)
    cluster.run(5 * SECOND)
    board = board_of(cluster)
    action = Action("inject", "clock_skew", who, {"direction": direction})
    told = board.predict_action(action)
    assert ("INVALID_TIMESTAMP" in told.sentence) == refused
    assert ("p" in told.clients) == (refused or who == "client(p)")
    board.inject(action)
    cluster.run(8 * SECOND)
    found = of(cluster, ProduceRefused, error="INVALID_TIMESTAMP")
    assert (len(found) > 20) == refused == bool(found)
    board.heal("all")
    cluster.run(9 * SECOND)
    cluster.drain()
    cluster.run(11 * SECOND)
    assert of(cluster, ProduceRefused) == []


# --- retention and files --------------------------------------------------------------------------------------------

BY_DAY = {"retention.ms": DAY // MS, "segment.bytes": 2_000}


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["0.11", "2.4", "2.8", "3.9", "4.0"])
def test_a_clock_that_is_ahead_deletes_what_is_young(kafka: str, snapshot: SnapshotAssertion) -> None:
    cluster = small(kafka, BY_DAY)
    cluster.run(40 * SECOND)  # before 3.8 a broker looks at retention for the first time after 30 s
    board = board_of(cluster)
    action = Action("inject", "clock_skew", "leader(t-0)", {"by": DAY - 12 * SECOND})
    assert board.predict_action(action).sentence == snapshot
    board.inject(action)
    cluster.run(42 * SECOND)
    assert {event.by for event in of(cluster, LogStartMoved, broker=1)} == {"retention.ms"}
    log = cluster.cluster_state.replicas["t-0"][1].log
    # What was written in the last 12 seconds is less than a day old by this clock, too.
    assert 28 * SECOND < log.segments.all[0].newest_us < 32 * SECOND
    assert 270 < log.log_start < 320
    board.heal("all")
    cluster.run(44 * SECOND)
    assert {replica.log.log_start for replica in cluster.cluster_state.replicas["t-0"].values()} == {log.log_start}
    # It is gone by policy: nothing of it counts as lost.
    cluster.stop_producers()
    cluster.run(80 * SECOND)
    assert cluster.query.acked_lost() == 0


def test_records_of_the_future_pin_a_log_and_old_ones_go_at_once() -> None:
    for direction, kept in (("ahead", True), ("behind", False)):
        cluster = small("3.9", {"retention.ms": 5_000, "segment.bytes": 2_000})
        skewed(cluster, "client(p)", HOUR, direction=direction)
        cluster.run(30 * SECOND)
        log = cluster.cluster_state.replicas["t-0"][1].log
        assert (log.log_start < 60) == kept
        assert log.leo > 250
        if not kept:
            assert log.leo - log.log_start < 30


def test_a_follower_uses_its_own_clock() -> None:
    cluster = small("3.9", BY_DAY)
    skewed(cluster, "broker(3)", 2 * DAY, at=20 * SECOND)
    cluster.run(23 * SECOND)
    starts = {broker: replica.log.log_start for broker, replica in cluster.cluster_state.replicas["t-0"].items()}
    assert starts[1] == starts[2] == 0 < starts[3]


def test_before_timestamps_the_files_age_jumps() -> None:
    cluster = small("0.8.2", BY_DAY)
    board = skewed(cluster, "broker(1)", DAY + HOUR, at=40 * SECOND)
    cluster.run(42 * SECOND)
    log = cluster.cluster_state.replicas["t-0"][1].log
    start = log.log_start
    assert start > 350
    cluster.run(60 * SECOND)
    assert log.log_start == start, "files written since have the new clock's times"
    board.heal("all")
    assert log.segments.all[0].modified_us > 60 * SECOND, "they are from the future now"


def test_before_timestamps_a_segments_age_rolls_it() -> None:
    cluster = small("0.8.2", {"segment.ms": HOUR // MS})
    skewed(cluster, "broker(1)", HOUR)
    cluster.run(6 * SECOND)
    assert [event.broker for event in of(cluster, SegmentRolled)] == [1]


@pytest.mark.slow
def test_a_reset_by_duration_uses_the_consumers_clock() -> None:
    found = []
    for by, direction in ((1, "ahead"), (5 * SECOND, "ahead"), (5 * SECOND, "behind")):
        group = GroupSpec("g", ("t",), 1, config={"auto.offset.reset": "by_duration:PT6S"}, coordinated=True)
        cluster = small("4.0", groups=(group,))
        board = board_of(cluster)
        inject(board, "crash", "client(g/0)")
        cluster.run(20 * SECOND)
        inject(board, "clock_skew", "client(g/0)", by=by, direction=direction)
        inject(board, "restart", "client(g/0)")
        cluster.drain()
        cluster.run(30 * SECOND)
        (reset, *_more) = of(cluster, ConsumerReset)
        found.append(next(batch.timestamp_us for batch in batches(cluster) if batch.base == reset.log_offset))
    right = found[0]
    assert 13 * SECOND < right < 20 * SECOND
    assert found[1:] == [right + 5 * SECOND, right - 5 * SECOND]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "flushed"), [("", [20, 30, 40, 50]), ("ahead", [20, 25, 35, 45]), ("behind", [20, 50])]
)
def test_when_a_log_was_last_flushed_is_reckoned_by_the_brokers_clock(direction: str, flushed: list[int]) -> None:
    config = {"log.flush.scheduler.interval.ms": 1_000, "log.initial.task.delay.ms": 0}
    cluster = small(topic={"flush.ms": 10_000}, config={**config, "offsets.topic.num.partitions": 1})
    board = board_of(cluster)
    log = cluster.cluster_state.replicas["t-0"][1].log
    seen: list[int] = []
    for at in range(15, 55):
        if at == 24 and direction:
            cluster.run(24 * SECOND + SECOND // 2)
            inject(board, "clock_skew", "broker(1)", by=20 * SECOND, direction=direction)
            saved = cluster.save()
            cluster.load(saved)
        cluster.run(at * SECOND + SECOND // 2)
        if log.flushed_us not in (0, 10 * SECOND) and log.flushed_us // SECOND not in seen[-1:]:
            seen.append(log.flushed_us // SECOND)
    assert seen == flushed


# --- timeouts -------------------------------------------------------------------------------------------------------


def lonely(kafka: str, by: int, direction: str) -> float:
    """Seconds from the pause of a follower until its leader, whose clock is set then, drops it from the ISR."""
    cluster = small(kafka, {"min.insync.replicas": 1})
    board = board_of(cluster)
    cluster.run(10 * SECOND)
    inject(board, "gc_pause", "broker(3)")
    cluster.run(11 * SECOND)
    cluster.drain()
    if by:
        inject(board, "clock_skew", "broker(1)", by=by, direction=direction)
    cluster.run(40 * SECOND)
    shrunk = of(cluster, IsrChanged, isr=(1, 2))
    return float(shrunk[0].at_us - 10 * SECOND) / SECOND


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["0.11", "2.8"])  # Sessions are longer than the lag time there.
def test_a_followers_lag_is_reckoned_by_the_leaders_clock(kafka: str) -> None:
    usual = lonely(kafka, 0, "")
    assert 4 < usual < 7
    assert lonely(kafka, 3 * SECOND, "ahead") <= usual - 2
    if kafka == "2.8":  # Before, the session of a paused broker ends earlier than that.
        assert lonely(kafka, 8 * SECOND, "behind") >= usual + 6


@pytest.mark.parametrize("kafka", ["2.1", "2.8", "3.9"])
def test_a_jump_ahead_uses_up_the_delivery_timeout(kafka: str) -> None:
    failed = []
    for by in (15 * SECOND, 25 * SECOND):
        cluster = small(kafka)
        board = board_of(cluster)
        cluster.run(5 * SECOND)
        inject(board, "gc_pause", "broker(1)")
        cluster.run(7 * SECOND)
        cluster.drain()
        inject(board, "clock_skew", "client(p)", by=by)
        cluster.run(7 * SECOND + 1)
        gone = [event for event in cluster.drain() if isinstance(event, (RecordsFailed, RecordsUnknown))]
        failed.append(sum(event.count for event in gone))
        assert all(event.error == "REQUEST_TIMED_OUT" and event.latency_us <= 2 * SECOND for event in gone)
    assert failed[0] == 0
    assert 15 <= failed[1] <= 21  # All of two seconds.


def test_a_jump_back_gives_a_batch_longer() -> None:
    cluster = small("3.9")
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", "broker(1)")
    inject(board, "partition", "brokers", to="client(p)")
    cluster.run(7 * SECOND)
    inject(board, "clock_skew", "client(p)", by=10 * SECOND, direction="behind")
    cluster.drain()
    cluster.run(45 * SECOND)
    gone = [event for event in cluster.drain() if isinstance(event, (RecordsFailed, RecordsUnknown))]
    waits: dict[bool, list[int]] = {True: [], False: []}
    for event in gone:
        waits[event.at_us - event.latency_us < 7 * SECOND].append(event.latency_us)
    assert len(waits[True]) > 4
    assert 29 * SECOND < min(waits[True]) <= max(waits[True]) < 31 * SECOND
    assert max(waits[False]) < 26 * SECOND


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["2.8", "4.1"])
def test_a_jump_ahead_uses_up_the_poll_interval_of_a_member_that_processes(kafka: str) -> None:
    left = []
    for by in (20 * SECOND, 40 * SECOND):
        modern: dict[str, Any] = {"group.protocol": "consumer"} if kafka == "4.1" else {}
        config: dict[str, Any] = {"max.poll.interval.ms": 30_000, "auto.offset.reset": "earliest", **modern}
        group = GroupSpec("g", ("t",), 2, processing_us=100 * MS, config=config, coordinated=True)
        cluster = small(kafka, groups=(group,))
        board = board_of(cluster)
        cluster.run(20 * SECOND)
        reader = next(name for name, consumer in cluster.consumers.items() if consumer.assignment)
        inject(board, "poll_stall", f"client({reader})", extra=10 * SECOND)
        cluster.run(25 * SECOND)
        inject(board, "clock_skew", f"client({reader})", by=by)
        cluster.run(25 * SECOND + 200 * MS)
        left.append(cluster.query.members("g"))
    assert left[0] == 2
    assert left[1] == 1


def test_a_jump_of_the_coordinators_clock_times_a_transaction_out() -> None:
    fenced = []
    for by in (20 * SECOND, 90 * SECOND):
        producer = ProducerSpec(
            "p", "t", 100 * MS, config={"transactional.id": "p", "transaction.timeout.ms": 60_000},
            transactions=TransactionPlan(400),
        )  # fmt: skip
        cluster = small("3.9", producers=(producer,))
        board = skewed(cluster, "transaction_coordinator(p)", by, at=10 * SECOND)
        cluster.run(30 * SECOND)
        fenced.append(sum(event.kind == "producer_fenced" for event in cluster.drain()))
        assert board.active()
    assert fenced == [0, 1]


# --- how it adds up -------------------------------------------------------------------------------------------------


def test_two_skews_add_up_and_go_one_by_one() -> None:
    cluster = small("3.9")
    board = skewed(cluster, "broker(1) + client(p)", HOUR)
    second = inject(board, "clock_skew", "broker(1)", by=10 * SECOND, direction="behind", drift=20_000)
    clocks = cluster.network.clocks
    producer = next(iter(cluster.clients.names))
    assert (clocks.of(1).ahead_us, clocks.of(2).ahead_us, clocks.of(producer).ahead_us) == (HOUR - 10 * SECOND, 0, HOUR)
    cluster.run(15 * SECOND)
    assert clocks.of(1).ahead_us == HOUR - 10 * SECOND - 10 * 20 * MS
    board.heal("1")
    assert clocks.of(1).ahead_us == -10 * SECOND - 10 * 20 * MS
    board.heal(str(second))
    cluster.run(20 * SECOND)
    assert [clocks.of(node).ahead_us for node in (1, producer)] == [0, 0]


def test_a_machines_clock_outlives_its_process() -> None:
    cluster = small("3.9")
    board = skewed(cluster, "client(p) + broker(1)", HOUR)
    for target in ("client(p)", "broker(1)"):
        inject(board, "crash", target)
    cluster.run(20 * SECOND)
    for target in ("client(p)", "broker(1)"):
        inject(board, "restart", target)
    cluster.run(60 * SECOND)
    batch = batches(cluster)[-1]
    assert batch.timestamp_us - batch.appended_us > HOUR - SECOND
    assert [view.name for view in board.active()] == ["clock_skew"]


def test_batches_are_looked_at_more_closely_only_once_clocks_differ() -> None:
    cluster = small("4.0")
    replicas = cluster.cluster_state.replicas["t-0"]
    cluster.run(2 * SECOND)
    assert all(replica.usual_size > 0 for replica in replicas.values())
    before = cluster.save()
    board = skewed(cluster, "client(p)", HOUR)
    assert all(replica.usual_size == 0 for replica in replicas.values())
    board.heal("all")
    assert all(replica.usual_size == 0 for replica in replicas.values()), "what it stamped is still under way"
    cluster.load(before)
    assert all(replica.usual_size > 0 for replica in replicas.values())


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["2.8", "4.0"])
def test_clocks_go_back_with_their_cluster(kafka: str) -> None:
    cluster = small(kafka, BY_DAY)
    board = skewed(cluster, "brokers + clients", DAY, drift=15_000)
    cluster.run(12 * SECOND + 345_678)
    saved = cluster.save(), board.save()

    def go_on() -> tuple[str, list[int]]:
        cluster.run(20 * SECOND)
        board.heal("all")
        cluster.run(30 * SECOND)
        return cluster.digest(), [batch.timestamp_us for batch in batches(cluster)]

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert go_on() == first
    other = Cluster.build(cluster.spec, 3)
    board_again = skewed(other, "brokers + clients", DAY, drift=15_000)
    while other.now_us < 20 * SECOND:
        other.run(min(20 * SECOND, other.now_us + 7_919))
    board_again.heal("all")
    other.run(30 * SECOND)
    assert (other.digest(), [batch.timestamp_us for batch in batches(other)]) == first


def test_a_clock_that_is_right_is_no_fault(snapshot: SnapshotAssertion) -> None:
    board = board_of(small("3.9"))
    with pytest.raises(FaultError) as caught:
        inject(board, "clock_skew", "broker(1)", by=0)
    assert caught.value.code == "no_skew"
    assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "clock_skew", "controller")
    assert caught.value.code == "wrong_kind_of_target"
    assert str(caught.value) == snapshot
