"""Latency percentiles of records by client: over the whole session, its phases, each fault, and time bins.

``what`` is ``produce`` (sent to acknowledged) or ``end_to_end`` (appended to read). Times are in microseconds. All
records of an event, a *batch*, have the same latency, which is weighted by their number.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from spark_report.spark.by_value import send_by_value
from spark_report.tables.queries import weighted_percentiles
from spark_report.tables.queries.timeline import NUMBER, by_name, by_number, numbered
from spark_report.tables.queries.weighted_percentiles import SET

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# Percentiles over several sets of keys, for more values than Spark's own ``percentile`` handles fast.
#
# Spark keeps a table of all values for each group, and falls back to sorting all rows for many groups: over ten million
# events it takes about four times as long as sorting numeric arrays.


def percentiles(
    rows: "DataFrame", sets: Sequence[Sequence[str]], value: str, weight: str, quantiles: Sequence[float], tasks: int
) -> "DataFrame":
    """Return a row for each group of each set of keys: ``records`` (the sum of weights), ``low``, ``at`` and ``high``.

    ``_set`` is the number of the set; keys that are not in it are null. ``at`` has the percentiles, in order. ``tasks``
    is the number of merging tasks; each has all values of its groups in memory.
    """
    send_by_value(weighted_percentiles)
    names = list(dict.fromkeys(name for keys in sets for name in keys))
    keys = [*to_arrow_schema(rows.select(*names).schema), pa.field(weighted_percentiles.SET, pa.int32())]
    runs = pa.schema([*keys, (weighted_percentiles.VALUES, pa.binary()), (weighted_percentiles.WEIGHTS, pa.binary())])
    result_schema = pa.schema(
        [*keys, ("records", pa.int64()), ("low", pa.int64()), ("at", pa.list_(pa.float64())), ("high", pa.int64())]
    )
    sort = weighted_percentiles.sorting([list(each) for each in sets], runs, value, weight)
    merge = weighted_percentiles.merging(result_schema, list(quantiles))
    whole = rows.select(*names, F.col(value).cast("long").alias(value), F.col(weight).cast("long").alias(weight))
    return (
        whole.mapInArrow(sort, from_arrow_schema(runs))
        .repartition(tasks, *names, weighted_percentiles.SET)
        .mapInArrow(merge, from_arrow_schema(result_schema))
    )


QUANTILES: Final = (0.5, 0.95, 0.99)
WHO: Final = ("session_id", "what", "client")
SLICE: Final = ("phase", "bin_began_us", "bin_us", "fault_id")
"""Columns that identify the phase, time bin or fault of a row."""
LEAST_AROUND_US: Final = 1_000_000
"""Minimum length of the phases before and after a fault."""

PHASES: Final = ("all", "before", "during", "after")
_ALL: Final = PHASES.index("all")
_SETS: Final = {"whole": (NUMBER,), "by phase": (NUMBER, "phase"), "by bin": (NUMBER, "bin_began_us")}

_SLICES: Final = "array<struct<phase:string,bin_began_us:bigint,bin_us:bigint,fault_id:bigint>>"


def latencies(
    events: "DataFrame", windows: "DataFrame", sessions: "DataFrame", faults: "DataFrame | None" = None
) -> "DataFrame":
    """Return latency percentiles, in one pass over acknowledgements and reads.

    A row is over a ``phase``: ``all``, and with faults ``during`` if one was active during a part of the wait, else
    ``before`` the first one or ``after``; or, with a null phase, over the time bin
    ``[bin_began_us, bin_began_us + bin_us)``. With ``faults`` there are also rows with a ``fault_id``, for the batches
    :func:`around` it.
    """
    no_phase, no_bin = F.lit(None).cast("string"), F.lit(None).cast("long")
    slices = F.array(
        _slice(F.lit("all"), no_bin, no_bin),
        _slice(F.col("phase"), no_bin, no_bin),
        _slice(no_phase, F.col("bin_began_us"), F.col("bin_us")),
    )
    acknowledged = phased(events, windows, sessions)
    if faults is not None:
        acknowledged = acknowledged.join(F.broadcast(_by_session(faults)), on="session_id", how="left")
        slices = F.concat(slices, F.coalesce(_around_each(), F.array().cast(_SLICES)))
    sliced = acknowledged.withColumn("slice", F.explode(slices)).filter(
        F.col("slice.phase").isNotNull() | F.col("slice.bin_us").isNotNull()
    )
    grouped = sliced.groupBy(*WHO, "slice").agg(
        F.sum("count").alias("records"),
        F.min("latency_us").alias("min_us"),
        F.percentile("latency_us", list(QUANTILES), F.col("count")).alias("_at"),
        F.max("latency_us").alias("max_us"),
    )
    return grouped.select(*WHO, "slice.*", "records", "min_us", *_percentiles("_at"), "max_us")


def latencies_of_many(
    events: "DataFrame",
    windows: "DataFrame",
    sessions: "DataFrame",
    faults: "DataFrame",
    counted: "DataFrame",
    tasks: int,
) -> "DataFrame":
    """Return the same as :func:`latencies`, with a plan that is slower to make but fast over very many batches.

    ``counted`` are the tallies of the events. Only numbers are sorted in groups.
    """
    groups = numbered(_acked_or_read(counted), WHO)
    which = dict(zip(_SETS, range(len(_SETS)), strict=True))
    known = by_number(_coded(phased(events, windows, sessions)), groups)
    computed = percentiles(known, list(_SETS.values()), "latency_us", "count", QUANTILES, tasks)
    near = by_number(_coded(_near(batches(events), faults)), groups)
    felt = percentiles(near, [(NUMBER, "phase", "fault_id")], "latency_us", "count", QUANTILES, tasks)
    renamed = (
        computed.filter((F.col(SET) != which["by phase"]) | F.col("phase").isNotNull())
        .withColumn("phase", F.when(F.col(SET) == which["whole"], F.lit(_ALL)).otherwise(F.col("phase")))
        .unionByName(felt, allowMissingColumns=True)
        .withColumn("phase", _either(F.col("phase"), enumerate(PHASES)))
    )
    widths = F.when(F.col("bin_began_us").isNotNull(), F.col("width_us")).alias("bin_us")
    return (
        by_name(renamed, groups)
        .join(F.broadcast(sessions.select("session_id", F.col("bin_us").alias("width_us"))), on="session_id")
        .select(
            *WHO,
            "phase",
            "bin_began_us",
            widths,
            "fault_id",
            "records",
            F.col("low").alias("min_us"),
            *_percentiles("at"),
            F.col("high").alias("max_us"),
        )
    )


def _coded(acknowledged: "DataFrame") -> "DataFrame":
    """Replace the phase by its index in :data:`PHASES`."""
    return acknowledged.withColumn(
        "phase", _either(F.col("phase"), ((name, place) for place, name in enumerate(PHASES)))
    )


def _either(value: "Column", pairs: Iterable[tuple[int | str, int | str]]) -> "Column":
    """Return the value paired with a column's value; null without a pair."""
    first, *others = pairs
    found = F.when(value == first[0], first[1])
    for known, other in others:
        found = found.when(value == known, other)
    return found


def _near(acknowledged: "DataFrame", faults: "DataFrame") -> "DataFrame":
    """Return batches with each fault that they are around, and their phase of it."""
    spans = F.broadcast(faults.select("session_id", "fault_id", "began_us", "ended_us"))
    phase = around(F.col("began_us"), F.col("ended_us"))
    return (
        acknowledged.join(spans, on="session_id", how="inner")
        .withColumn("phase", phase)
        .filter(F.col("phase").isNotNull())
    )


def _percentiles(quantiles: str) -> list["Column"]:
    """Return percentiles in whole microseconds; a value between two measured latencies is interpolated."""
    return [
        F.round(F.col(quantiles)[index]).cast("long").alias(f"p{round(quantile * 100)}_us")
        for index, quantile in enumerate(QUANTILES)
    ]


def _slice(phase: "Column", begin: "Column", width: "Column", fault: "Column | None" = None) -> "Column":
    number = F.lit(None).cast("long") if fault is None else fault
    return F.struct(phase.alias("phase"), begin.alias("bin_began_us"), width.alias("bin_us"), number.alias("fault_id"))


def _by_session(faults: "DataFrame") -> "DataFrame":
    """Return all faults of a session as one value, because there are few and each batch is compared with all."""
    spans = F.collect_list(F.struct("fault_id", "began_us", "ended_us"))
    return faults.groupBy("session_id").agg(spans.alias("_faults"))


def _around_each() -> "Column":
    """Return the faults that a batch is around, as slices."""
    none = F.lit(None).cast("long")

    def placed(fault: "Column") -> "Column":
        return _slice(around(fault["began_us"], fault["ended_us"]), none, none, fault["fault_id"])

    return F.filter(F.transform("_faults", placed), lambda slice_: slice_["phase"].isNotNull())


def around(began: "Column", ended: "Column") -> "Column":
    """Return ``during`` if a fault was active during a part of a batch's wait, ``before``, ``after``, or null.

    Before and after are waits that ended before it, or started after it, within the fault's duration, at least within
    :data:`LEAST_AROUND_US`.
    """
    acked, sent = F.col("at_us"), F.col("at_us") - F.col("latency_us")
    near = F.greatest(ended - began, F.lit(LEAST_AROUND_US))
    return (
        F.when((sent < ended) & (began <= acked), F.lit("during"))
        .when((acked < began) & (acked >= began - near), F.lit("before"))
        .when((sent >= ended) & (sent < ended + near), F.lit("after"))
    )


def phased(events: "DataFrame", windows: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return batches with their phase, and the time bin of their end, ``bin_began_us`` and ``bin_us``."""
    width = F.broadcast(sessions.select("session_id", "bin_us"))
    begin = F.col("at_us") - F.col("at_us") % F.col("bin_us")
    known = _with_phase(batches(events), windows).join(width, on="session_id", how="inner")
    return known.withColumn("bin_began_us", begin)


def batches(events: "DataFrame") -> "DataFrame":
    """Return batches acknowledged or read with a known latency."""
    known = (F.col("latency_us") >= 0) & (F.col("count") > 0)
    return _acked_or_read(events).filter(known).select("session_id", "at_us", "what", "client", "count", "latency_us")


def _acked_or_read(events: "DataFrame") -> "DataFrame":
    what = F.when(F.col("kind") == "records_acked", F.lit("produce")).when(
        F.col("kind") == "records_read", F.lit("end_to_end")
    )
    return events.filter(F.col("kind").isin("records_acked", "records_read")).withColumn("what", what)


def _with_phase(batches: "DataFrame", windows: "DataFrame") -> "DataFrame":
    """Add ``phase``; null in a session without faults.

    Each window is extended to the start of the next one, after a first window before time 0. So a batch matches exactly
    one window, the last that started before the end of its wait; the phase is ``during`` if that window had not ended
    when the wait started.
    """
    beginning = windows.groupBy("session_id").agg(F.lit(-1).alias("began_us"), F.lit(-1).alias("ended_us"))
    order = Window.partitionBy("session_id").orderBy("began_us", "ended_us")
    stretched = (
        windows.select("session_id", "began_us", "ended_us")
        .unionByName(beginning)
        .withColumn("next_us", F.lead("began_us").over(order))
    )
    window, batch = F.broadcast(stretched).alias("window"), batches.alias("batch")
    met = (
        (F.col("batch.session_id") == F.col("window.session_id"))
        & (F.col("window.began_us") <= F.col("batch.at_us"))
        & (F.col("window.next_us").isNull() | (F.col("batch.at_us") < F.col("window.next_us")))
    )
    phase = (
        F.when(F.col("window.began_us") < 0, F.lit("before"))
        .when(F.col("batch.at_us") - F.col("batch.latency_us") < F.col("window.ended_us"), F.lit("during"))
        .when(F.col("window.began_us").isNotNull(), F.lit("after"))
    )
    return batch.join(window, on=met, how="left").select("batch.*", phase.alias("phase"))
