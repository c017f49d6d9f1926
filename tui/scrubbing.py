"""Dragging through time: however often the pointer moves, time is gone to once a frame at most."""

from collections.abc import Callable
from typing import Final

from tui.frameclock import FrameClock

SCRUB_S: Final = 1 / 30
"""Between two rewinds of a drag: a seek runs some thousand events again, a pointer moves more often than that."""


class Scrubbing:
    """Where a drag wants to be: the newest wish counts, those in between are never gone to."""

    def __init__(self, clock: FrameClock, go: Callable[[int], None]) -> None:
        """``go`` shows an instant."""
        self.rewinds = 0
        """How often an instant was gone to."""
        self._clock = clock
        self._go = go
        self._wanted_us = -1
        self._next_s = clock.now()

    def want(self, at_us: int) -> bool:
        """Wish to be at an instant: at once where the last rewind is a frame ago, else False and with a frame."""
        self._wanted_us = at_us
        return self.frame() is None

    def frame(self) -> float | None:
        """Go where the pointer was last, if that is due; seconds until it is, None where nothing is wanted."""
        if self._wanted_us < 0:
            return None
        now = self._clock.now()
        if now < self._next_s:
            return self._next_s - now
        at_us, self._wanted_us = self._wanted_us, -1
        self._next_s = now + SCRUB_S
        self.rewinds += 1
        self._go(at_us)
        return None
