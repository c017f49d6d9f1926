"""The board on a busy cluster: what each fault does, how it ends, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import (
    BrokerFenced,
    FaultHealed,
    FaultInjected,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import FIRST_CONTROLLER
from faults.catalogue import CATALOGUE
from faults.declarations.fault import FaultError
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject, unsettled, until_well
from tests.support.breadth import EVENING, covering_cases

VOTERS = tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + 3))
RUNNING, PAUSED, DOWN, OFF = ProcessState.RUNNING, ProcessState.PAUSED, ProcessState.DOWN, ProcessState.OFF


def told(cluster: Cluster, *kinds: type[TraceEvent]) -> list[TraceEvent]:
    return [event for event in cluster.drain() if isinstance(event, kinds)]


# --- convergence ----------------------------------------------------------------------------------------------------

HISTORIES: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "crash of a leader": [("crash", "leader(orders-0)", {})],
    "crash of both followers": [("crash", "followers(orders-0)", {})],
    "crash of everybody": [("crash", "all", {})],
    "crash of the controller": [("crash", "controller", {})],
    "crash of a leader and the controller": [("crash", "controller", {}), ("crash", "leader(orders-1)", {})],
    "power loss of a leader": [("power_loss", "leader(orders-0)", {})],
    "power loss of a leader that keeps little": [("power_loss", "leader(orders-0)", {"keep": 3})],
    "power loss of a follower that keeps nothing": [("power_loss", "broker(3)", {"keep": 0})],
    "power loss that leaves only what was flushed": [("power_loss", "leader(orders-0)", {"tail": "flushed"})],
    "power loss with a torn batch": [("power_loss", "broker(2)", {"tail": "torn"})],
    "power loss of everybody": [("power_loss", "all", {})],
    "power loss of a rack": [("power_loss", "rack(a)", {})],
    "pause of a leader": [("gc_pause", "leader(orders-0)", {})],
    "pause of the controller": [("gc_pause", "controller", {})],
    "pause of everybody": [("gc_pause", "all", {})],
    "pause of the producer": [("gc_pause", "client(checkout)", {})],
    "pause of a consumer": [("gc_pause", "client(billing/0)", {})],
    "crash of the clients": [("crash", "clients", {})],
    "crash of a paused consumer": [("gc_pause", "members(billing)", {}), ("crash", "client(billing/1)", {})],
    "clean shutdown of a consumer": [("clean_shutdown", "client(billing/0)", {})],
    "poll stall": [("poll_stall", "members(billing)", {"extra": 2 * SECOND})],
    "crash of the producer and of a leader": [("crash", "client(checkout) + leader(orders-0)", {})],
    "lag of a leader": [("lag", "leader(orders-0)", {})],
    "lag beyond every timeout": [("lag", "broker(2)", {"latency": 5 * SECOND, "jitter": SECOND})],
    "lag towards the controller": [("lag", "all", {"latency": 4 * SECOND, "to": "controller", "direction": "out"})],
    "lag into the followers": [("lag", "followers(orders-0)", {"latency": 2 * SECOND, "direction": "in"})],
    "partition of a leader": [("partition", "leader(orders-0)", {})],
    "partition of a leader from the brokers": [("partition", "leader(orders-0)", {"to": "brokers"})],
    "partition of the controller": [("partition", "controller", {})],
    "partition of what goes out of a leader": [("partition", "leader(orders-1)", {"direction": "out"})],
    "partition of what comes into the followers": [("partition", "followers(orders-0)", {"direction": "in"})],
    "partition of clients and a broker": [("partition", "clients + broker(1)", {})],
    "crash under a partition": [("partition", "broker(1) + broker(2)", {}), ("crash", "broker(1)", {})],
    "power loss during a pause": [("gc_pause", "broker(1)", {}), ("power_loss", "broker(1)", {})],
    "crash under lag": [("lag", "broker(1)", {"latency": SECOND}), ("crash", "broker(1)", {})],
    "pause of one and crash of two": [("gc_pause", "broker(1)", {}), ("crash", "broker(2)", {}), ("crash", "3", {})],
}


ELSEWHERE = (
    "crash of a leader", "crash of the controller", "power loss of a leader", "pause of a leader",
    "pause of the controller", "pause of a consumer", "clean shutdown of a consumer", "poll stall", "lag of a leader",
    "partition of a leader", "crash of the clients", "crash of the producer and of a leader", "pause of the producer",
)  # fmt: skip
"""One fault as it comes, on one process: ``test_every_fault.py`` and ``test_process_faults.py`` do as much."""


@pytest.mark.slow
@pytest.mark.parametrize("history", [each for each in HISTORIES if EVENING or each not in ELSEWHERE])
def test_the_cluster_is_whole_again_after(cluster: Cluster, board: FaultInjector, history: str) -> None:
    for name, target, params in HISTORIES[history]:
        inject(board, name, target, **params)
        cluster.run(cluster.now_us + 400 * MS)
    cluster.run(cluster.now_us + 9 * SECOND)
    assert board.heal("all") >= 1
    assert board.active() == ()
    cluster.run(cluster.now_us + 4 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    cluster.close()
    assert unsettled(cluster) == []
    if not any(name == "power_loss" for name, _target, _params in HISTORIES[history]):
        assert cluster.query.acked_lost() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "mode"), [("0.8.2", None), ("0.10.2", None), ("1.1", None), ("2.3", None), ("2.7", None), ("3.5", None)]
)
def test_clusters_of_every_era_recover(kafka: str, mode: str | None) -> None:
    cluster = busy_cluster(kafka=kafka, mode="kraft" if kafka == "3.5" else "zookeeper")
    board = board_of(cluster)
    cluster.run(SECOND)
    inject(board, "crash", "leader(orders-0)", 8 * SECOND)
    inject(board, "gc_pause", "leader(orders-1)", 9 * SECOND)
    inject(board, "lag", "broker(3)", 5 * SECOND, latency=300 * MS)
    cluster.run(14 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    assert (board.active(), unsettled(cluster)) == ((), [])


@pytest.mark.slow
def test_faults_of_every_kind_recorded_twice_give_one_digest() -> None:
    digests = set()
    for _time in range(2):
        cluster = busy_cluster()
        board = board_of(cluster)
        for number, name in enumerate(("gc_pause", "lag", "crash", "power_loss", "partition")):
            cluster.run(cluster.now_us + 700 * MS)
            inject(board, name, f"random({number % 2 + 1}, broker({number + 1}))", 5 * SECOND)
        cluster.run(30 * SECOND)
        digests.add(cluster.digest())
    assert len(digests) == 1


# --- what each fault does -------------------------------------------------------------------------------------------


def test_a_crash_takes_the_process_and_healing_starts_it(cluster: Cluster, board: FaultInjector) -> None:
    leo = cluster.query.leo("orders-0", 1)
    inject(board, "crash", "broker(1)")
    assert (cluster.state_of(1), cluster.query.up(1)) == (DOWN, False)
    assert cluster.query.leo("orders-0", 1) == leo > 0
    board.heal("crash")
    assert cluster.state_of(1) is RUNNING
    assert [event.kind for event in told(cluster, FaultInjected, NodeDown, FaultHealed, NodeUp)] == [
        "fault_injected", "node_down", "fault_healed", "node_up",
    ]  # fmt: skip


def test_a_power_loss_takes_what_was_not_on_disk(cluster: Cluster, board: FaultInjector) -> None:
    assert cluster.query.leo("orders-0", 1) > 0
    inject(board, "power_loss", "broker(1)")
    assert (cluster.state_of(1), cluster.query.leo("orders-0", 1)) == (OFF, 0)


def test_a_power_loss_may_keep_some_records(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "power_loss", "broker(1)", keep=4)
    assert cluster.query.leo("orders-0", 1) == 4


def test_a_power_loss_may_leave_a_torn_batch(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "power_loss", "broker(1)", keep=4, tail="torn")
    assert cluster.brokers[1].replicas["orders-0"].log.torn > 0


def test_a_power_loss_does_not_make_records_that_were_not_there(cluster: Cluster, board: FaultInjector) -> None:
    leo = cluster.query.leo("orders-0", 1)
    inject(board, "power_loss", "broker(1)", keep=1_000_000)
    assert cluster.query.leo("orders-0", 1) == leo


def test_a_pause_shorter_than_the_session_changes_no_leader(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "gc_pause", "broker(1)", 2 * SECOND)
    assert cluster.state_of(1) is PAUSED
    cluster.run(10 * SECOND)
    assert (cluster.state_of(1), cluster.query.leader("orders-0")) == (RUNNING, 1)
    assert told(cluster, BrokerFenced) == []


def test_a_pause_longer_than_the_session_does(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "gc_pause", "broker(1)", 6 * SECOND)
    cluster.run(6 * SECOND)
    assert (cluster.query.leader("orders-0"), cluster.query.epoch("orders-0")) == (2, 1)


def test_lag_slows_the_links_it_names_and_no_others(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "lag", "broker(1)", latency=70 * MS, jitter=MS, to="broker(2)", direction="out")
    assert cluster.network.link(1, 2).lag == ((number, 70 * MS, MS),)
    others = [pair for pair in cluster.network._links if pair != (1, 2)]
    assert all(cluster.network.link(*pair).lag == () for pair in others)
    board.heal("lag")
    assert cluster.network.link(1, 2).lag == ()


@pytest.mark.parametrize(
    ("direction", "out", "into"), [("both", True, True), ("out", True, False), ("in", False, True)]
)
def test_lag_has_a_direction(cluster: Cluster, board: FaultInjector, direction: str, out: bool, into: bool) -> None:
    inject(board, "lag", "broker(1)", direction=direction)
    for other in (2, 3, 4, 5, *VOTERS, 2_000, 3_000, 3_001):
        assert bool(cluster.network.link(1, other).lag) is out
        assert bool(cluster.network.link(other, 1).lag) is into


def test_lag_between_several_does_not_count_a_node_against_itself(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "lag", "followers(orders-0)", to="replicas(orders-0)")
    slow = {pair for pair, link in cluster.network._links.items() if link.lag}
    assert slow == {(2, 1), (2, 3), (3, 1), (3, 2), (1, 2), (1, 3)}


def test_lags_on_one_link_end_each_by_itself(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "lag", "broker(1)", to="broker(2)", latency=10 * MS)
    second = inject(board, "lag", "broker(2)", to="broker(1)", latency=20 * MS)
    assert [entry[0] for entry in cluster.network.link(1, 2).lag] == [first, second]
    board.heal(str(first))
    assert cluster.network.link(1, 2).lag == ((second, 20 * MS, 0),)
    assert cluster.network.link(2, 1).lag == ((second, 20 * MS, 0),)


def cuts(cluster: Cluster) -> set[tuple[int, int]]:
    return {pair for pair, link in cluster.network._links.items() if link.cuts}


ALL = (*VOTERS, 1, 2, 3, 4, 5, 2_000, 3_000, 3_001, 4_000)


@pytest.mark.parametrize(
    ("direction", "out", "into"), [("both", True, True), ("out", True, False), ("in", False, True)]
)
def test_a_partition_separates_its_targets_from_all_other_nodes(
    cluster: Cluster, board: FaultInjector, direction: str, out: bool, into: bool
) -> None:
    inject(board, "partition", "broker(1) + broker(3)", direction=direction)
    others = [node for node in ALL if node not in (1, 3)]
    outward = {(inside, other) for inside in (1, 3) for other in others if out}
    assert cuts(cluster) == outward | {(other, inside) for inside in (1, 3) for other in others if into}
    board.heal("partition")
    assert cuts(cluster) == set()


def test_a_partition_may_name_the_other_side(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "partition", "broker(1)", to="broker(2) + controller", direction="out")
    assert cuts(cluster) == {(1, 2), (1, VOTERS[0])}
    (view,) = board.active()
    assert view.detail == "to=broker(2)+controller->broker2,controller1001 direction=out"


def test_partitions_on_one_link_end_each_by_itself(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "partition", "broker(1)", to="broker(2)")
    second = inject(board, "partition", "broker(2)", 3 * SECOND, to="broker(1)", direction="out")
    assert cluster.network.link(2, 1).cuts == (first, second)
    board.heal(str(first))
    assert cuts(cluster) == {(2, 1)}
    cluster.run(cluster.now_us + 3 * SECOND)
    assert (cuts(cluster), board.active()) == (set(), ())


def test_a_restart_does_not_end_a_partition(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "partition", "broker(1)")
    inject(board, "crash", "broker(1)")
    inject(board, "restart", "broker(1)")
    assert [view.id for view in board.active()] == [number]
    assert (1, 2) in cuts(cluster)


def test_restart_ends_the_crash_of_that_node_only(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "crash", "followers(orders-0)", 5 * SECOND)
    inject(board, "restart", "broker(2)")
    assert (cluster.state_of(2), cluster.state_of(3)) == (RUNNING, DOWN)
    (left,) = board.active()
    assert (left.id, left.name, left.target, left.until_us) == (number, "crash", "broker 3", 6 * SECOND)
    inject(board, "restart", "broker(3)")
    assert board.active() == ()
    assert [event.fault_id for event in told(cluster, FaultHealed)] == [number]  # type: ignore[attr-defined]


def test_restart_itself_does_not_last(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "crash", "broker(1)")
    inject(board, "restart", "broker(1)", 5 * SECOND)
    assert board.active() == ()
    restart = [event for event in told(cluster, FaultInjected) if event.fault == "restart"]  # type: ignore[attr-defined]
    assert restart[0].until_us == -1  # type: ignore[attr-defined]


def test_power_loss_during_a_pause_ends_the_pause(cluster: Cluster, board: FaultInjector) -> None:
    pause = inject(board, "gc_pause", "replicas(orders-0)", 4 * SECOND)
    loss = inject(board, "power_loss", "broker(2)")
    assert (cluster.state_of(1), cluster.state_of(2)) == (PAUSED, OFF)
    assert [(view.id, view.target) for view in board.active()] == [(pause, "broker 1, broker 3"), (loss, "broker 2")]
    cluster.run(6 * SECOND)
    assert (cluster.state_of(1), cluster.state_of(2), cluster.state_of(3)) == (RUNNING, OFF, RUNNING)
    assert [view.id for view in board.active()] == [loss]
    resumed = [event.node for event in told(cluster, NodeResumed)]  # type: ignore[attr-defined]
    assert resumed == ["broker 1", "broker 3"]


# --- healing --------------------------------------------------------------------------------------------------------


def as_it_is(name: str) -> bool:
    """Whether it lasts, needs nothing but a target, and strikes more than producers."""
    fault = CATALOGUE[name]
    needs = [param for param in fault.params if param.default is None]
    return fault.is_lasting and not needs and fault.accepts != "producers"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "for_us"), covering_cases([name for name in CATALOGUE if as_it_is(name)], [1, 777_777, 2 * SECOND + 1])
)
def test_a_fault_with_a_time_heals_at_the_exact_microsecond(
    cluster: Cluster, board: FaultInjector, fault: str, for_us: int
) -> None:
    client = CATALOGUE[fault].accepts in ("clients", "consumers")
    target = CATALOGUE[fault].target or ("client(billing/0)" if client else "broker(3)")
    number = inject(board, fault, target, for_us)
    end = cluster.now_us + for_us
    assert [view.until_us for view in board.active()] == [end]
    cluster.run(end - 1)
    assert [view.id for view in board.active()] == [number]
    cluster.run(end)
    assert board.active() == ()
    healed = told(cluster, FaultHealed)
    assert [(event.at_us, event.fault_id) for event in healed] == [(end, number)]  # type: ignore[attr-defined]
    assert cluster.state_of(3) is RUNNING


def test_a_time_that_was_cut_short_does_not_heal_the_next_fault(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "gc_pause", "broker(3)", 3 * SECOND)
    board.heal("gc_pause")
    second = inject(board, "gc_pause", "broker(3)")
    cluster.run(20 * SECOND)
    assert [view.id for view in board.active()] == [second]
    assert cluster.state_of(3) is PAUSED


def test_healing_by_number_by_name_and_all(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "lag", "broker(1)")
    second = inject(board, "lag", "broker(2)")
    third = inject(board, "crash", "broker(3)")
    fourth = inject(board, "gc_pause", "broker(4)")
    assert [view.id for view in board.active()] == [first, second, third, fourth]
    assert board.heal(str(second)) == 1
    assert [view.id for view in board.active()] == [first, third, fourth]
    assert board.heal("lag") == 1
    assert [view.id for view in board.active()] == [third, fourth]
    assert board.heal("all") == 2
    assert board.active() == ()
    assert [cluster.state_of(broker) for broker in (1, 2, 3, 4)] == [RUNNING] * 4


def test_healing_what_is_not_there_heals_nothing(cluster: Cluster, board: FaultInjector) -> None:
    digest = cluster.digest()
    assert (board.heal("all"), board.heal("crash"), board.heal("restart")) == (0, 0, 0)
    assert cluster.digest() == digest


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("99", "no_active_fault"),
        ("crsh", "no_fault"),
        ("²", "no_fault"),
        ("-1", "no_fault"),
        ("", "no_fault"),
    ],
)
def test_healing_something_unknown_is_refused(
    board: FaultInjector, name: str, code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(FaultError) as caught:
        board.heal(name)
    assert caught.value.code == code
    assert str(caught.value) == snapshot


# --- refusals -------------------------------------------------------------------------------------------------------

REFUSALS = [
    pytest.param("crsh", "broker(1)", {}, "no_fault", id="unknown fault"),
    pytest.param("crash", "broker(9)", {}, "no_broker", id="unknown broker"),
    pytest.param("crash", "leader(", {}, "incomplete", id="no selector"),
    pytest.param("crash", "", {}, "empty", id="no target"),
    pytest.param("crash", "client(admin)", {}, "wrong_kind_of_target", id="client"),
    pytest.param("power_loss", "client(admin)", {}, "wrong_kind_of_target", id="power"),
    pytest.param("restart", "broker(1)", {}, "not_down", id="restart of running"),
    pytest.param("restart", "broker(4)", {}, "not_down", id="restart of paused"),
    pytest.param("crash", "broker(5)", {}, "down_already", id="crash of crashed"),
    pytest.param("power_loss", "broker(5)", {}, "down_already", id="power loss of crashed"),
    pytest.param("gc_pause", "broker(5)", {}, "down_already", id="pause of crashed"),
    pytest.param("crash", "all", {}, "down_already", id="one of several"),
    pytest.param("crash", "broker(1)", {"keep": 1}, "no_parameter", id="of another"),
    pytest.param("crash", "broker(1)", {"torn": 1}, "wrong_value", id="number for a truth"),
    pytest.param("restart", "broker(1)", {"keep": 1}, "no_parameter", id="no parameters"),
    pytest.param("lag", "broker(1)", {"latncy": 1}, "no_parameter", id="misspelt"),
    pytest.param("lag", "broker(1)", {"latency": 0}, "wrong_value", id="too little"),
    pytest.param("lag", "broker(1)", {"latency": "1s"}, "wrong_value", id="text for a duration"),
    pytest.param("lag", "broker(1)", {"jitter": True}, "wrong_value", id="truth for a duration"),
    pytest.param("lag", "broker(1)", {"direction": "up"}, "wrong_value", id="choice"),
    pytest.param("lag", "broker(1)", {"to": "broker(1)"}, "one_end", id="lag to itself"),
    pytest.param("partition", "broker(1)", {"to": "broker(1)"}, "one_end", id="cut from itself"),
    pytest.param("lag", "broker(1)", {"to": "rack(z)"}, "no_rack", id="lag to nobody"),
    pytest.param("power_loss", "broker(1)", {"keep": -2}, "wrong_value", id="keep below everything"),
]


def test_a_partition_needs_somebody_on_the_other_side(snapshot: SnapshotAssertion) -> None:
    cluster = Cluster.build(replace(busy_cluster().spec, controllers=1), 0)
    with pytest.raises(FaultError) as caught:
        inject(board_of(cluster), "partition", "brokers + clients + client(admin) + controller", SECOND)
    assert caught.value.code == "one_end"
    assert str(caught.value) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target", "params", "code"), REFUSALS)
def test_the_impossible_is_refused_and_nothing_has_changed(
    cluster: Cluster,
    board: FaultInjector,
    name: str,
    target: str,
    params: dict[str, Any],
    code: str,
    snapshot: SnapshotAssertion,
) -> None:
    inject(board, "crash", "broker(5)")
    inject(board, "gc_pause", "broker(4)")
    before = cluster.digest(), board.active(), cluster.next_event_us(), board.save()
    with pytest.raises(FaultError) as caught:
        inject(board, name, target, SECOND, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert (cluster.digest(), board.active(), cluster.next_event_us(), board.save()) == before
    untouched = busy_cluster()
    untouched.run(SECOND)
    other = board_of(untouched)
    inject(other, "crash", "broker(5)")
    inject(other, "gc_pause", "broker(4)")
    for one in (cluster, untouched):
        one.run(4 * SECOND)
    assert cluster.digest() == untouched.digest()


def test_a_refusal_takes_its_random_draws_back(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    inject(board, "crash", "broker(5)")
    position = cluster.stream("targets").position
    with pytest.raises(FaultError) as caught:
        inject(board, "restart", "random(2, isr(orders-0))")
    assert caught.value.code == "not_down"
    assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "lag", "broker(1)", to="random(broker(1))")
    assert caught.value.code == "one_end"
    assert str(caught.value) == snapshot
    assert cluster.stream("targets").position == position
    inject(board, "gc_pause", "random(isr(orders-0))")
    assert cluster.stream("targets").position == position + 1


def test_two_pauses_of_one_process_end_each_for_itself(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "gc_pause", "broker(3)", 2 * SECOND)
    second = inject(board, "gc_pause", "broker(3) + broker(4)")
    cluster.run(cluster.now_us + 3 * SECOND)
    assert [view.id for view in board.active()] == [second]
    assert first < second
    assert cluster.state_of(3) is ProcessState.PAUSED
    assert len([event for event in told(cluster, NodePaused) if event.broker == 3]) == 1
    board.heal("all")
    assert [cluster.state_of(node) for node in (3, 4)] == [ProcessState.RUNNING] * 2


def test_a_pause_ends_with_its_process(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "gc_pause", "broker(3)")
    inject(board, "gc_pause", "broker(3)")
    inject(board, "crash", "broker(3)", SECOND)
    assert [view.name for view in board.active()] == ["crash"]
    cluster.run(cluster.now_us + 2 * SECOND)
    assert cluster.state_of(3) is ProcessState.RUNNING


# --- what is shown --------------------------------------------------------------------------------------------------


def test_active_faults_describe_themselves(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "lag", "leader(orders-1)", 4 * SECOND, latency=30 * MS)
    (view,) = board.active()
    assert (view.id, view.name, view.target) == (number, "lag", "broker 2")
    assert (view.since_us, view.until_us) == (SECOND, 5 * SECOND)
    assert view.detail == f"latency={30 * MS} jitter=0 direction=both"
    assert (board.on_node(2), board.on_node(3)) == (("lag",), ())
    (event,) = told(cluster, FaultInjected)
    assert event.values() == (SECOND, number, "lag", "broker 2", 5 * SECOND, view.detail)


@pytest.mark.parametrize(
    ("fault", "node"),
    [
        ("restart", 1),
        ("restart", 5),
        ("crash", 5),
        ("lag", 1),
        ("partition", 1),
        ("partition", 2_000),
        ("crash", 1),
    ],
)
def test_predicted_impact_is_one_line_from_the_cluster_state(
    cluster: Cluster, board: FaultInjector, fault: str, node: int, snapshot: SnapshotAssertion
) -> None:
    inject(board, "crash", "broker(5)")
    assert board.impact_sentence(fault, node) == snapshot


def test_a_key_that_cannot_mean_the_node_affects_what_the_fault_is_for(cluster: Cluster, board: FaultInjector) -> None:
    assert board.default_target("quorum_loss", 1) == "controllers"
    assert board.default_target("quorum_loss", FIRST_CONTROLLER) == ""
    assert (board.default_target("crash", 1), board.default_target("majority_ring", 1)) == ("", "brokers")
    assert "quorum_loss" in board.applicable_faults(1)
    assert "poll_stall" not in board.applicable_faults(1)
    expected = board.predict("quorum_loss", 1)
    assert expected.quorum_lost
    inject(board, "quorum_loss", board.default_target("quorum_loss", 1))
    assert {cluster.state_of(node) for node in cluster.plane.controllers()} == {
        ProcessState.PAUSED, ProcessState.RUNNING,
    }  # fmt: skip


def test_an_expectation_warns_of_min_insync_replicas(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    inject(board, "crash", "broker(3)")
    cluster.run(8 * SECOND)
    assert board.impact_sentence("crash", 2) == snapshot


def test_every_fault_has_an_expectation_for_every_node(cluster: Cluster, board: FaultInjector) -> None:
    for name in CATALOGUE:
        for node in cluster.nodes():
            line = board.impact_sentence(name, node)
            assert line
            assert "\n" not in line


# --- keyframes ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_board_goes_back_with_its_cluster(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "gc_pause", "broker(3)", 3 * SECOND)
    lag = inject(board, "lag", "broker(1)")
    saved = cluster.save(), board.save()
    active = board.active()

    def go_on() -> tuple[str, object, int]:
        board.heal(str(lag))
        cluster.run(5 * SECOND)
        number = inject(board, "crash", "random(isr(orders-0))", SECOND)
        cluster.run(12 * SECOND)
        return cluster.digest(), board.active(), number

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert board.active() == active
    assert go_on() == first
