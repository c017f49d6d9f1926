"""The workload of a storm: random faults for each run, its row, and a failed run written as a playbook."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from cluster_model.cluster import Cluster
from playbooks.campaign.run_rows import Met, RunRow, broken, counts_of, found_in
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
from playbooks.fuzz.protocol_states import NOTHING, possible
from playbooks.fuzz.runner import Driven, StepExecution, Swarm, candidates_of, cell_of, draw, drive, run_seed
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


def row_of(swarm: Swarm, driven: Driven, cluster: Cluster, listed: tuple[str, ...]) -> RunRow:
    """The row of a run that came to its end; ``listed`` are keys that the playbook expects."""
    coverage: Met = {}
    for strike in driven.strikes:
        met = coverage.setdefault(strike.action.name, {})
        for state in strike.states:
            met[state] = met.get(state, 0) + 1
    counts = {
        "strikes": len(driven.strikes),
        "refused": driven.refused,
        "waited": driven.waited,
        "met": driven.met,
        "settled_us": driven.settled_us,
        "recovery_us": driven.recovery_us,
        **counts_of(driven.result),
    }
    found = found_in(driven.result, cluster, listed)
    return RunRow(swarm.run, swarm.seed, swarm.to_json(), driven.result.digest, found, coverage, counts)


CELLS: Final = 64
"""Cells of a grid that a process keeps read."""


@dataclass(frozen=True, slots=True)
class FuzzPlan:
    """Everything that decides what the runs of a campaign come to. Plain values, for other processes."""

    text: str
    """The playbook's, with the settings of the command line made."""
    path: str
    seed: int
    keep_steps: bool = False
    grid: Grid | None = None
    """What each run draws a cell of."""
    fragments: tuple[tuple[str, str], ...] = field(default=())

    def text_of(self, cell: Cell) -> str:
        """The playbook's text in a cell of its grid."""
        return _text_of(self, cell)

    def playbook(self, cell: Cell) -> Playbook:
        """The playbook that is run in a cell."""
        return _playbook(self, cell)

    def begin(self, run: int) -> tuple[Playbook, Swarm, Session]:
        """A run before its first event."""
        cell = cell_of(self.seed, run, self.grid)
        playbook = self.playbook(cell)
        session = Session.start(playbook, seed=run_seed(self.seed, run), open_ended=True)
        swarm = draw(self.seed, run, cell, ranges_of(playbook), session.cluster)
        return playbook, swarm, session

    def drive(self, run: int) -> tuple[Driven, Swarm, Session]:
        """A run to its end."""
        _own, swarm, session = self.begin(run)
        return drive(swarm, session), swarm, session

    def row(self, run: int) -> RunRow:
        """What a run comes to; an error inside is something that it comes to, too."""
        try:
            driven, swarm, session = self.drive(run)
        except Exception as error:
            return broken(run, run_seed(self.seed, run), dict(cell_of(self.seed, run, self.grid)), error)
        return row_of(swarm, driven, session.cluster, ranges_of(session.playbook).expected)

    def frame(self) -> Frame:
        """The faults that may come, and the states that there are: the rows and columns of the coverage."""
        playbook, _swarm, session = self.begin(1)
        return frame_of(playbook, session)

    def head(self) -> dict[str, Any]:
        """What tells the storm from others."""
        grid = "\n".join(self.grid.lines()) if self.grid is not None else ""
        return {
            "kind": STORM,
            "text": text_hash(self.text, self.fragments, grid),
            "seed": self.seed,
            "keep_steps": self.keep_steps,
            "vary": self.grid is not None,
        }

    def document(self) -> dict[str, Any]:
        """As ``plan.json`` has it."""
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
    def of_document(cls, found: Mapping[str, Any]) -> "FuzzPlan":
        """The other way round. Raises ValueError, KeyError, TypeError or AttributeError for what is none."""
        grid = grid_of(found["grid"]) if found["grid"] is not None else None
        fragments = tuple(found["fragments"].items())
        return cls(found["text"], found["path"], found["seed"], found["keep_steps"], grid, fragments)

    def keep(self, run: int, campaign: CampaignStore) -> SavedRun:
        """Write a run's playbook and record its session, unless that was done before; see :func:`keep_run`."""
        return keep_run(self, run, campaign)


def frame_of(playbook: Playbook, session: Session) -> Frame:
    """The faults and states of a run that has begun already."""
    return candidates_of(ranges_of(playbook), session.cluster), possible(session.cluster)


def ranges_of(playbook: Playbook) -> StormRanges:
    """What the playbook allows its storms."""
    return playbook.storm or StormRanges()


def plan_of(playbook: Playbook, seed: int, *, keep_steps: bool = False, vary: bool = True) -> FuzzPlan:
    """The plan of a campaign over a playbook as it was read."""
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


# Work as a file of its campaign's directory: all that another process or machine needs to do the runs.


PLAN: Final = "plan.json"


class FuzzPlanError(Exception):
    """A file that holds no plan; the message names it."""


def write_plan(folder: Path, work: CampaignWorkload) -> None:
    """Write it into a campaign's directory. Raises CampaignError where that cannot be."""
    try:
        put_in_place(folder / PLAN, json.dumps(work.document(), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CampaignError(
            f"{folder}: a campaign cannot be kept there: {error.strerror or error}", code="cannot_be_kept"
        ) from None


def read_plan(folder: SessionPath) -> CampaignWorkload:
    """The work of a campaign's directory. Raises FuzzPlanError where there is none."""
    path = folder / PLAN
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return GridPlan.of_document(found) if found.get("kind") == GRID else FuzzPlan.of_document(found)
    except OSError as error:
        raise FuzzPlanError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FuzzPlanError(f"{path}: found a file that holds no plan of a campaign") from None


# A run as a playbook that does at the same places what the storm did.


_INDENT: Final = 2


class PlaybookWriteError(Exception):
    """A run that no playbook comes to the same as; the message says which."""


def keep_run(plan: FuzzPlan, run: int, campaign: CampaignStore) -> SavedRun:
    """Run it again, write its playbook, and record that playbook's session, unless that was done before.

    Raises:
        PlaybookWriteError: the playbook does not come to the same.
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
            f"{path}: the playbook of run {run} comes to the digest {digest}, not {driven.result.digest}"
        )
    kept = campaign.kept[run] = SavedRun(run, path, recorder.path)
    return kept


def playbook_text(plan: FuzzPlan, swarm: Swarm, driven: Driven, name: str) -> str:
    """The whole file."""
    text = written_out(plan.text_of(swarm.cell), plan.path, dict(plan.fragments))
    try:
        return _edited(text, plan, swarm, driven, name)
    except EditError:
        return _edited(rewritten(text, plan.path, {}), plan, swarm, driven, name)


def _edited(text: str, plan: FuzzPlan, swarm: Swarm, driven: Driven, name: str) -> str:
    head = (
        f"# Run {swarm.run} of a storm over {name} with the seed {plan.seed}, by floodmark {VERSION}.\n"
        "# Beside each step: the states of the cluster that it met.\n"
    )
    text = put(text, "name", scalar(f"{name[:80]}-storm-{swarm.run}"))
    text = put(text, "title", scalar(f"Run {swarm.run} of a storm over {name}"))
    text = put(text, "seed", str(swarm.seed))
    for key in ("vary", "profiles", "storm"):
        text = without(text, key, "Of the playbook that the storm was over:")
    return head + replaced(text, "steps", ["steps:", *_steps(driven)])


def _steps(driven: Driven) -> list[str]:
    lines: list[str] = []
    ends = False
    for each in driven.acts:
        if isinstance(each, StepExecution):
            if each.step.verb != "round":
                lines += block(step_lines(each.step, each.trigger), _INDENT)
            ends = each.step.verb in ENDINGS
            continue
        remark = ", ".join(each.states) if each.states != (NOTHING,) else ""
        lines += block([*trigger_lines(each.trigger), *action_lines(each.action)], _INDENT, remark)
    if not ends:
        settle = [*trigger_lines(Trigger("at", driven.settled_us)), ("settle", "now")]
        lines += block(settle, _INDENT, "everything heals")
    return lines
