"""Clock of frames, frame rate, slices of work, and speed steps."""

import os
import time
from typing import Final, Protocol


class FrameClock(Protocol):
    """Source of real time for the TUI."""

    automatic: bool
    """Whether frames run automatically; else tests request each one."""

    def now(self) -> float:
        """Return monotonic seconds from an arbitrary start."""
        ...


class MonotonicClock:
    """Clock of the machine, monotonic."""

    automatic = True

    def now(self) -> float:
        """Return the monotonic seconds of the machine."""
        return time.monotonic()


class StepClock:
    """Manual clock for tests, so that every frame is deterministic."""

    automatic = False

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Return the seconds ticked so far."""
        return self._now

    def tick(self, seconds: float) -> None:
        """Advance by ``seconds``."""
        self._now += seconds


# The frame rate.


FRAME_S: Final = 1 / 15
"""Seconds between frames; faster changes are unreadable."""
SSH_FRAME_S: Final = 1 / 8
"""Seconds between frames over ssh, to save traffic."""
AUTO: Final = "auto"


def frame_s(fps: str) -> float:
    """Return the seconds between frames by the setting, ``auto`` depends on whether it is an ssh session."""
    if fps != AUTO:
        return 1 / int(fps)
    return SSH_FRAME_S if os.environ.get("SSH_CONNECTION") else FRAME_S


# Slices of work between keys.


SLICE_S: Final = 0.008
"""Maximum seconds that the model runs before keys are handled."""
BATCH: Final = 32
"""Events between two reads of the clock."""


# Speed steps, here so that settings can be read without importing the model.


SPEEDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0)
"""Speed steps in virtual seconds per real second."""


def faster(value: float) -> float:
    """Return the next higher step, or the last one."""
    return next((step for step in SPEEDS if step > value * 1.0001), SPEEDS[-1])


def slower(value: float) -> float:
    """Return the next lower step, or the first one."""
    return next((step for step in reversed(SPEEDS) if step < value * 0.9999), SPEEDS[0])
