"""The matrix of a grid: a row for each cell, its Pareto rows, one sentence of advice, and tables.

A row *beats* another if it is at least as good in records lost (acknowledged ones and committed ones), torn,
duplicated, rejected, skipped and read again, in the time that clients were refused and the longest that a group was
handed nothing, and better in one of them. The rows that no other beats are the *Pareto rows*: choosing any other gives
something up. Rows without a verdict that counts (inconclusive, an error, not run) neither beat nor are marked. Times
are compared in tenths of a second: less is chance. Over several seeds each measure is added up, for all rows over the
same seeds.

*Torn* are records whose transaction ended in the log otherwise than its producer was told.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, Final, Literal

from cluster_model.util.quantities import counted, listed, short_seconds, thousands
from playbooks.errors import worst
from playbooks.model.playbook import SEED, Cell, cell_words, value_words
from playbooks.results.result import SessionResult
from playbooks.text import escaped, table_text

MEASURES: Final = (
    "acked", "acked_lost", "committed_lost", "torn", "duplicates", "reordered", "rejected", "unavailable_us",
    "longest_us", "skipped", "reread", "read_stall_us", "idle_us", "resets",
)  # fmt: skip
"""What a row tells of a session: records, and virtual microseconds; from ``skipped`` on of all groups together."""
COSTS: Final = (
    "acked_lost", "committed_lost", "torn", "duplicates", "rejected", "unavailable_us", "skipped", "reread",
    "read_stall_us",
)  # fmt: skip
"""What rows are compared by; of all of them less is better."""
TENTH_US: Final = 100_000
LONGEST: Final = ("longest_us", "read_stall_us")
"""Measures that are the longest of several, and not their sum."""

Verdict = Literal["pass", "fail", "inconclusive", "error", "not run"]
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("error", "fail", "inconclusive", "not run", "pass")


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell."""

    cell: Cell
    verdict: Verdict
    measures: Mapping[str, int] = field(default_factory=dict)
    """By the names in :data:`MEASURES`; empty for an error, and for what was not run."""
    code: int = 0
    error: str = ""
    result: SessionResult | None = None

    @property
    def seed(self) -> str:
        """The cell's own seed, empty where seeds are not varied."""
        return dict(self.cell).get(SEED, "")

    @property
    def settings(self) -> Cell:
        """The cell without its seed."""
        return tuple(pair for pair in self.cell if pair[0] != SEED)


@dataclass(frozen=True, slots=True)
class CellGroup:
    """The rows of the same settings, one for each seed; without an axis of seeds there is one in each."""

    settings: Cell
    rows: tuple[CellResult, ...]

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
        """A measure over all seeds; of the longest outage and stall the longest."""
        values = [each[measure] for each in self._numbers]
        return max(values, default=0) if measure in LONGEST else sum(values)

    def spread(self, measure: str) -> tuple[int, int, int]:
        """Least, median (the lower of two) and greatest over the seeds."""
        values = [each[measure] for each in self._numbers] or [0]
        return min(values), median_low(values), max(values)


@dataclass(frozen=True, slots=True)
class SweepMatrix:
    """All rows of a grid, in its order."""

    playbook: str
    axes: Mapping[str, tuple[str, ...]]
    rows: tuple[CellResult, ...]
    seed: int
    """Of every cell, where seeds are not varied."""

    @property
    def groups(self) -> tuple[CellGroup, ...]:
        """The rows by their settings."""
        found: dict[Cell, list[CellResult]] = {}
        for row in self.rows:
            found.setdefault(row.settings, []).append(row)
        return tuple(CellGroup(settings, tuple(rows)) for settings, rows in found.items())

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


def measured(result: SessionResult) -> dict[str, int]:
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
        "skipped": sum(group.skipped for group in result.clients.groups),
        "reread": sum(group.reread for group in result.clients.groups),
        "read_stall_us": max([group.read_stall_us for group in result.clients.groups], default=0),
        "idle_us": sum(group.idle_us for group in result.clients.groups),
        "resets": sum(group.resets for group in result.clients.groups),
    }


def costs(group: CellGroup) -> tuple[int, ...] | None:
    """What a group is compared by; None for one that does not count."""
    return tuple([_felt(name, group.total(name)) for name in COSTS]) if group.counts else None


def _felt(measure: str, value: int) -> int:
    """A measure as far as it tells: a time to the tenth of a second, since milliseconds are the network's chance.

    Of stalls only those count that are shown.
    """
    if measure == "read_stall_us" and value < STALL_US:
        return 0
    return (value + TENTH_US // 2) // TENTH_US if measure in _TIMES else value


def beats(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether costs are nowhere higher than other costs, and somewhere lower."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def pareto(found: Sequence[Sequence[int] | None]) -> tuple[bool, ...]:
    """Of each costs, whether no others beat them; None is never one of those."""
    there = [each for each in found if each is not None]
    return tuple(each is not None and not any(beats(other, each) for other in there) for each in found)


def to_json(matrix: SweepMatrix, advice: str) -> dict[str, Any]:
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


def _cell(row: CellResult) -> dict[str, Any]:
    result = row.result.to_json() if row.result is not None else None
    told = {"settings": dict(row.cell), "verdict": row.verdict, "exit_code": row.code, "error": row.error}
    return {**told, **_measures(row.measures), "result": result}


def _measures(measures: Mapping[str, int]) -> dict[str, int]:
    return {name: measures[name] for name in MEASURES if name in measures}


def _number(number: int) -> str:
    return thousands(number, "\N{NO-BREAK SPACE}")


def _group(group: CellGroup) -> dict[str, Any]:
    spreads = {name: dict(zip(("min", "median", "max"), group.spread(name), strict=True)) for name in MEASURES}
    numbers = {"seeds": len(group.rows), "passed": group.passed, "lossy": group.lossy}
    return {"settings": dict(group.settings), "verdict": group.verdict, **numbers, **spreads}


def axes_of(cells: Iterable[Cell]) -> dict[str, tuple[str, ...]]:
    """The axes of cells with their values, each in the order in which it comes first."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, value in cell:
            found.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in found.items()}


# One sentence on what a grid shows, made from its rows and never saying more than they do.
#
# The rules, over the rows whose sessions reached their end:
#
# 1. Rows that cost the same in every measure: they come out the same, and what that is. 2. One row, or several that
# cost the same, and every other is beaten: they are named with what they cost. 3. Otherwise two of the Pareto rows:
# the *safest*, which loses least (then duplicates, is out and rejects least), and the *most available*, which stands
# still for the shortest time (then rejects, loses and duplicates least). Where one row is both of them, it is named
# beside the row that duplicates least.
#
# Only axes that make a difference are named. The sentence begins with what it holds for: the seed or seeds that ran.
# Rows that were left out are counted behind it.


STALL_US: Final = 1_000_000
"""Shorter stalls of reading are what joining a group and fetching take."""
NAMED = 3
"""Rows that cost the same, named one by one."""


def advice(matrix: SweepMatrix) -> str:
    """The sentence; empty where no row counts."""
    groups = [group for group in matrix.groups if group.counts]
    left_out = len(matrix.groups) - len(groups)
    if not groups:
        return ""
    front = [group for group, marked in zip(matrix.groups, matrix.front, strict=True) if marked]
    said = _Sentence(matrix.telling or matrix.varied).said(groups, front)
    scope = f"over {matrix.seeds} seeds" if matrix.seeds > 1 else f"with seed {_seed(matrix)}"
    rest = f" {counted(left_out, 'row').capitalize()} without a verdict left out." if left_out else ""
    return f"{scope.capitalize()}: {said}.{rest}"


def _seed(matrix: SweepMatrix) -> str:
    return next((row.seed for row in matrix.rows if row.seed), str(matrix.seed))


class _Sentence:
    """Puts rows into words; ``names`` are the axes that are worth naming."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def said(self, groups: Sequence[CellGroup], front: Sequence[CellGroup]) -> str:
        """What follows from all rows that count and the Pareto rows among them."""
        if len({costs(group) for group in groups}) == 1:
            what = what_words(groups[0])
            return f"{self._named(groups[0])} {what}" if len(groups) == 1 else f"all {len(groups)} rows: each {what}"
        if len({costs(group) for group in front}) == 1:
            return self._best(front)
        one, other = _least(front, _safety), _least(front, _service)
        if one is other:
            other = _least(front, lambda group: (group.total("duplicates"), *_safety(group)))
        if one is other:
            other = next(group for group in front if costs(group) != costs(one))
        return f"{self._named(one)} {what_words(one)}; {self._named(other)} {what_words(other)}"

    def _best(self, front: Sequence[CellGroup]) -> str:
        """Rows that cost the same, and that beat all the others."""
        names = list(dict.fromkeys(self._named(group) for group in front))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        told = " and ".join(names[:NAMED]) + more
        what = what_words(front[0])
        if len(names) == 1:
            return f"{told} {what}; every other row is worse in something and better in nothing"
        return f"{told}: each {what}; every other row is worse in something and better in nothing"

    def _named(self, group: CellGroup) -> str:
        return named(tuple(pair for pair in group.settings if pair[0] in self._names))


def _least(groups: Sequence[CellGroup], key: Callable[[CellGroup], tuple[int, ...]]) -> CellGroup:
    return min(groups, key=key)


def _safety(group: CellGroup) -> tuple[int, ...]:
    order = ("acked_lost", "committed_lost", "torn", "skipped", "duplicates", "reread", *_STANDS)
    return tuple(group.total(name) for name in order)


def _service(group: CellGroup) -> tuple[int, ...]:
    order = (*_STANDS, "acked_lost", "committed_lost", "torn", "skipped", "duplicates", "reread")
    return tuple(group.total(name) for name in order)


_STANDS: Final = ("unavailable_us", "rejected", "read_stall_us")


def named(settings: Cell) -> str:
    """Settings as a sentence has them: ``acks=all with min.insync.replicas=2``."""
    if not settings:
        return "the playbook as it stands"
    first, *rest = [f"{name}={value_words(value)}" for name, value in settings]
    return f"{first} with {' and '.join(rest)}" if rest else first


def what_words(group: CellGroup) -> str:
    """What a row costs: ``loses nothing, leaves 1 240 failed or unknown and stalls producers for 9.1 s``."""
    parts = [_losses(group)]
    if torn := group.total("torn"):
        parts.append(f"tears {_number(torn)} out of their transactions")
    if duplicates := group.total("duplicates"):
        parts.append(f"writes {_number(duplicates)} twice")
    if skipped := group.total("skipped"):
        parts.append(f"skips {_number(skipped)}")
    if reread := group.total("reread"):
        parts.append(f"reads {_number(reread)} again")
    if rejected := group.total("rejected"):
        parts.append(f"leaves {_number(rejected)} failed or unknown")
    stall = group.total("read_stall_us")
    if out := group.total("unavailable_us"):
        parts.append(f"stalls producers for {short_seconds(out)}{' in all' if len(group.rows) > 1 else ''}")
    elif not rejected:
        parts.append("never stalls" if stall < STALL_US else "stalls no producer")
    if stall >= STALL_US:
        parts.append(f"stalls readers for up to {short_seconds(stall)}")
    return listed(parts, "and")


def _losses(group: CellGroup) -> str:
    acked, committed = group.total("acked_lost"), group.total("committed_lost")
    where = f" (in {group.lossy} of {len(group.rows)} seeds)" if len(group.rows) > 1 and group.lossy else ""
    if acked and committed:
        return f"loses {_number(acked)} acknowledged, {_number(committed)} of them committed{where}" if (
            committed <= acked
        ) else f"loses {_number(acked)} acknowledged and {_number(committed)} committed{where}"  # fmt: skip
    if acked:
        return f"loses {_number(acked)} acknowledged{where}"
    return f"loses {_number(committed)} committed{where}" if committed else "loses nothing"


# A matrix as a table: heads and rows of text, for a terminal, for a pipe and for Markdown.
#
# A row is a cell, or the cells of all seeds together: ``12 (0-40)`` is then the median with the least and the
# greatest. Measures that are nought in every row are left out of the table and named below it; so is the longest
# outage where each row has no more than one.


MARK: Final = "*"
NOTE: Final = (
    "* no other row is at least as good in lost, torn, duplicated, rejected, unavailable, skipped, read again and "
    "stalled, and better in one"
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
    "skipped": "skipped",
    "reread": "reread",
    "read_stall_us": "stall",
    "idle_us": "idle",
    "resets": "resets",
}
_NAMES: Final = {
    "lost": "lost", "torn": "torn", "duplicates": "duplicated", "reordered": "reordered", "rejected": "rejected",
    "unavailable_us": "unavailable", "skipped": "skipped", "reread": "read again",
}  # fmt: skip
_TIMES: Final = ("unavailable_us", "longest_us", "read_stall_us", "idle_us")


@dataclass(frozen=True, slots=True)
class SweepTable:
    """Rows under heads, and the lines that belong below."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    axes: int = 0
    """Columns behind the first that hold the settings."""


def matrix_table(matrix: SweepMatrix) -> SweepTable:
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
    return SweepTable(heads, tuple(rows), (*marks, *spreads, *nothing, *_axis_notes(matrix)), len(names))


def _axis_notes(matrix: SweepMatrix) -> list[str]:
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


def seed_table(matrix: SweepMatrix) -> SweepTable | None:
    """Each seed's own row, where nothing but the seed varies; None otherwise."""
    if list(matrix.axes) != [SEED]:
        return None
    heads = ("seed", "verdict", *(_HEADS[name] for name in _HEADS))
    rows = tuple(
        (row.seed, row.verdict, *(_value(CellGroup((), (row,)), name) for name in _HEADS)) for row in matrix.rows
    )  # fmt: skip
    return SweepTable(heads, rows, ())


def cross_table(matrix: SweepMatrix) -> SweepTable | None:
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
    return SweepTable(heads, tuple(rows), ())


def matrix_markdown(matrix: SweepMatrix) -> str:
    """The matrix for a pull request: the table, its notes, and the advice."""
    table = matrix_table(matrix)
    said = advice(matrix)
    notes = [f"{escaped(note)}  " for note in table.notes]
    parts = [f"### {escaped(matrix.playbook)}\n", table_text(table.heads, table.rows, escaped), *notes]
    return "\n".join([*parts, *([f"\n**{escaped(said)}**"] if said else []), ""])


def _at(groups: Mapping[Cell, CellGroup], wanted: Mapping[str, str]) -> CellGroup | None:
    return next((group for settings, group in groups.items() if dict(settings) == dict(wanted)), None)


def _only(settings: Cell, names: Sequence[str]) -> Cell:
    return tuple(pair for pair in settings if pair[0] in names)


def _told(name: str, groups: Sequence[CellGroup]) -> bool:
    """Whether a measure is anything but nought somewhere."""
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
    """Why cells have no verdict, or an inconclusive one."""
    lines = []
    for row in rows:
        cell = cell_words(row.cell)
        if row.verdict == "error":
            lines.append(f"{cell}: {row.error}")
        elif row.verdict == "inconclusive" and row.result is not None:
            lines.append(f"{cell}: inconclusive: {row.result.reason}")
    return lines
