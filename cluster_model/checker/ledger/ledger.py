"""The ledger of acknowledged records: which are held, missing, lost or deleted on purpose, and the cause of each loss.

*Missing* records were acknowledged and are not in the current leader's log; they may return with a former leader. They
are *lost* once no replica's log holds them, or when the session ends with them missing. A record is identified by its
log branch (one leader epoch's appends) and its offset, so another record at a lost one's offset is never mistaken for
it. Records that retention or DeleteRecords removed while they were not missing were deleted on purpose and count as
neither. Records removed by compaction count as held as long as the log covers their offset: a compacted topic only
guarantees the newest record of a key. If that one is lost, it counts, and if the cleaner removes it, an invariant is
violated. Records of a deleted topic were deleted on purpose from the commit of the deletion on (in ZooKeeper mode the
replicas are deleted before the partition); those lost before stay lost. Records in a corrupt batch are not held, since
they cannot be read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.partition.replication_rules import EPOCH_UNKNOWN
from cluster_model.broker.storage.log_manager import undamaged_ranges
from cluster_model.broker.topic_configs import topic_of
from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.checker.ledger.ack_evidence import AckedRecords, AckIsrs, ExposedRecords
from cluster_model.checker.ledger.delivery_tracker import ABORTED, ACKED, FAILED, UNKNOWN, DeliveryTracker
from cluster_model.checker.ledger.duplicates import DuplicateTracker
from cluster_model.log.batch_store import EpochBranch
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    Appended,
    BatchCorrupted,
    BecameLeader,
    Event,
    LeaderElected,
    LogStartMoved,
    PartitionDeleted,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsLost,
    RecordsMissing,
    RecordsUnknown,
    ReplicaDeleted,
    TraceEvent,
    Truncated,
)
from cluster_model.protocol.records import CORRUPT_BATCH
from cluster_model.spec.cluster_spec import producer_text
from cluster_model.util.quantities import acks_text
from cluster_model.util.ranges import Range, RangeSet, length, subtract, union

# The cause of a loss in one sentence: the ISR that held the records, and the event that dropped them.


class MissingRun(NamedTuple):
    """Consecutive records of one client, acks level and log branch that the leader's log does not hold."""

    log_branch: int
    start: int
    end: int
    client: str
    sequence: int
    acks: int
    committed: bool


def runs_of(epoch_branch: EpochBranch, start: int, end: int, committed: Sequence[Range]) -> list[MissingRun]:
    """Split ``[start, end)`` of a log branch where client, acks or committed changes; ``committed`` ascends."""
    runs: list[MissingRun] = []
    at = first = start
    client, sequence, acks, readable = "", 0, 0, False  # of the run at hand, from ``first`` on
    while at < end:
        batch = epoch_branch.batch_at(at)
        stop, open_here = min(end, batch.end), False
        for low, high in committed:
            if at < high:
                open_here = low <= at
                stop = min(stop, high if open_here else max(low, at + 1))
                break
        number = batch.sequence + at - batch.base
        if at == start:
            client, sequence, acks, readable = batch.client, number, batch.acks, open_here
        elif (client, acks, readable, sequence + at - first) != (batch.client, batch.acks, open_here, number):
            runs.append(MissingRun(epoch_branch.id, first, at, client, sequence, acks, readable))
            first, client, sequence, acks, readable = at, batch.client, number, batch.acks, open_here
        at = stop
    if first < at:
        runs.append(MissingRun(epoch_branch.id, first, at, client, sequence, acks, readable))
    return runs


class LossTrigger(NamedTuple):
    """The event by which records went missing, and its index in the :class:`ClusterHistory`."""

    event: TraceEvent
    moment: int


def loss_sentence(
    history: ClusterHistory,
    partition: str,
    epoch_branch: EpochBranch,
    run: MissingRun,
    vouched_isr: tuple[int, ...],
    trigger: LossTrigger,
) -> str:
    """Return the sentence that says why a run of records is missing from the leader's log.

    ``vouched_isr`` is the ISR at the acknowledgement.
    """
    acknowledged = _acknowledged_text(partition, epoch_branch, run, vouched_isr)
    return f"{acknowledged}; {_drop_text(history, partition, run, trigger)}"


def _acknowledged_text(partition: str, epoch_branch: EpochBranch, run: MissingRun, isr: tuple[int, ...]) -> str:
    batch = epoch_branch.batch_at(run.start)
    count = run.end - run.start
    offsets_text = f"offset {run.start}" if count == 1 else f"offsets {run.start} to {run.end - 1}"
    count_text = "1 record" if count == 1 else f"{count} records"
    client_text = f" of {producer_text(batch.client)}" if batch.client else ""
    names = f" ({batch.name[run.start - batch.base]})" if batch.name and count == 1 else ""
    return (
        f"{count_text}{client_text} at {offsets_text} of {partition}{names} had been acknowledged by broker "
        f"{epoch_branch.broker} in epoch {epoch_branch.epoch} with acks={acks_text(run.acks)} and ISR {sorted(isr)}"
    )


def _drop_text(history: ClusterHistory, partition: str, run: MissingRun, trigger: LossTrigger) -> str:
    event = trigger.event
    if isinstance(event, RecordsAcked | Appended):
        election = history.last_election(partition, trigger.moment)
        if election is None:
            return "its log no longer held them at that time"
        return (
            f"broker {election.leader} had already been elected in epoch {election.leader_epoch} ({election.by}), and "
            "the former leader had not yet received the new leader epoch"
        )
    if isinstance(event, LeaderElected):
        kind = "a clean" if event.clean else "an unclean"
        how = f"became leader in epoch {event.leader_epoch} by {kind} election ({event.by})"
        return _leader_text(history, partition, run, trigger, event.leader, f"{how} with ISR {sorted(event.isr)}")
    if isinstance(event, BecameLeader):
        how = f"resumed leadership in epoch {event.leader_epoch}"
        return _leader_text(history, partition, run, trigger, event.broker, how)
    if isinstance(event, BatchCorrupted):
        return f"leader {event.broker} holds them in a batch that was corrupted on its disk"
    if isinstance(event, Truncated):
        return f"broker {event.broker} {truncation_text(event, committed=run.committed)}, and no other log held them"
    return "the leader's log does not hold the acknowledged records"


def _leader_text(
    history: ClusterHistory, partition: str, run: MissingRun, trigger: LossTrigger, broker: int, how: str
) -> str:
    cut = history.last_truncation(partition, broker, run.log_branch, (run.start, run.end), trigger.moment)
    if cut is not None:
        return f"broker {broker} {truncation_text(cut, committed=run.committed)}, and then {how}"
    if history.damaged(partition, broker, (run.start, run.end), trigger.moment):
        return f"broker {broker}, whose copy had been corrupted on its disk, {how}"
    pronoun = "it" if run.end - run.start == 1 else "them"
    return f"broker {broker}, which had not replicated {pronoun}, {how}"


def truncation_text(event: Truncated, *, committed: bool) -> str:
    """Return a truncation as text: ``truncated its log to offset 40 (diverging epoch in fetch)``.

    A high watermark below ``committed`` records was stale; below others it is as it should be.
    """
    if event.rule == POWER_LOSS:
        return f"lost its unflushed log from offset {event.log_offset} on in a power loss"
    if event.rule == CORRUPT_BATCH:
        return f"truncated its log at offset {event.log_offset}, where log recovery found a corrupt batch"
    if event.rule == DISK_LOSS:
        return "lost its log with its disk"
    if event.rule == EPOCH_UNKNOWN:
        why = "the leader did not know the requested epoch"
        return f"truncated its log to its high watermark ({event.log_offset}): {why}"
    if event.rule.startswith("high watermark"):
        return f"truncated its log to {'a stale' if committed else 'its'} high watermark ({event.log_offset})"
    return f"truncated its log to offset {event.log_offset} ({event.rule})"


# Records deleted on purpose by retention, DeleteRecords or topic deletion: neither missing nor lost.


class DeletedRecords:
    """Offsets deleted on purpose, by partition and log branch; and losses that preceded a partition's deletion."""

    __slots__ = ("_lost_before", "_purged", "topics")

    def __init__(self) -> None:
        self._purged: dict[tuple[str, int], RangeSet] = {}
        """(partition, log branch) → deleted offsets."""
        self.topics: dict[str, int] = {}
        """Partition → the newest deleted topic id of that name."""
        self._lost_before: dict[tuple[str, str], tuple[RangeSet, RangeSet]] = {}
        """(client, partition) → record numbers lost before the deletion, and the committed ones among them."""

    def purge(self, partition: str, log_branch: int, start: int, end: int, absent: Iterable[Range]) -> None:
        """Record that a replica deleted records of a log branch on purpose, except those ``absent`` before."""
        purged = self._purged.setdefault((partition, log_branch), RangeSet())
        for low, high in subtract([(start, end)], union(absent)):
            purged.add(low, high)

    def with_purged(self, partition: str, log_branch: int, held: Iterable[Range]) -> list[Range]:
        """Return the offsets of a log branch that are accounted for: held by a log, or deleted on purpose."""
        purged = self._purged.get((partition, log_branch))
        return union(held if purged is None else (*held, *purged.ranges()))

    def add_lost(self, client: str, partition: str, sequence: int, count: int, *, committed: bool) -> None:
        """Count lost records of a partition that is being deleted."""
        lost, read = self._lost_before.setdefault((client, partition), (RangeSet(), RangeSet()))
        lost.add(sequence, sequence + count)
        if committed:
            read.add(sequence, sequence + count)

    def dropped(self, partition: str, topic_id: int) -> None:
        """Record the deletion of a partition."""
        self.topics[partition] = topic_id
        self._purged = {key: purged for key, purged in self._purged.items() if key[0] != partition}

    def is_deleted(self, partition: str, epoch_branch: EpochBranch) -> bool:
        """Return whether records belong to a deleted topic; events about them may arrive after the deletion."""
        return bool(self.topics) and epoch_branch.topic_id <= self.topics.get(partition, -1)

    def lost_count(self, client: str | None, *, committed: bool) -> int:
        """Return the number of lost records of deleted partitions, of one client or of all."""
        return sum(
            length((read if committed else lost).ranges())
            for (name, _partition), (lost, read) in self._lost_before.items()
            if client in (None, name)
        )

    def lost_in(self, client: str, partition: str, *, committed: bool) -> list[Range]:
        """Return the numbers of one client's lost records in a deleted partition."""
        found = self._lost_before.get((client, partition))
        return [] if found is None else found[committed].ranges()

    @property
    def count(self) -> int:
        """Number of ranges kept."""
        buried = sum(lost.entries + read.entries for lost, read in self._lost_before.values())
        return buried + sum(purged.entries for purged in self._purged.values())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            tuple([(key, purged.save()) for key, purged in self._purged.items()]),
            tuple(self.topics.items()),
            tuple([(key, lost.save(), read.save()) for key, (lost, read) in self._lost_before.items()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        purged, topics, buried = saved
        self.topics = dict(topics)
        self._purged, self._lost_before = {}, {}
        for key, state in purged:
            self._purged[key] = RangeSet()
            self._purged[key].load(state)
        for key, lost, read in buried:
            self._lost_before[key] = (RangeSet(), RangeSet())
            self._lost_before[key][0].load(lost)
            self._lost_before[key][1].load(read)


# Log branches whose acknowledged records may be missing: a log lost records of them, or a leader lacked any.
#
# Only these are examined to compute missing and lost records, so a long run without losses costs nothing.


class SuspectBranches:
    """Log branches with possibly missing records, by partition."""

    __slots__ = ("_log_branches", "_unexamined")

    def __init__(self) -> None:
        self._log_branches: dict[str, dict[int, LossTrigger | None]] = {}
        """Partition → log branch → the newest truncation that took records of it, if any."""
        self._unexamined: dict[str, None] = {}

    def note(self, partition: str, log_branches: Iterable[int], trigger: LossTrigger | None = None) -> None:
        """Mark log branches whose records may be missing; ``trigger`` is the truncation that removed them, if any."""
        known = self._log_branches.setdefault(partition, {})
        for log_branch in log_branches:
            known[log_branch] = trigger or known.get(log_branch)

    def mark_leader_truncated(self, partition: str) -> None:
        """Mark that the leader's log lost records since it was last examined."""
        self._unexamined[partition] = None

    def mark_examined(self, partition: str) -> None:
        """Mark that the leader's log has been examined."""
        self._unexamined.pop(partition, None)

    def needs_examination(self, partition: str) -> bool:
        """Return whether the leader's log lost records since it was last examined."""
        return partition in self._unexamined

    def log_branches(self, partition: str) -> Iterable[int]:
        """Return the marked log branches of a partition."""
        return self._log_branches.get(partition, ())

    @property
    def partitions(self) -> Iterable[str]:
        """Partitions with marked log branches."""
        return self._log_branches

    def truncation_of(self, partition: str, log_branch: int) -> LossTrigger | None:
        """Return the newest truncation that removed records of a log branch, None if there is none."""
        return self._log_branches.get(partition, {}).get(log_branch)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._log_branches.pop(partition, None)
        self._unexamined.pop(partition, None)

    @property
    def count(self) -> int:
        """Number of marked log branches."""
        return sum(map(len, self._log_branches.values()))

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            tuple([(partition, tuple(log_branches.items())) for partition, log_branches in self._log_branches.items()]),
            tuple(self._unexamined),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        log_branches, unsure = saved
        self._log_branches = {partition: dict(table) for partition, table in log_branches}
        self._unexamined = dict.fromkeys(unsure)


OUT_OF_RANGE: Final = "out of range"
"""Reason for which a follower's log restarts at its leader's log start
(``AbstractFetcherThread.fetchOffsetAndTruncate``)."""

_Interval = tuple[int, int, int]
"""(log branch, start offset, end offset)."""


class Ledger:
    """Outcomes of records by client and acknowledged records by partition, final after :meth:`close`."""

    __slots__ = (
        "_acked", "_causes", "_closed", "_cluster_state", "_emit", "_history", "_missing", "_suspects", "ack_isrs",
        "deletions", "deliveries", "exposed", "repeats",
    )  # fmt: skip

    def __init__(self, cluster_state: ClusterState, history: ClusterHistory, emit: Callable[[Event], None]) -> None:
        self._cluster_state = cluster_state
        self._history = history
        self._emit = emit
        self._acked = {name: AckedRecords(record.topic_id) for name, record in cluster_state.records.items()}
        self._missing: dict[str, tuple[_Interval, ...]] = {}
        """Missing records as of the last change of a leader or of its log."""
        self._suspects = SuspectBranches()
        self._causes: dict[tuple[str, int], list[tuple[int, int, LossTrigger]]] = {}
        """(partition, log branch) → (start, end, trigger) of missing records; empty once they have returned."""
        self.ack_isrs = AckIsrs()
        self._closed: dict[str, tuple[_Interval, ...]] | None = None
        self.deliveries = DeliveryTracker()
        self.deletions = DeletedRecords()
        self.exposed = ExposedRecords(cluster_state, self._acked, self._note_isr_of_rest)
        self.repeats = DuplicateTracker(cluster_state)

    def created(self, partition: str) -> None:
        """Start tracking a new, empty partition."""
        self._acked[partition] = AckedRecords(self._cluster_state.records[partition].topic_id)

    def deleted(self, event: PartitionDeleted) -> None:
        """Handle the deletion of a partition: records that no log held are lost, the others were deleted on purpose."""
        partition = event.partition
        for log_branch, run in self._lost_runs(partition):
            count = run.end - run.start
            self.deletions.add_lost(run.client, partition, run.sequence, count, committed=run.committed)
            self._emit_lost(event.at_us, partition, log_branch, run)
        self.deletions.dropped(partition, self._acked.pop(partition).topic_id)
        self._missing.pop(partition, None)
        self._suspects.forget(partition)
        self._causes = {key: causes for key, causes in self._causes.items() if key[0] != partition}
        self.ack_isrs.forget(partition)
        self.exposed.forget(partition)
        self.repeats.forget(partition)

    def failed(self, event: RecordsFailed) -> None:
        """Record that a client's records failed: they are known not to be written."""
        self.deliveries.decided(FAILED, event.client, event.partition, event.sequence, event.count)

    def unknown(self, event: RecordsUnknown) -> None:
        """Record that the outcome of a client's records is unknown: they may be written."""
        self.deliveries.decided(UNKNOWN, event.client, event.partition, event.sequence, event.count)

    def aborted(self, event: RecordsAborted) -> None:
        """Record that records were aborted with their transaction, so they are not expected to be kept."""
        self.deliveries.decided(ABORTED, event.client, event.partition, event.sequence, event.count)

    def acked(self, event: RecordsAcked) -> None:
        """Record that a client's records were acknowledged."""
        self.deliveries.decided(ACKED, event.client, event.partition, event.sequence, event.count)
        if event.log_branch >= 0:
            self._acknowledged(event)
        elif event.acks == 0:
            self.deliveries.sent_unacknowledged(event.client, event.partition, event.sequence, event.count)

    def appended(self, event: Appended) -> None:
        """Record the ISR for records of acks=1, which the leader acknowledges when it has appended them."""
        epoch_branch = self._cluster_state.replicas[event.partition][event.broker].log.branch_at(event.log_offset)
        if not self.deletions.is_deleted(event.partition, epoch_branch):
            self._note_isr(event.partition, epoch_branch.id, event.log_offset, event.log_offset + event.count)

    def on_unacknowledged_append(self, event: Appended) -> None:
        """Record that acks=0 records reached a leader's log, which identifies them from now on."""
        self.deliveries.arrived(event.client, event.partition, event.sequence, event.count)
        epoch_branch = self._cluster_state.replicas[event.partition][event.broker].log.branch_at(event.log_offset)
        if self.deletions.is_deleted(event.partition, epoch_branch):
            return
        self._acked[event.partition].add(epoch_branch.id, event.log_offset, event.log_offset + event.count)
        self._note_isr(event.partition, epoch_branch.id, event.log_offset, event.log_offset + event.count)
        leader = self._cluster_state.committed_leader(event.partition)
        if leader is not None and leader.broker != event.broker:
            end = event.log_offset + event.count
            self._acked_after_election(event.partition, epoch_branch.id, (event.log_offset, end), leader, event)

    def _acknowledged(self, event: RecordsAcked) -> None:
        partition, log_branch, start = event.partition, event.log_branch, event.log_offset
        end = start + event.count
        if partition in self.deletions.topics:
            epoch_branch = self._cluster_state.epoch_branches[partition].by_id[log_branch]
            if self.deletions.is_deleted(partition, epoch_branch):
                return
        if not self._acked[partition].add(log_branch, start, end):
            return
        self._note_isr_of_rest(partition, log_branch, start, end)
        leader = self._cluster_state.committed_leader(partition)
        if leader is not None and (leader.damages or not leader.log.holds(log_branch, start, end)):
            self._acked_after_election(partition, log_branch, (start, end), leader, event)

    def _note_isr(self, partition: str, log_branch: int, start: int, end: int) -> None:
        """Remember the ISR at an acknowledgement."""
        isr = self._history.isr_of(partition, self._cluster_state.epoch_branches[partition].by_id[log_branch].epoch)
        self.ack_isrs.note(partition, log_branch, start, end, isr)

    def _note_isr_of_rest(self, partition: str, log_branch: int, start: int, end: int) -> None:
        """Remember the ISR for the records of a range for which it is not known yet."""
        isr = self._history.isr_of(partition, self._cluster_state.epoch_branches[partition].by_id[log_branch].epoch)
        self.ack_isrs.note_rest(partition, log_branch, start, end, isr)

    def log_start_moved(self, event: LogStartMoved) -> None:
        """Handle a replica's deletion of its oldest records; those missing at that time stay missing.

        A replica whose leader's log starts after its own end has deleted its whole log.
        """
        if event.partition not in self._acked:
            return
        leads = self._cluster_state.records[event.partition].leader == event.broker
        # Records that the leader held until now were not missing, unless their batch was corrupt.
        missing = self._missing.get(event.partition, ()) if leads else self.missing_in(event.partition)
        for log_branch, start, end in self._cluster_state.replicas[event.partition][event.broker].log.last_deleted:
            absent = [(low, high) for other, low, high in missing if other == log_branch]
            self.deletions.purge(event.partition, log_branch, start, end, absent)
        if event.by == OUT_OF_RANGE:
            self._mark_suspect(event.partition, event.broker, self._acked[event.partition].by_log_branch, None)

    def log_lost(self, event: Truncated | ReplicaDeleted | BatchCorrupted) -> None:
        """Handle the loss of records from a replica's log."""
        partition = event.partition
        if partition not in self._acked or self._cluster_state.is_stale(partition, event.broker):
            return
        log_branches: Iterable[int] = self._acked[partition].by_log_branch
        replica = self._cluster_state.replicas[partition][event.broker]
        if self._goes_with_topic(partition):
            self._purge_taken(replica, event)
        if isinstance(event, Truncated):
            log_branches = [log_branch for log_branch, _start, _end in replica.log.last_truncated]
        self._mark_suspect(partition, event.broker, log_branches, LossTrigger(event, self._history.moment))

    def _purge_taken(self, replica: Replica, event: Truncated | ReplicaDeleted | BatchCorrupted) -> None:
        """Count the removed records as deleted with their topic, unless they were unreadable before."""
        cut = isinstance(event, Truncated)
        taken = replica.log.last_truncated if cut else replica.log.pieces(event.log_offset, event.end_offset)
        damaged = () if isinstance(event, BatchCorrupted) else [each[:2] for each in replica.damages]
        for log_branch, start, end in taken:
            self.deletions.purge(event.partition, log_branch, start, end, damaged)

    def _goes_with_topic(self, partition: str) -> bool:
        """Return whether records that a log loses now are deleted on purpose: the topic's deletion is committed."""
        return self._cluster_state.being_deleted(topic_of(partition))

    def _mark_suspect(
        self, partition: str, broker: int, log_branches: Iterable[int], trigger: LossTrigger | None
    ) -> None:
        self._suspects.note(partition, log_branches, trigger)
        if broker == self._cluster_state.records[partition].leader:
            self._suspects.mark_leader_truncated(partition)

    def leader_changed(self, partition: str, trigger: TraceEvent) -> None:
        """Recompute the missing records after a change of the leader or its log, and report each once."""
        if partition not in self._acked:
            return
        self._suspects.mark_examined(partition)
        leader = self._cluster_state.committed_leader(partition)
        if leader is None or self._goes_with_topic(partition):
            self._missing.pop(partition, None)
            return
        missing: list[_Interval] = []
        for log_branch, ranges in self._acked[partition].by_log_branch.items():
            removed = subtract(
                ranges.ranges(), self.deletions.with_purged(partition, log_branch, undamaged_ranges(leader, log_branch))
            )
            missing.extend((log_branch, start, end) for start, end in removed)
            self._forget_returned(partition, log_branch, removed)
            if removed:
                self._suspects.note(partition, (log_branch,))
        self._missing[partition] = tuple(missing)
        for log_branch, start, end in missing:
            self._report_missing(partition, log_branch, (start, end), trigger)

    def _acked_after_election(
        self, partition: str, log_branch: int, acked: Range, leader: Replica, trigger: TraceEvent
    ) -> None:
        """Report acknowledged records that the current leader does not hold, without recomputing the others.

        A deposed leader may acknowledge many batches, so the cost must not depend on earlier ones.
        """
        if self._goes_with_topic(partition):
            return
        missing = self._missing.get(partition, ())
        self._suspects.note(partition, (log_branch,))
        for start, end in subtract(
            [acked], self.deletions.with_purged(partition, log_branch, undamaged_ranges(leader, log_branch))
        ):
            if missing and missing[-1][0] == log_branch and missing[-1][2] == start:
                missing = (*missing[:-1], (log_branch, missing[-1][1], end))
            else:
                missing = (*missing, (log_branch, start, end))
            self._emit_missing(partition, log_branch, (start, end), trigger)
        self._missing[partition] = missing

    def _forget_returned(self, partition: str, log_branch: int, removed: list[Range]) -> None:
        """Forget the cause of records that the leader holds again; a later loss will have its own."""
        entries = self._causes.get((partition, log_branch))
        if entries:
            self._causes[partition, log_branch] = [
                (max(start, low), min(end, high), trigger)
                for start, end, trigger in entries
                for low, high in removed
                if max(start, low) < min(end, high)
            ]

    def _report_missing(self, partition: str, log_branch: int, removed: Range, trigger: TraceEvent) -> None:
        known = self._causes.setdefault((partition, log_branch), [])
        for fresh in subtract([removed], union((start, end) for start, end, _trigger in known)):
            self._emit_missing(partition, log_branch, fresh, trigger)

    def _emit_missing(self, partition: str, log_branch: int, fresh: Range, trigger: TraceEvent) -> None:
        epoch_branch = self._cluster_state.epoch_branches[partition].by_id[log_branch]
        committed = self._acked[partition].committed_in(log_branch)
        loss_trigger = LossTrigger(trigger, self._history.moment)
        self._causes.setdefault((partition, log_branch), []).append((*fresh, loss_trigger))
        for run in runs_of(epoch_branch, *fresh, committed):
            isr = self.ack_isrs.isr_at(partition, log_branch, run.start)
            cause = loss_sentence(self._history, partition, epoch_branch, run, isr, loss_trigger)
            self._emit(
                RecordsMissing(
                    trigger.at_us, partition, run.client, run.sequence, run.end - run.start, run.start,  # type: ignore[attr-defined]
                    epoch_branch.epoch, run.acks, run.committed, cause,
                )
            )  # fmt: skip

    def missing_in(self, partition: str) -> tuple[_Interval, ...]:
        """Return the acknowledged records that the current leader's log does not hold, by log branch.

        The result is cached since the last leader change, unless the log was truncated since, or the elected leader
        has not yet received its leadership and may still fetch the records from its predecessor.
        """
        missing, unsure = self._missing.get(partition, ()), self._suspects.needs_examination(partition)
        if not missing and not unsure:
            return missing
        leader = self._cluster_state.committed_leader(partition)
        if leader is None or self._goes_with_topic(partition):
            return ()
        if not unsure and leader.leadership is not None:
            return missing
        held = (
            (log_branch, undamaged_ranges(leader, log_branch)) for log_branch in self._suspects.log_branches(partition)
        )
        return tuple(self._absent(partition, held))

    def _absent(self, partition: str, held: Iterable[tuple[int, list[Range]]]) -> Iterator[_Interval]:
        """Yield the acknowledged records that are neither held nor deleted on purpose."""
        for log_branch, ranges in held:
            acked = self._acked[partition].by_log_branch.get(log_branch)
            if acked is not None:
                for start, end in subtract(acked.ranges(), self.deletions.with_purged(partition, log_branch, ranges)):
                    yield log_branch, start, end

    @property
    def closed(self) -> bool:
        """True if the session has ended."""
        return self._closed is not None

    def missing(self, partition: str) -> int:
        """Return the number of acknowledged records that the current leader's log does not hold."""
        return sum(end - start for _log_branch, start, end in self.missing_in(partition))

    def lost_in(self, partition: str) -> tuple[_Interval, ...]:
        """Return the acknowledged records that no replica's log holds, at the end also those missing, by log branch."""
        if self._closed is not None:
            return self._closed[partition]
        replicas = self._cluster_state.replicas[partition].values()
        log_branches = self._suspects.log_branches(partition)
        held = (
            (log_branch, [part for replica in replicas for part in undamaged_ranges(replica, log_branch)])
            for log_branch in log_branches
        )
        return tuple(self._absent(partition, held))

    def acked_lost(self, client: str | None = None) -> int:
        """Return the number of lost acknowledged records, of one client or of all."""
        unplaced = self.deliveries.unplaced(client) if self.closed else []
        return sum(length(numbers) for *_where, numbers in unplaced) + self._lost(client, committed=False)

    def committed_lost(self, client: str | None = None) -> int:
        """Return the number of lost records that consumers could have read."""
        return self._lost(client, committed=True)

    def _lost(self, client: str | None, *, committed: bool) -> int:
        return self.deletions.lost_count(client, committed=committed) + sum(
            run.end - run.start
            for partition in self._cluster_state.records
            for _log_branch, run in self._lost_runs(partition)
            if (run.committed or not committed) and client in (None, run.client)
        )

    def _lost_runs(self, partition: str) -> Iterator[tuple[int, MissingRun]]:
        return self._runs(partition, self.lost_in(partition))

    def _runs(self, partition: str, intervals: Iterable[_Interval]) -> Iterator[tuple[int, MissingRun]]:
        for log_branch, start, end in intervals:
            epoch_branch = self._cluster_state.epoch_branches[partition].by_id[log_branch]
            for run in runs_of(epoch_branch, start, end, self._acked[partition].committed_in(log_branch)):
                yield log_branch, run

    def missing_of(self, client: str | None) -> int:
        """Return the number of missing records, of one client or of all."""
        return sum(
            run.end - run.start
            for partition in self._suspects.partitions
            for _log_branch, run in self._runs(partition, self.missing_in(partition))
            if client in (None, run.client)
        )

    def close(self, now: int) -> None:
        """End the session: missing records are lost. Emit :class:`RecordsLost` for every lost range."""
        closed: dict[str, tuple[_Interval, ...]] = {}
        for partition in self._cluster_state.records:
            self._suspects.note(
                partition, self._acked[partition].by_log_branch
            )  # once, regardless of the events received
            self._suspects.mark_leader_truncated(partition)
            log_branches: dict[int, list[Range]] = {}
            for log_branch, start, end in (*self.lost_in(partition), *self.missing_in(partition)):
                log_branches.setdefault(log_branch, []).append((start, end))
            closed[partition] = tuple(
                (log_branch, start, end) for log_branch, ranges in log_branches.items() for start, end in union(ranges)
            )
        self._closed = closed
        for partition in self._cluster_state.records:
            for log_branch, run in self._lost_runs(partition):
                self._emit_lost(now, partition, log_branch, run)
        for client, partition, numbers in self.deliveries.unplaced():
            count = length(numbers)
            cause = f"{count} records of {client} for {partition} were sent with acks=0 and reached no leader"
            self._emit(RecordsLost(now, partition, client, -1, count, -1, -1, 0, committed=False, cause=cause))

    def _emit_lost(self, now: int, partition: str, log_branch: int, run: MissingRun) -> None:
        epoch_branch = self._cluster_state.epoch_branches[partition].by_id[log_branch]
        cause = self.cause_of(partition, epoch_branch, run)
        self._emit(
            RecordsLost(
                now, partition, run.client, run.sequence, run.end - run.start, run.start, epoch_branch.epoch, run.acks,
                run.committed, cause,
            )
        )  # fmt: skip

    def cause_of(self, partition: str, epoch_branch: EpochBranch, run: MissingRun) -> str:
        """Return the sentence that says why a run of records is missing or lost."""
        isr = self.ack_isrs.isr_at(partition, epoch_branch.id, run.start)
        for start, end, trigger in self._causes.get((partition, epoch_branch.id), ()):
            if start <= run.start < end:
                return loss_sentence(self._history, partition, epoch_branch, run, isr, trigger)
        cut = self._suspects.truncation_of(partition, epoch_branch.id)
        if cut is not None:
            return loss_sentence(self._history, partition, epoch_branch, run, isr, cut)
        return "no replica's log holds them any more"

    def acked_in(self, partition: str, log_branch: int) -> list[Range]:
        """Return the acknowledged offsets of a log branch."""
        ranges = self._acked[partition].by_log_branch.get(log_branch)
        return [] if ranges is None else ranges.ranges()

    def acked_records_of(self, partition: str) -> AckedRecords:
        """Return the acknowledged records of a partition; read only."""
        return self._acked[partition]

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            tuple([(name, acked.topic_id, acked.save()) for name, acked in self._acked.items()]),
            tuple(self._missing.items()),
            self._suspects.save(),
            tuple((key, tuple(causes)) for key, causes in self._causes.items()),
            self.ack_isrs.save(),
            None if self._closed is None else tuple(self._closed.items()),
            self.deliveries.save(),
            self.repeats.save(),
            self.deletions.save(),
            self.exposed.save(),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        acked, missing, doubt, causes, acknowledged, closed, deliveries, repeats, deletions, exposed = saved
        self._acked.clear()
        for name, topic_id, state in acked:
            self._acked[name] = AckedRecords(topic_id)
            self._acked[name].load(state)
        self._missing = dict(missing)
        self._suspects.load(doubt)
        self._causes = {key: list(entries) for key, entries in causes}
        self.ack_isrs.load(acknowledged)
        self._closed = None if closed is None else dict(closed)
        self.deliveries.load(deliveries)
        self.repeats.load(repeats)
        self.deletions.load(deletions)
        self.exposed.load(exposed)
