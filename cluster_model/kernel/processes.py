"""Processes that run, pause and crash; links that deliver in order with latency; both on the kernel.

What a fault does to a process, in terms of the operating system:

- *paused* (stop-the-world collection, SIGSTOP): sockets stay open and the kernel keeps receiving, so messages and due
  timers wait. On resume they are handled in the order in which they became due or arrived.
- *crashed* (SIGKILL): the operating system closes the sockets, so every peer learns at once that the connection is
  gone; timers and whatever was queued die with the process.
- *powered off*: nobody is told. Messages vanish, and peers find out by their own timeouts.

A connection is a pair of incarnations: what was sent to a process that has since restarted is answered by a reset.
Each link direction is first-in first-out, as TCP is.
"""

from enum import IntEnum
from typing import Any, Final, Protocol

from cluster_model.kernel.kernel import Handler, Kernel, Payload
from cluster_model.kernel.streams import Stream, Streams

MESSAGE: Final = 0
TIMER: Final = 1
CONTROL: Final = 2


class ProcessState(IntEnum):
    """Whether a process handles events; ``OFF`` is down without its peers having been told."""

    RUNNING = 0
    PAUSED = 1
    DOWN = 2
    OFF = 3


class Node(Protocol):
    """What the network delivers to."""

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer set through :meth:`Network.timer`."""

    def on_disconnect(self, peer: int) -> None:
        """A connection to ``peer`` broke: answers to outstanding requests will not come."""


class Disconnected:
    """The message that tells a node of a broken connection."""

    __slots__ = ()


DISCONNECTED: Final = Disconnected()


class Process:
    """A node's life: state, and an incarnation that a restart raises."""

    __slots__ = ("held", "id", "incarnation", "name", "node", "state")

    def __init__(self, node_id: int, name: str, node: Node) -> None:
        self.id = node_id
        self.name = name
        self.node = node
        self.state = ProcessState.RUNNING
        self.incarnation = 0
        self.held: list[tuple[int, Payload]] = []


class Link:
    """One direction between two processes."""

    __slots__ = ("_stream", "arrives", "jitter", "lag", "latency", "used")

    def __init__(self, latency: int, jitter: int, stream: Stream) -> None:
        self.latency = latency
        self.jitter = jitter
        self.lag: tuple[tuple[int, int, int], ...] = ()
        """Added by faults: (fault id, latency, jitter)."""
        self.arrives = 0
        """When the last message sent arrives: none overtakes it."""
        self.used = False
        """Whether a connection stands: a message has passed since the last reset."""
        self._stream = stream

    def arrival(self, now: int) -> int:
        """When a message sent now arrives."""
        delay = self.latency
        jitter = self.jitter
        if self.lag:
            for _fault, extra, extra_jitter in self.lag:
                delay += extra
                jitter += extra_jitter
        if jitter:
            delay += self._stream.below(jitter + 1)
        at = now + delay
        if at < self.arrives:
            at = self.arrives
        self.arrives = at
        return at


class Network:
    """All processes and the links between them."""

    __slots__ = ("_jitter", "_latency", "_links", "_streams", "kernel", "processes")

    def __init__(self, streams: Streams, latency: int, jitter: int, control: Handler) -> None:
        """``control`` handles CONTROL events: what comes from outside and happens at a set time."""
        self.kernel = Kernel((self._deliver, self._fire, control))
        self.processes: dict[int, Process] = {}
        self._streams = streams
        self._latency = latency
        self._jitter = jitter
        self._links: dict[tuple[int, int], Link] = {}

    def add(self, node_id: int, name: str, node: Node) -> None:
        """A new process, running."""
        self.processes[node_id] = Process(node_id, name, node)

    def link(self, source: int, target: int) -> Link:
        """The link from one process to another."""
        link = self._links.get((source, target))
        if link is None:
            names = f"link:{self.processes[source].name}>{self.processes[target].name}"
            link = self._links[source, target] = Link(self._latency, self._jitter, self._streams.named(names))
        return link

    def send(self, source: int, target: int, message: Any) -> None:
        """Put a message on the wire."""
        link = self._links.get((source, target))
        if link is None:
            link = self.link(source, target)
        link.used = True
        processes = self.processes
        payload = (source, processes[source].incarnation, processes[target].incarnation, message)
        kernel = self.kernel
        kernel.schedule(link.arrival(kernel.now), MESSAGE, target, payload)

    def timer(self, node: int, delay: int, timer: Payload) -> None:
        """Call the node's ``on_timer`` after ``delay``, unless it has died by then."""
        process = self.processes[node]
        self.kernel.schedule(self.kernel.now + delay, TIMER, node, (process.incarnation, timer))

    def _deliver(self, target: int, payload: Payload) -> None:
        process = self.processes[target]
        source, source_incarnation, target_incarnation, message = payload
        if process.state is ProcessState.RUNNING:
            if process.incarnation == target_incarnation:
                if message is DISCONNECTED:
                    process.node.on_disconnect(source)
                else:
                    process.node.receive(source, message)
            elif message is not DISCONNECTED:
                self._reset(target, source, source_incarnation)
        elif process.state is ProcessState.PAUSED:
            process.held.append((MESSAGE, payload))
        elif process.state is ProcessState.DOWN and message is not DISCONNECTED:
            self._reset(target, source, source_incarnation)

    def _reset(self, dead: int, peer: int, peer_incarnation: int) -> None:
        """``peer`` sent to a process that is not there: its operating system answers with a reset."""
        if self.processes[peer].incarnation == peer_incarnation:
            self._send_reset(dead, peer)

    def _send_reset(self, dead: int, peer: int) -> None:
        self.link(peer, dead).used = False
        payload = (dead, self.processes[dead].incarnation, self.processes[peer].incarnation, DISCONNECTED)
        self.kernel.schedule(self.link(dead, peer).arrival(self.kernel.now), MESSAGE, peer, payload)

    def _fire(self, target: int, payload: Payload) -> None:
        process = self.processes[target]
        if process.incarnation != payload[0]:
            return
        if process.state is ProcessState.RUNNING:
            process.node.on_timer(payload[1])
        elif process.state is ProcessState.PAUSED:
            process.held.append((TIMER, payload))

    def crash(self, node: int) -> None:
        """Kill a process; its peers' connections break after the time a packet takes."""
        self._stop(node, ProcessState.DOWN)
        for source, target in tuple(self._links):
            if target == node and self._links[source, target].used:
                self._send_reset(node, source)

    def exit(self, node: int, reason: str) -> None:
        """A process ends itself: it is held at once, and ``control`` gets (incarnation, reason) to take it away."""
        process = self.processes[node]
        process.state = ProcessState.PAUSED
        self.kernel.schedule(self.kernel.now, CONTROL, node, (process.incarnation, reason))

    def power_off(self, node: int) -> None:
        """Take the machine away: nobody is told."""
        self._stop(node, ProcessState.OFF)

    def _stop(self, node: int, state: ProcessState) -> None:
        process = self.processes[node]
        process.state = state
        process.incarnation += 1
        process.held.clear()
        for (source, _target), link in self._links.items():
            if source == node:
                link.used = False

    def restart(self, node: int) -> None:
        """A new incarnation runs; timers and messages of the old one are gone."""
        self.processes[node].state = ProcessState.RUNNING

    def pause(self, node: int) -> None:
        """Hold everything that comes for this process."""
        self.processes[node].state = ProcessState.PAUSED

    def resume(self, node: int) -> None:
        """Handle what was held, now, in the order in which it came."""
        process = self.processes[node]
        process.state = ProcessState.RUNNING
        held, process.held = process.held, []
        for kind, payload in held:
            self.kernel.schedule(self.kernel.now, kind, node, payload)

    def save(self) -> tuple[Any, ...]:
        """Kernel, processes and links; nodes save themselves."""
        processes = tuple((p.id, p.state, p.incarnation, tuple(p.held)) for p in self.processes.values())
        links = tuple((pair, link.lag, link.arrives, link.used) for pair, link in self._links.items())
        return (self.kernel.save(), processes, links)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; links first used since are as new."""
        kernel, processes, links = saved
        self.kernel.load(kernel)
        for node_id, state, incarnation, held in processes:
            process = self.processes[node_id]
            process.state, process.incarnation, process.held = state, incarnation, list(held)
        self._links.clear()
        for pair, lag, arrives, used in links:
            link = self.link(*pair)
            link.lag, link.arrives, link.used = lag, arrives, used
