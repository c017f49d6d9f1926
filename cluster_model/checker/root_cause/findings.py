"""A finding, and the closed list of cause codes: what went wrong with records, why, and which events led there.

A finding groups every range of records that shares a kind, a cause and the events that decided it, over all
partitions. Its chain begins with what was promised and ends where the record was dropped.
"""

from dataclasses import dataclass
from typing import Any, Final

LOST: Final = "lost"
"""Acknowledged, and in no log any more, or missing at the end; ``RecordBlock.committed`` tells the worse case."""
DUPLICATE: Final = "duplicate"
"""At two offsets of the leader's log."""
REORDERED: Final = "reordered"
"""Behind later records of its producer in the leader's log."""
SKIPPED: Final = "skipped"
"""Passed over by a group that was handed records before and behind it."""
MISSING: Final = "missing"
"""Acknowledged and not in the leader's log, while another replica's still has it."""
UNDONE: Final = "undone"
"""Acknowledged, and aborted in the log with a transaction that was not its own."""
LEAKED: Final = "leaked"
"""Aborted as its producer was told, and committed in the log."""
ABANDONED: Final = "abandoned"
"""Handed to an application that ended without processing it, and to nobody since."""

KINDS: Final = (LOST, MISSING, DUPLICATE, REORDERED, SKIPPED, ABANDONED, UNDONE, LEAKED)
"""All kinds, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class ChainEvent:
    """One event of a chain."""

    at_us: int
    """Virtual microseconds; the same for all where time stands still."""
    event_kind: str
    """Kind of the trace event; ``settled`` for the end of the session."""
    partition: str
    """Empty where it concerns no single partition."""
    broker: int
    """Whom it happened to, -1 for nobody."""
    words: str
    """What happened, in plain words, without its time."""

    def to_json(self) -> dict[str, Any]:
        """As the result prints it."""
        return {
            "at_us": self.at_us,
            "event": self.event_kind,
            "partition": self.partition,
            "broker": self.broker,
            "words": self.words,
        }


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """One range of records of one client in one partition."""

    partition: str
    client: str
    """The producer of the records; the group for what readers passed over or abandoned."""
    sequence: int
    """Of the first, as the producer numbers its records in this partition; -1: it does not."""
    count: int
    log_offset: int
    """Of the first; -1: it never had one."""
    leader_epoch: int
    """Of the leader that wrote them; -1: unknown."""
    acks: int
    committed: bool
    """Whether somebody could have read them."""

    def to_json(self) -> dict[str, Any]:
        """As the result prints it."""
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
    """Records that met the same fate for the same reason, by the same events."""

    kind: str
    """One of :data:`KINDS`."""
    cause: str
    """A code of the closed list, see ``docs/reference/causes.md``."""
    sentence: str
    """What was promised by whom, what happened, who took over without it, where it was dropped."""
    places: tuple[RecordBlock, ...]
    chain: tuple[ChainEvent, ...]
    """In order; the first link is the promise, the last where the records were dropped."""
    group_id: str = ""
    """The group that was to read them, for what is skipped or abandoned."""

    @property
    def count(self) -> int:
        """How many records."""
        return sum(place.count for place in self.places)

    @property
    def committed(self) -> int:
        """How many of them somebody could have read."""
        return sum(place.count for place in self.places if place.committed)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Where they were, each once."""
        return tuple(dict.fromkeys(place.partition for place in self.places))

    @property
    def clients(self) -> tuple[str, ...]:
        """Whose they are, each once."""
        return tuple(dict.fromkeys(place.client for place in self.places))

    def to_json(self) -> dict[str, Any]:
        """As the result prints it."""
        return {
            "kind": self.kind,
            "cause": self.cause,
            "sentence": self.sentence,
            "count": self.count,
            "committed": self.committed,
            "partitions": list(self.partitions),
            "clients": list(self.clients),
            "group": self.group_id,
            "places": [place.to_json() for place in self.places],
            "chain": [link.to_json() for link in self.chain],
        }


# Causes of findings: a closed list of codes, each with what it means and where Kafka's own story of it is told.


@dataclass(frozen=True, slots=True)
class Cause:
    """One of them."""

    code: str
    kinds: tuple[str, ...]
    """Kinds of findings that it explains."""
    meaning: str
    see: str
    """KIPs and issues, empty for none."""


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
        "a replica cut its log back to its high watermark, which was below what had been acknowledged; one that lacked "
        "what it had cut, or held other records there than its leader, was elected",
        "KIP-101",
    ),
    Cause(
        FAST_FAILOVER, (LOST,),
        "failovers in quick succession left a replica with other records at the same offsets; it counted as "
        "in sync, and was elected",
        "KIP-279",
    ),
    Cause(
        UNFENCED_FOLLOWER, (LOST,),
        "a leader and a follower that went by different epochs believed each other, and a replica was elected that did "
        "not hold what it was taken to hold",
        "KIP-320",
    ),
    Cause(
        EARLY_JOIN, (LOST,),
        "a replica joined the ISR before it had what the leader's log had as its epoch began, and was elected",
        "KAFKA-7128",
    ),
    Cause(
        UNKNOWN_EPOCH, (LOST,),
        "a leader that had written nothing yet did not know its own epoch; a follower that asked it cut its log back "
        "to its high watermark, which was below what had been acknowledged, and was elected",
        "KAFKA-7415",
    ),
    Cause(
        UNREPLICATED_TAIL, (LOST,),
        "the leader acknowledged by itself (acks=1), and another replica was elected before it had fetched "
        "the records",
        "",
    ),
    Cause(
        UNCLEAN_ELECTION, (LOST,),
        "a replica from outside the ISR was elected without them",
        "KIP-460, KIP-704",
    ),
    Cause(
        LAST_KNOWN_LEADER, (LOST,),
        "everybody who was eligible to lead had stopped uncleanly, so who had led last was elected, without "
        "them",
        "KIP-966",
    ),
    Cause(
        LAST_REPLICA, (LOST,),
        "the last member of the ISR lost what it had not flushed, and was elected although others still held "
        "it",
        "KIP-966",
    ),
    Cause(
        POWER_LOSS_UNFLUSHED, (LOST,),
        "the replicas that had them lost power before they were on disk",
        "",
    ),
    Cause(
        DISK_LOST, (LOST,),
        "the replica that had them lost its disk",
        "",
    ),
    Cause(
        REPLICA_DELETED, (LOST,),
        "a reassignment deleted the only replica in sync, which no other had caught up with",
        "KIP-455",
    ),
    Cause(
        DAMAGED_BATCH, (LOST,),
        "bits of the batch turned on the leader's disk, so that nobody can read it, or recovery cut the log "
        "there",
        "",
    ),
    Cause(
        ZOMBIE_LEADER, (LOST,),
        "a leader that had been deposed, and did not know it yet, went on to acknowledge (acks=1)",
        "",
    ),
    Cause(
        ACKS_0, (LOST,),
        "they were sent with acks=0, counted as sent, and reached no leader",
        "",
    ),
    Cause(
        MIN_ISR_ONE, (LOST,),
        "acks=all was answered by a leader that was alone in the ISR, as min.insync.replicas=1 allows",
        "",
    ),
    Cause(
        NO_IDEMPOTENCE, (DUPLICATE,),
        "a producer without idempotence sent again what was written, because the answer did not come",
        "KIP-98",
    ),
    Cause(
        PRODUCER_RESTART, (DUPLICATE,),
        "the producer's process began again, under another producer id, and sent again what was written",
        "KIP-98",
    ),
    Cause(
        FORGOTTEN_STATE, (DUPLICATE,),
        "the leader no longer knew what the producer had written last, and took its retry for something new",
        "KIP-98, KIP-360",
    ),
    Cause(
        TOO_MANY_IN_FLIGHT, (DUPLICATE,),
        "more batches than the five that a leader knows again were under way, to an old leader and to a new one; the "
        "first of them was sent once more, refused as out of order, and sent as new",
        "KIP-360, KIP-951",
    ),
    Cause(
        RETRY_IN_FLIGHT, (REORDERED,),
        "a request was refused or not answered, later ones were written, and then it was sent again",
        "",
    ),
    Cause(
        RESET_LATEST, (SKIPPED,),
        "auto.offset.reset=latest moved the reader to the end of the log",
        "",
    ),
    Cause(
        OFFSETS_EXPIRED, (SKIPPED,),
        "the group's committed offsets had expired, and auto.offset.reset=latest moved the reader to the end of the "
        "log",
        "KIP-186, KIP-211",
    ),
    Cause(
        TRUNCATION_SKIP, (SKIPPED,),
        "the log was cut below where the group read, and other records took those offsets",
        "KIP-320",
    ),
    Cause(
        RETENTION_OVERTOOK, (SKIPPED,),
        "retention deleted them before the group read them",
        "",
    ),
    Cause(
        PARTITIONS_ADDED, (SKIPPED,),
        "they were written to a new partition before the group learned of it, and it began at the end",
        "",
    ),
    Cause(
        COMMIT_FIRST, (ABANDONED,),
        "the group's offsets had been committed before the application was done with the records, and it "
        "ended",
        "",
    ),
    Cause(
        LATE_MARKER, (UNDONE, LEAKED),
        "the end of a former transaction came late, and ended the next one in its place",
        "KIP-890",
    ),
    Cause(
        HANGING, (UNDONE, LEAKED),
        "a late write became part of a transaction that was over",
        "KIP-890",
    ),
    Cause(
        UNEXPLAINED, (LOST, DUPLICATE, REORDERED, SKIPPED, ABANDONED, UNDONE, LEAKED),
        "what is known does not tell",
        "",
    ),
)  # fmt: skip
"""All causes, in the order in which they are told."""

BY_CODE: Final = {cause.code: cause for cause in CAUSES}
