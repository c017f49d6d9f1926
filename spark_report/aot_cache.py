"""Ahead-of-time cache of the JVM: made by a report over a synthetic session, shown, and cleared."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.protocol.events import COLUMNS, FIELDS, SCHEMA_VERSION
from playbooks.session_format import session_files
from playbooks.text import printable
from spark_report.input.sessions import ARROW_TYPES, SessionInput
from spark_report.job import Stages, run_guarded, say
from spark_report.spark import jvm
from spark_report.spark.errors import JobError, ReportError
from spark_report.spark.session import CacheTraining, RunningSpark, start

if TYPE_CHECKING:
    import subprocess

_DUMP_SECONDS: Final = 600
_TELL_SECONDS: Final = 15.0
ID: Final = "made-up"
_VALUES: Final[dict[str, Any]] = {"int": 1, "str": "x", "bool": True, "ints": [1, 2]}
_ROUNDS: Final = 20


def warm(stage: Callable[[str], None]) -> jvm.CacheInfo:
    """Make the cache for the first suitable Java, and install it.

    Raises:
        ReportError: there is no such Java, or no folder to keep the cache in.
        JobError: the JVM ended without writing it.
    """
    root = jvm.spark_cache_folder(os.environ)
    if root is None:
        raise ReportError(
            "no directory for the cache: set HOME or XDG_CACHE_HOME to an absolute path", code="no_cache_folder"
        )
    with tempfile.TemporaryDirectory(prefix="floodmark-warm-") as scratch:
        java, note = jvm.search_java(Path(scratch), oldest=jvm.OLDEST_CACHE_JAVA)
        if os.environ.get("JAVA_HOME") and java.origin != "JAVA_HOME":
            raise ReportError(
                f"JAVA_HOME: found an older Java, the cache needs Java {jvm.OLDEST_CACHE_JAVA} or newer; "
                f"unset it to use Java {java.version} from {java.origin}",
                code="java_too_old",
            )
        file, part = jvm.cache_file(note, os.environ), jvm.partial_cache_file(root)
        try:
            root.mkdir(parents=True, exist_ok=True)
            stage(f"starting Spark on Java {java.version} from {java.origin}")
            _train(CacheTraining(java, part), Path(scratch), stage)
            if file is None or not part.exists():
                raise JobError(
                    f"Java {java.version} from {java.origin} ended without writing its cache", code="no_cache_written"
                )
            return jvm.keep_cache(part, file, note)
        except OSError as error:
            raise ReportError(f"{root}: cannot write the cache: {error.strerror}", code="unwritable") from error
        finally:
            for left in root.glob(f"{part.stem}*"):
                left.unlink(missing_ok=True)


def _train(training: CacheTraining, scratch: Path, stage: Callable[[str], None]) -> None:
    from spark_report.tables.compute import compute  # noqa: PLC0415 - imports PySpark

    recorded = made_up(scratch)
    with start(training=training) as started:
        stage("running a report over a synthetic session")
        compute(started.spark, [recorded], lambda _stage: None)
        started.spark.stop()
        _written(started, stage)


def _written(started: RunningSpark, stage: Callable[[str], None]) -> None:
    """Wait for the JVM, which writes its cache after Spark has stopped."""
    process: subprocess.Popen[bytes] | None = started.jvm
    if process is None or process.stdin is None:
        raise ReportError(
            "the cache cannot be made under spark-submit; run floodmark spark warm directly", code="not_its_own_spark"
        )
    process.stdin.close()
    stage("the JVM is writing its cache; this takes about as long again")
    give_up, tell = time.monotonic() + _DUMP_SECONDS, time.monotonic() + _TELL_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.1)
        if time.monotonic() >= tell:
            stage("the JVM is still writing")
            tell += _TELL_SECONDS


def made_up(parent: Path) -> SessionInput:
    """Write a synthetic session with each kind of event a few times, for one partition, broker and client."""
    path = session_files.directory_of(parent, ID)
    path.mkdir()
    rows = list(_rows())
    schema = pa.schema([("seq", pa.int64()), *((name, ARROW_TYPES[kind]) for name, kind in COLUMNS.items())])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path / session_files.EVENTS_PARQUET)
    return unsealed(path, len(rows) - 1, rows[-1]["at_us"])


def unsealed(path: Path, last_seq: int, end_us: int) -> SessionInput:
    """Return a directory with a table of events as a session of one partition, without other data."""
    topic = session_files.TopicStart(name="t", partitions=1, replication=2, min_isr=1, assignment={"t-0": [1, 2]})
    start = session_files.Start(
        format=1,
        schema_version=SCHEMA_VERSION,
        tool_version="",
        session_id=ID,
        playbook="",
        title="",
        seed=0,
        profile="",
        wall_start="",
        live=False,
        settings={},
        topics=(topic,),
        brokers=(),
        producers=(),
        groups=(),
    )
    return SessionInput(path, start, None, {"ledger": {}}, "parquet", last_seq, end_us)


def _rows() -> Iterator[dict[str, Any]]:
    """Yield every kind of event in turn, with a value in each of its fields."""
    numbers = {"latency_us": 1_000, "count": 10, "acks": 1, "fault_id": 1, "partition_epoch": 1}
    for seq in range(_ROUNDS * len(FIELDS)):
        kind = list(FIELDS)[seq % len(FIELDS)]
        fields = {name: _VALUES[COLUMNS[name]] for name in FIELDS[kind]}
        fields |= {name: number for name, number in numbers.items() if name in fields}
        fields |= {"partition": "t-0"} if "partition" in fields else {}
        yield {**fields, "seq": seq, "kind": kind, "at_us": seq * 1_000}


# ``python -m spark_report.aot_cache warm|status|clear``: the JVM's cache as a command.
#
# Exit codes: 0 done (``status``: a cache fits), 1 ``status`` found none, 2 no suitable Java or no writable directory,
# 70 an internal error, 130 after Ctrl-C.


_DESCRIPTION: Final = "Make (warm), show (status) or clear the class cache with which Spark starts faster."
_COLD: Final = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="floodmark spark", description=_DESCRIPTION)
    parser.add_argument("action", choices=("warm", "status", "clear"))
    action = parser.parse_args(arguments).action
    work = {"warm": _warm, "status": _status, "clear": _clear}[action]
    return run_guarded(work, stopped="stopped; an earlier cache is unchanged")


def _warm() -> int:
    made = warm(Stages())
    say(f"warm: {made.bytes >> 20} MB for Java {made.version} from {made.origin}; every report uses it from now on")
    return 0


def _status() -> int:
    for file, warm in jvm.all_caches(os.environ):
        state = "fits" if jvm.cache_fits(file, warm) else "outdated"
        what = f"Java {warm.version} from {warm.origin}, PySpark {warm.pyspark}, {warm.environment}"
        print(f"{file}  {warm.bytes >> 20} MB  {state}: {printable(what)}")
    if jvm.usable_cache(os.environ):
        return 0
    say("cold: run `floodmark spark warm` to make reports start faster")
    return _COLD


def _clear() -> int:
    say(f"removed {jvm.clear_caches(os.environ) >> 20} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
