"""Events of processes, of partition state as decided by the controller, and of replicas and their logs."""

from typing import ClassVar, Final

from cluster_model.protocol.events.base import TraceEvent, event

# Events of processes and of partition state as decided by the controller.


@event
class NodeDown(TraceEvent):
    """A process ended. ``detail``: ``crash`` (page cache kept), ``power_loss``, ``disk_loss`` or ``shutdown``.

    It may also be ``out_of_memory``, and ``close`` for a client. For a broker that exits by itself it is ``exit: ...``
    with the reason; its page cache is kept as in a crash. ``broker`` is -1 where the node is no broker.
    """

    kind: ClassVar[str] = "node_down"
    at_us: int
    node: str
    broker: int
    detail: str


@event
class NodeUp(TraceEvent):
    """A process that was down started again; a broker is not yet registered with the controller."""

    kind: ClassVar[str] = "node_up"
    at_us: int
    node: str
    broker: int


@event
class NodeUpgraded(TraceEvent):
    """A process that is down got the software of another release, or a new ``inter.broker.protocol.version``.

    ``detail`` is both releases, and the protocol that the node starts with.
    """

    kind: ClassVar[str] = "node_upgraded"
    at_us: int
    node: str
    broker: int
    detail: str


@event
class FeatureFinalized(TraceEvent):
    """The level of a feature was finalized (KIP-584); ``detail`` is the feature and its level."""

    kind: ClassVar[str] = "feature_finalized"
    at_us: int
    detail: str


@event
class NodePaused(TraceEvent):
    """A process paused: it handles no events but is alive, as in a stop-the-world GC pause or after SIGSTOP."""

    kind: ClassVar[str] = "node_paused"
    at_us: int
    node: str
    broker: int


@event
class NodeResumed(TraceEvent):
    """A paused process resumed; everything sent to it during the pause is still queued."""

    kind: ClassVar[str] = "node_resumed"
    at_us: int
    node: str
    broker: int


@event
class BrokerRegistered(TraceEvent):
    """The controller accepted the registration of a broker, which counts as live from here on."""

    kind: ClassVar[str] = "broker_registered"
    at_us: int
    broker: int


@event
class BrokerFenced(TraceEvent):
    """The controller fenced a broker: its session ended. ``detail`` says why."""

    kind: ClassVar[str] = "broker_fenced"
    at_us: int
    broker: int
    detail: str


@event
class ControllerChanged(TraceEvent):
    """A node became the active controller; ``leader_epoch`` is its controller epoch (the quorum's, in KRaft mode).

    ``broker`` is -1 where the node is a dedicated controller.
    """

    kind: ClassVar[str] = "controller_changed"
    at_us: int
    node: str
    broker: int
    leader_epoch: int


@event
class BrokerConfigChanged(TraceEvent):
    """A broker's dynamic configuration changed (KIP-226); ``detail`` lists all dynamic settings."""

    kind: ClassVar[str] = "broker_config_changed"
    at_us: int
    broker: int
    detail: str


@event
class LeaderElected(TraceEvent):
    """The controller elected a leader in a new epoch, which brokers have yet to receive; ``by`` is the reason."""

    kind: ClassVar[str] = "leader_elected"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    clean: bool
    by: str


@event
class PartitionOffline(TraceEvent):
    """The controller found no eligible leader: the leader is -1 until a member of ``isr`` is back."""

    kind: ClassVar[str] = "partition_offline"
    at_us: int
    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


@event
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


@event
class ElrChanged(TraceEvent):
    """The eligible leader replicas changed (KIP-966).

    ``last_known`` is the last leader before the ISR became empty, -1 for none.
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


@event
class RecoveryChanged(TraceEvent):
    """The leader recovery state changed: an uncleanly elected leader counts as recovering until it reports."""

    kind: ClassVar[str] = "recovery_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: bool


@event
class AssignmentChanged(TraceEvent):
    """A partition's replica assignment changed (KIP-455): a reassignment began, ended or was cancelled."""

    kind: ClassVar[str] = "assignment_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@event
class PartitionCreated(TraceEvent):
    """The controller created a partition in the running cluster.

    ``detail`` has its replicas and minimum ISR: ``replicas 1, 2, 3; min.insync.replicas=2``.
    """

    kind: ClassVar[str] = "partition_created"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    detail: str


@event
class PartitionDeleted(TraceEvent):
    """The controller deleted a partition with its topic; its records do not count as lost.

    Brokers have yet to receive the change.
    """

    kind: ClassVar[str] = "partition_deleted"
    at_us: int
    partition: str


@event
class ReplicaDeleted(TraceEvent):
    """A broker deleted its replica, which held ``[log_offset, end_offset)``: the log is renamed, then unlinked.

    ``by`` is the reason: ``deleted``, ``moved`` or ``stray``.
    """

    kind: ClassVar[str] = "replica_deleted"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    by: str


@event
class TopicConfigChanged(TraceEvent):
    """The configuration of topic ``target`` changed; ``detail`` lists all settings that differ from the defaults."""

    kind: ClassVar[str] = "topic_config_changed"
    at_us: int
    target: str
    detail: str


# Reasons for the end of a process (``NodeDown.detail``); a process that exits by itself has its own reason there.


CRASH: Final = "crash"
"""The process was killed: its page cache is kept, and peers receive connection resets."""
POWER_LOSS: Final = "power_loss"
"""The machine lost power: data not yet on disk is lost, and peers receive no connection resets."""
OUT_OF_MEMORY: Final = "out_of_memory"


# Events of replicas and their logs.


@event
class BecameLeader(TraceEvent):
    """A broker became leader of a partition; ``log_offset`` is its LEO, the start of its epoch."""

    kind: ClassVar[str] = "became_leader"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    hw: int


@event
class BecameFollower(TraceEvent):
    """A broker became a follower of ``leader`` in ``leader_epoch``."""

    kind: ClassVar[str] = "became_follower"
    at_us: int
    partition: str
    broker: int
    leader: int
    leader_epoch: int


@event
class Appended(TraceEvent):
    """A leader appended ``count`` records of ``client`` at ``log_offset``; ``sequence`` numbers the client's."""

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


@event
class HwAdvanced(TraceEvent):
    """A leader's high watermark advanced to ``hw`` (exclusive)."""

    kind: ClassVar[str] = "hw_advanced"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    hw: int


@event
class Truncated(TraceEvent):
    """A replica truncated its log, dropping ``[log_offset, end_offset)``.

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


@event
class SegmentRolled(TraceEvent):
    """A replica rolled a new segment at ``log_offset``; ``rule`` is the limit that the previous one had reached."""

    kind: ClassVar[str] = "segment_rolled"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    rule: str


@event
class LogStartMoved(TraceEvent):
    """A replica's log start moved from ``log_offset`` to ``end_offset`` (exclusive): the records between were deleted.

    ``by`` is ``retention.ms``, ``retention.bytes``, ``DeleteRecords``, ``leader`` (a follower adopted its leader's log
    start) or ``out of range`` (a follower so far behind that it restarted at its leader's log start).
    """

    kind: ClassVar[str] = "log_start_moved"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    by: str


@event
class LogCleaned(TraceEvent):
    """A replica compacted its log: the dirty ``[log_offset, end_offset)`` is clean, ``count`` records were removed.

    Removed records are anywhere below ``end_offset``. For each there is a newer record with its key, or it was a
    tombstone older than ``delete.retention.ms``.
    """

    kind: ClassVar[str] = "log_cleaned"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    count: int
    detail: str


@event
class RecoveryFinished(TraceEvent):
    """A broker loaded its ``count`` logs; ``latency_us`` is the duration of log recovery after an unclean stop."""

    kind: ClassVar[str] = "recovery_finished"
    at_us: int
    broker: int
    clean: bool
    count: int
    latency_us: int
    detail: str


@event
class BatchCorrupted(TraceEvent):
    """Bits of a stored batch over ``[log_offset, end_offset)`` were flipped on a broker's disk, undetected so far.

    ``detail`` is the corrupted part: ``value`` or ``length``.
    """

    kind: ClassVar[str] = "batch_corrupted"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    end_offset: int
    detail: str


@event
class CorruptBatchFound(TraceEvent):
    """A broker detected a batch whose checksum does not match (``CorruptRecordException``).

    ``by``: ``follower``, which does not append it, ``recovery``, which truncates the log there, or ``cleaner``.
    ``detail`` says what is stopped from here on.
    """

    kind: ClassVar[str] = "corrupt_batch_found"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    by: str
    detail: str
