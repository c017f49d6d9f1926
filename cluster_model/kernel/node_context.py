"""A node's narrow window on the world: the time, its links, its timers. Nothing else of the kernel is its business."""

from typing import Any

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.long_poll import Exchange, lane
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import MESSAGE, TIMER


class NodeContext:
    """What a node may do."""

    __slots__ = ("_links", "_network", "_processes", "clock", "node_id", "wall")

    def __init__(self, network: Network, node_id: int) -> None:
        self.node_id = node_id
        self._network = network
        self.clock = network.kernel
        """Its ``now`` is what :attr:`now` tells, without a call; nothing else of it is for a node."""
        self.wall = network.clocks.of(node_id)
        """The machine's clock, which a fault may have set."""
        self._processes = network.processes
        self._links = network.outgoing(node_id)

    @property
    def network(self) -> Network:
        """What it is a port of, for one that is made from it."""
        return self._network

    @property
    def now(self) -> int:
        """Virtual microseconds."""
        return self.clock.now

    @property
    def wall_now(self) -> int:
        """What the machine's clock shows, in µs since the session began: ``Time.milliseconds``."""
        return self.clock.now + self.wall.ahead_us

    @property
    def incarnation(self) -> int:
        """Which life of the process this is, from 0."""
        return self._processes[self.node_id].incarnation

    @property
    def first_number(self) -> int:
        """Requests of this life are numbered behind it: answers to those of an earlier life are none of its own."""
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
        """Give the connection up and have another: what was sent on it still arrives, perhaps behind what is next."""
        self._network.link(self.node_id, target).wire.arrives = 0

    def connect(self, target: int) -> int:
        """Ask for a connection; :class:`Connected` or :class:`ConnectionRefused` comes with the returned number."""
        return self._network.connect(self.node_id, target)

    def stop_connecting(self, attempt: int) -> None:
        """Wait no longer for a connection that was asked for."""
        self._network.stop_connecting(attempt)

    def abandon(self, target: int, exchange: Exchange | None = None) -> None:
        """Close a connection, the shared one or an exchange's, because an answer was not there in time.

        What was sent on it may still arrive. It matters only while something other than latency troubles its link.
        """
        network = self._network
        if network.troubles.any:
            there, back = network.link(self.node_id, target), network.link(target, self.node_id)
            asks, answers = (there.wire, back.wire) if exchange is None else exchange.wires
            network.troubles.abandon(there, back, asks, answers)

    def timer(self, delay: int, *timer: Any) -> None:
        """Have ``on_timer(timer)`` called after ``delay``; it dies with the process."""
        node_id = self.node_id
        self.clock.after(delay, TIMER, node_id, (self._processes[node_id].incarnation, timer))

    def late_timer(self, at: int, index: int, *timer: Any) -> None:
        """Have ``on_timer(timer)`` called at a time, behind everything ordinary of that time.

        When it was set thus makes no difference, as it must not for one that is left out while nothing happens.
        """
        now = self.clock.now
        if at <= now:
            self.timer(0, *timer)
            return
        node_id = self.node_id
        payload = (self._processes[node_id].incarnation, timer)
        self.clock.schedule_in_lane(at, lane(node_id, node_id, index), TIMER, node_id, payload)

    def asking(self, answerer: int, index: int) -> Exchange:
        """The node's own connection of that number to another, for one standing question."""
        return self._network.exchange(self.node_id, answerer, index)

    def asked(self, asker: int, index: int) -> Exchange:
        """Another node's connection of that number to this one."""
        return self._network.exchange(asker, self.node_id, index)

    def stay_awake(self, *, wakeful: bool) -> None:
        """Whether every question asked of this process is to come as a message, even one that changes nothing.

        Exchanges that sleep already must have been woken.
        """
        self._processes[self.node_id].wakeful = wakeful

    def exit(self, reason: str) -> None:
        """End this process: it handles nothing more from here on, and ``reason`` is what is told of its end."""
        self._network.exit(self.node_id, reason)


class Alarm:
    """One timer that stands for many deadlines: armed for the earliest, moved only when an earlier one comes.

    A request that is answered in time leaves nothing behind in the event queue, where a timer of its own would wait
    out its timeout.
    """

    __slots__ = ("_name", "_port", "at")

    def __init__(self, port: NodeContext, *name: Any) -> None:
        """``name`` is what ``on_timer`` gets."""
        self._port = port
        self._name: Payload = name
        self.at = -1
        """When it will ring, -1 never."""

    def want(self, at: int) -> None:
        """Ring at ``at`` or earlier; who is rung looks for what is due, and asks again for the rest."""
        if self.at < 0 or at < self.at:
            self.at = at
            self._port.timer(max(0, at - self._port.now), *self._name)

    def rang(self) -> bool:
        """To be called when the timer fires; False for one that an earlier deadline has overtaken."""
        if self.at < 0 or self._port.now < self.at:
            return False
        self.at = -1
        return True

    def forget(self) -> None:
        """The process died, and its timers with it."""
        self.at = -1

    def save(self) -> int:
        """When it will ring, -1 never."""
        return self.at

    def load(self, saved: int) -> None:
        """Undo of :meth:`save`; the timer itself is in the kernel's queue."""
        self.at = saved


class LateAlarm(Alarm):
    """An alarm that rings behind everything ordinary of its time (:meth:`NodeContext.late_timer`)."""

    __slots__ = ("_index",)

    def __init__(self, port: NodeContext, index: int, *name: Any) -> None:
        """``index`` tells a node's late alarms apart."""
        super().__init__(port, *name)
        self._index = index

    def want(self, at: int) -> None:
        """Ring at ``at`` or earlier, as ever."""
        if self.at < 0 or at < self.at:
            self.at = at
            self._port.late_timer(at, self._index, *self._name)
