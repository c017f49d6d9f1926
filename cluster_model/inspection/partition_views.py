"""Builders of the immutable views in :mod:`cluster_model.observation.views`."""

from itertools import pairwise

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.checker import Checker
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.observation import metadata_staleness
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.observation.views import (
    CachedMetadataView,
    EpochRun,
    LedgerView,
    LogView,
    PartitionView,
    ReplicaLogView,
    ReplicaStatus,
    ReplicaView,
)
from cluster_model.util.ranges import Range, subtract


def partition_views(cluster_state: ClusterState, checker: Checker) -> tuple[PartitionView, ...]:
    """Return a view of every partition."""
    outdated = metadata_staleness.outdated(cluster_state)
    return tuple(
        _partition_view(cluster_state, checker, name, tuple(outdated.get(name, ()))) for name in cluster_state.records
    )


def _partition_view(
    cluster_state: ClusterState, checker: Checker, name: str, outdated: tuple[CachedMetadataView, ...]
) -> PartitionView:
    record, replicas_by_broker = cluster_state.record(name), cluster_state.replicas[name]
    leader, shown, assignment = (
        cluster_state.committed_leader(name),
        cluster_state.representative(name),
        record.assignment,
    )
    replicas = tuple(
        _replica_view(cluster_state, record, replicas_by_broker[each], leader, shown)
        for each in assignment
        if each in replicas_by_broker
    )
    return PartitionView(
        name=name,
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        isr=record.isr,
        assignment=assignment,
        min_isr=cluster_state.effective_min_isr(name),
        hw=0 if shown is None else shown.hw,
        leo=0 if shown is None else shown.log.leo,
        log_start=0 if shown is None else shown.log.log_start,
        replicas=replicas,
        missing=checker.ledger.missing(name),
        adding=record.state.adding,
        removing=record.state.removing,
        elr=record.state.elr,
        recovering=record.state.recovering,
        beliefs=outdated,
        leaders=metadata_staleness.leaders(cluster_state, name),
    )


def _replica_view(
    cluster_state: ClusterState,
    record: CommittedPartition,
    replica: Replica,
    leader: Replica | None,
    shown: Replica | None,
) -> ReplicaView:
    isr = () if replica.leadership is None else replica.leadership.isr
    return ReplicaView(
        broker=replica.broker,
        status=_status(cluster_state, record, replica, leader),
        leo=replica.log.leo,
        hw=replica.hw,
        log_start=replica.log.log_start,
        epochs=replica.log.epochs.entries,
        believed_leader=replica.leader,
        believed_epoch=replica.leader_epoch,
        believed_isr=isr,
        behind=0 if shown is None else shown.log.leo - replica.log.leo,
    )


def status_of(cluster_state: ClusterState, name: str, broker: int) -> ReplicaStatus:
    """Return a replica's status, the worst one that applies."""
    return _status(
        cluster_state,
        cluster_state.record(name),
        cluster_state.replicas[name][broker],
        cluster_state.committed_leader(name),
    )


def _status(
    cluster_state: ClusterState, record: CommittedPartition, replica: Replica, leader: Replica | None
) -> ReplicaStatus:
    broker = replica.broker
    if not cluster_state.is_up(broker):
        return "down"
    if broker == record.leader:
        return "leader"
    if replica.following is not None and replica.following.truncating:
        return "truncating"
    if leader is not None and differing(leader.log, replica.log):
        return "diverged"
    return "in_sync" if broker in record.isr else "lagging"


def log_view(cluster_state: ClusterState, checker: Checker, name: str, start: int, end: int) -> LogView:
    """Return the logs of a partition side by side over ``[start, end)``."""
    record = cluster_state.record(name)
    leader = cluster_state.committed_leader(name)
    lanes = tuple(_lane(cluster_state, checker, name, broker, (start, end)) for broker in cluster_state.replicas[name])
    return LogView(name, start, end, record.leader, -1 if leader is None else leader.hw, lanes)


def _lane(cluster_state: ClusterState, checker: Checker, name: str, broker: int, window: Range) -> ReplicaLogView:
    replica = cluster_state.replicas[name][broker]
    log = replica.log
    leader = cluster_state.committed_leader(name)
    diverged = [] if leader is None or leader is replica else differing(leader.log, log)
    if leader is not None and leader is not replica and log.leo > leader.log.leo:
        diverged.append((max(leader.log.leo, log.log_start), log.leo))
    missing = checker.ledger.missing_in(name)
    lost_ranges: list[Range] = []
    runs: list[EpochRun] = []
    for index, (first, branch) in enumerate(log.extents):
        begin = max(log.log_start, first)
        end = log.extents[index + 1][0] if index + 1 < len(log.extents) else log.leo
        low, high = max(window[0], begin), min(window[1], end)
        lost = [(start, until) for owner, start, until in missing if owner == branch]
        lost_ranges += [(max(begin, start), min(end, until)) for start, until in lost if start < end and begin < until]
        edges = {edge for interval in (*diverged, *lost) for edge in interval if low < edge < high}
        if log.cleaned is not None:
            edges.update(edge for hole in log.cleaned.within(low, high) for edge in hole if low < edge < high)
        for at, until in pairwise([low, *sorted(edges), high]):
            if at < until and not (log.cleaned is not None and log.cleaned.covers(at)):
                epoch = log.epoch_branches.by_id[branch].epoch
                runs.append(EpochRun(at, until, epoch, _inside(at, diverged), _inside(at, lost)))
    counts = _count_records(log, lost_ranges), _count_records(log, subtract(diverged, sorted(lost_ranges)))
    return ReplicaLogView(
        broker, status_of(cluster_state, name, broker), log.leo, replica.hw, log.log_start, tuple(runs), *counts
    )


def _count_records(log: ReplicaLog, ranges: list[Range]) -> int:
    """Return the number of records at these offsets that compaction has not removed."""
    holes = [] if log.cleaned is None else [hole for low, high in ranges for hole in log.cleaned.within(low, high)]
    return sum(high - low for low, high in subtract(ranges, holes))


def _inside(offset: int, ranges: list[Range]) -> bool:
    return any(start <= offset < end for start, end in ranges)


def ledger_view(checker: Checker) -> LedgerView:
    """Return the record counts of all producers together."""
    ledger = checker.ledger
    columns = zip((0, 0, 0, 0, 0), *ledger.deliveries.totals.values(), strict=True)
    sent, acked, failed, unknown, aborted = (sum(column) for column in columns)
    return LedgerView(
        sent=sent,
        acked=acked,
        failed=failed,
        unknown=unknown,
        aborted=aborted,
        missing=ledger.missing_of(None),
        acked_lost=ledger.acked_lost(),
        committed_lost=ledger.committed_lost(),
        duplicates=ledger.repeats.duplicates(),
        reordered=ledger.repeats.reordered(),
    )
