"""Producers of a consume-process-produce application, which send only when the application calls them.

Each call writes as many records as a poll returned. A transactional producer begins a transaction, sends the records
and the consumed offsets (``sendOffsetsToTransaction``), and commits. One without transactions sends the records and
flushes; its consumer commits by itself.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.producer.transaction_manager import ProducerTransactionState, TransactionOffsets
from cluster_model.clients.producer.transactional_producer import TransactionalProducer
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import Message
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ProducerSpec, TransactionPlan

# A producer driven by a consumer's application: it makes no records by itself.


class DrivenProducer(Producer):
    """Base class of producers driven by an application, which may continue after every event of the producer."""

    __slots__ = ()

    @property
    def spec(self) -> ProducerSpec:
        """The specification that it was made from."""
        return self._spec

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        super().receive(source, message)
        self._proceed()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        super().on_timer(timer)
        self._proceed()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection: all requests in flight to ``peer`` failed without a response."""
        super().on_disconnect(peer)
        self._proceed()

    def _proceed(self) -> None:
        """Continue the application as far as possible."""


SUFFIX: Final = ".output"
"""Suffix of the producer's name after the name of the group member."""
BATCH: Final = 10
"""Records sent at a time, so that none of them waits for more memory than exists."""
DRIVEN: Final = TransactionPlan(1 << 62)
"""Plan of transactions that end only when the application ends them, not by a record count."""

WRITTEN: Final = "written"
"""Outcome: all records are acknowledged, or committed with the offsets."""
NOT_WRITTEN: Final = "not written"
"""Outcome: the transaction is aborted, or some record failed."""
FATAL: Final = "fatal"
"""Outcome: the producer had a fatal error and cannot be used any more."""

_IDLE: Final = 0
_OPENING: Final = 1
_SENDING: Final = 2
_OFFSETS: Final = 3
_ENDING: Final = 4


def ignore_outcome(_outcome: str) -> None:
    """Ignore the outcome."""


class PlainOutput(DrivenProducer):
    """An application-driven producer without transactions."""

    __slots__ = ("_failed_before", "_left", "_stage", "on_outcome")

    def __init__(
        self,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: RandomStream,
        partitioning: RandomStream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """Make it with the parameters of every producer."""
        super().__init__(port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
        self.on_outcome: Callable[[str], None] = ignore_outcome
        """Called with the outcome of every :meth:`write`."""
        self._stage = _IDLE
        self._left = 0
        self._failed_before = 0

    @property
    def ready(self) -> bool:
        """Whether the application may start to poll."""
        return True

    def write(self, count: int, _offsets: TransactionOffsets) -> None:
        """Send ``count`` records and wait for all of them; the previous call must have its outcome."""
        self._stage = _SENDING
        self._left = count
        self._failed_before = self.failed + self.unknown
        self._proceed()

    def _proceed(self) -> None:
        """Continue sending as far as possible."""
        if self._stage == _SENDING:
            while self._left and not self._held:
                count = min(self._left, BATCH)
                self._left -= count
                self._hand_over(count, self._port.now)
            if not self._left and not self._held:
                self._stage = _ENDING
                self.flush()
        if self._stage == _ENDING and not self._held and not self._accumulator.incomplete:
            self._stage = _IDLE
            self.on_outcome(WRITTEN if self.failed + self.unknown == self._failed_before else NOT_WRITTEN)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (super().save(), self._stage, self._left, self._failed_before)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        producer, self._stage, self._left, self._failed_before = saved
        super().load(producer)


class TransactionalOutput(TransactionalProducer):
    """An application-driven producer with one transaction per :meth:`write`."""

    __slots__ = ("_ended", "_left", "_offsets", "_stage", "on_outcome")

    def __init__(
        self,
        profile: Profile,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: RandomStream,
        partitioning: RandomStream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """Make it with the parameters of every transactional producer."""
        super().__init__(profile, port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
        self.on_outcome: Callable[[str], None] = ignore_outcome
        """Called with the outcome of every :meth:`write`, with FATAL at any time, and with "" when it becomes ready."""
        self.transacting.on_end = self._on_end
        self._stage = _OPENING
        """The first stage is ``initTransactions``, with nothing to write."""
        self._left = 0
        self._offsets: TransactionOffsets | None = None
        self._ended = ""
        """Outcome of the transaction that is not yet reported."""

    @property
    def spec(self) -> ProducerSpec:
        """The specification that it was made from."""
        return self._spec

    @property
    def ready(self) -> bool:
        """Whether ``initTransactions`` has returned: the open transaction of a former process is aborted."""
        return self._offsets is not None or self._stage != _OPENING

    def write(self, count: int, offsets: TransactionOffsets) -> None:
        """Write ``count`` records and the offsets in one transaction; the previous call must have its outcome."""
        self._stage = _OPENING
        self._left = count
        self._offsets = offsets
        self._proceed()

    def _on_end(self, wanted: str) -> None:
        committed = NOT_WRITTEN if wanted == "abort" else WRITTEN
        self._ended = committed if wanted else FATAL

    def _proceed(self) -> None:
        """Continue the application's thread as far as possible."""
        super()._proceed()
        if self._stage != _IDLE and not self._ended and not self._held:
            self._advance()
            super()._proceed()
        if self._ended:
            ended, self._ended = self._ended, ""
            self._stage, self._left = _IDLE, 0
            self.on_outcome(ended)

    def _advance(self) -> None:
        manager = self._tx.manager
        if self._stage == _OPENING:
            if manager.state is not ProducerTransactionState.READY:
                return
            if self._offsets is None:
                self._stage = _IDLE
                self.on_outcome("")
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
                self._send_ready()
        if (
            self._stage == _OFFSETS
            and manager.state is ProducerTransactionState.IN_TRANSACTION
            and not manager.sends_offsets
        ):
            self._stage = _ENDING
            self.transacting.finish()

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (super().save(), self._stage, self._left, self._offsets, self._ended)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        producer, self._stage, self._left, self._offsets, self._ended = saved
        super().load(producer)


Output = PlainOutput | TransactionalOutput
