"""KIP-890: verification before a transaction's first write, hanging transactions before 3.6, epochs since 4.0."""

import pytest

from cluster_model.coordinators.transaction.transaction_state_manager import TxnState
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import CommittedOffset, TxnOffsetCommitRequest
from cluster_model.protocol.messages import ProduceRequest
from cluster_model.protocol.transaction_messages import EndTxnRequest, TxnMarker, WriteTxnMarkersRequest
from tests.cluster_model.again import comes_out_again
from tests.cluster_model.coordinators.transaction.talks import Script, Talk

E = KafkaError
S = TxnState


def begun(kafka: str, **config: int | str | bool) -> tuple[Talk, Script]:
    talk = Talk(kafka, config={name.replace("_", "."): value for name, value in config.items()})
    talk.run(3)
    producer = talk.producer("pay")
    assert producer.init() is E.NONE
    return talk, producer


def late(producer: Script, talk: Talk, request: ProduceRequest) -> KafkaError:
    """A batch that was delayed for a long time arrives."""
    return KafkaError(producer.ask(talk.cluster.query.leader(request.partition), request).error)


@pytest.mark.parametrize(("kafka", "version"), [("2.8", 9), ("3.5", 9)])
def test_before_3_6_a_late_batch_opens_a_transaction_that_nobody_ends(kafka: str, version: int) -> None:
    talk, producer = begun(kafka)
    producer.add("orders-0")
    producer.write("orders-0")
    batch = producer.batch("orders-0", version=version)
    assert producer.end(commit=False) is E.NONE
    talk.run(1)
    assert late(producer, talk, batch) is E.NONE
    talk.run(120)
    assert (talk.lso("orders-0"), talk.hw("orders-0")) == (2, 3), "no timeout reaches it"


@pytest.mark.parametrize(("kafka", "version", "error"), [
    ("3.6", 9, E.INVALID_TXN_STATE), ("3.9", 9, E.INVALID_TXN_STATE), ("3.9", 11, E.TRANSACTION_ABORTABLE),
    ("4.0", 11, E.TRANSACTION_ABORTABLE),
])  # fmt: skip
def test_since_3_6_a_late_batch_is_refused(kafka: str, version: int, error: KafkaError) -> None:
    talk, producer = begun(kafka)
    producer.add("orders-0")
    producer.write("orders-0", version=version)
    batch = producer.batch("orders-0", version=version)
    producer.end(commit=False)
    talk.run(1)
    assert late(producer, talk, batch) is error
    assert talk.lso("orders-0") == talk.hw("orders-0") == 2


def test_verification_can_be_turned_off() -> None:
    talk, producer = begun("3.9", **{"transaction.partition.verification.enable": False})
    assert producer.write("orders-0", version=11) is E.NONE
    assert not any("?" in line for _at, line in talk.lines)


def test_only_the_first_write_to_a_partition_is_looked_up() -> None:
    talk, producer = begun("3.9")
    producer.add("orders-0", "orders-1")
    for partition in ("orders-0", "orders-1", "orders-1", "orders-0"):
        assert producer.write(partition) is E.NONE
    asked = [line for _at, line in talk.lines if "?" in line]
    assert len(asked) == 1, "broker 2 asks broker 1, which asks itself without a message"
    assert "?orders-1" in asked[0]


@pytest.mark.parametrize("partition", ["orders-0", "orders-1"])
def test_a_producer_that_has_been_fenced_at_the_coordinator_is_fenced_at_every_leader(partition: str) -> None:
    talk, producer = begun("3.9")
    talk.producer("pay", "pay-2").init()
    assert producer.write(partition) is E.INVALID_PRODUCER_EPOCH


def test_while_the_coordinator_is_busy_or_unreachable_the_producer_gets_a_retriable_error() -> None:
    talk, producer = begun("3.9")
    producer.add("orders-0")
    producer.write("orders-0")
    producer.send(producer.coordinator, EndTxnRequest(0, "pay", producer.producer_id, producer.epoch, True))
    while talk.state("pay") is not S.PREPARE_COMMIT:
        talk.run(0.0002)
    answer = producer.ask(talk.cluster.query.leader("orders-1"), producer.batch("orders-1"))
    assert answer.error == E.NOT_ENOUGH_REPLICAS


def test_a_coordinator_that_dies_with_the_question_is_tried_again() -> None:
    talk, producer = begun("3.9")
    producer.add("orders-1")
    talk.run(0.1)
    producer.send(2, producer.batch("orders-1"))
    talk.run(0.0015)
    talk.cluster.crash(producer.coordinator)
    talk.run(0.5)
    assert producer.got[-1].error == E.NOT_ENOUGH_REPLICAS
    talk.run(20)
    assert producer.write("orders-1") is E.NONE


def test_a_marker_in_between_takes_the_coordinator_s_word_back() -> None:
    talk, producer = begun("3.9")
    producer.add("orders-1")
    producer.send(2, producer.batch("orders-1"))
    while not any("?orders-1" in line for _at, line in talk.lines):
        talk.run(0.0001)
    marker = TxnMarker(producer.producer_id, producer.epoch, 0, False, ("orders-1",))
    talk.transactions(2).marking.write_markers(producer.node, WriteTxnMarkersRequest(77, marker))
    talk.run(0.5)
    errors = [message.error for message in producer.got if type(message).__name__ == "ProduceResponse"]
    assert errors == [E.INVALID_TXN_STATE]


@pytest.mark.parametrize(("kafka", "asks"), [("4.0.2", True), ("4.1.0", False)])
def test_since_4_1_a_leader_that_knows_a_newer_epoch_asks_nobody(kafka: str, *, asks: bool) -> None:
    """KAFKA-18042."""
    talk, producer = begun(kafka)
    producer.add("orders-1")
    assert producer.write("orders-1") is E.NONE
    talk.producer("pay", "pay-2").init()
    talk.run(1)
    talk.lines.clear()
    assert producer.write("orders-1") is E.INVALID_PRODUCER_EPOCH
    assert any("?orders-1" in line for _at, line in talk.lines) is asks


@pytest.mark.parametrize(("kafka", "error"), [
    ("3.9.1", E.INVALID_TXN_STATE), ("3.9.2", E.INVALID_PRODUCER_EPOCH), ("4.0.1", E.INVALID_TXN_STATE),
    ("4.0.2", E.INVALID_PRODUCER_EPOCH), ("4.1.0", E.INVALID_TXN_STATE), ("4.1.1", E.INVALID_PRODUCER_EPOCH),
])  # fmt: skip
def test_a_marker_of_a_newer_epoch_in_between_fences_the_write_since_its_fix(kafka: str, error: KafkaError) -> None:
    """KAFKA-19690: Kafka Streams continues after it, and fails after INVALID_TXN_STATE."""
    talk, producer = begun(kafka)
    producer.add("orders-1")
    producer.send(2, producer.batch("orders-1"))
    while not any("?orders-1" in line for _at, line in talk.lines):
        talk.run(0.0001)
    marker = TxnMarker(producer.producer_id, producer.epoch + 1, 0, False, ("orders-1",))
    talk.transactions(2).marking.write_markers(producer.node, WriteTxnMarkersRequest(77, marker))
    talk.run(0.5)
    errors = [message.error for message in producer.got if type(message).__name__ == "ProduceResponse"]
    assert errors == [error]


# -- version 2 ----------------------------------------------------------------------------------------------------


def test_in_version_2_a_write_adds_its_partition_and_every_end_raises_the_epoch() -> None:
    talk, producer = begun("4.0")
    first = producer.producer_id
    assert producer.write("orders-0", version=12) is E.NONE
    assert producer.write("orders-1", version=12) is E.NONE
    assert producer.end(commit=True, version=5) is E.NONE
    assert (producer.producer_id, producer.epoch) == (first, 1)
    talk.run(1)
    assert talk.lso("orders-0") == talk.hw("orders-0") == 2
    assert producer.write("orders-0", version=12) is E.NONE
    assert producer.end(commit=False, version=5) is E.NONE
    assert producer.epoch == 2
    talk.run(1)
    assert talk.state("pay") is S.COMPLETE_ABORT
    assert talk.lso("orders-0") == talk.hw("orders-0") == 4


def test_in_version_2_a_late_batch_is_fenced_by_its_epoch() -> None:
    talk, producer = begun("4.0")
    producer.write("orders-0", version=12)
    batch = producer.batch("orders-0", version=12)
    producer.end(commit=True, version=5)
    talk.run(1)
    assert late(producer, talk, batch) is E.INVALID_PRODUCER_EPOCH
    assert talk.lso("orders-0") == talk.hw("orders-0") == 2


def test_in_version_2_an_end_that_comes_again_gets_the_same_response() -> None:
    talk, producer = begun("4.0")
    producer.write("orders-0", version=12)
    request = EndTxnRequest(0, "pay", producer.producer_id, 0, True, 5)
    first = producer.ask(producer.coordinator, request)
    talk.run(1)
    again = producer.ask(producer.coordinator, request)
    assert (first.error, first.producer_epoch) == (again.error, again.producer_epoch) == (E.NONE, 1)
    assert producer.ask(producer.coordinator, request._replace(committed=False)).error == E.INVALID_TXN_STATE


def test_in_version_2_an_abort_of_nothing_is_granted_with_a_new_epoch() -> None:
    talk, producer = begun("4.0")
    for epoch in (1, 2):
        assert producer.end(commit=False, version=5) is E.NONE
        assert producer.epoch == epoch
        talk.run(1)
    assert talk.state("pay") is S.COMPLETE_ABORT
    assert talk.hw("orders-0") == 0
    assert producer.end(commit=True, version=5) is E.INVALID_TXN_STATE
    assert producer.write("orders-0", version=12) is E.NONE
    assert producer.end(commit=True, version=5) is E.NONE
    assert producer.epoch == 3


def test_an_older_client_of_a_4_0_cluster_keeps_its_epoch() -> None:
    _talk, producer = begun("4.0")
    producer.add("orders-0")
    producer.write("orders-0", version=11)
    assert producer.end(commit=True, version=4) is E.NONE
    assert producer.epoch == 0


def test_a_3_9_cluster_has_no_version_2() -> None:
    _talk, producer = begun("3.9")
    assert producer.write("orders-0", version=12) is E.TRANSACTION_ABORTABLE
    producer.add("orders-0")
    producer.write("orders-0")
    assert producer.end(commit=True, version=5) is E.NONE
    assert producer.epoch == 0


@pytest.mark.parametrize(("kafka", "version", "added", "error"), [
    ("4.0", 5, False, E.NONE), ("4.0", 3, False, E.INVALID_TXN_STATE), ("4.0", 4, False, E.TRANSACTION_ABORTABLE),
    ("4.0", 3, True, E.NONE), ("3.5", 3, False, E.NONE),
])  # fmt: skip
def test_offsets_of_a_transaction_are_looked_up_likewise(
    kafka: str, version: int, added: bool, error: KafkaError
) -> None:
    talk, producer = begun(kafka)
    if added:
        assert producer.add_offsets("a") is E.NONE
    offsets = (CommittedOffset("orders-0", 4),)
    request = TxnOffsetCommitRequest(0, "pay", "a", producer.producer_id, 0, offsets, version=version)
    answer = producer.ask(talk.cluster.query.leader("__consumer_offsets-1"), request)
    assert dict(answer.partitions) == {"orders-0": error}


@pytest.mark.parametrize("ahead_ms", [0, 1, 2, 3, 4])
def test_a_keyframe_while_a_question_is_under_way_continues_as_it_did(ahead_ms: int) -> None:
    talk, producer = begun("3.9")
    producer.add("orders-1")
    producer.send(2, producer.batch("orders-1"))
    talk.run(ahead_ms / 1_000)
    assert comes_out_again(talk.cluster, lambda cluster: cluster.run(talk.cluster.now_us + 2_000_000))
    assert talk.hw("orders-1") == 1


@pytest.mark.parametrize("kafka", ["3.9", "4.1"])
def test_a_batch_after_one_that_is_not_verified_yet_is_out_of_order(kafka: str) -> None:
    """The leader remembers the lowest sequence that waits for verification (KAFKA-14920)."""
    talk, producer = begun(kafka)
    first = producer.batch("orders-0", version=9)
    second = first._replace(sequence=1)
    leader = talk.cluster.query.leader("orders-0")
    assert producer.ask(leader, first).error == E.INVALID_TXN_STATE
    producer.add("orders-0")
    assert producer.ask(leader, second).error == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.ask(leader, first).error == E.NONE
    assert producer.ask(leader, second).error == E.NONE
