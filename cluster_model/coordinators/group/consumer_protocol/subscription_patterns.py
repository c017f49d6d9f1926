"""Regular expressions of subscriptions, compiled by a function that the builder of a cluster chooses.

Kafka's coordinator compiles them with RE2/J, which the standard library has no match for.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

PatternMatcher = Callable[[str], bool]
"""Returns whether the whole of a name matches."""

PatternCompiler = Callable[[str], PatternMatcher]
"""Makes a matcher of a regular expression, or raises :class:`PatternError`.

A group calls it with the same expression for every topic, so it keeps what it has compiled.
"""

COMPILED_PATTERNS: Final = 32
"""Expressions that a compiler keeps."""


class PatternError(ValueError):
    """A regular expression that does not compile; the message says why."""


@lru_cache(maxsize=COMPILED_PATTERNS)
def compile_python_pattern(pattern: str) -> PatternMatcher:
    """Compile an expression by Python's ``re``, which backtracks: only for expressions that are trusted.

    Raises:
        PatternError: it is no regular expression.
    """
    try:
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None
    return lambda name: compiled.fullmatch(name) is not None


def compiles(pattern: str, compile_pattern: PatternCompiler) -> bool:
    """Return whether an expression compiles."""
    try:
        compile_pattern(pattern)
    except PatternError:
        return False
    return True
