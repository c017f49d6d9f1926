"""Which two faults are most dangerous together."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.fleet import rates, wilson

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST: Final = 50
"""Pairs of a key that are told."""


def pairs(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_pairs``: runs in which both struck, how many of them found it, and how much more often that is.

    Told are pairs that found it at least once, the most dangerous of each key: those whose probability is greatest
    without being chance, by the lower end of its interval.
    """
    ended = runs.filter(F.col("error") == "")
    faults = F.sort_array(F.array_distinct("faults"))
    rest = F.transform(
        faults,
        lambda one, place: F.transform(
            F.slice(faults, place + 2, F.size(faults)),
            lambda other: F.struct(one.alias("one"), other.alias("other")),
        ),
    )
    paired = ended.withColumn("pair", F.explode(F.flatten(rest)))
    counted = paired.groupBy("fleet", "pair").agg(F.count(F.lit(1)).alias("runs"))
    found = rates.hits(paired.select("fleet", "run", "seed", "again", "session", "found", "pair"))
    shown = F.min(F.struct("run", "seed", "again", "session")).alias("first")
    hit = found.groupBy("fleet", "pair", "key").agg(F.count(F.lit(1)).alias("hits"), shown)
    overall = rates.findings(ended).select("fleet", "key", F.col("probability").alias("overall"))
    joined = hit.join(counted, on=["fleet", "pair"], how="inner").join(overall, on=["fleet", "key"], how="inner")
    rated = joined.select(
        *("fleet", "key", "pair.one", "pair.other", "runs", "hits"),
        wilson.probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson.low(F.col("hits"), F.col("runs")).alias("low"),
        wilson.high(F.col("hits"), F.col("runs")).alias("high"),
        (F.col("hits") / F.col("runs") / F.col("overall")).alias("lift"),
        "first.*",
    )
    order = Window.partitionBy("fleet", "key").orderBy(F.desc("low"), F.desc("runs"), "one", "other")
    return rated.withColumn("place", F.row_number().over(order)).filter(F.col("place") <= MOST).drop("place")
