"""What a grid came to: a row for each cell, rows over several seeds put together, and the rows that nothing beats.

A row *beats* another if it is at least as good in records lost (acknowledged ones and committed ones), torn, duplicated
and rejected, and in the time that clients were refused, and better in one of them. The rows that no other beats are the
*Pareto rows*: whoever leaves them gives something up. Rows without a verdict that counts (inconclusive, an error,
not run) neither beat nor are marked. Times are compared in tenths of a second: less is chance. Over several seeds each
measure is added up, for all rows over the same seeds.

*Torn* are records whose transaction ended in the log otherwise than its producer was told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, Final, Literal

from playbooks.exit_codes import worst
from playbooks.model.grid import SEED, Cell
from playbooks.results.result import Result

MEASURES: Final = (
    "acked", "acked_lost", "committed_lost", "torn", "duplicates", "reordered", "rejected", "unavailable_us",
    "longest_us", "reread",
)  # fmt: skip
"""What a row tells of a session: records, and virtual microseconds. ``reread`` is of all groups together."""
COSTS: Final = ("acked_lost", "committed_lost", "torn", "duplicates", "rejected", "unavailable_us")
"""What rows are compared by; of all of them less is better."""
TENTH_US: Final = 100_000

Verdict = Literal["pass", "fail", "inconclusive", "error", "not run"]
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("error", "fail", "inconclusive", "not run", "pass")


@dataclass(frozen=True, slots=True)
class Row:
    """One cell."""

    cell: Cell
    verdict: Verdict
    measures: Mapping[str, int] = field(default_factory=dict)
    """By the names in :data:`MEASURES`; empty for an error, and for what was not run."""
    code: int = 0
    error: str = ""
    result: Result | None = None

    @property
    def seed(self) -> str:
        """The cell's own seed, empty where seeds are not varied."""
        return dict(self.cell).get(SEED, "")

    @property
    def settings(self) -> Cell:
        """The cell without its seed."""
        return tuple(pair for pair in self.cell if pair[0] != SEED)


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of the same settings, one for each seed; without an axis of seeds there is one in each."""

    settings: Cell
    rows: tuple[Row, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of them."""
        found = [row.verdict for row in self.rows]
        return next(each for each in _WORST_FIRST if each in found)

    @property
    def counts(self) -> bool:
        """Whether every session reached its end, so that its numbers can be compared with others'."""
        return all(row.verdict in ("pass", "fail") for row in self.rows)

    @property
    def lossy(self) -> int:
        """In how many seeds something was lost."""
        return sum(bool(each["acked_lost"] or each["committed_lost"]) for each in self._numbers)

    @property
    def passed(self) -> int:
        """In how many seeds every expectation held."""
        return sum(row.verdict == "pass" for row in self.rows)

    @property
    def _numbers(self) -> list[Mapping[str, int]]:
        return [row.measures for row in self.rows if row.measures]

    def total(self, measure: str) -> int:
        """A measure over all seeds; of the longest outage the longest."""
        values = [each[measure] for each in self._numbers]
        return max(values, default=0) if measure == "longest_us" else sum(values)

    def spread(self, measure: str) -> tuple[int, int, int]:
        """Least, median (the lower of two) and greatest over the seeds."""
        values = [each[measure] for each in self._numbers] or [0]
        return min(values), median_low(values), max(values)


@dataclass(frozen=True, slots=True)
class Matrix:
    """All rows of a grid, in its order."""

    playbook: str
    axes: Mapping[str, tuple[str, ...]]
    rows: tuple[Row, ...]
    seed: int
    """Of every cell, where seeds are not varied."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The rows by their settings."""
        found: dict[Cell, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.settings, []).append(row)
        return tuple(Group(settings, tuple(rows)) for settings, rows in found.items())

    @property
    def seeds(self) -> int:
        """How many seeds each of the settings was run with."""
        return len(self.axes.get(SEED, ("",)))

    @property
    def varied(self) -> tuple[str, ...]:
        """Axes, but seeds, that have more than one value."""
        return tuple(name for name, values in self.axes.items() if name != SEED and len(values) > 1)

    @property
    def telling(self) -> tuple[str, ...]:
        """Varied axes that make a difference: two rows that differ in nothing else do not cost the same."""
        found = {group.settings: costs(group) for group in self.groups}
        return tuple(name for name in self.varied if _matters(name, found))

    @property
    def front(self) -> tuple[bool, ...]:
        """Of each group, whether it is a Pareto row."""
        return pareto([costs(group) for group in self.groups])

    @property
    def code(self) -> int:
        """The exit code: the worst of all cells."""
        return worst(row.code for row in self.rows)


def _matters(name: str, found: Mapping[Cell, tuple[int, ...] | None]) -> bool:
    """Whether an axis makes a difference, as far as there are rows to compare; where there are none, it may."""
    by_rest: dict[Cell, list[tuple[int, ...] | None]] = {}
    for settings, cost in found.items():
        by_rest.setdefault(tuple(pair for pair in settings if pair[0] != name), []).append(cost)
    return any(len(each) == 1 or None in each or len(set(each)) > 1 for each in by_rest.values())


def measured(result: Result) -> dict[str, int]:
    """The measures of a session. What was rejected is what failed and what nobody knows the outcome of."""
    ledger = result.ledger
    return {
        "acked": ledger.acked,
        "acked_lost": ledger.acked_lost,
        "committed_lost": ledger.committed_lost,
        "torn": ledger.undone + ledger.leaked,
        "duplicates": ledger.duplicates,
        "reordered": ledger.reordered,
        "rejected": ledger.failed + ledger.unknown,
        "unavailable_us": result.unavailable.us,
        "longest_us": result.unavailable.longest_us,
        "reread": sum(group.reread for group in result.clients.groups),
    }


def costs(group: Group) -> tuple[int, ...] | None:
    """What a group is compared by; None for one that does not count."""
    return tuple([_felt(name, group.total(name)) for name in COSTS]) if group.counts else None


def _felt(measure: str, value: int) -> int:
    """A measure as far as it tells: a time to the tenth of a second, since milliseconds are the network's chance."""
    return (value + TENTH_US // 2) // TENTH_US if measure == "unavailable_us" else value


def beats(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether costs are nowhere higher than other costs, and somewhere lower."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def pareto(found: Sequence[Sequence[int] | None]) -> tuple[bool, ...]:
    """Of each costs, whether no others beat them; None is never one of those."""
    there = [each for each in found if each is not None]
    return tuple(each is not None and not any(beats(other, each) for other in there) for each in found)


def to_json(matrix: Matrix, advice: str) -> dict[str, Any]:
    """The published document."""
    groups, front = matrix.groups, matrix.front
    return {
        "playbook": matrix.playbook,
        "axes": {name: list(values) for name, values in matrix.axes.items()},
        "exit_code": matrix.code,
        "cells": [_cell(row) for row in matrix.rows],
        "groups": [_group(group) for group in groups] if matrix.seeds > 1 else [],
        "pareto": [dict(group.settings) for group, marked in zip(groups, front, strict=True) if marked],
        "advice": advice,
    }


def _cell(row: Row) -> dict[str, Any]:
    result = row.result.to_json() if row.result is not None else None
    told = {"settings": dict(row.cell), "verdict": row.verdict, "exit_code": row.code, "error": row.error}
    return {**told, **_measures(row.measures), "result": result}


def _measures(measures: Mapping[str, int]) -> dict[str, int]:
    return {name: measures[name] for name in MEASURES if name in measures}


def _group(group: Group) -> dict[str, Any]:
    spreads = {name: dict(zip(("min", "median", "max"), group.spread(name), strict=True)) for name in MEASURES}
    counted = {"seeds": len(group.rows), "passed": group.passed, "lossy": group.lossy}
    return {"settings": dict(group.settings), "verdict": group.verdict, **counted, **spreads}


def axes_of(cells: Iterable[Cell]) -> dict[str, tuple[str, ...]]:
    """The axes of cells with their values, each in the order in which it comes first."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, value in cell:
            found.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in found.items()}
