"""How far partitions got over time: their high watermark, and each group's place behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

KINDS: Final = ("hw_advanced", "became_leader")
"""Kinds that tell a high watermark: it moves up under a leader, and with a new leader it may move down."""

_PLACE: Final = ("session_id", "partition")
_READER: Final = ("session_id", "group_id", "partition")
_DELETED: Final = "partition_deleted"
_TURNS: Final = ("truncation_detected", "consumer_reset")


def hw_series(told_tops: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """The high watermark of a partition at the end of each bin in which its leader told one.

    ``told_tops`` is what :func:`tops` gives.
    """
    width = F.broadcast(sessions.select("session_id", "bin_us"))
    known = told_tops.filter("told").join(width, on="session_id", how="inner")
    return known.select(*_PLACE, "bin_began_us", "bin_us", "hw")


def tops(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """The high watermark of each partition in the bins in which somebody told one, or it was deleted (null).

    What a leader of an older epoch than one seen tells is nobody's; ``told`` is whether the true one said anything.
    """
    so_far = _so_far(*_PLACE)
    newest = F.col("newest")
    return (
        with_life(events.filter(F.col("kind").isin(*KINDS, _DELETED)), rare)
        .join(F.broadcast(sessions.select("session_id", "bin_us")), on="session_id", how="inner")
        # By numbers first, which are added up without sorting; by what is in order then, of which there is little.
        .groupBy(*_PLACE, _bin(), "life", F.coalesce("leader_epoch", F.lit(-1)).alias("epoch"))
        .agg(F.max("seq").alias("seq"), F.max_by("hw", "seq").alias("hw"))
        .groupBy(*_PLACE, "bin_began_us")
        .agg(F.max(F.struct("life", "epoch", "seq", "hw")).alias("top"))
        .withColumn("newest", F.max("top").over(so_far))
        .select(
            *_PLACE,
            "bin_began_us",
            newest["hw"].alias("hw"),
            ((newest == F.col("top")) & newest["hw"].isNotNull()).alias("told"),
            newest["life"].alias("life"),
        )
    )


def partition_lag(
    events: "DataFrame", rare: "DataFrame", counted: "DataFrame", told_tops: "DataFrame", sessions: "DataFrame"
) -> "DataFrame":
    """The lag of a group at a partition at the end of each bin: HW less what it has read.

    ``rare`` are the events that are not traffic, ``counted`` their tallies, ``told_tops`` what :func:`tops` gives.
    What a partition had before a group first read of it does not count: nobody is behind on it yet. Where a member
    found its log truncated, or was sent elsewhere by ``auto.offset.reset``, its group has read so far only.
    """
    ends = F.broadcast(sessions.select("session_id", "end_us", "bin_us"))
    reads = _reads(events, rare, sessions)
    readers = counted.filter(F.col("kind") == "records_read").select(*_READER).distinct()
    bins = readers.join(ends, on="session_id", how="inner").select(
        *_READER,
        "bin_us",
        F.explode(F.sequence(F.lit(0).cast("long"), F.col("end_us"), F.col("bin_us"))).alias("bin_began_us"),
    )
    so_far = _so_far(*_READER)
    known = (
        bins.join(told_tops.withColumn("top", F.struct("life", "hw")), on=[*_PLACE, "bin_began_us"], how="left")
        .join(reads, on=[*_READER, "bin_began_us"], how="left")
        .withColumn("top", F.last("top", ignorenulls=True).over(so_far))
        .withColumn("read", F.max("read").over(so_far))
    )
    behind = F.greatest(F.lit(0), F.col("top.hw") - F.col("read.read_to"))
    # Of a partition that was made anew the group has to read first.
    lag = F.when((F.col("top.life") == F.col("read.life")) & F.col("top.hw").isNotNull(), behind).otherwise(F.lit(0))
    return known.select(*_READER, "bin_began_us", "bin_us", lag.alias("lag"))


def _reads(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """How far groups had read by the end of the bins in which they read, as ``read``: the greatest is the last.

    A turn, where a group was sent elsewhere, begins a count of its own.
    """
    kind = F.col("kind")
    turned = kind.isin(*_TURNS) & (F.col("end_offset") >= 0)
    target = F.when(kind == "consumer_reset", F.col("log_offset")).otherwise(F.col("end_offset"))
    moves = events.filter((kind == "records_read") | turned)
    return (
        _how_often(rare.filter(turned), with_life(moves, rare), _READER, "turn")
        .join(F.broadcast(sessions.select("session_id", "bin_us")), on="session_id", how="inner")
        .groupBy(*_READER, _bin(), "life", "turn")
        .agg(F.max(target).alias("read_to"))
        .groupBy(*_READER, "bin_began_us")
        .agg(F.max(F.struct("life", "turn", "read_to")).alias("read"))
    )


def with_life(moves: "DataFrame", rare: "DataFrame") -> "DataFrame":
    """Add ``life``: how often a partition of that name had been deleted by then, as ``rare`` tells."""
    return _how_often(rare.filter(F.col("kind") == _DELETED), moves, _PLACE, "life")


def _how_often(marks: "DataFrame", moves: "DataFrame", keys: Sequence[str], name: str) -> "DataFrame":
    """Add how many of the few ``marks`` with the same ``keys`` there were by then."""
    order = Window.partitionBy(*keys).orderBy("since_seq")
    spans = marks.select(*keys, F.col("seq").alias("since_seq")).withColumns(
        {"until_seq": F.lead("since_seq").over(order), "nth": F.row_number().over(order)}
    )
    move, span = moves.alias("move"), F.broadcast(spans).alias("span")
    seq, until = F.col("move.seq"), F.col("span.until_seq")
    condition = (F.col("span.since_seq") <= seq) & (until.isNull() | (seq < until))
    for key in keys:
        condition = (F.col(f"move.{key}") == F.col(f"span.{key}")) & condition
    nth = F.coalesce(F.col("span.nth"), F.lit(0))
    return move.join(span, on=condition, how="left").select("move.*", nth.alias(name))


def _bin() -> "Column":
    return (F.col("at_us") - F.col("at_us") % F.col("bin_us")).alias("bin_began_us")


def _so_far(*keys: str) -> "WindowSpec":
    whole = Window.partitionBy(*keys).orderBy("bin_began_us")
    return whole.rowsBetween(Window.unboundedPreceding, Window.currentRow)
