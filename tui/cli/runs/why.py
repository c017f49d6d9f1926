"""``floodmark why``: why records were lost, when that became inevitable, and what would have saved them."""

import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cluster_model.checker.root_cause import LOST
from playbooks.diagnosis.remedies import SEEDS, Remedy
from playbooks.diagnosis.why import (
    FindingDiagnosis,
    SessionCase,
    Why,
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
from tui.output.command_end import ended, to_text
from tui.output.console import ProgressLine, answers, complain, people, print_document, say
from tui.output.result import FINDINGS_SHOWN, say_wrapped
from tui.session.playbook_choice import PlaybookChoice, choose, settings_of

# The answer of ``floodmark why`` in lines: findings, the point of no return, and what would have saved them.


LABEL = 13
NOTHING = "nothing to explain: the session has no findings"
_INDENT = " " * LABEL
_NAMED = 6
"""Remedies that saved nothing, named one by one."""


def print_why(console: Console, why: Why, *, above: int = 0) -> None:
    """Everything, a paragraph for each finding; of the first ``above`` the sentence has been told already."""
    if not why.explained:
        say(console, NOTHING, "green")
    told: tuple[Remedy, ...] = ()
    for each in why.explained:
        _print_finding(console, each, above=each.number <= above)
        if each.remedies and each.remedies != told:
            told = each.remedies
            _print_remedies(console, told)


def _print_finding(console: Console, explained: FindingDiagnosis, *, above: bool) -> None:
    finding = explained.finding
    label = f"finding {explained.number}"
    told = f"{label} (above)" if above else f"{label:<{LABEL}}{finding.kind}: {finding.sentence}"
    say_wrapped(console, told, _INDENT, "red")
    if explained.no_return is not None:
        for name, words in no_return_words(explained.no_return):
            say_wrapped(console, f"{name:<{LABEL}}{words}", _INDENT)
    elif finding.kind == LOST:
        say_wrapped(console, f"{'no return':<{LABEL}}not looked for: --finding {explained.number} asks for it", _INDENT)
    else:
        say_wrapped(console, f"{'no return':<{LABEL}}not looked for: only for losses", _INDENT)


def _print_remedies(console: Console, remedies: Sequence[Remedy]) -> None:
    good = [each for each in remedies if each.verdict in ("saves", "helps")]
    if good:
        say(console, f"{'remedies':<{LABEL}}same seed, one thing set otherwise")
        for each in good:
            say_wrapped(console, f"  {remedy_words(each)}", " " * 4)
            for option in each.change.options:
                say(console, f"      --set {shlex.quote(option)}")
    else:
        say(console, f"{'remedies':<{LABEL}}none of the changes tried would have saved it", "yellow")
    for verdict in ("inconclusive", "would not have helped", "refused"):
        rest = [each for each in remedies if each.verdict == verdict]
        if rest:
            say_wrapped(console, f"{verdict}: {', '.join(map(_named, rest[:_NAMED]))}{_more(rest)}", "  ", "dim")


def _more(rest: Sequence[Remedy]) -> str:
    return f", and {len(rest) - _NAMED} more" if len(rest) > _NAMED else ""


def _named(remedy: Remedy) -> str:
    return f"{remedy.change.name} ({remedy.note})" if remedy.note else remedy.change.name


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """The options of ``why`` as typed."""

    source: str
    json: bool = False
    finding: int = 0
    """0: all of them."""
    seed: int | None = None
    settings: Sequence[str] = ()
    jobs: int = 0
    seeds: int = SEEDS
    at: str | None = None
    """Virtual time up to which a session is explained; None: the whole of it."""


def run_why(request: WhyRequest) -> int:
    """Explain a session or a playbook; 0 whatever the answer is."""
    try:
        return ended(lambda: _why(request))
    except (SettingError, WhyError) as error:
        complain(str(error))
        return BAD_INPUT
    except ExportError as error:
        complain(str(error))
        return FAILED


def _why(request: WhyRequest) -> int:
    console = people()
    with ProgressLine(console) as telling:
        case = _case(request, console, telling)
        telling.tell(lambda: f"running {case.playbook.name}")
        result = case.run()
        number = request.finding
        if request.at is not None and number:
            number = _closed(case, result, number)
        why = explain(
            case, result, number=number, workers=request.jobs, seeds=request.seeds,
            tell=lambda text: telling.tell(lambda: text),
        )  # fmt: skip
    if request.json:
        print_document(to_text(why.to_json()))
        return OK
    lines = answers()
    say(lines, f"{result.playbook}  {result.profile}  seed {result.seed}", "bold")
    print_why(lines, why)
    return OK


def _closed(case: SessionCase, result: SessionResult, number: int) -> int:
    """The number of a finding in the result, of one that is counted as the session stood."""
    standing = case.standing()
    if number > len(standing):
        raise WhyError(f"there is no finding {number} by then, the session has {len(standing) or 'none'}")
    return at_the_end(standing[number - 1], findings_of(result))


def _at(text: str | None) -> int:
    if text is None:
        return -1
    try:
        return duration_us(text)
    except UnitError:
        raise WhyError(f"--at: found {text!r}, allowed is {DURATION_ALLOWED}") from None


def _case(request: WhyRequest, console: Console, telling: ProgressLine) -> SessionCase:
    """What was typed: a session's directory, id or bundle, else a playbook.

    Raises:
        WhyError: options that do not go together.
    """
    root = sessions_root()
    path = Path(request.source)
    places = (path, session_files.directory_of(root, request.source), root / request.source)
    if any(place.is_dir() for place in places) or (path.is_file() and is_bundle(path)):
        if request.settings or request.seed is not None:
            raise WhyError("--seed and --set are for playbooks: a session is explained as it was")
        recorded = read_session(find_session(request.source, root))
        for note in recorded.notes:
            say(console, f"note: {note}", "yellow")
        return case_of(recorded, lambda text: telling.tell(lambda: text), at_us=_at(request.at))
    if request.at is not None:
        raise WhyError("--at is for sessions: of a playbook the whole run is explained")
    chosen = choose(request.source, request.seed, settings_of(request.settings))
    return SessionCase(chosen.playbook, chosen.seed)


def after_run(
    console: Console, chosen: PlaybookChoice, result: SessionResult, *, wanted: bool | None, until_us: int
) -> Why | None:
    """The same behind the verdict of ``floodmark run``, where records were lost.

    ``wanted`` is what was typed, None for nothing: then a session by hand is explained, for that takes no time, and a
    timed one on a terminal if it is short; of the others a line tells the command. A run with ``--plain``, ``--json``
    or several playbooks never comes here. Returns what was told, None for nothing.
    """
    if wanted is False or not (wanted or result.ledger.acked_lost):
        return None
    short = chosen.playbook.spec.manual or (console.is_terminal and result.events <= MOST_EVENTS)
    if not (wanted or short):
        say(console, f"why      {_command(chosen, result)}", "dim")
        return None
    case = SessionCase(chosen.playbook, chosen.seed, until_us)
    try:
        with ProgressLine(people()) as telling:
            why = explain(case, result, tell=lambda text: telling.tell(lambda: text))
    except KeyboardInterrupt:
        say(people(), f"why      stopped; go on with: {_command(chosen, result)}", "yellow")
        return None
    print_why(console, why, above=FINDINGS_SHOWN)
    if result.session:
        # A report finds it there; without it the report asks again.
        with contextlib.suppress(OSError):
            keep(Path(result.session), why)
    return why


def _command(chosen: PlaybookChoice, result: SessionResult) -> str:
    return f"floodmark why {result.session or chosen.playbook.path}"
