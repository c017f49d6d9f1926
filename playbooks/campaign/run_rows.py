"""The result of one run as a row, and what rows add up to: totals, groups of findings, coverage."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from traceback import extract_tb
from typing import Any, Final

from cluster_model.checker.anomalies import AnomalyReport
from cluster_model.util.quantities import counted
from playbooks.fuzz.protocol_states import NOTHING
from playbooks.results.result import SessionResult
from playbooks.results.wrongs import (
    ANOMALY,
    EXPECTATION,
    FINDING,
    OVERDUE,
    VIOLATION,
    AnyCluster,
    Wrong,
    why_expected,
    wrongs_of,
)

ERROR = "error"
"""Kind of the key of a run that ended in an internal error; the name is that of the exception."""

Met = dict[str, dict[str, int]]
"""Fault → state → how many strikes."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """One way in which a run went wrong."""

    key: str
    expected: str
    """Why it is no surprise; empty where it is one."""
    sentence: str
    """The first of its kind in the run."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run."""

    run: int
    seed: int
    swarm: Mapping[str, Any]
    """What it was drawn or chosen to be; ``cell`` has its settings."""
    digest: str = ""
    """Empty for a run that ended in an error."""
    found: tuple[RunFailure, ...] = ()
    coverage: Met = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    """What broke inside, with the place."""
    code: int = 0
    """Exit code that the run has by itself, where it is a cell of a grid."""
    result: str = ""
    """What a cell of a grid came to in full, as :mod:`playbooks.campaign.workloads.grid_workload` has it."""

    @property
    def surprising(self) -> bool:
        """Whether anything was found that is not expected."""
        return any(not each.expected for each in self.found)

    def line(self) -> str:
        """As ``runs.jsonl`` has it; what only cells of grids have is left out elsewhere."""
        values = asdict(self)
        told = {name: value for name, value in values.items() if value or name not in ("code", "result")}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_line(cls, line: str) -> "RunRow":
        """The other way round. Raises ValueError, KeyError or TypeError for what is none."""
        values = json.loads(line)
        found = tuple([RunFailure(**each) for each in values.pop("found")])
        return cls(**values, found=found)


def found_in(result: SessionResult, cluster: AnyCluster, listed: tuple[str, ...]) -> tuple[RunFailure, ...]:
    """Everything that went wrong, each key once; ``listed`` are keys that the playbook expects."""
    sentences = dict(reversed(list(_sentences(result))))
    return tuple(
        [
            RunFailure(each.key, why_expected(each, result.findings, cluster, listed), sentences.get(each.key, ""))
            for each in wrongs_of(result)
        ]
    )


def counts_of(result: SessionResult) -> dict[str, int]:
    """What every run counts. Times are virtual microseconds."""
    return {
        "unavailable_us": result.unavailable.us,
        "longest_unavailable_us": result.unavailable.longest_us,
        "virtual_us": result.virtual_us,
        "events": result.events,
        "sent": result.ledger.sent,
        "acked": result.ledger.acked,
        "acked_lost": result.ledger.acked_lost,
        "committed_lost": result.ledger.committed_lost,
    }


def broken(run: int, seed: int, cell: Mapping[str, str], error: Exception, *, text: str = "", code: int = 0) -> RunRow:
    """The row of a run that did not come to its end; ``text`` says more than the error itself."""
    text = text or f"{type(error).__name__}: {error}{_place(error)}"
    found = RunFailure(f"{ERROR}:{type(error).__name__}", "", text)
    return RunRow(run, seed, {"cell": dict(cell)}, found=(found,), error=text, code=code)


def _place(error: Exception) -> str:
    frames = extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f" ({frames[-1].name}, line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]})"


def _sentences(result: SessionResult) -> Iterable[tuple[str, str]]:
    """Every wrong thing's key with a sentence, in the order in which they are told."""
    for finding in result.findings:
        yield Wrong(FINDING, f"{finding.kind}/{finding.cause}").key, finding.sentence
    for broken in result.violations:
        yield Wrong(VIOLATION, broken.invariant).key, f"{broken.partition}: {broken.detail}".removeprefix(": ")
    for seen in result.anomalies:
        if not seen.legal:
            yield Wrong(ANOMALY, seen.name).key, _anomaly(seen)
    for late in result.overdue:
        yield Wrong(OVERDUE, late.property).key, late.detail
    for checked in result.expectations:
        if not checked.ok:
            yield Wrong(EXPECTATION, checked.text).key, checked.detail


def _anomaly(seen: AnomalyReport) -> str:
    where = ", ".join(" in ".join(filter(None, pair)) for pair in seen.where[:1])
    return f"{seen.name}, {counted(seen.found, 'time')}" + (f": {where}" if where else "")


# Coverage: which fault met which state of the protocol, over all runs, and what was never reached.


@dataclass(frozen=True, slots=True)
class Coverage:
    """A table: faults by states."""

    faults: tuple[str, ...]
    """All that may come."""
    states: tuple[str, ...]
    """All that there are for what the clients are."""
    met: Met = field(default_factory=dict)

    def count(self, fault: str, state: str) -> int:
        """How many strikes with a fault met a state."""
        return self.met.get(fault, {}).get(state, 0)

    @property
    def reached(self) -> int:
        """Pairs that were met at least once."""
        return sum(self.count(fault, state) > 0 for fault in self.faults for state in self.states)

    @property
    def pairs(self) -> int:
        """All that there are."""
        return len(self.faults) * len(self.states)

    def never(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each state with the faults that never met it; a state that nothing met has all of them."""
        missed = [
            (state, tuple([each for each in self.faults if not self.count(each, state)])) for state in self.states
        ]
        return tuple([(state, faults) for state, faults in missed if faults])


def coverage_of(rows: Iterable[RunRow], faults: tuple[str, ...], states: tuple[str, ...]) -> Coverage:
    """The table of all these runs."""
    met: Met = {fault: {} for fault in faults}
    for row in rows:
        for fault, counts in row.coverage.items():
            for state, count in counts.items():
                of_fault = met.setdefault(fault, {})
                of_fault[state] = of_fault.get(state, 0) + count
    return Coverage(faults, (NOTHING, *states), met)


# Groups of findings, one for every key: how often, in which run first, and whether it is expected.


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Runs that went wrong in the same way."""

    key: str
    expected: str
    """Why it is no surprise; empty where it is one in any of the runs."""
    count: int
    first: int
    """The run that speaks for it: the first one, or the first that is a surprise."""
    sentence: str


def groups_of(rows: Iterable[RunRow]) -> tuple[FailureGroup, ...]:
    """All groups, surprises first, then by how often."""
    by_key: dict[str, list[tuple[RunRow, str, str]]] = {}
    for row in sorted(rows, key=lambda row: row.run):
        for found in row.found:
            by_key.setdefault(found.key, []).append((row, found.expected, found.sentence))
    groups = [_group(key, each) for key, each in by_key.items()]
    return tuple(sorted(groups, key=lambda group: (bool(group.expected), -group.count, group.key)))


def _group(key: str, found: list[tuple[RunRow, str, str]]) -> FailureGroup:
    row, expected, sentence = next((each for each in found if not each[1]), found[0])
    return FailureGroup(key, expected, len(found), row.run, sentence)


# Totals of a campaign's runs: the same size however many runs there are.


BROKEN_TOLD: Final = 100
"""Runs that broke inside that are told one by one; all of them are among the rows."""


@dataclass(frozen=True, slots=True)
class RunCrash:
    """A run that ended in an internal error."""

    run: int
    seed: int
    error: str


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the runs that count."""

    runs: int
    strikes: int
    errors: int
    """Runs that ended in an internal error ..."""
    broken: tuple[RunCrash, ...]
    """... and the first of them."""

    def to_json(self) -> dict[str, Any]:
        """As a document has it."""
        errors = [asdict(each) for each in self.broken]
        return {"runs": self.runs, "strikes": self.strikes, "errors": errors, "errors_in_all": self.errors}


def totals_of(rows: Iterable[RunRow]) -> Totals:
    """Of rows at hand."""
    there = sorted(rows, key=lambda row: row.run)
    broken = [RunCrash(row.run, row.seed, row.error) for row in there if row.error]
    strikes = sum(row.counts.get("strikes", 0) for row in there)
    return Totals(len(there), strikes, len(broken), tuple(broken[:BROKEN_TOLD]))
