"""A broker's disk with its only log directory: speed, failures, and a write cache that may lose confirmed writes.

The disk belongs to the machine: its faults outlast the broker's process. Faults are kept by fault number; while several
are active, latencies add up, the lowest throughput applies, and the first one that rejects a write gives the reason.

Kafka writes to the page cache, and a healthy system accepts that at memory speed, so a healthy disk costs no time here.
A slow one stands for a system that blocks writers: too many dirty pages, or a throttled volume.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.partition import Replica
from cluster_model.log.crash_recovery import POWER_LOSS, lose_power
from cluster_model.protocol.events import Truncated
from cluster_model.protocol.records import up_to
from cluster_model.util.ranges import subtract

FULL: Final = "no space left on device"
READ_ONLY: Final = "read-only file system"
FAILED: Final = "input/output error"
"""Error text of the operating system for a failed write (ENOSPC, EROFS, EIO)."""

BLOCK: Final = 4_096
"""Bytes of the smallest new file: a checkpoint is written beside the old one and then replaces it."""


class DiskSlowdown(NamedTuple):
    """A slow disk: throughput in bytes per second, and additional microseconds for each write."""

    throughput: int
    latency_us: int


class DiskFailure(NamedTuple):
    """A failing disk: its error, and the bytes it may hold before writes fail; -1: all writes fail."""

    reason: str
    room: int = -1


class Disk:
    """State of one broker's disk: active faults, and whether its process ended because of them."""

    __slots__ = ("again", "broken", "halted", "slow")

    def __init__(self) -> None:
        self.slow: dict[int, DiskSlowdown] = {}
        """Fault number → slowness."""
        self.broken: dict[int, DiskFailure] = {}
        self.halted = False
        """Whether the last process ended because of the disk, or never came up."""
        self.again = False
        """Whether that process is to be restarted as soon as it has ended."""

    @property
    def healthy(self) -> bool:
        """Whether no fault is active."""
        return not self.slow and not self.broken

    def write_us(self, size: int) -> int:
        """Return the duration of writing ``size`` bytes, in microseconds."""
        if not self.slow:
            return 0
        throughput = min(each.throughput for each in self.slow.values())
        return size * 1_000_000 // throughput + sum(each.latency_us for each in self.slow.values())

    def reading_us(self, size: int) -> int:
        """Return the least duration of reading ``size`` bytes in microseconds, with any number of threads."""
        return size * 1_000_000 // min(each.throughput for each in self.slow.values()) if self.slow else 0

    def refuses(self, size: int, used: int) -> str:
        """Return the error of writing ``size`` more bytes in addition to ``used``; empty if the write succeeds."""
        for each in self.broken.values():
            if used + size > each.room:
                return each.reason
        return ""

    def heal(self, fault: int) -> None:
        """Remove a fault."""
        self.slow.pop(fault, None)
        self.broken.pop(fault, None)

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (tuple(self.slow.items()), tuple(self.broken.items()), self.halted, self.again)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        slow, broken, self.halted, self.again = saved
        self.slow = dict(slow)
        self.broken = dict(broken)


# A disk that confirms writes and loses them: a write cache without a battery, a hypervisor that ignores flushes.
#
# Kafka cannot detect it. It flushes, advances its recovery point and writes its checkpoints, and a process that is
# killed finds all of it, as the machine still has it. Only a power loss returns the disk to its state at the start of
# the fault: logs, checkpoints and the marker of a clean shutdown; anything truncated or deleted since is back.


_LOSING: Final = -1


class DiskImage(NamedTuple):
    """State of one replica on disk."""

    log: tuple[Any, ...]
    """The log's saved state."""
    hw: int
    recovery_point: int
    start: int
    cleaner_offset: int
    """Content of the four checkpoint files."""


NOTHING: Final = DiskImage((), 0, 0, 0, 0)


class WriteCache:
    """State of one broker's disk from before it began to lose writes. It outlives the process."""

    __slots__ = ("_faults", "_images", "_until_us", "marker")

    def __init__(self) -> None:
        self._faults: dict[int, None] = {}
        """Active faults that lose writes."""
        self._images: dict[str, DiskImage] = {}
        """Partition → image; a replica created later has none."""
        self.marker = False
        """Whether the file ``.kafka_cleanshutdown`` exists."""
        self._until_us = 0
        """End of the last fault in microseconds, -1 while one is active, 0 if nothing is at risk."""

    def start_losing_writes(self, fault: int, replicas: Mapping[str, Replica], now: int, *, marker: bool) -> None:
        """Start losing writes; data at risk from an earlier fault stays at risk."""
        if not self._faults:
            kept = {name: image for name in replicas if (image := self._at_risk(replicas[name], now)) is not None}
            self.marker = marker
            self._images = {name: kept.get(name) or image_of(replica, now) for name, replica in replicas.items()}
        self._faults[fault] = None
        self._until_us = _LOSING

    def stop_losing_writes(self, fault: int, now: int) -> None:
        """End a fault; after the last one withheld data is written within the usual write-back time."""
        if fault in self._faults:
            del self._faults[fault]
            if not self._faults:
                self._until_us = now

    def forget(self, partition: str) -> None:
        """Forget the image of a deleted replica, which does not come back."""
        self._images.pop(partition, None)

    def clear(self) -> None:
        """Replace the disk by an empty one; an active fault continues on it."""
        self._images.clear()
        self.marker = False

    def _at_risk(self, replica: Replica, now: int) -> DiskImage | None:
        """Return what a power loss leaves of a replica, None if no confirmed write is withheld.

        After the fault, withheld data is written when the log is flushed, or within the usual write-back time.
        """
        if not self._until_us:
            return None
        if self._until_us != _LOSING:
            log = replica.log
            if log.flushed_us > self._until_us or now - self._until_us >= log.rules.writeback_us:
                return None
        image: DiskImage = self._images.get(replica.partition, NOTHING)
        return image

    def power_lost(self, replicas: Mapping[str, Replica], now: int, keep: int, tail: str) -> bool:
        """Apply a power loss to each replica; returns whether disk and marker went back to an earlier state."""
        went_back = False
        for replica in replicas.values():
            image = self._at_risk(replica, now)
            if image is None:
                replica.power_lost(now, keep, tail)
                continue
            restore_image(replica, image, now, keep, tail)
            went_back = True
        if self._until_us == _LOSING:
            self._images = {name: image_of(replica, now) for name, replica in replicas.items()}
        else:
            self._images.clear()
            self._until_us = 0
        return went_back

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (tuple(self._faults), tuple(self._images.items()), self.marker, self._until_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        faults, images, self.marker, self._until_us = saved
        self._faults = dict.fromkeys(faults)
        self._images = dict(images)


def image_of(replica: Replica, now: int) -> DiskImage:
    """Return the image of a replica that a power loss now would leave."""
    replica.log.update_durable(now)
    return DiskImage(
        replica.log.save(), replica.checkpointed_hw, replica.checkpointed_recovery, replica.checkpointed_start,
        replica.cleaner_offset,
    )  # fmt: skip


def restore_image(replica: Replica, image: DiskImage, now: int, keep: int, tail: str) -> None:
    """Reset a replica to what a power loss at the time of the image would have left."""
    log = replica.log
    old_ranges, end = tuple(log.pieces(log.log_start, log.leo)), log.leo
    if image.log:
        log.load(image.log)
    else:
        log.restart_at(0, now)
    log.truncate(lose_power(log, keep, tail), now)
    log.last_truncated = tuple(
        (branch, low, high)
        for branch, start, stop in old_ranges
        for low, high in subtract([(start, stop)], log.ranges_of(branch))
    )
    replica.damages = up_to(replica.damages, log.leo)
    replica.hw = min(replica.hw, log.leo)
    replica.checkpointed_hw, replica.checkpointed_recovery = image.hw, image.recovery_point
    replica.checkpointed_start, replica.cleaner_offset = image.start, image.cleaner_offset
    if log.last_truncated:
        start, epoch = log.last_truncated[0][1], replica.leader_epoch
        replica.emit(Truncated(now, replica.partition, replica.broker, epoch, start, end, replica.hw, POWER_LOSS))
