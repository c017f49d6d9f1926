"""Ranges of offsets as plain pairs: their union, their difference and their length."""

from collections.abc import Iterable

Range = tuple[int, int]
"""Offsets ``[start, end)``."""


def union(ranges: Iterable[Range]) -> list[Range]:
    """The same offsets as disjoint ranges in ascending order."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def subtract(ranges: Iterable[Range], holes: Iterable[Range]) -> list[Range]:
    """Disjoint ascending ranges without the offsets in ``holes``, which are disjoint and ascending too."""
    left = list(ranges)
    for hole_start, hole_end in holes:
        kept: list[Range] = []
        for start, end in left:
            if hole_end <= start or hole_start >= end:
                kept.append((start, end))
                continue
            if start < hole_start:
                kept.append((start, hole_start))
            if hole_end < end:
                kept.append((hole_end, end))
        left = kept
    return left


def length(ranges: Iterable[Range]) -> int:
    """Number of offsets."""
    return sum(end - start for start, end in ranges)
