"""Comparing the logs of two replicas: exact, by lineage, without looking at single records."""

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.util.ranges import Range, subtract


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
