"""What producers were told of their transactions, held against the logs: a commit undone, an abort that did not help.

Neither can happen while a transaction is ended by what its producer asked last. A request that comes late can end the
next transaction in its place where epochs do not tell them apart (KIP-890).
"""

from collections.abc import Callable, Iterator
from typing import Any

from cluster_model.checker.ledger.ack_evidence import RangeSet
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import PartitionDeleted, RecordsAborted
from cluster_model.protocol.records import TRANSACTIONAL, Batch
from cluster_model.util.ranges import Range


class Transacted:
    """Records that a producer was told to be aborted, by its own numbers: whether and where they are is not told."""

    __slots__ = ("_aborted", "_acked_in", "_world", "changes")

    def __init__(self, world: World, acked_in: Callable[[str, int], list[Range]]) -> None:
        """``acked_in`` tells the acknowledged offsets of a partition's stint."""
        self._world = world
        self._acked_in = acked_in
        self._aborted: dict[tuple[str, str], RangeSet] = {}
        """(client, partition) → numbers."""
        self.changes = 0
        """Grows with all that may change what is found, rewinds or not."""

    def aborted(self, event: RecordsAborted) -> None:
        """Records went with their transaction."""
        known = self._aborted.setdefault((event.client, event.partition), RangeSet())
        known.add(event.sequence, event.sequence + event.count)

    def deleted(self, event: PartitionDeleted) -> None:
        """A partition is gone."""
        self._aborted = {key: known for key, known in self._aborted.items() if key[1] != event.partition}

    def undone(self, client: str | None = None) -> int:
        """Acknowledged records of transactions that are aborted in the leader's log."""
        return sum(
            _overlap(self._acked_in(partition, stint), start, end)
            for partition, stint, batch, start, end, committed in self._ended()
            if not committed and client in (None, batch.client)
        )

    def leaked(self, client: str | None = None) -> int:
        """Aborted records of transactions that are committed in the leader's log."""
        return sum(
            _overlap(self._aborted[batch.client, partition].ranges(), batch.sequence, batch.sequence + batch.records)
            for partition, _stint, batch, _start, _end, committed in self._ended()
            if committed and client in (None, batch.client) and (batch.client, partition) in self._aborted
        )

    def contradicted(self) -> Iterator[tuple[str, int, Batch, int, int, bool]]:
        """What :meth:`undone` and :meth:`leaked` count: (partition, stint, batch, start, end, whether committed)."""
        for partition, stint, batch, start, end, committed in self._ended():
            if not committed:
                known = self._acked_in(partition, stint)
            else:
                numbers = self._aborted.get((batch.client, partition))
                ahead = batch.base - batch.sequence
                known = [] if numbers is None else [(low + ahead, high + ahead) for low, high in numbers.ranges()]
            for low, high in known:
                if max(low, start) < min(high, end):
                    yield partition, stint, batch, max(low, start), min(high, end), committed

    def _ended(self) -> Iterator[tuple[str, int, Batch, int, int, bool]]:
        """(partition, stint, batch, start, end, whether committed) of every batch of a transaction that has ended."""
        for partition in self._world.records:
            leader = self._world.true_leader(partition)
            if leader is None or not leader.log.lineages.any_transactional(leader.log.extents):
                continue
            transactions = leader.log.transactions
            for lineage, batch, start, end in leader.log.batches():
                if batch.kind != TRANSACTIONAL or batch.base >= transactions.ongoing.get(batch.producer_id, end):
                    continue
                yield partition, lineage.id, batch, start, end, not transactions.is_aborted(batch)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(key, known.save()) for key, known in self._aborted.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._aborted = {}
        for key, known in saved:
            self._aborted[key] = RangeSet()
            self._aborted[key].load(known)


def _overlap(ranges: list[Range], start: int, end: int) -> int:
    return sum(max(0, min(high, end) - max(low, start)) for low, high in ranges)
