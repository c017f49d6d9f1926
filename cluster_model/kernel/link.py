"""Links and wires: latency and order of messages from one process to another, and the shapes that faults give them.

A *wire* is one direction of one connection. Two processes share a wire for most of what they say; a standing exchange
(:mod:`cluster_model.kernel.long_poll`) has its own, as a replica fetcher has its own connection. A *link* is all wires
of a direction: latency, jitter and what faults add to them hold for each.

A link can be *cut*: its packets are dropped. What is sent then is held, as the sender's TCP keeps and repeats it.
What else faults do to it is a *trouble* (:mod:`cluster_model.kernel.link_faults`), which then carries what is sent.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import Kernel, Payload
from cluster_model.kernel.process import GIVE_UP, MESSAGE, Process
from cluster_model.kernel.rng import BLOCK, draws

# Shapes: what faults do to messages between two processes, one direction at a time.
#
# A *shape* is what one fault does. A *trouble* is all shapes of a direction together, and what is left of them for a
# while after they are healed: answers that are late already, connections that are broken and not known to be.


MILLION: Final = 1_000_000

OUT: Final = 1
INTO: Final = 2
"""Whose network card a limit stands for: the sender's, the receiver's; added up for both."""

REQUEST: Final = 0
ANSWER: Final = 1
STRICT_ANSWER: Final = 2
OTHER: Final = 3
"""What a message is to a connection: somebody's question, an answer, an answer whose receiver closes the connection
when it comes twice, or neither."""


class Measures(NamedTuple):
    """What the network must know of messages that it otherwise only carries."""

    size: Callable[[Any], int]
    """Bytes on the wire."""
    kind: Callable[[Any], int]
    """One of :data:`REQUEST`, :data:`ANSWER`, :data:`STRICT_ANSWER`, :data:`OTHER`."""


class Shape(NamedTuple):
    """What one fault does to one direction; nothing by default."""

    rate: int = 0
    """Bytes per second, 0 for no limit."""
    cards: int = 0
    """The limit is one for all links of a network card: :data:`OUT`, :data:`INTO`, or both; 0: for this link alone."""
    loss: int = 0
    """Packets that are lost, in millionths."""
    answer_us: int = 0
    """How much later answers arrive ..."""
    answer_jitter_us: int = 0
    """... and the most that chance adds."""
    repeats: int = 0
    """Answers that arrive twice, in millionths."""
    close_us: int = 0
    """How much later the receiver hears that a connection was closed."""
    sender: int = -1
    receiver: int = -1
    """Who owns the cards, where it is not the node at that end itself: two clients of one process share one."""


class LinkQueueKey(NamedTuple):
    """What messages queue for, as a place in the order in which they do: the link itself, then cards."""

    rank: int
    """0: the link; 1: the sender's card; 2: the receiver's."""
    one: int
    """The sender of the link, or the owner of the card."""
    other: int
    """The receiver of the link, -1 for a card."""
    fault: int
    """Whose limit the card has, 0 for a link: there the lowest holds."""


class Carry(Protocol):
    """Takes a message of a troubled link: its wire, its order (0 for any), and how much later it is sent."""

    def __call__(self, wire: int, order: int, payload: Payload, wait_us: int = 0) -> None:
        """Take it."""


class LinkFaultState:
    """All shapes of one direction, and what they have left behind."""

    __slots__ = (
        "answer_jitter_us", "answer_us", "answers_at", "believes", "carry", "close_us", "doomed", "lines", "loss",
        "repeats", "shapes",
    )  # fmt: skip

    def __init__(self, carry: Carry) -> None:
        self.carry = carry
        self.shapes: tuple[tuple[int, Shape], ...] = ()
        """(fault, what it does), oldest first."""
        self.answers_at: dict[int, int] = {}
        """Wire → when its last late answer arrives: no other overtakes it."""
        self.doomed: dict[int, int] = {}
        """Wire → number of the break to come: a segment was lost too often, nothing of this connection arrives."""
        self.believes = 0
        """Number of the late news that the sender's connection is closed, 0 for none: its requests lead nowhere."""
        self.shaped(0, 0, ())

    def shaped(self, source: int, target: int, shapes: tuple[tuple[int, Shape], ...]) -> None:
        """Let these faults shape it, and nothing else."""
        self.shapes = shapes
        each = [shape for _fault, shape in shapes]
        self.loss = either([shape.loss for shape in each])
        self.repeats = either([shape.repeats for shape in each])
        self.answer_us = sum(shape.answer_us for shape in each)
        self.answer_jitter_us = sum(shape.answer_jitter_us for shape in each)
        self.close_us = max((shape.close_us for shape in each), default=0)
        self.lines = lines_of(source, target, shapes)

    def over(self, now: int) -> bool:
        """Whether nothing of it is left."""
        gone = not self.shapes and not self.doomed and not self.believes
        return gone and all(at <= now for at in self.answers_at.values())

    def reset(self) -> None:
        """All connections of this direction are new ones."""
        self.answers_at.clear()
        self.doomed.clear()
        self.believes = 0

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.shapes, tuple(self.answers_at.items()), tuple(self.doomed.items()), self.believes)

    def load(self, source: int, target: int, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        shapes, answers_at, doomed, self.believes = saved
        self.shaped(source, target, tuple([(fault, Shape(*shape)) for fault, shape in shapes]))
        self.answers_at, self.doomed = dict(answers_at), dict(doomed)


def lines_of(source: int, target: int, shapes: tuple[tuple[int, Shape], ...]) -> dict[LinkQueueKey, int]:
    """What a message queues for on its way, in order, with the limit of each in bytes per second."""
    lines: dict[LinkQueueKey, int] = {}
    for fault, shape in shapes:
        if not shape.rate:
            continue
        sender = source if shape.sender < 0 else shape.sender
        receiver = target if shape.receiver < 0 else shape.receiver
        places = [LinkQueueKey(1, sender, -1, fault)] if shape.cards & OUT else []
        places += [LinkQueueKey(2, receiver, -1, fault)] if shape.cards & INTO else []
        for line in places or [LinkQueueKey(0, source, target, 0)]:
            lines[line] = min(lines.get(line, shape.rate), shape.rate)
    return {line: lines[line] for line in sorted(lines)}


def either(shares: list[int]) -> int:
    """How often any of these happens that do not depend on each other, in millionths."""
    total = 0
    for share in shares:
        total += share - total * share // MILLION
    return total


RETRANSMIT_US: Final = 200_000
"""From the mending of a link until what it held is sent again: Linux's shortest retransmission timeout (TCP_RTO_MIN).

Real ones double with every try, so that a long cut may take longer to be noticed to have ended.
"""
GIVEN_UP_US: Final = 30_000_000
"""After so long without having come through, the sender's system gives the connection up."""

_PATTERN: Final = -1
"""Number of the block that idle exchanges go by."""
_PATTERNS: Final = 1024
"""Most blocks of that number that are kept, some ten kilobytes each: a session's twins go by the same ones."""


def _delays_of(seed: int, name: str, number: int, latency: int, jitter: int) -> list[int]:
    """The delays of a block, in the order of its draws."""
    if not jitter:
        return [latency] * BLOCK
    bound = jitter + 1
    return [latency + (draw * bound >> 64) for draw in draws(seed, name, number)]


@lru_cache(maxsize=_PATTERNS)
def _pattern_of(seed: int, name: str, latency: int, jitter: int) -> tuple[int, ...]:
    return tuple(_delays_of(seed, name, _PATTERN, latency, jitter))


class Wire:
    """First in, first out. Every message draws its delay from the wire's own stream, a block of them at a time."""

    __slots__ = ("_block", "_delays", "_left", "_name", "_seed", "_spread", "arrives", "pattern")

    def __init__(self, seed: int, name: str, latency: int, jitter: int) -> None:
        self.arrives = 0
        """When the last message sent arrives: none overtakes it."""
        self.pattern: tuple[int, ...] = ()
        """Delays for messages of an idle exchange, over and over; read through :meth:`patterned`."""
        self._seed = seed
        self._name = name
        self._block = -1
        self._delays: list[int] = []
        """What is left of the block, the next one last; nothing while it is not drawn yet."""
        self._left = 0
        """How many of the block are to be drawn yet, once they are wanted: most wires of a keyframe stay silent."""
        self._spread = (latency, jitter)

    @property
    def name(self) -> str:
        """What its streams go by."""
        return self._name

    def spread(self, latency: int, jitter: int) -> None:
        """From now on a delay is ``latency`` and between nothing and ``jitter`` on top."""
        self._spread = (latency, jitter)
        self.pattern = ()
        self._left = len(self._delays) or self._left
        self._delays = []

    def _draw(self) -> list[int]:
        """What is left of the block, or the whole next one."""
        if not self._left:
            self._block += 1
            self._left = BLOCK
        delays = _delays_of(self._seed, self._name, self._block, *self._spread)
        self._delays = delays[BLOCK - self._left :][::-1]
        self._left = 0
        return self._delays

    def patterned(self) -> tuple[int, ...]:
        """The delays of an idle exchange's messages, in turn."""
        if not self.pattern:
            self.pattern = _pattern_of(self._seed, self._name, *self._spread)
        return self.pattern

    def idle_arrival(self, now: int, messages: int) -> int:
        """When an idle exchange's message sent now arrives, after so many of them."""
        self.arrives = at = max(now + self.patterned()[messages % BLOCK], self.arrives)
        return at

    def arrival(self, now: int) -> int:
        """When a message sent now arrives."""
        delays = self._delays
        if not delays:
            delays = self._draw()
        at = now + delays.pop()
        if at < self.arrives:
            at = self.arrives
        self.arrives = at
        return at

    def save(self) -> tuple[int, int, int]:
        """All state but the delays, which are the link's."""
        return (self._block, len(self._delays) or self._left, self.arrives)

    def load(self, saved: tuple[int, int, int]) -> None:
        """Undo of :meth:`save`, after the link's."""
        self._block, self._left, self.arrives = saved
        self._delays = []


class Held(NamedTuple):
    """A message that waits for its link: on which wire, and in which place of the kernel's order, 0 for any."""

    sent_at: int
    wire: int
    order: int
    payload: Payload

    @property
    def sender_life(self) -> int:
        """Incarnation of who sent it."""
        life: int = self.payload[1]
        return life


class Link:
    """One direction between two processes."""

    __slots__ = (
        "_jitter", "_latency", "_seed", "again_us", "cuts", "held", "lag", "name", "ready", "source", "target",
        "trouble", "used", "wire", "wires",
    )  # fmt: skip

    def __init__(self, seed: int, source: Process, target: Process, latency: int, jitter: int) -> None:
        self.source = source
        self.target = target
        self.name = name = f"{source.name}>{target.name}"
        self.lag: tuple[tuple[int, int, int], ...] = ()
        """Added by faults: (fault id, latency, jitter)."""
        self.used = False
        """Whether a connection stands: a message has passed since the last reset."""
        self.ready = False
        """Used and neither cut nor troubled: all that a sender must look at."""
        self.trouble: LinkFaultState | None = None
        """What other faults do to it, kept by :mod:`cluster_model.kernel.link_faults`."""
        self.cuts: tuple[int, ...] = ()
        """Faults that cut it; while there is one, nothing passes."""
        self.held: list[Held] = []
        """What was sent meanwhile, oldest first."""
        self.again_us = 0
        """When what was held last was, or will be, sent again."""
        self._seed = seed
        self._latency = latency
        self._jitter = jitter
        self.wire = Wire(seed, f"link:{name}", latency, jitter)
        self.wires = [self.wire]

    def new_wire(self, name: str) -> Wire:
        """A connection of its own beside the shared one."""
        wire = Wire(self._seed, f"link:{self.name}/{name}", *self._spread())
        self.wires.append(wire)
        return wire

    def _spread(self) -> tuple[int, int]:
        latency = self._latency + sum(extra for _fault, extra, _jitter in self.lag)
        return latency, self._jitter + sum(jitter for _fault, _extra, jitter in self.lag)

    def slow_down(self, lag: tuple[tuple[int, int, int], ...]) -> None:
        """Let faults add this, and nothing else, to the delays of what is sent from now on."""
        if lag != self.lag:
            self.lag = lag
            for wire in self.wires:
                wire.spread(*self._spread())

    def use(self) -> bool:
        """A message is sent; whether it passes as ever."""
        self.used = True
        self.ready = not self.cuts and self.trouble is None
        return self.ready

    def close(self) -> None:
        """No connection stands any more."""
        self.used = self.ready = False

    def cut(self, fault: int) -> None:
        """Let nothing pass from now on; what is on its way has passed."""
        if fault not in self.cuts:
            self.cuts = (*self.cuts, fault)
        self.ready = False

    def mend(self, fault: int, kernel: Kernel) -> None:
        """Undo of :meth:`cut`; with the last fault gone, what was held is sent again, in order."""
        self.cuts = tuple(other for other in self.cuts if other != fault)
        if self.cuts:
            return
        self.ready = self.used and self.trouble is None
        held, self.held = self.held, []
        if held:
            self.again_us = kernel.now + RETRANSMIT_US
        for message in held:
            if self.trouble is not None:
                self.trouble.carry(message.wire, message.order, message.payload, RETRANSMIT_US)
                continue
            at = self.wires[message.wire].arrival(kernel.now + RETRANSMIT_US)
            if message.order:
                kernel.schedule_in_lane(at, message.order, MESSAGE, self.target.id, message.payload)
            else:
                kernel.schedule(at, MESSAGE, self.target.id, message.payload)

    def hold(self, kernel: Kernel, wire: Wire, order: int, payload: Payload) -> None:
        """Keep a message until the link is mended, or for :data:`GIVEN_UP_US`; on one that is not cut, carry it."""
        if self.trouble is not None and not self.cuts:
            self.trouble.carry(self.wires.index(wire), order, payload)
            return
        self.held.append(Held(kernel.now, self.wires.index(wire), order, payload))
        if len(self.held) == 1:
            self._await_end(kernel)

    def _await_end(self, kernel: Kernel) -> None:
        sent_at = self.held[0].sent_at
        kernel.schedule(sent_at + GIVEN_UP_US, GIVE_UP, self.target.id, (self.source.id, sent_at))

    def give_up(self, sent_at: int, kernel: Kernel) -> int:
        """The oldest that waits was sent then: its connection is given up, with all that was sent on it.

        Returns the sender's incarnation; -1 if that message does not wait any more.
        """
        if not self.held or self.held[0].sent_at != sent_at:
            return -1
        life = self.held[0].sender_life
        self.close()
        self.held = [message for message in self.held if message.sender_life != life]
        if self.held:
            self.used = True
            self._await_end(kernel)
        return life

    def save(self) -> tuple[Any, ...]:
        """All state but that of exchanges' wires."""
        cut = (self.cuts, tuple(self.held), self.again_us) if self.cuts or self.again_us else ()
        return (self.lag, self.used, self.wire.save(), cut)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        lag, self.used, wire, cut = saved
        self.slow_down(lag)
        self.wire.load(wire)
        cuts, held, self.again_us = cut or ((), (), 0)
        self.cuts = cuts
        self.held = list(held)
        self.ready = self.used and not cuts and self.trouble is None
