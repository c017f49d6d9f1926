"""What a crash leaves of a log, and what the next start reads again (``LogLoader``).

A killed process leaves the page cache to the operating system, so at most a batch that was just being written is torn.
A machine that goes dark loses what was not written back, and the batch at the cut may be on disk in part. The next
start finds a torn batch by its checksum and cuts it off (``LogSegment.recover``); it was never whole, so it takes no
offset along. A lost disk takes the checkpoints too.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import Segments
from cluster_model.protocol.records import CORRUPT_BATCH

POWER_LOSS: Final = "power loss"
DISK_LOSS: Final = "disk loss"
"""Rules of truncations that no protocol asked for."""
LOSSY: Final = (POWER_LOSS, DISK_LOSS, CORRUPT_BATCH)

WRITTEN_BACK: Final = "written_back"
"""What the operating system had written back stays."""
FLUSHED: Final = "flushed"
"""The worst case: nothing stays but what Kafka had forced to disk."""
TORN: Final = "torn"
"""As written back, with half of the next batch behind it."""
TAILS: Final = (WRITTEN_BACK, FLUSHED, TORN)


def lose_power(log: ReplicaLog, keep: int, tail: str) -> int:
    """Where a power loss cuts a log: at what ``tail`` says, or behind the first ``keep`` records if that is not -1."""
    if keep < 0 and tail == FLUSHED:
        keep = log.recovery_point
    cut = log.durable_end(keep)
    if tail == TORN and cut < log.leo:
        log.torn = _half(log, cut)
    return cut


def tear(logs: Iterable[ReplicaLog]) -> None:
    """A process is killed while it writes: half a batch stands behind the end of the log that it wrote to last."""
    written = [log for log in logs if log.leo > log.log_start]
    if written:
        last = max(written, key=lambda log: log.segments.modified_us)
        last.torn = _half(last, last.leo - 1)


def wipe(log: ReplicaLog, now: int) -> None:
    """The files are gone, those included that were only renamed so far."""
    cut = tuple(log.pieces(log.log_start, log.leo))
    log.restart_at(0, now)
    log.unlink()
    log.cut = cut


def _half(log: ReplicaLog, offset: int) -> int:
    return max(1, log.lineage_at(offset).batch_at(offset).size // 2)


# Start-up after an unclean stop: what must be read again, and how long that takes (``LogLoader``, ``LogManager``).
#
# Without the ``.kafka_cleanshutdown`` marker a broker checks every batch of every segment that reaches the recovery
# point or lies above it. Kafka has no figure for the time; the model takes a steady reading speed.


RECOVERY_BYTES_PER_SECOND: Final = 100 * 1024 * 1024
"""What one recovery thread reads, checks (CRC-32C) and indexes: about a plain disk's sequential speed."""


def bytes_to_check(segments: Segments, recovery_point: int) -> int:
    """Bytes of all segments whose range reaches ``recovery_point`` or above, each read whole (``recoverLog``)."""
    return sum(segment.size for segment in segments.reaching(recovery_point))


def reading_us(size: int) -> int:
    """How long one thread takes to read and check ``size`` bytes."""
    return size * 1_000_000 // RECOVERY_BYTES_PER_SECOND


def recovery_us(sizes: Iterable[int], threads: int) -> int:
    """How long ``num.recovery.threads.per.data.dir`` threads take, each picking the next log when it is free."""
    free_at = [0] * threads
    for size in sizes:
        worker = free_at.index(min(free_at))
        free_at[worker] += reading_us(size)
    return max(free_at)
