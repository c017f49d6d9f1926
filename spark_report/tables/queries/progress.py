"""Counts, the ledger and throughput, high watermarks with their stalls, and each group's position lag over time."""

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
"""Kinds that tell a high watermark: it moves up under a leader, and with a new leader it may move down."""

PLACE: Final = ("session_id", "partition")
_READER: Final = ("session_id", "group_id", "partition")
_DELETED: Final = "partition_deleted"
_TURNS: Final = ("truncation_detected", "consumer_reset")


def hw_series(told_tops: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """The high watermark of a partition at the end of each bin in which its leader told one.

    ``told_tops`` is what :func:`tops` gives.
    """
    width = F.broadcast(sessions.select("session_id", "bin_us"))
    known = told_tops.filter("told").join(width, on="session_id", how="inner")
    return known.select(*PLACE, "bin_began_us", "bin_us", "hw")


def tops(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """The high watermark of each partition in the bins in which somebody told one, or it was deleted (null).

    What a leader of an older epoch than one seen tells is nobody's; ``told`` is whether the true one said anything.
    """
    so_far = _so_far(*PLACE)
    newest = F.col("newest")
    return (
        with_life(events.filter(F.col("kind").isin(*HIGH_WATERMARK_KINDS, _DELETED)), rare)
        .join(F.broadcast(sessions.select("session_id", "bin_us")), on="session_id", how="inner")
        # By numbers first, which are added up without sorting; by what is in order then, of which there is little.
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
    events: "DataFrame", rare: "DataFrame", counted: "DataFrame", told_tops: "DataFrame", sessions: "DataFrame"
) -> "DataFrame":
    """The position lag of a group at a partition at the end of each bin: HW less what it has read.

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
        bins.join(told_tops.withColumn("top", F.struct("life", "hw")), on=[*PLACE, "bin_began_us"], how="left")
        .join(reads, on=[*_READER, "bin_began_us"], how="left")
        .withColumn("top", F.last("top", ignorenulls=True).over(so_far))
        .withColumn("read", F.max("read").over(so_far))
    )
    return known.select(*_READER, "bin_began_us", "bin_us", _behind().alias("position_lag"))


def position_lag_steps(events: "DataFrame", rare: "DataFrame", counted: "DataFrame") -> "DataFrame":
    """The position lag of a group over its partitions, as :func:`partition_position_lag` has it, whenever it changed.

    A row has the lag from ``at_us`` on; at first it is 0. Changes at one time count together.
    """
    readers = F.broadcast(counted.filter(F.col("kind") == "records_read").select(*_READER).distinct())
    order = Window.partitionBy(*PLACE).orderBy("seq")
    reign = F.struct("life", F.coalesce("leader_epoch", F.lit(-1)).alias("epoch"))
    so_far = (Window.unboundedPreceding, Window.currentRow)
    marks = with_life(events.filter(F.col("kind").isin(*HIGH_WATERMARK_KINDS, _DELETED)), rare)
    told_tops = (
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
    known = (
        told_tops.unionByName(read, allowMissingColumns=True)
        .withColumn("top", F.last("top", ignorenulls=True).over(of_reader.rowsBetween(*so_far)))
        .withColumn("read", F.max("read").over(of_reader.rowsBetween(*so_far)))
        .withColumn("position_lag", _behind())
        .withColumn("more", F.col("position_lag") - F.coalesce(F.lag("position_lag").over(of_reader), F.lit(0)))
    )
    of_group = Window.partitionBy("session_id", "group_id").orderBy("at_us").rangeBetween(*so_far)
    changed = known.filter(F.col("more") != 0)
    group = ["session_id", "group_id"]
    totals = changed.select(*group, "at_us", F.sum("more").over(of_group).alias("position_lag")).distinct()
    before = F.coalesce(F.lag("position_lag").over(Window.partitionBy(*group).orderBy("at_us")), F.lit(0))
    return totals.withColumn("_before", before).filter(F.col("position_lag") != F.col("_before")).drop("_before")


def _behind() -> "Column":
    """How far ``read`` is behind ``top``; of a partition that was made anew the group has to read first."""
    behind = F.greatest(F.lit(0), F.col("top.hw") - F.col("read.read_to"))
    return F.when((F.col("top.life") == F.col("read.life")) & F.col("top.hw").isNotNull(), behind).otherwise(F.lit(0))


def _reads(events: "DataFrame", rare: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """How far groups had read by the end of the bins in which they read, as ``read``: the greatest is the last.

    A turn, where a group was sent elsewhere, begins a count of its own.
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
    """Reads, and where groups were sent elsewhere, with ``life``, ``turn`` and the offset ``target`` they lead to."""
    kind = F.col("kind")
    turned = kind.isin(*_TURNS) & (F.col("end_offset") >= 0)
    target = F.when(kind == "consumer_reset", F.col("log_offset")).otherwise(F.col("end_offset"))
    moves = events.filter((kind == "records_read") | turned)
    counted = _how_often(rare.filter(turned), with_life(moves, rare), _READER, "turn")
    return counted.withColumn("target", target)


def with_life(moves: "DataFrame", rare: "DataFrame") -> "DataFrame":
    """Add ``life``: how often a partition of that name had been deleted by then, as ``rare`` tells."""
    return _how_often(rare.filter(F.col("kind") == _DELETED), moves, PLACE, "life")


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


# When a partition's high watermark stood still with records above it.
#
# All windows have one order, so that there is one sort, of rows that are numbers: most events that a broker tells are
# sorted here.


STALL_US: Final = 1_000_000
"""How long a high watermark must stand still with records above it before that is a stall."""
STALL_KINDS: Final = ("appended", "hw_advanced", "became_leader", "partition_deleted")
"""Kinds that :func:`hw_stalls` needs."""

_APPENDED, _MOVED, _LED, _PARTITION_GONE = range(len(STALL_KINDS))
_NOTHING: Final = -(1 << 62)
"""In place of an offset of a partition that was deleted."""
_EPOCHS: Final = 1 << 32
"""More than a partition has in one life."""
_NEXT: Final = ("at_us", "seq", "what")


def hw_stalls(
    events: "DataFrame", rare: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None
) -> "DataFrame":
    """When records waited above a partition's high watermark, and it stood still for :data:`STALL_US` or longer.

    ``events`` needs the kinds in :data:`STALL_KINDS` only, ``rare`` those that are not traffic; ``groups`` are
    numbers for :data:`PLACE`. Whoever leads in an epoch older than one seen is a zombie, and nobody waits for its high
    watermark. One that was deleted begins anew under its name.
    """
    told, keys = by_number(_told(with_life(events, rare)), groups), keys_of(PLACE, groups)
    order = Window.partitionBy(*keys).orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    known = (
        told.withColumn("_newest", F.max("reign").over(so_far))
        .filter((F.col("what") == _PARTITION_GONE) | (F.col("reign") >= F.col("_newest")))
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
    what = F.when(kind == STALL_KINDS[_APPENDED], _APPENDED).when(kind == STALL_KINDS[_MOVED], _MOVED)
    end = F.when(kind == STALL_KINDS[_APPENDED], F.col("log_offset") + F.col("count"))
    # What was known of a partition ends with it.
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


# Tallies of events that come with every batch, added up once for all tables that count them.


KEYS: Final = ("session_id", "kind", "client", "group_id", "partition", "acks", "error", "bin_began_us", "bin_us")
_COMMIT: Final = "offsets_committed"


def plain_tallies(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
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
    """How many events are so."""
    return F.coalesce(F.sum(F.when(condition, F.col("times"))), F.lit(0))


def count_records(condition: "Column") -> "Column":
    """How many records the events have that are so."""
    return F.coalesce(F.sum(F.when(condition, F.col("count"))), F.lit(0))


# Counts and the ledger: from the events, and from the session's own result.


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


# Throughput over time and by outcome.


OUTCOME_KINDS: Final = (
    *("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted", "records_read"),
    "produce_refused",
)
TIMEOUTS: Final = ("REQUEST_TIMED_OUT", "TimeoutException")
"""Errors that say no more than that time ran out."""

_SECOND_US: Final = 1_000_000


def throughput(tallies: "DataFrame") -> "DataFrame":
    """Records by client and bin of time, and how many a second that is."""
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
    """What became of the records that a client sent to a partition with an acks level."""
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
