"""Markers that compaction may drop: those of transactions that have nothing left (``CleanedTransactionMetadata``).

A transaction has something left while a pass meets a batch of it, even one whose records all go in that very pass: so
its marker is empty in the pass after that at the earliest. From then on it is kept for ``delete.retention.ms``, as a
tombstone is.

The last batch of a producer that is still known (``producer.id.expiration.ms``) stays as an empty one, for its
sequence; so its last transaction always has something left, and where an epoch has only markers the last one stays.
"""

from typing import NamedTuple

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.batch import ABORT, Batch

Bases = dict[int, None]
"""Offsets of batches."""


class _Last(NamedTuple):
    """What is remembered of a producer: its epoch, when it last wrote, and its last data in that epoch, -1 for none."""

    epoch: int
    at_us: int
    base: int


def empty_markers(log: ReplicaLog, end: int, now: int, expiry_us: int) -> Bases:
    """Offsets of the markers below ``end`` whose transaction has nothing left in the log."""
    if not log.lineages.any_transactional(log.extents):
        return {}
    known = _known(log, now, expiry_us)
    first = log.segments.first_base
    met: dict[int, None] = {}
    found: Bases = {}
    for _lineage, batch, _start, _end in log.batches_between(first, end):
        producer = batch.producer_id
        last = known.get(producer)
        if batch.kind >= ABORT:
            only_markers = last is not None and last.base < 0 and last.epoch == batch.producer_epoch
            if producer not in met and not only_markers:
                found[batch.base] = None
            met.pop(producer, None)
        elif batch.kind and (not _gone(log, batch) or (last is not None and last.base == batch.base)):
            met[producer] = None
    return found


def _known(log: ReplicaLog, now: int, expiry_us: int) -> dict[int, _Last]:
    """Producers of transactions that have written lately (``ProducerStateManager.lastRecords``)."""
    found: dict[int, _Last] = {}
    for _lineage, batch, _start, _end in log.batches():
        if batch.kind:
            before = found.get(batch.producer_id)
            base = before.base if before is not None and before.epoch == batch.producer_epoch else -1
            data = batch.kind < ABORT
            found[batch.producer_id] = _Last(batch.producer_epoch, batch.appended_us, batch.base if data else base)
    return {producer: last for producer, last in found.items() if now - last.at_us < expiry_us}


def _gone(log: ReplicaLog, batch: Batch) -> bool:
    return log.cleaned is not None and log.cleaned.gone(batch)
