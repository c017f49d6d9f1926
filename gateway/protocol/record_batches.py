"""Record batches as bytes (message format 2), compressed or not: batches of real clients, and a modelled log.

Base offset and leader epoch are not covered by the checksum, so a broker passes a client's bytes on unchanged,
compressed or not, except for these two fields (``DefaultRecordBatch``).
"""

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import cramjam
from crc32c import crc32c

from cluster_model.broker.partition import Replica
from cluster_model.log import BatchStore, keys_of
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import FetchData
from cluster_model.protocol.records import ABORT, COMMIT, TRANSACTIONAL, Batch, Slice
from cluster_model.protocol.versions import Profile
from gateway.protocol.codec import RequestError, varint
from gateway.protocol.context import GatewayCluster
from playbooks.model import RecordName, contents, fields_of, written

# Compression of records, with the framing of Kafka's clients and brokers (``CompressionType``).
#
# A broker recompresses batches if a topic's ``compression.type`` is not ``producer`` (``LogValidator``), and
# decompresses a batch to find a record in it.


NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

MOST: Final = 16 * 1024 * 1024
"""Maximum bytes of a decompressed batch: a few bytes of a client may decompress to any size."""

_SIZE: Final = struct.Struct(">i")
_FRAMED_BY_JAVA: Final = b"\x82SNAPPY\x00"
_FRAME_HEADER: Final = 16
_SNAPPY_VERSIONS: Final = struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK: Final = 32 * 1024
"""Bytes per block of ``SnappyOutputStream``."""

_LZ4_HEADER: Final = bytes.fromhex("04224d18604082")
"""Magic, flags for independent blocks of 64 KiB, and header checksum: the only blocks ``Lz4BlockInputStream`` reads."""
_LZ4_BLOCK: Final = 64 * 1024
_LZ4_SIZE: Final = struct.Struct("<I")
_LZ4_AS_IT_IS: Final = 1 << 31
"""Flag of an uncompressed block."""


class UnreadableError(ValueError):
    """Records that cannot be decoded, or are too many; a broker does not decode them when it appends a batch."""


def decompress(data: bytes, codec: int) -> bytes:
    """Return the decompressed records of a batch, at most :data:`MOST` bytes.

    Raises:
        UnreadableError: The data is not valid for the codec, or larger than that.
    """
    if codec == NONE:
        return data
    try:
        if codec == SNAPPY:
            return _unpacked_snappy(data)
        library = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}[codec]
        room = bytearray(MOST)
        return bytes(room[: library.decompress_into(data, room)])
    except (cramjam.DecompressionError, struct.error) as error:
        raise UnreadableError(str(error)) from None


def compress(data: bytes, codec: int) -> bytes:
    """Return compressed records, framed so that Java clients can read them; the output is deterministic."""
    if codec == NONE:
        return data
    if codec == SNAPPY:
        return _packed_snappy(data)
    if codec == LZ4:
        return _packed_lz4(data)
    library = {GZIP: cramjam.gzip, ZSTD: cramjam.zstd}[codec]
    return bytes(library.compress(data))


def _unpacked_snappy(data: bytes) -> bytes:
    """Decompress one raw block, or length-prefixed blocks as Java's library writes them."""
    if not data.startswith(_FRAMED_BY_JAVA):
        return _block(data, MOST)
    out, at = bytearray(), _FRAME_HEADER
    while at < len(data):
        (size,) = _SIZE.unpack_from(data, at)
        out += _block(data[at + _SIZE.size : at + _SIZE.size + size], MOST - len(out))
        at += _SIZE.size + size
    return bytes(out)


def _block(data: bytes, limit: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > limit:
        raise UnreadableError(f"found more than {MOST} bytes")
    return bytes(cramjam.snappy.decompress_raw(data))


def _packed_snappy(data: bytes) -> bytes:
    out = bytearray(_FRAMED_BY_JAVA + _SNAPPY_VERSIONS)
    for at in range(0, len(data), _SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _SNAPPY_BLOCK]))
        out += _SIZE.pack(len(block)) + block
    return bytes(out)


def _packed_lz4(data: bytes) -> bytes:
    out = bytearray(_LZ4_HEADER)
    for at in range(0, len(data), _LZ4_BLOCK):
        raw = data[at : at + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(raw, store_size=False))
        if len(block) < len(raw):
            out += _LZ4_SIZE.pack(len(block)) + block
        else:
            out += _LZ4_SIZE.pack(len(raw) | _LZ4_AS_IT_IS) + raw
    return bytes(out + _LZ4_SIZE.pack(0))


# Record batches as bytes (message format 2): batches of real clients, and the modelled log, encoded for them.


_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
OVERHEAD: Final = _HEADER.size
"""61 bytes (``RECORD_BATCH_OVERHEAD``)."""
_LENGTH_ENDS: Final = 12
"""Bytes that a batch's length does not include: base offset, and the length itself."""
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
    """Batch that a broker rejects; ``code`` is the error code of its response."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


_CODECS: Final = range(ZSTD + 1)
"""none, gzip, snappy, lz4, zstd."""
_ZSTD_SINCE: Final = 7
"""First version of Produce that allows zstd (KIP-110)."""


class BatchHeader(NamedTuple):
    """Fields of a batch that a broker uses; times are in milliseconds since 1970."""

    records: int
    size: int
    codec: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool


def validate_batch(data: bytes, version: int = _ZSTD_SINCE) -> BatchHeader:
    """Validate a batch as a broker does before it appends it, without its records.

    The checks of ``ProduceRequest.validateRecords`` for a request of ``version`` come first, then those of
    ``LogValidator``. Before 2.4 a broker returns CORRUPT_MESSAGE instead of INVALID_RECORD, see :func:`code_of`.

    Raises:
        BatchError: The batch is corrupt, not exactly one batch, of an older format, or has an unknown codec.
    """
    if len(data) < OVERHEAD:
        raise BatchError(KafkaError.INVALID_RECORD, f"found {len(data)} bytes, a batch has at least {OVERHEAD}")
    (
        _base, length, _epoch, magic, crc, attributes, last_delta, _first_ms, newest_ms, producer_id, producer_epoch,
        sequence, records,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    codec = attributes & _CODEC
    if magic != 2:
        raise BatchError(KafkaError.INVALID_RECORD, f"found message format {magic}, expected 2")
    if codec == ZSTD and version < _ZSTD_SINCE:
        message = f"found zstd in version {version}, allowed from {_ZSTD_SINCE} on"
        raise BatchError(KafkaError.UNSUPPORTED_COMPRESSION_TYPE, message)
    if length != len(data) - _LENGTH_ENDS:
        message = f"found a batch of {length} in {len(data)} bytes, expected one complete batch"
        raise BatchError(KafkaError.INVALID_RECORD, message)
    if crc32c(memoryview(data)[_CRC_FROM:]) != crc:
        raise BatchError(KafkaError.CORRUPT_MESSAGE, "found a batch with a wrong checksum")
    if codec not in _CODECS:  # an IllegalArgumentException in Kafka, which has no error code
        raise BatchError(KafkaError.UNKNOWN_SERVER_ERROR, f"found codec {codec}, expected 0 to {ZSTD}")
    if attributes & _CONTROL:
        raise BatchError(KafkaError.INVALID_RECORD, "found a control batch, which only brokers write")
    if records < 1 or last_delta != records - 1:
        message = f"found {records} records up to offset {last_delta} of their batch"
        raise BatchError(KafkaError.INVALID_RECORD, message)
    if producer_id >= 0 and (producer_epoch < 0 or sequence < 0):
        message = f"found producer {producer_id} with epoch {producer_epoch}, sequence {sequence}"
        raise BatchError(KafkaError.INVALID_RECORD, message)
    return BatchHeader(
        records, len(data), codec, newest_ms, producer_id, producer_epoch, sequence,
        bool(attributes & _TRANSACTIONAL),
    )  # fmt: skip


def recompress(data: bytes, codec: int) -> bytes:
    """Return a batch with its records recompressed (``LogValidator``, ``compression.type`` of a topic).

    Raises:
        UnreadableError: The records are not valid for the batch's codec, or too large.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, _CRC_FROM)
    body = compress(decompress(data[OVERHEAD:], attributes & _CODEC), codec)
    result = bytearray(data[:OVERHEAD] + body)
    _LENGTH.pack_into(result, 8, len(result) - _LENGTH_ENDS)
    _ATTRIBUTES.pack_into(result, _CRC_FROM, attributes & ~_CODEC | codec)
    _CRC.pack_into(result, _CRC_FROM - _CRC.size, crc32c(memoryview(result)[_CRC_FROM:]))
    return bytes(result)


def code_of(error: BatchError, profile: Profile) -> int:
    """Return a release's error code: INVALID_RECORD came with 2.4 (KIP-467), zstd with 2.1 (KIP-110)."""
    if error.code == KafkaError.INVALID_RECORD and not profile.invalid_record:
        return KafkaError.CORRUPT_MESSAGE
    if error.code == KafkaError.UNSUPPORTED_COMPRESSION_TYPE and not profile.zstd:
        return KafkaError.UNKNOWN_SERVER_ERROR
    return error.code


def with_offset_and_epoch(data: bytes, base: int, leader_epoch: int) -> bytearray:
    """Return a batch with its base offset and leader epoch in the log."""
    patched = bytearray(data)
    _START.pack_into(patched, 0, base)
    _EPOCH.pack_into(patched, 12, leader_epoch)
    return patched


class BatchProducer(NamedTuple):
    """Producer of an encoded batch: producer id, epoch, first sequence."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


NO_PRODUCER: Final = BatchProducer()


def encode_batch(
    base: int,
    leader_epoch: int,
    timestamp_ms: int,
    records: Sequence[tuple[bytes | None, bytes | None]],
    origin: BatchProducer = NO_PRODUCER,
    *,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """Return a batch of (key, value) records, for batches of the model's own producers and coordinators."""
    body = b"".join(_encode_record(number, key, value) for number, (key, value) in enumerate(records))
    attributes = _TRANSACTIONAL * (transactional or control) | _CONTROL * control
    checked = struct.pack(
        ">hiqqqhii", attributes, len(records) - 1, timestamp_ms, timestamp_ms, *origin, len(records)
    ) + body  # fmt: skip
    return struct.pack(">qiibI", base, len(checked) + 9, leader_epoch, 2, crc32c(checked)) + checked


def encode_marker(
    base: int, leader_epoch: int, timestamp_ms: int, origin: BatchProducer, coordinator: int, *, commit: bool
) -> bytes:
    """Return a control batch that ends a transaction (``EndTransactionMarker``)."""
    key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, coordinator)
    return encode_batch(base, leader_epoch, timestamp_ms, [(key, value)], origin, control=True)


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


# Fetched data of a modelled log as bytes: batches of real clients unchanged, those of the model's own clients encoded.


KEPT: Final = 4096
"""Number of encoded batches of the model's own producers that are cached."""


def bytes_of(context: GatewayCluster, data: FetchData) -> bytes:
    """Return complete batches, in order, with their offsets and leader epochs; a corrupt batch stays corrupt."""
    epoch_branches = context.cluster.epoch_branches[data.partition]
    records = data.records
    out: list[bytes | bytearray] = []
    for index, (start, log_branch) in enumerate(records.extents):
        end = records.extents[index + 1][0] if index + 1 < len(records.extents) else records.end
        epoch_branch = epoch_branches.by_id[log_branch]
        for batch in epoch_branch.between(start, end):
            if records.cleaned is not None and records.cleaned.is_removed(batch):
                continue
            payload = epoch_branch.payload(batch.base) or _made(
                context, data.partition, log_branch, batch, epoch_branches
            )
            out.append(_spoilt(with_offset_and_epoch(payload, batch.base, epoch_branch.epoch), records, batch))
    return b"".join(out)


def batch_at(replica: Replica, offset: int) -> tuple[Batch, bytes] | None:
    """Return the batch that contains an offset, and its bytes if a real client wrote it, else empty bytes."""
    records = replica.log.read(offset, offset + 1, 1)
    if not records.extents:
        return None
    epoch_branch = replica.log.epoch_branches.by_id[records.extents[0][1]]
    batch = epoch_branch.batch_at(offset)
    return batch, epoch_branch.payload(batch.base)


def _spoilt(data: bytearray, records: Slice, batch: Batch) -> bytearray:
    if any(each.start < batch.end and each.end > batch.base for each in records.damages):
        data[-1 if len(data) > OVERHEAD else OVERHEAD - 1] ^= 0xFF
    return data


def _made(context: GatewayCluster, partition: str, log_branch: int, batch: Batch, epoch_branches: BatchStore) -> bytes:
    key = (partition, log_branch, batch.base)
    data = context.encoded_batches.get(key)
    if data is None:
        data = context.encoded_batches[key] = _make(context, partition, batch, epoch_branches)
        if len(context.encoded_batches) > KEPT:
            del context.encoded_batches[next(iter(context.encoded_batches))]
    return data


def _make(context: GatewayCluster, partition: str, batch: Batch, epoch_branches: BatchStore) -> bytes:
    stamp_ms = context.timestamp_ms(batch.timestamp_us if batch.timestamp_us != -1 else batch.appended_us)
    if batch.kind >= ABORT:
        producer = BatchProducer(batch.producer_id, batch.producer_epoch)
        return encode_marker(batch.base, 0, stamp_ms, producer, batch.coordinator_epoch, commit=batch.kind == COMMIT)
    sequence = batch.sequence - batch.origin if batch.sequence >= 0 else -1
    producer = BatchProducer(batch.producer_id, batch.producer_epoch, sequence if batch.producer_id >= 0 else -1)
    records = [_model_record(context, partition, batch, number, epoch_branches) for number in range(batch.records)]
    return encode_batch(batch.base, 0, stamp_ms, records, producer, transactional=batch.kind == TRANSACTIONAL)


def _model_record(
    context: GatewayCluster, partition: str, batch: Batch, number: int, epoch_branches: BatchStore
) -> tuple[bytes | None, bytes | None]:
    """Return key and value of a record of the model's own producers: from the playbook, or its identity."""
    if number < len(batch.name):
        named, sign, value = batch.name[number].partition("=")
        return (named.encode(), value.encode()) if sign else (None, named.encode())
    keys = keys_of(epoch_branches.keys, batch)
    found = keys.keys[number]
    key = f"key-{found}" if isinstance(found, int) else found
    if number in keys.deletes:
        return (None if key is None else key.encode(), None)
    spec = next((each for each in context.cluster.spec.producers if each.name == batch.client), None)
    name = RecordName(batch.client, partition, batch.sequence + number, max(0, batch.timestamp_us), key)
    fields = {} if spec is None else fields_of(spec)
    if not fields:
        identity = {"producer": name.producer, "partition": partition, "number": name.number}
        return (None if key is None else key.encode(), json.dumps(identity).encode())
    value = written(contents(fields, context.cluster.seed, name))
    return (None if key is None else key.encode(), value.encode())


# Timestamps of the records in a batch of a real client.
#
# A broker decodes a batch to look up offsets by time (``FileRecords.searchForTimestamp``), and to check every record if
# the age of records is limited (``LogValidator.validateTimestamp``).


MOST_RECORDS: Final = 100_000
"""Maximum number of records of a batch that are decoded, which takes a tenth of a second."""
LEAST_RECORD: Final = 6
"""Minimum bytes of a record after its length: attributes, two numbers, and three lengths."""
LATEST_MS: Final = 2**63 - 1

_LOG_APPEND_TIME: Final = 0x08
_TIMES: Final = struct.Struct(">qq")
_COUNT: Final = struct.Struct(">i")


def record_at(data: bytes, timestamp_ms: int, least: int = 0) -> tuple[int, int] | None:
    """Return (index in the batch, time) of the first record at or after a time; None if there is none.

    ``least``: index of the first record that is still in the log.

    Raises:
        UnreadableError: The records cannot be decoded, or are too many.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, 21)
    _first_ms, newest_ms = _TIMES.unpack_from(data, 27)
    if attributes & _LOG_APPEND_TIME:
        return (least, newest_ms) if newest_ms >= timestamp_ms else None
    found = ((number, at_ms) for number, at_ms in _times(data) if number >= least and at_ms >= timestamp_ms)
    return next(found, None)


def oldest_ms(data: bytes) -> int:
    """Return the time of the oldest record in milliseconds; -1 if the records have no timestamps.

    Raises:
        UnreadableError: The records cannot be decoded, or are too many.
    """
    first_ms, newest_ms = _TIMES.unpack_from(data, 27)
    return -1 if -1 in (first_ms, newest_ms) else min((at_ms for _number, at_ms in _times(data)), default=-1)


def _times(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield index and time of each record.

    Raises:
        UnreadableError: The records cannot be decoded, or are too many.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, 21)
    first_ms, _newest_ms = _TIMES.unpack_from(data, 27)
    (count,) = _COUNT.unpack_from(data, 57)
    if count > MOST_RECORDS:
        raise UnreadableError(f"found {count} records, expected at most {MOST_RECORDS}")
    try:
        body = decompress(data[OVERHEAD:], attributes & _CODEC)
        at = 0
        for expected in range(count):
            size, at = _read_zigzag(body, at)
            end = at + size
            if size < LEAST_RECORD or end > len(body):
                raise UnreadableError(f"found a record of {size} bytes")
            delta_ms, at = _read_zigzag(body, at + 1)
            number, at = _read_zigzag(body, at)
            if number != expected or not 0 <= first_ms + delta_ms <= LATEST_MS:
                raise UnreadableError(f"found record {number} of {first_ms + delta_ms} ms at index {expected}")
            yield number, first_ms + delta_ms
            at = end
    except (RequestError, IndexError) as error:
        raise UnreadableError(str(error)) from None


def _read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    """Return a signed varint (``ByteUtils.readVarlong``), and the position after it."""
    value, at = varint(data, at, 10)
    return (value >> 1) ^ -(value & 1), at
