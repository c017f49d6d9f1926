"""Findings, added up by who and where: a thousand of a kind are one case with a few examples."""

from typing import Any, Final, NamedTuple

EXAMPLES: Final = 3
"""Of a case, so many are told."""


class Example(NamedTuple):
    """One finding. ``first`` and ``end`` are offsets of the key, -1 where it has none; ``words`` say what was seen."""

    at_us: int
    first: int
    end: int
    words: str


class AnomalyCase(NamedTuple):
    """``found`` findings of an anomaly at one client and one key; a cycle, which has many, names none."""

    name: str
    who: str
    """The client that wrote the values, or read them, as the anomaly has it."""
    key: str
    manner: str
    """How it reads, where the anomaly turns on that."""
    found: int
    examples: tuple[Example, ...]


class AnomalyCounter:
    """Counts cases."""

    __slots__ = ("_cases",)

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str, str, str], tuple[int, tuple[Example, ...]]] = {}

    def note(self, name: str, who: str, key: str, example: Example, count: int = 1, manner: str = "") -> None:
        """Another finding, or ``count`` that one example stands for."""
        before, examples = self._cases.get((name, who, key, manner), (0, ()))
        if len(examples) < EXAMPLES:
            examples = (*examples, example)
        self._cases[name, who, key, manner] = (before + count, examples)

    def cases(self) -> list[AnomalyCase]:
        """All of them, in the order in which they were first found."""
        return [AnomalyCase(*where, count, examples) for where, (count, examples) in self._cases.items()]

    def add(self, other: "AnomalyCounter") -> None:
        """Take another one's cases over."""
        for (name, who, key, manner), (count, examples) in other._cases.items():
            before, known = self._cases.get((name, who, key, manner), (0, ()))
            self._cases[name, who, key, manner] = (before + count, (*known, *examples)[:EXAMPLES])

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._cases.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._cases = dict(saved)
