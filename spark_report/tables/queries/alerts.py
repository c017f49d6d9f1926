"""Alerts on Kafka's own metrics: when their conditions held, and whether they would have fired.

Each rule is a condition of the cluster and the time that it must hold. Counts are those of the controller's state; a
broker that is down reports nothing, so a real sum over brokers may be smaller.
"""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.timeline import SPAN, merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Sweep over integer ranges: pieces between all starts and ends with the ranges that cover them, in one sort.
#
# Used for offsets of a log and sequence numbers of a client. A join of ranges would take quadratic time.


def swept(
    ranges: "DataFrame", keys: Sequence[str], weights: Sequence[str], carried: str = "", holds: str = ""
) -> "DataFrame":
    """Return the pieces ``[start, end)`` of each line, with the sum of each weight over the ranges that cover them.

    ``ranges`` has ``start``, ``end`` and a number (null is 0) for each weight. ``carried`` names a column of which at
    most one covering range has a value, the one with the weight ``holds``; each piece gets that value.
    """
    own = [F.col(name) for name in keys]

    def edges(at: str, sign: int) -> "DataFrame":
        sums = [(F.coalesce(F.col(name), F.lit(0)).cast("long") * sign).alias(name) for name in weights]
        kept = [F.col(carried) if sign > 0 else F.lit(None).alias(carried)] if carried else []
        return ranges.select(*own, F.col(at).alias("start"), *sums, *kept)

    both = edges("start", 1).unionByName(edges("end", -1))
    begun = [F.max(carried).alias(carried)] if carried else []
    at = both.groupBy(*own, "start").agg(*(F.sum(name).alias(name) for name in weights), *begun)
    order = Window.partitionBy(*keys).orderBy("start")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    pieces = at.select(
        *own,
        "start",
        F.lead("start").over(order).alias("end"),
        *(F.sum(name).over(so_far).alias(name) for name in weights),
        *([F.last(carried, ignorenulls=True).over(so_far).alias(carried)] if carried else []),
    ).filter(F.col("end").isNotNull())
    if carried:
        pieces = pieces.withColumn(carried, F.when(F.col(holds) > 0, F.col(carried)))
    return pieces


_SECOND_US: Final = 1_000_000


class AlertRule(NamedTuple):
    """An alert: Kafka's metric, the severity, and the time that the condition must hold."""

    alert: str
    metric: str
    severity: str
    for_us: int
    condition: str
    """The condition of partitions that the metric counts; empty if it counts events."""
    kind: str = ""
    """The kind of event that the metric counts."""


RULES: Final = (
    AlertRule(
        "OfflinePartitionsCount",
        "kafka.controller:type=KafkaController,name=OfflinePartitionsCount",
        "page",
        0,
        "offline",
    ),
    AlertRule(
        "UnderMinIsrPartitionCount",
        "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount",
        "page",
        10 * _SECOND_US,
        "under_min_isr",
    ),
    AlertRule(
        "UnderReplicatedPartitions",
        "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
        "warn",
        60 * _SECOND_US,
        "under_replicated",
    ),
    AlertRule(
        "AtMinIsrPartitionCount",
        "kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount",
        "warn",
        60 * _SECOND_US,
        "at_min_isr",
    ),
    AlertRule(
        "UncleanLeaderElectionsPerSec",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "page",
        0,
        "",
        "unclean",
    ),
    AlertRule("IsrShrinksPerSec", "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", "warn", 0, "", "shrink"),
    AlertRule(
        "ActiveControllerCount",
        "kafka.controller:type=KafkaController,name=ActiveControllerCount",
        "page",
        10 * _SECOND_US,
        "",
        "controller",
    ),
)
"""The alerts, the most severe first. ``ActiveControllerCount`` fires at 0."""


def alerts(conditions: "DataFrame", instants: "DataFrame", vacant: "DataFrame") -> "DataFrame":
    """Return every interval in which a rule's condition held anywhere in the cluster, and when its alert fired.

    ``instants`` has events with the ``what`` of a rule's kind, ``vacant`` the intervals without an active controller.
    """
    parts = [_held(conditions), _happened(instants), _headless(vacant)]
    spans = reduce(lambda one, other: one.unionByName(other), parts)
    rule = [
        F.struct(
            F.lit(each.condition or each.kind).alias("what"),
            F.lit(each.alert).alias("alert"),
            F.lit(each.metric).alias("metric"),
            F.lit(each.severity).alias("severity"),
            F.lit(each.for_us).cast("long").alias("for_us"),
        )
        for each in RULES
    ]
    own = F.filter(F.array(*rule), lambda each: each["what"] == F.col("what"))
    ruled = spans.withColumn("_rule", F.get(own, F.lit(0))).filter(F.col("_rule").isNotNull())
    duration = F.col("ended_us") - F.col("began_us")
    fires = duration >= F.col("_rule.for_us")
    return ruled.select(
        "session_id",
        "_rule.alert",
        "_rule.metric",
        "_rule.severity",
        "peak",
        *SPAN,
        duration.alias("duration_us"),
        "_rule.for_us",
        fires.alias("fired"),
        F.when(fires, F.col("began_us") + F.col("_rule.for_us")).alias("fired_us"),
    )


def _held(conditions: "DataFrame") -> "DataFrame":
    """Return the intervals in which a condition held for any partition, with the greatest number of partitions."""
    anywhere = merged(conditions.select("session_id", F.col("condition").alias("what"), *SPAN), ["what"])
    counted = (
        swept(
            conditions.select(
                "session_id",
                F.col("condition").alias("what"),
                F.col("began_seq").alias("start"),
                F.col("ended_seq").alias("end"),
                F.lit(1).alias("partitions"),
            ),
            ["session_id", "what"],
            ["partitions"],
        )
        .filter(F.col("partitions") > 0)
        .alias("counted")
    )
    spans = anywhere.alias("anywhere")
    inside = (
        (F.col("counted.session_id") == F.col("anywhere.session_id"))
        & (F.col("counted.what") == F.col("anywhere.what"))
        & F.col("counted.start").between(F.col("anywhere.began_seq"), F.col("anywhere.ended_seq") - 1)
    )
    columns = ["session_id", "what", *SPAN]
    return (
        spans.join(counted, on=inside, how="inner")
        .groupBy(*(F.col(f"anywhere.{name}").alias(name) for name in columns))
        .agg(F.max("partitions").alias("peak"))
    )


def _happened(instants: "DataFrame") -> "DataFrame":
    """Return an empty interval for each time with events that a rate metric counts, with their number."""
    return (
        instants.groupBy("session_id", "what", "at_us")
        .agg(F.min("seq").alias("_first"), F.max("seq").alias("_last"), F.count(F.lit(1)).alias("peak"))
        .select(
            "session_id",
            "what",
            F.col("at_us").alias("began_us"),
            F.col("_first").alias("began_seq"),
            F.col("at_us").alias("ended_us"),
            (F.col("_last") + 1).alias("ended_seq"),
            F.lit(False).alias("open"),
            F.translate("what", "_", " ").alias("began_by"),
            F.lit("").alias("ended_by"),
            "peak",
        )
    )


def _headless(vacant: "DataFrame") -> "DataFrame":
    """Return the intervals without an active controller."""
    return vacant.select("session_id", F.lit("controller").alias("what"), *SPAN, F.lit(1).cast("long").alias("peak"))
