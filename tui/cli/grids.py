"""Axes asked for at the command line (``--vary acks=1,all``), and what does not go together with a grid."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from playbooks.cells import cell_text
from playbooks.grid import SEED, Axis, Grid
from playbooks.loader import loads
from playbooks.model import Playbook
from playbooks.problems import PlaybookError, Problem
from playbooks.reading.cell_checks import check_cells
from playbooks.reading.notes import Notes
from playbooks.reading.vary import Places, check_size, from_option
from playbooks.yamlpos import Mapping as YamlMapping
from playbooks.yamlpos import Scalar, compose
from tui.cli.chosen import Chosen


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


def refusals(options: Sequence[str], beside: Sequence[str], chosen: Sequence[Chosen], seed: int | None) -> list[str]:
    """Why what was asked for cannot go together: ``--vary``, ``--seed``, and of some others those that were given."""
    told = []
    grid = chosen[0].playbook.grid if len(chosen) == 1 else None
    alone = set(beside) & {"--no-vary", "--dry-run"}
    if seed is not None and grid is not None and SEED in grid.names and not alone:
        told.append(f"--seed: found {seed}, but the grid of {chosen[0].playbook.path} has an axis of seeds")
    if options:
        told += [f"found --vary and {option} together, allowed is one of them" for option in beside]
        if len(chosen) > 1:
            told.append(f"--vary: found {len(chosen)} playbooks, allowed is one: each has its own grid")
    elif grid is not None and not alone:
        why = f"{chosen[0].playbook.path}: many sessions run at a time; --no-vary runs it as it stands"
        told += [f"{option}: {why}" for option in beside]
    return told
