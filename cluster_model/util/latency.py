"""Latencies of records, in whole microseconds: exact percentiles, and how long they may be."""

from bisect import insort
from collections.abc import Iterable
from typing import Final

# Exact percentiles of latencies of records, in whole microseconds.
#
# A percentile lies between two neighbours where its rank does, as in Spark's ``percentile`` and numpy's default:
# the rank of ``p`` among ``n`` values is ``(n - 1) * p / 100``, halves are rounded up.


class LatencyHistogram:
    """How many records had which latency."""

    __slots__ = ("_counts", "_values", "records")

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        """``counts`` are (latency, records), each latency once."""
        self._counts: dict[int, int] = dict(counts)
        self._values = sorted(self._counts)
        """The latencies that there were, in ascending order."""
        self.records = sum(self._counts.values())

    def add(self, latency_us: int, records: int) -> None:
        """So many records more had this latency."""
        if latency_us not in self._counts:
            insort(self._values, latency_us)
            self._counts[latency_us] = 0
        self._counts[latency_us] += records
        self.records += records

    def include(self, more: "LatencyHistogram") -> None:
        """Add all of another one's records."""
        for latency_us, records in more.save():
            self.add(latency_us, records)

    @property
    def least(self) -> int:
        """The shortest, 0 without records."""
        return self._values[0] if self._values else 0

    @property
    def greatest(self) -> int:
        """The longest, 0 without records."""
        return self._values[-1] if self._values else 0

    def percentile(self, percent: int) -> int:
        """The latency that so many per cent of records did not exceed, 0 without records."""
        if not self.records:
            return 0
        rank, over = divmod((self.records - 1) * percent, 100)
        low, high = self._at(rank)
        return low if not over else (100 * low + (high - low) * over + 50) // 100

    def _at(self, rank: int) -> tuple[int, int]:
        """The latencies of that rank, from 0, and of the next; looked for from the slowest on."""
        begin, following = self.records, self._values[-1]
        for value in reversed(self._values):
            end = begin
            begin -= self._counts[value]
            if begin <= rank:
                return value, value if rank + 1 < end else following
            following = value
        return following, following

    def save(self) -> tuple[tuple[int, int], ...]:
        """All state: (latency, records), by latency; the constructor takes it."""
        return tuple([(value, self._counts[value]) for value in self._values])


# How long the records of a producer may wait before it is out of service: one rule for runs, screens and reports.


SERVICE_BOUND_US: Final = 100_000
"""The least service bound: where links are as fast as usual many round trips, with those between replicas."""
SLOW_US: Final = 2_000_000
"""Slow acknowledgements raise a service bound to this at most."""
USUAL_TIMES: Final = 3
"""A client that is answered slowly is served: its bound is as many times what the last acknowledgement took."""


def bound_us(least_us: int, usual_us: int) -> int:
    """The bound of a client with a ``least_us`` of its own, whose last acknowledgement took ``usual_us``."""
    return max(least_us, min(USUAL_TIMES * usual_us, SLOW_US))
