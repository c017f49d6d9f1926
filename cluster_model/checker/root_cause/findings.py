"""Findings and their causes: records that went wrong, the cause code, and the event chain that led to it.

A finding groups all ranges of records that share a kind, a cause and the deciding events, over all partitions. The
event chain begins with the acknowledgement and ends where the records were dropped. The list of causes is closed.
"""

from dataclasses import dataclass
from typing import Any, Final

LOST: Final = "lost"
"""Acknowledged, and in no log any more, or missing at the end; worse if ``RecordBlock.committed`` is true."""
DUPLICATE: Final = "duplicate"
"""At two offsets of the leader's log."""
REORDERED: Final = "reordered"
"""After later records of its producer in the leader's log."""
SKIPPED: Final = "skipped"
"""Passed over by a group that received records before and after it."""
MISSING: Final = "missing"
"""Acknowledged and not in the leader's log, while another replica's still has it."""
ACKED_ABORTED: Final = "acked-aborted"
"""Acknowledged, and aborted in the log with a transaction that was not its own."""
ABORTED_COMMITTED: Final = "aborted-committed"
"""Acknowledged to its producer as aborted, and committed in the log."""
ABANDONED: Final = "abandoned"
"""Delivered to an application that ended without processing it, and to no consumer since."""

KINDS: Final = (LOST, MISSING, DUPLICATE, REORDERED, SKIPPED, ABANDONED, ACKED_ABORTED, ABORTED_COMMITTED)
"""All kinds, in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class ChainEvent:
    """One event of a finding's event chain, with its description."""

    at_us: int
    """Virtual time in microseconds; 0 for all events of a playbook with manual steps, where time does not pass."""
    event_kind: str
    """Kind of the trace event; ``settled`` for the end of the session."""
    partition: str
    """Empty if the event concerns no single partition."""
    broker: int
    """The broker that the event happened to, -1 for none."""
    text: str
    """Description of the event, without its time."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object written to the result."""
        return {
            "at_us": self.at_us,
            "event": self.event_kind,
            "partition": self.partition,
            "broker": self.broker,
            "description": self.text,
        }


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """One range of records of one client in one partition."""

    partition: str
    client: str
    """The producer of the records; the consumer group if they were skipped or abandoned."""
    sequence: int
    """Number of the first record, by its producer and partition; -1: unnumbered."""
    count: int
    log_offset: int
    """Offset of the first record; -1: it never had one."""
    leader_epoch: int
    """Leader epoch in which they were written; -1: unknown."""
    acks: int
    committed: bool
    """Whether consumers could have read them (below a high watermark)."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object written to the result."""
        return {
            "partition": self.partition,
            "client": self.client,
            "sequence": self.sequence,
            "count": self.count,
            "offset": self.log_offset,
            "epoch": self.leader_epoch,
            "acks": self.acks,
            "committed": self.committed,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """Records with the same outcome, the same cause and the same deciding events."""

    kind: str
    """One of :data:`KINDS`."""
    cause: str
    """A code of the closed list, see ``docs/reference/causes.md``."""
    sentence: str
    """One sentence: which broker acknowledged the records, what happened, which broker was elected without them, and
    where they were dropped."""
    blocks: tuple[RecordBlock, ...]
    chain: tuple[ChainEvent, ...]
    """Events in order: from the acknowledgement to where the records were dropped."""
    group_id: str = ""
    """The consumer group, if the records were skipped or abandoned."""

    @property
    def count(self) -> int:
        """Number of records."""
        return sum(block.count for block in self.blocks)

    @property
    def committed(self) -> int:
        """Number of records that consumers could have read."""
        return sum(block.count for block in self.blocks if block.committed)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Partitions of the records, each once."""
        return tuple(dict.fromkeys(block.partition for block in self.blocks))

    @property
    def clients(self) -> tuple[str, ...]:
        """Clients of the records, each once."""
        return tuple(dict.fromkeys(block.client for block in self.blocks))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object written to the result."""
        return {
            "kind": self.kind,
            "cause": self.cause,
            "sentence": self.sentence,
            "count": self.count,
            "committed": self.committed,
            "partitions": list(self.partitions),
            "clients": list(self.clients),
            "group": self.group_id,
            "ranges": [block.to_json() for block in self.blocks],
            "chain": [link.to_json() for link in self.chain],
        }


# Causes of findings: a closed list of codes, each with its meaning and the KIPs or Kafka issues about it.


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause code, its meaning, and the kinds of findings that it explains."""

    code: str
    kinds: tuple[str, ...]
    """Kinds of findings with this cause."""
    meaning: str
    see: str
    """KIPs and Kafka issues; empty for none."""


HW_TRUNCATION: Final = "hw-truncation"
FAST_FAILOVER: Final = "fast-failover-divergence"
UNFENCED_FOLLOWER: Final = "unfenced-follower"
EARLY_JOIN: Final = "early-isr-join"
UNKNOWN_EPOCH: Final = "epoch-unknown-to-leader"
UNREPLICATED_TAIL: Final = "unreplicated-tail"
UNCLEAN_ELECTION: Final = "unclean-election"
LAST_KNOWN_LEADER: Final = "last-known-leader"
LAST_REPLICA: Final = "last-replica-lost"
POWER_LOSS_UNFLUSHED: Final = "power-loss-unflushed"
DISK_LOST: Final = "disk-loss"
REPLICA_DELETED: Final = "replica-deleted"
DAMAGED_BATCH: Final = "damaged-batch"
ZOMBIE_LEADER: Final = "zombie-leader"
ACKS_0: Final = "acks-0-unplaced"
MIN_ISR_ONE: Final = "min-isr-one"
NO_IDEMPOTENCE: Final = "retry-without-idempotence"
PRODUCER_RESTART: Final = "producer-restart"
FORGOTTEN_STATE: Final = "forgotten-producer-state"
TOO_MANY_IN_FLIGHT: Final = "too-many-in-flight"
RETRY_IN_FLIGHT: Final = "retry-in-flight"
RESET_LATEST: Final = "reset-latest"
OFFSETS_EXPIRED: Final = "offsets-expired"
TRUNCATION_SKIP: Final = "truncation-skip"
RETENTION_OVERTOOK: Final = "retention-overtook"
PARTITIONS_ADDED: Final = "partitions-added-latest"
COMMIT_FIRST: Final = "commit-before-processing"
LATE_MARKER: Final = "late-marker"
HANGING: Final = "hanging"
UNEXPLAINED: Final = "unexplained"

CAUSES: Final = (
    Cause(
        HW_TRUNCATION, (LOST,),
        "a replica truncated its log to its high watermark, which was below acknowledged records; a replica that "
        "lacked the truncated records, or held different records at those offsets, was elected",
        "KIP-101",
    ),
    Cause(
        FAST_FAILOVER, (LOST,),
        "failovers in quick succession left a replica with different records at the same offsets; it counted as in "
        "sync and was elected",
        "KIP-279",
    ),
    Cause(
        UNFENCED_FOLLOWER, (LOST,),
        "a leader and a follower with different leader epochs did not detect the mismatch, and a replica was elected "
        "that did not hold the records it was assumed to hold",
        "KIP-320, KAFKA-9338",
    ),
    Cause(
        EARLY_JOIN, (LOST,),
        "a replica joined the ISR before its log had reached the start offset of the leader's epoch, and was elected",
        "KAFKA-7128",
    ),
    Cause(
        UNKNOWN_EPOCH, (LOST,),
        "a leader that had written nothing yet did not know its own epoch; a follower that queried it truncated its "
        "log to its high watermark, which was below acknowledged records, and was elected",
        "KAFKA-7415",
    ),
    Cause(
        UNREPLICATED_TAIL, (LOST,),
        "the leader acknowledged alone (acks=1), and another replica was elected before it had fetched the records",
        "",
    ),
    Cause(
        UNCLEAN_ELECTION, (LOST,),
        "a replica outside the ISR was elected without the records",
        "KIP-460, KIP-704",
    ),
    Cause(
        LAST_KNOWN_LEADER, (LOST,),
        "every eligible replica had stopped uncleanly, so the last known leader was elected, without the records",
        "KIP-966",
    ),
    Cause(
        LAST_REPLICA, (LOST,),
        "the last member of the ISR lost unflushed records and was elected, although other replicas still held them",
        "KIP-966",
    ),
    Cause(
        POWER_LOSS_UNFLUSHED, (LOST,),
        "the replicas that held the records lost power before they flushed them",
        "",
    ),
    Cause(
        DISK_LOST, (LOST,),
        "the replica that held the records lost its disk",
        "",
    ),
    Cause(
        REPLICA_DELETED, (LOST,),
        "a reassignment deleted the only in-sync replica before another one had caught up with it",
        "KIP-455",
    ),
    Cause(
        DAMAGED_BATCH, (LOST,),
        "bit flips on the leader's disk made the batch unreadable, or log recovery truncated the log there",
        "",
    ),
    Cause(
        ZOMBIE_LEADER, (LOST,),
        "a deposed leader that had not yet received the new leader epoch continued to acknowledge records (acks=1)",
        "",
    ),
    Cause(
        ACKS_0, (LOST,),
        "the records were sent with acks=0, counted as sent, and reached no leader",
        "",
    ),
    Cause(
        MIN_ISR_ONE, (LOST,),
        "a leader that was alone in the ISR acknowledged acks=all, as min.insync.replicas=1 allows",
        "",
    ),
    Cause(
        NO_IDEMPOTENCE, (DUPLICATE,),
        "a producer without idempotence retried records that had been written, because it received no response",
        "KIP-98",
    ),
    Cause(
        PRODUCER_RESTART, (DUPLICATE,),
        "the producer's process restarted with a new producer id and sent records again that had been written",
        "KIP-98",
    ),
    Cause(
        FORGOTTEN_STATE, (DUPLICATE,),
        "the leader no longer had the producer's state and accepted its retry as new records",
        "KIP-98, KIP-360",
    ),
    Cause(
        TOO_MANY_IN_FLIGHT, (DUPLICATE,),
        "more batches were in flight, to the old and the new leader, than the five that a leader remembers; the first "
        "of them was retried, rejected as out of order, and sent as new",
        "KIP-360, KIP-951",
    ),
    Cause(
        RETRY_IN_FLIGHT, (REORDERED,),
        "a request was rejected or not answered, later ones were written, and then it was retried",
        "",
    ),
    Cause(
        RESET_LATEST, (SKIPPED,),
        "auto.offset.reset=latest moved the consumer to the end of the log",
        "",
    ),
    Cause(
        OFFSETS_EXPIRED, (SKIPPED,),
        "the group's committed offsets had expired, and auto.offset.reset=latest moved the consumer to the end of the "
        "log",
        "KIP-186, KIP-211",
    ),
    Cause(
        TRUNCATION_SKIP, (SKIPPED,),
        "the log was truncated below the group's position, and other records took those offsets",
        "KIP-320",
    ),
    Cause(
        RETENTION_OVERTOOK, (SKIPPED,),
        "retention deleted the records before the group read them",
        "",
    ),
    Cause(
        PARTITIONS_ADDED, (SKIPPED,),
        "the records were written to a new partition before the group discovered it, and the group started at its end",
        "",
    ),
    Cause(
        COMMIT_FIRST, (ABANDONED,),
        "the group's offsets were committed before the application had processed the records, and the application "
        "ended",
        "",
    ),
    Cause(
        LATE_MARKER, (ACKED_ABORTED, ABORTED_COMMITTED),
        "a delayed request to end an earlier transaction ended the next one instead",
        "KIP-890",
    ),
    Cause(
        HANGING, (ACKED_ABORTED, ABORTED_COMMITTED),
        "a delayed write was appended after its transaction had ended",
        "KIP-890",
    ),
    Cause(
        UNEXPLAINED, (LOST, DUPLICATE, REORDERED, SKIPPED, ABANDONED, ACKED_ABORTED, ABORTED_COMMITTED),
        "the recorded events do not prove a cause",
        "",
    ),
)  # fmt: skip
"""All causes, in the order in which they are reported."""

BY_CODE: Final = {cause.code: cause for cause in CAUSES}
