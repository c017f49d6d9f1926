"""How wide the sweeps are: enough to notice in ``make test``, all of them for an evening in ``make test-evening``."""

import os
from collections.abc import Sequence
from typing import TypeVar

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
