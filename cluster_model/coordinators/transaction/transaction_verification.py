"""Verification of a transaction at its coordinator before its first write to a partition (KIP-890).

A leader cannot otherwise distinguish a late batch of an ended transaction from the first batch of a new one; accepting
it would open a transaction that hangs (``AddPartitionsToTxnManager``, ``ReplicaManager``). Since version 2 of
transactions the request also adds the partition.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import CoordinatorHost
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import TxnOffsetCommitRequest
from cluster_model.protocol.messages import NO_LEADER, ProduceRequest
from cluster_model.protocol.transaction_messages import (
    FIRST_BUMPING,
    FIRST_IMPLICIT,
    FIRST_VERIFIED,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from cluster_model.spec.cluster_spec import TRANSACTIONS, coordinator_partition

LIVENESS: Final = "verification"
Write = ProduceRequest | TxnOffsetCommitRequest

_TRY_AGAIN: Final = (
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NETWORK_EXCEPTION,
)
"""Errors converted to NOT_ENOUGH_REPLICAS, which every client retries without a metadata update."""


class _Question(NamedTuple):
    broker: int
    deadline: int
    source: int
    write: Write
    partition: str
    guard: int
    leader_epoch: int


class TransactionVerifier:
    """Writes of one broker that wait for their verification."""

    __slots__ = (
        "_checks_epoch", "_correlation", "_guard", "_guards", "_hosted", "_local", "_lowest", "_partitions", "_port",
        "_questions", "_rejects_old", "_resume", "_timeout_us", "_timer", "_v2",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        hosted: CoordinatorHost,
        partitions: int,
        timeout_us: int,
        local: Callable[[AddPartitionsToTxnRequest], None],
        resume: Callable[[int, Write, KafkaError], None],
        *,
        v2: bool,
        rejects_old: bool,
        checks_epoch: bool,
    ) -> None:
        """``partitions`` is the partition count of the topic; ``local`` calls the coordinator in the same process.

        ``resume`` continues a write, or rejects it with an error. ``v2``: the cluster has version 2 of transactions.
        ``rejects_old``: a write of an older epoch than that of the leader is rejected without a request.
        ``checks_epoch``: and so is one whose verification a marker has ended.
        """
        self._port = port
        self._hosted = hosted
        self._partitions = partitions
        self._timeout_us = timeout_us
        self._local = local
        self._resume = resume
        self._v2 = v2
        self._rejects_old = rejects_old
        self._checks_epoch = checks_epoch
        self._questions: dict[int, _Question] = {}
        self._guards: dict[tuple[str, int], int] = {}
        """(partition, producer id) → verification in progress; a marker ends it (``VerificationGuard``)."""
        self._lowest: dict[tuple[str, int], tuple[int, int]] = {}
        """(partition, producer id) → producer epoch and lowest sequence of the writes to be verified."""
        self._guard = 0
        self._correlation = 0
        self._timer = DeadlineTimer(port, LIVENESS)

    def verify(self, source: int, partition: str, write: Write) -> bool:
        """Verify a write unless its transaction is open in the partition; return whether the write has to wait."""
        if not write.transactional_id or self._hosted.is_open(partition, write.producer_id, write.producer_epoch):
            return False
        if self._rejects_old and self._is_fenced(partition, write):
            self._resume(source, write, KafkaError.INVALID_PRODUCER_EPOCH)
            return True
        key = (partition, write.producer_id)
        if key not in self._guards:
            self._guard += 1
            self._guards[key] = self._guard
        if isinstance(write, ProduceRequest):
            self._note_sequence(key, write)
        self._correlation += 1
        number = self._correlation
        state = self._hosted.states.get(
            f"{TRANSACTIONS}-{coordinator_partition(write.transactional_id, self._partitions)}"
        )
        broker = NO_LEADER if state is None else state.leader
        deadline = self._port.now + self._timeout_us
        epoch = self._hosted.leader_epoch(partition)
        self._questions[number] = _Question(broker, deadline, source, write, partition, self._guards[key], epoch)
        question = AddPartitionsToTxnRequest(
            number, write.transactional_id, write.producer_id, write.producer_epoch, (partition,),
            verify_only=not self._adds(write),
        )  # fmt: skip
        if broker == NO_LEADER or broker not in self._hosted.metadata.live:
            self._settle(number, KafkaError.COORDINATOR_NOT_AVAILABLE)
        elif broker == self._port.node_id:
            self._local(question)
        else:
            self._timer.arm(deadline)
            self._port.send(broker, question)
        return True

    def _note_sequence(self, key: tuple[str, int], write: ProduceRequest) -> None:
        """Remember the lowest sequence that waits for verification (``VerificationStateEntry``, KAFKA-14920)."""
        epoch, lowest = self._lowest.get(key, (-1, -1))
        sequence = write.sequence - write.origin
        if write.producer_epoch > epoch or (write.producer_epoch == epoch and sequence < lowest):
            self._lowest[key] = (write.producer_epoch, sequence)

    def _skips(self, key: tuple[str, int], write: Write) -> bool:
        """Whether an earlier write of the producer has not been verified yet, so that this one is out of order."""
        epoch, lowest = self._lowest.get(key, (-1, -1))
        if not isinstance(write, ProduceRequest) or write.producer_epoch != epoch:
            return False
        return write.sequence - write.origin > lowest

    def _adds(self, write: Write) -> bool:
        first = FIRST_IMPLICIT if isinstance(write, ProduceRequest) else FIRST_BUMPING
        return self._v2 and write.version >= first

    def on_response(self, _source: int, response: AddPartitionsToTxnResponse) -> None:
        """Handle the coordinator's response."""
        if response.correlation_id in self._questions:
            self._settle(response.correlation_id, KafkaError(response.error))

    def _settle(self, number: int, error: KafkaError) -> None:
        question = self._questions.pop(number)
        write, partition = question.write, question.partition
        if error in _TRY_AGAIN:
            error = KafkaError.NOT_ENOUGH_REPLICAS
        elif error is KafkaError.PRODUCER_FENCED:
            error = KafkaError.INVALID_PRODUCER_EPOCH
        elif error is KafkaError.TRANSACTION_ABORTABLE and not _knows_abortable(write):
            error = KafkaError.INVALID_TXN_STATE
        elif not error and self._hosted.leader_epoch(partition) == question.leader_epoch:
            guarded = self._guards.get((partition, write.producer_id)) == question.guard
            if not guarded and not self._hosted.is_open(partition, write.producer_id, write.producer_epoch):
                is_fenced = self._checks_epoch and self._is_fenced(partition, write)
                error = KafkaError.INVALID_PRODUCER_EPOCH if is_fenced else KafkaError.INVALID_TXN_STATE
        key = (partition, write.producer_id)
        if not error and self._skips(key, write):
            error = KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
        if not error:
            self._guards.pop(key, None)
            if isinstance(write, ProduceRequest):
                self._lowest.pop(key, None)
        self._resume(question.source, write, error)

    def _is_fenced(self, partition: str, write: Write) -> bool:
        """Whether the leader knows a newer epoch (``UnifiedLog.maybeStartTransactionVerification``)."""
        return write.producer_epoch < self._hosted.producer_epoch(partition, write.producer_id)

    def marked(self, partition: str, producer_id: int) -> None:
        """End verifications before a marker is written: their results do not apply after it."""
        self._guards.pop((partition, producer_id), None)
        self._lowest.pop((partition, producer_id), None)

    def on_disconnect(self, peer: int) -> None:
        """The connection to ``peer`` broke: verifications in flight to it fail."""
        for number in [number for number, question in self._questions.items() if question.broker == peer]:
            self._settle(number, KafkaError.NETWORK_EXCEPTION)

    def on_timer(self) -> None:
        """Time out verifications; a timeout closes the connection, and fails all requests over it."""
        if not self._timer.take_expired():
            return
        now = self._port.now
        for broker in {question.broker: None for question in self._questions.values() if question.deadline <= now}:
            if broker != self._port.node_id:
                self._port.abandon(broker)
            self.on_disconnect(broker)
        if self._questions:
            self._timer.arm(min([question.deadline for question in self._questions.values()]))

    def stopped(self) -> None:
        """The process died."""
        self._questions.clear()
        self._guards.clear()
        self._lowest.clear()
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            tuple(self._questions.items()), tuple(self._guards.items()), self._guard, self._correlation,
            self._timer.save(), tuple(self._lowest.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        questions, guards, self._guard, self._correlation, timer, lowest = saved
        self._questions, self._guards, self._lowest = dict(questions), dict(guards), dict(lowest)
        self._timer.load(timer)


def _knows_abortable(write: Write) -> bool:
    return write.version >= (FIRST_VERIFIED if isinstance(write, ProduceRequest) else FIRST_BUMPING - 1)
