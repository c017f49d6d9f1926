"""History of rare events by partition, kept to explain losses: elections, truncations, ISR changes, node failures.

When records go missing, the state at that time is kept with them (:class:`PartitionSnapshot`). So the history needs
only events that may explain a future loss, and those that removed copies of missing records: its size depends on the
records in doubt, not on the length of the run.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.history.fault_history import FaultHistory, FaultRecord
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    BatchCorrupted,
    IsrChanged,
    LeaderElected,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    RecordsMissing,
    ReplicaDeleted,
    TraceEvent,
    Truncated,
)
from cluster_model.util.ranges import Range, subtract

# The state in which acknowledged records went missing, kept to find the cause.
#
# A :class:`MissingRecords` covers consecutive records of one leader epoch's log branch that one event removed. It is
# dropped when the leader's log holds them all again.


PRUNE_INTERVAL: Final = 64
"""Number of entries of a partition after which those of returned records are dropped."""


class PartitionSnapshot(NamedTuple):
    """State of a partition at a time, as far as it may explain a loss."""

    moment: int
    replicas: tuple[int, ...]
    """The assignment."""
    isr: tuple[int, ...]
    """ISR committed before the newest election."""
    election: LeaderElected | None
    """The newest leader decision, if it elected a leader."""
    election_moment: int
    """Index of that decision among the rare events."""
    deposed: int
    """The previous leader, -1 for none."""
    fault_records: tuple[FaultRecord, ...]
    fenced: tuple[FaultRecord, ...]
    isr_removals: tuple[tuple[int, int, IsrChanged], ...]
    """How each replica outside the ISR last left it: (broker, moment, event)."""


class MissingRecords(NamedTuple):
    """Consecutive records that went missing together, with the state at that time."""

    epoch: int
    """Leader epoch in which they were written."""
    start: int
    end: int
    trigger: TraceEvent | None
    """The event by which they went missing; None: they were acknowledged when the leader already lacked them."""
    snapshot: PartitionSnapshot
    holders: tuple[int, ...]
    """Replicas other than the leader's that held the first of them."""
    replacing_epoch: int
    """Epoch of the record in the leader's log at the first one's offset, -1 for none."""
    leader_was_stale: bool
    """Whether the leader had used an older epoch than theirs until then."""

    def continues_with(self, other: "MissingRecords") -> bool:
        """Return whether another entry continues this one."""
        return (self.epoch, self.end, self.trigger, self.holders) == (
            other.epoch,
            other.start,
            other.trigger,
            other.holders,
        ) and self.snapshot.election_moment == other.snapshot.election_moment


class MissingRecordsIndex:
    """Ranges of missing records and how they went missing, by partition."""

    __slots__ = ("_cluster_state", "_kept")

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._kept: dict[str, list[MissingRecords]] = {}

    def missing(self, event: RecordsMissing, trigger: TraceEvent | None, snapshot: PartitionSnapshot) -> None:
        """Record that records went missing."""
        start, end = event.log_offset, event.log_offset + event.count
        replicas = self._cluster_state.replicas[event.partition]
        leader = self._cluster_state.records[event.partition].leader
        holders = [
            broker
            for broker, replica in replicas.items()
            if broker != leader
            and epoch_at(replica.log, start) == event.leader_epoch
            and not _is_damaged(replica, start)
        ]
        instead = epoch_at(replicas[leader].log, start) if leader in replicas else -1
        stale = leader in replicas and replicas[leader].leader_epoch < event.leader_epoch
        fresh = MissingRecords(event.leader_epoch, start, end, trigger, snapshot, tuple(holders), instead, stale)
        kept = self._kept.setdefault(event.partition, [])
        if kept and kept[-1].continues_with(fresh):
            kept[-1] = kept[-1]._replace(end=end)
            return
        kept.append(fresh)
        if len(kept) % PRUNE_INTERVAL == 0:
            self._kept[event.partition] = [each for each in kept if self._still_missing(event.partition, each)]

    def _still_missing(self, partition: str, witness: MissingRecords) -> bool:
        """Return whether the leader's log still lacks any of the records."""
        leader = self._cluster_state.committed_leader(partition)
        if leader is None:
            return True
        log = leader.log
        return not (
            epoch_at(log, witness.start) == epoch_at(log, witness.end - 1) == witness.epoch and not leader.damages
        )

    def of(self, partition: str, epoch: int, offset: int) -> MissingRecords | None:
        """Return the newest entry that contains a record, None if there is none."""
        for each in reversed(self._kept.get(partition, ())):
            if each.epoch == epoch and each.start <= offset < each.end:
                return each
        return None

    def of_partition(self, partition: str) -> list[MissingRecords]:
        """Return all entries of a partition, in the order in which the records went missing."""
        return self._kept.get(partition, [])

    def elections(self, partition: str) -> list[int]:
        """Return the moments of the elections that a partition's entries refer to."""
        return [each.snapshot.election_moment for each in self._kept.get(partition, ())]

    def forget(self, partition: str) -> None:
        """Drop the entries of a partition that is deleted or created again."""
        self._kept.pop(partition, None)

    @property
    def entries(self) -> int:
        """Number of entries kept."""
        return sum(len(each) for each in self._kept.values())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple((name, tuple(kept)) for name, kept in self._kept.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._kept = {name: list(kept) for name, kept in saved}


def epoch_at(log: ReplicaLog, offset: int) -> int:
    """Return the leader epoch of the record that a log holds at an offset, -1 for none."""
    if not log.extents or not max(log.log_start, log.extents[0][0]) <= offset < log.leo:
        return -1
    return log.branch_at(offset).epoch


def _is_damaged(replica: Replica, offset: int) -> bool:
    return any(each.start <= offset < each.end for each in replica.damages)


DECISIONS_PRUNE_INTERVAL: Final = 16
"""Number of leader decisions of a partition after which those without missing records are dropped."""
TRUNCATIONS_PRUNE_INTERVAL: Final = 16
"""Number of truncations of a partition after which those that explain nothing are dropped."""
ISRS_KEPT: Final = 32
"""Number of newest epochs whose ISR is always kept."""
UNCLEAN_KEPT: Final = 32
"""Number of unclean elections kept per partition: followers truncate because of them soon or never."""
NO_KNOWN_LEADERS: Final = (-1, -1)
"""(previous leader, leader) of a partition that is no longer known."""


class LogTruncation(NamedTuple):
    """A truncation of a replica's log, with the offsets that it removed."""

    moment: int
    event: Truncated
    removed: tuple[tuple[int, int, int], ...]
    """(log branch, start, end) of each removed range."""
    isr: tuple[int, ...]
    """The ISR committed at that time."""
    epochs_differed: bool
    """Whether the replica, its leader and the controller did not all use the same leader epoch."""

    def removed_any(self, log_branch: int, start: int, end: int) -> bool:
        """Return whether it removed any record of a range."""
        return any(owner == log_branch and low < end and high > start for owner, low, high in self.removed)


class EarlyIsrJoin(NamedTuple):
    """An ISR join of a replica whose log had not reached the start offset of the leader's epoch."""

    moment: int
    event: IsrChanged
    end: int
    """Log end offset of the replica at that time."""
    epoch_start: int
    """Start offset of the leader's epoch."""


def early_joins(cluster_state: ClusterState, event: IsrChanged) -> Iterator[tuple[int, int, int]]:
    """Yield the replicas that join the ISR below the start offset of the leader's epoch (before KAFKA-7128).

    (broker, its log end offset, start offset of the leader's epoch) each.
    """
    leader = cluster_state.committed_leader(event.partition)
    if leader is None or leader.leadership is None:
        return
    epoch_start = leader.leadership.epoch_start
    for broker in event.isr:
        replica = cluster_state.replicas[event.partition].get(broker)
        if broker not in event.previous_isr and replica is not None and replica.log.leo < epoch_start:
            yield broker, replica.log.leo, epoch_start


class ClusterHistory:
    """History of the rare events of one cluster, by partition where an event concerns one."""

    __slots__ = (
        "_cluster_state", "_cuts", "_damages", "_early_joins", "_elections", "_isr_removals", "_isrs", "_leaders",
        "_previous_isr", "_removed", "_saved", "_snapshots", "_unclean", "acked_in", "fault_records", "missing_records",
        "moment", "trigger",
    )  # fmt: skip

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self.moment = 0
        """Number of rare events so far, which orders them even where virtual time does not pass."""
        self.acked_in: Callable[[str, int], list[Range]] = lambda partition, log_branch: []
        """Returns the acknowledged offsets of a log branch: only their truncations can explain a loss."""
        self.fault_records = FaultHistory()
        self.missing_records = MissingRecordsIndex(cluster_state)
        self.trigger: TraceEvent | None = None
        """The rare event being handled."""
        names = cluster_state.records
        self._elections: dict[str, list[tuple[int, LeaderElected | PartitionOffline]]] = {name: [] for name in names}
        """Leader decisions: the newest, and those by which records went missing."""
        self._leaders = {name: (-1, record.leader) for name, record in names.items()}
        """Partition → (previous leader, newest leader)."""
        self._previous_isr = {name: record.isr for name, record in names.items()}
        """Partition → ISR before the newest election."""
        self._unclean: dict[str, list[LeaderElected]] = {}
        """Partition → its newest unclean elections."""
        self._cuts: dict[str, list[LogTruncation]] = {name: [] for name in names}
        self._isrs = {name: [(0, record.isr)] for name, record in names.items()}
        """Partition → (leader epoch, its newest ISR) each."""
        self._isr_removals: dict[str, dict[int, tuple[int, IsrChanged]]] = {}
        self._removed: dict[str, dict[int, tuple[int, ReplicaDeleted]]] = {}
        self._early_joins: dict[str, dict[int, EarlyIsrJoin]] = {}
        """Partition → broker → its newest early join."""
        self._damages: list[tuple[int, BatchCorrupted]] = []
        self._snapshots: dict[str, PartitionSnapshot] = {}
        """Snapshots, cached until the next rare event."""
        self._saved: tuple[Any, ...] | None = None
        """Cached result of :meth:`save`, until something changes."""

    def observe(self, event: TraceEvent) -> None:
        """Record an event that may explain a loss."""
        self._saved = None
        if isinstance(event, RecordsMissing):
            self.missing_records.missing(event, self.trigger, self.snapshot(event.partition))
            return
        self.moment += 1
        if self._snapshots:
            self._snapshots.clear()
        self.fault_records.observe(event, self.moment)
        if isinstance(event, PartitionCreated):
            self._partition_created(event)
        elif isinstance(event, PartitionDeleted):
            for table in self._tables():
                table.pop(event.partition, None)
            self.missing_records.forget(event.partition)
        elif isinstance(event, LeaderElected | PartitionOffline):
            self._leader_decided(event)
        elif isinstance(event, Truncated):
            if not self._cluster_state.is_stale(event.partition, event.broker):
                self._truncated(event)
        elif isinstance(event, BatchCorrupted):
            self._damages.append((self.moment, event))
        elif isinstance(event, IsrChanged):
            self._isr_changed(event)
        elif isinstance(event, ReplicaDeleted):
            self._removed.setdefault(event.partition, {})[event.broker] = (self.moment, event)

    def _tables(self) -> tuple[dict[str, Any], ...]:
        return (
            self._elections, self._leaders, self._previous_isr, self._cuts, self._isrs, self._isr_removals,
            self._removed, self._unclean, self._early_joins,
        )  # fmt: skip

    def _partition_created(self, event: PartitionCreated) -> None:
        name = event.partition
        for table in self._tables():
            table.pop(name, None)
        self.missing_records.forget(name)
        self._cuts[name], self._elections[name] = [], []
        self._isrs[name] = [(event.leader_epoch, event.isr)]
        self._leaders[name] = (-1, event.leader)
        self._previous_isr[name] = event.isr

    def _leader_decided(self, event: LeaderElected | PartitionOffline) -> None:
        name = event.partition
        decided = self._elections[name]
        decided.append((self.moment, event))
        if len(decided) % DECISIONS_PRUNE_INTERVAL == 0:
            named = self.missing_records.elections(name)
            self._elections[name] = [each for each in decided[:-1] if each[0] in named] + decided[-1:]
        self._previous_isr[name] = self._isrs[name][-1][1]
        if isinstance(event, LeaderElected):
            if not event.clean:
                self._unclean[name] = [*self._unclean.get(name, ())[1 - UNCLEAN_KEPT :], event]
            self._leaders[name] = (self._leaders[name][1], event.leader)

    def _isr_changed(self, event: IsrChanged) -> None:
        isrs = self._isrs[event.partition]
        if isrs[-1][0] == event.leader_epoch:
            isrs.pop()
        isrs.append((event.leader_epoch, event.isr))
        if len(isrs) > 2 * ISRS_KEPT:
            self._forget_isrs(event.partition)
        dropped = self._isr_removals.setdefault(event.partition, {})
        for broker in event.isr:
            dropped.pop(broker, None)
        for broker in event.previous_isr:
            if broker not in event.isr:
                dropped[broker] = (self.moment, event)
        for broker, end, epoch_start in early_joins(self._cluster_state, event):
            self._early_joins.setdefault(event.partition, {})[broker] = EarlyIsrJoin(
                self.moment, event, end, epoch_start
            )

    def early_join(self, partition: str, broker: int, offset: int, until: int) -> EarlyIsrJoin | None:
        """Return a replica's early ISR join up to a moment without the record at ``offset``, None if there is none."""
        join = self._early_joins.get(partition, {}).get(broker)
        matches = join is not None and join.moment <= until and join.end <= offset < join.epoch_start
        return join if matches else None

    def _forget_isrs(self, partition: str) -> None:
        """Drop old ISRs, except the newest ones and those of epochs that a replica still uses."""
        isrs = self._isrs[partition]
        oldest = min((each.leader_epoch for each in self._cluster_state.replicas[partition].values()), default=0)
        needed = max((place for place, (epoch, _isr) in enumerate(isrs) if epoch <= oldest), default=0)
        del isrs[: min(needed, len(isrs) - ISRS_KEPT)]

    def _truncated(self, event: Truncated) -> None:
        log = self._cluster_state.replicas[event.partition][event.broker].log
        truncations = self._cuts[event.partition]
        isr = self._isrs[event.partition][-1][1]
        truncations.append(LogTruncation(self.moment, event, log.last_truncated, isr, self._epochs_differ(event)))
        if len(truncations) % TRUNCATIONS_PRUNE_INTERVAL == 0:
            kept = [
                truncation
                for truncation in truncations[: -TRUNCATIONS_PRUNE_INTERVAL // 2]
                if self._explains(truncation)
            ]
            self._cuts[event.partition] = kept + truncations[-TRUNCATIONS_PRUNE_INTERVAL // 2 :]

    def _epochs_differ(self, event: Truncated) -> bool:
        """Return whether a truncating replica, its leader and the controller used different epochs."""
        replicas, record = (
            self._cluster_state.replicas[event.partition],
            self._cluster_state.records.get(event.partition),
        )
        leader = replicas.get(replicas[event.broker].leader)
        known = [each.leader_epoch for each in (record, leader) if each is not None]
        return any(epoch != event.leader_epoch for epoch in known)

    def _explains(self, truncation: LogTruncation) -> bool:
        """Return whether a replica lacks acknowledged records because of a truncation."""
        name = truncation.event.partition
        replica = self._cluster_state.replicas[name].get(truncation.event.broker)
        for log_branch, start, end in truncation.removed:
            lacked = [(start, end)] if replica is None else subtract([(start, end)], replica.log.ranges_of(log_branch))
            acked = self.acked_in(name, log_branch)
            if any(low < high_acked and high > low_acked for low, high in lacked for low_acked, high_acked in acked):
                return True
        return False

    def isr_of(self, partition: str, leader_epoch: int) -> tuple[int, ...]:
        """Return the newest ISR that the leader of an epoch can use now."""
        isrs = self._isrs[partition]
        epoch, isr = isrs[-1]
        if epoch <= leader_epoch:
            return isr
        return next((isr for epoch, isr in reversed(isrs) if epoch <= leader_epoch), isrs[0][1])

    def leader_of(self, partition: str) -> int:
        """Return the current leader, or the last one of a partition that is being deleted; -1 for none."""
        record = self._cluster_state.records.get(partition)
        if record is not None:
            return record.leader
        decisions = self._elections.get(partition)
        if decisions and isinstance(decisions[-1][1], PartitionOffline):
            return -1
        return self._leaders.get(partition, NO_KNOWN_LEADERS)[1]

    def snapshot(self, partition: str) -> PartitionSnapshot:
        """Return the current state; of a deleted partition what is still known, possibly nothing."""
        snapshot = self._snapshots.get(partition)
        if snapshot is None:
            snapshot = self._snapshots[partition] = self._snapshot(partition)
        return snapshot

    def _snapshot(self, partition: str) -> PartitionSnapshot:
        decisions = self._elections.get(partition)
        moment, decided = decisions[-1] if decisions else (-1, None)
        record = self._cluster_state.records.get(partition)
        deposed, leader = self._leaders.get(partition, NO_KNOWN_LEADERS)
        if not isinstance(decided, LeaderElected):
            deposed = leader
        assignment = tuple(self._cluster_state.replicas.get(partition, ()) if record is None else record.assignment)
        fenced = [self.fault_records.fenced(broker) for broker in assignment]
        return PartitionSnapshot(
            self.moment,
            assignment,
            self._previous_isr.get(partition, ()),
            decided if isinstance(decided, LeaderElected) else None,
            moment,
            deposed,
            self.fault_records.records(),
            tuple(each for each in fenced if each is not None),
            tuple((broker, *left) for broker, left in self._isr_removals.get(partition, {}).items()),
        )

    def last_election(self, partition: str, until: int) -> LeaderElected | None:
        """Return the newest leader decision up to a moment, if it elected a leader."""
        decided = [event for moment, event in self._elections[partition] if moment <= until]
        return decided[-1] if decided and isinstance(decided[-1], LeaderElected) else None

    def unclean(self, partition: str, leader_epoch: int) -> LeaderElected | None:
        """Return the election that began an epoch, if it was unclean."""
        return next((each for each in self._unclean.get(partition, ()) if each.leader_epoch == leader_epoch), None)

    def last_truncation(
        self, partition: str, broker: int, log_branch: int, offsets: Range, until: int
    ) -> Truncated | None:
        """Return the newest truncation up to a moment by which a replica lost any record of a range."""
        for truncation in reversed(self._cuts[partition]):
            if (
                truncation.moment <= until
                and truncation.event.broker == broker
                and truncation.removed_any(log_branch, *offsets)
            ):
                return truncation.event
        return None

    def truncations_of(self, partition: str, log_branch: int, offsets: Range) -> list[LogTruncation]:
        """Return all kept truncations that removed any record of a range, in order."""
        return [
            truncation for truncation in self._cuts.get(partition, ()) if truncation.removed_any(log_branch, *offsets)
        ]

    def truncations_at(self, partition: str, offsets: Range, until_us: int) -> list[LogTruncation]:
        """Return all kept truncations up to a time that removed any record at these offsets."""
        return [
            truncation
            for truncation in self._cuts.get(partition, ())
            if truncation.event.at_us <= until_us
            and truncation.event.log_offset < offsets[1]
            and truncation.event.end_offset > offsets[0]
        ]

    def removed(self, partition: str) -> dict[int, tuple[int, ReplicaDeleted]]:
        """Return the last deletion of each broker's replica: broker → (moment, event)."""
        return self._removed.get(partition, {})

    def damage(self, partition: str, broker: int, offsets: Range, until: int) -> tuple[int, BatchCorrupted] | None:
        """Return when a replica's copy at these offsets was damaged on disk, up to a moment; None if it was not."""
        for moment, event in reversed(self._damages):
            matches = (event.partition, event.broker) == (partition, broker)
            if matches and moment <= until and event.log_offset < offsets[1] and event.end_offset > offsets[0]:
                return None if self._truncated_since(moment, event, until) else (moment, event)
        return None

    def _truncated_since(self, since: int, damaged: BatchCorrupted, until: int) -> bool:
        """Return whether a damaged batch was truncated between two moments, so that another copy replaced it."""
        return any(
            since < truncation.moment < until
            and truncation.event.broker == damaged.broker
            and truncation.event.log_offset <= damaged.log_offset
            for truncation in self._cuts.get(damaged.partition, ())
        )

    def damaged(self, partition: str, broker: int, offsets: Range, until: int) -> bool:
        """Return whether a replica's copy of any record at these offsets was damaged on disk by a moment."""
        return self.damage(partition, broker, offsets, until) is not None

    @property
    def entries(self) -> int:
        """Number of events kept."""
        tables_of_lists = (self._cuts, self._isrs, self._elections, self._unclean)
        lists = sum(len(each) for table in tables_of_lists for each in table.values())
        tables = sum(
            len(each) for table in (self._isr_removals, self._removed, self._early_joins) for each in table.values()
        )
        return lists + tables + len(self._damages) + self.fault_records.entries + self.missing_records.entries

    def save(self) -> tuple[Any, ...]:
        """Return the whole state; events never change, so copies of their lists are enough."""
        if self._saved is not None:
            return self._saved
        lists = [
            tuple((name, tuple(each)) for name, each in table.items())
            for table in (self._cuts, self._isrs, self._elections, self._unclean)
        ]
        nested = [
            tuple((name, tuple(each.items())) for name, each in table.items())
            for table in (self._isr_removals, self._removed, self._early_joins)
        ]
        plain = [tuple(table.items()) for table in (self._leaders, self._previous_isr)]
        self._saved = (
            self.moment, tuple(self._damages), tuple(lists), tuple(nested), tuple(plain), self.fault_records.save(),
            self.missing_records.save(),
        )  # fmt: skip
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._saved = saved
        self._snapshots.clear()
        self.moment, damages, lists, nested, plain, fault_records, witnesses = saved
        self._damages = list(damages)
        self._cuts, self._isrs, self._elections, self._unclean = (
            {name: list(each) for name, each in table} for table in lists
        )
        self._isr_removals, self._removed, self._early_joins = (
            {name: dict(each) for name, each in table} for table in nested
        )
        self._leaders, self._previous_isr = (dict(table) for table in plain)
        self.fault_records.load(fault_records)
        self.missing_records.load(witnesses)
