"""One Spark for the whole run, and frames from rows written by hand."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cluster_model.events import COLUMNS
from spark_report import schemas, session
from spark_report.recorded import ARROW_TYPES
from tests.support.sessions import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE = "one"
"""The session that hand-written rows belong to unless they say otherwise."""

MakeFrame = Callable[..., "DataFrame"]


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    with session.start("local[1]") as started:
        started.spark.conf.set("spark.sql.shuffle.partitions", "1")
        yield started.spark


@pytest.fixture
def events(spark: "SparkSession") -> MakeFrame:
    """Rows as the frame that transforms take; seq is the place in the list where a row has none."""
    kinds = {"session_id": "str", "seq": "int", **COLUMNS}
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])

    def make(rows: Iterable[Row]) -> "DataFrame":
        filled = [{"session_id": ONE, "seq": place, **row} for place, row in enumerate(rows)]
        return spark.createDataFrame(pa.Table.from_pylist(filled, schema=schema))

    return make


@pytest.fixture
def ends(spark: "SparkSession") -> MakeFrame:
    """Where sessions end: ``id -> (end_us, end_seq)``."""

    def make(**sessions: tuple[int, int]) -> "DataFrame":
        rows = [
            {"session_id": name, "end_us": end_us, "end_seq": end_seq, "bin_us": 1_000}
            for name, (end_us, end_seq) in sessions.items()
        ]
        return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schemas.SESSIONS))

    return make


def told(frame: "DataFrame", *columns: str) -> list[tuple[Any, ...]]:
    """A frame's rows with these columns, sorted."""
    return sorted(tuple(row) for row in frame.select(*columns).collect())
