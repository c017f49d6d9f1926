"""A producer whose configuration has ``transactional.id``: its records are written in transactions, or not at all."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.producer import transacting, transactions
from cluster_model.clients.producer.delivery_stats import DIED
from cluster_model.clients.producer.ending import FOREVER_US
from cluster_model.clients.producer.lifetime import Unconfirmed
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.producer.sender import Sender
from cluster_model.clients.producer.transacting import Transacting
from cluster_model.clients.producer.transaction_manager import State
from cluster_model.clients.producer.transactional_books import TransactionalBooks
from cluster_model.clients.producer.transactional_sender import TransactionalSender
from cluster_model.kernel.event_loop import Payload
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import Message, PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import TransactionPlan

BEGIN: Final = "begin"
"""The timer at which the application starts."""
LET_GO: Final = "let go"
"""... and at which one that closes waits for its transaction no longer."""


class TransactionalProducer(Producer):
    """The node."""

    __slots__ = ("_ledger", "_let_go", "_profile", "_tx", "transacting")

    def __init__(self, profile: Profile, *parts: Any) -> None:
        """``parts`` are those of every producer."""
        self._profile = profile
        super().__init__(*parts)
        self._ledger.io = self._io
        self._let_go = False
        self.transacting = Transacting(
            self._port, self._spec.name, self._spec.transactions or TransactionPlan(), self._config, self._tx.manager,
            self._ledger, self._pump, parts[4],
        )  # fmt: skip

    def _make_books(self, emit: Callable[[Event], None]) -> TransactionalBooks:
        self._ledger = TransactionalBooks(
            self._spec.name, self._config.acks, emit, self._pace, self._wants, self._refused
        )  # fmt: skip
        return self._ledger

    def _make_sender(self, parts: tuple[Any, ...]) -> Sender:
        self._tx = TransactionalSender(self._profile, *parts)
        return self._tx

    def _wants(self, partition: str) -> None:
        self._tx.manager.wants(partition)

    def _refused(self, error: KafkaError) -> None:
        if self._tx.manager.state is State.IN_TRANSACTION:
            self._tx.manager.batch_failed(error)

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant; with none if it starts later."""
        super().begin(states)
        self._port.timer(max(0, self._spec.start_us - self._port.now), BEGIN)

    def died(self) -> tuple[Unconfirmed, ...]:
        """The process was killed, and its transaction with it, unless its commit has been asked for."""
        unconfirmed = super().died()
        self.transacting.given_up(DIED)
        return unconfirmed

    def stop(self) -> None:
        """Make no more records; the transaction at hand is ended, what is on its way goes on."""
        self.transacting.finish()
        super().stop()

    def close(self, timeout_us: int = FOREVER_US) -> None:
        """``close(timeout)``, behind the commit of the transaction at hand; what has not ended by then is let go."""
        self.transacting.finish()
        if 0 < timeout_us < FOREVER_US and not self._ending.closing:
            self._port.timer(timeout_us, LET_GO)
        self._let_go = self._let_go or timeout_us <= 0
        super().close(timeout_us)
        self._look()

    @property
    def closed(self) -> bool:
        """Whether it has been closed, and has nothing more to do."""
        return super().closed and (self._let_go or self.transacting.idle)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if self._io is not None and self._io.busy:
            self._io.keep(source, message)
            return
        if not self._tx.heard(message):
            super().receive(source, message)
        elif self._waits:
            self._go_on()
        self._look()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        name = timer[0]
        if name == BEGIN:
            self.transacting.initialize()
        elif name == transacting.TIMER:
            self.transacting.rang()
        elif name == LET_GO:
            self._let_go = True
            self.transacting.given_up(KafkaError.REQUEST_TIMED_OUT.name)
        elif name == transactions.TIMER and self._ending.closed:
            self._tx.rang(name)
        else:
            super().on_timer(timer)
        self._look()

    def on_disconnect(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        if self._ending.closed:
            self._tx.disconnected(peer)
        else:
            super().on_disconnect(peer)
        self._look()

    def _look(self) -> None:
        """The application's thread goes on, unless it is in ``send``."""
        if not self._held and not self._owed:
            self.transacting.look()
            self._running = self._running and not self.transacting.ended

    def _pump(self) -> None:
        self._tx.hurry(self.transacting.waiting or self._ending.waits or bool(self._held))
        self._tx.pump()

    def _make(self) -> None:
        """It is time for the next records: they need a transaction."""
        stop = self._spec.stop_us
        if 0 <= stop <= self._port.clock.now:
            self.transacting.finish()
        elif self._running and not self._held and not self.transacting.open():
            self._pace.made()
            self._pace.blocked()
            return
        elif not self.transacting.waiting and not self._held and not self._ending.waits:
            self._tx.hurry(False)
        super()._make()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (super().save(), self.transacting.save(), self._let_go)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        producer, application, self._let_go = saved
        super().load(producer)
        self.transacting.load(application)
