"""Which settings are best: a row for each combination that was run, ranked."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.fleet import wilson

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST: Final = 1_000
"""Combinations that are told of a fleet: the best and the worst of them."""


def settings(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_settings``.

    Best are the fewest runs with a surprise, as a share, then with anything, then with lost records, then the shortest
    median of the longest outages. The run that is named is the worst: a surprise before anything, then most lost, then
    the longest outage.
    """
    real = F.filter("found", lambda each: ~each["key"].like("error:%"))
    odd = F.exists(real, lambda each: each["expected"] == "")
    ended = runs.filter(F.col("error") == "").withColumns(
        {"odd": odd.cast("int"), "hit": (F.size(real) > 0).cast("int"), "lost": F.coalesce("acked_lost", F.lit(0))}
    )
    outage = F.coalesce("longest_unavailable_us", F.lit(0))
    worst = F.max_by(
        F.struct("run", "seed", "again", "session"), F.struct("odd", "hit", "lost", outage.alias("us"), -F.col("run"))
    )
    by_settings = ended.groupBy("fleet", "settings").agg(
        F.count(F.lit(1)).alias("runs"),
        F.sum("hit").alias("hits"),
        F.sum("odd").alias("surprising_hits"),
        F.count_if(F.col("lost") > 0).alias("lossy_runs"),
        F.sum("lost").alias("acked_lost"),
        _median("longest_unavailable_us").alias("outage_p50_us"),
        worst.alias("worst"),
    )
    share = [F.col(name) / F.col("runs") for name in ("surprising_hits", "hits", "lossy_runs")]
    order = Window.partitionBy("fleet").orderBy(*share, F.col("outage_p50_us").asc_nulls_last(), "settings")
    ranked = by_settings.withColumns(
        {"rank": F.row_number().over(order), "all": F.count(F.lit(1)).over(Window.partitionBy("fleet"))}
    )
    told = ranked.filter((F.col("rank") <= MOST // 2) | (F.col("rank") > F.col("all") - MOST // 2))
    return told.select(
        *("fleet", "settings", "rank", "runs", "hits"),
        wilson.probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson.low(F.col("hits"), F.col("runs")).alias("low"),
        wilson.high(F.col("hits"), F.col("runs")).alias("high"),
        *("surprising_hits", "lossy_runs", "acked_lost", "outage_p50_us"),
        "worst.*",
    )


def _median(name: str) -> "Column":
    """The lower median, of the values that there are: a value of one of the runs."""
    return F.expr(f"percentile_disc(0.5) within group (order by {name})")
