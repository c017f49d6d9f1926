"""Callbacks that take time: while one runs nothing is sent, no answer is taken, and the clock is not looked at."""

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ProduceRefused, RecordsAcked, RecordsUnknown
from cluster_model.protocol.messages import ProduceRequest
from tests.cluster_model.rigs import LATENCY, MS, SECOND, ProducerRig

E = KafkaError
ONE_BY_ONE: dict[str, ConfigValue] = {"batch.size": 1, "linger.ms": 0}


def test_a_slow_callback_holds_up_what_other_partitions_send() -> None:
    rig = ProducerRig(batches=6, leaders=(1, 2), callback_us=100 * MS, config=ONE_BY_ONE)
    rig.run(11 * MS)
    rig.answer(rig.produced(1)[0])
    began = rig.now
    rig.run(99 * MS)
    assert (rig.producer.sent, len(rig.produced(2))) == (6, 0)
    rig.run(2 * MS)
    assert rig.times(ProduceRequest, 2)[0] == began + 100 * MS + LATENCY


def test_the_callbacks_of_a_batch_run_one_after_the_other() -> None:
    rig = ProducerRig(batches=2, batch=5, callback_us=20 * MS)
    rig.run(11 * MS)
    rig.answer(rig.produced()[0])
    began = rig.now
    rig.run(SECOND)
    assert rig.times(ProduceRequest, 1)[1] == began + 100 * MS + LATENCY


def test_answers_wait_behind_callbacks_and_are_taken_in_the_order_in_which_they_came() -> None:
    rig = ProducerRig(batches=3, leaders=(1, 2, 3), callback_us=50 * MS)
    rig.run(31 * MS)
    for broker in (3, 1, 2):
        rig.answer(rig.produced(broker)[0], broker=broker)
    rig.run(SECOND)
    acked = rig.of(RecordsAcked)
    assert [event.partition for event in acked] == ["t-2", "t-0", "t-1"]
    assert [event.at_us - acked[0].at_us for event in acked] == [0, 50 * MS, 100 * MS]


def test_error_callbacks_take_as_long() -> None:
    rig = ProducerRig(batches=2, callback_us=200 * MS, config={"retries": 0, "enable.idempotence": False})
    rig.run(11 * MS)
    rig.answer(rig.produced()[0], E.NOT_ENOUGH_REPLICAS)
    began = rig.now
    rig.run(SECOND)
    assert rig.times(ProduceRequest, 1)[1] == began + 200 * MS + LATENCY


def test_an_answer_that_waits_behind_a_callback_comes_too_late_for_the_delivery_timeout() -> None:
    config: dict[str, ConfigValue] = {"request.timeout.ms": 300, "delivery.timeout.ms": 300, "linger.ms": 0}
    rig = ProducerRig(batches=2, leaders=(1, 2), callback_us=400 * MS, config=config)
    rig.run(22 * MS)
    rig.answer(rig.produced(1)[0])
    rig.answer(rig.produced(2)[0], broker=2)
    rig.run(SECOND)
    (unknown,) = rig.of(RecordsUnknown)
    assert (unknown.partition, unknown.error) == ("t-1", "REQUEST_TIMED_OUT")
    assert rig.books() == {"acked": 1, "failed": 0, "unknown": 1}


def test_an_answer_that_waits_behind_a_callback_is_in_time_for_the_request_timeout() -> None:
    config: dict[str, ConfigValue] = {"request.timeout.ms": 300, "linger.ms": 0}
    rig = ProducerRig(batches=2, leaders=(1, 2), callback_us=400 * MS, config=config)
    rig.run(22 * MS)
    rig.answer(rig.produced(1)[0])
    rig.answer(rig.produced(2)[0], broker=2)
    rig.run(SECOND)
    assert (rig.books()["acked"], rig.of(ProduceRefused)) == (2, [])


def test_a_broken_connection_is_learned_after_the_callback() -> None:
    rig = ProducerRig(batches=2, leaders=(1, 2), callback_us=100 * MS)
    rig.run(22 * MS)
    rig.answer(rig.produced(1)[0])
    began = rig.now
    rig.network.crash(2)
    rig.run(SECOND)
    assert rig.of(ProduceRefused)[0].at_us == began + 100 * MS


def test_with_acks_0_callbacks_run_when_the_request_is_out() -> None:
    rig = ProducerRig(batches=4, callback_us=100 * MS, config={"acks": "0", **ONE_BY_ONE})
    rig.run(SECOND)
    sent = rig.times(ProduceRequest, 1)
    assert (sent[0], sent[1]) == (11 * MS, 111 * MS)
    assert rig.books()["acked"] == 4


def test_callbacks_that_take_no_time_hold_up_nothing() -> None:
    rig = ProducerRig(batches=2, leaders=(1, 2))
    rig.run(11 * MS)
    rig.answer(rig.produced(1)[0])
    rig.run(10 * MS)
    assert rig.times(ProduceRequest, 2) == [21 * MS]


def test_a_producer_that_is_closed_while_a_callback_runs_sends_the_rest_after_it() -> None:
    rig = ProducerRig(batches=2, leaders=(1, 2), callback_us=100 * MS)
    rig.run(11 * MS)
    rig.answer(rig.produced(1)[0])
    rig.run(10 * MS)
    rig.producer.close(SECOND)
    rig.run(100 * MS)
    rig.answer(rig.produced(2)[0], broker=2)
    assert (rig.producer.closed, rig.books()["acked"]) == (True, 2)


def test_a_loaded_producer_continues_behind_its_callbacks_as_the_first_time() -> None:
    rig = ProducerRig(batches=9, leaders=(1, 2), callback_us=70 * MS, config=ONE_BY_ONE)
    rig.run(22 * MS)
    rig.answer(rig.produced(1)[0])
    rig.answer(rig.produced(2)[0], E.NOT_ENOUGH_REPLICAS, broker=2)
    rig.run(10 * MS)
    saved = rig.network.save(), rig.producer.save(), rig.streams.save()
    told = len(rig.events)
    found = []
    for again in (False, True):
        if again:
            del rig.events[told:]
            rig.network.load(saved[0])
            rig.producer.load(saved[1])
            rig.streams.load(saved[2])
        rig.run(2 * SECOND)
        found.append(([event.values() for event in rig.events[told:]], rig.producer.save()))
    assert found[0] == found[1]
    assert len(rig.produced(1)) > 1
