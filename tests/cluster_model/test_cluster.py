"""The timed cluster: failovers in Kafka's time, slices that leave no mark, and keyframes that restore exactly."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster, StopReason
from cluster_model.protocol.events import DATA_KINDS, BecameLeader, BrokerFenced, HwAdvanced, IsrChanged, LeaderElected
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import modes_of
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.support.breadth import EVENING, spread_sample

pytestmark = pytest.mark.slow

SECOND = 1_000_000
P = "orders-0"


def small(
    kafka: str = "3.9",
    mode: str | None = None,
    acks: str = "all",
    partition: int = -1,
    each_us: int = 10_000,
    **config: Any,
) -> ClusterSpec:
    topic = TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2, **config})
    producer = ProducerSpec("checkout", "orders", each_us, config={"acks": acks}, partition=partition)
    group = GroupSpec("billing", ("orders",), 2, 500, {"auto.offset.reset": "earliest"}, commit="sync")
    brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
    return ClusterSpec(kafka, mode, brokers, (topic,), (producer,), (group,))


def inject(board: FaultInjector, name: str, target: str, for_s: int = -1, **params: Any) -> None:
    board.inject(Action("inject", name, target, params, for_s * SECOND if for_s >= 0 else -1))


def finish(cluster: Cluster, board: FaultInjector, settle_s: int = 70) -> None:
    board.heal("all")
    cluster.stop_producers()
    cluster.run(cluster.now_us + settle_s * SECOND)
    cluster.close()


def test_a_quiet_cluster_delivers_everything_it_acknowledges() -> None:
    cluster = Cluster.build(small(), 7)
    assert cluster.run(10 * SECOND) is StopReason.TIME
    assert cluster.now_us == 10 * SECOND
    cluster.stop_producers()
    cluster.run(12 * SECOND)
    cluster.close()

    view = cluster.view()
    assert view.ledger.sent == view.ledger.acked == 1000
    assert (view.ledger.acked_lost, view.ledger.duplicates, view.violations) == (0, 0, 0)
    assert view.groups[0].lag == 0
    assert view.groups[0].read == 1000
    assert all(replica.leo == partition.leo for partition in view.partitions for replica in partition.replicas)


def test_a_crashed_leader_is_replaced_when_its_session_ends_and_joins_again() -> None:
    cluster = Cluster.build(small(each_us=40_000), 7)
    board = FaultInjector(cluster)
    cluster.run(5 * SECOND)
    inject(board, "crash", f"leader({P})", 20)
    cluster.run(20 * SECOND)
    events = cluster.drain()
    fenced = next(event for event in events if isinstance(event, BrokerFenced))
    elected = next(event for event in events if isinstance(event, LeaderElected))
    took_up = next(
        event for event in events if isinstance(event, BecameLeader) and event.partition == P and event.leader_epoch > 0
    )

    assert 7 * SECOND <= fenced.at_us - 5 * SECOND <= 9 * SECOND
    assert (elected.partition, elected.leader, elected.isr, elected.clean) == (P, 2, (2, 3), True)
    assert took_up.broker == 2
    assert took_up.at_us > elected.at_us, "nobody knows before the message reaches it"

    cluster.run(30 * SECOND)
    finish(cluster, board, 5)
    assert cluster.query.isr(P) == [1, 2, 3]
    ledger = cluster.view().ledger
    assert (ledger.acked_lost, ledger.failed, ledger.unknown, ledger.duplicates) == (0, 0, 0, 0)
    assert ledger.acked == ledger.sent
    assert cluster.query.diverged(P) == 0


@pytest.mark.parametrize(("acks", "loses"), [("1", True), ("all", False)])
def test_a_leader_that_sleeps_past_its_session_wakes_as_a_zombie(
    acks: str, loses: bool, snapshot: SnapshotAssertion
) -> None:
    cluster = Cluster.build(small(acks=acks, each_us=10_000 if loses else 40_000), 7)
    board = FaultInjector(cluster)
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", f"leader({P})", 20)
    cluster.run(30 * SECOND)
    finish(cluster, board, 10)

    ledger = cluster.view().ledger
    assert (ledger.acked_lost > 0) is loses
    assert ledger.committed_lost == 0
    assert cluster.query.violations() == 0
    assert cluster.query.diverged(P) == 0
    if loses:
        lost = [event for event in cluster.drain() if event.kind == "records_lost"]
        assert lost[0].cause == snapshot


def test_a_short_pause_of_a_follower_passes_unnoticed() -> None:
    cluster = Cluster.build(small(), 7)
    board = FaultInjector(cluster)
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", "broker(3)", 4)
    cluster.run(15 * SECOND)

    kinds = [event.kind for event in cluster.drain() if event.at_us > 0]
    assert "broker_fenced" not in kinds
    assert "isr_changed" not in kinds


def test_a_lagging_follower_leaves_the_isr_and_returns_when_healed() -> None:
    cluster = Cluster.build(small(each_us=80_000), 7)
    board = FaultInjector(cluster)
    cluster.run(5 * SECOND)
    inject(board, "lag", "broker(3)", 80, latency=40 * SECOND, to="broker(1)")
    cluster.run(80 * SECOND)
    changes = [event for event in cluster.drain() if isinstance(event, IsrChanged) and event.partition == P]

    assert changes[0].isr == (1, 2)
    assert changes[0].by == "leader"
    assert 30 * SECOND <= changes[0].at_us - 5 * SECOND <= 50 * SECOND, "between the lag time and half as much again"

    cluster.run(150 * SECOND, stop=lambda: cluster.query.isr(P) == [1, 2, 3])
    assert cluster.query.isr(P) == [1, 2, 3]


def test_the_last_in_sync_replica_is_waited_for_unless_an_election_is_unclean() -> None:
    for unclean in (False, True):
        cluster = Cluster.build(
            small(acks="1", partition=0, each_us=80_000, **{"unclean.leader.election.enable": unclean}), 7
        )
        board = FaultInjector(cluster)
        cluster.run(5 * SECOND)
        inject(board, "gc_pause", "followers(orders-0)", 60)
        cluster.run(50 * SECOND)
        assert cluster.query.isr(P) == [1]
        inject(board, "crash", "broker(1)")
        cluster.run(64 * SECOND)
        assert [cluster.query.leader(name) for name in (P, "orders-1")] == [-1, -1]
        cluster.run(90 * SECOND)
        assert (cluster.query.leader(P) == -1) is not unclean
        finish(cluster, board)
        assert cluster.query.offline_partitions() == 0
        assert (cluster.query.acked_lost() > 0) is unclean
        assert cluster.query.violations() == 0


def test_an_administrator_can_elect_uncleanly() -> None:
    cluster = Cluster.build(small(each_us=40_000), 7)
    board = FaultInjector(cluster)
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", "followers(orders-0)", 60)
    cluster.run(50 * SECOND)
    inject(board, "power_loss", "broker(1)")
    cluster.run(90 * SECOND)
    for second in (125, 126):  # It is broker 1 that the administrator asks first, and in vain.
        board.admin(Action("admin", "elect_leaders", params={"partition": P, "unclean": True}))
        cluster.run(second * SECOND)

    assert cluster.query.leader(P) in (2, 3)
    assert [ended.error for ended in board.operation_runner.take_ended()] == ["", "ELECTION_NOT_NEEDED"]


def busy(seed: int, kafka: str, mode: str | None) -> tuple[Cluster, FaultInjector]:
    cluster = Cluster.build(small(kafka, mode, "1", each_us=120_000), seed)
    board = FaultInjector(cluster)
    return cluster, board


TROUBLE: tuple[tuple[int, str, str, int, dict[str, int]], ...] = (
    (3, "gc_pause", "random(leader(orders-0))", 14, {}),
    (8, "lag", "broker(3)", 9, {"latency": 300_000, "jitter": 200_000}),
    (22, "crash", "random(2, all)", 6, {}),
)
"""At which second which fault strikes whom, for how many seconds."""
END = 34 * SECOND


def disturb(cluster: Cluster, board: FaultInjector, slice_us: int, slice_events: int) -> str:
    """The same half minute of trouble, advanced in slices of any size."""

    def run_to(until_us: int) -> None:
        while cluster.now_us < until_us or cluster.next_event_us() in range(cluster.now_us, until_us + 1):
            target = min(until_us, cluster.now_us + slice_us)
            stopped = cluster.run(target, slice_events)
            if stopped is StopReason.TIME and target == until_us:
                return

    for second, name, target, for_s, params in TROUBLE:
        run_to(second * SECOND)
        inject(board, name, target, for_s, **params)
    run_to(END)
    return cluster.digest()


@pytest.mark.parametrize(
    ("kafka", "mode"), spread_sample([("0.10.2", None), ("2.4", None), ("3.9", "zookeeper"), ("4.1", None)], 2)
)
def test_slices_of_any_size_give_one_digest(kafka: str, mode: str | None) -> None:
    digests = {
        disturb(*busy(5, kafka, mode), slice_us, slice_events)
        for slice_us, slice_events in ((8_000, 0), (3_600 * SECOND, 1), (777_777, 13))
    }
    assert len(digests) == 1
    assert digests != {disturb(*busy(6, kafka, mode), 3_600 * SECOND, 0)}


@pytest.mark.parametrize("kafka", spread_sample(["0.10.2", "2.4", "3.9"], 2))
def test_a_keyframe_restores_exactly(kafka: str) -> None:
    """Go back again and again from what came of a moment, and run on, against the unbroken run: the same trace."""
    expected = disturb(*busy(5, kafka, None), 3_600 * SECOND, 0)
    cluster, board = busy(5, kafka, None)
    moments = [3_500_000, 11_234_567, 22_000_001, 29_999_999]
    for second, *fault in (*TROUBLE, (END // SECOND,)):
        while moments and moments[0] < second * SECOND:
            at_us = moments.pop(0)
            cluster.run(at_us)
            keyframe, faults = cluster.save(), board.save()
            cluster.run(at_us + 4 * SECOND)
            cluster.load(keyframe)
            board.load(faults)
            assert cluster.now_us == at_us
        cluster.run(second * SECOND)
        if fault:
            name, target, for_s, params = fault
            inject(board, name, target, for_s, **params)
    assert not moments
    assert cluster.digest() == expected


TELLING = ["0.8.2", "0.10.2", "1.1", "2.4", "2.7", "3.3", "3.7", "4.1"]
"""Release lines of which each elects, truncates and moves its high watermark by other rules."""


@pytest.mark.parametrize("kafka", RELEASE_LINES if EVENING else TELLING)
def test_every_profile_survives_a_crash_of_its_leader_with_acks_all(kafka: str) -> None:
    for mode in modes_of(kafka):
        cluster = Cluster.build(small(kafka, mode, each_us=80_000), 11)
        board = FaultInjector(cluster)
        cluster.run(SECOND)
        inject(board, "crash", f"leader({P})", 24)
        cluster.run(22 * SECOND)
        assert cluster.query.leader(P) == 2
        finish(cluster, board, 15)

        assert cluster.query.acked_lost() == 0
        assert cluster.query.under_replicated() == 0
        assert cluster.query.violations() == 0
        ledger = cluster.view().ledger
        assert ledger.sent == ledger.acked + ledger.failed + ledger.unknown


def test_stop_conditions_are_evaluated_after_traced_events_only() -> None:
    cluster = Cluster.build(small(), 7)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(cluster.now_us)
        return cluster.query.hw(P) >= 5

    assert cluster.run(10 * SECOND, stop=stop) is StopReason.CONDITION
    assert cluster.query.hw(P) == 5
    assert len(asked) < cluster.executed


def test_events_per_batch_do_not_depend_on_its_records() -> None:
    """A batch of a hundred records costs what a batch of one does."""

    def events(batch: int) -> int:
        spec = small()
        producer = ProducerSpec("checkout", "orders", 10_000, batch, config={"acks": "all"})
        cluster = Cluster.build(ClusterSpec(spec.kafka, spec.mode, spec.brokers, spec.topics, (producer,)), 7)
        cluster.run(10 * SECOND)
        return cluster.executed

    assert abs(events(100) - events(1)) <= events(1) // 50


def test_rare_events_are_reported_from_those_of_every_batch() -> None:
    cluster = Cluster.build(small(), 7)
    cluster.run(5 * SECOND)
    events = cluster.drain()
    assert sum(isinstance(event, HwAdvanced) for event in events) > 100
    rare = [event for event in events if event.kind not in DATA_KINDS]
    assert sum(event.at_us > 0 for event in rare) < 20, "all but who leads at first"
