"""Counts, the ledger, throughput, high watermarks and their stalls, and each group's position lag over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import DATA_KINDS
from spark_report.input.sessions import LEDGER_TERMS
from spark_report.tables.queries.timeline import by_name, by_number, election_kind, isr_change, keys_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

HIGH_WATERMARK_KINDS: Final = ("hw_advanced", "became_leader")
"""Kinds with a high watermark: it rises under a leader, and may fall with a new leader."""

PLACE: Final = ("session_id", "partition")
_READER: Final = ("session_id", "group_id", "partition")
_DELETED: Final = "partition_deleted"
_TURNS: Final = ("truncation_detected", "consumer_reset")


def hw_series(reported_tops: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the high watermark of a partition at the end of each bin in which its leader reported one.

    ``reported_tops`` is the result of :func:`high_watermarks`.
    """
    width = F.broadcast(sessions.select("session_id", "bin_us"))
    known = reported_tops.filter("told").join(width, on="session_id", how="inner")
    return known.select(*PLACE, "bin_began_us", "bin_us", "hw")


def high_watermarks(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the high watermark of each partition in bins in which a leader reported one, or it was deleted (null).

    Reports of a leader with an older epoch than one already seen are ignored; ``told`` is whether the current leader
    reported one.
    """
    so_far = _so_far(*PLACE)
    newest = F.col("newest")
    return (
        with_life(events.filter(F.col("kind").isin(*HIGH_WATERMARK_KINDS, _DELETED)), rare)
        .join(F.broadcast(sessions.select("session_id", "bin_us")), on="session_id", how="inner")
        # First aggregate without sorting, then sort the few remaining rows.
        .groupBy(*PLACE, _bin(), "life", F.coalesce("leader_epoch", F.lit(-1)).alias("epoch"))
        .agg(F.max("seq").alias("seq"), F.max_by("hw", "seq").alias("hw"))
        .groupBy(*PLACE, "bin_began_us")
        .agg(F.max(F.struct("life", "epoch", "seq", "hw")).alias("top"))
        .withColumn("newest", F.max("top").over(so_far))
        .select(
            *PLACE,
            "bin_began_us",
            newest["hw"].alias("hw"),
            ((newest == F.col("top")) & newest["hw"].isNotNull()).alias("told"),
            newest["life"].alias("life"),
        )
    )


def partition_position_lag(
    events: "DataFrame", rare: "DataFrame", counted: "DataFrame", reported_tops: "DataFrame", sessions: "DataFrame"
) -> "DataFrame":
    """Return the position lag of a group at a partition at the end of each bin: HW minus its position.

    ``rare`` are the events that are not traffic, ``counted`` their tallies, ``reported_tops`` the result of
    :func:`high_watermarks`. There is no lag before a group first reads of a partition. After a detected truncation, or
    an offset reset by ``auto.offset.reset``, the new position counts.
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
    positions = (
        bins.join(reported_tops.withColumn("top", F.struct("life", "hw")), on=[*PLACE, "bin_began_us"], how="left")
        .join(reads, on=[*_READER, "bin_began_us"], how="left")
        .withColumn("top", F.last("top", ignorenulls=True).over(so_far))
        .withColumn("read", F.max("read").over(so_far))
    )
    return positions.select(*_READER, "bin_began_us", "bin_us", _behind().alias("position_lag"))


def position_lag_steps(events: "DataFrame", rare: "DataFrame", counted: "DataFrame") -> "DataFrame":
    """Return the position lag of a group over its partitions at each change, see :func:`partition_position_lag`.

    A row has the lag from ``at_us`` on; it is 0 before the first row. Changes at one time are one row.
    """
    readers = F.broadcast(counted.filter(F.col("kind") == "records_read").select(*_READER).distinct())
    order = Window.partitionBy(*PLACE).orderBy("seq")
    reign = F.struct("life", F.coalesce("leader_epoch", F.lit(-1)).alias("epoch"))
    so_far = (Window.unboundedPreceding, Window.currentRow)
    marks = with_life(events.filter(F.col("kind").isin(*HIGH_WATERMARK_KINDS, _DELETED)), rare)
    reported_tops = (
        marks.select(*PLACE, "at_us", "seq", reign.alias("reign"), F.struct("life", "hw").alias("top"))
        .withColumn("_newest", F.max("reign").over(order.rowsBetween(*so_far)))
        .filter(F.col("reign") == F.col("_newest"))
        .join(readers, on=list(PLACE), how="inner")
        .select(*_READER, "at_us", "seq", "top")
    )
    read = _moves(events, rare).select(
        *_READER, "at_us", "seq", F.struct("life", "turn", F.col("target").alias("read_to")).alias("read")
    )
    of_reader = Window.partitionBy(*_READER).orderBy("seq")
    positions = (
        reported_tops.unionByName(read, allowMissingColumns=True)
        .withColumn("top", F.last("top", ignorenulls=True).over(of_reader.rowsBetween(*so_far)))
        .withColumn("read", F.max("read").over(of_reader.rowsBetween(*so_far)))
        .withColumn("position_lag", _behind())
        .withColumn("more", F.col("position_lag") - F.coalesce(F.lag("position_lag").over(of_reader), F.lit(0)))
    )
    of_group = Window.partitionBy("session_id", "group_id").orderBy("at_us").rangeBetween(*so_far)
    changed = positions.filter(F.col("more") != 0)
    group = ["session_id", "group_id"]
    totals = changed.select(*group, "at_us", F.sum("more").over(of_group).alias("position_lag")).distinct()
    before = F.coalesce(F.lag("position_lag").over(Window.partitionBy(*group).orderBy("at_us")), F.lit(0))
    return totals.withColumn("_before", before).filter(F.col("position_lag") != F.col("_before")).drop("_before")


def _behind() -> "Column":
    """Return how far ``read`` is behind ``top``; 0 in a recreated partition before the group's first read."""
    behind = F.greatest(F.lit(0), F.col("top.hw") - F.col("read.read_to"))
    return F.when((F.col("top.life") == F.col("read.life")) & F.col("top.hw").isNotNull(), behind).otherwise(F.lit(0))


def _reads(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the positions of groups at the end of the bins in which they read, as ``read``, ascending in time.

    An offset reset or detected truncation increments ``turn``.
    """
    return (
        _moves(events, rare)
        .join(F.broadcast(sessions.select("session_id", "bin_us")), on="session_id", how="inner")
        .groupBy(*_READER, _bin(), "life", "turn")
        .agg(F.max("target").alias("read_to"))
        .groupBy(*_READER, "bin_began_us")
        .agg(F.max(F.struct("life", "turn", "read_to")).alias("read"))
    )


def _moves(events: "DataFrame", rare: "DataFrame") -> "DataFrame":
    """Return reads, offset resets and detected truncations, with ``life``, ``turn`` and the new position ``target``."""
    kind = F.col("kind")
    turned = kind.isin(*_TURNS) & (F.col("end_offset") >= 0)
    target = F.when(kind == "consumer_reset", F.col("log_offset")).otherwise(F.col("end_offset"))
    moves = events.filter((kind == "records_read") | turned)
    counted = _how_often(rare.filter(turned), with_life(moves, rare), _READER, "turn")
    return counted.withColumn("target", target)


def with_life(moves: "DataFrame", rare: "DataFrame") -> "DataFrame":
    """Add ``life``: the number of earlier deletions of the partition in ``rare``."""
    return _how_often(rare.filter(F.col("kind") == _DELETED), moves, PLACE, "life")


def _how_often(marks: "DataFrame", moves: "DataFrame", keys: Sequence[str], name: str) -> "DataFrame":
    """Add the number of earlier ``marks``, of which there are few, with the same ``keys``."""
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


# Stalls of a partition's high watermark with records above it.
#
# All windows have the same order, so that there is one sort, of numeric rows, because most events are sorted here.


STALL_US: Final = 1_000_000
"""Minimum duration of a stall of the high watermark with records above it."""
STALL_KINDS: Final = ("appended", "hw_advanced", "became_leader", "partition_deleted")
"""Kinds that :func:`hw_stalls` needs."""

_APPENDED, _MOVED, _LED, _PARTITION_GONE = range(len(STALL_KINDS))
_NOTHING: Final = -(1 << 62)
"""Offset value of a deleted partition."""
_EPOCHS: Final = 1 << 32
"""More than the leader epochs of a partition in one life."""
_NEXT: Final = ("at_us", "seq", "what")


def hw_stalls(
    events: "DataFrame", rare: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None
) -> "DataFrame":
    """Return the intervals of at least :data:`STALL_US` in which records waited above a stalled high watermark.

    ``events`` needs only the kinds in :data:`STALL_KINDS`, ``rare`` those that are not traffic; ``groups`` are numbers
    for :data:`PLACE`. A leader in an older epoch than one already seen is a zombie, whose high watermark is ignored. A
    recreated partition starts again.
    """
    moves, keys = by_number(_ends_and_watermarks(with_life(events, rare)), groups), keys_of(PLACE, groups)
    order = Window.partitionBy(*keys).orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    changes = (
        moves.withColumn("_newest", F.max("reign").over(so_far))
        .filter((F.col("what") == _PARTITION_GONE) | (F.col("reign") >= F.col("_newest")))
        .withColumns({f"_{name}": F.last(name, ignorenulls=True).over(earlier) for name in ("end", "hw")})
        .withColumn("waited", _waiting(F.col("_hw"), F.col("_end")))
        .withColumns({name: F.coalesce(name, f"_{name}") for name in ("end", "hw")})
        .withColumn("waiting", _waiting(F.col("hw"), F.col("end")))
    )
    # While records wait, only an advance of the high watermark or the end of waiting is a change.
    turns = changes.filter((F.col("what") == _MOVED) | (F.col("waiting") != F.col("waited"))).select(
        *keys, "at_us", "seq", "what", "hw", "waiting"
    )
    following = turns.withColumns({f"next_{name}": F.lead(name).over(order) for name in _NEXT}).filter("waiting")
    return _spans(by_name(following, groups), sessions)


def _ends_and_watermarks(moves: "DataFrame") -> "DataFrame":
    """Return the log end and high watermark of each event; ``reign`` increases with lives and leader epochs."""
    kind = F.col("kind")
    what = F.when(kind == STALL_KINDS[_APPENDED], _APPENDED).when(kind == STALL_KINDS[_MOVED], _MOVED)
    end = F.when(kind == STALL_KINDS[_APPENDED], F.col("log_offset") + F.col("count"))
    # A deleted partition has no offsets.
    nothing = F.when(kind == STALL_KINDS[_PARTITION_GONE], F.lit(_NOTHING))
    return moves.select(
        *PLACE,
        "at_us",
        "seq",
        what.when(kind == STALL_KINDS[_LED], _LED).otherwise(_PARTITION_GONE).alias("what"),
        (F.col("life") * F.lit(_EPOCHS) + F.col("leader_epoch")).alias("reign"),
        nothing.otherwise(end.when(kind == STALL_KINDS[_LED], F.col("log_offset"))).alias("end"),
        nothing.otherwise(F.col("hw")).alias("hw"),
    )


def _waiting(hw: "Column", end: "Column") -> "Column":
    return F.coalesce((hw < end) & (hw != _NOTHING), F.lit(False))


def _spans(turns: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the stalls that lasted long enough, with their start and end reasons."""
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
        .when(F.col("what") == _MOVED, F.lit("last high watermark advance"))
        .otherwise(F.lit("new leader"))
        .alias("began_by"),
        F.when(open_, F.lit(""))
        .when(F.col("next_what") == _PARTITION_GONE, F.lit("partition deleted"))
        .otherwise(F.lit("high watermark advanced"))
        .alias("ended_by"),
    )
    duration = spans.withColumn("duration_us", F.col("ended_us") - F.col("began_us"))
    return duration.filter(F.col("duration_us") >= STALL_US)


# Tallies of events that occur with every batch, aggregated once for all tables that count them.


KEYS: Final = ("session_id", "kind", "client", "group_id", "partition", "acks", "error", "bin_began_us", "bin_us")
_COMMIT: Final = "offsets_committed"


def plain_tallies(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return events as tallies of one each, with ``times``, ``seqs`` and the time bin, ``bin_began_us``, ``bin_us``."""
    width = F.broadcast(sessions.select("session_id", "bin_us"))
    return events.join(width, on="session_id", how="inner").withColumns(
        {
            "bin_began_us": F.col("at_us") - F.col("at_us") % F.col("bin_us"),
            "times": F.lit(1).cast("long"),
            "seqs": F.col("seq"),
        }
    )


def tallied(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return tallies with traffic aggregated; the other events, ``rare``, are unchanged.

    ``times`` is the number of events of a row, ``count`` their records, ``seqs`` the sum of their sequence numbers;
    ``seq`` is that of the last, ``at_us`` the time of the first. Commits keep their request's time and sender, because
    a commit has an event for every partition.
    """
    traffic = plain_tallies(events.filter(F.col("kind").isin(sorted(DATA_KINDS))), sessions)
    added = traffic.groupBy(*KEYS, *(_of_commits(name).alias(f"_{name}") for name in ("at_us", "by"))).agg(
        F.count(F.lit(1)).alias("times"),
        F.sum("count").alias("count"),
        F.sum("seq").alias("seqs"),
        F.max("seq").alias("seq"),
        F.min("at_us").alias("at_us"),
    )
    whole = added.withColumnRenamed("_by", "by").drop("_at_us")
    return whole.unionByName(plain_tallies(rare, sessions), allowMissingColumns=True)


def _of_commits(name: str) -> "Column":
    return F.when(F.col("kind") == _COMMIT, F.col(name))


def count_events(condition: "Column") -> "Column":
    """Return the number of events with a condition."""
    return F.coalesce(F.sum(F.when(condition, F.col("times"))), F.lit(0))


def count_records(condition: "Column") -> "Column":
    """Return the number of records of the events with a condition."""
    return F.coalesce(F.sum(F.when(condition, F.col("count"))), F.lit(0))


# Counts and the ledger: from the events, and from the session's own result.


RECOUNTED: Final = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost")
"""Ledger terms that can be computed from the events alone."""

COUNTED: Final = (
    *("events", "last_seq", "gapless", "elections_clean", "elections_unclean", "elections_offline"),
    *("isr_shrinks", "isr_expands", "faults", "truncations", "attempts_refused", "violations", "consumed"),
    *RECOUNTED,
)
"""Columns of :func:`counts` after ``session_id``."""


def counts(tallies: "DataFrame") -> "DataFrame":
    """Return one row per session: counts of important events, and the ledger recounted, in records.

    ``gapless``: whether every sequence number from 0 to the last occurs once.
    """
    kind = F.col("kind")
    lost = kind == "records_lost"
    last = F.max("seq")
    return tallies.groupBy("session_id").agg(
        F.sum("times").alias("events"),
        last.alias("last_seq"),
        # The sum also detects a gap that is offset by a repeated line, without sorting all events.
        ((F.sum("times") == last + 1) & (F.sum("seqs") * 2 == last * (last + 1))).alias("gapless"),
        *(count_events(election_kind() == name).alias(f"elections_{name}") for name in ("clean", "unclean", "offline")),
        count_events(isr_change().isin("shrink", "swap")).alias("isr_shrinks"),
        count_events(isr_change().isin("expand", "swap")).alias("isr_expands"),
        count_events(kind == "fault_injected").alias("faults"),
        count_events(kind == "truncated").alias("truncations"),
        count_events(kind == "produce_refused").alias("attempts_refused"),
        count_events(kind == "invariant_violated").alias("violations"),
        count_records(kind == "records_sent").alias("sent"),
        count_records(kind == "records_acked").alias("acked"),
        count_records(kind == "records_failed").alias("failed"),
        count_records(kind == "records_unknown").alias("unknown"),
        count_records(kind == "records_aborted").alias("aborted"),
        count_records(lost).alias("acked_lost"),
        count_records(lost & F.col("committed")).alias("committed_lost"),
        count_records(kind == "records_read").alias("consumed"),
    )


def ledger(totals: "DataFrame", results: "DataFrame") -> "DataFrame":
    """Return the ledger from the events and from the session's own result; ``agrees`` is null if one is missing.

    ``results`` has a row per session with a result, with the terms as columns.
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


# Throughput over time and by outcome.


OUTCOME_KINDS: Final = (
    *("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted", "records_read"),
    "produce_refused",
)
TIMEOUTS: Final = ("REQUEST_TIMED_OUT", "TimeoutException")
"""Errors of timeouts, which leave the outcome unknown."""

_SECOND_US: Final = 1_000_000


def throughput(tallies: "DataFrame") -> "DataFrame":
    """Return records by client and time bin, with rates per second."""
    of_clients = tallies.filter(F.col("kind").isin(*OUTCOME_KINDS))
    counted = of_clients.groupBy("session_id", "client", "bin_began_us", "bin_us").agg(
        *(
            count_records(F.col("kind") == f"records_{what}").alias(what)
            for what in ("sent", "acked", "failed", "unknown")
        ),
        count_records(F.col("kind") == "records_read").alias("read"),
        count_events(F.col("kind") == "produce_refused").alias("refused"),
    )
    per_second = [(F.col(what) * _SECOND_US / F.col("bin_us")).alias(f"{what}_per_s") for what in ("acked", "read")]
    return counted.select("*", *per_second)


def outcomes(tallies: "DataFrame") -> "DataFrame":
    """Return the outcomes of records by client, partition and acks level."""
    kind = F.col("kind")
    late = F.col("error").isin(*TIMEOUTS)
    return (
        tallies.filter(kind.isin(*OUTCOME_KINDS) & (kind != "records_read"))
        .groupBy("session_id", "client", "partition", "acks")
        .agg(
            count_records(kind == "records_sent").alias("sent"),
            count_records(kind == "records_acked").alias("acked"),
            count_records(kind == "records_failed").alias("rejected"),
            count_records((kind == "records_unknown") & late).alias("timed_out"),
            count_records((kind == "records_unknown") & ~late).alias("unknown_other"),
            count_records(kind == "records_aborted").alias("aborted"),
            count_events(kind == "produce_refused").alias("refused"),
        )
    )
