"""What is left of a producer whose process is killed, and what the next process of its application takes over."""

from cluster_model.clients.books import Counted
from cluster_model.clients.sender import Sender
from cluster_model.kernel.port import Port

Unconfirmed = tuple[str, int, int]
"""(partition, number of the first, how many) of records whose application was never told what became of them."""


class Mortal(Counted):
    """A part of a producer."""

    __slots__ = ("_port", "_sender")

    _port: Port
    _sender: Sender

    def died(self) -> tuple[Unconfirmed, ...]:
        """The process was killed. What its application had not been told the outcome of, in the order of sending."""
        now = self._port.now
        accumulator = self._accumulator
        waiting = [batch for line in accumulator.busy.values() for batch in line.waiting]
        place = {name: index for index, name in enumerate(accumulator.lines)}
        batches = sorted((*self._sender.flights(), *waiting), key=lambda each: (place[each.partition], each.sequence))
        for batch in batches:
            self._books.died(now, batch)
        return tuple([(batch.partition, batch.sequence, batch.records) for batch in batches])

    def succeed(self, former: "Mortal") -> None:
        """Be the next process of the same application: of the former one it has nothing but what is counted."""
        self._books.load(former._books.save())
        self._accumulator.number_on(former._accumulator)

    def send_again(self, records: tuple[Unconfirmed, ...]) -> None:
        """``send`` what an earlier process was not told the outcome of, under the numbers that it had there."""
        now = self._port.now
        for partition, number, count in records:
            self._accumulator.again(partition, number, count, now)
            self._books.made(now, partition, number, count)
        self._sender.pump()
