"""Applications that read slowly, not at all, or with a handler that throws."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.consumer.record_handler import THROWN
from cluster_model.cluster import Cluster
from cluster_model.protocol.events import (
    ConsumerFailed,
    HandlerFailed,
    NodeDown,
    NodeUp,
    PartitionsLost,
    RecordsAbandoned,
    RecordsRead,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import GroupSpec
from faults.declarations.fault import PERCENT, FaultError
from faults.injector import FaultInjector
from tests.faults.client_rigs import BILLING_0, BILLING_1, client_cluster, whole
from tests.faults.rigs import MS, SECOND, begun, inject, until, until_well
from tests.support.breadth import covering_cases, sample_count

pytestmark = pytest.mark.slow

ALL = "members(billing)"
FIRST = "client(billing/0)"


def started(**how: Any) -> tuple[Cluster, FaultInjector]:
    return begun(10 * SECOND, client_cluster, **how)


def told(cluster: Cluster, *kinds: type[TraceEvent]) -> list[Any]:
    return [event for event in cluster.drain() if isinstance(event, kinds)]


def settle(cluster: Cluster, board: FaultInjector, seconds: int = sample_count(5, 60)) -> None:
    """Healed, it goes on as usual for so long, and then as long as it takes until all is whole."""
    board.heal("all")
    cluster.run(cluster.now_us + seconds * SECOND)
    cluster.stop_producers()
    until_well(cluster, whole)


# --- slow -----------------------------------------------------------------------------------------------------------


def test_a_slow_application_falls_behind_and_catches_up() -> None:
    cluster, board = started()
    inject(board, "slow_processing", FIRST, extra=99 * MS)
    before = cluster.consumers["billing/0"].read
    cluster.run(30 * SECOND)
    # Ten a second, and what a poll has handed out already.
    assert 190 <= cluster.consumers["billing/0"].read - before <= 300
    lags = {name: cluster.query.lag("billing", f"orders-{name}") for name in range(4)}
    mine = [int(name.rpartition("-")[2]) for name in cluster.consumers["billing/0"].assignment]
    assert sum(lags[number] for number in mine) > 200
    assert all(lag < 40 for number, lag in lags.items() if number not in mine)
    board.heal("slow_processing")
    until(cluster, lambda: cluster.query.lag("billing") < 60, 20 * SECOND)
    assert cluster.query.lag("billing") < 60
    settle(cluster, board, 2)
    assert whole(cluster) == []


def test_factors_multiply_and_times_add_up_and_each_heals_for_itself(snapshot: SnapshotAssertion) -> None:
    cluster, board = started(group={"processing_us": 2 * MS})

    def each() -> list[int]:
        return [cluster.consumers[f"billing/{number}"].handling.record_us for number in range(3)]

    first = inject(board, "slow_processing", ALL, extra=10 * MS, factor=300 * PERCENT)
    second = inject(board, "slow_processing", FIRST, extra=5 * MS, factor=200 * PERCENT)
    assert each() == [27 * MS, 16 * MS, 16 * MS]
    inject(board, "crash", "client(billing/1)", SECOND)
    cluster.run(13 * SECOND)
    assert each() == [27 * MS, 16 * MS, 16 * MS]
    board.heal(str(first))
    assert each() == [9 * MS, 2 * MS, 2 * MS]
    board.heal(str(second))
    assert each() == [2 * MS, 2 * MS, 2 * MS]
    with pytest.raises(FaultError) as caught:
        inject(board, "slow_processing", ALL, extra=0)
    assert caught.value.code == "no_slowdown"
    assert str(caught.value) == snapshot


def test_a_poll_that_takes_too_long_costs_the_membership() -> None:
    cluster, board = started(config={"max.poll.interval.ms": 6_000})
    inject(board, "slow_processing", FIRST, extra=8 * SECOND)
    cluster.run(30 * SECOND)
    assert "billing/0" in {event.client for event in told(cluster, PartitionsLost)}
    settle(cluster, board)
    assert whole(cluster) == []


# --- paused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_paused_member_polls_and_reads_nothing(protocol: str) -> None:
    modern = {"config": {"auto.offset.reset": "earliest", "group.protocol": "consumer"}}
    cluster, board = started(kafka="4.0", group=modern if protocol == "consumer" else {})
    cluster.run(15 * SECOND)
    generation = cluster.query.generation("billing")
    cluster.drain()
    inject(board, "paused_member", ALL)
    assert cluster.query.owned("billing") == 4
    # Longer than the session of either protocol, 10 s and 45 s.
    seconds = 60 if protocol == "consumer" else 20
    cluster.run((15 + seconds) * SECOND)
    assert told(cluster, RecordsRead) == []
    assert cluster.query.lag("billing") >= 50 * seconds
    assert (cluster.query.members("billing"), cluster.query.generation("billing")) == (3, generation)
    settle(cluster, board, 2)
    assert whole(cluster) == []
    assert cluster.query.reread("billing") == 0
    assert cluster.query.generation("billing") == generation


def test_two_pauses_overlap_and_each_heals_for_itself() -> None:
    cluster, board = started()
    first = inject(board, "paused_member", FIRST)
    second = inject(board, "paused_member", FIRST)
    inject(board, "paused_member", "client(billing/1)")

    def reads(seconds: int) -> set[str]:
        cluster.run(cluster.now_us + seconds * SECOND)
        return {event.client for event in told(cluster, RecordsRead)}

    assert reads(3) == {"billing/2"}
    board.heal(str(first))
    assert reads(3) == {"billing/2"}
    board.heal(str(second))
    assert reads(3) == {"billing/0", "billing/2"}


@pytest.mark.parametrize(
    ("assignor", "reads"), [("RangeAssignor", True), ("CooperativeStickyAssignor", False)], ids=["eager", "cooperative"]
)
def test_a_partition_that_was_taken_away_and_given_back_is_not_paused(assignor: str, reads: bool) -> None:
    cluster, board = started(config={"partition.assignment.strategy": assignor})
    inject(board, "paused_member", FIRST)
    paused = cluster.consumers["billing/0"].assignment
    cluster.run(12 * SECOND)
    inject(board, "clean_shutdown", "client(billing/2)")
    cluster.run(17 * SECOND)
    cluster.drain()
    cluster.run(23 * SECOND)
    again = {event.partition for event in told(cluster, RecordsRead) if event.client == "billing/0"}
    assert bool(again & {*paused}) is reads
    assert board.active()[0].name == "paused_member"
    settle(cluster, board)
    assert whole(cluster) == []


def test_a_pause_ends_with_the_process(snapshot: SnapshotAssertion) -> None:
    cluster, board = started()
    inject(board, "paused_member", FIRST)
    crash = inject(board, "crash", FIRST)
    assert [view.id for view in board.active()] == [crash]
    with pytest.raises(FaultError) as caught:
        inject(board, "paused_member", FIRST)
    assert caught.value.code == "down_already"
    assert str(caught.value) == snapshot
    settle(cluster, board)
    assert whole(cluster) == []


def test_a_partition_pause_during_a_gc_pause_starts_after_it() -> None:
    cluster, board = started()
    inject(board, "gc_pause", FIRST)
    inject(board, "paused_member", FIRST)
    cluster.run(12 * SECOND)
    board.heal("paused_member")
    before = cluster.consumers["billing/0"].read
    cluster.run(13 * SECOND)
    assert cluster.consumers["billing/0"].read == before
    board.heal("gc_pause")
    cluster.run(15 * SECOND)
    assert cluster.consumers["billing/0"].read > before


# --- failing --------------------------------------------------------------------------------------------------------


def failed(events: list[Any]) -> list[tuple[str, int]]:
    return [
        (each.partition, each.log_offset + index)
        for each in events
        if isinstance(each, HandlerFailed)
        for index in range(each.count)
    ]


@pytest.mark.parametrize(
    ("group", "params", "low", "high"),
    [
        ({}, {"percent": 20 * PERCENT}, 170, 230),
        ({"retries": 2, "retry_pause_us": MS}, {"percent": 50 * PERCENT}, 95, 155),
        ({"retries": 2, "retry_pause_us": MS}, {"percent": 50 * PERCENT, "then": "skip"}, 450, 550),
        ({"retries": 2, "retry_pause_us": MS}, {"percent": 50 * PERCENT, "poison": True}, 450, 550),
        ({"fails": 10}, {"percent": 20 * PERCENT}, 240, 320),
        ({"commit": "handed_off"}, {"percent": 20 * PERCENT}, 170, 230),
    ],
)
def test_records_are_skipped(group: dict[str, Any], params: dict[str, Any], low: int, high: int) -> None:
    cluster, board = started(group=group)
    inject(board, "failing_handler", ALL, **params)
    cluster.run(30 * SECOND)
    skipped = failed(cluster.drain())
    assert low <= len(skipped) <= high
    assert len({*skipped}) == len(skipped)
    board.heal("all")
    cluster.run(31 * SECOND)
    cluster.drain()
    cluster.run(36 * SECOND)
    assert len(failed(cluster.drain())) in ((24, 25, 26) if "fails" in group else (0,))
    settle(cluster, board, 2)
    assert whole(cluster) == []


def test_a_poisoned_record_fails_a_node_that_reads_it() -> None:
    def skipped(target: str) -> set[tuple[str, int]]:
        cluster, board = started(group={"members": 1} if target == FIRST else {})
        inject(board, "failing_handler", target, percent=10 * PERCENT, poison=True)
        cluster.run(20 * SECOND)
        return {(name, offset) for name, offset in failed(cluster.drain()) if 130 <= offset < 200}

    assert skipped(FIRST) == skipped(ALL) != set()


def test_a_record_that_fails_at_times_is_tried_until_it_passes() -> None:
    cluster, board = started()
    inject(board, "failing_handler", ALL, percent=5 * PERCENT, reaction="retry", pause=100 * MS)
    until(cluster, lambda: cluster.query.reread("billing") > 50, 30 * SECOND)
    assert failed(cluster.drain()) == []
    assert cluster.query.reread("billing") > 50
    assert cluster.query.lag("billing") < 300
    settle(cluster, board, 2)
    assert whole(cluster) == []
    assert cluster.query.abandoned("billing") == 0


def test_a_poisoned_record_blocks_its_partition_for_ever() -> None:
    cluster, board = started()
    inject(board, "failing_handler", ALL, percent=2 * PERCENT, poison=True, reaction="retry", pause=SECOND)
    cluster.run(30 * SECOND)
    stuck = [cluster.query.committed("billing", f"orders-{number}") for number in range(4)]
    abandoned = [event for event in told(cluster, RecordsAbandoned) if event.by == "handler failed"]
    firsts = {(event.partition, event.log_offset) for event in abandoned[-12:]}
    cluster.run(50 * SECOND)
    assert [cluster.query.committed("billing", f"orders-{number}") for number in range(4)] == stuck
    assert {(f"orders-{number}", stuck[number]) for number in range(4)} & firsts
    assert cluster.query.lag("billing") > 1_000
    settle(cluster, board)
    assert whole(cluster) == []


@pytest.mark.parametrize("commit", ["auto", "sync"])
def test_an_exception_that_kills_loses_nothing(commit: str) -> None:
    cluster, board = started(group={"commit": commit})
    inject(board, "failing_handler", FIRST, percent=5 * PERCENT, reaction="crash")
    cluster.run(20 * SECOND)
    (died,) = told(cluster, ConsumerFailed)
    assert (died.client, died.error) == ("billing/0", THROWN)
    assert not cluster.is_up(BILLING_0)
    settle(cluster, board)
    assert whole(cluster) == []
    assert cluster.query.abandoned("billing") == 0


@pytest.mark.parametrize("commit", ["auto", "sync"])
def test_an_exception_that_closes_commits_what_was_not_processed(commit: str) -> None:
    cluster, board = started(group={"commit": commit, "processing_us": 40 * MS})
    inject(board, "failing_handler", ALL, percent=5 * PERCENT, reaction="close")
    until(cluster, lambda: all(each.failed for each in cluster.consumers.values()), 30 * SECOND)
    cluster.run(cluster.now_us + 2 * SECOND)
    assert {event.client for event in told(cluster, ConsumerFailed)} == {"billing/0", "billing/1", "billing/2"}
    settle(cluster, board)
    assert whole(cluster) == []
    assert (cluster.query.abandoned("billing") > 0) is (commit == "auto")


def test_healing_starts_only_a_node_that_has_ended_by_it() -> None:
    cluster, board = started()
    inject(board, "failing_handler", FIRST, percent=5 * PERCENT, reaction="crash")
    crash = inject(board, "crash", "client(billing/1)")
    cluster.run(20 * SECOND)
    board.heal("failing_handler")
    assert cluster.is_up(BILLING_0)
    assert not cluster.is_up(BILLING_1)
    assert [view.id for view in board.active()] == [crash]


def closing(**how: Any) -> tuple[Cluster, FaultInjector]:
    """The first member's handler has thrown, and it is at its last commit: its coordinator is paused."""
    cluster, board = started(**how)
    inject(board, "failing_handler", FIRST, percent=5 * PERCENT, reaction="close")
    until(cluster, lambda: bool(cluster.consumers["billing/0"].failed), 60 * SECOND, 100)
    inject(board, "gc_pause", "coordinator(billing)", 3 * SECOND)
    cluster.run(cluster.now_us + SECOND)
    assert (cluster.is_up(BILLING_0), cluster.processes.is_leaving(BILLING_0)) == (True, False)
    return cluster, board


@pytest.mark.parametrize(("protocol", "loaded"), covering_cases(["classic", "consumer"], [False, True]))
def test_a_node_that_is_still_closing_when_it_heals_starts_as_soon_as_it_has_ended(protocol: str, loaded: bool) -> None:
    modern = {"config": {"auto.offset.reset": "earliest", "group.protocol": "consumer"}}
    cluster, board = closing(kafka="4.0", group=modern if protocol == "consumer" else {})
    board.heal("failing_handler")
    if loaded:
        cluster.load(cluster.save())
    cluster.drain()
    cluster.run(cluster.now_us + 10 * SECOND)
    lives = [(event.kind, event.at_us) for event in told(cluster, NodeDown, NodeUp) if event.node == "billing/0"]
    assert [kind for kind, _at in lives] == ["node_down", "node_up"]
    assert lives[0][1] == lives[1][1]
    settle(cluster, board)
    assert whole(cluster) == []


def test_a_node_that_was_notified_to_end_while_it_was_closing_stays_down() -> None:
    cluster, board = closing()
    inject(board, "clean_shutdown", FIRST)
    board.heal("failing_handler")
    cluster.run(cluster.now_us + 10 * SECOND)
    assert not cluster.is_up(BILLING_0)
    settle(cluster, board)
    assert whole(cluster) == []


@pytest.mark.parametrize("then", ["crash", "close"])
def test_two_handler_faults_of_one_member_heal_each_for_itself(then: str) -> None:
    cluster, board = started()
    first = inject(board, "failing_handler", FIRST, percent=PERCENT, reaction="skip")
    second = inject(board, "failing_handler", FIRST, percent=20 * PERCENT, reaction=then)

    def troubles() -> list[str]:
        return [each.then for each in cluster.consumers["billing/0"].handling.faults]

    assert troubles() == ["skip", then]
    cluster.run(20 * SECOND)
    assert not cluster.is_up(BILLING_0)
    # What ended it is still there: it ends again.
    board.heal(str(first))
    assert (cluster.is_up(BILLING_0), troubles()) == (True, [then])
    until(cluster, lambda: not cluster.is_up(BILLING_0), 40 * SECOND)
    assert not cluster.is_up(BILLING_0)
    board.heal(str(second))
    assert (cluster.is_up(BILLING_0), troubles()) == (True, [])
    cluster.run(cluster.now_us + 15 * SECOND)
    assert cluster.is_up(BILLING_0)
    assert cluster.query.lag("billing") < 60
    settle(cluster, board)
    assert whole(cluster) == []


@pytest.mark.parametrize("then", ["usual", "dead_letter"])
def test_failing_records_go_to_the_dead_letter_topic(then: str) -> None:
    cluster, board = started(group={"dead_letter": "letters", "retries": 1})
    assert cluster.query.leo("letters-0") == 0
    inject(board, "failing_handler", ALL, percent=20 * PERCENT, reaction=then)
    cluster.run(30 * SECOND)
    low, high = (20, 65) if then == "usual" else (160, 240)
    assert low < cluster.query.leo("letters-0") < high
    assert failed(cluster.drain()) == []
    settle(cluster, board, 2)
    assert whole(cluster) == []


@pytest.mark.parametrize(("commit", "then"), covering_cases(["transaction", "sync"], ["retry", "crash", "skip"]))
def test_a_node_that_reads_processes_and_writes_does_it_again(commit: str, then: str) -> None:
    audit = GroupSpec("audit", ("bills",), config={"isolation.level": "read_committed"}, coordinated=False)
    cluster, board = started(group={"output_topic": "bills", "commit": commit}, more=(audit,))
    inject(board, "failing_handler", ALL, percent=PERCENT, reaction=then, pause=50 * MS)
    cluster.run(16 * SECOND)
    skipped = len(failed(cluster.drain()))
    settle(cluster, board)
    skipped += len(failed(cluster.drain()))
    assert whole(cluster) == []
    assert bool(skipped) is (then == "skip")
    written = cluster.query.read("audit") + skipped
    assert (
        written == cluster.query.acked("checkout")
        if commit == "transaction"
        else written >= cluster.query.acked("checkout")
    )
    assert cluster.query.abandoned("billing") == 0


def test_invalid_poison_record_parameters_are_rejected(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started(group={"commit": "handed_off"})
    for then in ("retry", "crash", "close"):
        with pytest.raises(FaultError) as caught:
            inject(board, "failing_handler", ALL, reaction=then)
        assert caught.value.code == "hands_records_off"
        assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "failing_handler", ALL, reaction="dead_letter")
    assert caught.value.code == "no_dead_letter_topic"
    assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "failing_handler", ALL, percent=0)
    assert caught.value.code == "wrong_value"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("then", "poison"), covering_cases(["usual", "retry", "skip", "crash", "close"], [False, True])
)
def test_a_keyframe_in_the_middle_holds_all_of_it(then: str, poison: bool) -> None:
    cluster, board = started(group={"retries": 1, "processing_us": 10 * MS})
    inject(board, "failing_handler", ALL, percent=5 * PERCENT, reaction=then, poison=poison)
    cluster.run(12 * SECOND)
    saved = cluster.save(), board.save()

    def go_on() -> str:
        cluster.run(16 * SECOND)
        board.heal("all")
        cluster.run(20 * SECOND)
        return cluster.digest()

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert go_on() == first


@pytest.mark.parametrize(
    ("kafka", "mode", "fault"),
    covering_cases([("3.9", "kraft"), ("2.8", "zookeeper")], ["slow_processing", "paused_member", "failing_handler"]),
)
def test_all_is_well_after_it(kafka: str, mode: str, fault: str) -> None:
    cluster, board = started(kafka=kafka, mode=mode)
    inject(board, fault, ALL, 6 * SECOND)
    cluster.run(16 * SECOND)
    assert board.active() == ()
    settle(cluster, board)
    assert whole(cluster) == []
