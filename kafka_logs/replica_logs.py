"""Logs of a partition's replicas: what each holds, by leader epoch, and where one differs from the leader's.

Two logs are compared as the replication protocol compares them, by the leader epoch of each offset. Within one epoch
the checksums of batches at the same base offset have to be equal as well, unless the topic is compacted.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cluster_model.util.ranges import Range, subtract
from gateway.protocol.record_batches import UnreadableError
from kafka_logs.log_directory import ReplicaDirectory
from kafka_logs.segments import Damage, LogRecord, RecordBatch, SegmentFile, records_of

_SECOND_MS: Final = 1000


class EpochSpan(NamedTuple):
    """Offsets ``[start, end)`` of one leader epoch in a log."""

    epoch: int
    start: int
    end: int


class AppendedRecords(NamedTuple):
    """Batches of one producer and leader epoch that were written within the same second of their timestamps."""

    epoch: int
    log_offset: int
    records: int
    producer_id: int
    sequence: int
    at_ms: int


@dataclass(slots=True)
class ReplicaLogContents:
    """Contents of one replica's log by leader epoch and batch, without the records themselves."""

    directory: ReplicaDirectory
    spans: list[EpochSpan] = field(default_factory=list)
    bases: "array[int]" = field(default_factory=lambda: array("q"))
    """Base offset of each batch."""
    checksums: "array[int]" = field(default_factory=lambda: array("Q"))
    counts: "array[int]" = field(default_factory=lambda: array("q"))
    """Number of records of each batch that consumers can read: 0 for control batches."""
    producers: "array[int]" = field(default_factory=lambda: array("q"))
    sequences: "array[int]" = field(default_factory=lambda: array("q"))
    times_ms: "array[int]" = field(default_factory=lambda: array("q"))
    start: int = 0
    """Log start offset."""
    end: int = 0
    """Log end offset."""
    damage: Damage | None = None

    @property
    def node(self) -> int:
        """The broker."""
        return self.directory.node

    @property
    def last_epoch(self) -> int:
        """Leader epoch of the last batch; -1 for an empty log."""
        return self.spans[-1].epoch if self.spans else -1

    def take(self, batch: RecordBatch) -> None:
        """Add the next batch of the log."""
        last = self.spans[-1] if self.spans else None
        if last is not None and last.epoch == batch.leader_epoch:
            self.spans[-1] = EpochSpan(last.epoch, last.start, batch.end_offset)
        else:
            self.spans.append(EpochSpan(batch.leader_epoch, batch.base_offset, batch.end_offset))
        self.end = batch.end_offset
        self.bases.append(batch.base_offset)
        self.checksums.append(batch.crc)
        self.counts.append(0 if batch.control else batch.records)
        self.producers.append(batch.producer_id)
        self.sequences.append(batch.base_sequence)
        self.times_ms.append(batch.max_timestamp_ms)

    def appended(self, start: int, end: int) -> list[AppendedRecords]:
        """Return the records of the batches in ``[start, end)``, those of one producer and second together."""
        appends: list[AppendedRecords] = []
        first, last = self._batches(start, end)
        for number in range(first, last):
            if not self.counts[number]:
                continue
            base = self.bases[number]
            added = AppendedRecords(
                self.epoch_at(base), base, self.counts[number], self.producers[number], self.sequences[number],
                self.times_ms[number],
            )  # fmt: skip
            if appends and _together(appends[-1], added):
                appends[-1] = appends[-1]._replace(records=appends[-1].records + added.records)
            else:
                appends.append(added)
        return appends

    def _batches(self, start: int, end: int) -> tuple[int, int]:
        """Return the indexes ``[first, last)`` of the batches that begin in ``[start, end)``."""
        return bisect_right(self.bases, start - 1), bisect_right(self.bases, end - 1)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch of an offset; -1 if the log does not hold it."""
        place = bisect_right(self.spans, offset, key=lambda span: span.start) - 1
        return self.spans[place].epoch if place >= 0 and offset < self.spans[place].end else -1

    def records_between(self, start: int, end: int) -> int:
        """Return the number of records that consumers can read in ``[start, end)``, by whole batches."""
        first, last = self._batches(start, end)
        return sum(self.counts[first:last])

    def producers_between(self, start: int, end: int) -> list[int]:
        """Return the producer ids of the batches in ``[start, end)``, each once; -1 for producers without one."""
        first, last = self._batches(start, end)
        return sorted({self.producers[number] for number in range(first, last) if self.counts[number]})


def _together(one: AppendedRecords, other: AppendedRecords) -> bool:
    same = (one.epoch, one.producer_id) == (other.epoch, other.producer_id)
    return same and one.at_ms // _SECOND_MS == other.at_ms // _SECOND_MS


def read_replica(directory: ReplicaDirectory, *, progress: "Progress | None" = None) -> ReplicaLogContents:
    """Read a replica's log up to its end, or to the first invalid batch.

    Raises:
        KafkaLogsError: A segment cannot be read, or has an old message format.
    """
    contents = ReplicaLogContents(directory)
    segments = directory.segments()
    contents.start = contents.end = segments[0].base_offset if segments else 0
    for segment in segments:
        if progress is not None:
            progress.reading(segment)
        contents.end = max(contents.end, segment.base_offset)
        for batch, _raw in segment.batches():
            contents.take(batch)
        if segment.damage is not None:
            contents.damage = segment.damage
            break
    contents.start = max(contents.start, directory.log_start)
    return contents


class Progress:
    """Receiver of progress; the default does nothing."""

    def reading(self, segment: SegmentFile) -> None:
        """Note that a segment is about to be read."""


def records_at(directory: ReplicaDirectory, ranges: Iterable[Range]) -> Iterator[LogRecord]:
    """Yield the records of a replica in ranges of offsets, in order; batches that cannot be decoded are left out."""
    wanted = sorted(ranges)
    for segment in directory.segments() if wanted else ():
        for batch, raw in segment.batches():
            if batch.control or not any(start < batch.end_offset and end > batch.base_offset for start, end in wanted):
                continue
            try:
                found = records_of(batch, raw)
            except UnreadableError:
                continue
            yield from (each for each in found if any(start <= each.offset < end for start, end in wanted))


def truncated_ranges(before: ReplicaLogContents, after: ReplicaLogContents) -> list[EpochSpan]:
    """Return what a later copy of the same log lacks: it was truncated in between; deleted segments do not count."""
    truncated = []
    for span in before.spans:
        same = [(each.start, each.end) for each in after.spans if each.epoch == span.epoch]
        start = max(span.start, after.start)
        gone = subtract([(start, span.end)] if start < span.end else [], same)
        truncated += [EpochSpan(span.epoch, low, high) for low, high in gone if before.records_between(low, high)]
    return truncated


# Divergence.


class Divergence(NamedTuple):
    """Offsets ``[start, end)`` of a replica in ``epoch`` at which the leader's log has other records, or none."""

    partition: str
    broker: int
    epoch: int
    start: int
    end: int
    records: int
    committed_end: int
    """End of the offsets that were below the replica's high watermark; ``start`` if none were."""
    leader: int
    """Broker whose log was compared."""
    leader_epoch: int
    """Leader epoch that the leader's log has at ``start``; -1 if it ends before."""
    same_epoch: bool = False
    """Whether both logs have the same epoch there but different bytes, which replication never does."""


def reference_of(logs: dict[int, ReplicaLogContents], leader: int) -> ReplicaLogContents:
    """Return the log to compare with: the leader's, else the one with the newest epoch, and of these the longest."""
    if leader in logs:
        return logs[leader]
    return max(logs.values(), key=lambda each: (each.last_epoch, each.end, -each.node))


def divergences(
    partition: str, logs: dict[int, ReplicaLogContents], leader: int, *, compacted: bool
) -> list[Divergence]:
    """Return where replicas differ from the leader's log, by broker and offset.

    A replica that is merely behind does not diverge, nor does one that was copied later and is ahead in the leader's
    last epoch.
    """
    if not logs:
        return []
    reference = reference_of(logs, leader)
    divergences_found: list[Divergence] = []
    for node in sorted(logs):
        if node != reference.node:
            divergences_found += diverged_from(partition, logs[node], reference)
            if not compacted:
                divergences_found += _by_checksum(partition, logs[node], reference)
    return divergences_found


def diverged_from(partition: str, log: ReplicaLogContents, reference: ReplicaLogContents) -> Iterator[Divergence]:
    """Yield the offsets at which a log has another leader epoch than the leader's log, or ends later in an old one."""
    for span in log.spans:
        if span.epoch >= reference.last_epoch:
            continue
        own = max(span.start, log.start, reference.start)
        same = [(each.start, each.end) for each in reference.spans if each.epoch == span.epoch]
        for start, end in subtract([(own, span.end)] if own < span.end else [], same):
            if log.records_between(start, end):
                yield _divergence(partition, log, reference, EpochSpan(span.epoch, start, end))


def _by_checksum(partition: str, log: ReplicaLogContents, reference: ReplicaLogContents) -> Iterator[Divergence]:
    other = 0
    for number, base in enumerate(log.bases):
        while other < len(reference.bases) and reference.bases[other] < base:
            other += 1
        if other == len(reference.bases):
            return
        if reference.bases[other] != base or reference.checksums[other] == log.checksums[number]:
            continue
        epoch = log.epoch_at(base)
        if epoch == reference.epoch_at(base):
            end = log.bases[number + 1] if number + 1 < len(log.bases) else log.end
            yield _divergence(partition, log, reference, EpochSpan(epoch, base, end))._replace(same_epoch=True)


def _divergence(partition: str, log: ReplicaLogContents, reference: ReplicaLogContents, span: EpochSpan) -> Divergence:
    committed_end = min(max(log.directory.high_watermark, span.start), span.end)
    return Divergence(
        partition, log.node, span.epoch, span.start, span.end, log.records_between(span.start, span.end),
        committed_end, reference.node, reference.epoch_at(span.start),
    )  # fmt: skip
