"""Observed anomalies, counted by client and key: a thousand of a kind are one case with a few examples."""

from typing import Any, Final, NamedTuple

EXAMPLES: Final = 3
"""Number of examples kept of a case."""


class Example(NamedTuple):
    """One observation: ``words`` describe it; ``first`` and ``end`` are offsets of the key, -1 for none."""

    at_us: int
    first: int
    end: int
    text: str


class AnomalyCase(NamedTuple):
    """``found`` observations of an anomaly at one client and key; both are empty for a cycle of transactions."""

    name: str
    client: str
    """The client that wrote or read the values, depending on the anomaly."""
    key: str
    manner: str
    """How the client reads, if the anomaly depends on it."""
    found: int
    examples: tuple[Example, ...]


class AnomalyCounter:
    """Counter of anomalies by name, client, key and manner of reading."""

    __slots__ = ("_cases",)

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str, str, str], tuple[int, tuple[Example, ...]]] = {}

    def count(self, name: str, client: str, key: str, example: Example, count: int = 1, manner: str = "") -> None:
        """Count an observation, or ``count`` of them with one example."""
        before, examples = self._cases.get((name, client, key, manner), (0, ()))
        if len(examples) < EXAMPLES:
            examples = (*examples, example)
        self._cases[name, client, key, manner] = (before + count, examples)

    def cases(self) -> list[AnomalyCase]:
        """Return all cases, in the order in which they were first observed."""
        return [AnomalyCase(*where, count, examples) for where, (count, examples) in self._cases.items()]

    def add(self, other: "AnomalyCounter") -> None:
        """Add the cases of another counter."""
        for (name, who, key, manner), (count, examples) in other._cases.items():
            before, known = self._cases.get((name, who, key, manner), (0, ()))
            self._cases[name, who, key, manner] = (before + count, (*known, *examples)[:EXAMPLES])

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self._cases.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._cases = dict(saved)
