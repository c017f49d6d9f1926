"""The network: processes that run, pause and crash, links between them, and messages in flight.

Effects of faults on a process, in terms of the operating system:

- *paused* (stop-the-world collection, SIGSTOP): sockets stay open and the kernel keeps receiving, so messages and due
  timers wait. On resume they are handled in the order in which they became due or arrived.
- *crashed* (SIGKILL): the operating system closes the sockets, so every peer learns at once that the connection is
  gone; timers and queued messages die with the process.
- *powered off*: no peer is notified. Messages vanish, and peers find out by their own timeouts.

A connection is a pair of incarnations: a message to a process that has since restarted is answered by a reset. Each
connection's direction is first-in first-out, as TCP is.

A *cut* does what dropped packets do to TCP, one direction at a time. Connections stay open and silent. Messages in
flight arrive; later ones wait with the sender's system, which sends them again after 200 ms, 400 ms, 800 ms and so on.
They arrive in order with the first retransmission after the cut is healed, if its machine still has power then
(:func:`~cluster_model.kernel.link.next_retransmission`). If the oldest has waited for
:data:`~cluster_model.kernel.link.GIVEN_UP_US`, that connection breaks: everything sent on it vanishes, and the sender
is notified. Resets do not pass either, and are not repeated. The system still retransmits messages of a killed process;
with the machine they are gone. It is not modelled that the sender of the open direction of a half cut would miss TCP's
own acknowledgements.

Other effects of faults on links, one direction at a time, are in :mod:`cluster_model.kernel.link_faults`.

A process may request a connection before it sends anything (:meth:`Network.connect`): the system of the other machine
accepts while the process there exists, paused or not, and refuses while it is down. A machine without power, or behind
a cut, does not respond: the request is repeated, and fails after :data:`SYN_TIMEOUT_US`. Requests are numbered, so that
the response to an earlier one is not mistaken for that to a later one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from cluster_model.kernel.event_loop import EventLoop, Handler, Payload
from cluster_model.kernel.link import Link
from cluster_model.kernel.link_faults import LinkFaults
from cluster_model.kernel.long_poll import LongPoll
from cluster_model.kernel.process import (
    CONTROL,
    DISCONNECTED,
    HANDSHAKE,
    MESSAGE,
    RUNNING,
    TIMER,
    Connected,
    ConnectionRefused,
    Cpu,
    Node,
    Process,
    ProcessState,
)
from cluster_model.kernel.rng import RandomStreams
from cluster_model.kernel.wall_clocks import WallClocks

SYN_RETRY_US: Final = 1_000_000
"""First timeout of a connection request; each next one is twice as long (RFC 6298)."""
SYN_RETRIES: Final = 6
"""Number of repetitions of the request (Linux's ``tcp_syn_retries``)."""
SYN_TIMEOUT_US: Final = SYN_RETRY_US * ((1 << (SYN_RETRIES + 1)) - 1)
"""Time without a response, 127 s, after which a connection request fails."""

SYN: Final = "syn"
SYN_AGAIN: Final = "again"


class Network:
    """All processes and the links between them."""

    __slots__ = (
        "_attempts", "_cpus", "_exchanges", "_jitter", "_lasting", "_latency", "_links", "_naive", "_outgoing",
        "_serial", "_streams", "clocks", "kernel", "link_faults", "processes",
    )  # fmt: skip

    def __init__(
        self, streams: RandomStreams, latency: int, jitter: int, control: Handler, *, naive: bool = False
    ) -> None:
        """Start without processes; ``control`` handles CONTROL events, external actions at a set time.

        ``naive``: nothing is skipped, not even what changes nothing (:mod:`cluster_model.kernel.long_poll`).
        """
        handlers = (
            self._deliver, self._fire, control, self._give_up, self._work, self._trouble, self._handshake,
            self._retransmit,
        )  # fmt: skip
        self.kernel = EventLoop(handlers)
        self.processes: dict[int, Process] = {}
        self.clocks = WallClocks(self.processes)
        self._streams = streams
        self._naive = naive
        self._exchanges: dict[tuple[int, int, int], LongPoll] = {}
        self._latency = latency
        self._jitter = jitter
        self._links: dict[tuple[int, int], Link] = {}
        self._outgoing: dict[int, dict[int, Link]] = {}
        self._cpus: dict[int, Cpu] = {}
        """Slow CPUs, by their first node."""
        self.link_faults = LinkFaults(self, streams)
        """Effects of faults on links besides latency and cuts."""
        self._attempts: dict[int, tuple[int, int]] = {}
        """Number of a connection request without a response → (source, target)."""
        self._serial = 0
        """Number of the last connection request."""
        self._lasting: tuple[dict[int, None], dict[int, None]] = ({}, {})
        """Processes with connections since the start of the session, and the targets of those."""

    def add(self, node_id: int, name: str, node: Node) -> None:
        """Add a process, running."""
        self.processes[node_id] = Process(node_id, name, node)

    def link(self, source: int, target: int) -> Link:
        """Return the link from one process to another."""
        link = self._links.get((source, target))
        if link is None:
            processes = self.processes
            near = processes[source].near or processes[target].near
            spread = (0, 0) if near else (self._latency, self._jitter)
            link = Link(self._streams.seed, processes[source], processes[target], *spread)
            self._links[source, target] = self.outgoing(source)[target] = link
        return link

    def is_connected(self, source: int, target: int) -> bool:
        """Whether a used connection exists between the two."""
        link = self._links.get((source, target))
        return link is not None and link.used

    def open_connections(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        """Open connections from each source to each target at the start of the session, used or not."""
        self._lasting = (dict.fromkeys(sources), dict.fromkeys(targets))

    def _unused(self, target: int) -> list[int]:
        """Return the processes whose connection to this one is from the start of the session and was never used."""
        sources, targets = self._lasting
        processes, links = self.processes, self._links
        if target not in targets or processes[target].incarnation:
            return []
        return [
            source
            for source in sources
            if source != target
            and not processes[source].incarnation
            and not ((link := links.get((source, target))) is not None and link.used)
        ]

    def outgoing(self, source: int) -> dict[int, Link]:
        """Return the table of existing links from one process, by target; always the same object."""
        return self._outgoing.setdefault(source, {})

    def exchange(self, asker: int, answerer: int, index: int) -> LongPoll:
        """Return the requester's exchange of that number with the responder."""
        exchange = self._exchanges.get((asker, answerer, index))
        if exchange is None:
            links = (self.link(asker, answerer), self.link(answerer, asker))
            exchange = LongPoll(self.kernel, self.processes[asker], self.processes[answerer], index, *links)
            exchange.naive = self._naive
            self._exchanges[asker, answerer, index] = exchange
        return exchange

    def wake_exchanges(self, *nodes: int) -> None:
        """Wake every idle exchange of any of these processes, or of all, before something happens to them."""
        for (asker, answerer, _index), exchange in self._exchanges.items():
            if exchange.asleep and (not nodes or asker in nodes or answerer in nodes):
                exchange.wake()

    def slow_down(self, source: int, target: int, lag: tuple[tuple[int, int, int], ...]) -> None:
        """Set the latency that faults add to one link: (fault, latency, jitter) each."""
        self.wake_exchanges(source, target)
        self.link(source, target).slow_down(lag)

    def skew(self, node: int, fault: int, ahead_us: int) -> None:
        """Set a machine's clock ahead, or behind, by a fault; 0 removes it (:class:`WallClocks`)."""
        self.wake_exchanges(node)
        self.clocks.skew(node, fault, ahead_us)

    def cut(self, source: int, target: int, fault: int) -> None:
        """Drop all packets of one direction until the last fault that cuts it has ended."""
        self.wake_exchanges(source, target)
        link = self.link(source, target)
        link.cut(fault)
        for each in self.link_faults.take_queued(link):
            link.hold(self.kernel, link.wires[each.wire], each.order, each.payload)

    def heal_cut(self, source: int, target: int, fault: int) -> None:
        """Remove the cut that the fault made by :meth:`cut`."""
        self.link(source, target).heal(fault, self.kernel)

    def is_cut(self, source: int, target: int) -> bool:
        """Whether any fault cuts that direction."""
        link = self._links.get((source, target))
        return link is not None and bool(link.cuts)

    def disturbed_links(self) -> list[tuple[int, int]]:
        """Return the links that faults affect now."""
        return [pair for pair, link in self._links.items() if link.cuts or link.lag or link.fault_state is not None]

    def is_slowed(self, node: int) -> bool:
        """Whether a process runs on a slow CPU."""
        return any(node in cpu.nodes and cpu.costs for cpu in self._cpus.values())

    def _trouble(self, target: int, payload: Payload) -> None:
        self.link_faults.fire(target, payload)

    def notify_disconnect(self, node: int, peer: int, life: int) -> None:
        """Notify a process of this incarnation that its connection to ``peer`` is broken."""
        self._deliver(node, (peer, self.processes[peer].incarnation, life, DISCONNECTED))

    def _give_up(self, target: int, payload: Payload) -> None:
        source, sent_at = payload
        incarnation = self.link(source, target).give_up(sent_at, self.kernel)
        if incarnation >= 0:
            self.notify_disconnect(source, target, incarnation)

    def _retransmit(self, target: int, payload: Payload) -> None:
        source, connection = payload
        self.link(source, target).retransmit(connection, self.kernel)

    def _deliver(self, target: int, payload: Payload) -> None:
        process = self.processes[target]
        source, source_incarnation, target_incarnation, message = payload
        if process.state is RUNNING:
            if process.incarnation != target_incarnation:
                if message is not DISCONNECTED:
                    self._reset(target, source, source_incarnation)
            elif message is DISCONNECTED:
                process.on_disconnect(source)
            else:
                process.receive(source, message)
        elif process.state is ProcessState.PAUSED:
            process.held.append((MESSAGE, payload))
        elif process.state is ProcessState.DOWN and message is not DISCONNECTED:
            self._reset(target, source, source_incarnation)

    def _reset(self, dead: int, peer: int, peer_incarnation: int) -> None:
        """Answer a message to a process that has ended with a reset, as its operating system does."""
        if self.processes[peer].incarnation == peer_incarnation:
            self._send_reset(dead, peer)

    def _send_reset(self, dead: int, peer: int) -> None:
        link, back = self.link(peer, dead), self.link(dead, peer)
        link.close()
        if not back.cuts:
            link.held.clear()
            self.link_faults.take_queued(link)
            payload = (dead, self.processes[dead].incarnation, self.processes[peer].incarnation, DISCONNECTED)
            if back.fault_state is None:
                self.kernel.schedule(back.wire.arrival(self.kernel.now), MESSAGE, peer, payload)
            else:
                self.link_faults.closed(back, payload)

    # -- requested connections ----------------------------------------------------------------------------------------

    def connect(self, source: int, target: int) -> int:
        """Request a connection; ``source`` gets :class:`Connected` or :class:`ConnectionRefused` with that number."""
        self._serial += 1
        self._attempts[self._serial] = (source, target)
        self._send_syn(source, target, self._serial, 0)
        return self._serial

    def stop_connecting(self, attempt: int) -> None:
        """Ignore the result of that connection request."""
        self._attempts.pop(attempt, None)

    def _send_syn(self, source: int, target: int, attempt: int, repeats: int) -> None:
        kernel, link = self.kernel, self.link(source, target)
        if not link.cuts:
            kernel.schedule(link.wire.arrival(kernel.now), HANDSHAKE, target, (SYN, source, attempt))
        wait_us = SYN_RETRY_US << repeats
        kernel.schedule(kernel.now + wait_us, HANDSHAKE, source, (SYN_AGAIN, target, attempt, repeats + 1))

    def _handshake(self, node: int, payload: Payload) -> None:
        kind, peer, attempt, *attempts = payload
        if attempt not in self._attempts:
            return
        if kind == SYN:
            self._answer_syn(node, peer, attempt)
        elif attempts[0] <= SYN_RETRIES:
            self._send_syn(node, peer, attempt, attempts[0])
        else:
            del self._attempts[attempt]
            self._deliver(
                node,
                (peer, self.processes[peer].incarnation, self.processes[node].incarnation, ConnectionRefused(attempt)),
            )

    def _answer_syn(self, node: int, peer: int, attempt: int) -> None:
        """Answer for a process, as its system does, unless the machine has no power or its packets are dropped."""
        process, back = self.processes[node], self.link(node, peer)
        if process.state is ProcessState.OFF or back.cuts:
            return
        del self._attempts[attempt]
        accepted = process.state is not ProcessState.DOWN
        if accepted:
            link = self.link(peer, node)
            link.use()
            for direction in (link, back):
                direction.opened += 1
        result = Connected(attempt) if accepted else ConnectionRefused(attempt)
        payload = (node, process.incarnation, self.processes[peer].incarnation, result)
        self.kernel.schedule(back.wire.arrival(self.kernel.now), MESSAGE, peer, payload)

    def _fire(self, target: int, payload: Payload) -> None:
        process = self.processes[target]
        if process.incarnation != payload[0]:
            return
        if process.state is RUNNING:
            process.on_timer(payload[1])
        elif process.state is ProcessState.PAUSED:
            process.held.append((TIMER, payload))

    def crash(self, node: int) -> None:
        """Kill a process; its peers' connections break after the latency of a packet."""
        self.wake_exchanges(node)
        unused = self._unused(node)
        self._stop(node, ProcessState.DOWN)
        for source, target in tuple(self._links):
            if target == node and self._links[source, target].used:
                self._send_reset(node, source)
        for source in unused:
            self._send_reset(node, source)

    def exit(self, node: int, reason: str) -> None:
        """End a process by itself: it is paused at once, and ``control`` gets (incarnation, reason) to stop it."""
        process = self.processes[node]
        process.state = ProcessState.PAUSED
        self.kernel.schedule(self.kernel.now, CONTROL, node, (process.incarnation, reason))

    def power_off(self, node: int) -> None:
        """Power a machine off; no peer is notified."""
        self.wake_exchanges(node)
        self._stop(node, ProcessState.OFF)

    def _stop(self, node: int, state: ProcessState) -> None:
        process = self.processes[node]
        process.state = state
        process.incarnation += 1
        process.held.clear()
        if process.cpu is not None:
            process.cpu.forget(node)
        for attempt in [number for number, (source, _target) in self._attempts.items() if source == node]:
            del self._attempts[attempt]
        self.link_faults.stopped(node, dark=state is ProcessState.OFF)
        for (source, _target), link in self._links.items():
            if source == node:
                link.close()
                if state is ProcessState.OFF:
                    link.held.clear()

    def restart(self, node: int) -> None:
        """Start a new incarnation; timers and messages of the old one are dropped."""
        self.processes[node].state = RUNNING

    def pause(self, node: int) -> None:
        """Pause a process: messages and timers for it wait."""
        self.wake_exchanges(node)
        process = self.processes[node]
        process.state = ProcessState.PAUSED
        if process.cpu is not None:
            process.cpu.pause()

    def resume(self, node: int) -> None:
        """Resume a process: it handles waiting messages and timers now, in order of arrival."""
        process = self.processes[node]
        process.state = RUNNING
        held, process.held = process.held, []
        if process.cpu is not None:
            process.cpu.continue_work()
        for kind, payload in held:
            self.kernel.schedule(self.kernel.now, kind, node, payload)

    def slow_cpu(self, nodes: tuple[int, ...], fault: int, cost_us: int, free: tuple[str, ...] = ()) -> None:
        """Let everything that these processes handle take ``cost_us`` of one CPU; several faults add up.

        ``free`` are names of timers that take no time.
        """
        self.wake_exchanges(*nodes)
        cpu = self._cpus.get(nodes[0])
        if cpu is None:
            cpu = self._cpus[nodes[0]] = Cpu(self.kernel, nodes, free)
            for node in nodes:
                self.processes[node].run_on(cpu)
        cpu.costs = (*[each for each in cpu.costs if each[0] != fault], (fault, cost_us))

    def quicken_cpu(self, nodes: tuple[int, ...], fault: int) -> None:
        """Remove that fault's :meth:`slow_cpu`; after the last one waiting work is handled at once, in order."""
        cpu = self._cpus.get(nodes[0])
        if cpu is None:
            return
        cpu.costs = tuple([each for each in cpu.costs if each[0] != fault])
        if cpu.costs:
            return
        del self._cpus[nodes[0]]
        for node in nodes:
            process = self.processes[node]
            process.run_on(None)
            if process.state is ProcessState.PAUSED:
                process.held[:0] = [(kind, payload) for kind, target, payload, _free in cpu.queue if target == node]
        for kind, target, payload, _free in cpu.queue:
            if self.processes[target].state is RUNNING:
                self.kernel.schedule_first(kind, target, payload)

    def _work(self, owner: int, payload: Payload) -> None:
        cpu = self._cpus.get(owner)
        entry = None if cpu is None else cpu.done(payload[0])
        if cpu is not None and entry is not None:
            kind, target, event, _free = entry
            self.processes[target].handle(kind, event)
            cpu.continue_work()

    def save(self) -> tuple[Any, ...]:
        """Return kernel, processes, links, exchanges and slow CPUs; nodes save themselves."""
        processes = tuple([(p.id, p.state, p.incarnation, tuple(p.held)) for p in self.processes.values()])
        links = tuple([(pair, link.save()) for pair, link in self._links.items()])
        exchanges = tuple([(key, exchange.save()) for key, exchange in self._exchanges.items()])
        cpus = tuple([cpu.save() for cpu in self._cpus.values()])
        attempts = (self._serial, tuple(self._attempts.items()))
        return (
            self.kernel.save(), processes, links, exchanges, cpus, self.link_faults.save(), self.clocks.save(),
            attempts,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`, before the nodes; links and exchanges used later are new."""
        kernel, processes, links, exchanges, cpus, troubles, clocks, (self._serial, attempts) = saved
        self._attempts = dict(attempts)
        self.kernel.load(kernel)
        for node_id, state, incarnation, held in processes:
            process = self.processes[node_id]
            process.state, process.incarnation, process.held = state, incarnation, list(held)
        self.clocks.load(clocks)
        self._links.clear()
        for outgoing in self._outgoing.values():
            outgoing.clear()
        self._exchanges.clear()
        for pair, link in links:
            self.link(*pair).load(link)
        for key, exchange in exchanges:
            self.exchange(*key).load(exchange)
        self._cpus = {state[0][0]: Cpu.from_saved(self.kernel, state) for state in cpus}
        owners = {node: cpu for cpu in self._cpus.values() for node in cpu.nodes}
        for process in self.processes.values():
            process.run_on(owners.get(process.id))
        self.link_faults.load(troubles)


# Messages in flight from one process to another, for observers, without side effects.
#
# The event queue is searched each time, so that a message costs nothing without an observer.


MessageLocation = Literal["wire", "cut", "line", "paused", "cpu"]
"""``wire``: in flight; ``cut``: its packets are dropped and retransmitted; ``line``: in a bandwidth queue.

``paused`` and ``cpu``: it has arrived, and waits for the process or for its slow CPU.
"""


class InFlightMessage(NamedTuple):
    """A message in flight from one live process to another."""

    location: MessageLocation
    arrives_us: int
    """Arrival time, -1 while it is undecided."""
    message: Any


def in_flight_messages(network: Network, source: int, target: int) -> Iterator[InFlightMessage]:
    """Yield all messages from one live process to another; those of former incarnations are left out."""
    sender, receiver = network.processes[source], network.processes[target]
    for at_us, _order, kind, node, payload in network.kernel.waiting():
        if kind == MESSAGE and node == target and payload and _alive(payload, sender, receiver):
            yield InFlightMessage("wire", at_us, payload[3])
    link = network.outgoing(source).get(target)
    if link is not None:
        for held in link.held:
            if _alive(held.payload, sender, receiver):
                yield InFlightMessage("cut", -1, held.payload[3])
        for queued in network.link_faults.queued(link):
            if _alive(queued.payload, sender, receiver):
                yield InFlightMessage("line", -1, queued.payload[3])
    for kind, payload in receiver.held:
        if kind == MESSAGE and payload[0] == source:
            yield InFlightMessage("paused", -1, payload[3])
    for kind, node, payload, _free in () if receiver.cpu is None else receiver.cpu.queue:
        if kind == MESSAGE and node == target and payload[0] == source:
            yield InFlightMessage("cpu", -1, payload[3])


def _alive(payload: Payload, source: Process, target: Process) -> bool:
    """Whether both ends are still in the incarnations in which it was sent."""
    incarnations: tuple[int, int, int] = payload[:3]
    return incarnations == (source.id, source.incarnation, target.incarnation)
