"""The report job, which makes a report of recorded sessions, and code shared by all commands that run Spark."""

import argparse
import contextlib
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn, TextIO

from rich.console import Console

from cluster_model.util.quantities import counted
from playbooks.session_format.session_files import LayoutError
from playbooks.text import printable
from spark_report.input.sessions import SessionInput, SkippedDirectory, check_session, collect_sessions
from spark_report.model.report import ReportModel, build_story
from spark_report.spark.errors import JobError, ReportError, first_line
from spark_report.spark.hadoop_fs import Address, AnyPath, parse_path, resolve_remote
from spark_report.spark.session import RunningSpark, failures_converted, start, under_spark_submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_report.tables.collect import Tables


# Output to a pipe whose reader may end, as ``head`` does: the report is still written, and no error is printed.


class PipeSafeConsole(Console):
    """A console that stops writing when the reader of its pipe is gone."""

    def on_broken_pipe(self) -> None:
        """Stop writing, and discard what is buffered."""
        self.quiet = True
        silence(self.file)


def say(text: str, stream: TextIO | None = None) -> None:
    """Print one line on ``stream``, by default stderr; a closed pipe is no error."""
    stream = stream or sys.stderr
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        silence(stream)


def silence(stream: IO[Any]) -> None:
    """Redirect a stream without a reader to the null device, so that the flush at exit does not fail."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


FORMATS: Final = ("html", "markdown", "parquet", "json", "terminal")
REPORTS: Final = Path("reports")
_SLOW_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a report job."""

    out: Path
    """Directory of the report's files."""
    files: tuple[Path, ...]
    """The written files and directories, the HTML page first."""
    reported: int
    set_aside: tuple[SkippedDirectory, ...]
    contradicted: tuple[str, ...] = ()
    """Ids of sessions whose own results disagree with their events."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark that a job uses: an existing session, or options to start one."""

    master: str | None = None
    memory: str | None = None
    spark: "SparkSession | None" = None


class Stages:
    """Prints the stages of a job with the elapsed time, because Spark itself prints nothing for seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        """Print one line with the time since the start."""
        say(f"[{time.monotonic() - self._began:5.1f} s] {printable(what)}", self._stream)


def run(
    paths: Sequence[Path | Address],
    *,
    out: Path | None = None,
    formats: Sequence[str] = FORMATS,
    master: str | None = None,
    memory: str | None = None,
    baseline: Path | Address | None = None,
    spark: "SparkSession | None" = None,
    stage: Callable[[str], None] | None = None,
    console: Console | None = None,
) -> JobResult:
    """Report sessions, or directories of them.

    ``baseline`` is a session that the others are compared with; it is reported with them. ``spark`` is an existing
    session, which stays running; without one the job starts its own, on ``master`` if given.

    Raises:
        ReportError: nothing can be read, there is no Java, or the report cannot be written.
        JobError: Spark failed.
    """
    from spark_report.render.output import Staging  # noqa: PLC0415 - input errors come before the slow imports

    stage = stage or Stages()
    wanted = SparkOptions(master, memory, spark)
    with contextlib.ExitStack() as work:
        up = work.enter_context(contextlib.ExitStack())
        given: list[AnyPath]
        started = None
        if any(isinstance(path, Address) for path in (*paths, baseline)):
            if out is not None:
                with Staging(out):  # fails for an unwritable directory before Spark starts
                    pass
            started = up.enter_context(_spark(wanted, None, "to read the sessions", stage))
            stage("reading the sessions")
        with failures_converted(started, master) if started else contextlib.nullcontext():
            given = resolve_remote(started, [*paths, *([baseline] if baseline else [])])
            base = _baseline(given[-1]) if baseline else ""
            sessions, set_aside = collect_sessions(given)
        for aside in set_aside:
            stage(f"set aside: {aside.reason}")
        target = out or default_out(sessions)
        staging = work.enter_context(Staging(target))
        if started is None:
            events = sum(session.last_seq + 1 for session in sessions)
            amount = f"for {counted(len(sessions), 'session')}, {counted(events, 'event')}"
            started = up.enter_context(_spark(wanted, events, amount, stage))
        with failures_converted(started, master):
            story = build_story(sessions, set_aside, _computed(started.spark, sessions, stage), base)
        up.close()
        stage("writing the report")
        made = _written(staging.path, story, formats, target)
        staging.publish()
    if "terminal" in formats:
        from spark_report.render import text  # noqa: PLC0415

        text.show_in_terminal(console or PipeSafeConsole(), story)
    contradicted = tuple(session.session_id for session in story.sessions if session.disagreements)
    return JobResult(target, tuple(target / name for name in made), len(sessions), tuple(set_aside), contradicted)


def _baseline(path: AnyPath) -> str:
    """Return the id of the session to compare with."""
    try:
        return check_session(path).session_id
    except LayoutError as error:
        raise ReportError(f"--baseline: {error}", code=error.code) from error


def default_out(sessions: Sequence[SessionInput]) -> Path:
    """Return the default output directory: ``reports/<session id>``, or ``reports/<n>-sessions-<first id>``."""
    # An id is read from a file; it must not lead to another directory.
    first = re.sub(r"[^A-Za-z0-9._-]+", "-", sessions[0].session_id).strip(".-") or "session"
    return REPORTS / (first if len(sessions) == 1 else f"{len(sessions)}-sessions-{first}")


@contextlib.contextmanager
def _spark(
    wanted: SparkOptions, events: int | None, what: str, stage: Callable[[str], None]
) -> Iterator[RunningSpark]:  # fmt: skip
    """Yield the given Spark session, or start one for the duration of the block."""
    if wanted.spark is not None:
        yield RunningSpark(wanted.spark, "given", None)
        return
    if not under_spark_submit():
        stage(f"starting Spark {what}")
    began = time.monotonic()
    with start(wanted.master, events, memory=wanted.memory) as started:
        stage(f"Spark {started.spark.version} started ({started.origin})")
        yield started
    if started.cold and time.monotonic() - began > _SLOW_SECONDS:
        stage("run `floodmark spark warm` once to make reports start faster")


def _computed(spark: "SparkSession", sessions: Sequence[SessionInput], stage: Callable[[str], None]) -> "Tables":
    from spark_report.tables.compute import compute  # noqa: PLC0415 - imports PySpark

    return compute(spark, sessions, stage)


def _written(directory: Path, model: ReportModel, formats: Sequence[str], target: Path) -> list[str]:
    """Write the report's files; an error names the final directory instead of the staging directory."""
    try:
        return _write(directory, model, formats)
    except OSError as error:
        raise ReportError(f"{target}: cannot write the report: {error.strerror or error}", code="unwritable") from error


def _write(directory: Path, model: ReportModel, formats: Sequence[str]) -> list[str]:
    """Write the formats that are files; return their names, the HTML page first."""
    from spark_report.model.comparison import all_tables  # noqa: PLC0415
    from spark_report.render import html, output, text  # noqa: PLC0415

    made = []
    tables = all_tables(model)
    if "html" in formats:
        html.write_html(directory / output.HTML, model)
        made.append(output.HTML)
    if "markdown" in formats:
        text.write_markdown(directory / output.MARKDOWN, model)
        made.append(output.MARKDOWN)
    if "json" in formats:
        output.write_json(directory / output.JSON, model, tables)
        made.append(output.JSON)
    if "parquet" in formats:
        output.write_parquet(directory / output.TABLES, tables)
        made.append(output.TABLES)
    if {"json", "parquet"} & set(formats):
        output.write_dictionary(directory / output.DICTIONARY)
        made.append(output.DICTIONARY)
    return made


# Common to commands that run Spark: exit codes, failures, and options.


EXIT_BAD_INPUT: Final = 2
EXIT_INTERNAL: Final = 70
EXIT_INTERRUPTED: Final = 128 + signal.SIGINT


def run_guarded(work: Callable[[], int], stopped: str = "") -> int:
    """Run ``work``; report every failure as one line, and return the exit code. ``stopped`` is printed after Ctrl-C."""
    # When a terminal or a CI job stops it, Spark and the temporary files must still be cleaned up.
    signal.signal(signal.SIGTERM, _stop)
    try:
        return work()
    except ReportError as error:
        for line in str(error).splitlines():
            say(f"error: {printable(line)}")
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        if stopped:
            say(stopped)
        return EXIT_INTERRUPTED
    except Exception as error:
        if not isinstance(error, JobError) or os.environ.get("FLOODMARK_DEBUG"):
            traceback.print_exc()
        say(f"internal error: {printable(first_line(error))}")
        return EXIT_INTERNAL


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    """Exit with the code of a signal after every clean-up."""
    raise SystemExit(128 + number)


def memory_size(text: str) -> str:
    """Check a heap size in Java's format. Raises ArgumentTypeError."""
    if re.fullmatch(r"[1-9]\d{0,5}[mg]", text) is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected megabytes or gigabytes, such as 800m or 4g")
    return text


def some_of(allowed: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of comma-separated lists of allowed names, which returns them in the order of ``allowed``."""

    def names(text: str) -> tuple[str, ...]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        for name in wanted or ["nothing"]:
            if name not in allowed:
                found = repr(name) if wanted else name
                raise argparse.ArgumentTypeError(f"found {found}, expected {', '.join(allowed)}")
        return tuple(name for name in allowed if name in wanted)

    return names


def local_directory(text: str) -> Path:
    """Return a local output directory. Raises ArgumentTypeError for a URI with a scheme."""
    found = parse_path(text)
    if not isinstance(found, Path):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a local directory; copy the report from there")
    return found
