"""Times of the records in a batch of a real client.

A broker that is asked for offsets by time looks into the batch that has one (``FileRecords.searchForTimestamp``), and
one that bounds the age of records looks at every one of them (``LogValidator.validateTimestamp``).
"""

import struct
from collections.abc import Iterator
from typing import Final

from gateway.protocol.codec import RequestError, varint
from gateway.protocol.compression import UnreadableError, unpacked
from gateway.protocol.record_batches import OVERHEAD

MOST_RECORDS: Final = 100_000
"""Records of a batch that are looked at, which takes a tenth of a second."""
LEAST_RECORD: Final = 6
"""Bytes of a record after its length: attributes, two numbers, and three lengths."""
LATEST_MS: Final = 2**63 - 1

_CODEC: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_ATTRIBUTES: Final = struct.Struct(">h")
_TIMES: Final = struct.Struct(">qq")
_COUNT: Final = struct.Struct(">i")


def record_at(data: bytes, timestamp_ms: int, least: int = 0) -> tuple[int, int] | None:
    """(number in the batch, its time) of the first record of a time or later; None if there is none.

    ``least``: the number of the first record that is still in the log.

    Raises:
        UnreadableError: the bytes are no such records, or there are too many of them.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, 21)
    _first_ms, newest_ms = _TIMES.unpack_from(data, 27)
    if attributes & _LOG_APPEND_TIME:
        return (least, newest_ms) if newest_ms >= timestamp_ms else None
    found = ((number, at_ms) for number, at_ms in _times(data) if number >= least and at_ms >= timestamp_ms)
    return next(found, None)


def oldest_ms(data: bytes) -> int:
    """The time of the oldest record, -1 where they have none.

    Raises:
        UnreadableError: the bytes are no such records, or there are too many of them.
    """
    first_ms, newest_ms = _TIMES.unpack_from(data, 27)
    return -1 if -1 in (first_ms, newest_ms) else min((at_ms for _number, at_ms in _times(data)), default=-1)


def _times(data: bytes) -> Iterator[tuple[int, int]]:
    """Number and time of each record.

    Raises:
        UnreadableError: the bytes are no such records, or there are too many of them.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(data, 21)
    first_ms, _newest_ms = _TIMES.unpack_from(data, 27)
    (count,) = _COUNT.unpack_from(data, 57)
    if count > MOST_RECORDS:
        raise UnreadableError(f"found {count} records, read are at most {MOST_RECORDS}")
    try:
        body = unpacked(data[OVERHEAD:], attributes & _CODEC)
        at = 0
        for expected in range(count):
            size, at = _zigzag(body, at)
            end = at + size
            if size < LEAST_RECORD or end > len(body):
                raise UnreadableError(f"found a record of {size} bytes")
            delta_ms, at = _zigzag(body, at + 1)
            number, at = _zigzag(body, at)
            if number != expected or not 0 <= first_ms + delta_ms <= LATEST_MS:
                raise UnreadableError(f"found record {number} of {first_ms + delta_ms} ms in place {expected}")
            yield number, first_ms + delta_ms
            at = end
    except (RequestError, IndexError) as error:
        raise UnreadableError(str(error)) from None


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    """A number with a sign (``ByteUtils.readVarlong``), and where it ends."""
    value, at = varint(data, at, 10)
    return (value >> 1) ^ -(value & 1), at
