"""How far a group is behind, how long it takes to catch up, and what its rebalances cost."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.intervals import SPAN, intervals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SESSION_OVER: Final = "its session with ZooKeeper is over"
"""Why a broker is fenced that has lost all that it held in ZooKeeper, the office of controller among it."""


def group_lag(partitions: "DataFrame") -> "DataFrame":
    """The lag of each group at the end of each bin, over the partitions that it has read."""
    return partitions.groupBy("session_id", "group_id", "bin_began_us", "bin_us").agg(F.sum("lag").alias("lag"))


def lag_peaks(lags: "DataFrame", faults: "DataFrame") -> "DataFrame":
    """Each group's greatest lag, and when it was down again to what is usual.

    That is its greatest before the first fault, or else its median. It is down in the first bin behind the peak whose
    lag is no more; times are those of the bins' ends.
    """
    first = faults.groupBy("session_id").agg(F.min("began_us").alias("fault_us"))
    told = lags.join(F.broadcast(first), on="session_id", how="left").withColumn(
        "at_us", F.col("bin_began_us") + F.col("bin_us")
    )
    keys = ["session_id", "group_id"]
    calm = F.when(F.col("at_us") <= F.col("fault_us"), F.col("lag"))
    last = F.max(F.struct("at_us", "lag"))
    # The greatest lag, and the first time that it was that great.
    peaks = told.groupBy(*keys).agg(
        F.max(F.struct("lag", (-F.col("at_us")).alias("back"))).alias("_peak"),
        F.max(calm).alias("_calm"),
        F.percentile_approx("lag", 0.5).alias("_median"),
        last.alias("_last"),
    )
    drained = F.min(
        F.when((F.col("at_us") > F.col("peak_at_us")) & (F.col("lag") <= F.col("usual_lag")), F.col("at_us"))
    )
    return (
        told.join(
            peaks.select(
                *keys,
                F.col("_peak.lag").alias("peak_lag"),
                (-F.col("_peak.back")).alias("peak_at_us"),
                F.coalesce("_calm", "_median").alias("usual_lag"),
                F.col("_last.lag").alias("final_lag"),
            ),
            on=keys,
            how="inner",
        )
        .groupBy(*keys, "peak_lag", "peak_at_us", "usual_lag", "final_lag")
        .agg(drained.alias("drained_us"))
        .withColumn("time_to_drain_us", F.col("drained_us") - F.col("peak_at_us"))
    )


def rebalances(events: "DataFrame", waits: "DataFrame") -> "DataFrame":
    """Each rebalance, with the partitions that got an owner by it and how long they had had none.

    ``waits`` are times of partitions without an owner. One counts for the newest rebalance when it ended.
    """
    keys = ["session_id", "group_id"]
    order = Window.partitionBy(*keys).orderBy("seq", "_wait")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    done = events.filter(F.col("kind") == "group_rebalanced").select(
        *keys, "seq", "at_us", F.col("count").alias("members"), "detail", F.lit(0).alias("_wait")
    )
    ended = waits.select(
        *keys, F.col("ended_seq").alias("seq"), F.col("idle_us").alias("_idle"), F.lit(1).alias("_wait")
    )
    assigned = done.unionByName(ended, allowMissingColumns=True).withColumn(
        "_by", F.last(F.when(F.col("_wait") == 0, F.col("seq")), ignorenulls=True).over(so_far)
    )
    return (
        assigned.filter(F.col("_by").isNotNull())
        .groupBy(*keys, F.col("_by").alias("seq"))
        .agg(
            F.max("at_us").alias("at_us"),
            F.max("members").alias("members"),
            F.max("detail").alias("detail"),
            F.count("_idle").alias("partitions_moved"),
            F.coalesce(F.sum("_idle"), F.lit(0)).alias("time_lost_us"),
        )
    )


def vacancies(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """When there was no active controller, as intervals.

    Its process had ended or was paused, or its session with ZooKeeper was over. One that was merely paused is back when
    it goes on; after all else somebody has to be elected, be it the same node.
    """
    kind = F.col("kind")
    order = Window.partitionBy("session_id").orderBy("at_us", "seq")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    term = Window.partitionBy("session_id", "_term").orderBy("at_us", "seq")
    ended = kind.isin("node_down", "broker_fenced")
    changed = kind == "controller_changed"
    whole = (
        _office(events, sessions)
        .withColumn(
            "_holder", F.coalesce(F.last(F.when(changed, F.col("who")), ignorenulls=True).over(earlier), "first")
        )
        .withColumn("_term", F.sum(changed.cast("int")).over(so_far))
        .filter(changed | (F.col("who") == F.col("_holder")))
        .withColumn("_ended", F.max(ended).over(term.rowsBetween(Window.unboundedPreceding, Window.currentRow)))
    )
    empty = ~changed & (F.col("_ended") | (kind == "node_paused"))
    said = F.when(changed, F.lit("became active")).when(empty, F.lit("went away")).otherwise(F.lit("is back"))
    turns = whole.withColumn("empty", empty).withColumn("label", F.concat_ws(" ", "who", said))
    return intervals(turns, sessions, [], ["empty"]).filter("empty").select("session_id", *SPAN)


def _office(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """What happened to nodes that may be the controller; ``first`` is who was it as the session began."""
    kind = F.col("kind")
    lives = kind.isin("controller_changed", "node_down", "node_paused", "node_resumed")
    expired = (kind == "broker_fenced") & (F.col("detail") == SESSION_OVER)
    who = F.coalesce("node", F.concat_ws(" ", F.lit("broker"), "broker"))
    return (
        events.filter(lives | expired)
        .select("session_id", "at_us", "seq", "kind", "leader_epoch", who.alias("who"))
        .join(F.broadcast(sessions.select("session_id", F.col("controller").alias("first"))), on="session_id")
    )


def failovers(events: "DataFrame", vacant: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Each change of the active controller, with how long there had been none.

    A session that does not say who was the first has it in the epochs: in a later one than the first there was one.
    """
    order = Window.partitionBy("session_id").orderBy("at_us", "seq")
    changes = (
        _office(events, sessions)
        .filter(F.col("kind") == "controller_changed")
        .withColumn("from_node", F.coalesce(F.lag("who").over(order), "first"))
        .filter(F.when(F.col("from_node").isNull(), F.col("leader_epoch") > 1).otherwise(F.col("from_node") != ""))
    )
    lost = vacant.filter(~F.col("open")).select(
        "session_id", F.col("ended_seq").alias("seq"), F.col("began_us").alias("lost_us")
    )
    return changes.join(F.broadcast(lost), on=["session_id", "seq"], how="left").select(
        "session_id",
        "at_us",
        "seq",
        F.col("who").alias("node"),
        F.coalesce("from_node", F.lit("")).alias("from_node"),
        "leader_epoch",
        "lost_us",
        (F.col("at_us") - F.col("lost_us")).alias("without_us"),
    )
