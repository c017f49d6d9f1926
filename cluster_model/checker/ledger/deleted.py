"""What was deleted on purpose: by retention and DeleteRecords, or with its topic. It is neither missing nor lost."""

from collections.abc import Iterable
from typing import Any

from cluster_model.checker.ledger.ack_evidence import RangeSet
from cluster_model.log.batch_store import Lineage
from cluster_model.util.ranges import Range, length, subtract, union


class Deleted:
    """By partition and stint; of partitions that are gone, what was lost before that, by client and partition."""

    __slots__ = ("_buried", "_purged", "topics")

    def __init__(self) -> None:
        self._purged: dict[tuple[str, int], RangeSet] = {}
        """(partition, stint) → offsets."""
        self.topics: dict[str, int] = {}
        """Partition → the newest topic id of its name that was deleted."""
        self._buried: dict[tuple[str, str], tuple[RangeSet, RangeSet]] = {}
        """(client, partition) → numbers of records that were lost before it was deleted, and committed ones of them."""

    def purge(self, partition: str, stint: int, start: int, end: int, absent: Iterable[Range]) -> None:
        """A replica deleted records of a stint; what is absent already stays so."""
        purged = self._purged.setdefault((partition, stint), RangeSet())
        for low, high in subtract([(start, end)], union(absent)):
            purged.add(low, high)

    def with_purged(self, partition: str, stint: int, held: Iterable[Range]) -> list[Range]:
        """Offsets of a stint that nobody need look for: held by a log, or deleted."""
        purged = self._purged.get((partition, stint))
        return union(held if purged is None else (*held, *purged.ranges()))

    def bury(self, client: str, partition: str, sequence: int, count: int, *, committed: bool) -> None:
        """Records are lost whose partition is being deleted."""
        lost, read = self._buried.setdefault((client, partition), (RangeSet(), RangeSet()))
        lost.add(sequence, sequence + count)
        if committed:
            read.add(sequence, sequence + count)

    def dropped(self, partition: str, topic_id: int) -> None:
        """A partition is gone."""
        self.topics[partition] = topic_id
        self._purged = {key: purged for key, purged in self._purged.items() if key[0] != partition}

    def is_past(self, partition: str, lineage: Lineage) -> bool:
        """Whether records went with a topic: news of them may come later than that."""
        return bool(self.topics) and lineage.topic_id <= self.topics.get(partition, -1)

    def buried(self, client: str | None, *, committed: bool) -> int:
        """Lost records of deleted partitions, of one client or of all."""
        return sum(
            length((read if committed else lost).ranges())
            for (name, _partition), (lost, read) in self._buried.items()
            if client in (None, name)
        )

    def buried_in(self, client: str, partition: str, *, committed: bool) -> list[Range]:
        """The numbers of one client's in one partition."""
        found = self._buried.get((client, partition))
        return [] if found is None else found[committed].ranges()

    @property
    def count(self) -> int:
        """Ranges that are kept."""
        buried = sum(lost.entries + read.entries for lost, read in self._buried.values())
        return buried + sum(purged.entries for purged in self._purged.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(key, purged.save()) for key, purged in self._purged.items()]),
            tuple(self.topics.items()),
            tuple([(key, lost.save(), read.save()) for key, (lost, read) in self._buried.items()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        purged, topics, buried = saved
        self.topics = dict(topics)
        self._purged, self._buried = {}, {}
        for key, state in purged:
            self._purged[key] = RangeSet()
            self._purged[key].load(state)
        for key, lost, read in buried:
            self._buried[key] = (RangeSet(), RangeSet())
            self._buried[key][0].load(lost)
            self._buried[key][1].load(read)
