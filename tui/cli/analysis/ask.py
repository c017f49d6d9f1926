"""``floodmark ask``: whether an action is safe, by simulating many seeds."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playbooks.engine.replay import playbook_of
from playbooks.errors import BAD_INPUT, INTERNAL
from playbooks.model import Playbook
from playbooks.parser.loader import read_text
from playbooks.parser.settings import SettingError
from playbooks.recording.reader import RecordedSession, read_session
from playbooks.safety_check import (
    EXIT_CODES,
    STALL_US,
    SafetyCheckError,
    SafetyCheckResult,
    StartPoint,
    StartPointError,
    TimePoint,
    WitnessError,
    ask,
    check_question,
    lines,
    of_playbook,
    of_session,
    prepare,
    title,
    to_json,
    witness,
    witness_text,
)
from playbooks.session_format.session_files import SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.units import DURATION_ALLOWED, UnitError, duration_us
from tui.output.command_end import exit_code_of, to_text, write_file
from tui.output.console import ProgressLine, print_document, print_error, print_line, stderr_console, stdout_console
from tui.session.playbook_choice import choose, settings_of

_STYLES: Final = {"safe": "bold green", "refused": "bold yellow", "inconclusive": "bold yellow"}
_WITNESSED: Final = ("loses", "violates", "skips", "stalls")
"""Verdicts with which the worst run is written by default."""
_SHORTEST_US: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class AskRequest:
    """The options of ``ask`` as typed."""

    source: str
    question: str = ""
    at: str | None = None
    seeds: int = 20
    horizon: str | None = None
    stall: str | None = None
    steps: Path | None = None
    seed: int | None = None
    settings: Sequence[str] = ()
    witness: Path | None = None
    no_witness: bool = False
    force: bool = False
    jobs: int = 0
    json: bool = False


class _AskError(Exception):
    """Bad input; the message says what was found and what is allowed."""


def run_ask(request: AskRequest) -> int:
    """Answer the question; return 0 safe, 1 not safe, 2 bad input, 3 refused or inconclusive, 70 internal error."""

    def work() -> int:
        try:
            return _ask(request)
        except (_AskError, StartPointError, SettingError) as error:
            print_error(str(error))
            return BAD_INPUT
        except (SafetyCheckError, WitnessError) as error:
            print_error(str(error))
            return INTERNAL

    return exit_code_of(work)


def _ask(request: AskRequest) -> int:
    at, horizon_us, stall_us = _at(request.at), _span("--for", request.horizon), _span("--stall", request.stall)
    if 0 <= horizon_us < _SHORTEST_US:
        raise _AskError(f"--for: found {request.horizon}, expected 1s or more")
    if request.question and request.steps is not None:
        raise _AskError("found a question and --steps together, expected one of them")
    named = request.witness is not None and not request.witness.is_dir()
    if request.witness is not None and (
        request.no_witness or (named and request.witness.exists() and not request.force)
    ):
        together = "found --witness and --no-witness together, expected one of them"
        there = f"--witness: {request.witness} already exists; --force overwrites it"
        raise _AskError(together if request.no_witness else there)
    if named and request.witness is not None and not os.access(request.witness.parent, os.W_OK | os.X_OK):
        allowed = "a file in an existing, writable directory"
        raise _AskError(f"--witness: found {request.witness}, expected {allowed}")
    steps = (read_text(request.steps), str(request.steps)) if request.steps is not None else None
    console = stderr_console()
    with ProgressLine(console) as progress_line:
        on_progress: Callable[[str], None] = lambda text: progress_line.update(lambda: text)  # noqa: E731
        found = _source(request)
        check_question(playbook_of(found) if isinstance(found, RecordedSession) else found[0], request.question, steps)
        name, start_point = _start_point(found, at, on_progress)
        question = prepare(start_point, request.question, steps=steps, horizon_us=horizon_us)
        result = ask(
            start_point,
            question,
            seeds=range(1, request.seeds + 1),
            stall_us=stall_us if stall_us >= 0 else STALL_US,
            workers=request.jobs,
            on_progress=on_progress,
        )
    _answer(request, name, result)
    return EXIT_CODES[result.answer.verdict]


def _answer(request: AskRequest, name: str, result: SafetyCheckResult) -> None:
    path, error = _witness(request, result)
    if request.json:
        print_document(to_text(to_json(result, name, str(path or ""))))
    else:
        console = stdout_console()
        first, *other_lines = lines(result)
        print_line(console, title(result, name))
        print_line(console, first, _STYLES.get(result.answer.verdict, "bold red") if console.is_terminal else "")
        for line in other_lines:
            print_line(console, line)
    if error:
        print_line(stderr_console(), f"no witness: {error}", "yellow")
    elif path is not None:
        print_line(
            stderr_console(), f"witness  {path}: run it to reproduce the worst seed: {witness_text(result.answer)}"
        )


def _witness(request: AskRequest, result: SafetyCheckResult) -> tuple[Path | None, str]:
    """Return the path of the written worst run (None: not written), and the reason if it could not be written."""
    folder = request.witness if request.witness is not None and request.witness.is_dir() else None
    named = request.witness is not None and folder is None
    if request.no_witness or not (named or result.answer.verdict in _WITNESSED):
        return None, ""
    usual = (folder or Path()) / f"{result.start_point.playbook().name}-witness.yaml"
    path = request.witness if named and request.witness is not None else usual
    if path.exists() and not request.force:
        return None, f"{path} already exists; --force overwrites it"
    try:
        text = witness(result)
    except WitnessError as error:
        return None, str(error)
    return (path, "") if write_file("--witness", path, text) else (None, "")


def _start_point(
    source: RecordedSession | tuple[Playbook, int], at: TimePoint, on_progress: Callable[[str], None]
) -> tuple[str, StartPoint]:
    """Return the display name of the session, and the point at which it is forked."""
    if isinstance(source, RecordedSession):
        for note in source.notes:
            print_line(stderr_console(), f"note: {note}", "yellow")
        return str(source.path), of_session(source, at, on_progress)
    playbook, seed = source
    return f"{playbook.name}, seed {seed}", of_playbook(playbook, seed, at, on_progress)


def _source(request: AskRequest) -> RecordedSession | tuple[Playbook, int]:
    """Return the recorded session, else the playbook with its seed."""
    try:
        path = find_session(request.source, sessions_root())
    except SessionError:
        chosen = choose(request.source, request.seed, settings_of(request.settings))
        return chosen.playbook, chosen.seed
    if request.seed is not None or request.settings:
        raise _AskError("found --seed or --set with a recorded session, allowed only with a playbook")
    return read_session(path)


def _at(text: str | None) -> TimePoint:
    if text is None:
        return TimePoint()
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        return TimePoint(executed=int(text))
    try:
        return TimePoint(us=duration_us(text))
    except UnitError:
        raise _AskError(f"--at: found {text!r}, expected {DURATION_ALLOWED}, or a number of events") from None


def _span(option: str, text: str | None) -> int:
    if text is None:
        return -1
    try:
        return duration_us(text)
    except UnitError as error:
        raise _AskError(f"{option}: found {text!r}, expected {error}") from None
