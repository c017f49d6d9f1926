"""How much went through, over time and by outcome."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.tallies import records, times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS: Final = (
    *("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted", "records_read"),
    "produce_refused",
)
TIMEOUTS: Final = ("REQUEST_TIMED_OUT", "TimeoutException")
"""Errors that say no more than that time ran out."""

_SECOND_US: Final = 1_000_000


def throughput(tallies: "DataFrame") -> "DataFrame":
    """Records by client and bin of time, and how many a second that is."""
    of_clients = tallies.filter(F.col("kind").isin(*KINDS))
    counted = of_clients.groupBy("session_id", "client", "bin_began_us", "bin_us").agg(
        *(records(F.col("kind") == f"records_{what}").alias(what) for what in ("sent", "acked", "failed", "unknown")),
        records(F.col("kind") == "records_read").alias("read"),
        times(F.col("kind") == "produce_refused").alias("refused"),
    )
    per_second = [(F.col(what) * _SECOND_US / F.col("bin_us")).alias(f"{what}_per_s") for what in ("acked", "read")]
    return counted.select("*", *per_second)


def outcomes(tallies: "DataFrame") -> "DataFrame":
    """What became of the records that a client sent to a partition with an acks level."""
    kind = F.col("kind")
    late = F.col("error").isin(*TIMEOUTS)
    return (
        tallies.filter(kind.isin(*KINDS) & (kind != "records_read"))
        .groupBy("session_id", "client", "partition", "acks")
        .agg(
            records(kind == "records_sent").alias("sent"),
            records(kind == "records_acked").alias("acked"),
            records(kind == "records_failed").alias("rejected"),
            records((kind == "records_unknown") & late).alias("timed_out"),
            records((kind == "records_unknown") & ~late).alias("unknown_other"),
            records(kind == "records_aborted").alias("aborted"),
            times(kind == "produce_refused").alias("refused"),
        )
    )
