"""The seed of each run, and streams that belong to the storm alone: what a cluster draws stays as it is without one."""

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

from cluster_model.kernel.rng import Stream

T = TypeVar("T")

SEED_BITS: Final = 48
"""So that a seed can be told over the phone."""


def run_seed(campaign: int, run: int) -> int:
    """The seed of run ``run`` (from 1) of a campaign: a stable hash, the same on every machine."""
    digest = hashlib.blake2b(f"storm/{campaign}/{run}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> (64 - SEED_BITS)


class Dice:
    """Draws of one kind, of one run."""

    __slots__ = ("_stream",)

    def __init__(self, seed: int, name: str) -> None:
        self._stream = Stream(seed, f"storm:{name}")

    def below(self, bound: int) -> int:
        """A whole number in ``[0, bound)``."""
        return self._stream.below(bound)

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, all alike."""
        return low + self._stream.below(high - low + 1)

    def spread(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, as likely among the small ones as among the large ones.

        A power of two is drawn first, then a number up to it: in integers, as logarithms differ between machines.
        """
        if low >= high:
            return low
        low_bits, high_bits = max(1, low).bit_length(), high.bit_length()
        bits = self.between(low_bits, high_bits)
        return min(high, max(low, (1 << (bits - 1)) + self._stream.below(1 << (bits - 1))))

    def chance(self, percent: int) -> bool:
        """Whether something happens that does so many times in a hundred."""
        return self._stream.below(100) < percent

    def of(self, candidates: Sequence[T]) -> T:
        """One of them."""
        return candidates[self._stream.below(len(candidates))]

    def some(self, candidates: Sequence[T], count: int) -> tuple[T, ...]:
        """So many of them, in their order."""
        left = list(range(len(candidates)))
        drawn = {left.pop(self._stream.below(len(left))) for _turn in range(min(count, len(left)))}
        return tuple([each for index, each in enumerate(candidates) if index in drawn])
