"""One process as the network sees it: its state, its incarnation, and what waits for it while it is paused."""

from enum import IntEnum
from typing import Any, Final, Protocol

from cluster_model.kernel.cpu import Cpu
from cluster_model.kernel.event_loop import Payload

MESSAGE: Final = 0
TIMER: Final = 1
CONTROL: Final = 2
GIVE_UP: Final = 3
TROUBLE: Final = 5
"""Kinds of kernel events; the one between is a slow CPU's."""


class ProcessState(IntEnum):
    """Whether a process handles events; ``OFF`` is down without its peers having been told."""

    RUNNING = 0
    PAUSED = 1
    DOWN = 2
    OFF = 3


RUNNING: Final = ProcessState.RUNNING


class Disconnected:
    """The message that tells a node of a broken connection."""

    __slots__ = ()

    def __reduce__(self) -> str:
        """There is only one, also after it was written down and read back."""
        return "DISCONNECTED"


DISCONNECTED: Final = Disconnected()


class Node(Protocol):
    """What the network delivers to."""

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer set through :meth:`Port.timer`."""

    def on_disconnect(self, peer: int) -> None:
        """A connection to ``peer`` broke: answers to outstanding requests will not come."""


class Process:
    """A node's life: state, and an incarnation that a restart raises."""

    __slots__ = (
        "cpu", "held", "id", "incarnation", "name", "near", "node", "on_disconnect", "on_timer", "receive", "state",
        "wakeful",
    )  # fmt: skip

    def __init__(self, node_id: int, name: str, node: Node) -> None:
        self.id = node_id
        self.name = name
        self.node = node
        self.cpu: Cpu | None = None
        """On which it runs if that is slow; None: what it handles takes no time."""
        self.receive = node.receive
        self.on_timer = node.on_timer
        self.on_disconnect = node.on_disconnect
        self.state = RUNNING
        self.incarnation = 0
        self.held: list[tuple[int, Payload]] = []
        self.near = False
        """Whether its links have no latency but what faults add: it stands for what has a real network before it."""
        self.wakeful = False
        """Whether no exchange may leave out what it would answer: it may not get to it at once."""

    def run(self, node: Node) -> None:
        """Another program is to run in its next life."""
        self.node = node
        self.run_on(self.cpu)

    def run_on(self, cpu: Cpu | None) -> None:
        """Have everything handled on this CPU from now on, or in no time."""
        self.cpu = cpu
        if cpu is None:
            node = self.node
            self.receive, self.on_timer, self.on_disconnect = node.receive, node.on_timer, node.on_disconnect
        else:
            self.receive, self.on_timer = self._queue_message, self._queue_timer
            self.on_disconnect = self._queue_disconnect

    # What waits for the CPU has arrived: whom it is from does not matter any more if this process dies.

    def _queue_message(self, source: int, message: Any) -> None:
        if self.cpu is not None:
            self.cpu.take(MESSAGE, self.id, (source, -1, self.incarnation, message))

    def _queue_timer(self, timer: Payload) -> None:
        if self.cpu is not None:
            self.cpu.take(TIMER, self.id, (self.incarnation, timer), free=timer[0] in self.cpu.free)

    def _queue_disconnect(self, peer: int) -> None:
        self._queue_message(peer, DISCONNECTED)

    def handle(self, kind: int, payload: Payload) -> None:
        """The CPU is done with something: now it happens, unless the process has been stopped at this very time."""
        if self.state is not RUNNING:
            self.held.append((kind, payload))
        elif kind == TIMER:
            self.node.on_timer(payload[1])
        elif payload[3] is DISCONNECTED:
            self.node.on_disconnect(payload[0])
        else:
            self.node.receive(payload[0], payload[3])
