"""One broker's disk, which holds its only log directory: how fast it writes, and whether it writes at all.

It is the machine's, not the process's: what ails it outlives the broker's process. Faults are kept apart by their
numbers; while several are on, latencies add up, the lowest throughput holds, and the first that refuses gives the
reason.

Kafka writes to the page cache, and a healthy system takes that at memory speed, so a healthy disk costs no time here.
A slow one stands for a system that holds writers back: too many dirty pages, or a volume that is throttled.
"""

from typing import Any, Final, NamedTuple

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


class Broken(NamedTuple):
    """A disk that refuses: why, and how many bytes it holds before it does; -1: it takes nothing at all."""

    reason: str
    room: int = -1


class Disk:
    """The state of one broker's disk."""

    __slots__ = ("again", "broken", "halted", "slow")

    def __init__(self) -> None:
        self.slow: dict[int, Slow] = {}
        """By fault."""
        self.broken: dict[int, Broken] = {}
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
