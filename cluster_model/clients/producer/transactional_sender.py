"""The I/O thread of a transactional producer: its coordinator is heard first (``Sender.runOnce``)."""

from typing import Any

from cluster_model.clients.producer.producer_id import IdRequest
from cluster_model.clients.producer.sender import Sender
from cluster_model.clients.producer.transaction_manager import State, TransactionManager
from cluster_model.clients.producer.transactional_books import BY_WISH
from cluster_model.clients.producer.transactional_sequences import TransactionalSequences
from cluster_model.clients.producer.transactions import TIMER, Transactions, rules_of
from cluster_model.protocol.batch import TRANSACTIONAL
from cluster_model.protocol.messages import ProduceResponse
from cluster_model.protocol.versions import Profile


class _NoRequest(IdRequest):
    """The application asks for an id, through its manager."""

    __slots__ = ()

    def want(self) -> None:
        """No broker will do but the coordinator."""


class TransactionalSender(Sender):
    """Sends nothing outside of a transaction, and says whose it is."""

    __slots__ = ("control", "manager")

    def __init__(self, profile: Profile, *parts: Any) -> None:
        """``parts`` are those of every sender."""
        super().__init__(*parts)
        config = self._config
        rules = rules_of(profile, config)
        self.manager = TransactionManager(
            config.transactional_id, config.transaction_timeout_us, config.backoff_us, rules
        )  # fmt: skip
        self.control = Transactions(self._port, config, self.metadata, self.manager)
        self._id_request = _NoRequest(
            self._port, self.metadata, backoff_us=config.backoff_us, timeout_us=config.request_timeout_us
        )
        self._sequences = TransactionalSequences(config.era, self.manager)
        self._manner = (TRANSACTIONAL, -1, config.transactional_id, rules.versions[0])

    def _busy(self, broker: int) -> bool:
        return super()._busy(broker) or self.control.busy(broker)

    def pump(self) -> None:
        """Send what may be sent, requests to the coordinator first."""
        if self._stalled:
            return
        manager, sequences = self.manager, self._sequences
        if sequences.unsettled:
            sequences.settle()
        why = manager.error.name if manager.error else BY_WISH
        if manager.state in (State.ABORTABLE_ERROR, State.ABORTING):
            self._abandon(why)
        elif manager.state is State.FATAL_ERROR:
            self.abort(why)
        self.control.pump(idle=self._accumulator.unsettled == 0)
        if (manager.producer_id, manager.epoch) != (sequences.producer_id, sequences.epoch):
            sequences.given(manager.producer_id, manager.epoch)
        super().pump()

    def _abandon(self, error: str) -> None:
        """Give up what has not been sent yet (``abortUndrainedBatches``)."""
        now = self._port.clock.now
        for line in tuple(self._accumulator.busy.values()):
            for batch in tuple(line.waiting):
                if batch.producer_id < 0:
                    self._accumulator.drop(batch)
                    self._accumulator.settle(batch)
                    self._books.gave_up(now, batch, error)

    def heard(self, message: Any) -> bool:
        """Handle an answer of a coordinator; False if it is none."""
        if not self.control.receive(message):
            return False
        self.pump()
        return True

    def answered(self, response: ProduceResponse) -> None:
        """A broker's word on a batch: behind the last one the transaction may end."""
        super().answered(response)
        if self._accumulator.unsettled == 0:
            self.pump()

    def rang(self, name: str) -> None:
        """A timer of this thread."""
        if name != TIMER:
            super().rang(name)
            return
        for broker in self.control.rang():
            self._port.reconnect(broker)
            self._port.abandon(broker)
            self.control.lost(broker)
            self._connection_lost(broker, -1)
            self.metadata.avoid(broker)
            self.metadata.refresh()
        self.pump()

    def _connection_lost(self, broker: int, timed_out: int) -> None:
        if timed_out >= 0:
            self._port.reconnect(broker)
        super()._connection_lost(broker, timed_out)

    def disconnected(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        self.control.lost(peer)
        super().disconnected(peer)

    def save(self) -> tuple[Any, ...]:
        """All state, the accumulator's included."""
        return (super().save(), self.control.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        sender, control = saved
        super().load(sender)
        self.control.load(control)
