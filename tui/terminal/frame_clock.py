"""Real seconds for frames, the frame rate, slices of work, and the steps of speed."""

import os
import time
from typing import Final, Protocol


class FrameClock(Protocol):
    """Where the screen gets real time from."""

    automatic: bool
    """Whether frames come by themselves; without, somebody asks for each."""

    def now(self) -> float:
        """Seconds from an arbitrary beginning, never going back."""
        ...


class MonotonicClock:
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


# The frame rate.


FRAME_S: Final = 1 / 15
"""Between frames: numbers that change faster cannot be read."""
SSH_FRAME_S: Final = 1 / 8
"""Over ssh, where every frame is traffic."""
AUTO: Final = "auto"


def frame_s(fps: str) -> float:
    """Seconds between frames as the settings want them, or as is fit for where the terminal is."""
    if fps != AUTO:
        return 1 / int(fps)
    return SSH_FRAME_S if os.environ.get("SSH_CONNECTION") else FRAME_S


# Slices of work between keys.


SLICE_S: Final = 0.008
"""The longest that the model runs before a key may come."""
BATCH: Final = 32
"""Events between two looks at the clock."""


# The steps of the speed governor. They need nothing of the model, so the settings are read before it is.


SPEEDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0)
"""The steps of the speed governor: virtual seconds per real second."""


def faster(value: float) -> float:
    """The next step up, or the last one."""
    return next((step for step in SPEEDS if step > value * 1.0001), SPEEDS[-1])


def slower(value: float) -> float:
    """The next step down, or the first one."""
    return next((step for step in reversed(SPEEDS) if step < value * 0.9999), SPEEDS[0])
