"""Latencies of records, in integer microseconds: exact percentiles and service bounds."""

from bisect import insort
from collections.abc import Iterable
from typing import Final

# Exact percentiles of latencies of records, in integer microseconds.
#
# A percentile is interpolated between neighbours, as in Spark's ``percentile`` and numpy's default: the rank of ``p``
# among ``n`` values is ``(n - 1) * p / 100``, halves are rounded up.


class LatencyHistogram:
    """Exact distribution of latencies: the number of records for each latency."""

    __slots__ = ("_counts", "_values", "records")

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        """Start with (latency, records) pairs, each latency once."""
        self._counts: dict[int, int] = dict(counts)
        self._values = sorted(self._counts)
        """The latencies that occurred, in ascending order."""
        self.records = sum(self._counts.values())

    def add(self, latency_us: int, records: int) -> None:
        """Count records with this latency."""
        if latency_us not in self._counts:
            insort(self._values, latency_us)
            self._counts[latency_us] = 0
        self._counts[latency_us] += records
        self.records += records

    def include(self, more: "LatencyHistogram") -> None:
        """Add all of another histogram's records."""
        for latency_us, records in more.save():
            self.add(latency_us, records)

    @property
    def least(self) -> int:
        """Shortest latency, 0 without records."""
        return self._values[0] if self._values else 0

    @property
    def greatest(self) -> int:
        """Longest latency, 0 without records."""
        return self._values[-1] if self._values else 0

    def percentile(self, percent: int) -> int:
        """Return the latency percentile in microseconds, 0 without records."""
        if not self.records:
            return 0
        rank, over = divmod((self.records - 1) * percent, 100)
        low, high = self._at(rank)
        return low if not over else (100 * low + (high - low) * over + 50) // 100

    def _at(self, rank: int) -> tuple[int, int]:
        """Return the latencies of that rank, from 0, and of the next, searching from the slowest."""
        begin, following = self.records, self._values[-1]
        for value in reversed(self._values):
            end = begin
            begin -= self._counts[value]
            if begin <= rank:
                return value, value if rank + 1 < end else following
            following = value
        return following, following

    def save(self) -> tuple[tuple[int, int], ...]:
        """Return all state: (latency, records) pairs by latency, for the constructor."""
        return tuple([(value, self._counts[value]) for value in self._values])


# Longest wait of a producer's records that still counts as service: one rule for runs, screens and reports.


SERVICE_BOUND_US: Final = 100_000
"""Lowest service bound: with usual links many round trips, including those between replicas."""
SLOW_US: Final = 2_000_000
"""Slow acknowledgements raise a service bound up to this."""
USUAL_TIMES: Final = 3
"""A client with slow responses is still served: its bound is this many times its last acknowledgement's latency."""


def bound_us(least_us: int, usual_us: int) -> int:
    """Return the bound of a client with a ``least_us`` of its own, whose last acknowledgement took ``usual_us``."""
    return max(least_us, min(USUAL_TIMES * usual_us, SLOW_US))
