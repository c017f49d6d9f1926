"""The steps of the speed governor. They need nothing of the model, so the settings are read before it is."""

from typing import Final

SPEEDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0)
"""The steps of the speed governor: virtual seconds per real second."""


def faster(value: float) -> float:
    """The next step up, or the last one."""
    return next((step for step in SPEEDS if step > value * 1.0001), SPEEDS[-1])


def slower(value: float) -> float:
    """The next step down, or the first one."""
    return next((step for step in reversed(SPEEDS) if step < value * 0.9999), SPEEDS[0])
