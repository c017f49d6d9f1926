"""How much went through, over time and by outcome."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KINDS: Final = (
    *("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted", "records_read"),
    "produce_refused",
)
TIMEOUTS: Final = ("REQUEST_TIMED_OUT", "TimeoutException")
"""Errors that say no more than that time ran out."""

_SECOND_US: Final = 1_000_000


def throughput(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Records by client and bin of time, and how many a second that is."""
    binned = (
        events.filter(F.col("kind").isin(*KINDS))
        .join(F.broadcast(sessions.select("session_id", "bin_us")), on="session_id", how="inner")
        .withColumn("bin_began_us", F.col("at_us") - F.col("at_us") % F.col("bin_us"))
    )
    counted = binned.groupBy("session_id", "client", "bin_began_us", "bin_us").agg(
        *(_records(F.col("kind") == f"records_{what}").alias(what) for what in ("sent", "acked", "failed", "unknown")),
        _records(F.col("kind") == "records_read").alias("read"),
        F.count(F.when(F.col("kind") == "produce_refused", F.lit(1))).alias("refused"),
    )
    per_second = [(F.col(what) * _SECOND_US / F.col("bin_us")).alias(f"{what}_per_s") for what in ("acked", "read")]
    return counted.select("*", *per_second)


def outcomes(events: "DataFrame") -> "DataFrame":
    """What became of the records that a client sent to a partition with an acks level."""
    kind = F.col("kind")
    late = F.col("error").isin(*TIMEOUTS)
    return (
        events.filter(kind.isin(*KINDS) & (kind != "records_read"))
        .groupBy("session_id", "client", "partition", "acks")
        .agg(
            _records(kind == "records_sent").alias("sent"),
            _records(kind == "records_acked").alias("acked"),
            _records(kind == "records_failed").alias("rejected"),
            _records((kind == "records_unknown") & late).alias("timed_out"),
            _records((kind == "records_unknown") & ~late).alias("unknown_other"),
            _records(kind == "records_aborted").alias("aborted"),
            F.count(F.when(kind == "produce_refused", F.lit(1))).alias("refused"),
        )
    )


def _records(condition: "Column") -> "Column":
    return F.coalesce(F.sum(F.when(condition, F.col("count"))), F.lit(0))
