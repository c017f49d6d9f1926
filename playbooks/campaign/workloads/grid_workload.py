"""Workload of a grid: each cell of a playbook's grid is a run, in a campaign or in one process pool."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import AdminAnswered, StepTaken
from playbooks.campaign.run_rows import RunRow, counts_of, crashed_row, found_in
from playbooks.campaign.store import GRID, SESSIONS, CampaignError, CampaignStore, Frame, SavedRun, text_hash
from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import NOT_RUN, JobOutcome, PlaybookJob, execute
from playbooks.errors import BAD_INPUT, CODES, INTERNAL, PlaybookError
from playbooks.model.playbook import SEED, Cell, Grid, Playbook, grid_json, grid_of
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import compose
from playbooks.parser.loader import loads
from playbooks.parser.settings import cell_text, seed_of, settings_of
from playbooks.results.result import SessionResult
from playbooks.results.sweep_matrix import CellResult, SweepMatrix, axes_of, measured
from playbooks.session_format.filesystem import Fsync
from playbooks.text import command_of
from playbooks.units import duration_text

# Serialised results, restored without loss; the published document has less.


_REFUSED: Final = "refused"
"""The field whose events are of two kinds: each is stored with the name of its kind."""
_KINDS: Final[dict[str, type[StepTaken] | type[AdminAnswered]]] = {
    each.kind: each for each in (StepTaken, AdminAnswered)
}


def text_of(result: SessionResult) -> str:
    """Serialise a result."""
    values = {each.name: getattr(result, each.name) for each in fields(SessionResult) if each.name != _REFUSED}
    refused = [(each.kind, each) for each in result.refused]
    return msgspec.json.encode([values, refused]).decode()


def result_of(text: str) -> SessionResult:
    """Restore the result of :func:`text_of`.

    Raises ``msgspec.DecodeError`` or ``msgspec.ValidationError`` for other texts.
    """
    rest, refused = _decoder().decode(text)
    values = {each.name: getattr(rest, each.name) for each in fields(rest)}
    refusals = tuple([msgspec.json.decode(raw, type=_KINDS[kind]) for kind, raw in refused])
    return SessionResult(**values, refused=refusals)


@cache
def _decoder() -> "msgspec.json.Decoder[Any]":
    hints = get_type_hints(SessionResult)
    kept = [(each.name, hints[each.name]) for each in fields(SessionResult) if each.name != _REFUSED]
    whole: Any = tuple[make_dataclass("_Rest", kept), list[tuple[str, msgspec.Raw]]]  # type: ignore[misc]
    return msgspec.json.Decoder(whole)


SETTINGS: Final = 64
"""Number of parsed cells, apart from their seeds, that a process caches."""


@dataclass(frozen=True, slots=True)
class GridPlan:
    """Everything that determines the results of a grid, as plain data for other processes."""

    text: str
    """Text of the playbook, with the settings of the command line."""
    path: str
    seed: int
    """Seed of every cell, if seeds are not varied."""
    grid: Grid
    settings: Cell = ()
    """Settings of the command line, for the recordings."""
    until_us: int = -1
    """Virtual time at which each session is cut off; -1 never."""
    fragments: tuple[tuple[str, str], ...] = field(default=())

    @property
    def until(self) -> str:
        """Cut-off time as text; empty for never."""
        return duration_text(self.until_us) if self.until_us >= 0 else ""

    def cell(self, run: int) -> Cell:
        """Return the settings of a run, from 1."""
        return _cells(self.grid)[run - 1]

    def seed_of(self, run: int) -> int:
        """Return the seed of a run."""
        own = seed_of(self.cell(run))
        return self.seed if own is None else own

    def job(self, run: int, out: Path | None = None, fsync: Fsync = Fsync.INTERVAL) -> PlaybookJob:
        """Return the job of a run as a session of its own, recorded below ``out``.

        Raises:
            AxisError, SettingError: an axis without a target in this playbook.
        """
        text, made = _made(self, _apart_from_seed(self.cell(run)))
        settings = {**dict(self.settings), **dict(made)}
        return PlaybookJob(
            text, self.path, self.seed_of(run), out, settings, self.until_us, dict(self.fragments), fsync=fsync
        )

    def again(self, run: int, word: str) -> str:
        """Return the command that repeats a run; ``word`` is the playbook as given on the command line."""
        job = self.job(run)
        made = [f"{path}={value}" for path, value in job.settings.items()]
        return f"{command_of(word, self.seed_of(run), made, self.until)} --no-vary"

    def row(self, run: int) -> RunRow:
        """Return the row of a cell; an error becomes a row, too."""
        seed, cell = self.seed_of(run), dict(self.cell(run))
        try:
            playbook = _playbook(self, _apart_from_seed(self.cell(run)))
            session = start_session(playbook, seed=seed, until_us=self.until_us)
            result = session.finish()
            listed = playbook.storm.expected if playbook.storm is not None else ()
            failures = found_in(result, session.cluster, listed)
            code, text = CODES[result.verdict], text_of(result)
        except PlaybookError as error:
            return crashed_row(run, seed, cell, error, text=str(error), code=BAD_INPUT)
        except ModelError as error:
            return crashed_row(run, seed, cell, error, text=f"{self.path}: {error}", code=BAD_INPUT)
        except Exception as error:
            return crashed_row(run, seed, cell, error, code=INTERNAL)
        return RunRow(run, seed, {"cell": cell}, result.digest, failures, {}, counts_of(result), code=code, result=text)

    def outcome(self, row: RunRow, session: str = "") -> JobOutcome:
        """Return the outcome of a cell as its job would; ``session`` is where it is recorded.

        Raises:
            CampaignError: the row is damaged.
        """
        job = self.job(row.run)
        if not row.result:
            error = f"internal error: {row.error}" if row.code == INTERNAL else row.error
            return JobOutcome(job, None, error, row.code, session)
        try:
            result = replace(result_of(row.result), session=session)
        except msgspec.MsgspecError:
            raise CampaignError(
                f"{self.path}: found a row of run {row.run} without a result", code="no_result"
            ) from None
        return JobOutcome(job, result, "", row.code, session)

    def frame(self) -> Frame:
        """Return empty axes of coverage, as nothing is random."""
        return (), ()

    def head(self) -> dict[str, Any]:
        """Return what identifies the grid."""
        return {
            "kind": GRID,
            "text": text_hash(self.text, self.fragments),
            "seed": self.seed,
            "grid": _grid_words(self.grid),
            "until": self.until,
        }

    def document(self) -> dict[str, Any]:
        """Return the plan as stored in ``plan.json``."""
        return {
            "kind": GRID,
            "text": self.text,
            "path": self.path,
            "seed": self.seed,
            "grid": grid_json(self.grid),
            "settings": dict(self.settings),
            "until_us": self.until_us,
            "fragments": dict(self.fragments),
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "GridPlan":
        """Restore the plan of :meth:`document`.

        Raises ValueError, KeyError, TypeError or AttributeError for other documents.
        """
        pairs = [tuple(document[name].items()) for name in ("settings", "fragments")]
        head = (document["text"], document["path"], document["seed"], grid_of(document["grid"]))
        return cls(*head, pairs[0], document["until_us"], pairs[1])

    def keep(self, run: int, campaign: CampaignStore) -> SavedRun:
        """Record a cell's session, with the settings of the cell.

        Raises:
            CampaignError: it cannot be recorded.
        """
        before = campaign.kept.get(run)
        if before is not None and before.session.is_dir():
            return before
        outcome = execute(self.job(run, campaign.path / SESSIONS), lambda _progress: None)
        if outcome.result is None:
            raise CampaignError(
                f"{campaign.path}: run {run} cannot be recorded: {outcome.error}", code="cannot_be_recorded"
            )
        kept = campaign.kept[run] = SavedRun(run, None, Path(outcome.session))
        return kept


def _grid_words(grid: Grid) -> str:
    """Return a grid as text: ``acks: 1, all; seed: 7..26``."""
    seeds = next((axis.values for axis in grid.axes if axis.name == SEED), ())
    in_a_row = list(seeds) == [str(int(seeds[0]) + turn) for turn in range(len(seeds))] if len(seeds) > 2 else False
    if not in_a_row:
        return "; ".join(grid.lines())
    return "; ".join([*grid.without(SEED).lines(), f"{SEED}: {seeds[0]}..{seeds[-1]}"])


def _apart_from_seed(cell: Cell) -> Cell:
    return tuple([pair for pair in cell if pair[0] != SEED])


@lru_cache(4)
def _cells(grid: Grid) -> tuple[Cell, ...]:
    return tuple(grid.cells())


@lru_cache(4)
def _root(plan: GridPlan) -> tuple[YamlMapping, Sequence[str]]:
    """Return the playbook's tree, and the variables that it declares or includes."""
    root, _problems = compose(plan.text, plan.path)
    whole = loads(plan.text, plan.path, dict(plan.fragments))
    assert isinstance(root, YamlMapping)
    return root, whole.variables


@lru_cache(SETTINGS)
def _made(plan: GridPlan, cell: Cell) -> tuple[str, Cell]:
    """Return the text of a cell, and the settings that were made in it."""
    root, variables = _root(plan)
    settings = settings_of(cell, root, variables)
    return cell_text(plan.text, settings, dict(plan.fragments), variables), tuple(settings.items())


@lru_cache(SETTINGS)
def _playbook(plan: GridPlan, cell: Cell) -> Playbook:
    return loads(_made(plan, cell)[0], plan.path, dict(plan.fragments))


# Running a playbook over its grid: the same seed and faults in every cell, many sessions in parallel.


@dataclass(frozen=True, slots=True)
class GridRun:
    """Options of running a playbook over its grid."""

    playbook: Playbook
    """The playbook with the settings of the command line."""
    grid: Grid
    seed: int
    settings: Mapping[str, str]
    """Settings of the command line, for the recordings."""
    out: Path | None = None
    until_us: int = -1
    fsync: Fsync = Fsync.INTERVAL


def plan_of(varying: GridRun) -> GridPlan:
    """Return the grid as plain data that determines the results of its cells."""
    playbook = varying.playbook
    rest = (tuple(varying.settings.items()), varying.until_us, tuple(playbook.fragments.items()))
    return GridPlan(playbook.source, playbook.path, varying.seed, varying.grid, *rest)


def jobs_of(varying: GridRun) -> list[tuple[Cell, PlaybookJob]]:
    """Return each cell with its job.

    Raises:
        AxisError, SettingError: an axis without a target in this playbook.
    """
    plan = plan_of(varying)
    runs = range(1, varying.grid.size + 1)
    return [(plan.cell(run), plan.job(run, varying.out, varying.fsync)) for run in runs]


def run_jobs(
    varying: GridRun, run: Callable[[Sequence[PlaybookJob]], list[JobOutcome]]
) -> tuple[SweepMatrix, list[JobOutcome]]:
    """Run every cell with ``run``; return the matrix, and the outcome of each job."""
    outcomes = run([job for _cell, job in jobs_of(varying)])
    return matrix_of(varying, outcomes), outcomes


def matrix_of(varying: GridRun, outcomes: Sequence[JobOutcome]) -> SweepMatrix:
    """Return the matrix of the outcomes."""
    cells = list(varying.grid.cells())
    rows = tuple([_row(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)])
    return SweepMatrix(varying.playbook.name, axes_of(cells), rows, varying.seed)


def _row(cell: Cell, outcome: JobOutcome) -> CellResult:
    if outcome.result is None:
        return CellResult(cell, "not run" if outcome.code == NOT_RUN else "error", {}, outcome.code, outcome.error)
    return CellResult(cell, outcome.result.verdict, measured(outcome.result), outcome.code, "", outcome.result)
