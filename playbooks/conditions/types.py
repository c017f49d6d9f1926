"""Types of the condition language, and its errors."""

from dataclasses import dataclass
from typing import Final

Value = int | bool | str | list["Value"]
"""What a condition works with. Times are microseconds."""


class ConditionError(Exception):
    """Text that is no condition. ``column`` is where in the file, or in the text when it stands alone; from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


class EvaluationError(ConditionError):
    """A condition that has no value at this instant: a division by zero, or a name the cluster does not know."""


@dataclass(frozen=True, slots=True)
class Type:
    """``number``, ``time``, ``boolean``, ``text``, ``list`` (with its elements' type), or ``anything``."""

    name: str
    element: "Type | None" = None

    def __str__(self) -> str:
        if self.element is None:
            return {"anything": "anything", "text": "text", "list": "a list"}.get(self.name, f"a {self.name}")
        return f"a list of {_PLURAL.get(self.element.name, 'things')}"


NUMBER: Final = Type("number")
TIME: Final = Type("time")
BOOLEAN: Final = Type("boolean")
TEXT: Final = Type("text")
ANYTHING: Final = Type("anything")

_PLURAL: Final = {"number": "numbers", "time": "times", "boolean": "booleans", "text": "texts", "list": "lists"}


def list_of(element: Type) -> Type:
    """The type of a list."""
    return Type("list", element)


def joined(types: list[Type]) -> Type:
    """The one type that all of ``types`` have, or ``anything``."""
    known = [kind for kind in types if kind != ANYTHING]
    if not known:
        return ANYTHING
    first = known[0]
    if all(kind.name == "list" for kind in known):
        return list_of(joined([kind.element or ANYTHING for kind in known]))
    return first if len(known) == len(types) and all(kind == first for kind in known) else ANYTHING


def comparable(one: Type, other: Type) -> bool:
    """Whether values of the two types can be equal at all."""
    if ANYTHING in (one, other):
        return True
    if one.name == other.name == "list":
        return comparable(one.element or ANYTHING, other.element or ANYTHING)
    return one == other
