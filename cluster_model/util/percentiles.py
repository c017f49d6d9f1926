"""Exact percentiles of latencies of records, in whole microseconds.

A percentile lies between two neighbours where its rank does, as in Spark's ``percentile`` and numpy's default:
the rank of ``p`` among ``n`` values is ``(n - 1) * p / 100``, halves are rounded up.
"""

from bisect import insort
from collections.abc import Iterable


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
