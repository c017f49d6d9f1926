"""The hash of a record's key, and the partition that it stands for (``Utils.murmur2``, ``BuiltInPartitioner``)."""

from typing import Final

_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_MASK: Final = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """32-bit murmur2 with Kafka's seed, unsigned; Java's int is the same bits with a sign."""
    length = len(key)
    whole = length & ~3
    hashed = _SEED ^ length
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        hashed = hashed * _M & _MASK ^ word
    if whole < length:
        hashed = (hashed ^ int.from_bytes(key[whole:], "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def partition_for_key(key: bytes, total: int) -> int:
    """The partition of a key among ``total``, those without a leader counted too; an empty key is a key.

    More partitions mean another place for most keys: the order within a key breaks there.
    """
    return (murmur2(key) & 0x7FFFFFFF) % total
