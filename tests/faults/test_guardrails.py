"""Guards on a board: what each refuses, what it lets pass, when everything is healed, what is told."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import FaultHealed, FaultInjected, GuardActed
from faults.declarations.fault import FaultError
from faults.declarations.targets import TARGET_STREAM
from faults.guardrails import HEAL, GuardError, Guardrails, Limits
from faults.injector import FaultInjector
from tests.faults.rigs import SECOND, board_of, busy_cluster, inject


def guarded(stop: Any = None, kafka: str = "3.9", mode: str = "kraft", **limits: Any) -> FaultInjector:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    board.guards = Guardrails(Limits(**limits), board, stop, "enough")
    cluster.run(SECOND)
    cluster.drain()
    return board


def acted(cluster: Cluster) -> list[GuardActed]:
    return [event for event in cluster.drain() if isinstance(event, GuardActed)]


def refusal(board: FaultInjector, fault: str, target: str, for_us: int = -1, **params: Any) -> GuardActed:
    """The event of a fault that is refused; nothing else happens."""
    board.cluster.drain()
    before = board.cluster.digest()
    active = board.active()
    with pytest.raises(GuardError) as refused:
        inject(board, fault, target, for_us, **params)
    (event,) = board.cluster.drain()
    assert isinstance(event, GuardActed)
    assert refused.value.code == event.rule
    assert event.rule in str(refused.value)
    assert event.cause in str(refused.value)
    assert (event.detail, event.fault, board.active()) == ("refused", fault, active)
    assert board.cluster.digest() != before
    return event


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_no_more_brokers_go_down_than_may(kafka: str, mode: str, snapshot: SnapshotAssertion) -> None:
    board = guarded(kafka=kafka, mode=mode, max_brokers_down=1)
    inject(board, "crash", "broker(1)")
    causes = set()
    for fault in ("crash", "gc_pause", "partition", "power_loss"):
        event = refusal(board, fault, "broker(2)")
        assert (event.rule, event.target) == ("max_brokers_down", "broker 2")
        causes.add(event.cause)
    assert causes == snapshot
    inject(board, "lag", "broker(2)")
    inject(board, "crash", "client(checkout)")
    board.heal("crash")
    board.cluster.run(board.cluster.now_us + 5 * SECOND)
    inject(board, "crash", "broker(2)")


def test_a_broker_counts_as_down_while_it_is_paused_or_cut_off_from_the_controller() -> None:
    for fault, params in (("gc_pause", {}), ("partition", {"to": "controllers"})):
        board = guarded(max_brokers_down=1)
        inject(board, fault, "broker(1)", **params)
        assert refusal(board, "crash", "broker(5)").rule == "max_brokers_down"
        assert refusal(board, fault, "broker(5)", **params).rule == "max_brokers_down"
    board = guarded(max_brokers_down=1)
    inject(board, "partition", "broker(1)", to="broker(2)")
    inject(board, "crash", "broker(5)")


def test_a_pause_that_is_short_counts_all_the_same() -> None:
    board = guarded(max_brokers_down=1)
    inject(board, "gc_pause", "broker(1)", SECOND)
    assert refusal(board, "gc_pause", "broker(2)", SECOND).rule == "max_brokers_down"
    board.cluster.run(4 * SECOND)
    inject(board, "gc_pause", "broker(2)", SECOND)


@pytest.mark.parametrize("fault", ["bounce", "flapping", "pause_train", "isolate", "out_of_memory", "log_dir_failure"])
def test_faults_with_phases_count_at_their_worst(fault: str) -> None:
    board = guarded(max_brokers_down=1)
    inject(board, "crash", "broker(5)")
    assert refusal(board, fault, "broker(1)").rule == "max_brokers_down"


def test_losing_the_quorum_takes_no_last_replica_unless_controllers_are_brokers() -> None:
    board = guarded(keep_last_in_sync=True, max_brokers_down=0)
    inject(board, "quorum_loss", "controllers")
    assert board.predict("quorum_loss", 1).quorum_lost is False
    assert len(board.active()) == 1


def test_a_limit_of_none_refuses_the_first(snapshot: SnapshotAssertion) -> None:
    board = guarded(max_brokers_down=0)
    event = refusal(board, "crash", "broker(5)")
    assert event.rule == "max_brokers_down"
    assert event.cause == snapshot


def test_several_at_once_are_counted_together(snapshot: SnapshotAssertion) -> None:
    board = guarded(max_brokers_down=2)
    assert refusal(board, "crash", "broker(1) + broker(2) + broker(3)").cause == snapshot
    inject(board, "crash", "broker(1) + broker(2)")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["crash", "gc_pause", "power_loss", "partition"])
def test_the_last_in_sync_replica_stays(fault: str, snapshot: SnapshotAssertion) -> None:
    board = guarded(keep_last_in_sync=True)
    inject(board, "crash", "broker(2) + broker(3)")
    board.cluster.run(12 * SECOND)
    assert board.cluster.query.isr("orders-0") == [1]
    event = refusal(board, fault, "leader(orders-0)")
    assert event.rule == "keep_last_in_sync"
    assert event.cause == snapshot
    inject(board, fault, "broker(5)")


def test_those_in_sync_that_are_down_already_do_not_count() -> None:
    board = guarded(keep_last_in_sync=True)
    inject(board, "crash", "broker(2)")
    inject(board, "gc_pause", "broker(3)")
    assert board.cluster.query.isr("orders-0") == [1, 2, 3]
    assert refusal(board, "crash", "broker(1)").rule == "keep_last_in_sync"
    assert "orders-1" in refusal(board, "crash", "broker(4)").cause
    board.heal("gc_pause")
    inject(board, "crash", "broker(1)")


def test_no_more_faults_are_active_than_may(snapshot: SnapshotAssertion) -> None:
    board = guarded(max_faults=2)
    inject(board, "lag", "broker(1)", SECOND)
    inject(board, "lag", "broker(2)")
    event = refusal(board, "lag", "broker(3)")
    assert event.rule == "max_faults"
    assert event.cause == snapshot
    board.cluster.run(3 * SECOND)
    inject(board, "crash", "broker(3)")
    inject(board, "restart", "broker(3)")


def test_a_refusal_takes_random_draws_back() -> None:
    board = guarded(max_brokers_down=0)
    before = board.cluster.stream(TARGET_STREAM).position
    refusal(board, "crash", "random(2, all)")
    assert board.cluster.stream(TARGET_STREAM).position == before


def test_guards_ignore_faults_that_are_refused_anyway(snapshot: SnapshotAssertion) -> None:
    board = guarded(max_brokers_down=0)
    with pytest.raises(FaultError) as caught:
        inject(board, "crash", "broker(9)")
    assert caught.value.code == "no_broker"
    assert str(caught.value) == snapshot
    assert acted(board.cluster) == []


# -- healing ----------------------------------------------------------------------------------------------------------


def test_a_limit_that_is_crossed_heals_everything(snapshot: SnapshotAssertion) -> None:
    board = guarded(max_brokers_down=1, on_breach=HEAL)
    guards, cluster = board.guards, board.cluster
    assert guards is not None
    inject(board, "lag", "broker(3)")
    inject(board, "crash", "broker(1)")
    assert not guards.is_triggered()
    inject(board, "gc_pause", "broker(2)")
    assert guards.is_triggered()
    cluster.drain()
    guards.enforce()
    events = cluster.drain()
    told = next(event for event in events if isinstance(event, GuardActed))
    assert (told.rule, told.detail, told.fault) == ("max_brokers_down", "healed", "lag, crash, gc_pause")
    assert told.target == "broker 3, broker 1, broker 2"
    assert told.cause == snapshot
    assert len([event for event in events if isinstance(event, FaultHealed)]) == 3
    assert board.active() == ()
    assert cluster.state_of(1) is cluster.state_of(2) is ProcessState.RUNNING
    assert not guards.is_triggered()
    guards.enforce()
    assert acted(cluster) == []


@pytest.mark.slow
@pytest.mark.parametrize("on_breach", ["refuse", "heal"])
def test_a_limit_that_is_crossed_by_itself_heals_too(on_breach: str) -> None:
    """The followers are cut off one by one, and then somebody else's shutdown takes the leader."""
    board = guarded(keep_last_in_sync=True, on_breach=on_breach)
    guards, cluster = board.guards, board.cluster
    assert guards is not None
    inject(board, "crash", "broker(2) + broker(3)")
    cluster.run(12 * SECOND)
    assert not guards.is_triggered()
    cluster.shutdown(1)
    cluster.run(20 * SECOND)
    assert guards.is_triggered()
    cluster.drain()
    guards.enforce()
    (told,) = acted(cluster)
    assert (told.rule, told.detail, told.fault) == ("keep_last_in_sync", "healed", "crash")
    assert board.active() == ()
    assert not guards.is_triggered(), "nothing is left to heal"


def test_with_on_breach_heal_nothing_is_refused() -> None:
    board = guarded(max_brokers_down=0, max_faults=0, keep_last_in_sync=True, on_breach=HEAL)
    inject(board, "crash", "all")
    assert acted(board.cluster) == []


def test_chaos_ends_for_good(snapshot: SnapshotAssertion) -> None:
    enough = [False]
    board = guarded(stop=lambda: enough[0], max_faults=5)
    guards, cluster = board.guards, board.cluster
    assert guards is not None
    inject(board, "crash", "broker(1)")
    assert not guards.is_triggered()
    enough[0] = True
    assert guards.is_triggered()
    guards.enforce()
    told = next(event for event in cluster.drain() if isinstance(event, GuardActed))
    assert (told.rule, told.detail, told.cause) == ("stop_when", "stopped", "enough is true")
    assert (board.active(), guards.stopped) == ((), True)
    enough[0] = False
    for fault in ("lag", "crash"):
        event = refusal(board, fault, "broker(2)")
        assert event.rule == "stop_when"
        assert event.cause == snapshot
    saved = board.save()
    again = guarded(stop=lambda: False)
    again.load(saved)
    assert again.guards is not None
    assert again.guards.stopped


@pytest.mark.slow
def test_a_board_without_guards_is_as_it_was() -> None:
    digests = []
    for limits in ({}, {"max_faults": 99, "max_brokers_down": 99}):
        cluster = busy_cluster()
        board = board_of(cluster)
        if limits:
            board.guards = Guardrails(Limits(**limits), board)
        cluster.run(SECOND)
        inject(board, "crash", "random(isr(orders-0))", 2 * SECOND)
        cluster.run(8 * SECOND)
        assert [type(event) for event in cluster.drain() if isinstance(event, (GuardActed, FaultInjected))] == [
            FaultInjected
        ]
        digests.append(cluster.digest())
    assert digests[0] == digests[1]
