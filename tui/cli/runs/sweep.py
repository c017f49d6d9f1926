"""``floodmark run`` of a playbook with a grid: runs of all cells, the result matrix, and campaigns."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Final

from rich.console import Console

from cluster_model.util.quantities import counted
from playbooks.campaign.run_rows import RunRow
from playbooks.campaign.runner import CampaignResult, keep_first, run_campaign
from playbooks.campaign.store import SESSIONS, CampaignError, CampaignStore, SavedRun, kept_in, open_campaign, rows_kept
from playbooks.campaign.workloads.fuzz_workload import write_plan
from playbooks.campaign.workloads.grid_workload import GridPlan, GridRun, jobs_of, matrix_of, plan_of, run_jobs
from playbooks.engine.worker_pool import JobOutcome, cores
from playbooks.errors import BAD_INPUT, INTERNAL, INTERRUPTED, worst
from playbooks.model import SEED, Cell, Grid, cell_label
from playbooks.recording.recorder import RecordingError
from playbooks.results.sweep_matrix import (
    SweepMatrix,
    SweepTable,
    advice,
    cross_table,
    error_lines,
    matrix_table,
    seed_table,
    to_json,
)
from playbooks.session_format.session_files import sessions_root
from playbooks.text import command_of
from tui.cli.runs.request import CheckedRequest, RunRequest
from tui.cli.runs.spark_jobs import SPARK, EngineError, campaign_progress_text, run_on_spark
from tui.cli.runs.suite import PlaybookOutcome, run_suite
from tui.cli.runs.summary_documents import grid_markdown, write_documents
from tui.output.command_end import to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    stderr_console,
    stdout_console,
    table,
)
from tui.session.playbook_choice import PlaybookChoice

# Fits a matrix to a terminal: headings are wrapped at dots, and if that is not enough, settings are listed above the
# table and rows refer to them by letters.
#
# Cells are never wrapped, so that numbers stay whole.


GAP: Final = "  "
HEAD: Final = 13
"""Characters of a line of a wrapped heading."""


def fitted(table: SweepTable, width: int) -> list[str]:
    """Return the lines of a table; they exceed ``width`` only if the measures alone do."""
    broken = _lines(table.heads, table.rows)
    if max(map(len, broken)) <= width or not table.axes:
        return broken
    named, heads, rows = [], [], []
    heads = [table.heads[0], "", *table.heads[1 + table.axes :]]
    for number, row in enumerate(table.rows):
        letter = _letter(number)
        pairs = zip(table.heads[1 : 1 + table.axes], row[1 : 1 + table.axes], strict=True)
        named.append(f"{letter}{GAP}{' '.join(f'{name}={value}' for name, value in pairs)}")
        rows.append((row[0], letter, *row[1 + table.axes :]))
    return [*named, "", *_lines(heads, rows)]


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    tops = [list(_broken(head)) for head in heads]
    widths = [
        max(map(len, [*top, *(row[column] for row in rows)]), default=0) for column, top in enumerate(tops)
    ]  # fmt: skip
    depth = max(map(len, tops))
    above = [[""] * (depth - len(top)) + top for top in tops]
    lines = [*zip_longest(*above, fillvalue=""), tuple("-" * width for width in widths), *rows]
    return [GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _broken(head: str) -> Iterator[str]:
    """Yield the lines of a heading, wrapped after dots, dashes and spaces."""
    line = ""
    for word in head.replace(".", ".\0").replace(" ", " \0").replace("-", "-\0").split("\0"):
        if line and len(line) + len(word) > HEAD:
            yield line.rstrip()
            line = ""
        line += word
    yield line.rstrip()


def _letter(number: int) -> str:
    """Return the name of a row: ``a`` to ``z``, then ``aa`` and so on."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


# ``floodmark run`` of a playbook with a grid: runs of all cells, and the matrix with Pareto-optimal rows and advice.


FAILURES_SHOWN = 12


def run_grid(request: RunRequest, checked: CheckedRequest) -> int:
    """Run the grid of one playbook, print its matrix, and write the documents; return the exit code."""
    console, (chosen,) = stdout_console(document=request.document), checked.chosen
    playbook, grid = chosen.playbook, chosen.playbook.grid or Grid(())
    out = request.out or sessions_root()
    varying = GridRun(playbook, grid, chosen.seed, chosen.settings, out, checked.until_us, fsync=request.fsync)
    print_grid_heading(console, chosen, grid)
    names = [cell_label(cell) for cell, _job in jobs_of(varying)]
    run = partial(
        run_suite, names=names, workers=request.jobs or cores(), fail_fast=request.fail_fast
    )  # fmt: skip
    matrix, outcomes = run_jobs(varying, run)
    print_matrix(console, matrix)
    print_line(console, f"sessions under {out}", "dim")
    return write_grid_documents(console, request, checked, matrix, outcomes)


def print_grid_heading(console: Console, chosen: PlaybookChoice, grid: Grid) -> None:
    """Print the playbook, and the number of cells with the names of the axes."""
    playbook = chosen.playbook
    seeds = "" if SEED in grid.names else f"  seed {chosen.seed}"
    print_line(console, f"{playbook.name}  {counted(grid.size, 'cell')} of {', '.join(grid.names)}{seeds}", "bold")
    if playbook.title != playbook.name:
        print_line(console, playbook.title, "italic")


def write_grid_documents(
    console: Console, request: RunRequest, checked: CheckedRequest, matrix: SweepMatrix, outcomes: Sequence[JobOutcome]
) -> int:  # fmt: skip
    """The cells as a suite for what compares and judges suites, the matrix for what shows it."""
    if any(each.code == INTERRUPTED for each in outcomes):
        return INTERRUPTED
    (chosen,), (word,) = checked.chosen, checked.words
    ended = [_ended(chosen, word, request, row.cell, outcome)
             for row, outcome in zip(matrix.rows, outcomes, strict=True)]  # fmt: skip
    code = write_documents(
        console, replace(request, json=False), replace(checked, is_suite=True), ended,
        summary=lambda _ended, differences: grid_markdown(matrix, differences),
    )  # fmt: skip
    code = worst([matrix.code, code])
    if request.json:
        print_document(to_text(to_json(matrix, advice(matrix))))
    return code


def _ended(chosen: PlaybookChoice, word: str, request: RunRequest, cell: Cell, outcome: JobOutcome) -> PlaybookOutcome:
    name = f"{chosen.playbook.name} [{cell_label(cell)}]"
    made = [f"{path}={value}" for path, value in outcome.job.settings.items()]
    command = command_of(word, outcome.job.seed or 0, made, request.until)
    if outcome.result is not None:  # baselines and documents distinguish cells by name
        outcome = replace(outcome, result=replace(outcome.result, playbook=name))
    return PlaybookOutcome(name, outcome, name, f"{command} --no-vary")


def print_matrix(console: Console, matrix: SweepMatrix) -> None:
    """Print the tables, failed expectations, errors, and the advice."""
    for each in (seed_table(matrix), matrix_table(matrix), cross_table(matrix)):
        if each is not None:
            _print_table(console, each)
    for line in failure_lines(matrix):
        print_line(console, line, "red")
    for line in _first(error_lines(matrix.rows)):
        print_line(console, line, "yellow")
    text = advice(matrix)
    if text:
        print_line(console, text, "bold")


def failure_lines(matrix: SweepMatrix) -> list[str]:
    """Return the failed expectations by cell; of many the first."""
    return _first([
        f"{cell_label(row.cell) or matrix.playbook}: failed: {checked.text}"
        + (f"  ({checked.detail})" if checked.detail else "")
        for row in matrix.rows
        if row.result is not None and row.verdict == "fail"
        for checked in row.result.expectations
        if not checked.ok
    ])  # fmt: skip


def _first(lines: list[str]) -> list[str]:
    """Return the first lines, and the number of the others."""
    rest = len(lines) - FAILURES_SHOWN
    return [*lines[:FAILURES_SHOWN], f"and {rest} more"] if rest > 0 else lines


def _print_table(console: Console, printed: SweepTable) -> None:
    if console.is_terminal:
        for line in fitted(printed, console.width):
            print_line(console, line)
    else:
        table(console, printed.heads, printed.rows)
    for note in printed.notes:
        print_line(console, note, "dim")


GRIDS: Final = Path("grids")
"""Default parent directory of campaigns over grids, relative to the working directory."""
REPORT: Final = Path("fleet", "fleet.html")


def run_campaign_grid(request: RunRequest, checked: CheckedRequest) -> int:
    """Run a grid as a campaign: missing cells, then the matrix of all and the documents; return the exit code."""
    try:
        return _run(request, checked)
    except (CampaignError, RecordingError) as error:
        print_error(str(error))
        return BAD_INPUT
    except EngineError as error:
        return error.code


def _run(request: RunRequest, checked: CheckedRequest) -> int:
    (chosen,), (word,) = checked.chosen, checked.words
    console = stdout_console(document=request.document)
    playbook, grid = chosen.playbook, chosen.playbook.grid
    assert grid is not None
    varying = GridRun(playbook, grid, chosen.seed, chosen.settings, None, checked.until_us)
    plan = plan_of(varying)
    folder = request.out or GRIDS / f"{playbook.name}-{chosen.seed}"
    campaign = open_campaign(folder, plan, playbook.name, rows=request.engine != SPARK)
    write_plan(folder, plan)
    campaign.keep({"command": _command(request, word, plan), "word": word})
    print_grid_heading(console, chosen, grid)
    print_line(console, f"campaign in {folder}", "dim")
    run = _on_spark if request.engine == SPARK else _here
    result = run(request, plan, campaign)
    if result.interrupted:
        done = f"{result.totals.runs} of {grid.size} runs of {playbook.name}"
        print_line(stderr_console(), f"stopped after {done}; the same command resumes")
        return INTERRUPTED
    outcomes = _outcomes(plan, rows_kept(folder), campaign.kept, result.lost)
    matrix = matrix_of(varying, outcomes)
    campaign.keep({"runs": len(outcomes), "exit_code": matrix.code})
    print_matrix(console, matrix)
    for line in _where(folder, campaign.kept):
        print_line(console, line, "dim")
    return write_grid_documents(console, request, checked, matrix, outcomes)


def _here(request: RunRequest, plan: GridPlan, campaign: CampaignStore) -> CampaignResult:
    with ProgressLine(stderr_console()) as progress_line:
        result = run_campaign(
            campaign,
            plan,
            plan.grid.size,
            workers=request.jobs or cores(),
            on_progress=lambda progress: progress_line.update(lambda: campaign_progress_text(progress)),
        )
        if not result.interrupted:
            keep_first(
                plan, campaign, result.groups,
                lambda number, of: progress_line.update(lambda: f"recording {number} of {of} runs"),
            )  # fmt: skip
    return result


def _on_spark(request: RunRequest, plan: GridPlan, campaign: CampaignStore) -> CampaignResult:
    result = run_on_spark(campaign.path, plan, plan.grid.size, request.master, request.memory, quiet=True)
    campaign.kept |= kept_in(campaign.path)
    return result


def _outcomes(
    plan: GridPlan, rows: Mapping[int, RunRow], kept: Mapping[int, SavedRun], lost: list[str]
) -> list[JobOutcome]:  # fmt: skip
    """Return the outcome of each cell; a cell whose worker died has no row."""
    outcomes = []
    for run in range(1, plan.grid.size + 1):
        session = str(kept[run].session) if run in kept else ""
        if run in rows:
            outcomes.append(plan.outcome(rows[run], session))
        else:
            outcomes.append(JobOutcome(plan.job(run), None, next(iter(lost), "no row: its worker died"), INTERNAL))
    return outcomes


def _where(folder: Path, kept: Mapping[int, SavedRun]) -> list[str]:
    report = folder / REPORT
    fleet = str(report) if report.is_file() else f"floodmark fleet {shlex.quote(str(folder))}"
    recorded = [f"sessions of {counted(len(kept), 'notable run')} under {folder / SESSIONS}"] if kept else []
    return [*recorded, f"fleet report: {fleet}"]


def _command(request: RunRequest, word: str, plan: GridPlan) -> str:
    """Return the command that resumes the campaign, or repeats it elsewhere."""
    own_seeds = SEED in plan.grid.names and request.repeat is None
    parts = ["floodmark", "run", word, *([] if own_seeds else ["--seed", str(plan.seed)])]
    for option, values in (("--set", request.settings), ("--vary", request.vary)):
        parts += [part for value in values for part in (option, value)]
    rest = {
        "--repeat": request.repeat, "--until": request.until, "--out": request.out, "--engine": request.engine,
        "--master": request.master, "--memory": request.memory,
    }  # fmt: skip
    return shlex.join(parts + [str(part) for pair in rest.items() if pair[1] is not None for part in pair])
