"""High watermark invariants: the HW does not fall within a leadership, and exposed records stay readable."""

from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import (
    EARLY_JOIN_FIX,
    FENCING_FIXES,
    LOSSY_CRASH_FIXES,
    UNKNOWN_EPOCH_FIX,
    EventHandlers,
    Invariant,
    InvariantContext,
    InvariantDefinition,
    ProtocolFix,
)
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.events import (
    BecameFollower,
    BecameLeader,
    HwAdvanced,
    LeaderElected,
    RecordsRead,
    Truncated,
)
from cluster_model.protocol.records import Extent

STABLE_READS: Final = InvariantDefinition(
    "stable-reads",
    "Stable reads",
    "No consumer receives a record above every HW ever exposed, or a different record from the one exposed at its "
    "offset, and no record below an exposed HW is missing from a later leader's log.",
    "KIP-101, KIP-320",
    (
        ProtocolFix("epoch_truncation", "KIP-101", "0.11"),
        ProtocolFix("kip_279", "KIP-279", "2.0"),
        *FENCING_FIXES,
        EARLY_JOIN_FIX,
        UNKNOWN_EPOCH_FIX,
        *LOSSY_CRASH_FIXES,
    ),
    "Those of acks-all-durability.",
)

ExposedExtents = tuple[tuple[Extent, ...], int]
"""Log branches as (first offset, branch id) each, and the HW up to which they were exposed."""


class StableReads(Invariant):
    """Invariant stable-reads; exposed records are kept as log branches, so an HW advance costs one comparison."""

    __slots__ = ("_exposed", "ends", "log_branches")
    definition = STABLE_READS

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._exposed: dict[str, tuple[Extent, ...]] = {}
        self.log_branches: dict[str, int] = {}
        """Partition → the log branch that its highest exposed HW is in."""
        self.ends: dict[str, int] = {}
        """Partition → the highest HW exposed."""

    def handlers(self) -> EventHandlers:
        """Return the handlers of new leaders."""
        return {LeaderElected: self._leader_changed, BecameLeader: self._leader_changed}

    def hw_advanced(self, event: HwAdvanced, replica: Replica, _record: CommittedPartition) -> None:
        """Note how far consumers can read, for any leader."""
        partition, hw = event.partition, event.hw
        if hw <= self.ends.get(partition, 0):
            return
        if replica.log.extents[-1][1] != self.log_branches.get(partition, -1):
            self._branch_changed(partition, replica, hw, event)
        self.ends[partition] = hw

    def read(self, event: RecordsRead) -> None:
        """Check records that a consumer received."""
        partition = event.partition
        if event.log_branch == self.log_branches.get(partition, -1) and event.end_offset <= self.ends[partition]:
            return
        if event.log_branch >= 0:
            self._check_read(event)

    def _check_read(self, event: RecordsRead) -> None:
        """Check received records of an older log branch, or above the exposed HW."""
        partition = event.partition
        epoch_branch = self.cluster_state.epoch_branches[partition].by_id[event.log_branch]
        record = self.cluster_state.records.get(partition)
        if record is None or epoch_branch.topic_id != record.topic_id:
            return
        if self.context.allowed_losses.covers(partition, epoch_branch.epoch):
            return
        start, end, exposed = event.log_offset, event.end_offset, self.ends.get(partition, 0)
        if end > exposed:
            detail = (
                f"{event.client} received records up to offset {end - 1}, above the highest HW ever exposed, {exposed}"
            )
            offsets = (max(start, exposed), end)
            self._report(partition, event.broker, offsets, event, detail, epoch_branch.epoch, f"above, {event.client}")
            return
        extents = self._exposed[partition]  # Present, since records were exposed.
        if start < extents[0][0]:
            return  # Retention deleted the records exposed there.
        log_branches = [log_branch for at, log_branch in extents if at < end]
        first = max(index for index, (at, _log_branch) in enumerate(extents) if at <= start)
        if set(log_branches[first:]) != {event.log_branch}:
            detail = (
                f"{event.client} received records of epoch {epoch_branch.epoch} at offset {start}, where "
                "different records had been exposed"
            )
            self._report(
                partition, event.broker, (start, end), event, detail, epoch_branch.epoch, f"other, {event.client}"
            )

    def _branch_changed(self, partition: str, replica: Replica, hw: int, event: HwAdvanced) -> None:
        self._compare(partition, replica, event, self.ends.get(partition, 0))
        extents = _below(replica.log, hw)
        self._exposed[partition], self.log_branches[partition] = extents, extents[-1][1]

    def _leader_changed(self, event: LeaderElected | BecameLeader) -> None:
        """Check that a new leader holds all exposed records."""
        partition = event.partition
        leader = self.cluster_state.committed_leader(partition)
        if leader is None or partition not in self._exposed:
            return
        if isinstance(event, LeaderElected):
            if self.context.allowed_losses.lacks_lost_records(partition, leader.broker):
                return  # It may be fenced before it is back to lead.
        elif event.broker != leader.broker:
            return
        end = self.ends[partition]
        if self._compare(partition, leader, event, end):
            end = min(end, leader.log.leo)
            extents = _below(leader.log, end)
            if extents:
                self._exposed[partition], self.log_branches[partition], self.ends[partition] = (
                    extents,
                    extents[-1][1],
                    end,
                )
            else:
                self.forget(partition)

    def _compare(
        self, partition: str, leader: Replica, event: LeaderElected | BecameLeader | HwAdvanced, end: int
    ) -> bool:
        """Return whether a leader's log differs from the records exposed below ``end``; report it unless allowed."""
        exposed = self._exposed.get(partition)
        if exposed is None:
            return False
        missing = _first_missing(exposed, end, leader.log)
        if missing is None:
            return False
        start, log_branch = missing
        epoch = self.cluster_state.epoch_branches[partition].by_id[log_branch].epoch
        if not self.context.allowed_losses.covers(partition, epoch):
            difference = "holds a different record" if start < leader.log.leo else "holds no record"
            detail = (
                f"offsets up to {end - 1} had been exposed, but leader {leader.broker} {difference} at offset {start} "
                f"(exposed: epoch {epoch})"
            )
            self._report(partition, leader.broker, (start, end), event, detail, epoch)
        return True

    def _report(
        self,
        partition: str,
        broker: int,
        offsets: tuple[int, int],
        event: LeaderElected | BecameLeader | HwAdvanced | RecordsRead,
        detail: str,
        epoch: int,
        fault: str = "",
    ) -> None:
        when = self.context.circumstances(partition, epoch)
        self.context.report(
            self.definition, event.at_us, partition, broker, detail, fault=fault, offsets=offsets, epoch=epoch,
            when=when,
        )  # fmt: skip

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        for table in (self._exposed, self.log_branches, self.ends):
            table.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (tuple(self._exposed.items()), tuple(self.log_branches.items()), tuple(self.ends.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        exposed, log_branches, ends = saved
        self._exposed, self.log_branches, self.ends = dict(exposed), dict(log_branches), dict(ends)


def _below(log: ReplicaLog, end: int) -> tuple[Extent, ...]:
    """Return the extents of a log below an offset."""
    return tuple([extent for extent in log.extents if extent[0] < end])


def _first_missing(exposed: tuple[Extent, ...], end: int, log: ReplicaLog) -> tuple[int, int] | None:
    """Return the first exposed (offset, log branch) below ``end`` that a log lacks; retention does not count."""
    for number, (start, log_branch) in enumerate(exposed):
        stop = min(end, exposed[number + 1][0] if number + 1 < len(exposed) else end)
        at = max(start, log.log_start)
        while at < stop:
            if at >= log.leo:
                return at, log_branch
            index = log.extent_index(at)
            if log.extents[index][1] != log_branch:
                return at, log_branch
            at = log.extents[index + 1][0] if index + 1 < len(log.extents) else log.leo
    return None


HW_WITHIN: Final = InvariantDefinition(
    "hw-within-leadership",
    "HW never decreases within a leadership",
    "From the start of a leadership to the leader's next role its HW never decreases.",
    "Partition.maybeIncrementLeaderHW",
)


class HwWithin(Invariant):
    """Invariant hw-within-leadership, checked at every HW advance of a leader."""

    __slots__ = ("hws",)
    definition = HW_WITHIN

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self.hws: dict[str, dict[int, int]] = {}
        """Partition → broker → its HW in this leadership."""

    def handlers(self) -> EventHandlers:
        """Return the handlers of role changes and truncations."""
        return {BecameLeader: self._became_leader, BecameFollower: self._became_follower, Truncated: self._truncated}

    def hw(self, partition: str, broker: int, unknown: int) -> int:
        """Return a leader's last known HW in this leadership, or ``unknown``."""
        return self.hws.get(partition, {}).get(broker, unknown)

    def hw_advanced(self, event: HwAdvanced, _replica: Replica, _record: CommittedPartition) -> None:
        """Check the HW of a replica that considers itself leader."""
        hws = self.hws.get(event.partition)
        if hws is None:
            hws = self.hws[event.partition] = {}
        hw = event.hw
        if hw < hws.get(event.broker, 0):
            self._report_decrease(event.partition, event.broker, hw, event.leader_epoch, event.at_us)
        hws[event.broker] = hw

    def _became_leader(self, event: BecameLeader) -> None:
        self.hws.setdefault(event.partition, {})[event.broker] = event.hw

    def _became_follower(self, event: BecameFollower) -> None:
        self.hws.get(event.partition, {}).pop(event.broker, None)

    def _truncated(self, event: Truncated) -> None:
        """Check a truncation: a crash ends the leadership; without one a leader never truncates its log."""
        hws = self.hws.get(event.partition, {})
        replica = self.cluster_state.replicas[event.partition][event.broker]
        if event.broker not in hws:
            return
        if replica.leadership is None or not self.cluster_state.is_up(event.broker) or self._is_crash(event):
            del hws[event.broker]
        elif event.hw < hws[event.broker]:
            self._report_decrease(event.partition, event.broker, event.hw, event.leader_epoch, event.at_us)

    def _is_crash(self, event: Truncated) -> bool:
        return self.context.allowed_losses.lacks_lost_records(event.partition, event.broker)

    def _report_decrease(self, partition: str, broker: int, hw: int, epoch: int, now: int) -> None:
        before = self.hws[partition][broker]
        detail = f"broker {broker} lowered its HW from {before} to {hw} within epoch {epoch}"
        self.context.report(self.definition, now, partition, broker, detail, offsets=(hw, before), epoch=epoch)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self.hws.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple([(name, tuple(hws.items())) for name, hws in self.hws.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self.hws = {name: dict(hws) for name, hws in saved}


TRUE_HW: Final = InvariantDefinition(
    "true-hw-monotone",
    "The true HW never decreases",
    "Once the HW of the leader of the committed epoch has reached the start offset of that epoch, it is no lower than "
    "any HW that a legitimate leader exposed before.",
    "KIP-101, KIP-207, KIP-320",
    (
        ProtocolFix("epoch_truncation", "KIP-101", "0.11"),
        *FENCING_FIXES,
        EARLY_JOIN_FIX,
        UNKNOWN_EPOCH_FIX,
        *LOSSY_CRASH_FIXES,
    ),
    "Those of acks-all-durability.",
)


class TrueHwMonotone(Invariant):
    """Invariant true-hw-monotone, checked at every HW advance of the committed leader and when it starts to lead."""

    __slots__ = ("epochs", "highest")
    definition = TRUE_HW

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self.highest: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        """Partition → leader epoch in which its highest HW was exposed."""

    def handlers(self) -> EventHandlers:
        """Return the handler of new leaders, which may expose their HW at once."""
        return {BecameLeader: self._became_leader}

    def hw_advanced(self, event: HwAdvanced, replica: Replica, record: CommittedPartition) -> None:
        """Check the HW of a leader, if it leads in the committed epoch."""
        partition, hw = event.partition, event.hw
        state = record.state
        if event.broker != state.leader or event.leader_epoch != state.leader_epoch:
            return
        if hw < self.highest.get(partition, 0):
            self._report_lower(partition, replica, hw, event.at_us)
        else:
            self.highest[partition] = hw
            self.epochs[partition] = event.leader_epoch

    def _became_leader(self, event: BecameLeader) -> None:
        record = self.cluster_state.records[event.partition]
        if (event.broker, event.leader_epoch) == (record.leader, record.leader_epoch):
            replica = self.cluster_state.replicas[event.partition][event.broker]
            if event.hw < self.highest.get(event.partition, 0):
                self._report_lower(event.partition, replica, event.hw, event.at_us)

    def _report_lower(self, partition: str, leader: Replica, hw: int, now: int) -> None:
        if leader.leadership is None or hw < leader.leadership.epoch_start:
            return
        before, epoch = self.highest[partition], self.epochs[partition]
        self.highest[partition], self.epochs[partition] = hw, leader.leader_epoch
        if self.context.allowed_losses.covers(partition, epoch):
            return
        detail = (
            f"broker {leader.broker} leads epoch {leader.leader_epoch} with HW {hw}, at or above the start offset "
            f"{leader.leadership.epoch_start} of that epoch, but HW {before} was exposed in epoch {epoch}"
        )
        when = self.context.circumstances(partition, epoch)
        self.context.report(
            self.definition, now, partition, leader.broker, detail, offsets=(hw, before),
            epoch=leader.leader_epoch, when=when,
        )  # fmt: skip

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self.highest.pop(partition, None)
        self.epochs.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (tuple(self.highest.items()), tuple(self.epochs.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self.highest, self.epochs = dict(saved[0]), dict(saved[1])
