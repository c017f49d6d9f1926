"""Replication quotas (``ReplicationQuotaManager``, KIP-73, 0.10.1).

A broker has one quota as leader and one as follower; each applies to the replicas that the topic lists. A leader over
its quota sends followers no records; replicas in the ISR are exempt, but their bytes count. A follower over its quota
leaves partitions out of its fetches, except those that lack nothing below the leader's HW.
"""

from typing import Any, Final

from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.config_defs import LONG_MAX
from cluster_model.protocol.records import Slice

SAMPLES: Final = 11
"""Number of windows of the rate (``replication.quota.window.num``)."""
WINDOW_US: Final = 1_000_000
"""Length of a window (``replication.quota.window.size.seconds``)."""
_SECOND: Final = 1_000_000


def names_replica(throttled: str, partition: str, broker: int) -> bool:
    """Whether ``*`` or a list of partition:broker contains the replica on ``broker`` of a partition such as ``t-0``."""
    number = partition.rpartition("-")[2]
    return throttled == "*" or f"{number}:{broker}" in throttled.split(",")


def slice_bytes(epoch_branches: BatchStore, records: Slice) -> int:
    """Return the size in bytes of the fetched batches."""
    size = 0
    end = records.end
    for start, epoch_branch in reversed(records.extents):
        size += epoch_branches.by_id[epoch_branch].bytes_between(start, end)
        end = start
    return size


class SimpleRate:
    """Rate in bytes per second over the last windows (``SimpleRate`` over ``SampledStat``).

    The measured time is from the start of the oldest window to now, at least one window.
    """

    __slots__ = ("_current", "_windows")

    def __init__(self) -> None:
        self._windows: list[list[int]] = []
        """[start, bytes] of each window."""
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
        """Whether the rate is above ``limit`` bytes per second."""
        for window in self._windows:
            if now - window[0] >= SAMPLES * WINDOW_US:
                window[:] = [now, 0]
        total = sum(size for _began, size in self._windows)
        elapsed = now - min((began for began, _size in self._windows), default=now)
        return total * _SECOND > limit * max(elapsed, WINDOW_US)

    def clear(self) -> None:
        """Reset the rate."""
        self._windows.clear()
        self._current = 0

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self._current, tuple(tuple(window) for window in self._windows))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._current, windows = saved
        self._windows = [list(window) for window in windows]


class ReplicationQuota:
    """A broker's quota as leader or follower, in bytes per second; LONG_MAX, or a version before 0.10.1, is none."""

    __slots__ = ("_exists", "_limit", "_listed", "active", "rate")

    def __init__(self, limit: int, *, exists: bool) -> None:
        self._exists = exists
        self.active = exists and limit < LONG_MAX
        self.rate = SimpleRate()
        self._limit = limit
        self._listed: dict[str, bool] = {}
        """Partition → whether the topic lists its replica here."""

    def limit(self, limit: int) -> None:
        """Change the quota; counted bytes stay."""
        self._limit = limit
        self.active = self._exists and limit < LONG_MAX

    def forget(self, partition: str) -> None:
        """Forget whether the topic lists this replica, which may have changed."""
        self._listed.pop(partition, None)

    def forget_all(self) -> None:
        """Forget whether topics list their replicas."""
        self._listed.clear()

    def applies_to(self, partition: str, throttled: str, broker: int) -> bool:
        """Whether the quota applies to this replica; ``throttled`` is its topic's list."""
        listed = self._listed.get(partition)
        if listed is None:
            listed = self._listed[partition] = names_replica(throttled, partition, broker)
        return listed

    def exceeded(self, now: int) -> bool:
        """Whether the rate is above the quota."""
        return self.rate.above(now, self._limit)
