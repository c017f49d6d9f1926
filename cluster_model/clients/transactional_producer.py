"""A producer whose configuration has ``transactional.id``: its records are written in transactions, or not at all."""

from collections.abc import Callable
from typing import Any

from cluster_model.clients import transacting
from cluster_model.clients.producer import Producer
from cluster_model.clients.sender import Sender
from cluster_model.clients.transacting import Transacting
from cluster_model.clients.transactional_books import TransactionalBooks
from cluster_model.clients.transactional_sender import TransactionalSender
from cluster_model.events import Event
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.streams import Stream
from cluster_model.messages import Message
from cluster_model.profiles import Profile
from cluster_model.spec import TransactionPlan

BEGIN = "begin"
"""The timer at which the application starts."""


class TransactionalProducer(Producer):
    """The node."""

    __slots__ = ("_io", "_ledger", "_profile", "transacting")

    def __init__(self, profile: Profile, *parts: Any) -> None:
        """``parts`` are those of every producer."""
        self._profile = profile
        super().__init__(*parts)
        self.transacting = Transacting(
            self._port, self._spec.name, self._spec.transactions or TransactionPlan(), self._config,
            self._io.manager, self._ledger,
            self._pump, parts[5],
        )  # fmt: skip

    def _make_books(self, emit: Callable[[Event], None]) -> TransactionalBooks:
        self._ledger = TransactionalBooks(self._spec.name, self._config.acks, emit, self._pace, self._wants)
        return self._ledger

    def _make_sender(self, brokers: tuple[int, ...], jitter: Stream) -> Sender:
        self._io = TransactionalSender(
            self._profile, self._port, self._spec, self._config, brokers, self._accumulator, self._books, jitter,
            self._sizes,
        )  # fmt: skip
        return self._io

    def _wants(self, partition: str) -> None:
        self._io.manager.wants(partition)

    @property
    def aborted(self) -> int:
        """Records that went with their transactions."""
        return self._ledger.aborted

    def _begin_pace(self) -> None:
        self._port.timer(self._spec.start_us, BEGIN)
        super()._begin_pace()

    def stop(self) -> None:
        """Make no more records; the transaction at hand is ended, what is on its way goes on."""
        super().stop()
        self.transacting.finish()

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if not self._io.heard(message):
            super().receive(source, message)
        elif self._waits:
            self._go_on()
        self._look()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        if timer[0] == BEGIN:
            self.transacting.initialize()
        elif timer[0] == transacting.TIMER:
            self.transacting.rang()
        else:
            super().on_timer(timer)
        self._look()

    def on_disconnect(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        super().on_disconnect(peer)
        self._look()

    def _look(self) -> None:
        """The application's thread goes on, unless it is in ``send``."""
        if not self._held and not self._owed:
            self.transacting.look()
            self._running = self._running and not self.transacting.ended

    def _pump(self) -> None:
        self._io.hurry = self.transacting.waiting
        self._io.pump()

    def _make(self) -> None:
        """It is time for the next records: they need a transaction."""
        stop = self._spec.stop_us
        if 0 <= stop <= self._port.clock.now:
            self.transacting.finish()
        elif self._running and not self._held and not self.transacting.open():
            self._pace.made()
            self._pace.blocked()
            return
        self._io.hurry = self.transacting.waiting
        super()._make()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (super().save(), self.transacting.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        producer, application = saved
        super().load(producer)
        self.transacting.load(application)
