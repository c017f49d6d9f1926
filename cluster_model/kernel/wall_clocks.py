"""Wall clocks: the time that each machine's clock shows, beside the virtual time of the simulation.

They agree until a fault sets one. Timers and everything that uses a monotonic clock (``Time.hiResClockMs``,
``nanoseconds``) are not affected. Everything that uses ``Time.milliseconds`` is: timestamps, and ages since a recorded
time. A step of the clock makes all earlier records of time older, or younger; modules that keep such records in virtual
time shift them by the step (:class:`ClockedNode`).
"""

from typing import Any, Final, Protocol, runtime_checkable

from cluster_model.kernel.process import Process, ProcessState

_NO_SKEWS: Final[tuple[tuple[int, int], ...]] = ()


@runtime_checkable
class ClockedNode(Protocol):
    """A node that uses its machine's clock."""

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Handle a step of its clock in µs, ahead if positive; 0: another clock was set, for the first time.

        ``runs``: its process exists, perhaps paused.
        """


class WallClock:
    """Wall clock of one machine, relative to virtual time."""

    __slots__ = ("ahead_us", "differ", "skews")

    def __init__(self) -> None:
        self.ahead_us = 0
        """How far it is ahead of virtual time in microseconds; negative if it is behind."""
        self.skews = _NO_SKEWS
        """(fault, µs ahead) of every fault that sets it; they add up."""
        self.differ = False
        """Whether any clock has ever been set: timestamps of other machines may be in the future."""


class WallClocks:
    """Wall clocks of all machines, by node id."""

    __slots__ = ("_clocks", "_processes", "differ")

    def __init__(self, processes: dict[int, Process]) -> None:
        self._processes = processes
        self._clocks: dict[int, WallClock] = {}
        self.differ = False

    def of(self, node: int) -> WallClock:
        """Return a node's clock; always the same object."""
        return self._clocks.setdefault(node, WallClock())

    def skew(self, node: int, fault: int, ahead_us: int) -> None:
        """Set a node's clock ahead, or behind, by a fault; 0 removes it."""
        clock = self.of(node)
        other_skews = tuple([each for each in clock.skews if each[0] != fault])
        clock.skews = (*other_skews, (fault, ahead_us)) if ahead_us else other_skews
        by = sum(ahead for _fault, ahead in clock.skews) - clock.ahead_us
        clock.ahead_us += by
        if by and not self.differ:
            self._notify_difference()
        if by:
            _notify(self._processes[node], by)

    def _notify_difference(self) -> None:
        self.differ = True
        for node, process in self._processes.items():
            self.of(node).differ = True
            _notify(process, 0)

    def save(self) -> tuple[Any, ...]:
        """Return all state; empty while no clock was ever set."""
        return tuple([(node, each.skews) for node, each in self._clocks.items()]) if self.differ else ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.differ = bool(saved)
        skews = dict(saved)
        for node, clock in self._clocks.items():
            clock.skews = skews.get(node, _NO_SKEWS)
            clock.ahead_us = sum(ahead for _fault, ahead in clock.skews)
            clock.differ = self.differ


def _notify(process: Process, by: int) -> None:
    if isinstance(process.node, ClockedNode):
        process.node.clock_stepped(by, runs=process.state in (ProcessState.RUNNING, ProcessState.PAUSED))
