"""What a storm runs: a playbook, with or without its steps, its ranges and a seed; and one run of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from playbooks.campaign.run_rows import Row, broken
from playbooks.campaign.store import Campaign, Kept, text_hash
from playbooks.campaign.work import STORM, Frame
from playbooks.campaign.workloads.rows import row_of
from playbooks.engine.session import Session
from playbooks.fuzz.protocol_states import possible
from playbooks.fuzz.runner import Driven, drive
from playbooks.fuzz.seeds import run_seed
from playbooks.fuzz.swarm import Swarm, candidates_of, cell_of, draw
from playbooks.model.grid import Cell, Grid, grid_json, grid_of
from playbooks.model.playbook import Playbook
from playbooks.model.ranges import Ranges
from playbooks.parser.cells import cell_text, settings_of
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import compose
from playbooks.parser.loader import loads

CELLS: Final = 64
"""Cells of a grid that a process keeps read."""


@dataclass(frozen=True, slots=True)
class Plan:
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

    def row(self, run: int) -> Row:
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
    def of_document(cls, found: Mapping[str, Any]) -> "Plan":
        """The other way round. Raises ValueError, KeyError, TypeError or AttributeError for what is none."""
        grid = grid_of(found["grid"]) if found["grid"] is not None else None
        fragments = tuple(found["fragments"].items())
        return cls(found["text"], found["path"], found["seed"], found["keep_steps"], grid, fragments)

    def keep(self, run: int, campaign: Campaign) -> Kept:
        """Write a run's playbook and record its session, unless that was done before; see :func:`keep_run`."""
        from playbooks.campaign.workloads.writing import keep_run  # noqa: PLC0415 - it writes plans

        return keep_run(self, run, campaign)


def frame_of(playbook: Playbook, session: Session) -> Frame:
    """The faults and states of a run that has begun already."""
    return candidates_of(ranges_of(playbook), session.cluster), possible(session.cluster)


def ranges_of(playbook: Playbook) -> Ranges:
    """What the playbook allows its storms."""
    return playbook.storm or Ranges()


def plan_of(playbook: Playbook, seed: int, *, keep_steps: bool = False, vary: bool = True) -> Plan:
    """The plan of a campaign over a playbook as it was read."""
    fragments = tuple(playbook.fragments.items())
    grid = playbook.grid if vary else None
    return Plan(playbook.source, playbook.path, seed, keep_steps, grid, fragments)


@lru_cache(CELLS)
def _text_of(plan: Plan, cell: Cell) -> str:
    fragments: Mapping[str, str] = dict(plan.fragments)
    root, _problems = compose(plan.text, plan.path)
    whole = loads(plan.text, plan.path, fragments)
    settings = settings_of(cell, root, whole.variables) if isinstance(root, YamlMapping) else {}
    return cell_text(plan.text, settings, fragments, whole.variables)


@lru_cache(CELLS)
def _playbook(plan: Plan, cell: Cell) -> Playbook:
    playbook = loads(plan.text_of(cell), plan.path, dict(plan.fragments))
    return playbook if plan.keep_steps else replace(playbook, steps=())
