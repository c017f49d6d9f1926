"""Batches, slices of a log, compaction holes, damaged batches and compression codecs.

Batches are shared by all replicas, and each cleans by itself, so what it removed is a list of offset ranges of its
own. Offsets stay as they were: a log has holes, and its end, its high watermark and its epochs do not move.
"""

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from cluster_model.util.ranges import Range

# A batch of records as a leader wrote it, with the kinds of batches (Kafka's RecordBatch).


PLAIN: Final = 0


TRANSACTIONAL: Final = 1


ABORT: Final = 2


COMMIT: Final = 3
"""Kinds of batches (bits 4 and 5 of a batch's attributes, KIP-98). From ABORT on they are control batches: markers,
one offset each."""


UNTOLD: Final = -1
"""``timestamp_us`` of a batch that says none. Any other is one, from before the session began if negative."""


class Batch(NamedTuple):
    """Records written together. ``sequence`` numbers the client's records in this partition, from 0.

    ``producer_id`` is -1 without idempotence. ``name`` labels the records of a hand-stepped trace. ``timestamp_us`` is
    that of its newest record, by the producer's clock (CreateTime, KIP-32) or the leader's (LogAppendTime); -1 in the
    formats before. ``size`` is as compressed with ``codec`` (bits 0 to 2 of a batch's attributes). Kafka's
    own sequence is ``sequence - origin``: it begins anew with every ``producer_epoch``. ``coordinator_epoch`` is a
    marker's, -1 of any other ``kind``.
    """

    base: int
    records: int
    size: int
    appended_us: int
    client: str
    producer_id: int
    sequence: int
    acks: int
    name: tuple[str, ...] = ()
    timestamp_us: int = -1
    codec: int = 0
    producer_epoch: int = -1
    origin: int = 0
    kind: int = PLAIN
    coordinator_epoch: int = -1

    @property
    def end(self) -> int:
        """Offset behind the last record."""
        return self.base + self.records


EpochEntry = tuple[int, int]
"""(epoch, its first offset)."""


class Cleaned(NamedTuple):
    """``holes``: removed offsets, disjoint and ascending.

    ``horizons``: (base of a batch, virtual µs from which its tombstones may go), ascending; written into the batch's
    header by the first cleaning that keeps them (KIP-534), so it travels with the batch.
    """

    holes: tuple[Range, ...] = ()
    horizons: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """Behind all that the overlay says: from here on a log is as it was written."""
        hole = self.holes[-1][1] if self.holes else 0
        return max(hole, self.horizons[-1][0] + 1) if self.horizons else hole

    def within(self, start: int, end: int) -> tuple[Range, ...]:
        """The holes in ``[start, end)``, cut to it."""
        holes = self.holes
        first = bisect_right(holes, start, key=lambda hole: hole[1])
        last = bisect_left(holes, end, key=lambda hole: hole[0])
        return tuple((max(start, low), min(end, high)) for low, high in holes[first:last])

    def covers(self, offset: int) -> bool:
        """Whether the record at ``offset`` was removed."""
        return bool(self.within(offset, offset + 1))

    def removed(self, start: int, end: int) -> int:
        """How many offsets of ``[start, end)`` were."""
        return sum(high - low for low, high in self.within(start, end))

    def left(self, start: int, end: int) -> list[Range]:
        """The ranges of ``[start, end)`` that are still there."""
        found: list[Range] = []
        at = start
        for low, high in self.within(start, end):
            if at < low:
                found.append((at, low))
            at = high
        if at < end:
            found.append((at, end))
        return found

    def take(self, start: int, end: int, most: int) -> tuple[int, int, int]:
        """Up to ``most`` records of ``[start, end)``: (where to go on, how many, the last one's offset or -1).

        With fewer than that left, whoever reads goes on at ``end``.
        """
        count, last = 0, -1
        for low, high in self.left(start, end):
            if high - low >= most - count:
                return low + most - count, most, low + most - count - 1
            count, last = count + high - low, high - 1
        return end, count, last

    def gone(self, batch: Batch) -> bool:
        """Whether nothing is left of a batch."""
        return self.removed(batch.base, batch.end) == batch.records

    def size_of(self, batch: Batch) -> int:
        """Bytes that a batch takes without the records that were removed, 0 without any left."""
        left = batch.records - self.removed(batch.base, batch.end)
        return -(-batch.size * left // batch.records)

    def clip(self, start: int, end: int) -> "Cleaned | None":
        """The part that concerns ``[start, end)``; None if nothing does."""
        holes = self.within(start, end)
        horizons = tuple(entry for entry in self.horizons if start <= entry[0] < end)
        return Cleaned(holes, horizons) if holes or horizons else None


class Swept(NamedTuple):
    """A log as a pass of the cleaner found it: the overlay, and (base, last modified) of the files that it read."""

    before: Cleaned
    files: tuple[tuple[int, int], ...]


def joined(one: Cleaned | None, other: Cleaned | None) -> Cleaned | None:
    """Two overlays, the second one's offsets behind the first one's."""
    if one is None or other is None:
        return one or other
    holes = one.holes
    if holes and other.holes and holes[-1][1] == other.holes[0][0]:
        middle = (holes[-1][0], other.holes[0][1])
        return Cleaned((*holes[:-1], middle, *other.holes[1:]), one.horizons + other.horizons)
    return Cleaned(holes + other.holes, one.horizons + other.horizons)


# Compression codecs as sizes and CPU time (``CompressionType``): what a batch shrinks to, and what that costs.
#
# The figures are the model's own, for records of a few hundred bytes of JSON on one present-day core; real ones
# depend on the data. A ratio is what is left, in thousandths. A batch's own header is not counted.


class Codec(NamedTuple):
    """``code`` is what a batch's attributes hold; ``nanos_per_byte`` is the producer's CPU time per raw byte."""

    name: str
    code: int
    left_per_mille: int
    nanos_per_byte: int

    def size(self, raw: int) -> int:
        """Bytes of ``raw`` bytes of records once compressed."""
        return raw if self.code == 0 else max(1, raw * self.left_per_mille // 1_000)

    def cost_us(self, raw: int) -> int:
        """CPU time of compressing ``raw`` bytes."""
        return raw * self.nanos_per_byte // 1_000


CODECS: Final = {
    codec.name: codec
    for codec in (
        Codec("none", 0, 1_000, 0),
        Codec("gzip", 1, 250, 25),
        Codec("snappy", 2, 450, 3),
        Codec("lz4", 3, 450, 2),
        Codec("zstd", 4, 270, 5),
    )
}
"""By the name that ``compression.type`` takes."""


def codec_of(profile: Profile, name: str) -> Codec:
    """The codec of a producer, or of a topic.

    Raises:
        ModelError: zstd before 2.1 (KIP-110).
    """
    if name == "zstd" and not profile.zstd:
        raise ModelError(
            f"compression.type zstd exists since Kafka 2.1, this is {profile.version}", code="not_in_version"
        )
    return CODECS[name]


_BY_CODE: Final = {codec.code: codec for codec in CODECS.values()}


def recompressed_size(size: int, codec: int, wanted: int) -> int:
    """Bytes of a batch of ``size`` bytes, compressed with ``codec``, once it is compressed with another one."""
    raw = size * 1_000 // _BY_CODE[codec].left_per_mille
    return _BY_CODE[wanted].size(raw)


# Damaged batches of one replica's log: bits flipped on the disk, or in the page cache.
#
# The checksum of such a batch no longer matches, and nobody knows until somebody reckons it: a follower before it
# appends, a consumer before it hands out, a start that recovers. A leader sends what it has as it stands (zero copy).


VALUE: Final = "value"
"""In a record's value: nothing but the checksum tells."""
LENGTH: Final = "length"
"""In a record's length: whoever takes the batch apart fails, with or without a look at the checksum."""
KINDS: Final = (VALUE, LENGTH)

CORRUPT_BATCH: Final = "corrupt batch"
"""Rule of a truncation at the first batch that a recovery found damaged."""


class Damage(NamedTuple):
    """The damaged batch over the offsets ``[start, end)``, as far as the log holds them."""

    start: int
    end: int
    kind: str


Damages = tuple[Damage, ...]
"""Disjoint, ascending."""


def with_damage(damages: Damages, fresh: Damage) -> Damages:
    """Another one; a batch that is damaged already gets no better, and one whose length is wrong stays that."""
    known = next((each for each in damages if each.start == fresh.start), None)
    if known is not None and LENGTH in (known.kind, fresh.kind):
        fresh = fresh._replace(kind=LENGTH)
    return tuple(sorted((*(each for each in damages if each is not known), fresh)))


def up_to(damages: Damages, end: int) -> Damages:
    """What is left of them in a log that ends at ``end``: a log is cut between batches."""
    return tuple(each for each in damages if each.end <= end)


# Records as a read of a log found them.


Extent = tuple[int, int]
"""(first offset, lineage id); it ends where the next begins."""


class Slice(NamedTuple):
    """Records as a read found them: extents over ``[start, end)``, frozen when the fetch was served."""

    start: int
    end: int
    extents: tuple[Extent, ...]
    cleaned: Cleaned | None = None
    """Which of them compaction had removed."""
    damages: Damages = ()
    """Which batches of them were not what had been written."""


def as_stored(records: Slice, damages: Damages) -> Slice:
    """The same with the damage that the log they were read from has."""
    found = tuple(each for each in damages if each.start < records.end and each.end > records.start)
    return records._replace(damages=found) if found else records


def readable(records: Slice, *, checks: bool) -> Slice:
    """The records up to the first batch that cannot be read; ``checks``: checksums are looked at.

    What it leaves of the damage is that which nobody will notice.
    """
    bad = next((each.start for each in records.damages if checks or each.kind == LENGTH), records.end)
    end = max(bad, records.start)
    if end == records.end:
        return records
    cleaned = records.cleaned and records.cleaned.clip(records.start, end)
    extents = tuple(extent for extent in records.extents if extent[0] < end)
    return Slice(records.start, end, extents, cleaned)
