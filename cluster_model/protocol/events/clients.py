"""Events of producers, consumers, groups and transactions, and of the delivery of their records."""

from typing import ClassVar

from cluster_model.protocol.events.base import TraceEvent, event


@event
class RecordsSent(TraceEvent):
    """An application sent ``count`` records with its producer, numbered from ``sequence`` per client and partition."""

    kind: ClassVar[str] = "records_sent"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int


@event
class RecordsAcked(TraceEvent):
    """Records were acknowledged (success callback); ``latency_us`` counts from :class:`RecordsSent` for each of them.

    Records of one batch that were sent at several times have one event for each time, with the same ``at_us``.
    ``log_branch`` is the leader's branch of the log: together with ``log_offset`` it identifies a record, which
    epoch and offset alone do not. Both are -1 for acks=0, where no broker answers.
    """

    kind: ClassVar[str] = "records_acked"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    broker: int
    leader_epoch: int
    log_offset: int
    latency_us: int
    log_branch: int


@event
class RecordsFailed(TraceEvent):
    """Records failed with an error that proves they were not written; ``latency_us`` counts from the oldest send."""

    kind: ClassVar[str] = "records_failed"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    error: str
    latency_us: int


@event
class RecordsUnknown(TraceEvent):
    """Records ended in an error or timeout after which they may or may not be in the log: outcome unknown.

    ``latency_us`` counts from the oldest send.
    """

    kind: ClassVar[str] = "records_unknown"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    error: str
    latency_us: int


@event
class ProduceRefused(TraceEvent):
    """One produce attempt failed or was not answered; the producer may retry."""

    kind: ClassVar[str] = "produce_refused"
    at_us: int
    client: str
    partition: str
    broker: int
    acks: int
    error: str
    sequence: int
    count: int


@event
class ProduceRetried(TraceEvent):
    """A producer retried ``count`` records after an attempt that failed or was not answered."""

    kind: ClassVar[str] = "produce_retried"
    at_us: int
    client: str
    partition: str
    broker: int
    sequence: int
    count: int


@event
class RecordsAbandoned(TraceEvent):
    """``count`` records from ``log_offset`` on were polled by an application that will never process them."""

    kind: ClassVar[str] = "records_abandoned"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    count: int
    by: str


@event
class InterceptorFailed(TraceEvent):
    """A producer's interceptor threw for ``count`` records from ``sequence`` on; they are sent without it."""

    kind: ClassVar[str] = "interceptor_failed"
    at_us: int
    client: str
    by: str
    partition: str
    sequence: int
    count: int


@event
class RecordsRead(TraceEvent):
    """A consumer polled the ``count`` records of ``[log_offset, end_offset)`` that compaction had left.

    ``latency_us`` counts from the append of each. ``log_branch`` is the log branch that they are from, as in
    :class:`RecordsAcked`. Records of one poll from several branches or append times have one event for each, with the
    same ``at_us``.
    """

    kind: ClassVar[str] = "records_read"
    at_us: int
    client: str
    group_id: str
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    count: int
    latency_us: int
    log_branch: int
    end_offset: int


@event
class ConsumerReset(TraceEvent):
    """A consumer's position was reset by ``auto.offset.reset`` from ``end_offset`` to ``log_offset``.

    The position was out of range, or there was none, and ``end_offset`` is -1.
    """

    kind: ClassVar[str] = "consumer_reset"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    end_offset: int


@event
class TruncationDetected(TraceEvent):
    """A consumer detected that records it had read were truncated (KIP-320).

    Its position was ``log_offset``, after a record of ``leader_epoch``; the new leader's log has that epoch only up to
    ``end_offset``, -1 if not at all.
    """

    kind: ClassVar[str] = "truncation_detected"
    at_us: int
    client: str
    group_id: str
    partition: str
    leader_epoch: int
    log_offset: int
    end_offset: int


@event
class ConsumerFailed(TraceEvent):
    """A consumer's application ended with an exception thrown by the client; ``error`` is its name."""

    kind: ClassVar[str] = "consumer_failed"
    at_us: int
    client: str
    group_id: str
    error: str


@event
class HandlerFailed(TraceEvent):
    """A handler failed to process ``count`` records from ``log_offset`` on; its application continued after them."""

    kind: ClassVar[str] = "handler_failed"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    count: int


@event
class RecordDeadLettered(TraceEvent):
    """An application sent the record at ``log_offset``, which its handler failed to process, to a dead-letter topic.

    The topic's leader has acknowledged it; ``detail`` is the topic.
    """

    kind: ClassVar[str] = "record_dead_lettered"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    detail: str


@event
class GroupRebalanced(TraceEvent):
    """A group completed a rebalance: the leader's assignment is in effect; ``count`` is the number of members."""

    kind: ClassVar[str] = "group_rebalanced"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class PartitionsAssigned(TraceEvent):
    """A member got ``count`` new partitions (``onPartitionsAssigned``); ``detail`` names generation and partitions."""

    kind: ClassVar[str] = "partitions_assigned"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class PartitionsRevoked(TraceEvent):
    """A member revoked ``count`` partitions that it still owned (``onPartitionsRevoked``)."""

    kind: ClassVar[str] = "partitions_revoked"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class PartitionsLost(TraceEvent):
    """A member found that it no longer owns ``count`` partitions (``onPartitionsLost``)."""

    kind: ClassVar[str] = "partitions_lost"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class OffsetsCommitted(TraceEvent):
    """A member's commit of ``log_offset``, the next offset to read, was accepted.

    Recorded only where it differs from the member's previous commit. ``by``: auto, sync, async, rebalance or close.
    """

    kind: ClassVar[str] = "offsets_committed"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    by: str


@event
class OffsetsExpired(TraceEvent):
    """A coordinator expired a group's committed offset, ``log_offset``, at the end of its retention.

    It was committed ``latency_us`` before. ``detail`` is the setting, as in ``offsets.retention.minutes=1440``.
    """

    kind: ClassVar[str] = "offsets_expired"
    at_us: int
    broker: int
    group_id: str
    partition: str
    log_offset: int
    latency_us: int
    detail: str


@event
class CommitFailed(TraceEvent):
    """A member's commit failed, or its outcome is unknown; ``error`` is the exception's name."""

    kind: ClassVar[str] = "commit_failed"
    at_us: int
    client: str
    group_id: str
    error: str
    by: str


@event
class TransactionBegun(TraceEvent):
    """A producer began a transaction; ``detail`` names its transactional id, producer id and epoch."""

    kind: ClassVar[str] = "transaction_begun"
    at_us: int
    client: str
    detail: str


@event
class TransactionCommitted(TraceEvent):
    """A producer's transaction of ``count`` records was committed; ``latency_us`` counts from the call."""

    kind: ClassVar[str] = "transaction_committed"
    at_us: int
    client: str
    detail: str
    count: int
    latency_us: int


@event
class TransactionAborted(TraceEvent):
    """A transaction of ``count`` records was aborted; ``error`` is why, empty if the application chose to abort."""

    kind: ClassVar[str] = "transaction_aborted"
    at_us: int
    client: str
    detail: str
    count: int
    error: str


@event
class TransactionUnknown(TraceEvent):
    """A producer does not know whether its transaction of ``count`` records is committed."""

    kind: ClassVar[str] = "transaction_unknown"
    at_us: int
    client: str
    detail: str
    count: int
    error: str


@event
class TransactionTimedOut(TraceEvent):
    """The end of a transaction was not answered within ``max.block.ms``; ``by`` is the call, which is repeated.

    It is ``commit`` or ``abort``.
    """

    kind: ClassVar[str] = "transaction_timed_out"
    at_us: int
    client: str
    detail: str
    by: str
    latency_us: int


@event
class TransactionLeftOpen(TraceEvent):
    """An application left its transaction of ``count`` records open and sends nothing more."""

    kind: ClassVar[str] = "transaction_left_open"
    at_us: int
    client: str
    detail: str
    count: int


@event
class ProducerFenced(TraceEvent):
    """A transactional producer ended with a fatal error, such as PRODUCER_FENCED: another producer has its id."""

    kind: ClassVar[str] = "producer_fenced"
    at_us: int
    client: str
    detail: str
    error: str


@event
class RecordsAborted(TraceEvent):
    """Records were aborted with their transaction: a read_committed consumer never reads them.

    ``log_offset`` is -1 where they were not acknowledged; they may or may not be in the log.
    """

    kind: ClassVar[str] = "records_aborted"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    broker: int
    leader_epoch: int
    log_offset: int
    latency_us: int
    log_branch: int
