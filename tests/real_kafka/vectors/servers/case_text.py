"""Cases as texts: a name and fields such as ``isr=1,2``, separated by blanks.

The text of a case is the item of its answer, so that recorded answers carry their questions.
"""

from collections.abc import Iterable, Mapping

Fields = Mapping[str, str]
"""Field → value as text."""


def case_text(name: str, fields: Fields) -> str:
    """Return a case as a text."""
    return f"{name} {fields_text(fields)}"


def fields_text(fields: Fields) -> str:
    """Return fields as a text."""
    return " ".join(f"{field}={value}" for field, value in fields.items())


def parse_fields(text: str) -> dict[str, str]:
    """Return the fields of a text; a word without ``=`` is no field."""
    return dict(word.split("=", 1) for word in text.split(" ") if "=" in word)


def join_numbers(numbers: Iterable[int]) -> str:
    """Return numbers as the value of a field."""
    return ",".join(map(str, numbers))


def split_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a field's value."""
    return tuple(map(int, text.split(","))) if text else ()
