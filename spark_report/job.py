"""The report job: recorded sessions in, a report out; and what all commands that run Spark share."""

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
from spark_report.input.sessions import SessionInput, SetAside, collect, look_at
from spark_report.model.report import ReportStory, tell
from spark_report.spark.errors import JobError, ReportError, first_line
from spark_report.spark.hadoop_fs import Address, Somewhere, located, place
from spark_report.spark.session import Started, failures_told, start, under_spark_submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_report.tables.collect import Tables


# Writing to readers that may leave, as ``head`` does: the report is made all the same, and ends quietly.


class Patient(Console):
    """A console that falls silent when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Write no more, and let what is still buffered go nowhere."""
        self.quiet = True
        silence(self.file)


def say(text: str, stream: TextIO | None = None) -> None:
    """One line for a person, on stderr unless told otherwise; no error where nobody reads it any more."""
    stream = stream or sys.stderr
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        silence(stream)


def silence(stream: IO[Any]) -> None:
    """Point a stream whose reader has gone at nothing: Python would complain as it flushes it at the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


FORMATS: Final = ("html", "markdown", "parquet", "json", "terminal")
REPORTS: Final = Path("reports")
_SLOW_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job left behind."""

    out: Path
    """Directory of the report's files."""
    files: tuple[Path, ...]
    """The files and directories written, the page first."""
    reported: int
    set_aside: tuple[SetAside, ...]
    contradicted: tuple[str, ...] = ()
    """Sessions that say something of themselves which their events do not bear out."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Which Spark a job is to use: one at hand, or one to start."""

    master: str | None = None
    memory: str | None = None
    spark: "SparkSession | None" = None


class Stages:
    """Tells a person what is going on and since when: a Spark job is silent for seconds at a time."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        """Print one line with the time since the beginning."""
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

    ``baseline`` is a session that the others are measured against; it is reported with them.
    ``spark`` is a session to use and leave running; without one the job starts its own, on ``master`` if given.

    Raises:
        ReportError: nothing can be read, there is no Java, or the report cannot be written.
        JobError: Spark failed on the way.
    """
    from spark_report.render.output import Staging  # noqa: PLC0415 - bad input should not wait for Arrow and Spark

    stage = stage or Stages()
    wanted = SparkOptions(master, memory, spark)
    with contextlib.ExitStack() as work:
        up = work.enter_context(contextlib.ExitStack())
        given: list[Somewhere]
        started = None
        if any(isinstance(path, Address) for path in (*paths, baseline)):
            if out is not None:
                with Staging(out):  # a directory that cannot be written to should not wait for Spark
                    pass
            started = up.enter_context(_spark(wanted, None, "to look at the sessions", stage))
            stage("looking at the sessions")
        with failures_told(started, master) if started else contextlib.nullcontext():
            given = located(started, [*paths, *([baseline] if baseline else [])])
            base = _baseline(given[-1]) if baseline else ""
            sessions, set_aside = collect(given)
        for aside in set_aside:
            stage(f"set aside: {aside.reason}")
        target = out or default_out(sessions)
        staging = work.enter_context(Staging(target))
        if started is None:
            events = sum(session.last_seq + 1 for session in sessions)
            amount = f"for {counted(len(sessions), 'session')}, {counted(events, 'event')}"
            started = up.enter_context(_spark(wanted, events, amount, stage))
        with failures_told(started, master):
            story = tell(sessions, set_aside, _computed(started.spark, sessions, stage), base)
        up.close()
        stage("writing")
        made = _written(staging.path, story, formats, target)
        staging.publish()
    if "terminal" in formats:
        from spark_report.render import text  # noqa: PLC0415

        text.show_in_terminal(console or Patient(), story)
    contradicted = tuple(session.session_id for session in story.sessions if session.disagreements)
    return JobResult(target, tuple(target / name for name in made), len(sessions), tuple(set_aside), contradicted)


def _baseline(path: Somewhere) -> str:
    """The id of the session to compare with."""
    try:
        return look_at(path).session_id
    except LayoutError as error:
        raise ReportError(f"--baseline: {error}", code=error.code) from error


def default_out(sessions: Sequence[SessionInput]) -> Path:
    """Where a report goes when nobody says: ``reports/<session id>``, or ``reports/<n>-sessions-<first id>``."""
    # An id comes out of a file; it must not name another directory.
    first = re.sub(r"[^A-Za-z0-9._-]+", "-", sessions[0].session_id).strip(".-") or "session"
    return REPORTS / (first if len(sessions) == 1 else f"{len(sessions)}-sessions-{first}")


@contextlib.contextmanager
def _spark(
    wanted: SparkOptions, events: int | None, what: str, stage: Callable[[str], None]
) -> Iterator[Started]:  # fmt: skip
    """The Spark that is wanted, for as long as the block runs."""
    if wanted.spark is not None:
        yield Started(wanted.spark, "given", None)
        return
    if not under_spark_submit():
        stage(f"starting Spark {what}")
    began = time.monotonic()
    with start(wanted.master, events, memory=wanted.memory) as started:
        stage(f"Spark {started.spark.version} is up ({started.origin})")
        yield started
    if started.cold and time.monotonic() - began > _SLOW_SECONDS:
        stage("every report starts faster after `floodmark spark warm`, once")


def _computed(spark: "SparkSession", sessions: Sequence[SessionInput], stage: Callable[[str], None]) -> "Tables":
    from spark_report.tables.compute import compute  # noqa: PLC0415 - imports PySpark

    return compute(spark, sessions, stage)


def _written(directory: Path, story: ReportStory, formats: Sequence[str], target: Path) -> list[str]:
    """Write the report; an error names where it was to be in the end."""
    try:
        return _write(directory, story, formats)
    except OSError as error:
        raise ReportError(
            f"{target}: cannot write the report there: {error.strerror or error}", code="unwritable"
        ) from error


def _write(directory: Path, story: ReportStory, formats: Sequence[str]) -> list[str]:
    """Write the formats that are files; their names, the page first."""
    from spark_report.model.comparison import all_tables  # noqa: PLC0415
    from spark_report.render import html, output, text  # noqa: PLC0415

    made = []
    tables = all_tables(story)
    if "html" in formats:
        html.write_html(directory / output.HTML, story)
        made.append(output.HTML)
    if "markdown" in formats:
        text.write_markdown(directory / output.MARKDOWN, story)
        made.append(output.MARKDOWN)
    if "json" in formats:
        output.write_json(directory / output.JSON, story, tables)
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


def guarded(work: Callable[[], int], stopped: str = "") -> int:
    """Do it; every way to fail is one line and an exit code. ``stopped`` is said after Ctrl-C."""
    # What is stopped by its terminal or its CI job must still take Spark and its temporary files down.
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
    """End as a signal would, by way of every clean-up."""
    raise SystemExit(128 + number)


def memory_size(text: str) -> str:
    """A heap as Java takes it. Raises ArgumentTypeError for what is none."""
    if re.fullmatch(r"[1-9]\d{0,5}[mg]", text) is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected megabytes or gigabytes, such as 800m or 4g")
    return text


def some_of(allowed: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """What reads a list with commas of names that are allowed, and gives them in the order of ``allowed``."""

    def names(text: str) -> tuple[str, ...]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        for name in wanted or ["nothing"]:
            if name not in allowed:
                found = repr(name) if wanted else name
                raise argparse.ArgumentTypeError(f"found {found}, allowed are {', '.join(allowed)}")
        return tuple(name for name in allowed if name in wanted)

    return names


def local_directory(text: str) -> Path:
    """A directory to write to. Raises ArgumentTypeError where it is behind a scheme."""
    found = place(text)
    if not isinstance(found, Path):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a directory on a disk, to be copied from there")
    return found
