"""Effect of a crash on a log, and recovery at the next start (``LogLoader``).

A killed process leaves the page cache to the operating system, so at most the batch that was being written is torn. A
machine that loses power loses what was not written back, and the batch at the end may be on disk in part. The next
start finds a torn batch by its checksum and truncates it (``LogSegment.recover``); it was never complete, so it takes
no offset with it. A lost disk loses the checkpoints too.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import Segments
from cluster_model.protocol.records import CORRUPT_BATCH

POWER_LOSS: Final = "power loss"
DISK_LOSS: Final = "disk loss"
"""``rule`` of truncations that the protocol did not require."""
LOSSY: Final = (POWER_LOSS, DISK_LOSS, CORRUPT_BATCH)

WRITTEN_BACK: Final = "written_back"
"""What the operating system had written back survives."""
FLUSHED: Final = "flushed"
"""The worst case: only what Kafka had flushed survives."""
TORN: Final = "torn"
"""As written back, plus half of the next batch."""
TAILS: Final = (WRITTEN_BACK, FLUSHED, TORN)


def lose_power(log: ReplicaLog, keep: int, tail: str) -> int:
    """Return the end of a log after a power loss, by ``tail``, or after ``keep`` records if that is not -1."""
    if keep < 0 and tail == FLUSHED:
        keep = log.recovery_point
    end = log.durable_end(keep)
    if tail == TORN and end < log.leo:
        log.torn = _half(log, end)
    return end


def tear(logs: Iterable[ReplicaLog]) -> None:
    """Leave half a batch after the end of the log written to last: the process was killed during a write."""
    written = [log for log in logs if log.leo > log.log_start]
    if written:
        last = max(written, key=lambda log: log.segments.modified_us)
        last.torn = _half(last, last.leo - 1)


def wipe(log: ReplicaLog, now: int) -> None:
    """Delete all files, including renamed ones that are not unlinked yet."""
    removed = tuple(log.pieces(log.log_start, log.leo))
    log.restart_at(0, now)
    log.unlink()
    log.last_truncated = removed


def _half(log: ReplicaLog, offset: int) -> int:
    return max(1, log.branch_at(offset).batch_at(offset).size // 2)


# Start after an unclean stop: what must be checked, and how long that takes (``LogLoader``, ``LogManager``).
#
# Without the ``.kafka_cleanshutdown`` marker a broker checks every batch of every segment that reaches the recovery
# point or lies above it. Kafka has no figure for the time; the model assumes a steady reading speed.


RECOVERY_BYTES_PER_SECOND: Final = 100 * 1024 * 1024
"""Speed at which a recovery thread reads, checks (CRC-32C) and indexes: about a plain disk's sequential speed."""


def bytes_to_check(segments: Segments, recovery_point: int) -> int:
    """Return the bytes of all segments that reach ``recovery_point`` or lie above it (``recoverLog``)."""
    return sum(segment.size for segment in segments.reaching(recovery_point))


def reading_us(size: int) -> int:
    """Return how long one thread takes to read and check ``size`` bytes, in microseconds."""
    return size * 1_000_000 // RECOVERY_BYTES_PER_SECOND


def recovery_us(sizes: Iterable[int], threads: int) -> int:
    """Return the duration with that many ``num.recovery.threads.per.data.dir``, each taking the next log when free."""
    free_at = [0] * threads
    for size in sizes:
        worker = free_at.index(min(free_at))
        free_at[worker] += reading_us(size)
    return max(free_at)
