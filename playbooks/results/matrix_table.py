"""A matrix as a table: heads and rows of text, for a terminal, for a pipe and for Markdown.

A row is a cell, or the cells of all seeds together: ``12 (0-40)`` is then the median with the least and the greatest.
Measures that are nought in every row are left out of the table and named below it; so is the longest outage where each
row has no more than one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from playbooks.model.grid import SEED, Cell, cell_words, value_words
from playbooks.results.advice import advice, thousands
from playbooks.results.outages import short_seconds
from playbooks.results.sweep_matrix import Group, Matrix, Row
from playbooks.text import escaped, table_text

MARK: Final = "*"
NOTE: Final = (
    "* no other row is at least as good in lost, torn, duplicated, rejected and unavailable, and better in one"
)
CROSSED: Final = 4
"""Rows beyond which two axes are shown across each other, too."""
_HEADS: Final[Mapping[str, str]] = {
    "acked": "acked",
    "lost": "lost",
    "torn": "torn",
    "duplicates": "dup",
    "reordered": "reord",
    "rejected": "rejected",
    "unavailable_us": "out",
    "longest_us": "longest",
    "reread": "reread",
}
_NAMES: Final = {
    "lost": "lost", "torn": "torn", "duplicates": "duplicated", "reordered": "reordered", "rejected": "rejected",
    "unavailable_us": "unavailable",
}  # fmt: skip
_TIMES: Final = ("unavailable_us", "longest_us")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads, and the lines that belong below."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    axes: int = 0
    """Columns behind the first that hold the settings."""


def matrix_table(matrix: Matrix) -> Table:
    """The whole table; with an axis of seeds a row for all seeds of each settings."""
    groups = matrix.groups
    names = list(matrix.varied)
    shown = [name for name in _HEADS if name == "acked" or _told(name, groups)]
    several = matrix.seeds > 1
    seeds = ("seeds ok", "lossy") if several else ()
    heads = ("", *names, "verdict", *seeds, *(_HEADS[name] for name in shown))
    rows = [
        (MARK if marked else "", *(value_words(dict(group.settings).get(name, "")) for name in names), group.verdict,
         *([f"{group.passed}/{len(group.rows)}", str(group.lossy)] if several else []),
         *(_value(group, name) for name in shown))
        for group, marked in zip(groups, matrix.front, strict=True)
    ]  # fmt: skip
    left_out = [_NAMES[name] for name in _NAMES if name not in shown]
    nothing = [f"nothing is {' or '.join(left_out)} in any row"] if left_out and any(g.counts for g in groups) else []
    marks = [NOTE] if any(matrix.front) and len(groups) > 1 else []
    spreads = ["a (b-c): the median over the seeds, the least and the greatest"] if several else []
    return Table(heads, tuple(rows), (*marks, *spreads, *nothing, *_axis_notes(matrix)), len(names))


def _axis_notes(matrix: Matrix) -> list[str]:
    """Axes without a column, and those whose column tells nothing."""
    single = [f"{name}={value_words(values[0])}" for name, values in matrix.axes.items() if len(values) == 1]
    same = [name for name in matrix.varied if name not in matrix.telling]
    notes = [f"{' and '.join(single)} in every row"] if single else []
    return [
        *notes,
        *(
            [f"{' and '.join(same)} {'make' if len(same) > 1 else 'makes'} no difference to what rows are compared by"]
            if same
            else []
        ),
    ]


def seed_table(matrix: Matrix) -> Table | None:
    """Each seed's own row, where nothing but the seed varies; None otherwise."""
    if list(matrix.axes) != [SEED]:
        return None
    heads = ("seed", "verdict", *(_HEADS[name] for name in _HEADS))
    rows = tuple(
        (row.seed, row.verdict, *(_value(Group((), (row,)), name) for name in _HEADS)) for row in matrix.rows
    )  # fmt: skip
    return Table(heads, rows, ())


def cross_table(matrix: Matrix) -> Table | None:
    """One measure over two axes: what was lost, or if nothing was the time out of service; None for other grids."""
    names = matrix.varied
    if len(names) != 2 or len(matrix.groups) <= CROSSED:
        return None
    groups = {_only(group.settings, names): group for group in matrix.groups}
    measure = next((name for name in ("lost", "unavailable_us") if _told(name, matrix.groups)), "")
    first, second = names
    if not measure or len(groups) != len(matrix.axes[first]) * len(matrix.axes[second]):
        return None
    rows = []
    for value in matrix.axes[first]:
        cells = [_at(groups, {first: value, second: other}) for other in matrix.axes[second]]
        rows.append(
            (f"{first}={value_words(value)}", *("" if each is None else _value(each, measure) for each in cells))
        )
    heads = (_NAMES[measure], *(f"{second}={value_words(value)}" for value in matrix.axes[second]))
    return Table(heads, tuple(rows), ())


def matrix_markdown(matrix: Matrix) -> str:
    """The matrix for a pull request: the table, its notes, and the advice."""
    table = matrix_table(matrix)
    said = advice(matrix)
    notes = [f"{escaped(note)}  " for note in table.notes]
    parts = [f"### {escaped(matrix.playbook)}\n", table_text(table.heads, table.rows, escaped), *notes]
    return "\n".join([*parts, *([f"\n**{escaped(said)}**"] if said else []), ""])


def _at(groups: Mapping[Cell, Group], wanted: Mapping[str, str]) -> Group | None:
    return next((group for settings, group in groups.items() if dict(settings) == dict(wanted)), None)


def _only(settings: Cell, names: Sequence[str]) -> Cell:
    return tuple(pair for pair in settings if pair[0] in names)


def _told(name: str, groups: Sequence[Group]) -> bool:
    """Whether a measure is anything but nought somewhere."""
    if name == "longest_us":
        return any(group.total(name) != group.total("unavailable_us") for group in groups)
    names = ("acked_lost", "committed_lost") if name == "lost" else (name,)
    return any(group.total(each) for group in groups for each in names)


def _value(group: Group, name: str) -> str:
    if not any(row.measures for row in group.rows):
        return "-"
    if name == "lost":
        acked, committed = _spread(group, "acked_lost"), _spread(group, "committed_lost")
        return f"{acked} / {committed}" if group.total("committed_lost") else acked
    return _spread(group, name)


def _spread(group: Group, name: str) -> str:
    least, median, greatest = group.spread(name)
    write = short_seconds if name in _TIMES else thousands
    low, middle, high = write(least), write(median), write(greatest)
    if low == high:
        return middle
    return f"{middle} ({low.removesuffix(' s')}-{high})" if name in _TIMES else f"{middle} ({low}-{high})"


def error_lines(rows: Sequence[Row]) -> list[str]:
    """Why cells have no verdict, or an inconclusive one."""
    lines = []
    for row in rows:
        cell = cell_words(row.cell)
        if row.verdict == "error":
            lines.append(f"{cell}: {row.error}")
        elif row.verdict == "inconclusive" and row.result is not None:
            lines.append(f"{cell}: inconclusive: {row.result.reason}")
    return lines
