"""Evidence about a record: whether it is still there, and the events that can decide about it.

A record is known by where it was written: partition, leader epoch, offset, and whose it is. Whoever wrote something
else at that place in another epoch, or again in the same one, does not hold it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.broker.partition import Replica
from cluster_model.checker.ledger import Ledger
from cluster_model.checker.root_cause import LOST, Finding, RecordBlock
from cluster_model.observation import World
from cluster_model.protocol.events import (
    Event,
)
from cluster_model.util.ranges import subtract, union
from playbooks.results.result import SessionResult


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """One record that is to be kept."""

    partition: str
    client: str
    sequence: int
    """-1: it is known by its offset alone."""
    log_offset: int
    leader_epoch: int

    def to_json(self) -> dict[str, Any]:
        """As the answer prints it."""
        return {
            "partition": self.partition,
            "client": self.client,
            "sequence": self.sequence,
            "offset": self.log_offset,
            "epoch": self.leader_epoch,
        }


def wanted_of(place: RecordBlock) -> EvidenceRecord:
    """The first record of a range."""
    return EvidenceRecord(place.partition, place.client, place.sequence, place.log_offset, place.leader_epoch)


def holds(replica: Replica, wanted: EvidenceRecord) -> bool:
    """Whether a replica's log has the record, as it was written."""
    log, at = replica.log, wanted.log_offset
    if not log.log_start <= at < log.leo or any(damage.start <= at < damage.end for damage in replica.damages):
        return False
    lineage = log.lineage_at(at)
    if lineage.epoch != wanted.leader_epoch:
        return False
    batch = lineage.batch_at(at)
    sequence = batch.sequence + at - batch.base
    return batch.client == wanted.client and wanted.sequence in (-1, sequence)


def holders(world: World, wanted: EvidenceRecord) -> tuple[int, ...]:
    """The brokers whose logs have it, running or not, in the order of the assignment."""
    replicas = world.replicas.get(wanted.partition, {})
    return tuple(broker for broker, replica in replicas.items() if holds(replica, wanted))


def in_order(world: World, wanted: EvidenceRecord) -> bool:
    """Whether nothing is left to fear: every replica has it and runs, all are in sync, and one of them leads."""
    record = world.records.get(wanted.partition)
    if record is None or world.true_leader(wanted.partition) is None:
        return False
    there = holders(world, wanted)
    return len(record.isr) == len(record.assignment) and all(
        broker in there and world.is_up(broker) for broker in record.assignment
    )


def is_kept(world: World, wanted: EvidenceRecord) -> bool:
    """Whether a session that ended now would not call it lost: the leader has it, or nobody leads and a log has it."""
    if wanted.partition not in world.records:
        return False
    leader = world.true_leader(wanted.partition)
    return holds(leader, wanted) if leader is not None else bool(holders(world, wanted))


def loses(world: World, ledger: Ledger, partition: str, given_up: Sequence[RecordBlock]) -> bool:
    """Whether acknowledged records of a partition are gone, or its leader lacks them, besides those ``given_up``."""
    if partition not in world.records:
        return True
    gone = [*ledger.lost_in(partition), *ledger.missing_in(partition)]
    for stint, start, end in gone:
        epoch = world.lineages[partition].by_id[stint].epoch
        there = [(place.log_offset, place.log_offset + place.count) for place in given_up
                 if (place.partition, place.leader_epoch) == (partition, epoch)]  # fmt: skip
        if subtract([(start, end)], union(there)):
            return True
    return False


def lost_findings(result: SessionResult) -> tuple[Finding, ...]:
    """What a session's result says of acknowledged records that are lost, in its order."""
    found: Iterable[Finding] = getattr(result, "findings", ())
    told = tuple(finding for finding in found if finding.kind == LOST)
    return told or _of_losses(result)


def _of_losses(result: SessionResult) -> tuple[Finding, ...]:
    """The same, from the sentences alone."""
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


# The trace events that can decide about a record, and each of them in plain words.


SIGNS: Final = ("fault_injected", "node_down", "node_paused", "batch_damaged")
"""What an operator could have been warned by."""

DECIDING: Final = (
    "fault_injected", "batch_damaged", "truncated", "partition_deleted", "replica_deleted", "leader_elected",
    "became_leader", "partition_offline", "step_taken", "isr_changed", "elr_changed", "node_down", "node_paused",
    "node_resumed", "node_up", "fault_healed", "broker_fenced", "broker_registered", "became_follower",
    "controller_changed",
)  # fmt: skip
"""Kinds, the most telling first where several come at once."""


_WRITTEN: Final = ("appended", "records_acked")


def most_telling(events: Iterable[Event], partition: str) -> Event | None:
    """Of the events that came at once, the one that says most about a partition; None where none does."""
    order = (*DECIDING, *_WRITTEN)
    mine = [event for event in events if event.kind in order and getattr(event, "partition", "") in ("", partition)]
    return min(mine, key=lambda event: order.index(event.kind), default=None)


def time_of(event: Event) -> int:
    """When it happened, in virtual microseconds."""
    at_us: int = event.values()[0]
    return at_us
