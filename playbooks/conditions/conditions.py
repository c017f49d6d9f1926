"""Conditions: small questions about a cluster, such as ``isr(orders-0) == [1] and acked_lost() == 0``.

They have numbers, times (``5s``), booleans, texts and lists; comparisons, also chained; arithmetic; ``and or not in``;
and the functions of :data:`FUNCTIONS`. A condition has no side effects and always ends; nothing is ever evaluated as
Python. Texts are checked and compiled once, since a condition is evaluated after many events.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cluster_model.protocol.errors import ModelError
from playbooks.conditions.condition import Compiler, Use
from playbooks.conditions.functions import ALL, FUNCTIONS, Function
from playbooks.conditions.grammar import parse_tree
from playbooks.conditions.types import ConditionError, EvaluationError, Value

__all__ = ["ALL", "FUNCTIONS", "Condition", "ConditionError", "EvaluationError", "Function", "Use", "Value", "parse"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A checked condition, ready to be asked of a cluster's query object."""

    text: str
    type: str
    """``boolean``, ``number``, ``time``, ``text``, ``list`` or ``anything``; a step needs a boolean."""
    line: int
    column: int
    """Where it stands in its file; 1 and 1 when it stands alone."""
    uses: tuple[Use, ...]
    """Every name it speaks of."""
    _run: Callable[[Any], Any] = field(repr=False, compare=False)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of the partitions it asks about."""
        return self._named("partition")

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups it asks about."""
        return self._named("group")

    @property
    def producers(self) -> tuple[str, ...]:
        """Names of the producers it asks about."""
        return self._named("producer")

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of the brokers it names as a number (not those it finds by asking, as in ``leo(p-0, leader(p-0))``)."""
        return tuple(int(name) for name in self._named("broker"))

    def value(self, query: object) -> Any:
        """What it amounts to now: a number, boolean, text or list. Raises :class:`EvaluationError`."""
        try:
            return self._run(query)
        except ModelError as error:
            raise EvaluationError(str(error), self.column) from None
        except EvaluationError as error:
            raise EvaluationError(error.message, self.column + error.column - 1) from None

    def holds(self, query: object) -> bool:
        """Whether it is true now. Raises :class:`EvaluationError`, also when it is no boolean."""
        if self.type != "boolean":
            raise EvaluationError(f"{self.text} is a {self.type}, not a condition that holds or does not", self.column)
        return bool(self.value(query))

    def _named(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(use.name for use in self.uses if use.kind == kind))

    def __reduce__(self) -> tuple[Callable[[str, int, int], "Condition"], tuple[str, int, int]]:
        return parse, (self.text, self.line, self.column)


def parse(text: str, line: int = 1, column: int = 1) -> Condition:
    """The condition in ``text``, which stands at a place of a file.

    Raises:
        ConditionError: with the column of the mistake, counted from ``column``.
    """
    compiler = Compiler()
    try:
        part = compiler.part(parse_tree(text))
    except ConditionError as error:
        raise ConditionError(error.message, column + error.column - 1) from None
    return Condition(text, part.type.name, line, column, tuple(compiler.uses), part.run)
