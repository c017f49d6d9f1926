"""What a group has committed, and what it is about to (``GroupMetadata``, the part about offsets).

A commit counts once it is replicated; until then it is pending. The last one appended wins, so an offset may go
backwards. What a transaction commits stays pending until the transaction's end is known.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from cluster_model.coordinators.group.records import OffsetAndMetadata

Offsets = tuple[tuple[str, OffsetAndMetadata], ...]
"""By partition."""


class GroupOffsets:
    """The offsets of one group."""

    __slots__ = ("_bases", "_pending", "_transactional", "committed")

    def __init__(self) -> None:
        self.committed: dict[str, OffsetAndMetadata] = {}
        self._bases: dict[str, int] = {}
        """Where in the log each one's batch begins."""
        self._pending: dict[str, OffsetAndMetadata] = {}
        self._transactional: dict[int, dict[str, tuple[int, OffsetAndMetadata]]] = {}
        """Producer id → partition → (where its batch begins, -1 not yet known; what it commits)."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing at all (``hasOffsets``)."""
        return not (self.committed or self._pending or self._transactional)

    def unstable(self, partition: str) -> bool:
        """Whether a commit of a partition is under way (``hasPendingOffsetCommitsForTopicPartition``)."""
        return partition in self._pending or any(partition in each for each in self._transactional.values())

    def put(self, partition: str, value: OffsetAndMetadata, base: int) -> None:
        """A commit as it stands in the log."""
        self.committed[partition] = value
        self._bases[partition] = base

    # -- commits ----------------------------------------------------------------------------------------------------

    def prepare(self, offsets: Offsets) -> None:
        """They are about to be written."""
        self._pending.update(offsets)

    def appended(self, offsets: Offsets, base: int) -> None:
        """They are replicated; what was removed meanwhile stays so."""
        for partition, value in offsets:
            if partition in self._pending and self._bases.get(partition, -1) < base:
                self.put(partition, value, base)
            if self._pending.get(partition) == value:
                del self._pending[partition]

    def failed(self, offsets: Offsets) -> None:
        """They are not, as far as anybody knows."""
        for partition, value in offsets:
            if self._pending.get(partition) == value:
                del self._pending[partition]

    # -- commits of transactions ------------------------------------------------------------------------------------

    def prepare_in_transaction(self, producer_id: int, offsets: Offsets) -> None:
        """A transaction's commits are about to be written."""
        staged = self._transactional.setdefault(producer_id, {})
        staged.update({partition: (-1, value) for partition, value in offsets})

    def appended_in_transaction(self, producer_id: int, offsets: Offsets, base: int) -> None:
        """They are replicated, and wait for the transaction's end."""
        staged = self._transactional.get(producer_id, {})
        for partition, value in offsets:
            if partition in staged and staged[partition][1] == value:
                staged[partition] = (base, value)

    def failed_in_transaction(self, producer_id: int, offsets: Offsets) -> None:
        """They are not."""
        staged = self._transactional.get(producer_id, {})
        for partition, value in offsets:
            if partition in staged and staged[partition][1] == value:
                del staged[partition]
        if not staged:
            self._transactional.pop(producer_id, None)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """Its marker is in the log: offsets become visible if nothing newer is, or are forgotten."""
        for partition, (base, value) in self._transactional.pop(producer_id, {}).items():
            if committed and base >= 0 and self._bases.get(partition, -1) < base:
                self.put(partition, value, base)

    # -- removal ----------------------------------------------------------------------------------------------------

    def remove(self, partitions: Iterable[str]) -> list[str]:
        """Forget partitions, what is pending of them included; returns those that had anything committed."""
        removed: list[str] = []
        for partition in partitions:
            self._pending.pop(partition, None)
            for staged in self._transactional.values():
                staged.pop(partition, None)
            if self.committed.pop(partition, None) is not None:
                del self._bases[partition]
                removed.append(partition)
        self._transactional = {producer: staged for producer, staged in self._transactional.items() if staged}
        return removed

    def expire(self, partitions: Iterable[str]) -> list[str]:
        """Forget what is committed for partitions; what a transaction is about to commit for them comes nevertheless.

        (``GroupMetadata.removeExpiredOffsets``.)
        """
        removed = [partition for partition in partitions if self.committed.pop(partition, None) is not None]
        for partition in removed:
            del self._bases[partition]
        return removed

    def clear(self) -> list[str]:
        """Forget everything; returns the partitions that had anything committed."""
        self._transactional.clear()
        removed = self.remove(list(self.committed))
        self._pending.clear()
        return removed

    def expired(
        self, now: int, retention_us: int, since: Callable[[OffsetAndMetadata], int], kept: Collection[str] = ()
    ) -> list[str]:
        """Partitions whose retention is over; not those with a commit under way, nor those of the topics ``kept``."""
        return [
            partition
            for partition, value in self.committed.items()
            if partition not in self._pending
            and partition.rpartition("-")[0] not in kept
            and (now >= value.expires_us if value.expires_us >= 0 else now - since(value) >= retention_us)
        ]

    def save(self) -> tuple[Any, ...]:
        """All state."""
        staged = tuple((producer, tuple(each.items())) for producer, each in self._transactional.items())
        return (tuple(self.committed.items()), tuple(self._bases.items()), tuple(self._pending.items()), staged)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        committed, bases, pending, staged = saved
        self.committed, self._bases, self._pending = dict(committed), dict(bases), dict(pending)
        self._transactional = {producer: dict(each) for producer, each in staged}
