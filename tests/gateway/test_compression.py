"""A topic's ``compression.type``: batches are kept, and read, with the codec that it names (``LogValidator``)."""

from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords

from cluster_model.protocol.errors import KafkaError as E
from gateway.handlers.configs import BOOLEAN, DEFAULT, OWN, STRING
from gateway.protocol import api_versions as api
from gateway.protocol.record_batches import (
    NONE,
    OVERHEAD,
    UnreadableError,
    compress,
    decompress,
    recompress,
    validate_batch,
)
from tests.gateway.hosting import playbook
from tests.gateway.test_admin_wire import TOPIC, create
from tests.gateway.test_batches import built, with_codec
from tests.gateway.test_inspection_wire import described
from tests.gateway.test_records_wire import produce
from tests.gateway.wire import Wire

CODECS = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
BODIES = [b"", b"a" * 200_000, bytes(range(256)) * 300, b"x"]


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS.values())
@pytest.mark.parametrize("body", BODIES, ids=["nothing", "one letter", "all bytes", "one byte"])
def test_compression_round_trips(codec: int, body: bytes) -> None:
    data = compress(body, codec)
    assert decompress(data, codec) == body
    assert compress(body, codec) == data


@pytest.mark.parametrize("codec", CODECS.values())
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_recompressed_batches_are_readable_by_clients(before: int, codec: int) -> None:
    data = recompress(built(before), codec)
    head = validate_batch(data)
    assert (head.codec, head.records, head.size) == (codec, 3, len(data))
    read = MemoryRecords(data).next_batch()
    assert [(each.key, each.value) for each in read] == [(b"key", b"value" * 20)] * 3
    assert recompress(data, NONE)[OVERHEAD:] == built()[OVERHEAD:]


def test_records_that_are_none_are_refused() -> None:
    with pytest.raises(UnreadableError):
        recompress(with_codec(built(), 1), 4)


def fetched(wire: Wire, topic: str, version: int = 10) -> Any:
    asked = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": -1,
             "partition_max_bytes": 1 << 20}  # fmt: skip
    answer = wire.ask(
        1, api.FETCH, version, replica_id=-1, max_wait=500, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
        session_id=0, session_epoch=-1, topics=[{"topic": topic, "partitions": [asked]}], forgotten_topics_data=(),
    )  # fmt: skip
    ((told,),) = [each.partitions for each in answer.responses]
    return told


def made(wire: Wire, topic: str, codec: str) -> int:
    """The error of a new topic with one partition, on broker 1."""
    wire.run(2)
    placed = [{"partition_index": 0, "broker_ids": (1,)}]
    configs = [{"name": "compression.type", "value": codec}, {"name": "preallocate", "value": "true"}]
    told = create(wire, topic, version=3, assignments=placed, configs=configs)
    wire.run(2)
    return int(told.error_code)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [*CODECS, "producer"])
def test_batches_are_read_back_with_the_codec_of_their_topic(codec: str) -> None:
    wire = Wire(playbook("4.1", min_isr=1))
    assert made(wire, "packed", codec) == E.NONE
    sent = [built(0), built(1), built(2)]
    for batch in sent:
        assert produce(wire, 1, "packed", 0, batch).error_code == E.NONE
    told = fetched(wire, "packed")
    assert (told.error_code, told.high_watermark) == (E.NONE, 9)
    records, found = bytes(told.records), []
    while records:
        size = int.from_bytes(records[8:12], "big") + 12
        found.append(validate_batch(records[:size]).codec)
        records = records[size:]
    assert found == ([0, 1, 2] if codec == "producer" else [CODECS[codec]] * 3)
    assert wire.session.cluster.brokers[1].replicas["packed-0"].log.segments.total == len(told.records)


@pytest.mark.slow
def test_a_batch_that_cannot_be_unpacked_or_is_too_large_is_refused() -> None:
    wire = Wire(playbook("4.1", min_isr=1, config=", message.max.bytes: 150"))
    assert made(wire, "packed", "gzip") == E.NONE
    assert produce(wire, 1, "packed", 0, with_codec(built(1), 4)).error_code == E.CORRUPT_MESSAGE
    assert produce(wire, 1, "packed", 0, built(0)).error_code == E.MESSAGE_TOO_LARGE
    assert fetched(wire, "packed").high_watermark == 0


def test_clients_from_before_zstd_do_not_read_a_topic_that_has_it() -> None:
    wire = Wire(playbook("2.8", min_isr=1))
    assert made(wire, "packed", "zstd") == E.NONE
    assert produce(wire, 1, "packed", 0, built(1)).error_code == E.NONE
    assert fetched(wire, "packed", version=7).error_code == E.UNSUPPORTED_COMPRESSION_TYPE
    assert fetched(wire, "packed").error_code == E.NONE


@pytest.mark.parametrize(("kafka", "codec"), [("2.0", "zstd"), ("2.8", "brotli"), ("4.1", "none")])
def test_a_codec_that_a_topic_does_not_take_is_refused(kafka: str, codec: str) -> None:
    assert made(Wire(playbook(kafka)), "packed", codec) == E.INVALID_CONFIG


def test_both_are_described() -> None:
    wire = Wire(playbook("4.1"))
    assert made(wire, "packed", "lz4") == E.NONE
    found = {each.name: each for each in described(wire, TOPIC, "packed").configs}
    packed_by = found["compression.type"]
    assert (packed_by.value, packed_by.config_source, packed_by.config_type) == ("lz4", OWN, STRING)
    preallocated = found["preallocate"]
    assert (preallocated.value, preallocated.config_source, preallocated.config_type) == ("true", OWN, BOOLEAN)
    plain = {each.name: each for each in described(wire, TOPIC, "orders").configs}
    assert (plain["compression.type"].value, plain["compression.type"].config_source) == ("producer", DEFAULT)
    assert (plain["preallocate"].value, plain["preallocate"].config_source) == ("false", DEFAULT)
