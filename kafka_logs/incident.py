"""An incident on a real cluster, read from copied logs: history, logs of every partition, divergence and losses."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from kafka_logs.client_history import ClientHistory
from kafka_logs.log_directory import CopiedLogs, ReplicaDirectory, find_logs
from kafka_logs.losses import (
    ExplainedLoss,
    LostRange,
    explain,
    lost_from_divergence,
    lost_from_history,
    merged,
    without,
)
from kafka_logs.metadata_history import LeaderTerm, MetadataHistory, PartitionLife, history_of
from kafka_logs.metadata_log import CopiedMetadataLog, read_metadata_log
from kafka_logs.replica_logs import (
    Divergence,
    EpochSpan,
    Progress,
    ReplicaLogContents,
    diverged_from,
    divergences,
    read_replica,
    reference_of,
    truncated_ranges,
)
from kafka_logs.segments import Damage, KafkaLogsError


@dataclass(slots=True)
class PartitionEvidence:
    """Logs of one partition, and the findings from them."""

    name: str
    life: PartitionLife
    logs: dict[int, ReplicaLogContents] = field(default_factory=dict)
    """Broker → its log; brokers whose logs were not copied are missing."""
    earlier: list[ReplicaLogContents] = field(default_factory=list)
    """Earlier copies of logs."""
    truncated: list[tuple[ReplicaLogContents, EpochSpan]] = field(default_factory=list)
    """Ranges that an earlier copy holds, and the next copy of the same log no longer."""
    reference: ReplicaLogContents | None = None
    """The log that others are compared with: the leader's, if it was copied."""
    divergences: list[Divergence] = field(default_factory=list)
    losses: list[ExplainedLoss] = field(default_factory=list)
    uncertain: list[Divergence] = field(default_factory=list)
    """Diverged ranges of which nothing shows that they were acknowledged."""

    @property
    def high_watermark(self) -> int:
        """High watermark that the broker of the reference log had stored; 0 without one."""
        return max(0, self.reference.directory.high_watermark) if self.reference is not None else 0

    def epoch_start(self, term: LeaderTerm) -> int:
        """Return the start offset of a leader epoch, from the leader's own epoch cache or another; -1 if in none."""
        own = [self.logs[term.leader]] if term.leader in self.logs else []
        for log in (*own, *self.logs.values()):
            for epoch, start in log.directory.epochs:
                if epoch == term.epoch:
                    return start
            for span in log.spans:
                if span.epoch == term.epoch:
                    return span.start
        return -1


@dataclass(slots=True)
class Incident:
    """Incident on one cluster: all that its copied logs say."""

    logs: CopiedLogs
    metadata: CopiedMetadataLog
    history: MetadataHistory
    partitions: dict[str, PartitionEvidence]
    clients: ClientHistory | None
    topics: tuple[str, ...]
    """Topics to which the import is limited; empty for all."""

    @property
    def damage(self) -> list[Damage]:
        """Places at which logs could be read no further."""
        found = list(self.metadata.damage)
        for evidence in self.partitions.values():
            found += [log.damage for log in evidence.logs.values() if log.damage is not None]
        return found

    @property
    def losses(self) -> list[ExplainedLoss]:
        """Acknowledged or committed records that the leaders' logs lack."""
        return [each for evidence in self.partitions.values() for each in evidence.losses]

    @property
    def lost_records(self) -> Counter[str]:
        """``missing`` (in another log) or ``lost`` (in none) → number of records."""
        found: Counter[str] = Counter()
        for each in self.losses:
            found[each.lost.kind] += each.lost.records
        return found

    def includes(self, partition: str) -> bool:
        """Return whether the import covers a partition."""
        return not self.topics or topic_of(partition) in self.topics


def topic_of(partition: str) -> str:
    """Return the topic of a partition."""
    return partition.rpartition("-")[0]


def read_incident(
    path: Path,
    *,
    topics: Collection[str] = (),
    clients: ClientHistory | None = None,
    progress: Progress | None = None,
) -> Incident:
    """Read copied logs and compare the replicas of every partition.

    Logs of internal topics are read only if ``topics`` names them.

    Raises:
        KafkaLogsError: The logs cannot be read, or there is no such topic.
    """
    try:
        return _read(path, topics, clients, progress)
    except OSError as error:
        raise KafkaLogsError(f"cannot read {error.filename}: {error.strerror}", code="unreadable") from None


def _read(path: Path, topics: Collection[str], clients: ClientHistory | None, progress: Progress | None) -> Incident:
    logs = find_logs(path)
    metadata = read_metadata_log(logs)
    history = history_of(metadata, {node.id: frozenset(node.shut_down_in) for node in logs.nodes.values()})
    if not metadata.batches:
        raise KafkaLogsError(f"{path}: the metadata log of node {metadata.node} has no records", code="empty_metadata")
    known_topics = {topic_of(name) for name in history.partitions}
    for topic in topics:
        if topic not in known_topics:
            names = ", ".join(sorted(known_topics)) or "none"
            raise KafkaLogsError(f"--topic: found {topic!r}, the cluster has {names}", code="unknown_topic")
    incident = Incident(logs, metadata, history, {}, clients, tuple(sorted(topics)))
    replicas = logs.replicas()
    for name, life in sorted(history.partitions.items()):
        if incident.includes(name):
            evidence = incident.partitions[name] = PartitionEvidence(name, life)
            if not name.startswith("__") or topics:
                _read_partition(incident, evidence, replicas.get(name, {}), progress)
    return incident


def _read_partition(
    incident: Incident,
    evidence: PartitionEvidence,
    replicas: Mapping[int, ReplicaDirectory],
    progress: Progress | None,
) -> None:
    life, history = evidence.life, incident.history
    for node, directory in replicas.items():
        if directory.topic_id in ("", life.topic_id):
            evidence.logs[node] = read_replica(directory, progress=progress)
        else:
            incident.logs.set_aside.append(f"{directory.path.name} of node {node}: of another topic of that name")
    if not evidence.logs:
        return
    _read_earlier(incident, evidence)
    leader = life.state.leader
    evidence.reference = reference_of(evidence.logs, leader)
    compacted = "compact" in history.topic_config(topic_of(evidence.name)).get("cleanup.policy", "")
    evidence.divergences = divergences(evidence.name, evidence.logs, leader, compacted=compacted)
    evidence.losses = [explain(each, life, evidence.reference) for each in _lost(incident, evidence)]
    evidence.uncertain = without(evidence.divergences, [each.lost for each in evidence.losses])


def _lost(incident: Incident, evidence: PartitionEvidence) -> list[LostRange]:
    """Return lost ranges: those that the clients' history names, then committed ones that it does not cover."""
    named: list[LostRange] = []
    if incident.clients is not None:
        leader = evidence.life.state.leader
        named = lost_from_history(evidence.name, evidence.logs, leader, incident.history, incident.clients)
    committed = [
        lost
        for each in evidence.divergences
        for lost in lost_from_divergence(each, evidence.logs[each.broker], incident.history)
        if not _overlaps(lost, named)
    ]
    committed += [lost for lost in _lost_in_earlier(incident, evidence) if not _overlaps(lost, [*named, *committed])]
    return merged([*named, *committed])


def _lost_in_earlier(incident: Incident, evidence: PartitionEvidence) -> Iterator[LostRange]:
    """Yield committed records that only earlier copies hold."""
    for log in evidence.earlier:
        if evidence.reference is None:
            return
        for each in diverged_from(evidence.name, log, evidence.reference):
            yield from lost_from_divergence(each, log, incident.history, earlier=True)


def _overlaps(lost: LostRange, others: Iterable[LostRange]) -> bool:
    return any(each.start < lost.end and lost.start < each.end for each in others)


def _read_earlier(incident: Incident, evidence: PartitionEvidence) -> None:
    """Read the earlier copies of the logs, and what each next copy lacks."""
    for node, log in evidence.logs.items():
        copies = [
            read_replica(each)
            for each in incident.logs.nodes[node].earlier.get(evidence.name, ())
            if each.topic_id in ("", evidence.life.topic_id)
        ]
        evidence.earlier += copies
        for before, after in pairwise([*copies, log]):
            evidence.truncated += [(before, span) for span in truncated_ranges(before, after)]


DAY_MS: Final = 24 * 60 * 60 * 1000


def batch_us(incident: Incident, at_ms: int) -> int:
    """Return the virtual time of a batch's timestamp.

    Producers may set any timestamp: one before the metadata log, or more than a day after it, gets its first or last
    time.
    """
    history = incident.history
    if at_ms > history.end_ms + DAY_MS:
        return history.end_us
    return max(0, (at_ms - history.origin_ms) * 1000)


def end_us(incident: Incident) -> int:
    """Return the end of the session: the last record of the metadata log, batch or acknowledgement."""
    last = incident.history.end_us
    for evidence in incident.partitions.values():
        for log in evidence.logs.values():
            last = max(last, batch_us(incident, max(log.times_ms, default=0)))
    if incident.clients is not None:
        origin_us = incident.history.origin_ms * 1000
        last = max([last, *(each.acked_us - origin_us for each in incident.clients.acked)])
    return last
