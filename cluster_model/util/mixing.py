"""Numbers that look drawn but are functions of what they belong to: the same on every replica and in every run."""

import hashlib
from typing import Final

_MASK: Final = 2**64 - 1


def mixed(value: int) -> int:
    """64 well-mixed bits of a number (SplitMix64)."""
    value = (value * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31


def number_of(name: str) -> int:
    """64 bits of a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
