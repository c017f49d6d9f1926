"""flush() and close(timeout) of a producer: what goes out, what is waited for, what is thrown away and as what."""

import pytest

from cluster_model.clients.producer.producer import FOREVER_US
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import RecordsAcked, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.protocol.messages import ProduceRequest
from tests.cluster_model.rigs import LATENCY, MS, SECOND, ProducerRig

E = KafkaError
LINGERING: dict[str, ConfigValue] = {"linger.ms": 60_000, "delivery.timeout.ms": 300_000}


# --- close ----------------------------------------------------------------------------------------------------------


def test_close_sends_what_lingers_and_waits_for_its_outcome() -> None:
    rig = ProducerRig(batches=3, leaders=(1, 2), config=LINGERING)
    rig.make_all()
    assert rig.produced() == []
    closed_at = rig.now
    rig.producer.close()
    rig.run(LATENCY)
    assert rig.times(ProduceRequest, 1) == rig.times(ProduceRequest, 2) == [closed_at + LATENCY]
    rig.run(60 * SECOND - LATENCY - 1)
    assert not rig.producer.closed
    rig.answer(rig.produced(1)[-1])
    rig.answer(rig.produced(2)[-1], broker=2)
    assert rig.producer.closed
    assert rig.books() == {"acked": 3, "failed": 0, "unknown": 0}


def test_a_producer_with_nothing_to_send_is_closed_at_once() -> None:
    rig = ProducerRig()
    rig.producer.close(5 * SECOND)
    assert rig.producer.closed
    rig.run(SECOND)
    assert (rig.producer.sent, rig.produced()) == (0, [])


def test_a_forced_close_fails_what_was_never_sent_and_leaves_unknown_what_was() -> None:
    rig = ProducerRig(batches=4, config={"max.in.flight.requests.per.connection": 2, "batch.size": 1})
    rig.make_all()
    assert (rig.producer.in_flight, rig.producer.queued) == (2, 2)
    rig.producer.close(SECOND)
    rig.run(SECOND - 1)
    assert (rig.books(), rig.producer.closed) == ({"acked": 0, "failed": 0, "unknown": 0}, False)
    rig.run(1)
    assert (rig.books(), rig.producer.closed) == ({"acked": 0, "failed": 2, "unknown": 2}, True)
    assert [event.sequence for event in rig.of(RecordsUnknown)] == [0, 1]
    assert [event.sequence for event in rig.of(RecordsFailed)] == [2, 3]
    assert {event.error for event in [*rig.of(RecordsFailed), *rig.of(RecordsUnknown)]} == {"KafkaException"}
    rig.producer.load(rig.producer.save())
    rig.answer(rig.produced()[0])
    assert rig.books()["acked"] == 0
    assert rig.producer.queued == rig.producer.in_flight == rig.producer._accumulator.used == 0


def test_rejected_batches_fail_at_a_forced_close() -> None:
    rig = ProducerRig(batches=2)
    rig.make_all()
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.answer(rig.produced()[1], E.REQUEST_TIMED_OUT)
    rig.producer.close(0)
    assert rig.books() == {"acked": 0, "failed": 1, "unknown": 1}
    sent = len(rig.produced())
    rig.run(10 * SECOND)
    assert len(rig.produced()) == sent


def test_a_closing_producer_continues_with_retries_until_its_time_is_over() -> None:
    rig = ProducerRig(batches=1, config={"retry.backoff.ms": 100})
    rig.make_all()
    rig.producer.close(SECOND)
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    rig.run(200 * MS)
    rig.answer(rig.produced()[1])
    assert (rig.producer.closed, rig.books()["acked"]) == (True, 1)


def test_a_second_close_changes_nothing() -> None:
    rig = ProducerRig()
    rig.make_all()
    rig.producer.close(SECOND)
    rig.producer.close(0)
    assert not rig.producer.closed
    rig.answer(rig.produced()[0])
    assert (rig.producer.closed, rig.books()["acked"]) == (True, 1)


def test_a_producer_that_waits_for_memory_gets_an_exception() -> None:
    rig = ProducerRig(batches=6, record_bytes=600, config={"buffer.memory": 2_000, "batch.size": 1_000, "linger.ms": 0})
    rig.make_all()
    assert rig.producer._held
    rig.producer.close(SECOND)
    (failed,) = rig.of(RecordsFailed)
    assert (failed.error, failed.sequence, failed.count) == ("KafkaException", -1, 1)
    for request in rig.produced():
        rig.answer(request)
    assert rig.producer.closed


def test_a_closed_producer_is_silent() -> None:
    rig = ProducerRig(config={"metadata.max.age.ms": 1_000})
    rig.producer.close()
    rig.run(10 * SECOND)
    assert rig.metadata_asked() == []


def test_an_application_that_stops_closes_its_producer() -> None:
    rig = ProducerRig(batches=3, config=LINGERING, close_us=500 * MS)
    rig.run(40 * MS + LATENCY)
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 3)]
    rig.run(SECOND)
    assert (rig.producer.closed, rig.books()["unknown"]) == (True, 3)
    other = ProducerRig(batches=100, config=LINGERING, close_us=500 * MS)
    other.run(35 * MS)
    other.producer.stop()
    other.run(2 * LATENCY)
    assert [request.records for request in other.produced()] == [3]


def test_without_a_time_to_close_what_is_on_its_way_continues() -> None:
    rig = ProducerRig(config=LINGERING)
    rig.make_all()
    rig.producer.stop()
    rig.run(20 * SECOND)
    assert (rig.produced(), rig.producer.closed, rig.producer.queued) == ([], False, 1)


def test_closing_without_an_end_waits_for_the_delivery_timeout() -> None:
    rig = ProducerRig(leaders=(-1,))
    rig.make_all()
    rig.producer.close(FOREVER_US)
    rig.run(121 * SECOND)
    assert (rig.producer.closed, [event.error for event in rig.of(RecordsFailed)]) == (True, ["REQUEST_TIMED_OUT"])


# --- flush ----------------------------------------------------------------------------------------------------------


def test_flush_sends_what_lingers_and_the_application_waits_for_all_of_it() -> None:
    rig = ProducerRig(batches=12, config=LINGERING, flush_every=3)
    rig.run(80 * MS)
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 3)]
    assert [event.at_us // MS for event in rig.of(RecordsSent)] == [10, 20, 30]
    rig.answer(rig.produced()[0])
    rig.make_all()
    assert [event.at_us // MS for event in rig.of(RecordsSent)] == [10, 20, 30, 90, 100, 110]
    assert [request.records for request in rig.produced()] == [3, 3]


def test_a_flush_waits_for_all_partitions_and_for_retries() -> None:
    rig = ProducerRig(batches=100, leaders=(1, 2), config=LINGERING, flush_every=2)
    rig.run(25 * MS)
    rig.answer(rig.produced(1)[0])
    rig.run(50 * MS)
    rig.answer(rig.produced(2)[0], E.NOT_ENOUGH_REPLICAS, broker=2)
    rig.run(200 * MS)
    assert rig.producer.sent == 2
    rig.answer(rig.produced(2)[1], broker=2)
    rig.run(20 * MS)
    assert rig.producer.sent > 2
    assert len(rig.of(RecordsAcked)) == 2


def test_after_a_flush_batches_linger_again() -> None:
    rig = ProducerRig(batches=5, config=LINGERING, flush_every=2)
    rig.run(22 * MS)
    rig.answer(rig.produced()[0])
    rig.run(12 * MS)
    assert (rig.producer.sent, len(rig.produced())) == (3, 1)


@pytest.mark.parametrize("outcome", ["failed", "unknown"])
def test_a_flush_ends_with_any_outcome(outcome: str) -> None:
    config: dict[str, ConfigValue] = {**LINGERING, "retries": 0, "enable.idempotence": False}
    rig = ProducerRig(batches=100, config=config, flush_every=1)
    rig.run(12 * MS)
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS if outcome == "failed" else E.REQUEST_TIMED_OUT)
    rig.run(10 * MS)
    assert (rig.books()[outcome], rig.producer.sent) == (1, 2)


def test_a_flush_of_an_empty_producer_waits_for_nothing() -> None:
    rig = ProducerRig()
    rig.producer.flush()
    rig.make_all()
    assert rig.producer.sent == 1


def test_a_loaded_producer_flushes_and_closes_as_the_first_time() -> None:
    for end in ("flush", "close"):
        rig = ProducerRig(batches=30, leaders=(1, 2), config=LINGERING, flush_every=5)
        rig.run(52 * MS)
        if end == "close":
            rig.producer.close(300 * MS)
        saved = rig.network.save(), rig.producer.save(), rig.streams.save()
        told = len(rig.events)
        found = []
        for again in (False, True):
            if again:
                del rig.events[told:]
                rig.network.load(saved[0])
                rig.producer.load(saved[1])
                rig.streams.load(saved[2])
            rig.answer(rig.produced(1)[0])
            rig.run(SECOND)
            found.append(([event.values() for event in rig.events[told:]], rig.producer.save()))
        assert found[0] == found[1]
