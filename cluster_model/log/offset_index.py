"""Sparse offset and time indexes of a segment, and lookups that use them (``OffsetIndex``, ``TimeIndex``, KIP-33).

They are computed views: what Kafka would have on disk if each batch was appended separately, which is also how recovery
rebuilds them. An entry is added by the first batch after more than ``index.interval.bytes`` since the last one; it has
that batch's last offset and its position in the file.
"""

from bisect import bisect_right
from typing import NamedTuple

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import NO_TIMESTAMP, Segment


class OffsetEntry(NamedTuple):
    """Last offset of a batch, and its position in bytes in the segment's file."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """Largest timestamp of the segment so far, and the last offset of the batch that has it."""

    timestamp_us: int
    offset: int


class Indexes(NamedTuple):
    """Offset index and time index of a segment."""

    offsets: tuple[OffsetEntry, ...]
    times: tuple[TimeEntry, ...]


class TimestampAndOffset(NamedTuple):
    """Result of a timestamp lookup: the first record that is not older, with its own timestamp."""

    offset: int
    timestamp_us: int


def _end_of(log: ReplicaLog, segment: Segment) -> int:
    bases = [known.base for known in log.segments.all]
    index = bisect_right(bases, segment.base)
    return bases[index] if index < len(bases) else log.leo


def indexes_of(log: ReplicaLog, segment: Segment) -> Indexes:
    """Return the index entries of one segment of the log."""
    offsets: list[OffsetEntry] = []
    times: list[TimeEntry] = []
    newest = TimeEntry(NO_TIMESTAMP, -1)
    unindexed = position = 0
    for _epoch_branch, batch, size, _start, _end in log.kept_between(segment.base, _end_of(log, segment)):
        if batch.timestamp_us > newest.timestamp_us:
            newest = TimeEntry(batch.timestamp_us, batch.end - 1)
        if unindexed > log.rules.index_interval:
            offsets.append(OffsetEntry(batch.end - 1, position))
            if newest.timestamp_us > (times[-1].timestamp_us if times else NO_TIMESTAMP):
                times.append(newest)
            unindexed = 0
        unindexed += size
        position += size
    return Indexes(tuple(offsets), tuple(times))


def offset_for_timestamp(log: ReplicaLog, timestamp_us: int) -> TimestampAndOffset | None:
    """Return the first readable record of a timestamp or later, None if all are older (``fetchOffsetByTimestamp``).

    Records of a batch share its timestamp here. The first segment whose largest timestamp reaches that far is searched
    from its time index's floor entry on; segments before it are skipped.
    """
    for segment in log.segments.all:
        if segment.newest_us < timestamp_us:
            continue
        times = indexes_of(log, segment).times
        index = bisect_right(times, timestamp_us, key=lambda entry: entry.timestamp_us) - 1
        # Everything below a floor entry's batch is older.
        begin = times[index].offset if index >= 0 else segment.base
        for _epoch_branch, batch, _size, start, end in log.kept_between(segment.base, _end_of(log, segment)):
            if end > begin and batch.timestamp_us >= timestamp_us:
                left = log.remaining(max(start, log.log_start), end)
                if left:
                    return TimestampAndOffset(left[0][0], batch.timestamp_us)
    return None


def largest_timestamp(log: ReplicaLog) -> TimestampAndOffset | None:
    """Return the last record of the first batch with the largest timestamp (KIP-734), None for an empty log."""
    newest: TimestampAndOffset | None = None
    segment = max(log.segments.all, key=lambda known: known.newest_us)
    for _epoch_branch, batch, _size, start, end in log.kept_between(segment.base, _end_of(log, segment)):
        left = log.remaining(max(start, log.log_start), end)
        if left and batch.timestamp_us > (NO_TIMESTAMP if newest is None else newest.timestamp_us):
            newest = TimestampAndOffset(left[-1][1] - 1, batch.timestamp_us)
    return newest


def offset_before(log: ReplicaLog, time_us: int, now: int) -> int:
    """Return the base of the newest segment last modified at ``time_us`` or before, -1 if there is none.

    The log end counts as one more, modified now (``Log.getOffsetsBefore``, up to 0.10.0).
    """
    known = [(segment.base, segment.modified_us) for segment in log.segments.all]
    if log.segments.size:
        known.append((log.leo, now))
    return next((base for base, modified_us in reversed(known) if modified_us <= time_us), -1)
