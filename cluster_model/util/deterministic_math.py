"""Powers with broken exponents in whole numbers, for tables that must be the same on every machine."""

from functools import lru_cache
from math import isqrt
from typing import Final

FRACTION: Final = 80
"""Bits behind the point of every fixed-point number here."""
ONE: Final = 1 << FRACTION


def log2(number: int) -> int:
    """Binary logarithm of a whole number from 1 on, in fixed point, rounded down."""
    exponent = number.bit_length() - 1
    rest = (number << FRACTION) >> exponent
    result = exponent
    for _ in range(FRACTION):
        rest = rest * rest >> FRACTION
        result <<= 1
        if rest >= 2 * ONE:
            rest >>= 1
            result += 1
    return result


def exp2(exponent: int) -> int:
    """Two to the power of a fixed-point number, in fixed point; exact to about the last ten bits."""
    whole, part = exponent >> FRACTION, exponent & (ONE - 1)
    result = ONE
    for place, root in enumerate(_roots()):
        if part >> (FRACTION - 1 - place) & 1:
            result = result * root >> FRACTION
    return result << whole if whole >= 0 else result >> -whole


@lru_cache(maxsize=1)
def _roots() -> tuple[int, ...]:
    """Square root of two, its square root, and so on."""
    roots = []
    root = 2 * ONE
    for _ in range(FRACTION):
        root = isqrt(root << FRACTION)
        roots.append(root)
    return tuple(roots)
