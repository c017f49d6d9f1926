import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from crc32c import crc32c
from kafka.record import MemoryRecords
from syrupy.assertion import SnapshotAssertion

from cluster_model.coordinators.transaction.txn_markers import MARKER_BYTES
from cluster_model.protocol.versions import Profile
from gateway.protocol.record_batches import (
    OVERHEAD,
    BatchError,
    BatchProducer,
    code_of,
    encode_batch,
    encode_marker,
    validate_batch,
    with_offset_and_epoch,
)


def built(codec: int = 0, *, transactional: bool = False, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    """A batch as a client writes it."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, *producer, 1 << 20)
    for number in range(3):
        builder.append(number, 1_000 + number, b"key", b"value" * 20, [])
    return bytes(builder.build())


def changed(data: bytes, kind: str, at: int, value: int) -> bytes:
    """A batch with another value in its header, and the checksum that belongs to it."""
    found = bytearray(data)
    struct.pack_into(kind, found, at, value)
    struct.pack_into(">I", found, 17, crc32c(bytes(found[21:])))
    return bytes(found)


def with_codec(data: bytes, codec: int) -> bytes:
    return changed(data, ">h", 21, codec)


def with_records(data: bytes, records: int) -> bytes:
    return changed(data, ">i", 57, records)


@pytest.mark.parametrize(("release", "invalid", "zstd"), [("2.0", 2, -1), ("2.3", 2, 76), ("2.4", 87, 76)])
def test_errors_are_those_of_the_release(release: str, invalid: int, zstd: int) -> None:
    profile = Profile.of(release)
    assert code_of(BatchError(87, ""), profile) == invalid
    assert code_of(BatchError(76, ""), profile) == zstd
    assert code_of(BatchError(2, ""), profile) == 2


@pytest.mark.parametrize(("version", "code"), [(6, 76), (7, 0)])
def test_zstd_is_taken_from_version_7_on(version: int, code: int) -> None:
    data = with_codec(built(), 4)
    found = 0
    try:
        validate_batch(data, version)
    except BatchError as refused:
        found = refused.code
    assert found == code


def test_the_header_of_a_clients_batch_is_read() -> None:
    head = validate_batch(built(1, transactional=True, producer=(7, 2, 40)))
    assert head[:1] + head[2:] == (3, 1, 1_002, 7, 2, 40, True)
    assert OVERHEAD == 61


def test_a_batch_is_placed_without_its_checksum_changing() -> None:
    data = bytes(with_offset_and_epoch(built(), 1_000_000, 9))
    (batch,) = MemoryRecords(data)
    assert (batch.base_offset, batch.leader_epoch, batch.validate_crc()) == (1_000_000, 9, True)
    assert validate_batch(data)._replace(size=0) == validate_batch(built())._replace(size=0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda data: data[:-1] + b"!", 2),
        (lambda data: data[:60], 87),
        (lambda data: b"", 87),
        (lambda data: data + data, 87),
        (lambda data: data[:16] + b"\1" + data[17:], 87),
        (lambda data: data[:16] + b"\0" + data[17:], 87),
        (lambda data: with_codec(data, 5), -1),
        (lambda data: with_codec(data, 7), -1),
        (lambda data: with_records(data, 0), 87),
    ],
)
def test_invalid_batches_are_rejected(change, code) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BatchError) as refused:
        validate_batch(change(built()))
    assert refused.value.code == code


def test_a_client_may_not_write_markers_nor_count_wrongly(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(BatchError) as refused:
        validate_batch(encode_marker(0, 0, 5, BatchProducer(7, 1), 3, commit=True))
    assert refused.value.code == 87
    assert str(refused.value) == snapshot
    wrong = bytearray(encode_batch(0, 0, 5, [(b"k", b"v")]))
    struct.pack_into(">i", wrong, 57, 2)
    with pytest.raises(BatchError) as refused:
        validate_batch(bytes(wrong))
    assert refused.value.code == 2


def test_encoded_batches_are_readable_by_kafka_python() -> None:
    (batch,) = MemoryRecords(encode_batch(40, 3, 1_234, [(b"k", b"v"), (None, None)], BatchProducer(9, 1, 5)))
    assert batch.validate_crc()
    assert [(each.offset, each.timestamp, each.key, each.value) for each in batch] == [
        (40, 1_234, b"k", b"v"), (41, 1_234, None, None),
    ]  # fmt: skip
    written = encode_marker(50, 3, 1_234, BatchProducer(9, 1), 2, commit=False)
    assert len(written) == MARKER_BYTES, "as the model has it"
    (end,) = MemoryRecords(written)
    assert end.is_control_batch
    (record,) = end
    assert (record.key, record.value) == (b"\0\0\0\0", b"\0\0\0\0\0\2")
