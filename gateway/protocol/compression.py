"""Compression of batches' records, as Kafka's clients and brokers frame it (``CompressionType``).

A broker compresses anew where a topic's ``compression.type`` is not ``producer`` (``LogValidator``), and unpacks a
batch to look for a record in it.
"""

import struct
from typing import Final

import cramjam

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

MOST: Final = 16 * 1024 * 1024
"""Bytes that a batch may have when it is unpacked: a few bytes of a client may be made to grow to any size."""

_SIZE: Final = struct.Struct(">i")
_FRAMED_BY_JAVA: Final = b"\x82SNAPPY\x00"
_FRAME_HEADER: Final = 16
_SNAPPY_VERSIONS: Final = struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK: Final = 32 * 1024
"""Bytes of a block of ``SnappyOutputStream``."""

_LZ4_HEADER: Final = bytes.fromhex("04224d18604082")
"""Magic, independent blocks of 64 KiB, the header's checksum: the only blocks that ``Lz4BlockInputStream`` reads."""
_LZ4_BLOCK: Final = 64 * 1024
_LZ4_SIZE: Final = struct.Struct("<I")
_LZ4_AS_IT_IS: Final = 1 << 31
"""Marks a block that is not compressed."""


class UnreadableError(ValueError):
    """Records that cannot be read, or that would take too long: a broker never looks at them when it takes a batch."""


def unpacked(data: bytes, codec: int) -> bytes:
    """The records of a batch; at most :data:`MOST` bytes.

    Raises:
        UnreadableError: they are compressed in another way, or there are more.
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


def packed(data: bytes, codec: int) -> bytes:
    """Records compressed, framed so that Java's clients read them too; the same bytes for the same records."""
    if codec == NONE:
        return data
    if codec == SNAPPY:
        return _packed_snappy(data)
    if codec == LZ4:
        return _packed_lz4(data)
    library = {GZIP: cramjam.gzip, ZSTD: cramjam.zstd}[codec]
    return bytes(library.compress(data))


def _unpacked_snappy(data: bytes) -> bytes:
    """One block, or blocks with their lengths before them as Java's library writes them."""
    if not data.startswith(_FRAMED_BY_JAVA):
        return _block(data, MOST)
    out, at = bytearray(), _FRAME_HEADER
    while at < len(data):
        (size,) = _SIZE.unpack_from(data, at)
        out += _block(data[at + _SIZE.size : at + _SIZE.size + size], MOST - len(out))
        at += _SIZE.size + size
    return bytes(out)


def _block(data: bytes, most: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > most:
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
