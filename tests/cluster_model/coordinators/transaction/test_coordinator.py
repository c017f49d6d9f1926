"""The transaction coordinator over the modelled network, rule by rule (KIP-98, KIP-360)."""

import pytest

from cluster_model.coordinators.transaction.transaction_state_manager import TxnState, decode
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import InitProducerIdRequest, InitProducerIdResponse
from cluster_model.protocol.transaction_messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    TxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from cluster_model.protocol.versions import TRANSACTION_FEATURE
from cluster_model.spec.cluster_spec import OFFSETS, TRANSACTIONS
from tests.cluster_model.again import comes_out_again
from tests.cluster_model.coordinators.transaction.talks import MS, Script, Talk

E = KafkaError
S = TxnState


@pytest.fixture
def talk() -> Talk:
    found = Talk()
    found.run(3)
    return found


def begun(talk: Talk, name: str = "pay", *partitions: str) -> Script:
    """A producer with its id and an open transaction that has written to each partition."""
    producer = talk.producer(name)
    assert producer.init() is E.NONE
    if partitions:
        assert producer.add(*partitions) is E.NONE
        assert [producer.write(partition, 2) for partition in partitions] == [E.NONE] * len(partitions)
    return producer


def states(talk: Talk, name: str = "pay") -> list[str]:
    """Return the states of an id in the topic, record by record."""
    number = talk.transactions(1).registry.partition_of(name)
    leader = talk.coordinator_of(name)
    records = [decode(text) for _offset, text in talk.cluster.brokers[leader].hosted.read(f"{TRANSACTIONS}-{number}")]
    return ["tombstone" if value is None else TxnState(value.state).name for who, value in records if who == name]


# -- ids and epochs -----------------------------------------------------------------------------------------------


def test_each_begin_of_a_producer_has_the_next_epoch_of_one_id(talk: Talk) -> None:
    producer = begun(talk)
    first = (producer.producer_id, producer.epoch)
    assert producer.init() is E.NONE
    assert (producer.producer_id, producer.epoch) == (first[0], 1)
    assert first[1] == 0
    assert producer.init(expected=True) is E.NONE
    assert producer.epoch == 2


def test_a_request_that_comes_again_gets_the_same_epoch(talk: Talk) -> None:
    producer = begun(talk)
    assert producer.init(expected=True, believes=False) is E.NONE
    assert producer.init(expected=True) is E.NONE
    assert producer.epoch == 1


@pytest.mark.parametrize(("timeout_ms", "error"), [(0, E.INVALID_TRANSACTION_TIMEOUT), (900_000, E.NONE)])
def test_the_timeout_has_bounds(talk: Talk, timeout_ms: int, error: KafkaError) -> None:
    producer = talk.producer("pay")
    assert producer.init(timeout_ms=timeout_ms) is error
    assert producer.init(timeout_ms=900_001) is E.INVALID_TRANSACTION_TIMEOUT


def test_an_empty_id_is_no_id_and_none_gets_an_id_from_any_broker(talk: Talk) -> None:
    producer = talk.producer("pay")
    for broker in (1, 2, 3):
        answer = producer.ask(broker, InitProducerIdRequest(0, ""))
        assert answer.error == E.INVALID_REQUEST
        answer = producer.ask(broker, InitProducerIdRequest(0))
        assert isinstance(answer, InitProducerIdResponse)
        assert (answer.error, answer.producer_epoch) == (E.NONE, 0)


def test_another_broker_is_not_the_coordinator(talk: Talk) -> None:
    producer = begun(talk)
    other = next(broker for broker in (1, 2, 3) if broker != producer.coordinator)
    assert producer.ask(other, InitProducerIdRequest(0, "pay")).error == E.NOT_COORDINATOR
    asked = AddPartitionsToTxnRequest(0, "pay", producer.producer_id, 0, ("orders-0",))
    assert producer.ask(other, asked).error == E.NOT_COORDINATOR
    assert producer.ask(other, EndTxnRequest(0, "pay", producer.producer_id, 0, True)).error == E.NOT_COORDINATOR


def test_an_id_that_nobody_knows_is_reported(talk: Talk) -> None:
    producer = talk.producer("pay")
    producer.producer_id = 5
    assert producer.add("orders-0") is E.INVALID_PRODUCER_ID_MAPPING
    assert producer.end(commit=True) is E.INVALID_PRODUCER_ID_MAPPING
    assert producer.add_offsets("g") is E.INVALID_PRODUCER_ID_MAPPING


def test_before_0_11_there_is_no_coordinator() -> None:
    talk = Talk("0.10.2")
    talk.run(3)
    producer = talk.producer("pay")
    assert producer.init() is E.UNSUPPORTED_VERSION


def test_an_exhausted_epoch_brings_a_new_id(talk: Talk) -> None:
    producer = begun(talk)
    metadata = talk.transactions(producer.coordinator).registry.ids["pay"]
    metadata.value = metadata.value._replace(producer_epoch=32_766)
    before = producer.producer_id
    assert producer.init() is E.NONE
    assert producer.producer_id != before
    assert producer.epoch == 0


# -- a transaction ------------------------------------------------------------------------------------------------


def test_a_commit_is_answered_before_its_markers_are_written(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0", "orders-1")
    assert (talk.lso("orders-0"), talk.hw("orders-0")) == (0, 2)
    assert producer.end(commit=True) is E.NONE
    assert (talk.lso("orders-1"), talk.state("pay")) == (0, S.PREPARE_COMMIT)
    talk.run(1)
    assert (talk.lso("orders-0"), talk.lso("orders-1"), talk.state("pay")) == (3, 3, S.COMPLETE_COMMIT)
    assert states(talk) == ["EMPTY", "ONGOING", "PREPARE_COMMIT", "COMPLETE_COMMIT"]


def test_an_abort_leaves_an_entry_in_every_partition(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0", "orders-1")
    assert producer.end(commit=False) is E.NONE
    talk.run(1)
    assert talk.state("pay") is S.COMPLETE_ABORT
    for partition in ("orders-0", "orders-1"):
        log = talk.cluster.brokers[talk.cluster.query.leader(partition)].replicas[partition].log
        assert [(each.first_offset, each.last_offset) for each in log.transactions.aborted] == [(0, 2)]


def test_ends_that_come_again_and_those_that_contradict(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0")
    assert producer.end(commit=True) is E.NONE
    assert producer.end(commit=True) is E.CONCURRENT_TRANSACTIONS
    talk.run(1)
    assert producer.end(commit=True) is E.NONE
    assert producer.end(commit=False) is E.INVALID_TXN_STATE


def test_the_next_transaction_waits_until_the_last_one_s_markers_are_written(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0")
    producer.end(commit=True)
    assert producer.add("orders-0") is E.CONCURRENT_TRANSACTIONS
    talk.run(1)
    assert producer.add("orders-0") is E.NONE
    producer.end(commit=True)
    assert producer.init() is E.CONCURRENT_TRANSACTIONS


def test_init_producer_id_waits_for_pending_markers(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0")
    metadata = talk.transactions(producer.coordinator).registry.ids["pay"]
    metadata.value = metadata.value._replace(state=S.PREPARE_ABORT)
    assert producer.init() is E.CONCURRENT_TRANSACTIONS


def test_a_partition_that_is_in_already_costs_no_record(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0")
    assert producer.add("orders-0") is E.NONE
    assert states(talk) == ["EMPTY", "ONGOING"]
    assert producer.add("orders-0", "orders-1") is E.NONE
    assert states(talk) == ["EMPTY", "ONGOING", "ONGOING"]
    assert producer.add("nowhere-0") is E.UNKNOWN_TOPIC_OR_PARTITION


def test_a_group_s_partition_is_added_by_its_name(talk: Talk) -> None:
    producer = begun(talk)
    assert producer.add_offsets("a") is E.NONE
    metadata = talk.transactions(producer.coordinator).registry.ids["pay"]
    assert metadata.value.partitions == (f"{OFFSETS}-1",), "97 % 2"


def test_while_a_change_is_being_written_everybody_else_waits(talk: Talk) -> None:
    producer = begun(talk)
    asked = AddPartitionsToTxnRequest(0, "pay", producer.producer_id, producer.epoch, ("orders-0",))
    producer.send(producer.coordinator, asked)
    assert producer.add("orders-1") is E.CONCURRENT_TRANSACTIONS


# -- fencing ------------------------------------------------------------------------------------------------------


def test_a_takeover_of_an_open_transaction_aborts_it_and_costs_two_epochs(talk: Talk) -> None:
    old = begun(talk, "pay", "orders-0")
    new = talk.producer("pay", "pay-2")
    assert new.init() is E.CONCURRENT_TRANSACTIONS
    talk.run(1)
    assert talk.state("pay") is S.COMPLETE_ABORT
    assert new.init() is E.NONE
    assert (new.producer_id, new.epoch) == (old.producer_id, 2)
    assert old.write("orders-0") is E.INVALID_PRODUCER_EPOCH
    assert old.add("orders-0") is E.PRODUCER_FENCED
    assert old.end(commit=True) is E.PRODUCER_FENCED
    assert old.init(expected=True) is E.PRODUCER_FENCED


def test_a_zombie_s_commit_after_the_takeover_decides_nothing(talk: Talk) -> None:
    old = begun(talk, "pay", "orders-0")
    new = talk.producer("pay", "pay-2")
    new.init()
    assert old.end(commit=True) is E.PRODUCER_FENCED
    talk.run(1)
    log = talk.cluster.brokers[talk.cluster.query.leader("orders-0")].replicas["orders-0"].log
    assert len(log.transactions.aborted) == 1


def test_a_takeover_between_transactions_costs_one_epoch(talk: Talk) -> None:
    old = begun(talk, "pay", "orders-0")
    old.end(commit=True)
    talk.run(1)
    new = talk.producer("pay", "pay-2")
    assert new.init() is E.NONE
    assert new.epoch == 1
    assert old.add("orders-0") is E.PRODUCER_FENCED


# -- time ---------------------------------------------------------------------------------------------------------


def test_a_transaction_that_takes_too_long_is_aborted_and_its_owner_fenced(talk: Talk) -> None:
    producer = talk.producer("pay")
    producer.init(timeout_ms=12_000)
    producer.add("orders-0")
    producer.write("orders-0")
    begun_at = talk.cluster.now_us
    while talk.state("pay") is S.ONGOING:
        talk.run(0.1)
    waited = (talk.cluster.now_us - begun_at) // MS
    assert 11_500 < waited < 22_500, "the timeout, and up to ten seconds more"
    talk.run(1)
    assert (talk.state("pay"), talk.lso("orders-0")) == (S.COMPLETE_ABORT, 2)
    assert producer.add("orders-0") is E.PRODUCER_FENCED


def test_writing_on_does_not_prolong_a_transaction(talk: Talk) -> None:
    producer = talk.producer("pay")
    producer.init(timeout_ms=5_000)
    producer.add("orders-0")
    for _ in range(16):
        talk.run(1)
        producer.write("orders-0")
    assert talk.state("pay") is S.COMPLETE_ABORT


def test_an_id_that_nobody_uses_is_forgotten_with_a_tombstone() -> None:
    config: dict[str, int | str | bool] = {
        "transactional.id.expiration.ms": 20_000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 5_000,
    }
    talk = Talk(config=config)
    talk.run(3)
    idle, busy = begun(talk), begun(talk, "other", "orders-0")
    talk.run(40)
    assert states(talk)[-1] == "tombstone"
    assert states(talk, "other") == ["EMPTY", "ONGOING"]
    assert idle.add("orders-0") is E.INVALID_PRODUCER_ID_MAPPING
    assert busy.write("orders-0") is E.NONE
    before = idle.producer_id
    assert idle.init() is E.NONE
    assert (idle.producer_id != before, idle.epoch) == (True, 0)


# -- what can break -----------------------------------------------------------------------------------------------


def test_a_coordinator_that_cannot_write_changes_nothing() -> None:
    talk = Talk(state={"min.insync.replicas": 3})
    talk.run(3)
    producer = begun(talk, "pay", "orders-0")
    victim = next(broker for broker in (1, 2, 3) if broker not in (producer.coordinator, 1))
    talk.cluster.crash(victim)
    talk.run(30)
    assert producer.end(commit=True) is E.COORDINATOR_NOT_AVAILABLE
    assert talk.state("pay") is S.ONGOING
    talk.cluster.restart(victim)
    talk.run(15)
    assert producer.end(commit=True) is E.NONE


def test_a_new_coordinator_writes_the_markers_of_what_its_predecessor_decided(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0", "orders-1")
    old = producer.coordinator
    asked = EndTxnRequest(0, "pay", producer.producer_id, producer.epoch, True)
    producer.send(old, asked)
    while talk.state("pay") is not S.PREPARE_COMMIT:
        talk.run(0.0005)
    talk.cluster.crash(old)
    talk.run(25)
    assert producer.coordinator != old
    assert talk.state("pay") is S.COMPLETE_COMMIT
    assert talk.lso("orders-1") == talk.hw("orders-1") >= 3, "a marker may be there twice"
    assert producer.add("orders-1") is E.NONE


def test_an_open_transaction_survives_its_coordinator(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-1")
    talk.cluster.crash(producer.coordinator)
    talk.run(25)
    assert producer.write("orders-1") is E.NONE
    assert producer.end(commit=True) is E.NONE
    talk.run(1)
    assert talk.lso("orders-1") == 4


def test_markers_wait_for_a_partition_without_a_leader_and_so_does_the_next_transaction(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0", "alone-0")
    talk.cluster.crash(3)
    talk.run(30)
    assert producer.end(commit=True) is E.NONE
    talk.run(2)
    assert talk.state("pay") is S.PREPARE_COMMIT
    assert producer.add("orders-0") is E.CONCURRENT_TRANSACTIONS
    assert talk.lso("orders-0") == 3, "the other partition has its marker"
    talk.cluster.restart(3)
    talk.run(10)
    assert talk.state("pay") is S.COMPLETE_COMMIT
    assert talk.lso("alone-0") == 3


def test_a_marker_of_an_older_coordinator_is_refused_by_the_leader(talk: Talk) -> None:
    producer = begun(talk, "pay", "orders-0")
    for coordinator, error in ((5, E.NONE), (4, E.TRANSACTION_COORDINATOR_FENCED), (5, E.NONE)):
        marker = TxnMarker(producer.producer_id, producer.epoch, coordinator, False, ("orders-0", "nowhere-0"))
        answer = producer.ask(talk.cluster.query.leader("orders-0"), WriteTxnMarkersRequest(0, marker))
        assert isinstance(answer, WriteTxnMarkersResponse)
        assert dict(answer.partitions) == {"orders-0": error, "nowhere-0": E.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize(("kafka", "version", "late"), [
    ("4.1", 2, E.NONE), ("4.2", 0, E.NONE), ("4.2", 2, E.INVALID_PRODUCER_EPOCH), ("4.4", 2, E.INVALID_PRODUCER_EPOCH),
])  # fmt: skip
def test_since_4_2_a_late_marker_of_version_2_does_not_end_the_next_transaction(
    kafka: str, version: int, late: KafkaError
) -> None:
    """KIP-1228: the marker has the epoch that its transaction raised, which the next transaction uses."""
    talk = Talk(kafka)
    talk.run(3)
    producer = begun(talk, "pay", "orders-0")
    leader = talk.cluster.query.leader("orders-0")

    def mark(epoch: int) -> int:
        marker = TxnMarker(producer.producer_id, epoch, 5, False, ("orders-0",), version)
        answer = producer.ask(leader, WriteTxnMarkersRequest(0, marker))
        assert isinstance(answer, WriteTxnMarkersResponse)
        return dict(answer.partitions)["orders-0"]

    assert mark(producer.epoch) == late
    assert [mark(producer.epoch + 1), mark(producer.epoch + 1)] == [E.NONE, E.NONE], "the last one is repeated"


@pytest.mark.parametrize(("kafka", "config", "version"), [
    ("4.1", {}, 0), ("4.2", {}, 2), ("4.2", {TRANSACTION_FEATURE: 1}, 0)
])  # fmt: skip
def test_since_4_2_a_coordinator_aborts_with_the_version_of_the_cluster(
    kafka: str, config: dict[str, ConfigValue], version: int
) -> None:
    talk = Talk(kafka, config=config)
    talk.run(3)
    producer = begun(talk, "pay", "orders-0")
    epoch = producer.epoch
    assert producer.init() is E.CONCURRENT_TRANSACTIONS
    number = talk.transactions(1).registry.partition_of("pay")
    hosted = talk.cluster.brokers[talk.coordinator_of("pay")].hosted
    records = [decode(text)[1] for _offset, text in hosted.read(f"{TRANSACTIONS}-{number}")]
    aborts = [value for value in records if value is not None and value.state == S.PREPARE_ABORT]
    assert [(value.producer_epoch, value.client_version) for value in aborts] == [(epoch + 1, version)]
    talk.run(2)
    assert talk.state("pay") is S.COMPLETE_ABORT


# -- runs that are repeated ---------------------------------------------------------------------------------------


def _busy(talk: Talk) -> None:
    """Busy cluster: one transaction ends, another one starts and is taken over while a broker is down."""
    producer = talk.producer("pay", f"pay-{talk.cluster.now_us}")
    producer.init()
    producer.add("orders-0", "orders-1")
    producer.write("orders-0")
    producer.end(commit=False)
    talk.cluster.crash(2)
    talk.run(12)
    producer.init()
    talk.cluster.restart(2)
    talk.run(15)


def test_the_same_seed_reports_the_same_story() -> None:
    texts = []
    for _ in range(2):
        talk = Talk(seed=9)
        talk.run(3)
        _busy(talk)
        texts.append((talk.text(), talk.cluster.digest()))
    assert texts[0] == texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("ahead_ms", [0, 3, 6, 9, 40, 8_000])
def test_a_keyframe_in_the_middle_of_a_transaction_continues_as_it_did(talk: Talk, ahead_ms: int) -> None:
    producer = begun(talk, "pay", "orders-0", "orders-1")
    producer.send(producer.coordinator, EndTxnRequest(0, "pay", producer.producer_id, producer.epoch, True))
    talk.run(ahead_ms / 1_000)
    talk.cluster.crash(2)
    assert comes_out_again(talk.cluster, lambda cluster: cluster.run(talk.cluster.now_us + 25_000_000))
    assert talk.state("pay") is S.COMPLETE_COMMIT
