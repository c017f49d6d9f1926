"""News that a process has, and takes up late: what a fault holds back of metadata, in order. Sans-IO.

Several faults may hold it: their delays add up, and while one of them holds it for good nothing passes.
"""

from collections import deque
from typing import Any, Final

NEVER: Final = -1


class Holdback:
    """What waits, and how long. It is of no account while no fault holds anything and nothing waits."""

    __slots__ = ("_delays", "_waiting")

    def __init__(self) -> None:
        self._delays: dict[int, int] = {}
        """Fault → µs, 0: until it is healed."""
        self._waiting: deque[tuple[int, Any]] = deque()
        """(when it came, what)."""

    @property
    def holds(self) -> bool:
        """Whether what comes now has to wait."""
        return bool(self._delays)

    @property
    def waits(self) -> bool:
        """Whether anything waits, perhaps only until the process gets to it: what comes now must not overtake it."""
        return bool(self._waiting)

    def hold(self, fault: int, delay_us: int) -> None:
        """Have what comes wait that long from its coming on, 0: until :meth:`release`."""
        self._delays[fault] = delay_us

    def release(self, fault: int) -> None:
        """Undo of :meth:`hold`; what is due by that is told by :meth:`due`."""
        self._delays.pop(fault, None)

    def put(self, what: Any, now: int) -> None:
        """Keep it until it is due."""
        self._waiting.append((now, what))

    def next_at(self) -> int:
        """When the oldest is due, -1 if nothing waits or nobody knows."""
        if not self._waiting or not all(self._delays.values()):
            return NEVER
        return self._waiting[0][0] + sum(self._delays.values())

    def due(self, now: int) -> Any:
        """The oldest, if it is due, which then waits no longer; None if nothing is."""
        at = self.next_at()
        return self._waiting.popleft()[1] if 0 <= at <= now else None

    def clear(self) -> None:
        """The process died, and all that waited in it; what holds its news stands."""
        self._waiting.clear()

    def save(self) -> tuple[Any, ...]:
        """All state; empty while there is none."""
        if not self._delays and not self._waiting:
            return ()
        return (tuple(self._delays.items()), tuple(self._waiting))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        delays, waiting = saved or ((), ())
        self._delays = dict(delays)
        self._waiting = deque(waiting)
