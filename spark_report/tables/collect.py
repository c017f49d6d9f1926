"""Collection of a report's tables from Spark: short plans, and results with the columns and types of the registry.

For a session with very many rows a table has only the first ones, so that the driver's memory does not grow with the
data.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from spark_report.input import frames
from spark_report.input.sessions import SessionInput
from spark_report.spark import master
from spark_report.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Plans for some thirty tables: short, and for little data without a second stage.
#
# Most of the time of a report over one session is spent in Catalyst: each step of a frame is analysed together with its
# whole plan. So shared inputs are materialised, and every table is a query of its own, because in a union all plans are
# traversed again with each addition.


LITTLE_EVENTS: Final = 100_000
"""Number of events below which one partition and one task are faster than a distribution."""

LANES: Final = 2

LEAST_TASKS: Final = 4
EVENTS_A_TASK: Final = 2_000_000

_WHOLE: Final = {
    "spark.sql.adaptive.enabled": "false",
    # A join of two single partitions is a merge in place; a broadcast would be a job of its own.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",
    "spark.sql.shuffle.partitions": "1",
    # Generating and compiling a class for each plan takes longer than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class FrameLayout:
    """Partitioning and caching of frames, depending on the number of events."""

    def __init__(self, spark: "SparkSession", sessions: Sequence[SessionInput]) -> None:
        self._spark = spark
        events = sum(session.last_seq + 1 for session in sessions)
        self.little = events < LITTLE_EVENTS
        self.tasks = max(LEAST_TASKS, events // EVENTS_A_TASK)
        """Number of tasks of a query over all traffic that keeps the rows of a task in memory."""
        self.lanes = LANES if self.little else 1
        """Number of concurrent queries; a single one over much data uses all cores."""
        self._local = master.is_local(spark.conf.get("spark.master"))
        self._kept: list[DataFrame] = []

    def laid_out(self, frame: "DataFrame") -> "DataFrame":
        """Return a frame, in one partition if there is little data."""
        return frame.coalesce(1) if self.little else frame

    def small(self, table: pa.Table) -> "DataFrame":
        """Convert an Arrow table to a frame."""
        return self.laid_out(frames.frame_of(self._spark, table))

    def at_hand(self, frame: "DataFrame") -> "DataFrame":
        """Compute a shared frame of a few rows once, on the driver."""
        return self.small(frame.toArrow())

    def kept(self, frame: "DataFrame") -> "DataFrame":
        """Compute a shared frame once, and keep it until :meth:`settings` ends."""
        # A local checkpoint drops the plan, and is lost with an executor; local Spark has none that could die.
        self._kept.append(frame.localCheckpoint() if self._local else frame.persist())
        return self._kept[-1]

    @contextlib.contextmanager
    def settings(self) -> Iterator[None]:
        """Apply the planner's settings for the duration of the block, and release kept frames at its end."""
        settings = _WHOLE if self.little else {}
        before = {name: str(self._spark.conf.get(name)) for name in settings}
        for name, value in settings.items():
            self._spark.conf.set(name, value)
        try:
            yield
        finally:
            # After Ctrl-C the JVM may not respond any more, and this must not hide the interrupt.
            with contextlib.suppress(Exception):
                for frame in () if self._local else self._kept:
                    frame.unpersist()
                for name, value in before.items():
                    self._spark.conf.set(name, value)


Tables = dict[str, Any]
"""Table name → ``pyarrow.Table``."""

MOST_ROWS: Final = 20_000
"""Most rows of a session in a table."""

_ORDER: Final = (
    *("session_id", "at_us", "began_us", "seq", "began_seq", "scope", "what", "anomaly", "alert", "partition"),
    *("group_id", "client", "acks", "condition", "phase", "bin_began_us", "term", "fault_id", "fault", "error"),
)
"""Sort columns of a table's rows, as far as the table has them."""


class Gatherer:
    """Runs queries and collects their tables; several threads may use it concurrently."""

    def __init__(self, plan: FrameLayout, most_rows: int = MOST_ROWS) -> None:
        self._plan = plan
        self._most_rows = most_rows
        self._tables: Tables = {}
        self._left_out: list[dict[str, Any]] = []

    def __call__(self, name: str, frame: "DataFrame") -> None:
        """Run the query of a table, and keep the result."""
        if self._plan.little:
            self._tables[name] = self._first(name, frame.toArrow())
        else:
            self.several([name], frame.withColumn("finding", F.lit(name)))

    def several(self, names: Sequence[str], frame: "DataFrame") -> None:
        """Run one query for several tables; its column ``finding`` has the table of a row."""
        table = (frame if self._plan.little else _bounded(frame, self._most_rows)).toArrow()
        for name in names:
            own = table.filter(pc.equal(table["finding"], name))
            if self._plan.little:
                self._tables[name] = self._first(name, own)
            else:
                self._tables[name] = _cut(own, name)
                self._count_left_out(own, name)

    def kept(self, name: str, frame: "DataFrame") -> "DataFrame":
        """Run the query of a table that others use, and return the computed frame."""
        if not self._plan.little:
            frame = self._plan.kept(frame)
        self(name, frame)
        if any(row["table"] == name for row in self._left_out):
            return frame
        return self._plan.small(self._tables[name]) if self._plan.little else frame

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a collected table."""
        return rows(self._tables[name])

    def leave_out(self, session_id: str, table: str, left_out: int | None = None) -> None:
        """Note that a table leaves out rows of a session; None: all rows."""
        self._left_out.append({"session_id": session_id, "table": table, "left_out": left_out})

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Add rows as a table of this name."""
        self._tables[name] = pa.Table.from_pylist(rows, schema=TABLES[name].schema)

    def tables(self) -> Tables:
        """Return all collected tables, with ``left_out``."""
        self.add("left_out", sorted(self._left_out, key=lambda row: (row["session_id"], row["table"])))
        return {name: self._tables[name] for name in TABLES if name in self._tables}

    def _first(self, name: str, own: Any) -> Any:
        """Return the first rows of each session, for a result that fits into memory."""
        table = _cut(own, name)
        counted = table.group_by("session_id").aggregate([([], "count_all")])
        many = counted.filter(pc.greater(counted["count_all"], self._most_rows)).to_pylist()
        for row in many:
            self.leave_out(row["session_id"], name, row["count_all"] - self._most_rows)
        if not many:
            return table
        parts = [
            table.filter(pc.equal(table["session_id"], session)).slice(0, self._most_rows)
            for session in sorted(counted["session_id"].to_pylist())
        ]
        return _cut(pa.concat_tables(parts), name)

    def _count_left_out(self, own: Any, name: str) -> None:
        more = own.filter(pc.and_(pc.equal(own["_place"], 1), pc.greater(own["_rows"], self._most_rows)))
        for row in more.select(["session_id", "_rows"]).to_pylist():
            self.leave_out(row["session_id"], name, row["_rows"] - self._most_rows)


def _bounded(frame: "DataFrame", limit: int) -> "DataFrame":
    """Number the rows of each session and table, and drop those after the first ``limit``."""
    own = Window.partitionBy("finding", "session_id")
    order = [name for name in _ORDER if name in frame.columns]
    return (
        frame.withColumn("_place", F.row_number().over(own.orderBy(*order)))
        .withColumn("_rows", F.count(F.lit(1)).over(own))
        .filter(F.col("_place") <= limit)
    )


def _cut(own: Any, name: str) -> Any:
    schema = TABLES[name].schema
    by = [(column, "ascending") for column in _ORDER if column in schema.names]
    return own.select(schema.names).cast(schema).sort_by(by)


def rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table as dicts."""
    found: list[dict[str, Any]] = table.to_pylist()
    return found
