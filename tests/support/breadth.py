"""How wide the sweeps are: enough to notice in ``make test``, all of them for an evening in ``make test-evening``."""

import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

T = TypeVar("T")

EVENING = os.environ.get("FLOODMARK_TESTS") == "evening"


def many(usual: int, evening: int) -> int:
    """How many seeds, examples or schedules are tried."""
    return evening if EVENING else usual


def some(every: Sequence[T], usual: int) -> list[T]:
    """As many of them, evenly spread from the first to the last; all of them for an evening."""
    if EVENING or usual >= len(every):
        return list(every)
    return [every[number * (len(every) - 1) // max(1, usual - 1)] for number in range(usual)]


def met(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Every value of every axis in some case, in as few as that takes, row by row; all combinations for an evening.

    What is a tuple is values of several parameters.
    """
    lists = [list(axis) for axis in axes]
    longest = max(map(len, lists))
    turns = product(*lists) if EVENING else zip(*(_over(each, longest) for each in lists), strict=True)
    return [tuple(value for part in row for value in (part if isinstance(part, tuple) else (part,))) for row in turns]


def _over(values: list[Any], cases: int) -> list[Any]:
    """The values over and over; each time around begins with the next one, so that it is met with others."""
    found: list[Any] = []
    for turn in range(-(-cases // len(values))):
        start = turn % len(values)
        found += values[start:] + values[:start]
    return found[:cases]
