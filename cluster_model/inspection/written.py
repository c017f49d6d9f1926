"""Everything that was ever written at an offset of a partition, and which replicas still hold it."""

from dataclasses import dataclass
from typing import Final

from cluster_model.checker.checker import Checker
from cluster_model.log.batch_store import Lineage
from cluster_model.log.keys import keys_of
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import Batch

TRUNCATED: Final = "truncated"
"""Cut off every log that had it, or lost with one."""
DELETED: Final = "deleted"
"""Below the log start of some replica: retention, or DeleteRecords."""
COMPACTED: Final = "compacted"


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record that a leader wrote, whatever became of it.

    ``number`` counts its producer's in the partition. ``key`` is None without one; ``deletes``: it is a tombstone.
    ``timestamp_us`` is that of its batch, -1 in formats without. ``holders`` are the brokers whose logs hold it, those
    that are down included.
    """

    partition: str
    offset: int
    epoch: int
    broker: int
    """The leader that wrote it."""
    client: str
    number: int
    producer_id: int
    acks: int
    timestamp_us: int
    appended_us: int
    acked: bool
    key: str | None
    deletes: bool
    name: str
    """What a hand-stepped trace calls it, or one of Kafka's own topics holds."""
    batch_records: int
    batch_bytes: int
    holders: tuple[int, ...]
    gone: str
    """Why nobody holds it; empty when somebody does."""


def written_at(world: World, checker: Checker, partition: str, offset: int) -> tuple[WrittenRecord, ...]:
    """Every record ever written at ``offset``, oldest first: several where a log was cut and written again.

    Raises:
        ModelError: no such partition.
    """
    record = world.record(partition)
    return tuple(
        _written(world, checker, partition, lineage, offset)
        for lineage in world.lineages[partition].by_id
        if lineage.topic_id == record.topic_id and lineage.start <= offset < lineage.end
    )


def _written(world: World, checker: Checker, partition: str, lineage: Lineage, offset: int) -> WrittenRecord:
    batch = lineage.batch_at(offset)
    place = offset - batch.base
    keys = keys_of(world.lineages[partition].keys, batch)
    key = keys.keys[place]
    holders, gone = _fate(world, partition, lineage, offset)
    acked = checker.ledger.acked_in(partition, lineage.id)
    return WrittenRecord(
        partition=partition,
        offset=offset,
        epoch=lineage.epoch,
        broker=lineage.broker,
        client=batch.client,
        number=batch.sequence + place,
        producer_id=batch.producer_id,
        acks=batch.acks,
        timestamp_us=batch.timestamp_us,
        appended_us=batch.appended_us,
        acked=any(start <= offset < end for start, end in acked),
        key=f"key-{key}" if isinstance(key, int) else key,
        deletes=place in keys.deletes,
        name=_name(batch, place),
        batch_records=batch.records,
        batch_bytes=batch.size,
        holders=holders,
        gone=gone,
    )


def _name(batch: Batch, place: int) -> str:
    return batch.name[place] if batch.name else ""


def _fate(world: World, partition: str, lineage: Lineage, offset: int) -> tuple[tuple[int, ...], str]:
    """Who holds the record, and why nobody does."""
    holders, gone = [], TRUNCATED
    for broker, replica in world.replicas[partition].items():
        log = replica.log
        if offset < log.log_start:
            gone = DELETED if gone == TRUNCATED else gone
        elif offset < log.leo and log.lineage_at(offset) is lineage:
            if log.left(offset, offset + 1):
                holders.append(broker)
            else:
                gone = COMPACTED
    return tuple(holders), "" if holders else gone
