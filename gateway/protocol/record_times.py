"""Where in a batch of a real client a record of a time is: the only case in which a broker here opens one.

A broker that is asked for offsets by time looks into the batch that has one (``FileRecords.searchForTimestamp``).
"""

import struct
from typing import Final

import cramjam

from gateway.protocol.record_batches import OVERHEAD

MOST: Final = 64 * 1024 * 1024
"""Bytes that a batch may have when it is unpacked: what a stranger sends may be made to have any."""

_CODEC: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_ATTRIBUTES: Final = struct.Struct(">h")
_TIMES: Final = struct.Struct(">qq")
_COUNT: Final = struct.Struct(">i")
_FRAMED_BY_JAVA: Final = b"\x82SNAPPY\x00"
_FRAME_HEADER: Final = 16


def record_at(data: bytes, timestamp_ms: int, least: int = 0) -> tuple[int, int] | None:
    """(number in the batch, its time) of the first record of a time or later; None if there is none.

    ``least``: the number of the first record that is still in the log.

    None as well where the records cannot be read: a broker never looks at them when it takes a batch.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, 21)
    first_ms, newest_ms = _TIMES.unpack_from(data, 27)
    (count,) = _COUNT.unpack_from(data, 57)
    if attributes & _LOG_APPEND_TIME:
        return (least, newest_ms) if newest_ms >= timestamp_ms else None
    try:
        body = _unpacked(data[OVERHEAD:], attributes & _CODEC)
        at = 0
        for _number in range(count):
            size, at = _varint(body, at)
            end = at + size
            delta_ms, at = _varint(body, at + 1)
            number, at = _varint(body, at)
            if number >= least and first_ms + delta_ms >= timestamp_ms:
                return number, first_ms + delta_ms
            at = end
    except (cramjam.DecompressionError, IndexError, ValueError):
        return None
    return None


def _unpacked(data: bytes, codec: int) -> bytes:
    """The records; at most :data:`MOST` bytes, an error where there are more."""
    if codec == 0:
        return data
    if codec == 2:
        return _unpacked_snappy(data)
    library = {1: cramjam.gzip, 3: cramjam.lz4, 4: cramjam.zstd}[codec]
    room = bytearray(MOST)
    return bytes(room[: library.decompress_into(data, room)])


def _unpacked_snappy(data: bytes) -> bytes:
    """One block, or blocks with their lengths before them as Java's library writes them."""
    if not data.startswith(_FRAMED_BY_JAVA):
        return _block(data, MOST)
    out, at = bytearray(), _FRAME_HEADER
    while at < len(data):
        (size,) = _COUNT.unpack_from(data, at)
        out += _block(data[at + _COUNT.size : at + _COUNT.size + size], MOST - len(out))
        at += _COUNT.size + size
    return bytes(out)


def _block(data: bytes, most: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > most:
        raise ValueError(f"found more than {MOST} bytes")
    return bytes(cramjam.snappy.decompress_raw(data))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise ValueError("found a number of more than 10 bytes")
