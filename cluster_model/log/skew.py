"""Which of a number of keys a draw stands for, where some keys are drawn more often than others.

One draw of 64 bits decides, by whole numbers alone, so that every replica finds the same key.
"""

from bisect import bisect_right
from functools import lru_cache
from typing import Final, NamedTuple

from cluster_model.load_spec import KeySkew, ZipfKeys
from cluster_model.powers import exp2, log2

_MILLION: Final = 1_000_000
_THOUSAND: Final = 1_000
_EXACT: Final = 256
"""Keys with a weight of their own; the rarer ones share it with neighbours."""
_WIDENING: Final = 16
"""A group of rare keys has one in so many of the keys before it."""


class _Table(NamedTuple):
    """Groups of neighbouring keys: where each begins, and all weight up to and including it."""

    begins: tuple[int, ...]
    """And behind the last one."""
    sums: tuple[int, ...]


def rank(skew: KeySkew | None, distinct: int, draw: int) -> int:
    """The key, from 0 for the most frequent to ``distinct`` - 1, of a draw that is uniform over 64 bits."""
    if skew is None:
        return draw * distinct >> 64
    if distinct == 1:
        return 0
    if isinstance(skew, ZipfKeys):
        return _zipf(_table(skew.exponent, distinct), draw)
    rest = draw * _MILLION - (skew.share_ppm << 64)
    if rest < 0:
        return 0
    return 1 + rest * (distinct - 1) // ((_MILLION - skew.share_ppm) << 64)


def _zipf(table: _Table, draw: int) -> int:
    begins, sums = table
    point = draw * sums[-1] >> 64
    group = bisect_right(sums, point)
    before = sums[group - 1] if group else 0
    width = begins[group + 1] - begins[group]
    return begins[group] + (point - before) * width // (sums[group] - before)


@lru_cache(maxsize=64)
def _table(exponent: int, distinct: int) -> _Table:
    """The weight of key ``i`` is ``(i + 1) ** -s``; a group's is that of its middle key, for each of its keys."""
    begins, sums, total, begin = [0], [], 0, 0
    while begin < distinct:
        width = 1 if begin < _EXACT else min(begin // _WIDENING, distinct - begin)
        middle = begin + (width - 1) // 2 + 1
        total += width * exp2(-exponent * log2(middle) // _THOUSAND)
        sums.append(total)
        begin += width
        begins.append(begin)
    return _Table(tuple(begins), tuple(sums))
