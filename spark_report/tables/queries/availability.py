"""When nobody served: per partition as the cluster saw it, and per client as the client felt it."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.intervals import SPAN, intervals, merged, overlaps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOBODY: Final = -1
_GONE: Final = -2
"""In place of the leader of a partition that was deleted."""
_REFUSALS: Final = ("produce_refused", "records_failed", "records_unknown")
ANSWERS: Final = ("records_acked", *_REFUSALS)
"""Kinds that tell a producer whether its partition is served."""
ASKED: Final = ("session_id", "client", "partition", "acks")


def unavailability(
    events: "DataFrame", answers: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None
) -> "DataFrame":
    """All intervals without service; ``scope`` is ``partition``, or ``client`` with its name and acks level.

    ``events`` may leave out traffic; ``answers`` needs the kinds in :data:`ANSWERS` only; ``groups`` are numbers for
    :data:`ASKED`.
    """
    by_partition = partition_unavailability(events, sessions).select(
        "session_id",
        F.lit("partition").alias("scope"),
        "partition",
        F.lit("").alias("client"),
        F.lit(None).cast("long").alias("acks"),
        *SPAN,
    )
    by_client = client_unavailability(answers, sessions, groups).select(
        "session_id", F.lit("client").alias("scope"), "partition", "client", "acks", *SPAN
    )
    return by_partition.unionByName(by_client).withColumn("duration_us", F.col("ended_us") - F.col("began_us"))


def partition_unavailability(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Per partition: its leader was down, paused or fenced, or it had none.

    It ends when a broker becomes leader in a newer epoch, or the same leader is back. What comes before a partition's
    first leader does not count: it is being created.
    """
    serving = leaders_serving(events, sessions)
    leaderless = serving.filter(F.col("broker") == _NOBODY).select("session_id", "partition", *SPAN)
    # Two pieces of one interval touch, the leader's outage and the time without any: merged() makes them one.
    outages = overlaps(serving, broker_outages(events, sessions), on=["broker"], keep=["partition"])
    return merged(leaderless.unionByName(outages), ["partition"])


def leaders_serving(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Which broker had taken up the lead of a partition, -1 for none, as intervals.

    A broker that takes up an older epoch than one already seen is a zombie, and ends nobody's service. A partition that
    was deleted is served by nobody and missed by nobody; one of the same name begins anew, with epoch 0.
    """
    order = Window.partitionBy("session_id", "partition").orderBy("at_us", "seq")
    deleted, offline = F.col("kind") == "partition_deleted", F.col("kind") == "partition_offline"
    incarnation = Window.partitionBy("session_id", "partition", "_incarnation").orderBy("at_us", "seq")
    earlier = incarnation.rowsBetween(Window.unboundedPreceding, -1)
    turns = (
        events.filter(F.col("kind").isin("became_leader", "partition_offline", "partition_deleted"))
        .withColumn("_incarnation", F.sum(deleted.cast("int")).over(order))
        .withColumn("_newest", F.max("leader_epoch").over(earlier))
        .filter(F.col("_newest").isNull() | (F.col("leader_epoch") >= F.col("_newest")))
        .select(
            "session_id",
            "at_us",
            "seq",
            "partition",
            F.when(deleted, _GONE).when(offline, _NOBODY).otherwise(F.col("broker")).alias("broker"),
            F.when(deleted, F.lit("the partition was deleted"))
            .when(offline, F.lit("nobody could lead"))
            .otherwise(F.concat_ws(" ", F.lit("broker"), "broker", F.lit("became leader in epoch"), "leader_epoch"))
            .alias("label"),
        )
    )
    return intervals(turns, sessions, ["partition"], ["broker"]).filter(F.col("broker") != _GONE)


def broker_outages(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Per broker: its process was down or paused, or the controller had fenced it. The two may overlap."""
    kind = F.col("kind")
    is_process = kind.isin("node_down", "node_paused", "node_up", "node_resumed")
    what = (
        F.when((kind == "node_down") & (F.col("detail") == "crash"), F.lit("crashed"))
        .when((kind == "node_down") & (F.col("detail") == "power_loss"), F.lit("lost power"))
        .when(kind == "node_down", F.lit("went down"))
        .when(kind == "node_paused", F.lit("was paused"))
        .when(kind == "node_up", F.lit("restarted"))
        .when(kind == "node_resumed", F.lit("resumed"))
        .when(kind == "broker_fenced", F.lit("was fenced"))
        .otherwise(F.lit("was registered"))
    )
    turns = events.filter((is_process | kind.isin("broker_fenced", "broker_registered")) & (F.col("broker") >= 0))
    states = turns.select(
        "session_id",
        "at_us",
        "seq",
        "broker",
        F.when(is_process, F.lit("process")).otherwise(F.lit("registration")).alias("aspect"),
        kind.isin("node_down", "node_paused", "broker_fenced").alias("out"),
        F.concat_ws(" ", F.lit("broker"), "broker", what).alias("label"),
    )
    return (
        intervals(states, sessions, ["broker", "aspect"], ["out"])
        .filter("out")
        .select("session_id", "broker", "aspect", *SPAN)
    )


def client_unavailability(events: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None) -> "DataFrame":
    """Per client, partition and acks level: from an attempt refused or unanswered to the next acknowledgement."""
    error = F.coalesce("error", F.lit("no answer"))
    turns = events.filter(F.col("kind").isin(*ANSWERS)).select(
        "session_id",
        "at_us",
        "seq",
        "client",
        "partition",
        "acks",
        F.col("kind").isin(*_REFUSALS).alias("out"),
        F.when(F.col("kind") == "records_acked", F.lit("records acknowledged")).otherwise(error).alias("label"),
    )
    return intervals(turns, sessions, ASKED[1:], ["out"], groups).filter("out").select(*ASKED, *SPAN)
