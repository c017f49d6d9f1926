"""Record batches as bytes (message format 2): batches of real clients, and a modelled log encoded for them.

Base offset and leader epoch lie outside of what the checksum covers, so a broker hands a client's bytes on as they are,
compressed or not, with those two patched (``DefaultRecordBatch``).
"""

import json
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from crc32c import crc32c

from cluster_model.broker.partition import Replica
from cluster_model.log import Lineages, keys_of
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import FetchData
from cluster_model.protocol.records import ABORT, COMMIT, TRANSACTIONAL, Batch, Slice
from cluster_model.protocol.versions import Profile
from gateway.protocol.compression import ZSTD, packed, unpacked
from gateway.protocol.context import House
from playbooks.model import RecordName, contents, fields_of, written

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
OVERHEAD: Final = _HEADER.size
"""61 bytes (``RECORD_BATCH_OVERHEAD``)."""
_LENGTH_ENDS: Final = 12
"""What a batch's length does not count: base offset, and the length itself."""
_CRC_FROM: Final = 21
_CODEC: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_START: Final = struct.Struct(">q")
_EPOCH: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">i")
_ATTRIBUTES: Final = struct.Struct(">h")
_CRC: Final = struct.Struct(">I")


class BatchError(ValueError):
    """No batch that a broker takes; ``code`` is what it answers."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


_CODECS: Final = range(ZSTD + 1)
"""none, gzip, snappy, lz4, zstd."""
_ZSTD_SINCE: Final = 7
"""Version of Produce from which batches may be compressed by zstd (KIP-110)."""


class BatchHeader(NamedTuple):
    """What a broker needs to know of a batch. Times are milliseconds since 1970."""

    records: int
    size: int
    codec: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool


def read_head(data: bytes, version: int = _ZSTD_SINCE) -> BatchHeader:
    """Check a batch as a broker does before it appends, but for its records.

    First what ``ProduceRequest.validateRecords`` looks at in a request of ``version``, then ``LogValidator``. Before
    2.4 a broker has CORRUPT_MESSAGE for INVALID_RECORD, see :func:`code_of`.

    Raises:
        BatchError: it is damaged, more or less than one batch, of an older format, or compressed in an unknown way.
    """
    if len(data) < OVERHEAD:
        raise BatchError(KafkaError.INVALID_RECORD, f"found {len(data)} bytes, a batch has at least {OVERHEAD}")
    (
        _base, length, _epoch, magic, crc, attributes, last_delta, _first_ms, newest_ms, producer_id, producer_epoch,
        sequence, records,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    codec = attributes & _CODEC
    if magic != 2:
        raise BatchError(KafkaError.INVALID_RECORD, f"found message format {magic}, allowed is 2")
    if codec == ZSTD and version < _ZSTD_SINCE:
        said = f"found zstd in version {version}, allowed from {_ZSTD_SINCE} on"
        raise BatchError(KafkaError.UNSUPPORTED_COMPRESSION_TYPE, said)
    if length != len(data) - _LENGTH_ENDS:
        said = f"found a batch of {length} in {len(data)} bytes, allowed is one whole batch"
        raise BatchError(KafkaError.INVALID_RECORD, said)
    if crc32c(memoryview(data)[_CRC_FROM:]) != crc:
        raise BatchError(KafkaError.CORRUPT_MESSAGE, "found a batch whose checksum is not that of its bytes")
    if codec not in _CODECS:  # an IllegalArgumentException in Kafka, for which there is no error
        raise BatchError(KafkaError.UNKNOWN_SERVER_ERROR, f"found codec {codec}, allowed are 0 to {ZSTD}")
    if attributes & _CONTROL:
        raise BatchError(KafkaError.INVALID_RECORD, "found a control batch, which only brokers write")
    if records < 1 or last_delta != records - 1:
        said = f"found {records} records up to offset {last_delta} of their batch"
        raise BatchError(KafkaError.INVALID_RECORD, said)
    if producer_id >= 0 and (producer_epoch < 0 or sequence < 0):
        said = f"found producer {producer_id} with epoch {producer_epoch}, number {sequence}"
        raise BatchError(KafkaError.INVALID_RECORD, said)
    return BatchHeader(
        records, len(data), codec, newest_ms, producer_id, producer_epoch, sequence,
        bool(attributes & _TRANSACTIONAL),
    )  # fmt: skip


def recompressed(data: bytes, codec: int) -> bytes:
    """A batch with its records compressed by another codec (``LogValidator``, ``compression.type`` of a topic).

    Raises:
        UnreadableError: the records are not compressed as their batch says, or are too many bytes.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, _CRC_FROM)
    body = packed(unpacked(data[OVERHEAD:], attributes & _CODEC), codec)
    made_anew = bytearray(data[:OVERHEAD] + body)
    _LENGTH.pack_into(made_anew, 8, len(made_anew) - _LENGTH_ENDS)
    _ATTRIBUTES.pack_into(made_anew, _CRC_FROM, attributes & ~_CODEC | codec)
    _CRC.pack_into(made_anew, _CRC_FROM - _CRC.size, crc32c(memoryview(made_anew)[_CRC_FROM:]))
    return bytes(made_anew)


def code_of(error: BatchError, profile: Profile) -> int:
    """What a broker of a release answers: INVALID_RECORD came with 2.4 (KIP-467), zstd with 2.1 (KIP-110)."""
    if error.code == KafkaError.INVALID_RECORD and not profile.invalid_record:
        return KafkaError.CORRUPT_MESSAGE
    if error.code == KafkaError.UNSUPPORTED_COMPRESSION_TYPE and not profile.zstd:
        return KafkaError.UNKNOWN_SERVER_ERROR
    return error.code


def placed(data: bytes, base: int, leader_epoch: int) -> bytearray:
    """A batch at its place in the log."""
    patched = bytearray(data)
    _START.pack_into(patched, 0, base)
    _EPOCH.pack_into(patched, 12, leader_epoch)
    return patched


class BatchProducer(NamedTuple):
    """Who wrote a batch that is made here: producer id, epoch, first sequence."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


NOBODY: Final = BatchProducer()


def made(
    base: int,
    leader_epoch: int,
    timestamp_ms: int,
    records: Sequence[tuple[bytes | None, bytes | None]],
    origin: BatchProducer = NOBODY,
    *,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """A batch of records, (key, value) each: for what the model's own producers and coordinators wrote."""
    body = b"".join(_encode_record(number, key, value) for number, (key, value) in enumerate(records))
    attributes = _TRANSACTIONAL * (transactional or control) | _CONTROL * control
    checked = struct.pack(
        ">hiqqqhii", attributes, len(records) - 1, timestamp_ms, timestamp_ms, *origin, len(records)
    ) + body  # fmt: skip
    return struct.pack(">qiibI", base, len(checked) + 9, leader_epoch, 2, crc32c(checked)) + checked


def marker(
    base: int, leader_epoch: int, timestamp_ms: int, origin: BatchProducer, coordinator: int, *, commit: bool
) -> bytes:
    """A transaction's end (``EndTransactionMarker``)."""
    key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, coordinator)
    return made(base, leader_epoch, timestamp_ms, [(key, value)], origin, control=True)


def _encode_record(number: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\0" + _zigzag(0) + _zigzag(number) + _bytes(key) + _bytes(value) + _zigzag(0)
    return _zigzag(len(body)) + body


def _bytes(data: bytes | None) -> bytes:
    return _zigzag(-1) if data is None else _zigzag(len(data)) + data


def _zigzag(value: int) -> bytes:
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# A fetched stretch of a modelled log as bytes: clients' batches as they came, and the model's own made to look so.


KEPT: Final = 4096
"""Batches of the model's own producers that are kept as bytes."""


def bytes_of(house: House, data: FetchData) -> bytes:
    """Whole batches, in order, each with its offset and its leader's epoch; a damaged one is damaged here too."""
    lineages = house.cluster.lineages[data.partition]
    records = data.records
    out: list[bytes | bytearray] = []
    for index, (start, stint) in enumerate(records.extents):
        end = records.extents[index + 1][0] if index + 1 < len(records.extents) else records.end
        lineage = lineages.by_id[stint]
        for batch in lineage.between(start, end):
            if records.cleaned is not None and records.cleaned.gone(batch):
                continue
            payload = lineage.payload(batch.base) or _made(house, data.partition, stint, batch, lineages)
            out.append(_spoilt(placed(payload, batch.base, lineage.epoch), records, batch))
    return b"".join(out)


def batch_at(replica: Replica, offset: int) -> tuple[Batch, bytes] | None:
    """The batch that has an offset of a log, and its bytes as a real client wrote them, empty where none did."""
    records = replica.log.read(offset, offset + 1, 1)
    if not records.extents:
        return None
    lineage = replica.log.lineages.by_id[records.extents[0][1]]
    batch = lineage.batch_at(offset)
    return batch, lineage.payload(batch.base)


def _spoilt(data: bytearray, records: Slice, batch: Batch) -> bytearray:
    if any(each.start < batch.end and each.end > batch.base for each in records.damages):
        data[-1 if len(data) > OVERHEAD else OVERHEAD - 1] ^= 0xFF
    return data


def _made(house: House, partition: str, stint: int, batch: Batch, lineages: Lineages) -> bytes:
    place = (partition, stint, batch.base)
    data = house.made.get(place)
    if data is None:
        data = house.made[place] = _make(house, partition, batch, lineages)
        if len(house.made) > KEPT:
            del house.made[next(iter(house.made))]
    return data


def _make(house: House, partition: str, batch: Batch, lineages: Lineages) -> bytes:
    stamp_ms = house.stamp_ms(batch.timestamp_us if batch.timestamp_us != -1 else batch.appended_us)
    if batch.kind >= ABORT:
        who = BatchProducer(batch.producer_id, batch.producer_epoch)
        return marker(batch.base, 0, stamp_ms, who, batch.coordinator_epoch, commit=batch.kind == COMMIT)
    sequence = batch.sequence - batch.origin if batch.sequence >= 0 else -1
    who = BatchProducer(batch.producer_id, batch.producer_epoch, sequence if batch.producer_id >= 0 else -1)
    records = [_model_record(house, partition, batch, number, lineages) for number in range(batch.records)]
    return made(batch.base, 0, stamp_ms, records, who, transactional=batch.kind == TRANSACTIONAL)


def _model_record(
    house: House, partition: str, batch: Batch, number: int, lineages: Lineages
) -> tuple[bytes | None, bytes | None]:
    """A record of the model's own producers: what its playbook says, or which record it is."""
    if number < len(batch.name):
        named, sign, value = batch.name[number].partition("=")
        return (named.encode(), value.encode()) if sign else (None, named.encode())
    keys = keys_of(lineages.keys, batch)
    found = keys.keys[number]
    key = f"key-{found}" if isinstance(found, int) else found
    if number in keys.deletes:
        return (None if key is None else key.encode(), None)
    spec = next((each for each in house.cluster.spec.producers if each.name == batch.client), None)
    name = RecordName(batch.client, partition, batch.sequence + number, max(0, batch.timestamp_us), key)
    fields = {} if spec is None else fields_of(spec)
    if not fields:
        told = {"producer": name.producer, "partition": partition, "number": name.number}
        return (None if key is None else key.encode(), json.dumps(told).encode())
    value = written(contents(fields, house.cluster.seed, name))
    return (None if key is None else key.encode(), value.encode())
