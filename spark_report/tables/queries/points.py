"""What happened at one instant: rows picked from the events in one pass, each marked with the table it goes into."""

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHEN: Final = ("session_id", "at_us", "seq")


class PointTable(NamedTuple):
    """A table of instants: the kinds of events it takes, and its columns after :data:`WHEN`."""

    kinds: tuple[str, ...]
    columns: tuple[str, ...]


TABLES: Final[dict[str, PointTable]] = {
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
    # ``known`` is empty for what must not happen under the version; else it says which one mended it.
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
    finding = F.coalesce(*(F.when(F.col("kind").isin(*TABLES[name].kinds), F.lit(name)) for name in TABLES))
    plain = dict.fromkeys(column for table in TABLES.values() for column in table.columns if column not in _DERIVED)
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
