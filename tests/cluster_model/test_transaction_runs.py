"""Transactions on a whole cluster: what producers are told, and what readers of either isolation get to see."""

from dataclasses import replace
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.coordinators.transaction.transaction_state_manager import TxnState
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import READ_COMMITTED, READ_UNCOMMITTED, FetchRequest, ListOffsetsRequest
from cluster_model.spec.cluster_spec import GroupSpec, ProducerSpec, TransactionPlan
from tests.cluster_model.transacting import ANYTHING, COMMITTED, MS, SECOND, P, Run, producer, spec
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

VERSIONS = ("0.11", "2.4", "2.6", "3.5", "3.9", "4.0")


@pytest.mark.parametrize("kafka", spread_sample(VERSIONS, 3))
def test_readers_of_committed_data_get_every_committed_record_once_and_no_aborted_one(kafka: str) -> None:
    run = Run.of(kafka, [producer(plan=TransactionPlan(20, abort=4))]).run(5).end(5)
    query = run.cluster.query
    assert query.sent() == query.acked() + query.failed() + query.aborted()
    assert query.aborted() > 75
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)
    assert sorted(run.read(ANYTHING)) == sorted([*run.acked, *run.aborted])
    assert len(run.told("transaction_begun")) > 20
    assert (query.unknown(), query.acked_aborted(), query.aborted_committed(), query.acked_lost()) == (0, 0, 0, 0)
    assert query.lso(P) == query.hw(P) == query.leo(P)
    assert run.producer().aborted == query.aborted()


def test_markers_take_an_offset_and_are_never_returned() -> None:
    run = Run.of().run(3).end(5)
    leos = sum(run.cluster.query.leo(f"orders-{number}") for number in (0, 1))
    ended = len(run.told("transaction_committed")) + len(run.told("transaction_aborted"))
    assert leos == run.cluster.query.acked() + 2 * ended
    assert run.cluster.consumers[f"{COMMITTED}/0"].read == run.cluster.query.acked()
    assert run.cluster.query.lag(COMMITTED) == run.cluster.query.lag(ANYTHING) == 0


def test_records_are_guaranteed_with_the_commit_and_not_before() -> None:
    run = Run.of(producers=[producer(plan=TransactionPlan(0, 2 * SECOND))])
    run.until("transaction_begun")
    run.run(1.5)
    query = run.cluster.query
    assert query.sent() > 140
    assert query.acked() == 0
    assert query.leo(P) > 50
    assert run.read(ANYTHING)
    assert not run.read(COMMITTED)
    run.until("transaction_committed")
    assert query.acked() == query.sent() - run.producer()._ledger.open_records > 190


@pytest.mark.parametrize(("plan", "expected"), [(TransactionPlan(25), 25), (TransactionPlan(0, 500 * MS), 50)])
def test_a_transaction_ends_after_so_many_records_or_so_long(plan: TransactionPlan, expected: int) -> None:
    run = Run.of(producers=[producer(plan=plan)]).run(6)
    counts = {event.count for event in run.told("transaction_committed")}
    assert counts
    assert all(abs(count - expected) <= 1 for count in counts)


@pytest.mark.parametrize("abort", [1, 3])
def test_one_in_so_many_is_aborted(abort: int) -> None:
    run = Run.of(producers=[producer(plan=TransactionPlan(10, abort=abort))]).run(3)
    ends = [e.kind for e in run.events if e.kind in ("transaction_committed", "transaction_aborted")]
    assert len(ends) > 20
    assert ends == [
        "transaction_aborted" if number % abort == 0 else "transaction_committed" for number in range(1, len(ends) + 1)
    ]


@pytest.mark.parametrize("kafka", ["3.9", "4.0"])
def test_every_transaction_has_an_epoch_of_its_own_since_4_0(kafka: str) -> None:
    run = Run.of(kafka).run(5)
    epochs = [event.detail.rpartition(" ")[2] for event in run.told("transaction_begun")]
    assert len(epochs) > 10
    assert len(set(epochs)) == (len(epochs) if kafka == "4.0" else 1)


def test_the_feature_level_of_the_cluster_decides_on_epochs() -> None:
    run = Run.of("4.0", config={"transaction.version": 1}).run(5)
    assert len({event.detail for event in run.told("transaction_begun")}) == 1


def test_a_sync_application_ends_its_transactions_between_records() -> None:
    run = Run.of(producers=[producer(send="sync")]).run(6).end(5)
    assert {event.count for event in run.told("transaction_committed")[:-1]} == {20}
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)


def test_one_whose_time_is_over_commits_what_it_has_begun() -> None:
    run = Run.of(producers=[producer(plan=TransactionPlan(10_000), stop_us=4 * SECOND)]).run(6)
    (committed,) = run.told("transaction_committed")
    assert committed.count == run.cluster.query.acked() == run.cluster.query.sent() > 300


def elsewhere(run: Run) -> int:
    """A leader that is not the coordinator too."""
    leaders = [run.cluster.query.leader(name) for name in ("orders-0", "orders-1")]
    return next(leader for leader in leaders if leader != run.coordinator())


# --- errors ---------------------------------------------------------------------------------------------------------


def zombies(kafka: str) -> Run:
    """The second of two producers with one id begins while the first has a transaction open."""
    first = producer("old", plan=TransactionPlan(0, 300 * MS))
    second = producer("new", plan=TransactionPlan(20), start_us=2 * SECOND)
    return Run.of(kafka, [first, second]).run(5)


@pytest.mark.parametrize("kafka", spread_sample(VERSIONS, 3))
def test_a_second_producer_with_a_transactional_id_fences_the_first(kafka: str) -> None:
    run = zombies(kafka)
    (fenced,) = run.told("producer_fenced")
    assert (fenced.client, fenced.error) == ("old", "PRODUCER_FENCED")
    assert 2 * SECOND < fenced.at_us < 3 * SECOND
    assert not [e for e in run.told("records_sent", "old") if e.at_us > fenced.at_us]
    run.end(5)
    query = run.cluster.query
    assert query.acked("new") > 200
    assert query.unknown() == query.acked_aborted() == query.aborted_committed() == 0
    assert query.sent("old") == query.acked("old") + query.aborted("old") + query.failed("old")
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)


@pytest.mark.parametrize("kafka", spread_sample(VERSIONS, 3))
def test_a_transaction_that_is_left_open_is_aborted_when_its_time_is_over(kafka: str) -> None:
    hanging = producer(plan=TransactionPlan(20, hang=4), config={"transaction.timeout.ms": 2_000})
    other = ProducerSpec("plain", "orders", 10 * MS, keys=50)
    run = Run.of(kafka, [hanging, other])
    left = run.until("transaction_left_open")
    run.run(1)
    query = run.cluster.query
    stuck = query.lso(P)
    assert stuck < query.hw(P)
    reads = len(run.read(COMMITTED))
    run.run(0.5)
    assert query.lso(P) == stuck
    assert len(run.read(COMMITTED)) == reads
    run.run(2.5)
    assert run.cluster.now_us - left.at_us < 5 * SECOND
    assert run.state() is TxnState.COMPLETE_ABORT
    assert query.lso(P) > stuck
    run.end(5)
    plain = [record for record in run.acked if record[0] == "plain"]
    assert len(plain) > 400
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)
    assert query.acked("ledger") == 60


def test_the_owner_of_a_transaction_that_took_too_long_is_fenced() -> None:
    slow = producer(plan=TransactionPlan(0, 20 * SECOND), config={"transaction.timeout.ms": 3_000})
    run = Run.of("3.9", [slow])
    fenced = run.until("producer_fenced", seconds=40)
    assert fenced.at_us > 3 * SECOND
    run.end(5)
    assert run.read(COMMITTED) == []
    assert run.cluster.query.aborted() == len(run.aborted) > 200
    assert run.cluster.query.acked() == 0


@pytest.mark.parametrize("kafka", spread_sample(["2.4", "3.5", "3.9", "4.0"], 2))
def test_a_coordinator_that_dies_after_the_decision_is_replaced_and_the_commit_completed(kafka: str) -> None:
    run = Run.of(kafka)
    run.run(3)
    committed = run.until("transaction_committed")
    coordinator = run.coordinator()
    assert run.state() is TxnState.PREPARE_COMMIT
    run.cluster.crash(coordinator)
    run.run(12)
    assert run.coordinator() != coordinator
    run.cluster.restart(coordinator)
    run.run(5).end(5)
    assert len([e for e in run.told("transaction_committed") if e.at_us > committed.at_us + 12 * SECOND]) > 20
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)
    query = run.cluster.query
    assert (query.acked_aborted(), query.aborted_committed(), query.acked_lost(), query.unknown()) == (0, 0, 0, 0)


@pytest.mark.parametrize("kafka", ["3.5", "3.9", "4.0"])
def test_a_batch_whose_time_is_over_costs_its_transaction_and_the_producer_continues(kafka: str) -> None:
    patience = {"delivery.timeout.ms": 3_000, "request.timeout.ms": 1_000, "linger.ms": 0}
    run = Run.of(kafka, [producer(config=patience)])
    run.run(4)
    leader, node = elsewhere(run), run.node()
    run.cluster.cut(node, leader, 9)
    aborted = run.until("transaction_aborted")
    assert aborted.error == "REQUEST_TIMED_OUT"
    run.cluster.heal_cut(node, leader, 9)
    run.run(5).end(5)
    assert len([e for e in run.told("transaction_committed") if e.at_us > aborted.at_us]) > 20
    assert run.cluster.query.acked_aborted() == 0
    late = [record for record in run.read(COMMITTED) if record not in run.acked]
    assert sorted(run.read(COMMITTED)) == sorted([*run.acked, *late])
    # What the link kept comes behind the marker; without a look at the coordinator it may be part of the next one.
    assert kafka == "3.5" or not late
    assert run.cluster.query.aborted_committed() == len(late)
    assert all(record in run.aborted for record in late)


def test_an_unanswered_end_txn_is_retried_and_reported() -> None:
    run = Run.of("3.9", [producer(config={"max.block.ms": 2_000, "request.timeout.ms": 3_000})])
    run.run(1)
    run.until("transaction_begun")
    coordinator, node = run.coordinator(), run.node()
    run.cluster.cut(coordinator, node, 9)
    overdue = run.until("transaction_timed_out")
    assert overdue.by == "commit"
    acked = run.cluster.query.acked()
    run.run(1)
    assert run.cluster.query.acked() == acked
    run.cluster.heal_cut(coordinator, node, 9)
    run.run(5).end(5)
    assert run.cluster.query.acked() > acked
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)


def test_one_partition_without_a_leader_holds_the_next_transaction_up() -> None:
    run = Run.of("3.9", [producer(plan=TransactionPlan(20))], config={"broker.session.timeout.ms": 60_000})
    run.run(3)
    run.until("transaction_begun")
    run.run(0.15)
    leader = elsewhere(run)
    run.until("transaction_committed")
    run.cluster.pause(leader)
    before = len(run.told("transaction_committed"))
    run.run(5)
    assert len(run.told("transaction_committed")) <= before + 1
    run.cluster.resume(leader)
    run.run(5)
    assert len(run.told("transaction_committed")) > before + 5


# --- processes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["2.4", "3.9", "4.0"])
def test_the_next_process_of_an_application_aborts_what_the_killed_one_left(kafka: str) -> None:
    run = Run.of(kafka, [producer(plan=TransactionPlan(0, 400 * MS))]).run(2)
    run.until("transaction_begun")
    run.run(0.2)
    node, acked = run.node(), run.cluster.query.acked()
    run.cluster.crash(node)
    run.run(1)
    assert run.cluster.query.acked() == acked
    assert run.cluster.query.aborted() > 10
    assert run.cluster.query.lso(P) < run.cluster.query.hw(P)
    run.cluster.restart(node)
    run.run(6).end(5)
    query = run.cluster.query
    assert query.acked() > acked + 400
    assert query.sent() == query.acked() + query.aborted() + query.failed()
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)
    assert query.aborted_committed() == query.acked_aborted() == 0


def test_a_crash_in_a_commit_leaves_its_outcome_unknown() -> None:
    run = Run.of("3.9").run(4)
    run.until("transaction_begun")
    while not run.producer()._tx.manager.end_sent:
        run.run(0.001)
    run.cluster.crash(run.node())
    run.run(1)
    (unknown,) = run.told("transaction_unknown")
    assert unknown.count == run.cluster.query.unknown() == 20
    # It is committed all the same: the request had left.
    assert len(run.read(COMMITTED)) == run.cluster.query.acked() + 20


def test_an_orderly_end_commits_first() -> None:
    run = Run.of("3.9", [producer(plan=TransactionPlan(100_000), stop_us=4 * SECOND, close_us=5 * SECOND)]).run(8)
    query = run.cluster.query
    assert query.acked() == query.sent() > 300
    assert run.producer().closed
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)


# --- refused by send ------------------------------------------------------------------------------------------------


def test_a_send_that_fails_costs_its_transaction() -> None:
    small: dict[str, int | str | bool] = {
        "buffer.memory": 16_384, "max.block.ms": 300, "linger.ms": 0, "delivery.timeout.ms": 4_000,
        "request.timeout.ms": 2_000,
    }  # fmt: skip
    run = Run.of("3.9", [producer(config=small)]).run(3)
    leader, node = elsewhere(run), run.node()
    run.cluster.cut(node, leader, 9)
    aborted = run.until("transaction_aborted")
    run.cluster.heal_cut(node, leader, 9)
    run.run(5).end(5)
    assert aborted.error == "REQUEST_TIMED_OUT"
    assert len([e for e in run.told("transaction_committed") if e.at_us > aborted.at_us]) > 10
    assert sorted(run.read(COMMITTED)) == sorted(run.acked)


def test_records_too_large_cost_theirs() -> None:
    run = Run.of("3.9", [producer(record_bytes=2_000_000)]).run(2)
    assert run.cluster.query.acked() == 0
    assert run.cluster.query.failed() == run.cluster.query.sent() > 100
    assert {event.error for event in run.told("transaction_aborted")} == {"MESSAGE_TOO_LARGE"}


# --- where readers begin --------------------------------------------------------------------------------------------


def test_a_reset_to_the_end_asks_for_the_end_of_what_the_reader_may_see() -> None:
    groups = tuple(
        GroupSpec(name, ("orders",), config={"isolation.level": name, "auto.offset.reset": "latest"})
        for name in ("read_committed", "read_uncommitted")
    )
    cluster = Cluster.build(replace(spec("3.9"), groups=groups), 1)
    asked: dict[str, dict[int, None]] = {}
    for number in cluster.brokers:
        process = cluster.network.processes[number]

        def watched(source: int, message: Any, receive: Any = process.receive) -> None:
            if isinstance(message, ListOffsetsRequest | FetchRequest) and source >= 3_000:
                asked.setdefault(cluster.name_of(source), {})[message.isolation] = None
            receive(source, message)

        process.receive = watched  # type: ignore[assignment]
    cluster.run(10 * SECOND)
    assert {name: list(found) for name, found in asked.items()} == {
        "read_committed/0": [READ_COMMITTED],
        "read_uncommitted/0": [READ_UNCOMMITTED],
    }


def test_unsent_batches_of_an_aborted_transaction_are_dropped() -> None:
    slow: dict[str, ConfigValue] = {"linger.ms": 300}
    run = Run.of(producers=[producer(plan=TransactionPlan(20, abort=1), config=slow)]).run(6)
    query = run.cluster.query
    failed = run.told("records_failed")
    assert {event.error for event in failed} == {"TransactionAbortedException"}
    assert query.failed() == sum(event.count for event in failed) > 300
    markers = 2 * len(run.told("transaction_aborted"))
    assert query.leo("orders-0") + query.leo("orders-1") <= query.aborted() + markers + 20


def test_a_producer_that_is_closed_commits_what_it_has_begun() -> None:
    run = Run.of(producers=[producer(plan=TransactionPlan(100_000))]).run(4)
    query = run.cluster.query
    assert query.acked() == 0
    run.producer().close(5 * SECOND)
    while not run.producer().closed:
        assert run.cluster.now_us < 6 * SECOND
        run.run(0.001)
    assert query.acked() == query.sent() > 300


def test_a_fatal_error_settles_everything_at_once() -> None:
    run = Run.of("3.9").run(3)
    run.until("transaction_begun")
    run.cluster.cut(run.node(), elsewhere(run), 9)
    run.run(0.15)
    ledger = run.producer()
    assert ledger._accumulator.incomplete > 1
    ledger._tx.manager.fail(KafkaError.PRODUCER_FENCED)
    run.run(0.1)
    assert ledger._accumulator.incomplete == 0
    query = run.cluster.query
    assert query.sent() == query.acked() + query.failed() + query.aborted()
    assert [event.error for event in run.told("producer_fenced")] == ["PRODUCER_FENCED"]
    sent = query.sent()
    run.run(2)
    assert query.sent() == sent
