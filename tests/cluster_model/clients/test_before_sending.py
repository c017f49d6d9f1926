"""What comes before a record is in any batch: interceptors and the serializer."""

import pytest

from cluster_model.clients.workload import ConstantSize, InterceptedSizes, every, sizes_of
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import InterceptorFailed, RecordsFailed, RecordsSent
from cluster_model.spec.cluster_spec import Interceptor, ProducerSpec
from tests.cluster_model.rigs import MS, SECOND, ProducerRig

E = KafkaError
AUDIT = Interceptor("audit", adds=50)
FLAKY = Interceptor("tracing", adds=100, fails=3)


@pytest.mark.parametrize(
    ("step", "first", "count", "expected"),
    [(0, 0, 10, 0), (3, 0, 2, 0), (3, 0, 3, 1), (3, 2, 1, 1), (3, 3, 2, 0), (3, 3, 9, 3), (1, 7, 4, 4)],
)
def test_the_last_of_every_so_many_numbers(step: int, first: int, count: int, expected: int) -> None:
    assert every(step, first, count) == expected
    assert expected == sum(step > 0 and number % step == step - 1 for number in range(first, first + count))


def test_interceptors_make_records_larger_where_they_do_not_throw() -> None:
    sizes = InterceptedSizes(ConstantSize(200), (AUDIT, FLAKY))
    assert [sizes.of("t-0", number, 1) for number in range(4)] == [350, 350, 250, 350]
    assert sizes.of("t-0", 0, 4) == 1_300
    assert sizes_of(ProducerSpec("p", "t", 1, interceptors=(AUDIT,)), 0).of("t-0", 5, 2) == 500


def test_a_batch_is_as_large_as_its_intercepted_records() -> None:
    rig = ProducerRig(batches=3, interceptors=(AUDIT, FLAKY))
    rig.make_all()
    assert [request.size for request in rig.produced()] == [350, 350, 250]
    assert rig.books()["failed"] == 0


def test_interceptor_exceptions_are_reported_and_records_sent() -> None:
    rig = ProducerRig(batches=2, batch=4, interceptors=(FLAKY, AUDIT))
    rig.make_all()
    told = [(event.by, event.sequence, event.count) for event in rig.of(InterceptorFailed)]
    assert told == [("tracing", 2, 1), ("tracing", 5, 1)]
    for request in rig.produced():
        rig.answer(request)
    assert rig.books() == {"acked": 8, "failed": 0, "unknown": 0}


def test_headers_can_make_a_record_too_large() -> None:
    config: dict[str, ConfigValue] = {"max.request.size": 200 + 82 + 99}
    rig = ProducerRig(batches=6, config=config, interceptors=(FLAKY,))
    rig.make_all()
    assert [event.error for event in rig.of(RecordsFailed)] == ["MESSAGE_TOO_LARGE"] * 4
    assert [(request.sequence, request.size) for request in rig.produced()] == [(2, 200), (5, 200)]


def test_a_record_that_cannot_be_serialized_fails_without_a_partition_and_others_continue() -> None:
    rig = ProducerRig(batches=2, batch=3, serializer_fails=4)
    rig.make_all()
    failed = rig.of(RecordsFailed)
    assert [(event.error, event.partition, event.sequence, event.count) for event in failed] == [
        ("SerializationException", "t", -1, 1)
    ]
    assert [(request.sequence, request.records) for request in rig.produced()] == [(0, 3), (3, 2)]
    assert (rig.producer.sent, rig.producer.last_error) == (6, "SerializationException")
    assert [(event.sequence, event.count) for event in rig.of(RecordsSent)] == [(0, 3), (-1, 1), (3, 2)]


@pytest.mark.parametrize("send", ["async", "sync", "fire_and_forget"])
def test_a_serializer_that_takes_nothing_sends_nothing(send: str) -> None:
    rig = ProducerRig(batches=3, send=send, serializer_fails=1)
    rig.make_all()
    assert (rig.produced(), rig.books()["failed"], rig.producer.sent) == ([], 3, 3)


def test_a_synchronous_application_continues_behind_a_record_that_cannot_be_serialized() -> None:
    rig = ProducerRig(batches=1, batch=4, send="sync", serializer_fails=2)
    rig.make_all()
    assert rig.producer.sent == 1
    rig.answer(rig.produced()[0])
    rig.run(2 * MS)
    assert (rig.producer.sent, rig.books()["failed"], len(rig.produced())) == (3, 1, 2)
    rig.answer(rig.produced()[1])
    rig.run(SECOND)
    assert rig.books() == {"acked": 2, "failed": 2, "unknown": 0}


def test_metadata_is_waited_for_before_anything_is_serialized() -> None:
    rig = ProducerRig(batches=2, leaders=(), serializer_fails=1)
    rig.make_all()
    assert rig.producer.sent == 0
