"""Views of an imported cluster, at its end and at any time, as screens and results read them of a modelled one.

Offsets have no times in Kafka's logs: a view has the log ends and high watermarks of the copied logs at every time.
"""

from collections.abc import Iterable
from itertools import pairwise

from cluster_model.observation import (
    BrokerView,
    ClientPartitionStats,
    ClusterView,
    EpochRun,
    LedgerView,
    LogView,
    PartitionView,
    ReplicaLogView,
    ReplicaView,
)
from kafka_logs.incident import Incident, PartitionEvidence, end_us, topic_of
from kafka_logs.metadata_history import PartitionRegistration
from kafka_logs.replica_logs import ReplicaLogContents


def profile_of(incident: Incident) -> str:
    """Return the text shown as the modelled release: the feature level of the metadata."""
    level = incident.history.features.get("metadata.version")
    return "kraft" if level is None else f"kraft, metadata.version {level}"


def cluster_view(incident: Incident) -> ClusterView:
    """Return the cluster at the end of its metadata log."""
    history = incident.history
    partitions = [partition_view(incident, each, each.life.state) for each in incident.partitions.values()]
    brokers = tuple(
        BrokerView(
            each.id, each.rack, "down" if each.fenced else "up", each.fenced,
            sum(one.leader == each.id for one in partitions), (),
        )
        for each in sorted(history.brokers.values(), key=lambda each: each.id)
    )  # fmt: skip
    controller = f"controller {history.controllers[-1]}" if history.controllers else ""
    return ClusterView(
        now_us=end_us(incident), events=0, profile=profile_of(incident), controller=controller, brokers=brokers,
        partitions=tuple(partitions), producers=(), groups=(), ledger=ledger_view(incident), faults=(), violations=0,
    )  # fmt: skip


def partition_view(incident: Incident, evidence: PartitionEvidence, state: PartitionRegistration) -> PartitionView:
    """Return a partition in one of its states, with the copied logs of its replicas."""
    reference = evidence.reference
    end = reference.end if reference is not None else 0
    lost = sum(each.lost.records for each in evidence.losses)
    return PartitionView(
        evidence.name, state.leader, state.leader_epoch, state.partition_epoch, state.isr, state.replicas,
        incident.history.min_isr(topic_of(evidence.name)), evidence.high_watermark, end,
        reference.start if reference is not None else 0,
        tuple(_replica(evidence, broker, state, end) for broker in state.replicas), lost, state.adding, state.removing,
        state.elr, state.recovering,
    )  # fmt: skip


def _replica(evidence: PartitionEvidence, broker: int, state: PartitionRegistration, end: int) -> ReplicaView:
    log = evidence.logs.get(broker)
    status = "leader" if broker == state.leader else "in_sync" if broker in state.isr else "lagging"
    if any(each.broker == broker for each in evidence.divergences):
        status = "diverged"
    if log is None:
        return ReplicaView(broker, "down", 0, 0, 0, (), -1, -1, (), end)  # its log was not copied
    epochs = log.directory.epochs or tuple((span.epoch, span.start) for span in log.spans)
    believed = state.isr if broker == state.leader else ()
    return ReplicaView(
        broker, status, log.end, max(0, log.directory.high_watermark), log.start, epochs, state.leader,  # type: ignore[arg-type]
        state.leader_epoch, believed, end - log.end,
    )  # fmt: skip


def log_view(evidence: PartitionEvidence, start: int, end: int) -> LogView:
    """Return the logs of a partition side by side over ``[start, end)``."""
    state = evidence.life.state
    lanes = []
    for broker in state.replicas:
        log = evidence.logs.get(broker)
        replica = _replica(evidence, broker, state, 0)
        runs = tuple(_runs(evidence, log, start, end)) if log is not None else ()
        lost = sum(each.lost.records for each in evidence.losses if broker in each.lost.holders)
        diverged = sum(each.records for each in evidence.uncertain if each.broker == broker)
        lanes.append(
            ReplicaLogView(broker, replica.status, replica.leo, replica.hw, replica.log_start, runs, lost, diverged)
        )
    return LogView(evidence.name, start, end, state.leader, evidence.high_watermark, tuple(lanes))


def _runs(evidence: PartitionEvidence, log: ReplicaLogContents, start: int, end: int) -> Iterable[EpochRun]:
    diverged = [(each.start, each.end) for each in evidence.divergences if each.broker == log.node]
    lost = [(each.lost.start, each.lost.end) for each in evidence.losses if log.node in each.lost.holders]
    for span in log.spans:
        low, high = max(start, span.start, log.start), min(end, span.end)
        inside = {cut for pair in (*diverged, *lost) for cut in pair if low < cut < high}
        cuts = sorted({low, high, *inside}) if low < high else []
        for first, last in pairwise(cuts):
            yield EpochRun(
                first, last, span.epoch, any(a <= first < b for a, b in diverged), any(a <= first < b for a, b in lost)
            )


# Ledger.


def ledger_view(incident: Incident) -> LedgerView:
    """Return the counts of acknowledged records; without a history of clients only what is missing or lost."""
    clients = client_stats(incident)
    lost = [each.lost for each in incident.losses]
    return LedgerView(
        sent=sum(each.sent for each in clients), acked=sum(each.acked for each in clients), failed=0, unknown=0,
        missing=0, acked_lost=sum(each.records for each in lost),
        committed_lost=sum(each.records for each in lost if each.committed),
        duplicates=0, reordered=0, clients=clients,
    )  # fmt: skip


def client_stats(incident: Incident) -> tuple[ClientPartitionStats, ...]:
    """Return the counts of each client and partition in the history of clients."""
    acked: dict[tuple[str, str], list[int]] = {}
    for record in incident.clients.acked if incident.clients is not None else ():
        if record.partition in incident.partitions:
            acked.setdefault((record.client, record.partition), []).append(record.number)
    stats = []
    for (client, partition), numbers in sorted(acked.items()):
        ranges = [each.lost for each in incident.partitions[partition].losses if each.lost.client == client]
        lost = sum(each.records for each in ranges)
        committed = sum(each.records for each in ranges if each.committed)
        sent = len(set(numbers))
        stats.append(
            ClientPartitionStats(
                client=client, partition=partition, sent=sent, acked=sent, failed=0, unknown=0, aborted=0, pending=0,
                missing=0, acked_lost=lost, committed_lost=committed, deleted=0,
                unknown_written=0, duplicates=0, reordered=0, ranges={},
            )
        )  # fmt: skip
    return tuple(stats)
