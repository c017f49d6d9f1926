"""Record batches, slices of a log, compaction holes, corrupt batches and compression codecs.

All replicas share the batches. Each replica compacts its log by itself, so the removed records are a list of offset
ranges per replica. Compaction keeps offsets: a log gets holes, but its end, high watermark and epochs do not move.
"""

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from cluster_model.util.ranges import Range

# A batch of records as appended by a leader, and the kinds of batches (Kafka's RecordBatch).


PLAIN: Final = 0


TRANSACTIONAL: Final = 1


ABORT: Final = 2


COMMIT: Final = 3
"""Kinds of batches (bits 4 and 5 of a batch's attributes, KIP-98). From ABORT on they are control batches: markers,
one offset each."""


NO_TIMESTAMP: Final = -1
"""``timestamp_us`` of a batch without timestamps; other negative values are times before the session began."""


class Batch(NamedTuple):
    """Records appended together; ``sequence`` numbers the client's records in this partition, from 0.

    ``producer_id`` is -1 without idempotence. ``name`` labels the records of a manually stepped trace.
    ``timestamp_us`` is that of its newest record, by the producer's clock (CreateTime, KIP-32) or the leader's
    (LogAppendTime); -1 in older formats. ``size`` is after compression with ``codec`` (bits 0 to 2 of a batch's
    attributes). Kafka's own sequence is ``sequence - origin``: it restarts with every ``producer_epoch``.
    ``coordinator_epoch`` is that of a marker, -1 for any other ``kind``.
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
        """Offset after the last record."""
        return self.base + self.records


EpochEntry = tuple[int, int]
"""(epoch, its first offset)."""


class CompactionOverlay(NamedTuple):
    """Overlay of a compacted log: the removed offsets and the delete horizons of its batches.

    ``holes``: removed offsets, disjoint and ascending. ``horizons``: (base of a batch, virtual µs from which its
    tombstones may be removed), ascending; the first cleaning that keeps them writes it into the batch's header
    (KIP-534), so it is replicated with the batch.
    """

    holes: tuple[Range, ...] = ()
    horizons: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """Offset from which on the log is unchanged since it was written: after all holes and horizons."""
        hole = self.holes[-1][1] if self.holes else 0
        return max(hole, self.horizons[-1][0] + 1) if self.horizons else hole

    def within(self, start: int, end: int) -> tuple[Range, ...]:
        """Return the holes in ``[start, end)``, clipped to it."""
        holes = self.holes
        first = bisect_right(holes, start, key=lambda hole: hole[1])
        last = bisect_left(holes, end, key=lambda hole: hole[0])
        return tuple((max(start, low), min(end, high)) for low, high in holes[first:last])

    def covers(self, offset: int) -> bool:
        """Return whether the record at ``offset`` was removed."""
        return bool(self.within(offset, offset + 1))

    def removed(self, start: int, end: int) -> int:
        """Return how many offsets of ``[start, end)`` were removed."""
        return sum(high - low for low, high in self.within(start, end))

    def remaining(self, start: int, end: int) -> list[Range]:
        """Return the ranges of ``[start, end)`` that are still there."""
        present: list[Range] = []
        at = start
        for low, high in self.within(start, end):
            if at < low:
                present.append((at, low))
            at = high
        if at < end:
            present.append((at, end))
        return present

    def take(self, start: int, end: int, limit: int) -> tuple[int, int, int]:
        """Take up to ``limit`` records of ``[start, end)``: (next position, count, offset of the last one or -1).

        With fewer records left, the next position is ``end``.
        """
        count, last = 0, -1
        for low, high in self.remaining(start, end):
            if high - low >= limit - count:
                return low + limit - count, limit, low + limit - count - 1
            count, last = count + high - low, high - 1
        return end, count, last

    def is_removed(self, batch: Batch) -> bool:
        """Return whether all records of a batch were removed."""
        return self.removed(batch.base, batch.end) == batch.records

    def size_of(self, batch: Batch) -> int:
        """Return the size of a batch in bytes without its removed records, 0 if none is left."""
        left = batch.records - self.removed(batch.base, batch.end)
        return -(-batch.size * left // batch.records)

    def clip(self, start: int, end: int) -> "CompactionOverlay | None":
        """Return the part of the overlay in ``[start, end)``; None if it is empty."""
        holes = self.within(start, end)
        horizons = tuple(entry for entry in self.horizons if start <= entry[0] < end)
        return CompactionOverlay(holes, horizons) if holes or horizons else None


class CleanerInput(NamedTuple):
    """A log as read by a pass of the cleaner: its overlay, and (base, last modified) of the segment files read."""

    before: CompactionOverlay
    files: tuple[tuple[int, int], ...]


def concatenate(one: CompactionOverlay | None, other: CompactionOverlay | None) -> CompactionOverlay | None:
    """Concatenate two overlays; the offsets of the second are after those of the first."""
    if one is None or other is None:
        return one or other
    holes = one.holes
    if holes and other.holes and holes[-1][1] == other.holes[0][0]:
        middle = (holes[-1][0], other.holes[0][1])
        return CompactionOverlay((*holes[:-1], middle, *other.holes[1:]), one.horizons + other.horizons)
    return CompactionOverlay(holes + other.holes, one.horizons + other.horizons)


# Compression codecs with their compression ratio and CPU time (``CompressionType``).
#
# The figures are the model's own, for records of a few hundred bytes of JSON on one present-day core; real ones
# depend on the data. The ratio is compressed to uncompressed size in thousandths, without the batch header.


class Codec(NamedTuple):
    """A compression codec; ``code`` is its number in a batch's attributes.

    ``left_per_mille`` is the compressed size in thousandths, ``nanos_per_byte`` the CPU time per uncompressed byte.
    """

    name: str
    code: int
    left_per_mille: int
    nanos_per_byte: int

    def size(self, raw: int) -> int:
        """Return the compressed size of ``raw`` bytes of records."""
        return raw if self.code == 0 else max(1, raw * self.left_per_mille // 1_000)

    def cost_us(self, raw: int) -> int:
        """Return the CPU time of compressing ``raw`` bytes, in microseconds."""
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
"""Codecs by their name in ``compression.type``."""


def codec_of(profile: Profile, name: str) -> Codec:
    """Return the codec of a producer or topic by name.

    Raises:
        ModelError: zstd before 2.1 (KIP-110).
    """
    if name == "zstd" and not profile.zstd:
        raise ModelError(
            f"compression.type zstd needs Kafka 2.1 or newer; this is {profile.version}", code="not_in_version"
        )
    return CODECS[name]


_BY_CODE: Final = {codec.code: codec for codec in CODECS.values()}


def recompressed_size(size: int, codec: int, wanted: int) -> int:
    """Return the size of a batch of ``size`` bytes compressed with ``codec`` after compression with ``wanted``."""
    raw = size * 1_000 // _BY_CODE[codec].left_per_mille
    return _BY_CODE[wanted].size(raw)


# Corrupt batches of one replica's log: bits flipped on the disk, or in the page cache.
#
# The checksum of such a batch no longer matches. It is detected only where it is verified: by a follower before an
# append, by a consumer before it returns records, by log recovery. A leader sends stored bytes unchecked (zero copy).


VALUE: Final = "value"
"""Corruption in a record's value: only the checksum reveals it."""
LENGTH_CORRUPT: Final = "length"
"""Corruption in a record's length: parsing the batch fails, even without checksum validation."""
KINDS: Final = (VALUE, LENGTH_CORRUPT)

CORRUPT_BATCH: Final = "corrupt batch"
"""``rule`` of a truncation at the first corrupt batch found by log recovery."""


class CorruptBatchRange(NamedTuple):
    """A corrupt batch over the offsets ``[start, end)``, as far as the log holds them."""

    start: int
    end: int
    kind: str


Damages = tuple[CorruptBatchRange, ...]
"""Corrupt batches of a log, disjoint and ascending."""


def with_damage(damages: Damages, fresh: CorruptBatchRange) -> Damages:
    """Add a corrupt batch; for a batch that is already corrupt, a wrong length outweighs a wrong value."""
    known = next((each for each in damages if each.start == fresh.start), None)
    if known is not None and LENGTH_CORRUPT in (known.kind, fresh.kind):
        fresh = fresh._replace(kind=LENGTH_CORRUPT)
    return tuple(sorted((*(each for each in damages if each is not known), fresh)))


def up_to(damages: Damages, end: int) -> Damages:
    """Return the corrupt batches left in a log truncated to ``end``; truncation is between batches."""
    return tuple(each for each in damages if each.end <= end)


# Records as read from a log.


Extent = tuple[int, int]
"""(first offset, id of the log branch); an extent ends where the next begins."""


class Slice(NamedTuple):
    """Records read from a log: extents over ``[start, end)``, fixed when the fetch was served."""

    start: int
    end: int
    extents: tuple[Extent, ...]
    cleaned: CompactionOverlay | None = None
    """Overlay of the records removed by compaction."""
    damages: Damages = ()
    """Corrupt batches among the records."""


def with_corruption(records: Slice, damages: Damages) -> Slice:
    """Return the records with the corrupt batches of the log that they were read from."""
    found = tuple(each for each in damages if each.start < records.end and each.end > records.start)
    return records._replace(damages=found) if found else records


def readable(records: Slice, *, checks: bool) -> Slice:
    """Return the records before the first unreadable batch; ``checks``: checksums are verified.

    Any corruption left in the result is undetected.
    """
    bad = next((each.start for each in records.damages if checks or each.kind == LENGTH_CORRUPT), records.end)
    end = max(bad, records.start)
    if end == records.end:
        return records
    cleaned = records.cleaned and records.cleaned.clip(records.start, end)
    extents = tuple(extent for extent in records.extents if extent[0] < end)
    return Slice(records.start, end, extents, cleaned)
