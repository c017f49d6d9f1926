"""What one run came to, as a line of the campaign: plain values, the same wherever and beside whatever it ran."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cluster_model.checker.anomalies.witness import Seen
from cluster_model.cluster import Cluster
from playbooks.problems import counted
from playbooks.result import Result
from playbooks.storms.driving import Driven
from playbooks.storms.surprise import why_expected
from playbooks.storms.swarm import Swarm
from playbooks.wrongs import ANOMALY, EXPECTATION, FINDING, OVERDUE, VIOLATION, Wrong, wrongs_of

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
    digest: str = ""
    """Empty for a run that ended in an error."""
    found: tuple[Found, ...] = ()
    coverage: Met = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    """What broke inside, with the place."""

    @property
    def surprising(self) -> bool:
        """Whether anything was found that is not expected."""
        return any(not each.expected for each in self.found)

    def line(self) -> str:
        """As ``runs.jsonl`` has it."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_line(cls, line: str) -> "Row":
        """The other way round. Raises ValueError, KeyError or TypeError for what is none."""
        values = json.loads(line)
        found = tuple([Found(**each) for each in values.pop("found")])
        return cls(**values, found=found)


def row_of(swarm: Swarm, driven: Driven, cluster: Cluster, listed: tuple[str, ...]) -> Row:
    """The line of a run that came to its end; ``listed`` are keys that the playbook expects."""
    result = driven.result
    sentences = dict(reversed(list(_sentences(result))))
    found = tuple(
        [
            Found(each.key, why_expected(each, result.findings, cluster, listed), sentences.get(each.key, ""))
            for each in wrongs_of(result)
        ]
    )
    coverage: Met = {}
    for strike in driven.strikes:
        met = coverage.setdefault(strike.action.name, {})
        for state in strike.states:
            met[state] = met.get(state, 0) + 1
    counts = {
        "strikes": len(driven.strikes),
        "refused": driven.refused,
        "waited": driven.waited,
        "met": driven.met,
        "settled_us": driven.settled_us,
        "recovery_us": driven.recovery_us,
        "unavailable_us": result.unavailable.us,
        "longest_unavailable_us": result.unavailable.longest_us,
        "virtual_us": result.virtual_us,
        "events": result.events,
        "sent": result.ledger.sent,
        "acked": result.ledger.acked,
        "acked_lost": result.ledger.acked_lost,
        "committed_lost": result.ledger.committed_lost,
    }
    return Row(swarm.run, swarm.seed, swarm.to_json(), result.digest, found, coverage, counts)


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
