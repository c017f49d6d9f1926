"""Answers that get lost, and second processes of transactional producers."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import ProduceRetried, ProducerFenced
from cluster_model.spec.cluster_spec import TransactionPlan
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from tests.faults.client_rigs import CHECKOUT, client_cluster, whole
from tests.faults.rigs import SECOND, begun, board_of, inject, until_well
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

TARGET = "client(checkout)"
PLAIN = {"acks": "all", "enable.idempotence": False, "retries": 100, "max.in.flight.requests.per.connection": 1}


def started(**how: Any) -> tuple[Cluster, FaultInjector]:
    return begun(10 * SECOND, client_cluster, **how)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("idempotent", [False, True])
def test_appended_batches_are_resent_after_a_lost_response(count: int, idempotent: bool) -> None:
    cluster, board = started(producer={"config": {} if idempotent else PLAIN})
    inject(board, "lost_ack", TARGET, count=count)
    cluster.run(20 * SECOND)
    cluster.stop_producers()
    cluster.run(22 * SECOND)
    retried = [event for event in cluster.drain() if isinstance(event, ProduceRetried)]
    assert len(retried) == count
    assert cluster.query.duplicates() == (0 if idempotent else count)
    assert cluster.query.failed() + cluster.query.unknown() == 0
    assert board.active() == ()
    leos = sum(cluster.query.leo(f"orders-{number}") for number in range(4))
    assert leos == cluster.query.sent() + cluster.query.duplicates()


def test_whatever_else_is_on_the_connection_is_in_doubt_too() -> None:
    cluster, board = started(producer={"config": {**PLAIN, "max.in.flight.requests.per.connection": 5}, "batch": 20})
    inject(board, "lost_ack", TARGET, count=1)
    cluster.run(12 * SECOND)
    retried = [event for event in cluster.drain() if isinstance(event, ProduceRetried)]
    assert len({event.broker for event in retried}) == 1
    assert sum(event.count for event in retried) == cluster.query.duplicates() >= 1


def test_answers_on_a_connection_that_is_gone_are_lost_already() -> None:
    config = {**PLAIN, "max.in.flight.requests.per.connection": 5}
    cluster, board = started(producer={"config": config, "partition": 0, "keys": 0})
    inject(board, "lag", TARGET, latency=150_000)
    cluster.run(15 * SECOND)
    number = inject(board, "lost_ack", TARGET, count=2)

    def left() -> int:
        return cluster.clients.faults.acks_to_lose(CHECKOUT, number)

    while left() == 2:
        cluster.run(cluster.now_us + 1_000)
    assert cluster.producers["checkout"].in_flight == 0
    # The other four answers come within the next tenths; those to what is sent again need a round trip of 300 ms.
    cluster.run(cluster.now_us + 290_000)
    assert left() == 1
    cluster.run(cluster.now_us + SECOND)
    assert left() == 0


def test_without_retries_the_records_are_of_unknown_outcome() -> None:
    cluster, board = started(producer={"config": {**PLAIN, "retries": 0}})
    inject(board, "lost_ack", TARGET, count=3)
    cluster.run(20 * SECOND)
    assert (cluster.query.unknown(), cluster.query.duplicates(), cluster.query.failed()) == (3, 0, 0)


def test_only_answers_about_one_partition() -> None:
    cluster, board = started(producer={"config": PLAIN})
    inject(board, "lost_ack", TARGET, count=5, partition="orders-2")
    cluster.run(30 * SECOND)
    retried = [event.partition for event in cluster.drain() if isinstance(event, ProduceRetried)]
    assert retried.count("orders-2") == 5
    assert cluster.query.duplicates() == len(retried) == 5


def test_two_of_them_lose_as_many_together_and_one_can_be_healed() -> None:
    cluster, board = started(producer={"config": PLAIN})
    first = inject(board, "lost_ack", TARGET, count=2)
    inject(board, "lost_ack", TARGET, count=3)
    cluster.run(20 * SECOND)
    assert cluster.query.duplicates() == 5
    many = inject(board, "lost_ack", TARGET, count=1_000)
    inject(board, "lost_ack", TARGET, count=1_000)
    board.heal(str(many))
    assert [view.id for view in board.active()] == [many + 1]
    board.heal("all")
    before = cluster.query.duplicates()
    cluster.run(30 * SECOND)
    assert cluster.query.duplicates() == before
    assert first == 1


def test_it_continues_over_the_end_of_a_process() -> None:
    cluster, board = started(producer={"config": PLAIN})
    inject(board, "crash", TARGET, 2 * SECOND)
    inject(board, "lost_ack", TARGET, count=2)
    cluster.run(20 * SECOND)
    assert cluster.query.duplicates() == 2
    assert board.active() == ()


def test_a_producer_that_closes_loses_answers_too() -> None:
    cluster, board = started(producer={"config": {**PLAIN, "linger.ms": 500}})
    inject(board, "lost_ack", TARGET, count=1)
    inject(board, "clean_shutdown", TARGET)
    cluster.run(20 * SECOND)
    assert not cluster.is_up(CHECKOUT)
    assert cluster.query.duplicates() > 0
    assert cluster.query.unknown() + cluster.query.failed() == 0


def test_a_node_that_waits_for_no_answer_loses_none(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started(producer={"config": {"acks": "0"}})
    with pytest.raises(FaultError) as caught:
        inject(board, "lost_ack", TARGET)
    assert caught.value.code == "no_acknowledgements"
    assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "lost_ack", TARGET, partition="orders-9")
    assert caught.value.code == "no_partition"
    assert str(caught.value) == snapshot


def test_lost_responses_predict_duplicates(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started(producer={"config": PLAIN})
    assert board.predict_action(Action("inject", "lost_ack", TARGET)).sentence == snapshot
    _cluster, board = started()
    assert board.predict_action(Action("inject", "lost_ack", TARGET)).sentence == snapshot


# --- zombies --------------------------------------------------------------------------------------------------------

TRANSACTIONAL = {"config": {"transactional.id": "pay", "acks": "all"}, "transactions": TransactionPlan(10)}
COMMITTED = {"coordinated": False, "config": {"isolation.level": "read_committed"}}


def zombie(kafka: str, mode: str) -> tuple[Cluster, FaultInjector]:
    return started(kafka=kafka, mode=mode, producer=TRANSACTIONAL, group=COMMITTED)


@pytest.mark.parametrize(
    ("kafka", "mode"),
    spread_sample([("3.9", "kraft"), ("4.1", "kraft"), ("2.8", "zookeeper"), ("1.1", "zookeeper")], 2),
)
def test_a_zombie_is_fenced_and_readers_see_each_record_once(kafka: str, mode: str) -> None:
    cluster, board = zombie(kafka, mode)
    inject(board, "zombie_producer", TARGET)
    cluster.run(20 * SECOND)
    fenced = [event for event in cluster.drain() if isinstance(event, ProducerFenced)]
    assert [event.client for event in fenced] == ["checkout"]
    assert fenced[0].at_us < 12 * SECOND
    sent = cluster.query.sent("checkout")
    assert cluster.query.acked("checkout.duplicate") > 400
    cluster.run(25 * SECOND)
    assert cluster.query.sent("checkout") == sent
    board.heal("all")
    cluster.run(35 * SECOND)
    assert cluster.query.sent("checkout") > sent + 450
    assert not cluster.clients.duplicate_nodes.is_there(CHECKOUT)
    cluster.stop_producers()
    cluster.run(60 * SECOND)
    query = cluster.query
    assert query.read("billing") == query.acked()
    assert query.duplicates() + query.acked_aborted() + query.aborted_committed() + query.reread("billing") == 0
    assert query.acked_lost() + query.violations() == 0
    settled = query.acked() + query.failed() + query.unknown() + query.aborted()
    assert query.sent() == settled


def test_a_second_process_comes_and_goes_with_keyframes() -> None:
    cluster, board = zombie("3.9", "kraft")
    before = cluster.save(), board.save()
    inject(board, "zombie_producer", TARGET)
    cluster.run(11 * SECOND)
    saved = cluster.save(), board.save()

    def go_on(other: Cluster, injector: FaultInjector) -> str:
        other.run(14 * SECOND)
        injector.heal("all")
        other.run(18 * SECOND)
        inject(injector, "zombie_producer", TARGET)
        other.run(22 * SECOND)
        return other.digest()

    first = go_on(cluster, board)
    twin = client_cluster(producer=TRANSACTIONAL, group=COMMITTED)
    assert twin.nodes() == tuple(node for node in cluster.nodes() if node != CHECKOUT + 4_000)
    cluster.load(saved[0])
    board.load(saved[1])
    assert cluster.clients.duplicate_nodes.is_there(CHECKOUT)
    assert go_on(cluster, board) == first
    other = cluster.twin()
    injector = board_of(other)
    other.load(saved[0])
    injector.load(saved[1])
    assert other.clients.duplicate_nodes.is_there(CHECKOUT)
    other.load(before[0])
    injector.load(before[1])
    assert CHECKOUT + 4_000 not in other.nodes()
    assert not other.clients.duplicate_nodes.is_there(CHECKOUT)


def test_only_one_that_writes_in_transactions_has_a_zombie_and_only_one(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started()
    with pytest.raises(FaultError) as caught:
        inject(board, "zombie_producer", TARGET)
    assert caught.value.code == "no_transactional_id"
    assert str(caught.value) == snapshot
    _cluster, board = zombie("3.9", "kraft")
    inject(board, "zombie_producer", TARGET)
    with pytest.raises(FaultError) as caught:
        inject(board, "zombie_producer", TARGET)
    assert caught.value.code == "second_process_already"
    assert str(caught.value) == snapshot


def test_records_of_a_second_process_have_keys_in_a_compacted_topic() -> None:
    cluster, board = zombie("3.9", "kraft")
    inject(board, "zombie_producer", TARGET)
    cluster.run(20 * SECOND)
    gained = [cluster.query.leo(f"orders-{number}") for number in range(4)]
    assert min(gained) > 150
    assert cluster.producers["checkout"].keyed
    assert all(duplicate.keyed for _spec, duplicate in cluster.clients.duplicate_nodes.present)


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_all_is_well_after_lost_answers(kafka: str, mode: str) -> None:
    cluster, board = started(kafka=kafka, mode=mode)
    inject(board, "lost_ack", TARGET, 6 * SECOND, count=1_000)
    cluster.run(20 * SECOND)
    assert board.active() == ()
    cluster.stop_producers()
    until_well(cluster, whole, 30 * SECOND)
    assert whole(cluster) == []


@pytest.mark.parametrize("closing", [False, True])
@pytest.mark.parametrize("count", [1, 1_000_000])
def test_a_clock_that_is_set_ages_batches_behind_it_too(count: int, closing: bool) -> None:
    """What stands before the producer is not there after a keyframe is loaded, and makes no difference before."""
    cluster, board = started(producer={"config": {"delivery.timeout.ms": 20_000, "request.timeout.ms": 5_000}})
    inject(board, "lost_ack", TARGET, count=count, partition="orders-0")
    cluster.run(13 * SECOND)
    board.heal("all")
    inject(board, "partition", TARGET, to="brokers")
    cluster.run(15 * SECOND)
    if closing:
        inject(board, "clean_shutdown", TARGET)
    saved = cluster.save(), board.save()

    def skewed() -> tuple[int, str]:
        before = cluster.query.failed() + cluster.query.unknown()
        inject(board, "clock_skew", TARGET, by=30 * SECOND)
        cluster.run(15 * SECOND + 1_000)
        return cluster.query.failed() + cluster.query.unknown() - before, cluster.digest()

    first = skewed()
    assert first[0] >= 90
    cluster.load(saved[0])
    board.load(saved[1])
    assert skewed() == first


def test_a_clock_that_is_set_ages_batches_while_answers_get_lost() -> None:
    cluster, board = started(producer={"config": {"delivery.timeout.ms": 20_000, "request.timeout.ms": 5_000}})
    inject(board, "lost_ack", TARGET, count=1_000_000, partition="orders-0")
    inject(board, "partition", TARGET, to="brokers")
    cluster.run(12 * SECOND)
    inject(board, "clock_skew", TARGET, by=30 * SECOND)
    cluster.run(12 * SECOND + 1_000)
    assert cluster.query.failed() + cluster.query.unknown() >= 90
