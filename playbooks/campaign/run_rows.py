"""What one run came to, as a line of the campaign: plain values, the same wherever and beside whatever it ran."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from traceback import extract_tb
from typing import Any

from cluster_model.checker.anomalies.checker import Seen
from playbooks.errors import counted
from playbooks.results.result import Result
from playbooks.results.surprise import AnyCluster, why_expected
from playbooks.results.wrongs import ANOMALY, EXPECTATION, FINDING, OVERDUE, VIOLATION, Wrong, wrongs_of

ERROR = "error"
"""Kind of the key of a run that ended in an internal error; the name is that of the exception."""

Met = dict[str, dict[str, int]]
"""Fault → state → how many strikes."""


@dataclass(frozen=True, slots=True)
class Found:
    """One way in which a run went wrong."""

    key: str
    expected: str
    """Why it is no surprise; empty where it is one."""
    sentence: str
    """The first of its kind in the run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run."""

    run: int
    seed: int
    swarm: Mapping[str, Any]
    """What it was drawn or chosen to be; ``cell`` has its settings."""
    digest: str = ""
    """Empty for a run that ended in an error."""
    found: tuple[Found, ...] = ()
    coverage: Met = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    """What broke inside, with the place."""
    code: int = 0
    """Exit code that the run has by itself, where it is a cell of a grid."""
    result: str = ""
    """What a cell of a grid came to in full, as :mod:`playbooks.campaign.workloads.results` has it."""

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
    def of_line(cls, line: str) -> "Row":
        """The other way round. Raises ValueError, KeyError or TypeError for what is none."""
        values = json.loads(line)
        found = tuple([Found(**each) for each in values.pop("found")])
        return cls(**values, found=found)


def found_in(result: Result, cluster: AnyCluster, listed: tuple[str, ...]) -> tuple[Found, ...]:
    """Everything that went wrong, each key once; ``listed`` are keys that the playbook expects."""
    sentences = dict(reversed(list(_sentences(result))))
    return tuple(
        [
            Found(each.key, why_expected(each, result.findings, cluster, listed), sentences.get(each.key, ""))
            for each in wrongs_of(result)
        ]
    )


def counts_of(result: Result) -> dict[str, int]:
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


def broken(run: int, seed: int, cell: Mapping[str, str], error: Exception, *, text: str = "", code: int = 0) -> Row:
    """The row of a run that did not come to its end; ``text`` says more than the error itself."""
    text = text or f"{type(error).__name__}: {error}{_place(error)}"
    found = Found(f"{ERROR}:{type(error).__name__}", "", text)
    return Row(run, seed, {"cell": dict(cell)}, found=(found,), error=text, code=code)


def _place(error: Exception) -> str:
    frames = extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f" ({frames[-1].name}, line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]})"


def _sentences(result: Result) -> Iterable[tuple[str, str]]:
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


def _anomaly(seen: Seen) -> str:
    where = ", ".join(" in ".join(filter(None, pair)) for pair in seen.where[:1])
    return f"{seen.name}, {counted(seen.found, 'time')}" + (f": {where}" if where else "")
