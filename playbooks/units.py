"""Conversion of quantities with units to the model's whole numbers (microseconds, bytes), without floats."""

import re
from fractions import Fraction
from typing import Final

from cluster_model.spec import HOUR_US, RATE_UNITS

MICROSECONDS: Final[dict[str, int]] = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
"""Unit of time → microseconds."""

BYTES: Final[dict[str, int]] = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
"""Unit of size → bytes."""

BITS: Final[dict[str, int]] = {"bit": 1, "kbit": 1_000, "Mbit": 1_000_000, "Gbit": 1_000_000_000}
"""Unit of bandwidth → bits."""

LONGEST_US: Final = 10_000 * MICROSECONDS["h"]
"""Longest duration allowed in a playbook: 10000 hours of virtual time."""

LARGEST_BYTES: Final = 1024 * BYTES["GiB"]

DURATION_PATTERN: Final = r"[0-9]{1,30}(?:\.[0-9]{1,9})?(?:us|ms|s|m|h)"
RATE_PATTERN: Final = r"[0-9]{1,12}(?:\.[0-9]{1,6})?/(?:us|ms|s|m|h)"
SIZE_PATTERN: Final = r"[0-9]{1,15}(?:\.[0-9]{1,9})?(?:B|KiB|MiB|GiB)?"
SHARE_PATTERN: Final = r"[0-9]{1,2}(?:\.[0-9]{1,4})?%"
EXPONENT_PATTERN: Final = r"[0-9](?:\.[0-9]{1,3})?"

DURATION_ALLOWED: Final = "a duration such as 250us, 5ms, 1.5s, 2m or 1h"
RATE_ALLOWED: Final = "a rate such as 200/s, 5/ms or 30/m"
SIZE_ALLOWED: Final = "a size such as 512, 64KiB or 1MiB"
THROUGHPUT_PATTERN: Final = r"[0-9]{1,12}(?:\.[0-9]{1,6})?(?:(?:B|KiB|MiB|GiB)|(?:bit|kbit|Mbit|Gbit))/s"
PERCENT_PATTERN: Final = r"[0-9]{1,6}(?:\.[0-9]{1,4})?%"

SHARE_ALLOWED: Final = "a share above 0% and below 100%, such as 80% or 0.5%"
THROUGHPUT_ALLOWED: Final = "a throughput such as 375KiB/s, 10MiB/s or 3Mbit/s"
PERCENT_ALLOWED: Final = "a percentage such as 5%, 0.5% or 1000%"
EXPONENT_ALLOWED: Final = "a number above 0 and up to 5 with at most three decimals, such as 1.1"

_NUMBER_AND_UNIT: Final = re.compile(r"([0-9.]+)([A-Za-z]*)")


class UnitError(ValueError):
    """Text that is not a valid quantity; the message says what is allowed."""


def duration_us(text: str) -> int:
    """Microseconds of ``5ms``, ``1.5s`` ...; raises :class:`UnitError` for any other text."""
    value = _scaled(text, DURATION_PATTERN, MICROSECONDS, DURATION_ALLOWED)
    if value.denominator != 1:
        raise UnitError("finer than a microsecond, the smallest unit of time")
    if value > LONGEST_US:
        raise UnitError("longer than 10000h, the longest time allowed")
    return int(value)


def size_bytes(text: str) -> int:
    """Bytes of ``64KiB``, ``1MiB`` or a plain number of bytes; raises :class:`UnitError`."""
    value = _scaled(text, SIZE_PATTERN, BYTES | {"": 1}, SIZE_ALLOWED)
    if value.denominator != 1:
        raise UnitError("not a whole number of bytes")
    if value > LARGEST_BYTES:
        raise UnitError("more than 1024GiB, the largest size allowed")
    return int(value)


def per_second(text: str) -> Fraction:
    """A rate such as ``200/s`` as an exact number per second; raises :class:`UnitError`."""
    if not re.fullmatch(RATE_PATTERN, text, re.ASCII):
        raise UnitError(RATE_ALLOWED)
    count, unit = text.split("/")
    rate = Fraction(count) * MICROSECONDS["s"] / MICROSECONDS[unit]
    if rate == 0:
        raise UnitError("a rate above 0")
    return rate


def rate_units(text: str) -> int:
    """A rate in the model's whole units, exactly; 0 is allowed here. Raises :class:`UnitError`."""
    if not re.fullmatch(RATE_PATTERN, text, re.ASCII):
        raise UnitError(RATE_ALLOWED)
    count, unit = text.split("/")
    return int(Fraction(count) * RATE_UNITS * (HOUR_US // MICROSECONDS[unit]))


def share_ppm(text: str) -> int:
    """Millionths of ``80%``, above 0% and below 100%; raises :class:`UnitError`."""
    share = Fraction(text[:-1]) * 10_000 if re.fullmatch(SHARE_PATTERN, text, re.ASCII) else Fraction(0)
    if not share:
        raise UnitError(SHARE_ALLOWED)
    return int(share)


def percent_ppm(text: str) -> int:
    """Millionths of ``5%``; 0% and more than 100% are allowed. Raises :class:`UnitError`."""
    if not re.fullmatch(PERCENT_PATTERN, text, re.ASCII):
        raise UnitError(PERCENT_ALLOWED)
    return int(Fraction(text[:-1]) * 10_000)


def throughput_bps(text: str) -> int:
    """Bytes per second of ``375KiB/s`` or ``3Mbit/s``, at least 1; raises :class:`UnitError`."""
    if not re.fullmatch(THROUGHPUT_PATTERN, text, re.ASCII):
        raise UnitError(THROUGHPUT_ALLOWED)
    count, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]+)/s", text).groups()  # type: ignore[union-attr]
    value = Fraction(count) * BYTES[unit] if unit in BYTES else Fraction(count) * BITS[unit] / 8
    if not 1 <= value <= LARGEST_BYTES:
        raise UnitError("a throughput from 1B/s to 1024GiB/s")
    return int(value)


def thousandths(text: str) -> int:
    """Thousandths of an exponent such as ``1.1``, above 0 and up to 5; raises :class:`UnitError`."""
    exponent = Fraction(text) * 1_000 if re.fullmatch(EXPONENT_PATTERN, text, re.ASCII) else Fraction(0)
    if not 0 < exponent <= 5_000:
        raise UnitError(EXPONENT_ALLOWED)
    return int(exponent)


def interval_us(text: str, batch: int = 1) -> int:
    """Microseconds between batches of ``batch`` records at a rate of records, to the nearest microsecond."""
    interval = round(batch * MICROSECONDS["s"] / per_second(text))
    if interval < 1:
        raise UnitError("more than one batch per microsecond; use a lower rate, or larger batches")
    if interval > LONGEST_US:
        raise UnitError("less than one batch in 10000h; use a higher rate, or smaller batches")
    return interval


def duration_text(us: int) -> str:
    """The shortest exact way to write ``us`` microseconds: ``5ms``, ``90s``, ``2m``."""
    for unit in ("h", "m", "s", "ms"):
        if us and us % MICROSECONDS[unit] == 0:
            return f"{us // MICROSECONDS[unit]}{unit}"
    return f"{us}us"


def size_text(count: int) -> str:
    """The shortest exact way to write ``count`` bytes: ``1MiB``."""
    for unit in ("GiB", "MiB", "KiB"):
        if count and count % BYTES[unit] == 0:
            return f"{count // BYTES[unit]}{unit}"
    return f"{count}B"


def throughput_text(count: int) -> str:
    """The shortest exact way to write ``count`` bytes per second: ``3Mbit/s``, ``375KiB/s``."""
    for unit in ("Gbit", "Mbit", "kbit"):
        if count % 1024 and count * 8 % BITS[unit] == 0:
            return f"{count * 8 // BITS[unit]}{unit}/s"
    return f"{size_text(count)}/s"


def _scaled(text: str, pattern: str, units: dict[str, int], allowed: str) -> Fraction:
    if not re.fullmatch(pattern, text, re.ASCII):
        bare = re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII)
        raise UnitError(f"{allowed}; a number alone has no unit" if bare else allowed)
    parts = _NUMBER_AND_UNIT.fullmatch(text)
    assert parts is not None  # every pattern above is a number and a unit
    return Fraction(parts[1]) * units[parts[2]]
