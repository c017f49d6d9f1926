"""Runs a playbook over its grid: the same seed and faults in every cell, each session of its own, many at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playbooks.batch import NOT_RUN, Job, Outcome, run_all
from playbooks.cells import cell_text, seed_of, settings_of
from playbooks.disk import Fsync
from playbooks.grid import Cell, Grid
from playbooks.matrix import Matrix, Row, axes_of, measured
from playbooks.model import Playbook
from playbooks.yamlpos import Mapping as YamlMapping
from playbooks.yamlpos import compose


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
    workers: int = 0
    """How many sessions at a time; 0: as many as the machine has cores."""
    fsync: Fsync = Fsync.INTERVAL


def jobs_of(varying: Varying) -> list[tuple[Cell, Job]]:
    """Each cell with its job.

    Raises:
        AxisError, SettingError: an axis that leads nowhere in this playbook.
    """
    playbook = varying.playbook
    root, _problems = compose(playbook.source, playbook.path)
    if not isinstance(root, YamlMapping):
        return []
    return [(cell, _job(varying, cell, root)) for cell in varying.grid.cells()]


def _job(varying: Varying, cell: Cell, root: YamlMapping) -> Job:
    playbook = varying.playbook
    settings = settings_of(cell, root, playbook.variables)
    seed = seed_of(cell)
    return Job(
        text=cell_text(playbook.source, settings, playbook.fragments, playbook.variables),
        path=playbook.path,
        seed=varying.seed if seed is None else seed,
        out=varying.out,
        settings={**varying.settings, **settings},
        until_us=varying.until_us,
        fragments=playbook.fragments,
        fsync=varying.fsync,
    )


def run_grid(varying: Varying) -> tuple[Matrix, list[Outcome]]:
    """Run every cell, as many at a time as ``varying`` says; the matrix, and how each cell's job ended."""
    return run_jobs(varying, lambda jobs: run_all(jobs, workers=varying.workers))


def run_jobs(varying: Varying, run: Callable[[Sequence[Job]], list[Outcome]]) -> tuple[Matrix, list[Outcome]]:
    """Have ``run`` run every cell; the same as of :func:`run_grid`."""
    cells = jobs_of(varying)
    outcomes = run([job for _cell, job in cells])
    rows = tuple(_row(cell, outcome) for (cell, _job), outcome in zip(cells, outcomes, strict=True))
    return Matrix(varying.playbook.name, axes_of(cell for cell, _job in cells), rows, varying.seed), outcomes


def _row(cell: Cell, outcome: Outcome) -> Row:
    if outcome.result is None:
        return Row(cell, "not run" if outcome.code == NOT_RUN else "error", {}, outcome.code, outcome.error)
    return Row(cell, outcome.result.verdict, measured(outcome.result), outcome.code, "", outcome.result)
