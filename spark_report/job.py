"""The report job: recorded sessions in, a report out. Read, compute, tell, write; the middle knows no files."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console

from playbooks.session_format.session_files import LayoutError
from spark_report.input.sessions import Recorded, SetAside, collect, look_at
from spark_report.model.format import clean, several
from spark_report.model.report import Story, tell
from spark_report.pipes import Patient, say
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import Address, Somewhere, located
from spark_report.spark.session import Started, failures_told, start, under_spark_submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_report.tables.collect import Tables

FORMATS: Final = ("html", "markdown", "parquet", "json", "terminal")
REPORTS: Final = Path("reports")
_SLOW_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Outcome:
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
class Wanted:
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
        say(f"[{time.monotonic() - self._began:5.1f} s] {clean(what)}", self._stream)


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
) -> Outcome:
    """Report sessions, or directories of them.

    ``baseline`` is a session that the others are measured against; it is reported with them.
    ``spark`` is a session to use and leave running; without one the job starts its own, on ``master`` if given.

    Raises:
        ReportError: nothing can be read, there is no Java, or the report cannot be written.
        JobError: Spark failed on the way.
    """
    from spark_report.render.output import Staging  # noqa: PLC0415 - bad input should not wait for Arrow and Spark

    stage = stage or Stages()
    wanted = Wanted(master, memory, spark)
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
            amount = f"for {several(len(sessions), 'session')}, {several(events, 'event')}"
            started = up.enter_context(_spark(wanted, events, amount, stage))
        with failures_told(started, master):
            story = tell(sessions, set_aside, _computed(started.spark, sessions, stage), base)
        up.close()
        stage("writing")
        made = _written(staging.path, story, formats, target)
        staging.publish()
    if "terminal" in formats:
        from spark_report.render import text as terminal  # noqa: PLC0415

        terminal.show(console or Patient(), story)
    contradicted = tuple(session.session_id for session in story.sessions if session.disagreements)
    return Outcome(target, tuple(target / name for name in made), len(sessions), tuple(set_aside), contradicted)


def _baseline(path: Somewhere) -> str:
    """The id of the session to compare with."""
    try:
        return look_at(path).session_id
    except LayoutError as error:
        raise ReportError(f"--baseline: {error}") from error


def default_out(sessions: Sequence[Recorded]) -> Path:
    """Where a report goes when nobody says: ``reports/<session id>``, or ``reports/<n>-sessions-<first id>``."""
    # An id comes out of a file; it must not name another directory.
    first = re.sub(r"[^A-Za-z0-9._-]+", "-", sessions[0].session_id).strip(".-") or "session"
    return REPORTS / (first if len(sessions) == 1 else f"{len(sessions)}-sessions-{first}")


@contextlib.contextmanager
def _spark(
    wanted: Wanted, events: int | None, what: str, stage: Callable[[str], None]
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


def _computed(spark: "SparkSession", sessions: Sequence[Recorded], stage: Callable[[str], None]) -> "Tables":
    from spark_report.tables.compute import compute  # noqa: PLC0415 - imports PySpark

    return compute(spark, sessions, stage)


def _written(directory: Path, story: Story, formats: Sequence[str], target: Path) -> list[str]:
    """Write the report; an error names where it was to be in the end."""
    try:
        return _write(directory, story, formats)
    except OSError as error:
        raise ReportError(f"{target}: cannot write the report there: {error.strerror or error}") from error


def _write(directory: Path, story: Story, formats: Sequence[str]) -> list[str]:
    """Write the formats that are files; their names, the page first."""
    from spark_report.model.summary import all_tables  # noqa: PLC0415
    from spark_report.render import (
        html,  # noqa: PLC0415
        markdown,  # noqa: PLC0415
    )
    from spark_report.render import output as files  # noqa: PLC0415

    made = []
    tables = all_tables(story)
    if "html" in formats:
        html.write(directory / files.HTML, story)
        made.append(files.HTML)
    if "markdown" in formats:
        markdown.write(directory / files.MARKDOWN, story)
        made.append(files.MARKDOWN)
    if "json" in formats:
        files.write_json(directory / files.JSON, story, tables)
        made.append(files.JSON)
    if "parquet" in formats:
        files.write_parquet(directory / files.TABLES, tables)
        made.append(files.TABLES)
    if {"json", "parquet"} & set(formats):
        files.write_dictionary(directory / files.DICTIONARY)
        made.append(files.DICTIONARY)
    return made
