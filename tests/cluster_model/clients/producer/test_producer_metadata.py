"""When a producer asks for metadata, whom it asks, and what it believes."""

from itertools import pairwise

import pytest

from cluster_model.protocol.errors import INVALID_METADATA, RETRIABLE, KafkaError
from cluster_model.protocol.events import RecordsFailed
from cluster_model.protocol.messages import MetadataRequest, MetadataResponse, ProduceRequest
from tests.cluster_model.rigs import LATENCY, MS, SECOND, ProducerRig, state
from tests.support.releases import those_of

E = KafkaError


@pytest.mark.parametrize("error", sorted(RETRIABLE), ids=lambda error: error.name)
def test_stale_metadata_errors_cause_a_metadata_request(error: KafkaError) -> None:
    rig = ProducerRig()
    rig.make_all()
    rig.answer(rig.produced()[0], error)
    rig.run(50 * MS)
    assert len(rig.metadata_asked()) == (1 if error in INVALID_METADATA else 0)


@pytest.mark.parametrize(("kafka", "asked"), [("0.8.2", 0), ("0.9", 1)])
def test_an_unknown_partition_calls_metadata_stale_since_0_9(kafka: str, asked: int) -> None:
    rig = ProducerRig(kafka=kafka, config={"retries": 3})
    rig.make_all()
    rig.answer(rig.produced()[0], E.UNKNOWN_TOPIC_OR_PARTITION)
    rig.run(50 * MS)
    assert len(rig.metadata_asked()) == asked


def test_a_retry_goes_to_the_leader_that_metadata_names() -> None:
    rig = ProducerRig()
    rig.make_all()
    rig.answer(rig.produced(1)[0], E.NOT_LEADER_OR_FOLLOWER)
    rig.run(10 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 3, 1))
    rig.run(SECOND)
    assert (len(rig.produced(1)), len(rig.produced(3))) == (1, 1)
    rig.answer(rig.produced(3)[0], broker=3)
    assert rig.books() == {"acked": 1, "failed": 0, "unknown": 0}


def test_metadata_of_an_older_epoch_is_not_believed() -> None:
    rig = ProducerRig()
    rig.make_all()
    rig.answer(rig.produced(1)[0], E.NOT_LEADER_OR_FOLLOWER)
    rig.run(10 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 2, 5))
    rig.run(SECOND)
    rig.answer(rig.produced(2)[0], E.NOT_LEADER_OR_FOLLOWER, broker=2)
    rig.run(10 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1, 4))
    rig.run(SECOND)
    assert (len(rig.produced(1)), len(rig.produced(2))) == (1, 2)


def test_metadata_requests_avoid_a_silent_broker() -> None:
    rig = ProducerRig(leaders=(-1,), config={"request.timeout.ms": 500})
    rig.make_all()
    rig.run(3 * SECOND)
    asked = rig.metadata_asked()
    assert set(asked[:3]) == {1, 2, 3}
    assert len(asked) >= 5


def test_metadata_is_requested_from_another_broker_after_a_disconnect() -> None:
    rig = ProducerRig(leaders=(-1,))
    rig.make_all()
    rig.run(200 * MS)
    first = rig.metadata_asked()[0]
    rig.network.crash(first)
    rig.run(300 * MS)
    assert rig.metadata_asked()[-1] != first


def test_metadata_requests_prefer_brokers_without_unanswered_requests() -> None:
    rig = ProducerRig(leaders=(1,), config={"request.timeout.ms": 500})
    rig.make_all()
    rig.network.power_off(1)
    rig.run(600 * MS)
    assert rig.metadata_asked()
    assert rig.metadata_asked()[0] != 1


def test_metadata_requests_keep_the_back_off_between_them() -> None:
    rig = ProducerRig(leaders=(-1,))
    rig.make_all()
    for _round in range(4):
        rig.run(110 * MS)
        rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", -1))
    times = sorted(at for broker in (1, 2, 3) for at in rig.times(MetadataRequest, broker))
    assert len(times) >= 3
    assert all(later - earlier >= 100 * MS for earlier, later in pairwise(times))


def test_an_answer_that_knows_nothing_is_not_taken() -> None:
    rig = ProducerRig()
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_LEADER_OR_FOLLOWER)
    rig.run(10 * MS)
    before = len(rig.metadata_asked())
    asked = rig.metadata_asked()[-1]
    number = rig.asked(MetadataRequest, asked)[-1].correlation_id
    rig.reply(asked, MetadataResponse(number, (), ()))
    rig.run(200 * MS)
    assert len(rig.metadata_asked()) == before + 1
    assert len(rig.produced()) == 2


def test_a_producer_refreshes_metadata_after_its_maximum_age() -> None:
    rig = ProducerRig(config={"metadata.max.age.ms": 5_000, "acks": "0"})
    rig.run(5 * SECOND - 1)
    assert rig.metadata_asked() == []
    rig.run(1 + LATENCY)
    asked = rig.metadata_asked()
    assert len(asked) == 1
    rig.answer_metadata(asked[0], state("t-0", 1))
    rig.run(6 * SECOND)
    assert len(rig.metadata_asked()) == 2


def test_metadata_requests_go_round_the_brokers() -> None:
    rig = ProducerRig(config={"metadata.max.age.ms": 1_000, "acks": "0"})
    for _round in range(4):
        rig.run(SECOND + 10 * MS)
        rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
        rig.run(LATENCY)
    assert rig.metadata_asked() == [1, 2, 3, 1]


# --- send waits for metadata ----------------------------------------------------------------------------------------


def test_batches_waiting_for_metadata_are_sent_when_it_arrives() -> None:
    rig = ProducerRig(leaders=(), batches=9, batch=3)
    rig.run(50 * MS)
    assert (rig.producer.sent, len(rig.metadata_asked())) == (0, 1)
    rig.answer_metadata(rig.metadata_asked()[0], state("t-0", 1))
    rig.run(3 * LATENCY)
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 3)]
    assert rig.times(ProduceRequest, 1) == [50 * MS + 2 * LATENCY]


def test_metadata_is_requested_until_the_topic_exists() -> None:
    rig = ProducerRig(leaders=(), batches=9)
    for _round in range(3):
        rig.run(110 * MS)
        rig.answer_metadata(rig.metadata_asked()[-1], state("other-0", 1))
    rig.run(110 * MS)
    assert len(rig.metadata_asked()) == 4
    assert rig.producer.sent == 0


@pytest.mark.parametrize("send", ["async", "sync"])
def test_a_producer_that_waits_for_metadata_for_too_long_fails_and_the_next_one_waits_again(send: str) -> None:
    rig = ProducerRig(leaders=(), batches=300, config={"max.block.ms": 1_000}, send=send)
    rig.run(2_500 * MS)
    failed = rig.of(RecordsFailed)
    assert [(event.error, event.partition, event.latency_us // MS) for event in failed] == [
        ("REQUEST_TIMED_OUT", "t", 1_000)
    ] * 2


def test_memory_gets_what_metadata_has_left_of_the_time() -> None:
    config = {"max.block.ms": 1_000, "buffer.memory": 600, "batch.size": 500, "linger.ms": 0}
    rig = ProducerRig(leaders=(), batches=300, record_bytes=500, batch=3, config=config)
    rig.run(700 * MS)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
    rig.run(500 * MS)
    errors = [(event.error, event.at_us // MS) for event in rig.of(RecordsFailed)]
    assert errors[0] == ("BufferExhaustedException", 1_010)


@pytest.mark.parametrize(("kafka", "waits"), [("2.4", False), ("2.5", True), ("3.9", True)])
def test_metadata_of_a_topic_that_nothing_is_sent_to_is_dropped(kafka: str, waits: bool) -> None:
    config = those_of("producer", kafka, {"acks": "0", "metadata.max.age.ms": 10_000, "metadata.max.idle.ms": 15_000})
    rig = ProducerRig(kafka=kafka, batches=20, interval=30 * SECOND, config=config)

    def answer() -> None:
        rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
        rig.run(LATENCY)

    for _refresh in range(2):
        rig.run(10 * SECOND + LATENCY)
        answer()
    rig.run(10 * SECOND - 3 * LATENCY)
    assert (len(rig.produced()), len(rig.metadata_asked())) == ((0, 3) if waits else (1, 2))
    answer()
    rig.run(LATENCY)
    assert len(rig.produced()) == 1


def test_metadata_stays_while_something_is_sent_now_and_then() -> None:
    config = {"acks": "0", "metadata.max.age.ms": 10_000, "metadata.max.idle.ms": 20_000}
    rig = ProducerRig(batches=9, interval=15 * SECOND, config=config)
    for _refresh in range(6):
        rig.run(10 * SECOND + LATENCY)
        rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
        rig.run(LATENCY)
    assert len(rig.metadata_asked()) == 6
    assert len(rig.produced()) == 4


def test_which_errors_call_metadata_stale() -> None:
    """Kafka's subclasses of ``InvalidMetadataException``, all of them retriable."""
    assert {error.name for error in INVALID_METADATA} == {
        "UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER", "REPLICA_NOT_AVAILABLE",
        "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR", "FENCED_LEADER_EPOCH", "INCONSISTENT_TOPIC_ID",
        "PREFERRED_LEADER_NOT_AVAILABLE", "ELIGIBLE_LEADERS_NOT_AVAILABLE", "ELECTION_NOT_NEEDED",
    }  # fmt: skip
    assert INVALID_METADATA < RETRIABLE
