"""Hashes, murmur2 and powers in integers, the same on every machine and in every run."""

import hashlib
from functools import lru_cache
from math import isqrt
from typing import Final

FRACTION: Final = 80
"""Fraction bits of every fixed-point number here."""
ONE: Final = 1 << FRACTION


def log2(number: int) -> int:
    """Return the binary logarithm of a positive integer, in fixed point, rounded down."""
    exponent = number.bit_length() - 1
    mantissa = (number << FRACTION) >> exponent
    result = exponent
    for _ in range(FRACTION):
        mantissa = mantissa * mantissa >> FRACTION
        result <<= 1
        if mantissa >= 2 * ONE:
            mantissa >>= 1
            result += 1
    return result


def exp2(exponent: int) -> int:
    """Return two to the power of a fixed-point number, in fixed point; exact to about the last ten bits."""
    whole_part, part = exponent >> FRACTION, exponent & (ONE - 1)
    result = ONE
    for place, root in enumerate(_roots()):
        if part >> (FRACTION - 1 - place) & 1:
            result = result * root >> FRACTION
    return result << whole_part if whole_part >= 0 else result >> -whole_part


@lru_cache(maxsize=1)
def _roots() -> tuple[int, ...]:
    """Return the square root of two, its square root, and so on."""
    roots = []
    root = 2 * ONE
    for _ in range(FRACTION):
        root = isqrt(root << FRACTION)
        roots.append(root)
    return tuple(roots)


# Hashes: numbers that look random but are the same on every replica and in every run.


_MASK_64: Final = 2**64 - 1


def mix64(value: int) -> int:
    """Return 64 well-mixed bits of a number (SplitMix64)."""
    value = (value * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _MASK_64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK_64
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK_64
    return value ^ value >> 31


def number_of(name: str) -> int:
    """Return 64 bits of a name's SHA-256."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


# Hash of a record's key, and its partition (``Utils.murmur2``, ``BuiltInPartitioner``).


_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_MASK_32: Final = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Return 32-bit murmur2 with Kafka's seed, unsigned; Java's int has the same bits with a sign."""
    length = len(key)
    aligned = length & ~3
    hashed = _SEED ^ length
    for at in range(0, aligned, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _M & _MASK_32
        word = (word ^ word >> 24) * _M & _MASK_32
        hashed = hashed * _M & _MASK_32 ^ word
    if aligned < length:
        hashed = (hashed ^ int.from_bytes(key[aligned:], "little")) * _M & _MASK_32
    hashed = (hashed ^ hashed >> 13) * _M & _MASK_32
    return hashed ^ hashed >> 15


def partition_for_key(key: bytes, total: int) -> int:
    """Return the partition of a key among ``total``, including those without a leader; an empty key is a key.

    With more partitions most keys move to another one: the order within a key breaks there.
    """
    return (murmur2(key) & 0x7FFFFFFF) % total
