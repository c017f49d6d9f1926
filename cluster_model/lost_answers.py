"""What stands between a producer and the network while answers to it get lost on their way.

The leader has appended the batch, and its answer has been sent. A middlebox that resets the connection then takes the
answer away: all the producer sees is a connection that breaks. Other requests on it are in the same case: nobody knows
whether they were carried out, and their answers come for nobody.
"""

from collections.abc import Callable
from typing import Protocol

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.process import Node
from cluster_model.kernel.wall_clocks import Clocked
from cluster_model.protocol.messages import Message, ProduceResponse


class Waiting(Protocol):
    """A producer, as far as it matters here."""

    def awaits(self, number: int) -> bool:
        """Whether the answer to that message is still waited for."""
        ...


class LostAnswers:
    """In the place of the producer's node; everything but the answers that get lost goes through."""

    def __init__(self, node: Node, producer: Waiting, loses: Callable[[str], bool]) -> None:
        """``loses``: whether the answer about a partition gets lost; it is asked once for each."""
        self._node = node
        self._producer = producer
        self._loses = loses

    def receive(self, source: int, message: Message) -> None:
        """Handle a message, or the loss of it."""
        if (
            isinstance(message, ProduceResponse)
            and not message.error
            and self._producer.awaits(message.correlation)
            and self._loses(message.partition)
        ):
            self._node.on_disconnect(source)
        else:
            self._node.receive(source, message)

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        self._node.on_timer(timer)

    def on_disconnect(self, peer: int) -> None:
        """A connection broke."""
        self._node.on_disconnect(peer)

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """The machine's clock was set."""
        if isinstance(self._node, Clocked):
            self._node.clock_stepped(by, runs=runs)
