"""DataFrames of the events and replica assignments of sessions, with the schema of the record format."""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program gives it
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from cluster_model.protocol.events import COLUMNS
from playbooks.session_format import format_1, session_files
from spark_report.input.sessions import (
    ARROW_TYPES,
    FINAL_READ,
    LEDGER,
    LEDGER_TERMS,
    SessionInput,
    recorded_columns,
)
from spark_report.spark.hadoop_fs import escaped_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_TYPES: Final[dict[str, T.DataType]] = {
    "int": T.LongType(),
    "str": T.StringType(),
    "bool": T.BooleanType(),
    "ints": T.ArrayType(T.LongType()),
}

COLUMNS_OF_EVENTS: Final = {"seq": "int", **COLUMNS}
"""Columns of ``events.parquet`` → type."""

EVENTS: Final = T.StructType([T.StructField(name, _TYPES[kind]) for name, kind in COLUMNS_OF_EVENTS.items()])
"""Schema of a recorded event; a column that an old file lacks is read as nulls."""

SESSION_EVENTS: Final = T.StructType([T.StructField("session_id", T.StringType()), *EVENTS.fields])
"""Schema of an event with its session id, the input of every query."""

SESSIONS: Final = pa.schema(
    [
        ("session_id", pa.string()),
        ("end_us", pa.int64()),
        ("end_seq", pa.int64()),
        ("bin_us", pa.int64()),
        ("controller", pa.string()),
        ("bounds", pa.map_(pa.string(), pa.int64())),
    ]
)
"""Schema of sessions: the end, at which open intervals end, the bin width of time series, the first controller, and
the service bounds of producers."""

ASSIGNMENTS: Final = pa.schema(
    [
        ("session_id", pa.string()),
        ("partition", pa.string()),
        ("replicas", pa.list_(pa.int64())),
        ("min_isr", pa.int64()),
        ("default_min_isr", pa.int64()),
        ("most_min_isr", pa.int64()),
    ]
)
"""Schema of replica assignments; the first replica is the preferred leader.

``default_min_isr`` is the default of ``min.insync.replicas``, ``most_min_isr`` the cap of its effective value; null if
not known, or if there is no cap.
"""

RESULTS: Final = pa.schema([("session_id", pa.string()), *((term, pa.int64()) for term in LEDGER_TERMS)])
"""Schema of the ledgers in sessions' own results."""


def frame_of(spark: "SparkSession", table: pa.Table) -> "DataFrame":
    """Convert an Arrow table to a frame; Spark then plans with its actual size."""
    # Over Spark Connect an empty table needs an explicit schema.
    if table.num_rows:
        return spark.createDataFrame(table)
    return spark.createDataFrame(table, schema=from_arrow_schema(table.schema))


def read_events(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """Return all events of all sessions, without broken lines of a torn log; gaps show in the sequence numbers."""
    sealed = [session for session in sessions if session.source == "parquet"]
    parts = [
        _with_current_kinds(_sealed(spark, group, COLUMNS_OF_EVENTS, format_1.EVENT_FIELDS, "events_file"), group[0])
        for group in _groups(sealed)
    ]
    parts += [_torn(spark, session) for session in sessions if session.source == "jsonl"]
    events = reduce(lambda one, other: one.unionByName(other), parts)
    return events.select(*SESSION_EVENTS.names)


def read_final_reads(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """Return the final reads of all sessions that have one."""
    read = [session for session in sessions if session.final_read]
    return _side_table(spark, read, "final_read", FINAL_READ, format_1.FINAL_READ_COLUMNS)


def read_ledgers(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """Return the record ledgers of all sessions that have one."""
    with_ledger = [session for session in sessions if session.ledger]
    return _side_table(spark, with_ledger, "ledger", LEDGER, format_1.LEDGER_COLUMNS)


def _side_table(
    spark: "SparkSession",
    sessions: Sequence[SessionInput],
    file: str,
    columns: Mapping[str, str],
    renamed: Mapping[str, str],
) -> "DataFrame":
    """Return a table beside the events.

    ``file`` is the attribute of its path in :class:`SessionInput`; ``renamed`` has its names of format 1.
    """
    if not sessions:
        types = {"session_id": pa.string(), **{name: ARROW_TYPES[kind] for name, kind in columns.items()}}
        return frame_of(spark, pa.schema(list(types.items())).empty_table())
    parts = [_sealed(spark, group, columns, renamed, file) for group in _groups(sessions)]
    whole = reduce(lambda one, other: one.unionByName(other), parts)
    return whole.select("session_id", *columns)


def _groups(sessions: Sequence[SessionInput]) -> list[list[SessionInput]]:
    """Group sessions that one scan can read: same format and parent, each in a directory named by its id."""
    groups: dict[str, list[SessionInput]] = {}
    for session in sessions:
        by_name = session.path.name == f"{session_files.DIRECTORY_PREFIX}{session.session_id}"
        plain = re.fullmatch(r"[A-Za-z0-9._-]+", session.session_id)
        key = session.path.resolve().parent if by_name and plain else session.path.resolve()
        groups.setdefault(f"{_is_earlier(session)} {key}", []).append(session)
    return list(groups.values())


def _is_earlier(session: SessionInput) -> bool:
    return session.start.format == format_1.FORMAT


def _as_recorded(
    columns: Mapping[str, str], renamed: Mapping[str, str], session: SessionInput
) -> tuple[T.StructType, dict[str, str]]:
    """Return the schema of a file as its session recorded it, and recorded name → current name."""
    recorded = recorded_columns(columns, renamed, _is_earlier(session))
    schema = T.StructType([T.StructField(name, _TYPES[kind]) for name, kind in recorded.items()])
    return schema, dict(zip(recorded, columns, strict=True))


def _sealed(
    spark: "SparkSession",
    group: Sequence[SessionInput],
    columns: Mapping[str, str],
    renamed: Mapping[str, str],
    file: str,
) -> "DataFrame":
    """Return a file of sealed sessions of one format, with the current names of its columns.

    ``file`` is the attribute of its path in :class:`SessionInput`; ``renamed`` has the names of format 1.
    """
    paths = [escaped_path(getattr(session, file)) for session in group]
    schema, names = _as_recorded(columns, renamed, group[0])
    if len(group) == 1:
        read = spark.read.schema(schema).parquet(*paths).withColumn("session_id", F.lit(group[0].session_id))
        return read.withColumnsRenamed(names)
    sealed_schema = T.StructType([*schema.fields, T.StructField("session_id", T.StringType())])
    parent = group[0].path.resolve().parent
    base = f"file:{parent}" if isinstance(parent, Path) else str(parent)
    return spark.read.schema(sealed_schema).option("basePath", base).parquet(*paths).withColumnsRenamed(names)


def _torn(spark: "SparkSession", session: SessionInput) -> "DataFrame":
    schema, names = _as_recorded(COLUMNS_OF_EVENTS, format_1.EVENT_FIELDS, session)
    lines = spark.read.schema(schema).option("mode", "PERMISSIVE").json(escaped_path(session.events_file))
    whole = F.col("seq").isNotNull() & F.col("at_us").isNotNull() & (F.col("seq") <= session.last_seq)
    named = lines.filter(whole).withColumnsRenamed(names)
    return _with_current_kinds(named.withColumn("session_id", F.lit(session.session_id)), session)


def _with_current_kinds(events: "DataFrame", session: SessionInput) -> "DataFrame":
    """Return events with the current names of their kinds; ``session`` is any of their sessions."""
    if not _is_earlier(session):
        return events
    kinds: dict[Any, Any] = dict(format_1.EVENT_KINDS)
    return events.replace(kinds, subset=["kind"])


# Replica assignments of partitions: at the start, and of topics created later.
#
# ``start.json`` has the initial topics. Topics and partitions that are created later have events; so do internal topics
# in old recordings whose ``start.json`` does not have them.


class ReplicaAssignmentTables(NamedTuple):
    """Replica assignments of sessions, as tables of :data:`ASSIGNMENTS`."""

    begun: pa.Table
    """The initial partitions of sessions."""
    all: pa.Table
    """These, and partitions created later. ``min_isr`` is null if it is not recorded."""


def replica_assignments(rare: "DataFrame", sessions: Sequence[SessionInput]) -> ReplicaAssignmentTables:
    """Return the replica assignments of every partition; ``rare`` has all events except traffic."""
    begun = assignments(sessions)
    started = {(row["session_id"], row["partition"]) for row in begun}
    created = []
    starts = {session.session_id: session.start for session in sessions}
    for row in _shown(rare).toArrow().to_pylist():
        key = {"session_id": row["session_id"], "partition": row["partition"], "min_isr": None}
        if (row["session_id"], row["partition"]) in started:
            continue
        if row["replicas"] is not None:
            defaults = [topic.default_min_isr for topic in starts[row["session_id"]].topics]
            most = len(row["replicas"]) if _is_capped(starts[row["session_id"]].profile) else None
            minimum = {"min_isr": row["min_isr"], "default_min_isr": next(iter(defaults), None), "most_min_isr": most}
            created.append({**key, "replicas": row["replicas"], **minimum})
        elif row["leader"] is not None:
            begun.append({**key, "replicas": [row["leader"], *sorted({*row["followers"]} - {row["leader"]})]})
    both = (begun, [*begun, *created])
    return ReplicaAssignmentTables(*(pa.Table.from_pylist(rows, schema=ASSIGNMENTS) for rows in both))


def assignments(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    """Return the initial assignments in the sessions' ``start.json``."""
    return [
        {
            "session_id": session.session_id,
            "partition": name,
            "replicas": replicas,
            "min_isr": topic.min_isr,
            "default_min_isr": topic.default_min_isr,
            "most_min_isr": len(replicas) if _is_capped(session.start.profile) else None,
        }
        for session in sessions
        for topic in session.start.topics
        for name, replicas in topic.assignment.items()
        if replicas
    ]


def _is_capped(profile: str) -> bool:
    """Return whether the effective min.insync.replicas is capped at the replication factor, since 3.7 (KIP-966)."""
    found = re.match(r"(\d+)\.(\d+)", profile)
    return found is not None and (int(found[1]), int(found[2])) >= (3, 7)


def created_min_isr() -> "Column":
    """Return a partition's ``min.insync.replicas`` from its creation event; null in old recordings."""
    found = F.regexp_extract("detail", r"min\.insync\.replicas=(\d+)", 1)
    return F.when(found != "", found.cast("long"))


def _shown(rare: "DataFrame") -> "DataFrame":
    """Return a row for each partition created by the controller, or known from the first leaders, with its replicas."""
    kind = F.col("kind")
    made = kind == "partition_created"
    first = kind.isin("became_leader", "became_follower") & (F.col("at_us") == 0) & (F.col("leader_epoch") == 0)
    return (
        rare.filter(made | first)
        .groupBy("session_id", "partition")
        .agg(
            # Every replica is in the ISR of a new partition.
            F.min(F.when(made, F.struct("seq", "isr")))["isr"].alias("replicas"),
            F.min(F.when(made, F.struct("seq", created_min_isr().alias("min_isr"))))["min_isr"].alias("min_isr"),
            F.min(F.when(kind == "became_leader", F.col("broker"))).alias("leader"),
            F.collect_set(F.when(kind == "became_follower", F.col("broker"))).alias("followers"),
        )
    )
