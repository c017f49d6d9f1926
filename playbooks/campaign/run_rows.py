"""Rows of a campaign: the result of one run, and totals, groups of findings and coverage over rows."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from traceback import extract_tb
from typing import Any, Final

from cluster_model.checker.anomalies import AnomalyReport
from cluster_model.util.quantities import counted
from playbooks.fuzz.protocol_states import STEADY
from playbooks.results.failure_keys import (
    ANOMALY,
    EXPECTATION,
    FINDING,
    LIVENESS,
    VIOLATION,
    AnyCluster,
    Failure,
    current_key,
    expected_reason,
    failures_of,
)
from playbooks.results.result import SessionResult

ERROR = "error"
"""Kind of the key of a run that ended in an internal error; the name is that of the exception."""

Met = dict[str, dict[str, int]]
"""Fault → state → number of injections."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """One failure of a run: its key, whether it is expected, and a sentence."""

    key: str
    expected: str
    """Why it is expected; empty if it is not."""
    sentence: str
    """Description of its first occurrence in the run."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """Result of one run of a campaign, as a row."""

    run: int
    seed: int
    swarm: Mapping[str, Any]
    """Options of the run; ``cell`` has its settings."""
    digest: str = ""
    """Digest of the run; empty if it ended in an error."""
    found: tuple[RunFailure, ...] = ()
    coverage: Met = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    """Internal error with its place."""
    code: int = 0
    """Exit code of the run by itself, if it is a cell of a grid."""
    result: str = ""
    """Full result of a cell of a grid, as :mod:`playbooks.campaign.workloads.grid_workload` writes it."""

    @property
    def surprising(self) -> bool:
        """Whether anything unexpected was found."""
        return any(not each.expected for each in self.found)

    def line(self) -> str:
        """Return the row as a line of ``runs.jsonl``; fields that only cells of grids have are left out elsewhere."""
        values = asdict(self)
        kept = {name: value for name, value in values.items() if value or name not in ("code", "result")}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_line(cls, line: str) -> "RunRow":
        """Parse a line. Raises ValueError, KeyError or TypeError if it is not a row."""
        values = json.loads(line)
        found = tuple([RunFailure(**{**each, "key": current_key(each["key"])}) for each in values.pop("found")])
        return cls(**values, found=found)


def found_in(result: SessionResult, cluster: AnyCluster, listed: tuple[str, ...]) -> tuple[RunFailure, ...]:
    """Return all failures of a run, each key once; ``listed`` are keys that the playbook expects."""
    sentences = dict(reversed(list(_sentences(result))))
    return tuple(
        [
            RunFailure(each.key, expected_reason(each, result.findings, cluster, listed), sentences.get(each.key, ""))
            for each in failures_of(result)
        ]
    )


def counts_of(result: SessionResult) -> dict[str, int]:
    """Return the counts of a run. Times are virtual microseconds."""
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


def crashed_row(
    run: int, seed: int, cell: Mapping[str, str], error: Exception, *, text: str = "", code: int = 0
) -> RunRow:
    """Return the row of a run that ended in an internal error; ``text`` describes more than the error itself."""
    text = text or f"{type(error).__name__}: {error}{_source_line(error)}"
    found = RunFailure(f"{ERROR}:{type(error).__name__}", "", text)
    return RunRow(run, seed, {"cell": dict(cell)}, found=(found,), error=text, code=code)


def _source_line(error: Exception) -> str:
    frames = extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f" ({frames[-1].name}, line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]})"


def _sentences(result: SessionResult) -> Iterable[tuple[str, str]]:
    """Yield each failure's key with a description, in listing order."""
    for finding in result.findings:
        yield Failure(FINDING, f"{finding.kind}/{finding.cause}").key, finding.sentence
    for broken in result.violations:
        yield Failure(VIOLATION, broken.invariant).key, f"{broken.partition}: {broken.detail}".removeprefix(": ")
    for seen in result.anomalies:
        if not seen.legal:
            yield Failure(ANOMALY, seen.name).key, _anomaly(seen)
    for late in result.liveness_violations:
        yield Failure(LIVENESS, late.property).key, late.detail
    for checked in result.expectations:
        if not checked.ok:
            yield Failure(EXPECTATION, checked.text).key, checked.detail


def _anomaly(seen: AnomalyReport) -> str:
    where = ", ".join(" in ".join(filter(None, pair)) for pair in seen.where[:1])
    return f"{seen.name}, {counted(seen.found, 'time')}" + (f": {where}" if where else "")


# Coverage: which faults were injected in which protocol states, over all runs.


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage table: how often each fault was injected in each protocol state."""

    faults: tuple[str, ...]
    """All faults that may be injected."""
    states: tuple[str, ...]
    """All states that the clients make possible."""
    met: Met = field(default_factory=dict)

    def count(self, fault: str, state: str) -> int:
        """Return how often a fault was injected in a state."""
        return self.met.get(fault, {}).get(state, 0)

    @property
    def reached(self) -> int:
        """Number of pairs that occurred at least once."""
        return sum(self.count(fault, state) > 0 for fault in self.faults for state in self.states)

    @property
    def pairs(self) -> int:
        """Number of all pairs."""
        return len(self.faults) * len(self.states)

    def never(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each state with the faults never injected in it."""
        missed = [
            (state, tuple([each for each in self.faults if not self.count(each, state)])) for state in self.states
        ]
        return tuple([(state, faults) for state, faults in missed if faults])


def coverage_of(rows: Iterable[RunRow], faults: tuple[str, ...], states: tuple[str, ...]) -> Coverage:
    """Return the table over all these rows."""
    met: Met = {fault: {} for fault in faults}
    for row in rows:
        for fault, counts in row.coverage.items():
            for state, count in counts.items():
                of_fault = met.setdefault(fault, {})
                of_fault[state] = of_fault.get(state, 0) + count
    return Coverage(faults, (STEADY, *states), met)


# Groups of findings, one for every key: number of runs, first run, and whether it is expected.


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Runs that failed in the same way."""

    key: str
    expected: str
    """Why it is expected; empty if it is not in any of the runs."""
    count: int
    first: int
    """The representative run: the first unexpected one, else the first."""
    sentence: str


def groups_of(rows: Iterable[RunRow]) -> tuple[FailureGroup, ...]:
    """Return all groups, unexpected ones first, then by frequency."""
    by_key: dict[str, list[tuple[RunRow, str, str]]] = {}
    for row in sorted(rows, key=lambda row: row.run):
        for found in row.found:
            by_key.setdefault(found.key, []).append((row, found.expected, found.sentence))
    groups = [_group(key, each) for key, each in by_key.items()]
    return tuple(sorted(groups, key=lambda group: (bool(group.expected), -group.count, group.key)))


def _group(key: str, failures: list[tuple[RunRow, str, str]]) -> FailureGroup:
    row, expected, sentence = next((each for each in failures if not each[1]), failures[0])
    return FailureGroup(key, expected, len(failures), row.run, sentence)


# Totals of a campaign's runs, of a size that does not depend on the number of runs.


MOST_CRASHES_LISTED: Final = 100
"""Number of crashed runs that are listed individually; all of them are among the rows."""


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
    """Number of runs that ended in an internal error ..."""
    broken: tuple[RunCrash, ...]
    """... and the first of them."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        errors = [asdict(each) for each in self.broken]
        return {"runs": self.runs, "strikes": self.strikes, "errors": errors, "errors_in_all": self.errors}


def totals_of(rows: Iterable[RunRow]) -> Totals:
    """Return the totals of rows."""
    there = sorted(rows, key=lambda row: row.run)
    broken = [RunCrash(row.run, row.seed, row.error) for row in there if row.error]
    strikes = sum(row.counts.get("strikes", 0) for row in there)
    return Totals(len(there), strikes, len(broken), tuple(broken[:MOST_CRASHES_LISTED]))
