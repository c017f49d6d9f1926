"""What is wrong with a playbook: every mistake with its place, all of them in one error."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

SHOWN = 60
"""Characters of a found value that a message repeats."""

LISTED = 30
"""Names that a message lists before it gives up."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake. Lines, columns and elements of lists count from 1.

    ``key`` is the way to the value: ``steps[2].for`` is the ``for`` of the second step.
    """

    path: str
    line: int
    column: int
    key: str
    message: str
    """What was found, what is allowed, and the nearest known name where there is one."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class PlaybookError(Exception):
    """A file that is no playbook. ``problems`` holds every mistake found, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type["PlaybookError"], tuple[tuple[Problem, ...]]]:
        return PlaybookError, (self.problems,)


def shown(text: str) -> str:
    """``text`` in quotes for a message: on one line, without control characters, cut when long."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + "'"


def counted(number: int, noun: str) -> str:
    """``no names``, ``1 name``, ``2 names``; for nouns whose plural is regular."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def nearest(found: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known name most like ``found``, or nothing when none is like it."""
    by_lower: dict[str, str] = {name.lower(): name for name in known}
    close = get_close_matches(found.lower()[:SHOWN], by_lower, n=1, cutoff=0.6)
    return f" (did you mean {shown(by_lower[close[0]])}?)" if close else ""


def listed(names: Iterable[str], last: str = "or") -> str:
    """Names for a message, as ``a, b or c``; of very many only the first."""
    words = list(names)
    if len(words) > LISTED:
        return ", ".join(words[:LISTED]) + f" {last} {counted(len(words) - LISTED, 'other')}"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {last} " + words[-1] if words else "nothing"
