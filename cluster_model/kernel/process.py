"""A process as the network sees it: its state, its incarnation, its CPU, and what waits while it is paused."""

from collections.abc import Collection
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import Kernel, Payload

# A slow CPU: everything that its processes handle takes time, one thing after the other.
#
# Messages and timers that reach a process on it are put in a queue. Each takes the CPU for its cost, and is handled
# at the end of that: what it sends leaves only then. Nothing is lost and nothing overtakes. Connections are the
# operating system's business and as fast as ever: messages are received, kept and repeated, resets and pauses strike
# at once. A pause stops the CPU in the middle of what it is at. Some timers are the model's own bookkeeping, and how
# many of them ring depends on what it leaves out: those take their turn, but no time.
#
# Only processes that are slow have one, so that it costs nothing to all others.


WORK: Final = 4
"""Kind of the kernel's event with which something has been handled."""

Entry = tuple[int, int, Payload, bool]
"""(kind, node, payload) of the kernel's event that waits, and whether it takes no time."""


class Cpu:
    """One CPU: of a process, or of both clients of one application. It goes by the first of its nodes."""

    __slots__ = ("_due_at", "_kernel", "_left_us", "_serial", "costs", "free", "nodes", "queue")

    def __init__(self, kernel: Kernel, nodes: tuple[int, ...], free: Collection[str] = ()) -> None:
        self._kernel = kernel
        self.nodes = nodes
        self.free = tuple(free)
        """Names of timers that take no time."""
        self.costs: tuple[tuple[int, int], ...] = ()
        """(fault, µs) that each thing takes; they add up."""
        self.queue: list[Entry] = []
        """What waits, oldest first; the first one is being handled."""
        self._due_at = -1
        """When the first one is done, -1 while the CPU rests or stands still."""
        self._left_us = -1
        """What is left of the first one's cost since a pause, -1: all of it."""
        self._serial = 0
        """Of the event that is waited for; all others are of the past."""

    def take(self, kind: int, node: int, payload: Payload, *, free: bool = False) -> None:
        """Something is to be handled, behind all that waits; ``free``: in no time when its turn comes."""
        self.queue.append((kind, node, payload, free))
        if len(self.queue) == 1:
            self.go_on()

    def go_on(self) -> None:
        """Work on what is first, unless it is being worked on."""
        if self._due_at >= 0 or not self.queue:
            return
        cost = 0 if self.queue[0][3] else sum([each for _fault, each in self.costs])
        self._due_at = self._kernel.now + (cost if self._left_us < 0 else self._left_us)
        self._left_us = -1
        self._serial += 1
        self._kernel.schedule(self._due_at, WORK, self.nodes[0], (self._serial,))

    def stand_still(self) -> None:
        """The process is paused."""
        if self._due_at >= 0:
            self._left_us = self._due_at - self._kernel.now
            self._due_at = -1
            self._serial += 1

    def done(self, serial: int) -> Entry | None:
        """An event of it is due: what has been worked on, None if the event is of the past."""
        if serial != self._serial or self._due_at < 0:
            return None
        self._due_at = -1
        return self.queue.pop(0)

    def forget(self, node: int) -> None:
        """A process has ended: what waited for it is gone."""
        if not any(target == node for _kind, target, *_rest in self.queue):
            return
        if self.queue[0][1] == node:
            self._due_at = self._left_us = -1
            self._serial += 1
        self.queue = [entry for entry in self.queue if entry[1] != node]
        self.go_on()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.nodes, self.free, self.costs, tuple(self.queue), self._due_at, self._left_us, self._serial)

    @classmethod
    def loaded(cls, kernel: Kernel, saved: tuple[Any, ...]) -> "Cpu":
        """Undo of :meth:`save`."""
        nodes, free, costs, queue, due_at, left_us, serial = saved
        cpu = cls(kernel, nodes, free)
        cpu.costs, cpu.queue = costs, list(queue)
        cpu._due_at, cpu._left_us, cpu._serial = due_at, left_us, serial
        return cpu


MESSAGE: Final = 0
TIMER: Final = 1
CONTROL: Final = 2
GIVE_UP: Final = 3
TROUBLE: Final = 5
HANDSHAKE: Final = 6
"""Kinds of kernel events; the one left out here is a slow CPU's."""


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


class Connected(NamedTuple):
    """The message that the connection that a node asked for is open (:meth:`Network.connect`)."""

    attempt: int
    """Number that :meth:`Network.connect` returned."""


class ConnectionRefused(NamedTuple):
    """The message that there will be no connection: the other process is down, or its system has not answered."""

    attempt: int
    """Number that :meth:`Network.connect` returned."""


HANDSHAKES: Final = (Connected, ConnectionRefused)
"""Messages about a connection that is not there yet."""


class Node(Protocol):
    """What the network delivers to."""

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer set through :meth:`NodeContext.timer`."""

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
