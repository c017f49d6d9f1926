"""The events and replica assignments of sessions as DataFrames, with the schema of the record format."""

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
from playbooks.session_format import session_files
from spark_report.input.sessions import ARROW_TYPES, FINAL_READ, LEDGER, LEDGER_TERMS, SessionInput
from spark_report.spark.hadoop_fs import spelled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_TYPES: Final[dict[str, T.DataType]] = {
    "int": T.LongType(),
    "str": T.StringType(),
    "bool": T.BooleanType(),
    "ints": T.ArrayType(T.LongType()),
}

EVENTS: Final = T.StructType(
    [
        T.StructField("seq", T.LongType()),
        *(T.StructField(name, _TYPES[kind]) for name, kind in COLUMNS.items()),
    ]
)
"""One recorded event, as every reader passes it: an old file without a new column reads as nulls there."""

SESSION_EVENTS: Final = T.StructType([T.StructField("session_id", T.StringType()), *EVENTS.fields])
"""An event and whose it is: what every transform takes."""

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
"""A session's end, where open intervals are cut off, the width of its bins in time series, its first controller, and
the service bounds of its producers."""

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
"""Where a session's replicas were placed; the first is the preferred leader.

``default_min_isr`` is the minimum of a topic that sets none itself, ``most_min_isr`` what any setting counts as at
most; null where that is not known, or not so.
"""

RESULTS: Final = pa.schema([("session_id", pa.string()), *((term, pa.int64()) for term in LEDGER_TERMS)])
"""The ledger a session's own result gives."""


def frame_of(spark: "SparkSession", table: pa.Table) -> "DataFrame":
    """Rows at hand as a frame, by Arrow: Spark then plans with its size instead of guessing."""
    # Over Spark Connect the columns of an empty table have to be told beside it.
    if table.num_rows:
        return spark.createDataFrame(table)
    return spark.createDataFrame(table, schema=from_arrow_schema(table.schema))


def read_events(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """All events of all sessions. Broken lines of a torn log are left out; its holes show in the sequence numbers."""
    sealed = [session for session in sessions if session.source == "parquet"]
    parts = [_sealed(spark, group, EVENTS, "events_file") for group in _groups(sealed)]
    parts += [_torn(spark, session) for session in sessions if session.source == "jsonl"]
    events = reduce(lambda one, other: one.unionByName(other), parts)
    return events.select(*SESSION_EVENTS.names)


def read_final_reads(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """What the reads at the end of all sessions were served; nothing of a session without one."""
    return _beside(spark, [session for session in sessions if session.final_read], "final_read", FINAL_READ)


def read_ledgers(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """What became of the records of all sessions; nothing of a session that has no such table."""
    return _beside(spark, [session for session in sessions if session.ledger], "ledger", LEDGER)


def _beside(
    spark: "SparkSession", sessions: Sequence[SessionInput], file: str, columns: Mapping[str, str]
) -> "DataFrame":
    """A table beside the events; ``file`` names its path in :class:`SessionInput`."""
    if not sessions:
        types = {"session_id": pa.string(), **{name: ARROW_TYPES[kind] for name, kind in columns.items()}}
        return frame_of(spark, pa.schema(list(types.items())).empty_table())
    schema = T.StructType([T.StructField(name, _TYPES[kind]) for name, kind in columns.items()])
    parts = [_sealed(spark, group, schema, file) for group in _groups(sessions)]
    whole = reduce(lambda one, other: one.unionByName(other), parts)
    return whole.select("session_id", *columns)


def _groups(sessions: Sequence[SessionInput]) -> list[list[SessionInput]]:
    """Sessions that one scan can read: those in one parent, each in a directory that bears its id."""
    groups: dict[str, list[SessionInput]] = {}
    for session in sessions:
        by_name = session.path.name == f"{session_files.DIRECTORY_PREFIX}{session.session_id}"
        plain = re.fullmatch(r"[A-Za-z0-9._-]+", session.session_id)
        key = session.path.resolve().parent if by_name and plain else session.path.resolve()
        groups.setdefault(str(key), []).append(session)
    return list(groups.values())


def _sealed(spark: "SparkSession", group: Sequence[SessionInput], schema: T.StructType, file: str) -> "DataFrame":
    """One of the files of sealed sessions; ``file`` names its path in :class:`SessionInput`."""
    paths = [spelled(getattr(session, file)) for session in group]
    if len(group) == 1:
        return spark.read.schema(schema).parquet(*paths).withColumn("session_id", F.lit(group[0].session_id))
    whole = T.StructType([*schema.fields, T.StructField("session_id", T.StringType())])
    parent = group[0].path.resolve().parent
    base = f"file:{parent}" if isinstance(parent, Path) else str(parent)
    return spark.read.schema(whole).option("basePath", base).parquet(*paths)


def _torn(spark: "SparkSession", session: SessionInput) -> "DataFrame":
    lines = spark.read.schema(EVENTS).option("mode", "PERMISSIVE").json(spelled(session.events_file))
    whole = F.col("seq").isNotNull() & F.col("at_us").isNotNull() & (F.col("seq") <= session.last_seq)
    return lines.filter(whole).withColumn("session_id", F.lit(session.session_id))


# Placements of partitions: at the start, and as topics are made later.
#
# A session's start names the topics that there are. Those that somebody creates later, and partitions that are added,
# are known by events; so are Kafka's own topics in recordings whose start does not name them.


class Placed(NamedTuple):
    """Tables of :data:`ASSIGNMENTS`."""

    begun: pa.Table
    """The partitions that a session begins with."""
    all: pa.Table
    """These, and those that were made later. ``min.insync.replicas`` is null where no recording says it."""


def placed(rare: "DataFrame", sessions: Sequence[SessionInput]) -> Placed:
    """Every partition's replicas; ``rare`` has all events that are not traffic."""
    begun = assignments(sessions)
    known = {(row["session_id"], row["partition"]) for row in begun}
    created = []
    starts = {session.session_id: session.start for session in sessions}
    for row in _shown(rare).toArrow().to_pylist():
        key = {"session_id": row["session_id"], "partition": row["partition"], "min_isr": None}
        if (row["session_id"], row["partition"]) in known:
            continue
        if row["replicas"] is not None:
            defaults = [topic.default_min_isr for topic in starts[row["session_id"]].topics]
            most = len(row["replicas"]) if _is_capped(starts[row["session_id"]].profile) else None
            minimum = {"min_isr": row["min_isr"], "default_min_isr": next(iter(defaults), None), "most_min_isr": most}
            created.append({**key, "replicas": row["replicas"], **minimum})
        elif row["leader"] is not None:
            begun.append({**key, "replicas": [row["leader"], *sorted({*row["followers"]} - {row["leader"]})]})
    both = (begun, [*begun, *created])
    return Placed(*(pa.Table.from_pylist(rows, schema=ASSIGNMENTS) for rows in both))


def assignments(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    """What the sessions' starts say."""
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
    """Whether min.insync.replicas counts as at most the replicas that there are, as since 3.7 (KIP-966)."""
    found = re.match(r"(\d+)\.(\d+)", profile)
    return found is not None and (int(found[1]), int(found[2])) >= (3, 7)


def created_min_isr() -> "Column":
    """``min.insync.replicas`` of a partition as it is made, by the event of that; null in old recordings."""
    found = F.regexp_extract("detail", r"min\.insync\.replicas=(\d+)", 1)
    return F.when(found != "", found.cast("long"))


def _shown(rare: "DataFrame") -> "DataFrame":
    """A row a partition that was made by the controller, with its replicas, or taken up as the session began."""
    kind = F.col("kind")
    made = kind == "partition_created"
    first = kind.isin("became_leader", "became_follower") & (F.col("at_us") == 0) & (F.col("leader_epoch") == 0)
    return (
        rare.filter(made | first)
        .groupBy("session_id", "partition")
        .agg(
            # In sync as it is made is every replica.
            F.min(F.when(made, F.struct("seq", "isr")))["isr"].alias("replicas"),
            F.min(F.when(made, F.struct("seq", created_min_isr().alias("min_isr"))))["min_isr"].alias("min_isr"),
            F.min(F.when(kind == "became_leader", F.col("broker"))).alias("leader"),
            F.collect_set(F.when(kind == "became_follower", F.col("broker"))).alias("followers"),
        )
    )
