"""What producers, consumers, groups and transactions do, and what becomes of their records."""

from typing import ClassVar

from cluster_model.protocol.events.base import TraceEvent, event


@event
class RecordsSent(TraceEvent):
    """An application handed ``count`` records to its producer, numbered from ``sequence`` per client and partition."""

    kind: ClassVar[str] = "records_sent"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int


@event
class RecordsAcked(TraceEvent):
    """The success callback. ``latency_us`` counts from :class:`RecordsSent`, for each of these records.

    Records of one batch that were handed over at several times have an event for each, and one ``at_us``.
    ``stint`` tells which leader stint wrote the records: with ``log_offset`` it is their identity, which epoch and
    offset alone are not. Both are -1 for acks=0, where nobody answers.
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
    stint: int


@event
class RecordsFailed(TraceEvent):
    """An error that proves the records were not written. ``latency_us`` is since the oldest was handed over."""

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
    """An error or timeout after which the records may or may not be in the log; ``latency_us`` as if they failed."""

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
    """One attempt to produce was answered with an error, or not at all; the producer may try again."""

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
    """A producer sent ``count`` records again: another attempt, after one that was refused or not answered."""

    kind: ClassVar[str] = "produce_retried"
    at_us: int
    client: str
    partition: str
    broker: int
    sequence: int
    count: int


@event
class RecordsAbandoned(TraceEvent):
    """``count`` records, the first at ``log_offset``, were handed to an application that will not process them."""

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
    """A producer's interceptor threw at ``count`` records, the first numbered ``sequence``: they go on without it."""

    kind: ClassVar[str] = "interceptor_failed"
    at_us: int
    client: str
    by: str
    partition: str
    sequence: int
    count: int


@event
class RecordsRead(TraceEvent):
    """A consumer was handed the ``count`` records of ``[log_offset, end_offset)`` that compaction had left.

    ``latency_us`` is since each of them was appended. ``stint`` tells which leader stint wrote them, as in
    :class:`RecordsAcked`: what one poll hands out of several stints, or of several times of appending, is an event for
    each. What a poll hands out has one ``at_us``.
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
    stint: int
    end_offset: int


@event
class ConsumerReset(TraceEvent):
    """``auto.offset.reset`` moved a consumer from ``end_offset`` to ``log_offset``.

    Its position was out of range; or it had none, and ``end_offset`` is -1.
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
    """A consumer found that what it has read was truncated (KIP-320).

    It had read up to ``log_offset``, last a record of ``leader_epoch``; the new leader's log has that epoch up to
    ``end_offset`` only, -1 if not at all.
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
    """A consumer's application ended by an exception that the client threw; ``error`` is its name."""

    kind: ClassVar[str] = "consumer_failed"
    at_us: int
    client: str
    group_id: str
    error: str


@event
class HandlerFailed(TraceEvent):
    """A handler could not process ``count`` records from ``log_offset`` on; its application went on behind them."""

    kind: ClassVar[str] = "handler_failed"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    count: int


@event
class RecordDeadLettered(TraceEvent):
    """An application sent the record at ``log_offset``, which its handler could not process, to a dead-letter topic.

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
    """A group's leader has brought an assignment that is in force; ``count`` is how many members it has."""

    kind: ClassVar[str] = "group_rebalanced"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class PartitionsAssigned(TraceEvent):
    """A member got ``count`` partitions more (``onPartitionsAssigned``); ``detail`` names generation and partitions."""

    kind: ClassVar[str] = "partitions_assigned"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class PartitionsRevoked(TraceEvent):
    """A member gave ``count`` partitions up while they were still its own (``onPartitionsRevoked``)."""

    kind: ClassVar[str] = "partitions_revoked"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class PartitionsLost(TraceEvent):
    """A member found that ``count`` partitions are its own no more (``onPartitionsLost``)."""

    kind: ClassVar[str] = "partitions_lost"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@event
class OffsetsCommitted(TraceEvent):
    """A member's commit of ``log_offset``, the next to be read, was accepted; told where it differs from its last one.

    ``by``: auto, sync, async, rebalance or close.
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
    """A coordinator dropped a group's committed offset, ``log_offset``, as its retention was over.

    It had been committed ``latency_us`` before. ``detail`` is the setting, as in ``offsets.retention.minutes=1440``.
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
    """A member's commit came to nothing, or its outcome is unknown; ``error`` is the exception's name."""

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
    """A producer was told that its transaction of ``count`` records is committed; ``latency_us`` from the call on."""

    kind: ClassVar[str] = "transaction_committed"
    at_us: int
    client: str
    detail: str
    count: int
    latency_us: int


@event
class TransactionAborted(TraceEvent):
    """A producer's transaction of ``count`` records is aborted; ``error`` is why, empty where it was wished."""

    kind: ClassVar[str] = "transaction_aborted"
    at_us: int
    client: str
    detail: str
    count: int
    error: str


@event
class TransactionUnknown(TraceEvent):
    """A producer cannot tell whether its transaction of ``count`` records is committed."""

    kind: ClassVar[str] = "transaction_unknown"
    at_us: int
    client: str
    detail: str
    count: int
    error: str


@event
class TransactionOverdue(TraceEvent):
    """A transaction's end was not answered for ``max.block.ms``; ``by``: commit or abort, which is called again."""

    kind: ClassVar[str] = "transaction_overdue"
    at_us: int
    client: str
    detail: str
    by: str
    latency_us: int


@event
class TransactionLeftOpen(TraceEvent):
    """An application leaves its transaction of ``count`` records open for good, and sends nothing more."""

    kind: ClassVar[str] = "transaction_left_open"
    at_us: int
    client: str
    detail: str
    count: int


@event
class ProducerFenced(TraceEvent):
    """A transactional producer ends by a fatal error, such as PRODUCER_FENCED: another one has its id."""

    kind: ClassVar[str] = "producer_fenced"
    at_us: int
    client: str
    detail: str
    error: str


@event
class RecordsAborted(TraceEvent):
    """Records were aborted with their transaction: a consumer with read_committed never sees them.

    ``log_offset`` -1: they were not acknowledged, and may not be in the log either.
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
    stint: int
