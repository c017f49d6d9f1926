"""Throughput and latency over virtual time, per client, group and partition, and their sparklines.

All series have bins of one width, a second at first: beyond :data:`MOST` bins neighbours are merged.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from tui.terminal import glyphs

SECOND_US: Final = 1_000_000
MOST: Final = 2_048
"""Maximum number of bins of a series."""
LATENCY_STEPS_US: Final = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
"""Lower limit of each height of a latency after the lowest: the same for every series, so that they can be compared."""
IDLE: Final = " "
"""Bin without any record."""
SLOW_US: Final = 1_000_000
"""Latency from which on it is a warning."""


class Activity(NamedTuple):
    """Bins of a series: records per second, and the slowest record in microseconds, -1 for none."""

    rates: tuple[float, ...]
    slowest_us: tuple[int, ...]

    @property
    def last_us(self) -> int:
        """Slowest record of the latest bin that has one, -1 for none."""
        return next((each for each in reversed(self.slowest_us) if each >= 0), -1)


class _Series:
    """Records and slowest latency of each bin from time 0."""

    __slots__ = ("counts", "slowest_us")

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.slowest_us: list[int] = []

    def add(self, index: int, records: int, latency_us: int) -> None:
        missing = index + 1 - len(self.counts)
        if missing > 0:
            self.counts += [0] * missing
            self.slowest_us += [-1] * missing
        self.counts[index] += records
        self.slowest_us[index] = max(self.slowest_us[index], latency_us)

    def merge(self) -> None:
        counts, slowest = [*self.counts, 0], [*self.slowest_us, -1]
        self.counts = [a + b for a, b in zip(counts[::2], counts[1::2], strict=False)]
        self.slowest_us = [max(a, b) for a, b in zip(slowest[::2], slowest[1::2], strict=False)]


class ActivityHistory:
    """Series of all clients, groups and partitions of a branch, built from its events in order.

    A producer and a partition count acknowledged records, from their creation on; a group and its members records that
    were read, from the append on.
    """

    def __init__(self) -> None:
        self.width_us = SECOND_US
        self._series: dict[tuple[str, str], _Series] = {}

    def take(self, events: Iterable[Any]) -> None:
        """Count the records of these events."""
        for event in events:
            if event.kind == "records_acked":
                self._add(("client", event.client), event)
                self._add(("partition", event.partition), event)
            elif event.kind == "records_read":
                self._add(("client", event.client), event)
                self._add(("group", event.group_id), event)

    def client(self, name: str, now_us: int, bins: int) -> Activity:
        """Return the last complete bins of a producer or member, at most ``bins``."""
        return self._last(("client", name), now_us, bins)

    def group(self, name: str, now_us: int, bins: int) -> Activity:
        """Return the last complete bins of a group."""
        return self._last(("group", name), now_us, bins)

    def partition(self, name: str, now_us: int, bins: int) -> Activity:
        """Return the last complete bins of a partition."""
        return self._last(("partition", name), now_us, bins)

    def _add(self, key: tuple[str, str], event: Any) -> None:
        while event.at_us // self.width_us >= MOST:
            self.width_us *= 2
            for each in self._series.values():
                each.merge()
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series()
        series.add(event.at_us // self.width_us, event.count, event.latency_us)

    def _last(self, key: tuple[str, str], now_us: int, bins: int) -> Activity:
        end = now_us // self.width_us
        start = max(0, end - bins)
        series = self._series.get(key)
        counts = series.counts[start:end] if series is not None else []
        slowest = series.slowest_us[start:end] if series is not None else []
        rest = end - start - len(counts)
        rates = [each * SECOND_US / self.width_us for each in counts]
        return Activity((*rates, *[0.0] * rest), (*slowest, *[-1] * rest))


# Sparklines: a character for each bin, the latest at the right.


def rate_line(rates: Sequence[float]) -> str:
    """Return a sparkline of rates: heights in proportion to the largest one, a blank for no record."""
    top = max(rates, default=0.0)
    return "".join(IDLE if each <= 0 else glyphs.SPARK[min(7, int(each * 8 / top))] for each in rates)


def latency_height(latency_us: int) -> int:
    """Return the height of a latency, 0 to 7: 3 ms, 10 ms, 30 ms ... 3 s begin the next one."""
    return bisect_right(LATENCY_STEPS_US, latency_us)


def latency_line(slowest_us: Sequence[int]) -> str:
    """Return a sparkline of latencies on the scale of all: a blank for no record."""
    return "".join(IDLE if each < 0 else glyphs.SPARK[latency_height(each)] for each in slowest_us)


def latency_role(latency_us: int) -> str:
    """Return the role of a latency."""
    return "warning" if latency_us >= SLOW_US else "text"


def chart(heights: Sequence[float], lines: int) -> tuple[str, ...]:
    """Return a chart of several lines, from the top, of heights from 0 to 1; below 0 is a blank."""
    found = []
    for line in range(lines - 1, -1, -1):
        cells = []
        for height in heights:
            eighths = int(height * lines * 8) - line * 8 if height >= 0 else 0
            lowest = height >= 0 and line == 0
            cells.append(glyphs.SPARK[min(8, max(eighths, lowest)) - 1] if eighths > 0 or lowest else IDLE)
        found.append("".join(cells))
    return tuple(found)
