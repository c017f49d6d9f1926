"""KIP-664: descriptions of transactions by brokers, hanging transactions, and their abort."""

import pytest

from cluster_model.coordinators.transaction.transaction_coordinator import STATE_NAMES
from cluster_model.coordinators.transaction.transaction_state_manager import TxnState
from cluster_model.coordinators.transaction.transactions_tool import (
    OpenTransaction,
    abort_marker,
    candidates,
    hanging,
    hanging_table,
    open_at,
    producer_table,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.transaction_messages import (
    ActiveProducer,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
    TxnMarker,
    WriteTxnMarkersRequest,
)
from tests.cluster_model.coordinators.transaction.talks import Script, Talk

E = KafkaError
MINUTE = 60_000_000


def producer(
    producer_id: int, last_us: int = 0, coordinator: int = 3, start: int = 7, epoch: int = 2
) -> ActiveProducer:
    return ActiveProducer(producer_id, epoch, 9, last_us, coordinator, start)


def suspect(producer_id: int, partition: str = "t-0") -> OpenTransaction:
    return OpenTransaction(partition, producer(producer_id))


# -- rules ---------------------------------------------------------------------------------------------------------


def test_suspect_is_what_is_open_and_silent_for_longer_than_the_largest_timeout() -> None:
    told = [producer(1, 0, start=9), producer(2, 1, start=5), producer(3, 0, start=-1), producer(4, 0, start=0)]
    largest = 15 * MINUTE
    now = largest + 1
    assert [each.producer.producer_id for each in candidates("t-0", told, now, largest)] == [4, 1]
    assert candidates("t-0", told, now - 1, largest) == ()


def test_hanging_is_what_no_coordinator_will_mark() -> None:
    suspects = [suspect(1), suspect(2), suspect(3), suspect(4), suspect(4, "t-1")]
    ids = {2: "forgotten", 3: "idle", 4: "busy"}
    expected = {"idle": (), "busy": ("t-1", "t-2")}
    assert hanging(suspects, ids, expected) == (suspect(1), suspect(2), suspect(3), suspect(4))


def test_a_transaction_is_known_by_its_first_offset() -> None:
    told = [producer(1, start=-1), producer(2, start=4)]
    assert open_at("t-0", told, 4) == OpenTransaction("t-0", told[1])
    assert (open_at("t-0", told, 5), open_at("t-0", told, -1)) == (None, None)


@pytest.mark.parametrize(("known", "sent"), [(-1, 0), (0, 0), (3, 3)])
def test_the_marker_has_the_epochs_that_the_leader_knows(known: int, sent: int) -> None:
    marker = abort_marker(OpenTransaction("t-0", producer(8, coordinator=known)))
    assert marker == TxnMarker(8, 2, sent, False, ("t-0",))


def test_tables_say_none_and_whole_minutes() -> None:
    told = [producer(1, 61_999_000, start=-1), producer(2, 5_000)]
    assert [row[3:] for row in producer_table(told)[1:]] == [("9", "61999", "None"), ("9", "5", "7")]
    rows = hanging_table([OpenTransaction("a-b-12", told[1])], 3 * MINUTE - 1)
    assert rows[1] == ("a-b", "12", "2", "2", "3", "7", "5", "2")


def test_every_state_has_a_name() -> None:
    assert list(STATE_NAMES) == list(TxnState)
    assert STATE_NAMES[TxnState.PREPARE_EPOCH_FENCE] == "PrepareEpochFence"


# -- brokers -------------------------------------------------------------------------------------------------------


def begun(kafka: str = "3.5") -> tuple[Talk, Script]:
    talk = Talk(kafka)
    talk.run(3)
    script = talk.producer("pay")
    assert script.init() is E.NONE
    return talk, script


def test_a_coordinator_lists_and_describes_its_own() -> None:
    _talk, script = begun()
    script.add("orders-0", "orders-1")
    own, other = script.coordinator, script.coordinator % 3 + 1
    (listed,) = script.ask(own, ListTransactionsRequest(0)).transactions
    assert listed == ("pay", script.producer_id, "Ongoing")
    assert script.ask(own, ListTransactionsRequest(0)).broker == own
    assert script.ask(own, ListTransactionsRequest(0, (script.producer_id,))).transactions == (listed,)
    assert script.ask(own, ListTransactionsRequest(0, (77,))).transactions == ()
    assert script.ask(other, ListTransactionsRequest(0)).transactions == ()
    told = script.ask(own, DescribeTransactionsRequest(0, "pay"))
    assert (told.error, told.producer_id, told.producer_epoch, told.state) == (0, script.producer_id, 0, "Ongoing")
    assert (told.timeout_us, 3_000_000 < told.start_us < 4_000_000) == (MINUTE, True)
    assert told.partitions == ("orders-0", "orders-1")
    assert script.ask(other, DescribeTransactionsRequest(0, "pay")).error == E.NOT_COORDINATOR


def test_an_id_that_nobody_used_is_not_found() -> None:
    talk, script = begun()
    answer = script.ask(talk.coordinator_of("pay-2"), DescribeTransactionsRequest(0, "pay-2"))
    assert (answer.error, answer.transactional_id) == (E.TRANSACTIONAL_ID_NOT_FOUND, "pay-2")


def test_a_coordinator_that_still_reads_does_not_list() -> None:
    talk, script = begun()
    coordinator = script.coordinator
    talk.cluster.crash(coordinator)
    while talk.coordinator_of("pay") in (coordinator, -1):
        talk.run(0.001)
    answer = None
    for _turn in range(200):
        answer = script.ask(talk.coordinator_of("pay"), ListTransactionsRequest(0), 0.02)
        if answer.error or answer.transactions:
            break
    assert answer is not None
    assert (answer.error, answer.transactions) == (E.COORDINATOR_LOAD_IN_PROGRESS, ())
    talk.run(1)
    assert len(script.ask(talk.coordinator_of("pay"), ListTransactionsRequest(0)).transactions) == 1


def test_only_the_leader_reports_producers() -> None:
    _talk, script = begun()
    script.add("orders-0")
    script.write("orders-0", 4)
    (told,) = script.ask(1, DescribeProducersRequest(0, "orders-0")).producers
    assert told._replace(last_us=0) == ActiveProducer(script.producer_id, 0, 3, 0, -1, 0)
    assert 3_000_000 < told.last_us < 4_000_000
    assert script.ask(2, DescribeProducersRequest(0, "orders-0")).error == E.NOT_LEADER_OR_FOLLOWER
    assert script.ask(1, DescribeProducersRequest(0, "nowhere-0")).error == E.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(("coordinator_epoch", "error"), [(-1, E.TRANSACTION_COORDINATOR_FENCED), (None, E.NONE)])
def test_a_marker_of_an_older_coordinator_is_fenced(coordinator_epoch: int | None, error: KafkaError) -> None:
    talk, script = begun()
    script.add("orders-0")
    script.write("orders-0", 4)
    late = script.batch("orders-0")
    script.end(commit=False)
    talk.run(0.5)
    script.ask(1, late)
    (told,) = script.ask(1, DescribeProducersRequest(0, "orders-0")).producers
    assert (told.coordinator_epoch >= 0, told.start_offset) == (True, 5)
    marker = abort_marker(OpenTransaction("orders-0", told))
    if coordinator_epoch is not None:
        marker = marker._replace(coordinator_epoch=coordinator_epoch)
    assert script.ask(1, WriteTxnMarkersRequest(0, marker)).partitions == (("orders-0", error),)
    talk.run(0.5)
    assert (talk.lso("orders-0") == talk.hw("orders-0")) == (error is E.NONE)


@pytest.mark.parametrize(("kafka", "error", "of_producers"), [
    ("2.7", E.UNSUPPORTED_VERSION, E.UNSUPPORTED_VERSION),
    ("2.8", E.UNSUPPORTED_VERSION, E.NONE),
    ("3.0", E.NONE, E.NONE),
    ("4.1", E.NONE, E.NONE),
])  # fmt: skip
def test_brokers_before_3_0_know_only_of_producers(kafka: str, error: KafkaError, of_producers: KafkaError) -> None:
    _talk, script = begun(kafka)
    coordinator = script.coordinator
    for request in (ListTransactionsRequest(0), DescribeTransactionsRequest(0, "pay")):
        assert script.ask(coordinator, request).error == error
    assert script.ask(1, DescribeProducersRequest(0, "orders-0")).error == of_producers
