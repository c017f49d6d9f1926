"""What a producer's load looks like, as plain data already checked by whoever read it."""

from typing import Final, NamedTuple

HOUR_US: Final = 3_600_000_000
RATE_UNITS: Final = 1_000_000
"""Rates are whole numbers of millionths of a record per hour: every rate that can be written is one exactly."""
RECORD: Final = HOUR_US * RATE_UNITS
"""One record, in rate units times microseconds."""


class Stretch(NamedTuple):
    """A stretch of time in which the rate goes evenly from ``start`` to ``end`` (in :data:`RATE_UNITS`).

    ``duration_us`` -1: for ever, and ``start`` and ``end`` are the same.
    """

    duration_us: int
    start: int
    end: int


class RateProfile(NamedTuple):
    """A rate that changes with time: stretches, one after the other, counted from the producer's start.

    ``repeats``: after the last one the first one comes again; no stretch is endless then. Otherwise the last one is.
    """

    stretches: tuple[Stretch, ...]
    repeats: bool = False


def constant(rate: int) -> RateProfile:
    """One rate for ever."""
    return RateProfile((Stretch(-1, rate, rate),))


class ClosedLoop(NamedTuple):
    """At most ``outstanding`` records are not settled; each batch is followed by the next after ``think_us``."""

    outstanding: int
    think_us: int = 0


class UniformSizes(NamedTuple):
    """Records of ``low`` to ``high`` bytes, all alike often."""

    low: int
    high: int


class TwoSizes(NamedTuple):
    """Records of ``small`` bytes, and ``large_ppm`` in a million of ``large`` bytes."""

    small: int
    large: int
    large_ppm: int


class SpreadSizes(NamedTuple):
    """Sizes whose logarithm is normal: half are below ``median`` bytes, one in a hundred is above ``p99``."""

    median: int
    p99: int


Sizes = UniformSizes | TwoSizes | SpreadSizes
"""How the sizes of records are drawn."""


class ZipfKeys(NamedTuple):
    """The second key is had by 2^s times fewer records than the first, the third by 3^s times fewer, and so on.

    ``exponent`` is s in thousandths.
    """

    exponent: int


class HotKey(NamedTuple):
    """``share_ppm`` in a million records have the first key, the others any of the rest."""

    share_ppm: int


KeySkew = ZipfKeys | HotKey
"""How keys are drawn that are not all alike."""


class OwnPartitioner(NamedTuple):
    """An application's own partitioner: some keys go to a partition each."""

    keys: tuple[tuple[int, int], ...]
    """(N of ``key-N``, partition)."""
    others: int = -1
    """Partition of all other keys; -1: each goes by Kafka's hash."""
