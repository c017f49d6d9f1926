"""``floodmark run``: headless runs of playbooks, with an exit code."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from playbooks.diagnosis.why import LossExplanation
from playbooks.engine.worker_pool import NOT_RUN, JobOutcome, PlaybookJob, cores, executed
from playbooks.errors import BAD_INPUT, INTERNAL, INTERRUPTED
from playbooks.recording.recorder import Recorder
from playbooks.results.baseline import unused
from playbooks.results.result import SessionResult
from playbooks.session_format.filesystem import Fsync
from playbooks.session_format.session_files import sessions_root
from playbooks.text import command_of
from tui.cli.runs.pace import Pace
from tui.cli.runs.request import CheckedRequest, RunRequest, checked
from tui.cli.runs.session_driver import SessionDriver
from tui.cli.runs.suite import PlaybookOutcome, print_suite
from tui.cli.runs.summary_documents import write_documents
from tui.output import command_end
from tui.output.console import print_error, print_line, stderr_console, stdout_console
from tui.output.result import print_result
from tui.session.playbook_choice import PlaybookChoice


def run(request: RunRequest) -> int:
    """Run every requested playbook; return the worst exit code."""
    checked_request = checked(request)
    if checked_request is None:
        return BAD_INPUT
    if request.dry_run:
        from tui.cli.runs.narration import dry_run_all  # noqa: PLC0415 - it prints documents as this does

        return dry_run_all(checked_request.chosen, checked_request.until_us, json=request.json)
    if len(checked_request.chosen) == 1 and checked_request.chosen[0].playbook.grid is not None and not request.no_vary:
        if request.engine is not None:
            from tui.cli.runs.sweep import run_campaign_grid  # noqa: PLC0415

            return run_campaign_grid(request, checked_request)
        from tui.cli.runs.sweep import run_grid  # noqa: PLC0415 - most playbooks have no grid

        return run_grid(request, checked_request)
    console = stdout_console(document=request.document)
    out = request.out or sessions_root()
    names: list[str] = []
    for each in checked_request.chosen:
        names.append(unused(each.playbook.name, names))
    jobs = [_job(each, out, checked_request.until_us, request.fsync) for each in checked_request.chosen]
    explained: list[LossExplanation] = []
    if checked_request.is_suite and request.jobs != 1 and not request.plain and request.speed is None:
        from tui.cli.runs.suite import run_suite  # noqa: PLC0415 - a single playbook needs none of it

        workers = request.jobs or cores()
        outcomes = run_suite(jobs, names, workers=workers, fail_fast=request.fail_fast)
    else:
        outcomes = _one_after_other(console, request, checked_request, jobs, explained)
    ended = [
        PlaybookOutcome(name, outcome, each.playbook.name, _again(word, each, request), *explained[:1])
        for name, outcome, word, each in zip(
            names, outcomes, checked_request.words, checked_request.chosen, strict=True
        )
    ]
    if checked_request.is_suite:
        print_suite(console, ended)
    return write_documents(console, request, checked_request, ended)


def _again(word: str, chosen: PlaybookChoice, request: RunRequest) -> str:
    """Return the command that runs one of them again as it ran here: once, even if it has a grid."""
    command = command_of(word, chosen.seed, request.settings, request.until)
    return f"{command} --no-vary" if chosen.playbook.grid is not None else command


def _job(chosen: PlaybookChoice, out: Path, until_us: int, fsync: Fsync) -> PlaybookJob:
    playbook = chosen.playbook
    return PlaybookJob(
        playbook.source, playbook.path, chosen.seed, out, chosen.settings, until_us, playbook.fragments, fsync=fsync
    )


def _one_after_other(
    console: Console, request: RunRequest, checked: CheckedRequest, jobs: list[PlaybookJob], explained:
    list[LossExplanation]
) -> list[JobOutcome]:  # fmt: skip
    """Run all in this process and print each result; ``explained`` gets the explanation of losses."""
    driver = SessionDriver(console, checked.until_us)
    events = stderr_console() if request.document else console
    if request.speed is not None:
        from tui.cli.runs.narration import LivePrinter  # noqa: PLC0415 - most runs print no events

        driver.live_printer = LivePrinter(Pace(request.speed), events, request.plain)
    elif request.plain:
        driver.events = events
    outcomes: list[JobOutcome] = []
    brief = request.document or request.plain or request.speed is not None
    explain = partial(_explain, console, request, checked, explained)
    alone = None if len(jobs) > 1 or (brief and not request.why) else explain
    for number, (each, job) in enumerate(zip(checked.chosen, jobs, strict=True)):
        if number:
            print_line(console, "")
        outcome = _run_one(driver, each, job, alone=alone)
        outcomes.append(outcome)
        if outcome.code == INTERRUPTED or (request.fail_fast and outcome.code != 0):
            break
    missing = INTERRUPTED if outcomes[-1].code == INTERRUPTED else NOT_RUN
    return outcomes + [JobOutcome(job, error="not started", code=missing) for job in jobs[len(outcomes) :]]


def _explain(
    console: Console, request: RunRequest, checked: CheckedRequest, explained: list[LossExplanation], chosen:
    PlaybookChoice, result: SessionResult
) -> None:  # fmt: skip
    """Explain the losses of a single session, after its verdict."""
    from tui.cli.runs.why import after_run  # noqa: PLC0415 - most sessions lose nothing

    why = after_run(console, chosen, result, wanted=request.why, until_us=checked.until_us)
    explained += [why] if why is not None else []


def _run_one(
    driver: SessionDriver, chosen: PlaybookChoice, job: PlaybookJob, *,
    alone: Callable[[PlaybookChoice, SessionResult], None] | None
) -> JobOutcome:  # fmt: skip
    """Run one playbook and print its result; never raises. ``alone``: called after the verdict of a single one."""

    def drive(recorder: Recorder | None) -> SessionResult:
        result = driver.run(chosen, recorder)
        print_result(driver.console, result)
        return result

    outcome = executed(job, drive)
    if outcome.code == INTERNAL:
        command_end.print_internal_error(outcome.error, outcome.session, outcome.crash_report)
    elif outcome.code == INTERRUPTED and outcome.session:
        print_line(stderr_console(), outcome.error)
    elif outcome.code == BAD_INPUT:
        print_error(outcome.error)
    if outcome.result is not None and driver.live_printer is not None and driver.live_printer.stopped:
        return replace(outcome, code=INTERRUPTED)
    if outcome.result is not None and alone is not None:
        alone(chosen, outcome.result)
    return outcome
