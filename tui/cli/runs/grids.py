"""Axes asked for at the command line (``--vary``, ``--repeat``), and what does not go together with a grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from playbooks.errors import PlaybookError, Problem, counted
from playbooks.model.grid import SEED, Axis, Grid
from playbooks.model.playbook import Playbook
from playbooks.parser.cell_checks import check_cells
from playbooks.parser.cells import cell_text
from playbooks.parser.document.context import Notes
from playbooks.parser.document.grid import MAX_CELLS, Places, check_size, from_option
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Scalar, compose
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError
from tui.session.chosen import Chosen

MOST_KEPT: Final = 20_000
"""Cells of a grid that is kept as a campaign: a row each, and no session."""


def with_axes(chosen: Chosen, options: Sequence[str]) -> Chosen:
    """The choice with the axes of ``--vary`` added to its grid, or put in the place of those of the same name.

    Raises:
        PlaybookError: an axis or a value that does not do for this playbook; places are those of the option.
    """
    playbook = chosen.playbook
    root, _problems = compose(playbook.source, playbook.path)
    if not options or not isinstance(root, YamlMapping):
        return chosen
    notes = Notes("--vary", root=root, variables=playbook.variables)
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
        check_cells(grid, places, partial(_cell, playbook), notes)
    if notes.problems:
        raise PlaybookError([_of_option(each) for each in notes.problems])
    return replace(chosen, playbook=replace(playbook, grid=grid))


def _cell(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    return loads(text, playbook.path, playbook.fragments)


def _joined(grid: Grid, places: Places, added: tuple[Axis, Places], notes: Notes) -> tuple[Grid, Places]:
    axis, where = added
    if any(axis.name == name for case in grid.cases for name, _value in case):
        notes.problem(where.whole, axis.name, "found an axis that the cases of the playbook have")
        return grid, places
    return grid.with_axis(axis), replace(places, axes={**places.axes, **where.axes})


def _of_option(problem: Problem) -> Problem:
    return replace(problem, line=1, column=1, key=problem.key.strip("."))


def repeated(chosen: Chosen, times: int | None, *, kept: bool) -> Chosen:
    """The choice with as many seeds as ``--repeat`` says, from its own on; ``kept``: as a campaign.

    Raises:
        SettingError: it has seeds already, or there are too many cells.
    """
    if times is None:
        return chosen
    playbook = chosen.playbook
    grid = playbook.grid or Grid(())
    if SEED in grid.names:
        raise SettingError(f"--repeat: found {times}, but its grid has an axis of seeds")
    grid = grid.with_axis(Axis(SEED, tuple([str(chosen.seed + turn) for turn in range(times)])))
    most = MOST_KEPT if kept else MAX_CELLS
    if grid.size > most:
        more = "" if kept else f", and {MOST_KEPT} with --engine"
        message = f"--repeat: found {times}, which makes {counted(grid.size, 'cell')}, allowed are at most {most}{more}"
        raise SettingError(message)
    return replace(chosen, playbook=replace(playbook, grid=grid))


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of ``run`` that have to do with grids."""

    makers: Sequence[str]
    """Those given that make a grid: ``--vary``, ``--repeat``."""
    beside: Sequence[str]
    """Those given of the ones that a grid does not go with."""
    seed: int | None = None
    engine: bool = False
    """Whether it is to be kept as a campaign."""


def refusals(asked: Asked, chosen: Sequence[Chosen]) -> list[str]:
    """Why what was asked for cannot go together."""
    told = []
    grid = chosen[0].playbook.grid if len(chosen) == 1 else None
    alone = set(asked.beside) & {"--no-vary", "--dry-run"}
    own_seeds = grid is not None and SEED in grid.names and "--repeat" not in asked.makers
    if asked.seed is not None and own_seeds and not alone:
        told.append(f"--seed: found {asked.seed}, but the grid of {chosen[0].playbook.path} has an axis of seeds")
    if asked.makers:
        told += [f"found {asked.makers[0]} and {option} together, allowed is one of them" for option in asked.beside]
        if len(chosen) > 1:
            told.append(f"{asked.makers[0]}: found {len(chosen)} playbooks, allowed is one: each has its own grid")
    elif asked.engine and len(chosen) > 1:
        told.append(f"--engine: found {len(chosen)} playbooks, allowed is one with a grid")
    elif asked.engine and chosen and grid is None:
        told.append(f"--engine: {chosen[0].playbook.path} has no grid, allowed is one: --vary or --repeat makes it")
    elif asked.engine and alone:
        told += [f"found --engine and {option} together, allowed is one of them" for option in asked.beside]
    elif grid is not None and not alone:
        why = f"{chosen[0].playbook.path}: many sessions run at a time; --no-vary runs it as it stands"
        told += [f"{option}: {why}" for option in asked.beside]
    return told
