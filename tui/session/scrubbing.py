"""Dragging through time: what is near is shown at once, the exact instant when the pointer rests or lets go.

However often the pointer moves, time is gone to once a frame at most, and never twice in a row to the same instant.
"""

from collections.abc import Callable
from typing import Final

from tui.terminal.frame_clock import FrameClock

SCRUB_S: Final = 1 / 30
"""Between two rewinds of a drag: a seek runs some thousand events again, a pointer moves more often than that."""
REST_S: Final = 0.12
"""How long the pointer rests before what is near gives way to what was meant."""


class Scrubbing:
    """Where a drag wants to be: the newest wish counts, those in between are never gone to."""

    def __init__(self, clock: FrameClock, near: Callable[[int], int], go: Callable[[int, bool], None]) -> None:
        """``near``: an instant that costs little, for one that is meant; ``go`` shows one, exact or not."""
        self.rewinds = 0
        """How often an instant was gone to."""
        self._clock = clock
        self._near = near
        self._go = go
        self._wanted_us = -1
        self._meant_us = -1
        """What was meant by the instant that is shown for now, -1 where it is exact."""
        self._shown_us = -1
        self._next_s = self._rested_s = clock.now()

    def want(self, at_us: int) -> bool:
        """Wish to be at an instant: True where it is shown and exact, else there is more to do with the next frames."""
        self._wanted_us = at_us
        self._rested_s = self._clock.now() + REST_S
        return self.frame() is None

    def frame(self) -> float | None:
        """Go where the pointer was last, if that is due; seconds until more is, None where nothing is wanted."""
        now = self._clock.now()
        if self._wanted_us >= 0:
            if now < self._next_s:
                return self._next_s - now
            at_us, self._wanted_us = self._wanted_us, -1
            self._next_s = now + SCRUB_S
            near_us = self._near(at_us)
            self._meant_us = -1 if near_us == at_us else at_us
            self._show(near_us, exact=near_us == at_us)
        if self._meant_us < 0:
            return None
        if now < self._rested_s:
            return self._rested_s - now
        self.settle()
        return None

    def forget(self) -> None:
        """Something else was gone to meanwhile: that is where one stays."""
        self._meant_us = self._shown_us = -1

    def settle(self) -> None:
        """Go to what was meant last: the pointer rests, or has let go."""
        at_us = self._wanted_us if self._wanted_us >= 0 else self._meant_us
        self._wanted_us = self._meant_us = -1
        if at_us >= 0:
            self._show(at_us, exact=True)
        self._shown_us = -1

    def _show(self, at_us: int, *, exact: bool) -> None:
        if at_us == self._shown_us and not exact:
            return
        self._shown_us = -1 if exact else at_us
        self.rewinds += 1
        self._go(at_us, exact)
