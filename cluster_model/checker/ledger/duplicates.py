"""Duplicates and reordering: records of one client that stand in a log twice, or behind later ones.

A client's records carry gapless sequences per partition, so an append that does not go beyond everything seen so far
is one or the other; only then is the log searched. Neighbours that repeat neighbours are kept as one.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cluster_model.log.batch_store import Lineage
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import Batch
from cluster_model.protocol.events import Appended
from cluster_model.util.ranges import Range, length, subtract


class _Copy(NamedTuple):
    """``records`` that stood in a log already as they were appended to it."""

    sequence: int
    first_stint: int
    first: int
    second_stint: int
    second: int
    records: int


class _Late(NamedTuple):
    """``records`` that were appended to a log behind later ones."""

    sequence: int
    stint: int
    offset: int
    records: int


_Key = tuple[str, str]
"""(client, partition)."""


class Repeats:
    """Suspicious appends, judged against the current leader's log when asked."""

    __slots__ = ("_copies", "_highest", "_late", "_world", "changes", "written_again")

    def __init__(self, world: World) -> None:
        self._world = world
        self._highest: dict[_Key, int] = {}
        self._copies: dict[_Key, list[_Copy]] = {}
        self._late: dict[_Key, list[_Late]] = {}
        self.changes = 0
        """Grows with every append that may be either, rewinds or not."""
        self.written_again: Callable[[_Key, Appended], None] = lambda key, event: None
        """Who else is told of those."""

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
        self.changes += 1
        self.written_again(key, event)
        self._judge(key, event, self._world.replicas[event.partition][event.broker].log)

    def _judge(self, key: _Key, event: Appended, log: ReplicaLog) -> None:
        """Each record is a copy of the nearest earlier one of its number, else late if a later one stands before."""
        stint = log.lineage_at(event.log_offset).id
        highest = -1
        fresh = [(event.sequence, event.sequence + event.count)]
        ahead = event.log_offset - event.sequence
        for lineage, batch, start, end in batches_backwards(log):
            if batch.client != event.client or batch.base >= event.log_offset:
                continue
            shift = batch.sequence - batch.base
            there = [(start + shift, end + shift)]
            highest = max(highest, end + shift - 1)
            left = subtract(fresh, there)
            for low, high in subtract(fresh, left):
                self._add_copy(key, _Copy(low, lineage.id, low - shift, stint, low + ahead, high - low))
            fresh = left
            if not fresh:
                return
        for low, high in fresh:
            if low < highest:
                self._add_late(key, _Late(low, stint, low + ahead, min(high, highest) - low))

    def _add_copy(self, key: _Key, copy: _Copy) -> None:
        copies = self._copies.setdefault(key, [])
        if copies:
            last = copies[-1]
            behind = last.records
            if last[:5] == (
                copy.sequence - behind, copy.first_stint, copy.first - behind, copy.second_stint, copy.second - behind,
            ):  # fmt: skip
                copies[-1] = last._replace(records=last.records + copy.records)
                return
        copies.append(copy)

    def _add_late(self, key: _Key, late: _Late) -> None:
        known = self._late.setdefault(key, [])
        if known:
            last = known[-1]
            if last[:3] == (late.sequence - last.records, late.stint, late.offset - last.records):
                known[-1] = last._replace(records=last.records + late.records)
                return
        known.append(late)

    def forget(self, partition: str) -> None:
        """It is deleted, and its records with it."""
        self._highest = {key: last for key, last in self._highest.items() if key[1] != partition}
        self._copies = {key: copies for key, copies in self._copies.items() if key[1] != partition}
        self._late = {key: late for key, late in self._late.items() if key[1] != partition}

    def duplicates(self, client: str | None = None) -> int:
        """Records that stand at two offsets of the current leader's log."""
        return sum(length(self.duplicates_in(*key)) for key in self._copies if client in (None, key[0]))

    def reordered(self, client: str | None = None) -> int:
        """Records that stand behind later ones of the same client in the current leader's log."""
        return sum(length(self.reordered_in(*key)) for key in self._late if client in (None, key[0]))

    def duplicates_in(self, client: str, partition: str) -> list[Range]:
        """The numbers of one client's duplicates, once for every copy beyond the first."""
        log = self._leader(partition)
        if log is None:
            return []
        return [
            (copy.sequence + low, copy.sequence + high)
            for copy in self._copies.get((client, partition), ())
            for one in _standing(log, copy.first_stint, copy.first, copy.records)
            for other in _standing(log, copy.second_stint, copy.second, copy.records)
            for low, high in _common(one, other)
        ]

    def reordered_in(self, client: str, partition: str) -> list[Range]:
        """The numbers of one client's records that stand behind later ones."""
        log = self._leader(partition)
        if log is None:
            return []
        return [
            (late.sequence + low, late.sequence + high)
            for late in self._late.get((client, partition), ())
            for low, high in _standing(log, late.stint, late.offset, late.records)
        ]

    def copies(self) -> Iterator[tuple[str, str, int, tuple[int, int], tuple[int, int], int]]:
        """Every duplicate: (client, partition, number, (stint, offset) of either, how many)."""
        for (client, partition), copies in self._copies.items():
            log = self._leader(partition)
            if log is None:
                continue
            for copy in copies:
                for one in _standing(log, copy.first_stint, copy.first, copy.records):
                    for other in _standing(log, copy.second_stint, copy.second, copy.records):
                        for low, high in _common(one, other):
                            first = (copy.first_stint, copy.first + low)
                            again = (copy.second_stint, copy.second + low)
                            yield client, partition, copy.sequence + low, first, again, high - low

    def late(self) -> Iterator[tuple[str, str, int, tuple[int, int], int]]:
        """Every record behind later ones: (client, partition, number, (stint, offset), how many)."""
        for (client, partition), known in self._late.items():
            log = self._leader(partition)
            if log is None:
                continue
            for late in known:
                for low, high in _standing(log, late.stint, late.offset, late.records):
                    yield client, partition, late.sequence + low, (late.stint, late.offset + low), high - low

    def _leader(self, partition: str) -> ReplicaLog | None:
        leader = self._world.true_leader(partition) if partition in self._world.records else None
        return None if leader is None else leader.log

    @property
    def count(self) -> int:
        """Entries that are kept."""
        return len(self._highest) + sum(map(len, self._copies.values())) + sum(map(len, self._late.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self._highest.copy(),
            tuple([(key, tuple(copies)) for key, copies in self._copies.items()]),
            tuple([(key, tuple(late)) for key, late in self._late.items()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        highest, copies, late = saved
        self._highest = dict(highest)
        self._copies = {key: list(entries) for key, entries in copies}
        self._late = {key: list(entries) for key, entries in late}


def _standing(log: ReplicaLog, stint: int, start: int, count: int) -> Iterator[Range]:
    """Which of ``count`` records from an offset of a stint a log has left, counted from the first."""
    for first, last in log.held(stint):
        low, high = max(first, start), min(last, start + count)
        if low < high:
            for left, right in log.left(low, high):
                yield left - start, right - start


def batches_backwards(log: ReplicaLog) -> Iterator[tuple[Lineage, Batch, int, int]]:
    """Like ``log.batches()``, newest first; only as much of the log is gone through as is asked for."""
    end = log.leo
    for first, lineage_id in reversed(log.extents):
        lineage = log.lineages.by_id[lineage_id]
        low = max(first, log.log_start)
        if low < end:
            for index in range(lineage.index_at(end - 1), lineage.index_at(low) - 1, -1):
                batch = lineage.batch(index)
                yield lineage, batch, max(low, batch.base), min(end, batch.end)
        end = first
        if end <= log.log_start:
            return


def _common(one: Range, other: Range) -> Iterator[Range]:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    if low < high:
        yield low, high
