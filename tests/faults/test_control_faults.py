"""Sessions that end, controllers that lose their office, quorums without a majority, metadata that comes late."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import (
    BecameFollower,
    BrokerFenced,
    BrokerRegistered,
    ControllerChanged,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    ProduceRefused,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import FIRST_CONTROLLER, FIRST_ZOOKEEPER
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, begun, board_of, busy_cluster, inject, unsettled, until, until_well
from tests.support.breadth import covering_cases

pytestmark = pytest.mark.slow

MODES = [("3.3", "kraft"), ("3.9", "kraft"), ("4.0", "kraft"), ("0.11", "zookeeper"), ("2.4", "zookeeper"),
         ("2.8", "zookeeper")]  # fmt: skip
modes = pytest.mark.parametrize(("kafka", "mode"), MODES)
EXPIRY = Action("inject", "session_expiry", "leader(orders-0)")


def started(kafka: str, mode: str, seed: int = 7) -> tuple[Cluster, FaultInjector]:
    """Two seconds into its life."""
    return begun(2 * SECOND, busy_cluster, seed=seed, kafka=kafka, mode=mode)


def run_for(cluster: Cluster, us: int) -> list[TraceEvent]:
    cluster.run(cluster.now_us + us)
    return [event for event in cluster.drain() if isinstance(event, TraceEvent)]


def of(events: list[TraceEvent], kind: type[TraceEvent], **fields: Any) -> list[Any]:
    return [
        event
        for event in events
        if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())
    ]


def settled(cluster: Cluster, board: FaultInjector) -> list[str]:
    board.heal("all")
    cluster.run(cluster.now_us + 5 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    return unsettled(cluster)


# --- session expiry -------------------------------------------------------------------------------------------------


@modes
def test_a_broker_whose_session_expires_loses_its_leaderships_and_registers_again(kafka: str, mode: str) -> None:
    cluster, board = started(kafka, mode)
    before = cluster.plane.broker_epoch(1)
    told = board.predict_action(EXPIRY)
    board.inject(EXPIRY)
    events = run_for(cluster, 3 * SECOND)
    assert [event.broker for event in of(events, BrokerFenced)] == [1]
    elected = of(events, LeaderElected)
    assert tuple(dict.fromkeys(event.partition for event in elected)) == told.leaders_moved == ("orders-0",)
    assert elected[0].leader == 2
    assert elected[0].at_us < 2 * SECOND + 100 * MS
    assert [event.broker for event in of(events, BrokerRegistered)] == [1]
    # ZooKeeper makes another node for it; a KRaft controller unfences the registration that it has.
    assert (cluster.plane.broker_epoch(1) == before) == (mode == "kraft")
    assert cluster.state_of(1) is ProcessState.RUNNING
    assert settled(cluster, board) == []


@pytest.mark.parametrize("kafka", ["0.11", "2.4", "2.8"])
def test_a_controller_whose_session_expires_is_controller_no_more(kafka: str) -> None:
    cluster, board = started(kafka, "zookeeper")
    assert cluster.plane.active() == 1
    assert "controller role" in board.predict_action(EXPIRY).sentence
    board.inject(EXPIRY)
    changed = of(run_for(cluster, 3 * SECOND), ControllerChanged)
    assert [(event.broker != 1, event.leader_epoch) for event in changed] == [(True, 2)]
    assert cluster.plane.active() == changed[0].broker


@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.0"])
def test_in_kraft_mode_the_next_heartbeat_unfences_it(kafka: str) -> None:
    cluster, board = started(kafka, "kraft")
    board.inject(Action("inject", "session_expiry", "broker(5)"))
    events = run_for(cluster, 3 * SECOND)
    (fenced,), (back,) = of(events, BrokerFenced, broker=5), of(events, BrokerRegistered, broker=5)
    assert fenced.at_us - 2 * SECOND < 50 * MS
    assert 0 < back.at_us - fenced.at_us <= 520 * MS  # broker.heartbeat.interval.ms is 500 here.
    assert cluster.plane.controller_epoch() == 1


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_session_expiry_needs_an_unfenced_broker_and_a_controller(
    kafka: str, mode: str, snapshot: SnapshotAssertion
) -> None:
    cluster, board = started(kafka, mode)
    inject(board, "crash", "broker(4)")
    cluster.run(30 * SECOND)
    with pytest.raises(FaultError) as caught:
        inject(board, "session_expiry", "broker(4)")
    assert caught.value.code == "no_session"
    assert str(caught.value) == snapshot
    inject(board, "quorum_loss", "")
    cluster.run(60 * SECOND)
    for fault, target, code in (
        ("session_expiry", "broker(2)", "no_leader_with_majority"),
        ("quorum_loss", "", "no_majority"),
    ):
        with pytest.raises(FaultError) as caught:
            inject(board, fault, target)
        assert caught.value.code == code
        assert str(caught.value) == snapshot


# --- controller failover --------------------------------------------------------------------------------------------


@modes
def test_a_controller_loses_its_office_and_nothing_else(kafka: str, mode: str) -> None:
    cluster, board = started(kafka, mode)
    active, epoch = cluster.plane.active(), cluster.plane.controller_epoch()
    registrations = [cluster.plane.broker_epoch(broker) for broker in cluster.brokers]
    inject(board, "controller_failover", "")
    events = run_for(cluster, 5 * SECOND)
    changed = of(events, ControllerChanged)
    assert changed
    assert changed[-1].leader_epoch == cluster.plane.controller_epoch() > epoch
    assert changed[0].at_us < 3 * SECOND
    assert cluster.state_of(active) is ProcessState.RUNNING
    assert of(events, LeaderElected) == of(events, IsrChanged) == of(events, BrokerFenced) == []
    assert [cluster.plane.broker_epoch(broker) for broker in cluster.brokers] == registrations
    assert settled(cluster, board) == []


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_the_only_one_that_can_be_controller_is_elected_again(
    kafka: str, mode: str, snapshot: SnapshotAssertion
) -> None:
    spec = replace(busy_cluster(kafka=kafka, mode=mode).spec, controllers=1)
    cluster = Cluster.build(spec, 7)
    board = board_of(cluster)
    cluster.run(2 * SECOND)
    if mode == "zookeeper":
        inject(board, "gc_pause", "broker(2) + broker(3) + broker(4) + broker(5)")
    active = cluster.plane.active()
    assert board.predict_action(Action("inject", "controller_failover")).sentence == snapshot
    inject(board, "controller_failover", "")
    cluster.run(6 * SECOND)
    assert (cluster.plane.active(), cluster.plane.controller_epoch() > 1) == (active, True)


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_only_the_active_controller_can_lose_the_office(kafka: str, mode: str, snapshot: SnapshotAssertion) -> None:
    cluster, board = started(kafka, mode)
    other = cluster.plane.controllers()[1]
    target = f"controller({other})"
    with pytest.raises(FaultError) as caught:
        inject(board, "controller_failover", target)
    assert caught.value.code == "not_the_active_controller"
    assert str(caught.value) == snapshot
    inject(board, "gc_pause", "controller")
    if mode == "kraft":
        with pytest.raises(FaultError) as caught:
            inject(board, "controller_failover", "")
        assert caught.value.code == "no_leader_with_majority"
        assert str(caught.value) == snapshot


# --- quorum loss ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "kafka", "mode"),
    covering_cases(["crash", "pause", "partition"], [("3.9", "kraft"), ("0.11", "zookeeper"), ("2.8", "zookeeper")]),
)
def test_without_a_majority_nothing_is_decided_and_records_continue(kafka: str, mode: str, how: str) -> None:
    cluster, board = started(kafka, mode)
    first = FIRST_CONTROLLER if mode == "kraft" else FIRST_ZOOKEEPER
    leader = "controller 1001" if mode == "kraft" else "zookeeper 3"
    told = board.predict_action(Action("inject", "quorum_loss", params={"method": how}))
    inject(board, "quorum_loss", "", method=how)
    (injected,) = of(run_for(cluster, 1), FaultInjected)
    assert leader in injected.target
    assert injected.target in told.sentence
    assert len(injected.target.split(", ")) == 2
    states = [cluster.state_of(node) for node in range(first, first + 3)]
    running = 3 if how == "partition" else 1
    assert states.count(ProcessState.RUNNING) == running
    run_for(cluster, 25 * SECOND)
    acked = cluster.query.acked()
    inject(board, "crash", "broker(5)")
    inject(board, "gc_pause", "broker(3)", 12 * SECOND)  # It leaves no ISR, though it lags for longer than allowed.
    events = run_for(cluster, 11 * SECOND)
    assert of(events, LeaderElected) == of(events, IsrChanged) == of(events, ControllerChanged) == []
    assert cluster.query.isr("orders-0") == [1, 2, 3]
    run_for(cluster, 5 * SECOND)
    assert cluster.query.acked() > acked + 100
    assert settled(cluster, board) == []
    if mode == "kraft":  # Producers of the others have acks=1.
        assert cluster.query.acked_lost() == 0


def test_the_seed_selects_the_quorum_members_besides_the_leader() -> None:
    struck = set()
    for seed in range(1, 9):
        cluster, board = started("3.9", "kraft", seed)
        inject(board, "quorum_loss", "")
        struck.add(of(run_for(cluster, 1), FaultInjected)[0].target)
    assert struck == {"controller 1001, controller 1002", "controller 1001, controller 1003"}


def test_only_as_many_as_it_still_takes_are_affected() -> None:
    cluster, board = started("3.9", "kraft")
    inject(board, "crash", "controller(1002)")
    inject(board, "quorum_loss", "")
    assert board.active()[-1].target == "controller 1001"
    assert cluster.state_of(1003) is ProcessState.RUNNING


def test_a_target_that_a_majority_can_spare_is_refused(snapshot: SnapshotAssertion) -> None:
    cluster, board = started("3.9", "kraft")
    with pytest.raises(FaultError) as caught:
        inject(board, "quorum_loss", "controller(1002)")
    assert caught.value.code == "too_few_members"
    assert str(caught.value) == snapshot
    assert board.impact_sentence("quorum_loss", 1002) == f"nothing: {caught.value}"
    assert cluster.state_of(1002) is ProcessState.RUNNING


def test_a_member_that_was_started_meanwhile_is_not_started_again_by_healing() -> None:
    cluster, board = started("3.9", "kraft")
    inject(board, "quorum_loss", "", method="crash")
    inject(board, "restart", "controller(1001)")
    inject(board, "crash", "controller(1001)")
    board.heal("quorum_loss")
    assert cluster.state_of(1001) is ProcessState.DOWN
    assert [cluster.state_of(node) for node in (1002, 1003)] == [ProcessState.RUNNING] * 2
    assert [view.name for view in board.active()] == ["crash"]


def test_a_controller_partition_heals_though_members_crashed() -> None:
    cluster, board = started("3.9", "kraft")
    inject(board, "quorum_loss", "", method="partition")
    inject(board, "crash", "controllers")
    inject(board, "restart", "controllers")
    board.heal("all")
    cluster.run(20 * SECOND)
    assert cluster.plane.active() in cluster.plane.controllers()
    assert settled(cluster, board) == []


# --- stale metadata -------------------------------------------------------------------------------------------------


def until_followed(kafka: str, mode: str, *faults: dict[str, Any], heal_at: int = 0) -> int:
    """When broker 3 takes up the new leader of orders-0, in µs after the leader's session was ended."""
    cluster, board = started(kafka, mode)
    numbers = [inject(board, "stale_metadata", "broker(3)", **params) for params in faults]
    inject(board, "session_expiry", "broker(1)")
    if heal_at:
        cluster.run(2 * SECOND + heal_at)
        board.heal(str(numbers[0]))
    found: list[Any] = []

    def followed() -> bool:
        found.extend(of(run_for(cluster, 0), BecameFollower, partition="orders-0", broker=3, leader=2))
        return bool(found)

    until(cluster, followed, 30 * SECOND)
    return int(found[0].at_us) - 2 * SECOND


@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.0"])
def test_a_kraft_broker_takes_records_up_so_much_later(kafka: str) -> None:
    prompt = until_followed(kafka, "kraft")
    one, two = {"delay": 3 * SECOND}, {"delay": 700 * MS}
    assert until_followed(kafka, "kraft", one) == prompt + 3 * SECOND
    assert until_followed(kafka, "kraft", one, two) == prompt + 3 * SECOND + 700 * MS
    assert until_followed(kafka, "kraft", one, two, heal_at=2 * SECOND) == 2 * SECOND
    assert until_followed(kafka, "kraft", {"delay": 0}, two, heal_at=9 * SECOND) == 9 * SECOND


@pytest.mark.parametrize("kafka", ["0.11", "2.4", "2.8"])
def test_a_zookeeper_broker_keeps_each_request_waiting(kafka: str) -> None:
    prompt = until_followed(kafka, "zookeeper")
    late = until_followed(kafka, "zookeeper", {"delay": SECOND})
    # One request is under way at a time, so each that comes before this one makes it later by as much.
    assert late - prompt > SECOND
    assert until_followed(kafka, "zookeeper", {"delay": 0}, heal_at=9 * SECOND) >= 9 * SECOND
    assert until_followed(kafka, "zookeeper", {"delay": 0, "requests": "cache"}) == prompt


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_heartbeats_continue_while_nothing_is_taken_up(kafka: str, mode: str) -> None:
    cluster, board = started(kafka, mode)
    inject(board, "stale_metadata", "broker(1)")
    inject(board, "session_expiry", "broker(2)")
    events = run_for(cluster, 20 * SECOND)
    assert of(events, BrokerFenced, broker=1) == []
    assert cluster.plane.is_live(1)
    assert cluster.brokers[1].states["orders-1"].leader_epoch == 0
    assert cluster.brokers[5].states["orders-1"].leader_epoch > 0
    assert settled(cluster, board) == []
    assert cluster.brokers[1].states["orders-1"] == cluster.brokers[5].states["orders-1"]


def test_a_broker_whose_cache_is_stale_leads_as_it_is_reported() -> None:
    cluster, board = started("2.8", "zookeeper")
    inject(board, "stale_metadata", "broker(2)", requests="cache")
    inject(board, "session_expiry", "broker(1)")
    run_for(cluster, 2 * SECOND)
    leadership = cluster.cluster_state.replicas["orders-0"][2].leadership
    assert leadership is not None
    assert cluster.brokers[2].states["orders-0"].leader == 1
    board.heal("all")
    run_for(cluster, 1)
    assert cluster.brokers[2].states["orders-0"].leader == 2


def test_only_zookeeper_mode_has_a_cache_of_its_own(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started("3.9", "kraft")
    with pytest.raises(FaultError) as caught:
        inject(board, "stale_metadata", "broker(2)", requests="cache")
    assert caught.value.code == "no_cache_in_kraft"
    assert str(caught.value) == snapshot
    assert board.active() == ()


def zombie(kafka: str, mode: str) -> tuple[int, int]:
    """Records acknowledged and lost while a deposed leader is told nothing for ten seconds."""
    cluster, board = started(kafka, mode)
    inject(board, "stale_metadata", "leader(orders-0)")
    inject(board, "session_expiry", "leader(orders-0)")
    acked = cluster.query.acked()
    cluster.run(12 * SECOND)
    assert cluster.query.leaders("orders-0") == [1, 2]
    acked = cluster.query.acked() - acked
    assert settled(cluster, board) == []
    return acked, cluster.query.acked_lost()


def test_a_zombie_acknowledges_acks_1_and_loses_it_but_never_acks_all() -> None:
    acked, lost = zombie("2.8", "zookeeper")  # Its producers have acks=1 by default, those of 3.9 acks=all.
    assert 60 < lost < acked
    assert zombie("3.9", "kraft")[1] == 0


def test_a_controller_in_the_same_process_replays_the_log_for_itself() -> None:
    spec = replace(busy_cluster().spec, combined=(1, 2, 3))
    cluster = Cluster.build(spec, 7)
    board = board_of(cluster)
    cluster.run(2 * SECOND)
    inject(board, "stale_metadata", "broker(2) + broker(3)")
    inject(board, "session_expiry", "broker(4)")
    cluster.run(4 * SECOND)
    inject(board, "crash", "controller")
    cluster.run(12 * SECOND)
    # Whoever leads the quorum now has decided by all that was committed, though its broker has not heard of it.
    assert cluster.plane.active() in (2, 3)
    assert cluster.query.leader("orders-0") in (2, 3)
    assert cluster.query.epoch("orders-1") >= 0
    assert cluster.brokers[2].states["orders-0"].leader == 1
    assert cluster.query.violations() == 0
    assert settled(cluster, board) == []


def test_a_broker_that_learns_nothing_cannot_come_up_until_it_is() -> None:
    cluster, board = started("3.9", "kraft")
    inject(board, "stale_metadata", "broker(3)")
    inject(board, "crash", "broker(3)")
    cluster.run(10 * SECOND)
    inject(board, "restart", "broker(3)")
    cluster.run(30 * SECOND)
    assert not cluster.plane.is_live(3)
    assert settled(cluster, board) == []


@pytest.mark.parametrize(("kafka", "mode", "tries"), [("2.8", "zookeeper", 50), ("3.9", "kraft", 0)])
def test_a_client_with_an_old_snapshot_tries_the_old_leader_again_and_again(kafka: str, mode: str, tries: int) -> None:
    cluster, board = started(kafka, mode)
    inject(board, "stale_metadata", "client(checkout)")
    inject(board, "session_expiry", "leader(orders-0)")
    events = run_for(cluster, 4 * SECOND)
    refused = of(events, ProduceRefused, broker=1, error="NOT_LEADER_OR_FOLLOWER")
    # Since 3.7 a refusal names the new leader (KIP-951), so that one is enough.
    assert len(refused) > tries
    assert (len(refused) == 1) == (tries == 0)
    assert settled(cluster, board) == []


def test_stale_metadata_has_the_requested_age() -> None:
    cluster, board = started("2.8", "zookeeper")
    inject(board, "stale_metadata", "client(checkout)", delay=3 * SECOND)
    inject(board, "session_expiry", "leader(orders-0)")
    refused = of(run_for(cluster, 5 * SECOND), ProduceRefused, broker=1)
    assert 2 * SECOND < refused[-1].at_us - refused[0].at_us < 4 * SECOND
    assert settled(cluster, board) == []


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_snapshots_restore_delayed_metadata(kafka: str, mode: str) -> None:
    cluster, board = started(kafka, mode)
    inject(board, "stale_metadata", "brokers + clients", 9 * SECOND, delay=2 * SECOND)
    inject(board, "session_expiry", "leader(orders-1)")
    cluster.run(3 * SECOND)
    saved = cluster.save(), board.save()
    cluster.run(20 * SECOND)
    digest = cluster.digest()
    cluster.load(saved[0])
    board.load(saved[1])
    while cluster.now_us < 20 * SECOND:
        cluster.run(min(20 * SECOND, cluster.now_us + 7_919))
    assert cluster.digest() == digest


@pytest.mark.parametrize(
    ("kafka", "mode", "what"), [("3.9", "kraft", "all"), ("2.8", "zookeeper", "all"), ("2.8", "zookeeper", "cache")]
)
def test_two_stale_metadata_faults_heal_independently(kafka: str, mode: str, what: str) -> None:
    cluster, board = started(kafka, mode)
    first = inject(board, "stale_metadata", "broker(3)", requests=what)
    second = inject(board, "stale_metadata", "broker(3)", requests=what)
    inject(board, "session_expiry", "broker(1)")
    run_for(cluster, SECOND)
    board.heal(str(first))
    run_for(cluster, SECOND)
    assert cluster.brokers[3].states["orders-0"].leader_epoch == 0 < cluster.brokers[5].states["orders-0"].leader_epoch
    board.heal(str(second))
    run_for(cluster, SECOND)
    assert cluster.brokers[3].states["orders-0"] == cluster.brokers[5].states["orders-0"]
    assert settled(cluster, board) == []


@pytest.mark.parametrize(
    ("how", "kafka", "mode"), covering_cases(["pause", "partition"], [("3.9", "kraft"), ("2.8", "zookeeper")])
)
def test_two_quorum_losses_heal_independently(kafka: str, mode: str, how: str) -> None:
    cluster, board = started(kafka, mode)
    first = inject(board, "quorum_loss", "", method="partition")
    # Those that hear nobody still run, so that a second fault can strike the members again.
    second = inject(board, "quorum_loss", "", method=how)
    run_for(cluster, 15 * SECOND)
    board.heal(str(first))
    run_for(cluster, 5 * SECOND)
    inject(board, "crash", "broker(1)")
    events = run_for(cluster, 15 * SECOND)
    assert of(events, LeaderElected) == of(events, ControllerChanged) == []
    assert [view.name for view in board.active()].count("quorum_loss") == 1
    board.heal(str(second))
    assert of(run_for(cluster, 20 * SECOND), LeaderElected, partition="orders-0") != []
    inject(board, "restart", "broker(1)")
    assert settled(cluster, board) == []
