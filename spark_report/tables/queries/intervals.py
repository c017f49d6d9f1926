"""Turning points in time into intervals: the one place with window arithmetic.

Order is always ``(at_us, seq)``: many things share a microsecond, and ``seq`` is the order in which they happened. An
interval is ``[began, ended)`` in both. One that nothing ended is cut off at its session's end and marked ``open``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.naming import by_name, by_number, keys_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPAN: Final = ("began_us", "began_seq", "ended_us", "ended_seq", "open", "began_by", "ended_by")
"""The columns every interval has."""
_NEXT: Final = {"us": "at_us", "seq": "seq", "label": "label"}


def intervals(
    changes: "DataFrame",
    sessions: "DataFrame",
    keys: Sequence[str],
    state: Sequence[str],
    groups: "DataFrame | None" = None,
) -> "DataFrame":
    """Intervals of constant ``state`` for each session and ``keys``.

    A row of ``changes`` says that the state holds from ``(at_us, seq)`` on, and by what (``label``). Rows that repeat
    the state before them begin nothing. ``groups`` are numbers for session and keys, where there are very many rows.
    """
    order = Window.partitionBy(*keys_of(["session_id", *keys], groups)).orderBy("at_us", "seq")
    turns = (
        by_number(changes, groups)
        .withColumn("_state", F.struct(*state))
        .withColumns({"_before": F.lag("_state").over(order), "_place": F.row_number().over(order)})
        .filter((F.col("_place") == 1) | ~F.col("_state").eqNullSafe(F.col("_before")))
    )
    following = turns.withColumns({f"_next_{name}": F.lead(column).over(order) for name, column in _NEXT.items()})
    spans = by_name(following, groups).join(F.broadcast(sessions), on="session_id", how="inner")
    return spans.select(
        "session_id",
        *keys,
        *state,
        F.col("at_us").alias("began_us"),
        F.col("seq").alias("began_seq"),
        F.coalesce("_next_us", F.greatest("end_us", "at_us")).alias("ended_us"),
        F.coalesce("_next_seq", F.greatest("end_seq", "seq") + 1).alias("ended_seq"),
        F.col("_next_seq").isNull().alias("open"),
        F.col("label").alias("began_by"),
        F.coalesce("_next_label", F.lit("")).alias("ended_by"),
    )


def overlaps(one: "DataFrame", other: "DataFrame", on: list[str], keep: list[str]) -> "DataFrame":
    """The stretches that an interval of ``one`` and an interval of ``other`` have in common, where ``on`` is equal.

    ``keep`` names the columns of ``one`` that the result has beside ``session_id`` and the span.
    """
    left, right = one.alias("one"), other.alias("other")
    same = [F.col(f"one.{name}").eqNullSafe(F.col(f"other.{name}")) for name in ["session_id", *on]]
    meet = (F.col("one.began_seq") < F.col("other.ended_seq")) & (F.col("other.began_seq") < F.col("one.ended_seq"))
    condition = meet
    for equal in same:
        condition = equal & condition
    starts_later = F.col("one.began_seq") >= F.col("other.began_seq")
    ends_sooner = F.col("one.ended_seq") <= F.col("other.ended_seq")
    return left.join(right, on=condition, how="inner").select(
        "one.session_id",
        *(f"one.{name}" for name in keep),
        F.greatest("one.began_us", "other.began_us").alias("began_us"),
        F.greatest("one.began_seq", "other.began_seq").alias("began_seq"),
        F.least("one.ended_us", "other.ended_us").alias("ended_us"),
        F.least("one.ended_seq", "other.ended_seq").alias("ended_seq"),
        (F.col("one.open") & F.col("other.open")).alias("open"),
        F.when(starts_later, F.col("one.began_by")).otherwise(F.col("other.began_by")).alias("began_by"),
        F.when(ends_sooner, F.col("one.ended_by")).otherwise(F.col("other.ended_by")).alias("ended_by"),
    )


def merged(spans: "DataFrame", keys: list[str]) -> "DataFrame":
    """Intervals that touch or overlap become one; it begins by what began the first and ends by what ended the last."""
    order = Window.partitionBy("session_id", *keys).orderBy("began_us", "began_seq")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    islands = (
        spans.withColumn("_reached", F.max("ended_seq").over(earlier))
        .withColumn("_new", F.col("_reached").isNull() | (F.col("began_seq") > F.col("_reached")))
        .withColumn("_island", F.sum(F.col("_new").cast("int")).over(so_far))
    )
    return (
        islands.groupBy("session_id", *keys, "_island")
        .agg(
            F.min("began_us").alias("began_us"),
            F.min("began_seq").alias("began_seq"),
            F.max("ended_us").alias("ended_us"),
            F.max("ended_seq").alias("ended_seq"),
            F.max("open").alias("open"),
            F.min_by("began_by", "began_seq").alias("began_by"),
            F.max_by("ended_by", "ended_seq").alias("ended_by"),
        )
        .select("session_id", *keys, *SPAN)
    )
