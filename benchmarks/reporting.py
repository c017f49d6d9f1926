"""The report's widest queries on Spark, and the same findings by DuckDB, over one made-up session with every column."""

import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from cluster_model.events import COLUMNS
from playbooks import layout
from spark_report.recorded import ARROW_TYPES

CHUNK = 500_000
KINDS = ("records_sent", "appended", "records_acked", "hw_advanced", "records_read")
PARTITIONS, CLIENTS, REFUSED_EVERY = 24, 8, 1_009
THREADS = 2
Found = dict[str, list[tuple[Any, ...]]]
"""Finding → its rows, sorted."""

_LATENCY = """
    SELECT client, kind, count(*), min(latency_us), max(latency_us),
           CAST(round(quantile_cont(latency_us, 0.5)) AS BIGINT), CAST(round(quantile_cont(latency_us, 0.99)) AS BIGINT)
    FROM e WHERE kind IN ('records_acked', 'records_read') GROUP BY ALL"""
_ISLANDS = """
    SELECT client, partition, began, coalesce(ended, {end}) FROM (
        SELECT *, lead(at_us) OVER w AS ended, at_us AS began FROM (
            SELECT client, partition, at_us, seq, kind = 'produce_refused' AS out,
                   lag(kind = 'produce_refused') OVER (PARTITION BY client, partition ORDER BY at_us, seq) AS before
            FROM e WHERE kind IN ('records_acked', 'produce_refused'))
        WHERE before IS NULL OR before <> out
        WINDOW w AS (PARTITION BY client, partition ORDER BY at_us, seq)) WHERE out"""
SQL = {
    "counts": "SELECT kind, count(*), sum(count) FROM e GROUP BY ALL",
    "errors": "SELECT client, error, count(*) FROM e WHERE kind = 'produce_refused' GROUP BY ALL",
    "latency": _LATENCY,
    "unavailability": _ISLANDS,
}


def write_events(path: Path, events: int) -> int:
    """A table of that many events as the recorder seals them; the time of the last."""
    schema = pa.schema([("seq", pa.int64()), *((name, ARROW_TYPES[kind]) for name, kind in COLUMNS.items())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, events, CHUNK):
            writer.write_table(_chunk(np.arange(first, min(first + CHUNK, events)), schema))
    return (events - 1) * 10


def _chunk(seq: Any, schema: Any) -> Any:
    batch = seq // len(KINDS)
    refused = seq % REFUSED_EVERY == 0
    kind = np.where(refused, "produce_refused", np.array(KINDS)[seq % len(KINDS)])
    timed = np.isin(kind, ("records_acked", "records_read"))
    values = {
        "seq": pa.array(seq),
        "at_us": pa.array(seq * 10),
        "kind": pa.array(kind),
        "partition": pa.array(np.char.add("orders-", (batch % PARTITIONS).astype(str))),
        "client": pa.array(np.char.add("client-", (batch % CLIENTS).astype(str))),
        "count": pa.array(np.ones(len(seq), dtype=np.int64)),
        "acks": pa.array(np.full(len(seq), -1)),
        "latency_us": pa.array(np.where(timed, seq * 7919 % 30_011, -1)),
        "error": pa.array(np.where(refused, "NOT_LEADER_OR_FOLLOWER", "NONE")),
    }
    nothing = {name: pa.nulls(len(seq), schema.field(name).type) for name in schema.names if name not in values}
    return pa.table({**nothing, **values}).select(schema.names).cast(schema)


def beside(events: int) -> None:
    """Run both over a tenth of the events and over all of them; print times, ratio, memory and growth."""
    console = Console(width=110)
    table = Table(title="four findings; Spark's start is left out", title_justify="left")
    for heading in ("events", "Spark first", "Spark again", "DuckDB", "ratio", "driver: Python", "driver: JVM"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-") as scratch:
        for size in (max(events // 10, 1_000), events):
            with console.status(f"{size:,} events"):
                table.add_row(*_row(Path(scratch), size))
    console.print(table)


def _row(scratch: Path, size: int) -> Iterator[str]:
    path = layout.directory_of(scratch, f"bench-{size}")
    path.mkdir()
    end_us = write_events(path / layout.EVENTS_PARQUET, size)
    spark = _apart(by_spark, path, size, end_us)
    duck = _apart(by_duckdb, path, size, end_us)
    yield f"{size:,}"
    yield f"{spark['first']:.1f} s"
    yield f"{spark['again']:.1f} s"
    yield f"{duck['again']:.2f} s" if duck else "not installed"
    yield f"{spark['first'] / duck['first']:.1f}, {spark['again'] / duck['again']:.1f}" if duck else ""
    yield f"{spark['python_mb']:,.0f} MB"
    yield f"{spark['jvm_mb']:,.0f} MB"
    if duck and duck["found"] != spark["found"]:
        differing = [name for name in SQL if duck["found"][name] != spark["found"][name]]
        raise AssertionError(f"Spark and DuckDB disagree on {', '.join(differing)}")


def _apart(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def _timed(work: Callable[[], Found]) -> dict[str, Any]:
    began = time.perf_counter()
    work()
    first = time.perf_counter() - began
    began = time.perf_counter()
    found = work()
    return {"first": first, "again": time.perf_counter() - began, "found": json.loads(json.dumps(found))}


def by_duckdb(path: Path, _events: int, end_us: int) -> dict[str, Any]:
    """Times and findings; empty where DuckDB is not installed."""
    try:
        import duckdb  # noqa: PLC0415 - not in the lock
    except ImportError:
        return {}
    connection = duckdb.connect(config={"threads": THREADS})
    source = str(path / layout.EVENTS_PARQUET)
    connection.execute(f"CREATE VIEW e AS SELECT * FROM read_parquet('{source}')")
    return _timed(
        lambda: {name: sorted(connection.execute(q.format(end=end_us)).fetchall()) for name, q in SQL.items()}
    )


def by_spark(path: Path, events: int, end_us: int) -> dict[str, Any]:
    """Times, findings and the memory of both halves of the driver."""
    from spark_report.schemas import read_events  # noqa: PLC0415 - with Spark, in its own process
    from spark_report.session import start  # noqa: PLC0415
    from spark_report.warming import unsealed  # noqa: PLC0415

    with start(f"local[{THREADS}]", events) as started:
        recorded = unsealed(path, events - 1, end_us)
        timed = _timed(lambda: _findings(started.spark, read_events(started.spark, [recorded]), end_us))
        jvm_mb = _peak_mb(started.jvm.pid) if started.jvm else 0.0
    return {**timed, "python_mb": _peak_mb(os.getpid()), "jvm_mb": jvm_mb}


def _peak_mb(pid: int) -> float:
    """Not ``ru_maxrss``: that counts what the parent had when it made the process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _findings(spark: Any, events: Any, end_us: int) -> Found:
    """By the report's own transforms, one query each."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    from spark_report import schemas  # noqa: PLC0415
    from spark_report.transforms import availability, clients, numbers, timeline  # noqa: PLC0415
    from spark_report.warming import ID  # noqa: PLC0415

    end = {"session_id": ID, "end_us": end_us, "end_seq": 1 << 62, "bin_us": 1 << 60}
    ends = spark.createDataFrame(pa.Table.from_pylist([end], schema=schemas.SESSIONS))
    rare = events.filter(F.col("kind") == "fault_injected")
    timed = numbers.latencies(events, timeline.fault_windows(timeline.faults(rare, ends)), ends)
    kind = F.when(F.col("what") == "produce", F.lit("records_acked")).otherwise(F.lit("records_read"))
    frames = {
        "counts": events.groupBy("kind").agg(F.count("seq"), F.sum("count")),
        "errors": clients.errors(events).select("client", "error", "times"),
        "latency": timed.filter(F.col("phase") == "all").select(
            "client", kind, "records", "min_us", "max_us", "p50_us", "p99_us"
        ),
        "unavailability": availability.client_unavailability(events, ends).select(
            "client", "partition", "began_us", "ended_us"
        ),
    }
    return {name: sorted(tuple(row) for row in frame.collect()) for name, frame in frames.items()}
