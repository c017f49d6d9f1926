"""``floodmark run`` of a playbook with a grid: every cell run, and the matrix with its Pareto rows and its advice."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from playbooks.campaign.workloads.varying import Varying, jobs_of, run_jobs
from playbooks.commands import command_of
from playbooks.engine.job import Outcome
from playbooks.engine.worker_pool import cores
from playbooks.errors import counted
from playbooks.exit_codes import INTERRUPTED, worst
from playbooks.model.grid import SEED, Cell, Grid, cell_words
from playbooks.results.advice import advice
from playbooks.results.matrix_table import Table, cross_table, error_lines, matrix_table, seed_table
from playbooks.results.sweep_matrix import Matrix, to_json
from playbooks.session_format.session_files import sessions_root
from tui.cli.runs.fitting import fitted
from tui.cli.runs.handing_over import hand_over
from tui.cli.runs.markdown import grid_markdown
from tui.cli.runs.request import Checked, Request
from tui.cli.runs.suite import run_suite
from tui.cli.runs.verdicts import Ended
from tui.output.command_end import to_text
from tui.output.console import people, print_document, say, table
from tui.session.chosen import Chosen

FAILURES_SHOWN = 12


def run_alone(request: Request, asked: Checked) -> int:
    """Run the grid of the one playbook asked for, print its matrix, and write the documents; the exit code."""
    console, (chosen,) = people(), asked.chosen
    playbook, grid = chosen.playbook, chosen.playbook.grid or Grid(())
    out = request.out or sessions_root()
    varying = Varying(playbook, grid, chosen.seed, chosen.settings, out, asked.until_us, fsync=request.fsync)
    say_what_runs(console, chosen, grid)
    names = [cell_words(cell) for cell, _job in jobs_of(varying)]
    run = partial(
        run_suite, console, names=names, workers=request.jobs or cores(), fail_fast=request.fail_fast
    )  # fmt: skip
    matrix, outcomes = run_jobs(varying, run)
    print_matrix(console, matrix)
    say(console, f"sessions under {out}", "dim")
    return hand_over_grid(console, request, asked, matrix, outcomes)


def say_what_runs(console: Console, chosen: Chosen, grid: Grid) -> None:
    """The playbook, and how many cells of which axes."""
    playbook = chosen.playbook
    seeds = "" if SEED in grid.names else f"  seed {chosen.seed}"
    say(console, f"{playbook.name}  {counted(grid.size, 'cell')} of {', '.join(grid.names)}{seeds}", "bold")
    if playbook.title != playbook.name:
        say(console, playbook.title, "italic")


def hand_over_grid(
    console: Console, request: Request, asked: Checked, matrix: Matrix, outcomes: Sequence[Outcome]
) -> int:  # fmt: skip
    """The cells as a suite for what compares and judges suites, the matrix for what shows it."""
    if any(each.code == INTERRUPTED for each in outcomes):
        return INTERRUPTED
    (chosen,), (word,) = asked.chosen, asked.words
    ended = [_ended(chosen, word, request, row.cell, outcome)
             for row, outcome in zip(matrix.rows, outcomes, strict=True)]  # fmt: skip
    code = hand_over(
        console, replace(request, json=False), replace(asked, is_suite=True), ended,
        summary=lambda _ended, differences: grid_markdown(matrix, differences),
    )  # fmt: skip
    code = worst([matrix.code, code])
    if request.json:
        print_document(to_text(to_json(matrix, advice(matrix))))
    return code


def _ended(chosen: Chosen, word: str, request: Request, cell: Cell, outcome: Outcome) -> Ended:
    name = f"{chosen.playbook.name} [{cell_words(cell)}]"
    made = [f"{path}={value}" for path, value in outcome.job.settings.items()]
    command = command_of(word, outcome.job.seed or 0, made, request.until)
    if outcome.result is not None:  # a baseline and other documents tell them apart by name
        outcome = replace(outcome, result=replace(outcome.result, playbook=name))
    return Ended(name, outcome, name, f"{command} --no-vary")


def print_matrix(console: Console, matrix: Matrix) -> None:
    """The table, what failed, and the advice."""
    for each in (seed_table(matrix), matrix_table(matrix), cross_table(matrix)):
        if each is not None:
            _print_table(console, each)
    for line in failure_lines(matrix):
        say(console, line, "red")
    for line in _first(error_lines(matrix.rows)):
        say(console, line, "yellow")
    said = advice(matrix)
    if said:
        say(console, said, "bold")


def failure_lines(matrix: Matrix) -> list[str]:
    """Expectations that did not hold, cell by cell; of many the first."""
    return _first([
        f"{cell_words(row.cell) or matrix.playbook}: failed: {checked.text}"
        + (f"  ({checked.detail})" if checked.detail else "")
        for row in matrix.rows
        if row.result is not None and row.verdict == "fail"
        for checked in row.result.expectations
        if not checked.ok
    ])  # fmt: skip


def _first(lines: list[str]) -> list[str]:
    """Of many lines the first, and how many more there are."""
    rest = len(lines) - FAILURES_SHOWN
    return [*lines[:FAILURES_SHOWN], f"and {rest} more"] if rest > 0 else lines


def _print_table(console: Console, told: Table) -> None:
    if console.is_terminal:
        for line in fitted(told, console.width):
            say(console, line)
    else:
        table(console, told.heads, told.rows)
    for note in told.notes:
        say(console, note, "dim")
