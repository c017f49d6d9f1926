"""A grid of settings that one playbook is run over: what ``vary`` says, and the cells that it makes.

A cell is one combination: a value for each axis. Cells come in the order in which one would write them down, the last
axis changing fastest; with ``cases`` these come first and change slowest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import yaml

SEED: Final = "seed"
"""The axis that is no setting of the file: the seed of every random stream."""

Cell = tuple[tuple[str, str], ...]
"""Axis → value, as ``--set`` takes it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied, by the name that the file uses, and its values as text."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """All axes of a playbook. ``cases`` are combinations that are written out, beside the axes."""

    axes: tuple[Axis, ...]
    cases: tuple[Cell, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All axes, those of the cases first, in the order in which they are named first."""
        found = [name for case in self.cases for name, _value in case]
        return tuple(dict.fromkeys([*found, *(axis.name for axis in self.axes)]))

    @property
    def size(self) -> int:
        """Number of cells."""
        size = max(1, len(self.cases))
        for axis in self.axes:
            size *= len(axis.values)
        return size

    def cells(self) -> Iterator[Cell]:
        """All cells."""
        choices = [[((axis.name, value),) for value in axis.values] for axis in self.axes]
        for chosen in product(self.cases or ((),), *choices):
            yield tuple(pair for part in chosen for pair in part)

    def lines(self) -> list[str]:
        """What it runs over, a line for each axis, and one for each case: ``acks: 0, 1, all``."""
        cases = [", ".join(f"{name}={value}" for name, value in case) for case in self.cases]
        return [*cases, *(f"{axis.name}: {', '.join(axis.values)}" for axis in self.axes)]

    def without(self, name: str) -> "Grid":
        """The grid without an axis; cases keep theirs."""
        return Grid(tuple(axis for axis in self.axes if axis.name != name), self.cases)

    def with_axis(self, axis: Axis) -> "Grid":
        """The grid with one more axis, or with other values of one."""
        if any(each.name == axis.name for each in self.axes):
            return Grid(tuple(axis if each.name == axis.name else each for each in self.axes), self.cases)
        return Grid((*self.axes, axis), self.cases)


def cell_words(cell: Cell) -> str:
    """``acks=all min.insync.replicas=2``."""
    return " ".join(f"{name}={value_words(value)}" for name, value in cell)


def value_words(value: str) -> str:
    """A value as people read it: a text that is in quotes so that it stays one, without them."""
    return str(yaml.safe_load(value)) if value.startswith('"') else value


def grid_json(grid: Grid) -> dict[str, Any]:
    """As a file has it."""
    return {
        "axes": [[axis.name, list(axis.values)] for axis in grid.axes],
        "cases": [list(map(list, case)) for case in grid.cases],
    }


def grid_of(found: Mapping[str, Any]) -> Grid:
    """The other way round. Raises ValueError, KeyError or TypeError for what is none."""
    axes = tuple([Axis(name, tuple(values)) for name, values in found["axes"]])
    cases: tuple[Cell, ...] = tuple([tuple([(name, value) for name, value in case]) for case in found["cases"]])
    return Grid(axes, cases)
