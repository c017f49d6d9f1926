"""What stands in a window of each replica's log besides records: markers, open transactions, holes of compaction.

For people, as :mod:`cluster_model.observation.views` is.
"""

from dataclasses import dataclass

from cluster_model.broker.partition.partition import Replica
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import ABORT, TRANSACTIONAL
from cluster_model.util.ranges import Range, union


@dataclass(frozen=True, slots=True)
class LaneMarks:
    """Of one replica's log, over the window asked for."""

    broker: int
    holes: tuple[Range, ...]
    """Offsets that compaction emptied."""
    control: tuple[Range, ...]
    """Offsets of markers, which end transactions."""
    open: tuple[Range, ...]
    """From the first to behind the last record of each transaction without a marker so far."""
    stable: int
    """The last stable offset by this replica's own high watermark: below it no transaction is open."""


def lane_marks(
    world: World, partition: str, start: int, end: int, *, transactions: bool = True
) -> tuple[LaneMarks, ...]:
    """The marks of every replica of a partition over ``[start, end)``.

    Without ``transactions`` those are not looked for, which takes a look at every batch of the window.

    Raises:
        ModelError: no such partition.
    """
    world.record(partition)
    return tuple(
        _marks(replica, start, end, transactions=transactions) for replica in world.replicas[partition].values()
    )


def _marks(replica: Replica, start: int, end: int, *, transactions: bool) -> LaneMarks:
    log = replica.log
    low, high = max(start, log.log_start), min(end, log.leo)
    holes = () if log.cleaned is None or low >= high else log.cleaned.within(low, high)
    control, unfinished = _transactional(log, low, high) if transactions else ((), ())
    stable = min(replica.hw, log.transactions.first_unstable(replica.hw))
    return LaneMarks(replica.broker, holes, control, unfinished, stable)


def _transactional(log: ReplicaLog, start: int, end: int) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Markers, and transactions still open; a log that never had a transaction is not gone through."""
    if start >= end or not log.lineages.any_transactional(log.extents):
        return (), ()
    control: list[Range] = []
    unfinished: dict[int, Range] = {}
    ongoing = log.transactions.ongoing
    for _lineage, batch, _size, low, high in log.kept_between(start, end):
        if batch.kind >= ABORT:
            control.append((low, high))
        elif batch.kind == TRANSACTIONAL and low >= ongoing.get(batch.producer_id, end):
            unfinished[batch.producer_id] = (unfinished.get(batch.producer_id, (low, high))[0], high)
    return tuple(union(control)), tuple(unfinished.values())
