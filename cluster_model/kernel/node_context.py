"""A node's interface to the kernel: time, links and timers, and nothing else."""

from typing import Any

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.long_poll import LongPoll, lane
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import MESSAGE, TIMER


class NodeContext:
    """Access of one node to the clock, the network and its timers."""

    __slots__ = ("_links", "_network", "_processes", "clock", "node_id", "wall")

    def __init__(self, network: Network, node_id: int) -> None:
        self.node_id = node_id
        self._network = network
        self.clock = network.kernel
        """The kernel; a node reads only its ``now``, which is faster than :attr:`now`."""
        self.wall = network.clocks.of(node_id)
        """The machine's clock, which a fault may have set."""
        self._processes = network.processes
        self._links = network.outgoing(node_id)

    @property
    def network(self) -> Network:
        """The network, for contexts derived from this one."""
        return self._network

    @property
    def now(self) -> int:
        """Virtual time in microseconds."""
        return self.clock.now

    @property
    def wall_now(self) -> int:
        """Time of the machine's clock in µs since the start of the session (``Time.milliseconds``)."""
        return self.clock.now + self.wall.ahead_us

    @property
    def incarnation(self) -> int:
        """Incarnation of the process, from 0."""
        return self._processes[self.node_id].incarnation

    @property
    def first_number(self) -> int:
        """First number of this incarnation's requests, so that responses to earlier incarnations do not match."""
        process = self._processes.get(self.node_id)
        return 0 if process is None else process.incarnation << 32

    def send(self, target: int, message: tuple[Any, ...]) -> None:
        """Send a message to a node."""
        link = self._links.get(target)
        if link is None:
            link = self._network.link(self.node_id, target)
        kernel = self.clock
        payload = (self.node_id, link.source.incarnation, link.target.incarnation, message)
        if link.ready or link.use():
            kernel.schedule(link.wire.arrival(kernel.now), MESSAGE, target, payload)
        else:
            link.hold(kernel, link.wire, 0, payload)

    def reconnect(self, target: int) -> None:
        """Open a new connection: messages on the old one still arrive, perhaps after later ones."""
        self._network.link(self.node_id, target).wire.arrives = 0

    def connections_from(self, source: int) -> int:
        """Return how many connections with a node were opened, apart from those at the start of the session."""
        return self._network.link(source, self.node_id).opened

    def connect(self, target: int) -> int:
        """Request a connection; :class:`Connected` or :class:`ConnectionRefused` comes with the returned number."""
        return self._network.connect(self.node_id, target)

    def stop_connecting(self, attempt: int) -> None:
        """Ignore the result of a connection request."""
        self._network.stop_connecting(attempt)

    def abandon(self, target: int, exchange: LongPoll | None = None) -> None:
        """Close a connection, the shared one or an exchange's, because a response timed out.

        Messages sent on it may still arrive. This matters only while faults other than latency affect its link.
        """
        network = self._network
        if network.link_faults.any:
            forward, reverse = network.link(self.node_id, target), network.link(target, self.node_id)
            asks, answers = (forward.wire, reverse.wire) if exchange is None else exchange.wires
            network.link_faults.abandon(forward, reverse, asks, answers)

    def timer(self, delay: int, *timer: Any) -> None:
        """Schedule a call of ``on_timer(timer)`` after ``delay``; it dies with the process."""
        node_id = self.node_id
        self.clock.after(delay, TIMER, node_id, (self._processes[node_id].incarnation, timer))

    def late_timer(self, at: int, index: int, *timer: Any) -> None:
        """Schedule a call of ``on_timer(timer)`` at a time, after all ordinary events of that time.

        The order does not depend on when it was set, as a timer may be skipped while nothing happens.
        """
        now = self.clock.now
        if at <= now:
            self.timer(0, *timer)
            return
        node_id = self.node_id
        payload = (self._processes[node_id].incarnation, timer)
        self.clock.schedule_in_lane(at, lane(node_id, node_id, index), TIMER, node_id, payload)

    def outgoing_exchange(self, answerer: int, index: int) -> LongPoll:
        """Return the node's exchange of that number with another node, for one long poll."""
        return self._network.exchange(self.node_id, answerer, index)

    def incoming_exchange(self, asker: int, index: int) -> LongPoll:
        """Return another node's exchange of that number with this node."""
        return self._network.exchange(asker, self.node_id, index)

    def stay_awake(self, *, wakeful: bool) -> None:
        """Set whether every request to this process must be a message, even one that changes nothing.

        Sleeping exchanges must have been woken before.
        """
        self._processes[self.node_id].wakeful = wakeful

    def exit(self, reason: str) -> None:
        """End this process: it handles nothing more from here on; ``reason`` is recorded."""
        self._network.exit(self.node_id, reason)


class DeadlineTimer:
    """One timer for many deadlines: armed for the earliest, moved only when an earlier one comes.

    A request that gets its response in time leaves nothing in the event queue, where a timer of its own would wait out
    its timeout.
    """

    __slots__ = ("_name", "_port", "at")

    def __init__(self, port: NodeContext, *name: Any) -> None:
        """Create an unarmed timer; ``name`` is the argument of ``on_timer``."""
        self._port = port
        self._name: Payload = name
        self.at = -1
        """Time when it will fire, -1 never."""

    def arm(self, at: int) -> None:
        """Fire at ``at`` or earlier; the callee checks what is due, and calls this again for the rest."""
        if self.at < 0 or at < self.at:
            self.at = at
            self._port.timer(max(0, at - self._port.now), *self._name)

    def take_expired(self) -> bool:
        """Handle the timer; False for one that an earlier deadline has replaced."""
        if self.at < 0 or self._port.now < self.at:
            return False
        self.at = -1
        return True

    def forget(self) -> None:
        """Disarm the timer of a process that died."""
        self.at = -1

    def save(self) -> int:
        """Return the time when it will fire, -1 never."""
        return self.at

    def load(self, saved: int) -> None:
        """Restore the state returned by :meth:`save`; the timer itself is in the kernel's queue."""
        self.at = saved


class LateDeadlineTimer(DeadlineTimer):
    """An alarm that rings after all ordinary events of its time (:meth:`NodeContext.late_timer`)."""

    __slots__ = ("_index",)

    def __init__(self, port: NodeContext, index: int, *name: Any) -> None:
        """Create an unarmed timer; ``index`` distinguishes a node's late alarms."""
        super().__init__(port, *name)
        self._index = index

    def arm(self, at: int) -> None:
        """Ring at ``at`` or earlier, as :meth:`DeadlineTimer.arm`."""
        if self.at < 0 or at < self.at:
            self.at = at
            self._port.late_timer(at, self._index, *self._name)
