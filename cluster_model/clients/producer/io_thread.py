"""Callbacks that take time: they run on the thread that sends, takes answers and looks at the clock.

Until a callback returns none of that happens, for any partition: answers wait in the sockets, records in the
accumulator, and a batch whose time runs out meanwhile fails although its answer may be there (``Sender.runOnce``
expires batches before it polls).
"""

from typing import Any, Final

from cluster_model.clients.producer.delivery_stats import Books
from cluster_model.clients.producer.record_accumulator import Outgoing
from cluster_model.clients.producer.sender import Sender
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Port
from cluster_model.kernel.process import Node

CALLBACKS: Final = "callbacks"
"""The timer at which the callbacks that have been begun are through."""
Waiting = tuple[int, Any]
"""(who sent it, the message; None for a broken connection)."""


class IoThread:
    """Of a producer whose callbacks take time."""

    __slots__ = ("_callback_us", "_messages", "_port", "_timers", "_until", "busy", "sender")

    sender: Sender

    def __init__(self, port: Port, callback_us: int) -> None:
        """``callback_us`` is what one record's takes."""
        self._port = port
        self._callback_us = callback_us
        self._until = 0
        self.busy = False
        self._messages: list[Waiting] = []
        self._timers: list[Payload] = []

    def join(self, sender: Sender, books: Books) -> None:
        """What it stalls, and whom it hears of outcomes from."""
        self.sender = sender
        if isinstance(books, BooksWithCallbacks):
            books.io = self

    def ran(self, records: int) -> None:
        """A batch has its outcome: the callbacks of its records run one after the other, behind those before."""
        now = self._port.now
        self._until = max(self._until, now) + records * self._callback_us
        if not self.busy:
            self.busy = True
            self.sender.stall(on=True)
            self._port.timer(self._until - now, CALLBACKS)

    def keep(self, source: int, message: Any) -> None:
        """Something came meanwhile; None for a broken connection."""
        self._messages.append((source, message))

    def rang(self, timer: Payload, node: Node) -> None:
        """A timer of this thread while callbacks run; or they are through, and ``node`` hears what came meanwhile.

        The first thing then is to see whose time is over; messages come before timers, as in ``NetworkClient.poll``.
        """
        now = self._port.now
        if timer[0] != CALLBACKS:
            self._timers.append(timer)
        elif now < self._until:
            self._port.timer(self._until - now, CALLBACKS)
        else:
            self.busy = False
            self.sender.stall(on=False)
            self.sender.expire_batches(now)
            while self._messages and not self.busy:
                source, message = self._messages.pop(0)
                if message is None:
                    node.on_disconnect(source)
                else:
                    node.receive(source, message)
            while self._timers and not self.busy:
                self.sender.rang(self._timers.pop(0)[0])
            self.sender.pump()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._until, self.busy, tuple(self._messages), tuple(self._timers))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._until, self.busy, messages, timers = saved
        self._messages, self._timers = list(messages), list(timers)
        self.sender.stall(on=self.busy)


class BooksWithCallbacks(Books):
    """Every outcome is followed by the callbacks of the records."""

    __slots__ = ("io",)

    io: IoThread

    def acknowledged(self, now: int, batch: Outgoing, broker: int, epoch: int, offset: int, lineage: int) -> None:
        """The success callback."""
        super().acknowledged(now, batch, broker, epoch, offset, lineage)
        self.io.ran(batch.records)

    def gave_up(self, now: int, batch: Outgoing, error: str) -> None:
        """The error callback."""
        super().gave_up(now, batch, error)
        self.io.ran(batch.records)
