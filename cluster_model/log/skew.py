"""Which of a number of keys a draw stands for, where some keys are drawn more often than others.

One draw of 64 bits decides, by whole numbers alone, so that every replica finds the same key.
"""

from bisect import bisect_right
from functools import lru_cache
from typing import Final, NamedTuple

from cluster_model.spec.load_spec import HotKey, KeySkew
from cluster_model.util.deterministic_math import exp2, log2

_MILLION: Final = 1_000_000
_THOUSAND: Final = 1_000
_EXACT: Final = 256
"""Keys with a weight of their own; the rarer ones share it with neighbours."""
_WIDENING: Final = 16
"""A group of rare keys has one in so many of the keys before it."""


class Weights(NamedTuple):
    """Groups of neighbours that are alike often: where each begins, and all weight up to and including it."""

    begins: tuple[int, ...]
    """And behind the last one."""
    sums: tuple[int, ...]

    def drawn(self, draw: int) -> int:
        """Which one a draw stands for that is uniform over 64 bits."""
        begins, sums = self
        point = draw * sums[-1] >> 64
        group = bisect_right(sums, point)
        before = sums[group - 1] if group else 0
        width = begins[group + 1] - begins[group]
        return begins[group] + (point - before) * width // (sums[group] - before)


def rank(skew: KeySkew | None, distinct: int, draw: int) -> int:
    """The key, from 0 for the most frequent to ``distinct`` - 1, of a draw that is uniform over 64 bits."""
    if skew is None:
        return draw * distinct >> 64
    return weights(skew, distinct).drawn(draw)


@lru_cache(maxsize=64)
def weights(skew: KeySkew | None, distinct: int) -> Weights:
    """How often each of the keys is drawn; a group's weight is a multiple of its number of keys."""
    if skew is None:
        return Weights((0, distinct), (distinct,))
    if distinct == 1:
        return Weights((0, 1), (1,))
    if isinstance(skew, HotKey):
        rest = distinct - 1
        return Weights((0, 1, distinct), (skew.share_ppm * rest, _MILLION * rest))
    return _zipf(skew.exponent, distinct)


def _zipf(exponent: int, distinct: int) -> Weights:
    """The weight of key ``i`` is ``(i + 1) ** -s``; a group's is that of its middle key, for each of its keys."""
    begins, sums, total, begin = [0], [], 0, 0
    while begin < distinct:
        width = 1 if begin < _EXACT else min(begin // _WIDENING, distinct - begin)
        middle = begin + (width - 1) // 2 + 1
        total += width * exp2(-exponent * log2(middle) // _THOUSAND)
        sums.append(total)
        begin += width
        begins.append(begin)
    return Weights(tuple(begins), tuple(sums))
