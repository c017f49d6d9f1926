"""Which runs are missing, and how they are dealt out: enough shares to keep every core busy, none too small to pay."""

from collections.abc import Iterable, Sequence
from typing import Final

Share = tuple[tuple[int, int], ...]
"""Runs of one task, as pieces ``[first, behind the last)``."""

TASK_SECONDS: Final = 4.0
"""What a task is to take: starting and committing one costs a tenth of a second."""
LEAST_SECONDS: Final = 0.5
SHARES_A_CORE: Final = 4
"""The least, where there is enough to do: cores that end early have something to take."""


class Done:
    """Which runs are there; a byte each, so that millions of them are no burden."""

    def __init__(self, runs: int) -> None:
        self._done = bytearray(runs + 1)
        self.count = 0

    def add(self, runs: Iterable[int]) -> None:
        """Some are there now; those beyond the last that is asked for are passed over."""
        for run in runs:
            if 0 < run < len(self._done) and not self._done[run]:
                self._done[run] = 1
                self.count += 1

    def missing(self, first: int = 1, most: int = 0) -> list[tuple[int, int]]:
        """Pieces ``[first, behind the last)`` that are not there, in order; at most so many runs (0: all)."""
        pieces: list[tuple[int, int]] = []
        left = most or len(self._done)
        while left and (begin := self._done.find(0, first)) >= 0:
            end = self._done.find(1, begin)
            first = min(begin + left, end if end >= 0 else len(self._done))
            pieces.append((begin, first))
            left -= first - begin
            if first >= len(self._done):
                break
        return pieces


def how_many(runs: int, seconds_a_run: float, cores: int) -> int:
    """Number of shares for so many runs."""
    total = runs * seconds_a_run
    wanted = max(total / TASK_SECONDS, min(SHARES_A_CORE * cores, total / LEAST_SECONDS), cores)
    return max(1, min(runs, round(wanted)))


def dealt(pieces: Sequence[tuple[int, int]], shares: int) -> list[Share]:
    """Runs in shares that differ by one run at most; each has neighbours, in order."""
    total = sum(end - begin for begin, end in pieces)
    sizes = [total // shares + (number < total % shares) for number in range(shares)]
    found: list[Share] = []
    left = [*reversed(pieces)]
    for size in filter(None, sizes):
        own: list[tuple[int, int]] = []
        wanted = size
        while wanted:
            begin, end = left.pop()
            taken = min(wanted, end - begin)
            own.append((begin, begin + taken))
            wanted -= taken
            if begin + taken < end:
                left.append((begin + taken, end))
        found.append(tuple(own))
    return found
