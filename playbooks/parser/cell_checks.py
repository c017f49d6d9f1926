"""Reads every cell of a grid as the playbook that it will be, and tells at the axis' own place what is wrong with it.

A value that no cell can live with is told once, where it stands. What goes wrong only in company is told as the cell.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from playbooks.errors import PlaybookError, counted, shown
from playbooks.model.grid import SEED, Cell, Grid, cell_words, value_words
from playbooks.parser.cells import settings_of
from playbooks.parser.document.context import Notes
from playbooks.parser.document.grid import CASES, Places
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node
from playbooks.parser.settings import SettingError

TOLD: Final = 10
"""Cells that are told one by one."""

Part = Cell
"""One value of one axis, or a case."""


def check_cells(
    grid: Grid, places: Places, load: Callable[[Mapping[str, str]], object], notes: Notes
) -> None:  # fmt: skip
    """Note what is wrong with the cells of a grid. ``load`` reads the playbook with a cell's settings."""
    if notes.root is None:
        return
    checker = _Checker(notes.root, notes.variables, load)
    plain = grid.without(SEED)
    wrong = {cell: message for cell in plain.cells() if cell and (message := checker.why(_without_seed(cell)))}
    if not wrong:
        return
    explained: set[Cell] = set()
    for part, key, node in _parts(plain, places):
        of_it = [cell for cell in plain.cells() if _has(cell, part)]
        blamed = checker.blamed(part, of_it, plain) if of_it and all(cell in wrong for cell in of_it) else ""
        if blamed:
            notes.problem(node, key, f"found {_named(part, key)}, with which {blamed}")
            explained.update(of_it)
    rest = [cell for cell in wrong if cell not in explained]
    for cell in rest[:TOLD]:
        notes.problem(places.whole, "vary", f"found the cell {cell_words(cell)}, in which {wrong[cell]}")
    if len(rest) > TOLD:
        notes.problem(places.whole, "vary", f"found {counted(len(rest) - TOLD, 'more cell')} that cannot be run")


class _Checker:
    """Loads cells, each once."""

    def __init__(
        self, root: YamlMapping, variables: Sequence[str], load: Callable[[Mapping[str, str]], object]
    ) -> None:
        self._root = root
        self._variables = variables
        self._load = load
        self._known: dict[Cell, str] = {}

    def why(self, cell: Cell) -> str:
        """Why a cell is no playbook; empty when it is one."""
        if cell not in self._known:
            self._known[cell] = self._try(cell)
        return self._known[cell]

    def _try(self, cell: Cell) -> str:
        try:
            self._load(settings_of(cell, self._root, self._variables))
        except SettingError as error:
            return str(error).removeprefix("--set ")
        except PlaybookError as error:
            first = error.problems[0]
            more = len(error.problems) - 1
            rest = f" (and {counted(more, 'more mistake')})" if more else ""
            return f"{first.key}: {first.message}{rest}" if first.key else f"{first.message}{rest}"
        return ""

    def blamed(self, part: Part, cells: Iterable[Cell], grid: Grid) -> str:
        """Why a part is wrong that none of its cells can live with; empty where something else fails alone."""
        if alone := self.why(part):
            return alone
        others = {other for cell in cells for other in _parts_of(cell, grid) if other != part}
        if any(self.why(other) for other in sorted(others)):
            return ""
        return next((self.why(cell) for cell in cells), "")


def _parts(grid: Grid, places: Places) -> Iterable[tuple[Part, str, Node]]:
    """Each value and case with its key and its place."""
    for number, (case, node) in enumerate(zip(grid.cases, places.cases, strict=False), 1):
        yield case, f"vary.{CASES}[{number}]", node
    for axis in grid.axes:
        _where, nodes = places.axes[axis.name]
        for number, (value, node) in enumerate(zip(axis.values, nodes, strict=False), 1):
            yield ((axis.name, value),), f"vary.{axis.name}[{number}]", node


def _parts_of(cell: Cell, grid: Grid) -> list[Part]:
    cases = [case for case in grid.cases if _has(cell, case)]
    axes = [(pair,) for pair in cell if any(axis.name == pair[0] for axis in grid.axes)]
    return [*cases, *axes]


def _has(cell: Cell, part: Part) -> bool:
    return all(pair in cell for pair in part)


def _without_seed(cell: Cell) -> Cell:
    return tuple(pair for pair in cell if pair[0] != SEED)


def _named(part: Part, key: str) -> str:
    return shown(value_words(part[0][1])) if not key.startswith(f"vary.{CASES}") else cell_words(part)
