"""The recount as one query: a session's events to one walk in plain Python, its findings back as rows.

Everywhere else built-ins of Spark serve. Here a session is a history with state that every next event is held against:
as windows and joins that took a plan of some fifty sorts, which cost more to make than to run. Modules go to the
executors by value, so that their Python needs pyarrow and numpy, and no floodmark.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from spark_report.tables.anomaly_recount import RECOUNTED, judged
from spark_report.tables.books import FIELDS, KINDS, LAST, Walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLES: Final = ("anomalies", "disagreements", "left_out")
MOST_EVENTS: Final = 3_000_000
"""Of a session with more nothing is counted again: all of one is in the memory of one task."""
MOST_RECORDS: Final = 50_000_000
"""... nor of one with more records in a partition."""

IN_LEDGER: Final = "in ledger"
"""Kind of a row of ``ledger.parquet``; its ``node`` is the term."""
TERMS: Final[dict[str, str]] = {
    **{f"records_{term}": term for term in ("sent", "acked", "failed", "unknown", "aborted")},
    "records_lost": "acked_lost",
}
"""Kind of event → the term of the ledger that it adds to."""

SCHEMA: Final = (
    "finding string, session_id string, anomaly string, partition string, client string, found bigint, "
    "source string, name string, told bigint, table string, left_out bigint"
)
_NUMBERS: Final = frozenset(
    ("seq", "at_us", "broker", "sequence", "count", "log_offset", "end_offset", "stint"),
)
_BROKEN: Final = (ArithmeticError, MemoryError, ValueError)
"""What numbers that cannot be true lead to."""


class Said(NamedTuple):
    """What a session says of itself."""

    readers: Mapping[str, str]
    """How the members of each group read."""
    anomalies: Mapping[str, int] | None
    """Anomaly → how often, as its result says; None: not all is known that they are told from."""
    ledger: bool
    """Whether it has a table of its records."""
    clients: bool = True
    """Whether clients wrote and read; steps by hand do so as nobody, who can see no anomaly."""


def recounted(
    events: "DataFrame", last_reads: "DataFrame", ledgers: "DataFrame", said: Mapping[str, Said]
) -> "DataFrame":
    """Rows of :data:`TABLES`; ``said`` has the sessions that are to be counted again."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - executors have no need of it

    none = {name: F.lit(-1 if name in _NUMBERS else "").alias(name) for name in FIELDS}
    whole = [F.coalesce(name, none[name]).alias(name) for name in FIELDS]
    told = events.filter(F.col("kind").isin(*KINDS, *TERMS)).select("session_id", *whole)
    last = last_reads.select(
        "session_id",
        *(none[name] for name in FIELDS[:2]),
        F.lit(LAST).alias("kind"),
        "partition",
        *(none[name] for name in FIELDS[4:9]),
        F.col("log_start").alias("count"),
        *("log_offset", "end_offset", "stint"),
    )
    lost = F.when(F.col("place") == "lost", F.lit("acked_lost"))
    outcome = F.when(F.col("outcome") != "sent", F.col("outcome"))
    terms = F.array_compact(F.array(F.lit("sent"), outcome, lost))
    kept = ledgers.select(
        "session_id",
        *(none[name] for name in FIELDS[:2]),
        F.lit(IN_LEDGER).alias("kind"),
        "partition",
        none["broker"],
        F.explode(terms).alias("node"),
        *(none[name] for name in FIELDS[6:9]),
        F.col("records").alias("count"),
        *(none[name] for name in FIELDS[10:]),
    )
    rows = told.unionByName(last).unionByName(kept).filter(F.col("session_id").isin(*said))
    return rows.groupBy("session_id").applyInArrow(_shipped(said), SCHEMA)


def _shipped(said: Mapping[str, Said]) -> Callable[[pa.Table], pa.Table]:
    from pyspark import cloudpickle  # noqa: PLC0415 - see above

    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value  # untyped in PySpark
    register(sys.modules[__name__])
    known = dict(said)

    def of_session(rows: pa.Table) -> pa.Table:
        session_id = rows["session_id"][0].as_py()
        order = rows.select(list(FIELDS)).sort_by("seq")
        events = list(zip(*(order[name].to_pylist() for name in FIELDS), strict=True))
        found = of_events(events, known[session_id])
        names = [field.split()[0] for field in SCHEMA.split(", ")]
        types = [pa.int64() if name in ("found", "told", "left_out") else pa.string() for name in names]
        schema = pa.schema(list(zip(names, types, strict=True)))
        return pa.Table.from_pylist([{"session_id": session_id, **row} for row in found], schema=schema)

    return of_session


def of_events(events: Sequence[tuple[Any, ...]], said: Said) -> list[dict[str, Any]]:
    """The rows of one session, whose events are tuples of :data:`books.FIELDS`."""
    found = _ledger(events) if said.ledger else []
    if not said.clients:
        return found
    try:
        again = anomalies((event for event in events if event[2] in KINDS or event[2] == LAST), said.readers)
    except _BROKEN:
        return [*found, {"finding": "left_out", "table": "anomalies"}]
    totals: Counter[str] = Counter()
    for (anomaly, partition, client), count in sorted(again.items()):
        totals[anomaly] += count
        row = {"anomaly": anomaly, "partition": partition, "client": client, "found": count}
        found.append({"finding": "anomalies", **row})
    if said.anomalies is not None:
        told = {name: said.anomalies.get(name, 0) for name in RECOUNTED}
        found += _otherwise("result.json", "", totals, told)
    return found


def anomalies(events: Iterable[tuple[Any, ...]], readers: Mapping[str, str]) -> Counter[tuple[str, str, str]]:
    """(anomaly, partition, client) → how often. Raises ValueError where there are too many records."""
    walk = Walk(readers)
    whole = list(events)
    walk.take(event for event in whole if event[2] != LAST)
    # It has no number of its own.
    walk.take(event for event in whole if event[2] == LAST)
    found: Counter[tuple[str, str, str]] = Counter()
    for partition, own in walk.books():
        for (anomaly, client), count in judged(own, MOST_RECORDS).items():
            found[anomaly, partition, client] += count
    return found


def _ledger(events: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Where the table of records has other sums than the events."""
    counted: Counter[tuple[str, str]] = Counter()
    told: Counter[tuple[str, str]] = Counter()
    for event in events:
        if event[2] == IN_LEDGER:
            told[event[3], event[5]] += event[9]
        elif event[2] in TERMS:
            counted[event[3], TERMS[event[2]]] += event[9]
    rows = []
    for partition in sorted({partition for partition, _term in counted | told}):
        found, said = ({term: sums[partition, term] for term in TERMS.values()} for sums in (counted, told))
        rows += _otherwise("ledger.parquet", partition, found, said)
    return rows


def _otherwise(source: str, partition: str, found: Mapping[str, int], told: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "finding": "disagreements",
            "source": source,
            "partition": partition,
            "name": name,
            "found": found.get(name, 0),
            "told": told.get(name, 0),
        }
        for name in dict.fromkeys((*found, *told))
        if found.get(name, 0) != told.get(name, 0)
    ]
