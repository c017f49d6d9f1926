"""The log inspector: every record ever written at an offset, its current copies, and markers in each replica's log.

The results are for display only, as those of :mod:`cluster_model.observation.views`.
"""

from dataclasses import dataclass
from typing import Final, Literal

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.checker import Checker
from cluster_model.log.batch_store import EpochBranch
from cluster_model.log.record_keys import keys_of
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.records import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batch
from cluster_model.util.ranges import Range, union

# Markers in a window of each replica's log: transaction markers, open transactions, gaps of compaction.
#
# The results are for display only, as those of :mod:`cluster_model.observation.views`.


@dataclass(frozen=True, slots=True)
class ReplicaLogMarkers:
    """Markers of one replica's log in the requested window."""

    broker: int
    holes: tuple[Range, ...]
    """Offsets removed by compaction."""
    control: tuple[Range, ...]
    """Offsets of transaction markers."""
    open: tuple[Range, ...]
    """Ranges of open transactions, each from its first record to after its last one."""
    stable: int
    """Last stable offset by this replica's own high watermark."""


def lane_marks(
    cluster_state: ClusterState, partition: str, start: int, end: int, *, transactions: bool = True
) -> tuple[ReplicaLogMarkers, ...]:
    """Return the markers of every replica of a partition over ``[start, end)``.

    Without ``transactions`` transaction markers are skipped, which need a look at every batch of the window.

    Raises:
        ModelError: no such partition.
    """
    cluster_state.record(partition)
    return tuple(
        _marks(replica, start, end, transactions=transactions) for replica in cluster_state.replicas[partition].values()
    )


def _marks(replica: Replica, start: int, end: int, *, transactions: bool) -> ReplicaLogMarkers:
    log = replica.log
    low, high = max(start, log.log_start), min(end, log.leo)
    holes = () if log.cleaned is None or low >= high else log.cleaned.within(low, high)
    control, unfinished = _transactional(log, low, high) if transactions else ((), ())
    stable = min(replica.hw, log.transactions.first_unstable(replica.hw))
    return ReplicaLogMarkers(replica.broker, holes, control, unfinished, stable)


def _transactional(log: ReplicaLog, start: int, end: int) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Return markers and open transactions; a log without transactions is not scanned."""
    if start >= end or not log.epoch_branches.any_transactional(log.extents):
        return (), ()
    control: list[Range] = []
    unfinished: dict[int, Range] = {}
    ongoing = log.transactions.ongoing
    for _epoch_branch, batch, _size, low, high in log.kept_between(start, end):
        if batch.kind >= ABORT:
            control.append((low, high))
        elif batch.kind == TRANSACTIONAL and low >= ongoing.get(batch.producer_id, end):
            unfinished[batch.producer_id] = (unfinished.get(batch.producer_id, (low, high))[0], high)
    return tuple(union(control)), tuple(unfinished.values())


# Every record ever written at an offset of a partition, and the replicas that still hold it.


TRUNCATED: Final = "truncated"
"""Truncated from every log that held it, or lost with one."""
DELETED: Final = "deleted"
"""Below the log start of some replica, by retention or DeleteRecords."""
COMPACTED: Final = "compacted"


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record that a leader wrote, whether any log still holds it or not.

    ``number`` counts its producer's records in the partition. ``key`` is None without one; ``deletes``: it is a
    tombstone. ``timestamp_us`` is that of its batch, -1 in formats without timestamps. ``holders`` are the brokers
    whose logs hold it, including brokers that are down.
    """

    partition: str
    offset: int
    epoch: int
    broker: int
    """The leader that wrote it."""
    client: str
    number: int
    producer_id: int
    acks: int
    timestamp_us: int
    appended_us: int
    acked: bool
    key: str | None
    deletes: bool
    name: str
    """Name in a manual trace, or content of a record in an internal topic."""
    batch_records: int
    batch_bytes: int
    holders: tuple[int, ...]
    gone: str
    """Reason why no log holds it; empty if one does."""


def written_at(cluster_state: ClusterState, checker: Checker, partition: str, offset: int) -> tuple[WrittenRecord, ...]:
    """Return every record ever written at ``offset``, oldest first: several if a log was truncated and rewritten.

    Raises:
        ModelError: no such partition.
    """
    record = cluster_state.record(partition)
    return tuple(
        _written(cluster_state, checker, partition, epoch_branch, offset)
        for epoch_branch in cluster_state.epoch_branches[partition].by_id
        if epoch_branch.topic_id == record.topic_id and epoch_branch.start <= offset < epoch_branch.end
    )


def _written(
    cluster_state: ClusterState, checker: Checker, partition: str, epoch_branch: EpochBranch, offset: int
) -> WrittenRecord:
    batch = epoch_branch.batch_at(offset)
    index = offset - batch.base
    keys = keys_of(cluster_state.epoch_branches[partition].keys, batch)
    key = keys.keys[index]
    holders, missing_because = _holders(cluster_state, partition, epoch_branch, offset)
    acked = checker.ledger.acked_in(partition, epoch_branch.id)
    return WrittenRecord(
        partition=partition,
        offset=offset,
        epoch=epoch_branch.epoch,
        broker=epoch_branch.broker,
        client=batch.client,
        number=batch.sequence + index,
        producer_id=batch.producer_id,
        acks=batch.acks,
        timestamp_us=batch.timestamp_us,
        appended_us=batch.appended_us,
        acked=any(start <= offset < end for start, end in acked),
        key=f"key-{key}" if isinstance(key, int) else key,
        deletes=index in keys.deletes,
        name=_name(batch, index),
        batch_records=batch.records,
        batch_bytes=batch.size,
        holders=holders,
        gone=missing_because,
    )


def _name(batch: Batch, index: int) -> str:
    return batch.name[index] if batch.name else ""


def _holders(
    cluster_state: ClusterState, partition: str, epoch_branch: EpochBranch, offset: int
) -> tuple[tuple[int, ...], str]:
    """Return the brokers that hold the record, and the reason if none does."""
    holders, missing_because = [], TRUNCATED
    for broker, replica in cluster_state.replicas[partition].items():
        log = replica.log
        if offset < log.log_start:
            missing_because = DELETED if missing_because == TRUNCATED else missing_because
        elif offset < log.leo and log.branch_at(offset) is epoch_branch:
            if log.remaining(offset, offset + 1):
                holders.append(broker)
            else:
                missing_because = COMPACTED
    return tuple(holders), "" if holders else missing_because


CopyStatus = Literal["holds", "other", "behind", "below", "compacted"]
"""Holds this record, holds another one at its offset, ends before it, starts after it, or compacted it away."""
TransactionOutcome = Literal["", "open", "committed", "aborted", "gone"]
"""State of a record's transaction; ``gone``: no log holds the record any more. Empty without a transaction."""
_KINDS: Final = {PLAIN: "records", TRANSACTIONAL: "transactional", ABORT: "abort marker", COMMIT: "commit marker"}


@dataclass(frozen=True, slots=True)
class RecordCopy:
    """Content of a replica's log at a record's offset."""

    broker: int
    holding: CopyStatus
    below_hw: bool
    """Whether the offset is below this replica's own high watermark."""
    durable: bool
    """Whether it is on the broker's disk, not only in its page cache."""


@dataclass(frozen=True, slots=True)
class RecordInspection:
    """A record with its batch, transaction and copies."""

    record: WrittenRecord
    log_branch: int
    """Id of the log branch that holds it; with the offset it identifies the record."""
    batch_start: int
    kind: str
    producer_epoch: int
    sequence: int
    """Kafka's sequence number, -1 without idempotence."""
    committed: bool
    """Whether a consumer could have read it so far."""
    transaction: TransactionOutcome
    copies: tuple[RecordCopy, ...]


def inspect(cluster_state: ClusterState, checker: Checker, partition: str, offset: int) -> tuple[RecordInspection, ...]:
    """Return every record ever written at ``offset`` with its copies, oldest first.

    Raises:
        ModelError: no such partition.
    """
    written = written_at(cluster_state, checker, partition, offset)
    topic_id = cluster_state.record(partition).topic_id
    branches = [
        each
        for each in cluster_state.epoch_branches[partition].by_id
        if each.topic_id == topic_id and each.start <= offset < each.end
    ]
    return tuple(
        _inspected(cluster_state, checker, record, branch, offset)
        for record, branch in zip(written, branches, strict=True)
    )


def _inspected(
    cluster_state: ClusterState, checker: Checker, record: WrittenRecord, branch: EpochBranch, offset: int
) -> RecordInspection:
    partition = record.partition
    batch = branch.batch_at(offset)
    numbered = batch.producer_id >= 0 and batch.kind < ABORT
    committed = checker.ledger.acked_records_of(partition).committed_in(branch.id)
    return RecordInspection(
        record=record,
        log_branch=branch.id,
        batch_start=batch.base,
        kind=_KINDS[batch.kind],
        producer_epoch=batch.producer_epoch,
        sequence=batch.sequence + offset - batch.base - batch.origin if numbered else -1,
        committed=any(start <= offset < end for start, end in committed),
        transaction=_transaction_state(cluster_state, partition, branch, batch, offset),
        copies=copies(cluster_state, partition, offset, branch.id),
    )


def copies(cluster_state: ClusterState, partition: str, offset: int, log_branch: int) -> tuple[RecordCopy, ...]:
    """Return each replica's content at an offset; ``log_branch`` is the log branch of the record, -1 for none."""
    copies_found = []
    for broker, replica in cluster_state.replicas[partition].items():
        log = replica.log
        holding = _holding(log, offset, log_branch)
        has_record = holding in ("holds", "other")
        copies_found.append(
            RecordCopy(broker, holding, has_record and offset < replica.hw, has_record and offset < log.durable)
        )
    return tuple(copies_found)


def _holding(log: ReplicaLog, offset: int, branch: int) -> CopyStatus:
    if offset >= log.leo:
        return "behind"
    if offset < log.log_start:
        return "below"
    if not log.remaining(offset, offset + 1):
        return "compacted"
    return "holds" if log.branch_at(offset).id == branch else "other"


def _transaction_state(
    cluster_state: ClusterState, partition: str, branch: EpochBranch, batch: Batch, offset: int
) -> TransactionOutcome:
    """Return the state of a transaction by the leader's log if it holds the record, else by any that does."""
    if batch.kind != TRANSACTIONAL:
        return ""
    leader = cluster_state.committed_leader(partition)
    other_replicas = [each for each in cluster_state.replicas[partition].values() if each is not leader]
    for replica in [*([] if leader is None else [leader]), *other_replicas]:
        log = replica.log
        if _holding(log, offset, branch.id) != "holds":
            continue
        if batch.base >= log.transactions.ongoing.get(batch.producer_id, log.leo):
            return "open"
        return "aborted" if log.transactions.is_aborted(batch) else "committed"
    return "gone"
