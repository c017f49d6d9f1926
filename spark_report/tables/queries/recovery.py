"""From a fault to its end in the cluster: noticed, a new leader elected, everything served again, nothing left of it.

What began while a fault was active, or after it and before the next one began, counts as brought about by it: where
faults overlap, each has it.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.points import election_kind, isr_change

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SIGNS: Final = (
    *("broker_fenced", "isr_changed", "leader_elected", "partition_offline", "controller_changed"),
    *("produce_refused", "records_failed", "records_unknown", "commit_failed", "partitions_lost", "consumer_failed"),
    *("truncation_detected", "corrupt_batch_found", "transaction_unknown"),
)
"""Kinds that show that the cluster or a client has noticed something."""

_FOR_EVER: Final = 1 << 62
_KEYS: Final = ("session_id", "fault_id")


def signs(events: "DataFrame") -> "DataFrame":
    """The events that show something; the first leader of a partition and an ISR that nobody has left do not."""
    first = (F.col("kind") == "leader_elected") & (F.col("leader_epoch") == 0)
    whole = (F.col("kind") == "isr_changed") & ~F.coalesce(isr_change().isin("shrink", "swap"), F.lit(False))
    return events.filter(F.col("kind").isin(*SIGNS) & ~first & ~whole).select(
        "session_id",
        F.col("at_us").alias("sign_us"),
        F.col("seq").alias("sign_seq"),
        F.translate("kind", "_", " ").alias("sign"),
        election_kind().isin("clean", "unclean").alias("_elected"),
    )


def fault_times(faults: "DataFrame", shown: "DataFrame", troubles: "DataFrame") -> "DataFrame":
    """A row a fault: when it was noticed, when a leader was elected, and when all was served and whole again.

    ``shown`` is what :func:`signs` gives; ``troubles`` are intervals with a ``trouble``: ``out`` (a partition without
    service), ``refused`` (a client) or ``lacking`` (too few replicas in sync).
    """
    known = faults.select(*_KEYS, "fault", "target", "began_us", "began_seq", "ended_us", "ended_seq", "open")
    following = F.lead("began_seq").over(Window.partitionBy("session_id").orderBy("began_seq"))
    until = F.greatest("ended_seq", F.coalesce(following, F.lit(_FOR_EVER)))
    few = F.broadcast(known.select(*_KEYS, "began_seq", until.alias("until_seq"))).alias("fault")
    own = F.col("fault.session_id") == F.col("other.session_id")
    noticed = shown.alias("other").join(
        few,
        on=own & F.col("other.sign_seq").between(F.col("fault.began_seq"), F.col("fault.until_seq")),
        how="inner",
    )
    felt = (
        troubles.select("session_id", "trouble", "partition", *_of("began_seq", "ended_us", "open"))
        .alias("other")
        .join(
            few,
            on=own & F.col("other._began_seq").between(F.col("fault.began_seq"), F.col("fault.until_seq")),
            how="inner",
        )
    )
    first = F.min(F.struct("sign_seq", "sign_us", "sign"))
    seen = noticed.groupBy("fault.session_id", "fault_id").agg(
        first.alias("_first"), F.min(F.when(F.col("_elected"), F.col("sign_us"))).alias("elected_us")
    )
    out = F.col("trouble") == "out"
    left = felt.groupBy("fault.session_id", "fault_id").agg(
        F.size(F.collect_set(F.when(out, F.col("partition")))).cast("long").alias("partitions_out"),
        _ended(out).alias("restored_us"),
        _ended(F.lit(True)).alias("recovered_us"),
        F.max("_open").alias("_left"),
    )
    times = known.join(F.broadcast(seen), on=list(_KEYS), how="left").join(
        F.broadcast(left), on=list(_KEYS), how="left"
    )
    return (
        times.withColumn("detected_us", F.col("_first.sign_us"))
        .withColumn("detected_by", F.coalesce("_first.sign", F.lit("")))
        .withColumn("partitions_out", F.coalesce("partitions_out", F.lit(0)))
        .withColumn("unrecovered", F.coalesce("_left", F.lit(False)))
        .select(
            *(*_KEYS, "fault", "target", "began_us", "ended_us", "open", "detected_us", "detected_by", "elected_us"),
            *("partitions_out", "restored_us", "recovered_us", "unrecovered"),
            *((F.col(f"{how}_us") - F.col("began_us")).alias(f"time_to_{what}_us") for what, how in _ends().items()),
        )
    )


def fault_means(times: "DataFrame") -> "DataFrame":
    """Means over the faults of a session by name, and over all of them (an empty name)."""
    each = times.withColumn("fault", F.explode(F.array(F.lit(""), F.col("fault"))))
    mean = {"mttd_us": "time_to_detect_us", "mtte_us": "time_to_elect_us", "mttr_us": "time_to_recover_us"}
    return each.groupBy("session_id", "fault").agg(
        F.count(F.lit(1)).alias("faults"),
        F.count("detected_us").alias("detected"),
        F.count("recovered_us").alias("recovered"),
        F.count(F.when(F.col("unrecovered"), F.lit(1))).alias("unrecovered_faults"),
        *(F.round(F.mean(column)).cast("long").alias(name) for name, column in mean.items()),
        F.max("time_to_restore_us").alias("rto_us"),
    )


def troubles(unavailability: "DataFrame", conditions: "DataFrame") -> "DataFrame":
    """Everything that a fault can leave behind, as intervals."""
    span = ("began_us", "began_seq", "ended_us", "ended_seq", "open")
    scope = F.when(F.col("scope") == "partition", F.lit("out")).otherwise(F.lit("refused"))
    out = unavailability.select("session_id", scope.alias("trouble"), "partition", *span)
    lacking = conditions.filter(F.col("condition").isin("under_replicated", "offline"))
    return out.unionByName(lacking.select("session_id", F.lit("lacking").alias("trouble"), "partition", *span))


def _of(*names: str) -> list["Column"]:
    return [F.col(name).alias(f"_{name}") for name in names]


def _ends() -> dict[str, str]:
    return {"detect": "detected", "elect": "elected", "restore": "restored", "recover": "recovered"}


def _ended(which: "Column") -> "Column":
    """When the last of these intervals ended; null if one never did."""
    never = F.max(F.when(which, F.col("_open")))
    return F.when(~never, F.max(F.when(which, F.col("_ended_us"))))
