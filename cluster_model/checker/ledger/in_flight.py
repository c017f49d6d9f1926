"""Whether an idempotent producer had more batches under way than a leader can know again.

A leader keeps a producer's last five batches (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``), and a producer has no more
than five under way on a connection. As leadership moves it has two: what was sent to the old leader is still awaited
while the new one, which hints made known at once (KIP-951), is sent more. If the first of them must be sent once more
then, it is no longer among the five: it is refused as out of order, and goes as new under another epoch (KIP-360).
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from cluster_model.broker.partition.producer_state import REMEMBERED
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.batch import Batch

LOOKED_AT: Final = 64
"""Batches of one producer that are looked through, the newest first: more than can be under way."""


def outran(log: ReplicaLog, epoch: int, again: Batch, offset: int) -> bool:
    """Whether five later batches stood in a log behind the one for which a producer left an epoch.

    ``again`` is a batch of its new epoch, which holds ``offset``: its ``origin`` is the number that was sent once more.
    """
    newest = islice(_before(log, again.producer_id, epoch, offset), LOOKED_AT)
    for later, batch in enumerate(newest):
        if batch.sequence <= again.origin:
            return later >= REMEMBERED and batch.sequence + batch.records > again.origin
    return False


def _before(log: ReplicaLog, producer_id: int, epoch: int, offset: int) -> Iterator[Batch]:
    """A producer's batches of an epoch, the newest first."""
    end = offset
    for start, stint in reversed([extent for extent in log.extents if extent[0] < offset]):
        lineage = log.lineages.by_id[stint]
        for index in range(lineage.index_at(end - 1), lineage.index_at(max(start, lineage.start)) - 1, -1):
            batch = lineage.batch(index)
            if (batch.producer_id, batch.producer_epoch) == (producer_id, epoch):
                yield batch
        end = start
