"""Runs campaigns and reports, on Spark in a process of its own; losses are explained before a report over them."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster_model.util.quantities import counted, elapsed
from playbooks.campaign.runner import CampaignProgress, Come, take_come
from playbooks.campaign.store import CampaignWorkload
from playbooks.campaign.workloads.fuzz_workload import write_plan
from playbooks.errors import BAD_INPUT, INTERNAL, INTERRUPTED, PlaybookError, nearest
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError, has_scheme, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.version import VERSION
from tui.output.console import ProgressLine, complain, people, say
from tui.terminal import self_command

# Explains sessions that lost records before a report over them, so that the page has remedies beside each loss.


MOST_SESSIONS: Final = 1
"""Sessions that a report explains by itself: each is run again some dozens of times, which takes about a minute."""
MOST_EVENTS: Final = 60_000
"""Trace events of a session that is explained without being asked: more of them take longer than one waits."""


def explain_losses(paths: Sequence[str], *, wanted: bool | None) -> None:
    """Explain the sessions among these that lost records and have no explanation yet.

    ``wanted`` is what was typed. None: of the short ones the first that can be explained, and a line says how many are
    left; True: all of them.

    Raises:
        KeyboardInterrupt: it was stopped.
    """
    if wanted is False:
        return
    lossy = list(_lossy(paths))
    chosen = lossy if wanted else [path for path in lossy if _is_short(path)]
    asked = explained = 0
    for asked, path in enumerate(chosen, 1):
        count = f" ({asked} of {len(chosen)})" if wanted and len(chosen) > 1 else ""
        say(people(), f"asking why {path.name} lost records{count}; --no-why leaves it out", "dim")
        explained += _explain(path)
        if not wanted and explained == MOST_SESSIONS:
            break
    if left := len(lossy) - asked:
        say(people(), f"{counted(left, 'session')} that lost records not asked why: --why asks all of them", "dim")


def _explain(path: Path) -> bool:
    """Explain a session and keep the answer; False, and a line says why, where that is not possible."""
    from playbooks.diagnosis.why import (  # noqa: PLC0415 - most sessions lose nothing
        WhyError,
        explain_recorded,
        keep,
    )
    from playbooks.engine.replay import ReplayMismatchError  # noqa: PLC0415
    from playbooks.export.playbook_writer import ExportError  # noqa: PLC0415

    try:
        with ProgressLine(people()) as telling:
            why = explain_recorded(path, tell=lambda text: telling.tell(lambda: text))
        keep(path, why)
    except (WhyError, PlaybookError, ExportError, ReplayMismatchError, session_files.SessionError, OSError) as error:
        say(people(), f"no remedies for {path.name}: {error}", "yellow")
        return False
    return True


def _lossy(paths: Sequence[str]) -> Iterator[Path]:
    """The whole sessions on this machine that lost records, and of which nobody knows why yet."""
    found: dict[Path, Path] = {}
    for given in paths:
        path = Path(given)
        if session_files.has_scheme(given) or not path.is_dir():
            continue
        own = [path] if (path / session_files.START).exists() else session_files.sessions_under(path)
        for each in own:
            found.setdefault(each.resolve(), each)
    yield from filter(_is_unexplained, found.values())


def _is_unexplained(path: Path) -> bool:
    try:
        manifest = session_files.read_manifest(path)
        ledger = session_files.read_object(path / session_files.RESULT).get("ledger")
        lost = isinstance(ledger, dict) and bool(ledger.get("acked_lost"))
        if manifest is None or manifest.status != "complete" or not lost:
            return False
    except session_files.LayoutError:
        return False
    return not session_files.read_why(path, manifest.digest, VERSION)


def _is_short(path: Path) -> bool:
    manifest = session_files.read_manifest(path)
    return manifest is not None and manifest.events <= MOST_EVENTS


# ``floodmark report``: starts the Spark job in a process of its own; the command line itself never loads Spark.


SIGNALLED = 128
FORMATS = ("html", "markdown", "parquet", "json", "terminal")
"""What ``--format`` may name."""


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
    """Whether sessions that lost records are asked why; None: the first that is short."""


def report(request: Report) -> int:
    """Run the report over sessions; its exit code."""
    sessions: list[str] = []
    good = _formats_known(request.formats)
    for text in request.sessions:
        try:
            sessions.append(_found(text))
        except SessionError as error:
            complain(str(error))
            good = False
    baseline = None
    if request.baseline is not None:
        try:
            baseline = _found(request.baseline)
        except SessionError as error:
            complain(f"--baseline: {error}")
            good = False
    if not good:
        return BAD_INPUT
    try:
        explain_losses([*sessions, *([baseline] if baseline else [])], wanted=request.why)
    except KeyboardInterrupt:
        say(people(), "stopped; an earlier report is as it was", "yellow")
        return INTERRUPTED
    command = [*self_command.command("spark_report"), *sessions]
    told = (("--out", request.out), ("--format", request.formats), ("--master", request.master))
    for option, value in (*told, ("--memory", request.memory), ("--baseline", baseline)):
        if value is not None:
            command += [option, str(value)]
    return run_to_its_end(command)


def _found(text: str) -> str:
    """The session that is meant; of one on another file system Spark finds out. Raises SessionError."""
    return text if has_scheme(text) else str(find_session(text, sessions_root()))


def _formats_known(text: str | None) -> bool:
    """Whether every format asked for is one; complains about the first that is none."""
    if text is None:
        return True
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = next((name for name in names if name not in FORMATS), None)
    if names and unknown is None:
        return True
    found = "nothing" if unknown is None else repr(unknown)
    complain(f"--format: found {found}, allowed are {', '.join(FORMATS)}")
    return False


def run_to_its_end(command: list[str]) -> int:
    """Run a command to its end. Ctrl-C reaches it as well; what counts is how it ends then."""
    try:
        process = subprocess.Popen(command, env=self_command.environment())
    except OSError as error:
        complain(f"cannot start Spark: {error.strerror}")
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
"""What Spark's own process takes; refused here so that no campaign's directory is made for it."""


class EngineError(Exception):
    """The engine did not get to the end; ``code`` is the exit code, and it has said why itself."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def why_not(engine: str | None, master: str | None, memory: str | None, *, workers: str = "") -> str:
    """What is wrong with the options of an engine, empty if nothing is.

    ``workers`` is the option by which a number of processes was asked for, empty if none was.
    """
    if engine is not None and engine not in ENGINES:
        return f"--engine: found {engine!r}, allowed are {', '.join(ENGINES)}{nearest(engine, ENGINES)}"
    given = [name for name, value in (("--master", master), ("--memory", memory)) if value is not None]
    if engine != SPARK and given:
        beside = "without --engine" if engine is None else f"with --engine {engine}"
        return f"found {given[0]} {beside}, allowed is it with --engine spark"
    if memory is not None and _HEAP.fullmatch(memory) is None:
        return f"--memory: found {memory!r}, expected megabytes or gigabytes, such as 800m or 4g"
    if engine == SPARK and workers:
        return f"found {workers} with --engine spark, allowed is --master, such as local[4] or spark://host:7077"
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
) -> Come:
    """Do the runs that are missing; what they came to, as Spark added it up. ``quiet`` prints no fleet report.

    Raises:
        EngineError: it failed; what has landed stays.
    """
    write_plan(folder, work)
    take_come(folder)
    command: Sequence[object] = (
        *(sys.executable, "-m", "spark_report.campaigns", folder, "--runs", runs),
        *(("--stop-on", stop_on) if stop_on else ()),
        *(("--master", master) if master is not None else ()),
        *(("--memory", memory) if memory is not None else ()),
        *(("--quiet",) if quiet else ()),
    )
    code = run_to_its_end([str(word) for word in command])
    come = take_come(folder)
    if come is None and code == INTERRUPTED:
        say(people(), "stopped; the same command goes on")
    if come is None or code not in (0, INTERRUPTED):
        raise EngineError(code or INTERNAL)
    come.interrupted = come.interrupted or code == INTERRUPTED  # its report is missing, if nothing else
    return come


# The progress of a campaign, in one line.


def standing_words(standing: CampaignProgress) -> str:
    """``40 of 200 runs, 8.1/s, 0:00:20 left: 3 found, 1 surprising``, and how much a storm has reached."""
    left = f", {elapsed(round(standing.left_s))} left" if standing.left_s >= 0 else ""
    covered = f"; {standing.reached} of {standing.pairs} pairs of fault and state reached" if standing.pairs else ""
    return (
        f"{standing.done} of {standing.runs} runs, {standing.per_second:.1f}/s{left}: {standing.found} found, "
        f"{standing.surprising} surprising{covered}"
    )
