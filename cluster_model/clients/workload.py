"""The workload of an application: rates, open and closed loops, and record sizes.

In an *open loop* the load depends on time alone. In a *closed loop* the number of outstanding records is limited: each
batch is followed by the next when it is acked, failed or unknown, after a think time. A slow cluster therefore gets
less load, and latency measured in a closed loop is lower than what users would see (coordinated omission).

A fault may change the pace, in millionths of the normal pace: the rate of an open loop, or the outstanding records of
a closed loop. Timers set before the change are ignored.
"""

from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate
from math import isqrt
from typing import Any, Final, Protocol

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import BLOCK, draws
from cluster_model.spec.cluster_spec import (
    RECORD,
    Interceptor,
    ProducerSpec,
    RateProfile,
    RateSegment,
    Sizes,
    SpreadSizes,
    TwoSizes,
    UniformSizes,
)
from cluster_model.util.deterministic_math import ONE, exp2, log2

# Number of records that a rate has made by a time, and the time of the next one, in integers, so that nothing drifts.
#
# A rate curve is a pure function of virtual time. The records of ``[a, b)`` and of ``[b, c)`` add up to those of
# ``[a, c)``, however time is divided, and a record is made in the first microsecond at which the curve has reached it.


NEVER: Final = -1
_WHOLE: Final = 2 * RECORD
"""Work per record, counted in halves because the area below a ramp is half of a rectangle."""


def _work(stretch: RateSegment, at: int) -> int:
    """Return the work done ``at`` microseconds into a segment: twice the area below the rate, rounded down."""
    duration, start, end = stretch
    if start == end:
        return 2 * start * at
    return 2 * start * at + (end - start) * at * at // duration


def _reached(stretch: RateSegment, work: int) -> int:
    """Return the first microsecond of a segment at which ``work`` is done; the segment must reach it."""
    duration, start, end = stretch
    slope = end - start
    if slope == 0:
        return -(-work // (2 * start))
    root = isqrt(duration * (duration * start * start + slope * work))
    at = max(0, (root - duration * start) // slope)
    while at > 0 and _work(stretch, at - 1) >= work:
        at -= 1
    while _work(stretch, at) < work:
        at += 1
    return at


class RateCurve:
    """A rate profile as a stateless function of time: records made by a time, and time of a record."""

    __slots__ = ("_begins", "_done", "_period", "_period_work", "_stretches")

    def __init__(self, profile: RateProfile) -> None:
        stretches = profile.stretches
        durations = [stretch.duration_us for stretch in stretches]
        endless = durations[-1] < 0
        timed = stretches[:-1] if endless else stretches
        self._stretches = stretches
        self._begins = [0, *accumulate(durations[: len(stretches) - 1])]
        """Start of each segment."""
        self._done = [0, *accumulate(_work(stretch, stretch.duration_us) for stretch in timed)]
        """Work done at the start of each segment, and, unless the last is endless, at its end."""
        self._period = sum(durations) if profile.repeats else 0
        self._period_work = self._done[-1]
        """Work of one period."""

    def made(self, at_us: int) -> int:
        """Return the records made by ``at_us`` microseconds after the start."""
        return self._work(at_us) // _WHOLE

    def when(self, count: int) -> int:
        """Return the microseconds from the start to the ``count``-th record (from 1), :data:`NEVER` if never."""
        work = count * _WHOLE
        before = 0
        if self._period:
            if not self._period_work:
                return NEVER
            periods = (work - 1) // self._period_work
            before = periods * self._period
            work -= periods * self._period_work
        index = bisect_left(self._done, work) - 1
        if index == len(self._stretches):
            return NEVER
        stretch = self._stretches[index]
        if stretch.duration_us < 0 and not stretch.start:
            return NEVER
        return before + self._begins[index] + _reached(stretch, work - self._done[index])

    def _work(self, at_us: int) -> int:
        done = 0
        if self._period:
            periods, at_us = divmod(at_us, self._period)
            done = periods * self._period_work
        index = bisect_right(self._begins, at_us) - 1
        return done + self._done[index] + _work(self._stretches[index], at_us - self._begins[index])


MAKE: Final = "make"
"""Timer at which a batch is made."""
AT_ONCE_US: Final = 1_000
"""Minimum time to the next batch where a batch is completed at the time it was made (``acks=0``)."""
BLOCKED_US: Final = 100_000
"""How often an application in a closed loop checks whether ``send`` can continue."""
NORMAL_PPM: Final = 1_000_000
"""The normal pace."""


class Pacing(Protocol):
    """Pacing of an application: sets the producer's :data:`MAKE` timers."""

    timer: Payload
    """The current timer's payload; timers set before a change of pace have another one."""

    def pace(self, ppm: int) -> None:
        """Set the pace to ``ppm`` millionths of the normal pace; 0: make nothing."""

    def begin(self) -> None:
        """Start the application, with the session or later."""

    def made(self) -> None:
        """Handle a timer: a batch is about to be made."""

    def blocked(self) -> None:
        """Handle a batch that could not be made."""

    def settled(self, records: int, latency_us: int) -> None:
        """Handle the outcome of ``records`` records, ``latency_us`` after they were made."""

    def save(self) -> tuple[Any, ...]:
        """Return all state."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""


class ConstantRatePacing:
    """Open loop with a constant interval between batches."""

    __slots__ = ("_begun", "_port", "_ppm", "_since", "_spec", "_turn", "timer")

    def __init__(self, port: NodeContext, spec: ProducerSpec) -> None:
        self._port = port
        self._spec = spec
        self.timer: Payload = (MAKE,)
        self._begun = False
        self._ppm = NORMAL_PPM
        self._turn = 0
        """Number of changes of the pace."""
        self._since = 0
        """Time of the last change."""

    def begin(self) -> None:
        """Set the timer to one interval after the start."""
        self._begun = True
        if self._turn:
            self._restart()
        else:
            self._port.timer(max(0, self._spec.start_us - self._port.now) + self._spec.interval_us, MAKE)

    def made(self) -> None:
        """Set the timer to an interval later; batches missed by a paused process are not made up for."""
        if self._turn:
            self._next()
        else:
            self._port.timer(self._spec.interval_us, MAKE)

    def pace(self, ppm: int) -> None:
        """Change the interval; the next batch is a whole new interval from now."""
        if ppm == self._ppm:
            return
        self._ppm = ppm
        self._turn += 1
        self.timer = (MAKE, self._turn)
        if self._begun:
            self._restart()

    def _restart(self) -> None:
        """Count intervals from now, or from the start if that is later."""
        self._since = max(self._port.now, self._spec.start_us)
        self._next()

    def _next(self) -> None:
        """Set the timer of the next batch at the current pace."""
        if self._ppm:
            now, whole = self._port.now, self._spec.interval_us * NORMAL_PPM
            count = max(0, now - self._since) * self._ppm // whole + 1
            self._port.timer(self._since - (-count * whole // self._ppm) - now, *self.timer)

    def blocked(self) -> None:
        """Do nothing: the next batch does not depend on this one."""

    def settled(self, records: int, latency_us: int) -> None:
        """Do nothing: the loop is open."""

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._begun, self._ppm, self._turn, self._since)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._begun, self._ppm, self._turn, self._since = saved
        self.timer = (MAKE, self._turn) if self._turn else (MAKE,)


class RateProfilePacing(ConstantRatePacing):
    """Open loop with batches at the times given by a rate curve."""

    __slots__ = ("_curve", "_profile")

    def __init__(self, port: NodeContext, spec: ProducerSpec) -> None:
        super().__init__(port, spec)
        assert spec.profile is not None
        self._profile = spec.profile
        self._curve = RateCurve(spec.profile)

    def begin(self) -> None:
        """Set the timer of the first batch from now on."""
        self._begun = True
        self.made()

    def made(self) -> None:
        """Set the timer of the next batch."""
        self._make(self._curve.made(max(0, self._port.now - self._spec.start_us)) // self._spec.batch + 1)

    def _restart(self) -> None:
        """Scale the whole curve by the pace, from its beginning; only the batches from now on are made."""
        self._curve = RateCurve(_scaled(self._profile, self._ppm))
        self.made()

    def _make(self, batch: int) -> None:
        at = self._curve.when(batch * self._spec.batch) if self._ppm else NEVER
        if at >= 0:
            self._port.timer(self._spec.start_us + at - self._port.now, *self.timer)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        super().load(saved)
        self._curve = RateCurve(_scaled(self._profile, self._ppm))


def _scaled(profile: RateProfile, ppm: int) -> RateProfile:
    stretches = [
        each._replace(start=each.start * ppm // NORMAL_PPM, end=each.end * ppm // NORMAL_PPM)
        for each in profile.stretches
    ]  # fmt: skip
    return profile._replace(stretches=tuple(stretches))


class ClosedLoopPacing:
    """Closed loop with a limited number of outstanding records."""

    __slots__ = ("_begun", "_loop", "_max_batches", "_over", "_port", "_settled", "_spec", "timer")

    def __init__(self, port: NodeContext, spec: ProducerSpec) -> None:
        assert spec.loop is not None
        self._loop = spec.loop
        self._port = port
        self._spec = spec
        self._settled = 0
        """Completed records that no batch has followed yet."""
        self.timer: Payload = (MAKE,)
        self._begun = False
        self._max_batches = spec.loop.outstanding // spec.batch
        """Maximum number of outstanding batches."""
        self._over = 0
        """Number of outstanding batches above the maximum: as many completed batches are not followed by another."""

    def begin(self) -> None:
        """Set timers for the maximum of outstanding batches at once."""
        self._begun = True
        self._put(self._max_batches)

    def _put(self, batches: int) -> None:
        for _ in range(batches):
            self._port.timer(max(0, self._spec.start_us - self._port.now), MAKE)

    def pace(self, ppm: int) -> None:
        """Scale the maximum of outstanding batches; additional batches are made at once."""
        before, batch = self._max_batches, self._spec.batch
        self._max_batches = self._loop.outstanding * ppm // NORMAL_PPM // batch
        if ppm and not self._max_batches:
            self._max_batches = 1
        if self._begun:
            more = self._max_batches - before - self._over
            self._over = max(0, -more)
            self._put(max(0, more))

    def made(self) -> None:
        """Do nothing: the next batch follows an outcome."""

    def blocked(self) -> None:
        """Retry a little later."""
        self._port.timer(BLOCKED_US, MAKE)

    def settled(self, records: int, latency_us: int) -> None:
        """Make as many batches as were completed, after the think time."""
        self._settled += records
        pause = self._loop.think_us if latency_us else max(self._loop.think_us, AT_ONCE_US)
        while self._settled >= self._spec.batch:
            self._settled -= self._spec.batch
            if self._over:
                self._over -= 1
            else:
                self._port.timer(pause, MAKE)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._settled, self._begun, self._max_batches, self._over)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._settled, self._begun, self._max_batches, self._over = saved


class OnDemandPacing:
    """Pacing of an application that sends on other events: it sets no timers."""

    __slots__ = ("timer",)

    def __init__(self) -> None:
        self.timer: Payload = (MAKE,)

    def pace(self, ppm: int) -> None:
        """Do nothing."""

    def begin(self) -> None:
        """Do nothing."""

    def made(self) -> None:
        """Do nothing."""

    def blocked(self) -> None:
        """Do nothing: the application waits."""

    def settled(self, records: int, latency_us: int) -> None:
        """Do nothing: the application receives the outcome in another way."""

    def save(self) -> tuple[Any, ...]:
        """Return nothing: there is no state."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Do nothing: there is no state."""


def pacing_of(port: NodeContext, spec: ProducerSpec) -> Pacing:
    """Make the pacing of a producer's application."""
    if spec.loop is not None:
        return ClosedLoopPacing(port, spec)
    if spec.profile is None and not spec.interval_us:
        return OnDemandPacing()
    return ConstantRatePacing(port, spec) if spec.profile is None else RateProfilePacing(port, spec)


# The size of every record of a producer: a pure function of the seed, its partition and its number.
#
# Sizes are not stored: record 17 of ``orders-0`` always has the same size, so a batch that is retried, split or
# inspected later has the same number of bytes.


MILLION: Final = 1_000_000
SMALLEST: Final = 1
LARGEST: Final = 1024 * 1024
"""Generated sizes are limited to :data:`SMALLEST` and this."""
_REMEMBERED: Final = 1_024
"""Number of cached blocks of generated sizes."""

_P99: Final = 2_326
_NORMAL: Final = (
    5, 15, 24, 34, 44, 54, 64, 74, 83, 93, 103, 113, 123, 133, 142, 152, 162, 172, 182, 192, 202, 212, 222, 232, 242,
    252, 262, 273, 283, 293, 303, 313, 324, 334, 345, 355, 365, 376, 386, 397, 408, 418, 429, 440, 451, 461, 472, 483,
    494, 505, 517, 528, 539, 550, 562, 573, 585, 597, 608, 620, 632, 644, 656, 668, 681, 693, 706, 718, 731, 744, 757,
    770, 783, 796, 810, 824, 837, 851, 866, 880, 894, 909, 924, 939, 954, 970, 986, 1002, 1018, 1035, 1052, 1069, 1086,
    1104, 1122, 1141, 1160, 1179, 1199, 1219, 1240, 1262, 1284, 1306, 1330, 1354, 1379, 1405, 1431, 1459, 1488, 1518,
    1550, 1584, 1619, 1656, 1696, 1739, 1785, 1836, 1891, 1953, 2024, 2107, 2207, 2335, 2521, 2886,
)  # fmt: skip
"""Quantiles of a normal distribution in thousandths of its standard deviation.

They are those in the middle of each of the upper 128 of 256 parts of equal probability.
"""


class RecordSizes(Protocol):
    """Sizes of one producer's records, in bytes as serialized, before compression."""

    def of(self, partition: str, sequence: int, records: int) -> int:
        """Return the total bytes of ``records`` records from number ``sequence`` on."""


class ConstantSize:
    """Record sizes that are all the same."""

    __slots__ = ("_record_bytes",)

    def __init__(self, record_bytes: int) -> None:
        self._record_bytes = record_bytes

    def of(self, partition: str, sequence: int, records: int) -> int:
        """Return the total bytes of ``records`` records."""
        return records * self._record_bytes


def every(step: int, first: int, count: int) -> int:
    """Return how many of ``count`` numbers from ``first`` on are the last of a group of ``step``; 0 for step 0."""
    return (first + count) // step - first // step if step else 0


class InterceptedSizes:
    """Record sizes with the bytes added by interceptors."""

    __slots__ = ("_interceptors", "_sizes")

    def __init__(self, sizes: RecordSizes, interceptors: tuple[Interceptor, ...]) -> None:
        self._sizes = sizes
        self._interceptors = interceptors

    def of(self, partition: str, sequence: int, records: int) -> int:
        """Return the total bytes of ``records`` records from number ``sequence`` on."""
        size = self._sizes.of(partition, sequence, records)
        for each in self._interceptors:
            size += each.adds * (records - every(each.fails, sequence, records))
        return size


class RandomSizes:
    """Random record sizes, from a stream of the session per partition."""

    __slots__ = ("_client", "_seed", "_sizes")

    def __init__(self, sizes: Sizes, client: str, seed: int) -> None:
        """Make them; ``seed`` is the session's."""
        self._sizes = sizes
        self._client = client
        self._seed = seed

    def of(self, partition: str, sequence: int, records: int) -> int:
        """Return the total bytes of ``records`` records from number ``sequence`` on."""
        name = f"bytes:{self._client}/{partition}"
        total, end = 0, sequence + records
        while sequence < end:
            number, first = divmod(sequence, BLOCK)
            last = min(BLOCK, first + end - sequence)
            sums = _block(self._sizes, self._seed, name, number)
            total += sums[last] - sums[first]
            sequence += last - first
        return total


@lru_cache(maxsize=_REMEMBERED)
def _block(sizes: Sizes, seed: int, name: str, number: int) -> tuple[int, ...]:
    """Return the cumulative bytes of the first 0, 1, 2 ... records of a block."""
    return tuple(accumulate((keys_of_numbers(sizes, draw) for draw in draws(seed, name, number)), initial=0))


def keys_of_numbers(sizes: Sizes, draw: int) -> int:
    """Map a random number, uniform over 64 bits, to a size."""
    if isinstance(sizes, UniformSizes):
        return sizes.low + (draw * (sizes.high - sizes.low + 1) >> 64)
    if isinstance(sizes, TwoSizes):
        return sizes.large if draw * MILLION >> 64 < sizes.large_ppm else sizes.small
    table = _spread(sizes)
    return table[draw * len(table) >> 64]


@lru_cache(maxsize=64)
def _spread(sizes: SpreadSizes) -> tuple[int, ...]:
    """Return 256 equally likely sizes in ascending order."""
    width = log2(sizes.p99) - log2(sizes.median)
    places = (*(-place for place in reversed(_NORMAL)), *_NORMAL)
    found = (sizes.median * exp2(width * place // _P99) // ONE for place in places)
    return tuple(max(SMALLEST, min(LARGEST, size)) for size in found)


def sizes_of(spec: ProducerSpec, seed: int) -> RecordSizes:
    """Make the record sizes of a producer in a session with ``seed``."""
    made: RecordSizes = ConstantSize(spec.record_bytes)
    if spec.sizes is not None:
        made = RandomSizes(spec.sizes, spec.name, seed)
    return InterceptedSizes(made, spec.interceptors) if spec.interceptors else made
