"""Playbook as a test case for any test runner: loaded, run, and reported on failure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import counted, time_in_seconds
from playbooks.campaign.workloads.grid_workload import GridRun, jobs_of
from playbooks.engine.expectations import NEVER_EVALUATED
from playbooks.engine.session_runner import start_session
from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook, cell_label
from playbooks.parser.document.grid import AxisError
from playbooks.parser.loader import changed, load, loads
from playbooks.parser.settings import SettingError, parse_setting
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.results.result import ExpectationResult, SessionResult

CAUSES: Final = 5
"""Maximum number of losses listed individually."""
OF_FILES: Final = ".floodmark"
"""Suffix of the names of test files, which case names lack."""


class CaseError(Exception):
    """A playbook that cannot be run: all errors, one per line, with their positions."""


class Failed(Exception):  # noqa: N818 - named as the outcome in pytest
    """A run that did not pass; the message is the report."""

    def __init__(self, result: SessionResult, report: str) -> None:
        super().__init__(report)
        self.result = result


@dataclass(frozen=True, slots=True)
class PlaybookCase:
    """One run of a playbook as a test case."""

    name: str
    playbook: Playbook
    seed: int
    settings: Mapping[str, str] = field(default_factory=dict)
    """Changed settings, as for ``--set``."""
    is_cell: bool = False
    """Whether it is a cell of a grid."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags for selection."""
        return self.playbook.tags

    @property
    def command(self) -> str:
        """Command that repeats the run."""
        words = ["floodmark", "run", self.playbook.path, "--seed", str(self.seed)]
        for path, value in self.settings.items():
            words += ["--set", f"{path}={value}"]
        return shlex.join([*words, *(["--no-vary"] if self.is_cell else [])])


def cases_of(path: Path, seed: int | None = None, settings: Sequence[str] = ()) -> list[PlaybookCase]:
    """Return the cases of a file: one, or one for each cell of its grid.

    Raises:
        CaseError: with all errors, before or after the settings.
    """
    shown = _shortest(path)
    try:
        made = dict(parse_setting(text) for text in settings)
        return list(_cells(changed(load(shown), made), seed, made))
    except PlaybookError as error:
        raise CaseError(str(error)) from None
    except (SettingError, AxisError) as error:
        raise CaseError(f"{shown}: {error}") from None


def _shortest(path: Path) -> Path:
    """Return the path relative to the current directory if possible."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _cells(playbook: Playbook, seed: int | None, made: Mapping[str, str]) -> Iterator[PlaybookCase]:
    plain = playbook.name.removesuffix(OF_FILES)
    if playbook.grid is None:
        yield PlaybookCase(plain, playbook, playbook.seed if seed is None else seed, made)
        return
    varying = GridRun(playbook, playbook.grid, playbook.seed if seed is None else seed, made)
    for cell, job in jobs_of(varying):
        its = loads(job.text, job.path, job.fragments)
        chosen = varying.seed if job.seed is None else job.seed
        yield PlaybookCase(f"{plain}[{cell_label(cell)}]", its, chosen, job.settings, is_cell=True)


def run_case(case: PlaybookCase, sessions: Path | None = None) -> SessionResult:
    """Run a case, recorded in ``sessions`` if given; return its result if it passed.

    Raises:
        Failed: it did not pass; the message is the report.
        CaseError: its cluster cannot be built, or the session cannot be written.
    """
    recorder = Recorder(sessions, settings=case.settings) if sessions is not None else None
    try:
        result = start_session(case.playbook, seed=case.seed, recorder=recorder).finish()
    except (ModelError, RecordingError) as error:
        raise CaseError(f"{case.playbook.path}: {error}") from None
    if result.verdict != "pass":
        raise Failed(result, "\n".join(report(case, result)))
    return result


def report(case: PlaybookCase, result: SessionResult) -> list[str]:
    """Return the report of a failed run: the reason, and the command that repeats it."""
    lines = [f"{result.verdict.upper()}: {_why(result)}", *(result.title,) * (result.title != result.playbook), ""]
    lines += [_checked(each) for each in result.expectations if not each.ok]
    kept = sum(each.ok for each in result.expectations)
    lines += [f"ok       {counted(kept, 'expectation')}"] if kept else []
    ledger = result.ledger
    lines.append(
        f"ledger   {ledger.sent} sent, {ledger.acked} acked, {ledger.failed} failed, {ledger.unknown} unknown, "
        f"{ledger.acked_lost} acked lost, {ledger.duplicates} duplicates"
    )
    found = result.findings
    lines += [f"{each.kind:<8} {each.sentence}" for each in found[:CAUSES]]
    lines += [f"         and {counted(len(found) - CAUSES, 'more finding')}"] if len(found) > CAUSES else []
    for each in result.violations[:CAUSES]:
        word, known = ("known", f" ({each.known})") if each.known else ("violated", "")
        lines.append(
            f"{word:<9}{each.invariant} at {time_in_seconds(each.at_us)}: {each.partition} {each.detail}{known}"
        )
    lines += ["", f"seed     {result.seed}  {result.profile}", f"digest   {result.digest}"]
    lines += [f"session  {result.session}"] if result.session else []
    return [*lines, f"again    {case.command}"]


def _why(result: SessionResult) -> str:
    """Return the reason in one line: why it is inconclusive, or the first failed expectation."""
    failed = [each.text for each in result.expectations if not each.ok]
    more = f" and {counted(len(failed) - 1, 'other')}" if len(failed) > 1 else ""
    return result.reason or f"{failed[0] if failed else 'an expectation'}{more} did not hold"


def _checked(checked: ExpectationResult) -> str:
    word = "unasked" if checked.detail.endswith(NEVER_EVALUATED) else "FAILED"
    return f"{word:<9}{checked.text}{f'  ({checked.detail})' if checked.detail else ''}"
