"""States over time: who led a partition with which ISR, and which faults were active."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.intervals import SPAN, intervals, merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DECISIONS: Final = (
    *("leader_elected", "partition_offline", "isr_changed"),
    *("partition_created", "partition_deleted", "assignment_changed"),
)
_GONE: Final = -2
"""In place of the leader of a partition that was deleted."""


def partition_states(events: "DataFrame", assignments: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Leader, epoch and ISR of a partition by the controller's committed state, as intervals; leader -1 is nobody.

    A partition begins as it was placed, with its first replica leading epoch 0 and all in sync, or when it is made, and
    ends when it is deleted. ``replication`` is how many replicas it is to have in sync: Kafka does not count those that
    a reassignment is only adding (KIP-455). ``min_isr`` is as the topic's settings were then.
    """
    order = Window.partitionBy("session_id", "partition").orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    keys, state = ["partition"], ["leader", "leader_epoch", "isr", "replication", "min_isr"]
    turns = (
        _placed(assignments)
        .unionByName(_decided(events), allowMissingColumns=True)
        .unionByName(_configured(events, assignments), allowMissingColumns=True)
        .select(
            *("session_id", "at_us", "seq", "partition", "label"),
            *(F.last(name, ignorenulls=True).over(so_far).alias(name) for name in state),
        )
    )
    spans = intervals(turns, sessions, keys, state).filter(F.col("leader") != _GONE)
    size = F.size("isr").cast("long").alias("isr_size")
    return spans.select("session_id", *keys, *state[:-1], size, "min_isr", *SPAN)


def _placed(assignments: "DataFrame") -> "DataFrame":
    return assignments.select(
        "session_id",
        F.lit(0).cast("long").alias("at_us"),
        F.lit(-1).cast("long").alias("seq"),
        "partition",
        F.col("replicas")[0].alias("leader"),
        F.lit(0).cast("long").alias("leader_epoch"),
        F.col("replicas").alias("isr"),
        F.size("replicas").cast("long").alias("replication"),
        "min_isr",
        F.lit("placed").alias("label"),
    )


def _decided(events: "DataFrame") -> "DataFrame":
    """What the controller decided; a null ISR or replication is as it was."""
    kind = F.col("kind")
    moved = F.size(F.array_except("replicas", "adding"))
    named = F.size(F.split("detail", ","))
    replication = F.when(kind == "assignment_changed", moved).when(kind == "partition_created", named)
    leader = F.when(kind == "partition_deleted", _GONE).when(kind == "partition_offline", -1).otherwise(F.col("leader"))
    return events.filter(kind.isin(*_DECISIONS)).select(
        "session_id",
        "at_us",
        "seq",
        "partition",
        leader.cast("long").alias("leader"),
        "leader_epoch",
        "isr",
        replication.cast("long").alias("replication"),
        F.translate("kind", "_", " ").alias("label"),
    )


def _configured(events: "DataFrame", assignments: "DataFrame") -> "DataFrame":
    """What topics were set to: the events have all settings of their own, and without one the cluster's counts."""
    own = F.regexp_extract("detail", r"(?:^|[ ,])min\.insync\.replicas=(\d+)", 1)
    settings = events.filter(F.col("kind") == "topic_config_changed").select(
        *("session_id", "at_us", "seq"),
        F.col("target").alias("topic"),
        F.when(own != "", own.cast("long")).alias("own"),
        F.translate("kind", "_", " ").alias("label"),
    )
    known = assignments.select(
        *("session_id", "partition", "most_min_isr"),
        F.regexp_replace("partition", r"-\d+$", "").alias("topic"),
        F.coalesce("default_min_isr", "min_isr").alias("otherwise"),
    )
    minimum = F.least(F.coalesce("own", "otherwise"), F.col("most_min_isr")).alias("min_isr")
    return settings.join(F.broadcast(known), on=["session_id", "topic"], how="inner").select(
        "session_id", "at_us", "seq", "partition", minimum, "label"
    )


def faults(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Every fault with the time it was active; one that was never healed is open."""
    injected = F.col("kind") == "fault_injected"
    healed = F.col("kind") == "fault_healed"
    pairs = (
        events.filter(injected | healed)
        .groupBy("session_id", "fault_id")
        .agg(
            F.min(F.when(injected, F.struct("seq", "at_us", "fault", "target", "detail"))).alias("begin"),
            F.min(F.when(healed, F.struct("seq", "at_us"))).alias("end"),
        )
        .filter(F.col("begin").isNotNull())
        .join(F.broadcast(sessions), on="session_id", how="inner")
    )
    return pairs.select(
        "session_id",
        "fault_id",
        "begin.fault",
        "begin.target",
        "begin.detail",
        F.col("begin.at_us").alias("began_us"),
        F.col("begin.seq").alias("began_seq"),
        F.coalesce("end.at_us", F.greatest("end_us", "begin.at_us")).alias("ended_us"),
        F.coalesce("end.seq", F.greatest("end_seq", "begin.seq") + 1).alias("ended_seq"),
        F.col("end").isNull().alias("open"),
        F.concat_ws(" ", "begin.fault", "begin.target").alias("began_by"),
        F.when(F.col("end").isNull(), F.lit("")).otherwise(F.lit("healed")).alias("ended_by"),
    )


def fault_windows(fault_spans: "DataFrame") -> "DataFrame":
    """The times at which at least one fault was active, as intervals that do not touch."""
    return merged(fault_spans, [])
