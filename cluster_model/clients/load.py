"""How many records a rate has made by a time, and when it makes the next one: whole numbers, so that nothing drifts.

A rate curve is a pure function of virtual time. What it makes in ``[a, b)`` and in ``[b, c)`` adds up to what it makes
in ``[a, c)``, however time is cut, and a record is made in the first microsecond by which the curve has it whole.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from math import isqrt
from typing import Final

from cluster_model.spec.load_spec import RECORD, RateProfile, Stretch

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
