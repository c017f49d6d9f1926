"""The load of an application: rates, open and closed loops, and record sizes.

In an *open loop* load is a function of time alone. In a *closed loop* so many records are outstanding at most: each
batch is followed by the next when it is acked, failed or unknown, after the time that the application thinks. So a
slow cluster gets less load, and whoever measures latency in a closed loop sees less of it than users would.

A fault may change the pace, in millionths of the usual one: the rate of an open loop, what may be outstanding in a
closed one. Timers that were set before it did are of an earlier turn, and mean nothing any more.
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
    Sizes,
    SpreadSizes,
    Stretch,
    TwoSizes,
    UniformSizes,
)
from cluster_model.util.deterministic_math import ONE, exp2, log2

# How many records a rate has made by a time, and when it makes the next one: whole numbers, so that nothing drifts.
#
# A rate curve is a pure function of virtual time. What it makes in ``[a, b)`` and in ``[b, c)`` adds up to what it
# makes in ``[a, c)``, however time is cut, and a record is made in the first microsecond by which the curve has it
# whole.


NEVER: Final = -1
_WHOLE: Final = 2 * RECORD
"""Work is counted in halves, for the area below a ramp is half of a rectangle."""


def _work(stretch: Stretch, at: int) -> int:
    """Work done ``at`` microseconds into a stretch: twice the area below the rate, rounded down."""
    duration, start, end = stretch
    if start == end:
        return 2 * start * at
    return 2 * start * at + (end - start) * at * at // duration


def _reached(stretch: Stretch, work: int) -> int:
    """The first microsecond of a stretch by which so much is done; the stretch must get there."""
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
    """A profile that can be asked; it has no state."""

    __slots__ = ("_begins", "_done", "_period", "_stretches", "_whole")

    def __init__(self, profile: RateProfile) -> None:
        stretches = profile.stretches
        durations = [stretch.duration_us for stretch in stretches]
        endless = durations[-1] < 0
        timed = stretches[:-1] if endless else stretches
        self._stretches = stretches
        self._begins = [0, *accumulate(durations[: len(stretches) - 1])]
        """When each stretch begins."""
        self._done = [0, *accumulate(_work(stretch, stretch.duration_us) for stretch in timed)]
        """Work done when each stretch begins, and, unless the last is endless, at its end."""
        self._period = sum(durations) if profile.repeats else 0
        self._whole = self._done[-1]
        """Work of one period."""

    def made(self, at_us: int) -> int:
        """Records that are whole ``at_us`` microseconds after the start."""
        return self._work(at_us) // _WHOLE

    def when(self, count: int) -> int:
        """Microseconds from the start until ``count`` records, at least 1, are whole; :data:`NEVER` if never."""
        work = count * _WHOLE
        before = 0
        if self._period:
            if not self._whole:
                return NEVER
            periods = (work - 1) // self._whole
            before = periods * self._period
            work -= periods * self._whole
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
            done = periods * self._whole
        index = bisect_right(self._begins, at_us) - 1
        return done + self._done[index] + _work(self._stretches[index], at_us - self._begins[index])


MAKE: Final = "make"
"""The timer at which a batch is made."""
AT_ONCE_US: Final = 1_000
"""What handing over takes where a batch is settled in the instant in which it was made (``acks=0``)."""
BLOCKED_US: Final = 100_000
"""How often an application in a closed loop looks whether ``send`` can go on."""
USUAL_PPM: Final = 1_000_000
"""The usual pace."""


class Pacing(Protocol):
    """Sets the producer's :data:`MAKE` timers."""

    timer: Payload
    """What they are now; those of an earlier turn are different."""

    def pace(self, ppm: int) -> None:
        """From now on go at so many millionths of the usual pace; 0: make nothing."""

    def begin(self) -> None:
        """The application starts: with the session, or again later."""

    def made(self) -> None:
        """A timer has come: a batch is about to be made."""

    def blocked(self) -> None:
        """It could not be made."""

    def settled(self, records: int, latency_us: int) -> None:
        """``records`` were acked, failed or given up that long after they were made."""

    def save(self) -> tuple[Any, ...]:
        """All state."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""


class Steady:
    """Open loop, a batch every so many microseconds."""

    __slots__ = ("_begun", "_port", "_ppm", "_since", "_spec", "_turn", "timer")

    def __init__(self, port: NodeContext, spec: ProducerSpec) -> None:
        self._port = port
        self._spec = spec
        self.timer: Payload = (MAKE,)
        self._begun = False
        self._ppm = USUAL_PPM
        self._turn = 0
        """How often the pace has changed; 0: it never has."""
        self._since = 0
        """When it last did."""

    def begin(self) -> None:
        """One interval after the start."""
        self._begun = True
        if self._turn:
            self._restart()
        else:
            self._port.timer(max(0, self._spec.start_us - self._port.now) + self._spec.interval_us, MAKE)

    def made(self) -> None:
        """The next an interval later; what a paused process missed is not made up for."""
        if self._turn:
            self._next()
        else:
            self._port.timer(self._spec.interval_us, MAKE)

    def pace(self, ppm: int) -> None:
        """From now on a batch every so much sooner or later, the first a whole new interval from now."""
        if ppm == self._ppm:
            return
        self._ppm = ppm
        self._turn += 1
        self.timer = (MAKE, self._turn)
        if self._begun:
            self._restart()

    def _restart(self) -> None:
        """Count from now, or from the start if that is to come."""
        self._since = max(self._port.now, self._spec.start_us)
        self._next()

    def _next(self) -> None:
        """When the next batch from now is whole, at the pace since it changed."""
        if self._ppm:
            now, whole = self._port.now, self._spec.interval_us * USUAL_PPM
            count = max(0, now - self._since) * self._ppm // whole + 1
            self._port.timer(self._since - (-count * whole // self._ppm) - now, *self.timer)

    def blocked(self) -> None:
        """Time goes on."""

    def settled(self, records: int, latency_us: int) -> None:
        """The loop is open."""

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._begun, self._ppm, self._turn, self._since)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._begun, self._ppm, self._turn, self._since = saved
        self.timer = (MAKE, self._turn) if self._turn else (MAKE,)


class Profiled(Steady):
    """Open loop, a batch whenever a rate curve has made one whole."""

    __slots__ = ("_curve", "_profile")

    def __init__(self, port: NodeContext, spec: ProducerSpec) -> None:
        super().__init__(port, spec)
        assert spec.profile is not None
        self._profile = spec.profile
        self._curve = RateCurve(spec.profile)

    def begin(self) -> None:
        """When the first batch is whole that has not been before."""
        self._begun = True
        self.made()

    def made(self) -> None:
        """When the next batch from now is whole."""
        self._make(self._curve.made(max(0, self._port.now - self._spec.start_us)) // self._spec.batch + 1)

    def _restart(self) -> None:
        """The whole curve is so much higher or lower, from its beginning: only what comes now is made."""
        self._curve = RateCurve(_scaled(self._profile, self._ppm))
        self.made()

    def _make(self, batch: int) -> None:
        at = self._curve.when(batch * self._spec.batch) if self._ppm else NEVER
        if at >= 0:
            self._port.timer(self._spec.start_us + at - self._port.now, *self.timer)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        super().load(saved)
        self._curve = RateCurve(_scaled(self._profile, self._ppm))


def _scaled(profile: RateProfile, ppm: int) -> RateProfile:
    stretches = [
        each._replace(start=each.start * ppm // USUAL_PPM, end=each.end * ppm // USUAL_PPM)
        for each in profile.stretches
    ]  # fmt: skip
    return profile._replace(stretches=tuple(stretches))


class ClosedLoopPacing:
    """Closed loop: at most so many records are not settled."""

    __slots__ = ("_begun", "_loop", "_most", "_over", "_port", "_settled", "_spec", "timer")

    def __init__(self, port: NodeContext, spec: ProducerSpec) -> None:
        assert spec.loop is not None
        self._loop = spec.loop
        self._port = port
        self._spec = spec
        self._settled = 0
        """Records that no batch has followed yet."""
        self.timer: Payload = (MAKE,)
        self._begun = False
        self._most = spec.loop.outstanding // spec.batch
        """Batches that may be outstanding."""
        self._over = 0
        """How many more are: as many are followed by none."""

    def begin(self) -> None:
        """All that may be outstanding, at once."""
        self._begun = True
        self._put(self._most)

    def _put(self, batches: int) -> None:
        for _ in range(batches):
            self._port.timer(max(0, self._spec.start_us - self._port.now), MAKE)

    def pace(self, ppm: int) -> None:
        """Let so many times more be outstanding, at once; with fewer, those in excess are followed by none."""
        before, batch = self._most, self._spec.batch
        self._most = self._loop.outstanding * ppm // USUAL_PPM // batch
        if ppm and not self._most:
            self._most = 1
        if self._begun:
            more = self._most - before - self._over
            self._over = max(0, -more)
            self._put(max(0, more))

    def made(self) -> None:
        """Nothing comes by time."""

    def blocked(self) -> None:
        """Another attempt a little later."""
        self._port.timer(BLOCKED_US, MAKE)

    def settled(self, records: int, latency_us: int) -> None:
        """As many batches as were settled, after thinking."""
        self._settled += records
        pause = self._loop.think_us if latency_us else max(self._loop.think_us, AT_ONCE_US)
        while self._settled >= self._spec.batch:
            self._settled -= self._spec.batch
            if self._over:
                self._over -= 1
            else:
                self._port.timer(pause, MAKE)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._settled, self._begun, self._most, self._over)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._settled, self._begun, self._most, self._over = saved


class OnDemandPacing:
    """No batch is made by time: the application sends when something else has happened."""

    __slots__ = ("timer",)

    def __init__(self) -> None:
        self.timer: Payload = (MAKE,)

    def pace(self, ppm: int) -> None:
        """There is none."""

    def begin(self) -> None:
        """Nothing to begin with."""

    def made(self) -> None:
        """Nobody sets a timer."""

    def blocked(self) -> None:
        """Whoever sends waits."""

    def settled(self, records: int, latency_us: int) -> None:
        """Whoever sent is told otherwise."""

    def save(self) -> tuple[Any, ...]:
        """Nothing to keep."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Nothing to restore."""


def pacing_of(port: NodeContext, spec: ProducerSpec) -> Pacing:
    """How this producer's application works."""
    if spec.loop is not None:
        return ClosedLoopPacing(port, spec)
    if spec.profile is None and not spec.interval_us:
        return OnDemandPacing()
    return Steady(port, spec) if spec.profile is None else Profiled(port, spec)


# The size of every record of a producer, drawn once and for all by its number in its partition.
#
# Nobody keeps sizes: whoever asks for record 17 of ``orders-0`` gets the same answer, so a batch that is retried,
# split or looked at later has the bytes that it always had.


MILLION: Final = 1_000_000
SMALLEST: Final = 1
LARGEST: Final = 1024 * 1024
"""A drawn size is cut to these."""
_REMEMBERED: Final = 1_024
"""Blocks of drawn sizes that are kept."""

_P99: Final = 2_326
_NORMAL: Final = (
    5, 15, 24, 34, 44, 54, 64, 74, 83, 93, 103, 113, 123, 133, 142, 152, 162, 172, 182, 192, 202, 212, 222, 232, 242,
    252, 262, 273, 283, 293, 303, 313, 324, 334, 345, 355, 365, 376, 386, 397, 408, 418, 429, 440, 451, 461, 472, 483,
    494, 505, 517, 528, 539, 550, 562, 573, 585, 597, 608, 620, 632, 644, 656, 668, 681, 693, 706, 718, 731, 744, 757,
    770, 783, 796, 810, 824, 837, 851, 866, 880, 894, 909, 924, 939, 954, 970, 986, 1002, 1018, 1035, 1052, 1069, 1086,
    1104, 1122, 1141, 1160, 1179, 1199, 1219, 1240, 1262, 1284, 1306, 1330, 1354, 1379, 1405, 1431, 1459, 1488, 1518,
    1550, 1584, 1619, 1656, 1696, 1739, 1785, 1836, 1891, 1953, 2024, 2107, 2207, 2335, 2521, 2886,
)  # fmt: skip
"""Thousandths of a standard deviation in the middle of each of the upper 128 of 256 equal parts of a normal curve."""


class RecordSizes(Protocol):
    """Sizes of one producer's records, in bytes as serialized, before compression."""

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of ``records`` records from number ``sequence`` on."""


class OneSize:
    """All records alike."""

    __slots__ = ("_record_bytes",)

    def __init__(self, record_bytes: int) -> None:
        self._record_bytes = record_bytes

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of so many records."""
        return records * self._record_bytes


def every(step: int, first: int, count: int) -> int:
    """How many of ``count`` numbers from ``first`` on are the last of a group of ``step``; none for step 0."""
    return (first + count) // step - first // step if step else 0


class InterceptedSizes:
    """Sizes of records with what interceptors have added."""

    __slots__ = ("_interceptors", "_sizes")

    def __init__(self, sizes: RecordSizes, interceptors: tuple[Interceptor, ...]) -> None:
        self._sizes = sizes
        self._interceptors = interceptors

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of those records."""
        size = self._sizes.of(partition, sequence, records)
        for each in self._interceptors:
            size += each.adds * (records - every(each.fails, sequence, records))
        return size


class DrawnSizes:
    """Sizes from a stream of the session for each partition."""

    __slots__ = ("_client", "_seed", "_sizes")

    def __init__(self, sizes: Sizes, client: str, seed: int) -> None:
        """``seed`` is the session's."""
        self._sizes = sizes
        self._client = client
        self._seed = seed

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of those records."""
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
    """Bytes of the first 0, 1, 2 ... records of a block."""
    return tuple(accumulate((drawn(sizes, draw) for draw in draws(seed, name, number)), initial=0))


def drawn(sizes: Sizes, draw: int) -> int:
    """The size that a draw, uniform over 64 bits, stands for."""
    if isinstance(sizes, UniformSizes):
        return sizes.low + (draw * (sizes.high - sizes.low + 1) >> 64)
    if isinstance(sizes, TwoSizes):
        return sizes.large if draw * MILLION >> 64 < sizes.large_ppm else sizes.small
    table = _spread(sizes)
    return table[draw * len(table) >> 64]


@lru_cache(maxsize=64)
def _spread(sizes: SpreadSizes) -> tuple[int, ...]:
    """256 sizes that are equally likely, in ascending order."""
    width = log2(sizes.p99) - log2(sizes.median)
    places = (*(-place for place in reversed(_NORMAL)), *_NORMAL)
    found = (sizes.median * exp2(width * place // _P99) // ONE for place in places)
    return tuple(max(SMALLEST, min(LARGEST, size)) for size in found)


def sizes_of(spec: ProducerSpec, seed: int) -> RecordSizes:
    """The sizes of a producer's records in a session of that seed."""
    made: RecordSizes = OneSize(spec.record_bytes)
    if spec.sizes is not None:
        made = DrawnSizes(spec.sizes, spec.name, seed)
    return InterceptedSizes(made, spec.interceptors) if spec.interceptors else made
