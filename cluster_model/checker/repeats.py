"""Duplicates and reordering: records of one client that stand in a log twice, or behind later ones.

A client's records carry gapless sequences per partition, so an append that does not go beyond everything seen so far
is one or the other; only then is the log searched.
"""

from typing import Any

from cluster_model.events import Appended
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.world import World

_Copy = tuple[str, int, int, int, int, int]
"""(partition, stint and offset of the first copy, stint and offset of the second, records)."""
_Late = tuple[str, int, int, int]
"""(partition, stint, offset, records)."""


class Repeats:
    """Suspicious appends, judged against the current leader's log when asked."""

    __slots__ = ("_copies", "_highest", "_late", "_world")

    def __init__(self, world: World) -> None:
        self._world = world
        self._highest: dict[tuple[str, str], int] = {}
        self._copies: list[tuple[str, _Copy]] = []
        self._late: list[tuple[str, _Late]] = []

    def appended(self, event: Appended) -> None:
        """Look at an append; sequences below zero are unnumbered."""
        if event.sequence < 0:
            return
        key = (event.client, event.partition)
        highest = self._highest.get(key, -1)
        end = event.sequence + event.count
        if event.sequence > highest:
            self._highest[key] = end - 1
            return
        self._highest[key] = max(highest, end - 1)
        log = self._world.replicas[event.partition][event.broker].log
        self._judge(event, log)

    def _judge(self, event: Appended, log: ReplicaLog) -> None:
        stint = log.lineage_at(event.log_offset).id
        later = False
        for lineage, batch, start, end in reversed(list(log.batches())):
            if batch.client != event.client or batch.base >= event.log_offset:
                continue
            shift = batch.sequence - batch.base
            overlap_start = max(start + shift, event.sequence)
            overlap_end = min(end + shift, event.sequence + event.count)
            if overlap_start < overlap_end:
                first = overlap_start - shift
                second = event.log_offset + overlap_start - event.sequence
                copy = (event.partition, lineage.id, first, stint, second, overlap_end - overlap_start)
                self._copies.append((event.client, copy))
                return
            later = later or batch.sequence > event.sequence
        if later:
            self._late.append((event.client, (event.partition, stint, event.log_offset, event.count)))

    def forget(self, partition: str) -> None:
        """It is deleted, and its records with it."""
        self._highest = {key: last for key, last in self._highest.items() if key[1] != partition}
        self._copies = [entry for entry in self._copies if entry[1][0] != partition]
        self._late = [entry for entry in self._late if entry[1][0] != partition]

    def duplicates(self, client: str | None = None) -> int:
        """Records that stand at two offsets of the current leader's log."""
        return sum(
            self._not_compacted(copy[0], copy[2], copy[4], copy[5])
            for name, copy in self._copies
            if client in (None, name)
            and self._stands(copy[0], copy[1], copy[2])
            and self._stands(copy[0], copy[3], copy[4])
        )

    def reordered(self, client: str | None = None) -> int:
        """Records that stand behind later ones of the same client in the current leader's log."""
        return sum(
            self._not_compacted(late[0], late[2], late[2], late[3])
            for name, late in self._late
            if client in (None, name) and self._stands(late[0], late[1], late[2])
        )

    def _stands(self, partition: str, stint: int, offset: int) -> bool:
        leader = self._world.true_leader(partition) if partition in self._world.records else None
        if leader is None:
            return False
        return any(start <= offset < end for start, end in leader.log.held(stint))

    def _not_compacted(self, partition: str, one: int, other: int, count: int) -> int:
        """How many of ``count`` records are left at both offsets of the current leader's log."""
        leader = self._world.true_leader(partition)
        cleaned = None if leader is None else leader.log.cleaned
        if cleaned is None:
            return count
        return sum(not cleaned.covers(one + index) and not cleaned.covers(other + index) for index in range(count))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._highest.copy(), tuple(self._copies), tuple(self._late))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        highest, copies, late = saved
        self._highest = dict(highest)
        self._copies = list(copies)
        self._late = list(late)
