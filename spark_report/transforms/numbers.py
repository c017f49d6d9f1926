"""Counts, the ledger and latencies: the queries that read every event."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.recorded import LEDGER_TERMS
from spark_report.transforms.points import election_kind, isr_change

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RECOUNTED: Final = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost")
"""Ledger terms that the events alone give."""

COUNTED: Final = (
    *("events", "last_seq", "gapless", "elections_clean", "elections_unclean", "elections_offline"),
    *("isr_shrinks", "isr_expands", "faults", "truncations", "attempts_refused", "violations", "consumed"),
    *RECOUNTED,
)
"""The columns of :func:`counts` after ``session_id``."""

LEAST_AROUND_US: Final = 1_000_000
"""How long before and after a fault is looked at, at least."""

_SLICES: Final = "array<struct<phase:string,bin_began_us:bigint,bin_us:bigint,fault_id:bigint>>"
_QUANTILES: Final = (0.5, 0.95, 0.99)


def counts(events: "DataFrame") -> "DataFrame":
    """One row a session: how many events of each kind that matters, and the ledger recounted, in records.

    ``gapless`` says that every sequence number from 0 to the last is there once.
    """
    kind = F.col("kind")
    lost = kind == "records_lost"
    last = F.max("seq")
    return events.groupBy("session_id").agg(
        F.count("seq").alias("events"),
        last.alias("last_seq"),
        # The sum tells a hole that a repeated line fills up; counting distinct numbers would sort all events for it.
        ((F.count("seq") == last + 1) & (F.sum("seq") * 2 == last * (last + 1))).alias("gapless"),
        *(_how_many(election_kind() == name).alias(f"elections_{name}") for name in ("clean", "unclean", "offline")),
        _how_many(isr_change().isin("shrink", "swap")).alias("isr_shrinks"),
        _how_many(isr_change().isin("expand", "swap")).alias("isr_expands"),
        _how_many(kind == "fault_injected").alias("faults"),
        _how_many(kind == "truncated").alias("truncations"),
        _how_many(kind == "produce_refused").alias("attempts_refused"),
        _how_many(kind == "invariant_violated").alias("violations"),
        _records(kind == "records_sent").alias("sent"),
        _records(kind == "records_acked").alias("acked"),
        _records(kind == "records_failed").alias("failed"),
        _records(kind == "records_unknown").alias("unknown"),
        _records(kind == "records_aborted").alias("aborted"),
        _records(lost).alias("acked_lost"),
        _records(lost & F.col("committed")).alias("committed_lost"),
        _records(kind == "records_read").alias("consumed"),
    )


def ledger(totals: "DataFrame", results: "DataFrame") -> "DataFrame":
    """The ledger twice, from the events and as the session's own result gives it. ``agrees`` is null without both.

    ``results`` has a row a session with the terms as columns, or none for a session that got to no result.
    """
    both = totals.select("session_id", *RECOUNTED).join(
        F.broadcast(results.select("session_id", F.struct(*LEDGER_TERMS).alias("result"))), on="session_id", how="left"
    )
    nothing = F.lit(None).cast("long")
    terms = [
        F.struct(
            F.lit(term).alias("term"),
            (F.col(term) if term in RECOUNTED else nothing).alias("from_events"),
            F.col(f"result.{term}").alias("from_result"),
        )
        for term in LEDGER_TERMS
    ]
    return both.select("session_id", F.inline(F.array(*terms))).select(
        "session_id",
        "term",
        "from_events",
        "from_result",
        (F.col("from_events") == F.col("from_result")).alias("agrees"),
    )


def latencies(
    events: "DataFrame", windows: "DataFrame", sessions: "DataFrame", faults: "DataFrame | None" = None
) -> "DataFrame":
    """Latency in microseconds by client, weighted by records, in one pass over acknowledgements and reads.

    ``what`` is ``produce`` (sent to acknowledged) or ``end_to_end`` (appended to read). A row is over a ``phase``:
    ``all``, and where there were faults ``during`` when one was active at some moment of the wait, else ``before`` the
    first or ``after``; or, with a null phase, over the bin of time ``[bin_began_us, bin_began_us + bin_us)``.
    With ``faults`` there are also rows with a ``fault_id``, as :func:`_around` has them.
    """
    begin = F.col("at_us") - F.col("at_us") % F.col("bin_us")
    no_phase, no_bin = F.lit(None).cast("string"), F.lit(None).cast("long")
    slices = F.array(
        _slice(F.lit("all"), no_bin, no_bin),
        _slice(F.col("phase"), no_bin, no_bin),
        _slice(no_phase, begin, F.col("bin_us")),
    )
    batches = _with_phase(_latencies(events), windows).join(F.broadcast(sessions), on="session_id", how="inner")
    if faults is not None:
        batches = batches.join(F.broadcast(_by_session(faults)), on="session_id", how="left")
        slices = F.concat(slices, F.coalesce(_around(), F.array().cast(_SLICES)))
    sliced = batches.withColumn("slice", F.explode(slices)).filter(
        F.col("slice.phase").isNotNull() | F.col("slice.bin_us").isNotNull()
    )
    grouped = sliced.groupBy("session_id", "what", "client", "slice").agg(
        F.sum("count").alias("records"),
        F.min("latency_us").alias("min_us"),
        F.percentile("latency_us", list(_QUANTILES), F.col("count")).alias("_at"),
        F.max("latency_us").alias("max_us"),
    )
    # Whole microseconds: what lies between two measured latencies is interpolation, not measurement.
    percentiles = [
        F.round(F.col("_at")[index]).cast("long").alias(f"p{round(q * 100)}_us") for index, q in enumerate(_QUANTILES)
    ]
    return grouped.select("session_id", "what", "client", "slice.*", "records", "min_us", *percentiles, "max_us")


def _slice(phase: "Column", begin: "Column", width: "Column", fault: "Column | None" = None) -> "Column":
    number = F.lit(None).cast("long") if fault is None else fault
    return F.struct(phase.alias("phase"), begin.alias("bin_began_us"), width.alias("bin_us"), number.alias("fault_id"))


def _by_session(faults: "DataFrame") -> "DataFrame":
    """All faults of a session as one value: there are few, and every batch is held against them."""
    spans = F.collect_list(F.struct("fault_id", "began_us", "ended_us"))
    return faults.groupBy("session_id").agg(spans.alias("_faults"))


def _around() -> "Column":
    """The faults that a batch's wait lies near to, as slices.

    ``during`` if it was active at some moment of the wait, else ``before`` or ``after`` if the wait ended, or began,
    within as much time as the fault lasted, but at least :data:`LEAST_AROUND_US`.
    """
    none = F.lit(None).cast("long")
    told, sent = F.col("at_us"), F.col("at_us") - F.col("latency_us")

    def placed(fault: "Column") -> "Column":
        began, ended = fault["began_us"], fault["ended_us"]
        near = F.greatest(ended - began, F.lit(LEAST_AROUND_US))
        phase = (
            F.when((sent < ended) & (began <= told), F.lit("during"))
            .when((told < began) & (told >= began - near), F.lit("before"))
            .when((sent >= ended) & (sent < ended + near), F.lit("after"))
        )
        return _slice(phase, none, none, fault["fault_id"])

    return F.filter(F.transform("_faults", placed), lambda slice_: slice_["phase"].isNotNull())


def _latencies(events: "DataFrame") -> "DataFrame":
    """Batches acknowledged or read, with a latency that is known."""
    what = F.when(F.col("kind") == "records_acked", F.lit("produce")).otherwise(F.lit("end_to_end"))
    return events.filter(
        F.col("kind").isin("records_acked", "records_read") & (F.col("latency_us") >= 0) & (F.col("count") > 0)
    ).select("session_id", "at_us", what.alias("what"), "client", "count", "latency_us")


def _with_phase(batches: "DataFrame", windows: "DataFrame") -> "DataFrame":
    """Add ``phase``; null in a session without faults.

    Each window is stretched to the beginning of the next, and one that ended before time began stands first. So a
    batch meets exactly one, the last that began by the end of its wait, and the fault was felt if that window was
    still open when the wait began.
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


def _how_many(condition: "Column") -> "Column":
    return F.count(F.when(condition, F.lit(1)))


def _records(condition: "Column") -> "Column":
    return F.coalesce(F.sum(F.when(condition, F.col("count"))), F.lit(0))
