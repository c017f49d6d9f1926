"""Report of the ledger: the outcome of every acknowledged record, as ranges.

The report contains the intervals that the ledger counts, split where client, acks, commitment or outcome change.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from cluster_model.checker.anomalies.history_checker import FinalReadRange, final_read_of
from cluster_model.checker.ledger.delivery_tracker import PartitionDeliveries
from cluster_model.checker.ledger.ledger import Ledger, MissingRun, runs_of
from cluster_model.log.batch_store import EpochBranch
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.observation.views import ClientPartitionStats
from cluster_model.util.ranges import Range, length, subtract, union

HELD: Final = "held"
"""In the leader's log; without a leader, in the log of any replica."""
MISSING: Final = "missing"
"""Not in the leader's log but in that of another replica, so it may return."""
LOST: Final = "lost"
"""In no log any more, or missing as the session ended."""
DELETED: Final = "deleted"
"""Deleted on purpose: by retention, DeleteRecords, or with the topic."""


class RecordRange(NamedTuple):
    """Consecutive records of one client with the same outcome."""

    partition: str
    client: str
    sequence: int
    """Number of the first record, by its client and partition."""
    records: int
    acks: int
    log_offset: int
    leader_epoch: int
    """Leader epoch in which they were written."""
    committed: bool
    """Whether consumers could have read them."""
    outcome: str
    cause: str
    """Cause of the loss, if they are missing or lost; else empty."""


def acknowledged(cluster_state: ClusterState, ledger: Ledger) -> list[RecordRange]:
    """Return the acknowledged records that a leader wrote, by partition, log branch and offset.

    Records of deleted partitions and acks=0 records that never reached a leader are not included.
    """
    return [found for name in cluster_state.records for found in _of_partition(cluster_state, ledger, name)]


def _of_partition(cluster_state: ClusterState, ledger: Ledger, name: str) -> Iterator[RecordRange]:
    lost = _by_log_branch(ledger.lost_in(name))
    missing = _by_log_branch(ledger.missing_in(name))
    for log_branch, ranges in ledger.acked_records_of(name).by_log_branch.items():
        epoch_branch = cluster_state.epoch_branches[name].by_id[log_branch]
        gone = union(lost.get(log_branch, ()))
        absent = subtract(union(missing.get(log_branch, ())), gone)
        deleted = subtract(subtract(ledger.deletions.with_purged(name, log_branch, ()), gone), absent)
        remaining = ranges.ranges()
        for place, there in ((LOST, gone), (MISSING, absent), (DELETED, deleted)):
            taken = subtract(remaining, subtract(remaining, there))
            remaining = subtract(remaining, taken)
            yield from _rows(ledger, name, epoch_branch, taken, place)
        yield from _rows(ledger, name, epoch_branch, remaining, HELD)


def missing_or_lost_runs(
    cluster_state: ClusterState, ledger: Ledger
) -> Iterator[tuple[str, str, EpochBranch, MissingRun]]:
    """Yield (outcome, partition, log branch, run) of lost and missing records only."""
    for name in cluster_state.records:
        lost, missing = ledger.lost_in(name), ledger.missing_in(name)
        if not lost and not missing:
            continue
        by_log_branch, absent = _by_log_branch(lost), _by_log_branch(missing)
        for log_branch in dict.fromkeys((*by_log_branch, *absent)):
            epoch_branch, lost_ranges = (
                cluster_state.epoch_branches[name].by_id[log_branch],
                union(by_log_branch.get(log_branch, ())),
            )
            committed = ledger.acked_records_of(name).committed_in(log_branch)
            for location, ranges in (
                (LOST, lost_ranges),
                (MISSING, subtract(union(absent.get(log_branch, ())), lost_ranges)),
            ):
                for start, end in ranges:
                    for run in runs_of(epoch_branch, start, end, committed):
                        yield location, name, epoch_branch, run


def _rows(
    ledger: Ledger, name: str, epoch_branch: EpochBranch, ranges: list[Range], location: str
) -> Iterator[RecordRange]:
    for start, end in ranges:
        for run in runs_of(epoch_branch, start, end, ledger.acked_records_of(name).committed_in(epoch_branch.id)):
            yield _row(ledger, name, epoch_branch, run, location)


def _row(ledger: Ledger, name: str, epoch_branch: EpochBranch, run: MissingRun, location: str) -> RecordRange:
    cause = ledger.cause_of(name, epoch_branch, run) if location in (LOST, MISSING) else ""
    return RecordRange(
        name, run.client, run.sequence, run.end - run.start, run.acks, run.start, epoch_branch.epoch, run.committed,
        location, cause,
    )  # fmt: skip


def _by_log_branch(intervals: Iterable[tuple[int, int, int]]) -> dict[int, list[Range]]:
    found: dict[int, list[Range]] = {}
    for log_branch, start, end in intervals:
        found.setdefault(log_branch, []).append((start, end))
    return found


class RecordLocations:
    """Current location of records in a cluster, computed on request."""

    def __init__(self, cluster_state: ClusterState, ledger: Ledger) -> None:
        self._cluster_state = cluster_state
        self._ledger = ledger

    def acknowledged(self) -> list[RecordRange]:
        """Return the acknowledged records, see :func:`acknowledged`."""
        return acknowledged(self._cluster_state, self._ledger)

    def last_read(self) -> list[FinalReadRange]:
        """Return what a new client would read of every partition except internal topics."""
        return [
            part
            for name in self._cluster_state.records
            if not name.startswith("__")
            for part in final_read_of(self._cluster_state, name)
        ]

    def held_by_leader(self, partition: str) -> dict[str, list[Range]]:
        """Return client → numbers of its records in the leader's log, with any outcome."""
        if partition not in self._cluster_state.records:
            return {}
        leader = self._cluster_state.representative(partition)
        held: dict[str, list[Range]] = {}
        if leader is not None:
            for _epoch_branch, batch, start, end in leader.log.batches():
                shift = batch.sequence - batch.base
                held.setdefault(batch.client, []).extend(
                    (low + shift, high + shift) for low, high in leader.log.remaining(start, end)
                )
        return {client: union(ranges) for client, ranges in held.items()}


# The ledger by client and partition: outcomes received and actual outcomes, in ranges of the client's record numbers.
#
# It is computed on request, since it reads the leader's log if any outcome is unknown.


def client_partition_outcomes(cluster_state: ClusterState, ledger: Ledger) -> tuple[ClientPartitionStats, ...]:
    """Return the record counts of all clients, by client and partition."""
    placed: dict[tuple[str, str], list[RecordRange]] = {}
    for found in acknowledged(cluster_state, ledger):
        placed.setdefault((found.client, found.partition), []).append(found)
    held_by_partition: dict[str, dict[str, list[Range]]] = {}
    survey = RecordLocations(cluster_state, ledger)
    views = []
    for deliveries in ledger.deliveries.partition_deliveries():
        if deliveries.unknown and deliveries.partition not in held_by_partition:
            held_by_partition[deliveries.partition] = survey.held_by_leader(deliveries.partition)
        held = held_by_partition.get(deliveries.partition, {}).get(deliveries.client, [])
        views.append(_view(ledger, deliveries, placed.get((deliveries.client, deliveries.partition), []), held))
    return tuple(views)


def unknown_written(cluster_state: ClusterState, ledger: Ledger, client: str | None = None) -> int:
    """Return how many of a client's records with unknown outcome the leader's log holds."""
    return _written(cluster_state, ledger, client, "unknown")


def _written(cluster_state: ClusterState, ledger: Ledger, client: str | None, outcome: str) -> int:
    survey = RecordLocations(cluster_state, ledger)
    held_by_partition: dict[str, dict[str, list[Range]]] = {}
    count = 0
    for deliveries in ledger.deliveries.partition_deliveries():
        numbers: list[Range] = getattr(deliveries, outcome)
        if numbers and client in (None, deliveries.client):
            held = held_by_partition.get(deliveries.partition)
            if held is None:
                held = held_by_partition[deliveries.partition] = survey.held_by_leader(deliveries.partition)
            count += length(_intersection(numbers, held.get(deliveries.client, [])))
    return count


def _view(
    ledger: Ledger, deliveries: PartitionDeliveries, placed: list[RecordRange], held: list[Range]
) -> ClientPartitionStats:
    where = (deliveries.client, deliveries.partition)
    lost = _numbers(each for each in placed if each.outcome == LOST)
    read = _numbers(each for each in placed if each.outcome == LOST and each.committed)
    buried = ledger.deletions.lost_in(*where, committed=False)
    blind = ledger.deliveries.blind(*where)
    deleted = _numbers(each for each in placed if each.outcome == DELETED)
    unlocated = subtract(deliveries.acked, union([*_numbers(placed), *buried, *blind]))
    duplicates, reordered = ledger.repeats.duplicates_in(*where), ledger.repeats.reordered_in(*where)
    terms: dict[str, list[Range]] = {
        "sent": deliveries.sent,
        "acked": deliveries.acked,
        "failed": deliveries.failed,
        "unknown": deliveries.unknown,
        "aborted": deliveries.aborted,
        "pending": deliveries.pending,
        "missing": _numbers(each for each in placed if each.outcome == MISSING),
        "acked_lost": union([*lost, *buried, *(blind if ledger.closed else ())]),
        "committed_lost": union([*read, *ledger.deletions.lost_in(*where, committed=True)]),
        "deleted": union([*deleted, *unlocated]),
        "unknown_written": _intersection(deliveries.unknown, held),
        "duplicates": union(duplicates),
        "reordered": union(reordered),
    }
    counts = {term: length(ranges) for term, ranges in terms.items()}
    counts["duplicates"] = length(duplicates)
    for term, count in zip(("sent", "acked", "failed", "unknown", "aborted"), deliveries.unnumbered, strict=True):
        counts[term] += count
    ranges = {term: tuple(found) for term, found in terms.items() if found}
    return ClientPartitionStats(client=deliveries.client, partition=deliveries.partition, ranges=ranges, **counts)


def _numbers(rows: Iterable[RecordRange]) -> list[Range]:
    return union((each.sequence, each.sequence + each.records) for each in rows)


def _intersection(one: list[Range], other: list[Range]) -> list[Range]:
    return subtract(one, subtract(one, other))
