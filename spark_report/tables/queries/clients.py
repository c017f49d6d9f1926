"""Statistics of clients: producers, groups, members, errors by name, consumer lag and rebalances.

The numbers are defined as those under ``clients`` in a session's own result.
"""

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.tables.queries.progress import count_events, count_records
from spark_report.tables.queries.timeline import SPAN, intervals

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PRODUCER_KINDS: Final = (
    *("records_sent", "records_acked", "records_failed", "records_unknown"),
    *("produce_refused", "produce_retried", "records_aborted", "interceptor_failed", "producer_fenced"),
    *("transaction_begun", "transaction_committed", "transaction_aborted", "transaction_unknown"),
)
MEMBER_KINDS: Final = (
    *("records_read", "offsets_committed", "commit_failed", "handler_failed", "partitions_lost", "consumer_failed"),
    *("truncation_detected", "consumer_reset", "partitions_assigned", "partitions_revoked", "group_rebalanced"),
    "records_abandoned",
)

PRODUCER: Final = (
    *("sent", "acked", "failed", "unknown", "aborted", "unanswered", "retries", "refused"),
    *("transactions", "transactions_committed", "transactions_aborted", "transactions_unknown"),
    *("interceptor_failures", "killed", "closed", "failure"),
)
"""Columns of ``producers`` after the client's name: records, attempts, transactions, ends of its process."""
MEMBER: Final = (
    *("read", "handler_failed", "abandoned", "commits", "failed_commits", "partitions_lost"),
    *("killed", "closed", "failure"),
)
"""Columns of ``members`` after group and name."""
GROUP: Final = (
    *("read", "reread", "rebalances", "idle_us", "commits", "failed_commits", "handler_failed"),
    *("abandoned", "truncations", "resets"),
)
"""Columns of ``groups`` after the group's name."""

DEATHS: Final = ("crash", "power_loss", "out_of_memory")
"""Reasons of process ends that count as killed."""


def producers(tallies: "DataFrame") -> "DataFrame":
    """Return a row per producer: records by outcome, retries, failed attempts, transactions, and process ends.

    ``failure`` is the fatal error that ended it, empty for none.
    """
    producer_rows = tallies.filter(F.col("kind").isin(*PRODUCER_KINDS))
    outcomes = ("acked", "failed", "unknown", "aborted")
    counted = (
        producer_rows.groupBy("session_id", "client")
        .agg(
            *[_records(f"records_{name}").alias(name) for name in ("sent", *outcomes)],
            _events("produce_retried").alias("retries"),
            _events("produce_refused").alias("refused"),
            _events("transaction_begun").alias("transactions"),
            *[
                _events(f"transaction_{how}").alias(f"transactions_{how}")
                for how in ("committed", "aborted", "unknown")
            ],
            _records("interceptor_failed").alias("interceptor_failures"),
            _failure("producer_fenced"),
        )
        .withColumn("unanswered", reduce(lambda left, name: left - F.col(name), outcomes, F.col("sent")))
    )
    return _with_ends(counted, tallies).select("session_id", "client", *PRODUCER)


def members(tallies: "DataFrame") -> "DataFrame":
    """Return a row per consumer; ``failure`` is the exception that ended it, empty for none."""
    counted = (
        _of_groups(tallies)
        .groupBy("session_id", "group_id", "client")
        .agg(
            _records("records_read").alias("read"),
            _records("handler_failed").alias("handler_failed"),
            _records("records_abandoned").alias("abandoned"),
            _commits().alias("commits"),
            _events("commit_failed").alias("failed_commits"),
            _records("partitions_lost").alias("partitions_lost"),
            _failure("consumer_failed"),
        )
    )
    return _with_ends(counted, tallies).select("session_id", "group_id", "client", *MEMBER)


def groups(tallies: "DataFrame", events: "DataFrame") -> "DataFrame":
    """Return a row per group; ``idle_us`` is its partitions' total time without an owner with a running process."""
    moved = (F.col("kind") == "consumer_reset") & (F.col("end_offset") >= 0)
    counted = (
        _of_groups(tallies)
        .groupBy("session_id", "group_id")
        .agg(
            _records("records_read").alias("read"),
            _events("group_rebalanced").alias("rebalances"),
            _commits().alias("commits"),
            _events("commit_failed").alias("failed_commits"),
            _records("handler_failed").alias("handler_failed"),
            _records("records_abandoned").alias("abandoned"),
            _events("truncation_detected").alias("truncations"),
            count_events(moved).alias("resets"),
        )
    )
    parts = (counted, _read_again(events), _idle(events), _reset_after_expiry(events))
    stacked = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in GROUP]
    return stacked.groupBy("session_id", "group_id").agg(*sums)


def errors(tallies: "DataFrame") -> "DataFrame":
    """Return the number of errors by client. ``what``: ``refused`` attempts, ``outcome`` of records, or ``commit``."""
    kind = F.col("kind")
    what = (
        F.when(kind == "produce_refused", F.lit("refused"))
        .when(kind.isin("records_failed", "records_unknown"), F.lit("outcome"))
        .when(kind == "commit_failed", F.lit("commit"))
    )
    count = F.when(kind.isin("records_failed", "records_unknown"), F.col("count")).otherwise(F.col("times"))
    return (
        tallies.withColumn("what", what)
        .filter(F.col("what").isNotNull())
        .groupBy("session_id", "what", "client", "error")
        .agg(F.sum(count).alias("times"))
    )


def _of_groups(tallies: "DataFrame") -> "DataFrame":
    return tallies.filter(F.col("kind").isin(*MEMBER_KINDS) & F.col("group_id").isNotNull())


def _with_ends(counted: "DataFrame", tallies: "DataFrame") -> "DataFrame":
    """Add ``killed`` and ``closed``: the number of such ends of a client's process, which has the client's name."""
    ended = (
        tallies.filter((F.col("kind") == "node_down") & (F.col("broker") < 0))
        .groupBy("session_id", F.col("node").alias("client"))
        .agg(
            count_events(F.col("detail").isin(*DEATHS)).alias("killed"),
            count_events(F.col("detail") == "close").alias("closed"),
        )
    )
    return counted.join(F.broadcast(ended), on=["session_id", "client"], how="left").fillna(0, ["killed", "closed"])


def _read_again(events: "DataFrame") -> "DataFrame":
    """Return the records that were delivered to a group again, as ``reread`` of each of its partitions.

    A record is identified by its offset and the log branch (``log_branch``) that wrote it, because after a truncation
    another record may have the same offset.
    """
    where = ["session_id", "group_id", "partition"]
    reads = events.filter((F.col("kind") == "records_read") & (F.col("count") > 0)).select(
        *where, "log_branch", F.col("log_offset").alias("start"), (F.col("log_offset") + F.col("count")).alias("end")
    )
    order = Window.partitionBy(*where, "log_branch").orderBy("start", "end")
    reached = F.max("end").over(order.rowsBetween(Window.unboundedPreceding, -1))
    again = F.greatest(F.lit(0), F.least("end", F.coalesce(reached, F.col("start"))) - F.col("start"))
    return reads.withColumn("_again", again).groupBy(*where).agg(F.sum("_again").alias("reread")).drop("partition")


def _reset_after_expiry(events: "DataFrame") -> "DataFrame":
    """Return resets of members without a position, as ``resets``: the first after the committed offset expired."""
    where = ["session_id", "group_id", "partition"]
    expires = F.col("kind") == "offsets_expired"
    turns = events.filter(expires | (F.col("kind") == "consumer_reset"))
    before = F.lag("kind").over(Window.partitionBy(*where).orderBy("seq")) == "offsets_expired"
    moved = turns.withColumn("_moved", before & ~expires & (F.col("end_offset") < 0)).filter("_moved")
    return moved.groupBy("session_id", "group_id").agg(F.count("*").alias("resets"))


def _idle(events: "DataFrame") -> "DataFrame":
    return idle_waits(events).groupBy("session_id", "group_id").agg(F.sum("idle_us").alias("idle_us"))


def idle_waits(events: "DataFrame") -> "DataFrame":
    """Return the times from a partition's revocation or loss to its next assignment, as ``idle_us``.

    They also start when the owner's process ends without a revocation. A member that learns of a loss after the
    partition has another owner does not end that ownership.
    """
    where = ["session_id", "group_id", "partition"]
    assigned = F.col("kind") == "partitions_assigned"
    names = F.split(F.element_at(F.split("detail", ": "), -1), ", ")
    turns = (
        events.filter(F.col("kind").isin("partitions_assigned", "partitions_revoked", "partitions_lost"))
        .select("session_id", "group_id", "client", "at_us", "seq", assigned.alias("taken"), names.alias("_names"))
        .withColumn("partition", F.explode("_names"))
        .filter(F.col("partition") != "")
    )
    held = turns.filter("taken").select("session_id", "group_id", "client", "partition").distinct()
    deaths = events.filter((F.col("kind") == "node_down") & (F.col("broker") < 0)).select(
        "session_id", F.col("node").alias("client"), "at_us", "seq", F.lit(False).alias("taken")
    )
    died = F.broadcast(deaths).join(held, on=["session_id", "client"], how="inner")
    order = Window.partitionBy(*where).orderBy("at_us", "seq")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    owner = F.last(F.when(F.col("taken"), F.col("client")), ignorenulls=True).over(earlier)
    own = (
        turns.drop("_names")
        .unionByName(died)
        .withColumn("_owner", owner)
        .filter(F.col("taken") | F.col("_owner").eqNullSafe(F.col("client")))
        .withColumn("_before", F.lag("taken").over(order))
        .filter(F.col("_before").isNull() | (F.col("_before") != F.col("taken")))
        .withColumn("_next_us", F.lead("at_us").over(order))
        .withColumn("_next_seq", F.lead("seq").over(order))
    )
    return own.filter(~F.col("taken") & F.col("_next_us").isNotNull()).select(
        *where, F.col("_next_seq").alias("ended_seq"), (F.col("_next_us") - F.col("at_us")).alias("idle_us")
    )


def _commits() -> "Column":
    """Return the number of commits; a commit has an event for every partition."""
    one = F.when(F.col("kind") == "offsets_committed", F.struct("client", "at_us", "by"))
    return F.size(F.collect_set(one)).cast("long")


def _failure(kind: str) -> "Column":
    """Return the error of the last event of a kind, empty for none."""
    last = F.max_by("error", F.when(F.col("kind") == kind, F.col("seq")))
    return F.coalesce(last, F.lit("")).alias("failure")


def _events(kind: str) -> "Column":
    return count_events(F.col("kind") == kind)


def _records(kind: str) -> "Column":
    return count_records(F.col("kind") == kind)


# Lag of a group, its time to drain, and the cost of its rebalances.


SESSION_OVER: Final = "its session with ZooKeeper is over"
"""``detail`` of the event of a fenced broker whose ZooKeeper session ended, so that it is not the controller."""


def group_position_lag(partitions: "DataFrame") -> "DataFrame":
    """Return the position lag of each group at the end of each bin, over the partitions that it has read."""
    return partitions.groupBy("session_id", "group_id", "bin_began_us", "bin_us").agg(
        F.sum("position_lag").alias("position_lag")
    )


def position_lag_peaks(steps: "DataFrame", lags: "DataFrame", faults: "DataFrame") -> "DataFrame":
    """Return each group's greatest position lag, and the time at which it was back to its usual value.

    ``steps`` has the lag at each change, ``lags`` at the ends of bins. The usual value is the greatest before the first
    fault, or else the median of ``lags``. A group without any lag has no row.
    """
    keys, lag = ["session_id", "group_id"], F.col("position_lag")
    first = faults.groupBy("session_id").agg(F.min("began_us").alias("fault_us"))
    medians = lags.groupBy(*keys).agg(F.percentile_approx("position_lag", 0.5).alias("_median"))
    with_faults = steps.join(F.broadcast(first), on="session_id", how="left")
    # The greatest lag, and the first time of it.
    peaks = with_faults.groupBy(*keys).agg(
        F.max(F.struct("position_lag", (-F.col("at_us")).alias("back"))).alias("_peak"),
        F.max(F.when(F.col("at_us") < F.col("fault_us"), lag).when(F.col("fault_us") > 0, 0)).alias("_calm"),
        F.max(F.struct("at_us", "position_lag")).alias("_last"),
    )
    lag_rows = peaks.join(F.broadcast(medians), on=keys, how="inner").select(
        *keys,
        F.col("_peak.position_lag").alias("peak_position_lag"),
        (-F.col("_peak.back")).alias("peak_at_us"),
        F.coalesce("_calm", "_median").alias("usual_position_lag"),
        F.col("_last.position_lag").alias("final_position_lag"),
    )
    down = F.when(
        (F.col("at_us") > F.col("peak_at_us")) & (F.col("position_lag") <= F.col("usual_position_lag")), F.col("at_us")
    )
    return (
        with_faults.join(lag_rows, on=keys, how="inner")
        .groupBy(*keys, "peak_position_lag", "peak_at_us", "usual_position_lag", "final_position_lag")
        .agg(F.min(down).alias("drained_us"))
        .withColumn("time_to_drain_us", F.col("drained_us") - F.col("peak_at_us"))
    )


def rebalances(events: "DataFrame", waits: "DataFrame") -> "DataFrame":
    """Return each rebalance with the partitions that got an owner, and their time without one.

    ``waits`` are times of partitions without an owner. Each counts for the newest rebalance at its end.
    """
    keys = ["session_id", "group_id"]
    order = Window.partitionBy(*keys).orderBy("seq", "_wait")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    done = events.filter(F.col("kind") == "group_rebalanced").select(
        *keys, "seq", "at_us", F.col("count").alias("members"), "detail", F.lit(0).alias("_wait")
    )
    ended = waits.select(
        *keys, F.col("ended_seq").alias("seq"), F.col("idle_us").alias("_idle"), F.lit(1).alias("_wait")
    )
    assigned = done.unionByName(ended, allowMissingColumns=True).withColumn(
        "_by", F.last(F.when(F.col("_wait") == 0, F.col("seq")), ignorenulls=True).over(so_far)
    )
    return (
        assigned.filter(F.col("_by").isNotNull())
        .groupBy(*keys, F.col("_by").alias("seq"))
        .agg(
            F.max("at_us").alias("at_us"),
            F.max("members").alias("members"),
            F.max("detail").alias("detail"),
            F.count("_idle").alias("partitions_moved"),
            F.coalesce(F.sum("_idle"), F.lit(0)).alias("time_lost_us"),
        )
    )


def vacancies(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the intervals without an active controller.

    Its process was down or paused, or its ZooKeeper session had ended. A paused controller returns when it resumes; in
    all other cases a controller must be elected, which may be the same node.
    """
    kind = F.col("kind")
    order = Window.partitionBy("session_id").orderBy("at_us", "seq")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    term = Window.partitionBy("session_id", "_term").orderBy("at_us", "seq")
    ended = kind.isin("node_down", "broker_fenced")
    changed = kind == "controller_changed"
    states = (
        _office(events, sessions)
        .withColumn(
            "_holder", F.coalesce(F.last(F.when(changed, F.col("who")), ignorenulls=True).over(earlier), "first")
        )
        .withColumn("_term", F.sum(changed.cast("int")).over(so_far))
        .filter(changed | (F.col("who") == F.col("_holder")))
        .withColumn("_ended", F.max(ended).over(term.rowsBetween(Window.unboundedPreceding, Window.currentRow)))
    )
    empty = ~changed & (F.col("_ended") | (kind == "node_paused"))
    text = F.when(changed, F.lit("became active")).when(empty, F.lit("left")).otherwise(F.lit("returned"))
    turns = states.withColumn("empty", empty).withColumn("label", F.concat_ws(" ", "who", text))
    return intervals(turns, sessions, [], ["empty"]).filter("empty").select("session_id", *SPAN)


def _office(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the events of nodes that may be the controller; ``first`` is the first active controller."""
    kind = F.col("kind")
    lives = kind.isin("controller_changed", "node_down", "node_paused", "node_resumed")
    expired = (kind == "broker_fenced") & (F.col("detail") == SESSION_OVER)
    who = F.coalesce("node", F.concat_ws(" ", F.lit("broker"), "broker"))
    return (
        events.filter(lives | expired)
        .select("session_id", "at_us", "seq", "kind", "leader_epoch", who.alias("who"))
        .join(F.broadcast(sessions.select("session_id", F.col("controller").alias("first"))), on="session_id")
    )


def failovers(events: "DataFrame", vacant: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return each change of the active controller, with the time without one.

    If a session does not record the first controller, an epoch greater than 1 shows that there was one.
    """
    order = Window.partitionBy("session_id").orderBy("at_us", "seq")
    changes = (
        _office(events, sessions)
        .filter(F.col("kind") == "controller_changed")
        .withColumn("from_node", F.coalesce(F.lag("who").over(order), "first"))
        .filter(F.when(F.col("from_node").isNull(), F.col("leader_epoch") > 1).otherwise(F.col("from_node") != ""))
    )
    lost = vacant.filter(~F.col("open")).select(
        "session_id", F.col("ended_seq").alias("seq"), F.col("began_us").alias("lost_us")
    )
    return changes.join(F.broadcast(lost), on=["session_id", "seq"], how="left").select(
        "session_id",
        "at_us",
        "seq",
        F.col("who").alias("node"),
        F.coalesce("from_node", F.lit("")).alias("from_node"),
        "leader_epoch",
        "lost_us",
        (F.col("at_us") - F.col("lost_us")).alias("without_us"),
    )
