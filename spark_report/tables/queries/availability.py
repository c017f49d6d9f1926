"""Availability of partitions and clients, the health of partitions, and recovery after each fault."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.util.latency import SERVICE_BOUND_US, SLOW_US, USUAL_TIMES
from spark_report.tables.queries.progress import with_life
from spark_report.tables.queries.timeline import (
    SPAN,
    by_name,
    by_number,
    election_kind,
    intervals,
    isr_change,
    keys_of,
    merged,
    overlaps,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NO_BROKER: Final = -1
_GONE: Final = -2
"""Leader value of a deleted partition."""
_GIVEN_UP: Final = ("records_failed", "records_unknown")
ANSWERS: Final = ("records_sent", "records_acked", "records_aborted", "produce_refused", *_GIVEN_UP)
"""Kinds of events that show whether a producer can write to a partition."""
ASKED: Final = ("session_id", "client", "partition", "acks")


def unavailability(
    events: "DataFrame", answers: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None
) -> "DataFrame":
    """Return all unavailable intervals; ``scope`` is ``partition``, or ``client`` with its name and acks level.

    ``events`` may lack traffic; ``answers`` needs only the kinds in :data:`ANSWERS`; ``groups`` are numbers for
    :data:`ASKED`.
    """
    by_partition = partition_unavailability(events, sessions).select(
        "session_id",
        F.lit("partition").alias("scope"),
        "partition",
        F.lit("").alias("client"),
        F.lit(None).cast("long").alias("acks"),
        *SPAN,
        F.lit(0).cast("long").alias("bound_us"),
    )
    by_client = client_unavailability(answers, events, sessions, groups).select(
        "session_id", F.lit("client").alias("scope"), "partition", "client", "acks", *SPAN, "bound_us"
    )
    return by_partition.unionByName(by_client).withColumn("duration_us", F.col("ended_us") - F.col("began_us"))


def partition_unavailability(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return intervals in which a partition's leader was down, paused or fenced, or it had none.

    It ends when a broker becomes leader, or resumes as the leader that it was. Time before a partition's first leader
    does not count, because the partition is being created.
    """
    serving = leaders_serving(events, sessions)
    leaderless = serving.filter(F.col("broker") == _NO_BROKER).select("session_id", "partition", *SPAN)
    # The leader's outage and the time without a leader touch, so merged() makes them one interval.
    outages = overlaps(serving, broker_outages(events, sessions), on=["broker"], keep=["partition"])
    return merged(leaderless.unionByName(outages), ["partition"])


def leaders_serving(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return the broker that acts as leader of a partition (-1 for none), as intervals.

    A broker that becomes leader in an older epoch than one already seen is a zombie, and changes nothing. A broker
    whose process ends is not the leader after a restart until it becomes leader again. A deleted partition counts
    neither as available nor as unavailable; a new one of the same name starts with epoch 0.
    """
    order = Window.partitionBy("session_id", "partition").orderBy("at_us", "seq")
    deleted, offline = F.col("kind") == "partition_deleted", F.col("kind") == "partition_offline"
    incarnation = Window.partitionBy("session_id", "partition", "_incarnation").orderBy("at_us", "seq")
    earlier = incarnation.rowsBetween(Window.unboundedPreceding, -1)
    turns = (
        events.filter(F.col("kind").isin("became_leader", "partition_offline", "partition_deleted"))
        .withColumn("_incarnation", F.sum(deleted.cast("int")).over(order))
        .withColumn("_newest", F.max("leader_epoch").over(earlier))
        .filter(F.col("_newest").isNull() | (F.col("leader_epoch") >= F.col("_newest")))
        .select(
            "session_id",
            "at_us",
            "seq",
            "partition",
            F.when(deleted, _GONE).when(offline, _NO_BROKER).otherwise(F.col("broker")).alias("broker"),
            F.when(deleted, F.lit("partition deleted"))
            .when(offline, F.lit("no eligible leader"))
            .otherwise(F.concat_ws(" ", F.lit("broker"), "broker", F.lit("became leader in epoch"), "leader_epoch"))
            .alias("label"),
        )
    )
    ended = turns.unionByName(_ends_of_leaders(turns, events))
    return intervals(ended, sessions, ["partition"], ["broker"]).filter(F.col("broker") != _GONE)


def _ends_of_leaders(turns: "DataFrame", events: "DataFrame") -> "DataFrame":
    """Return the changes to no leader because the process of the acting leader ended."""
    partitions = turns.select("session_id", "partition").distinct()
    down = events.filter((F.col("kind") == "node_down") & (F.col("broker") >= 0)).select(
        "session_id",
        "at_us",
        "seq",
        F.col("broker").alias("_down"),
        F.concat_ws(" ", F.lit("broker"), "broker", _how_it_ended()).alias("label"),
    )
    order = Window.partitionBy("session_id", "partition").orderBy("at_us", "seq")
    leader = F.last("broker", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    candidates = partitions.join(down, on="session_id").withColumn("broker", F.lit(None).cast("long"))
    both = turns.withColumn("_down", F.lit(None).cast("long")).unionByName(candidates)
    return (
        both.withColumn("_leader", leader)
        .filter(F.col("_down") == F.col("_leader"))
        .select("session_id", "at_us", "seq", "partition", F.lit(_NO_BROKER).cast("long").alias("broker"), "label")
    )


def _how_it_ended() -> "Column":
    """Return the text for how a process went down."""
    return (
        F.when(F.col("detail") == "crash", F.lit("crashed"))
        .when(F.col("detail") == "power_loss", F.lit("lost power"))
        .otherwise(F.lit("went down"))
    )


def broker_outages(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return intervals in which a broker's process was down or paused, or the broker was fenced; both may overlap."""
    kind = F.col("kind")
    is_process = kind.isin("node_down", "node_paused", "node_up", "node_resumed")
    what = (
        F.when(kind == "node_down", _how_it_ended())
        .when(kind == "node_paused", F.lit("was paused"))
        .when(kind == "node_up", F.lit("restarted"))
        .when(kind == "node_resumed", F.lit("resumed"))
        .when(kind == "broker_fenced", F.lit("was fenced"))
        .otherwise(F.lit("registered"))
    )
    turns = events.filter((is_process | kind.isin("broker_fenced", "broker_registered")) & (F.col("broker") >= 0))
    states = turns.select(
        "session_id",
        "at_us",
        "seq",
        "broker",
        F.when(is_process, F.lit("process")).otherwise(F.lit("registration")).alias("aspect"),
        kind.isin("node_down", "node_paused", "broker_fenced").alias("out"),
        F.concat_ws(" ", F.lit("broker"), "broker", what).alias("label"),
    )
    return (
        intervals(states, sessions, ["broker", "aspect"], ["out"])
        .filter("out")
        .select("session_id", "broker", "aspect", *SPAN)
    )


_SENT, _SERVED, _LEFT, _REFUSED, _STOPPED, _WENT_ON = range(6)
"""Meaning of an event for a client's availability; :data:`_LEFT`: records failed or expired."""


def client_unavailability(
    answers: "DataFrame", rare: "DataFrame", sessions: "DataFrame", groups: "DataFrame | None" = None
) -> "DataFrame":
    """Return intervals per client, partition and acks level in which records waited longer than its bound.

    An interval starts with the first waiting record, or the last acknowledgement, and ends with the next
    acknowledgement. Failed or expired records do not end it: it continues with the next record, and ends with the last
    failed one if none follows. It also ends while the client's process is down or paused. ``bound_us`` is the time that
    records may wait; it is longer if the last acknowledgement was slow.
    """
    keys = keys_of(ASKED, groups)
    order = Window.partitionBy(*keys).orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_head = F.col("what").isin(_SERVED, _STOPPED, _WENT_ON)
    first_event = F.struct("at_us", "seq")
    expired = (F.col("what") == _LEFT) & (F.col("waiting") <= 0)
    spells = (
        by_number(_service_turns(answers, rare, groups), groups)
        .withColumns({"waiting": F.sum("change").over(so_far), "spell": F.sum(is_head.cast("int")).over(so_far)})
        .groupBy(*keys, "spell")
        .agg(
            F.min(F.when(is_head, F.struct("at_us", "seq", "what", "waiting", "label", "latency_us"))).alias("head"),
            F.min(F.when(F.col("what") == _SENT, first_event)).alias("first"),
            F.max(F.when(F.col("what") == _SENT, F.col("seq"))).alias("last_sent"),
            F.max(F.when(expired, F.struct("seq", "at_us"))).alias("left"),
            F.min(F.when(F.col("error").isNotNull(), F.struct("seq", "error"))).alias("refusal"),
        )
        .withColumn("next", F.lead("head").over(Window.partitionBy(*keys).orderBy("spell")))
    )
    goes_on = (F.col("head.what") != _STOPPED) & (F.col("head.waiting") > 0)
    began = F.when(goes_on, F.struct("head.at_us", "head.seq")).otherwise(F.col("first"))
    # Records that failed before the last record was sent do not end the interval.
    left = F.when(F.col("left.seq") > F.coalesce("last_sent", F.lit(-1)), F.col("left"))
    bounded = by_name(spells.withColumns({"began": began, "left": left}).filter("began is not null"), groups)
    least = F.coalesce(F.col("bounds")[F.col("client")], F.lit(SERVICE_BOUND_US))
    usual = F.least(USUAL_TIMES * F.coalesce("head.latency_us", F.lit(0)), F.lit(SLOW_US))
    spans = bounded.join(F.broadcast(sessions), on="session_id", how="inner").select(
        *ASKED,
        F.col("began.at_us").alias("began_us"),
        F.col("began.seq").alias("began_seq"),
        F.coalesce("left.at_us", "next.at_us", F.greatest("end_us", "began.at_us")).alias("ended_us"),
        F.coalesce("left.seq", "next.seq", F.greatest("end_seq", "began.seq") + 1).alias("ended_seq"),
        (F.col("left").isNull() & F.col("next").isNull()).alias("open"),
        F.coalesce("refusal.error", F.lit("")).alias("began_by"),
        F.when(F.col("left").isNotNull(), F.lit("records failed or expired"))
        .otherwise(F.coalesce("next.label", F.lit("")))
        .alias("ended_by"),
        F.greatest(least, usual).alias("bound_us"),
    )
    return spans.filter(F.col("ended_us") - F.col("began_us") > F.col("bound_us"))


def _service_turns(answers: "DataFrame", rare: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """Return the events that change a client's availability at a partition: of its records, and of its process."""
    kind = F.col("kind")
    aborted = kind == "records_aborted"
    what = (
        F.when(kind == "records_sent", _SENT)
        .when((kind == "records_acked") | (aborted & (F.col("log_offset") >= 0)), _SERVED)
        .when(kind == "produce_refused", _REFUSED)
        .otherwise(_LEFT)
    )
    count = F.col("count")
    change = F.when(kind == "records_sent", count).when(kind == "produce_refused", 0).otherwise(-count)
    label = F.when(kind == "records_acked", F.lit("records acknowledged")).otherwise(F.lit("transaction aborted"))
    answered = answers.filter(kind.isin(*ANSWERS)).select(
        *ASKED, "at_us", "seq", what.alias("what"), change.alias("change"), label.alias("label"), "error", "latency_us"
    )
    runs = kind.isin("node_up", "node_resumed")
    processes = rare.filter(kind.isin("node_down", "node_paused", "node_up", "node_resumed") & (F.col("broker") < 0))
    turns = processes.select(
        "session_id",
        F.col("node").alias("client"),
        "at_us",
        "seq",
        F.when(runs, _WENT_ON).otherwise(_STOPPED).alias("what"),
        F.lit(0).cast("long").alias("change"),
        F.when(runs, F.lit("client resumed")).otherwise(F.lit("client stopped")).alias("label"),
        F.lit(None).cast("string").alias("error"),
        F.lit(None).cast("long").alias("latency_us"),
    )
    requests = answered.select(*ASKED).distinct() if groups is None else groups.select(*ASKED)
    return answered.unionByName(requests.join(F.broadcast(turns), on=["session_id", "client"], how="inner"))


# Health of a partition over a session: availability, too few in-sync replicas, and sums.


CONDITIONS: Final = ("under_replicated", "at_min_isr", "under_min_isr", "offline")

_AGAINST_MIN_ISR: Final = ("at_min_isr_us", "under_min_isr_us")
_MINUTE_US: Final = 60_000_000
_WHOM: Final = ("session_id", "scope", "partition", "client", "acks")


def isr_conditions(states: "DataFrame") -> "DataFrame":
    """Return intervals in which a partition was in one of :data:`CONDITIONS`, by the controller's state.

    Several conditions may hold at once. A partition is at min ISR only if that is less than all replicas. Partitions
    with an unknown assignment have no rows.
    """
    size, replicas = F.col("isr_size"), F.col("replication")
    led = F.col("leader") >= 0
    conditions_by_name = {
        "under_replicated": led & (size < replicas),
        "at_min_isr": led & (size == F.col("min_isr")) & (size < replicas),
        "under_min_isr": led & (size < F.col("min_isr")),
        "offline": ~led,
    }
    conditions = F.array_compact(F.array(*(F.when(conditions_by_name[name], F.lit(name)) for name in CONDITIONS)))
    spans = (
        states.filter(replicas.isNotNull())
        .withColumn("condition", F.explode(conditions))
        .select("session_id", "partition", "condition", *SPAN)
    )
    return merged(spans, ["partition", "condition"]).withColumn("duration_us", F.col("ended_us") - F.col("began_us"))


def availability(
    unavailability: "DataFrame", events: "DataFrame", answers: "DataFrame", sessions: "DataFrame"
) -> "DataFrame":
    """Return the availability of each partition, and of each partition for a client with an acks level.

    Time counts from a partition's first leader to its deletion, and from a client's first response. ``answers`` must
    have the event kinds :data:`ANSWERS`.
    """
    no_client, none = F.lit("").alias("client"), F.lit(None).cast("long").alias("acks")
    ends = F.broadcast(sessions.select("session_id", "end_us"))
    clients = answers.groupBy("session_id", "partition", "client", "acks").agg(F.min("at_us").alias("first_us"))
    lasted = F.greatest(F.lit(0), F.col("end_us") - F.col("first_us")).alias("observed_us")
    measured = (
        _led(events, ends)
        .select("session_id", F.lit("partition").alias("scope"), "partition", no_client, none, "observed_us")
        .unionByName(
            clients.join(ends, on="session_id", how="inner").select(
                "session_id", F.lit("client").alias("scope"), "partition", "client", "acks", lasted
            )
        )
    )
    out = unavailability.select(*_WHOM, "duration_us", "open")
    stacked = measured.unionByName(out, allowMissingColumns=True)
    totals = stacked.groupBy(*_WHOM).agg(
        F.count("duration_us").alias("intervals"),
        F.coalesce(F.sum("duration_us"), F.lit(0)).alias("unavailable_us"),
        F.coalesce(F.max("duration_us"), F.lit(0)).alias("longest_unavailable_us"),
        F.coalesce(F.max("observed_us"), F.lit(0)).alias("observed_us"),
        F.coalesce(F.max("open"), F.lit(False)).alias("open"),
    )
    share = 1 - F.least(F.lit(1.0), F.col("unavailable_us") / F.col("observed_us"))
    return totals.withColumn("availability", F.when(F.col("observed_us") > 0, share))


def _led(events: "DataFrame", ends: "DataFrame") -> "DataFrame":
    """Return the time that partitions existed with a leader; for a recreated partition the sum."""
    led, deleted = F.col("kind") == "became_leader", F.col("kind") == "partition_deleted"
    # A deletion event is counted as part of the next life, but ends the previous one.
    lives = with_life(events.filter(led | deleted), events).withColumn("life", F.col("life") - deleted.cast("int"))
    return (
        lives.groupBy("session_id", "partition", "life")
        .agg(
            F.min(F.when(led, F.col("at_us"))).alias("first_us"),
            F.max(F.when(deleted, F.col("at_us"))).alias("gone_us"),
        )
        .filter(F.col("first_us").isNotNull())
        .join(ends, on="session_id", how="inner")
        .withColumn("_lasted", F.coalesce("gone_us", F.greatest("end_us", "first_us")) - F.col("first_us"))
        .groupBy("session_id", "partition")
        .agg(F.sum("_lasted").alias("observed_us"))
    )


def partitions(
    events: "DataFrame",
    assignments: "DataFrame",
    sessions: "DataFrame",
    conditions: "DataFrame",
    stalls: "DataFrame",
) -> "DataFrame":
    """Return a row per partition with a known assignment: sums of replication, ISR changes, elections and stalls."""
    keys = ["session_id", "partition"]
    decided = events.filter(F.col("kind").isin("leader_elected", "partition_offline", "isr_changed"))
    counted = decided.select(
        *keys,
        F.when(F.col("kind") != "isr_changed", F.col("leader_epoch")).alias("epoch"),
        election_kind().alias("election"),
        isr_change().alias("change"),
    )
    placed = assignments.select(*keys, F.size("replicas").cast("long").alias("replication"), "min_isr")
    trouble = conditions.select(*keys, "condition", "duration_us")
    stood = stalls.select(*keys, F.col("duration_us").alias("stall_us"))
    stacked = placed
    for part in (counted, trouble, stood):
        stacked = stacked.unionByName(part, allowMissingColumns=True)
    lasting = [
        _sum(F.when(F.col("condition") == name, F.col("duration_us"))).alias(f"{name}_us") for name in CONDITIONS
    ]
    voted = [_how_many(F.col("election") == how).alias(f"elections_{how}") for how in ("clean", "unclean", "offline")]
    changes = F.col("isr_shrinks") + F.col("isr_expands")
    return (
        stacked.groupBy(*keys)
        .agg(
            F.max("replication").alias("replication"),
            F.max("min_isr").alias("min_isr"),
            *lasting,
            _how_many(F.col("change").isin("shrink", "swap")).alias("isr_shrinks"),
            _how_many(F.col("change").isin("expand", "swap")).alias("isr_expands"),
            *voted,
            F.coalesce(F.max("epoch"), F.lit(0)).alias("last_epoch"),
            F.count_distinct("epoch").alias("_begun"),
            _how_many(F.col("epoch") == 0).alias("_zero"),
            F.count("stall_us").alias("hw_stalls"),
            _sum("stall_us").alias("hw_stalled_us"),
            F.coalesce(F.max("stall_us"), F.lit(0)).alias("longest_hw_stall_us"),
        )
        .filter(F.col("replication").isNotNull())
        .join(F.broadcast(sessions.select("session_id", "end_us")), on="session_id", how="inner")
        # A partition starts in epoch 0, even if no event has it.
        .withColumn("epochs", F.col("_begun") + F.when(F.col("_zero") == 0, 1).otherwise(0))
        .withColumn("isr_changes_per_minute", F.when(F.col("end_us") > 0, changes * _MINUTE_US / F.col("end_us")))
        .withColumns({name: F.when(F.col("min_isr").isNotNull(), F.col(name)) for name in _AGAINST_MIN_ISR})
        .drop("_begun", "_zero", "end_us")
    )


def _sum(what: "Column | str") -> "Column":
    return F.coalesce(F.sum(what), F.lit(0))


def _how_many(condition: "Column") -> "Column":
    return F.count(F.when(condition, F.lit(1)))
