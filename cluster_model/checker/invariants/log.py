"""Log invariants: replicas match, offsets stay in bounds, and compaction keeps the newest record of each key."""

from bisect import bisect_right
from itertools import combinations, pairwise
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import (
    ABOVE_HW,
    FENCING_FIXES,
    HIGH_WATERMARK,
    LOSSY_CRASH_FIXES,
    EventHandlers,
    Invariant,
    InvariantDefinition,
    ProtocolFix,
    listed,
)
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.log.record_keys import Key, keys_of
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.protocol.configs import NEVER
from cluster_model.protocol.events import (
    BecameFollower,
    BecameLeader,
    HwAdvanced,
    IsrChanged,
    LogCleaned,
    LogStartMoved,
    RecoveryFinished,
    SegmentRolled,
    Truncated,
)
from cluster_model.protocol.records import ABORT, CleanerInput, CompactionOverlay

LOG_MATCHING: Final = InvariantDefinition(
    "log-matching",
    "Log matching",
    "Two replicas whose records at an offset have the same leader epoch hold the same records up to there, and in-sync "
    "replicas hold the same records below their leader's HW, except those that compaction removed.",
    "KIP-101, KIP-279, KIP-320",
    (
        ProtocolFix("epoch_truncation", "KIP-101", "0.11"),
        ProtocolFix("kip_279", "KIP-279", "2.0"),
        *FENCING_FIXES,
        *LOSSY_CRASH_FIXES,
    ),
)


class LogMatching(Invariant):
    """Invariant log-matching, checked when an HW passes differing records, the ISR changes, or a replica changes."""

    __slots__ = ()
    definition = LOG_MATCHING

    def handlers(self) -> EventHandlers:
        """Return the handlers of ISR changes, role changes and truncations."""
        return {
            IsrChanged: self._isr_changed,
            BecameLeader: self._replica_changed,
            BecameFollower: self._replica_changed,
            Truncated: self._replica_changed,
        }

    def _isr_changed(self, event: IsrChanged) -> None:
        if event.leader >= 0 and event.by == "leader":
            self.logs_differ(event.partition, event.at_us)
        for one, other in combinations(self.cluster_state.replicas[event.partition].values(), 2):
            self._match(event.partition, one, other, event.at_us)

    def _replica_changed(self, event: BecameLeader | BecameFollower | Truncated) -> None:
        replicas = self.cluster_state.replicas[event.partition]
        changed = replicas[event.broker]
        for other in replicas.values():
            self._match(event.partition, changed, other, event.at_us)

    def logs_differ(self, partition: str, now: int) -> None:
        """Check that every in-sync replica holds the same records as the leader below its HW."""
        record, leader = self.cluster_state.records[partition], self.cluster_state.committed_leader(partition)
        if leader is None:
            return
        replicas = self.cluster_state.replicas[partition]
        for broker in record.isr:
            replica = replicas.get(broker)  # A new partition's replica may not exist yet.
            if replica is None or replica.log.extents == leader.log.extents or replica.topic_id != leader.topic_id:
                continue
            found = [(start, end) for start, end in differing(leader.log, replica.log) if start < leader.hw]
            if found:
                start, end = found[0]
                detail = (
                    f"brokers {record.leader} and {broker} are in sync with HW {leader.hw} but hold different records "
                    f"at offsets {start} to {end - 1}"
                )
                # A later leader sees the same fault from the other side: the newer epoch identifies it.
                epochs = (leader.log.branch_at(start).epoch, replica.log.branch_at(start).epoch)
                when = self.context.circumstances(partition, epochs[0])
                self._report(partition, broker, (start, end), now, detail, max(epochs), when)

    def _match(self, partition: str, one: Replica, other: Replica, now: int) -> None:
        """Check two replicas: if an offset has the same epoch in both, the records up to it must be the same."""
        if one is other or one.topic_id != other.topic_id or one.log.extents == other.log.extents:
            return
        parts = differing(one.log, other.log)
        if not parts:
            return
        start, end = parts[0]
        epoch = _agreed_epoch(one.log, other.log, start)
        if epoch >= 0:
            detail = (
                f"brokers {one.broker} and {other.broker} both hold records of epoch {epoch} but differ at offsets "
                f"{start} to {end - 1}"
            )
            when = self.context.circumstances(partition, epoch)
            self._report(partition, max(one.broker, other.broker), (start, end), now, detail, epoch, when)

    def _report(
        self,
        partition: str,
        broker: int,
        offsets: tuple[int, int],
        now: int,
        detail: str,
        epoch: int,
        when: tuple[str, ...],
    ) -> None:
        self.context.report(self.definition, now, partition, broker, detail, offsets=offsets, epoch=epoch, when=when)


def _agreed_epoch(one: ReplicaLog, other: ReplicaLog, start: int) -> int:
    """Return the first epoch that both logs have at the same offset at or after ``start``, -1 for none."""
    at, end = start, min(one.leo, other.leo)
    by_id = one.epoch_branches.by_id
    while at < end:
        left, right = one.extent_index(at), other.extent_index(at)
        epoch = by_id[one.extents[left][1]].epoch
        if epoch == by_id[other.extents[right][1]].epoch:
            return epoch
        at = min(_next(one, left, end), _next(other, right, end))
    return -1


def _next(log: ReplicaLog, index: int, end: int) -> int:
    return log.extents[index + 1][0] if index + 1 < len(log.extents) else end


BOUNDS: Final = InvariantDefinition(
    "log-bounds",
    "Log bounds",
    "On every replica log start <= HW <= log end, the recovery point is at most the log end, and the segments are "
    "disjoint and in ascending order.",
    "UnifiedLog, LogSegments",
    (ProtocolFix("retention_waits_hw", "KAFKA-5634", "0.11.0.1", HIGH_WATERMARK),),
)


class LogBounds(Invariant):
    """Invariant log-bounds, checked when an HW or a follower's LEO moves, and when segments change."""

    __slots__ = ()
    definition = BOUNDS

    def handlers(self) -> EventHandlers:
        """Return the handlers of events other than appends that move an offset or change segments."""
        return {
            **dict.fromkeys((BecameLeader, BecameFollower, Truncated, LogStartMoved), self._moved),
            SegmentRolled: self._rolled,
            RecoveryFinished: self._recovered,
        }

    def hw_advanced(self, event: HwAdvanced, replica: Replica, _record: CommittedPartition) -> None:
        """Check the offsets of a leader whose HW advanced."""
        log = replica.log
        leo = log.leo
        if not log.log_start <= replica.hw <= leo or log.recovery_point > leo:
            self._markers(event.partition, replica, event.at_us)

    def followed(self, replica: Replica, now: int) -> None:
        """Check the offsets of a follower that appended fetched records."""
        self._markers(replica.partition, replica, now)

    def _moved(self, event: BecameLeader | BecameFollower | Truncated | LogStartMoved) -> None:
        self._check(event.partition, self.cluster_state.replicas[event.partition][event.broker], event.at_us)

    def _rolled(self, event: SegmentRolled) -> None:
        """Check the segments only: in the middle of an append the offsets are not final yet."""
        replica = self.cluster_state.replicas[event.partition][event.broker]
        self._segments(event.partition, replica, event.at_us, event.log_offset)

    def _recovered(self, event: RecoveryFinished) -> None:
        for partition, replicas in self.cluster_state.replicas.items():
            replica = replicas.get(event.broker)
            if replica is not None:
                self._check(partition, replica, event.at_us)

    def _check(self, partition: str, replica: Replica, now: int) -> None:
        self._markers(partition, replica, now)
        self._segments(partition, replica, now, replica.log.leo)

    def _segments(self, partition: str, replica: Replica, now: int, end: int) -> None:
        log = replica.log
        bases = [segment.base for segment in log.segments.all]
        if any(one >= two for one, two in pairwise(bases)) or bases[-1] > end:
            detail = f"broker {replica.broker}: segment base offsets {listed(bases)}, LEO {log.leo}"
            self._report(partition, replica, "segments", now, detail)

    def _markers(self, partition: str, replica: Replica, now: int) -> None:
        log = replica.log
        if not log.log_start <= replica.hw <= log.leo:
            detail = f"broker {replica.broker}: log start {log.log_start}, HW {replica.hw}, LEO {log.leo}"
            when = (HIGH_WATERMARK,) if replica.hw < log.log_start else ()
            self._report(partition, replica, "HW", now, detail, when)
        if log.recovery_point > log.leo:
            detail = f"broker {replica.broker}: recovery point {log.recovery_point}, LEO {log.leo}"
            self._report(partition, replica, "recovery point", now, detail)

    def _report(
        self, partition: str, replica: Replica, fault: str, now: int, detail: str, when: tuple[str, ...] = ()
    ) -> None:
        offsets = (replica.log.log_start, replica.log.leo)
        epoch = replica.leader_epoch
        self.context.report(
            self.definition, now, partition, replica.broker, detail, fault=fault, offsets=offsets, epoch=epoch,
            when=when,
        )  # fmt: skip


KEEPS_NEWEST: Final = InvariantDefinition(
    "compaction-keeps-newest",
    "Compaction keeps the newest record of a key",
    "A compaction pass removes no record that is the newest committed one of its key in that log, except a tombstone "
    "kept for delete.retention.ms: since 3.1 counted from the first pass that kept it, before by the age of its "
    "segment's file.",
    "Cleaner.shouldRetainRecord, KIP-534",
    (ProtocolFix("cleans_committed", "KAFKA-13194", "3.1", ABOVE_HW),),
)

VALUE: Final = -1
"""Used instead of a batch's base offset: the record is a value, not a tombstone."""


class CompactionKeepsNewest(Invariant):
    """Invariant compaction-keeps-newest, checked after every pass that removed records against the log before it."""

    __slots__ = ()
    definition = KEEPS_NEWEST

    def handlers(self) -> EventHandlers:
        """Return the handler of compaction passes."""
        return {LogCleaned: self._cleaned}

    def _cleaned(self, event: LogCleaned) -> None:
        replica = self.cluster_state.replicas[event.partition][event.broker]
        log = replica.log
        after, swept = log.cleaned, replica.last_swept
        if after is None or swept is None:
            return
        first = _first_taken(swept.before, after)
        if first < 0:
            return
        taken = _taken(_newest(log, swept.before, first, replica.lso), after)
        horizons = dict(swept.before.horizons) if taken and replica.profile.delete_horizon else {}
        reported: dict[str, None] = {}
        for offset, base in taken:
            due_us = horizons.get(base, NEVER)
            if base != VALUE and (due_us <= replica.wall_time(event.at_us) or _is_old(replica, swept, event, offset)):
                continue
            what, when = ("value", "") if base == VALUE else ("tombstone", " before delete.retention.ms")
            if what not in reported:
                reported[what] = None
                self.context.report(
                    self.definition, event.at_us, event.partition, event.broker,
                    f"broker {event.broker} compacted its log and removed the {what} at offset {offset}, the newest "
                    f"record of its key{when}",
                    fault=what, offsets=(offset, offset + 1), epoch=log.branch_at(offset).epoch,
                    when=(ABOVE_HW,) if event.end_offset > replica.lso else (),
                )  # fmt: skip


def _first_taken(before: CompactionOverlay, after: CompactionOverlay) -> int:
    """Return the first offset that a pass removed, -1 for none."""
    return next((low for start, end in after.holes for low, _high in before.remaining(start, end)), -1)


def _newest(log: ReplicaLog, before: CompactionOverlay, start: int, stable: int) -> dict[Key, tuple[int, int]]:
    """Return each key's newest committed record at or after ``start``, before a pass: (offset, base of the batch).

    The base is :data:`VALUE` unless the record is a tombstone. Aborted records do not count.
    """
    newest: dict[Key, tuple[int, int]] = {}
    for _epoch_branch, batch, low, high in log.batches_between(start, stable):
        parts = before.remaining(low, high)
        if not parts or batch.kind >= ABORT or (batch.kind and log.transactions.is_aborted(batch)):
            continue
        keys, deletes = keys_of(log.epoch_branches.keys, batch)
        for first, end in parts:
            for offset in range(first, end):
                key = keys[offset - batch.base]
                if key is not None:
                    newest[key] = (offset, batch.base if offset - batch.base in deletes else VALUE)
    return newest


def _taken(newest: dict[Key, tuple[int, int]], after: CompactionOverlay) -> list[tuple[int, int]]:
    """Return the newest records that a pass removed, in order of offset."""
    busy: list[tuple[int, int]] = []
    holes, at = after.holes, 0
    for each in sorted(newest.values()):
        while at < len(holes) and holes[at][1] <= each[0]:
            at += 1
        if at == len(holes):
            break
        if holes[at][0] <= each[0]:
            busy.append(each)
    return busy


def _is_old(replica: Replica, swept: CleanerInput, event: LogCleaned, offset: int) -> bool:
    """Return whether a tombstone may be removed by its file's age, relative to the newest already clean segment."""
    if replica.profile.delete_horizon:
        return False
    clean = [modified_us for start, modified_us in swept.files if start < event.log_offset]
    _base, modified_us = swept.files[bisect_right(swept.files, offset, key=lambda each: each[0]) - 1]
    return bool(clean) and modified_us <= clean[-1] - replica.log.rules.tombstone_us
