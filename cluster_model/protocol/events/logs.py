"""What happens to the replicas of partitions and in their logs."""

from typing import ClassVar

from cluster_model.protocol.events.base import TraceEvent, event


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
