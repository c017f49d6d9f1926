"""When a partition's high watermark stood still with records above it.

All windows have one order, so that there is one sort, of rows that are numbers: most events that a broker tells are
sorted here.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.naming import by_name, by_number, keys_of
from spark_report.tables.queries.progress import with_life

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STALL_US: Final = 1_000_000
"""How long a high watermark must stand still with records above it before that is a stall."""
HW_KINDS: Final = ("appended", "hw_advanced", "became_leader", "partition_deleted")
"""Kinds that :func:`hw_stalls` needs."""
PLACE: Final = ("session_id", "partition")

_APPENDED, _MOVED, _LED, _DELETED = range(len(HW_KINDS))
_NOTHING: Final = -(1 << 62)
"""In place of an offset of a partition that was deleted."""
_EPOCHS: Final = 1 << 32
"""More than a partition has in one life."""
_NEXT: Final = ("at_us", "seq", "what")


def hw_stalls(
    events: "DataFrame", rare: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None
) -> "DataFrame":
    """When records waited above a partition's high watermark, and it stood still for :data:`STALL_US` or longer.

    ``events`` needs the kinds in :data:`HW_KINDS` only, ``rare`` those that are not traffic; ``groups`` are numbers for
    :data:`PLACE`. Whoever leads in an epoch older than one seen is a zombie, and nobody waits for its high watermark.
    One that was deleted begins anew under its name.
    """
    told, keys = by_number(_told(with_life(events, rare)), groups), keys_of(PLACE, groups)
    order = Window.partitionBy(*keys).orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    known = (
        told.withColumn("_newest", F.max("reign").over(so_far))
        .filter((F.col("what") == _DELETED) | (F.col("reign") >= F.col("_newest")))
        .withColumns({f"_{name}": F.last(name, ignorenulls=True).over(earlier) for name in ("end", "hw")})
        .withColumn("waited", _waiting(F.col("_hw"), F.col("_end")))
        .withColumns({name: F.coalesce(name, f"_{name}") for name in ("end", "hw")})
        .withColumn("waiting", _waiting(F.col("hw"), F.col("end")))
    )
    # What happens while records wait is no news, unless the high watermark moves or nothing waits any more.
    turns = known.filter((F.col("what") == _MOVED) | (F.col("waiting") != F.col("waited"))).select(
        *keys, "at_us", "seq", "what", "hw", "waiting"
    )
    following = turns.withColumns({f"next_{name}": F.lead(name).over(order) for name in _NEXT}).filter("waiting")
    return _spans(by_name(following, groups), sessions)


def _told(moves: "DataFrame") -> "DataFrame":
    """What each says of the log's end and its high watermark; ``reign`` rises with lives and leader epochs."""
    kind = F.col("kind")
    what = F.when(kind == HW_KINDS[_APPENDED], _APPENDED).when(kind == HW_KINDS[_MOVED], _MOVED)
    end = F.when(kind == HW_KINDS[_APPENDED], F.col("log_offset") + F.col("count"))
    # What was known of a partition ends with it.
    nothing = F.when(kind == HW_KINDS[_DELETED], F.lit(_NOTHING))
    return moves.select(
        *PLACE,
        "at_us",
        "seq",
        what.when(kind == HW_KINDS[_LED], _LED).otherwise(_DELETED).alias("what"),
        (F.col("life") * F.lit(_EPOCHS) + F.col("leader_epoch")).alias("reign"),
        nothing.otherwise(end.when(kind == HW_KINDS[_LED], F.col("log_offset"))).alias("end"),
        nothing.otherwise(F.col("hw")).alias("hw"),
    )


def _waiting(hw: "Column", end: "Column") -> "Column":
    return F.coalesce((hw < end) & (hw != _NOTHING), F.lit(False))


def _spans(turns: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """What began to wait, with what ended it, where that took long enough."""
    open_ = F.col("next_seq").isNull()
    spans = turns.join(F.broadcast(sessions), on="session_id", how="inner").select(
        *PLACE,
        "hw",
        F.col("at_us").alias("began_us"),
        F.col("seq").alias("began_seq"),
        F.coalesce("next_at_us", F.greatest("end_us", "at_us")).alias("ended_us"),
        F.coalesce("next_seq", F.greatest("end_seq", "seq") + 1).alias("ended_seq"),
        open_.alias("open"),
        F.when(F.col("what") == _APPENDED, F.lit("records appended"))
        .when(F.col("what") == _MOVED, F.lit("the high watermark moved for the last time"))
        .otherwise(F.lit("a leader took over"))
        .alias("began_by"),
        F.when(open_, F.lit(""))
        .when(F.col("next_what") == _DELETED, F.lit("the partition was deleted"))
        .otherwise(F.lit("the high watermark moved"))
        .alias("ended_by"),
    )
    duration = spans.withColumn("duration_us", F.col("ended_us") - F.col("began_us"))
    return duration.filter(F.col("duration_us") >= STALL_US)
