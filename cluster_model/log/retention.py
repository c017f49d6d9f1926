"""Retention: which segments are old or many enough to be deleted (``UnifiedLog.deleteOldSegments``).

The oldest goes first, and the first one that may stay ends it. A segment goes only when the high watermark has passed
its end, so nothing uncommitted is ever deleted. By size and by age the active segment may go too, if it holds
anything: a new one is rolled first.
"""

from collections.abc import Callable, Iterator
from typing import Final

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import UNTOLD, Segment

BY_SIZE: Final = "retention.bytes"
BY_TIME: Final = "retention.ms"

_Predicate = Callable[[Segment, int], bool]
"""Whether a segment goes; the second argument is the base of the next one, -1 for the active segment."""


def _deletable(log: ReplicaLog, hw: int, goes: _Predicate) -> int:
    """How many of the oldest segments go (``UnifiedLog.deletableSegments``)."""
    segments = log.segments.all
    for index, segment in enumerate(segments):
        last = index + 1 == len(segments)
        following = -1 if last else segments[index + 1].base
        end = log.leo if last else following
        if hw < end or (last and not segment.size) or not goes(segment, following):
            return index
    return len(segments)


def _over_size(log: ReplicaLog) -> _Predicate:
    """Delete while what is left would still hold ``retention.bytes``."""
    over = log.segments.total - log.rules.retention_bytes

    def goes(segment: Segment, _following: int) -> bool:
        nonlocal over
        if over - segment.size < 0:
            return False
        over -= segment.size
        return True

    return goes


def _too_old(log: ReplicaLog, now: int, ahead_us: int) -> _Predicate:
    """By the largest *record* timestamp (KIP-33): records of the future pin a log, old-dated ones go at once."""
    rules = log.rules

    def goes(segment: Segment, _following: int) -> bool:
        told = rules.by_timestamp and segment.newest_us not in UNTOLD
        return (now + ahead_us - segment.newest_us if told else now - segment.modified_us) > rules.retention_us

    return goes


def retain(log: ReplicaLog, hw: int, now: int, ahead_us: int = 0) -> Iterator[tuple[str, int]]:
    """Delete what the rules allow; after each move of the log's start: (the rule, where the log began before).

    What lies below a start that DeleteRecords set goes first, then what is too much, then what is too old; the last two
    only where ``cleanup.policy`` names delete. ``ahead_us`` is how far the machine's clock is ahead.
    """
    segments = log.segments
    log.unlink(now)
    if not segments.sealed and (not segments.size or hw < log.leo):
        return
    log.delete_segments(_deletable(log, hw, lambda _segment, following: 0 <= following <= log.log_start), now)
    if not log.rules.delete:
        return
    if 0 <= log.rules.retention_bytes <= segments.total:
        start = log.log_start
        log.delete_segments(_deletable(log, hw, _over_size(log)), now)
        if log.log_start != start:
            yield BY_SIZE, start
    if log.rules.retention_us >= 0:
        start = log.log_start
        log.delete_segments(_deletable(log, hw, _too_old(log, now, ahead_us)), now)
        if log.log_start != start:
            yield BY_TIME, start
