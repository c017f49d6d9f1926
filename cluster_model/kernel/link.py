"""Links and wires: latency and order of messages from one process to another, and link conditions of faults.

A *wire* is one direction of one connection. Two processes share a wire for most messages; a long poll
(:mod:`cluster_model.kernel.long_poll`) has its own, as a replica fetcher has its own connection. A *link* is all wires
of a direction: latency, jitter and the faults that add to them apply to each.

A link can be *cut*: its packets are dropped. Messages sent then are held, as the sender's TCP keeps and retransmits
them: each connection at its own times, also after the cut is healed. All other effects of faults are its *link fault
state* (:mod:`cluster_model.kernel.link_faults`), which then carries its messages.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import EventLoop, Payload
from cluster_model.kernel.process import GIVE_UP, MESSAGE, RETRANSMIT, Process
from cluster_model.kernel.rng import BLOCK, draws

# Link conditions: what faults do to messages between two processes, one direction at a time.
#
# A *shape* is the condition that one fault applies. A *link fault state* is all shapes of a direction together, and
# what remains for a while after they are healed: responses that are late already, broken connections whose owner does
# not know yet.


MILLION: Final = 1_000_000

OUT: Final = 1
INTO: Final = 2
"""Network card that a limit applies to: the sender's, the receiver's; the sum for both."""

REQUEST: Final = 0
RESPONSE: Final = 1
STRICT_RESPONSE: Final = 2
OTHER: Final = 3
"""Kind of a message: request, response, response that must not come twice, or neither.

A receiver of a strict response that comes twice closes the connection.
"""


class MessageMeasures(NamedTuple):
    """Functions that measure messages, which the network otherwise only carries."""

    size: Callable[[Any], int]
    """Size in bytes on the wire."""
    kind: Callable[[Any], int]
    """Return one of :data:`REQUEST`, :data:`RESPONSE`, :data:`STRICT_RESPONSE`, :data:`OTHER`."""


class LinkCondition(NamedTuple):
    """Link condition of one fault for one direction; no effect by default."""

    rate: int = 0
    """Bytes per second, 0 for no limit."""
    cards: int = 0
    """Network cards whose links share the limit: :data:`OUT`, :data:`INTO`, or both; 0: this link alone."""
    loss: int = 0
    """Probability of packet loss, in millionths."""
    answer_us: int = 0
    """Additional latency of responses in microseconds."""
    answer_jitter_us: int = 0
    """Largest random addition to it."""
    repeats: int = 0
    """Probability that a response arrives twice, in millionths."""
    close_us: int = 0
    """Delay until the receiver learns that a connection was closed."""
    sender: int = -1
    receiver: int = -1
    """Owners of the cards, if other than the nodes of the link: two clients of one process share one."""


class LinkQueueKey(NamedTuple):
    """Key of a bandwidth queue, in the order in which a message passes them: the link itself, then cards."""

    rank: int
    """0: the link; 1: the sender's card; 2: the receiver's card."""
    one: int
    """Sender of the link, or owner of the card."""
    other: int
    """Receiver of the link, -1 for a card."""
    fault: int
    """Fault of the card's limit, 0 for a link, where the lowest limit applies."""


class MessageCarrier(Protocol):
    """Carrier of a disturbed link's message: its wire, and its order (0 for any)."""

    def __call__(self, wire: int, order: int, payload: Payload) -> None:
        """Carry a message."""


class LinkFaultState:
    """All link conditions of one direction, and their remaining effects."""

    __slots__ = (
        "answer_jitter_us",
        "answer_us",
        "answers_at",
        "breaking",
        "carry",
        "close_us",
        "late_close",
        "loss",
        "queues",
        "repeats",
        "shapes",
    )  # fmt: skip

    def __init__(self, carry: MessageCarrier) -> None:
        self.carry = carry
        self.shapes: tuple[tuple[int, LinkCondition], ...] = ()
        """(fault, link condition), oldest first."""
        self.answers_at: dict[int, int] = {}
        """Wire → arrival of its last late response, which no other overtakes."""
        self.breaking: dict[int, int] = {}
        """Wire → number of a pending break: a segment was lost too often, and nothing of this connection arrives."""
        self.late_close = 0
        """Number of the late close notification of the sender's connection, 0 for none: its requests are dropped."""
        self.shaped(0, 0, ())

    def shaped(self, source: int, target: int, shapes: tuple[tuple[int, LinkCondition], ...]) -> None:
        """Apply these link conditions, and no others."""
        self.shapes = shapes
        conditions = [shape for _fault, shape in shapes]
        self.loss = any_probability([shape.loss for shape in conditions])
        self.repeats = any_probability([shape.repeats for shape in conditions])
        self.answer_us = sum(shape.answer_us for shape in conditions)
        self.answer_jitter_us = sum(shape.answer_jitter_us for shape in conditions)
        self.close_us = max((shape.close_us for shape in conditions), default=0)
        self.queues = queues_of(source, target, shapes)

    def over(self, now: int) -> bool:
        """Whether no effect remains."""
        gone = not self.shapes and not self.breaking and not self.late_close
        return gone and all(at <= now for at in self.answers_at.values())

    def reset(self) -> None:
        """Reset the state for new connections in this direction."""
        self.answers_at.clear()
        self.breaking.clear()
        self.late_close = 0

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.shapes, tuple(self.answers_at.items()), tuple(self.breaking.items()), self.late_close)

    def load(self, source: int, target: int, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        shapes, answers_at, doomed, self.late_close = saved
        self.shaped(source, target, tuple([(fault, LinkCondition(*shape)) for fault, shape in shapes]))
        self.answers_at, self.breaking = dict(answers_at), dict(doomed)


def queues_of(source: int, target: int, shapes: tuple[tuple[int, LinkCondition], ...]) -> dict[LinkQueueKey, int]:
    """Return the bandwidth queues that a message passes, in order, with their limits in bytes per second."""
    lines: dict[LinkQueueKey, int] = {}
    for fault, shape in shapes:
        if not shape.rate:
            continue
        sender = source if shape.sender < 0 else shape.sender
        receiver = target if shape.receiver < 0 else shape.receiver
        keys = [LinkQueueKey(1, sender, -1, fault)] if shape.cards & OUT else []
        keys += [LinkQueueKey(2, receiver, -1, fault)] if shape.cards & INTO else []
        for line in keys or [LinkQueueKey(0, source, target, 0)]:
            lines[line] = min(lines.get(line, shape.rate), shape.rate)
    return {line: lines[line] for line in sorted(lines)}


def any_probability(shares: list[int]) -> int:
    """Return the probability that any of several independent events happens, in millionths."""
    total = 0
    for share in shares:
        total += share - total * share // MILLION
    return total


RETRANSMIT_US: Final = 200_000
"""First retransmission timeout of a connection: Linux's shortest one (TCP_RTO_MIN); each next is twice as long."""
GIVEN_UP_US: Final = 30_000_000
"""Time without progress after which the sender's system closes the connection."""

_PATTERN: Final = -1
"""Number of the random block for idle exchanges."""
_PATTERNS: Final = 1024
"""Largest number of cached blocks, some ten kilobytes each: twins of a session use the same ones."""


def _delays_of(seed: int, name: str, number: int, latency: int, jitter: int) -> list[int]:
    """Return the delays of a block, in the order of its random numbers."""
    if not jitter:
        return [latency] * BLOCK
    bound = jitter + 1
    return [latency + (draw * bound >> 64) for draw in draws(seed, name, number)]


@lru_cache(maxsize=_PATTERNS)
def _pattern_of(seed: int, name: str, latency: int, jitter: int) -> tuple[int, ...]:
    return tuple(_delays_of(seed, name, _PATTERN, latency, jitter))


class Channel:
    """First-in first-out channel; each message draws its delay from the wire's own random stream, in blocks."""

    __slots__ = ("_block", "_delays", "_left", "_name", "_seed", "_spread", "arrives", "pattern")

    def __init__(self, seed: int, name: str, latency: int, jitter: int) -> None:
        self.arrives = 0
        """Arrival of the last message sent, which no later one overtakes."""
        self.pattern: tuple[int, ...] = ()
        """Repeating delays of an idle exchange's messages; read through :meth:`patterned`."""
        self._seed = seed
        self._name = name
        self._block = -1
        self._delays: list[int] = []
        """Remaining delays of the block, the next one last; empty while they are not drawn yet."""
        self._left = 0
        """Number of remaining delays that are not drawn yet: most wires of a keyframe stay silent."""
        self._spread = (latency, jitter)

    @property
    def name(self) -> str:
        """Name of its random streams."""
        return self._name

    def spread(self, latency: int, jitter: int) -> None:
        """Change the delay from now on: ``latency`` plus a random time up to ``jitter``."""
        self._spread = (latency, jitter)
        self.pattern = ()
        self._left = len(self._delays) or self._left
        self._delays = []

    def _draw(self) -> list[int]:
        """Draw the rest of the block, or the whole next one."""
        if not self._left:
            self._block += 1
            self._left = BLOCK
        delays = _delays_of(self._seed, self._name, self._block, *self._spread)
        self._delays = delays[BLOCK - self._left :][::-1]
        self._left = 0
        return self._delays

    def patterned(self) -> tuple[int, ...]:
        """Return the delays of an idle exchange's messages, in turn."""
        if not self.pattern:
            self.pattern = _pattern_of(self._seed, self._name, *self._spread)
        return self.pattern

    def idle_arrival(self, now: int, messages: int) -> int:
        """Return the arrival of an idle exchange's message sent now, after that many of them."""
        self.arrives = at = max(now + self.patterned()[messages % BLOCK], self.arrives)
        return at

    def arrival(self, now: int) -> int:
        """Return the arrival of a message sent now."""
        delays = self._delays
        if not delays:
            delays = self._draw()
        at = now + delays.pop()
        if at < self.arrives:
            at = self.arrives
        self.arrives = at
        return at

    def save(self) -> tuple[int, int, int]:
        """Return all state except the delays, which the link determines."""
        return (self._block, len(self._delays) or self._left, self.arrives)

    def load(self, saved: tuple[int, int, int]) -> None:
        """Restore the state returned by :meth:`save`, after the link's."""
        self._block, self._left, self.arrives = saved
        self._delays = []


def next_retransmission(sent_at: int, now: int) -> int:
    """Return when TCP sends a packet of ``sent_at`` again, now or later, if it was lost each time before."""
    timeout, at = RETRANSMIT_US, sent_at + RETRANSMIT_US
    while at < now:
        timeout *= 2
        at += timeout
    return at


ConnectionKey = tuple[int, int, int]
"""(wire, sender's incarnation, number of the connection) of a held message."""


class HeldMessage(NamedTuple):
    """A message held by a link, with its wire and its order in the kernel, 0 for any."""

    sent_at: int
    wire: int
    order: int
    payload: Payload
    number: int
    """How many connections the two had opened."""

    @property
    def connection(self) -> ConnectionKey:
        """The connection that it was sent on."""
        return (self.wire, self.sender_life, self.number)

    @property
    def sender_life(self) -> int:
        """Incarnation of the sender."""
        incarnation: int = self.payload[1]
        return incarnation


class Link:
    """One direction between two processes, with the wires of all their connections."""

    __slots__ = (
        "_jitter",
        "_latency",
        "_seed",
        "cuts",
        "fault_state",
        "held",
        "lag",
        "name",
        "opened",
        "ready",
        "source",
        "target",
        "used",
        "wire",
        "wires",
    )  # fmt: skip

    def __init__(self, seed: int, source: Process, target: Process, latency: int, jitter: int) -> None:
        self.source = source
        self.target = target
        self.name = name = f"{source.name}>{target.name}"
        self.lag: tuple[tuple[int, int, int], ...] = ()
        """(fault, latency, jitter) of each addition by a fault."""
        self.used = False
        """Whether a connection exists: a message has passed since the last reset."""
        self.opened = 0
        """Number of connections between the two that one has requested and the other accepted."""
        self.ready = False
        """Whether it is used, neither cut nor disturbed, and holds nothing: all that a sender must check."""
        self.fault_state: LinkFaultState | None = None
        """Other effects of faults, managed by :mod:`cluster_model.kernel.link_faults`."""
        self.cuts: tuple[int, ...] = ()
        """Faults that cut it; while there is one, nothing passes."""
        self.held: list[HeldMessage] = []
        """Messages sent while it is cut, and those behind them on their connections, oldest first."""
        self._seed = seed
        self._latency = latency
        self._jitter = jitter
        self.wire = Channel(seed, f"link:{name}", latency, jitter)
        self.wires = [self.wire]

    def new_wire(self, name: str) -> Channel:
        """Create a wire for a connection of its own beside the shared one."""
        wire = Channel(self._seed, f"link:{self.name}/{name}", *self._spread())
        self.wires.append(wire)
        return wire

    def _spread(self) -> tuple[int, int]:
        latency = self._latency + sum(extra for _fault, extra, _jitter in self.lag)
        return latency, self._jitter + sum(jitter for _fault, _extra, jitter in self.lag)

    def slow_down(self, lag: tuple[tuple[int, int, int], ...]) -> None:
        """Set the additions of faults to the delays of messages sent from now on."""
        if lag != self.lag:
            self.lag = lag
            for wire in self.wires:
                wire.spread(*self._spread())

    def use(self) -> bool:
        """Mark the link as used by a message; returns whether it is ready."""
        self.used = True
        return self.update_ready()

    def update_ready(self) -> bool:
        """Set and return :attr:`ready` after a change."""
        self.ready = self.used and not self.cuts and self.fault_state is None and not self.held
        return self.ready

    def close(self) -> None:
        """Mark the link's connections as closed."""
        self.used = self.ready = False

    def cut(self, fault: int) -> None:
        """Cut the link from now on; messages in flight still arrive."""
        if fault not in self.cuts:
            self.cuts = (*self.cuts, fault)
        self.ready = False

    def heal(self, fault: int, kernel: EventLoop) -> None:
        """Undo :meth:`cut` by that fault; after the last fault held messages pass when TCP retransmits them."""
        self.cuts = tuple(other for other in self.cuts if other != fault)
        if self.cuts:
            return
        self.update_ready()
        oldest: dict[ConnectionKey, int] = {}
        for message in self.held:
            oldest.setdefault(message.connection, message.sent_at)
        for connection, sent_at in oldest.items():
            at = next_retransmission(sent_at, kernel.now)
            kernel.schedule(at, RETRANSMIT, self.target.id, (self.source.id, connection))

    def retransmit(self, connection: ConnectionKey, kernel: EventLoop) -> None:
        """Send the held messages of a connection, in order, unless the link is cut again."""
        if self.cuts:
            return
        passing = [message for message in self.held if message.connection == connection]
        if not passing:
            return
        first = self.held[0]
        self.held = [message for message in self.held if message.connection != connection]
        if self.held and self.held[0] is not first:
            self._schedule_give_up(kernel)
        self.update_ready()
        for message in passing:
            self._pass(kernel, message.wire, message.order, message.payload)

    def _pass(self, kernel: EventLoop, wire: int, order: int, payload: Payload) -> None:
        if self.fault_state is not None:
            self.fault_state.carry(wire, order, payload)
            return
        at = self.wires[wire].arrival(kernel.now)
        if order:
            kernel.schedule_in_lane(at, order, MESSAGE, self.target.id, payload)
        else:
            kernel.schedule(at, MESSAGE, self.target.id, payload)

    def hold(self, kernel: EventLoop, wire: Channel, order: int, payload: Payload) -> None:
        """Hold a message while the link is cut or older ones of its connection are held; else let it pass.

        After :data:`GIVEN_UP_US` the connection breaks.
        """
        message = HeldMessage(kernel.now, self.wires.index(wire), order, payload, self.opened)
        if not self.cuts and all(other.connection != message.connection for other in self.held):
            self._pass(kernel, message.wire, order, payload)
            return
        self.held.append(message)
        self.ready = False
        if len(self.held) == 1:
            self._schedule_give_up(kernel)

    def _schedule_give_up(self, kernel: EventLoop) -> None:
        sent_at = self.held[0].sent_at
        kernel.schedule(sent_at + GIVEN_UP_US, GIVE_UP, self.target.id, (self.source.id, sent_at))

    def give_up(self, sent_at: int, kernel: EventLoop) -> int:
        """Close the connection whose oldest held message was sent then, and drop all of its held messages.

        Returns the sender's incarnation; -1 if that message is not held any more.
        """
        if not self.held or self.held[0].sent_at != sent_at:
            return -1
        incarnation = self.held[0].sender_life
        self.close()
        self.held = [message for message in self.held if message.sender_life != incarnation]
        if self.held:
            self.used = True
            self._schedule_give_up(kernel)
        self.update_ready()
        return incarnation

    def save(self) -> tuple[Any, ...]:
        """Return all state except that of exchanges' wires."""
        cut = (self.cuts, tuple(self.held)) if self.cuts or self.held else ()
        return (self.lag, self.used, self.wire.save(), cut, self.opened)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        lag, self.used, wire, cut, self.opened = saved
        self.slow_down(lag)
        self.wire.load(wire)
        self.cuts, held = cut or ((), ())
        self.held = list(held)
        self.update_ready()
