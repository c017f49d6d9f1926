"""Campaigns and reports on Spark, in a separate process; losses are explained before a report."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster_model.util.quantities import counted, elapsed
from playbooks.campaign.runner import CampaignProgress, CampaignResult, take_result
from playbooks.campaign.store import CampaignWorkload
from playbooks.campaign.workloads.fuzz_workload import write_plan
from playbooks.errors import BAD_INPUT, INTERNAL, INTERRUPTED, PlaybookError, nearest
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError, has_scheme, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.version import VERSION
from tui.output.console import ProgressLine, print_error, print_line, stderr_console
from tui.terminal import self_command

# Explains sessions that lost records before a report, so that it has remedies for each loss.


MOST_SESSIONS: Final = 1
"""Sessions that a report explains by default: each is run dozens of times, which takes about a minute."""
MOST_EVENTS: Final = 60_000
"""Most trace events of a session that is explained by default; a longer one takes too long."""


def explain_losses(paths: Sequence[str], *, wanted: bool | None) -> None:
    """Explain the sessions among these that lost records and have no explanation yet.

    ``wanted`` is the option. None: the first short session that can be explained, and a line with the number of the
    others; True: all of them; False: none.

    Raises:
        KeyboardInterrupt: the user stopped it.
    """
    if wanted is False:
        return
    lossy = list(_lossy(paths))
    chosen = lossy if wanted else [path for path in lossy if _is_short(path)]
    position = explained = 0
    for position, path in enumerate(chosen, 1):
        count = f" ({position} of {len(chosen)})" if wanted and len(chosen) > 1 else ""
        print_line(stderr_console(), f"explaining the losses of {path.name}{count}; --no-why skips this", "dim")
        explained += _explain(path)
        if not wanted and explained == MOST_SESSIONS:
            break
    if left := len(lossy) - position:
        print_line(stderr_console(), f"{counted(left, 'session')} with losses not explained; --why explains all", "dim")


def _explain(path: Path) -> bool:
    """Explain a session and store the answer; return False after printing the reason if that is not possible."""
    from playbooks.diagnosis.why import (  # noqa: PLC0415 - most sessions lose nothing
        WhyError,
        explain_recorded,
        keep,
    )
    from playbooks.engine.replay import ReplayMismatchError  # noqa: PLC0415
    from playbooks.export.playbook_writer import ExportError  # noqa: PLC0415

    try:
        with ProgressLine(stderr_console()) as progress_line:
            why = explain_recorded(path, on_progress=lambda text: progress_line.update(lambda: text))
        keep(path, why)
    except (WhyError, PlaybookError, ExportError, ReplayMismatchError, session_files.SessionError, OSError) as error:
        print_line(stderr_console(), f"no remedies for {path.name}: {error}", "yellow")
        return False
    return True


def _lossy(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the complete local sessions that lost records and have no explanation yet."""
    unexplained: dict[Path, Path] = {}
    for given in paths:
        path = Path(given)
        if session_files.has_scheme(given) or not path.is_dir():
            continue
        own = [path] if (path / session_files.START).exists() else session_files.sessions_under(path)
        for each in own:
            unexplained.setdefault(each.resolve(), each)
    yield from filter(_is_unexplained, unexplained.values())


def _is_unexplained(path: Path) -> bool:
    try:
        manifest = session_files.read_manifest(path)
        ledger = session_files.read_object(path / session_files.RESULT).get("ledger")
        lost = isinstance(ledger, dict) and bool(ledger.get("acked_lost"))
        if manifest is None or manifest.source or manifest.status != "complete" or not lost:
            return False
    except session_files.LayoutError:
        return False
    return not session_files.read_why(path, manifest.digest, VERSION)


def _is_short(path: Path) -> bool:
    manifest = session_files.read_manifest(path)
    return manifest is not None and manifest.events <= MOST_EVENTS


# ``floodmark report``: starts the Spark job in a separate process; the command line itself never loads Spark.


SIGNALLED = 128
FORMATS = ("html", "markdown", "parquet", "json", "terminal")
"""Values of ``--format``."""


@dataclass(frozen=True, slots=True)
class Report:
    """The options of ``report`` as typed."""

    sessions: Sequence[str]
    out: Path | None = None
    formats: str | None = None
    master: str | None = None
    memory: str | None = None
    baseline: str | None = None
    why: bool | None = None
    """Whether to explain sessions that lost records; None: only the first short one."""


def report(request: Report) -> int:
    """Run the report over sessions; return its exit code."""
    sessions: list[str] = []
    good = _formats_known(request.formats)
    for text in request.sessions:
        try:
            sessions.append(_session_path(text))
        except SessionError as error:
            print_error(str(error))
            good = False
    baseline = None
    if request.baseline is not None:
        try:
            baseline = _session_path(request.baseline)
        except SessionError as error:
            print_error(f"--baseline: {error}")
            good = False
    if not good:
        return BAD_INPUT
    try:
        explain_losses([*sessions, *([baseline] if baseline else [])], wanted=request.why)
    except KeyboardInterrupt:
        print_line(stderr_console(), "stopped; an earlier report is unchanged", "yellow")
        return INTERRUPTED
    command = [*self_command.command("spark_report"), *sessions]
    given = (("--out", request.out), ("--format", request.formats), ("--master", request.master))
    for option, value in (*given, ("--memory", request.memory), ("--baseline", baseline)):
        if value is not None:
            command += [option, str(value)]
    return run_subprocess(command)


def _session_path(text: str) -> str:
    """Return the session's path; one on another file system is checked by Spark. Raises SessionError."""
    return text if has_scheme(text) else str(find_session(text, sessions_root()))


def _formats_known(text: str | None) -> bool:
    """Return whether every requested format is known; prints an error for the first unknown one."""
    if text is None:
        return True
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = next((name for name in names if name not in FORMATS), None)
    if names and unknown is None:
        return True
    found = "nothing" if unknown is None else repr(unknown)
    print_error(f"--format: found {found}, expected {', '.join(FORMATS)}")
    return False


def run_subprocess(command: list[str]) -> int:
    """Run a command and return its exit code. Ctrl-C also reaches the command, and its exit code counts."""
    try:
        process = subprocess.Popen(command, env=self_command.environment())
    except OSError as error:
        print_error(f"cannot start Spark: {error.strerror}")
        return INTERNAL
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else SIGNALLED - code


LOCAL: Final = "local"
SPARK: Final = "spark"
ENGINES: Final = (LOCAL, SPARK)
_HEAP: Final = re.compile(r"[1-9]\d{0,5}[mg]")
"""Heap size as spark-submit takes it; checked here, before a campaign's directory is created."""


class EngineError(Exception):
    """The engine failed with exit code ``code``; it has printed the reason itself."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def engine_error(engine: str | None, master: str | None, memory: str | None, *, workers: str = "") -> str:
    """Return the error in the options of an engine, empty if they are valid.

    ``workers`` is the name of the given option for the number of processes, empty if none is given.
    """
    if engine is not None and engine not in ENGINES:
        return f"--engine: found {engine!r}, expected {', '.join(ENGINES)}{nearest(engine, ENGINES)}"
    given = [name for name, value in (("--master", master), ("--memory", memory)) if value is not None]
    if engine != SPARK and given:
        beside = "without --engine" if engine is None else f"with --engine {engine}"
        return f"found {given[0]} {beside}, allowed only with --engine spark"
    if memory is not None and _HEAP.fullmatch(memory) is None:
        return f"--memory: found {memory!r}, expected megabytes or gigabytes, such as 800m or 4g"
    if engine == SPARK and workers:
        return f"found {workers} with --engine spark, expected --master, such as local[4] or spark://host:7077"
    return ""


def run_on_spark(
    folder: Path,
    work: CampaignWorkload,
    runs: int,
    master: str | None,
    memory: str | None,
    *,
    stop_on: str = "",
    quiet: bool = False,
) -> CampaignResult:
    """Run the missing runs on Spark, and return their totals. ``quiet`` prints no fleet report.

    Raises:
        EngineError: Spark failed; rows written so far are kept.
    """
    write_plan(folder, work)
    take_result(folder)
    command: Sequence[object] = (
        *(sys.executable, "-m", "spark_report.campaigns", folder, "--runs", runs),
        *(("--stop-on", stop_on) if stop_on else ()),
        *(("--master", master) if master is not None else ()),
        *(("--memory", memory) if memory is not None else ()),
        *(("--quiet",) if quiet else ()),
    )
    code = run_subprocess([str(word) for word in command])
    result = take_result(folder)
    if result is None and code == INTERRUPTED:
        print_line(stderr_console(), "stopped; the same command resumes")
    if result is None or code not in (0, INTERRUPTED):
        raise EngineError(code or INTERNAL)
    result.interrupted = result.interrupted or code == INTERRUPTED  # at least the fleet report is missing
    return result


# The progress of a campaign, in one line.


def campaign_progress_text(progress: CampaignProgress) -> str:
    """Return ``40 of 200 runs, 8.1/s, 0:00:20 left: 3 found, 1 surprising``, and the coverage of a storm."""
    left = f", {elapsed(round(progress.left_s))} left" if progress.left_s >= 0 else ""
    covered = f"; {progress.reached} of {progress.pairs} pairs of fault and state covered" if progress.pairs else ""
    return (
        f"{progress.done} of {progress.runs} runs, {progress.per_second:.1f}/s{left}: {progress.found} found, "
        f"{progress.unexpected} surprising{covered}"
    )
