"""Benchmark of the report's traffic tables on Spark and DuckDB, over one synthetic session."""

import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import duckdb_queries
from benchmarks.synthetic_session import write_events
from playbooks.session_format import session_files

THREADS: Final = 2
Rows = list[tuple[Any, ...]]
Found = dict[str, Rows]
"""Table → its rows, sorted."""


def beside(events: int) -> None:
    """Run both over a tenth of the events and over all of them; print times, ratio, memory and growth."""
    console = Console(width=110)
    table = Table(
        title=f"{len(duckdb_queries.SQL)} tables of a report; Spark's start is left out", title_justify="left"
    )
    for heading in ("events", "Spark first", "Spark again", "DuckDB", "ratio", "driver: Python", "driver: JVM"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-") as scratch:
        for size in (max(events // 10, 1_000), events):
            with console.status(f"{size:,} events"):
                table.add_row(*_row(Path(scratch), size))
    console.print(table)


def _row(scratch: Path, size: int) -> Iterator[str]:
    path = session_files.directory_of(scratch, f"bench-{size}")
    path.mkdir()
    end_us = write_events(path / session_files.EVENTS_PARQUET, size)
    spark = _apart(by_spark, path, size, end_us)
    other = _apart(by_duckdb, path, size, end_us)
    yield f"{size:,}"
    yield f"{spark['first']:.1f} s"
    yield f"{spark['again']:.1f} s"
    yield f"{other['first']:.2f} s, {other['again']:.2f} s" if other else "not installed"
    yield f"{spark['first'] / other['first']:.1f}, {spark['again'] / other['again']:.1f}" if other else ""
    yield f"{spark['python_mb']:,.0f} MB"
    yield f"{spark['jvm_mb']:,.0f} MB"
    if other:
        differing = [name for name in duckdb_queries.SQL if not alike(spark["found"][name], other["found"][name])]
        if differing:
            raise AssertionError(f"Spark and DuckDB disagree on {', '.join(differing)}")


def alike(one: Rows, another: Rows) -> bool:
    """Return whether rows are equal, except for a difference of one microsecond from rounding."""
    return len(one) == len(another) and all(
        mine == theirs or (isinstance(mine, int) and isinstance(theirs, int) and abs(mine - theirs) <= 1)
        for own, other in zip(one, another, strict=True)
        for mine, theirs in zip(own, other, strict=True)
    )


def _apart(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run the work in a process of its own, so that its memory can be measured."""
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
    """Return times and tables; empty if DuckDB is not installed."""
    try:
        import duckdb  # noqa: PLC0415 - not in the lock
    except ImportError:
        return {}
    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute("SET enable_progress_bar = false")
    return _timed(
        lambda: duckdb_queries.found(connection, path / session_files.EVENTS_PARQUET, end_us, bin_width_of(end_us))
    )


def bin_width_of(end_us: int) -> int:
    """Return the width of a bin as the report computes it."""
    from spark_report.tables.compute import bin_width  # noqa: PLC0415 - with PySpark, in its own process

    return bin_width(end_us)


def by_spark(path: Path, events: int, end_us: int) -> dict[str, Any]:
    """Return times, tables, and the memory of both halves of the driver."""
    from spark_report.aot_cache import unsealed  # noqa: PLC0415
    from spark_report.spark.session import start  # noqa: PLC0415 - as above

    with start(f"local[{THREADS}]", events) as started:
        recorded = unsealed(path, events - 1, end_us)
        timed = _timed(lambda: _findings(started.spark, recorded))
        jvm_mb = _peak_mb(started.jvm.pid) if started.jvm else 0.0
    return {**timed, "python_mb": _peak_mb(os.getpid()), "jvm_mb": jvm_mb}


def _peak_mb(pid: int) -> float:
    """Return the peak memory of a process; ``ru_maxrss`` includes that of its parent at the fork."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _findings(spark: Any, recorded: Any) -> Found:
    tables = _tables(spark, recorded)
    found = {
        name: [[row[column] for column in duckdb_queries.COLUMNS[name]] for row in tables[name]]
        for name in duckdb_queries.SQL
    }
    return {name: sorted(map(tuple, rows)) for name, rows in found.items()}


def _tables(spark: Any, recorded: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by the report's own queries, executed as for a large session."""
    from spark_report.tables import compute  # noqa: PLC0415 - as above
    from spark_report.tables.collect import FrameLayout, Gatherer, rows  # noqa: PLC0415
    from spark_report.tables.queries import clients, progress, timeline  # noqa: PLC0415

    plan = FrameLayout(spark, [recorded])
    gather = Gatherer(plan)
    with plan.settings():
        read = compute.read(plan, spark, [recorded])
        counted, ends = read.tallies, read.ends
        faults = plan.kept(timeline.faults(read.rare, ends))
        tops = plan.kept(progress.high_watermarks(read.events, read.rare, ends))
        gather("counts", progress.counts(counted))
        gather("producers", clients.producers(counted))
        gather("client_errors", clients.errors(counted))
        gather("outcomes", progress.outcomes(counted))
        gather("throughput", progress.throughput(counted))
        gather.several(compute.LATENCIES, compute.latencies(read, faults, plan))
        gather("unavailability", compute.unavailability(read, plan).filter("scope = 'client'"))
        gather("hw_series", progress.hw_series(tops, ends))
        gather("hw_stalls", compute.hw_stalls(read, plan))
        gather("partition_position_lag", progress.partition_position_lag(read.events, read.rare, counted, tops, ends))
    return {name: rows(table) for name, table in gather.tables().items()}
