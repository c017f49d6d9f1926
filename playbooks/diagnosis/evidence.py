"""Evidence about a record: whether it still exists, and the events that can decide whether it survives.

A record is identified by where it was written (partition, leader epoch, offset) and by its client. A replica with
another record at that offset, of another epoch or written again in the same one, does not hold it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.broker.partition import Replica
from cluster_model.checker.ledger import Ledger
from cluster_model.checker.root_cause import LOST, Finding, RecordBlock
from cluster_model.observation import ClusterState
from cluster_model.protocol.events import (
    Event,
)
from cluster_model.util.ranges import subtract, union
from playbooks.results.result import SessionResult


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """The record whose survival is examined."""

    partition: str
    client: str
    sequence: int
    """Its number, by its producer; -1: it is identified by its offset alone."""
    log_offset: int
    leader_epoch: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "partition": self.partition,
            "client": self.client,
            "sequence": self.sequence,
            "offset": self.log_offset,
            "epoch": self.leader_epoch,
        }


def wanted_of(block: RecordBlock) -> EvidenceRecord:
    """Return the first record of a block."""
    return EvidenceRecord(block.partition, block.client, block.sequence, block.log_offset, block.leader_epoch)


def holds(replica: Replica, wanted: EvidenceRecord) -> bool:
    """Return whether a replica's log has the record as it was written."""
    log, at = replica.log, wanted.log_offset
    if not log.log_start <= at < log.leo or any(damage.start <= at < damage.end for damage in replica.damages):
        return False
    epoch_branch = log.branch_at(at)
    if epoch_branch.epoch != wanted.leader_epoch:
        return False
    batch = epoch_branch.batch_at(at)
    sequence = batch.sequence + at - batch.base
    return batch.client == wanted.client and wanted.sequence in (-1, sequence)


def holders(cluster_state: ClusterState, wanted: EvidenceRecord) -> tuple[int, ...]:
    """Return the brokers whose logs have it, running or not, in assignment order."""
    replicas = cluster_state.replicas.get(wanted.partition, {})
    return tuple(broker for broker, replica in replicas.items() if holds(replica, wanted))


def is_safe(cluster_state: ClusterState, wanted: EvidenceRecord) -> bool:
    """Return whether the record is safe: every replica has it, runs and is in sync, and one of them leads."""
    record = cluster_state.records.get(wanted.partition)
    if record is None or cluster_state.committed_leader(wanted.partition) is None:
        return False
    there = holders(cluster_state, wanted)
    return len(record.isr) == len(record.assignment) and all(
        broker in there and cluster_state.is_up(broker) for broker in record.assignment
    )


def is_kept(cluster_state: ClusterState, wanted: EvidenceRecord) -> bool:
    """Return whether the record is not lost if the session ends now: the leader has it, or any log if none leads."""
    if wanted.partition not in cluster_state.records:
        return False
    leader = cluster_state.committed_leader(wanted.partition)
    return holds(leader, wanted) if leader is not None else bool(holders(cluster_state, wanted))


def loses(cluster_state: ClusterState, ledger: Ledger, partition: str, already_lost: Sequence[RecordBlock]) -> bool:
    """Return whether a partition has lost acknowledged records, or its leader lacks any, beyond ``already_lost``."""
    if partition not in cluster_state.records:
        return True
    gone = [*ledger.lost_in(partition), *ledger.missing_in(partition)]
    for log_branch, start, end in gone:
        epoch = cluster_state.epoch_branches[partition].by_id[log_branch].epoch
        there = [(place.log_offset, place.log_offset + place.count) for place in already_lost
                 if (place.partition, place.leader_epoch) == (partition, epoch)]  # fmt: skip
        if subtract([(start, end)], union(there)):
            return True
    return False


def lost_findings(result: SessionResult) -> tuple[Finding, ...]:
    """Return the findings of a result about lost acknowledged records, in its order."""
    found: Iterable[Finding] = getattr(result, "findings", ())
    lost = tuple(finding for finding in found if finding.kind == LOST)
    return lost or _of_losses(result)


def _of_losses(result: SessionResult) -> tuple[Finding, ...]:
    """Build findings from the losses of a result without findings."""
    by_cause: dict[tuple[str, str], list[RecordBlock]] = {}
    for loss in result.losses:
        why = loss.cause.partition("; ")[2] or loss.cause
        by_cause.setdefault((loss.partition, why), []).append(
            RecordBlock(
                loss.partition, loss.client, loss.sequence, loss.count, loss.log_offset, loss.leader_epoch, loss.acks,
                loss.committed,
            )
        )  # fmt: skip
    sentences = {(loss.partition, loss.cause.partition("; ")[2] or loss.cause): loss.cause for loss in result.losses}
    return tuple(Finding(LOST, "", sentences[key], tuple(places), ()) for key, places in by_cause.items())


# The trace events that can decide whether a record survives.


WARNING_KINDS: Final = ("fault_injected", "node_down", "node_paused", "batch_corrupted")
"""Event kinds that could have warned an operator."""

DECIDING: Final = (
    "fault_injected", "batch_corrupted", "truncated", "partition_deleted", "replica_deleted", "leader_elected",
    "became_leader", "partition_offline", "step_taken", "isr_changed", "elr_changed", "node_down", "node_paused",
    "node_resumed", "node_up", "fault_healed", "broker_fenced", "broker_registered", "became_follower",
    "controller_changed",
)  # fmt: skip
"""Event kinds, the most informative first if several occur at once."""


_WRITTEN: Final = ("appended", "records_acked")


def most_informative(events: Iterable[Event], partition: str) -> Event | None:
    """Return the most informative of simultaneous events about a partition; None if there is none."""
    order = (*DECIDING, *_WRITTEN)
    mine = [event for event in events if event.kind in order and getattr(event, "partition", "") in ("", partition)]
    return min(mine, key=lambda event: order.index(event.kind), default=None)


def time_of(event: Event) -> int:
    """Return the virtual time of an event in microseconds."""
    at_us: int = event.values()[0]
    return at_us
