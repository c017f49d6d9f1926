"""A node's narrow window on the world: the time, its links, its timers. Nothing else of the kernel is its business."""

from typing import Any

from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.processes import Network


class Port:
    """What a node may do."""

    __slots__ = ("_network", "node_id")

    def __init__(self, network: Network, node_id: int) -> None:
        self._network = network
        self.node_id = node_id

    @property
    def now(self) -> int:
        """Virtual microseconds."""
        return self._network.kernel.now

    @property
    def incarnation(self) -> int:
        """Which life of the process this is, from 0."""
        return self._network.processes[self.node_id].incarnation

    def send(self, target: int, message: tuple[Any, ...]) -> None:
        """Send a message to a node."""
        self._network.send(self.node_id, target, message)

    def timer(self, delay: int, *timer: Any) -> None:
        """Have ``on_timer(timer)`` called after ``delay``; it dies with the process."""
        self._network.timer(self.node_id, delay, timer)

    def exit(self, reason: str) -> None:
        """End this process: it handles nothing more from here on, and ``reason`` is what is told of its end."""
        self._network.exit(self.node_id, reason)


class Alarm:
    """One timer that stands for many deadlines: armed for the earliest, moved only when an earlier one comes.

    A request that is answered in time leaves nothing behind in the event queue, where a timer of its own would wait
    out its timeout.
    """

    __slots__ = ("_armed", "_name", "_port")

    def __init__(self, port: Port, *name: Any) -> None:
        """``name`` is what ``on_timer`` gets."""
        self._port = port
        self._name: Payload = name
        self._armed = -1

    @property
    def armed(self) -> bool:
        """Whether it will ring at all."""
        return self._armed >= 0

    def want(self, at: int) -> None:
        """Ring at ``at`` or earlier; who is rung looks for what is due, and asks again for the rest."""
        if self._armed < 0 or at < self._armed:
            self._armed = at
            self._port.timer(max(0, at - self._port.now), *self._name)

    def rang(self) -> bool:
        """To be called when the timer fires; False for one that an earlier deadline has overtaken."""
        if self._armed < 0 or self._port.now < self._armed:
            return False
        self._armed = -1
        return True

    def forget(self) -> None:
        """The process died, and its timers with it."""
        self._armed = -1

    def save(self) -> int:
        """When it will ring, -1 never."""
        return self._armed

    def load(self, saved: int) -> None:
        """Undo of :meth:`save`; the timer itself is in the kernel's queue."""
        self._armed = saved
