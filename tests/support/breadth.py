"""Width of the sweeps: a sample in ``make test``, all cases in ``make test-evening``."""

import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

T = TypeVar("T")

EVENING = os.environ.get("FLOODMARK_TESTS") == "evening"


def sample_count(usual: int, evening: int) -> int:
    """Return the number of seeds, examples or schedules to try."""
    return evening if EVENING else usual


def spread_sample(every: Sequence[T], usual: int) -> list[T]:
    """Return this many values, evenly spread from the first to the last; all of them in the evening."""
    if EVENING or usual >= len(every):
        return list(every)
    return [every[number * (len(every) - 1) // max(1, usual - 1)] for number in range(usual)]


def covering_cases(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return cases that contain every value of every axis, in as few rows as possible; all combinations in the evening.

    A tuple stands for values of several parameters.
    """
    lists = [list(axis) for axis in axes]
    longest = max(map(len, lists))
    turns = product(*lists) if EVENING else zip(*(_over(each, longest) for each in lists), strict=True)
    return [tuple(value for part in row for value in (part if isinstance(part, tuple) else (part,))) for row in turns]


def _over(values: list[Any], cases: int) -> list[Any]:
    """Return the values repeatedly; each repetition starts one value later, so that it meets other values."""
    found: list[Any] = []
    for turn in range(-(-cases // len(values))):
        start = turn % len(values)
        found += values[start:] + values[:start]
    return found[:cases]
