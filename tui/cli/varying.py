"""``floodmark run`` of a playbook with a grid: every cell run, and the matrix with its Pareto rows and its advice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread

import msgspec
from rich.console import Console

from playbooks.advice import advice
from playbooks.batch import Job, Outcome
from playbooks.exit_codes import BAD_INPUT, INTERRUPTED
from playbooks.grid import SEED, Axis, Grid, cell_words
from playbooks.loader import loads
from playbooks.matrix import Matrix, Row, to_json
from playbooks.matrix_table import Table, cross_table, error_lines, matrix_table, seed_table
from playbooks.problems import PlaybookError, Problem, counted
from playbooks.reading.cell_checks import check_cells
from playbooks.reading.notes import Notes
from playbooks.reading.vary import Places, check_size, from_option
from playbooks.result import Result
from playbooks.varying import Varying, run_grid
from playbooks.yamlpos import Mapping, Scalar, compose
from tui.cli.chosen import Chosen
from tui.cli.console import complain, people, print_document, say, table
from tui.cli.junit import junit
from tui.cli.progress import Telling

FAILURES_SHOWN = 12


def with_axes(chosen: Chosen, options: Sequence[str]) -> Chosen:
    """The choice with the axes of ``--vary`` added to its grid, or put in the place of those of the same name.

    Raises:
        PlaybookError: an axis or a value that does not do for this playbook; places are those of the option.
    """
    playbook = chosen.playbook
    root, _problems = compose(playbook.source, playbook.path)
    if not options or not isinstance(root, Mapping):
        return chosen
    notes = Notes("--vary", root=root)
    grid = playbook.grid or Grid(())
    whole = Scalar(1, 1, "", True, 0)
    places = Places(
        whole, {axis.name: (whole, (whole,) * len(axis.values)) for axis in grid.axes}, (whole,) * len(grid.cases)
    )
    for option in options:
        added = from_option(option, root, notes)
        if added is not None:
            grid, places = _joined(grid, places, added, notes)
    if not notes.problems:
        check_size(grid, whole, notes, "")
    if not notes.problems:
        check_cells(grid, places, playbook.source, lambda text: loads(text, playbook.path), notes)
    if notes.problems:
        raise PlaybookError([_of_option(each) for each in notes.problems])
    return replace(chosen, playbook=replace(playbook, grid=grid))


def _joined(grid: Grid, places: Places, added: tuple[Axis, Places], notes: Notes) -> tuple[Grid, Places]:
    axis, where = added
    if any(axis.name == name for case in grid.cases for name, _value in case):
        notes.problem(where.whole, axis.name, "found an axis that the cases of the playbook have")
        return grid, places
    return grid.with_axis(axis), replace(places, axes={**places.axes, **where.axes})


def _of_option(problem: Problem) -> Problem:
    return replace(problem, line=1, column=1, key=problem.key.strip("."))


@dataclass(frozen=True, slots=True)
class Asked:
    """A grid to run, and what is wanted of it."""

    chosen: Chosen
    out: Path
    until_us: int = -1
    json: bool = False
    junit: Path | None = None
    workers: int = 0


@dataclass(frozen=True, slots=True)
class Ran:
    """What running a grid came to."""

    matrix: Matrix
    code: int

    @property
    def results(self) -> list[Result]:
        """Of the cells that have one; named with their cells, for documents that tell them apart by name."""
        return [_named(row.result, row) for row in self.matrix.rows if row.result is not None]


def refusals(options: Sequence[str], beside: Sequence[str], chosen: Sequence[Chosen]) -> list[str]:
    """Why what was asked for cannot go together: ``--vary`` options, and of some others those that were given."""
    told = []
    if options:
        told += [f"found --vary and {option} together, allowed is one of them" for option in beside]
        if len(chosen) > 1:
            told.append(f"--vary: found {len(chosen)} playbooks, allowed is one: each has its own grid")
    elif len(chosen) == 1 and chosen[0].playbook.grid is not None and not set(beside) & {"--no-vary", "--dry-run"}:
        why = f"{chosen[0].playbook.path}: many sessions run at a time; --no-vary runs it as it stands"
        told += [f"{option}: {why}" for option in beside]
    return told


def run_alone(asked: Asked) -> int:
    """Run a grid, print its matrix, and write the documents that are wanted; the exit code."""
    ran = run_varied(people(), asked)
    if ran.code == INTERRUPTED:
        return INTERRUPTED
    if asked.junit is not None:
        try:
            asked.junit.write_text(junit(ran.results), encoding="utf-8")
        except OSError as error:
            complain(f"--junit: cannot write {asked.junit}: {error.strerror}")
            return BAD_INPUT
    if asked.json:
        print_document(json_text(to_json(ran.matrix, advice(ran.matrix))))
    return ran.code


def json_text(document: object) -> str:
    """JSON for people and programs alike: indented, one document."""
    return msgspec.json.format(msgspec.json.encode(document)).decode()


def run_varied(console: Console, asked: Asked) -> Ran:
    """Run the grid of a choice and print its matrix."""
    chosen = asked.chosen
    playbook, grid = chosen.playbook, chosen.playbook.grid or Grid(())
    varying = Varying(playbook, grid, chosen.seed, chosen.settings, asked.out, asked.until_us, asked.workers)
    seeds = "" if SEED in grid.names else f"  seed {chosen.seed}"
    say(console, f"{playbook.name}  {counted(grid.size, 'cell')} of {', '.join(grid.names)}{seeds}", "bold")
    if playbook.title != playbook.name:
        say(console, playbook.title, "italic")
    with _Progress(console, grid.size) as progress:
        matrix, outcomes = run_grid(varying, progress.begun, progress.ended)
    print_matrix(console, matrix)
    say(console, f"sessions under {asked.out}", "dim")
    return Ran(matrix, INTERRUPTED if any(each.code == INTERRUPTED for each in outcomes) else matrix.code)


def _named(result: Result, row: Row) -> Result:
    return replace(result, playbook=f"{result.playbook} [{cell_words(row.cell)}]")


class _Progress:
    """Says how many cells are done; a thread of its own keeps the line moving while workers work."""

    def __init__(self, console: Console, cells: int) -> None:
        self._telling = Telling(console)
        self._cells = cells
        self._done = 0
        self._running: dict[int, None] = {}
        self._over = Event()
        self._thread = Thread(target=self._tell, daemon=True)

    def begun(self, number: int, _job: Job) -> None:
        self._running[number] = None

    def ended(self, number: int, _outcome: Outcome) -> None:
        self._running.pop(number, None)
        self._done += 1

    def __enter__(self) -> "_Progress":
        self._telling.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()
        self._telling.hide()

    def _tell(self) -> None:
        while not self._over.wait(0.2):
            self._telling.tell(lambda: f"{self._done} of {self._cells} cells, {len(self._running)} running")


def print_matrix(console: Console, matrix: Matrix) -> None:
    """The table, what failed, and the advice."""
    for each in (seed_table(matrix), matrix_table(matrix), cross_table(matrix)):
        if each is not None:
            _print_table(console, each)
    for line in failure_lines(matrix):
        say(console, line, "red")
    for line in error_lines(matrix.rows):
        say(console, line, "yellow")
    said = advice(matrix)
    if said:
        say(console, said, "bold")


def failure_lines(matrix: Matrix) -> list[str]:
    """Expectations that did not hold, cell by cell; of many the first."""
    lines = [
        f"{cell_words(row.cell) or matrix.playbook}: failed: {checked.text}"
        + (f"  ({checked.detail})" if checked.detail else "")
        for row in matrix.rows
        if row.result is not None and row.verdict == "fail"
        for checked in row.result.expectations
        if not checked.ok
    ]
    rest = len(lines) - FAILURES_SHOWN
    return [*lines[:FAILURES_SHOWN], f"and {rest} more"] if rest > 0 else lines


def _print_table(console: Console, told: Table) -> None:
    table(console, told.heads, told.rows)
    for note in told.notes:
        say(console, note, "dim")
