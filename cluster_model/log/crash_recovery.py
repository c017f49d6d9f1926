"""What an ill end leaves of a log: the kinds of tail after a power loss, a write cut short, a disk that is gone.

A killed process leaves the page cache to the operating system, so at most a batch that was just being written is torn.
A machine that goes dark loses what was not written back, and the batch at the cut may be on disk in part. The next
start finds a torn batch by its checksum and cuts it off (``LogSegment.recover``); it was never whole, so it takes no
offset along. A lost disk takes the checkpoints too.
"""

from collections.abc import Iterable
from typing import Final

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.damage import CORRUPT_BATCH

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
