"""How Spark is asked for some thirty tables: plans that are short, and over little data need no second stage.

Most of what a report over one session costs is Catalyst's: each step of a frame is analyzed together with all that the
frame is made of. So what several tables are made of is cut off from where it came from, and every table is a query of
its own, for in a union of many all plans are walked again with each that is added.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from spark_report.input import frames
from spark_report.input.sessions import Recorded
from spark_report.spark import masters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


class Plan:
    """How frames are laid out for as much data as these sessions have."""

    def __init__(self, spark: "SparkSession", sessions: Sequence[Recorded]) -> None:
        self._spark = spark
        events = sum(session.last_seq + 1 for session in sessions)
        self.little = events < LITTLE_EVENTS
        self.tasks = max(LEAST_TASKS, events // EVENTS_A_TASK)
        """Into how many tasks a query is cut that sees all traffic, and has what one task sees in memory."""
        self.lanes = LANES if self.little else 1
        """How many queries run at a time: one over much data has work for all cores by itself."""
        self._local = masters.is_local(spark.conf.get("spark.master"))
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
