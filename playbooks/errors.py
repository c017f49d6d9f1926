"""Mistakes in a playbook, each with its place, and the exit codes of a run."""

import errno
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from playbooks.text import printable

SHOWN = 60
"""Characters of a found value that a message repeats."""


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
        place = f"{printable(self.path)}:{self.line}:{self.column}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class PlaybookError(Exception):
    """A file that is no playbook. ``problems`` holds every mistake found, in the order of the file."""

    def __init__(self, problems: Iterable[Problem], texts: Mapping[str, str] | None = None) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(set(problems)))
        self.texts = dict(texts or {})
        """What was read, by the path that problems name; not of every file."""
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type["PlaybookError"], tuple[tuple[Problem, ...], dict[str, str]]]:
        return PlaybookError, (self.problems, self.texts)


_More = ParamSpec("_More")
_Read = TypeVar("_Read")


def keeping_text(
    read: Callable[Concatenate[str, str, _More], _Read],
) -> Callable[Concatenate[str, str, _More], _Read]:
    """Have the errors of a function that reads a text from a path hold that text, to show the lines they are about."""

    @wraps(read)
    def reading(text: str, path: str, /, *args: _More.args, **kwargs: _More.kwargs) -> _Read:
        try:
            return read(text, path, *args, **kwargs)
        except PlaybookError as error:
            error.texts.setdefault(path, text)
            raise

    return reading


_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


def lines_of(text: str) -> list[str]:
    """The lines of a YAML file, as its parser counts them: more characters than one end a line there."""
    return _BREAK.split(text)


def place_of(text: str, position: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at ``position``."""
    lines = lines_of(text[:position])
    return len(lines), len(lines[-1]) + 1


def shown(text: str) -> str:
    """``text`` in quotes for a message: on one line, without control characters, cut when long."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return f"'{printable(cut)}'"


def nearest(found: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known name most like ``found``, or nothing when none is like it."""
    close = closest(found, known)
    return f" (did you mean {shown(close)}?)" if close else ""


def closest(found: str, known: Iterable[str]) -> str:
    """The known name most like ``found``, empty when none is like it."""
    by_lower: dict[str, str] = {name.lower(): name for name in known}
    close = get_close_matches(found.lower()[:SHOWN], by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else ""


# What the system says no to: no room, no permission, a name that a file cannot have, too many open files.


_REFUSED: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE}
)


def refusal_of(error: BaseException) -> str:
    """What to tell a person of an error that is nobody's mistake in floodmark; empty for any other."""
    if not isinstance(error, OSError) or error.errno not in _REFUSED:
        return ""
    if error.filename is None:  # a stream of the process
        return f"cannot write what is printed: {error.strerror}"
    return f"cannot open {shown(str(error.filename))}: {error.strerror}"


# Exit codes: one for each verdict, error or stop, and the worst of several.


OK: Final = 0
FAILED: Final = 1
BAD_INPUT: Final = 2
INCONCLUSIVE: Final = 3
INTERNAL: Final = 70
INTERRUPTED: Final = 130
TERMINATED: Final = 143

CODES: Final[Mapping[str, int]] = {"pass": OK, "fail": FAILED, "inconclusive": INCONCLUSIVE}
WORST_FIRST: Final = (INTERRUPTED, INTERNAL, BAD_INPUT, FAILED, INCONCLUSIVE, OK)


def worst(codes: Iterable[int]) -> int:
    """The code that counts of several; what never ran (any other number) counts for nothing."""
    found = set(codes)
    return next((code for code in WORST_FIRST if code in found), OK)
