"""Reader of log segments: record batches of message format 2, with the records in them.

A segment is read from its beginning, batch after batch, as Kafka's ``LogSegment.recover`` does. Reading ends at the
first batch that is incomplete or whose checksum does not match; the segment then has a :class:`Damage` there.
"""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from crc32c import crc32c

from cluster_model.protocol.errors import CodedError
from gateway.protocol.codec import RequestError, varint
from gateway.protocol.record_batches import OVERHEAD, UnreadableError, decompress

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX: Final = 12
"""Bytes of base offset and length, which the length does not count."""
_CRC_FROM: Final = 21
_CODEC: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_MAGIC_AT: Final = 16
MAGIC: Final = 2
"""Message format of all batches since 0.11 that a broker writes."""
_CONTROL_KEY: Final = struct.Struct(">hh")

ABORT: Final = 0
COMMIT: Final = 1
LEADER_CHANGE: Final = 2
CONTROL_TYPES: Final = {ABORT: "ABORT", COMMIT: "COMMIT", LEADER_CHANGE: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER",
                        4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS"}  # fmt: skip
"""Type of a control record → name (``ControlRecordType``)."""


class KafkaLogsError(CodedError):
    """Files that are no logs of Kafka, or of a kind that cannot be read; the message names the file and the reason."""


class RecordBatch(NamedTuple):
    """Header of a record batch, and its place in the segment; times are milliseconds since 1970, -1 for none."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    codec: int
    log_append_time: bool
    transactional: bool
    control: bool
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int
    """Number of records, which compaction may have made smaller than the range of offsets."""
    position: int
    size: int

    @property
    def end_offset(self) -> int:
        """Offset after the last one."""
        return self.last_offset + 1


class LogRecord(NamedTuple):
    """A record of a batch."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def control_type(self) -> int:
        """Type of a control record; -1 for a key that is none."""
        return _CONTROL_KEY.unpack_from(self.key)[1] if self.key and len(self.key) >= _CONTROL_KEY.size else -1


@dataclass(frozen=True, slots=True)
class Damage:
    """Place at which a segment can be read no further."""

    file: Path
    position: int
    next_offset: int
    """Offset after the last readable record."""
    reason: str

    def words(self) -> str:
        """Describe the place and the reason."""
        return f"{self.file}: at byte {self.position}, after offset {self.next_offset - 1}: {self.reason}"


class SegmentFile:
    """One log segment or snapshot; read its batches once, then ``damage`` says whether it ended early."""

    def __init__(self, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.damage: Damage | None = None

    def batches(self) -> Iterator[tuple[RecordBatch, bytes]]:
        """Yield each batch with its bytes, as far as they are valid.

        Raises:
            KafkaLogsError: The file cannot be read, or has batches of an older or newer message format.
        """
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                if size:
                    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                        yield from self._batches(data, size)
        except OSError as error:
            raise KafkaLogsError(f"cannot read {self.path}: {error.strerror}", code="unreadable") from None

    def _batches(self, data: mmap.mmap, size: int) -> Iterator[tuple[RecordBatch, bytes]]:
        position, following = 0, self.base_offset
        while position < size:
            reason = self._fault(data, position, size, following)
            if reason == _PREALLOCATED:
                return
            if reason:
                self.damage = Damage(self.path, position, following, reason)
                return
            length = _size_at(data, position)
            raw = data[position : position + length]
            batch = _header(raw, position)
            if crc32c(memoryview(raw)[_CRC_FROM:]) != batch.crc:
                self.damage = Damage(self.path, position, following, "the checksum of the batch does not match")
                return
            yield batch, raw
            position, following = position + length, batch.end_offset

    def _fault(self, data: mmap.mmap, position: int, size: int, following: int) -> str:
        """Return why the batch at a position cannot be read; empty if its header can be."""
        if size - position < _MAGIC_AT + 1:
            return f"found {size - position} bytes of an incomplete batch"
        base, length = struct.unpack_from(">qi", data, position)
        if not base and not length and not any(data[position : min(size, position + 4096)]):
            return _PREALLOCATED
        magic = data[position + _MAGIC_AT]
        if magic != MAGIC and length >= 14:
            self._refuse(magic, position, following)
        if length < OVERHEAD - _PREFIX:
            return f"found a batch of {length} bytes"
        if _PREFIX + length > size - position:
            return f"found {size - position} of {_PREFIX + length} bytes of a batch"
        if base < following:
            return f"found base offset {base}, expected {following} or more"
        return ""

    def _refuse(self, magic: int, position: int, following: int) -> None:
        """Raise for message formats 0, 1 and newer ones at the beginning of a segment; elsewhere it is damage."""
        if position:
            return
        if magic in (0, 1):
            message = "from before Kafka 0.11; message format 2 is supported"
        elif magic <= 8:
            message = "which is newer than this version of floodmark; message format 2 is supported"
        else:
            return
        raise KafkaLogsError(
            f"{self.path}: found message format {magic} at offset {following}, {message}", code="message_format"
        )


_PREALLOCATED: Final = "preallocated"
"""Zeros at the end of a segment that a broker allocated and had not filled yet (``log.preallocate``)."""


def _size_at(data: mmap.mmap, position: int) -> int:
    (length,) = struct.unpack_from(">i", data, position + 8)
    return _PREFIX + int(length)


def _header(raw: bytes, position: int) -> RecordBatch:
    (
        base, _length, epoch, _magic, crc, attributes, last_delta, first_ms, newest_ms, producer_id, producer_epoch,
        sequence, records,
    ) = _HEADER.unpack_from(raw)  # fmt: skip
    return RecordBatch(
        base, base + last_delta, epoch, crc, attributes & _CODEC, bool(attributes & _LOG_APPEND_TIME),
        bool(attributes & _TRANSACTIONAL), bool(attributes & _CONTROL), first_ms, newest_ms, producer_id,
        producer_epoch, sequence, records, position, len(raw),
    )  # fmt: skip


def records_of(batch: RecordBatch, raw: bytes) -> list[LogRecord]:
    """Return the records of a batch, decompressed.

    Raises:
        UnreadableError: They are invalid for the batch's codec or format, or larger than 16 MiB.
    """
    body = decompress(raw[OVERHEAD:], batch.codec)
    records: list[LogRecord] = []
    position = 0
    try:
        for _number in range(batch.records):
            record, position = _record(body, position, batch)
            records.append(record)
    except (RequestError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise UnreadableError(f"record {len(records)} of the batch at offset {batch.base_offset}: {error}") from None
    return records


def _record(body: bytes, position: int, batch: RecordBatch) -> tuple[LogRecord, int]:
    size, position = _signed(body, position)
    end = position + size
    if size < 0 or end > len(body):
        raise UnreadableError(f"found a record of {size} bytes in a batch at offset {batch.base_offset}")
    delta_ms, position = _signed(body, position + 1)
    delta, position = _signed(body, position)
    key, position = _bytes(body, position)
    value, position = _bytes(body, position)
    count, position = _signed(body, position)
    headers = []
    for _number in range(count):
        name, position = _bytes(body, position)
        content, position = _bytes(body, position)
        headers.append(((name or b"").decode(), content))
    at_ms = batch.max_timestamp_ms if batch.log_append_time else batch.base_timestamp_ms + delta_ms
    return LogRecord(batch.base_offset + delta, at_ms, key, value, tuple(headers)), end


def _bytes(body: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = _signed(body, position)
    if size < 0:
        return None, position
    if position + size > len(body):
        raise UnreadableError(f"found {len(body) - position} of {size} bytes")
    return body[position : position + size], position + size


def _signed(body: bytes, position: int) -> tuple[int, int]:
    value, position = varint(body, position, 10)
    return (value >> 1) ^ -(value & 1), position
