"""The metadata log of a copied cluster: the longest copy of it, from its beginning or from its oldest usable snapshot.

Every controller and every broker has a copy. The one that reaches furthest is read, as its last leader epoch and end
offset say. Its last records may not have been committed by the quorum: no file says how far the others had come.
"""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gateway.protocol.record_batches import UnreadableError
from kafka_logs.log_directory import METADATA_PARTITION, CopiedLogs, segments_in, snapshots_in
from kafka_logs.metadata_records import MetadataRecord, UnknownRecord, decode_record
from kafka_logs.segments import LEADER_CHANGE, Damage, KafkaLogsError, LogRecord, RecordBatch, SegmentFile, records_of


class ControllerElected(NamedTuple):
    """A controller became leader of the quorum (control record ``LeaderChangeMessage``)."""

    controller: int
    epoch: int


@dataclass(frozen=True, slots=True)
class MetadataRecordBatch:
    """Records of the metadata log that were written, and are applied, as one."""

    offset: int
    at_ms: int
    """Wall clock of the active controller, milliseconds since 1970."""
    epoch: int
    records: tuple[MetadataRecord | ControllerElected, ...]


@dataclass(slots=True)
class CopiedMetadataLog:
    """The metadata log that was read."""

    node: int
    """Node whose copy it is."""
    start: int
    """Offset of the first record; above 0, the state before it is from a snapshot."""
    snapshot: tuple[MetadataRecord, ...] = ()
    """Records of the snapshot with which the log begins; empty for a log from offset 0."""
    batches: list[MetadataRecordBatch] = field(default_factory=list)
    end: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Reason → number of records that could not be decoded."""
    damage: list[Damage] = field(default_factory=list)


def read_metadata_log(logs: CopiedLogs) -> CopiedMetadataLog:
    """Read the copy of the metadata log that reaches furthest.

    Raises:
        KafkaLogsError: There is no copy, or none that begins at offset 0 or has a snapshot to begin with.
    """
    found = [(node.id, path) for node in logs.nodes.values() for path in node.metadata]
    if not found:
        raise _no_metadata(logs)
    _reach, node, directory = max((_reach_of(path), node, path) for node, path in found)
    return _read(node, directory)


def _no_metadata(logs: CopiedLogs) -> KafkaLogsError:
    if any(node.version == "0" for node in logs.nodes.values()):
        return KafkaLogsError(
            f"{logs.path}: the brokers are in ZooKeeper mode (meta.properties has version=0), where the history of "
            "leaders and ISRs is in no log; only clusters in KRaft mode can be imported",
            code="zookeeper_mode",
        )
    return KafkaLogsError(
        f"{logs.path}: no {METADATA_PARTITION}; copy it from a controller or broker, in its metadata.log.dir or the "
        "first of its log.dirs",
        code="no_metadata_log",
    )


def _reach_of(directory: Path) -> tuple[int, int]:
    """Return leader epoch and end offset of the last readable batch, or of the newest snapshot."""
    reach = max(((epoch, end) for end, epoch, _path in snapshots_in(directory)), default=(-1, 0))
    for segment in segments_in(directory):
        for batch, _raw in segment.batches():
            reach = max(reach, (batch.leader_epoch, batch.end_offset))
    return reach


def _read(node: int, directory: Path) -> CopiedMetadataLog:
    segments = segments_in(directory)
    first = segments[0].base_offset if segments else -1
    log = CopiedMetadataLog(node, max(first, 0))
    if first != 0:
        usable = [each for each in snapshots_in(directory) if each[0] >= first]
        if not usable:
            raise KafkaLogsError(
                f"{directory}: begins at offset {first} and has no snapshot (*.checkpoint) of what is before it; copy "
                "the whole directory",
                code="no_snapshot",
            )
        log.start = log.end = usable[0][0]
        log.snapshot = tuple(_snapshot(log, usable[0][2]))
    for segment in segments:
        log.batches += [batch for batch in _batches(log, segment) if batch.offset >= log.start]
        if segment.damage is not None:
            log.damage.append(segment.damage)
            break
    log.batches = _without_aborted(log.batches)
    return log


def _without_aborted(batches: list[MetadataRecordBatch]) -> list[MetadataRecordBatch]:
    """Return the batches without the records of aborted metadata transactions (KIP-868)."""
    kept: list[MetadataRecordBatch] = []
    begun = -1
    for batch in batches:
        types = [each.type for each in batch.records if isinstance(each, MetadataRecord)]
        if "BeginTransactionRecord" in types:
            begun = len(kept)
        if "AbortTransactionRecord" in types and begun >= 0:
            kept[begun:] = [replace(each, records=_controllers(each)) for each in kept[begun:]]
            batch, begun = replace(batch, records=_controllers(batch)), -1  # noqa: PLW2901 - the rest of it is aborted
        elif "EndTransactionRecord" in types:
            begun = -1
        kept.append(batch)
    return kept


def _controllers(batch: MetadataRecordBatch) -> tuple[ControllerElected, ...]:
    return tuple(each for each in batch.records if isinstance(each, ControllerElected))


def _snapshot(log: CopiedMetadataLog, path: Path) -> Iterator[MetadataRecord]:
    segment = SegmentFile(path, 0)
    for batch, raw in segment.batches():
        if not batch.control:
            yield from (each for each in _decoded(log, batch, raw) if isinstance(each, MetadataRecord))
    if segment.damage is not None:
        log.damage.append(segment.damage)


def _batches(log: CopiedMetadataLog, segment: SegmentFile) -> Iterator[MetadataRecordBatch]:
    for batch, raw in segment.batches():
        records = tuple(_decoded(log, batch, raw))
        log.end = batch.end_offset
        if records:
            yield MetadataRecordBatch(batch.base_offset, batch.max_timestamp_ms, batch.leader_epoch, records)


def _decoded(log: CopiedMetadataLog, batch: RecordBatch, raw: bytes) -> Iterator[MetadataRecord | ControllerElected]:
    try:
        records = records_of(batch, raw)
    except UnreadableError as error:
        log.unknown[f"invalid batch: {error}"] += 1
        return
    for record in records:
        if batch.control:
            if record.control_type == LEADER_CHANGE:
                yield ControllerElected(_elected(record), batch.leader_epoch)
            continue
        decoded = decode_record(record)
        if isinstance(decoded, UnknownRecord):
            log.unknown[decoded.reason] += 1
        else:
            yield decoded


def _elected(record: LogRecord) -> int:
    """Return the leader of a ``LeaderChangeMessage``: its version, then the node's id."""
    value = record.value or b""
    return int(struct.unpack_from(">hi", value)[1]) if len(value) >= 6 else -1
