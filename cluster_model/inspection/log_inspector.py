"""Everything that is known of one offset: each record ever written there, and what each replica has there now.

For people, as :mod:`cluster_model.observation.views` is.
"""

from dataclasses import dataclass
from typing import Final, Literal

from cluster_model.checker.checker import Checker
from cluster_model.inspection.written import WrittenRecord, written_at
from cluster_model.log.batch_store import Lineage
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batch

Holding = Literal["holds", "other", "behind", "below", "compacted"]
"""Has this record, has another one at its offset, ends before it, begins behind it, or compacted it away."""
Ending = Literal["", "open", "committed", "aborted", "gone"]
"""What became of a record's transaction; ``gone``: no log has the record any more. Empty for a record of none."""
_KINDS: Final = {PLAIN: "records", TRANSACTIONAL: "transactional", ABORT: "abort marker", COMMIT: "commit marker"}


@dataclass(frozen=True, slots=True)
class Copy:
    """A replica's place for a record."""

    broker: int
    holding: Holding
    below_hw: bool
    """Of this replica's own high watermark."""
    durable: bool
    """On its disk, not only in its page cache."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """A record with what its log knows of it."""

    record: WrittenRecord
    stint: int
    """Which leadership wrote it: with the offset that is its identity."""
    batch_start: int
    kind: str
    producer_epoch: int
    sequence: int
    """Kafka's own number, -1 without idempotence."""
    committed: bool
    """Whether a consumer could have read it so far."""
    transaction: Ending
    copies: tuple[Copy, ...]


def inspect(world: World, checker: Checker, partition: str, offset: int) -> tuple[Inspected, ...]:
    """Every record ever written at ``offset``, oldest first.

    Raises:
        ModelError: no such partition.
    """
    written = written_at(world, checker, partition, offset)
    topic_id = world.record(partition).topic_id
    stints = [
        each
        for each in world.lineages[partition].by_id
        if each.topic_id == topic_id and each.start <= offset < each.end
    ]
    return tuple(
        _inspected(world, checker, record, stint, offset) for record, stint in zip(written, stints, strict=True)
    )


def _inspected(world: World, checker: Checker, record: WrittenRecord, stint: Lineage, offset: int) -> Inspected:
    partition = record.partition
    batch = stint.batch_at(offset)
    numbered = batch.producer_id >= 0 and batch.kind < ABORT
    committed = checker.ledger.books_of(partition).committed_in(stint.id)
    return Inspected(
        record=record,
        stint=stint.id,
        batch_start=batch.base,
        kind=_KINDS[batch.kind],
        producer_epoch=batch.producer_epoch,
        sequence=batch.sequence + offset - batch.base - batch.origin if numbered else -1,
        committed=any(start <= offset < end for start, end in committed),
        transaction=_ending(world, partition, stint, batch, offset),
        copies=copies(world, partition, offset, stint.id),
    )


def copies(world: World, partition: str, offset: int, stint: int) -> tuple[Copy, ...]:
    """What each replica has at an offset; ``stint`` is that of the record meant, -1: of none."""
    found = []
    for broker, replica in world.replicas[partition].items():
        log = replica.log
        holding = _holding(log, offset, stint)
        there = holding in ("holds", "other")
        found.append(Copy(broker, holding, there and offset < replica.hw, there and offset < log.durable))
    return tuple(found)


def _holding(log: ReplicaLog, offset: int, stint: int) -> Holding:
    if offset >= log.leo:
        return "behind"
    if offset < log.log_start:
        return "below"
    if not log.left(offset, offset + 1):
        return "compacted"
    return "holds" if log.lineage_at(offset).id == stint else "other"


def _ending(world: World, partition: str, stint: Lineage, batch: Batch, offset: int) -> Ending:
    """By the leader's log if it has the record, else by any that has."""
    if batch.kind != TRANSACTIONAL:
        return ""
    leader = world.true_leader(partition)
    others = [each for each in world.replicas[partition].values() if each is not leader]
    for replica in [*([] if leader is None else [leader]), *others]:
        log = replica.log
        if _holding(log, offset, stint.id) != "holds":
            continue
        if batch.base >= log.transactions.ongoing.get(batch.producer_id, log.leo):
            return "open"
        return "aborted" if log.transactions.is_aborted(batch) else "committed"
    return "gone"
