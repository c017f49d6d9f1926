"""Busy replica fetchers: what their replicas and the ISR make of it, to the microsecond, asleep or not."""

from itertools import pairwise
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.fetch.replica_fetcher import FetcherDelay, busy_us
from cluster_model.cluster import Cluster
from cluster_model.protocol.events import IsrChanged
from cluster_model.protocol.messages import FetchData, FetchResponse
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action, FaultError
from tests.faults.rigs import CONFIG, MS, SECOND, board_of, busy_cluster, inject, unsettled, until_well
from tests.support.breadth import EVENING
from tests.support.releases import those_of

pytestmark = pytest.mark.slow

ERAS = pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper"), ("0.10.1", "zookeeper")])


def cluster_of(
    kafka: str = "3.9", *, naive: bool = False, gap_us: int = 20 * MS, size: int = 0, **config: Any
) -> Cluster:
    """``t-0`` and ``u-0`` are led by 1, ``v-0`` by 2; 3 follows all of them. Nobody reads, and acks=1."""
    more: dict[str, Any] = {"record_bytes": size} if size else {}
    spec = ClusterSpec(
        kafka=kafka,
        mode="kraft" if kafka >= "3.3" else "zookeeper",
        brokers=tuple(BrokerSpec(broker, "") for broker in (1, 2, 3)),
        topics=tuple(
            TopicSpec(name, 1, 3, (replicas,))
            for name, replicas in zip("tuv", ((1, 2, 3), (1, 2, 3), (2, 1, 3)), strict=True)
        ),
        producers=(
            ProducerSpec("p", "t", gap_us, config={"acks": "1"}, **more),
            ProducerSpec("q", "v", gap_us * 3 // 2, config={"acks": "1"}),
        ),
        config=those_of("broker", kafka, {**CONFIG, **config}),
    )
    return Cluster.build(spec, 3, naive=naive)


def test_an_answer_is_handled_as_much_later() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(10 * SECOND)
    log = cluster.brokers[3].replicas["t-0"].log
    other = cluster.brokers[3].replicas["v-0"].log
    inject(board, "slow_follower", "broker(3)", extra=700 * MS)
    cluster.run(12 * SECOND)
    moves: list[int] = []
    others: list[int] = []
    leo, other_leo = log.leo, other.leo
    while cluster.now_us < 20 * SECOND:
        cluster.run(cluster.now_us + MS)
        if log.leo != leo:
            leo = log.leo
            moves.append(cluster.now_us)
        if other.leo != other_leo:
            other_leo = other.leo
            others.append(cluster.now_us)
    gaps = [later - earlier for earlier, later in pairwise(moves)]
    # A round is one trip there and back, on top of the thread's time.
    assert len(gaps) >= 10
    assert all(700 * MS <= gap <= 706 * MS for gap in gaps)
    assert len(others) == pytest.approx(len(moves), abs=1)
    assert set(cluster.query.isr("t-0")) == {1, 2, 3}


@ERAS
def test_beyond_half_the_lag_time_it_leaves_the_isr_and_returns_when_healed(kafka: str, mode: str) -> None:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_follower", "broker(3)", for_us=30 * SECOND, extra=5 * SECOND)
    cluster.run(35 * SECOND)
    out = [event for event in cluster.drain() if isinstance(event, IsrChanged) and 3 not in event.isr]
    assert {event.partition for event in out} >= {"orders-0", "orders-1"}
    # Not sooner than the lag time, and the leader looks every half of it.
    assert all(event.at_us >= 5 * SECOND + 4 * SECOND - 500 * MS for event in out)
    cluster.run(42 * SECOND)
    assert sorted(cluster.query.isr("orders-0")) == [1, 2, 3]
    cluster.stop_producers()
    until_well(cluster, unsettled)
    assert unsettled(cluster) == []


def test_a_throughput_below_what_is_written_never_catches_up() -> None:
    cluster = cluster_of(size=5_000, gap_us=10 * MS, **{"replica.fetch.max.bytes": 50_000})
    board = board_of(cluster)
    cluster.run(2 * SECOND)
    number = inject(board, "slow_follower", "broker(3)", extra=0, throughput=100_000)
    cluster.run(12 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2}
    leader, log = cluster.brokers[1].replicas["t-0"].log, cluster.brokers[3].replicas["t-0"].log

    def written(log_end: int) -> int:
        return leader.branch_at(0).bytes_between(0, log_end)

    before = written(log.leo)
    cluster.run(22 * SECOND)
    # What it fetches in ten seconds is what a thread handles in them, less the trips.
    assert 800_000 < written(log.leo) - before <= 1_050_000
    board.heal(str(number))
    cluster.run(32 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2, 3}


def test_only_the_thread_that_fetches_a_partition() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_follower", "broker(3)", extra=6 * SECOND, partition="v-0")
    cluster.run(40 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2, 3}
    assert set(cluster.query.isr("v-0")) == {1, 2}


def test_two_on_one_broker_add_up_and_heal_by_themselves() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    one = inject(board, "slow_follower", "broker(3)", extra=1_500 * MS)
    cluster.run(20 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2, 3}
    two = inject(board, "slow_follower", "broker(3)", extra=4 * SECOND)
    cluster.run(40 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2}
    board.heal(str(two))
    cluster.run(60 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2, 3}
    assert [busy.extra_us for busy in cluster.brokers[3].slowed.values()] == [1_500 * MS]
    board.heal(str(one))
    assert cluster.brokers[3].slowed == {}


def test_busy_time_is_the_sum_of_what_faults_take() -> None:
    cluster = cluster_of()
    cluster.run(5 * SECOND)
    replica = cluster.brokers[1].replicas["t-0"]
    records = replica.log.read(0, 10, 1 << 20)
    size = replica.log.branch_at(0).bytes_between(0, 10)
    data = FetchData("t-0", 0, 0, 10, 0, 0, records)
    faults = {1: FetcherDelay(300, 0), 2: FetcherDelay(7, 1_000)}
    assert busy_us(faults, FetchResponse(1, (data,)), cluster.brokers[3].replicas) == 307 + size * 1_000
    assert busy_us(faults, FetchResponse(1, ()), cluster.brokers[3].replicas) == 307


def _story(cluster: Cluster, step: int = 0) -> tuple[str, list[int]]:
    """Busy threads while a leader dies, is cut off, and comes back."""
    board = board_of(cluster)

    def to(second: float) -> None:
        until = int(second * SECOND)
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + (step or until)))

    to(5)
    inject(board, "slow_follower", "broker(3)", for_us=30 * SECOND, extra=900 * MS, throughput=200_000)
    inject(board, "slow_follower", "broker(2)", for_us=8 * SECOND, extra=3 * SECOND, partition="t-0")
    to(12.3)
    inject(board, "crash", "broker(1)", for_us=9 * SECOND)
    to(24)
    inject(board, "partition", "broker(2)", for_us=3 * SECOND)
    to(28)
    inject(board, "gc_pause", "broker(3)", for_us=2 * SECOND)
    to(31.1)
    inject(board, "crash", "broker(3)", for_us=2 * SECOND)
    to(44)
    return cluster.digest(), [
        replica.log.leo for broker in cluster.brokers.values() for replica in broker.replicas.values()
    ]


@pytest.mark.parametrize("gap_us", [900 * MS, 4 * SECOND])
@pytest.mark.parametrize("kafka", ["3.9", "2.1", "0.10.1"])
def test_asleep_or_not_all_is_the_same(kafka: str, gap_us: int) -> None:
    def seen(*, naive: bool) -> tuple[Any, ...]:
        cluster = cluster_of(kafka, naive=naive, gap_us=gap_us)
        _digest, ends = _story(cluster)
        events = [(event.kind, *event.values()) for event in cluster.drain()]
        return ends, events

    assert seen(naive=True) == seen(naive=False)


def test_a_slow_fetcher_finishes_its_response_after_the_leader_crashed() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_follower", "broker(3)", extra=2 * SECOND)
    cluster.run(8 * SECOND)
    fetcher = cluster.brokers[3]._fetchers.running[1, 0]
    assert fetcher._held is not None
    sent_at, until, leo = fetcher._exchange.sent_at, fetcher._held_until, cluster.brokers[3].replicas["t-0"].log.leo
    inject(board, "crash", "broker(1)")
    cluster.run(until - 1)
    # It does not look at the connection before it is done.
    assert (fetcher._exchange.sent_at, cluster.brokers[3].replicas["t-0"].log.leo) == (sent_at, leo)
    cluster.run(until)
    assert cluster.brokers[3].replicas["t-0"].log.leo > leo
    assert fetcher._exchange.sent_at == sent_at
    assert fetcher._delayed["t-0"] == until + SECOND


@pytest.mark.parametrize("step", [8 * MS, 3_600 * SECOND] if EVENING else [8 * MS])
def test_slices_change_nothing(step: int) -> None:
    assert _story(cluster_of(), step) == _story(cluster_of())


def test_it_goes_back_with_a_keyframe_while_an_answer_is_in_hand() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_follower", "broker(3)", extra=2 * SECOND)
    cluster.run(8 * SECOND)
    assert any(fetcher._held is not None for fetcher in cluster.brokers[3]._fetchers.running.values())
    saved, kept = cluster.save(), board.save()

    def on() -> str:
        cluster.run(13 * SECOND)
        board.heal("all")
        cluster.run(20 * SECOND)
        return cluster.digest()

    first = on()
    cluster.load(saved)
    board.load(kept)
    assert on() == first


def test_a_new_process_of_the_broker_is_as_busy() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_follower", "broker(3)", extra=6 * SECOND)
    inject(board, "crash", "broker(3)", for_us=SECOND)
    cluster.run(40 * SECOND)
    assert set(cluster.query.isr("t-0")) == {1, 2}


def test_a_partition_that_the_target_does_not_follow_is_refused(snapshot: SnapshotAssertion) -> None:
    board = board_of(busy_cluster())
    with pytest.raises(FaultError) as caught:
        inject(board, "slow_follower", "broker(1)", partition="orders-0")
    assert caught.value.code == "not_a_follower"
    assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "slow_follower", "broker(3)", partition="nowhere-0")
    assert caught.value.code == "not_a_follower"
    assert str(caught.value) == snapshot


def test_it_predicts_whether_the_isr_does_without(snapshot: SnapshotAssertion) -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    said = board.predict_action(Action("inject", "slow_follower", "broker(3)", {"extra": 3 * SECOND}))
    assert said.sentence == snapshot
    assert (said.under_min_isr, "checkout" in said.clients) == ((), True)
    said = board.predict_action(Action("inject", "slow_follower", "followers(orders-0)", {"extra": 3 * SECOND}))
    assert "orders-0" in said.under_min_isr
    said = board.predict_action(Action("inject", "slow_follower", "broker(3)", {"partition": "orders-1"}))
    assert said.sentence == snapshot
    assert board.predict_action(Action("inject", "slow_follower", "broker(5)")).sentence == snapshot


def test_a_reader_at_a_busy_follower_learns_of_the_hw_when_the_thread_does() -> None:
    spec = ClusterSpec(
        kafka="3.9",
        mode="kraft",
        brokers=(BrokerSpec(1, "a"), BrokerSpec(2, "b")),
        topics=(TopicSpec("t", 1, 2, ((1, 2),)),),
        producers=(ProducerSpec("p", "t", 100 * MS, config={"acks": "1"}),),
        groups=(GroupSpec("g", ("t",), 1, config={"client.rack": "b"}, coordinated=False),),
        config={"replica.selector.class": "RackAwareReplicaSelector", "offsets.topic.replication.factor": 9},
    )
    cluster = Cluster.build(spec, 3)
    board = board_of(cluster)
    cluster.run(10 * SECOND)
    inject(board, "slow_follower", "broker(2)", extra=2 * SECOND)
    cluster.run(20 * SECOND)
    cluster.drain()
    cluster.run(40 * SECOND)
    reads = [event for event in cluster.drain() if event.kind == "records_read"]
    assert {event.broker for event in reads} == {2}
    late = [
        min(event.latency_us for event in reads if event.at_us == at_us) for at_us in {each.at_us for each in reads}
    ]
    assert 2 * SECOND < max(late) < 6_200 * MS
