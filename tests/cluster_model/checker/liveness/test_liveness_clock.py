"""Deadlines of obligations under disturbances, slices and rewinds; and states reported as stuck, not overdue."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.checker.liveness.deadlines import LivenessDeadlines
from cluster_model.checker.liveness.liveness_checker import NAMES
from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.protocol.events import LivenessViolated
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.cluster_model.checker.liveness.test_liveness_checker import (
    P,
    build,
    follower_is_fenced,
    later,
    leader_dies,
    leadership_moves,
    nothing_happens,
    quiet,
)

SECOND = 1_000_000


def late(cluster: Cluster) -> list[LivenessViolated]:
    return [event for event in cluster.drain() if isinstance(event, LivenessViolated)]


def why(cluster: Cluster) -> list[tuple[str, str, str]]:
    return [(each.partition, each.reason, each.released_by) for each in cluster.view().stuck]


# -- pending at the end ---------------------------------------------------------------------------------------------


def comes_back(kafka: str, mode: str) -> Cluster:
    """The leader of some partitions is down for a while, and the session ends long before the deadline."""
    cluster = later(build(kafka, mode, readers=1), 5)
    cluster.crash(1)
    later(cluster, 30)
    cluster.restart(1)
    return quiet(later(cluster, 30), 5)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_preferred_leader_is_not_evaluated_only_if_another_replica_leads_at_the_end(mode: str) -> None:
    def ends(cluster: Cluster) -> tuple[set[str], set[str]]:
        assert cluster.checker.liveness is not None
        unjudged = {
            each.partition for each in cluster.checker.liveness.pending_liveness if each.property == "preferred-leader"
        }
        return unjudged, {
            name for name, each in cluster.cluster_state.records.items() if each.leader != each.assignment[0]
        }

    unjudged, away = ends(comes_back("3.9", mode))
    assert unjudged == away
    assert P in away
    assert len(away) > 10, "those of the offsets topic that it led too"
    for scenario in (nothing_happens, leadership_moves):
        assert ends(scenario("3.9", mode)) == (set(), set())
    assert ends(leader_dies("3.9", mode)) == (set(), {P}), "who is down owes nothing"


# -- the clock ---------------------------------------------------------------------------------------------------------


def test_an_overdue_report_has_start_and_deadline(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])
    cluster = later(build(), 5)
    bound = LivenessDeadlines.of(cluster.spec).leader_us
    cluster.crash(1)
    (event,) = late(quiet(later(cluster, 60)))
    assert (event.property, event.partition, event.broker, event.known) == ("leader-elected", P, 2, "")
    assert event.bound_us == bound
    assert 5 * SECOND <= event.since_us <= 5 * SECOND + 100_000
    assert event.since_us + bound <= event.at_us <= event.since_us + bound + 2 * SECOND
    assert event.detail == snapshot
    assert 10 * SECOND <= bound <= 11 * SECOND, "a session of nine seconds and one for the work"


@pytest.mark.slow
def test_slices_and_drains_do_not_change_the_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionLeaderState, "maybe_advance_hw", lambda _self, _now: False)
    seen: list[tuple[list[LivenessViolated], str]] = []
    for slice_us, events in ((3600 * SECOND, 0), (8_000, 0), (70 * SECOND, 1)):
        cluster, found = build(), []
        cluster.run(4 * SECOND)
        cluster.crash(3)
        while cluster.now_us < 60 * SECOND:
            cluster.run(min(cluster.now_us + slice_us, 60 * SECOND), events)
            found += late(cluster)
        cluster.run(60 * SECOND)
        cluster.stop_producers()
        while cluster.now_us < 140 * SECOND:
            cluster.run(min(cluster.now_us + slice_us, 140 * SECOND), events)
        cluster.run(140 * SECOND)
        cluster.close()
        seen.append((found + late(cluster), cluster.digest()))
    assert seen[0] == seen[1] == seen[2]
    assert {event.property for event in seen[0][0]} == {"hw-reaches-leo"}


@pytest.mark.slow
def test_only_a_disturbance_of_the_nodes_concerned_restarts_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PartitionLeaderState, "_maybe_expand", lambda _self, _follower, _remote: None)

    def disturbed(target: str) -> list[LivenessViolated]:
        cluster = later(build(), 5)
        board = FaultInjector(cluster)
        cluster.crash(3)
        later(cluster, 20)
        cluster.restart(3)
        board.inject(Action("inject", "lag", target, {"latency": 2_000}))
        return late(quiet(later(cluster, 60)))

    assert [event.property for event in disturbed("broker(2)")] == ["isr-rejoined"]
    assert disturbed("broker(3)") == []
    assert disturbed("broker(1)") == []


@pytest.mark.slow
@pytest.mark.parametrize(("told", "within"), [("crash", True), ("gc_pause", False), ("isolate", False)])
def test_only_a_silent_disturbance_extends_the_deadline_by_the_longest_timeout(
    told: str, within: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PartitionLeaderState, "_maybe_expand", lambda _self, _follower, _remote: None)
    cluster = later(build(), 5)
    board = FaultInjector(cluster)
    board.inject(Action("inject", told, "broker(3)"))
    later(cluster, 45)
    board.heal("all")
    later(cluster, 25)
    assert [event.property for event in late(cluster)] == (["isr-rejoined"] if within else [])
    later(cluster, 35)
    cluster.close()
    assert [event.property for event in late(cluster)] == ([] if within else ["isr-rejoined"])


def test_a_broker_that_stays_down_suspends_no_other_obligation(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = later(build(), 5)
    board = FaultInjector(cluster)
    board.inject(Action("inject", "crash", "broker(3)"))
    later(cluster, 30)
    monkeypatch.setattr(PartitionLeaderState, "maybe_advance_hw", lambda _self, _now: False)
    later(cluster, 5)
    assert [event.property for event in late(quiet(cluster))] == ["hw-reaches-leo"]


def test_a_rewound_checker_restores_pending_obligations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])
    cluster = later(build(), 5)
    cluster.crash(1)
    later(cluster, 6)
    twin = cluster.twin()
    keyframe, _rest = unpack(pack(cluster.save(), ()))
    twin.load(keyframe)
    once, again = late(quiet(later(cluster, 30))), late(quiet(later(twin, 30)))
    assert once == again
    assert len(once) == 1
    assert twin.checker.liveness is not None
    assert cluster.checker.liveness is not None
    assert twin.checker.liveness.save() == cluster.checker.liveness.save()


def test_a_fetcher_that_resumes_without_a_newer_epoch_is_reported_at_once(snapshot: SnapshotAssertion) -> None:
    cluster = later(build("3.3"), 5)
    FaultInjector(cluster).inject(Action("inject", "stale_metadata", "broker(3)"))
    cluster.crash(2)
    later(cluster, 20)
    following = cluster.cluster_state.replicas[P][3].following
    assert following is not None
    following.failed = False
    later(cluster, 3)
    (event,) = [event for event in late(cluster) if event.property == "fetcher-resumes"]
    assert event.broker == 3
    assert event.detail == snapshot


@pytest.mark.slow
def test_an_epoch_cache_that_differs_at_written_offsets_is_overdue(snapshot: SnapshotAssertion) -> None:
    cluster = later(build(), 5)
    cluster.cluster_state.replicas[P][3].log.epochs.entries = ((7, 0),)
    (event,) = late(quiet(cluster))
    assert (event.property, event.broker) == ("convergence", 3)
    assert event.detail == snapshot


def test_a_deposed_leader_that_keeps_a_delayed_produce_is_overdue(snapshot: SnapshotAssertion) -> None:
    cluster = later(build(acks="all"), 5)
    purgatory = cluster.brokers[1].purgatory
    cluster.pause(3)
    later(cluster, 1)
    assert purgatory.produces
    cluster.cluster_state.replicas[P][1].leadership = None
    cluster.resume(3)
    later(cluster, 5)
    found = [event for event in late(cluster) if event.property == "delayed-requests"]
    assert found
    assert {event.detail for event in found} == snapshot


@pytest.mark.parametrize(
    ("kafka", "mode"),
    [("0.8.2", "zookeeper"), ("2.3", "zookeeper"), ("2.8", "zookeeper"), ("3.3", "kraft"), ("4.1", "kraft")],
)
def test_deadlines_are_whole_and_grow_with_their_configurations(kafka: str, mode: str) -> None:
    def bounds(**config: Any) -> LivenessDeadlines:
        named = {key.replace("_", "."): value for key, value in config.items()}
        return LivenessDeadlines.of(ClusterSpec(kafka, mode, (BrokerSpec(1),), (), (), config=named))

    usual = bounds()
    session = "broker_session_timeout_ms" if mode == "kraft" else "zookeeper_session_timeout_ms"
    assert bounds(**{session: 38_000}).leader_us > usual.leader_us
    assert bounds(replica_lag_time_max_ms=60_000).lag_us == 60 * SECOND > usual.lag_us
    assert bounds(replica_fetch_wait_max_ms=5_000).follower_us > usual.follower_us
    assert bounds(auto_leader_rebalance_enable=False).preferred_us == 0
    assert usual.preferred_us > 300 * SECOND
    assert usual.unclean_check_us == (300 * SECOND if kafka == "4.1" else 0)
    assert len(NAMES) == len(dict.fromkeys(NAMES)) == 10


# -- stuck, not overdue ------------------------------------------------------------------------------------------------


def test_the_last_in_sync_replica_down_is_stuck_until_it_is_back(snapshot: SnapshotAssertion) -> None:
    cluster = later(build(), 5)
    for broker in (3, 2, 1):
        cluster.crash(broker)
        later(cluster, 15)
    cluster.restart(2)
    cluster.restart(3)
    later(cluster, 60)
    assert cluster.query.leader(P) == -1
    assert [partition for partition, *_rest in why(cluster)] == [P]
    assert why(cluster) == snapshot
    cluster.restart(1)
    later(cluster, 60)
    assert cluster.query.leader(P) != -1
    assert why(cluster) == []
    assert late(quiet(cluster)) == []


def acked_all(kafka: str, mode: str, minimum: int) -> Cluster:
    topic = TopicSpec("orders", 1, 3, ((1, 2, 3),), {"min.insync.replicas": minimum})
    producer = ProducerSpec("checkout", "orders", 50_000, config={"acks": "all"})
    return Cluster.build(ClusterSpec(kafka, mode, tuple(map(BrokerSpec, (1, 2, 3))), (topic,), (producer,)), 7)


def test_too_few_in_sync_replicas_refuse_acks_all_until_one_is_back(snapshot: SnapshotAssertion) -> None:
    cluster = later(acked_all("3.9", "kraft", 2), 5)
    for broker in (3, 2):
        cluster.crash(broker)
        later(cluster, 15)
    before = cluster.query.acked()
    later(cluster, 20)
    assert cluster.query.acked() == before
    assert [partition for partition, *_rest in why(cluster)] == [P]
    assert why(cluster) == snapshot
    cluster.restart(2)
    later(cluster, 60)
    assert cluster.query.acked() > before
    assert why(cluster) == []
    assert late(quiet(cluster)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "mode", "refused"), [("3.6", "kraft", True), ("2.8", "zookeeper", True), ("3.7", "kraft", False)]
)
def test_min_isr_above_the_number_of_replicas_is_stuck_up_to_3_6(
    kafka: str, mode: str, refused: bool, snapshot: SnapshotAssertion
) -> None:
    cluster = later(acked_all(kafka, mode, 4), 20)
    assert (cluster.query.acked() == 0) is refused
    assert ["NOT_ENOUGH_REPLICAS" in each[1] for each in why(cluster)] == ([True] if refused else [])
    assert why(cluster) == snapshot
    assert late(quiet(cluster)) == []


@pytest.mark.slow
def test_without_a_quorum_nothing_is_elected_and_dead_followers_stay_in_the_isr(snapshot: SnapshotAssertion) -> None:
    cluster = later(build(acks="all"), 5)
    controllers = cluster.plane.controllers()
    for controller in controllers[:2]:
        cluster.crash(controller)
    cluster.crash(3)
    later(cluster, 60)
    before = cluster.query.acked()
    later(cluster, 60)
    assert (cluster.query.isr(P), cluster.query.acked()) == ([1, 2, 3], before)
    assert [partition for partition, *_rest in why(cluster)] == ["", P]
    assert why(cluster) == snapshot
    for controller in controllers[:2]:
        cluster.restart(controller)
    later(cluster, 60)
    assert cluster.query.isr(P) == [1, 2]
    assert cluster.query.acked() > before
    assert why(cluster) == []
    assert late(quiet(cluster)) == []


def test_a_fenced_fetcher_is_stuck_without_newer_metadata() -> None:
    cluster = follower_is_fenced("3.3", "kraft")
    assert why(cluster) == []


def test_progress_that_takes_time_is_not_stuck() -> None:
    cluster = later(build(), 5)
    cluster.crash(1)
    later(cluster, 3)
    assert cluster.query.leader(P) == 1
    assert why(cluster) == []
    assert why(leader_dies("3.9", "kraft")) == []
