"""How likely each finding is: a row for each fleet and key, also for anything at all."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from spark_report.fleet import wilson

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ANY: Final = "any"
SURPRISING: Final = "surprising"
ERROR: Final = "error:%"


def hits(runs: "DataFrame") -> "DataFrame":
    """A row for each run and key that it found, with :data:`ANY` and :data:`SURPRISING` among the keys."""
    each = runs.select("*", F.explode(_with_any(F.col("found"))).alias("hit"))
    return each.select(*[name for name in runs.columns if name != "found"], "hit.*")


def _with_any(found: "Column") -> "Column":
    """What a run found and, once each, that it found anything, and anything surprising, as the first such one says."""
    real = F.filter(found, lambda each: ~each["key"].like(ERROR))
    odd = F.filter(real, lambda each: each["expected"] == "")
    return F.concat(found, _named(ANY, real), _named(SURPRISING, odd))


def _named(key: str, found: "Column") -> "Column":
    return F.transform(
        F.slice(found, 1, 1),
        lambda each: F.struct(
            F.lit(key).alias("key"), each["expected"].alias("expected"), each["sentence"].alias("sentence")
        ),
    )


def findings(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_findings``."""
    counted = runs.groupBy("fleet").agg(
        F.count(F.lit(1)).alias("all_runs"), F.count_if(F.col("error") == "").alias("ended")
    )
    # The run that speaks for it: the first that is a surprise, or else the first.
    spoken = F.struct(
        (F.col("expected") != "").alias("late"), "run", "expected", "sentence", "seed", "again", "session"
    )
    by_key = hits(runs).groupBy("fleet", "key").agg(F.count(F.lit(1)).alias("hits"), F.min(spoken).alias("one"))
    among = F.when(F.col("key").like(ERROR), F.col("all_runs")).otherwise(F.col("ended"))
    rated = by_key.join(F.broadcast(counted), on="fleet", how="inner").withColumn("runs", among)
    return rated.select(
        *("fleet", "key", "one.expected", "runs", "hits"),
        wilson.probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson.low(F.col("hits"), F.col("runs")).alias("low"),
        wilson.high(F.col("hits"), F.col("runs")).alias("high"),
        *("one.sentence", "one.run", "one.seed", "one.again", "one.session"),
    )
