"""What happens to processes, to the state of partitions that the controller decides, and to replicas and their logs."""

from typing import ClassVar, Final

from cluster_model.protocol.events.base import TraceEvent, event

# What happens to processes and to the state of partitions that the controller decides.


@event
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


@event
class NodeUp(TraceEvent):
    """A process that was down runs again; a broker is not yet registered with the controller."""

    kind: ClassVar[str] = "node_up"
    at_us: int
    node: str
    broker: int


@event
class NodePaused(TraceEvent):
    """A process stopped handling events without dying: a stop-the-world collection, SIGSTOP."""

    kind: ClassVar[str] = "node_paused"
    at_us: int
    node: str
    broker: int


@event
class NodeResumed(TraceEvent):
    """A paused process resumed, with everything it was sent meanwhile still queued."""

    kind: ClassVar[str] = "node_resumed"
    at_us: int
    node: str
    broker: int


@event
class BrokerRegistered(TraceEvent):
    """The controller accepted a broker (again); the broker counts as live from here."""

    kind: ClassVar[str] = "broker_registered"
    at_us: int
    broker: int


@event
class BrokerFenced(TraceEvent):
    """The controller gave a broker up: its session ended. ``detail`` says why."""

    kind: ClassVar[str] = "broker_fenced"
    at_us: int
    broker: int
    detail: str


@event
class ControllerChanged(TraceEvent):
    """A node became the active controller; ``leader_epoch`` is its controller epoch (the quorum's, in KRaft mode).

    ``broker`` is -1 where the node is a controller alone.
    """

    kind: ClassVar[str] = "controller_changed"
    at_us: int
    node: str
    broker: int
    leader_epoch: int


@event
class BrokerConfigChanged(TraceEvent):
    """A broker goes by other settings from here on; ``detail`` has all that were given at run time (KIP-226)."""

    kind: ClassVar[str] = "broker_config_changed"
    at_us: int
    broker: int
    detail: str


@event
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


@event
class PartitionOffline(TraceEvent):
    """The controller found nobody to lead: leader -1 until a member of ``isr`` is back."""

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


@event
class RecoveryChanged(TraceEvent):
    """After an unclean election a leader counts as recovering until it has reported (KIP-704)."""

    kind: ClassVar[str] = "recovery_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: bool


@event
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


@event
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


@event
class PartitionDeleted(TraceEvent):
    """The controller deleted a partition with its topic; brokers have yet to hear. Its records are not lost."""

    kind: ClassVar[str] = "partition_deleted"
    at_us: int
    partition: str


@event
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


@event
class TopicConfigChanged(TraceEvent):
    """The controller took new settings of a topic, ``target``; ``detail`` has all that differ from the defaults."""

    kind: ClassVar[str] = "topic_config_changed"
    at_us: int
    target: str
    detail: str


# How a process ended (``NodeDown``); one that ends itself gives its reason there.


CRASH: Final = "crash"
"""Killed: the page cache stays, and peers are told by resets."""
POWER_LOSS: Final = "power_loss"
"""Its machine is gone: what was not yet on disk too, and nobody is told."""
OUT_OF_MEMORY: Final = "out_of_memory"


# What happens to the replicas of partitions and in their logs.


@event
class BecameLeader(TraceEvent):
    """A broker took leadership up; ``log_offset`` is its LEO, the start of its epoch."""

    kind: ClassVar[str] = "became_leader"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    hw: int


@event
class BecameFollower(TraceEvent):
    """A broker began to follow ``leader`` in ``leader_epoch``."""

    kind: ClassVar[str] = "became_follower"
    at_us: int
    partition: str
    broker: int
    leader: int
    leader_epoch: int


@event
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


@event
class HwAdvanced(TraceEvent):
    """A leader's high watermark moved up to ``hw`` (exclusive)."""

    kind: ClassVar[str] = "hw_advanced"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    hw: int


@event
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


@event
class SegmentRolled(TraceEvent):
    """A replica began a new segment at ``log_offset``; ``rule`` is the limit that the one before had reached."""

    kind: ClassVar[str] = "segment_rolled"
    at_us: int
    partition: str
    broker: int
    log_offset: int
    rule: str


@event
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


@event
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


@event
class RecoveryFinished(TraceEvent):
    """A broker has loaded its ``count`` logs; ``latency_us`` is what checking them after an unclean stop took."""

    kind: ClassVar[str] = "recovery_finished"
    at_us: int
    broker: int
    clean: bool
    count: int
    latency_us: int
    detail: str


@event
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


@event
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
