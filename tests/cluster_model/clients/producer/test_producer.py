"""A producer against brokers that answer as the test says: fates, retries, order, limits, metadata."""

import pytest

from cluster_model.protocol.errors import RETRIABLE, KafkaError
from cluster_model.protocol.events import ProduceRefused, RecordsAcked, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.protocol.messages import ProduceRequest
from tests.cluster_model.rigs import LATENCY, MS, PID, SECOND, ProducerRig

E = KafkaError
ONCE = {"retries": 0}
PLAIN = {"enable.idempotence": False}


def identity(request: ProduceRequest) -> tuple[int, int, int]:
    """(producer id, epoch, Kafka's sequence) of a batch."""
    return request.producer_id, request.producer_epoch, request.sequence - request.origin


# --- fates ----------------------------------------------------------------------------------------------------------


def test_an_acknowledged_batch_is_reported_with_its_place_and_its_latency() -> None:
    rig = ProducerRig(batch=3)
    rig.make_all()
    rig.answer(rig.produced()[0], offset=40)
    made = rig.of(RecordsSent)[0]
    assert (made.sequence, made.count, made.acks) == (0, 3, -1)
    acked = rig.of(RecordsAcked)[0]
    assert (acked.partition, acked.sequence, acked.count, acked.broker) == ("t-0", 0, 3, 1)
    assert (acked.log_offset, acked.leader_epoch, acked.log_branch) == (40, 4, 7)
    assert acked.latency_us == acked.at_us - made.at_us
    assert rig.books() == {"acked": 3, "failed": 0, "unknown": 0}
    assert (rig.producer.sent, rig.producer.in_flight, rig.producer.queued) == (3, 0, 0)


def test_each_record_of_a_batch_has_its_own_latency() -> None:
    rig = ProducerRig(batches=4, interval=2 * MS, config={"linger.ms": 60})
    rig.make_all()
    rig.run(100 * MS)
    [request] = rig.produced()
    rig.answer(request, offset=40)
    made, acked = rig.of(RecordsSent), rig.of(RecordsAcked)
    assert [(each.sequence, each.count, each.log_offset) for each in acked] == [(n, 1, 40 + n) for n in range(4)]
    assert [each.latency_us for each in acked] == [
        each.at_us - sent.at_us for each, sent in zip(acked, made, strict=True)
    ]
    assert len({each.latency_us for each in acked}) == 4
    assert len({each.at_us for each in acked}) == 1


@pytest.mark.parametrize(
    ("acks", "error", "fate"),
    [
        ("all", E.NOT_ENOUGH_REPLICAS, "failed"),
        ("all", E.UNKNOWN_TOPIC_OR_PARTITION, "unknown"),
        ("all", E.INVALID_REQUIRED_ACKS, "failed"),
        ("all", E.OUT_OF_ORDER_SEQUENCE_NUMBER, "failed"),
        ("all", E.NOT_LEADER_OR_FOLLOWER, "unknown"),
        ("all", E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, "unknown"),
        ("all", E.REQUEST_TIMED_OUT, "unknown"),
        ("1", E.NOT_LEADER_OR_FOLLOWER, "failed"),
        ("1", E.UNKNOWN_TOPIC_OR_PARTITION, "failed"),
        ("1", E.REQUEST_TIMED_OUT, "unknown"),
    ],
)
def test_an_error_fails_a_batch_only_if_it_proves_that_nothing_was_written(
    acks: str, error: KafkaError, fate: str
) -> None:
    rig = ProducerRig(config={"acks": acks, **ONCE})
    rig.make_all()
    rig.answer(rig.produced()[0], error)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 0, fate: 1}
    ended = [event.error for event in rig.of(RecordsFailed)] + [event.error for event in rig.of(RecordsUnknown)]
    assert ended == [error.name]
    assert (rig.producer.refused, rig.producer.last_error) == (1, error.name)


def test_a_broken_connection_leaves_the_outcome_unknown() -> None:
    rig = ProducerRig(config=dict(ONCE))
    rig.make_all()
    rig.network.crash(1)
    rig.run(LATENCY)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 1}
    assert rig.of(RecordsUnknown)[0].error == "NETWORK_EXCEPTION"


def test_silence_until_the_request_timeout_leaves_the_outcome_unknown() -> None:
    rig = ProducerRig(config={"request.timeout.ms": 500, **ONCE})
    rig.make_all()
    sent_at = rig.times(ProduceRequest, 1)[0] - LATENCY
    rig.network.power_off(1)
    rig.run(sent_at + 500 * MS - 1 - rig.now)
    assert rig.books()["unknown"] == 0
    rig.run(1)
    assert rig.of(RecordsUnknown)[0].error == "REQUEST_TIMED_OUT"


def test_a_batch_that_may_have_been_written_once_stays_unknown_whatever_comes_later() -> None:
    rig = ProducerRig(config={"retries": 1, **PLAIN})
    rig.make_all()
    rig.answer(rig.produced()[0], E.REQUEST_TIMED_OUT)
    rig.run(150 * MS)
    rig.answer(rig.produced()[1], E.NOT_ENOUGH_REPLICAS)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 1}
    assert rig.of(RecordsUnknown)[0].error == "NOT_ENOUGH_REPLICAS"


def test_a_batch_of_which_every_attempt_was_refused_up_front_has_failed() -> None:
    rig = ProducerRig(config={"retries": 1, **PLAIN})
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.run(150 * MS)
    rig.answer(rig.produced()[1], E.NOT_ENOUGH_REPLICAS)
    assert rig.books() == {"acked": 0, "failed": 1, "unknown": 0}


def test_a_batch_that_was_never_sent_fails_when_its_time_is_over() -> None:
    rig = ProducerRig(leaders=(-1,), config={"delivery.timeout.ms": 40_000})
    rig.make_all()
    made_at = rig.of(RecordsSent)[0].at_us
    rig.run(made_at + 40 * SECOND - 1 - rig.now)
    assert rig.books()["failed"] == 0
    rig.run(1)
    assert rig.of(RecordsFailed)[0].error == "REQUEST_TIMED_OUT"
    assert rig.of(RecordsFailed)[0].latency_us == 40 * SECOND
    assert rig.produced() == []


def test_a_batch_in_flight_when_its_time_is_over_is_unknown_and_a_late_answer_changes_nothing() -> None:
    rig = ProducerRig(config={"delivery.timeout.ms": 2_000, "request.timeout.ms": 2_000})
    rig.make_all()
    rig.run(2 * SECOND)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 1}
    assert rig.of(RecordsUnknown)[0].latency_us == 2 * SECOND
    rig.answer(rig.produced()[0])
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 1}
    assert (rig.producer.in_flight, rig.producer.queued) == (0, 0)


def test_an_answer_to_an_attempt_that_was_given_up_is_not_taken_for_the_retrys() -> None:
    rig = ProducerRig(config={"request.timeout.ms": 500})
    rig.make_all()
    rig.run(700 * MS)
    first, second = rig.produced()
    assert first.correlation_id != second.correlation_id
    rig.answer(first, E.NOT_ENOUGH_REPLICAS)
    assert rig.producer.in_flight == 1
    rig.answer(second)
    assert rig.books() == {"acked": 1, "failed": 0, "unknown": 0}


def test_every_record_has_exactly_one_fate() -> None:
    rig = ProducerRig(batches=6, config={"retries": 0, "delivery.timeout.ms": 60_000})
    rig.make_all()
    answers = [E.NONE, E.NOT_ENOUGH_REPLICAS, E.REQUEST_TIMED_OUT, E.NONE]
    for request, error in zip(rig.produced(), answers, strict=False):
        rig.answer(request, error)
    rig.network.crash(1)
    rig.run(70 * SECOND)
    books = rig.books()
    assert sum(books.values()) == rig.producer.sent == 6
    assert books == {"acked": 2, "failed": 1, "unknown": 3}


# --- retries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [error for error in KafkaError if error is not E.NONE], ids=lambda error: error.name)
def test_an_error_is_tried_again_exactly_if_kafka_calls_it_retriable(error: KafkaError) -> None:
    rig = ProducerRig(config=dict(PLAIN))
    rig.make_all()
    rig.answer(rig.produced()[0], error)
    rig.run(SECOND)
    assert len(rig.produced()) == (2 if error in RETRIABLE else 1)
    assert sum(rig.books().values()) == (0 if error in RETRIABLE else 1)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_retries_are_counted_beyond_the_first_attempt(retries: int) -> None:
    rig = ProducerRig(config={"retries": retries, **PLAIN})
    rig.make_all()
    for attempt in range(retries + 1):
        assert len(rig.produced()) == attempt + 1
        rig.answer(rig.produced()[-1], E.NOT_ENOUGH_REPLICAS)
        rig.run(2 * SECOND)
    assert len(rig.produced()) == retries + 1
    assert rig.producer.failed == 1


def pauses(kafka: str, config: dict[str, int | str | bool]) -> list[int]:
    """Time from each refusal to the next attempt."""
    rig = ProducerRig(kafka=kafka, config={"acks": "all", "retries": 99, **config})
    rig.make_all()
    found: list[int] = []
    for _attempt in range(7):
        rig.answer(rig.produced()[-1], E.NOT_ENOUGH_REPLICAS)
        refused, before = rig.now, len(rig.produced())
        while len(rig.produced()) == before:
            rig.run(MS)
        found.append((rig.times(ProduceRequest, 1)[-1] - LATENCY - refused) // MS)
    return found


@pytest.mark.parametrize(
    ("kafka", "config", "middle"),
    [
        ("3.7", {}, [100, 200, 400, 800, 1_000, 1_000, 1_000]),
        ("4.1", {"retry.backoff.ms": 10, "retry.backoff.max.ms": 50}, [10, 20, 40, 50, 50, 50, 50]),
    ],
)
def test_since_3_7_pauses_double_up_to_the_longest_and_vary_by_a_fifth(
    kafka: str, config: dict[str, int | str | bool], middle: list[int]
) -> None:
    found = pauses(kafka, config)
    longest = middle[-1]
    assert all(
        each * 8 // 10 <= pause <= min(each * 12 // 10, longest) for pause, each in zip(found, middle, strict=True)
    )
    assert found != [min(each, longest) for each in middle]


def test_pauses_are_spread_over_the_whole_fifth() -> None:
    rig = ProducerRig()
    stream = rig.streams.named("retry:p")
    drawn = [rig.config.pause_us(1, stream) for _each in range(2_000)]
    assert (min(drawn), max(drawn)) == (80 * MS, 120 * MS)
    assert 99 * MS < sum(drawn) // len(drawn) < 101 * MS
    assert max(rig.config.pause_us(9, stream) for _each in range(100)) == SECOND


def test_pauses_without_room_to_grow_do_not_vary() -> None:
    assert pauses("3.9", {"retry.backoff.ms": 500, "retry.backoff.max.ms": 200}) == [200] * 7


def test_before_3_7_pauses_are_all_alike() -> None:
    assert pauses("3.6", {}) == [100] * 7
    assert pauses("2.8", {"retry.backoff.ms": 30}) == [30] * 7


def test_a_batch_whose_time_is_over_is_not_tried_again() -> None:
    rig = ProducerRig(
        config={
            "delivery.timeout.ms": 300,
            "request.timeout.ms": 200,
            "retry.backoff.ms": 1_000,
            "retry.backoff.max.ms": 1_000,
        }
    )
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.run(5 * SECOND)
    assert len(rig.produced()) == 1
    assert rig.books() == {"acked": 0, "failed": 1, "unknown": 0}


def test_each_attempt_that_fails_is_reported() -> None:
    rig = ProducerRig()
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    refused = rig.of(ProduceRefused)
    assert [(event.error, event.broker, event.sequence, event.count) for event in refused] == [
        ("NOT_ENOUGH_REPLICAS", 1, 0, 1)
    ]


# --- order ----------------------------------------------------------------------------------------------------------


def test_without_idempotence_a_retry_comes_behind_the_batches_that_overtook_it() -> None:
    rig = ProducerRig(batches=3, config=dict(PLAIN))
    rig.make_all()
    first, second, third = rig.produced()
    rig.answer(first, E.NOT_ENOUGH_REPLICAS)
    rig.answer(second, offset=0)
    rig.answer(third, offset=1)
    rig.run(200 * MS)
    assert rig.sequences() == [0, 1, 2, 0]
    assert [request.producer_id for request in rig.produced()] == [-1] * 4


def test_a_batch_that_backs_off_holds_up_those_behind_it() -> None:
    rig = ProducerRig(kafka="3.6", batches=1, config=dict(PLAIN))
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.producer._accumulator.add("t-0", 1, rig.now)
    rig.producer._sender.send_ready()
    rig.run(99 * MS)
    assert rig.sequences() == [0]
    rig.run(10 * MS)
    assert rig.sequences() == [0, 0, 1]


def test_with_idempotence_retries_go_one_at_a_time_in_order_of_their_sequences() -> None:
    rig = ProducerRig(batches=3)
    rig.make_all()
    first, second, third = rig.produced()
    rig.answer(first, E.NOT_LEADER_OR_FOLLOWER)
    rig.answer(second, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.answer(third, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    for expected in ([0], [0, 1], [0, 1, 2]):
        rig.run(SECOND)
        rig.producer._sender.send_ready()
        rig.run(LATENCY)
        assert rig.sequences()[3:] == expected
        rig.answer(rig.produced()[-1], offset=expected[-1])
    assert [acked.sequence for acked in rig.of(RecordsAcked)] == [0, 1, 2]


def test_the_order_in_which_refusals_arrive_does_not_matter() -> None:
    rig = ProducerRig(batches=3)
    rig.make_all()
    for request in reversed(rig.produced()):
        rig.answer(request, E.REQUEST_TIMED_OUT)
    for _round in range(3):
        rig.run(SECOND)
        rig.answer(rig.produced()[-1])
    assert rig.sequences()[3:] == [0, 1, 2]


def test_a_retry_carries_the_identity_and_sequence_of_the_first_attempt() -> None:
    rig = ProducerRig(batch=2)
    rig.make_all()
    rig.answer(rig.produced()[0], E.REQUEST_TIMED_OUT)
    rig.run(SECOND)
    first, second = rig.produced()
    assert first.producer_id >= 0
    assert second == first._replace(correlation_id=second.correlation_id, request=second.correlation_id)


def test_the_retry_of_the_lowest_sequence_does_not_wait_for_answers_to_later_ones() -> None:
    rig = ProducerRig(batches=3)
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_LEADER_OR_FOLLOWER)
    rig.answer(rig.produced()[1], E.NOT_LEADER_OR_FOLLOWER)
    rig.run(SECOND)
    assert rig.sequences()[3:] == [0]


def test_an_out_of_order_batch_behind_one_that_is_retried_is_retried_unchanged() -> None:
    rig = ProducerRig(batches=2)
    rig.make_all()
    first, second = rig.produced()
    rig.answer(first, E.REQUEST_TIMED_OUT)
    rig.answer(second, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.run(SECOND)
    rig.answer(rig.produced()[2])
    rig.run(SECOND)
    assert {request.producer_id for request in rig.produced()} == {first.producer_id}


def test_an_out_of_order_batch_that_is_next_in_line_continues_under_a_new_epoch() -> None:
    rig = ProducerRig(batches=2)
    rig.make_all()
    first, second = rig.produced()
    rig.answer(first, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.answer(second, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.run(SECOND)
    rig.answer(rig.produced()[2])
    rig.run(SECOND)
    rig.answer(rig.produced()[3])
    third, fourth = rig.produced()[2:]
    assert [identity(request) for request in rig.produced()] == [
        (PID, 0, 0), (PID, 0, 1), (PID, 1, 0), (PID, 1, 1)
    ]  # fmt: skip
    assert (third.sequence, fourth.sequence) == (0, 1)
    assert rig.books() == {"acked": 2, "failed": 0, "unknown": 0}


def test_another_partition_takes_the_new_epoch_only_when_its_old_batches_are_through() -> None:
    rig = ProducerRig(leaders=(1, 1), batches=2)
    rig.make_all()
    first, other = rig.produced()
    rig.answer(first, E.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.producer._accumulator.add("t-1", 1, rig.now)
    rig.run(SECOND)
    assert [request.sequence for request in rig.produced() if request.partition == "t-1"] == [0]
    rig.answer(other)
    rig.run(LATENCY)
    newest = rig.produced()[-1]
    assert (newest.partition, newest.sequence) == ("t-1", 1)
    assert (identity(other), identity(newest)) == ((PID, 0, 0), (PID, 1, 0))


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_more_requests_are_in_flight_to_a_broker_than_allowed(limit: int) -> None:
    rig = ProducerRig(
        batches=8, config={"max.in.flight.requests.per.connection": limit, "batch.size": 1, "linger.ms": 0}
    )
    rig.make_all()
    answered = 0
    while answered < 8:
        assert len(rig.produced()) == min(8, answered + limit)
        rig.answer(rig.produced()[answered])
        answered += 1
        rig.run(LATENCY)
    assert rig.sequences() == list(range(8))


def test_the_limit_counts_each_connection_for_itself() -> None:
    rig = ProducerRig(leaders=(1, 2), batches=8, config={"max.in.flight.requests.per.connection": 2, "batch.size": 1})
    rig.make_all()
    assert (len(rig.produced(1)), len(rig.produced(2)), rig.producer.in_flight) == (2, 2, 4)
    rig.answer(rig.produced(2)[0], broker=2)
    rig.run(LATENCY)
    assert (len(rig.produced(1)), len(rig.produced(2))) == (2, 3)


def test_with_one_in_flight_a_retry_is_never_overtaken() -> None:
    rig = ProducerRig(batches=3, config={"max.in.flight.requests.per.connection": 1, "batch.size": 1, **PLAIN})
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    for _round in range(3):
        rig.run(SECOND)
        rig.answer(rig.produced()[-1])
    assert rig.sequences() == [0, 0, 1, 2]


def test_a_timed_out_request_closes_the_connection_and_takes_its_other_requests_along() -> None:
    rig = ProducerRig(leaders=(1, 2), batches=4, config={"request.timeout.ms": 500, **ONCE, **PLAIN})
    rig.make_all()
    rig.run(500 * MS - 30 * MS)
    errors = [(event.broker, event.error) for event in rig.of(ProduceRefused)]
    assert errors[:2] == [(1, "REQUEST_TIMED_OUT"), (1, "NETWORK_EXCEPTION")]
    assert all(event.at_us == rig.of(ProduceRefused)[0].at_us for event in rig.of(ProduceRefused)[:2])
    rig.run(SECOND)
    errors = [(event.broker, event.error) for event in rig.of(ProduceRefused)]
    assert errors[2:] == [(2, "REQUEST_TIMED_OUT"), (2, "NETWORK_EXCEPTION")]


def test_a_crash_of_one_broker_is_no_matter_to_requests_at_another() -> None:
    rig = ProducerRig(leaders=(1, 2), batches=2)
    rig.make_all()
    rig.network.crash(1)
    rig.run(LATENCY)
    assert [event.broker for event in rig.of(ProduceRefused)] == [1]
    rig.answer(rig.produced(2)[0], broker=2)
    assert rig.books()["acked"] == 1


# --- acks=0 ---------------------------------------------------------------------------------------------------------


def test_with_acks_0_a_record_counts_as_soon_as_it_is_sent() -> None:
    rig = ProducerRig(batches=12, config={"acks": "0"})
    rig.make_all()
    assert len(rig.produced()) == 12
    assert rig.books() == {"acked": 12, "failed": 0, "unknown": 0}
    acked = rig.of(RecordsAcked)[0]
    assert (acked.log_offset, acked.leader_epoch, acked.log_branch, acked.latency_us) == (-1, -1, -1, 0)
    assert (rig.producer.in_flight, rig.producer.queued) == (0, 0)


def test_with_acks_0_a_dead_broker_is_never_noticed_in_the_statistics() -> None:
    rig = ProducerRig(batches=5, config={"acks": "0"})
    rig.run(15 * MS)
    rig.network.power_off(1)
    rig.make_all()
    assert rig.books() == {"acked": 5, "failed": 0, "unknown": 0}


# --- batches --------------------------------------------------------------------------------------------------------


def test_a_batch_waits_for_company_until_its_linger_is_over() -> None:
    rig = ProducerRig(batches=5, config={"linger.ms": 35})
    rig.make_all()
    rig.run(100 * MS)
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 4), (4, 1)]
    assert rig.times(ProduceRequest, 1) == [45 * MS + LATENCY, 85 * MS + LATENCY]


def test_a_full_batch_does_not_wait() -> None:
    rig = ProducerRig(batches=4, record_bytes=100, config={"linger.ms": 1_000, "batch.size": 200})
    rig.make_all()
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 2), (2, 2)]
    assert rig.times(ProduceRequest, 1) == [20 * MS + LATENCY, 40 * MS + LATENCY]


def test_a_batch_is_closed_by_the_one_behind_it() -> None:
    rig = ProducerRig(batches=3, record_bytes=100, config={"linger.ms": 1_000, "batch.size": 250})
    rig.make_all()
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 2)]
    assert rig.times(ProduceRequest, 1) == [30 * MS + LATENCY]


def test_a_batch_in_flight_is_no_company() -> None:
    rig = ProducerRig(batches=2, interval=50 * MS, config={"linger.ms": 40})
    rig.run(200 * MS)
    assert rig.times(ProduceRequest, 1) == [90 * MS + LATENCY, 140 * MS + LATENCY]


def test_batch_size_0_sends_every_record_by_itself() -> None:
    rig = ProducerRig(batches=3, config={"linger.ms": 1_000, "batch.size": 0})
    rig.make_all()
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 1), (1, 1), (2, 1)]


def test_records_gather_in_one_batch_while_the_connection_is_full() -> None:
    rig = ProducerRig(batches=6, config={"max.in.flight.requests.per.connection": 1})
    rig.make_all()
    assert (rig.sequences(), rig.producer.queued) == ([0], 5)
    rig.answer(rig.produced()[0])
    rig.run(LATENCY)
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 1), (1, 5)]


def test_partitions_take_turns_and_number_their_records_each_for_itself() -> None:
    rig = ProducerRig(leaders=(1, 2, 3), batches=6)
    rig.make_all()
    for broker in (1, 2, 3):
        assert [request.partition for request in rig.produced(broker)] == [f"t-{broker - 1}"] * 2
        assert rig.sequences(broker) == [0, 1]


def test_a_partition_without_a_leader_is_passed_over_while_others_have_one() -> None:
    rig = ProducerRig(leaders=(1, -1), batches=4)
    rig.make_all()
    assert [event.partition for event in rig.of(RecordsSent)] == ["t-0"] * 4


def test_no_records_are_made_after_stop_and_those_on_their_way_are_settled() -> None:
    rig = ProducerRig(batches=10)
    rig.run(35 * MS)
    rig.producer.stop()
    rig.run(SECOND)
    assert rig.producer.sent == 3
    for request in rig.produced():
        rig.answer(request)
    assert rig.books()["acked"] == 3


# --- keyframes ------------------------------------------------------------------------------------------------------


def test_a_loaded_producer_continues_exactly_as_the_first_time() -> None:
    rig = ProducerRig(leaders=(1, 2), batches=12)
    rig.run(65 * MS)
    rig.answer(rig.produced(1)[0], E.NOT_LEADER_OR_FOLLOWER)
    rig.answer(rig.produced(2)[0], broker=2)
    saved = rig.network.save(), rig.producer.save(), rig.streams.save()
    got = {broker: len(node.got) for broker, node in rig.brokers.items()}
    told = len(rig.events)

    def go_on() -> tuple[object, object, object]:
        rig.answer(rig.produced(2)[1], E.REQUEST_TIMED_OUT, broker=2)
        rig.network.crash(1)
        rig.run(3 * SECOND)
        asked = {broker: node.got[got[broker] :] for broker, node in rig.brokers.items()}
        return asked, [(event.kind, event.values()) for event in rig.events[told:]], rig.producer.save()

    first = go_on()
    for broker, node in rig.brokers.items():
        del node.got[got[broker] :]
    del rig.events[told:]
    rig.network.load(saved[0])
    rig.producer.load(saved[1])
    rig.streams.load(saved[2])
    assert rig.producer.save() == saved[1]
    assert go_on() == first
