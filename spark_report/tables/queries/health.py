"""How a partition fared over a session: its share of service, too few replicas in sync, and all of it summed up."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.intervals import SPAN, merged
from spark_report.tables.queries.points import election_kind, isr_change
from spark_report.tables.queries.progress import with_life

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CONDITIONS: Final = ("under_replicated", "at_min_isr", "under_min_isr", "offline")

_AGAINST_MIN_ISR: Final = ("at_min_isr_us", "under_min_isr_us")
_MINUTE_US: Final = 60_000_000
_WHOM: Final = ("session_id", "scope", "partition", "client", "acks")


def isr_conditions(states: "DataFrame") -> "DataFrame":
    """When a partition was in one of :data:`CONDITIONS`, by the controller's state; a partition may be in several.

    It is at its minimum only where that is not all it has. Of one whose placement nobody has told nothing is known.
    """
    size, replicas = F.col("isr_size"), F.col("replication")
    led = F.col("leader") >= 0
    found = {
        "under_replicated": led & (size < replicas),
        "at_min_isr": led & (size == F.col("min_isr")) & (size < replicas),
        "under_min_isr": led & (size < F.col("min_isr")),
        "offline": ~led,
    }
    conditions = F.array_compact(F.array(*(F.when(found[name], F.lit(name)) for name in CONDITIONS)))
    spans = (
        states.filter(replicas.isNotNull())
        .withColumn("condition", F.explode(conditions))
        .select("session_id", "partition", "condition", *SPAN)
    )
    return merged(spans, ["partition", "condition"]).withColumn("duration_us", F.col("ended_us") - F.col("began_us"))


def availability(
    unavailability: "DataFrame", events: "DataFrame", answers: "DataFrame", sessions: "DataFrame"
) -> "DataFrame":
    """Each partition, and each client at each partition with its acks level, with its share of time served.

    Time counts from a partition's first leader to its deletion, and from the first answer that a client got.
    ``answers`` needs the kinds that tell a producer something.
    """
    nobody, none = F.lit("").alias("client"), F.lit(None).cast("long").alias("acks")
    ends = F.broadcast(sessions.select("session_id", "end_us"))
    told = answers.groupBy("session_id", "partition", "client", "acks").agg(F.min("at_us").alias("first_us"))
    lasted = F.greatest(F.lit(0), F.col("end_us") - F.col("first_us")).alias("observed_us")
    known = (
        _led(events, ends)
        .select("session_id", F.lit("partition").alias("scope"), "partition", nobody, none, "observed_us")
        .unionByName(
            told.join(ends, on="session_id", how="inner").select(
                "session_id", F.lit("client").alias("scope"), "partition", "client", "acks", lasted
            )
        )
    )
    out = unavailability.select(*_WHOM, "duration_us", "open")
    stacked = known.unionByName(out, allowMissingColumns=True)
    totals = stacked.groupBy(*_WHOM).agg(
        F.count("duration_us").alias("intervals"),
        F.coalesce(F.sum("duration_us"), F.lit(0)).alias("unavailable_us"),
        F.coalesce(F.max("duration_us"), F.lit(0)).alias("longest_unavailable_us"),
        F.coalesce(F.max("observed_us"), F.lit(0)).alias("observed_us"),
        F.coalesce(F.max("open"), F.lit(False)).alias("open"),
    )
    share = 1 - F.least(F.lit(1.0), F.col("unavailable_us") / F.col("observed_us"))
    return totals.withColumn("availability", F.when(F.col("observed_us") > 0, share))


def _led(events: "DataFrame", ends: "DataFrame") -> "DataFrame":
    """How long partitions were there to be led; of one that was made anew under its name all of it, added up."""
    led, gone = F.col("kind") == "became_leader", F.col("kind") == "partition_deleted"
    # A life ends with its deletion, which counts among those that had happened by then.
    lives = with_life(events.filter(led | gone), events).withColumn("life", F.col("life") - gone.cast("int"))
    return (
        lives.groupBy("session_id", "partition", "life")
        .agg(F.min(F.when(led, F.col("at_us"))).alias("first_us"), F.max(F.when(gone, F.col("at_us"))).alias("gone_us"))
        .filter(F.col("first_us").isNotNull())
        .join(ends, on="session_id", how="inner")
        .withColumn("_lasted", F.coalesce("gone_us", F.greatest("end_us", "first_us")) - F.col("first_us"))
        .groupBy("session_id", "partition")
        .agg(F.sum("_lasted").alias("observed_us"))
    )


def partitions(
    events: "DataFrame",
    assignments: "DataFrame",
    sessions: "DataFrame",
    conditions: "DataFrame",
    stalls: "DataFrame",
) -> "DataFrame":
    """A row a partition with a known placement: replication, churn, elections, epochs and stalls, summed up."""
    keys = ["session_id", "partition"]
    decided = events.filter(F.col("kind").isin("leader_elected", "partition_offline", "isr_changed"))
    counted = decided.select(
        *keys,
        F.when(F.col("kind") != "isr_changed", F.col("leader_epoch")).alias("epoch"),
        election_kind().alias("election"),
        isr_change().alias("change"),
    )
    placed = assignments.select(*keys, F.size("replicas").cast("long").alias("replication"), "min_isr")
    trouble = conditions.select(*keys, "condition", "duration_us")
    stood = stalls.select(*keys, F.col("duration_us").alias("stall_us"))
    stacked = placed
    for part in (counted, trouble, stood):
        stacked = stacked.unionByName(part, allowMissingColumns=True)
    lasting = [
        _sum(F.when(F.col("condition") == name, F.col("duration_us"))).alias(f"{name}_us") for name in CONDITIONS
    ]
    voted = [_how_many(F.col("election") == how).alias(f"elections_{how}") for how in ("clean", "unclean", "offline")]
    changes = F.col("isr_shrinks") + F.col("isr_expands")
    return (
        stacked.groupBy(*keys)
        .agg(
            F.max("replication").alias("replication"),
            F.max("min_isr").alias("min_isr"),
            *lasting,
            _how_many(F.col("change").isin("shrink", "swap")).alias("isr_shrinks"),
            _how_many(F.col("change").isin("expand", "swap")).alias("isr_expands"),
            *voted,
            F.coalesce(F.max("epoch"), F.lit(0)).alias("last_epoch"),
            F.count_distinct("epoch").alias("_begun"),
            _how_many(F.col("epoch") == 0).alias("_zero"),
            F.count("stall_us").alias("hw_stalls"),
            _sum("stall_us").alias("hw_stalled_us"),
            F.coalesce(F.max("stall_us"), F.lit(0)).alias("longest_hw_stall_us"),
        )
        .filter(F.col("replication").isNotNull())
        .join(F.broadcast(sessions.select("session_id", "end_us")), on="session_id", how="inner")
        # A partition begins in epoch 0, whether or not anybody has said so.
        .withColumn("epochs", F.col("_begun") + F.when(F.col("_zero") == 0, 1).otherwise(0))
        .withColumn("isr_changes_per_minute", F.when(F.col("end_us") > 0, changes * _MINUTE_US / F.col("end_us")))
        .withColumns({name: F.when(F.col("min_isr").isNotNull(), F.col(name)) for name in _AGAINST_MIN_ISR})
        .drop("_begun", "_zero", "end_us")
    )


def _sum(what: "Column | str") -> "Column":
    return F.coalesce(F.sum(what), F.lit(0))


def _how_many(condition: "Column") -> "Column":
    return F.count(F.when(condition, F.lit(1)))
