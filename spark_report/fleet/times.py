"""How long it takes until all is well again: quantiles over the runs, each the value of a run that can be looked at."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MEASURES: Final = ("recovery_us", "longest_unavailable_us", "unavailable_us")
QUANTILES: Final = (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100))
"""Name → percent."""


def times(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_times``: of every measure its quantiles by the nearest rank.

    A run that never came to it is behind all others; one without the measure, as it broke inside, does not count.
    Of runs with the same value the first is named.
    """
    pairs = F.explode(F.array(*[F.struct(F.lit(name).alias("measure"), F.col(name).alias("us")) for name in MEASURES]))
    each = runs.select("fleet", "run", "seed", "again", "session", pairs.alias("one")).select("*", "one.*")
    known = each.filter(F.col("us").isNotNull()).withColumn("value_us", F.when(F.col("us") >= 0, F.col("us")))
    own = Window.partitionBy("fleet", "measure")
    ranked = known.select(
        *("fleet", "measure", "value_us", "run", "seed", "again", "session"),
        F.row_number().over(own.orderBy(F.col("value_us").asc_nulls_last(), "run")).alias("place"),
        F.count(F.lit(1)).over(own).alias("runs"),
        F.count_if(F.col("value_us").isNull()).over(own).alias("never"),
    )
    wanted = F.explode(
        F.array(*[F.struct(F.lit(name).alias("quantile"), F.lit(share).alias("share")) for name, share in QUANTILES])
    )
    asked = ranked.select("*", wanted.alias("of")).select("*", "of.*")
    rank = F.ceil(F.col("runs") * F.col("share") / 100)
    return asked.filter(F.col("place") == rank).select(
        *("fleet", "measure", "quantile", "runs", "never", "value_us", "run", "seed", "again", "session")
    )
