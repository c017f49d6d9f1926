"""Operations of an administrator on a running cluster: when they are answered, with what, and how they go on."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import AdminAnswered, AdminProgress, AdminRequested, LogStartMoved, NodeDown, NodeUp
from faults.declarations.fault import Action, FaultError, Value
from faults.injector import FaultInjector
from faults.operations.runner import OperationResult
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject
from tests.support.breadth import spread_sample


def ask(board: FaultInjector, name: str, **params: Value) -> int:
    return board.admin(Action("admin", name, "", params), "step 1")


def answer(board: FaultInjector, name: str, **params: Value) -> str:
    """What came of an operation, a second later."""
    number = ask(board, name, **params)
    cluster = board.operation_runner.cluster
    cluster.run(cluster.now_us + SECOND)
    return next(ended.error for ended in board.operation_runner.take_ended() if ended.id == number)


# --- one request ----------------------------------------------------------------------------------------------------


def test_an_answer_takes_the_time_of_its_messages(cluster: Cluster, board: FaultInjector) -> None:
    number = ask(board, "elect_leaders", partition="orders-0")
    assert (cluster.query.operations(), board.operation_runner.take_ended()) == (1, [])
    [view] = board.operations()
    assert (view.id, view.name, view.detail, view.since_us) == (number, "elect_leaders", "partition=orders-0", SECOND)
    cluster.run(2 * SECOND)
    assert (cluster.query.operations(), board.operations()) == (0, ())
    assert board.operation_runner.take_ended() == [OperationResult(number, "ELECTION_NOT_NEEDED", "")]
    asked, answered = [event for event in cluster.drain() if event.kind.startswith("admin")]
    assert asked == AdminRequested(SECOND, number, "elect_leaders", "step 1", "partition=orders-0")
    assert isinstance(answered, AdminAnswered)
    assert (answered.by, answered.error, answered.detail) == ("step 1", "ELECTION_NOT_NEEDED", "")
    assert answered.latency_us == answered.at_us - SECOND
    # A connection, metadata, the request and its envelope, there and back, are ten ways of a millisecond and more.
    assert 10 * MS <= answered.latency_us < 13 * MS


@pytest.mark.slow
def test_the_preferred_leader_is_elected_when_it_is_back(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "crash", "broker(1)", 8 * SECOND)
    cluster.run(7 * SECOND)
    assert cluster.query.leader("orders-0") == 2
    assert answer(board, "elect_leaders", partition="orders-0") == "PREFERRED_LEADER_NOT_AVAILABLE"
    cluster.run(30 * SECOND)
    assert answer(board, "elect_leaders") == ""
    assert cluster.query.leader("orders-0") == 1


@pytest.mark.slow
def test_an_unclean_election_is_for_partitions_without_a_leader(cluster: Cluster, board: FaultInjector) -> None:
    assert answer(board, "elect_leaders", partition="orders-0", unclean=True) == "ELECTION_NOT_NEEDED"
    inject(board, "crash", "followers(orders-0)")
    cluster.run(7 * SECOND)
    inject(board, "crash", "broker(1)")  # A machine that is silent would be waited for.
    cluster.run(17 * SECOND)
    assert cluster.query.leader("orders-0") == -1
    assert answer(board, "elect_leaders", partition="orders-0", unclean=True) == "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    inject(board, "restart", "broker(3)")
    cluster.run(cluster.now_us + 9 * SECOND)
    assert cluster.query.leader("orders-0") == -1
    assert answer(board, "elect_leaders", partition="orders-0", unclean=True) == ""
    assert (cluster.query.leader("orders-0"), cluster.query.isr("orders-0")) == (3, [3])


def test_unknown_partitions_get_kafkas_error(board: FaultInjector) -> None:
    assert answer(board, "elect_leaders", partition="nowhere-0") == "UNKNOWN_TOPIC_OR_PARTITION"
    assert answer(board, "set_replication", topic="nowhere", factor=2) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert answer(board, "reassign", partition="nowhere-0", brokers=(1,)) == "UNKNOWN_TOPIC_OR_PARTITION"


def test_unsupported_operations_end_at_once() -> None:
    cluster = busy_cluster(kafka="0.10.2", mode="zookeeper")
    board = board_of(cluster)
    assert answer(board, "delete_records", partition="orders-0") == "UNSUPPORTED_VERSION"


def test_deleting_records_is_answered_when_every_live_replica_has(cluster: Cluster, board: FaultInjector) -> None:
    cluster.run(5 * SECOND)
    number = ask(board, "delete_records", partition="orders-0", before=20)
    cluster.run(8 * SECOND)
    events = cluster.drain()
    moved = [event.at_us for event in events if isinstance(event, LogStartMoved)]
    [answered] = [event for event in events if isinstance(event, AdminAnswered)]
    assert len(moved) == 3
    assert answered.at_us > max(moved)
    assert (answered.operation_id, answered.error) == (number, "")
    assert [cluster.query.log_start("orders-0", broker) for broker in (1, 2, 3)] == [20, 20, 20]
    assert answer(board, "delete_records", partition="orders-0", before=10**9) == "OFFSET_OUT_OF_RANGE"


def test_a_paused_follower_holds_a_deletion_up_until_it_is_given_up(cluster: Cluster, board: FaultInjector) -> None:
    cluster.run(5 * SECOND)
    inject(board, "gc_pause", "broker(3)")
    ask(board, "delete_records", partition="orders-0", before=20)
    cluster.run(7 * SECOND)
    assert board.operation_runner.take_ended() == []
    cluster.run(12 * SECOND)
    assert [ended.error for ended in board.operation_runner.take_ended()] == [""], "a fenced broker counts no more"


# --- what cannot even be asked --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("drop_topic", {}, "no_operation"),
        ("elect_leader", {}, "no_operation"),
        ("elect_leaders", {"partition": 3}, "wrong_value"),
        ("elect_leaders", {"unclean": 1}, "wrong_value"),
        ("elect_leaders", {"topic": "orders"}, "no_parameter"),
        ("delete_topic", {}, "missing_parameter"),
        ("reassign", {"brokers": (1,)}, "choose_one"),
        ("reassign", {"partition": "orders-0", "topic": "orders", "brokers": (1,)}, "choose_one"),
        ("reassign", {"partition": "orders-0"}, "choose_one"),
        ("reassign", {"partition": "orders-0", "brokers": (9,)}, "wrong_value"),
        ("reassign", {"partition": "orders-0", "brokers": (1, 1)}, "wrong_value"),
        ("reassign", {"partition": "orders-0", "brokers": (1,), "throttle": -1}, "wrong_value"),
        ("reassign", {"partition": "orders-0", "brokers": (1,), "throttle": False}, "wrong_value"),
        ("create_topic", {"topic": "t", "placement": ((1,), (1, 7))}, "wrong_value"),
        ("create_topic", {"topic": "t", "config": (("retention.sm", 1),)}, "wrong_value"),
        ("alter_topic_config", {"topic": "orders"}, "nothing_to_change"),
        ("alter_broker_config", {"broker": 9, "reset": ("x",)}, "wrong_value"),
        ("shutdown", {"broker": 0}, "wrong_value"),
        ("rolling_restart", {"wait": "all"}, "wrong_value"),
        ("cancel", {"operation": "7"}, "not_under_way"),
    ],
)
def test_invalid_operations_are_rejected_at_once(
    cluster: Cluster, board: FaultInjector, name: str, params: dict[str, Value], code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(FaultError) as caught:
        ask(board, name, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert (board.operations(), cluster.drain()) == ((), [])


def test_only_what_runs_can_be_shut_down(board: FaultInjector, snapshot: SnapshotAssertion) -> None:
    inject(board, "crash", "broker(1)")
    inject(board, "gc_pause", "broker(2)")
    for broker, code in ((1, "down_already"), (2, "paused")):
        with pytest.raises(FaultError) as caught:
            ask(board, "shutdown", broker=broker)
        assert caught.value.code == code
        assert str(caught.value) == snapshot


# --- processes ------------------------------------------------------------------------------------------------------


def lives(cluster: Cluster) -> list[tuple[str, int]]:
    return [(event.kind, event.broker) for event in cluster.drain() if isinstance(event, (NodeDown, NodeUp))]


def test_a_broker_is_shut_down_and_perhaps_started_again(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    assert answer(board, "shutdown", broker=5) == ""
    assert not cluster.is_up(5)
    ask(board, "shutdown", broker=4, restart_after=3 * SECOND)
    cluster.run(cluster.now_us + 2 * SECOND)
    assert [view.progress for view in board.operations()] == snapshot
    cluster.run(cluster.now_us + 5 * SECOND)
    assert lives(cluster) == [("node_down", 5), ("node_down", 4), ("node_up", 4)]
    assert [ended.detail for ended in board.operation_runner.take_ended()] == snapshot


@pytest.mark.slow
def test_a_restart_that_is_cancelled_leaves_the_broker_down(cluster: Cluster, board: FaultInjector) -> None:
    number = ask(board, "shutdown", broker=4, restart_after=10 * SECOND)
    cluster.run(3 * SECOND)
    ask(board, "cancel", operation=str(number))
    cluster.run(30 * SECOND)
    assert not cluster.is_up(4)
    assert [ended.error for ended in board.operation_runner.take_ended()] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("wait", ["isr", "none"])
def test_a_rolling_restart_takes_brokers_in_order(cluster: Cluster, board: FaultInjector, wait: str) -> None:
    ask(board, "rolling_restart", brokers=(3, 1, 2), wait=wait, pause=2 * SECOND, down=SECOND)
    down = 0
    while cluster.query.operations():
        cluster.run(cluster.now_us + 100 * MS)
        down = max(down, sum(not cluster.is_up(broker) for broker in cluster.brokers))
    events = cluster.drain()
    ups = [event for event in events if isinstance(event, (NodeDown, NodeUp))]
    assert [event.broker for event in ups] == [3, 3, 1, 1, 2, 2]
    for stopped, started in zip(ups[::2], ups[1::2], strict=True):
        assert SECOND <= started.at_us - stopped.at_us <= SECOND + 200 * MS
    between = [later.at_us - earlier.at_us for earlier, later in zip(ups[1::2], ups[2::2], strict=False)]
    if wait == "none":
        assert all(2 * SECOND <= gap <= 4 * SECOND for gap in between), "the pause, and the shutdown itself"
    else:
        assert all(gap >= 4 * SECOND for gap in between), "two of starting, two of pause"
        whole = [event.at_us for event in events if isinstance(event, AdminProgress) and "in sync" in event.detail]
        assert len(whole) == 3
    assert down == 1
    assert board.operation_runner.take_ended()[-1].detail == "3 restarted"


@pytest.mark.slow
def test_a_rolling_restart_waits_for_the_isr(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    inject(board, "gc_pause", "broker(4)")
    cluster.run(12 * SECOND)
    assert cluster.query.under_replicated() >= 1
    ask(board, "rolling_restart", brokers=(1, 2))
    cluster.run(40 * SECOND)
    assert [view.progress for view in board.operations()] == snapshot
    assert cluster.is_up(2)
    board.heal("all")
    cluster.run(60 * SECOND)
    assert [ended.detail for ended in board.operation_runner.take_ended()] == ["2 restarted"]


@pytest.mark.slow
def test_a_cancelled_rolling_restart_brings_its_broker_back(cluster: Cluster, board: FaultInjector) -> None:
    ask(board, "rolling_restart", down=5 * SECOND)
    cluster.run(3 * SECOND)
    ask(board, "cancel", operation="rolling_restart")
    cluster.run(30 * SECOND)
    assert lives(cluster) == [("node_down", 1), ("node_up", 1)]
    assert [ended.detail for ended in board.operation_runner.take_ended()] == ["#1 rolling_restart", "1 of 5 restarted"]


def test_a_sent_request_cannot_be_cancelled(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    ask(board, "elect_leaders")
    ask(board, "cancel")
    cluster.run(2 * SECOND)
    ended = board.operation_runner.take_ended()[0]
    assert ended.detail == snapshot


# --- going back -----------------------------------------------------------------------------------------------------


def rest(cluster: Cluster, board: FaultInjector) -> tuple[Any, ...]:
    cluster.run(25 * SECOND)
    return cluster.digest(), board.operation_runner.take_ended(), board.operations()


@pytest.mark.slow
@pytest.mark.parametrize("at", spread_sample([1_000, 1_050, 2_000, 4_700, 6_450, 8_100, 12_345], 3))
def test_a_rolling_restart_continues_from_a_keyframe(cluster: Cluster, board: FaultInjector, at: int) -> None:
    ask(board, "rolling_restart", pause=SECOND)
    ask(board, "delete_records", partition="orders-1", before=5)
    cluster.run(at * MS)
    frame, saved = cluster.save(), board.save()
    assert board.operations()
    twin = cluster.twin()
    other = board_of(twin)
    twin.load(frame)
    other.load(saved)
    assert other.save() == saved
    assert (other.operations(), twin.query.operations()) == (board.operations(), len(board.operations()))
    assert rest(twin, other) == rest(cluster, board)


@pytest.mark.slow
def test_an_operation_is_part_of_the_digest_and_slices_are_not() -> None:
    digests = []
    for slice_us in (SECOND, 7 * MS, 60 * SECOND):
        cluster = busy_cluster()
        board = board_of(cluster)
        ask(board, "rolling_restart", brokers=(2, 3))
        while cluster.now_us < 15 * SECOND:
            cluster.run(min(cluster.now_us + slice_us, 15 * SECOND))
        assert board.operations() == ()
        digests.append(cluster.digest())
    still = busy_cluster()
    still.run(15 * SECOND)
    assert digests[0] == digests[1] == digests[2] != still.digest()
