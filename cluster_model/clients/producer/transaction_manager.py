"""A producer's ids, sequences and transactions (``TransactionManager``, KIP-98).

Sans-IO: it receives the application's calls, the coordinator's responses and the outcomes of batches, and returns the
next request to send. One such request is in flight at a time, and no batch is sent meanwhile. An error is either
*abortable*: the application can only abort, or *fatal*: the producer cannot be used any more.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.clients.coordinator_connection import CoordinatorConnection
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.record_accumulator import PartitionQueue, ProducerBatch, remove_from_heap
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import RETRIABLE, KafkaError
from cluster_model.protocol.group_messages import (
    GROUP,
    TRANSACTION,
    CommittedOffset,
    FindCoordinatorResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from cluster_model.protocol.messages import NO_LEADER, InitProducerIdRequest, InitProducerIdResponse
from cluster_model.protocol.transaction_messages import (
    FIRST_BUMPING,
    FIRST_IMPLICIT,
    FIRST_VERIFIED,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
)
from cluster_model.protocol.versions import ClientProfile, Profile

# A producer's identity and sequences, and their errors (``TransactionManager``, KIP-98, KIP-360).
#
# The identity is (producer id, epoch). Each partition has its own sequence, which begins at 0 in every epoch.


MOST_EPOCHS: Final = 32_767
"""Last epoch of a producer id: epochs have 16 bits, and a new producer id follows."""
SEQUENCES: Final = 1 << 31
"""Number of sequences, after which they wrap to 0."""

GAP: Final = KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
FORGOTTEN: Final = KafkaError.UNKNOWN_PRODUCER_ID


class ProducerSequences:
    """Producer id, epoch and sequences of an idempotent producer; without idempotence it does nothing."""

    __slots__ = ("_client", "_keeps", "_rewrite", "_unresolved", "epoch", "on", "producer_id", "unsettled")

    def __init__(self, client: ClientProfile, *, on: bool) -> None:
        self._client = client
        self._keeps = client.keeps_sequences_in_new_epoch
        """Whether a new epoch restarts only partitions with a batch in flight, before KAFKA-12152."""
        self.on = on
        self.producer_id = -1
        """-1: none yet, or lost."""
        self.epoch = -1
        self._rewrite: dict[str, PartitionQueue] = {}
        """Partitions for which a new epoch was requested."""
        self._unresolved: dict[str, PartitionQueue] = {}
        self.unsettled = False
        """Whether :meth:`settle` may have something to do."""

    @property
    def ready(self) -> bool:
        """Whether there is a producer id to send with, if one is needed."""
        return not self.on or self.producer_id >= 0

    def assign(self, producer_id: int, epoch: int) -> None:
        """Take the id and epoch assigned by a broker."""
        self.producer_id, self.epoch = producer_id, epoch
        self._renumber()

    def _renumber(self) -> None:
        for line in self._rewrite.values():
            self._begin(line)
            line.unresolved = -1
            self._unresolved.pop(line.name, None)
        self._rewrite.clear()

    def allows(self, line: PartitionQueue, head: ProducerBatch) -> bool:
        """Return whether the first batch of a queue may be sent now (``shouldStopDrainBatchesForPartition``)."""
        if not self.on:
            return True
        if self.producer_id < 0:
            return False
        drained = line.drained
        if head.producer_id < 0:
            stale = line.producer_id != self.producer_id or line.epoch != self.epoch
            return line.unresolved < 0 and not (stale and drained)
        return not drained or drained[0] is head

    def stamp(self, line: PartitionQueue, batch: ProducerBatch) -> None:
        """Set the identity and sequence of a batch at its first attempt."""
        if self._keeps and line.producer_id == self.producer_id:
            line.epoch = self.epoch
        elif line.producer_id != self.producer_id or line.epoch != self.epoch:
            self._begin(line)
        batch.producer_id, batch.epoch, batch.first = self.producer_id, self.epoch, line.next_sequence
        line.next_sequence = (line.next_sequence + batch.records) % SEQUENCES
        line.drained.append(batch)

    def _begin(self, line: PartitionQueue) -> None:
        """Restart a partition's sequence at 0 with the current identity (``startSequencesAtBeginning``)."""
        line.producer_id, line.epoch = self.producer_id, self.epoch
        line.next_sequence = 0
        line.last_acked = line.last_offset = -1
        for batch in line.drained:
            batch.producer_id, batch.epoch, batch.first = self.producer_id, self.epoch, line.next_sequence
            batch.renumbered = True
            line.next_sequence += batch.records

    def acked(self, line: PartitionQueue, batch: ProducerBatch, offset: int) -> None:
        """Handle the acknowledgement of a batch."""
        drained = line.drained
        if self._client.renumbers_in_heap_order:
            self._remove(line, batch)
        elif drained and drained[0] is batch:
            del drained[0]
        elif batch in drained:
            drained.remove(batch)
        if batch.producer_id == line.producer_id and batch.epoch == line.epoch:
            last = batch.first + batch.records - 1
            if last > line.last_acked:
                line.last_acked = last
            if offset > line.last_offset:
                line.last_offset = offset
        if self._keeps and not drained and line.epoch != self.epoch:
            self._begin(line)

    def _remove(self, line: PartitionQueue, batch: ProducerBatch) -> None:
        """Remove a batch that has its outcome; before KAFKA-8483 the others are kept as a heap."""
        if batch not in line.drained:
            return
        if self._client.renumbers_in_heap_order:
            remove_from_heap(line.drained, batch)
        else:
            line.drained.remove(batch)

    def may_retry(self, line: PartitionQueue, batch: ProducerBatch, error: KafkaError, log_start: int) -> bool:
        """Return whether the error of an attempt allows a retry (``TransactionManager.canRetry``)."""
        if error is FORGOTTEN and self.on:
            return self._may_retry_forgotten(line, batch, log_start)
        if error is GAP and self.on:
            next_in_line = batch.first == line.last_acked + 1
            if line.unresolved < 0 and (batch.renumbered or not next_in_line):
                return True
            if not self._client.bumps_epoch:
                return False
            if line.unresolved < 0 or batch.first == line.unresolved:
                self._want_epoch(line)
            return True
        return error in RETRIABLE

    def _may_retry_forgotten(self, line: PartitionQueue, batch: ProducerBatch, log_start: int) -> bool:
        """Return whether a batch may be retried whose producer id the broker does not know.

        If the log starts after the producer's last offset, retention removed the producer's state.
        """
        if log_start == -1 or batch.renumbered:
            return True
        if self._client.bumps_epoch:
            self._want_epoch(line)
            return True
        if line.last_offset < log_start:
            self._begin(line)
            return True
        return False

    def _want_epoch(self, line: PartitionQueue) -> None:
        self._rewrite[line.name] = line
        self.unsettled = True

    def batch_failed(self, line: PartitionQueue, batch: ProducerBatch, error: KafkaError, *, for_good: bool) -> None:
        """Handle a failed batch (``handleFailedBatch``).

        ``for_good``: the broker rejected it, so its sequence is free. Otherwise it ran out of time or retries, and if
        it was ever sent its sequence may be used in the log.
        """
        if batch not in line.drained:
            return
        self._remove(line, batch)
        if not self._client.bumps_epoch:
            if error in (GAP, FORGOTTEN):
                if batch.producer_id == self.producer_id:
                    self.producer_id = self.epoch = -1
                    self.unsettled = True
                return
        elif for_good:
            self._want_epoch(line)
            return
        if batch.epoch == self.epoch and batch.producer_id == self.producer_id:
            line.unresolved = max(line.unresolved, batch.first + batch.records)
            self._unresolved[line.name] = line
            self.unsettled = True

    def settle(self) -> None:
        """Resolve sequences and raise the epoch before batches are sent (``bumpIdempotentEpochAndResetId...``)."""
        for line in tuple(self._unresolved.values()):
            if line.drained:
                continue
            if line.next_sequence != line.last_acked + 1:
                self._want_epoch(line)
            line.unresolved = -1
            del self._unresolved[line.name]
        if self._rewrite and self.producer_id >= 0:
            if self._client.bumps_epoch and self.epoch < MOST_EPOCHS:
                self.epoch += 1
                self._renumber()
            else:  # The sequences restart with the new id that is requested now.
                self.producer_id = self.epoch = -1
        self.unsettled = bool(self._unresolved)

    def has_former_id(self, batch: ProducerBatch) -> bool:
        """Return whether a retry carries a former producer id: before KIP-360 such a batch fails."""
        return (
            self.on
            and not self._client.bumps_epoch
            and 0 <= self.producer_id != batch.producer_id
            and batch.attempts > 0
        )

    def save(self) -> tuple[Any, ...]:
        """Return all state except that of the queues."""
        return (self.producer_id, self.epoch, tuple(self._rewrite), tuple(self._unresolved), self.unsettled)

    def load(self, saved: tuple[Any, ...], lines: dict[str, PartitionQueue]) -> None:
        """Restore the state returned by :meth:`save`; load the queues first."""
        self.producer_id, self.epoch, rewrite, unresolved, self.unsettled = saved
        self._rewrite = {name: lines[name] for name in rewrite}
        self._unresolved = {name: lines[name] for name in unresolved}


# Transactions of a producer (``TransactionManager``, KIP-98).


FIRST_WAIT_US: Final = 20_000
"""Shorter backoff of the first request of a transaction while the previous transaction is still being completed."""

E: Final = KafkaError
_COORDINATOR_GONE: Final = (E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR)
_FENCED: Final = (E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED)
_UNKNOWN_ID: Final = (E.UNKNOWN_PRODUCER_ID, E.INVALID_PRODUCER_ID_MAPPING)
_NOT_A_MEMBER: Final = (E.FENCED_INSTANCE_ID, E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION)


class ProducerTransactionState(IntEnum):
    """State of a producer's transactions (``TransactionManager.State``)."""

    UNINITIALIZED = 0
    INITIALIZING = 1
    READY = 2
    IN_TRANSACTION = 3
    COMMITTING = 4
    ABORTING = 5
    ABORTABLE_ERROR = 6
    FATAL_ERROR = 7


S = ProducerTransactionState

INIT: Final = "init producer id"
ADD: Final = "add partitions"
OFFSETS: Final = "add offsets"
COMMIT: Final = "commit offsets"
END: Final = "end"
_PRIORITY: Final = {INIT: 1, ADD: 2, OFFSETS: 2, COMMIT: 2, END: 3}


class TransactionRules(NamedTuple):
    """Protocol rules of transactions supported by both client and cluster."""

    bumps: bool = True
    """InitProducerId raises the epoch after an abortable error (KIP-360)."""
    epochs: bool = False
    """Each transaction has its own epoch, and a write adds its partition to the transaction (KIP-890, part 2)."""
    fenced_by_leaders: bool = False
    """INVALID_PRODUCER_EPOCH from a partition's leader is fatal, as before KIP-588."""
    members: bool = True
    """Offset commits carry the group's generation (KIP-447)."""
    versions: tuple[int, int, int] = (9, 4, 3)
    """Request versions of Produce, EndTxn and TxnOffsetCommit."""
    recovers_expired_id: bool = True
    """INVALID_PRODUCER_ID_MAPPING only aborts the transaction, until KAFKA-18019."""


class TransactionOffsets(NamedTuple):
    """Offsets to commit with a transaction, with the identity of the group member."""

    group: str
    offsets: tuple[CommittedOffset, ...]
    generation: int = -1
    member_id: str = ""
    instance: str = ""


class TransactionCall(NamedTuple):
    """A pending request of a producer to a coordinator: its kind, and the arguments that this kind needs."""

    kind: str
    partitions: tuple[str, ...] = ()
    offsets: TransactionOffsets | None = None
    committed: bool = False
    expected: bool = False
    """For INIT: send the current id and epoch."""

    @property
    def group(self) -> str:
        """Group whose coordinator gets the request; empty for the transaction coordinator."""
        return self.offsets.group if self.kind == COMMIT and self.offsets is not None else ""


class TransactionManager:
    """State machine of one producer's transactions."""

    __slots__ = (
        "_adding", "_backoff_us", "_id", "_queue", "_retry_at", "_rules", "_timeout_us", "end_sent", "epoch", "error",
        "id_unknown", "in_flight", "lost_coordinator", "needs_epoch_bump", "partitions", "producer_id", "started",
        "state",
    )  # fmt: skip

    def __init__(self, transactional_id: str, timeout_us: int, backoff_us: int, rules: TransactionRules) -> None:
        self._id = transactional_id
        self._timeout_us = timeout_us
        self._backoff_us = backoff_us
        self._rules = rules
        self.state = S.UNINITIALIZED
        self.producer_id = -1
        self.epoch = -1
        self.partitions: dict[str, None] = {}
        """Partitions that are part of the transaction, and so may be written to."""
        self._adding: dict[str, None] = {}
        """Partitions that the application sent to, whose addition is not yet requested."""
        self.started = False
        """Whether the transaction has begun at the coordinator."""
        self.end_sent = False
        """Whether its end was requested."""
        self.needs_epoch_bump = False
        """Whether to request a new epoch after the abort."""
        self.id_unknown = False
        """Whether the coordinator does not know the producer id: there is nothing to abort there."""
        self.error = E.NONE
        """Cause of the current error state."""
        self.in_flight: TransactionCall | None = None
        """The request in flight."""
        self.lost_coordinator = ""
        """"own" or a group's name after an error that requires a new coordinator lookup, else empty."""
        self._queue: list[TransactionCall] = []
        self._retry_at = 0

    @property
    def rules(self) -> TransactionRules:
        """Protocol rules supported by both client and cluster."""
        return self._rules

    @property
    def sends_offsets(self) -> bool:
        """Whether ``sendOffsetsToTransaction`` has not returned yet."""
        calls = self._queue if self.in_flight is None else [self.in_flight, *self._queue]
        return any(call.kind in (OFFSETS, COMMIT) for call in calls)

    # -- calls of the application -----------------------------------------------------------------------------------

    def initialize(self) -> None:
        """Run ``initTransactions``: get an epoch that fences former producers with the same id."""
        self.state = S.INITIALIZING
        self._enqueue(TransactionCall(INIT))

    def begin(self) -> None:
        """Run ``beginTransaction``, which sends no request."""
        self._require(S.READY)
        self.state = S.IN_TRANSACTION

    def add_partition(self, partition: str) -> None:
        """Add a partition that the application sends to (``maybeAddPartition``)."""
        if partition in self.partitions or partition in self._adding:
            return
        if self._rules.epochs:
            self.partitions[partition] = None
            self.started = True
        elif self.in_flight is None or self.in_flight.kind != ADD or partition not in self.in_flight.partitions:
            self._adding[partition] = None

    def send_offsets(self, offsets: TransactionOffsets) -> None:
        """Run ``sendOffsetsToTransaction``."""
        self._require(S.IN_TRANSACTION)
        if not self._rules.members:
            offsets = TransactionOffsets(offsets.group, offsets.offsets)
        self._enqueue(TransactionCall(COMMIT if self._rules.epochs else OFFSETS, offsets=offsets))
        self.started = self.started or self._rules.epochs

    def commit(self) -> None:
        """Start ``commitTransaction``, once; it ends in READY or an error state."""
        self._require(S.IN_TRANSACTION)
        self.state = S.COMMITTING
        self._enqueue(TransactionCall(END, committed=True))

    def abort(self) -> None:
        """Start ``abortTransaction``, once; it ends in READY or a fatal error."""
        self._require(S.IN_TRANSACTION, S.ABORTABLE_ERROR)
        self.state = S.ABORTING
        self.error = E.NONE
        self._adding.clear()
        self._queue.clear()
        if not self.id_unknown:
            self._enqueue(TransactionCall(END))
        else:
            self._complete()

    def _require(self, *states: ProducerTransactionState) -> None:
        if self.state not in states:
            allowed = " or ".join(state.name for state in states)
            raise ValueError(f"{self._id}: the transaction state is {self.state.name}, this call needs {allowed}")

    # -- the next request -------------------------------------------------------------------------------------------

    def _enqueue(self, call: TransactionCall) -> None:
        """Queue a request after those of a higher or the same priority."""
        index = len(self._queue)
        while index and _PRIORITY[self._queue[index - 1].kind] > _PRIORITY[call.kind]:
            index -= 1
        self._queue.insert(index, call)

    def next(self, now: int, *, idle: bool) -> TransactionCall | None:
        """Return the next request, None for none now; ``idle``: all batches have their outcome.

        The caller reports it with :meth:`sent`.
        """
        if self.in_flight is not None or self.state is S.FATAL_ERROR:
            return None
        if self._adding and self.state is not S.ABORTABLE_ERROR:
            self._enqueue(TransactionCall(ADD, tuple(self._adding)))
            self._adding.clear()
        while self._queue:
            head = self._queue[0]
            if self.state is S.ABORTABLE_ERROR:
                self._queue.pop(0)
            elif head.kind == END and not self.started:
                if not idle:
                    return None
                self._queue.pop(0)
                self._complete()
            else:
                return None if now < self._retry_at or (head.kind == END and not idle) else head
        return None

    def next_action_us(self, now: int) -> int:
        """Return when a delayed request may be sent again, -1 for none."""
        return self._retry_at if self._queue and self.in_flight is None and self._retry_at > now else -1

    def sent(self, ask: TransactionCall) -> Any:
        """Mark the first queued request as in flight; return its message, without its correlation."""
        self._queue.remove(ask)
        self.in_flight = ask
        identity = (self._id, self.producer_id, self.epoch)
        if ask.kind == INIT:
            current = identity[1:] if ask.expected else (-1, -1)
            return InitProducerIdRequest(0, self._id, self._timeout_us, *current)
        if ask.kind == ADD:
            return AddPartitionsToTxnRequest(0, *identity, ask.partitions)
        if ask.kind == END:
            self.end_sent = True
            return EndTxnRequest(0, *identity, ask.committed, self._rules.versions[1])
        assert ask.offsets is not None
        group, offsets, generation, member, instance = ask.offsets
        if ask.kind == OFFSETS:
            return AddOffsetsToTxnRequest(0, *identity, group)
        return TxnOffsetCommitRequest(
            0, self._id, group, self.producer_id, self.epoch, offsets, generation, member, instance,
            self._rules.versions[2],
        )  # fmt: skip

    # -- responses --------------------------------------------------------------------------------------------------

    def unanswered(self, now: int) -> None:
        """Repeat the request in flight after a broken connection or a timeout."""
        if self.in_flight is not None:
            self._again(now, self._backoff_us)

    def _again(self, now: int, pause_us: int) -> None:
        ask, self.in_flight = self.in_flight, None
        assert ask is not None
        self._retry_at = now + pause_us
        self._enqueue(ask)

    def on_response(self, error: KafkaError, now: int, producer_id: int = -1, epoch: int = -1) -> None:
        """Handle the response to the request in flight; id and epoch are those of InitProducerId and EndTxn."""
        ask = self.in_flight
        assert ask is not None
        if error is E.NONE:
            self.in_flight = None
            self._granted(ask, producer_id, epoch)
        elif error in _COORDINATOR_GONE or (error is E.REQUEST_TIMED_OUT and ask.kind == COMMIT):
            self.lost_coordinator = ask.group or "own"
            self._again(now, self._backoff_us)
        elif error is E.COORDINATOR_LOAD_IN_PROGRESS or self._comes_too_early(ask, error):
            early = error is E.CONCURRENT_TRANSACTIONS and ask.kind == ADD and not self.partitions
            self._again(now, min(FIRST_WAIT_US, self._backoff_us) if early else self._backoff_us)
        else:
            self.in_flight = None
            self._refused(ask, error)

    @staticmethod
    def _comes_too_early(ask: TransactionCall, error: KafkaError) -> bool:
        if error is E.UNKNOWN_TOPIC_OR_PARTITION:
            return ask.kind in (ADD, COMMIT)
        return error is E.CONCURRENT_TRANSACTIONS

    def _granted(self, ask: TransactionCall, producer_id: int, epoch: int) -> None:
        if ask.kind == INIT:
            self.producer_id, self.epoch = producer_id, epoch
            self.state = S.READY
            self.needs_epoch_bump = self.id_unknown = False
        elif ask.kind == ADD:
            self.partitions.update(dict.fromkeys(ask.partitions))
            self.started = True
        elif ask.kind == OFFSETS:
            self.started = True
            self._enqueue(ask._replace(kind=COMMIT))
        elif ask.kind == END:
            if epoch >= 0:
                self.producer_id, self.epoch = producer_id, epoch
            self._complete()

    def _complete(self) -> None:
        """Complete the transaction (``completeTransaction``)."""
        self.partitions.clear()
        self._adding.clear()
        self.started = self.end_sent = False
        if self.needs_epoch_bump or self.id_unknown:
            self.state = S.INITIALIZING
            self._enqueue(TransactionCall(INIT, expected=True))
        else:
            self.state = S.READY

    def _refused(self, ask: TransactionCall, error: KafkaError) -> None:
        if error in _FENCED:
            self.fail(E.PRODUCER_FENCED)
        elif error is E.TRANSACTION_ABORTABLE or (ask.kind == COMMIT and error in _NOT_A_MEMBER):
            self.abortable(error)
        elif self._may_recover(error) and ask.kind in (ADD, OFFSETS, END):
            self.id_unknown = error is E.INVALID_PRODUCER_ID_MAPPING
            self.needs_epoch_bump = True
            self.abortable(error)
        elif ask.kind == ADD and error is not E.INVALID_TXN_STATE and error not in _UNKNOWN_ID:
            self.abortable(error)
        else:
            self.fail(error)

    def _may_recover(self, error: KafkaError) -> bool:
        """Whether a producer that its coordinator does not know may get a new id (``abortableErrorIfPossible``)."""
        if error is E.INVALID_PRODUCER_ID_MAPPING:
            return self._rules.bumps and self._rules.recovers_expired_id
        return error is E.UNKNOWN_PRODUCER_ID and self._rules.bumps

    # -- outcomes of batches ----------------------------------------------------------------------------------------

    def batch_failed(self, error: KafkaError) -> None:
        """Handle a failed batch (``maybeTransitionToErrorState``)."""
        fenced = error is E.INVALID_PRODUCER_EPOCH and self._rules.fenced_by_leaders
        if fenced or error in (E.PRODUCER_FENCED, E.UNSUPPORTED_VERSION):
            self.fail(E.PRODUCER_FENCED if fenced else error)
            return
        if error is E.INVALID_PRODUCER_ID_MAPPING and not self._rules.recovers_expired_id:
            self.fail(error)
            return
        if self._rules.bumps and not self._rules.epochs and self.state not in (S.COMMITTING, S.ABORTING):
            self.needs_epoch_bump = True
        self.abortable(error)

    def unresolved(self) -> None:
        """Handle a batch of which it is unknown whether it is in the log (``maybeResolveSequences``)."""
        if not self._rules.bumps:
            self.fail(E.UNKNOWN_SERVER_ERROR)
            return
        self.needs_epoch_bump = self.needs_epoch_bump or not self._rules.epochs
        self.abortable(E.REQUEST_TIMED_OUT)

    def abortable(self, error: KafkaError) -> None:
        """Enter the abortable error state; a transaction that is already aborting continues."""
        if self.state in (S.IN_TRANSACTION, S.COMMITTING, S.INITIALIZING, S.ABORTABLE_ERROR):
            if self.state is not S.ABORTABLE_ERROR:
                self.error = error
            self.state = S.ABORTABLE_ERROR
        elif self.state is S.ABORTING and self.in_flight is None and not self._queue:
            # The request to abort it was rejected.
            self._complete()

    def fail(self, error: KafkaError) -> None:
        """Enter the fatal error state."""
        if self.state is not S.FATAL_ERROR:
            self.error = error
        self.state = S.FATAL_ERROR
        self._queue.clear()
        self._adding.clear()
        self.in_flight = None

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            int(self.state), self.producer_id, self.epoch, tuple(self.partitions), tuple(self._adding), self.started,
            self.end_sent, self.needs_epoch_bump, self.id_unknown, int(self.error), self.in_flight,
            self.lost_coordinator, tuple(self._queue), self._retry_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            state, self.producer_id, self.epoch, partitions, adding, self.started, self.end_sent, self.needs_epoch_bump,
            self.id_unknown, error, self.in_flight, self.lost_coordinator, queue, self._retry_at,
        ) = saved  # fmt: skip
        self.state, self.error = ProducerTransactionState(state), KafkaError(error)
        self.partitions, self._adding = dict.fromkeys(partitions), dict.fromkeys(adding)
        self._queue = list(queue)


# Request for a producer id (InitProducerId without a transactional id, KIP-98), which any broker can answer.


class ProducerIdRequest:
    """Request for a producer id: at most one is in flight; it is repeated after the backoff until it succeeds."""

    __slots__ = ("_asked_at", "_backoff_us", "_correlation", "_metadata", "_node", "_port", "_timeout_us", "_timer")

    def __init__(self, port: NodeContext, metadata: Metadata, *, backoff_us: int, timeout_us: int) -> None:
        self._port = port
        self._metadata = metadata
        self._backoff_us = backoff_us
        self._timeout_us = timeout_us
        self._timer = DeadlineTimer(port, "producer id")
        self._correlation = port.first_number
        self._node = NO_LEADER
        """Broker that the request was sent to."""
        self._asked_at = -1
        """Time of the last request, -1 while no id is needed."""

    def want(self) -> None:
        """Request an id, unless a request is pending."""
        if self._asked_at < 0:
            self._send_request()

    def _send_request(self) -> None:
        now = self._port.now
        self._node = self._metadata.pick()
        self._asked_at = now
        self._correlation += 1
        self._port.send(self._node, InitProducerIdRequest(self._correlation))
        self._timer.arm(now + self._timeout_us)

    def _again(self) -> None:
        self._node = NO_LEADER
        self._timer.arm(self._port.now + self._backoff_us)

    def on_timer(self) -> int:
        """Repeat after the backoff, or return a broker that timed out; see :meth:`Metadata.on_timer`."""
        if not self._timer.take_expired() or self._asked_at < 0:
            return NO_LEADER
        if self._node == NO_LEADER:
            self._send_request()
        elif self._port.now - self._asked_at >= self._timeout_us:
            return self._node
        else:
            self._timer.arm(self._asked_at + self._timeout_us)
        return NO_LEADER

    def disconnected(self, peer: int) -> None:
        """Handle a broken connection to a broker."""
        if peer == self._node:
            self._again()

    def on_response(self, response: InitProducerIdResponse) -> bool:
        """Handle a response; return whether it has the requested id."""
        if self._node == NO_LEADER or response.correlation_id != self._correlation:
            return False
        if response.error:
            self._again()
            return False
        self._node = NO_LEADER
        self._asked_at = -1
        return True

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._timer.save(), self._correlation, self._node, self._asked_at)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        timer, self._correlation, self._node, self._asked_at = saved
        self._timer.load(timer)


# Sequences of a transactional producer: no batch is sent outside a transaction, and no sequence gap is repaired.
#
# After errors where an idempotent producer continues with a new epoch, a transactional one has to abort its
# transaction.


class TransactionalSequences(ProducerSequences):
    """Sequences of a transactional producer, with the id and epoch of its transaction manager."""

    __slots__ = ("_manager",)

    def __init__(self, client: ClientProfile, manager: TransactionManager) -> None:
        super().__init__(client, on=True)
        self._manager = manager
        self._keeps = False  # InitProducerId restarts the sequences of all partitions

    def allows(self, line: PartitionQueue, head: ProducerBatch) -> bool:
        """Require too that no request is in flight and the transaction has the partition.

        ``isSendToPartitionAllowed``.
        """
        manager = self._manager
        if (
            manager.state is ProducerTransactionState.FATAL_ERROR
            or manager.in_flight is not None
            or line.name not in manager.partitions
        ):
            return False
        return super().allows(line, head)

    def may_retry(self, line: PartitionQueue, batch: ProducerBatch, error: KafkaError, log_start: int) -> bool:
        """Return whether the error of an attempt allows a retry (``TransactionManager.canRetry``)."""
        if error is FORGOTTEN:
            if log_start == -1 or batch.renumbered:
                return True
            if line.last_offset < log_start:
                self._begin(line)
                return True
            return False
        if error is GAP:
            return line.unresolved < 0 and (batch.renumbered or batch.first != line.last_acked + 1)
        return error in RETRIABLE

    def batch_failed(self, line: PartitionQueue, batch: ProducerBatch, error: KafkaError, *, for_good: bool) -> None:
        """Handle a failed batch, which fails the transaction."""
        self._manager.batch_failed(error)
        if batch not in line.drained or self._manager.state is ProducerTransactionState.FATAL_ERROR:
            return
        index = line.drained.index(batch)
        self._remove(line, batch)
        if for_good:
            # Later batches take the sequences that have become free (``adjustSequencesDueToFailedBatch``).
            line.next_sequence = (line.next_sequence - batch.records) % SEQUENCES
            in_heap = self._client.renumbers_in_heap_order
            for later in line.drained if in_heap else line.drained[index:]:
                if later.first > batch.first or not in_heap:
                    later.first -= batch.records
                    later.renumbered = True
        elif batch.epoch == self.epoch and batch.producer_id == self.producer_id:
            line.unresolved = max(line.unresolved, batch.first + batch.records)
            self._unresolved[line.name] = line
            self.unsettled = True

    def settle(self) -> None:
        """Resolve the sequences of partitions with no batch in flight, before batches are sent."""
        for line in tuple(self._unresolved.values()):
            if line.drained:
                continue
            if line.next_sequence != line.last_acked + 1:
                self._manager.unresolved()
            line.unresolved = -1
            del self._unresolved[line.name]
        self.unsettled = bool(self._unresolved)


# Requests of a transactional producer to its coordinators.


TIMER: Final = "transaction request"
_OF_GROUPS: Final = 1 << 30
"""First correlation of requests to group coordinators: responses are matched by correlation alone."""


def transaction_rules(profile: Profile, config: ProducerConfig) -> TransactionRules:
    """Return the rules supported by both the client's and the cluster's release."""
    client = config.client
    epochs = client.epoch_per_transaction and profile.transactions_v2
    if epochs:
        versions = (FIRST_IMPLICIT, FIRST_BUMPING, FIRST_BUMPING)
    elif client.knows_abortable and profile.transaction_abortable:
        versions = (FIRST_VERIFIED, FIRST_BUMPING - 1, FIRST_BUMPING - 1)
    else:
        versions = (9, FIRST_BUMPING - 2, FIRST_BUMPING - 2)
    return TransactionRules(
        bumps=client.bumps_epoch and profile.producer_epoch_bump,
        epochs=epochs,
        fenced_by_leaders=not (client.aborts_when_fenced and profile.producer_fenced),
        recovers_expired_id=client.recovers_expired_id,
        members=client.consumer_group_metadata and profile.stable_offsets,
        versions=versions,
    )


class TransactionRequestSender:
    """Sends the requests of a :class:`TransactionManager` one at a time, and passes it the responses."""

    __slots__ = ("_groups", "_link", "_metadata", "_port", "_timer", "_timing", "manager")

    def __init__(
        self, port: NodeContext, config: ProducerConfig, metadata: Metadata, manager: TransactionManager
    ) -> None:
        self._port = port
        self._metadata = metadata
        self._timing = (config.backoff_us, config.request_timeout_us)
        self.manager = manager
        self._link = CoordinatorConnection(port, metadata, config.transactional_id, self._timing, TRANSACTION)
        self._groups: dict[str, CoordinatorConnection] = {}
        self._timer = DeadlineTimer(port, TIMER)

    def _group(self, group: str) -> CoordinatorConnection:
        link = self._groups.get(group)
        if link is None:
            first = _OF_GROUPS * (len(self._groups) + 1)
            link = self._groups[group] = CoordinatorConnection(
                self._port, self._metadata, group, self._timing, GROUP, first
            )
        return link

    def _links(self) -> list[CoordinatorConnection]:
        return [self._link, *self._groups.values()]

    def busy(self, broker: int) -> bool:
        """Return whether a request to a broker is in flight."""
        return any(link.busy(broker) for link in self._links())

    def send_next(self, *, idle: bool) -> None:
        """Send the next request, if any; ``idle``: all batches have their outcome."""
        manager = self.manager
        now = self._port.now
        if manager.lost_coordinator:
            lost = self._link if manager.lost_coordinator == "own" else self._group(manager.lost_coordinator)
            lost.unknown()
            self._metadata.refresh()
            manager.lost_coordinator = ""
        ask = manager.next(now, idle=idle)
        wanted: list[CoordinatorConnection] = []
        if ask is not None:
            link = self._group(ask.group) if ask.group else self._link
            if link.is_known:
                link.send(ask.kind, manager.sent(ask))
            else:
                link.find()
                wanted.append(link)
        self._rearm(wanted, now)

    def _rearm(self, wanted: list[CoordinatorConnection], now: int) -> None:
        times = [self.manager.next_action_us(now)]
        times += [link.next_action_us() for link in self._links() if link in wanted or link.waits]
        due = [at for at in times if at >= 0]
        if due:
            self._timer.arm(min(due))

    def on_timer(self) -> list[int]:
        """Handle the timer; return the brokers whose requests timed out. The caller calls :meth:`send_ready`."""
        if not self._timer.take_expired():
            return []
        now = self._port.now
        return list(dict.fromkeys(broker for link in self._links() for broker in link.timed_out(now)))

    def on_disconnect(self, broker: int) -> None:
        """Handle a broken connection to a broker."""
        for link in self._links():
            if link.on_disconnect(broker):
                self.manager.unanswered(self._port.now)

    def receive(self, message: Any) -> bool:
        """Handle a response; return False if it is not from a coordinator."""
        if isinstance(message, FindCoordinatorResponse):
            for link in self._links():
                link.on_coordinator_found(message)
            return True
        if not isinstance(
            message,
            InitProducerIdResponse | AddPartitionsToTxnResponse | AddOffsetsToTxnResponse | EndTxnResponse
            | TxnOffsetCommitResponse,
        ):  # fmt: skip
            return False
        if any(link.complete(message.correlation_id) for link in self._links()) and self.manager.in_flight is not None:
            self._take(message)
        return True

    def _take(self, message: Any) -> None:
        now = self._port.now
        if isinstance(message, TxnOffsetCommitResponse):
            errors = [KafkaError(error) for _partition, error in message.partitions if error]
            self.manager.on_response(errors[0] if errors else KafkaError.NONE, now)
        elif isinstance(message, InitProducerIdResponse | EndTxnResponse):
            self.manager.on_response(KafkaError(message.error), now, message.producer_id, message.producer_epoch)
        else:
            self.manager.on_response(KafkaError(message.error), now)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        groups = tuple([(group, link.save()) for group, link in self._groups.items()])
        return (self.manager.save(), self._link.save(), groups, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        manager, link, groups, timer = saved
        self.manager.load(manager)
        self._link.load(link)
        self._groups.clear()
        for group, state in groups:
            self._group(group).load(state)
        self._timer.load(timer)
