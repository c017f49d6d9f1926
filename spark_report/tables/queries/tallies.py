"""Events that come with every batch, added up once for all tables that only count them."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import DATA_KINDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEYS: Final = ("session_id", "kind", "client", "group_id", "partition", "acks", "error", "bin_began_us", "bin_us")
_COMMIT: Final = "offsets_committed"


def plain(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Events as tallies of one each: with ``times``, ``seqs`` and the bin of time, ``bin_began_us`` and ``bin_us``."""
    width = F.broadcast(sessions.select("session_id", "bin_us"))
    return events.join(width, on="session_id", how="inner").withColumns(
        {
            "bin_began_us": F.col("at_us") - F.col("at_us") % F.col("bin_us"),
            "times": F.lit(1).cast("long"),
            "seqs": F.col("seq"),
        }
    )


def tallied(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """The same with those of traffic added up; the others, ``rare``, are as they were.

    ``times`` is how many events a row stands for, ``count`` their records, ``seqs`` the sum of their sequence numbers;
    ``seq`` is that of the last, ``at_us`` the time of the first. Whose request a commit was part of is kept, for it has
    an event for every partition.
    """
    traffic = plain(events.filter(F.col("kind").isin(sorted(DATA_KINDS))), sessions)
    added = traffic.groupBy(*KEYS, *(_of_commits(name).alias(f"_{name}") for name in ("at_us", "by"))).agg(
        F.count(F.lit(1)).alias("times"),
        F.sum("count").alias("count"),
        F.sum("seq").alias("seqs"),
        F.max("seq").alias("seq"),
        F.min("at_us").alias("at_us"),
    )
    whole = added.withColumnRenamed("_by", "by").drop("_at_us")
    return whole.unionByName(plain(rare, sessions), allowMissingColumns=True)


def _of_commits(name: str) -> "Column":
    return F.when(F.col("kind") == _COMMIT, F.col(name))


def times(condition: "Column") -> "Column":
    """How many events are so."""
    return F.coalesce(F.sum(F.when(condition, F.col("times"))), F.lit(0))


def records(condition: "Column") -> "Column":
    """How many records the events have that are so."""
    return F.coalesce(F.sum(F.when(condition, F.col("count"))), F.lit(0))
