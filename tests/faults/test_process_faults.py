"""Bounces, trains of pauses, slow CPUs, exhausted heaps, and ends in order: what each does to any kind of process."""

from itertools import product
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import (
    FaultHealed,
    FaultInjected,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    TraceEvent,
)
from faults.declarations.fault import FaultError
from faults.injector import FaultInjector
from faults.kinds.process import CHECK_INTERVAL_US
from tests.faults.rigs import MS, SECOND, backlog, begun, board_of, busy_cluster, inject, unsettled, until_well
from tests.support.breadth import EVENING, covering_cases

RUNNING, PAUSED, DOWN, OFF = ProcessState.RUNNING, ProcessState.PAUSED, ProcessState.DOWN, ProcessState.OFF
KINDS = ("broker(1)", "broker(5)", "controller", "client(checkout)", "client(billing/0)")
FAULTS = ("clean_shutdown", "power_loss", "bounce", "pause_train", "slow_cpu", "out_of_memory")
CLUSTERS = (("3.9", "kraft"), ("2.8", "zookeeper"))
STRUCK = [pair for number, pair in enumerate(product(FAULTS, KINDS)) if EVENING or number % 2 == 0]
"""Every other one: each fault on brokers or a controller, and on clients."""


def told(cluster: Cluster, *kinds: type[TraceEvent]) -> list[Any]:
    return [event for event in cluster.drain() if isinstance(event, kinds)]


def settle(cluster: Cluster, board: FaultInjector) -> None:
    board.heal("all")
    cluster.run(cluster.now_us + 5 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    cluster.close()


# --- every kind of process ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "target", "kafka", "mode"), covering_cases(STRUCK, CLUSTERS))
def test_every_kind_of_process_is_affected_and_all_is_whole_again(
    kafka: str, mode: str, fault: str, target: str
) -> None:
    cluster, board = begun(2 * SECOND, busy_cluster, kafka=kafka, mode=mode)
    inject(board, fault, target, **({"thrash": 3 * SECOND} if fault == "out_of_memory" else {}))
    cluster.run(11 * SECOND)
    settle(cluster, board)
    assert (board.active(), unsettled(cluster)) == ((), [])
    if fault != "power_loss":
        assert cluster.query.acked_lost() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), [("2.8", "zookeeper")])
@pytest.mark.parametrize("fault", FAULTS)
def test_servers_of_zookeeper_are_affected_too(kafka: str, mode: str, fault: str) -> None:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    (leader,) = [view for view in cluster.plane.member_views() if view.role == "leader"]
    inject(board, fault, leader.name.replace(" ", "(") + ")")
    cluster.run(11 * SECOND)
    settle(cluster, board)
    assert unsettled(cluster) == []


# --- bounce -----------------------------------------------------------------------------------------------------------


def test_a_bounce_ends_in_order_stays_down_and_is_over_by_itself(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "bounce", "broker(1)", down=3 * SECOND)
    cluster.run(20 * SECOND)
    assert board.active() == ()
    down, healed, up = told(cluster, NodeDown, NodeUp, FaultHealed)
    assert (down.detail, healed.fault_id, up.kind) == ("shutdown", number, "node_up")
    assert 3 * SECOND <= up.at_us - down.at_us <= 3 * SECOND + CHECK_INTERVAL_US
    assert healed.at_us == up.at_us
    assert cluster.query.leader("orders-0") == 2
    assert cluster.query.isr("orders-0") == [1, 2, 3]


def test_a_bounce_may_kill(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "bounce", "broker(1)", down=2 * SECOND, kill=True)
    assert cluster.state_of(1) is DOWN
    assert [view.detail for view in board.active()] == [f"down={2 * SECOND} kill=True"]
    cluster.run(3 * SECOND - 1)
    assert (cluster.state_of(1), len(board.active())) == (DOWN, 1)
    cluster.run(3 * SECOND)
    assert (cluster.state_of(1), board.active()) == (RUNNING, ())
    assert [event.detail for event in told(cluster, NodeDown)] == ["crash"]


def test_several_bounce_at_once_each_in_its_own_time(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "bounce", "broker(5) + client(checkout) + controller + client(billing/0)", down=2 * SECOND)
    cluster.run(20 * SECOND)
    events = told(cluster, NodeDown, NodeUp, FaultHealed)
    downs = {event.node: event.at_us for event in events if isinstance(event, NodeDown)}
    ups = {event.node: event.at_us for event in events if isinstance(event, NodeUp)}
    assert downs.keys() == ups.keys()
    assert len(downs) == 4
    assert len(set(downs.values())) > 1
    assert all(0 <= ups[node] - downs[node] - 2 * SECOND <= CHECK_INTERVAL_US for node in downs)
    (healed,) = [event for event in events if isinstance(event, FaultHealed)]
    assert (healed.fault_id, healed.at_us) == (number, max(ups.values()))


def test_healing_a_bounce_starts_what_is_down_and_what_is_still_ending_as_soon_as_it_has(
    cluster: Cluster, board: FaultInjector
) -> None:
    inject(board, "bounce", "broker(1) + controller", down=60 * SECOND)
    while cluster.is_up(1001):
        cluster.run(cluster.now_us + MS)
    assert cluster.processes.is_leaving(1)
    board.heal("bounce")
    assert cluster.state_of(1001) is RUNNING
    assert board.active() == ()
    cluster.run(cluster.now_us + 10 * SECOND)
    events = [(event.kind, event.at_us) for event in told(cluster, NodeDown, NodeUp) if event.node == "broker 1"]
    assert [kind for kind, _at in events] == ["node_down", "node_up"]
    assert events[0][1] == events[1][1]


@pytest.mark.slow
def test_a_node_that_bounces_and_is_started_by_somebody_else_bounces_no_more(
    cluster: Cluster, board: FaultInjector
) -> None:
    inject(board, "bounce", "broker(3) + broker(5)", down=30 * SECOND, kill=True)
    inject(board, "restart", "broker(3)")
    assert [view.target for view in board.active()] == ["broker 5"]
    cluster.restart(5)
    cluster.run(40 * SECOND)
    assert board.active() == ()
    assert [(event.kind, event.node) for event in told(cluster, NodeDown, NodeUp)] == [
        ("node_down", "broker 3"), ("node_down", "broker 5"), ("node_up", "broker 3"), ("node_up", "broker 5"),
    ]  # fmt: skip


def test_a_crash_takes_the_place_of_a_bounce_that_is_still_ending(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "bounce", "broker(1)", down=SECOND)
    crash = inject(board, "crash", "broker(1)")
    assert [view.id for view in board.active()] == [crash]
    cluster.run(20 * SECOND)
    assert cluster.state_of(1) is DOWN


def test_a_bounce_in_the_middle_of_a_pause(cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion) -> None:
    inject(board, "gc_pause", "broker(5)")
    with pytest.raises(FaultError) as caught:
        inject(board, "bounce", "broker(5)")
    assert caught.value.code == "paused"
    assert str(caught.value) == snapshot
    inject(board, "bounce", "broker(5)", kill=True, down=SECOND)
    assert [view.name for view in board.active()] == ["bounce"]
    cluster.run(cluster.now_us + SECOND)
    assert cluster.state_of(5) is RUNNING


# --- trains of pauses -------------------------------------------------------------------------------------------------


def spans(cluster: Cluster, node: str) -> list[tuple[int, int]]:
    """(when, how long) of each pause."""
    events = [event for event in told(cluster, NodePaused, NodeResumed) if event.node == node]
    return [
        (one.at_us, other.at_us - one.at_us) for one, other in zip(events[::2], events[1::2], strict=False)
    ]  # fmt: skip


def test_a_train_pauses_at_its_period(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "pause_train", "broker(5)", pause=300 * MS, every=2 * SECOND)
    cluster.run(SECOND + 300 * MS - 1)
    assert cluster.state_of(5) is PAUSED
    cluster.run(10 * SECOND)
    assert spans(cluster, "broker 5") == [(at * SECOND, 300 * MS) for at in (1, 3, 5, 7, 9)]
    board.heal("pause_train")
    cluster.run(20 * SECOND)
    assert spans(cluster, "broker 5") == []


def test_healing_in_the_middle_of_a_pause_ends_it(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "pause_train", "broker(5)", 5 * SECOND, pause=4 * SECOND, every=4 * SECOND + 500 * MS)
    cluster.run(20 * SECOND)
    assert spans(cluster, "broker 5") == [(SECOND, 4 * SECOND), (5 * SECOND + 500 * MS, 500 * MS)]


def test_a_train_may_have_an_end(cluster: Cluster, board: FaultInjector) -> None:
    number = inject(board, "pause_train", "broker(5) + client(checkout)", pause=100 * MS, every=SECOND, count=3)
    cluster.run(20 * SECOND)
    events = told(cluster, NodePaused, FaultHealed)
    assert [event.node for event in events[:-1]] == ["broker 5", "checkout"] * 3
    assert (events[-1].kind, events[-1].fault_id) == ("fault_healed", number)
    assert events[-1].at_us == SECOND + 2 * SECOND + 100 * MS
    assert board.active() == ()


@pytest.mark.slow
def test_a_random_train_is_drawn_around_its_means_for_each_process(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "pause_train", "broker(5) + client(checkout)", pause=20 * MS, every=100 * MS, random=True)
    cluster.stop_producers()
    cluster.run(61 * SECOND)
    events = told(cluster, NodePaused, NodeResumed)
    times = {name: [event.at_us for event in events if event.node == name] for name in ("broker 5", "checkout")}
    lengths = [after - before for before, after in zip(times["broker 5"][::2], times["broker 5"][1::2], strict=False)]
    gaps = [after - before for before, after in zip(times["broker 5"][1::2], times["broker 5"][2::2], strict=False)]
    assert len(lengths) > 500
    assert min(lengths) >= 1
    assert max(lengths) < 40 * MS
    assert min(gaps) >= 1
    assert max(gaps) < 160 * MS
    assert 18 * MS < sum(lengths) // len(lengths) < 22 * MS
    assert 72 * MS < sum(gaps) // len(gaps) < 88 * MS
    assert times["broker 5"] != times["checkout"]


def test_trains_and_pauses_on_one_process_hold_it_each_for_itself(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "pause_train", "broker(5)", pause=SECOND, every=10 * SECOND)
    inject(board, "gc_pause", "broker(5)", 3 * SECOND)
    second = inject(board, "pause_train", "broker(5)", pause=5 * SECOND, every=10 * SECOND)
    board.heal(str(first))
    cluster.run(6 * SECOND - 1)
    assert cluster.state_of(5) is PAUSED
    cluster.run(6 * SECOND)
    assert cluster.state_of(5) is RUNNING
    assert [view.id for view in board.active()] == [second]
    assert spans(cluster, "broker 5") == [(SECOND, 5 * SECOND)]


def test_a_train_outlasts_the_process_and_passes_over_it_while_it_is_down(
    cluster: Cluster, board: FaultInjector
) -> None:
    inject(board, "pause_train", "broker(5)", pause=500 * MS, every=2 * SECOND, count=3)
    inject(board, "crash", "broker(5)", 3 * SECOND)
    cluster.run(20 * SECOND)
    assert board.active() == ()
    # The one that was cut short by the crash counts, those in the time without a process do not.
    assert [event.at_us for event in told(cluster, NodePaused)] == [SECOND, 5 * SECOND, 7 * SECOND]


# --- slow CPU ---------------------------------------------------------------------------------------------------------


def test_a_slow_broker_answers_later_by_what_it_handles(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "slow_cpu", "leader(orders-0)", cost=30 * MS)
    cluster.run(11 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2, 3]
    assert 0 <= backlog(cluster, 1) < 30
    acked = cluster.query.acked()
    assert acked > 100
    assert cluster.query.leader("orders-0") == 1


@pytest.mark.slow
def test_a_cpu_that_is_too_slow_for_what_comes_falls_behind_until_its_session_is_over(
    cluster: Cluster, board: FaultInjector
) -> None:
    inject(board, "slow_cpu", "leader(orders-0)", cost=400 * MS)
    backlogs = []
    for second in range(2, 31):
        cluster.run(second * SECOND)
        backlogs.append(backlog(cluster, 1))
    assert max(backlogs) > 10
    assert cluster.query.leader("orders-0") == 2
    board.heal("slow_cpu")
    assert backlog(cluster, 1) == 0
    settle(cluster, board)
    assert unsettled(cluster) == []
    assert cluster.query.acked_lost() == 0


def test_two_slow_cpus_on_one_process_add_up_and_end_each_for_itself(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "slow_cpu", "broker(3)", cost=MS)
    second = inject(board, "slow_cpu", "broker(3) + broker(5)", cost=2 * MS)
    assert cluster.network.processes[3].cpu.costs == ((first, MS), (second, 2 * MS))  # type: ignore[union-attr]
    board.heal(str(first))
    assert cluster.network.processes[3].cpu.costs == ((second, 2 * MS),)  # type: ignore[union-attr]
    board.heal("all")
    assert [cluster.network.processes[node].cpu for node in (3, 5)] == [None, None]


def test_a_restart_does_not_make_a_machine_quicker(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "slow_cpu", "broker(5)")
    inject(board, "crash", "broker(5)", SECOND)
    cluster.run(5 * SECOND)
    assert [view.name for view in board.active()] == ["slow_cpu"]
    assert cluster.network.processes[5].cpu is not None


def test_a_slow_client_is_slow_in_its_next_life_too(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "slow_cpu", "client(checkout)", cost=100 * MS)
    cluster.run(6 * SECOND)
    before = cluster.query.sent()
    # A record every 50 ms is twice what it can make.
    assert before < 20 + 60
    inject(board, "bounce", "client(checkout)", kill=True, down=0)
    cluster.run(11 * SECOND)
    slow = cluster.query.sent() - before
    board.heal("all")
    cluster.run(16 * SECOND)
    assert cluster.query.sent() - before - slow > 95 > 2 * slow


# --- out of memory ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_exhausted_heap_pauses_ever_longer_and_ends_the_process(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "out_of_memory", "broker(5)", thrash=10 * SECOND)
    cluster.run(30 * SECOND)
    events = told(cluster, NodePaused, NodeResumed, NodeDown)
    pauses = [(one.at_us, other.at_us - one.at_us) for one, other in zip(events[::2], events[1::2], strict=False)]
    assert pauses == [(SECOND + turn * SECOND, (turn + 1) * 100 * MS) for turn in range(10)]
    assert (events[-1].at_us, events[-1].detail) == (11 * SECOND, "out_of_memory")
    assert [view.name for view in board.active()] == ["out_of_memory"]
    board.heal("out_of_memory")
    assert cluster.state_of(5) is RUNNING


@pytest.mark.slow
def test_healing_it_in_time_saves_the_process(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "out_of_memory", "broker(5)", 8 * SECOND + 500 * MS, thrash=10 * SECOND)
    cluster.run(9 * SECOND + 400 * MS)
    assert cluster.state_of(5) is PAUSED
    cluster.run(30 * SECOND)
    assert (cluster.state_of(5), told(cluster, NodeDown), board.active()) == (RUNNING, [], ())


def test_without_a_struggle_it_ends_at_once(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "out_of_memory", "client(billing/0)", thrash=0)
    assert [event.detail for event in told(cluster, NodeDown)] == ["out_of_memory"]


def test_a_process_that_something_else_holds_cannot_even_exit(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "gc_pause", "broker(5)", 5 * SECOND)
    inject(board, "out_of_memory", "broker(5) + broker(3)", thrash=2 * SECOND)
    cluster.run(5 * SECOND)
    assert (cluster.state_of(3), cluster.state_of(5)) == (DOWN, PAUSED)
    cluster.run(8 * SECOND)
    assert [(event.node, event.at_us) for event in told(cluster, NodeDown)] == [
        ("broker 3", 3 * SECOND), ("broker 5", 6 * SECOND),
    ]  # fmt: skip
    inject(board, "restart", "broker(5)")
    assert [view.target for view in board.active()] == ["broker 3"]


@pytest.mark.slow
def test_a_crash_while_it_collects_takes_its_place(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "out_of_memory", "broker(5)")
    cluster.run(6 * SECOND)
    crash = inject(board, "crash", "broker(5)")
    assert [view.id for view in board.active()] == [crash]
    inject(board, "restart", "broker(5)")
    cluster.run(30 * SECOND)
    assert [event.detail for event in told(cluster, NodeDown)] == ["crash"]


def test_healing_it_leaves_down_what_was_shut_down_meanwhile(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "out_of_memory", "client(billing/0)", thrash=20 * SECOND)
    cluster.run(2 * SECOND + 800 * MS)
    inject(board, "clean_shutdown", "client(billing/0)")
    cluster.run(30 * SECOND)
    assert [event.detail for event in told(cluster, NodeDown)] == ["close"]
    board.heal("out_of_memory")
    assert cluster.state_of(3_000) is DOWN
    board.heal("all")
    assert cluster.state_of(3_000) is RUNNING


# --- ends in order, and in the dark -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("target", ["broker(1)", "controller", "client(checkout)", "client(billing/0)"])
def test_a_clean_shutdown_that_is_healed_before_its_end_starts_again(
    cluster: Cluster, board: FaultInjector, target: str
) -> None:
    inject(board, "clean_shutdown", target, 1)
    cluster.run(20 * SECOND)
    down, up = told(cluster, NodeDown, NodeUp)
    assert (down.kind, up.kind, board.active()) == ("node_down", "node_up", ())
    assert up.at_us - down.at_us <= 1


def test_a_shutdown_under_way_is_not_begun_again(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    inject(board, "clean_shutdown", "broker(1)")
    for fault in ("clean_shutdown", "bounce"):
        with pytest.raises(FaultError) as caught:
            inject(board, fault, "broker(1)")
        assert caught.value.code == "closing_already"
        assert str(caught.value) == snapshot


def test_a_crash_may_leave_half_a_batch(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "crash", "broker(1)", torn=True)
    logs = [replica.log.torn for replica in cluster.brokers[1].replicas.values()]
    assert sorted(logs)[-1] > 0
    (injected,) = told(cluster, FaultInjected)
    assert injected.detail == "torn=True"
    board.heal("all")
    inject(board, "crash", "client(checkout)", torn=True)
    assert [event.detail for event in told(cluster, FaultInjected)] == ["torn=True"]


def test_faults_without_detail_record_none(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "crash", "broker(1)")
    assert [event.detail for event in told(cluster, FaultInjected)] == [""]


@pytest.mark.slow
def test_a_power_loss_of_everybody(cluster: Cluster, board: FaultInjector) -> None:
    everybody = "brokers + clients + controllers"
    inject(board, "power_loss", everybody, 5 * SECOND)
    assert [cluster.state_of(node) for node in (1, 5, 1001, 2_000, 3_000)] == [OFF] * 5
    cluster.run(20 * SECOND)
    settle(cluster, board)
    assert unsettled(cluster) == []


# --- refusals and expectations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "target", "params", "code"),
    [
        ("bounce", "broker(5)", {}, "down_already"),
        ("bounce", "broker(5)", {"kill": True}, "down_already"),
        ("bounce", "client(admin)", {}, "wrong_kind_of_target"),
        ("bounce", "broker(1)", {"kill": "yes"}, "wrong_value"),
        ("pause_train", "broker(5)", {}, "down_already"),
        ("pause_train", "broker(1)", {"pause": SECOND, "every": SECOND}, "pause_not_shorter"),
        ("pause_train", "broker(1)", {"pause": 0}, "wrong_value"),
        ("slow_cpu", "broker(5)", {}, "down_already"),
        ("slow_cpu", "broker(1)", {"cost": 0}, "wrong_value"),
        ("out_of_memory", "broker(5)", {}, "down_already"),
        ("out_of_memory", "client(admin)", {}, "wrong_kind_of_target"),
        ("clean_shutdown", "broker(5)", {}, "down_already"),
        ("clean_shutdown", "broker(4)", {}, "paused"),
    ],
)
def test_the_impossible_is_refused(
    cluster: Cluster,
    board: FaultInjector,
    fault: str,
    target: str,
    params: dict[str, Any],
    code: str,
    snapshot: SnapshotAssertion,
) -> None:
    inject(board, "crash", "broker(5)")
    inject(board, "gc_pause", "broker(4)")
    before = cluster.digest(), board.save()
    with pytest.raises(FaultError) as caught:
        inject(board, fault, target, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert (cluster.digest(), board.save()) == before


@pytest.mark.parametrize(
    ("fault", "node"),
    [
        ("clean_shutdown", 1),
        ("clean_shutdown", 1001),
        ("bounce", 2_000),
        ("slow_cpu", 2_000),
        ("slow_cpu", 3_000),
        ("pause_train", 2_000),
        ("pause_train", 1),
        ("out_of_memory", 1),
    ],
)
def test_predicted_impact_of_process_faults(
    cluster: Cluster, board: FaultInjector, fault: str, node: int, snapshot: SnapshotAssertion
) -> None:
    assert board.impact_sentence(fault, node) == snapshot


# --- the same again ---------------------------------------------------------------------------------------------------

PLAN = (
    ("pause_train", "broker(1)", {"pause": 300 * MS, "every": 2 * SECOND, "random": True}),
    ("slow_cpu", "broker(2) + client(checkout)", {"cost": 15 * MS}),
    ("bounce", "broker(3) + controller", {"down": 2 * SECOND}),
    ("out_of_memory", "broker(5) + client(billing/0)", {"thrash": 4 * SECOND}),
    ("clean_shutdown", "client(billing/1)", {}),
    ("power_loss", "random(controllers)", {}),
)


def play(step: int, *, stop_us: int = -1) -> tuple[Cluster, FaultInjector]:
    cluster = busy_cluster(seed=3)
    board = board_of(cluster)

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    for turn, (fault, target, params) in enumerate(PLAN):
        run_to((1 + turn) * 700 * MS)
        inject(board, fault, target, **params)
    run_to(stop_us if stop_us >= 0 else 14 * SECOND)
    if stop_us < 0:
        board.heal("all")
        run_to(25 * SECOND)
    return cluster, board


@pytest.mark.slow
def test_slices_and_repetitions_make_no_difference() -> None:
    assert len({play(step)[0].digest() for step in (60 * SECOND, 60 * SECOND, 8_000, 977)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("stop_us", [4 * SECOND + 250 * MS, 5 * SECOND + 777, 9 * SECOND])
def test_all_of_it_goes_back_with_a_keyframe(stop_us: int) -> None:
    cluster, board = play(60 * SECOND, stop_us=stop_us)
    saved, active = (cluster.save(), board.save()), board.active()

    def go_on() -> tuple[str, object]:
        cluster.run(cluster.now_us + 6 * SECOND)
        board.heal("all")
        cluster.run(cluster.now_us + 9 * SECOND)
        return cluster.digest(), board.active()

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert (board.active(), active != ()) == (active, True)
    assert go_on() == first
