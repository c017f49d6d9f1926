"""What is worse, and what better, than in a baseline, and which of it cannot be chance."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from spark_report.fleet import wilson

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def changes(findings: "DataFrame", runs: "DataFrame", baseline: str) -> "DataFrame":
    """The table ``fleet_changes``: of every other fleet each key that either found, against the fleet ``baseline``.

    ``findings`` are those of :func:`spark_report.fleet.rates.findings`; ``runs`` tells how many runs ended
    where a key was never found. The run named is one of the fleet's, or where it found nothing one of the baseline's.
    """
    ended = runs.groupBy("fleet").agg(F.count_if(F.col("error") == "").alias("ended"))
    others = ended.filter(F.col("fleet") != baseline)
    base = ended.filter(F.col("fleet") == baseline).select(F.col("ended").alias("base_ended"))
    own = findings.filter(F.col("fleet") != baseline)
    told = F.struct("run", "seed", "again", "session")
    before = findings.filter(F.col("fleet") == baseline).select(
        "key", F.col("hits").alias("before_hits"), F.col("runs").alias("before_of"), told.alias("then")
    )
    keys = findings.select("key").distinct().crossJoin(others).crossJoin(base)
    now = own.select("fleet", "key", "hits", F.col("runs").alias("of"), told.alias("now"))
    both = (
        keys.join(now, on=["fleet", "key"], how="left")
        .join(before, on="key", how="left")
        .withColumns(
            {
                "runs": F.coalesce("of", "ended"),
                "hits": F.coalesce("hits", F.lit(0)),
                "before_runs": F.coalesce("before_of", "base_ended"),
                "before_hits": F.coalesce("before_hits", F.lit(0)),
                "shown": F.coalesce("now", "then"),
            }
        )
    )
    after_of, before_of = (F.col("hits"), F.col("runs")), (F.col("before_hits"), F.col("before_runs"))
    rated = both.filter((F.col("runs") > 0) & (F.col("before_runs") > 0)).withColumns(
        {
            "probability": wilson.probability(*after_of),
            "before": wilson.probability(*before_of),
            "low": wilson.difference_low(after_of, before_of),
            "high": wilson.difference_high(after_of, before_of),
        }
    )
    change = F.when(F.col("low") > 0, "worse").when(F.col("high") < 0, "better").otherwise("same")
    return rated.select(
        *("fleet", "key", change.alias("change"), "before_runs", "before_hits", "before", "runs", "hits"),
        *("probability", (F.col("probability") - F.col("before")).alias("difference"), "low", "high", "shown.*"),
    )
