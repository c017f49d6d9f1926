"""What a playbook allows its storms: ranges that each run draws from, the faults that may come, what is no surprise."""

from dataclasses import dataclass
from typing import Final

SECOND: Final = 1_000_000

Span = tuple[int, int]
"""The least and the most, both of them allowed."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """What each run of a campaign draws its own options from. Times are virtual microseconds."""

    chaos_us: Span = (15 * SECOND, 25 * SECOND)
    """How long faults are injected, before everything heals."""
    fault_us: Span = (SECOND // 2, 12 * SECOND)
    """The longest that a fault of a run lasts."""
    healthy_us: Span = (SECOND // 4, 5 * SECOND)
    """The longest from one strike of a run to the next."""
    at_once: Span = (1, 3)
    """Faults that are active at once."""
    steered: Span = (30, 90)
    """Strikes in a hundred that wait for an interesting state."""
    faults: tuple[str, ...] = ()
    """Names of the faults and operations that may come; empty: all that storms know."""
    without: tuple[str, ...] = ()
    """... but these."""
    expected: tuple[str, ...] = ()
    """Keys of what is no surprise, such as ``finding:lost/unreplicated-tail``; ``*`` stands for anything."""
