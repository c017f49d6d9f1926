"""From sessions to findings: which tables there are, and how few queries get them all.

A Spark query costs about a second however small its data is, so tables are computed together: frames are stacked into
one wide frame whose column ``finding`` says which table a row belongs to, run as one query, and cut apart again in
Arrow. The same column name therefore has the same type in every table.
"""

import contextlib
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.events import DATA_KINDS
from spark_report import schemas
from spark_report.recorded import LEDGER_TERMS, Recorded
from spark_report.transforms import availability, clients, numbers, points, timeline
from spark_report.transforms.intervals import SPAN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tables = dict[str, Any]
"""Table name → ``pyarrow.Table``."""

BINS: Final = 240
"""About how many bins a session's time series has."""

_NICE: Final = (1, 2, 5)
_WHO: Final = ("session_id", "what", "client")

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    **{name: (*points.WHEN, *table.columns) for name, table in points.TABLES.items()},
    "faults": ("session_id", "fault_id", "fault", "target", "detail", *SPAN),
    "partition_states": (
        *("session_id", "partition", "leader", "leader_epoch", "isr", "isr_size", "min_isr"),
        *SPAN,
    ),
    "unavailability": ("session_id", "scope", "partition", "client", "acks", *SPAN, "duration_us"),
    "ledger": ("session_id", "term", "from_events", "from_result", "agrees"),
    "latency": (*_WHO, "phase", "records", "min_us", "p50_us", "p95_us", "p99_us", "max_us"),
    "latency_series": (*_WHO, "bin_began_us", "bin_us", "records", "min_us", "p50_us", "p99_us", "max_us"),
    "counts": ("session_id", *numbers.COUNTED),
    "producers": ("session_id", "client", *clients.PRODUCER),
    "groups": ("session_id", "group_id", *clients.GROUP),
    "members": ("session_id", "group_id", "client", *clients.MEMBER),
    "client_errors": ("session_id", "what", "client", "error", "times"),
}
"""Table → its columns, in order."""

_ORDER: Final = (
    *("session_id", "at_us", "began_us", "seq", "began_seq", "scope", "what", "partition", "group_id", "client"),
    *("phase", "bin_began_us", "term", "fault_id", "error"),
)


def compute(spark: "SparkSession", sessions: Sequence[Recorded], stage: Callable[[str], None]) -> Tables:
    """All tables of findings for these sessions; ``stage`` is told what is being worked on."""
    events = schemas.read_events(spark, sessions)
    ends = _small(spark, [_end(session) for session in sessions], schemas.SESSIONS)
    placed = _small(spark, _assignments(sessions), schemas.ASSIGNMENTS)
    results = _small(spark, _results(sessions), schemas.RESULTS)
    # What is not traffic is a sliver of the events and goes into most of the tables: read it once.
    rare = events.filter(~F.col("kind").isin(sorted(DATA_KINDS))).persist()
    fault_spans = timeline.faults(rare, ends)
    try:
        stage("elections, ISR, faults, losses, unavailability")
        states = timeline.partition_states(rare, placed, ends)
        out = availability.unavailability(rare, _answers(events), ends)
        found = _gather(
            [*points.TABLES, "faults", "partition_states"],
            [points.points(rare), _in("faults", fault_spans), _in("partition_states", states)],
        )
        found |= _gather(["unavailability"], [_in("unavailability", out)])
        stage("ledger, latency and clients")
        totals = numbers.counts(events)
        timed = numbers.latencies(events, timeline.fault_windows(fault_spans), ends)
        series = F.when(F.col("phase").isNull(), F.lit("latency_series")).otherwise(F.lit("latency"))
        ledger = numbers.ledger(totals, results)
        by_client = {
            "producers": clients.producers(events),
            "groups": clients.groups(events),
            "members": clients.members(events),
            "client_errors": clients.errors(events),
        }
        told = [_in(name, frame) for name, frame in by_client.items()]
        found |= _gather(
            ["counts", "ledger", "latency", "latency_series", *by_client],
            [_in("counts", totals), _in("ledger", ledger), timed.withColumn("finding", series), *told],
        )
    finally:
        # After Ctrl-C the JVM may not answer any more; what matters then is the interrupt.
        with contextlib.suppress(Exception):
            rare.unpersist()
    return found


def bin_width(end_us: int) -> int:
    """Microseconds a bin: 1, 2 or 5 times a power of ten, so that a session has about :data:`BINS` of them."""
    width = 1
    while True:
        for nice in _NICE:
            if width * nice * BINS >= end_us:
                return width * nice
        width *= 10


def _answers(events: "DataFrame") -> "DataFrame":
    """What producers were told."""
    return events.filter(F.col("kind").isin(*availability.ANSWERS))


def _in(name: str, frame: "DataFrame") -> "DataFrame":
    return frame.withColumn("finding", F.lit(name))


def _gather(names: Sequence[str], frames: Sequence["DataFrame"]) -> Tables:
    """Run several frames as one query, and cut the answer into the tables of these names, sorted."""
    stacked = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames).toArrow()
    return {name: _cut(stacked, name) for name in names}


def _cut(stacked: Any, name: str) -> Any:
    columns = COLUMNS[name]
    by = [(column, "ascending") for column in _ORDER if column in columns]
    return stacked.filter(pc.equal(stacked["finding"], name)).select(columns).sort_by(by)


def _small(spark: "SparkSession", found: Sequence[dict[str, Any]], schema: Any) -> "DataFrame":
    """A small frame from rows at hand, by Arrow: Spark then plans with its size instead of guessing."""
    return spark.createDataFrame(pa.Table.from_pylist(list(found), schema=schema))


def _end(session: Recorded) -> dict[str, Any]:
    width = bin_width(session.end_us)
    return {"session_id": session.session_id, "end_us": session.end_us, "end_seq": session.last_seq, "bin_us": width}


def _assignments(sessions: Sequence[Recorded]) -> list[dict[str, Any]]:
    return [
        {"session_id": session.session_id, "partition": name, "replicas": replicas, "min_isr": topic.min_isr}
        for session in sessions
        for topic in session.start.topics
        for name, replicas in topic.assignment.items()
        if replicas
    ]


def _results(sessions: Sequence[Recorded]) -> list[dict[str, Any]]:
    return [
        {"session_id": session.session_id, **{term: session.result["ledger"].get(term) for term in LEDGER_TERMS}}
        for session in sessions
        if session.result
    ]


def rows(table: Any) -> list[dict[str, Any]]:
    """A table as plain rows."""
    found: list[dict[str, Any]] = table.to_pylist()
    return found
