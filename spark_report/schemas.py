"""The events of sessions as one DataFrame, with the schema the record format gives it: written out, never inferred."""

import re
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program gives it
from pyspark.sql import types as T  # noqa: N812

from cluster_model.events import COLUMNS
from playbooks import layout
from spark_report.recorded import LEDGER_TERMS, Recorded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    [("session_id", pa.string()), ("end_us", pa.int64()), ("end_seq", pa.int64()), ("bin_us", pa.int64())]
)
"""A session's end, where open intervals are cut off, and the width of its bins in time series."""

ASSIGNMENTS: Final = pa.schema(
    [
        ("session_id", pa.string()),
        ("partition", pa.string()),
        ("replicas", pa.list_(pa.int64())),
        ("min_isr", pa.int64()),
    ]
)
"""Where a session's replicas were placed; the first is the preferred leader."""

RESULTS: Final = pa.schema([("session_id", pa.string()), *((term, pa.int64()) for term in LEDGER_TERMS)])
"""The ledger a session's own result gives."""


def read_events(spark: "SparkSession", sessions: Sequence[Recorded]) -> "DataFrame":
    """All events of all sessions. Broken lines of a torn log are left out; its holes show in the sequence numbers."""
    parts = [_sealed(spark, group) for group in _groups(sessions)]
    parts += [_torn(spark, session) for session in sessions if session.source == "jsonl"]
    events = reduce(lambda one, other: one.unionByName(other), parts)
    return events.select(*SESSION_EVENTS.names)


def _groups(sessions: Sequence[Recorded]) -> list[list[Recorded]]:
    """Sealed sessions that one scan can read: those in one parent, each in a directory that bears its id."""
    groups: dict[str, list[Recorded]] = {}
    for session in sessions:
        if session.source == "parquet":
            by_name = session.path.name == f"{layout.DIRECTORY_PREFIX}{session.session_id}"
            plain = re.fullmatch(r"[A-Za-z0-9._-]+", session.session_id)
            key = session.path.resolve().parent if by_name and plain else session.path.resolve()
            groups.setdefault(str(key), []).append(session)
    return list(groups.values())


def _sealed(spark: "SparkSession", group: Sequence[Recorded]) -> "DataFrame":
    if len(group) == 1:
        events = spark.read.schema(EVENTS).parquet(_uri(group[0]))
        return events.withColumn("session_id", F.lit(group[0].session_id))
    schema = T.StructType([*EVENTS.fields, T.StructField("session_id", T.StringType())])
    base = f"file:{group[0].path.resolve().parent}"
    return spark.read.schema(schema).option("basePath", base).parquet(*(_uri(session) for session in group))


def _torn(spark: "SparkSession", session: Recorded) -> "DataFrame":
    lines = spark.read.schema(EVENTS).option("mode", "PERMISSIVE").json(_uri(session))
    whole = F.col("seq").isNotNull() & F.col("at_us").isNotNull() & (F.col("seq") <= session.last_seq)
    return lines.filter(whole).withColumn("session_id", F.lit(session.session_id))


def _uri(session: Recorded) -> str:
    """A path as Hadoop takes it, its glob characters meant literally."""
    return "file:" + re.sub(r"([\\\[\]{}*?,])", r"\\\1", str(session.events_file.resolve()))
