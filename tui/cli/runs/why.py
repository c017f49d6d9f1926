"""``floodmark why``: why a session failed, when a loss became inevitable, and what would have prevented it."""

import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cluster_model.checker.root_cause import LOST
from playbooks.diagnosis.issue_search import CausingIssue, issue_words, search_words
from playbooks.diagnosis.remedies import SEEDS, Remedy
from playbooks.diagnosis.why import (
    FailureDiagnosis,
    FindingDiagnosis,
    LossExplanation,
    SessionCase,
    WhyError,
    at_the_end,
    case_of,
    explain,
    findings_of,
    keep,
    no_return_words,
    remedy_words,
)
from playbooks.errors import BAD_INPUT, FAILED, OK
from playbooks.export.playbook_writer import ExportError
from playbooks.parser.settings import SettingError
from playbooks.recording.reader import read_session
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.session_format.bundle import is_bundle
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.units import DURATION_ALLOWED, UnitError, duration_us
from tui.cli.runs.spark_jobs import MOST_EVENTS
from tui.output.command_end import exit_code_of, to_text
from tui.output.console import ProgressLine, print_document, print_error, print_line, stderr_console, stdout_console
from tui.output.result import FINDINGS_SHOWN, print_wrapped
from tui.session.playbook_choice import PlaybookChoice, choose, settings_of

# The answer of ``floodmark why`` as lines: findings, points of no return, and remedies.


LABEL = 20
NOTHING = "nothing to explain: the session has no findings and no failures"
NO_RETURN = "point of no return"
_INDENT = " " * LABEL
_NAMED = 6
"""Remedies without effect that are named one by one; the rest is counted."""


def print_why(console: Console, why: LossExplanation, *, above: int = 0) -> None:
    """Print a paragraph for each finding; the sentences of the first ``above`` findings are printed already."""
    if not (why.explained or why.failures):
        print_line(console, NOTHING, "green")
    printed: tuple[Remedy, ...] = ()
    described: set[str] = set()
    for each in why.explained:
        _print_finding(console, each, described, above=each.number <= above)
        if each.remedies and each.remedies != printed:
            printed = each.remedies
            _print_remedies(console, printed)
    for failure in why.failures:
        _print_failure(console, failure, described)
    if tried := search_words(why.search):
        print_wrapped(console, f"{'known issues':<{LABEL}}{tried}", _INDENT, "dim")


def _print_failure(console: Console, diagnosis: FailureDiagnosis, described: set[str]) -> None:
    failure = diagnosis.failure
    known = " (known of this release)" if failure.known else ""
    print_wrapped(console, f"{failure.kind:<{LABEL}}{failure.name}{known}", _INDENT, "red")
    _print_issues(console, diagnosis.issues, described)


def _print_issues(console: Console, issues: Sequence[CausingIssue], described: set[str]) -> None:
    """Print the causes of a finding or failure; those that are ``described`` already, by number alone."""
    for cause in issues:
        number = cause.issue.number
        words = issue_words(cause) if number not in described else [("known issue", f"caused by {number} (above)")]
        described.add(number)
        for label, text in words:
            print_wrapped(console, f"{label:<{LABEL}}{text}", _INDENT)


def _print_finding(console: Console, explained: FindingDiagnosis, described: set[str], *, above: bool) -> None:
    finding = explained.finding
    label = f"finding {explained.number}"
    heading = f"{label} (above)" if above else f"{label:<{LABEL}}{finding.kind}: {finding.sentence}"
    print_wrapped(console, heading, _INDENT, "red")
    _print_issues(console, explained.issues, described)
    if explained.no_return is not None:
        for name, text in no_return_words(explained.no_return):
            print_wrapped(console, f"{name:<{LABEL}}{text}", _INDENT)
    elif finding.kind == LOST:
        hint = f"not computed: use --finding {explained.number}"
        print_wrapped(console, f"{NO_RETURN:<{LABEL}}{hint}", _INDENT)
    else:
        print_wrapped(console, f"{NO_RETURN:<{LABEL}}only for losses", _INDENT)


def _print_remedies(console: Console, remedies: Sequence[Remedy]) -> None:
    good = [each for each in remedies if each.verdict in ("saves", "helps")]
    if good:
        print_line(console, f"{'remedies':<{LABEL}}same seed, one setting changed per run")
        for each in good:
            print_wrapped(console, f"  {remedy_words(each)}", " " * 4)
            for option in each.change.options:
                print_line(console, f"      --set {shlex.quote(option)}")
    else:
        print_line(console, f"{'remedies':<{LABEL}}none of the tried changes prevents it", "yellow")
    for verdict in ("inconclusive", "would not have helped", "refused"):
        rest = [each for each in remedies if each.verdict == verdict]
        if rest:
            print_wrapped(console, f"{verdict}: {', '.join(map(_named, rest[:_NAMED]))}{_more(rest)}", "  ", "dim")


def _more(remedies: Sequence[Remedy]) -> str:
    return f", and {len(remedies) - _NAMED} more" if len(remedies) > _NAMED else ""


def _named(remedy: Remedy) -> str:
    return f"{remedy.change.name} ({remedy.note})" if remedy.note else remedy.change.name


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """The options of ``why`` as typed."""

    source: str
    json: bool = False
    finding: int = 0
    """Number of the finding to explain; 0: all."""
    seed: int | None = None
    settings: Sequence[str] = ()
    jobs: int = 0
    seeds: int = SEEDS
    at: str | None = None
    """Virtual time as of which a session is explained; None: its end."""


def run_why(request: WhyRequest) -> int:
    """Explain a session or a playbook; return 0 with any answer, also when nothing was lost."""
    try:
        return exit_code_of(lambda: _why(request))
    except (SettingError, WhyError) as error:
        print_error(str(error))
        return BAD_INPUT
    except ExportError as error:
        print_error(str(error))
        return FAILED


def _why(request: WhyRequest) -> int:
    console = stderr_console()
    with ProgressLine(console) as progress_line:
        case = _case(request, console, progress_line)
        progress_line.update(lambda: f"running {case.playbook.name}")
        result = case.run()
        number = request.finding
        if request.at is not None and number:
            number = _closed(case, result, number)
        why = explain(
            case, result, number=number, workers=request.jobs, seeds=request.seeds,
            on_progress=lambda text: progress_line.update(lambda: text),
        )  # fmt: skip
    if request.json:
        print_document(to_text(why.to_json()))
        return OK
    lines = stdout_console()
    print_line(lines, f"{result.playbook}  {result.profile}  seed {result.seed}", "bold")
    print_why(lines, why)
    return OK


def _closed(case: SessionCase, result: SessionResult, number: int) -> int:
    """Return the number in the result of a finding that is counted as of ``--at``."""
    at_cutoff = case.findings_at_cutoff()
    if number > len(at_cutoff):
        raise WhyError(f"--finding: found {number}, but the session has {len(at_cutoff) or 'none'} at that time")
    return at_the_end(at_cutoff[number - 1], findings_of(result))


def _at(text: str | None) -> int:
    if text is None:
        return -1
    try:
        return duration_us(text)
    except UnitError:
        raise WhyError(f"--at: found {text!r}, expected {DURATION_ALLOWED}") from None


def _case(request: WhyRequest, console: Console, progress_line: ProgressLine) -> SessionCase:
    """Load the source: a session's directory, id or bundle, else a playbook.

    Raises:
        WhyError: options conflict.
    """
    root = sessions_root()
    path = Path(request.source)
    directories = (path, session_files.directory_of(root, request.source), root / request.source)
    if any(directory.is_dir() for directory in directories) or (path.is_file() and is_bundle(path)):
        if request.settings or request.seed is not None:
            raise WhyError("found --seed or --set with a recorded session, allowed only with a playbook")
        recorded = read_session(find_session(request.source, root))
        for note in recorded.notes:
            print_line(console, f"note: {note}", "yellow")
        return case_of(recorded, lambda text: progress_line.update(lambda: text), at_us=_at(request.at))
    if request.at is not None:
        raise WhyError("found --at with a playbook, allowed only with a recorded session")
    chosen = choose(request.source, request.seed, settings_of(request.settings))
    return SessionCase(chosen.playbook, chosen.seed)


def after_run(
    console: Console, chosen: PlaybookChoice, result: SessionResult, *, wanted: bool | None, until_us: int
) -> LossExplanation | None:
    """Explain losses after the verdict of ``floodmark run``.

    ``wanted`` is the option; with None a manual session is explained, which is quick, and on a terminal a short timed
    one; for others the command is printed. A run with ``--plain``, ``--json`` or several playbooks never calls this.
    Returns the explanation, None if there is none.
    """
    if wanted is False or not (wanted or result.ledger.acked_lost):
        return None
    short = chosen.playbook.spec.manual or (console.is_terminal and result.events <= MOST_EVENTS)
    if not (wanted or short):
        print_line(console, f"why      {_command(chosen, result)}", "dim")
        return None
    case = SessionCase(chosen.playbook, chosen.seed, until_us)
    try:
        with ProgressLine(stderr_console()) as progress_line:
            why = explain(case, result, on_progress=lambda text: progress_line.update(lambda: text))
    except KeyboardInterrupt:
        print_line(stderr_console(), f"why      stopped; run again with: {_command(chosen, result)}", "yellow")
        return None
    print_why(console, why, above=FINDINGS_SHOWN)
    if result.session:
        # A report reads it from there; without it the report explains the session again.
        with contextlib.suppress(OSError):
            keep(Path(result.session), why)
    return why


def _command(chosen: PlaybookChoice, result: SessionResult) -> str:
    return f"floodmark why {result.session or chosen.playbook.path}"
