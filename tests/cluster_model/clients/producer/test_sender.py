"""What a producer sends when, and what it makes of refusals: requests, memory, identity, send modes."""

import pytest

from cluster_model.clients.producer.record_accumulator import ProducerBatch
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import RecordsAcked, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    ProduceRequest,
    ProduceResponse,
)
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, PID, SECOND, ProducerRig, state

E = KafkaError
PLAIN: dict[str, ConfigValue] = {"enable.idempotence": False}
ONE_AT_A_TIME: dict[str, ConfigValue] = {"max.in.flight.requests.per.connection": 1}


def identity(request: ProduceRequest) -> tuple[int, int, int]:
    """(producer id, epoch, Kafka's sequence) of a batch."""
    return request.producer_id, request.producer_epoch, request.sequence - request.origin


def identities(rig: ProducerRig, broker: int = 1) -> list[tuple[int, int, int]]:
    return [identity(request) for request in rig.produced(broker)]


# --- the producer id ------------------------------------------------------------------------------------------------


def asked_for_ids(rig: ProducerRig) -> list[tuple[int, int]]:
    """(time, broker) of every InitProducerId."""
    return sorted((at, broker) for broker in BROKERS for at in rig.times(InitProducerIdRequest, broker))


def test_nothing_is_sent_before_a_broker_has_given_an_id() -> None:
    rig = ProducerRig(batches=3, gives_ids=False)
    rig.make_all()
    assert (rig.produced(), rig.producer.queued) == ([], 3)
    ((_at, broker),) = asked_for_ids(rig)
    request = rig.asked(InitProducerIdRequest, broker)[0]
    rig.reply(broker, InitProducerIdResponse(request.correlation_id, 0, 4_711, 0))
    rig.run(2 * LATENCY)
    assert [(identity(each), each.records) for each in rig.produced()] == [((4_711, 0, 0), 3)]


def test_without_idempotence_no_producer_id_is_requested() -> None:
    rig = ProducerRig(config=dict(PLAIN))
    rig.make_all()
    assert asked_for_ids(rig) == []
    assert identities(rig) == [(-1, -1, 0)]


def test_a_rejected_producer_id_request_is_repeated_at_another_broker() -> None:
    rig = ProducerRig(gives_ids=False)
    rig.run(2 * LATENCY)
    ((first_at, broker),) = asked_for_ids(rig)
    number = rig.asked(InitProducerIdRequest, broker)[0].correlation_id
    rig.reply(broker, InitProducerIdResponse(number, E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1))
    rig.run(SECOND)
    (_first, (again_at, other)) = asked_for_ids(rig)
    assert (again_at - first_at, other != broker) == (3 * LATENCY + 100 * MS, True)


def test_a_broker_that_keeps_silent_about_ids_is_left_for_another() -> None:
    rig = ProducerRig(config={"request.timeout.ms": 500, "delivery.timeout.ms": 60_000}, gives_ids=False)
    rig.run(610 * MS)
    assert len(asked_for_ids(rig)) == 2
    assert len({broker for _at, broker in asked_for_ids(rig)}) == 2


def test_a_producer_id_request_moves_on_from_a_crashed_broker() -> None:
    rig = ProducerRig(gives_ids=False)
    rig.run(2 * LATENCY)
    ((_at, broker),) = asked_for_ids(rig)
    rig.network.crash(broker)
    rig.run(SECOND)
    assert [each != broker for _at, each in asked_for_ids(rig)] == [False, True]


# --- gaps (KIP-360) -------------------------------------------------------------------------------------------------


def refused(rig: ProducerRig, number: int, error: KafkaError, log_start: int = -1) -> None:
    """Refuse the request of that place among those at broker 1."""
    request = rig.produced()[number]
    rig.reply(1, ProduceResponse(request.correlation_id, request.partition, error, -1, -1, -1, log_start))
    rig.run(LATENCY)


def test_a_new_epoch_numbers_all_that_is_under_way_from_0() -> None:
    rig = ProducerRig(batches=3, batch=2)
    rig.make_all()
    assert identities(rig) == [(PID, 0, 0), (PID, 0, 2), (PID, 0, 4)]
    for number in range(3):
        refused(rig, number, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    for _round in range(3):
        rig.run(SECOND)
        rig.answer(rig.produced()[-1])
    assert identities(rig)[3:] == [(PID, 1, 0), (PID, 1, 2), (PID, 1, 4)]
    assert rig.books() == {"acked": 6, "failed": 0, "unknown": 0}


def test_a_gap_behind_an_acknowledged_batch_raises_the_epoch_too() -> None:
    rig = ProducerRig(batches=2)
    rig.make_all()
    rig.answer(rig.produced()[0])
    refused(rig, 1, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.run(SECOND)
    assert identities(rig)[2:] == [(PID, 1, 0)]


def test_behind_the_last_epoch_comes_a_new_id() -> None:
    rig = ProducerRig(batches=1, gives_ids=False)
    rig.run(2 * LATENCY)
    ((_at, broker),) = asked_for_ids(rig)
    rig.reply(broker, InitProducerIdResponse(1, 0, 4_711, 32_767))
    rig.make_all()
    refused(rig, 0, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.run(SECOND)
    other = asked_for_ids(rig)[-1][1]
    rig.reply(other, InitProducerIdResponse(2, 0, 4_712, 0))
    rig.run(SECOND)
    assert identities(rig) == [(4_711, 32_767, 0), (4_712, 0, 0)]


@pytest.mark.parametrize(("log_start", "epoch"), [(-1, 0), (5, 1)])
def test_a_forgotten_producer_tries_again_and_raises_the_epoch_if_the_log_start_is_reported(
    log_start: int, epoch: int
) -> None:
    rig = ProducerRig()
    rig.make_all()
    refused(rig, 0, E.UNKNOWN_PRODUCER_ID, log_start)
    rig.run(SECOND)
    assert identities(rig)[1:] == [(PID, epoch, 0)]


def test_a_duplicate_older_than_the_broker_remembers_counts_as_written_without_a_place() -> None:
    rig = ProducerRig()
    rig.make_all()
    refused(rig, 0, E.DUPLICATE_SEQUENCE_NUMBER)
    assert rig.books() == {"acked": 1, "failed": 0, "unknown": 0}
    assert rig.of(RecordsAcked)[0].log_offset == -1


def test_before_kip_360_a_gap_fails_the_batch_and_costs_the_id() -> None:
    config: dict[str, ConfigValue] = {"enable.idempotence": True, "acks": "all"}
    rig = ProducerRig(kafka="2.4", config=config, batches=2)
    rig.make_all()
    refused(rig, 0, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    refused(rig, 1, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.run(SECOND)
    assert rig.books() == {"acked": 0, "failed": 2, "unknown": 0}
    assert [event.error for event in rig.of(RecordsFailed)] == ["OUT_OF_ORDER_SEQUENCE_NUMBER"] * 2
    assert len(asked_for_ids(rig)) == 2
    assert len(rig.produced()) == 2


def test_after_a_batch_ran_out_of_retries_nothing_new_is_sent_until_the_others_tell() -> None:
    rig = ProducerRig(batches=2, config={"retries": 1, "linger.ms": 0})
    rig.make_all()
    refused(rig, 0, E.REQUEST_TIMED_OUT)
    rig.run(200 * MS)
    refused(rig, 2, E.REQUEST_TIMED_OUT)
    assert rig.producer.unknown == 1
    rig.producer._accumulator.add("t-0", 1, rig.now)
    rig.producer._sender.send_ready()
    rig.run(SECOND)
    assert rig.sequences() == [0, 1, 0]
    rig.answer(rig.produced()[1])
    rig.run(LATENCY)
    assert identities(rig)[3:] == [(PID, 0, 2)]


def test_if_none_of_the_others_was_written_the_epoch_is_raised() -> None:
    rig = ProducerRig(batches=1, config={"retries": 1})
    rig.make_all()
    refused(rig, 0, E.REQUEST_TIMED_OUT)
    rig.run(200 * MS)
    refused(rig, 1, E.REQUEST_TIMED_OUT)
    rig.producer._accumulator.add("t-0", 1, rig.now)
    rig.producer._sender.send_ready()
    rig.run(LATENCY)
    assert identities(rig)[2:] == [(PID, 1, 0)]


def test_a_batch_that_never_was_sent_leaves_no_gap() -> None:
    rig = ProducerRig(leaders=(-1,), batches=1, config={"delivery.timeout.ms": 2_000, "request.timeout.ms": 2_000})
    rig.make_all()
    rig.run(2 * SECOND)
    assert rig.books()["failed"] == 1
    rig.producer._accumulator.add("t-0", 1, rig.now)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
    rig.run(2 * LATENCY)
    assert [(request.sequence, identity(request)) for request in rig.produced()] == [(1, (PID, 0, 0))]


# --- retries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "pause"), [("3.6", 100 * MS), ("3.7", 0)])
def test_a_new_leader_epoch_ends_the_pause_since_3_7(kafka: str, pause: int) -> None:
    rig = ProducerRig(kafka=kafka, config={"retry.backoff.ms": 100})
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_LEADER_OR_FOLLOWER)
    refused_at = rig.now
    rig.run(2 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 3, 1))
    rig.run(SECOND)
    told_at = refused_at + 3 * LATENCY
    assert rig.times(ProduceRequest, 3) == [max(told_at, refused_at + pause) + LATENCY]


def test_the_same_leader_epoch_does_not() -> None:
    rig = ProducerRig(config={"retry.backoff.ms": 100})
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_LEADER_OR_FOLLOWER)
    rig.run(2 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
    rig.run(70 * MS)
    assert len(rig.produced()) == 1


@pytest.mark.parametrize(("kafka", "order"), [("1.1", [0, 1, 2]), ("2.0", [2, 1, 0]), ("2.8", [2, 1, 0])])
def test_without_idempotence_a_broken_connection_turns_the_order_round_since_2_0(kafka: str, order: list[int]) -> None:
    rig = ProducerRig(kafka=kafka, batches=3, config={"retries": 5})
    rig.make_all()
    assert rig.sequences() == [0, 1, 2]
    rig.network.crash(1)
    rig.run(2 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 3, 1))
    rig.run(SECOND)
    assert rig.sequences(3) == order


def test_a_batch_too_large_for_the_broker_is_sent_again_in_pieces() -> None:
    rig = ProducerRig(batch=5, record_bytes=100, config={"batch.size": 200, "retries": 1})
    rig.make_all()
    refused(rig, 0, E.MESSAGE_TOO_LARGE)
    rig.run(2 * LATENCY)
    pieces = rig.produced()[1:]
    assert [(each.sequence, each.records, identity(each)) for each in pieces] == [(0, 2, (PID, 0, 0))]
    for number in (1, 2, 3):
        rig.answer(rig.produced()[number], offset=number)
        rig.run(2 * LATENCY)
    assert [(each.sequence, each.records, identity(each)) for each in rig.produced()[2:]] == [
        (2, 2, (PID, 0, 2)), (4, 1, (PID, 0, 4))
    ]  # fmt: skip
    assert rig.books() == {"acked": 5, "failed": 0, "unknown": 0}
    assert rig.producer._accumulator.used == 0


def test_pieces_of_a_batch_keep_the_time_of_each_record() -> None:
    batch = ProducerBatch("t-0", 10, 2, 100)
    batch.join(1, 100)
    batch.join(2, 130)
    batch.join(1, 150)
    assert batch.by_send_time() == [(0, 3, 100), (3, 2, 130), (5, 1, 150)]
    pieces = [piece.by_send_time() for piece in ProducerBatch.from_saved(batch.save()).split(4)]
    assert pieces == [[(0, 3, 100), (3, 1, 130)], [(0, 1, 130), (1, 1, 150)]]


def test_a_single_record_too_large_for_the_broker_fails() -> None:
    rig = ProducerRig()
    rig.make_all()
    refused(rig, 0, E.MESSAGE_TOO_LARGE)
    rig.run(SECOND)
    assert (rig.books()["failed"], len(rig.produced())) == (1, 1)


def test_before_0_11_a_batch_too_large_is_given_up() -> None:
    rig = ProducerRig(kafka="0.10.2", batch=5, record_bytes=100, config={"batch.size": 200})
    rig.make_all()
    refused(rig, 0, E.MESSAGE_TOO_LARGE)
    rig.run(SECOND)
    assert (rig.books()["failed"], len(rig.produced())) == (5, 1)


# --- requests -------------------------------------------------------------------------------------------------------


def lingering(**config: ConfigValue) -> ProducerRig:
    """Two partitions at one broker: the first has lingered at 110 ms, the second would at 120 ms."""
    settings: dict[str, ConfigValue] = {"linger.ms": 100, **{name.replace("_", "."): v for name, v in config.items()}}
    rig = ProducerRig(leaders=(1, 1), batches=2, config=settings)
    rig.make_all()
    rig.run(110 * MS + LATENCY - rig.now)
    return rig


def test_a_request_takes_along_what_lingers_for_the_same_broker() -> None:
    rig = lingering()
    assert [request.partition for request in rig.produced()] == ["t-0", "t-1"]
    assert len(set(rig.times(ProduceRequest, 1))) == 1


def test_a_request_has_no_more_bytes_than_allowed_but_one_batch_at_least() -> None:
    rig = lingering(max_request_size=399)
    assert [request.partition for request in rig.produced()] == ["t-0"]
    assert len(lingering(max_request_size=400).produced()) == 2


def test_a_batch_larger_than_a_request_may_be_goes_alone() -> None:
    rig = ProducerRig(leaders=(1, 1), batch=2, batches=2, config={"max.request.size": 399})
    rig.make_all()
    assert [(request.partition, request.size) for request in rig.produced()] == [("t-0", 400), ("t-1", 400)]
    lingerer = ProducerRig(leaders=(1, 1), batch=2, batches=2, config={"max.request.size": 399, "linger.ms": 100})
    lingerer.run(110 * MS + LATENCY)
    assert [request.partition for request in lingerer.produced()] == ["t-0"]


def test_a_request_is_answered_when_its_last_partition_is() -> None:
    rig = lingering(**{"max.in.flight.requests.per.connection": 1})
    first, second = rig.produced()
    rig.answer(second, offset=9)
    assert rig.books()["acked"] == 0
    rig.producer._accumulator.add("t-0", 1, rig.now)
    rig.run(SECOND)
    assert len(rig.produced()) == 2
    rig.answer(first, E.NOT_ENOUGH_REPLICAS)
    assert (rig.books()["acked"], rig.producer.refused) == (1, 1)
    rig.run(SECOND)
    assert [request.sequence for request in rig.produced()[2:]] == [0]


def test_a_request_times_out_as_a_whole() -> None:
    rig = lingering(**{"request.timeout.ms": 500, "retries": 0})
    rig.answer(rig.produced()[1])
    rig.run(SECOND)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 2}
    assert {event.error for event in rig.of(RecordsUnknown)} == {"REQUEST_TIMED_OUT"}


def test_a_slot_stays_taken_by_a_request_whose_batch_has_expired() -> None:
    rig = ProducerRig(
        batches=1, config={**ONE_AT_A_TIME, "delivery.timeout.ms": 2_000, "request.timeout.ms": 1_995, "linger.ms": 0}
    )
    rig.producer._sender.send_ready()
    rig.make_all()
    created = rig.of(RecordsSent)[0].at_us
    assert rig.times(ProduceRequest, 1) == [created + LATENCY]
    rig.run(created + 1_995 * MS - rig.now)
    assert rig.producer.refused == 1


def test_with_one_in_flight_a_partition_waits_for_its_answer_even_if_its_leader_has_moved() -> None:
    rig = ProducerRig(batches=2, config={**ONE_AT_A_TIME, "metadata.max.age.ms": 50})
    rig.run(60 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 2, 1))
    rig.run(2 * LATENCY)
    assert (rig.sequences(1), rig.sequences(2)) == ([0], [])
    rig.answer(rig.produced(1)[0])
    rig.run(LATENCY)
    assert rig.sequences(2) == [1]


def test_with_acks_0_an_error_closes_the_connection_and_refreshes_metadata() -> None:
    rig = ProducerRig(batches=2, config={"acks": "0"})
    rig.run(15 * MS)
    request = rig.produced()[0]
    rig.reply(1, ProduceResponse(request.correlation_id, "t-0", E.NOT_LEADER_OR_FOLLOWER, -1, -1, -1))
    rig.make_all()
    assert rig.books() == {"acked": 1, "failed": 0, "unknown": 0}
    rig.run(100 * MS)
    assert rig.books() == {"acked": 2, "failed": 0, "unknown": 0}
    assert len(rig.metadata_asked()) == 1
    assert rig.times(MetadataRequest, 1) == []


# --- memory ---------------------------------------------------------------------------------------------------------

TIGHT: dict[str, ConfigValue] = {"buffer.memory": 2_000, "batch.size": 1_000, "linger.ms": 0}


def test_a_record_larger_than_a_request_or_the_memory_fails_at_once() -> None:
    for name, value, fails in (("max.request.size", 281, 1), ("max.request.size", 282, 0), ("buffer.memory", 281, 1)):
        rig = ProducerRig(config={name: value, "batch.size": 100})
        rig.make_all()
        assert rig.books()["failed"] == fails
        assert [(event.error, event.sequence) for event in rig.of(RecordsFailed)] == [("MESSAGE_TOO_LARGE", -1)] * fails
        assert len(rig.produced()) == 1 - fails


def test_send_blocks_while_the_memory_is_full_and_continues_when_a_batch_is_settled() -> None:
    rig = ProducerRig(batches=6, record_bytes=600, config=TIGHT)
    rig.make_all()
    assert (rig.producer.sent, len(rig.produced())) == (2, 2)
    rig.answer(rig.produced()[0])
    assert rig.producer.sent == 3
    assert rig.of(RecordsSent)[2].at_us == rig.now
    assert rig.producer._accumulator.used == 2_000


def test_a_block_that_lasts_too_long_fails_the_record() -> None:
    rig = ProducerRig(batches=3, record_bytes=600, config={**TIGHT, "max.block.ms": 500})
    rig.make_all()
    rig.run(SECOND)
    failed = rig.of(RecordsFailed)[0]
    assert (failed.error, failed.latency_us, failed.sequence) == ("BufferExhaustedException", 500 * MS, -1)
    assert rig.books() == {"acked": 0, "failed": 1, "unknown": 0}


def test_nothing_lingers_while_somebody_waits_for_memory() -> None:
    rig = ProducerRig(batches=3, record_bytes=600, leaders=(1, 2, 3), config={**TIGHT, "linger.ms": 5_000})
    rig.make_all()
    assert (len(rig.produced(1)), len(rig.produced(2))) == (1, 1)


def test_batch_size_0_sends_records_passed_together_one_by_one() -> None:
    rig = ProducerRig(batches=1, batch=3, config={"batch.size": 0})
    rig.make_all()
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 1), (1, 1), (2, 1)]


# --- send modes -----------------------------------------------------------------------------------------------------


def test_a_synchronous_sender_has_one_record_outstanding() -> None:
    rig = ProducerRig(batches=4, send="sync")
    rig.make_all()
    assert (rig.producer.sent, rig.sequences()) == (1, [0])
    rig.answer(rig.produced()[0])
    rig.run(LATENCY)
    assert (rig.producer.sent, rig.sequences()) == (2, [0, 1])


def test_a_synchronous_sender_hands_over_its_records_one_after_the_other() -> None:
    rig = ProducerRig(batches=1, batch=3, send="sync")
    rig.make_all()
    for number in range(3):
        assert [(request.sequence, request.records) for request in rig.produced()] == [
            (each, 1) for each in range(number + 1)
        ]
        rig.answer(rig.produced()[-1])
        rig.run(LATENCY)
    assert rig.books()["acked"] == 3


def test_a_synchronous_sender_continues_after_a_failure() -> None:
    rig = ProducerRig(batches=3, send="sync", config={"retries": 0, **PLAIN})
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.run(LATENCY)
    assert (rig.books()["failed"], rig.sequences()) == (1, [0, 1])


def test_a_synchronous_sender_with_acks_0_waits_for_nothing() -> None:
    rig = ProducerRig(batches=4, batch=2, send="sync", config={"acks": "0"})
    rig.make_all()
    assert rig.books()["acked"] == 8


def test_a_producer_that_ignores_outcomes_sends_alike() -> None:
    rigs = [ProducerRig(batches=4, send=send) for send in ("async", "fire_and_forget")]
    for rig in rigs:
        rig.make_all()
    assert rigs[0].produced() == rigs[1].produced()
