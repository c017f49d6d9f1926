"""The producer of an application that reads, processes and writes: it sends when the application asks.

It writes when it is asked to: as many records as there were in a poll. A transactional one begins a transaction, sends
them, sends the offsets behind what they were made from (``sendOffsetsToTransaction``), and commits. One without
transactions sends them and flushes; its consumer commits on its own.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.producer.transaction_manager import ProducerTransactionState, TransactionOffsets
from cluster_model.clients.producer.transactional_producer import TransactionalProducer
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import Stream
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import Message
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ProducerSpec, TransactionPlan

# A producer beside a consumer's application: it sends when it is asked to, without timers of its own.


class DrivenProducer(Producer):
    """The node; whatever happens to it, its application may have something to do."""

    __slots__ = ()

    @property
    def spec(self) -> ProducerSpec:
        """What it was made from."""
        return self._spec

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        super().receive(source, message)
        self._look()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        super().on_timer(timer)
        self._look()

    def on_disconnect(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        super().on_disconnect(peer)
        self._look()

    def _look(self) -> None:
        """Go on as far as the application can."""


SUFFIX: Final = ".output"
"""Behind a member's name: its producer's."""
BATCH: Final = 10
"""Records that are handed over at a time, so that none of them waits for more memory than there is."""
DRIVEN: Final = TransactionPlan(1 << 62)
"""Transactions end when the application says so, and by no count."""

WRITTEN: Final = "written"
"""All records are acknowledged, or committed with the offsets."""
NOT_WRITTEN: Final = "not written"
"""The transaction is aborted, or some record failed."""
FATAL: Final = "fatal"
"""The producer is of no more use."""

_IDLE: Final = 0
_OPENING: Final = 1
_SENDING: Final = 2
_OFFSETS: Final = 3
_ENDING: Final = 4


def nobody(_outcome: str) -> None:
    """Nobody wants to know."""


class PlainOutput(DrivenProducer):
    """The node, without transactions."""

    __slots__ = ("_failed_before", "_left", "_stage", "told")

    def __init__(
        self,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: Stream,
        partitioning: Stream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """The parameters are those of every producer."""
        super().__init__(port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
        self.told: Callable[[str], None] = nobody
        """Called with the outcome of every :meth:`write`."""
        self._stage = _IDLE
        self._left = 0
        self._failed_before = 0

    @property
    def ready(self) -> bool:
        """Whether the application may begin to poll."""
        return True

    def write(self, count: int, _offsets: TransactionOffsets) -> None:
        """Send so many records, and wait for all of them; not before the last call has its outcome."""
        self._stage = _SENDING
        self._left = count
        self._failed_before = self.failed + self.unknown
        self._look()

    def _look(self) -> None:
        """Go on as far as it can."""
        if self._stage == _SENDING:
            while self._left and not self._held:
                count = min(self._left, BATCH)
                self._left -= count
                self._hand_over(count, self._port.now)
            if not self._left and not self._held:
                self._stage = _ENDING
                self.flush()
        if self._stage == _ENDING and not self._held and not self._accumulator.unsettled:
            self._stage = _IDLE
            self.told(WRITTEN if self.failed + self.unknown == self._failed_before else NOT_WRITTEN)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (super().save(), self._stage, self._left, self._failed_before)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        producer, self._stage, self._left, self._failed_before = saved
        super().load(producer)


class TransactionalOutput(TransactionalProducer):
    """The node, with transactions."""

    __slots__ = ("_ended", "_left", "_offsets", "_stage", "told")

    def __init__(
        self,
        profile: Profile,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: Stream,
        partitioning: Stream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """The parameters are those of every transactional producer."""
        super().__init__(profile, port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
        self.told: Callable[[str], None] = nobody
        """Called with the outcome of every :meth:`write`, with FATAL at any time, and with nothing when it is ready."""
        self.transacting.on_end = self._on_end
        self._stage = _OPENING
        """At first a call of ``initTransactions``, with nothing to write."""
        self._left = 0
        self._offsets: TransactionOffsets | None = None
        self._ended = ""
        """How the transaction ended, until that has been told."""

    @property
    def spec(self) -> ProducerSpec:
        """What it was made from."""
        return self._spec

    @property
    def ready(self) -> bool:
        """Whether ``initTransactions`` has returned: what a process before it left open has been aborted."""
        return self._offsets is not None or self._stage != _OPENING

    def write(self, count: int, offsets: TransactionOffsets) -> None:
        """Write so many records in one transaction with the offsets; not before the last call has its outcome."""
        self._stage = _OPENING
        self._left = count
        self._offsets = offsets
        self._look()

    def _on_end(self, wanted: str) -> None:
        committed = NOT_WRITTEN if wanted == "abort" else WRITTEN
        self._ended = committed if wanted else FATAL

    def _look(self) -> None:
        """The application's thread goes on as far as it can."""
        super()._look()
        if self._stage != _IDLE and not self._ended and not self._held:
            self._advance()
            super()._look()
        if self._ended:
            ended, self._ended = self._ended, ""
            self._stage, self._left = _IDLE, 0
            self.told(ended)

    def _advance(self) -> None:
        manager = self._tx.manager
        if self._stage == _OPENING:
            if manager.state is not ProducerTransactionState.READY:
                return
            if self._offsets is None:
                self._stage = _IDLE
                self.told("")
                return
            self.transacting.open()
            self._stage = _SENDING
        if self._stage == _SENDING:
            while self._left and not self._held and manager.state is ProducerTransactionState.IN_TRANSACTION:
                count = min(self._left, BATCH)
                self._left -= count
                self._hand_over(count, self._port.now)
            if not self._left and not self._held and manager.state is ProducerTransactionState.IN_TRANSACTION:
                assert self._offsets is not None
                self._stage = _OFFSETS
                manager.send_offsets(self._offsets)
                self._pump()
        if (
            self._stage == _OFFSETS
            and manager.state is ProducerTransactionState.IN_TRANSACTION
            and not manager.sends_offsets
        ):
            self._stage = _ENDING
            self.transacting.finish()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (super().save(), self._stage, self._left, self._offsets, self._ended)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        producer, self._stage, self._left, self._offsets, self._ended = saved
        super().load(producer)


Output = PlainOutput | TransactionalOutput
