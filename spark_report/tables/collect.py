"""Asks Spark for many tables: short plans, and answers with the columns and types of the registry.

Of a session with very many rows a table has the first of them, so that what reaches the driver does not grow with the
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


# Plans for some thirty tables: short, and over little data without a second stage.
#
# Most of what a report over one session costs is Catalyst's: each step of a frame is analyzed together with all that
# the frame is made of. So what several tables are made of is cut off from where it came from, and every table is a
# query of its own, for in a union of many all plans are walked again with each that is added.


LITTLE_EVENTS: Final = 100_000
"""Below it one task is quicker than what it takes to share the work out: all data is in one partition."""

LANES: Final = 2

LEAST_TASKS: Final = 4
EVENTS_A_TASK: Final = 2_000_000

_WHOLE: Final = {
    "spark.sql.adaptive.enabled": "false",
    # A join of two single partitions is a merge in place; a broadcast would be a job of its own.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",
    "spark.sql.shuffle.partitions": "1",
    # To generate and compile a class for each plan costs more than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class FrameLayout:
    """How frames are laid out for as much data as these sessions have."""

    def __init__(self, spark: "SparkSession", sessions: Sequence[SessionInput]) -> None:
        self._spark = spark
        events = sum(session.last_seq + 1 for session in sessions)
        self.little = events < LITTLE_EVENTS
        self.tasks = max(LEAST_TASKS, events // EVENTS_A_TASK)
        """Into how many tasks a query is cut that sees all traffic, and has what one task sees in memory."""
        self.lanes = LANES if self.little else 1
        """How many queries run at a time: one over much data has work for all cores by itself."""
        self._local = master.is_local(spark.conf.get("spark.master"))
        self._kept: list[DataFrame] = []

    def laid_out(self, frame: "DataFrame") -> "DataFrame":
        """A frame that was read, in one partition if there is little of it."""
        return frame.coalesce(1) if self.little else frame

    def small(self, table: pa.Table) -> "DataFrame":
        """Rows at hand as a frame."""
        return self.laid_out(frames.frame_of(self._spark, table))

    def at_hand(self, frame: "DataFrame") -> "DataFrame":
        """A frame of a few rows that several others are made of, computed once."""
        return self.small(frame.toArrow())

    def kept(self, frame: "DataFrame") -> "DataFrame":
        """A frame that several others are made of, computed once, until :meth:`settings` ends."""
        # A checkpoint forgets the plan, and with an executor that dies all would be lost: here there is none.
        self._kept.append(frame.localCheckpoint() if self._local else frame.persist())
        return self._kept[-1]

    @contextlib.contextmanager
    def settings(self) -> Iterator[None]:
        """What Spark's planner is told meanwhile; nothing is kept afterwards."""
        settings = _WHOLE if self.little else {}
        before = {name: str(self._spark.conf.get(name)) for name in settings}
        for name, value in settings.items():
            self._spark.conf.set(name, value)
        try:
            yield
        finally:
            # After Ctrl-C the JVM may not answer any more; what matters then is the interrupt.
            with contextlib.suppress(Exception):
                for frame in () if self._local else self._kept:
                    frame.unpersist()
                for name, value in before.items():
                    self._spark.conf.set(name, value)


Tables = dict[str, Any]
"""Table name → ``pyarrow.Table``."""

MOST_ROWS: Final = 20_000
"""Rows of a session that a table has at most."""

_ORDER: Final = (
    *("session_id", "at_us", "began_us", "seq", "began_seq", "scope", "what", "anomaly", "alert", "partition"),
    *("group_id", "client", "acks", "condition", "phase", "bin_began_us", "term", "fault_id", "fault", "error"),
)
"""Columns that rows are sorted by, where a table has them."""


class Gatherer:
    """Runs queries and collects their tables; several threads may use one at a time."""

    def __init__(self, plan: FrameLayout, most_rows: int = MOST_ROWS) -> None:
        self._plan = plan
        self._most_rows = most_rows
        self._found: Tables = {}
        self._left_out: list[dict[str, Any]] = []

    def __call__(self, name: str, frame: "DataFrame") -> None:
        """Run the query of a table."""
        if self._plan.little:
            self._found[name] = self._first(name, frame.toArrow())
        else:
            self.several([name], frame.withColumn("finding", F.lit(name)))

    def several(self, names: Sequence[str], frame: "DataFrame") -> None:
        """Run one query that answers these tables: its column ``finding`` says which one a row belongs to."""
        table = (frame if self._plan.little else _bounded(frame, self._most_rows)).toArrow()
        for name in names:
            own = table.filter(pc.equal(table["finding"], name))
            if self._plan.little:
                self._found[name] = self._first(name, own)
            else:
                self._found[name] = _cut(own, name)
                self._count_left_out(own, name)

    def kept(self, name: str, frame: "DataFrame") -> "DataFrame":
        """Answer a table that others are made of; it comes back as a frame that is computed by then."""
        if not self._plan.little:
            frame = self._plan.kept(frame)
        self(name, frame)
        if any(row["table"] == name for row in self._left_out):
            return frame
        return self._plan.small(self._found[name]) if self._plan.little else frame

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table that is answered."""
        return rows(self._found[name])

    def leave_out(self, session_id: str, table: str, left_out: int | None = None) -> None:
        """Note that a table has not all rows of a session; without a count it has none."""
        self._left_out.append({"session_id": session_id, "table": table, "left_out": left_out})

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Rows at hand as a table of this name."""
        self._found[name] = pa.Table.from_pylist(rows, schema=TABLES[name].schema)

    def tables(self) -> Tables:
        """All of them, and the rows that they lack."""
        self.add("left_out", sorted(self._left_out, key=lambda row: (row["session_id"], row["table"])))
        return {name: self._found[name] for name in TABLES if name in self._found}

    def _first(self, name: str, own: Any) -> Any:
        """The first rows of each session: what a query over little data answers may be held whole."""
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


def _bounded(frame: "DataFrame", most: int) -> "DataFrame":
    """Number the rows of each session and table, and drop those behind the first ``most``."""
    own = Window.partitionBy("finding", "session_id")
    order = [name for name in _ORDER if name in frame.columns]
    return (
        frame.withColumn("_place", F.row_number().over(own.orderBy(*order)))
        .withColumn("_rows", F.count(F.lit(1)).over(own))
        .filter(F.col("_place") <= most)
    )


def _cut(own: Any, name: str) -> Any:
    schema = TABLES[name].schema
    by = [(column, "ascending") for column in _ORDER if column in schema.names]
    return own.select(schema.names).cast(schema).sort_by(by)


def rows(table: Any) -> list[dict[str, Any]]:
    """A table as plain rows."""
    found: list[dict[str, Any]] = table.to_pylist()
    return found
