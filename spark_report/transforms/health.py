"""How a partition fared over a session: its share of service, too few replicas in sync, and stalls of its HW."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.transforms.intervals import SPAN, merged
from spark_report.transforms.points import election_kind, isr_change
from spark_report.transforms.progress import with_life

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STALL_US: Final = 1_000_000
"""How long a high watermark must stand still with records above it before that is a stall."""
HW_KINDS: Final = ("appended", "hw_advanced", "became_leader", "partition_deleted")
"""Kinds that :func:`hw_stalls` needs."""
CONDITIONS: Final = ("under_replicated", "at_min_isr", "under_min_isr", "offline")

_NOTHING: Final = -(1 << 62)
"""In place of an offset of a partition that was deleted."""
_NEXT: Final = {"us": "at_us", "seq": "seq", "deleted": "_deleted"}
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

    Time counts from a partition's first leader, and from the first answer that a client got. ``answers`` needs the
    kinds that tell a producer something.
    """
    nobody, none = F.lit("").alias("client"), F.lit(None).cast("long").alias("acks")
    first = F.min("at_us").alias("first_us")
    led = events.filter(F.col("kind") == "became_leader").groupBy("session_id", "partition").agg(first)
    told = answers.groupBy("session_id", "partition", "client", "acks").agg(first)
    known = (
        led.select("session_id", F.lit("partition").alias("scope"), "partition", nobody, none, "first_us")
        .unionByName(
            told.select("session_id", F.lit("client").alias("scope"), "partition", "client", "acks", "first_us")
        )
        .join(F.broadcast(sessions.select("session_id", "end_us")), on="session_id", how="inner")
        .withColumn("observed_us", F.greatest(F.lit(0), F.col("end_us") - F.col("first_us")))
        .select(*_WHOM, "observed_us")
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


def hw_stalls(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """When records waited above a partition's high watermark, and it stood still for :data:`STALL_US` or longer.

    ``events`` needs the kinds in :data:`HW_KINDS` only. Whoever leads in an epoch older than one seen is a zombie,
    and nobody waits for its high watermark. One that was deleted begins anew under its name.
    """
    order = Window.partitionBy("session_id", "partition").orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    kind = F.col("kind")
    led, deleted = kind == "became_leader", kind == "partition_deleted"
    end = F.when(kind == "appended", F.col("log_offset") + F.col("count")).when(led, F.col("log_offset"))
    # All windows have one order, so that there is one sort. What was known of a partition ends with it.
    newest, none = F.max(F.struct("life", "leader_epoch")).over(so_far), F.when(deleted, _NOTHING)
    known = (
        with_life(events, events)
        .withColumn("_newest", newest)
        .filter(deleted | (F.col("leader_epoch") >= F.col("_newest.leader_epoch")))
        .withColumns({"_end": none.otherwise(end), "_hw": none.otherwise(F.col("hw"))})
        .withColumns({name: F.last(name, ignorenulls=True).over(so_far) for name in ("_end", "_hw")})
        .withColumn("_waiting", F.coalesce((F.col("_hw") < F.col("_end")) & (F.col("_hw") != _NOTHING), F.lit(False)))
        .withColumn("_waited", F.lag("_waiting", 1, False).over(order))
    )
    # What happens while records wait is no news, unless the high watermark moves or nothing waits any more.
    turns = known.filter((kind == "hw_advanced") | (F.col("_waiting") != F.col("_waited")))
    spans = (
        turns.withColumn("_deleted", deleted)
        .withColumns({f"_next_{name}": F.lead(column).over(order) for name, column in _NEXT.items()})
        .join(F.broadcast(sessions), on="session_id", how="inner")
        .select(
            "session_id",
            "partition",
            F.col("_hw").alias("hw"),
            F.col("at_us").alias("began_us"),
            F.col("seq").alias("began_seq"),
            F.coalesce("_next_us", F.greatest("end_us", "at_us")).alias("ended_us"),
            F.coalesce("_next_seq", F.greatest("end_seq", "seq") + 1).alias("ended_seq"),
            F.col("_next_seq").isNull().alias("open"),
            F.when(kind == "appended", F.lit("records appended"))
            .when(kind == "hw_advanced", F.lit("the high watermark moved for the last time"))
            .otherwise(F.lit("a leader took over"))
            .alias("began_by"),
            F.when(F.col("_next_seq").isNull(), F.lit(""))
            .when(F.col("_next_deleted"), F.lit("the partition was deleted"))
            .otherwise(F.lit("the high watermark moved"))
            .alias("ended_by"),
            "_waiting",
        )
    )
    stalled = spans.withColumn("duration_us", F.col("ended_us") - F.col("began_us"))
    return stalled.filter(F.col("_waiting") & (F.col("duration_us") >= STALL_US)).drop("_waiting")


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
