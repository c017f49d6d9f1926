"""Result matrix of a grid: a row for each cell, its Pareto rows, one sentence of advice, and tables.

A row *beats* another if it is at least as good in every measure and better in one: records lost (acknowledged and
committed), with a wrong transaction outcome, duplicated, rejected, skipped and read again, the time producers were out
of service, and the longest read stall of a group. The rows that no other beats are the *Pareto rows*. Rows without a
complete session (inconclusive, an error, not run) neither beat nor are marked. Times are compared in tenths of a
second: smaller differences are chance. Over several seeds each measure is summed, for all rows over the same seeds.

A *wrong outcome* is that of a transaction that ended in the log otherwise than in the response to its producer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, Final, Literal

from cluster_model.util.quantities import counted, short_seconds, thousands
from playbooks.errors import worst
from playbooks.model.playbook import SEED, Cell, cell_label, value_label
from playbooks.results.result import SessionResult
from playbooks.text import escaped, table_text

MEASURES: Final = (
    "acked", "acked_lost", "committed_lost", "wrong_outcome", "duplicates", "reordered", "rejected", "unavailable_us",
    "longest_us", "skipped", "reread", "read_stall_us", "idle_us", "resets",
)  # fmt: skip
"""Measures of a session: records, and virtual microseconds; from ``skipped`` on of all groups together."""
COSTS: Final = (
    "acked_lost", "committed_lost", "wrong_outcome", "duplicates", "rejected", "unavailable_us", "skipped", "reread",
    "read_stall_us",
)  # fmt: skip
"""Measures by which rows are compared; for all of them less is better."""
TENTH_US: Final = 100_000
LONGEST: Final = ("longest_us", "read_stall_us")
"""Measures that are a maximum, not a sum."""

Verdict = Literal["pass", "fail", "inconclusive", "error", "not run"]
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("error", "fail", "inconclusive", "not run", "pass")


@dataclass(frozen=True, slots=True)
class CellResult:
    """Result of one cell of a grid."""

    cell: Cell
    verdict: Verdict
    measures: Mapping[str, int] = field(default_factory=dict)
    """Values by the names in :data:`MEASURES`; empty after an error, and if the cell was not run."""
    code: int = 0
    error: str = ""
    result: SessionResult | None = None

    @property
    def seed(self) -> str:
        """The cell's own seed, empty if seeds are not varied."""
        return dict(self.cell).get(SEED, "")

    @property
    def settings(self) -> Cell:
        """The cell without its seed."""
        return tuple(pair for pair in self.cell if pair[0] != SEED)


@dataclass(frozen=True, slots=True)
class CellGroup:
    """Rows with the same settings, one for each seed; one row if seeds are not varied."""

    settings: Cell
    rows: tuple[CellResult, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the rows."""
        found = [row.verdict for row in self.rows]
        return next(each for each in _WORST_FIRST if each in found)

    @property
    def is_complete(self) -> bool:
        """Whether every session reached its end, so that its numbers are comparable."""
        return all(row.verdict in ("pass", "fail") for row in self.rows)

    @property
    def lossy(self) -> int:
        """Number of seeds with losses."""
        return sum(bool(each["acked_lost"] or each["committed_lost"]) for each in self._numbers)

    @property
    def passed(self) -> int:
        """Number of seeds in which every expectation passed."""
        return sum(row.verdict == "pass" for row in self.rows)

    @property
    def _numbers(self) -> list[Mapping[str, int]]:
        return [row.measures for row in self.rows if row.measures]

    def total(self, measure: str) -> int:
        """Return the sum of a measure over all seeds, or the maximum for those of :data:`LONGEST`."""
        values = [each[measure] for each in self._numbers]
        return max(values, default=0) if measure in LONGEST else sum(values)

    def spread(self, measure: str) -> tuple[int, int, int]:
        """Return minimum, median (the lower of two) and maximum over the seeds."""
        values = [each[measure] for each in self._numbers] or [0]
        return min(values), median_low(values), max(values)


@dataclass(frozen=True, slots=True)
class SweepMatrix:
    """Result matrix of a grid: all rows, in the grid's order."""

    playbook: str
    axes: Mapping[str, tuple[str, ...]]
    rows: tuple[CellResult, ...]
    seed: int
    """Seed of every cell, if seeds are not varied."""

    @property
    def groups(self) -> tuple[CellGroup, ...]:
        """The rows grouped by their settings."""
        found: dict[Cell, list[CellResult]] = {}
        for row in self.rows:
            found.setdefault(row.settings, []).append(row)
        return tuple(CellGroup(settings, tuple(rows)) for settings, rows in found.items())

    @property
    def seeds(self) -> int:
        """Number of seeds run with each settings."""
        return len(self.axes.get(SEED, ("",)))

    @property
    def varied(self) -> tuple[str, ...]:
        """Axes, except seeds, that have more than one value."""
        return tuple(name for name, values in self.axes.items() if name != SEED and len(values) > 1)

    @property
    def significant_axes(self) -> tuple[str, ...]:
        """Varied axes that matter: some pair of rows that differ only there differ in cost."""
        found = {group.settings: costs(group) for group in self.groups}
        return tuple(name for name in self.varied if _matters(name, found))

    @property
    def pareto(self) -> tuple[bool, ...]:
        """For each group, whether it is a Pareto row."""
        return pareto([costs(group) for group in self.groups])

    @property
    def code(self) -> int:
        """Exit code: the worst of all cells."""
        return worst(row.code for row in self.rows)


def _matters(name: str, costs: Mapping[Cell, tuple[int, ...] | None]) -> bool:
    """Return whether an axis changes a cost, as far as rows can be compared; True if none can."""
    by_rest: dict[Cell, list[tuple[int, ...] | None]] = {}
    for settings, cost in costs.items():
        by_rest.setdefault(tuple(pair for pair in settings if pair[0] != name), []).append(cost)
    return any(len(each) == 1 or None in each or len(set(each)) > 1 for each in by_rest.values())


def measured(result: SessionResult) -> dict[str, int]:
    """Return the measures of a session. Rejected records are those failed and those with an unknown outcome."""
    ledger = result.ledger
    return {
        "acked": ledger.acked,
        "acked_lost": ledger.acked_lost,
        "committed_lost": ledger.committed_lost,
        "wrong_outcome": ledger.acked_aborted + ledger.aborted_committed,
        "duplicates": ledger.duplicates,
        "reordered": ledger.reordered,
        "rejected": ledger.failed + ledger.unknown,
        "unavailable_us": result.unavailable.us,
        "longest_us": result.unavailable.longest_us,
        "skipped": sum(group.skipped for group in result.clients.groups),
        "reread": sum(group.reread for group in result.clients.groups),
        "read_stall_us": max([group.read_stall_us for group in result.clients.groups], default=0),
        "idle_us": sum(group.idle_us for group in result.clients.groups),
        "resets": sum(group.resets for group in result.clients.groups),
    }


def costs(group: CellGroup) -> tuple[int, ...] | None:
    """Return the costs by which a group is compared; None if its sessions did not complete."""
    return tuple([_felt(name, group.total(name)) for name in COSTS]) if group.is_complete else None


def _felt(measure: str, value: int) -> int:
    """Round a measure to significant digits: a time to 0.1 s, since smaller differences are network jitter.

    Read stalls too short to be shown count as none.
    """
    if measure == "read_stall_us" and value < STALL_US:
        return 0
    return (value + TENTH_US // 2) // TENTH_US if measure in _TIMES else value


def beats(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether costs are nowhere higher than other costs, and somewhere lower."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def pareto(costs: Sequence[Sequence[int] | None]) -> tuple[bool, ...]:
    """Return for each costs whether no others beat them; False for None."""
    there = [each for each in costs if each is not None]
    return tuple(each is not None and not any(beats(other, each) for other in there) for each in costs)


def to_json(matrix: SweepMatrix, advice: str) -> dict[str, Any]:
    """Return the published document."""
    groups, front = matrix.groups, matrix.pareto
    return {
        "playbook": matrix.playbook,
        "axes": {name: list(values) for name, values in matrix.axes.items()},
        "exit_code": matrix.code,
        "cells": [_cell(row) for row in matrix.rows],
        "groups": [_group(group) for group in groups] if matrix.seeds > 1 else [],
        "pareto": [dict(group.settings) for group, marked in zip(groups, front, strict=True) if marked],
        "advice": advice,
    }


def _cell(row: CellResult) -> dict[str, Any]:
    result = row.result.to_json() if row.result is not None else None
    cell = {"settings": dict(row.cell), "verdict": row.verdict, "exit_code": row.code, "error": row.error}
    return {**cell, **_measures(row.measures), "result": result}


def _measures(measures: Mapping[str, int]) -> dict[str, int]:
    return {name: measures[name] for name in MEASURES if name in measures}


def _number(number: int) -> str:
    return thousands(number)


def _group(group: CellGroup) -> dict[str, Any]:
    spreads = {name: dict(zip(("min", "median", "max"), group.spread(name), strict=True)) for name in MEASURES}
    numbers = {"seeds": len(group.rows), "passed": group.passed, "lossy": group.lossy}
    return {"settings": dict(group.settings), "verdict": group.verdict, **numbers, **spreads}


def axes_of(cells: Iterable[Cell]) -> dict[str, tuple[str, ...]]:
    """Return the axes of cells with their values, each in order of first occurrence."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, value in cell:
            found.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in found.items()}


# One sentence of advice on a grid, derived from its rows alone.
#
# The rules, over the rows whose sessions reached their end:
#
# 1. All rows cost the same in every measure: the sentence says so, with the costs. 2. One row, or several that cost the
# same, beats every other: they are named with their costs. 3. Otherwise two of the Pareto rows: the *safest*, which
# loses least (then duplicates, is out of service and rejects least), and the *most available*, which is out of service
# for the shortest time (then rejects, loses and duplicates least). If one row is both, it is named beside the row that
# duplicates least.
#
# Only axes that make a difference are named. The sentence begins with its scope: the seed or seeds that ran. Rows that
# were left out are counted after it.


STALL_US: Final = 1_000_000
"""Shorter read stalls are normal: joining a group and fetching take that long."""
NAMED = 3
"""Maximum number of rows of equal costs that are named one by one."""


def advice(matrix: SweepMatrix) -> str:
    """Return the sentence; empty if no row counts."""
    groups = [group for group in matrix.groups if group.is_complete]
    left_out = len(matrix.groups) - len(groups)
    if not groups:
        return ""
    front = [group for group, marked in zip(matrix.groups, matrix.pareto, strict=True) if marked]
    sentence = _Sentence(matrix.significant_axes or matrix.varied).text(groups, front)
    scope = f"over {matrix.seeds} seeds" if matrix.seeds > 1 else f"with seed {_seed(matrix)}"
    rest = f" {counted(left_out, 'row').capitalize()} without a verdict left out." if left_out else ""
    return f"{scope.capitalize()}: {sentence}.{rest}"


def _seed(matrix: SweepMatrix) -> str:
    return next((row.seed for row in matrix.rows if row.seed), str(matrix.seed))


class _Sentence:
    """Builder of the advice; ``names`` are the axes worth naming."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def text(self, groups: Sequence[CellGroup], front: Sequence[CellGroup]) -> str:
        """Compare all complete rows, given the Pareto rows among them."""
        if len({costs(group) for group in groups}) == 1:
            what = cost_text(groups[0])
            return f"{self._named(groups[0])}: {what}" if len(groups) == 1 else f"all {len(groups)} rows: {what}"
        if len({costs(group) for group in front}) == 1:
            return self._best(front)
        one, other = _least(front, _safety), _least(front, _service)
        if one is other:
            other = _least(front, lambda group: (group.total("duplicates"), *_safety(group)))
        if one is other:
            other = next(group for group in front if costs(group) != costs(one))
        return f"{self._named(one)}: {cost_text(one)}; {self._named(other)}: {cost_text(other)}"

    def _best(self, front: Sequence[CellGroup]) -> str:
        """Name the rows of equal costs that beat all others."""
        names = list(dict.fromkeys(self._named(group) for group in front))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        rows = " and ".join(names[:NAMED]) + more
        what = cost_text(front[0])
        return f"{rows}: {what}; every other row is worse in at least one measure and better in none"

    def _named(self, group: CellGroup) -> str:
        return named(tuple(pair for pair in group.settings if pair[0] in self._names))


def _least(groups: Sequence[CellGroup], key: Callable[[CellGroup], tuple[int, ...]]) -> CellGroup:
    return min(groups, key=key)


def _safety(group: CellGroup) -> tuple[int, ...]:
    order = ("acked_lost", "committed_lost", "wrong_outcome", "skipped", "duplicates", "reread", *_STANDS)
    return tuple(group.total(name) for name in order)


def _service(group: CellGroup) -> tuple[int, ...]:
    order = (*_STANDS, "acked_lost", "committed_lost", "wrong_outcome", "skipped", "duplicates", "reread")
    return tuple(group.total(name) for name in order)


_STANDS: Final = ("unavailable_us", "rejected", "read_stall_us")


def named(settings: Cell) -> str:
    """Name settings in a sentence: ``acks=all with min.insync.replicas=2``."""
    if not settings:
        return "the unchanged playbook"
    first, *rest = [f"{name}={value_label(value)}" for name, value in settings]
    return f"{first} with {' and '.join(rest)}" if rest else first


def cost_text(group: CellGroup) -> str:
    """Describe the costs of a row: ``no loss, 1 240 failed or unknown, producers out of service for 9.1 s``."""
    parts = [_losses(group)]
    if mismatched := group.total("wrong_outcome"):
        parts.append(f"{_number(mismatched)} with another transaction outcome than reported")
    if duplicates := group.total("duplicates"):
        parts.append(f"{_number(duplicates)} duplicated")
    if skipped := group.total("skipped"):
        parts.append(f"{_number(skipped)} skipped")
    if reread := group.total("reread"):
        parts.append(f"{_number(reread)} read again")
    if rejected := group.total("rejected"):
        parts.append(f"{_number(rejected)} failed or unknown")
    stall = group.total("read_stall_us")
    if out := group.total("unavailable_us"):
        parts.append(f"producers out of service for {short_seconds(out)}{' in all' if len(group.rows) > 1 else ''}")
    elif not rejected:
        parts.append("no downtime" if stall < STALL_US else "no producer downtime")
    if stall >= STALL_US:
        parts.append(f"readers stalled for up to {short_seconds(stall)}")
    return ", ".join(parts)


def _losses(group: CellGroup) -> str:
    acked, committed = group.total("acked_lost"), group.total("committed_lost")
    where = f" (in {group.lossy} of {len(group.rows)} seeds)" if len(group.rows) > 1 and group.lossy else ""
    if acked and committed:
        return f"{_number(acked)} acknowledged lost, {_number(committed)} of them committed{where}" if (
            committed <= acked
        ) else f"{_number(acked)} acknowledged and {_number(committed)} committed lost{where}"  # fmt: skip
    if acked:
        return f"{_number(acked)} acknowledged lost{where}"
    return f"{_number(committed)} committed lost{where}" if committed else "no loss"


# A matrix as a table: heads and rows of text, for a terminal, for a pipe and for Markdown.
# Tables: heads and rows of text, for a terminal, for a pipe and for Markdown.
#
# A row is a cell, or the cells of all seeds together: ``12 (0-40)`` is then the median with minimum and maximum.
# Measures that are zero in every row are left out of the table and named below it; so is the longest outage if each
# row has at most one.


MARK: Final = "*"
NOTE: Final = "* Pareto-optimal: no other row is at least as good in every measure and better in one"
CROSSED: Final = 4
"""Number of rows beyond which two axes are also shown as a cross table."""
_HEADS: Final[Mapping[str, str]] = {
    "acked": "acked",
    "lost": "lost",
    "wrong_outcome": "wrong outcome",
    "duplicates": "dup",
    "reordered": "reord",
    "rejected": "rejected",
    "unavailable_us": "unavailable",
    "longest_us": "longest",
    "skipped": "skipped",
    "reread": "reread",
    "read_stall_us": "stall",
    "idle_us": "idle",
    "resets": "resets",
}
_NAMES: Final = {
    "lost": "lost", "wrong_outcome": "wrong outcome", "duplicates": "duplicated", "reordered": "reordered",
    "rejected": "rejected", "unavailable_us": "unavailable", "skipped": "skipped", "reread": "read again",
}  # fmt: skip
_TIMES: Final = ("unavailable_us", "longest_us", "read_stall_us", "idle_us")


@dataclass(frozen=True, slots=True)
class SweepTable:
    """A table with heads and rows, and the notes below it."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    axes: int = 0
    """Number of columns after the first that hold the settings."""


def matrix_table(matrix: SweepMatrix) -> SweepTable:
    """Return the whole table; with several seeds one row for all seeds of each settings."""
    groups = matrix.groups
    names = list(matrix.varied)
    shown = [name for name in _HEADS if name == "acked" or _is_nonzero(name, groups)]
    several = matrix.seeds > 1
    seeds = ("seeds ok", "lossy") if several else ()
    heads = ("", *names, "verdict", *seeds, *(_HEADS[name] for name in shown))
    rows = [
        (MARK if marked else "", *(value_label(dict(group.settings).get(name, "")) for name in names), group.verdict,
         *([f"{group.passed}/{len(group.rows)}", str(group.lossy)] if several else []),
         *(_value(group, name) for name in shown))
        for group, marked in zip(groups, matrix.pareto, strict=True)
    ]  # fmt: skip
    left_out = [_NAMES[name] for name in _NAMES if name not in shown]
    nothing = [f"{', '.join(left_out)}: 0 in every row"] if left_out and any(g.is_complete for g in groups) else []
    marks = [NOTE] if any(matrix.pareto) and len(groups) > 1 else []
    spreads = ["a (b-c): median over the seeds (minimum-maximum)"] if several else []
    return SweepTable(heads, tuple(rows), (*marks, *spreads, *nothing, *_axis_notes(matrix)), len(names))


def _axis_notes(matrix: SweepMatrix) -> list[str]:
    """Notes on axes without a column, and on axes that change nothing."""
    single = [f"{name}={value_label(values[0])}" for name, values in matrix.axes.items() if len(values) == 1]
    same = [name for name in matrix.varied if name not in matrix.significant_axes]
    notes = [f"{' and '.join(single)} in every row"] if single else []
    return [
        *notes,
        *(
            [f"{' and '.join(same)} {'do' if len(same) > 1 else 'does'} not affect any compared measure"]
            if same
            else []
        ),
    ]


def seed_table(matrix: SweepMatrix) -> SweepTable | None:
    """Return each seed's own row, if only the seed varies; otherwise None."""
    if list(matrix.axes) != [SEED]:
        return None
    heads = ("seed", "verdict", *(_HEADS[name] for name in _HEADS))
    rows = tuple(
        (row.seed, row.verdict, *(_value(CellGroup((), (row,)), name) for name in _HEADS)) for row in matrix.rows
    )  # fmt: skip
    return SweepTable(heads, rows, ())


def cross_table(matrix: SweepMatrix) -> SweepTable | None:
    """Return one measure over two axes: losses, or without any the time out of service; None for other grids."""
    names = matrix.varied
    if len(names) != 2 or len(matrix.groups) <= CROSSED:
        return None
    groups = {_only(group.settings, names): group for group in matrix.groups}
    measure = next((name for name in ("lost", "unavailable_us") if _is_nonzero(name, matrix.groups)), "")
    first, second = names
    if not measure or len(groups) != len(matrix.axes[first]) * len(matrix.axes[second]):
        return None
    rows = []
    for value in matrix.axes[first]:
        cells = [_at(groups, {first: value, second: other}) for other in matrix.axes[second]]
        rows.append(
            (f"{first}={value_label(value)}", *("" if each is None else _value(each, measure) for each in cells))
        )
    heads = (_NAMES[measure], *(f"{second}={value_label(value)}" for value in matrix.axes[second]))
    return SweepTable(heads, tuple(rows), ())


def matrix_markdown(matrix: SweepMatrix) -> str:
    """Return the matrix for a pull request: the table, its notes, and the advice."""
    table = matrix_table(matrix)
    sentence = advice(matrix)
    notes = [f"{escaped(note)}  " for note in table.notes]
    parts = [f"### {escaped(matrix.playbook)}\n", table_text(table.heads, table.rows, escaped), *notes]
    return "\n".join([*parts, *([f"\n**{escaped(sentence)}**"] if sentence else []), ""])


def _at(groups: Mapping[Cell, CellGroup], wanted: Mapping[str, str]) -> CellGroup | None:
    return next((group for settings, group in groups.items() if dict(settings) == dict(wanted)), None)


def _only(settings: Cell, names: Sequence[str]) -> Cell:
    return tuple(pair for pair in settings if pair[0] in names)


def _is_nonzero(name: str, groups: Sequence[CellGroup]) -> bool:
    """Return whether a measure is non-zero in some row."""
    if name == "read_stall_us":
        return any(group.total(name) >= STALL_US for group in groups)
    if name == "longest_us":
        return any(group.total(name) != group.total("unavailable_us") for group in groups)
    names = ("acked_lost", "committed_lost") if name == "lost" else (name,)
    return any(group.total(each) for group in groups for each in names)


def _value(group: CellGroup, name: str) -> str:
    if not any(row.measures for row in group.rows):
        return "-"
    if name == "lost":
        acked, committed = _spread(group, "acked_lost"), _spread(group, "committed_lost")
        return f"{acked} / {committed}" if group.total("committed_lost") else acked
    return _spread(group, name)


def _spread(group: CellGroup, name: str) -> str:
    least, median, greatest = group.spread(name)
    write = short_seconds if name in _TIMES else _number
    low, middle, high = write(least), write(median), write(greatest)
    if low == high:
        return middle
    return f"{middle} ({low.removesuffix(' s')}-{high})" if name in _TIMES else f"{middle} ({low}-{high})"


def error_lines(rows: Sequence[CellResult]) -> list[str]:
    """Explain why cells have no verdict, or an inconclusive one."""
    lines = []
    for row in rows:
        cell = cell_label(row.cell)
        if row.verdict == "error":
            lines.append(f"{cell}: {row.error}")
        elif row.verdict == "inconclusive" and row.result is not None:
            lines.append(f"{cell}: inconclusive: {row.result.reason}")
    return lines
