"""Where faults act on clients: on their applications, their connections, and responses lost on the way.

Nothing of it is in a client's own memory: a process that ends leaves it behind, and the next one finds it again. What
several faults do to one client adds up. The exception is a pause of partitions (``Consumer.pause``): it is the
consumer's own, and gone with it.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from cluster_model.client_factory import ClientContext
from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.clients.consumer.record_handler import WHOLE, HandlerFault
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.workload import USUAL_PPM
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.process import Node
from cluster_model.kernel.wall_clocks import Clocked
from cluster_model.protocol.messages import Message, ProduceResponse

# Responses to a producer that are lost on the way.
#
# The leader has appended the batch, and its answer has been sent. A middlebox that resets the connection then takes
# the answer away: all the producer sees is a connection that breaks. Other requests on it are in the same case:
# nobody knows whether they were carried out, and their answers come for nobody.


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


STALL: Final = "stall"
SLOW: Final = "slow"
TROUBLE: Final = "trouble"
PACE: Final = "pace"
HEAT: Final = "heat"
LOST: Final = "lost"
INSTANCE: Final = "instance"
KINDS: Final = (STALL, SLOW, TROUBLE, PACE, HEAT, LOST, INSTANCE)


class ClientFaults:
    """Of all clients, by node."""

    def __init__(
        self,
        ground: ClientContext,
        names: dict[int, str],
        producers: dict[str, Producer],
        consumers: dict[str, Consumer],
    ) -> None:
        """The tables are those of :class:`~cluster_model.client_processes.ClientProcesses`."""
        self._ground = ground
        self._names = names
        self._producers = producers
        self._consumers = consumers
        self._laid: dict[tuple[str, int], tuple[tuple[Any, ...], ...]] = {}
        """(kind, node) → (fault, what it does) of each, in the order in which they came."""

    def _lay(self, kind: str, node: int, fault: int, *what: Any) -> None:
        others = [each for each in self._laid.get((kind, node), ()) if each[0] != fault]
        self._laid[kind, node] = (*others, (fault, *what))
        self.tell(node)

    def _of(self, kind: str, node: int) -> tuple[tuple[Any, ...], ...]:
        return self._laid.get((kind, node), ())

    def lift(self, node: int, fault: int) -> None:
        """Take away whatever a fault has laid on a client."""
        for kind in KINDS:
            left = tuple([each for each in self._of(kind, node) if each[0] != fault])
            if left:
                self._laid[kind, node] = left
            else:
                self._laid.pop((kind, node), None)
        self.tell(node)

    # -- consumers -------------------------------------------------------------------------------------------------

    def stall(self, node: int, fault: int, more_us: int) -> None:
        """Let a consumer's application take that much longer for the records of every poll."""
        self._lay(STALL, node, fault, more_us)

    def slow(self, node: int, fault: int, more_us: int, factor_ppm: int) -> None:
        """Let it take ``factor_ppm`` millionths of the time for every record, and so much more on top."""
        self._lay(SLOW, node, fault, more_us, factor_ppm)

    def fail(self, node: int, fault: int, trouble: HandlerFault) -> None:
        """Let its handler fail."""
        self._lay(TROUBLE, node, fault, *trouble)

    def pause(self, node: int, fault: int) -> None:
        """Have its application pause what it is assigned now."""
        self._consumers[self._names[node]].pause(fault)

    def resume(self, node: int, fault: int) -> None:
        """Have it resume what is left of that."""
        self._consumers[self._names[node]].resume(fault)

    def claim(self, node: int, fault: int, instance: str) -> None:
        """Let the next processes of a member have another ``group.instance.id``."""
        self._lay(INSTANCE, node, fault, instance)

    def instance(self, node: int) -> str:
        """The ``group.instance.id`` that its next process has by a fault, empty for its own."""
        claimed = self._of(INSTANCE, node)
        return str(claimed[-1][1]) if claimed else ""

    # -- producers -------------------------------------------------------------------------------------------------

    def pace(self, node: int, fault: int, ppm: int) -> None:
        """Let a producer's application make so many millionths of its usual records."""
        self._lay(PACE, node, fault, ppm)

    def heat(self, node: int, fault: int, key: int, share_ppm: int) -> None:
        """Let one of its keys have so many of its records; only where :attr:`Producer.keyed`."""
        self._lay(HEAT, node, fault, key, share_ppm)

    def lose_acks(self, node: int, fault: int, count: int, partition: str = "") -> None:
        """Let the next ``count`` answers to it get lost, those about ``partition`` only unless that is empty."""
        self._lay(LOST, node, fault, count, partition)

    def acks_to_lose(self, node: int, fault: int) -> int:
        """How many more answers will get lost by that fault."""
        return sum(int(left) for each, left, _partition in self._of(LOST, node) if each == fault)

    def _loses(self, node: int, partition: str) -> bool:
        entries = self._of(LOST, node)
        for place, (fault, left, only) in enumerate(entries):
            if left and only in ("", partition):
                self._laid[LOST, node] = (*entries[:place], (fault, left - 1, only), *entries[place + 1 :])
                return True
        return False

    # -- telling those that are there ------------------------------------------------------------------------------

    def tell(self, node: int) -> None:
        """The client's present process is to be as faults have it now."""
        name = self._names[node]
        if name in self._consumers:
            self._tell_consumer(node, self._consumers[name])
        else:
            self._tell_producer(node, self._producers[name])

    def _tell_consumer(self, node: int, consumer: Consumer) -> None:
        handling = consumer.handling
        handling.stall_us = sum(more for _fault, more in self._of(STALL, node))
        handling.slower_us = sum(more for _fault, more, _factor in self._of(SLOW, node))
        factor = WHOLE
        for _fault, _more, each in self._of(SLOW, node):
            factor = factor * each // WHOLE
        handling.factor_ppm = factor
        handling.troubles = tuple([HandlerFault(*each) for _fault, *each in self._of(TROUBLE, node)])

    def _tell_producer(self, node: int, producer: Producer) -> None:
        ppm = USUAL_PPM
        for _fault, each in self._of(PACE, node):
            ppm = ppm * each // USUAL_PPM
        producer.pace(ppm)
        producer.heat(tuple([(key, share) for _fault, key, share in self._of(HEAT, node)]))
        self.guard(node)

    def guard(self, node: int) -> None:
        """Stand before whatever runs on the producer's node, if answers to it get lost."""
        process = self._ground.network.processes[node]
        if self._of(LOST, node) and not isinstance(process.node, LostAnswers):
            producer = self._producers[self._names[node]]
            process.run(LostAnswers(process.node, producer, lambda partition: self._loses(node, partition)))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._laid.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; clients are to be told when they are loaded."""
        self._laid = dict(saved)
