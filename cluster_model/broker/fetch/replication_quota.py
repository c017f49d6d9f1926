"""Replication held below a rate (``ReplicationQuotaManager``, KIP-73, 0.10.1).

The quota is a broker's, one as leader and one as follower; it concerns the replicas that the topic names. A leader over
its quota answers followers without records; replicas in the ISR are exempt from that, though their bytes count. A
follower over its quota leaves partitions out of its fetches, except those that lack nothing below the leader's HW.
"""

from typing import Any, Final

from cluster_model.log.batch_store import Lineages
from cluster_model.protocol.config_defs import LONG_MAX
from cluster_model.protocol.records import Slice

SAMPLES: Final = 11
"""Windows that the rate is taken over (``replication.quota.window.num``)."""
WINDOW_US: Final = 1_000_000
"""Length of each (``replication.quota.window.size.seconds``)."""
_SECOND: Final = 1_000_000


def names_replica(throttled: str, partition: str, broker: int) -> bool:
    """Whether ``*`` or a list of partition:broker names the replica on ``broker`` of a partition such as ``t-0``."""
    number = partition.rpartition("-")[2]
    return throttled == "*" or f"{number}:{broker}" in throttled.split(",")


def slice_bytes(lineages: Lineages, records: Slice) -> int:
    """Size of the batches that a fetch brought."""
    size = 0
    end = records.end
    for start, lineage in reversed(records.extents):
        size += lineages.by_id[lineage].bytes_between(start, end)
        end = start
    return size


class SimpleRate:
    """Bytes a second over the last windows (``SimpleRate`` over ``SampledStat``).

    The time counted is from the beginning of the oldest window to now, and at least one window.
    """

    __slots__ = ("_current", "_windows")

    def __init__(self) -> None:
        self._windows: list[list[int]] = []
        """(beginning, bytes) each."""
        self._current = 0

    def record(self, now: int, size: int) -> None:
        """Count bytes."""
        windows = self._windows
        if not windows:
            windows.append([now, 0])
        elif now - windows[self._current][0] >= WINDOW_US:
            self._current = (self._current + 1) % SAMPLES
            if self._current == len(windows):
                windows.append([now, 0])
            else:
                windows[self._current] = [now, 0]
        windows[self._current][1] += size

    def above(self, now: int, limit: int) -> bool:
        """Whether more than ``limit`` bytes a second were counted."""
        for window in self._windows:
            if now - window[0] >= SAMPLES * WINDOW_US:
                window[:] = [now, 0]
        total = sum(size for _began, size in self._windows)
        elapsed = now - min((began for began, _size in self._windows), default=now)
        return total * _SECOND > limit * max(elapsed, WINDOW_US)

    def clear(self) -> None:
        """Nothing has been counted."""
        self._windows.clear()
        self._current = 0

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._current, tuple(tuple(window) for window in self._windows))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._current, windows = saved
        self._windows = [list(window) for window in windows]


class Throttle:
    """One side's quota of a broker, in bytes a second; LONG_MAX, and versions before 0.10.1, have none."""

    __slots__ = ("_exists", "_limit", "_named", "active", "rate")

    def __init__(self, limit: int, *, exists: bool) -> None:
        self._exists = exists
        self.active = exists and limit < LONG_MAX
        self.rate = SimpleRate()
        self._limit = limit
        self._named: dict[str, bool] = {}
        """Partition → whether its replica here is among those named."""

    def limit(self, limit: int) -> None:
        """Another quota from here on; what was counted stays."""
        self._limit = limit
        self.active = self._exists and limit < LONG_MAX

    def forget(self, partition: str) -> None:
        """What the topic says of this replica may have changed."""
        self._named.pop(partition, None)

    def forget_all(self) -> None:
        """What any topic says may be another."""
        self._named.clear()

    def concerns(self, partition: str, throttled: str, broker: int) -> bool:
        """Whether the quota is for this replica; ``throttled`` is what its topic says."""
        named = self._named.get(partition)
        if named is None:
            named = self._named[partition] = names_replica(throttled, partition, broker)
        return named

    def exceeded(self, now: int) -> bool:
        """Whether the rate is above the quota."""
        return self.rate.above(now, self._limit)
