"""A process as the network knows it: state, incarnation, CPU, and what waits while it is paused."""

from collections.abc import Collection
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import EventLoop, Payload

# A slow CPU: everything that its processes handle takes time, one thing after the other.
#
# Messages and timers that reach a process on it are queued. Each takes the CPU for its cost, and is handled at the end
# of that: the messages it sends leave only then. Nothing is lost or reordered. Connections belong to the operating
# system and stay fast: messages are received, kept and retransmitted, resets and pauses take effect at once. A pause
# stops the CPU in the middle of its work. Some timers are the model's own bookkeeping, and their number depends on what
# it skips: those take their turn, but no time.
#
# Only slow processes have one, so that it costs nothing for all others.


WORK: Final = 4
"""Kind of the kernel event at which a message or timer has been handled."""

Entry = tuple[int, int, Payload, bool]
"""(kind, node, payload) of the waiting kernel event, and whether it takes no time."""


class Cpu:
    """The CPU of a process, or of both clients of one application; named by the first of its nodes."""

    __slots__ = ("_due_at", "_kernel", "_left_us", "_serial", "costs", "free", "nodes", "queue")

    def __init__(self, kernel: EventLoop, nodes: tuple[int, ...], free: Collection[str] = ()) -> None:
        self._kernel = kernel
        self.nodes = nodes
        self.free = tuple(free)
        """Names of timers that take no time."""
        self.costs: tuple[tuple[int, int], ...] = ()
        """(fault, µs) that each message or timer takes; they add up."""
        self.queue: list[Entry] = []
        """Waiting events, oldest first; the first one is being handled."""
        self._due_at = -1
        """Time when the first one is done, -1 while the CPU is idle or paused."""
        self._left_us = -1
        """Remaining cost of the first one since a pause, -1: all of it."""
        self._serial = 0
        """Serial number of the expected event; all others are outdated."""

    def take(self, kind: int, node: int, payload: Payload, *, free: bool = False) -> None:
        """Queue an event; ``free``: it takes no time when its turn comes."""
        self.queue.append((kind, node, payload, free))
        if len(self.queue) == 1:
            self.continue_work()

    def continue_work(self) -> None:
        """Work on the first event, unless it is being worked on."""
        if self._due_at >= 0 or not self.queue:
            return
        cost = 0 if self.queue[0][3] else sum([each for _fault, each in self.costs])
        self._due_at = self._kernel.now + (cost if self._left_us < 0 else self._left_us)
        self._left_us = -1
        self._serial += 1
        self._kernel.schedule(self._due_at, WORK, self.nodes[0], (self._serial,))

    def pause(self) -> None:
        """Stop working, as the process is paused."""
        if self._due_at >= 0:
            self._left_us = self._due_at - self._kernel.now
            self._due_at = -1
            self._serial += 1

    def done(self, serial: int) -> Entry | None:
        """Return the event that is done, None if the kernel event is outdated."""
        if serial != self._serial or self._due_at < 0:
            return None
        self._due_at = -1
        return self.queue.pop(0)

    def forget(self, node: int) -> None:
        """Drop the waiting events of a process that has ended."""
        if not any(target == node for _kind, target, *_rest in self.queue):
            return
        if self.queue[0][1] == node:
            self._due_at = self._left_us = -1
            self._serial += 1
        self.queue = [entry for entry in self.queue if entry[1] != node]
        self.continue_work()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.nodes, self.free, self.costs, tuple(self.queue), self._due_at, self._left_us, self._serial)

    @classmethod
    def from_saved(cls, kernel: EventLoop, saved: tuple[Any, ...]) -> "Cpu":
        """Return a CPU with the state returned by :meth:`save`."""
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
RETRANSMIT: Final = 7
"""Kinds of kernel events; the missing number is a slow CPU's."""


class ProcessState(IntEnum):
    """State of a process; ``OFF`` is down without notification of its peers."""

    RUNNING = 0
    PAUSED = 1
    DOWN = 2
    OFF = 3


RUNNING: Final = ProcessState.RUNNING


class Disconnected:
    """Notification of a node of a broken connection."""

    __slots__ = ()

    def __reduce__(self) -> str:
        """Unpickle to the single instance."""
        return "DISCONNECTED"


DISCONNECTED: Final = Disconnected()


class Connected(NamedTuple):
    """Notification that a requested connection is open (:meth:`Network.connect`)."""

    attempt: int
    """Number that :meth:`Network.connect` returned."""


class ConnectionRefused(NamedTuple):
    """Notification that a requested connection failed: the other process is down, or there was no response."""

    attempt: int
    """Number that :meth:`Network.connect` returned."""


HANDSHAKES: Final = (Connected, ConnectionRefused)
"""Messages about requested connections."""


class Node(Protocol):
    """Receiver of the network's messages and timers."""

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer set through :meth:`NodeContext.timer`."""

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection to ``peer``: responses to pending requests will not come."""


class Process:
    """A process of the network: its node, state, and an incarnation that increases with each restart."""

    __slots__ = (
        "cpu", "held", "id", "incarnation", "name", "near", "node", "on_disconnect", "on_timer", "receive", "state",
        "wakeful",
    )  # fmt: skip

    def __init__(self, node_id: int, name: str, node: Node) -> None:
        self.id = node_id
        self.name = name
        self.node = node
        self.cpu: Cpu | None = None
        """CPU on which it runs if that is slow; None: handling takes no time."""
        self.receive = node.receive
        self.on_timer = node.on_timer
        self.on_disconnect = node.on_disconnect
        self.state = RUNNING
        self.incarnation = 0
        self.held: list[tuple[int, Payload]] = []
        self.near = False
        """Whether its links have no latency of their own, because a real network is in front of it."""
        self.wakeful = False
        """Whether no exchange may skip its responses, because it may not respond at once."""

    def run(self, node: Node) -> None:
        """Set the node of the next incarnation."""
        self.node = node
        self.run_on(self.cpu)

    def run_on(self, cpu: Cpu | None) -> None:
        """Have everything handled on this CPU from now on, None for in no time."""
        self.cpu = cpu
        if cpu is None:
            node = self.node
            self.receive, self.on_timer, self.on_disconnect = node.receive, node.on_timer, node.on_disconnect
        else:
            self.receive, self.on_timer = self._queue_message, self._queue_timer
            self.on_disconnect = self._queue_disconnect

    # A message that waits for the CPU has arrived: the sender's incarnation does not matter any more.

    def _queue_message(self, source: int, message: Any) -> None:
        if self.cpu is not None:
            self.cpu.take(MESSAGE, self.id, (source, -1, self.incarnation, message))

    def _queue_timer(self, timer: Payload) -> None:
        if self.cpu is not None:
            self.cpu.take(TIMER, self.id, (self.incarnation, timer), free=timer[0] in self.cpu.free)

    def _queue_disconnect(self, peer: int) -> None:
        self._queue_message(peer, DISCONNECTED)

    def handle(self, kind: int, payload: Payload) -> None:
        """Handle an event that the CPU has finished, unless the process has been stopped at this time."""
        if self.state is not RUNNING:
            self.held.append((kind, payload))
        elif kind == TIMER:
            self.node.on_timer(payload[1])
        elif payload[3] is DISCONNECTED:
            self.node.on_disconnect(payload[0])
        else:
            self.node.receive(payload[0], payload[3])
