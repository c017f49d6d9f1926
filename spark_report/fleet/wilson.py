"""Wilson's interval of a probability, and Newcombe's of the difference of two, as columns."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column

Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for intervals of 95 %."""


def probability(hits: "Column", runs: "Column") -> "Column":
    """A plain ratio; null without runs."""
    return F.when(runs > 0, hits / runs)


def low(hits: "Column", runs: "Column") -> "Column":
    """Lower end of Wilson's 95 % interval."""
    return F.when(hits == 0, F.lit(0.0)).otherwise(F.greatest(F.lit(0.0), _centre(hits, runs) - _half(hits, runs)))


def high(hits: "Column", runs: "Column") -> "Column":
    """Upper end of Wilson's 95 % interval."""
    return F.when(hits == runs, F.lit(1.0)).otherwise(F.least(F.lit(1.0), _centre(hits, runs) + _half(hits, runs)))


def difference_low(after: "tuple[Column, Column]", before: "tuple[Column, Column]") -> "Column":
    """Lower end of Newcombe's interval of ``after - before``; each is (hits, runs)."""
    one, other = probability(*after), probability(*before)
    return one - other - F.sqrt((one - low(*after)) ** 2 + (high(*before) - other) ** 2)


def difference_high(after: "tuple[Column, Column]", before: "tuple[Column, Column]") -> "Column":
    """Upper end of Newcombe's interval of ``after - before``; each is (hits, runs)."""
    one, other = probability(*after), probability(*before)
    return one - other + F.sqrt((high(*after) - one) ** 2 + (other - low(*before)) ** 2)


def _centre(hits: "Column", runs: "Column") -> "Column":
    return (hits + Z * Z / 2) / (runs + Z * Z)


def _half(hits: "Column", runs: "Column") -> "Column":
    share = hits / runs
    return Z * F.sqrt(runs * share * (1 - share) + Z * Z / 4) / (runs + Z * Z)
