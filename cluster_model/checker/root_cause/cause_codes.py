"""Causes of findings: a closed list of codes, each with what it means and where Kafka's own story of it is told."""

from dataclasses import dataclass
from typing import Final

from cluster_model.checker.root_cause.findings import ABANDONED, DUPLICATE, LEAKED, LOST, REORDERED, SKIPPED, UNDONE


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
        "a follower cut its log back to a high watermark that was out of date, and was elected while it "
        "lacked what it had cut",
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
        "a follower of an older epoch was believed to hold what it did not, and was elected",
        "KIP-320",
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
