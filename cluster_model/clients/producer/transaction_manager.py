"""A producer's ids, sequences and transactions (``TransactionManager``, KIP-98).

Sans-IO: it is told what the application wants, what was answered and what became of batches, and it says what is to be
asked next. One such request is under way at a time, and nothing else is sent meanwhile. What went wrong is either
*abortable*, and then the application may only abort, or *fatal*, and then the producer is of no more use.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.clients.coordinator_connection import CoordinatorLink
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.record_accumulator import Outgoing, PartitionBatches
from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.protocol.errors import RETRIABLE, KafkaError
from cluster_model.protocol.group_messages import (
    GROUP,
    TRANSACTION,
    CommittedOffset,
    FindCoordinatorResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from cluster_model.protocol.messages import NOBODY, InitProducerIdRequest, InitProducerIdResponse
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

# A producer's identity towards brokers, and what it makes of their refusals (``TransactionManager``, KIP-98, KIP-360).
#
# The identity is (producer id, epoch). Each partition numbers its records for itself, and begins at 0 in every epoch.


MOST_EPOCHS: Final = 32_767
"""Epochs are 16 bits: behind the last one comes a new producer id."""
SEQUENCES: Final = 1 << 31

GAP: Final = KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
FORGOTTEN: Final = KafkaError.UNKNOWN_PRODUCER_ID


class Sequences:
    """Without idempotence it lets everything pass, and nothing is numbered."""

    __slots__ = ("_client", "_rewrite", "_unresolved", "epoch", "on", "producer_id", "unsettled")

    def __init__(self, client: ClientProfile, *, on: bool) -> None:
        self._client = client
        self.on = on
        self.producer_id = -1
        """-1: none yet, or not any more."""
        self.epoch = -1
        self._rewrite: dict[str, PartitionBatches] = {}
        """Partitions for which a new epoch has been asked for."""
        self._unresolved: dict[str, PartitionBatches] = {}
        self.unsettled = False
        """Whether :meth:`settle` may have something to do."""

    @property
    def ready(self) -> bool:
        """Whether there is an identity to send under, if one is needed."""
        return not self.on or self.producer_id >= 0

    def given(self, producer_id: int, epoch: int) -> None:
        """A broker gave an id."""
        self.producer_id, self.epoch = producer_id, epoch
        self._renumber()

    def _renumber(self) -> None:
        for line in self._rewrite.values():
            self._begin(line)
            line.unresolved = -1
            self._unresolved.pop(line.name, None)
        self._rewrite.clear()

    def allows(self, line: PartitionBatches, head: Outgoing) -> bool:
        """Whether the head of a line may be sent now (``shouldStopDrainBatchesForPartition``)."""
        if not self.on:
            return True
        if self.producer_id < 0:
            return False
        drained = line.drained
        if head.producer_id < 0:
            stale = line.producer_id != self.producer_id or line.epoch != self.epoch
            return line.unresolved < 0 and not (stale and drained)
        return not drained or drained[0] is head

    def stamp(self, line: PartitionBatches, batch: Outgoing) -> None:
        """Number a batch at its first attempt."""
        if line.producer_id != self.producer_id or line.epoch != self.epoch:
            self._begin(line)
        batch.producer_id, batch.epoch, batch.first = self.producer_id, self.epoch, line.next_sequence
        line.next_sequence = (line.next_sequence + batch.records) % SEQUENCES
        line.drained.append(batch)

    def _begin(self, line: PartitionBatches) -> None:
        """Number a line from 0 under the present identity (``startSequencesAtBeginning``)."""
        line.producer_id, line.epoch = self.producer_id, self.epoch
        line.next_sequence = 0
        line.last_acked = line.last_offset = -1
        for batch in line.drained:
            batch.producer_id, batch.epoch, batch.first = self.producer_id, self.epoch, line.next_sequence
            batch.renumbered = True
            line.next_sequence += batch.records

    def acked(self, line: PartitionBatches, batch: Outgoing, offset: int) -> None:
        """A batch is in the log."""
        drained = line.drained
        if drained and drained[0] is batch:
            del drained[0]
        elif batch in drained:
            drained.remove(batch)
        if batch.producer_id == line.producer_id and batch.epoch == line.epoch:
            last = batch.first + batch.records - 1
            if last > line.last_acked:
                line.last_acked = last
            if offset > line.last_offset:
                line.last_offset = offset

    def may_retry(self, line: PartitionBatches, batch: Outgoing, error: KafkaError, log_start: int) -> bool:
        """Whether an attempt is followed by another, as far as the error goes (``TransactionManager.canRetry``)."""
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

    def _may_retry_forgotten(self, line: PartitionBatches, batch: Outgoing, log_start: int) -> bool:
        """The broker has forgotten the producer: because retention took what it knew, if the log begins behind it."""
        if log_start == -1 or batch.renumbered:
            return True
        if self._client.bumps_epoch:
            self._want_epoch(line)
            return True
        if line.last_offset < log_start:
            self._begin(line)
            return True
        return False

    def _want_epoch(self, line: PartitionBatches) -> None:
        self._rewrite[line.name] = line
        self.unsettled = True

    def gave_up(self, line: PartitionBatches, batch: Outgoing, error: KafkaError, *, for_good: bool) -> None:
        """A batch has failed. ``for_good``: the broker refused it, so its sequence is free (``handleFailedBatch``).

        Otherwise it ran out of time or retries, and if it was ever sent its sequence may be taken.
        """
        if batch not in line.drained:
            return
        line.drained.remove(batch)
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
        """Before anything is sent: close what is unresolved, raise the epoch (``bumpIdempotentEpochAndResetId...``)."""
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
            else:  # The numbering begins anew with the id that is asked for now.
                self.producer_id = self.epoch = -1
        self.unsettled = bool(self._unresolved)

    def is_of_the_past(self, batch: Outgoing) -> bool:
        """Whether a retry carries an id that the producer has lost: before KIP-360 such a batch is dropped."""
        return (
            self.on
            and not self._client.bumps_epoch
            and 0 <= self.producer_id != batch.producer_id
            and batch.attempts > 0
        )

    def save(self) -> tuple[Any, ...]:
        """All state but the lines'."""
        return (self.producer_id, self.epoch, tuple(self._rewrite), tuple(self._unresolved), self.unsettled)

    def load(self, saved: tuple[Any, ...], lines: dict[str, PartitionBatches]) -> None:
        """Undo of :meth:`save`; the lines are loaded first."""
        self.producer_id, self.epoch, rewrite, unresolved, self.unsettled = saved
        self._rewrite = {name: lines[name] for name in rewrite}
        self._unresolved = {name: lines[name] for name in unresolved}


# A producer's ids, sequences and transactions at its coordinators (``TransactionManager``, KIP-98).


FIRST_WAIT_US: Final = 20_000
"""Pause where the transaction before is still being completed: the first request of the next one is only early."""

E: Final = KafkaError
_COORDINATOR_GONE: Final = (E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR)
_FENCED: Final = (E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED)
_UNKNOWN_ID: Final = (E.UNKNOWN_PRODUCER_ID, E.INVALID_PRODUCER_ID_MAPPING)
_NOT_A_MEMBER: Final = (E.FENCED_INSTANCE_ID, E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION)


class ProducerTransactionState(IntEnum):
    """Kafka's states."""

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


class Rules(NamedTuple):
    """What client and cluster agree on."""

    bumps: bool = True
    """InitProducerId raises the epoch after an abortable error (KIP-360)."""
    epochs: bool = False
    """Every transaction has an epoch of its own, and adds what it writes to (KIP-890, part 2)."""
    fenced_by_leaders: bool = False
    """INVALID_PRODUCER_EPOCH of a partition's leader is fatal, as it was before KIP-588."""
    members: bool = True
    """Committed offsets come with the group's generation (KIP-447)."""
    versions: tuple[int, int, int] = (9, 4, 3)
    """Of Produce, EndTxn and TxnOffsetCommit."""


class TransactionOffsets(NamedTuple):
    """What is to be committed with a transaction, in the name of a member of a group."""

    group: str
    offsets: tuple[CommittedOffset, ...]
    generation: int = -1
    member_id: str = ""
    instance: str = ""


class TransactionCall(NamedTuple):
    """A request that is to be made: by its kind, and as far as it depends on it, by what it is about."""

    kind: str
    partitions: tuple[str, ...] = ()
    offsets: TransactionOffsets | None = None
    committed: bool = False
    expected: bool = False
    """Of INIT: as whoever has the present epoch."""

    @property
    def group(self) -> str:
        """Whose coordinator is asked; empty for the transactional id's own."""
        return self.offsets.group if self.kind == COMMIT and self.offsets is not None else ""


class TransactionManager:
    """The state of one producer's transactions."""

    __slots__ = (
        "_adding", "_backoff_us", "_id", "_queue", "_retry_at", "_rules", "_timeout_us", "asking", "bump_wanted",
        "end_sent", "epoch", "error", "lost_coordinator", "partitions", "producer_id", "started", "state", "unmapped",
    )  # fmt: skip

    def __init__(self, transactional_id: str, timeout_us: int, backoff_us: int, rules: Rules) -> None:
        self._id = transactional_id
        self._timeout_us = timeout_us
        self._backoff_us = backoff_us
        self._rules = rules
        self.state = S.UNINITIALIZED
        self.producer_id = -1
        self.epoch = -1
        self.partitions: dict[str, None] = {}
        """Known to be part of the transaction: may be written to."""
        self._adding: dict[str, None] = {}
        """Written to by the application, and not asked for yet."""
        self.started = False
        """The coordinator knows of the transaction."""
        self.end_sent = False
        """It has been asked to end it."""
        self.bump_wanted = False
        """An epoch more is to be asked for after the abort."""
        self.unmapped = False
        """The coordinator does not know the id: there is nothing to abort there."""
        self.error = E.NONE
        """What led to the present error state."""
        self.asking: TransactionCall | None = None
        """Under way."""
        self.lost_coordinator = ""
        """"own" or a group's name after an answer by which another coordinator is to be found, else empty."""
        self._queue: list[TransactionCall] = []
        self._retry_at = 0

    @property
    def rules(self) -> Rules:
        """What client and cluster agree on."""
        return self._rules

    @property
    def sends_offsets(self) -> bool:
        """Whether ``sendOffsetsToTransaction`` has not returned yet."""
        asked = self._queue if self.asking is None else [self.asking, *self._queue]
        return any(ask.kind in (OFFSETS, COMMIT) for ask in asked)

    # -- the application --------------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """``initTransactions``: have an epoch that fences whoever had the id before."""
        self.state = S.INITIALIZING
        self._enqueue(TransactionCall(INIT))

    def begin(self) -> None:
        """``beginTransaction``: nobody else is told before something is written."""
        self._require(S.READY)
        self.state = S.IN_TRANSACTION

    def wants(self, partition: str) -> None:
        """The application sends to a partition (``maybeAddPartition``)."""
        if partition in self.partitions or partition in self._adding:
            return
        if self._rules.epochs:
            self.partitions[partition] = None
            self.started = True
        elif self.asking is None or self.asking.kind != ADD or partition not in self.asking.partitions:
            self._adding[partition] = None

    def send_offsets(self, offsets: TransactionOffsets) -> None:
        """``sendOffsetsToTransaction``."""
        self._require(S.IN_TRANSACTION)
        if not self._rules.members:
            offsets = TransactionOffsets(offsets.group, offsets.offsets)
        self._enqueue(TransactionCall(COMMIT if self._rules.epochs else OFFSETS, offsets=offsets))
        self.started = self.started or self._rules.epochs

    def commit(self) -> None:
        """``commitTransaction``, once; its end is READY or an error."""
        self._require(S.IN_TRANSACTION)
        self.state = S.COMMITTING
        self._enqueue(TransactionCall(END, committed=True))

    def abort(self) -> None:
        """``abortTransaction``, once; its end is READY or a fatal error."""
        self._require(S.IN_TRANSACTION, S.ABORTABLE_ERROR)
        self.state = S.ABORTING
        self.error = E.NONE
        self._adding.clear()
        self._queue.clear()
        if not self.unmapped:
            self._enqueue(TransactionCall(END))
        else:
            self._complete()

    def _require(self, *states: ProducerTransactionState) -> None:
        if self.state not in states:
            raise ValueError(f"{self._id}: {self.state.name}, not {' or '.join(state.name for state in states)}")

    # -- what to ask ------------------------------------------------------------------------------------------------

    def _enqueue(self, ask: TransactionCall) -> None:
        """Behind all that goes before it or came before it."""
        place = len(self._queue)
        while place and _PRIORITY[self._queue[place - 1].kind] > _PRIORITY[ask.kind]:
            place -= 1
        self._queue.insert(place, ask)

    def next(self, now: int, *, idle: bool) -> TransactionCall | None:
        """What to ask now; ``idle``: no batch is without an outcome. The caller sends it, and says so."""
        if self.asking is not None or self.state is S.FATAL_ERROR:
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

    def due(self, now: int) -> int:
        """When something may be asked again that has to wait, -1 for never."""
        return self._retry_at if self._queue and self.asking is None and self._retry_at > now else -1

    def sent(self, ask: TransactionCall) -> Any:
        """The head of the queue is asked: the request, without its correlation."""
        self._queue.remove(ask)
        self.asking = ask
        identity = (self._id, self.producer_id, self.epoch)
        if ask.kind == INIT:
            had = identity[1:] if ask.expected else (-1, -1)
            return InitProducerIdRequest(0, self._id, self._timeout_us, *had)
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

    # -- what was answered ------------------------------------------------------------------------------------------

    def unanswered(self, now: int) -> None:
        """The connection broke, or time ran out: the same again."""
        if self.asking is not None:
            self._again(now, self._backoff_us)

    def _again(self, now: int, pause_us: int) -> None:
        ask, self.asking = self.asking, None
        assert ask is not None
        self._retry_at = now + pause_us
        self._enqueue(ask)

    def answered(self, error: KafkaError, now: int, producer_id: int = -1, epoch: int = -1) -> None:
        """The answer to what is being asked; id and epoch are those of InitProducerId and EndTxn."""
        ask = self.asking
        assert ask is not None
        if error is E.NONE:
            self.asking = None
            self._granted(ask, producer_id, epoch)
        elif error in _COORDINATOR_GONE or (error is E.REQUEST_TIMED_OUT and ask.kind == COMMIT):
            self.lost_coordinator = ask.group or "own"
            self._again(now, self._backoff_us)
        elif error is E.COORDINATOR_LOAD_IN_PROGRESS or self._comes_too_early(ask, error):
            early = error is E.CONCURRENT_TRANSACTIONS and ask.kind == ADD and not self.partitions
            self._again(now, min(FIRST_WAIT_US, self._backoff_us) if early else self._backoff_us)
        else:
            self.asking = None
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
            self.bump_wanted = self.unmapped = False
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
        """The transaction has ended (``completeTransaction``)."""
        self.partitions.clear()
        self._adding.clear()
        self.started = self.end_sent = False
        if self.bump_wanted or self.unmapped:
            self.state = S.INITIALIZING
            self._enqueue(TransactionCall(INIT, expected=True))
        else:
            self.state = S.READY

    def _refused(self, ask: TransactionCall, error: KafkaError) -> None:
        if error in _FENCED:
            self.fail(E.PRODUCER_FENCED)
        elif error is E.TRANSACTION_ABORTABLE or (ask.kind == COMMIT and error in _NOT_A_MEMBER):
            self.abortable(error)
        elif error in _UNKNOWN_ID and ask.kind in (ADD, OFFSETS, END) and self._rules.bumps:
            self.unmapped = error is E.INVALID_PRODUCER_ID_MAPPING
            self.bump_wanted = True
            self.abortable(error)
        elif ask.kind == ADD and error is not E.INVALID_TXN_STATE and error not in _UNKNOWN_ID:
            self.abortable(error)
        else:
            self.fail(error)

    # -- what became of batches -------------------------------------------------------------------------------------

    def batch_failed(self, error: KafkaError) -> None:
        """A batch has no more attempts (``maybeTransitionToErrorState``)."""
        fenced = error is E.INVALID_PRODUCER_EPOCH and self._rules.fenced_by_leaders
        if fenced or error in (E.PRODUCER_FENCED, E.UNSUPPORTED_VERSION):
            self.fail(E.PRODUCER_FENCED if fenced else error)
            return
        if self._rules.bumps and not self._rules.epochs and self.state not in (S.COMMITTING, S.ABORTING):
            self.bump_wanted = True
        self.abortable(error)

    def unresolved(self) -> None:
        """Nobody can tell whether a batch is in the log, and its sequence with it (``maybeResolveSequences``)."""
        if not self._rules.bumps:
            self.fail(E.UNKNOWN_SERVER_ERROR)
            return
        self.bump_wanted = self.bump_wanted or not self._rules.epochs
        self.abortable(E.REQUEST_TIMED_OUT)

    def abortable(self, error: KafkaError) -> None:
        """The transaction can only be aborted; one that is being aborted goes on so."""
        if self.state in (S.IN_TRANSACTION, S.COMMITTING, S.INITIALIZING, S.ABORTABLE_ERROR):
            if self.state is not S.ABORTABLE_ERROR:
                self.error = error
            self.state = S.ABORTABLE_ERROR
        elif self.state is S.ABORTING and self.asking is None and not self._queue:
            # What was to abort it has been refused.
            self._complete()

    def fail(self, error: KafkaError) -> None:
        """The producer is of no more use."""
        if self.state is not S.FATAL_ERROR:
            self.error = error
        self.state = S.FATAL_ERROR
        self._queue.clear()
        self._adding.clear()
        self.asking = None

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            int(self.state), self.producer_id, self.epoch, tuple(self.partitions), tuple(self._adding), self.started,
            self.end_sent, self.bump_wanted, self.unmapped, int(self.error), self.asking, self.lost_coordinator,
            tuple(self._queue), self._retry_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            state, self.producer_id, self.epoch, partitions, adding, self.started, self.end_sent, self.bump_wanted,
            self.unmapped, error, self.asking, self.lost_coordinator, queue, self._retry_at,
        ) = saved  # fmt: skip
        self.state, self.error = ProducerTransactionState(state), KafkaError(error)
        self.partitions, self._adding = dict.fromkeys(partitions), dict.fromkeys(adding)
        self._queue = list(queue)


# Asking for a producer id (InitProducerId without a transactional id, KIP-98): any broker will do.


class IdRequest:
    """At most one request under way; repeated after the back-off until it is answered."""

    __slots__ = ("_alarm", "_asked_at", "_backoff_us", "_correlation", "_metadata", "_node", "_port", "_timeout_us")

    def __init__(self, port: NodeContext, metadata: Metadata, *, backoff_us: int, timeout_us: int) -> None:
        self._port = port
        self._metadata = metadata
        self._backoff_us = backoff_us
        self._timeout_us = timeout_us
        self._alarm = Alarm(port, "producer id")
        self._correlation = port.first_number
        self._node = NOBODY
        """Broker that is being asked."""
        self._asked_at = -1
        """When it was asked last, -1 while nothing is wanted."""

    def want(self) -> None:
        """Ask, unless that has been done."""
        if self._asked_at < 0:
            self._ask()

    def _ask(self) -> None:
        now = self._port.now
        self._node = self._metadata.pick()
        self._asked_at = now
        self._correlation += 1
        self._port.send(self._node, InitProducerIdRequest(self._correlation))
        self._alarm.want(now + self._timeout_us)

    def _again(self) -> None:
        self._node = NOBODY
        self._alarm.want(self._port.now + self._backoff_us)

    def rang(self) -> int:
        """The alarm: the back-off is over; the broker that has not answered in time, as of :meth:`Metadata.rang`."""
        if not self._alarm.rang() or self._asked_at < 0:
            return NOBODY
        if self._node == NOBODY:
            self._ask()
        elif self._port.now - self._asked_at >= self._timeout_us:
            return self._node
        else:
            self._alarm.want(self._asked_at + self._timeout_us)
        return NOBODY

    def disconnected(self, peer: int) -> None:
        """The connection to a broker broke."""
        if peer == self._node:
            self._again()

    def answered(self, response: InitProducerIdResponse) -> bool:
        """Whether this is the id that was waited for."""
        if self._node == NOBODY or response.correlation != self._correlation:
            return False
        if response.error:
            self._again()
            return False
        self._node = NOBODY
        self._asked_at = -1
        return True

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._alarm.save(), self._correlation, self._node, self._asked_at)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        alarm, self._correlation, self._node, self._asked_at = saved
        self._alarm.load(alarm)


# Sequences of a transactional producer: nothing is sent outside of a transaction, and no gap is healed.
#
# What an idempotent producer would go on after by itself, with a new epoch, costs a transactional one its
# transaction.


class TransactionalSequences(Sequences):
    """Its id and epoch are the manager's."""

    __slots__ = ("_manager",)

    def __init__(self, client: ClientProfile, manager: TransactionManager) -> None:
        super().__init__(client, on=True)
        self._manager = manager

    def allows(self, line: PartitionBatches, head: Outgoing) -> bool:
        """Only to partitions of the transaction (``isSendToPartitionAllowed``), and not beside another request."""
        manager = self._manager
        if (
            manager.state is ProducerTransactionState.FATAL_ERROR
            or manager.asking is not None
            or line.name not in manager.partitions
        ):
            return False
        return super().allows(line, head)

    def may_retry(self, line: PartitionBatches, batch: Outgoing, error: KafkaError, log_start: int) -> bool:
        """``TransactionManager.canRetry``."""
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

    def gave_up(self, line: PartitionBatches, batch: Outgoing, error: KafkaError, *, for_good: bool) -> None:
        """A batch has failed, and the transaction with it."""
        self._manager.batch_failed(error)
        if batch not in line.drained or self._manager.state is ProducerTransactionState.FATAL_ERROR:
            return
        place = line.drained.index(batch)
        del line.drained[place]
        if for_good:
            # What follows takes the numbers that have become free (``adjustSequencesDueToFailedBatch``).
            line.next_sequence = (line.next_sequence - batch.records) % SEQUENCES
            for later in line.drained[place:]:
                later.first -= batch.records
                later.renumbered = True
        elif batch.epoch == self.epoch and batch.producer_id == self.producer_id:
            line.unresolved = max(line.unresolved, batch.first + batch.records)
            self._unresolved[line.name] = line
            self.unsettled = True

    def settle(self) -> None:
        """Before anything is sent: where nothing is under way any more, a batch is there or it is not known."""
        for line in tuple(self._unresolved.values()):
            if line.drained:
                continue
            if line.next_sequence != line.last_acked + 1:
                self._manager.unresolved()
            line.unresolved = -1
            del self._unresolved[line.name]
        self.unsettled = bool(self._unresolved)


# Requests of a transactional producer to its coordinators, and their responses to its manager.


TIMER: Final = "transaction request"
_OF_GROUPS: Final = 1 << 30
"""Requests to groups' coordinators are numbered from here on: answers are told apart by their number alone."""


def rules_of(profile: Profile, config: ProducerConfig) -> Rules:
    """What a client of that age does on a cluster of this one."""
    client = config.client
    epochs = client.epoch_per_transaction and profile.transactions_v2
    if epochs:
        versions = (FIRST_IMPLICIT, FIRST_BUMPING, FIRST_BUMPING)
    elif client.knows_abortable and profile.transaction_abortable:
        versions = (FIRST_VERIFIED, FIRST_BUMPING - 1, FIRST_BUMPING - 1)
    else:
        versions = (9, FIRST_BUMPING - 2, FIRST_BUMPING - 2)
    return Rules(
        bumps=client.bumps_epoch and profile.producer_epoch_bump,
        epochs=epochs,
        fenced_by_leaders=not (client.aborts_when_fenced and profile.producer_fenced),
        members=client.consumer_group_metadata and profile.stable_offsets,
        versions=versions,
    )


class TransactionRequestSender:
    """Asks one thing after the other."""

    __slots__ = ("_alarm", "_groups", "_link", "_metadata", "_port", "_timing", "manager")

    def __init__(
        self, port: NodeContext, config: ProducerConfig, metadata: Metadata, manager: TransactionManager
    ) -> None:
        self._port = port
        self._metadata = metadata
        self._timing = (config.backoff_us, config.request_timeout_us)
        self.manager = manager
        self._link = CoordinatorLink(port, metadata, config.transactional_id, self._timing, TRANSACTION)
        self._groups: dict[str, CoordinatorLink] = {}
        self._alarm = Alarm(port, TIMER)

    def _group(self, group: str) -> CoordinatorLink:
        link = self._groups.get(group)
        if link is None:
            first = _OF_GROUPS * (len(self._groups) + 1)
            link = self._groups[group] = CoordinatorLink(self._port, self._metadata, group, self._timing, GROUP, first)
        return link

    def _links(self) -> list[CoordinatorLink]:
        return [self._link, *self._groups.values()]

    def busy(self, broker: int) -> bool:
        """Whether a request to a broker is unanswered."""
        return any(link.busy(broker) for link in self._links())

    def pump(self, *, idle: bool) -> None:
        """Ask what is to be asked; ``idle``: no batch is without an outcome."""
        manager = self.manager
        now = self._port.now
        if manager.lost_coordinator:
            lost = self._link if manager.lost_coordinator == "own" else self._group(manager.lost_coordinator)
            lost.unknown()
            self._metadata.refresh()
            manager.lost_coordinator = ""
        ask = manager.next(now, idle=idle)
        wanted: list[CoordinatorLink] = []
        if ask is not None:
            link = self._group(ask.group) if ask.group else self._link
            if link.known:
                link.ask(ask.kind, manager.sent(ask))
            else:
                link.find()
                wanted.append(link)
        self._rearm(wanted, now)

    def _rearm(self, wanted: list[CoordinatorLink], now: int) -> None:
        times = [self.manager.due(now)]
        times += [link.due() for link in self._links() if link in wanted or link.waits]
        due = [at for at in times if at >= 0]
        if due:
            self._alarm.want(min(due))

    def rang(self) -> list[int]:
        """The alarm: brokers that have not answered in time; the caller pumps."""
        if not self._alarm.rang():
            return []
        now = self._port.now
        return list(dict.fromkeys(broker for link in self._links() for broker in link.overdue(now)))

    def lost(self, broker: int) -> None:
        """The connection to a broker broke."""
        for link in self._links():
            if link.lost(broker):
                self.manager.unanswered(self._port.now)

    def receive(self, message: Any) -> bool:
        """Handle an answer; False if it is none of a coordinator's."""
        if isinstance(message, FindCoordinatorResponse):
            for link in self._links():
                link.found(message)
            return True
        if not isinstance(
            message,
            InitProducerIdResponse | AddPartitionsToTxnResponse | AddOffsetsToTxnResponse | EndTxnResponse
            | TxnOffsetCommitResponse,
        ):  # fmt: skip
            return False
        if any(link.take(message.correlation) for link in self._links()) and self.manager.asking is not None:
            self._take(message)
        return True

    def _take(self, message: Any) -> None:
        now = self._port.now
        if isinstance(message, TxnOffsetCommitResponse):
            errors = [KafkaError(error) for _partition, error in message.partitions if error]
            self.manager.answered(errors[0] if errors else KafkaError.NONE, now)
        elif isinstance(message, InitProducerIdResponse | EndTxnResponse):
            self.manager.answered(KafkaError(message.error), now, message.producer_id, message.producer_epoch)
        else:
            self.manager.answered(KafkaError(message.error), now)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        groups = tuple([(group, link.save()) for group, link in self._groups.items()])
        return (self.manager.save(), self._link.save(), groups, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        manager, link, groups, alarm = saved
        self.manager.load(manager)
        self._link.load(link)
        self._groups.clear()
        for group, state in groups:
            self._group(group).load(state)
        self._alarm.load(alarm)
