"""A broker's disk with its only log directory: speed, failures, and a write cache that may lose confirmed writes.

It is the machine's, not the process's: what ails it outlives the broker's process. Faults are kept apart by their
numbers; while several are on, latencies add up, the lowest throughput holds, and the first that refuses gives the
reason.

Kafka writes to the page cache, and a healthy system takes that at memory speed, so a healthy disk costs no time here.
A slow one stands for a system that holds writers back: too many dirty pages, or a volume that is throttled.
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
"""What the operating system tells of a write that fails (ENOSPC, EROFS, EIO)."""

BLOCK: Final = 4_096
"""Bytes that the smallest new file takes: a checkpoint is written beside the old one, which it then replaces."""


class Slow(NamedTuple):
    """A disk that takes its time: bytes per second, and microseconds that each write takes on top."""

    throughput: int
    latency_us: int


class DiskFailure(NamedTuple):
    """A disk that refuses: why, and how many bytes it holds before it does; -1: it takes nothing at all."""

    reason: str
    room: int = -1


class Disk:
    """The state of one broker's disk."""

    __slots__ = ("again", "broken", "halted", "slow")

    def __init__(self) -> None:
        self.slow: dict[int, Slow] = {}
        """By fault."""
        self.broken: dict[int, DiskFailure] = {}
        self.halted = False
        """Whether the last process ended because of it, or never came up."""
        self.again = False
        """Whether that process is to be started again as soon as it is gone."""

    @property
    def healthy(self) -> bool:
        """Whether nothing ails it."""
        return not self.slow and not self.broken

    def write_us(self, size: int) -> int:
        """How long it takes to write ``size`` bytes, in microseconds."""
        if not self.slow:
            return 0
        throughput = min(each.throughput for each in self.slow.values())
        return size * 1_000_000 // throughput + sum(each.latency_us for each in self.slow.values())

    def reading_us(self, size: int) -> int:
        """The least that reading ``size`` bytes takes, however many threads read."""
        return size * 1_000_000 // min(each.throughput for each in self.slow.values()) if self.slow else 0

    def refuses(self, size: int, used: int) -> str:
        """Why ``size`` more bytes cannot be written beside the ``used`` ones; empty if they can."""
        for each in self.broken.values():
            if used + size > each.room:
                return each.reason
        return ""

    def mend(self, fault: int) -> None:
        """That fault is over."""
        self.slow.pop(fault, None)
        self.broken.pop(fault, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self.slow.items()), tuple(self.broken.items()), self.halted, self.again)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        slow, broken, self.halted, self.again = saved
        self.slow = dict(slow)
        self.broken = dict(broken)


# A disk that confirms writes and loses them: a write cache without a battery, a hypervisor that ignores flushes.
#
# Kafka cannot tell. It flushes, moves its recovery point, writes its checkpoints, and a process that is killed finds
# all of it: the machine has it. Only when the power goes is the disk what it was when the lying began, logs,
# checkpoints and the marker of a clean shutdown alike; what had been truncated or deleted since is there again.


_LYING: Final = -1


class DiskImage(NamedTuple):
    """What the disk has of one replica."""

    log: tuple[Any, ...]
    """As saved."""
    hw: int
    recovery_point: int
    start: int
    cleaner_offset: int
    """By the four checkpoint files."""


NOTHING: Final = DiskImage((), 0, 0, 0, 0)


class WriteCache:
    """What one broker's disk kept before it began to lie. It outlives the process."""

    __slots__ = ("_faults", "_images", "_until_us", "marker")

    def __init__(self) -> None:
        self._faults: dict[int, None] = {}
        """Faults that make it lie."""
        self._images: dict[str, DiskImage] = {}
        """By partition; a replica that was made since has none."""
        self.marker = False
        """Whether ``.kafka_cleanshutdown`` is there."""
        self._until_us = 0
        """When it ceased to lie, -1 while it does; 0: it never has, or nothing is left of that."""

    def lie(self, fault: int, replicas: Mapping[str, Replica], now: int, *, marker: bool) -> None:
        """Keep nothing that is written from here on; what is at risk from an earlier time stays so."""
        if not self._faults:
            kept = {name: image for name in replicas if (image := self._at_risk(replicas[name], now)) is not None}
            self.marker = marker
            self._images = {name: kept.get(name) or image_of(replica, now) for name, replica in replicas.items()}
        self._faults[fault] = None
        self._until_us = _LYING

    def keep(self, fault: int, now: int) -> None:
        """That fault is over; behind the last one all that was withheld is written within the usual time."""
        if fault in self._faults:
            del self._faults[fault]
            if not self._faults:
                self._until_us = now

    def forget(self, partition: str) -> None:
        """A replica's directory is deleted, and does not come back."""
        self._images.pop(partition, None)

    def clear(self) -> None:
        """The disk is another one; a fault that is still on begins anew with it, empty."""
        self._images.clear()
        self.marker = False

    def _at_risk(self, replica: Replica, now: int) -> DiskImage | None:
        """What a power loss leaves of a replica, None if nothing is withheld that it was told is safe.

        Once it is honest again, the cache is written out when a flush of the log asks for it, or in the usual time.
        """
        if not self._until_us:
            return None
        if self._until_us != _LYING:
            log = replica.log
            if log.flushed_us > self._until_us or now - self._until_us >= log.rules.writeback_us:
                return None
        image: DiskImage = self._images.get(replica.partition, NOTHING)
        return image

    def power_lost(self, replicas: Mapping[str, Replica], now: int, keep: int, tail: str) -> bool:
        """Leave of each replica what a power loss leaves; whether the disk, and its marker, are as of another time."""
        back = False
        for replica in replicas.values():
            image = self._at_risk(replica, now)
            if image is None:
                replica.power_lost(now, keep, tail)
                continue
            take_back(replica, image, now, keep, tail)
            back = True
        if self._until_us == _LYING:
            self._images = {name: image_of(replica, now) for name, replica in replicas.items()}
        else:
            self._images.clear()
            self._until_us = 0
        return back

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._faults), tuple(self._images.items()), self.marker, self._until_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        faults, images, self.marker, self._until_us = saved
        self._faults = dict.fromkeys(faults)
        self._images = dict(images)


def image_of(replica: Replica, now: int) -> DiskImage:
    """What would have to be there to be found after a power loss now."""
    replica.log.age(now)
    return DiskImage(
        replica.log.save(), replica.checkpointed_hw, replica.checkpointed_recovery, replica.checkpointed_start,
        replica.cleaner_offset,
    )  # fmt: skip


def take_back(replica: Replica, image: DiskImage, now: int, keep: int, tail: str) -> None:
    """Make a replica what a power loss at the time of the image would have left."""
    log = replica.log
    had, end = tuple(log.pieces(log.log_start, log.leo)), log.leo
    if image.log:
        log.load(image.log)
    else:
        log.restart_at(0, now)
    log.truncate(lose_power(log, keep, tail), now)
    log.cut = tuple(
        (stint, low, high) for stint, start, stop in had for low, high in subtract([(start, stop)], log.held(stint))
    )
    replica.damages = up_to(replica.damages, log.leo)
    replica.hw = min(replica.hw, log.leo)
    replica.checkpointed_hw, replica.checkpointed_recovery = image.hw, image.recovery_point
    replica.checkpointed_start, replica.cleaner_offset = image.start, image.cleaner_offset
    if log.cut:
        start, epoch = log.cut[0][1], replica.leader_epoch
        replica.emit(Truncated(now, replica.partition, replica.broker, epoch, start, end, replica.hw, POWER_LOSS))
