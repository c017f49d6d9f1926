"""Real seconds for frames: the wall for people, a hand-turned clock for tests and pictures."""

import time
from typing import Protocol


class FrameClock(Protocol):
    """Where the screen gets real time from."""

    automatic: bool
    """Whether frames come by themselves; without, somebody asks for each."""

    def now(self) -> float:
        """Seconds from an arbitrary beginning, never going back."""
        ...


class WallClock:
    """The machine's monotonic clock."""

    automatic = True

    def now(self) -> float:
        """Seconds since some point before the start."""
        return time.monotonic()


class StepClock:
    """Stands still until told to tick, so that every frame of a test is the same every time."""

    automatic = False

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Seconds ticked so far."""
        return self._now

    def tick(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self._now += seconds
