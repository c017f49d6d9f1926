"""Comparing the logs of two replicas: exact, by lineage, without looking at single records."""

from collections.abc import Iterable

from cluster_model.log.replica_log import ReplicaLog

Range = tuple[int, int]
"""Offsets ``[start, end)``."""


def differing(one: ReplicaLog, other: ReplicaLog) -> list[Range]:
    """Offsets that both logs hold, with different records; what either has compacted away is no difference."""
    start = max(one.log_start, other.log_start)
    end = min(one.leo, other.leo)
    if start >= end or one.extents == other.extents:
        return []
    found: list[Range] = []
    at = start
    while at < end:
        left, right = one.extent_index(at), other.extent_index(at)
        stop = min(end, _next_start(one, left, end), _next_start(other, right, end))
        if one.extents[left][1] != other.extents[right][1]:
            if found and found[-1][1] == at:
                found[-1] = (found[-1][0], stop)
            else:
                found.append((at, stop))
        at = stop
    for cleaned in (one.cleaned, other.cleaned):
        if cleaned is not None and found:
            found = subtract(found, cleaned.holes)
    return found


def _next_start(log: ReplicaLog, index: int, end: int) -> int:
    return log.extents[index + 1][0] if index + 1 < len(log.extents) else end


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
