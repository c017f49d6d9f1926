"""Runs a playbook over its grid: the same seed and faults in every cell, each session of its own, many at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.engine.job import NOT_RUN, Job, Outcome
from playbooks.model.grid import Cell, Grid
from playbooks.model.playbook import Playbook
from playbooks.results.sweep_matrix import Matrix, Row, axes_of, measured
from playbooks.session_format.filesystem import Fsync


@dataclass(frozen=True, slots=True)
class Varying:
    """How to run a grid."""

    playbook: Playbook
    """With the settings of the command line made."""
    grid: Grid
    seed: int
    settings: Mapping[str, str]
    """Those of the command line, for the recordings."""
    out: Path | None = None
    until_us: int = -1
    fsync: Fsync = Fsync.INTERVAL


def plan_of(varying: Varying) -> GridPlan:
    """The grid as plain values, which decide what its cells come to."""
    playbook = varying.playbook
    rest = (tuple(varying.settings.items()), varying.until_us, tuple(playbook.fragments.items()))
    return GridPlan(playbook.source, playbook.path, varying.seed, varying.grid, *rest)


def jobs_of(varying: Varying) -> list[tuple[Cell, Job]]:
    """Each cell with its job.

    Raises:
        AxisError, SettingError: an axis that leads nowhere in this playbook.
    """
    plan = plan_of(varying)
    runs = range(1, varying.grid.size + 1)
    return [(plan.cell(run), plan.job(run, varying.out, varying.fsync)) for run in runs]


def run_jobs(varying: Varying, run: Callable[[Sequence[Job]], list[Outcome]]) -> tuple[Matrix, list[Outcome]]:
    """Have ``run`` run every cell: the matrix, and how each cell's job ended."""
    outcomes = run([job for _cell, job in jobs_of(varying)])
    return matrix_of(varying, outcomes), outcomes


def matrix_of(varying: Varying, outcomes: Sequence[Outcome]) -> Matrix:
    """What the cells came to, by how each of them ended."""
    cells = list(varying.grid.cells())
    rows = tuple([_row(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)])
    return Matrix(varying.playbook.name, axes_of(cells), rows, varying.seed)


def _row(cell: Cell, outcome: Outcome) -> Row:
    if outcome.result is None:
        return Row(cell, "not run" if outcome.code == NOT_RUN else "error", {}, outcome.code, outcome.error)
    return Row(cell, outcome.result.verdict, measured(outcome.result), outcome.code, "", outcome.result)
