"""Wall clocks: what each machine's clock shows, beside the virtual time that everything happens in.

They agree until a fault sets one. Timers and whatever a process reckons by a monotonic clock
(``Time.hiResClockMs``, ``nanoseconds``) do not notice. What it reckons by ``Time.milliseconds`` does: timestamps, and
ages since a moment that it noted. A step of the clock makes all that was noted before it so much older, or younger;
who keeps such notes in virtual time moves them by the step (:class:`Clocked`), and then goes on as ever.
"""

from typing import Any, Final, Protocol, runtime_checkable

from cluster_model.kernel.process import Process, ProcessState

_NOBODY: Final[tuple[tuple[int, int], ...]] = ()


@runtime_checkable
class Clocked(Protocol):
    """A node that goes by its machine's clock."""

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Its clock was set by so many µs, ahead if positive; 0: another one was, for the first time.

        ``runs``: its process is there, perhaps paused.
        """


class WallClock:
    """One machine's."""

    __slots__ = ("ahead_us", "differ", "skews")

    def __init__(self) -> None:
        self.ahead_us = 0
        """How far it is ahead of virtual time; negative behind it."""
        self.skews = _NOBODY
        """(fault, µs ahead) of every fault that sets it; they add up."""
        self.differ = False
        """Whether any clock has ever been set: timestamps of others may be from the future."""


class Clocks:
    """Everybody's."""

    __slots__ = ("_clocks", "_processes", "differ")

    def __init__(self, processes: dict[int, Process]) -> None:
        self._processes = processes
        self._clocks: dict[int, WallClock] = {}
        self.differ = False

    def of(self, node: int) -> WallClock:
        """A node's; the same object for good."""
        return self._clocks.setdefault(node, WallClock())

    def skew(self, node: int, fault: int, ahead_us: int) -> None:
        """Let a fault set a node's clock that far ahead, or behind; 0: no longer."""
        clock = self.of(node)
        others = tuple([each for each in clock.skews if each[0] != fault])
        clock.skews = (*others, (fault, ahead_us)) if ahead_us else others
        by = sum(ahead for _fault, ahead in clock.skews) - clock.ahead_us
        clock.ahead_us += by
        if by and not self.differ:
            self._tell_difference()
        if by:
            _tell(self._processes[node], by)

    def _tell_difference(self) -> None:
        self.differ = True
        for node, process in self._processes.items():
            self.of(node).differ = True
            _tell(process, 0)

    def save(self) -> tuple[Any, ...]:
        """All state; empty while no clock was ever set."""
        return tuple([(node, each.skews) for node, each in self._clocks.items()]) if self.differ else ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.differ = bool(saved)
        skews = dict(saved)
        for node, clock in self._clocks.items():
            clock.skews = skews.get(node, _NOBODY)
            clock.ahead_us = sum(ahead for _fault, ahead in clock.skews)
            clock.differ = self.differ


def _tell(process: Process, by: int) -> None:
    if isinstance(process.node, Clocked):
        process.node.clock_stepped(by, runs=process.state in (ProcessState.RUNNING, ProcessState.PAUSED))
