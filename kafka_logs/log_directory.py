"""Copied log directories of Kafka nodes: which node they are of, their partitions, and the checkpoint files in them.

A copy is a directory with a subdirectory for each node, which holds the node's log directories as they lie on disk. A
single log directory is accepted as well. A log directory is recognized by its ``meta.properties``.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka_logs.segments import KafkaLogsError, SegmentFile

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_PARTITION: Final = f"{METADATA_TOPIC}-0"

_PARTITION: Final = re.compile(r"([A-Za-z0-9._-]+)-(\d+)", re.ASCII)
_SET_ASIDE: Final = re.compile(r".+\.[0-9a-f]{32}-(delete|future|stray)")
_SEGMENT: Final = re.compile(r"(\d{20})\.log", re.ASCII)
_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_INTEGER: Final = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReplicaDirectory:
    """A replica's directory on one node, with what its small files say."""

    node: int
    partition: str
    path: Path
    topic_id: str
    """Topic id of ``partition.metadata``; empty without that file."""
    epochs: tuple[tuple[int, int], ...]
    """Leader epoch cache of ``leader-epoch-checkpoint``: (epoch, start offset)."""
    high_watermark: int
    """Of ``replication-offset-checkpoint``; -1 if the partition is not in it."""
    log_start: int
    """Of ``log-start-offset-checkpoint``; -1 if the partition is not in it."""

    def segments(self) -> list[SegmentFile]:
        """Return the segments in order of their base offsets."""
        return segments_in(self.path)


@dataclass(slots=True)
class KafkaNode:
    """A node whose log directories were found."""

    id: int
    cluster_id: str = ""
    version: str = ""
    """Version of ``meta.properties``: 1 in KRaft mode, 0 in ZooKeeper mode; empty without the file."""
    replicas: dict[str, ReplicaDirectory] = field(default_factory=dict)
    """Partition → its directory; of several copies the last one."""
    earlier: dict[str, list[ReplicaDirectory]] = field(default_factory=dict)
    """Partition → earlier copies of its directory, oldest first."""
    metadata: list[Path] = field(default_factory=list)
    """Copies of the metadata log."""
    disks: dict[str, str] = field(default_factory=dict)
    """Partition → directory id of the log directory that holds it."""
    shut_down_in: set[int] = field(default_factory=set)
    """Broker epochs that ended with a clean shutdown, as copies of ``.kafka_cleanshutdown`` say (since 3.7)."""


@dataclass(slots=True)
class CopiedLogs:
    """All nodes of a copy, and the skipped files."""

    path: Path
    nodes: dict[int, KafkaNode] = field(default_factory=dict)
    set_aside: list[str] = field(default_factory=list)
    """Directories of replicas that are being deleted, moved, or do not belong to their node."""

    def replicas(self) -> dict[str, dict[int, ReplicaDirectory]]:
        """Return partition → node → directory of its replica there, sorted."""
        found: dict[str, dict[int, ReplicaDirectory]] = {}
        for node in sorted(self.nodes.values(), key=lambda each: each.id):
            for name, replica in node.replicas.items():
                found.setdefault(name, {})[node.id] = replica
        return dict(sorted(found.items(), key=lambda each: partition_key(each[0])))


def partition_key(partition: str) -> tuple[str, int]:
    """Return the sort key of a partition's name: topic, then number."""
    topic, _dash, number = partition.rpartition("-")
    return topic, int(number)


def find_logs(path: Path) -> CopiedLogs:
    """Find the log directories of all nodes at or below a path.

    Raises:
        KafkaLogsError: There is no such directory, or no log directory of Kafka in it, or a file cannot be read.
    """
    if not path.exists():
        raise KafkaLogsError(f"{path}: no such directory", code="no_such_directory")
    if not path.is_dir():
        raise KafkaLogsError(
            f"{path} is a file, expected a directory with copied log directories", code="not_a_directory"
        )
    logs = CopiedLogs(path)
    try:
        for directory in _log_directories(path):
            _read_log_directory(logs, directory)
    except OSError as error:
        raise KafkaLogsError(f"cannot read {error.filename}: {error.strerror}", code="unreadable") from None
    if not logs.nodes:
        raise KafkaLogsError(
            f"{path}: no log directory of Kafka in it; expected a subdirectory for each node with its log directories, "
            "each with meta.properties and partitions such as orders-0",
            code="no_log_directory",
        )
    _check_one_cluster(logs)
    return logs


def _log_directories(path: Path) -> Iterator[Path]:
    """Yield log directories below a path, without descending into them."""
    inside = sorted(each for each in path.iterdir() if each.is_dir() and not each.is_symlink())
    if (path / "meta.properties").is_file() or any(_is_partition(each) for each in inside):
        yield path
        return
    for each in inside:
        yield from _log_directories(each)


def _is_partition(path: Path) -> bool:
    return _PARTITION.fullmatch(path.name) is not None and any(_SEGMENT.fullmatch(each.name) for each in path.iterdir())


def _read_log_directory(logs: CopiedLogs, directory: Path) -> None:
    properties = _properties(directory / "meta.properties")
    number = properties.get("node.id", properties.get("broker.id", ""))
    if not properties:
        numbers = _NUMBER.findall(directory.name) or _NUMBER.findall(directory.parent.name)
        number = numbers[-1] if numbers else ""
    if not _INTEGER.fullmatch(number):
        raise KafkaLogsError(
            f"{directory}: no node id: meta.properties is missing or has no node.id; copy the whole log directory, or "
            "name its directory after the node, such as node-1",
            code="no_node_id",
        )
    node = logs.nodes.setdefault(int(number), KafkaNode(int(number)))
    node.cluster_id = properties.get("cluster.id", node.cluster_id)
    node.version = properties.get("version", node.version)
    node.shut_down_in |= _clean_shutdown(directory / ".kafka_cleanshutdown")
    high_watermarks = _offsets(directory / "replication-offset-checkpoint")
    starts = _offsets(directory / "log-start-offset-checkpoint")
    for path in sorted(each for each in directory.iterdir() if each.is_dir()):
        if path.name == METADATA_PARTITION:
            node.metadata.append(path)
        elif _SET_ASIDE.fullmatch(path.name):
            logs.set_aside.append(f"{directory.name}/{path.name}")
        elif _PARTITION.fullmatch(path.name) and path.name != METADATA_PARTITION:
            replica = ReplicaDirectory(
                node.id, path.name, path, _topic_id(path), _epochs(path / "leader-epoch-checkpoint"),
                high_watermarks.get(path.name, -1), starts.get(path.name, -1),
            )  # fmt: skip
            _add(node, replica, properties.get("directory.id", ""))


def _add(node: KafkaNode, replica: ReplicaDirectory, disk: str) -> None:
    """Add a replica; a second one of the same log directory is a later copy of it."""
    name = replica.partition
    before = node.replicas.get(name)
    if before is not None:
        if not disk or node.disks[name] != disk:
            raise KafkaLogsError(
                f"{name}: found twice for node {node.id}: {before.path} and {replica.path}; copies of one log "
                "directory have the same directory.id in meta.properties",
                code="replica_twice",
            )
        node.earlier.setdefault(name, []).append(before)
    node.replicas[name], node.disks[name] = replica, disk


def _check_one_cluster(logs: CopiedLogs) -> None:
    clusters = sorted({node.cluster_id for node in logs.nodes.values() if node.cluster_id})
    if len(clusters) > 1:
        raise KafkaLogsError(
            f"{logs.path}: found logs of {len(clusters)} clusters, {', '.join(clusters)}; import each alone",
            code="several_clusters",
        )


def segments_in(directory: Path) -> list[SegmentFile]:
    """Return the segments of a partition's directory in order of their base offsets."""
    found = [(match[1], path) for path in directory.iterdir() if (match := _SEGMENT.fullmatch(path.name))]
    return [SegmentFile(path, int(base)) for base, path in sorted(found)]


def snapshots_in(directory: Path) -> list[tuple[int, int, Path]]:
    """Return the snapshots of a metadata log in order: (end offset, epoch, file)."""
    found = [(match, path) for path in directory.iterdir() if (match := _SNAPSHOT.fullmatch(path.name))]
    return sorted((int(match[1]), int(match[2]), path) for match, path in found)


def _properties(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    pairs = (line.partition("=") for line in _lines(path) if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _sign, value in pairs}


def _clean_shutdown(path: Path) -> set[int]:
    """Return the broker epoch of a clean shutdown (``CleanShutdownFileHandler``); older releases leave it empty."""
    try:
        found = json.loads("\n".join(_lines(path))) if path.is_file() else {}
    except ValueError:
        return set()
    epoch = found.get("brokerEpoch") if isinstance(found, dict) else None
    return {epoch} if isinstance(epoch, int) and epoch >= 0 else set()


def _topic_id(directory: Path) -> str:
    path = directory / "partition.metadata"
    if not path.is_file():
        return ""
    found = dict(line.split(": ", 1) for line in _lines(path) if ": " in line)
    text = found.get("topic_id", "").strip()
    try:
        return text if len(base64.urlsafe_b64decode(f"{text}==")) == 16 else ""
    except ValueError:
        return ""


def _offsets(path: Path) -> dict[str, int]:
    """Read a checkpoint of offsets (``OffsetCheckpointFile``): version, count, then ``topic partition offset``."""
    found = {}
    for words in _checkpoint(path, 3):
        found[f"{words[0]}-{words[1]}"] = int(words[2])
    return found


def _epochs(path: Path) -> tuple[tuple[int, int], ...]:
    """Read a leader epoch cache (``LeaderEpochCheckpointFile``): version, count, then ``epoch offset``."""
    return tuple((int(words[0]), int(words[1])) for words in _checkpoint(path, 2))


def _checkpoint(path: Path, width: int) -> list[list[str]]:
    """Read the rows of a checkpoint file; a broker that just started has empty ones (``CheckpointFile``)."""
    lines = _lines(path) if path.is_file() else []
    if not lines:
        return []
    rows = [line.split(" ") for line in lines[2:] if line]
    numbers = all(_INTEGER.fullmatch(word) for row in rows for word in row[width - 2 :])
    if lines[0] != "0" or any(len(row) != width for row in rows) or not numbers:
        raise KafkaLogsError(
            f"{path}: expected a checkpoint file of version 0 with {width} columns", code="invalid_checkpoint"
        )
    return rows


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise KafkaLogsError(f"{path}: not text in UTF-8", code="not_utf8") from None
