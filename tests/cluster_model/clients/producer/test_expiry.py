"""When batches are given up for want of time, before and since KIP-91, and as what."""

import pytest

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import RecordsFailed, RecordsSent, RecordsUnknown
from tests.cluster_model.rigs import MS, SECOND, ProducerRig, state

E = KafkaError
QUICK: dict[str, ConfigValue] = {"request.timeout.ms": 1_000, "acks": "all", "retries": 50}
OLD = ("0.9", "0.10.2", "2.0")


def waited_ms(rig: ProducerRig, kind: type[RecordsFailed] | type[RecordsUnknown]) -> list[int]:
    return [event.latency_us // MS for event in rig.of(kind)]


@pytest.mark.parametrize("kafka", OLD)
def test_before_kip_91_the_request_timeout_bounds_the_wait_in_the_queue(kafka: str) -> None:
    rig = ProducerRig(kafka=kafka, leaders=(-1,), config={**QUICK, "linger.ms": 300})
    rig.make_all()
    rig.run(5 * SECOND)
    assert waited_ms(rig, RecordsFailed) == [1_300]
    assert rig.of(RecordsFailed)[0].error == "REQUEST_TIMED_OUT"


def test_before_kip_91_a_full_batch_waits_from_its_last_record_on() -> None:
    rig = ProducerRig(
        kafka="2.0", leaders=(-1,), batches=4, record_bytes=100, config={**QUICK, "linger.ms": 300, "batch.size": 200}
    )
    rig.make_all()
    rig.run(5 * SECOND)
    made = [event.at_us // MS for event in rig.of(RecordsSent)]
    assert [event.at_us // MS - 1_000 for event in rig.of(RecordsFailed)] == [made[1], made[3]]


def test_in_0_8_2_what_cannot_be_sent_waits_for_ever() -> None:
    rig = ProducerRig(kafka="0.8.2", leaders=(-1,), config={"acks": "all", "retries": 50})
    rig.make_all()
    rig.run(600 * SECOND)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 0}
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 1))
    rig.run(10 * MS)
    assert len(rig.produced()) == 1


def test_before_kip_91_request_timeout_applies_per_queueing_and_retries_bound_the_rest() -> None:
    rig = ProducerRig(kafka="2.0", config={**QUICK, "retries": 5, "request.timeout.ms": 1_000})
    rig.make_all()
    for attempt in range(6):
        assert len(rig.produced()) == attempt + 1
        rig.run(900 * MS)
        rig.answer(rig.produced()[-1], E.REQUEST_TIMED_OUT)
        rig.run(110 * MS)
    assert rig.books() == {"acked": 0, "failed": 0, "unknown": 1}
    assert waited_ms(rig, RecordsUnknown)[0] > 6 * 900


def test_before_kip_91_a_retry_without_a_leader_waits_the_request_timeout_beyond_its_pause() -> None:
    rig = ProducerRig(kafka="2.0", config=dict(QUICK))
    rig.make_all()
    refused = rig.now
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.producer._metadata.begin((state("t-0", -1, 1),))
    rig.run(5 * SECOND)
    (failed,) = rig.of(RecordsFailed)
    assert (failed.at_us - refused) // MS == 1_101


def test_before_kip_91_with_one_in_flight_nothing_expires_behind_what_is_under_way() -> None:
    config: dict[str, ConfigValue] = {**QUICK, "max.in.flight.requests.per.connection": 1, "linger.ms": 0}
    rig = ProducerRig(kafka="2.0", batches=2, config=config)
    rig.make_all()
    rig.run(900 * MS - rig.now)
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.run(600 * MS)
    assert (rig.sequences(), rig.producer.queued, rig.books()["failed"]) == ([0, 0], 1, 0)
    rig.answer(rig.produced()[1])
    rig.run(MS)
    assert rig.sequences() == [0, 0, 1]


def test_since_kip_91_what_is_under_way_expires_too() -> None:
    for kafka, unknown in (("2.0", 0), ("2.1", 1)):
        config: dict[str, ConfigValue] = {"request.timeout.ms": 3_000, "acks": "all", "retries": 9, "linger.ms": 0}
        if kafka == "2.1":
            config["delivery.timeout.ms"] = 3_010
        rig = ProducerRig(kafka=kafka, config=config)
        rig.make_all()
        rig.run(1_500 * MS)
        rig.answer(rig.produced()[0], E.REQUEST_TIMED_OUT)
        rig.run(1_600 * MS)
        assert (rig.books()["unknown"], len(rig.produced())) == (unknown, 2)
