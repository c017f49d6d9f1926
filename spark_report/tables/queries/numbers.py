"""Counts and the ledger: what the events come to, and what the session says it came to."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from spark_report.input.sessions import LEDGER_TERMS
from spark_report.tables.queries.points import election_kind, isr_change
from spark_report.tables.queries.tallies import records, times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RECOUNTED: Final = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost")
"""Ledger terms that the events alone give."""

COUNTED: Final = (
    *("events", "last_seq", "gapless", "elections_clean", "elections_unclean", "elections_offline"),
    *("isr_shrinks", "isr_expands", "faults", "truncations", "attempts_refused", "violations", "consumed"),
    *RECOUNTED,
)
"""The columns of :func:`counts` after ``session_id``."""


def counts(tallies: "DataFrame") -> "DataFrame":
    """One row a session: how many events of each kind that matters, and the ledger recounted, in records.

    ``gapless`` says that every sequence number from 0 to the last is there once.
    """
    kind = F.col("kind")
    lost = kind == "records_lost"
    last = F.max("seq")
    return tallies.groupBy("session_id").agg(
        F.sum("times").alias("events"),
        last.alias("last_seq"),
        # The sum tells a hole that a repeated line fills up; counting distinct numbers would sort all events for it.
        ((F.sum("times") == last + 1) & (F.sum("seqs") * 2 == last * (last + 1))).alias("gapless"),
        *(times(election_kind() == name).alias(f"elections_{name}") for name in ("clean", "unclean", "offline")),
        times(isr_change().isin("shrink", "swap")).alias("isr_shrinks"),
        times(isr_change().isin("expand", "swap")).alias("isr_expands"),
        times(kind == "fault_injected").alias("faults"),
        times(kind == "truncated").alias("truncations"),
        times(kind == "produce_refused").alias("attempts_refused"),
        times(kind == "invariant_violated").alias("violations"),
        records(kind == "records_sent").alias("sent"),
        records(kind == "records_acked").alias("acked"),
        records(kind == "records_failed").alias("failed"),
        records(kind == "records_unknown").alias("unknown"),
        records(kind == "records_aborted").alias("aborted"),
        records(lost).alias("acked_lost"),
        records(lost & F.col("committed")).alias("committed_lost"),
        records(kind == "records_read").alias("consumed"),
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
