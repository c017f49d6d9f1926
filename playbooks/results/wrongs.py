"""What was wrong in a session, by name: two sessions that went wrong the same way share a key.

A key says nothing of times, offsets, brokers or partitions, so that a shorter session can be held against a longer one.
"""

from dataclasses import dataclass
from typing import Final

from playbooks.results.result import Result

FINDING: Final = "finding"
"""Records that met a bad end; the name is ``kind/cause`` as ``docs/causes.md`` lists them."""
VIOLATION: Final = "violation"
"""A safety property that did not hold; the name is that of the invariant."""
ANOMALY: Final = "anomaly"
"""Something clients saw and must not see under their settings."""
OVERDUE: Final = "overdue"
"""Something that had to come true in time and did not; the name is that of the property."""
EXPECTATION: Final = "expectation"
"""What the playbook expects and was not so; the name is its text."""

KINDS: Final = (FINDING, VIOLATION, ANOMALY, OVERDUE, EXPECTATION)
"""All kinds, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One way in which a session went wrong."""

    kind: str
    """One of :data:`KINDS`."""
    name: str
    known: bool = False
    """Whether the version that ran is known for it: true of Kafka, and no surprise."""

    @property
    def key(self) -> str:
        """As it is written and asked for: ``finding:lost/hw-truncation``, ``violation:log-matching``."""
        return f"{self.kind}:{self.name}"


def wrongs_of(result: Result) -> tuple[Wrong, ...]:
    """Everything that was wrong, each key once, by kind and name; known only if it was known every time."""
    surprising: dict[tuple[str, str], bool] = {}
    for kind, name, known in _each(result):
        surprising[kind, name] = surprising.get((kind, name), False) or not known
    order = sorted(surprising, key=lambda each: (KINDS.index(each[0]), each[1]))
    return tuple(Wrong(kind, name, not surprising[kind, name]) for kind, name in order)


def _each(result: Result) -> list[tuple[str, str, bool]]:
    return [
        *((FINDING, f"{each.kind}/{each.cause}", False) for each in result.findings),
        *((VIOLATION, each.invariant, bool(each.known)) for each in result.violations),
        *((ANOMALY, each.name, False) for each in result.anomalies if not each.legal),
        *((OVERDUE, each.property, bool(each.known)) for each in result.overdue),
        *((EXPECTATION, each.text, False) for each in result.expectations if not each.ok),
    ]
