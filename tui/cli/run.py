"""``floodmark run``: playbooks without a screen, with an exit code."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from cluster_model.errors import ModelError
from playbooks.disk import Fsync
from playbooks.layout import sessions_root
from playbooks.loader import PlaybookError
from playbooks.recorder import RecordingError
from playbooks.result import Result
from playbooks.settings import SettingError
from playbooks.units import UnitError, duration_us
from tui.cli import crash
from tui.cli.chosen import Chosen, choose, settings_of
from tui.cli.console import (
    BAD_INPUT,
    FAILED,
    INCONCLUSIVE,
    INTERNAL,
    INTERRUPTED,
    OK,
    answers,
    complain,
    complain_of,
    people,
    print_document,
    say,
)
from tui.cli.driving import Driving
from tui.cli.junit import junit
from tui.cli.pacing import Pace, can_be_told
from tui.cli.printing import print_result, print_summary

CODES = {"pass": OK, "fail": FAILED, "inconclusive": INCONCLUSIVE}
WORST_FIRST = (INTERNAL, BAD_INPUT, FAILED, INCONCLUSIVE, OK)


@dataclass(frozen=True, slots=True)
class Request:
    """The options of ``run`` as typed."""

    files: Sequence[str]
    seed: int | None = None
    settings: Sequence[str] = ()
    until: str | None = None
    out: Path | None = None
    json: bool = False
    junit: Path | None = None
    plain: bool = False
    dry_run: bool = False
    speed: float | None = None
    fsync: Fsync = Fsync.INTERVAL


def run(request: Request) -> int:
    """Run every playbook asked for; the worst exit code of them."""
    checked = _checked(request)
    if checked is None:
        return BAD_INPUT
    chosen, until_us = checked
    if request.dry_run:
        from tui.cli.foretelling import foretell_all  # noqa: PLC0415 - it prints documents as this does

        return foretell_all(chosen, until_us, json=request.json)
    console = people()
    driving = Driving(console, request.out or sessions_root(), until_us, fsync=request.fsync)
    if request.speed is not None:
        from tui.cli.narrating import Narrating  # noqa: PLC0415 - it tells what is foretold, as a dry run does

        out = answers() if request.plain and not request.json else console
        driving.narrating = Narrating(Pace(request.speed), out, request.plain)
    elif request.plain:
        driving.events = console if request.json else answers()
    results: list[Result] = []
    codes: list[int] = []
    for number, each in enumerate(chosen):
        if number:
            say(console, "")
        code, result = _run_one(driving, each)
        codes.append(code)
        if result is not None:
            results.append(result)
        if code == INTERRUPTED:
            return _hand_over(request, results, INTERRUPTED) if result is not None else INTERRUPTED
    if len(chosen) > 1 and results:
        say(console, "")
        print_summary(console, results)
    return _hand_over(request, results, next(code for code in WORST_FIRST if code in codes))


def _run_one(driving: Driving, chosen: Chosen) -> tuple[int, Result | None]:
    driving.recorder = None
    try:
        result = driving.run(chosen)
    except ModelError as error:
        complain(f"{chosen.playbook.path}: {error}")
        return BAD_INPUT, None
    except RecordingError as error:
        complain(str(error))
        return BAD_INPUT, None
    except KeyboardInterrupt:
        if driving.recorder is not None and driving.recorder.session_id:
            driving.recorder.close()
            say(driving.console, f"stopped; what was recorded so far: {driving.recorder.path}")
        return INTERRUPTED, None
    except Exception as error:  # whatever it is, the session must be kept and the person told
        return crash.keep(error, driving.recorder), None
    print_result(driving.console, result)
    if driving.narrating is not None and driving.narrating.stopped:
        return INTERRUPTED, result
    return CODES[result.verdict], result


def _checked(request: Request) -> tuple[list[Chosen], int] | None:
    """Everything that can be refused before anything runs; None when something was."""
    chosen: list[Chosen] = []
    until_us = -1
    good = True
    try:
        settings = settings_of(request.settings)
    except SettingError as error:
        complain(str(error))
        return None
    for text in request.files:
        try:
            chosen.append(choose(text, request.seed, settings))
        except PlaybookError as error:
            complain_of(error)
            good = False
        except SettingError as error:
            complain(f"{text}: {error}")
            good = False
    if request.until is not None:
        try:
            until_us = duration_us(request.until)
        except UnitError as error:
            complain(f"--until: found {request.until!r}, allowed is {error}")
            good = False
        good = _time_passes(chosen) and good
    good = (not request.dry_run or _can_be_dry(request, chosen)) and good
    good = (
        request.speed is None or can_be_told(request.speed, chosen, len(request.files), dry=request.dry_run)
    ) and good
    return (chosen, until_us) if good and _junit_fits(request.junit) else None


def _can_be_dry(request: Request, chosen: Sequence[Chosen]) -> bool:
    """Whether ``--dry-run`` stands beside nothing that it contradicts."""
    beside = {"--out": request.out is not None, "--junit": request.junit is not None, "--plain": request.plain}
    given = [option for option, is_given in beside.items() if is_given]
    for option in given:
        complain(f"found --dry-run and {option} together, allowed is one of them: a dry run keeps nothing")
    manual = [each.playbook.path for each in chosen if each.playbook.spec.manual]
    for path in manual:
        complain(f"--dry-run: {path}: it is stepped by hand, so that no fault is injected")
    return not given and not manual


def _time_passes(chosen: Sequence[Chosen]) -> bool:
    """Whether ``--until`` means anything in every playbook."""
    manual = [each.playbook.path for each in chosen if each.playbook.spec.manual]
    for path in manual:
        complain(f"--until: {path}: time stands still in a manual playbook, so nothing can be cut off by it")
    return not manual


def _junit_fits(path: Path | None) -> bool:
    """Whether the file can be written: better to know before a long run than after it."""
    if path is None:
        return True
    if path.is_dir() or not path.parent.is_dir():
        complain(f"--junit: cannot write {path}: {'it is a directory' if path.is_dir() else 'no such directory'}")
        return False
    return True


def _hand_over(request: Request, results: list[Result], code: int) -> int:
    """Write the documents that were asked for."""
    if request.junit is not None:
        try:
            request.junit.write_text(junit(results), encoding="utf-8")
        except OSError as error:
            complain(f"--junit: cannot write {request.junit}: {error.strerror}")
            return BAD_INPUT
    if request.json and len(results) == len(request.files):
        documents: list[dict[str, Any]] = [result.to_json() for result in results]
        print_document(to_text(documents[0] if len(documents) == 1 else documents))
    return code


def to_text(document: Any) -> str:
    """JSON for people and programs alike: indented, one document."""
    return msgspec.json.format(msgspec.json.encode(document)).decode()
