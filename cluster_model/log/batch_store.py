"""Batches as each leader wrote them, stored once for each partition, and logs as they were at an earlier time.

A *stint* is one leader writing in one epoch from one starting point. Its batches form an append-only *lineage*. A
replica's log is then a short list of extents over lineages, replication copies no records, and two replicas hold the
same record at an offset exactly when the same lineage covers it in both: divergence is exact and cheap to find.

A leader that loses its tail and goes on in the same epoch starts a new lineage: (partition, epoch) would not tell
the lost records from those that took their offsets.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from cluster_model.protocol.records import ABORT, PLAIN, Batch

if TYPE_CHECKING:
    from cluster_model.log.record_keys import KeyModel

_Manner = tuple[str, int, int, int, int, int, int, int]
"""(client, producer id, acks, codec, producer epoch, origin, kind, coordinator epoch): what most of a stint's batches
share."""

_LONG_AGO: Final = -(1 << 62)


class Lineage:
    """Batches of one stint, dense in offsets from ``start``: a few numbers each, in columns."""

    __slots__ = (
        "_appended", "_bases", "_manner_of", "_manners", "_names", "_newest", "_newest_so_far", "_payloads",
        "_places", "_sequences", "_stamps", "_written", "_written_so_far", "broker", "end", "epoch", "id", "length",
        "start", "topic_id", "transactional",
    )  # fmt: skip

    def __init__(self, lineage_id: int, broker: int, epoch: int, start: int, topic_id: int = 0) -> None:
        self.id = lineage_id
        self.topic_id = topic_id
        """Which topic of that name it was written for: one created again goes on with new stints."""
        self.broker = broker
        self.epoch = epoch
        self.start = start
        self.end = start
        """Offset behind everything written."""
        self.length = 0
        """Batches."""
        self._bases = array("q")
        self._written = array("q")
        """Bytes up to and including each batch."""
        self._newest = array("q")
        """Largest timestamp up to and including each batch."""
        self._appended = array("q")
        self._stamps = array("q")
        self._sequences = array("q")
        self._places = array("L")
        """Each batch's manner, by its place among them."""
        self._manners: list[_Manner] = []
        self._manner_of: dict[_Manner, int] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        """By index; few batches have any."""
        self._payloads: dict[int, bytes] = {}
        """By index: batches of clients outside of the model, as they wrote them."""
        self._written_so_far = 0
        self._newest_so_far = _LONG_AGO
        self.transactional = False
        """Whether any batch has ever been of a transaction."""

    def append(self, batch: Batch) -> None:
        """Write a batch at the end."""
        (
            base, records, size, appended_us, client, producer_id, sequence, acks, name, timestamp_us, codec, epoch,
            origin, kind, coordinator_epoch,
        ) = batch  # fmt: skip
        if name:
            self._names[self.length] = name
        self.length += 1
        self._bases.append(base)
        self.end = base + records
        self._written_so_far += size
        self._written.append(self._written_so_far)
        if timestamp_us > self._newest_so_far:
            self._newest_so_far = timestamp_us
        self._newest.append(self._newest_so_far)
        self._appended.append(appended_us)
        self._stamps.append(timestamp_us)
        self._sequences.append(sequence)
        manner = (client, producer_id, acks, codec, epoch, origin, kind, coordinator_epoch)
        place = self._manner_of.get(manner)
        if place is None:
            self.transactional = self.transactional or kind != PLAIN
            place = self._manner_of[manner] = len(self._manners)
            self._manners.append(manner)
        self._places.append(place)

    def keep(self, payload: bytes) -> None:
        """The last batch came as these bytes."""
        self._payloads[self.length - 1] = payload

    def payload(self, base: int) -> bytes:
        """The batch that begins at ``base`` as its client wrote it; empty where the model's own did."""
        return self._payloads.get(self.index_at(base), b"")

    def share(self, whole: "Lineage") -> None:
        """Have another one's columns, to be read only."""
        self._bases, self._written, self._newest = whole._bases, whole._written, whole._newest
        self._appended, self._stamps, self._sequences = whole._appended, whole._stamps, whole._sequences
        self._places, self._manners, self._names = whole._places, whole._manners, whole._names
        self._payloads = whole._payloads
        self.transactional = whole.transactional

    def unshare(self) -> None:
        """Have columns of its own again, with the batches that it has by now."""
        length = self.length
        self._bases, self._written, self._newest = (
            self._bases[:length], self._written[:length], self._newest[:length]
        )  # fmt: skip
        self._appended, self._stamps, self._sequences = (
            self._appended[:length], self._stamps[:length], self._sequences[:length]
        )  # fmt: skip
        self._places, self._manners = self._places[:length], self._manners.copy()
        self._manner_of = {manner: place for place, manner in enumerate(self._manners)}
        self._names = {index: name for index, name in self._names.items() if index < length}
        self._payloads = {index: payload for index, payload in self._payloads.items() if index < length}

    def stand_at(self, whole: "Lineage", length: int) -> None:
        """Be the first ``length`` of another one's batches, whose columns these are."""
        self.length = length
        self.end = whole._bases[length] if length < whole.length else whole.end
        self._written_so_far = self._written[length - 1] if length else 0
        self._newest_so_far = self._newest[length - 1] if length else _LONG_AGO

    def cut(self, length: int) -> None:
        """Forget all but the first ``length`` batches."""
        if length < self.length:
            self.end = self._bases[length]
        self.length = length
        columns = (
            self._bases, self._written, self._newest, self._appended, self._stamps, self._sequences, self._places
        )  # fmt: skip
        for column in columns:
            del column[length:]
        self._names = {index: name for index, name in self._names.items() if index < length}
        self._payloads = {index: payload for index, payload in self._payloads.items() if index < length}
        self._written_so_far = self._written[-1] if length else 0
        self._newest_so_far = self._newest[-1] if length else _LONG_AGO

    def batch(self, index: int) -> Batch:
        """A batch by its index, from 0."""
        base = self._bases[index]
        client, producer_id, acks, codec, epoch, origin, kind, coordinator_epoch = self._manners[self._places[index]]
        return Batch(
            base, self._end_of(index) - base, self._size_of(index), self._appended[index], client, producer_id,
            self._sequences[index], acks, self._names.get(index, ()), self._stamps[index], codec,
            epoch, origin, kind, coordinator_epoch,
        )  # fmt: skip

    def _end_of(self, index: int) -> int:
        return self._bases[index + 1] if index + 1 < self.length else self.end

    def _size_of(self, index: int) -> int:
        return self._written[index] - (self._written[index - 1] if index else 0)

    def between(self, start: int, end: int) -> Iterator[Batch]:
        """The batches that hold ``[start, end)``, which must have been written and not be empty."""
        return map(self.batch, range(self.index_at(start), self.index_at(end - 1) + 1))

    def runs(self, start: int, end: int) -> list[tuple[int, str, int, int]]:
        """(first offset, client, its first number, how many) of the numbered records of ``[start, end)``.

        Neighbours whose numbers go on are one run; markers, and what nobody numbered, are left out.
        """
        found: list[tuple[int, str, int, int]] = []
        offset, client, number, count = start, "", -1, 0
        for index in range(self.index_at(start), self.index_at(end - 1) + 1):
            base = self._bases[index]
            low, high = max(start, base), min(end, self._end_of(index))
            manner = self._manners[self._places[index]]
            first = self._sequences[index]
            if first < 0 or manner[6] >= ABORT:
                continue
            first += low - base
            if manner[0] == client and number + count == first and offset + count == low:
                count += high - low
                continue
            if count:
                found.append((offset, client, number, count))
            offset, client, number, count = low, manner[0], first, high - low
        if count:
            found.append((offset, client, number, count))
        return found

    def markers_only(self, start: int, end: int) -> bool:
        """Whether all at ``[start, end)``, which must have been written and not be empty, are markers."""
        if not self.transactional:
            return False
        first, last = self.index_at(start), self.index_at(end - 1)
        return all(self._manners[self._places[index]][6] >= ABORT for index in range(first, last + 1))

    def index_at(self, offset: int) -> int:
        """Index of the batch that holds ``offset``."""
        return bisect_right(self._bases, offset) - 1

    def batch_at(self, offset: int) -> Batch:
        """The batch that holds ``offset``, which must have been written."""
        return self.batch(self.index_at(offset))

    def appended_at(self, offset: int) -> int:
        """When the record at ``offset`` was written."""
        return self._appended[bisect_right(self._bases, offset) - 1]

    def appended_together(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """(first offset, end, when it was written) of what was written at one time of ``[start, end)``, not empty."""
        first, last = self.index_at(start), self.index_at(end - 1)
        if self._appended[first] == self._appended[last]:
            return [(start, end, self._appended[last])]
        found: list[tuple[int, int, int]] = []
        for index in range(first, last + 1):
            at, high = self._appended[index], min(end, self._end_of(index))
            if found and found[-1][2] == at:
                found[-1] = (found[-1][0], high, at)
            else:
                found.append((found[-1][1] if found else start, high, at))
        return found

    def fit(self, start: int, end: int, max_bytes: int) -> int:
        """Where a read of ``[start, end)`` stops: whole batches within ``max_bytes``, and at least one."""
        first = bisect_right(self._bases, start) - 1
        written = self._written
        most = max_bytes + (written[first - 1] if first else 0)
        if self._written_so_far <= most or written[self.index_at(end - 1)] <= most:
            return end
        index = max(first, bisect_right(written, most) - 1)
        return min(end, self._end_of(index))

    def bytes_between(self, start: int, end: int) -> int:
        """Size of the batches that hold ``[start, end)``, which must not be empty."""
        first = self.index_at(start)
        return self._written[self.index_at(end - 1)] - (self._written[first - 1] if first else 0)

    def measure(self, start: int, end: int) -> tuple[int, int, int]:
        """Of the batches that hold ``[start, end)``, not empty: bytes, the first timestamp and the largest one.

        A newest timestamp that nothing before them has must be theirs; only otherwise are they looked at.
        """
        bases = self._bases
        first = bisect_right(bases, start) - 1
        stamp = self._stamps[first]
        written = self._written
        before = written[first - 1] if first else 0
        if end <= (bases[first + 1] if first + 1 < self.length else self.end):
            return written[first] - before, stamp, stamp
        last = bisect_right(bases, end - 1) - 1
        top = self._newest[last]
        if first and top <= self._newest[first - 1]:
            top = max(self._stamps[first : last + 1])
        return written[last] - before, stamp, top


class Lineages:
    """All lineages of a partition, by id."""

    __slots__ = ("by_id", "keys")

    def __init__(self) -> None:
        self.by_id: list[Lineage] = []
        self.keys: dict[str, KeyModel] = {}
        """Of the producers whose records have keys."""

    def begin(self, broker: int, epoch: int, start: int, topic_id: int = 0) -> Lineage:
        """A new stint."""
        lineage = Lineage(len(self.by_id), broker, epoch, start, topic_id)
        self.by_id.append(lineage)
        return lineage

    def any_transactional(self, extents: Iterable[tuple[int, int]]) -> bool:
        """Whether stretches, given as (first offset, stint) each, may have batches of transactions."""
        return any(self.by_id[stint].transactional for _start, stint in extents)

    def batches_of(self, extents: tuple[tuple[int, int], ...], end: int) -> Iterator[tuple[Batch, int]]:
        """Batches of a stretch up to ``end``, given as (first offset, stint) each, with where each ends in it."""
        for index, (start, stint) in enumerate(extents):
            last = extents[index + 1][0] if index + 1 < len(extents) else end
            for batch in self.by_id[stint].between(start, last):
                yield batch, min(last, batch.end)

    def is_past_of(self, whole: "Lineages") -> bool:
        """Whether these are read out of ``whole``."""
        return self is whole

    def save(self) -> tuple[int, ...]:
        """Lengths: lineages only grow, so nothing else is needed to go back."""
        return tuple([lineage.length for lineage in self.by_id])

    def check(self, saved: tuple[Any, ...]) -> None:
        """Refuse lengths that these lineages never had: a keyframe of something else, or of what was forgotten.

        Raises:
            ValueError: there are not that many lineages or batches.
        """
        known = self.save()
        if len(saved) > len(known) or any(wanted > length for wanted, length in zip(saved, known, strict=False)):
            raise ValueError(f"a keyframe with stints of {saved} batches, and there are {known}")

    def load(self, saved: tuple[Any, ...]) -> None:
        """Forget what was written since.

        Raises:
            ValueError: the keyframe is not of this history.
        """
        self.check(saved)
        del self.by_id[len(saved) :]
        for lineage, length in zip(self.by_id, saved, strict=True):
            lineage.cut(length)


# Logs as they were at an earlier time, read out of the current ones: nothing is copied.
#
# A stint's batches are only ever added to, so an earlier instant is a length. What runs on from there repeats, batch
# by batch, what is written already, and so writes nothing; the first batch that is another one, or that goes beyond
# the present, parts it from the original for good.


class PastLineage(Lineage):
    """The first ``length`` batches of a stint that belongs to somebody else, or its own after it parted."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Lineage, length: int) -> None:
        super().__init__(whole.id, whole.broker, whole.epoch, whole.start, whole.topic_id)
        self._whole: Lineage | None = whole
        """Whose columns these are, until it parts from them."""
        self.share(whole)
        self.stand_at(whole, length)

    def append(self, batch: Batch) -> None:
        """Write a batch at the end, unless it stands there already."""
        whole = self._whole
        if whole is not None:
            if self.length < whole.length and whole.batch(self.length) == batch:
                self.transactional = whole.transactional
                self.stand_at(whole, self.length + 1)
                return
            self._whole = None
            self.unshare()
        super().append(batch)


class PastLineages(Lineages):
    """All lineages of a partition at an earlier instant."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Lineages) -> None:
        super().__init__()
        self._whole = whole
        self.keys = whole.keys

    def begin(self, broker: int, epoch: int, start: int, topic_id: int = 0) -> Lineage:
        """A new stint: the one that followed, if it is that."""
        number = len(self.by_id)
        if number < len(self._whole.by_id):
            known = self._whole.by_id[number]
            if (known.broker, known.epoch, known.start, known.topic_id) == (broker, epoch, start, topic_id):
                self.by_id.append(PastLineage(known, 0))
                return self.by_id[-1]
        self.by_id.append(PastLineage(Lineage(number, broker, epoch, start, topic_id), 0))
        return self.by_id[-1]

    def is_past_of(self, whole: Lineages) -> bool:
        """Whether these are read out of ``whole``."""
        return self._whole is whole

    def save(self) -> tuple[int, ...]:
        """Lengths as of now."""
        return tuple([lineage.length for lineage in self.by_id if isinstance(lineage, PastLineage)])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Stand at those lengths of the original, whatever was written since."""
        self._whole.check(saved)
        self.by_id[:] = [PastLineage(self._whole.by_id[number], length) for number, length in enumerate(saved)]
