"""States over time: leaders, ISRs and active faults as intervals, and rows at one point in time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.input import frames

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# Groups by number instead of by name, where very many rows are sorted by group.
#
# A name is compared letter by letter at each step of a sort, and carried along in each row: without names, sorting
# and windows over ten million events take half the time.


NUMBER: Final = "group_number"


def numbered(rows: "DataFrame", names: Sequence[str]) -> "DataFrame":
    """Each group of these ``names`` that there are rows of, with its number; no more groups than one task can sort."""
    order = Window.orderBy(*names)
    return rows.select(*names).distinct().withColumn(NUMBER, F.row_number().over(order))


def keys_of(names: Sequence[str], groups: "DataFrame | None") -> Sequence[str]:
    """What a group goes by: its number, or its names where groups have none."""
    return names if groups is None else (NUMBER,)


def by_number(rows: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """Rows with the number of their group in place of its names; as they are without ``groups``, that must have all."""
    if groups is None:
        return rows
    names = [name for name in groups.columns if name != NUMBER]
    row, group = rows.alias("row"), F.broadcast(groups).alias("group")
    same = [F.col(f"row.{name}").eqNullSafe(F.col(f"group.{name}")) for name in names]
    kept = [f"row.{name}" for name in rows.columns if name not in names]
    return row.join(group, on=same, how="inner").select(NUMBER, *kept)


def by_name(rows: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """The names again."""
    return rows if groups is None else rows.join(F.broadcast(groups), on=NUMBER, how="inner").drop(NUMBER)


# Turning points in time into intervals: the one place with window arithmetic.
#
# Order is always ``(at_us, seq)``: many things share a microsecond, and ``seq`` is the order in which they happened.
# An interval is ``[began, ended)`` in both. One that nothing ended is cut off at its session's end and marked
# ``open``.


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


_DECISIONS: Final = (
    *("leader_elected", "partition_offline", "isr_changed"),
    *("partition_created", "partition_deleted", "assignment_changed"),
)
_GONE: Final = -2
"""In place of the leader of a partition that was deleted."""


def partition_states(
    events: "DataFrame", assignments: "DataFrame", sessions: "DataFrame", placed: "DataFrame | None" = None
) -> "DataFrame":
    """Leader, epoch and ISR of a partition by the controller's committed state, as intervals; leader -1 is nobody.

    A partition begins as it was placed, with its first replica leading epoch 0 and all in sync, or when it is made, and
    ends when it is deleted. ``replication`` is how many replicas it is to have in sync: Kafka does not count those that
    a reassignment is only adding (KIP-455). ``min_isr`` is as the topic's settings were then; ``placed`` has the
    partitions of ``assignments`` and those that were made later.
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
    """What the controller decided; null ISR, replication or minimum is as it was."""
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
    """What topics were set to: the events have all settings of their own, and without one the cluster's counts."""
    own = F.regexp_extract("detail", r"(?:^|[ ,])min\.insync\.replicas=(\d+)", 1)
    settings = events.filter(F.col("kind") == "topic_config_changed").select(
        *("session_id", "at_us", "seq"),
        F.col("target").alias("topic"),
        F.when(own != "", own.cast("long")).alias("own"),
        F.translate("kind", "_", " ").alias("label"),
    )
    known = assignments.select(
        *("session_id", "partition", "most_min_isr"),
        F.regexp_replace("partition", r"-\d+$", "").alias("topic"),
        F.coalesce("default_min_isr", "min_isr").alias("otherwise"),
    )
    minimum = F.least(F.coalesce("own", "otherwise"), F.col("most_min_isr")).alias("min_isr")
    return settings.join(F.broadcast(known), on=["session_id", "topic"], how="inner").select(
        "session_id", "at_us", "seq", "partition", minimum, "label"
    )


def faults(events: "DataFrame", sessions: "DataFrame") -> "DataFrame":
    """Every fault with the time it was active; one that was never healed is open."""
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
    """The times at which at least one fault was active, as intervals that do not touch."""
    return merged(fault_spans, [])


# Rows at one point in time, picked from the events in one pass, each marked with its table.


WHEN: Final = ("session_id", "at_us", "seq")


class PointTable(NamedTuple):
    """A table of instants: the kinds of events it takes, and its columns after :data:`WHEN`."""

    kinds: tuple[str, ...]
    columns: tuple[str, ...]


POINT_TABLES: Final[dict[str, PointTable]] = {
    # The controller's decisions on leaders, those that found nobody among them.
    "elections": PointTable(
        ("leader_elected", "partition_offline"),
        ("partition", "election", "leader", "leader_epoch", "isr", "by"),
    ),
    "isr_changes": PointTable(
        ("isr_changed",), ("partition", "change", "leader", "leader_epoch", "isr", "previous_isr", "by")
    ),
    # ``fate`` is ``lost``, or ``missing``: gone at that moment, it may have come back.
    "losses": PointTable(
        ("records_lost", "records_missing"),
        (
            *("fate", "partition", "client", "sequence", "count"),
            *("log_offset", "leader_epoch", "acks", "committed", "cause"),
        ),
    ),
    # ``known`` is empty for what must not happen under the version; else it says which one fixed it.
    "overdue": PointTable(
        ("liveness_overdue",), ("property", "partition", "broker", "detail", "since_us", "bound_us", "known")
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
    # Who became the active controller, with its controller epoch; ``broker`` is -1 for a node that is none.
    "controllers": PointTable(("controller_changed",), ("node", "broker", "leader_epoch")),
    # ``error`` is Kafka's refusal, empty where there was none.
    "steps": PointTable(("step_taken",), ("by", "target", "detail", "error")),
    # ``rule`` is the guard; ``detail`` is ``refused``, ``healed`` or ``stopped``.
    "guards": PointTable(("guard_acted",), ("rule", "detail", "fault", "target", "cause")),
}

_DERIVED: Final = ("election", "leader", "change", "fate")


def points(events: "DataFrame") -> "DataFrame":
    """All instants worth a row. ``finding`` names the table; columns that are not that table's mean nothing."""
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
            F.when(F.col("kind") == "records_lost", F.lit("lost")).otherwise(F.lit("missing")).alias("fate"),
        )
    )


def election_kind() -> "Column":
    """``created``, ``clean``, ``unclean`` or ``offline`` (nobody could be elected); null for other events."""
    elected = F.col("kind") == "leader_elected"
    return (
        F.when(F.col("kind") == "partition_offline", F.lit("offline"))
        # Epoch 0 is the leader a partition is created with; nobody voted.
        .when(elected & (F.col("leader_epoch") == 0), F.lit("created"))
        .when(elected & F.col("clean"), F.lit("clean"))
        .when(elected, F.lit("unclean"))
    )


def isr_change() -> "Column":
    """``shrink``, ``expand`` or ``swap`` (both at once); null for other events and changes of order only."""
    left = F.size(F.array_except("previous_isr", "isr")) > 0
    joined = F.size(F.array_except("isr", "previous_isr")) > 0
    return F.when(
        F.col("kind") == "isr_changed",
        F.when(left & joined, F.lit("swap")).when(left, F.lit("shrink")).when(joined, F.lit("expand")),
    )
