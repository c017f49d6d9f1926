"""The network: processes that run, pause and crash, links between them, and messages under way.

What a fault does to a process, in terms of the operating system:

- *paused* (stop-the-world collection, SIGSTOP): sockets stay open and the kernel keeps receiving, so messages and due
  timers wait. On resume they are handled in the order in which they became due or arrived.
- *crashed* (SIGKILL): the operating system closes the sockets, so every peer learns at once that the connection is
  gone; timers and whatever was queued die with the process.
- *powered off*: nobody is told. Messages vanish, and peers find out by their own timeouts.

A connection is a pair of incarnations: what was sent to a process that has since restarted is answered by a reset.
Each connection's direction is first-in first-out, as TCP is.

What a *cut* does is what dropped packets do to TCP, one direction at a time. Connections stay open and silent. What is
on its way arrives; what is sent later waits with the sender's system, and arrives in order after the link is mended
(:data:`~cluster_model.kernel.link.RETRANSMIT_US`), if its machine still has power then. If the oldest has waited for
:data:`~cluster_model.kernel.link.GIVEN_UP_US`, that connection is given up: all that was sent on it vanishes, and the
sender is told that it broke. Resets do not pass either, and are not repeated. What a killed process had sent is still
sent again by its system; with the machine it is gone. That the sender of the open direction of a half cut would miss
TCP's own acknowledgements is not modelled.

What else faults do to links, one direction at a time, is told in :mod:`cluster_model.kernel.link_faults`.

A process may ask for a connection before it sends anything (:meth:`Network.connect`): the system of the other machine
accepts while the process there exists, paused or not, and refuses while it is down. A machine without power, or behind
a cut, says nothing: the request is repeated, and after :data:`SYN_TIMEOUT_US` it is given up. Requests are numbered, so
that the answer to an earlier one is not taken for that to a later one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from cluster_model.kernel.event_loop import Handler, Kernel, Payload
from cluster_model.kernel.link import Link
from cluster_model.kernel.link_faults import Troubles
from cluster_model.kernel.long_poll import Exchange
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
from cluster_model.kernel.rng import Streams
from cluster_model.kernel.wall_clocks import Clocks

SYN_RETRY_US: Final = 1_000_000
"""The first wait for an answer to a request for a connection; each next one is twice as long (RFC 6298)."""
SYN_RETRIES: Final = 6
"""How often the request is repeated (Linux's ``tcp_syn_retries``)."""
SYN_TIMEOUT_US: Final = SYN_RETRY_US * ((1 << (SYN_RETRIES + 1)) - 1)
"""After so long without an answer, 127 s, the system reports that there is no connection."""

SYN: Final = "syn"
SYN_AGAIN: Final = "again"


class Network:
    """All processes and the links between them."""

    __slots__ = (
        "_attempts", "_cpus", "_exchanges", "_jitter", "_lasting", "_latency", "_links", "_naive", "_outgoing",
        "_serial", "_streams", "clocks", "kernel", "processes", "troubles",
    )  # fmt: skip

    def __init__(self, streams: Streams, latency: int, jitter: int, control: Handler, *, naive: bool = False) -> None:
        """``control`` handles CONTROL events: what comes from outside and happens at a set time.

        ``naive``: nothing is left out, not even what changes nothing (:mod:`cluster_model.kernel.long_poll`).
        """
        handlers = (self._deliver, self._fire, control, self._give_up, self._work, self._trouble, self._handshake)
        self.kernel = Kernel(handlers)
        self.processes: dict[int, Process] = {}
        self.clocks = Clocks(self.processes)
        self._streams = streams
        self._naive = naive
        self._exchanges: dict[tuple[int, int, int], Exchange] = {}
        self._latency = latency
        self._jitter = jitter
        self._links: dict[tuple[int, int], Link] = {}
        self._outgoing: dict[int, dict[int, Link]] = {}
        self._cpus: dict[int, Cpu] = {}
        """Slow ones, by their first node."""
        self.troubles = Troubles(self, streams)
        """What faults do to links besides latency and cuts."""
        self._attempts: dict[int, tuple[int, int]] = {}
        """Number of a request for a connection that has no answer yet → (source, target)."""
        self._serial = 0
        """Of the last such request."""
        self._lasting: tuple[dict[int, None], dict[int, None]] = ({}, {})
        """Processes with connections since the session began, and those that they lead to."""

    def add(self, node_id: int, name: str, node: Node) -> None:
        """A new process, running."""
        self.processes[node_id] = Process(node_id, name, node)

    def link(self, source: int, target: int) -> Link:
        """The link from one process to another."""
        link = self._links.get((source, target))
        if link is None:
            processes = self.processes
            near = processes[source].near or processes[target].near
            spread = (0, 0) if near else (self._latency, self._jitter)
            link = Link(self._streams.seed, processes[source], processes[target], *spread)
            self._links[source, target] = self.outgoing(source)[target] = link
        return link

    def standing(self, source: int, target: int) -> bool:
        """Whether a connection stands on which one of them has sent to the other."""
        link = self._links.get((source, target))
        return link is not None and link.used

    def stand(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        """Have connections from each of these processes to each of those since the session began, used or not."""
        self._lasting = (dict.fromkeys(sources), dict.fromkeys(targets))

    def _unused(self, target: int) -> list[int]:
        """Processes whose connection to this one stands since the session began and was never used."""
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
        """The links from one process by target, those that exist so far; the same table for good."""
        return self._outgoing.setdefault(source, {})

    def exchange(self, asker: int, answerer: int, index: int) -> Exchange:
        """The asker's connection of that number to the answerer."""
        exchange = self._exchanges.get((asker, answerer, index))
        if exchange is None:
            links = (self.link(asker, answerer), self.link(answerer, asker))
            exchange = Exchange(self.kernel, self.processes[asker], self.processes[answerer], index, *links)
            exchange.naive = self._naive
            self._exchanges[asker, answerer, index] = exchange
        return exchange

    def rouse(self, *nodes: int) -> None:
        """Wake every exchange of any of these processes, or of all: something is about to happen to them."""
        for (asker, answerer, _index), exchange in self._exchanges.items():
            if exchange.asleep and (not nodes or asker in nodes or answerer in nodes):
                exchange.wake()

    def slow_down(self, source: int, target: int, lag: tuple[tuple[int, int, int], ...]) -> None:
        """Let faults add this, and nothing else, to the delays of one link: (fault id, latency, jitter) each."""
        self.rouse(source, target)
        self.link(source, target).slow_down(lag)

    def skew(self, node: int, fault: int, ahead_us: int) -> None:
        """Let a fault set a machine's clock that far ahead, or behind; 0: no longer (:class:`Clocks`)."""
        self.rouse(node)
        self.clocks.skew(node, fault, ahead_us)

    def cut(self, source: int, target: int, fault: int) -> None:
        """Drop all packets of one direction, until every fault that cut it has mended it."""
        self.rouse(source, target)
        link = self.link(source, target)
        link.cut(fault)
        for each in self.troubles.taken(link):
            link.hold(self.kernel, link.wires[each.wire], each.order, each.payload)

    def mend(self, source: int, target: int, fault: int) -> None:
        """Undo of :meth:`cut` by that fault."""
        self.link(source, target).mend(fault, self.kernel)

    def is_cut(self, source: int, target: int) -> bool:
        """Whether any fault lets nothing pass in that direction."""
        link = self._links.get((source, target))
        return link is not None and bool(link.cuts)

    def disturbed_links(self) -> list[tuple[int, int]]:
        """Links to which faults do something now."""
        return [pair for pair, link in self._links.items() if link.cuts or link.lag or link.trouble is not None]

    def is_slowed(self, node: int) -> bool:
        """Whether a process works on a slow CPU."""
        return any(node in cpu.nodes and cpu.costs for cpu in self._cpus.values())

    def _trouble(self, target: int, payload: Payload) -> None:
        self.troubles.fire(target, payload)

    def tell(self, node: int, peer: int, life: int) -> None:
        """The connection that a process had in this life to ``peer`` is broken."""
        self._deliver(node, (peer, self.processes[peer].incarnation, life, DISCONNECTED))

    def _give_up(self, target: int, payload: Payload) -> None:
        source, sent_at = payload
        life = self.link(source, target).give_up(sent_at, self.kernel)
        if life >= 0:
            self.tell(source, target, life)

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
        """``peer`` sent to a process that is not there: its operating system answers with a reset."""
        if self.processes[peer].incarnation == peer_incarnation:
            self._send_reset(dead, peer)

    def _send_reset(self, dead: int, peer: int) -> None:
        link, back = self.link(peer, dead), self.link(dead, peer)
        link.close()
        if not back.cuts:
            link.held.clear()
            self.troubles.taken(link)
            payload = (dead, self.processes[dead].incarnation, self.processes[peer].incarnation, DISCONNECTED)
            if back.trouble is None:
                self.kernel.schedule(back.wire.arrival(self.kernel.now), MESSAGE, peer, payload)
            else:
                self.troubles.closed(back, payload)

    # -- connections that are asked for -------------------------------------------------------------------------------

    def connect(self, source: int, target: int) -> int:
        """Ask for a connection; ``source`` gets :class:`Connected` or :class:`ConnectionRefused` with that number."""
        self._serial += 1
        self._attempts[self._serial] = (source, target)
        self._send_syn(source, target, self._serial, 0)
        return self._serial

    def stop_connecting(self, attempt: int) -> None:
        """Wait no longer for that connection."""
        self._attempts.pop(attempt, None)

    def _send_syn(self, source: int, target: int, attempt: int, repeats: int) -> None:
        kernel, link = self.kernel, self.link(source, target)
        if not link.cuts:
            kernel.schedule(link.wire.arrival(kernel.now), HANDSHAKE, target, (SYN, source, attempt))
        wait_us = SYN_RETRY_US << repeats
        kernel.schedule(kernel.now + wait_us, HANDSHAKE, source, (SYN_AGAIN, target, attempt, repeats + 1))

    def _handshake(self, node: int, payload: Payload) -> None:
        what, peer, attempt, *rest = payload
        if attempt not in self._attempts:
            return
        if what == SYN:
            self._answer_syn(node, peer, attempt)
        elif rest[0] <= SYN_RETRIES:
            self._send_syn(node, peer, attempt, rest[0])
        else:
            del self._attempts[attempt]
            self._deliver(
                node,
                (peer, self.processes[peer].incarnation, self.processes[node].incarnation, ConnectionRefused(attempt)),
            )

    def _answer_syn(self, node: int, peer: int, attempt: int) -> None:
        """The system answers for its process, unless the machine has no power or its packets are dropped."""
        process, back = self.processes[node], self.link(node, peer)
        if process.state is ProcessState.OFF or back.cuts:
            return
        del self._attempts[attempt]
        accepted = process.state is not ProcessState.DOWN
        if accepted:
            self.link(peer, node).use()
        word = Connected(attempt) if accepted else ConnectionRefused(attempt)
        payload = (node, process.incarnation, self.processes[peer].incarnation, word)
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
        """Kill a process; its peers' connections break after the time a packet takes."""
        self.rouse(node)
        unused = self._unused(node)
        self._stop(node, ProcessState.DOWN)
        for source, target in tuple(self._links):
            if target == node and self._links[source, target].used:
                self._send_reset(node, source)
        for source in unused:
            self._send_reset(node, source)

    def exit(self, node: int, reason: str) -> None:
        """A process ends itself: it is held at once, and ``control`` gets (incarnation, reason) to take it away."""
        process = self.processes[node]
        process.state = ProcessState.PAUSED
        self.kernel.schedule(self.kernel.now, CONTROL, node, (process.incarnation, reason))

    def power_off(self, node: int) -> None:
        """Take the machine away: nobody is told."""
        self.rouse(node)
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
        self.troubles.stopped(node, dark=state is ProcessState.OFF)
        for (source, _target), link in self._links.items():
            if source == node:
                link.close()
                if state is ProcessState.OFF:
                    link.held.clear()
                    self.troubles.never_sent_again(link)

    def restart(self, node: int) -> None:
        """A new incarnation runs; timers and messages of the old one are gone."""
        self.processes[node].state = RUNNING

    def pause(self, node: int) -> None:
        """Hold everything that comes for this process."""
        self.rouse(node)
        process = self.processes[node]
        process.state = ProcessState.PAUSED
        if process.cpu is not None:
            process.cpu.stand_still()

    def resume(self, node: int) -> None:
        """Handle what was held, now, in the order in which it came."""
        process = self.processes[node]
        process.state = RUNNING
        held, process.held = process.held, []
        if process.cpu is not None:
            process.cpu.go_on()
        for kind, payload in held:
            self.kernel.schedule(self.kernel.now, kind, node, payload)

    def slow_cpu(self, nodes: tuple[int, ...], fault: int, cost_us: int, free: tuple[str, ...] = ()) -> None:
        """Let whatever these processes handle take so much of one CPU, on top of what other faults make it take.

        ``free`` are names of timers that take no time.
        """
        self.rouse(*nodes)
        cpu = self._cpus.get(nodes[0])
        if cpu is None:
            cpu = self._cpus[nodes[0]] = Cpu(self.kernel, nodes, free)
            for node in nodes:
                self.processes[node].run_on(cpu)
        cpu.costs = (*[each for each in cpu.costs if each[0] != fault], (fault, cost_us))

    def quicken_cpu(self, nodes: tuple[int, ...], fault: int) -> None:
        """Undo of :meth:`slow_cpu` by that fault; with the last one all that waits is handled at once, in order."""
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
            cpu.go_on()

    def save(self) -> tuple[Any, ...]:
        """Kernel, processes, links, exchanges and slow CPUs; nodes save themselves."""
        processes = tuple([(p.id, p.state, p.incarnation, tuple(p.held)) for p in self.processes.values()])
        links = tuple([(pair, link.save()) for pair, link in self._links.items()])
        exchanges = tuple([(place, exchange.save()) for place, exchange in self._exchanges.items()])
        cpus = tuple([cpu.save() for cpu in self._cpus.values()])
        attempts = (self._serial, tuple(self._attempts.items()))
        return (
            self.kernel.save(), processes, links, exchanges, cpus, self.troubles.save(), self.clocks.save(), attempts,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, before the nodes are loaded; links and exchanges first used since are as new."""
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
        for place, exchange in exchanges:
            self.exchange(*place).load(exchange)
        self._cpus = {state[0][0]: Cpu.loaded(self.kernel, state) for state in cpus}
        owners = {node: cpu for cpu in self._cpus.values() for node in cpu.nodes}
        for process in self.processes.values():
            process.run_on(owners.get(process.id))
        self.troubles.load(troubles)


# Messages under way from one process to another, for observers: looking changes nothing.
#
# The queue of events is gone through each time, so that a message costs nothing while nobody asks.


Place = Literal["wire", "cut", "line", "paused", "cpu"]
"""``wire``: on its way; ``cut``: its packets are dropped, and sent again; ``line``: queues for a limited line.

``paused`` and ``cpu``: it has arrived, and waits for the process or for its slow CPU.
"""


class Flight(NamedTuple):
    """One message."""

    place: Place
    arrives_us: int
    """-1 while that is not decided."""
    message: Any


def flights(network: Network, source: int, target: int) -> Iterator[Flight]:
    """All messages from one living process to another; those of a former life of either are left out."""
    there, here = network.processes[source], network.processes[target]
    for at_us, _order, kind, node, payload in network.kernel.waiting():
        if kind == MESSAGE and node == target and payload and _alive(payload, there, here):
            yield Flight("wire", at_us, payload[3])
    link = network.outgoing(source).get(target)
    if link is not None:
        for held in link.held:
            if _alive(held.payload, there, here):
                yield Flight("cut", -1, held.payload[3])
        for queued in network.troubles.queued(link):
            if _alive(queued.payload, there, here):
                yield Flight("line", -1, queued.payload[3])
    for kind, payload in here.held:
        if kind == MESSAGE and payload[0] == source:
            yield Flight("paused", -1, payload[3])
    for kind, node, payload, _free in () if here.cpu is None else here.cpu.queue:
        if kind == MESSAGE and node == target and payload[0] == source:
            yield Flight("cpu", -1, payload[3])


def _alive(payload: Payload, source: Process, target: Process) -> bool:
    """Whether both ends are what they were when it was sent."""
    lives: tuple[int, int, int] = payload[:3]
    return lives == (source.id, source.incarnation, target.incarnation)
