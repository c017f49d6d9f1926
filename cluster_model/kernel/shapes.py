"""What faults do to what passes between two processes, one direction at a time; a direction without any has none.

A *shape* is what one fault does. A *trouble* is all shapes of a direction together, and what is left of them for a
while after they are healed: answers that are late already, connections that are broken and not known to be.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import Payload

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


class Line(NamedTuple):
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


class Trouble:
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


def lines_of(source: int, target: int, shapes: tuple[tuple[int, Shape], ...]) -> dict[Line, int]:
    """What a message queues for on its way, in order, with the limit of each in bytes per second."""
    lines: dict[Line, int] = {}
    for fault, shape in shapes:
        if not shape.rate:
            continue
        sender = source if shape.sender < 0 else shape.sender
        receiver = target if shape.receiver < 0 else shape.receiver
        places = [Line(1, sender, -1, fault)] if shape.cards & OUT else []
        places += [Line(2, receiver, -1, fault)] if shape.cards & INTO else []
        for line in places or [Line(0, source, target, 0)]:
            lines[line] = min(lines.get(line, shape.rate), shape.rate)
    return {line: lines[line] for line in sorted(lines)}


def either(shares: list[int]) -> int:
    """How often any of these happens that do not depend on each other, in millionths."""
    total = 0
    for share in shares:
        total += share - total * share // MILLION
    return total
