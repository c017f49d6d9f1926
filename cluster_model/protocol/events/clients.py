"""Typed trace events: what happened, one frozen tuple each.

These are the words that the checker, the recorder, the screen and the report share. Every class carries ``kind`` (its
name in a recorded session) and only fields named in :data:`COLUMNS`, so that a session is one flat table: a row has
the event's fields and nulls elsewhere. Names are only ever added, never reused with another meaning or type.

Units: ``_us`` is virtual microseconds; offsets called ``log_offset`` are the first offset meant, ``end_offset`` is
exclusive.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, dataclass_transform

SCHEMA_VERSION: Final = 3
"""Version of the recorded columns; raised when one is added."""

COLUMNS: Final[dict[str, str]] = {
    "at_us": "int",
    "kind": "str",
    "partition": "str",
    "broker": "int",
    "node": "str",
    "leader": "int",
    "leader_epoch": "int",
    "partition_epoch": "int",
    "isr": "ints",
    "previous_isr": "ints",
    "log_offset": "int",
    "end_offset": "int",
    "hw": "int",
    "client": "str",
    "group_id": "str",
    "sequence": "int",
    "count": "int",
    "acks": "int",
    "error": "str",
    "latency_us": "int",
    "clean": "bool",
    "committed": "bool",
    "by": "str",
    "fault_id": "int",
    "fault": "str",
    "target": "str",
    "until_us": "int",
    "rule": "str",
    "invariant": "str",
    "detail": "str",
    "cause": "str",
    "ok": "bool",
    "stint": "int",
    "elr": "ints",
    "last_known": "int",
    "recovering": "bool",
    "replicas": "ints",
    "adding": "ints",
    "removing": "ints",
    "operation": "str",
    "operation_id": "int",
    "known": "str",
    "property": "str",
    "since_us": "int",
    "bound_us": "int",
}
"""Column name → type (``int``, ``str``, ``bool`` or ``ints``, a list of ints)."""


class TraceEvent:
    """What every event has: a ``kind``, and fields in a fixed order, ``at_us`` first."""

    __slots__ = ()
    kind: ClassVar[str]

    def fields(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return FIELDS[self.kind]

    def values(self) -> tuple[Any, ...]:
        """Values of the fields, in order."""
        values: tuple[Any, ...] = _VALUES[self.kind](self)
        return values


@dataclass_transform(frozen_default=True)
def _event(cls: type[Any]) -> type[Any]:
    """A slotted dataclass that type checkers hold to be frozen: freezing it at run time costs three times as much."""
    return dataclass(slots=True)(cls)


@_event
class NodeDown(TraceEvent):
    """A process is gone. ``detail``: ``crash`` (page cache kept), ``power_loss``, ``disk_loss``, ``shutdown``.

    A client's may be ``close``, anybody's ``out_of_memory``. A broker that ends itself gives its reason there, ``exit:
    ...``; its page cache stays as in a crash. ``broker`` -1: none.
    """

    kind: ClassVar[str] = "node_down"
    at_us: int
    node: str
    broker: int
    detail: str


@_event
class NodeUp(TraceEvent):
    """A process that was down runs again; a broker is not yet registered with the controller."""

    kind: ClassVar[str] = "node_up"
    at_us: int
    node: str
    broker: int


@_event
class NodePaused(TraceEvent):
    """A process stopped handling events without dying: a stop-the-world collection, SIGSTOP."""

    kind: ClassVar[str] = "node_paused"
    at_us: int
    node: str
    broker: int


@_event
class NodeResumed(TraceEvent):
    """A paused process goes on, with everything it was sent meanwhile still queued."""

    kind: ClassVar[str] = "node_resumed"
    at_us: int
    node: str
    broker: int


@_event
class BrokerRegistered(TraceEvent):
    """The controller accepted a broker (again); the broker counts as live from here."""

    kind: ClassVar[str] = "broker_registered"
    at_us: int
    broker: int


@_event
class BrokerFenced(TraceEvent):
    """The controller gave a broker up: its session ended. ``detail`` says why."""

    kind: ClassVar[str] = "broker_fenced"
    at_us: int
    broker: int
    detail: str


@_event
class ControllerChanged(TraceEvent):
    """A node became the active controller; ``leader_epoch`` is its controller epoch (the quorum's, in KRaft mode).

    ``broker`` is -1 where the node is a controller alone.
    """

    kind: ClassVar[str] = "controller_changed"
    at_us: int
    node: str
    broker: int
    leader_epoch: int


@_event
class FaultInjected(TraceEvent):
    """A fault began. ``until_us`` is when it heals by itself, -1 if only on request; ``detail`` its parameters."""

    kind: ClassVar[str] = "fault_injected"
    at_us: int
    fault_id: int
    fault: str
    target: str
    until_us: int
    detail: str


@_event
class FaultHealed(TraceEvent):
    """A fault ended, by itself or because somebody healed it."""

    kind: ClassVar[str] = "fault_healed"
    at_us: int
    fault_id: int
    fault: str
    target: str


@_event
class LeaderElected(TraceEvent):
    """The controller decided on a leader (a new epoch exists; brokers have yet to hear). ``by`` is the reason."""

    kind: ClassVar[str] = "leader_elected"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    clean: bool
    by: str


@_event
class PartitionOffline(TraceEvent):
    """The controller found nobody to lead: leader -1 until a member of ``isr`` is back."""

    kind: ClassVar[str] = "partition_offline"
    at_us: int
    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


@_event
class IsrChanged(TraceEvent):
    """The committed ISR changed. ``by`` is ``leader`` (AlterPartition, or a ZooKeeper write) or ``controller``."""

    kind: ClassVar[str] = "isr_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    previous_isr: tuple[int, ...]
    by: str


@_event
class PartitionCreated(TraceEvent):
    """The controller made a partition while the cluster runs.

    ``detail`` names its replicas and how many of them must be in sync: ``replicas 1, 2, 3; min.insync.replicas=2``.
    """

    kind: ClassVar[str] = "partition_created"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    detail: str


@_event
class PartitionDeleted(TraceEvent):
    """The controller deleted a partition with its topic; brokers have yet to hear. Its records are not lost."""

    kind: ClassVar[str] = "partition_deleted"
    at_us: int
    partition: str


@_event
class ReplicaDeleted(TraceEvent):
    """A broker gave up its replica, which held ``[log_offset, end_offset)``: the log is renamed, then unlinked.

    ``by`` is ``deleted``, ``moved`` or ``stray``.
    """

    kind: ClassVar[str] = "replica_deleted"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    by: str


@_event
class TopicConfigChanged(TraceEvent):
    """The controller took new settings of a topic, ``target``; ``detail`` has all that differ from the defaults."""

    kind: ClassVar[str] = "topic_config_changed"
    at_us: int
    target: str
    detail: str


@_event
class BrokerConfigChanged(TraceEvent):
    """A broker goes by other settings from here on; ``detail`` has all that were given at run time (KIP-226)."""

    kind: ClassVar[str] = "broker_config_changed"
    at_us: int
    broker: int
    detail: str


@_event
class ElrChanged(TraceEvent):
    """Other replicas are eligible to lead without being in sync (KIP-966).

    ``last_known`` led when the ISR became empty, -1 for nobody.
    """

    kind: ClassVar[str] = "elr_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: int


@_event
class RecoveryChanged(TraceEvent):
    """After an unclean election a leader counts as recovering until it has reported (KIP-704)."""

    kind: ClassVar[str] = "recovery_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: bool


@_event
class AssignmentChanged(TraceEvent):
    """A partition's replicas are others, or are about to be (KIP-455): a reassignment began, ended or was cancelled."""

    kind: ClassVar[str] = "assignment_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@_event
class BecameLeader(TraceEvent):
    """A broker took leadership up; ``log_offset`` is its LEO, the start of its epoch."""

    kind: ClassVar[str] = "became_leader"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    hw: int


@_event
class BecameFollower(TraceEvent):
    """A broker began to follow ``leader`` in ``leader_epoch``."""

    kind: ClassVar[str] = "became_follower"
    at_us: int
    partition: str
    broker: int
    leader: int
    leader_epoch: int


@_event
class Truncated(TraceEvent):
    """A replica dropped ``[log_offset, end_offset)``.

    ``rule`` names the protocol rule, ``power loss`` or ``disk loss``.
    """

    kind: ClassVar[str] = "truncated"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    end_offset: int
    hw: int
    rule: str


@_event
class SegmentRolled(TraceEvent):
    """A replica began a new segment at ``log_offset``; ``rule`` is the limit that the one before had reached."""

    kind: ClassVar[str] = "segment_rolled"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    rule: str


@_event
class LogStartMoved(TraceEvent):
    """A replica's ``[log_offset, end_offset)`` were deleted on purpose; it begins at ``end_offset`` now.

    ``by`` is ``retention.ms``, ``retention.bytes``, ``DeleteRecords``, ``leader`` (a follower goes by its leader's log
    start) or ``out of range`` (a follower so far behind that it begins anew at its leader's log start).
    """

    kind: ClassVar[str] = "log_start_moved"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    by: str


@_event
class LogCleaned(TraceEvent):
    """A replica compacted its log: the dirty ``[log_offset, end_offset)`` is clean, ``count`` records are gone.

    They are gone wherever below ``end_offset`` they were; each had a newer record of its key, or was a tombstone whose
    time was over.
    """

    kind: ClassVar[str] = "log_cleaned"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    count: int
    detail: str


@_event
class RecoveryFinished(TraceEvent):
    """A broker has loaded its ``count`` logs; ``latency_us`` is what checking them after an unclean stop took."""

    kind: ClassVar[str] = "recovery_finished"
    at_us: int
    broker: int
    clean: bool
    count: int
    latency_us: int
    detail: str


@_event
class Appended(TraceEvent):
    """A leader wrote ``count`` records of ``client`` at ``log_offset``; ``sequence`` numbers the client's records."""

    kind: ClassVar[str] = "appended"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    count: int
    client: str
    sequence: int
    acks: int


@_event
class HwAdvanced(TraceEvent):
    """A leader's high watermark moved up to ``hw`` (exclusive)."""

    kind: ClassVar[str] = "hw_advanced"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    hw: int


@_event
class RecordsSent(TraceEvent):
    """An application handed ``count`` records to its producer, numbered from ``sequence`` per client and partition."""

    kind: ClassVar[str] = "records_sent"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int


@_event
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


@_event
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


@_event
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


@_event
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


@_event
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


@_event
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


@_event
class RecordsMissing(TraceEvent):
    """Acknowledged records that the leader's log does not hold. ``committed``: somebody could have read them."""

    kind: ClassVar[str] = "records_missing"
    at_us: int
    partition: str
    client: str
    sequence: int
    count: int
    log_offset: int
    leader_epoch: int
    acks: int
    committed: bool
    cause: str


@_event
class RecordsLost(TraceEvent):
    """The verdict on acknowledged records at the end of a session: gone. ``cause`` is one plain sentence."""

    kind: ClassVar[str] = "records_lost"
    at_us: int
    partition: str
    client: str
    sequence: int
    count: int
    log_offset: int
    leader_epoch: int
    acks: int
    committed: bool
    cause: str


@_event
class InvariantViolated(TraceEvent):
    """A property of the protocol did not hold, at the first event that broke it.

    ``[log_offset, end_offset)`` and ``leader_epoch`` are what it concerns, -1 where it is about none. ``known`` is
    empty for what must not happen under this version; else it says which version fixed it.
    """

    kind: ClassVar[str] = "invariant_violated"
    at_us: int
    invariant: str
    partition: str
    broker: int
    detail: str
    cause: str
    log_offset: int = -1
    end_offset: int = -1
    leader_epoch: int = -1
    known: str = ""

    @property
    def offset(self) -> int:
        """First log offset concerned, -1 for none."""
        return self.log_offset


@_event
class LivenessOverdue(TraceEvent):
    """Something that had to come true in time has not: noticed now, owed since ``since_us`` within ``bound_us``.

    The clock runs from ``since_us``, when the last disturbance was over. ``known`` says why this version need not keep
    the property, empty where it must.
    """

    kind: ClassVar[str] = "liveness_overdue"
    at_us: int
    property: str
    partition: str
    broker: int
    detail: str
    since_us: int
    bound_us: int
    known: str


@_event
class StepTaken(TraceEvent):
    """A step of the playbook, or an operator, acted. ``error`` is Kafka's refusal, empty where there was none."""

    kind: ClassVar[str] = "step_taken"
    at_us: int
    by: str
    target: str
    detail: str
    error: str


@_event
class AdminRequested(TraceEvent):
    """An administrator began an operation; ``by`` is the step or the operator, ``detail`` its parameters."""

    kind: ClassVar[str] = "admin_requested"
    at_us: int
    operation_id: int
    operation: str
    by: str
    detail: str


@_event
class AdminProgress(TraceEvent):
    """An operation of several parts came a part further."""

    kind: ClassVar[str] = "admin_progress"
    at_us: int
    operation_id: int
    operation: str
    detail: str


@_event
class AdminAnswered(TraceEvent):
    """An operation came to its end. ``error`` is Kafka's first refusal, empty where there was none.

    ``detail`` tells what came of each part; ``latency_us`` counts from :class:`AdminRequested`.
    """

    kind: ClassVar[str] = "admin_answered"
    at_us: int
    operation_id: int
    operation: str
    by: str
    error: str
    detail: str
    latency_us: int


@_event
class ExpectationChecked(TraceEvent):
    """An expectation got its verdict."""

    kind: ClassVar[str] = "expectation_checked"
    at_us: int
    rule: str
    ok: bool
    detail: str


@_event
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


@_event
class ConsumerFailed(TraceEvent):
    """A consumer's application ended by an exception that the client threw; ``error`` is its name."""

    kind: ClassVar[str] = "consumer_failed"
    at_us: int
    client: str
    group_id: str
    error: str


@_event
class GroupRebalanced(TraceEvent):
    """A group's leader has brought an assignment that is in force; ``count`` is how many members it has."""

    kind: ClassVar[str] = "group_rebalanced"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@_event
class PartitionsAssigned(TraceEvent):
    """A member got ``count`` partitions more (``onPartitionsAssigned``); ``detail`` names generation and partitions."""

    kind: ClassVar[str] = "partitions_assigned"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@_event
class PartitionsRevoked(TraceEvent):
    """A member gave ``count`` partitions up while they were still its own (``onPartitionsRevoked``)."""

    kind: ClassVar[str] = "partitions_revoked"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@_event
class PartitionsLost(TraceEvent):
    """A member found that ``count`` partitions are its own no more (``onPartitionsLost``)."""

    kind: ClassVar[str] = "partitions_lost"
    at_us: int
    client: str
    group_id: str
    count: int
    detail: str


@_event
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


@_event
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


@_event
class HandlerFailed(TraceEvent):
    """A handler could not process ``count`` records from ``log_offset`` on; its application went on behind them."""

    kind: ClassVar[str] = "handler_failed"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    count: int


@_event
class CommitFailed(TraceEvent):
    """A member's commit came to nothing, or its outcome is unknown; ``error`` is the exception's name."""

    kind: ClassVar[str] = "commit_failed"
    at_us: int
    client: str
    group_id: str
    error: str
    by: str


@_event
class InterceptorFailed(TraceEvent):
    """A producer's interceptor threw at ``count`` records, the first numbered ``sequence``: they go on without it."""

    kind: ClassVar[str] = "interceptor_failed"
    at_us: int
    client: str
    by: str
    partition: str
    sequence: int
    count: int


@_event
class ProduceRetried(TraceEvent):
    """A producer sent ``count`` records again: another attempt, after one that was refused or not answered."""

    kind: ClassVar[str] = "produce_retried"
    at_us: int
    client: str
    partition: str
    broker: int
    sequence: int
    count: int


@_event
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


@_event
class TransactionBegun(TraceEvent):
    """A producer began a transaction; ``detail`` names its transactional id, producer id and epoch."""

    kind: ClassVar[str] = "transaction_begun"
    at_us: int
    client: str
    detail: str


@_event
class TransactionCommitted(TraceEvent):
    """A producer was told that its transaction of ``count`` records is committed; ``latency_us`` from the call on."""

    kind: ClassVar[str] = "transaction_committed"
    at_us: int
    client: str
    detail: str
    count: int
    latency_us: int


@_event
class TransactionAborted(TraceEvent):
    """A producer's transaction of ``count`` records is aborted; ``error`` is why, empty where it was wished."""

    kind: ClassVar[str] = "transaction_aborted"
    at_us: int
    client: str
    detail: str
    count: int
    error: str


@_event
class TransactionUnknown(TraceEvent):
    """A producer cannot tell whether its transaction of ``count`` records is committed."""

    kind: ClassVar[str] = "transaction_unknown"
    at_us: int
    client: str
    detail: str
    count: int
    error: str


@_event
class TransactionOverdue(TraceEvent):
    """A transaction's end was not answered for ``max.block.ms``; ``by``: commit or abort, which is called again."""

    kind: ClassVar[str] = "transaction_overdue"
    at_us: int
    client: str
    detail: str
    by: str
    latency_us: int


@_event
class TransactionLeftOpen(TraceEvent):
    """An application leaves its transaction of ``count`` records open for good, and sends nothing more."""

    kind: ClassVar[str] = "transaction_left_open"
    at_us: int
    client: str
    detail: str
    count: int


@_event
class ProducerFenced(TraceEvent):
    """A transactional producer ends by a fatal error, such as PRODUCER_FENCED: another one has its id."""

    kind: ClassVar[str] = "producer_fenced"
    at_us: int
    client: str
    detail: str
    error: str


@_event
class RecordsAborted(TraceEvent):
    """Records went with the transaction that they were part of: whoever reads committed data only never sees them.

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


@_event
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


@_event
class GuardActed(TraceEvent):
    """A guard of the playbook refused a fault, healed all that were active, or stopped the chaos for good.

    ``rule`` is the guard, ``detail`` what it did: ``refused``, ``healed`` or ``stopped``; ``fault`` and ``target`` name
    what was refused or healed, ``cause`` is why.
    """

    kind: ClassVar[str] = "guard_acted"
    at_us: int
    rule: str
    detail: str
    fault: str
    target: str
    cause: str


@_event
class FaultSkipped(TraceEvent):
    """A fault that was to be injected only where there is somebody to strike found nobody: ``detail`` says who is not.

    ``target`` is what was asked for, a selector.
    """

    kind: ClassVar[str] = "fault_skipped"
    at_us: int
    fault: str
    target: str
    detail: str


@_event
class BatchDamaged(TraceEvent):
    """Bits of a stored batch over ``[log_offset, end_offset)`` have turned on a broker's disk; nobody has noticed.

    ``detail``: what of it, ``value`` or ``length``.
    """

    kind: ClassVar[str] = "batch_damaged"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    detail: str


@_event
class CorruptBatchFound(TraceEvent):
    """A broker came upon a batch whose checksum does not match (``CorruptRecordException``).

    ``by``: ``follower``, which will not append it, ``recovery``, which ends the log there, or ``cleaner``. ``detail``
    says what stands still from here on.
    """

    kind: ClassVar[str] = "corrupt_batch_found"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    by: str
    detail: str


Event = TraceEvent
"""Any trace event."""

KINDS: Final[dict[str, type[TraceEvent]]] = {cls.kind: cls for cls in TraceEvent.__subclasses__()}
"""Recorded kind → event class."""

FIELDS: Final[dict[str, tuple[str, ...]]] = {kind: tuple(cls.__annotations__)[1:] for kind, cls in KINDS.items()}
"""Recorded kind → its fields, in order."""

_VALUES: Final = {kind: attrgetter(*names) for kind, names in FIELDS.items()}

DATA_KINDS: Final = frozenset(
    {
        *("appended", "hw_advanced", "records_sent", "records_acked", "records_read", "produce_refused"),
        *("offsets_committed", "produce_retried", "transaction_begun", "transaction_committed", "records_aborted"),
    }
)
"""Kinds that come with every batch; all others are rare, worth a line on a screen and an immediate flush."""


def describe(event: Event) -> str:
    """One line of text for an event, the same on the screen, in a log and in a golden file (without its time)."""
    parts = [event.kind]
    for name, value in list(zip(event.fields(), event.values(), strict=True))[1:]:
        if value in ("", -1) or value == ():
            continue
        parts.append(f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return " ".join(parts)


# How a process ended (``NodeDown``); one that ends itself gives its reason there.


CRASH: Final = "crash"
"""Killed: the page cache stays, and peers are told by resets."""
POWER_LOSS: Final = "power_loss"
"""Its machine is gone: what was not yet on disk too, and nobody is told."""
OUT_OF_MEMORY: Final = "out_of_memory"
