"""A producer with ``transactional.id``, with its application, sender and delivery statistics (KIP-98)."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.clients.producer import transaction_manager
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partitioners import NodeLatencies
from cluster_model.clients.producer.producer import FORCED, FOREVER_US, UNSERIALIZED, Producer, Unconfirmed
from cluster_model.clients.producer.record_accumulator import ProducerBatch, RecordAccumulator, RecordsBySendTime
from cluster_model.clients.producer.sender import DIED, DeliveryStats, IoThread, Sender
from cluster_model.clients.producer.transaction_manager import TIMER as TRANSACTION_TIMER
from cluster_model.clients.producer.transaction_manager import (
    ProducerIdRequest,
    ProducerTransactionState,
    TransactionalSequences,
    TransactionManager,
    TransactionRequestSender,
    transaction_rules,
)
from cluster_model.clients.workload import Pacing, RecordSizes
from cluster_model.connections.network_client import NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    Event,
    ProducerFenced,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsUnknown,
    TransactionAborted,
    TransactionBegun,
    TransactionCommitted,
    TransactionLeftOpen,
    TransactionTimedOut,
    TransactionUnknown,
)
from cluster_model.protocol.messages import Message, PartitionState, ProduceResponse
from cluster_model.protocol.records import TRANSACTIONAL
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ProducerSpec, TransactionPlan

# Outcomes of a transactional producer's records, which are only final with the end of the transaction.
#
# A batch acknowledged by its leader waits for the end of the transaction. With a commit its records are *acked*, with
# an abort *aborted*; if it is unknown which one it was, they are *unknown*. Records that certainly were not written
# are *failed* at once.


ABORTED_BY_APPLICATION: Final = "TransactionAbortedException"
"""Error of records not yet sent when their transaction was aborted, without a Kafka error code."""


class _SentBatch(NamedTuple):
    """A batch that may be in the log; broker, epoch, offset and log branch are -1 if it was not acknowledged."""

    partition: str
    sequence: int
    records: int
    created_us: int
    together: tuple[RecordsBySendTime, ...]
    """Its records grouped by the time at which they were sent."""
    broker: int = -1
    leader_epoch: int = -1
    offset: int = -1
    log_branch: int = -1


class TransactionalDeliveryStats(DeliveryStats):
    """Delivery statistics of a transactional producer, where most outcomes come with the end of the transaction."""

    __slots__ = ("_refused", "_wants", "_written", "io", "open_records")

    def __init__(
        self,
        name: str,
        acks: int,
        emit: Callable[[Event], None],
        pace: Pacing,
        wants: Callable[[str], None],
        refused: Callable[[KafkaError], None],
    ) -> None:
        """Make empty statistics; ``wants`` is called with the partition of sent records, ``refused`` for errors."""
        super().__init__(name, acks, emit, pace)
        self._wants = wants
        self._refused = refused
        self.io: IoThread | None = None
        """I/O thread of a producer whose callbacks take time, else None."""
        self._written: list[_SentBatch] = []
        """Batches of the current transaction that may be in the log."""
        self.open_records = 0
        """Records sent since the transaction began."""

    def sent_records(self, now: int, partition: str, sequence: int, count: int) -> None:
        """Count records passed to ``send``."""
        super().sent_records(now, partition, sequence, count)
        if sequence >= 0:
            self.open_records += count
            self._wants(partition)

    def send_failed(self, now: int, where: str, count: int, error: str, waited: int) -> None:
        """Count records for which ``send`` failed.

        The transaction fails with them unless the application caused the error (``KafkaProducer.doSend``).
        """
        super().send_failed(now, where, count, error, waited)
        if error not in (UNSERIALIZED, FORCED):
            self._refused(KafkaError.__members__.get(error, KafkaError.REQUEST_TIMED_OUT))

    def acknowledged(
        self, now: int, batch: ProducerBatch, broker: int, epoch: int, offset: int, epoch_branch: int
    ) -> None:
        """Handle the success callback of a batch, whose outcome follows with the end of the transaction."""
        self._pace.settled(batch.records, now - batch.created_us)
        self._written.append(
            _SentBatch(
                batch.partition, batch.sequence, batch.records, batch.created_us, tuple(batch.by_send_time()), broker,
                epoch, offset, epoch_branch,
            )
        )  # fmt: skip
        if self.io is not None:
            self.io.run_callbacks(batch.records)

    def batch_failed(self, now: int, batch: ProducerBatch, error: str) -> None:
        """Handle the error callback; a batch that may be in the log has the outcome of the transaction."""
        self._pace.settled(batch.records, now - batch.created_us)
        self._over(now, batch, error)
        if self.io is not None:
            self.io.run_callbacks(batch.records)

    def process_died(self, now: int, batch: ProducerBatch) -> None:
        """Handle a batch of a killed process; :meth:`aborted_transaction` or :meth:`outcome_unknown` follows."""
        self.last_error = DIED
        batch.written = batch.written or batch.in_flight
        self._over(now, batch, DIED)

    def _over(self, now: int, batch: ProducerBatch, error: str) -> None:
        if batch.written:
            self._written.append(
                _SentBatch(
                    batch.partition, batch.sequence, batch.records, batch.created_us, tuple(batch.by_send_time())
                )
            )  # fmt: skip
            return
        self.failed += batch.records
        self._emit(
            RecordsFailed(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks, error,
                now - batch.created_us,
            )
        )  # fmt: skip

    def committed(self, now: int) -> int:
        """Count all records of a committed transaction as acked; return how many there are."""
        for each in self._written:
            self.acked += each.records
            for start, records, sent_us in each.together:
                self._emit(
                    RecordsAcked(
                        now, self._name, each.partition, each.sequence + start, records, self._acks, each.broker,
                        each.leader_epoch, each.offset + start if each.offset >= 0 else each.offset, now - sent_us,
                        each.log_branch,
                    )
                )  # fmt: skip
        return self._closed()

    def aborted_transaction(self, now: int) -> int:
        """Count all records of an aborted transaction; return how many there are."""
        for each in self._written:
            self.aborted += each.records
            self._emit(
                RecordsAborted(
                    now, self._name, each.partition, each.sequence, each.records, self._acks, each.broker,
                    each.leader_epoch, each.offset, now - each.created_us, each.log_branch,
                )
            )  # fmt: skip
        return self._closed()

    def outcome_unknown(self, now: int, error: str) -> int:
        """Count all records of a transaction with unknown outcome; return how many there are."""
        for each in self._written:
            self.unknown += each.records
            self._emit(
                RecordsUnknown(
                    now, self._name, each.partition, each.sequence, each.records, self._acks, error,
                    now - each.created_us,
                )
            )  # fmt: skip
        return self._closed()

    def _closed(self) -> int:
        count = sum(each.records for each in self._written)
        self._written.clear()
        self.open_records = 0
        return count

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (super().save(), self.aborted, self.open_records, tuple(self._written))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        stats, self.aborted, self.open_records, written = saved
        super().load(stats)
        self._written = list(written)


# An application that writes in transactions: when it begins, commits and aborts them, and how it handles errors.
#
# After an abortable error it aborts and continues with its next records. A fatal error ends it. A commit not answered
# within ``max.block.ms`` is called again, because the effect of the first call is unknown.


TIMER: Final = "transaction"
COMMIT: Final = "commit"
ABORT: Final = "abort"
USUAL_US: Final = 100_000
"""Default time between commits: ``commit.interval.ms`` of Kafka Streams with exactly-once."""


class TransactionLoop:
    """The transaction logic of an application: begins, commits and aborts transactions by its plan."""

    __slots__ = (
        "_asked_at", "_began_at", "_block_us", "_emit", "_id", "_manager", "_name", "_overdue", "_plan", "_port",
        "_reason", "_send_ready", "_stats", "_timer", "_wanted", "begun", "ended", "hanging", "on_end",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        name: str,
        plan: TransactionPlan,
        config: ProducerConfig,
        manager: TransactionManager,
        stats: TransactionalDeliveryStats,
        send_ready: Callable[[], None],
        emit: Callable[[Event], None],
    ) -> None:
        """Make it; ``send_ready`` makes the I/O thread send all that may be sent."""
        if not plan.records and not plan.every_us:
            plan = plan._replace(every_us=USUAL_US)
        self._port = port
        self._name = name
        self._plan = plan
        self._id = config.transactional_id
        self._block_us = config.block_us
        self._manager = manager
        self._stats = stats
        self._send_ready = send_ready
        self._emit = emit
        self._timer = DeadlineTimer(port, TIMER)
        self.begun = 0
        """Number of transactions begun."""
        self.ended = False
        """The application ended with a fatal error."""
        self.hanging = False
        """The open transaction is left open."""
        self.on_end: Callable[[str], object] = _nothing
        """Called with the outcome of a transaction: commit, abort, or empty for neither."""
        self._began_at = -1
        self._wanted = ""
        """The pending call: commit, abort, or empty."""
        self._reason = ""
        self._asked_at = -1
        self._overdue = False

    # -- calls of the producer --------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """Start the application with ``initTransactions``."""
        self._manager.initialize()
        self._send_ready()

    def open(self) -> bool:
        """Return whether records can be sent now; begin a transaction if there is none."""
        manager = self._manager
        if manager.state is ProducerTransactionState.READY and not self._wanted and not self.hanging:
            manager.begin()
            self.begun += 1
            now = self._port.now
            self._began_at = now
            detail = f"{self._id}, producer id {manager.producer_id}, epoch {manager.epoch}"
            self._emit(TransactionBegun(now, self._name, detail))
            if self._plan.every_us:
                self._timer.arm(now + self._plan.every_us)
        return manager.state is ProducerTransactionState.IN_TRANSACTION and not self.hanging

    @property
    def idle(self) -> bool:
        """Whether there is no transaction left to end."""
        return not self._wanted and (self.hanging or self._manager.state is not ProducerTransactionState.IN_TRANSACTION)

    @property
    def waiting(self) -> bool:
        """Whether the application waits for the end of a transaction: batches do not linger."""
        return bool(self._wanted)

    def on_timer(self) -> None:
        """Handle a timer; call :meth:`proceed` afterwards."""
        self._timer.take_expired()

    def finish(self) -> None:
        """End the open transaction as the application stops, unless it is left open by plan."""
        if self._manager.state is ProducerTransactionState.IN_TRANSACTION and not self.hanging and not self._wanted:
            self._end()

    def proceed(self) -> None:
        """Continue as far as possible, while the application is not in ``send``."""
        manager = self._manager
        if self.ended:
            return
        if manager.state is ProducerTransactionState.FATAL_ERROR:
            self._die()
            return
        if manager.state is ProducerTransactionState.ABORTABLE_ERROR:
            self._reason = manager.error.name
            self._call(ABORT)
        elif self._wanted and manager.state is ProducerTransactionState.READY:
            self._over()
        elif (
            not self._wanted
            and manager.state is ProducerTransactionState.IN_TRANSACTION
            and not self.hanging
            and self._is_due()
        ):
            self._end()
        if self._wanted and not self._overdue and self._port.now >= self._asked_at + self._block_us:
            self._overdue = True
            waited = self._port.now - self._asked_at
            self._emit(TransactionTimedOut(self._port.now, self._name, self._id, self._wanted, waited))

    def _is_due(self) -> bool:
        plan = self._plan
        by_count = plan.records and self._stats.open_records >= plan.records
        return bool(by_count or (plan.every_us and self._port.now >= self._began_at + plan.every_us))

    # -- the end of a transaction -----------------------------------------------------------------------------------

    def _end(self) -> None:
        plan = self._plan
        if self.begun == plan.hang:
            self.hanging = True
            self._emit(TransactionLeftOpen(self._port.now, self._name, self._id, self._stats.open_records))
            return
        self._reason = ""
        self._call(ABORT if plan.abort and self.begun % plan.abort == 0 else COMMIT)

    def _call(self, wanted: str) -> None:
        now = self._port.now
        self._wanted = wanted
        self._asked_at = now
        self._overdue = False
        self._timer.arm(now + self._block_us)
        if wanted == COMMIT:
            self._manager.commit()
        else:
            self._manager.abort()
        self._send_ready()
        self.proceed()

    def _over(self) -> None:
        wanted, self._wanted = self._wanted, ""
        now = self._port.now
        if wanted == COMMIT:
            count = self._stats.committed(now)
            self._emit(TransactionCommitted(now, self._name, self._id, count, now - self._asked_at))
        else:
            count = self._stats.aborted_transaction(now)
            self._emit(TransactionAborted(now, self._name, self._id, count, self._reason))
        self.on_end(wanted)

    def abandon(self, error: str) -> None:
        """End the open transaction without a response: unknown if a commit was sent, else aborted."""
        now = self._port.now
        if self._wanted == COMMIT and self._manager.end_sent:
            count = self._stats.outcome_unknown(now, error)
            self._emit(TransactionUnknown(now, self._name, self._id, count, error))
        else:
            self._stats.aborted_transaction(now)
        self._wanted = ""

    def _die(self) -> None:
        """End the application after a fatal error."""
        self.ended = True
        manager, now = self._manager, self._port.now
        error = manager.error.name
        self.abandon(error)
        detail = f"{self._id}, producer id {manager.producer_id}, epoch {manager.epoch}"
        self._emit(ProducerFenced(now, self._name, detail, error))
        self.on_end("")

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self.begun, self.ended, self.hanging, self._began_at, self._wanted, self._reason, self._asked_at,
            self._overdue, self._timer.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            self.begun, self.ended, self.hanging, self._began_at, self._wanted, self._reason, self._asked_at,
            self._overdue, timer,
        ) = saved  # fmt: skip
        self._timer.load(timer)


def _nothing(_wanted: str) -> None:
    """Ignore the outcome."""


# The I/O thread of a transactional producer: requests to its coordinators go first (``Sender.runOnce``).


class _NoRequest(ProducerIdRequest):
    """Disabled request for a producer id: a transactional producer gets its id through its transaction manager."""

    __slots__ = ()

    def want(self) -> None:
        """Do nothing: only the coordinator assigns the id."""


_COMPLETING: Final = (ProducerTransactionState.COMMITTING, ProducerTransactionState.ABORTING)


class TransactionalSender(Sender):
    """Sender of a transactional producer: it sends batches only inside a transaction."""

    __slots__ = ("_flushes", "control", "manager")

    def __init__(
        self,
        profile: Profile,
        port: NetworkClient,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        accumulator: RecordAccumulator,
        stats: DeliveryStats,
        jitter: RandomStream,
        sizes: RecordSizes,
        latencies: NodeLatencies,
    ) -> None:
        """Make a sender; ``profile`` is the cluster's release, the other parameters are those of every sender."""
        super().__init__(port, spec, config, brokers, accumulator, stats, jitter, sizes, latencies)
        rules = transaction_rules(profile, config)
        self._flushes = False
        """Whether the flush of a commit or abort has never ended (until KAFKA-12870)."""
        self.manager = TransactionManager(
            config.transactional_id, config.transaction_timeout_us, config.backoff_us, rules
        )  # fmt: skip
        self.control = TransactionRequestSender(self._port, config, self.metadata, self.manager)
        self._id_request = _NoRequest(
            self._port, self.metadata, backoff_us=config.backoff_us, timeout_us=config.request_timeout_us
        )
        self._sequences = TransactionalSequences(config.client, self.manager)
        self._extra_fields = (TRANSACTIONAL, -1, config.transactional_id, rules.versions[0])

    def _busy(self, broker: int) -> bool:
        return super()._busy(broker) or self.control.busy(broker)

    def send_ready(self) -> None:
        """Send what may be sent, requests to the coordinator first."""
        if self._stalled:
            return
        manager, sequences = self.manager, self._sequences
        if sequences.unsettled:
            sequences.settle()
        why = manager.error.name if manager.error else ABORTED_BY_APPLICATION
        if manager.state in (ProducerTransactionState.ABORTABLE_ERROR, ProducerTransactionState.ABORTING):
            self._abandon(why)
        elif manager.state is ProducerTransactionState.FATAL_ERROR:
            self.abort(why)
        self._begin_flush()
        self.control.send_next(idle=self._accumulator.incomplete == 0)
        if (manager.producer_id, manager.epoch) != (sequences.producer_id, sequences.epoch):
            sequences.assign(manager.producer_id, manager.epoch)
        super().send_ready()

    def _begin_flush(self) -> None:
        """Begin a flush that never ends, as a transaction does: from 2.5 on also without a batch (KAFKA-12870)."""
        client = self._config.client
        if client.flushes_for_ever and self.manager.state in _COMPLETING and not self._flushes:
            self._flushes = self._accumulator.incomplete > 0 or client.bumps_epoch
            self.set_no_linger(self._flushes)

    def set_no_linger(self, on: bool) -> None:
        """Turn lingering off or on again; a flush that never ends keeps it off."""
        super().set_no_linger(on or self._flushes)

    def _abandon(self, error: str) -> None:
        """Fail all batches not yet sent (``abortUndrainedBatches``)."""
        now = self._port.clock.now
        for line in tuple(self._accumulator.busy.values()):
            for batch in tuple(line.waiting):
                if batch.producer_id < 0:
                    self._accumulator.drop(batch)
                    self._accumulator.complete(batch)
                    self._stats.batch_failed(now, batch, error)

    def on_coordinator_response(self, message: Any) -> bool:
        """Handle a coordinator's response; return False if it is not one."""
        if not self.control.receive(message):
            return False
        self.send_ready()
        return True

    def on_response(self, response: ProduceResponse) -> None:
        """Handle a broker's response for a batch; after the last batch the transaction may end."""
        super().on_response(response)
        if self._accumulator.incomplete == 0:
            self.send_ready()

    def on_timer(self, name: str) -> None:
        """Handle a timer of this thread by its name."""
        if name != TRANSACTION_TIMER:
            super().on_timer(name)
            return
        for broker in self.control.on_timer():
            self._close(broker)
        self.send_ready()

    def _close(self, broker: int, timed_out: int = -1) -> None:
        self._port.reconnect(broker)
        super()._close(broker, timed_out)

    def _connection_lost(self, broker: int, timed_out: int) -> None:
        self.control.on_disconnect(broker)
        super()._connection_lost(broker, timed_out)

    def save(self) -> tuple[Any, ...]:
        """Return all state, including that of the accumulator."""
        return (super().save(), self.control.save(), self._flushes)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        sender, control, self._flushes = saved
        super().load(sender)
        self.control.load(control)


BEGIN: Final = "begin"
"""Timer of the application's start."""
CLOSE_TIMEOUT: Final = "let go"
"""Timer at which a closing application stops waiting for its transaction."""


class TransactionalProducer(Producer):
    """A transactional producer process with its application."""

    __slots__ = ("_ledger", "_let_go", "_profile", "_tx", "transacting")

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
        """Make a producer; ``profile`` is the cluster's release, the other parameters are those of every producer."""
        self._profile = profile
        super().__init__(port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
        self._ledger.io = self._io
        self._let_go = False
        self.transacting = TransactionLoop(
            self._port, self._spec.name, self._spec.transactions or TransactionPlan(), self._config, self._tx.manager,
            self._ledger, self._send_ready, emit,
        )  # fmt: skip

    def _make_stats(self, emit: Callable[[Event], None]) -> TransactionalDeliveryStats:
        self._ledger = TransactionalDeliveryStats(
            self._spec.name, self._config.acks, emit, self._pace, self._wants, self._refused
        )  # fmt: skip
        return self._ledger

    def _make_sender(self, parts: tuple[Any, ...]) -> Sender:
        self._tx = TransactionalSender(self._profile, *parts)
        return self._tx

    def _wants(self, partition: str) -> None:
        self._tx.manager.add_partition(partition)

    def _refused(self, error: KafkaError) -> None:
        """Fail the transaction of a record that ``send`` rejected; up to 3.1 it may commit (KAFKA-9279)."""
        if self._config.client.commits_without_record:
            return
        if self._tx.manager.state is ProducerTransactionState.IN_TRANSACTION:
            self._tx.manager.batch_failed(error)

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with the cluster's initial metadata; without any if it starts later."""
        super().begin(states)
        self._port.timer(max(0, self._spec.start_us - self._port.now), BEGIN)

    def died(self) -> tuple[Unconfirmed, ...]:
        """Handle a kill of the process; its transaction is aborted, or unknown if its commit was requested."""
        unconfirmed = super().died()
        self.transacting.abandon(DIED)
        return unconfirmed

    def stop(self) -> None:
        """Make no more records; the current transaction is ended, and queued batches are still sent."""
        self.transacting.finish()
        super().stop()

    def close(self, timeout_us: int = FOREVER_US) -> None:
        """Close after the commit of the current transaction; at the timeout it is no longer waited for."""
        self.transacting.finish()
        if 0 < timeout_us < FOREVER_US and not self._ending.closing:
            self._port.timer(timeout_us, CLOSE_TIMEOUT)
        self._let_go = self._let_go or timeout_us <= 0
        super().close(timeout_us)
        self._proceed()

    @property
    def closed(self) -> bool:
        """Whether it is closed and has nothing left to send."""
        return super().closed and (self._let_go or self.transacting.idle)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if self._io is not None and self._io.busy:
            self._io.keep(source, message)
            return
        if not self._tx.on_coordinator_response(message):
            super().receive(source, message)
        elif self._waits:
            self._go_on()
        self._proceed()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        name = timer[0]
        if name == BEGIN:
            self.transacting.initialize()
        elif name == TIMER:
            self.transacting.on_timer()
        elif name == CLOSE_TIMEOUT:
            self._let_go = True
            self.transacting.abandon(KafkaError.REQUEST_TIMED_OUT.name)
        elif name == transaction_manager.TIMER and self._ending.closed:
            self._tx.on_timer(name)
        else:
            super().on_timer(timer)
        self._proceed()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection: all requests in flight to ``peer`` failed without a response."""
        if self._ending.closed:
            self._tx.disconnected(peer)
        else:
            super().on_disconnect(peer)
        self._proceed()

    def _proceed(self) -> None:
        """Continue the application's thread, unless it is in ``send``."""
        if not self._held and not self._unsent_of_batch:
            self.transacting.proceed()
            self._running = self._running and not self.transacting.ended

    def _send_ready(self) -> None:
        self._tx.set_no_linger(self.transacting.waiting or self._ending.waits or bool(self._held))
        self._tx.send_ready()

    def _make(self) -> None:
        """Make the next records, which need a transaction."""
        stop = self._spec.stop_us
        if 0 <= stop <= self._port.clock.now:
            self.transacting.finish()
        elif self._running and not self._held and not self.transacting.open():
            self._pace.made()
            self._pace.blocked()
            return
        elif not self.transacting.waiting and not self._held and not self._ending.waits:
            self._tx.set_no_linger(False)
        super()._make()

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (super().save(), self.transacting.save(), self._let_go)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        producer, application, self._let_go = saved
        super().load(producer)
        self.transacting.load(application)
