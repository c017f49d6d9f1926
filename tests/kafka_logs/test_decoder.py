"""The decoder of log segments and metadata records, held to what kafka-dump-log prints of the same files."""

import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from kafka_logs.incident import read_incident
from kafka_logs.log_directory import find_logs, snapshots_in
from kafka_logs.metadata_log import ControllerElected, read_metadata_log
from kafka_logs.metadata_records import SCHEMAS, MetadataRecord, UnknownRecord, decode_record
from kafka_logs.replica_logs import read_replica
from kafka_logs.segments import CONTROL_TYPES, KafkaLogsError, LogRecord, RecordBatch, SegmentFile, records_of
from kafka_logs.session_events import events_of
from kafka_logs.summary import summary_of
from tests.kafka_logs.recorded import RELEASES, dumped, dumped_metadata, dumps, lost

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FILES = [pytest.param(log, text, id=f"{release}-{log.parent.name}-{log.parent.parent.name}-{log.name}")
         for release in RELEASES for log, text in dumps(release)]  # fmt: skip


def read(log: Path) -> list[tuple[RecordBatch, bytes]]:
    segment = SegmentFile(log, int(log.name[:20]) if log.suffix == ".log" else 0)
    found = list(segment.batches())
    assert segment.damage is None
    return found


def test_there_are_logs_of_every_release_with_every_codec() -> None:
    assert len(FILES) >= 4 * len(RELEASES)
    codecs = {batch.codec for release in RELEASES for log, _text in dumps(release) for batch, _raw in read(log)}
    assert codecs == set(range(len(CODECS)))


@pytest.mark.parametrize(("log", "text"), FILES)
def test_batches_are_those_that_kafka_prints(log: Path, text: Path) -> None:
    ours = [
        {
            "base": batch.base_offset, "last": batch.last_offset, "count": batch.records,
            "sequence": batch.base_sequence, "producer": batch.producer_id, "producer_epoch": batch.producer_epoch,
            "epoch": batch.leader_epoch, "transactional": str(batch.transactional).lower(),
            "control": str(batch.control).lower(), "position": batch.position, "time": batch.max_timestamp_ms,
            "size": batch.size, "codec": CODECS[batch.codec], "crc": batch.crc,
        }
        for batch, _raw in read(log)
    ]  # fmt: skip
    theirs = dumped(text)[0]
    assert theirs
    assert [{name: str(value) for name, value in each.items()} for each in ours] == theirs


@pytest.mark.parametrize(("log", "text"), FILES)
def test_records_are_those_that_kafka_prints(log: Path, text: Path) -> None:
    found = [(batch, record) for batch, raw in read(log) for record in records_of(batch, raw)]
    theirs = dumped(text)[1]
    assert len(found) == len(theirs)
    for (batch, record), printed in zip(found, theirs, strict=True):
        sizes = tuple(-1 if each is None else len(each) for each in (record.key, record.value))
        assert (record.offset, record.timestamp_ms) == (int(printed["offset"]), int(printed["time"]))
        assert sizes == (int(printed["key_size"]), int(printed["value_size"]))
        if batch.control:
            name = CONTROL_TYPES[record.control_type].replace("_", "").lower()
            assert name in re.sub("[^a-z]", "", printed["rest"].lower())
        elif record.key is not None:
            assert printed["rest"] == f" key: {record.key.decode()} payload: {(record.value or b'').decode()}"


def flat(name: str) -> str:
    return name.replace("_", "").lower()


@pytest.mark.parametrize(
    ("log", "text"),
    [each for each in FILES if "__cluster_metadata" in str(each.values[0])],
)
def test_metadata_records_are_those_that_kafka_prints(log: Path, text: Path) -> None:
    decoded = [
        decode_record(record)
        for batch, raw in read(log) if not batch.control for record in records_of(batch, raw)
    ]  # fmt: skip
    theirs = dumped_metadata(text)
    assert len(decoded) == len(theirs) > 5
    for ours, printed in zip(decoded, theirs, strict=True):
        assert isinstance(ours, MetadataRecord)
        assert (flat(ours.type), ours.version) == (flat(printed["type"]), printed["version"])
        assert {name: plain(ours[name]) for name in printed["data"]} == printed["data"]
        schema = next(each for each in SCHEMAS.values() if each.name == ours.type)
        omitted = [each for each in schema.fields if each.name not in printed["data"]]
        assert [each.name for each in omitted if ours[each.name] != each.default] == []


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def test_every_kind_of_record_that_the_history_uses_was_compared() -> None:
    seen = {flat(each["type"]) for release in RELEASES for _log, text in dumps(release)
            if "__cluster_metadata" in str(text) for each in dumped_metadata(text)}  # fmt: skip
    needed = {
        "RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "TopicRecord", "PartitionRecord",
        "PartitionChangeRecord", "RemoveTopicRecord", "ConfigRecord", "FeatureLevelRecord", "ClearElrRecord",
    }  # fmt: skip
    assert {flat(each) for each in needed} <= seen


def record(value: bytes) -> LogRecord:
    return LogRecord(0, 0, None, value, ())


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"\x01\x63\x00\x00", "record type 99"),
        (b"\x02\x14\x00\x00", "frame version 2"),
        (b"\x01\x05\x09\x00", "PartitionChangeRecord version 9"),
    ],
)
def test_unknown_records_are_named_and_not_guessed(value: bytes, found: str) -> None:
    assert decode_record(record(value)) == UnknownRecord(found)


@pytest.mark.parametrize("size", range(1, 12))
def test_a_record_that_is_cut_short_is_unknown(size: int) -> None:
    fence = b"\x01\x07\x00" + (3).to_bytes(4, "big") + (9).to_bytes(8, "big") + b"\x00"
    assert isinstance(decode_record(record(fence)), MetadataRecord)
    assert isinstance(decode_record(record(fence[:size])), UnknownRecord)


# What is broken is reported, and read as far as it goes.


def copy(release: str, target: Path) -> Path:
    shutil.copytree(lost(release), target)
    return target


def test_an_incomplete_batch_at_the_end_is_reported(tmp_path: Path) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    path = logs / "node-1/orders-0/00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-5])
    replica = read_replica(find_logs(logs).replicas()["orders-0"][1])
    assert replica.damage is not None
    assert (replica.end, replica.damage.next_offset, replica.damage.file) == (16, 16, path)


def test_a_flipped_bit_ends_a_log_at_its_batch(tmp_path: Path) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    path = logs / "node-1/orders-0/00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    replica = read_replica(find_logs(logs).replicas()["orders-0"][1])
    assert replica.damage is not None
    assert (replica.end, replica.damage.next_offset) == (16, 16)


def test_zeros_of_a_preallocated_segment_end_it_without_damage(tmp_path: Path) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    path = logs / "node-1/orders-0/00000000000000000000.log"
    path.write_bytes(path.read_bytes() + bytes(5000))
    replica = read_replica(find_logs(logs).replicas()["orders-0"][1])
    assert (replica.end, replica.damage) == (20, None)


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_other_message_formats_are_refused(tmp_path: Path, magic: int) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    path = logs / "node-1/orders-0/00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[16] = magic
    path.write_bytes(data)
    with pytest.raises(KafkaLogsError) as refused:
        read_replica(find_logs(logs).replicas()["orders-0"][1])
    assert refused.value.code == "message_format"


# The metadata log from a snapshot on.


def cut_before_snapshot(logs: Path) -> int:
    """Drop the metadata log before its newest snapshot, as retention does; return the snapshot's end offset."""
    directory = logs / "node-100/__cluster_metadata-0"
    end = snapshots_in(directory)[-1][0]
    first = directory / "00000000000000000000.log"
    kept = [raw for batch, raw in read(first) if batch.base_offset >= end]
    (directory / f"{end:020}.log").write_bytes(b"".join(kept))
    first.unlink()
    (directory / "00000000000000000000-0000000000.checkpoint").unlink(missing_ok=True)
    return end


def test_a_log_without_its_beginning_starts_with_a_snapshot(tmp_path: Path) -> None:
    logs = copy("4.4.0", tmp_path / "logs")
    end = cut_before_snapshot(logs)
    log = read_metadata_log(find_logs(logs))
    assert (log.start, log.unknown, log.damage) == (end, {}, [])
    assert {each.type for each in log.snapshot} >= {"TopicRecord", "PartitionRecord", "RegisterBrokerRecord"}
    assert log.batches[0].offset >= end


def test_without_snapshot_such_a_log_is_refused(tmp_path: Path) -> None:
    logs = copy("4.4.0", tmp_path / "logs")
    cut_before_snapshot(logs)
    for path in (logs / "node-100/__cluster_metadata-0").glob("*.checkpoint"):
        path.unlink()
    with pytest.raises(KafkaLogsError) as refused:
        read_metadata_log(find_logs(logs))
    assert refused.value.code == "no_snapshot"


@pytest.mark.parametrize("release", RELEASES)
def test_the_quorum_leader_is_read_from_control_records(release: str) -> None:
    log = read_metadata_log(find_logs(lost(release)))
    elected = [each for batch in log.batches for each in batch.records if isinstance(each, ControllerElected)]
    assert [each.controller for each in elected] == [100]


def test_records_of_an_aborted_metadata_transaction_are_left_out(tmp_path: Path) -> None:
    """A batch of the log is made an abort: the records since the transaction of the bootstrap began are gone."""
    logs = copy("4.1.2", tmp_path / "logs")
    whole = read_metadata_log(find_logs(logs))
    path = logs / "node-100/__cluster_metadata-0/00000000000000000000.log"
    data = bytearray(path.read_bytes())
    for batch, raw in read(path):
        at = raw.find(b"\x01\x18\x00\x00")  # frame 1, EndTransactionRecord, version 0, no tagged field
        if at >= 0 and not batch.control:
            data[batch.position + at + 1] = 25
            body = data[batch.position + 21 : batch.position + batch.size]
            data[batch.position + 17 : batch.position + 21] = crc32c(bytes(body)).to_bytes(4, "big")
            break
    path.write_bytes(data)
    kinds = [[each.type for batch in log.batches for each in batch.records if isinstance(each, MetadataRecord)]
             for log in (whole, read_metadata_log(find_logs(logs)))]  # fmt: skip
    first = kinds[0].index("BeginTransactionRecord")
    last = kinds[0].index("EndTransactionRecord")
    assert "FeatureLevelRecord" in kinds[0][first:last]
    assert len(kinds[1]) < len(kinds[0]) - (last - first)
    assert kinds[1] == kinds[0][:first] + kinds[0][len(kinds[0]) - len(kinds[1]) + first :]


# Directories.


def test_the_files_of_a_replica_are_read() -> None:
    logs = find_logs(lost("4.1.2"))
    replica = logs.replicas()["orders-0"][2]
    assert sorted(logs.nodes) == [1, 2, 3, 100]
    assert (replica.epochs, replica.high_watermark, len(replica.topic_id)) == (((0, 0), (2, 12)), 17, 22)
    assert len(logs.set_aside) == 1


def test_one_log_directory_is_accepted() -> None:
    logs = find_logs(lost("4.1.2") / "node-2")
    assert (list(logs.nodes), sorted(logs.replicas())) == ([2], ["orders-0", "payments-0"])


def copy_of_another_disk(path: Path) -> None:
    shutil.copytree(path / "node-1", path / "again")
    (path / "again/meta.properties").write_text("cluster.id=floodmarkRecordedLogs0\nnode.id=1\n")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (shutil.rmtree, "no_such_directory"),
        (lambda path: [each.rename(path.parent / each.name) for each in path.iterdir()], "no_log_directory"),
        (copy_of_another_disk, "replica_twice"),
        (lambda path: (path / "node-1/meta.properties").write_text("cluster.id=other\nnode.id=1"), "several_clusters"),
        (lambda path: (path / "node-1/meta.properties").write_text("version=1"), "no_node_id"),
        (lambda path: (path / "node-1/replication-offset-checkpoint").write_text("1\n0\n"), "invalid_checkpoint"),
        (lambda path: (path / "node-1/orders-0/leader-epoch-checkpoint").write_bytes(b"\xff"), "not_utf8"),
    ],
)
def test_bad_directories_are_refused(tmp_path: Path, change: Any, code: str) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    shutil.rmtree(logs / "dump")
    change(logs)
    with pytest.raises(KafkaLogsError) as refused:
        find_logs(logs)
    assert refused.value.code == code


def test_checkpoints_of_a_broker_that_was_killed_right_after_its_start_are_empty(tmp_path: Path) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    for name in ("replication-offset-checkpoint", "log-start-offset-checkpoint"):
        (logs / "node-1" / name).write_bytes(b"")
    replica = find_logs(logs).replicas()["orders-0"][1]
    assert replica.high_watermark == -1


@pytest.mark.parametrize(("version", "code"), [("0", "zookeeper_mode"), ("1", "no_metadata_log")])
def test_without_metadata_log_nothing_is_read(tmp_path: Path, version: str, code: str) -> None:
    logs = copy("4.1.2", tmp_path / "logs")
    shutil.rmtree(logs / "node-100")
    (logs / "node-1/meta.properties").write_text(f"version={version}\nbroker.id=1\n")
    with pytest.raises(KafkaLogsError) as refused:
        read_metadata_log(find_logs(logs))
    assert refused.value.code == code


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    """A changed byte in any file is found by a checksum, ends a log, or is one error: never an exception of Python."""
    logs = copy("4.4.0", tmp_path / "logs")
    shutil.rmtree(logs / "dump")
    drawn = random.Random(seed)
    files = sorted(path for path in logs.rglob("*") if path.is_file() and path.stat().st_size)
    for path in drawn.sample(files, 4):
        data = bytearray(path.read_bytes())
        for _number in range(drawn.randrange(1, 4)):
            data[drawn.randrange(len(data))] = drawn.randrange(256)
        path.write_bytes(data[: drawn.randrange(len(data) // 2, len(data) + 1)])
    try:
        incident = read_incident(logs)
    except KafkaLogsError:
        return
    assert events_of(incident)
    assert summary_of(incident)["partitions"] == len(incident.partitions)
