"""The workload of a storm: random faults for each run, its row, and a failed run written as a playbook."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from cluster_model.cluster import Cluster
from playbooks.campaign.run_rows import Met, RunRow, counts_of, crashed_row, found_in
from playbooks.campaign.store import (
    GRID,
    SESSIONS,
    STORM,
    CampaignError,
    CampaignStore,
    CampaignWorkload,
    Frame,
    SavedRun,
    text_hash,
)
from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.engine.session import ENDINGS, Session
from playbooks.export.playbook_writer import replaced
from playbooks.fuzz.protocol_states import STEADY, possible
from playbooks.fuzz.runner import (
    RunOptions,
    StepExecution,
    StormResult,
    candidates_of,
    cell_of,
    generate_options,
    run_seed,
    run_storm,
)
from playbooks.model.playbook import Cell, Grid, Playbook, StormRanges, Trigger, grid_json, grid_of
from playbooks.model.step_text import action_lines, block, scalar, step_lines, trigger_lines
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import compose
from playbooks.parser.loader import load, loads
from playbooks.parser.settings import cell_text, settings_of
from playbooks.parser.yaml_edit import EditError, put, rewritten, without, written_out
from playbooks.recording.recorder import Recorder
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import SessionPath
from playbooks.version import VERSION

# The row of one run of a storm.


def row_of(swarm: RunOptions, driven: StormResult, cluster: Cluster, listed: tuple[str, ...]) -> RunRow:
    """Return the row of a completed run; ``listed`` are keys that the playbook expects."""
    coverage: Met = {}
    for strike in driven.strikes:
        met = coverage.setdefault(strike.action.name, {})
        for state in strike.states:
            met[state] = met.get(state, 0) + 1
    counts = {
        "strikes": len(driven.strikes),
        "refused": driven.refused,
        "waited": driven.waited,
        "met": driven.states_reached,
        "settled_us": driven.settled_us,
        "recovery_us": driven.recovery_us,
        **counts_of(driven.result),
    }
    found = found_in(driven.result, cluster, listed)
    return RunRow(swarm.run, swarm.seed, swarm.to_json(), driven.result.digest, found, coverage, counts)


CELLS: Final = 64
"""Number of parsed cells of a grid that a process caches."""


@dataclass(frozen=True, slots=True)
class FuzzPlan:
    """Everything that determines the results of a storm, as plain data for other processes."""

    text: str
    """Text of the playbook, with the settings of the command line."""
    path: str
    seed: int
    keep_steps: bool = False
    grid: Grid | None = None
    """Grid of which each run gets a random cell."""
    fragments: tuple[tuple[str, str], ...] = field(default=())

    def text_of(self, cell: Cell) -> str:
        """Return the playbook's text in a cell of its grid."""
        return _text_of(self, cell)

    def playbook(self, cell: Cell) -> Playbook:
        """Return the playbook that is run in a cell."""
        return _playbook(self, cell)

    def begin(self, run: int) -> tuple[Playbook, RunOptions, Session]:
        """Start a run, before its first event."""
        cell = cell_of(self.seed, run, self.grid)
        playbook = self.playbook(cell)
        session = Session.start(playbook, seed=run_seed(self.seed, run), open_ended=True)
        swarm = generate_options(self.seed, run, cell, ranges_of(playbook), session.cluster)
        return playbook, swarm, session

    def drive(self, run: int) -> tuple[StormResult, RunOptions, Session]:
        """Execute a run to its end."""
        _own, swarm, session = self.begin(run)
        return run_storm(swarm, session), swarm, session

    def row(self, run: int) -> RunRow:
        """Return the row of a run; an internal error becomes a row, too."""
        try:
            driven, swarm, session = self.drive(run)
        except Exception as error:
            return crashed_row(run, run_seed(self.seed, run), dict(cell_of(self.seed, run, self.grid)), error)
        return row_of(swarm, driven, session.cluster, ranges_of(session.playbook).expected)

    def frame(self) -> Frame:
        """Return the faults and states that are the rows and columns of the coverage."""
        playbook, _swarm, session = self.begin(1)
        return frame_of(playbook, session)

    def head(self) -> dict[str, Any]:
        """Return what identifies the storm."""
        grid = "\n".join(self.grid.lines()) if self.grid is not None else ""
        return {
            "kind": STORM,
            "text": text_hash(self.text, self.fragments, grid),
            "seed": self.seed,
            "keep_steps": self.keep_steps,
            "vary": self.grid is not None,
        }

    def document(self) -> dict[str, Any]:
        """Return the plan as stored in ``plan.json``."""
        return {
            "kind": STORM,
            "text": self.text,
            "path": self.path,
            "seed": self.seed,
            "keep_steps": self.keep_steps,
            "grid": grid_json(self.grid) if self.grid is not None else None,
            "fragments": dict(self.fragments),
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "FuzzPlan":
        """Restore the plan of :meth:`document`.

        Raises ValueError, KeyError, TypeError or AttributeError for other documents.
        """
        grid = grid_of(document["grid"]) if document["grid"] is not None else None
        fragments = tuple(document["fragments"].items())
        return cls(document["text"], document["path"], document["seed"], document["keep_steps"], grid, fragments)

    def keep(self, run: int, campaign: CampaignStore) -> SavedRun:
        """Write a run's playbook and record its session, unless that was done before; see :func:`keep_run`."""
        return keep_run(self, run, campaign)


def frame_of(playbook: Playbook, session: Session) -> Frame:
    """Return the faults and states of a run that has begun."""
    return candidates_of(ranges_of(playbook), session.cluster), possible(session.cluster)


def ranges_of(playbook: Playbook) -> StormRanges:
    """Return the ranges that the playbook gives its storms."""
    return playbook.storm or StormRanges()


def plan_of(playbook: Playbook, seed: int, *, keep_steps: bool = False, vary: bool = True) -> FuzzPlan:
    """Return the plan of a campaign over a parsed playbook."""
    fragments = tuple(playbook.fragments.items())
    grid = playbook.grid if vary else None
    return FuzzPlan(playbook.source, playbook.path, seed, keep_steps, grid, fragments)


@lru_cache(CELLS)
def _text_of(plan: FuzzPlan, cell: Cell) -> str:
    fragments: Mapping[str, str] = dict(plan.fragments)
    root, _problems = compose(plan.text, plan.path)
    whole = loads(plan.text, plan.path, fragments)
    settings = settings_of(cell, root, whole.variables) if isinstance(root, YamlMapping) else {}
    return cell_text(plan.text, settings, fragments, whole.variables)


@lru_cache(CELLS)
def _playbook(plan: FuzzPlan, cell: Cell) -> Playbook:
    playbook = loads(plan.text_of(cell), plan.path, dict(plan.fragments))
    return playbook if plan.keep_steps else replace(playbook, steps=())


# The workload as a file in its campaign's directory, for other processes and machines.


PLAN: Final = "plan.json"


class FuzzPlanError(Exception):
    """A file that is not a plan; the message names it."""


def write_plan(folder: Path, work: CampaignWorkload) -> None:
    """Write the plan into a campaign's directory. Raises CampaignError if that is impossible."""
    try:
        put_in_place(folder / PLAN, json.dumps(work.document(), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CampaignError(
            f"{folder}: a campaign cannot be stored there: {error.strerror or error}", code="cannot_be_kept"
        ) from None


def read_plan(folder: SessionPath) -> CampaignWorkload:
    """Read the plan in a campaign's directory. Raises FuzzPlanError if there is none."""
    path = folder / PLAN
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return GridPlan.of_document(found) if found.get("kind") == GRID else FuzzPlan.of_document(found)
    except OSError as error:
        raise FuzzPlanError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FuzzPlanError(f"{path}: found a file that is not a campaign plan") from None


# A run as a playbook that takes the actions of the storm at the same positions.


_INDENT: Final = 2


class PlaybookWriteError(Exception):
    """A run without an equivalent playbook; the message says which."""


def keep_run(plan: FuzzPlan, run: int, campaign: CampaignStore) -> SavedRun:
    """Repeat a run, write its playbook, and record that playbook's session, unless that was done before.

    Raises:
        PlaybookWriteError: the playbook has another digest.
        RecordingError, OSError: something cannot be written.
    """
    before = campaign.kept.get(run)
    if before is not None and before.playbook is not None and before.playbook.is_file() and before.session.is_dir():
        return before
    driven, swarm, session = plan.drive(run)
    path = campaign.path / f"run-{run}.yaml"
    put_in_place(path, playbook_text(plan, swarm, driven, session.playbook.name))
    recorder = Recorder(campaign.path / SESSIONS)
    recorded = Session.start(load(path), recorder=recorder)
    digest = recorded.finish().digest
    if digest != driven.result.digest:
        raise PlaybookWriteError(
            f"{path}: the playbook of run {run} has digest {digest}, expected {driven.result.digest}"
        )
    kept = campaign.kept[run] = SavedRun(run, path, recorder.path)
    return kept


def playbook_text(plan: FuzzPlan, swarm: RunOptions, driven: StormResult, name: str) -> str:
    """Return the text of the whole file."""
    text = written_out(plan.text_of(swarm.cell), plan.path, dict(plan.fragments))
    try:
        return _edited(text, plan, swarm, driven, name)
    except EditError:
        return _edited(rewritten(text, plan.path, {}), plan, swarm, driven, name)


def _edited(text: str, plan: FuzzPlan, swarm: RunOptions, driven: StormResult, name: str) -> str:
    head = (
        f"# Run {swarm.run} of a storm over {name} with the seed {plan.seed}, by floodmark {VERSION}.\n"
        "# The comment of each step names the states of the cluster at its time.\n"
    )
    text = put(text, "name", scalar(f"{name[:80]}-storm-{swarm.run}"))
    text = put(text, "title", scalar(f"Run {swarm.run} of a storm over {name}"))
    text = put(text, "seed", str(swarm.seed))
    for key in ("vary", "profiles", "storm"):
        text = without(text, key, "From the playbook of the storm:")
    return head + replaced(text, "steps", ["steps:", *_steps(driven)])


def _steps(driven: StormResult) -> list[str]:
    lines: list[str] = []
    ends = False
    for each in driven.acts:
        if isinstance(each, StepExecution):
            if each.step.verb != "round":
                lines += block(step_lines(each.step, each.trigger), _INDENT)
            ends = each.step.verb in ENDINGS
            continue
        remark = ", ".join(each.states) if each.states != (STEADY,) else ""
        lines += block([*trigger_lines(each.trigger), *action_lines(each.action)], _INDENT, remark)
    if not ends:
        settle = [*trigger_lines(Trigger("at", driven.settled_us)), ("settle", "now")]
        lines += block(settle, _INDENT, "everything heals")
    return lines
