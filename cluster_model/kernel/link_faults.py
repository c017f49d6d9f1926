"""Effects of link faults: limited throughput, retransmissions, late or duplicate responses, broken connections.

A link with a :class:`~cluster_model.kernel.link.LinkFaultState` is never ready, so that all of its messages, and no
other link's, pass through this module:

- *limits* let messages through one after the other, before the latency;
- a *lost* segment is sent again after the retransmission timeout, and everything after it on its connection waits;
  when it has been lost so often that :data:`~cluster_model.kernel.link.GIVEN_UP_US` pass, the connection breaks;
- *responses* may be late, without the requests between them, or come twice; the Java client finds no request in
  flight for the second (``InFlightRequests.completeNext``, ``CorrelationIdMismatchException``) and closes the
  connection;
- the notification of a *closed* connection may be late. Until then requests into it are dropped.

When a connection *breaks*, all connections between the two processes do, as a node is notified of a peer and not of a
single connection. Messages in flight vanish, and both ends are notified: no loss is silent. A paused process still
handles what it has received, before it learns of the break.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import EventLoop, Payload
from cluster_model.kernel.link import (
    GIVEN_UP_US,
    MILLION,
    REQUEST,
    RESPONSE,
    RETRANSMIT_US,
    STRICT_RESPONSE,
    Channel,
    Link,
    LinkCondition,
    LinkFaultState,
    LinkQueueKey,
    MessageMeasures,
)
from cluster_model.kernel.process import HANDSHAKES, MESSAGE, TROUBLE, Process, ProcessState
from cluster_model.kernel.rng import RandomStream, RandomStreams

# Limited throughput: messages pass one after the other, each for as long as its bytes take.


class QueuedMessage(NamedTuple):
    """A message in a bandwidth queue: its link, wire, order in the kernel (0 for any) and size in bytes."""

    source: int
    target: int
    wire: int
    order: int
    payload: Payload
    size: int


class BandwidthQueue:
    """A bandwidth queue; its owner calls :meth:`pop` exactly at :attr:`done_at`."""

    __slots__ = ("_from_us", "_left", "done_at", "queue", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        """Bytes per second."""
        self.queue: list[QueuedMessage] = []
        """Queued messages; the first one is being transmitted."""
        self.done_at = -1
        """Time when the first message is through, never at once; -1 for none."""
        self._left = 0
        """Rest of the first message, in bytes times a million, at the time ``_from_us``."""
        self._from_us = 0
        """Time for which ``_left`` is valid."""

    def enter(self, message: QueuedMessage, now: int) -> bool:
        """Add a message; returns whether the queue was empty."""
        self.queue.append(message)
        if len(self.queue) == 1:
            self._begin(now)
        return len(self.queue) == 1

    def _begin(self, now: int) -> None:
        self._left = self.queue[0].size * MILLION
        self._set_done_at(now)

    def _set_done_at(self, now: int) -> None:
        self._from_us = now
        self.done_at = now + max(1, -(-self._left // self.rate))

    def limit(self, rate: int, now: int) -> None:
        """Change the throughput, also for the rest of the current message."""
        if self.queue:
            self._left = max(0, self._left - (now - self._from_us) * self.rate)
        self.rate = rate
        if self.queue:
            self._set_done_at(now)

    def pop(self, now: int) -> QueuedMessage:
        """Remove the first message, which is through, and begin the next one."""
        first = self.queue.pop(0)
        if self.queue:
            self._begin(now)
        else:
            self.done_at = -1
        return first

    def take(self, source: int, target: int, now: int) -> list[QueuedMessage]:
        """Remove and return a link's messages, including one being transmitted."""
        taken = [each for each in self.queue if (each.source, each.target) == (source, target)]
        if taken:
            first = self.queue[0]
            self.queue = [each for each in self.queue if (each.source, each.target) != (source, target)]
            if not self.queue:
                self.done_at = -1
            elif self.queue[0] is not first:
                self._begin(now)
        return taken

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.rate, tuple(self.queue), self.done_at, self._left, self._from_us)

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "BandwidthQueue":
        """Return a queue with the state returned by :meth:`save`."""
        pipe = cls(saved[0])
        _rate, queue, pipe.done_at, pipe._left, pipe._from_us = saved
        pipe.queue = [QueuedMessage(*each) for each in queue]
        return pipe


MSS: Final = 1_448
"""Bytes of a segment: an Ethernet frame's 1500 without the headers of IP and TCP and the timestamps."""
LOSSES: Final = (GIVEN_UP_US // RETRANSMIT_US + 1).bit_length()
"""Number of losses of a segment that breaks the connection: the timeouts double and add up to too much."""

DONE: Final = "done"
BREAK: Final = "break"
NEWS: Final = "news"
REPEAT: Final = "repeat"

PLAIN: Final = MessageMeasures(lambda _message: 100, lambda _message: REQUEST)
"""Default measures of messages."""


class NetworkAccess(Protocol):
    """The part of the network that link faults need."""

    kernel: EventLoop
    processes: dict[int, Process]

    def link(self, source: int, target: int) -> Link:
        """Return the link from one process to another."""

    def wake_exchanges(self, *nodes: int) -> None:
        """Wake the idle exchanges of these processes."""

    def notify_disconnect(self, node: int, peer: int, life: int) -> None:
        """Notify a process of this incarnation that its connection to ``peer`` is broken."""


class LinkFaults:
    """Fault states of all links of a network."""

    __slots__ = ("_links", "_net", "_pipes", "_seeds", "_serial", "_streams", "measures")

    def __init__(self, net: NetworkAccess, seeds: RandomStreams) -> None:
        """Start without faults; ``seeds`` has the current seed. Random streams are kept here, as wires come and go."""
        self.measures = PLAIN
        self._net = net
        self._seeds = seeds
        self._streams: dict[str, RandomStream] = {}
        """Random streams by use and wire name, once used."""
        self._links: dict[tuple[int, int], Link] = {}
        """Links with a fault state."""
        self._pipes: dict[LinkQueueKey, BandwidthQueue] = {}
        self._serial = 0

    @property
    def any(self) -> bool:
        """Whether any link has a fault state."""
        return bool(self._links)

    # -- faults -------------------------------------------------------------------------------------------------------

    def shape(self, source: int, target: int, fault: int, shape: LinkCondition) -> None:
        """Set a fault's condition of one direction, replacing its previous one."""
        self._net.wake_exchanges(source, target)
        trouble = self._trouble(self._net.link(source, target))
        kept = tuple([each for each in trouble.shapes if each[0] != fault])
        trouble.shaped(source, target, (*kept, (fault, shape)))
        self._settle([(source, target)])

    def lift(self, fault: int) -> None:
        """Remove all conditions of a fault."""
        pairs = [
            pair for pair, link in self._links.items() if link.fault_state and fault in dict(link.fault_state.shapes)
        ]
        for pair in pairs:
            trouble = self._trouble(self._net.link(*pair))
            trouble.shaped(*pair, tuple([each for each in trouble.shapes if each[0] != fault]))
            if not trouble.loss:
                self._break_doomed(*pair, trouble)
        self._settle(pairs)

    def _trouble(self, link: Link) -> LinkFaultState:
        if link.fault_state is None:

            def carry(wire: int, order: int, payload: Payload) -> None:
                self._carry(link, wire, order, payload)

            link.fault_state = LinkFaultState(carry)
            link.ready = False
            self._links[link.source.id, link.target.id] = link
        return link.fault_state

    def _settle(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Adjust the queues after limits have changed; messages in a removed queue continue."""
        now = self._net.kernel.now
        wanted: dict[LinkQueueKey, int] = {}
        for link in self._links.values():
            if link.fault_state is not None:
                wanted |= {line: min(rate, wanted.get(line, rate)) for line, rate in link.fault_state.queues.items()}
        for line, pipe in self._pipes.items():
            if line in wanted and wanted[line] != pipe.rate:
                pipe.limit(wanted[line], now)
                self._schedule_done(line, pipe)
        for line in wanted:
            self._pipes.setdefault(line, BandwidthQueue(wanted[line]))
        gone = sorted([line for line in self._pipes if line not in wanted], reverse=True)
        for line in gone:
            for message in self._pipes.pop(line).queue:
                self._forward(message, line)
        for pair in pairs:
            self._forget(self._net.link(*pair))

    def _forget(self, link: Link) -> bool:
        """Remove the fault state of a link without remaining effects; returns whether it has none."""
        trouble = link.fault_state
        if trouble is None:
            return True
        if not trouble.over(self._net.kernel.now):
            return False
        link.fault_state = None
        link.update_ready()
        del self._links[link.source.id, link.target.id]
        return True

    # -- messages -----------------------------------------------------------------------------------------------------

    def _carry(self, link: Link, wire: int, order: int, payload: Payload) -> None:
        size = self.measures.size(payload[3])
        message = QueuedMessage(link.source.id, link.target.id, wire, order, payload, size)
        if self._forget(link):
            self._put(link.wires[wire].arrival(self._net.kernel.now), message)
        else:
            self._forward(message, None)

    def _forward(self, message: QueuedMessage, after: LinkQueueKey | None) -> None:
        """Add a message to the next queue, or send it after the last one."""
        link = self._net.link(message.source, message.target)
        for line in () if link.fault_state is None else link.fault_state.queues:
            if after is None or line > after:
                pipe = self._pipes[line]
                if pipe.enter(message, self._net.kernel.now):
                    self._schedule_done(line, pipe)
                return
        self._leave(link, message)

    def _schedule_done(self, line: LinkQueueKey, pipe: BandwidthQueue) -> None:
        if pipe.queue:
            self._net.kernel.schedule(pipe.done_at, TROUBLE, line.one, (DONE, tuple(line)))

    def _leave(self, link: Link, message: QueuedMessage) -> None:
        """Send a message: apply loss, delay and duplication."""
        trouble, now = link.fault_state, self._net.kernel.now
        wire = link.wires[message.wire]
        if trouble is None:
            self._put(wire.arrival(now), message)
            return
        kind = self.measures.kind(message.payload[3])
        if message.wire in trouble.breaking or (trouble.late_close and kind == REQUEST):
            return
        if trouble.loss:
            retransmission_us = self._retransmission_us(wire, message.size, trouble.loss)
            if retransmission_us > GIVEN_UP_US:
                self._schedule_break(link, trouble, message.wire)
                return
            now += retransmission_us
        at = wire.arrival(now)
        if kind in (RESPONSE, STRICT_RESPONSE):
            at = self._delayed_arrival(trouble, wire, message.wire, at)
        self._put(at, message)
        if trouble.repeats and kind in (RESPONSE, STRICT_RESPONSE):
            self._maybe_duplicate(trouble, wire, at, message, kind)

    def _put(self, at: int, message: QueuedMessage) -> None:
        kernel = self._net.kernel
        if message.order:
            kernel.schedule_in_lane(at, message.order, MESSAGE, message.target, message.payload)
        else:
            kernel.schedule(at, MESSAGE, message.target, message.payload)

    def _stream(self, what: str, wire: Channel) -> RandomStream:
        name = f"{what}:{wire.name}"
        if name not in self._streams:
            self._streams[name] = RandomStream(self._seeds.seed, name)
        return self._streams[name]

    def _retransmission_us(self, wire: Channel, size: int, loss: int) -> int:
        """Return the delay of a message by retransmissions of its segments, in microseconds."""
        stream = self._stream("loss", wire)
        most_losses = 0
        for _segment in range(max(1, -(-size // MSS))):
            losses = 0
            while losses < LOSSES and stream.below(MILLION) < loss:
                losses += 1
            most_losses = max(most_losses, losses)
        return RETRANSMIT_US * ((1 << most_losses) - 1)

    def _delayed_arrival(self, trouble: LinkFaultState, wire: Channel, number: int, at: int) -> int:
        """Return the arrival of a response that would arrive at this time without delays."""
        at += trouble.answer_us
        if trouble.answer_jitter_us:
            at += self._stream("answers", wire).below(trouble.answer_jitter_us + 1)
        before = trouble.answers_at.get(number, 0)
        if trouble.answer_us or trouble.answer_jitter_us or before > at:
            trouble.answers_at[number] = at = max(at, before)
        return at

    def _maybe_duplicate(
        self, trouble: LinkFaultState, wire: Channel, at: int, message: QueuedMessage, kind: int
    ) -> None:
        if self._stream("repeats", wire).below(MILLION) >= trouble.repeats:
            return
        kernel = self._net.kernel
        if kind == RESPONSE:
            trouble.answers_at[message.wire] = at + 1
            kernel.schedule(at + 1, MESSAGE, message.target, message.payload)
        else:
            incarnations = message.payload[1:3]
            kernel.schedule(at + 1, TROUBLE, message.target, (REPEAT, message.source, *incarnations))

    # -- connections --------------------------------------------------------------------------------------------------

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _schedule_break(self, link: Link, trouble: LinkFaultState, wire: int) -> None:
        """Drop everything after a segment that is lost too often, and schedule the break of the connection."""
        trouble.breaking[wire] = serial = self._next()
        kernel = self._net.kernel
        kernel.schedule(kernel.now + GIVEN_UP_US, TROUBLE, link.source.id, (BREAK, link.target.id, serial))

    def _break_doomed(self, source: int, target: int, trouble: LinkFaultState) -> None:
        """Break connections with a lost segment when the sender would retransmit it, as the loss has ended."""
        kernel = self._net.kernel
        for serial in trouble.breaking.values():
            kernel.schedule(kernel.now + RETRANSMIT_US, TROUBLE, source, (BREAK, target, serial))

    def _drop_in_flight(self, pairs: tuple[tuple[int, int], ...]) -> None:
        """Drop the messages in flight between these processes."""
        self._net.kernel.void(
            TROUBLE,
            lambda kind, target, payload: (
                (kind == MESSAGE and (payload[0], target) in pairs and not isinstance(payload[3], HANDSHAKES))
                or (kind == TROUBLE and payload[:1] == (REPEAT,) and (payload[1], target) in pairs)
            ),
        )

    def sever(self, one: int, other: int) -> bool:
        """Break all connections between two processes; False if there was none."""
        self._net.wake_exchanges(one, other)
        forward, reverse = self._net.link(one, other), self._net.link(other, one)
        if not forward.used and not reverse.used:
            return False
        self._drop_in_flight(((one, other), (other, one)))
        for link in (forward, reverse):
            self.take_queued(link)
            link.held.clear()
            link.close()
            for wire in link.wires:
                wire.arrives = 0
            if link.fault_state is not None:
                link.fault_state.reset()
                self._forget(link)
        for link in (forward, reverse):
            opposite = reverse if link is forward else forward
            if opposite.fault_state is not None and opposite.fault_state.close_us:
                self._delay_close(link, opposite.fault_state.close_us)
            else:
                self._net.notify_disconnect(link.source.id, link.target.id, link.source.incarnation)
        return True

    def closed(self, link: Link, payload: Payload) -> None:
        """Send the notification that the source's system has closed its connections."""
        trouble = self._trouble(link)
        if trouble.close_us:
            self._delay_close(self._net.link(link.target.id, link.source.id), trouble.close_us)
        else:
            trouble.carry(0, 0, payload)

    def _delay_close(self, link: Link, close_us: int) -> None:
        """Delay the close notification of this link's source; it may time out by itself before."""
        trouble = self._trouble(link)
        if trouble.late_close:
            return
        trouble.late_close = serial = self._next()
        kernel = self._net.kernel
        kernel.schedule(kernel.now + close_us, TROUBLE, link.source.id, (NEWS, link.target.id, serial))

    def abandon(self, there: Link, back: Link, asks: Channel, answers: Channel) -> None:
        """Close a connection after a timed-out response: the next one is a new one.

        Messages sent on it may still arrive, after messages sent later.
        """
        for link, wire in ((there, asks), (back, answers)):
            trouble = link.fault_state
            if trouble is None:
                continue
            wire.arrives = 0
            trouble.answers_at.pop(link.wires.index(wire), None)
            trouble.late_close = 0 if link is there else trouble.late_close
            serial = trouble.breaking.get(link.wires.index(wire))
            if serial is not None:
                kernel = self._net.kernel
                kernel.schedule(kernel.now, TROUBLE, link.source.id, (BREAK, link.target.id, serial))

    def take_queued(self, link: Link) -> list[QueuedMessage]:
        """Remove and return the messages queued for this link, oldest first."""
        if link.fault_state is None:
            return []
        taken: list[QueuedMessage] = []
        for line in reversed(link.fault_state.queues):
            pipe = self._pipes[line]
            taken += pipe.take(link.source.id, link.target.id, self._net.kernel.now)
            self._schedule_done(line, pipe)
        return taken

    def queued(self, link: Link) -> list[QueuedMessage]:
        """Return the messages queued for this link, for observers."""
        pair = (link.source.id, link.target.id)
        lines = () if link.fault_state is None else link.fault_state.queues
        return [each for line in lines for each in self._pipes[line].queue if (each.source, each.target) == pair]

    def stopped(self, node: int, *, dark: bool) -> None:
        """Forget the connections of a process that has ended; ``dark``: also messages its system had still to send."""
        for (source, target), link in self._links.items():
            if node not in (source, target) or link.fault_state is None:
                continue
            link.fault_state.breaking.clear()
            if node == source:
                link.fault_state.late_close = 0
                if dark:
                    self.take_queued(link)

    # -- events -------------------------------------------------------------------------------------------------------

    def fire(self, target: int, payload: Payload) -> None:
        """Handle an event of this module's kind; one without a payload has been voided."""
        if not payload:
            return
        what = payload[0]
        if what == DONE:
            self._on_sent(LinkQueueKey(*payload[1]))
        elif what == REPEAT:
            self._on_duplicate(target, payload)
        else:
            _what, peer, serial = payload
            link = self._net.link(target, peer)
            if link.fault_state is None:
                return
            if what == BREAK and serial in link.fault_state.breaking.values():
                self.sever(target, peer)
            elif what == NEWS and serial == link.fault_state.late_close:
                link.fault_state.late_close = 0
                self._forget(link)
                link.close()
                self._net.notify_disconnect(target, peer, link.source.incarnation)

    def _on_sent(self, line: LinkQueueKey) -> None:
        pipe, now = self._pipes.get(line), self._net.kernel.now
        if pipe is not None and pipe.done_at == now:
            message = pipe.pop(now)
            self._schedule_done(line, pipe)
            self._forward(message, line)

    def _on_duplicate(self, node: int, payload: Payload) -> None:
        """Close the connection for a duplicate response as soon as the process runs, if the connection still exists."""
        _what, peer, peer_incarnation, incarnation = payload
        process = self._net.processes[node]
        if (process.incarnation, self._net.processes[peer].incarnation) != (incarnation, peer_incarnation):
            return
        if process.state is ProcessState.PAUSED:
            process.held.append((TROUBLE, payload))
        elif process.state is ProcessState.RUNNING:
            self.sever(node, peer)

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        troubles = tuple([(pair, link.fault_state.save()) for pair, link in self._links.items() if link.fault_state])
        pipes = tuple([(tuple(line), pipe.save()) for line, pipe in self._pipes.items()])
        drawn = tuple([(name, stream.position) for name, stream in self._streams.items()])
        return (troubles, pipes, self._serial, drawn)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`, after the links'."""
        troubles, pipes, self._serial, drawn = saved
        self._streams.clear()
        for name, position in drawn:
            self._streams[name] = RandomStream(self._seeds.seed, name)
            self._streams[name].position = position
        self._links.clear()
        for (source, target), state in troubles:
            self._trouble(self._net.link(source, target)).load(source, target, state)
        self._pipes = {LinkQueueKey(*line): BandwidthQueue.from_saved(state) for line, state in pipes}
