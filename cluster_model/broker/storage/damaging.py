"""What damage does to a replica that has it: which batch is struck, where recovery cuts, what the cleaner cannot do."""

from cluster_model.broker.partition.partition import Replica
from cluster_model.protocol.batch import Batch
from cluster_model.protocol.damage import CORRUPT_BATCH, LENGTH, Damage, with_damage
from cluster_model.protocol.events import BatchDamaged, CorruptBatchFound
from cluster_model.util.ranges import Range, subtract

BEFORE_HW = -1
"""For an offset: that of the last record below the high watermark."""


def batch_to_damage(replica: Replica, offset: int) -> Batch | None:
    """The batch that holds ``offset``, or with :data:`BEFORE_HW` the last below the HW; None where there is none."""
    log = replica.log
    wanted = min(replica.hw, log.leo) - 1 if offset == BEFORE_HW else offset
    if not log.log_start <= wanted < log.leo:
        return None
    kept = [batch for _stint, batch, _size, _start, _end in log.kept_between(wanted, wanted + 1)]
    return kept[0] if kept else None


def damage(replica: Replica, offset: int, kind: str, now: int) -> None:
    """Turn bits of that batch; raises ValueError where :func:`batch_to_damage` finds none."""
    batch = batch_to_damage(replica, offset)
    if batch is None:
        raise ValueError(f"broker {replica.broker} has no batch of {replica.partition} at offset {offset}")
    replica.damages = with_damage(replica.damages, Damage(batch.base, batch.end, kind))
    replica.emit(BatchDamaged(now, replica.partition, replica.broker, batch.base, batch.end, kind))


def whole(replica: Replica, stint: int) -> list[Range]:
    """The offsets of a stint that this log holds as they were written."""
    held = replica.log.held(stint)
    return subtract(held, [each[:2] for each in replica.damages]) if replica.damages else held


def cut_at_damage(replica: Replica, now: int) -> None:
    """A start after an unclean stop reckons every checksum of the segments that it reads (``LogSegment.recover``).

    Segments below the recovery point are not looked at. The first bad batch ends the log, whatever comes behind it.
    """
    checked = next(replica.log.segments.reaching(replica.checkpointed_recovery)).base
    bad = [each.start for each in replica.damages if each.start >= checked]
    if bad:
        replica.emit(CorruptBatchFound(now, replica.partition, replica.broker, bad[0], "recovery", ""))
        replica.cut_off(bad[0], now, CORRUPT_BATCH)


def stops_cleaner(replica: Replica, end: int) -> int:
    """Where the cleaner fails if it goes over a log up to ``end``, -1 if it does not: it takes batches apart."""
    return next((each.start for each in replica.damages if each.kind == LENGTH and each.start < end), -1)
