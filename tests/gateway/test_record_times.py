"""A record of a time is found in the batches of real clients, whatever their codec."""

import struct

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from crc32c import crc32c

from cluster_model.protocol.errors import KafkaError as E
from gateway.protocol import api_versions as api
from gateway.protocol import record_batches
from gateway.protocol.record_batches import MOST_RECORDS, UnreadableError, record_at
from tests.gateway.hosting import playbook
from tests.gateway.test_batches import changed
from tests.gateway.wire import BEGAN_MS, Wire

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
TIMES = (1_000, 1_010, 1_005, 1_030)


def built(codec: int, began_ms: int = 0) -> bytes:
    """Four records, not in the order of their times."""
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 20)
    for number, at in enumerate(TIMES):
        builder.append(number, began_ms + at, b"key", b"value" * 200, [("h", b"x")])
    return bytes(builder.build())


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
class TestRecordAt:
    @pytest.mark.parametrize(("timestamp", "found"), [
        (0, (0, 1_000)), (1_000, (0, 1_000)), (1_001, (1, 1_010)), (1_006, (1, 1_010)), (1_011, (3, 1_030)),
        (1_031, None),
    ])  # fmt: skip
    def test_it_is_the_first_that_is_late_enough(
        self, codec: int, timestamp: int, found: tuple[int, int] | None
    ) -> None:
        assert record_at(built(codec), timestamp) == found

    def test_timestamps_skip_records_deleted_from_the_log(self, codec: int) -> None:
        assert record_at(built(codec), 1_001, 2) == (2, 1_005)

    def test_with_the_brokers_time_all_have_the_same(self, codec: int) -> None:
        data = changed(built(codec), ">h", 21, codec | 0x08)
        assert (record_at(data, 1_030), record_at(data, 1_031), record_at(data, 5, 2)) == ((0, 1_030), None, (2, 1_030))

    def test_damaged_records_are_none(self, codec: int) -> None:
        data = built(codec)
        with pytest.raises(UnreadableError):
            record_at(data[:70], 1_011)

    def test_batches_that_decompress_too_large_are_rejected(self, codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(record_batches, "MOST", 1_000)
        if not codec:
            assert record_at(built(codec), 1_011) == (3, 1_030)
            return
        with pytest.raises(UnreadableError):
            record_at(built(codec), 1_011)


def test_blocks_of_javas_snappy_are_read_one_after_the_other() -> None:
    plain = built(0)
    half = len(plain[61:]) // 2
    blocks = [bytes(cramjam.snappy.compress_raw(part)) for part in (plain[61 : 61 + half], plain[61 + half :])]
    framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)
    data = bytearray(plain[:61] + framed)
    struct.pack_into(">h", data, 21, CODECS["snappy"])
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    assert record_at(bytes(data), 1_011) == (3, 1_030)


def hand_made(body: bytes, count: int = 4, first_ms: int = 0, codec: int = 0) -> bytes:
    """A batch whose header says what it likes."""
    data = bytearray(built(0)[:61] + body)
    struct.pack_into(">h", data, 21, codec)
    struct.pack_into(">qq", data, 27, first_ms, 1 << 60)
    struct.pack_into(">i", data, 57, count)
    struct.pack_into(">i", data, 8, len(data) - 12)
    return bytes(data)


LARGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
"""The largest number of 64 bits."""


@pytest.mark.parametrize(
    "data",
    [
        hand_made(b"\x01" + bytes(100)),  # a size of -1, for ever at one place
        hand_made(bytes(100)),  # a size of 0
        hand_made(b"\x0e" + bytes(7), count=MOST_RECORDS + 1),
        hand_made(b"\xfe\x01" + bytes(20)),  # longer than there is
        hand_made(b"\xff" * 20),  # a size of more bytes than a number has
        hand_made(b"\xff"),  # half a size
        hand_made(b"\x20\0" + LARGE + bytes(5), first_ms=1 << 62),  # a time beyond all times
        hand_made(b"\x20\0\0" + LARGE + bytes(4)),  # a number beyond the batch
        hand_made(b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"\0\0", codec=2),
    ],
)
def test_decompression_bombs_are_rejected(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        record_at(data, 1_011)


def test_offsets_by_time_are_those_of_records() -> None:
    wire = Wire(playbook("4.1"))
    wire.run(2)
    leader = wire.session.cluster.cluster_state.records["orders-0"].leader
    for codec in (1, 4):
        batch = {"index": 0, "records": built(codec, BEGAN_MS)}
        wire.ask(leader, api.PRODUCE, 8, transactional_id=None, acks=1, timeout=9_000,
                 topic_data=[{"name": "orders", "partition_data": [batch]}])  # fmt: skip
    wire.run(1)

    def at(timestamp_ms: int) -> tuple[int, int]:
        asked = [{"partition_index": 0, "timestamp": BEGAN_MS + timestamp_ms}]
        answer = wire.ask(leader, api.LIST_OFFSETS, 1, replica_id=-1, topics=[{"name": "orders", "partitions": asked}])
        ((told,),) = [topic.partitions for topic in answer.topics]
        assert told.error_code == E.NONE
        return told.offset, told.timestamp - BEGAN_MS if told.timestamp >= 0 else -1

    assert [at(each) for each in (900, 1_001, 1_011, 1_030, 1_031)] == [
        (0, 1_000), (1, 1_010), (3, 1_030), (3, 1_030), (-1, -1),
    ]  # fmt: skip
    cut = [{"partition_index": 0, "offset": 2}]
    wire.ask(leader, api.DELETE_RECORDS, 1, timeout=900, topics=[{"name": "orders", "partitions": cut}])
    wire.run(1)
    assert [at(each) for each in (900, 1_001, 1_011)] == [(2, 1_005), (2, 1_005), (3, 1_030)]
    cut[0]["offset"] = 3
    wire.ask(leader, api.DELETE_RECORDS, 1, timeout=900, topics=[{"name": "orders", "partitions": cut}])
    unreadable = {"index": 0, "records": changed(hand_made(bytes(100), 4, BEGAN_MS), ">q", 35, BEGAN_MS + 2_000)}
    wire.ask(leader, api.PRODUCE, 8, transactional_id=None, acks=1, timeout=9_000,
             topic_data=[{"name": "orders", "partition_data": [unreadable]}])  # fmt: skip
    wire.run(1)
    # What is too early in what is left of one batch is looked for in the next; of an unreadable one it is its first.
    assert [at(each) for each in (1_031, 1_999, 2_001)] == [(8, 2_000), (8, 2_000), (-1, -1)]


@pytest.mark.parametrize(("kafka", "codec", "newest"), [("4.1", 0, 1), ("4.1", 1, 1), ("3.7", 0, 1), ("3.7", 1, 2)])
def test_max_timestamp_is_found_by_the_rule_of_the_release(kafka: str, codec: int, newest: int) -> None:
    """Before 3.8 the newest record of a compressed batch is its last one (KAFKA-16310)."""
    wire = Wire(playbook(kafka))
    wire.run(2)
    leader = wire.session.cluster.cluster_state.records["orders-0"].leader
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 16)
    for number, stamp_ms in enumerate((100, 400, 200)):
        builder.append(number, BEGAN_MS + stamp_ms, None, b"value" * 9, [])
    batch = {"index": 0, "records": bytes(builder.build())}
    wire.ask(leader, api.PRODUCE, 8, transactional_id=None, acks=1, timeout=9_000,
             topic_data=[{"name": "orders", "partition_data": [batch]}])  # fmt: skip
    wire.run(1)
    asked = [{"partition_index": 0, "timestamp": -3, "current_leader_epoch": -1}]
    answer = wire.ask(
        leader, api.LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=[{"name": "orders", "partitions": asked}]
    )
    ((told,),) = [topic.partitions for topic in answer.topics]
    assert (told.error_code, told.offset, told.timestamp - BEGAN_MS) == (E.NONE, newest, 400)
