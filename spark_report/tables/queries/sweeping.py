"""Ranges on a line of whole numbers, cut wherever one begins or ends: who covers each piece, in one sort.

Offsets of a log and the numbers of a client's records are such lines. Comparing ranges with each other by a join would
take as long as the square of their number.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def swept(
    ranges: "DataFrame", keys: Sequence[str], weights: Sequence[str], carried: str = "", holds: str = ""
) -> "DataFrame":
    """The pieces of each line, ``[start, end)``, with the sum of each weight over the ranges that cover it.

    ``ranges`` has ``start`` and ``end`` and a number (null is 0) by the name of each weight. ``carried`` names a column
    that one range at a time has, which has the weight ``holds``: each piece gets it from the range that covers it.
    """
    own = [F.col(name) for name in keys]

    def edges(at: str, sign: int) -> "DataFrame":
        sums = [(F.coalesce(F.col(name), F.lit(0)).cast("long") * sign).alias(name) for name in weights]
        kept = [F.col(carried) if sign > 0 else F.lit(None).alias(carried)] if carried else []
        return ranges.select(*own, F.col(at).alias("start"), *sums, *kept)

    both = edges("start", 1).unionByName(edges("end", -1))
    begun = [F.max(carried).alias(carried)] if carried else []
    at = both.groupBy(*own, "start").agg(*(F.sum(name).alias(name) for name in weights), *begun)
    order = Window.partitionBy(*keys).orderBy("start")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    pieces = at.select(
        *own,
        "start",
        F.lead("start").over(order).alias("end"),
        *(F.sum(name).over(so_far).alias(name) for name in weights),
        *([F.last(carried, ignorenulls=True).over(so_far).alias(carried)] if carried else []),
    ).filter(F.col("end").isNotNull())
    if carried:
        pieces = pieces.withColumn(carried, F.when(F.col(holds) > 0, F.col(carried)))
    return pieces
