"""Intervals of leaders, ISRs and active faults over time, and rows of events at one point in time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.input import frames

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# Group numbers instead of names, for sorting very many rows by group.
#
# A name is compared character by character in each step of a sort, and copied with each row: without names, sorts and
# windows over ten million events take half the time.


NUMBER: Final = "group_number"


def numbered(rows: "DataFrame", names: Sequence[str]) -> "DataFrame":
    """Return the distinct groups of ``names`` with a number each; one task must be able to sort them."""
    order = Window.orderBy(*names)
    return rows.select(*names).distinct().withColumn(NUMBER, F.row_number().over(order))


def keys_of(names: Sequence[str], groups: "DataFrame | None") -> Sequence[str]:
    """Return the columns that identify a group: its number, or its names if groups have no numbers."""
    return names if groups is None else (NUMBER,)


def by_number(rows: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """Replace the names of a group by its number; without ``groups`` rows are unchanged. ``groups`` must have all."""
    if groups is None:
        return rows
    names = [name for name in groups.columns if name != NUMBER]
    row, group = rows.alias("row"), F.broadcast(groups).alias("group")
    same = [F.col(f"row.{name}").eqNullSafe(F.col(f"group.{name}")) for name in names]
    kept = [f"row.{name}" for name in rows.columns if name not in names]
    return row.join(group, on=same, how="inner").select(NUMBER, *kept)


def by_name(rows: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """Replace the number of a group by its names."""
    return rows if groups is None else rows.join(F.broadcast(groups), on=NUMBER, how="inner").drop(NUMBER)


# Conversion of points in time to intervals, the only place with window arithmetic.
#
# The order is always ``(at_us, seq)``, because many events share a microsecond and ``seq`` is their order. Intervals
# are half-open, ``[began, ended)``, in both. An interval without an end ends with its session, and is ``open``.


SPAN: Final = ("began_us", "began_seq", "ended_us", "ended_seq", "open", "began_by", "ended_by")
"""Columns of every interval."""
_NEXT: Final = {"us": "at_us", "seq": "seq", "label": "label"}


def intervals(
    changes: "DataFrame",
    sessions: "DataFrame",
    keys: Sequence[str],
    state: Sequence[str],
    groups: "DataFrame | None" = None,
) -> "DataFrame":
    """Return intervals of constant ``state`` for each session and ``keys``.

    A row of ``changes`` has the state from ``(at_us, seq)`` on, and its reason ``label``. Rows that repeat the previous
    state start no interval. ``groups`` are numbers for session and keys, used for very many rows.
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
    """Return the intersections of intervals of ``one`` and ``other`` with equal ``on``.

    ``keep`` names the columns of ``one`` that the result has besides ``session_id`` and the span.
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
    """Merge intervals that touch or overlap, with ``began_by`` of the first and ``ended_by`` of the last one."""
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


_DECISIONS: Final = (
    *("leader_elected", "partition_offline", "isr_changed"),
    *("partition_created", "partition_deleted", "assignment_changed"),
)
_GONE: Final = -2
"""Leader value of a deleted partition."""


def partition_states(
    events: "DataFrame", assignments: "DataFrame", sessions: "DataFrame", placed: "DataFrame | None" = None
) -> "DataFrame":
    """Return leader, epoch and ISR of partitions in the controller's committed state, as intervals; -1 is no leader.

    A partition starts with its initial assignment, with the first replica as leader in epoch 0 and all in sync, or when
    it is created, and ends when it is deleted. ``replication`` is the number of replicas without those that a
    reassignment is adding (KIP-455). ``min_isr`` is the topic's setting at that time; ``placed`` has the partitions of
    ``assignments`` and those created later.
    """
    order = Window.partitionBy("session_id", "partition").orderBy("at_us", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    keys, state = ["partition"], ["leader", "leader_epoch", "isr", "replication", "min_isr"]
    turns = (
        _placed(assignments)
        .unionByName(_decided(events), allowMissingColumns=True)
        .unionByName(_configured(events, assignments if placed is None else placed), allowMissingColumns=True)
        .select(
            *("session_id", "at_us", "seq", "partition", "label"),
            *(F.last(name, ignorenulls=True).over(so_far).alias(name) for name in state),
        )
    )
    spans = intervals(turns, sessions, keys, state).filter(F.col("leader") != _GONE)
    size = F.size("isr").cast("long").alias("isr_size")
    return spans.select("session_id", *keys, *state[:-1], size, "min_isr", *SPAN)


def _placed(assignments: "DataFrame") -> "DataFrame":
    return assignments.select(
        "session_id",
        F.lit(0).cast("long").alias("at_us"),
        F.lit(-1).cast("long").alias("seq"),
        "partition",
        F.col("replicas")[0].alias("leader"),
        F.lit(0).cast("long").alias("leader_epoch"),
        F.col("replicas").alias("isr"),
        F.size("replicas").cast("long").alias("replication"),
        "min_isr",
        F.lit("placed").alias("label"),
    )


def _decided(events: "DataFrame") -> "DataFrame":
    """Return the controller's decisions; a null ISR, replication or minimum is unchanged."""
    kind = F.col("kind")
    moved = F.size(F.array_except("replicas", "adding"))
    named = F.size(F.split("detail", ","))
    replication = F.when(kind == "assignment_changed", moved).when(kind == "partition_created", named)
    leader = F.when(kind == "partition_deleted", _GONE).when(kind == "partition_offline", -1).otherwise(F.col("leader"))
    return events.filter(kind.isin(*_DECISIONS)).select(
        "session_id",
        "at_us",
        "seq",
        "partition",
        leader.cast("long").alias("leader"),
        "leader_epoch",
        "isr",
        replication.cast("long").alias("replication"),
        F.when(kind == "partition_created", frames.created_min_isr()).alias("min_isr"),
        F.translate("kind", "_", " ").alias("label"),
    )


def _configured(events: "DataFrame", assignments: "DataFrame") -> "DataFrame":
    """Return changes of topics' ``min.insync.replicas``; an event has all topic settings, else the default applies."""
    own = F.regexp_extract("detail", r"(?:^|[ ,])min\.insync\.replicas=(\d+)", 1)
    settings = events.filter(F.col("kind") == "topic_config_changed").select(
        *("session_id", "at_us", "seq"),
        F.col("target").alias("topic"),
        F.when(own != "", own.cast("long")).alias("own"),
        F.translate("kind", "_", " ").alias("label"),
    )
    factors = assignments.select(
        *("session_id", "partition", "most_min_isr"),
        F.regexp_replace("partition", r"-\d+$", "").alias("topic"),
        F.coalesce("default_min_isr", "min_isr").alias("otherwise"),
    )
    minimum = F.least(F.coalesce("own", "otherwise"), F.col("most_min_isr")).alias("min_isr")
    return settings.join(F.broadcast(factors), on=["session_id", "topic"], how="inner").select(
        "session_id", "at_us", "seq", "partition", minimum, "label"
    )


def faults(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Return every fault with its active interval, open if it was never healed."""
    injected = F.col("kind") == "fault_injected"
    healed = F.col("kind") == "fault_healed"
    pairs = (
        events.filter(injected | healed)
        .groupBy("session_id", "fault_id")
        .agg(
            F.min(F.when(injected, F.struct("seq", "at_us", "fault", "target", "detail"))).alias("begin"),
            F.min(F.when(healed, F.struct("seq", "at_us"))).alias("end"),
        )
        .filter(F.col("begin").isNotNull())
        .join(F.broadcast(sessions), on="session_id", how="inner")
    )
    return pairs.select(
        "session_id",
        "fault_id",
        "begin.fault",
        "begin.target",
        "begin.detail",
        F.col("begin.at_us").alias("began_us"),
        F.col("begin.seq").alias("began_seq"),
        F.coalesce("end.at_us", F.greatest("end_us", "begin.at_us")).alias("ended_us"),
        F.coalesce("end.seq", F.greatest("end_seq", "begin.seq") + 1).alias("ended_seq"),
        F.col("end").isNull().alias("open"),
        F.concat_ws(" ", "begin.fault", "begin.target").alias("began_by"),
        F.when(F.col("end").isNull(), F.lit("")).otherwise(F.lit("healed")).alias("ended_by"),
    )


def fault_windows(fault_spans: "DataFrame") -> "DataFrame":
    """Return the times with at least one active fault, as disjoint intervals."""
    return merged(fault_spans, [])


# Rows at one point in time, selected from the events in one pass, each with the name of its table.


WHEN: Final = ("session_id", "at_us", "seq")


class PointTable(NamedTuple):
    """A table of points in time: its kinds of events, and its columns after :data:`WHEN`."""

    kinds: tuple[str, ...]
    columns: tuple[str, ...]


POINT_TABLES: Final[dict[str, PointTable]] = {
    # Leader elections, also those without an eligible replica.
    "elections": PointTable(
        ("leader_elected", "partition_offline"),
        ("partition", "election", "leader", "leader_epoch", "isr", "by"),
    ),
    "isr_changes": PointTable(
        ("isr_changed",), ("partition", "change", "leader", "leader_epoch", "isr", "previous_isr", "by")
    ),
    # ``fate`` is ``lost``, or ``missing`` at that time: such records may have come back later.
    "losses": PointTable(
        ("records_lost", "records_missing"),
        (
            *("status", "partition", "client", "sequence", "count"),
            *("log_offset", "leader_epoch", "acks", "committed", "cause"),
        ),
    ),
    # ``known`` is empty for an unexpected violation; else it names the fix and its version.
    "liveness_violations": PointTable(
        ("liveness_violated",), ("property", "partition", "broker", "detail", "since_us", "bound_us", "known")
    ),
    "violations": PointTable(
        ("invariant_violated",),
        (
            *("invariant", "partition", "broker", "detail", "cause"),
            *("log_offset", "end_offset", "leader_epoch", "known"),
        ),
    ),
    "truncations": PointTable(
        ("truncated",), ("partition", "broker", "leader_epoch", "log_offset", "end_offset", "hw", "rule")
    ),
    "expectations": PointTable(("expectation_checked",), ("rule", "ok", "detail")),
    # The new active controller, with its controller epoch; ``broker`` is -1 for a node that is no broker.
    "controllers": PointTable(("controller_changed",), ("node", "broker", "leader_epoch")),
    # ``error`` is Kafka's error, empty for none.
    "steps": PointTable(("step_taken",), ("by", "target", "detail", "error")),
    # ``rule`` is the guard; ``detail`` is ``refused``, ``healed`` or ``stopped``.
    "guards": PointTable(("guard_acted",), ("rule", "detail", "fault", "target", "cause")),
}

_DERIVED: Final = ("election", "leader", "change", "status")


def points(events: "DataFrame") -> "DataFrame":
    """Return the rows of all tables in :data:`POINT_TABLES`, each with its table in ``finding``."""
    finding = F.coalesce(*(F.when(F.col("kind").isin(*POINT_TABLES[name].kinds), F.lit(name)) for name in POINT_TABLES))
    plain = dict.fromkeys(
        column for table in POINT_TABLES.values() for column in table.columns if column not in _DERIVED
    )
    return (
        events.withColumn("finding", finding)
        .filter(F.col("finding").isNotNull())
        .select(
            "finding",
            *WHEN,
            *plain,
            election_kind().alias("election"),
            F.coalesce("leader", F.lit(-1)).alias("leader"),
            isr_change().alias("change"),
            F.when(F.col("kind") == "records_lost", F.lit("lost")).otherwise(F.lit("missing")).alias("status"),
        )
    )


def election_kind() -> "Column":
    """Return ``created``, ``clean``, ``unclean`` or ``offline`` (no eligible replica); null for other events."""
    elected = F.col("kind") == "leader_elected"
    return (
        F.when(F.col("kind") == "partition_offline", F.lit("offline"))
        # In epoch 0 the leader is that of the partition's creation, not an elected one.
        .when(elected & (F.col("leader_epoch") == 0), F.lit("created"))
        .when(elected & F.col("clean"), F.lit("clean"))
        .when(elected, F.lit("unclean"))
    )


def isr_change() -> "Column":
    """Return ``shrink``, ``expand`` or ``swap`` (both at once); null for other events and mere reorderings."""
    left = F.size(F.array_except("previous_isr", "isr")) > 0
    joined = F.size(F.array_except("isr", "previous_isr")) > 0
    return F.when(
        F.col("kind") == "isr_changed",
        F.when(left & joined, F.lit("swap")).when(left, F.lit("shrink")).when(joined, F.lit("expand")),
    )
