"""Errors in a playbook with line and column, and the exit codes of a run."""

import errno
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from playbooks.text import printable

SHOWN = 60
"""Maximum number of characters of a found value that a message repeats."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One error in a playbook. Lines, columns and list elements count from 1; line 0 means no place in the file.

    ``key`` is the path to the value: ``steps[2].for`` is the ``for`` of the second step.
    """

    path: str
    line: int
    column: int
    key: str
    message: str
    """What was found, what is allowed, and the nearest known name where there is one."""

    def __str__(self) -> str:
        path = printable(self.path)
        place = f"{path}:{self.line}:{self.column}" if self.line else path
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class PlaybookError(Exception):
    """A file that is not a valid playbook. ``problems`` holds every error found, in file order."""

    def __init__(self, problems: Iterable[Problem], texts: Mapping[str, str] | None = None) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(set(problems)))
        self.texts = dict(texts or {})
        """Text of each file that was read, by the path that problems name; some files may be missing."""
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type["PlaybookError"], tuple[tuple[Problem, ...], dict[str, str]]]:
        return PlaybookError, (self.problems, self.texts)


_More = ParamSpec("_More")
_Read = TypeVar("_Read")


def keeping_text(
    read: Callable[Concatenate[str, str, _More], _Read],
) -> Callable[Concatenate[str, str, _More], _Read]:
    """Decorate a function that parses a text so that its errors hold the text, to show the lines concerned."""

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
    """Split a YAML file into lines as its parser does: it counts more line separators than the line feed."""
    return _BREAK.split(text)


def place_of(text: str, position: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at ``position``."""
    lines = lines_of(text[:position])
    return len(lines), len(lines[-1]) + 1


def shown(text: str) -> str:
    """Return ``text`` in quotes for a message: on one line, without control characters, cut when long."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return f"'{printable(cut)}'"


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the known name most similar to ``name``, or an empty string."""
    close = closest(name, candidates)
    return f" (did you mean {shown(close)}?)" if close else ""


def closest(written: str, candidates: Iterable[str]) -> str:
    """Return the known name most similar to ``written``, or an empty string."""
    by_lower: dict[str, str] = {name.lower(): name for name in candidates}
    close = get_close_matches(written.lower()[:SHOWN], by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else ""


# Operating-system errors: disk full, permission denied, invalid file name, too many open files.


_REFUSED: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE}
)


def os_error_text(error: BaseException) -> str:
    """Return the message for an operating-system error that floodmark did not cause; empty for other exceptions."""
    if not isinstance(error, OSError) or error.errno not in _REFUSED:
        return ""
    if error.filename is None:  # a stream of the process
        return f"cannot write the output: {error.strerror}"
    return f"cannot open {shown(str(error.filename))}: {error.strerror}"


# Exit codes: one for each verdict, error or stop.


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
    """Return the worst of several exit codes; other numbers (of runs that never started) are ignored."""
    found = set(codes)
    return next((code for code in WORST_FIRST if code in found), OK)
