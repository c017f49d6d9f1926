"""Start-up after an unclean stop: what must be read again, and how long that takes (``LogLoader``, ``LogManager``).

Without the ``.kafka_cleanshutdown`` marker a broker checks every batch of every segment that reaches the recovery
point or lies above it. Kafka has no figure for the time; the model takes a steady reading speed.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.log.segments import Segments

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
