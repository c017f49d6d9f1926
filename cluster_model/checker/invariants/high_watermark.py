"""High watermark invariants: it does not fall within a leadership, and what it exposed stays readable."""

from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import (
    EARLY_MEND,
    LOSSY_MENDS,
    UNKNOWN_MEND,
    Heard,
    Invariant,
    InvariantContext,
    InvariantDefinition,
    Mend,
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
    "No consumer is handed a record above every HW ever exposed, or another record than was exposed at its offset, and "
    "no record below an exposed HW is missing from a later leader's log.",
    "KIP-101, KIP-320",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_279", "KIP-279", "2.0"),
        Mend("kip_320", "KIP-320", "2.1"),
        EARLY_MEND,
        UNKNOWN_MEND,
        *LOSSY_MENDS,
    ),
    "Those of acks-all-durability.",
)

Exposed = tuple[tuple[Extent, ...], int]
"""Stints as (first offset, stint) each, and the HW up to which they were exposed."""


class StableReads(Invariant):
    """Keeps what was exposed as a list of stints; a HW that rises in the newest one is a single comparison."""

    __slots__ = ("_exposed", "ends", "stints")
    promise = STABLE_READS

    def __init__(self, ground: InvariantContext) -> None:
        super().__init__(ground)
        self._exposed: dict[str, tuple[Extent, ...]] = {}
        self.stints: dict[str, int] = {}
        """Partition → the stint in which its highest exposed HW stands."""
        self.ends: dict[str, int] = {}
        """Partition → the highest HW exposed."""

    def hears(self) -> Heard:
        """Who leads, and with which log."""
        return {LeaderElected: self._led, BecameLeader: self._led}

    def hw_advanced(self, event: HwAdvanced, replica: Replica, _record: CommittedPartition) -> None:
        """Of any leader: consumers read up to there."""
        partition, hw = event.partition, event.hw
        if hw <= self.ends.get(partition, 0):
            return
        if replica.log.extents[-1][1] != self.stints.get(partition, -1):
            self._in_another_stint(partition, replica, hw, event)
        self.ends[partition] = hw

    def read(self, event: RecordsRead) -> None:
        """A consumer was handed records."""
        partition = event.partition
        if event.stint == self.stints.get(partition, -1) and event.end_offset <= self.ends[partition]:
            return
        if event.stint >= 0:
            self._read_of_before(event)

    def _read_of_before(self, event: RecordsRead) -> None:
        """Of an older stint, or above what was exposed."""
        partition = event.partition
        lineage = self.world.lineages[partition].by_id[event.stint]
        record = self.world.records.get(partition)
        if record is None or lineage.topic_id != record.topic_id:
            return
        if self.ground.excuses.covers(partition, lineage.epoch):
            return
        start, end, exposed = event.log_offset, event.end_offset, self.ends.get(partition, 0)
        if end > exposed:
            detail = (
                f"{event.client} was handed records up to offset {end - 1}, and no HW ever exposed is above {exposed}"
            )
            offsets = (max(start, exposed), end)
            self._report(partition, event.broker, offsets, event, detail, lineage.epoch, f"above, {event.client}")
            return
        extents = self._exposed[partition]  # It is there: something was exposed.
        if start < extents[0][0]:
            return  # Nobody has looked at it since retention took what was exposed there.
        stints = [stint for at, stint in extents if at < end]
        first = max(place for place, (at, _stint) in enumerate(extents) if at <= start)
        if set(stints[first:]) != {event.stint}:
            detail = (
                f"{event.client} was handed records of epoch {lineage.epoch} at offset {start}, and others had been "
                f"exposed there"
            )
            self._report(partition, event.broker, (start, end), event, detail, lineage.epoch, f"other, {event.client}")

    def _in_another_stint(self, partition: str, replica: Replica, hw: int, event: HwAdvanced) -> None:
        self._compare(partition, replica, event, self.ends.get(partition, 0))
        extents = _below(replica.log, hw)
        self._exposed[partition], self.stints[partition] = extents, extents[-1][1]

    def _led(self, event: LeaderElected | BecameLeader) -> None:
        """Whoever leads now must hold what was exposed."""
        partition = event.partition
        leader = self.world.true_leader(partition)
        if leader is None or partition not in self._exposed:
            return
        if isinstance(event, LeaderElected):
            if self.ground.excuses.is_wounded(partition, leader.broker):
                return  # It may be given up before it is back to lead.
        elif event.broker != leader.broker:
            return
        end = self.ends[partition]
        if self._compare(partition, leader, event, end):
            end = min(end, leader.log.leo)
            extents = _below(leader.log, end)
            if extents:
                self._exposed[partition], self.stints[partition], self.ends[partition] = extents, extents[-1][1], end
            else:
                self.forget(partition)

    def _compare(
        self, partition: str, leader: Replica, event: LeaderElected | BecameLeader | HwAdvanced, end: int
    ) -> bool:
        """Whether a leader's log is not what was exposed below ``end``; said so, unless that is excused."""
        known = self._exposed.get(partition)
        if known is None:
            return False
        gone = _first_gone(known, end, leader.log)
        if gone is None:
            return False
        start, stint = gone
        epoch = self.world.lineages[partition].by_id[stint].epoch
        if not self.ground.excuses.covers(partition, epoch):
            held = "holds another" if start < leader.log.leo else "has none"
            detail = (
                f"offsets up to {end - 1} had been exposed, and broker {leader.broker}, which leads, {held} at "
                f"offset {start}, where one of epoch {epoch} was"
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
        when = self.ground.circumstances(partition, epoch)
        self.ground.report(
            self.promise, event.at_us, partition, broker, detail, fault=fault, offsets=offsets, epoch=epoch,
            when=when,
        )  # fmt: skip

    def forget(self, partition: str) -> None:
        """It is deleted."""
        for table in (self._exposed, self.stints, self.ends):
            table.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._exposed.items()), tuple(self.stints.items()), tuple(self.ends.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        exposed, stints, ends = saved
        self._exposed, self.stints, self.ends = dict(exposed), dict(stints), dict(ends)


def _below(log: ReplicaLog, end: int) -> tuple[Extent, ...]:
    """The log's stints below an offset."""
    return tuple([extent for extent in log.extents if extent[0] < end])


def _first_gone(known: tuple[Extent, ...], end: int, log: ReplicaLog) -> tuple[int, int] | None:
    """The first exposed (offset, stint) below ``end`` that a log does not hold so; what retention took is no matter."""
    for place, (start, stint) in enumerate(known):
        stop = min(end, known[place + 1][0] if place + 1 < len(known) else end)
        at = max(start, log.log_start)
        while at < stop:
            if at >= log.leo:
                return at, stint
            index = log.extent_index(at)
            if log.extents[index][1] != stint:
                return at, stint
            at = log.extents[index + 1][0] if index + 1 < len(log.extents) else log.leo
    return None


HW_WITHIN: Final = InvariantDefinition(
    "hw-within-leadership",
    "The HW within a leadership",
    "From taking up an epoch to its next role a leader's HW never falls.",
    "Partition.maybeIncrementLeaderHW",
)


class HwWithin(Invariant):
    """Looked at with every HW that a leader tells."""

    __slots__ = ("hws",)
    promise = HW_WITHIN

    def __init__(self, ground: InvariantContext) -> None:
        super().__init__(ground)
        self.hws: dict[str, dict[int, int]] = {}
        """Partition → broker → its HW in this leadership."""

    def hears(self) -> Heard:
        """Where a leadership begins and ends, and a leader's log being cut."""
        return {BecameLeader: self._began, BecameFollower: self._ended, Truncated: self._cut}

    def hw(self, partition: str, broker: int, unknown: int) -> int:
        """A leader's HW as last heard of in this leadership."""
        return self.hws.get(partition, {}).get(broker, unknown)

    def hw_advanced(self, event: HwAdvanced, _replica: Replica, _record: CommittedPartition) -> None:
        """Of a leader, or who believes to be one."""
        hws = self.hws.get(event.partition)
        if hws is None:
            hws = self.hws[event.partition] = {}
        hw = event.hw
        if hw < hws.get(event.broker, 0):
            self._fell(event.partition, event.broker, hw, event.leader_epoch, event.at_us)
        hws[event.broker] = hw

    def _began(self, event: BecameLeader) -> None:
        self.hws.setdefault(event.partition, {})[event.broker] = event.hw

    def _ended(self, event: BecameFollower) -> None:
        self.hws.get(event.partition, {}).pop(event.broker, None)

    def _cut(self, event: Truncated) -> None:
        """What a crash takes ends the leadership too; by the protocol no leader cuts its log."""
        hws = self.hws.get(event.partition, {})
        replica = self.world.replicas[event.partition][event.broker]
        if event.broker not in hws:
            return
        if replica.leadership is None or not self.world.is_up(event.broker) or self._is_crash(event):
            del hws[event.broker]
        elif event.hw < hws[event.broker]:
            self._fell(event.partition, event.broker, event.hw, event.leader_epoch, event.at_us)

    def _is_crash(self, event: Truncated) -> bool:
        return self.ground.excuses.is_wounded(event.partition, event.broker)

    def _fell(self, partition: str, broker: int, hw: int, epoch: int, now: int) -> None:
        before = self.hws[partition][broker]
        detail = f"broker {broker} lowered its HW from {before} to {hw} within epoch {epoch}"
        self.ground.report(self.promise, now, partition, broker, detail, offsets=(hw, before), epoch=epoch)

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self.hws.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(name, tuple(hws.items())) for name, hws in self.hws.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.hws = {name: dict(hws) for name, hws in saved}


TRUE_HW: Final = InvariantDefinition(
    "true-hw-monotone",
    "The true HW never falls",
    "Once the HW of the leader of the committed epoch has reached its epoch's start, it is no lower than any HW that a "
    "legitimate leader exposed before.",
    "KIP-101, KIP-207, KIP-320",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_320", "KIP-320", "2.1"),
        EARLY_MEND,
        UNKNOWN_MEND,
        *LOSSY_MENDS,
    ),
    "Those of acks-all-durability.",
)


class TrueHw(Invariant):
    """Looked at with every HW that a legitimate leader tells, and when one takes up its epoch."""

    __slots__ = ("epochs", "highest")
    promise = TRUE_HW

    def __init__(self, ground: InvariantContext) -> None:
        super().__init__(ground)
        self.highest: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        """Partition → leader epoch in which its highest HW was exposed."""

    def hears(self) -> Heard:
        """A leader may expose its HW as soon as it leads."""
        return {BecameLeader: self._began}

    def hw_advanced(self, event: HwAdvanced, replica: Replica, record: CommittedPartition) -> None:
        """Of any leader; only that of the committed epoch counts."""
        partition, hw = event.partition, event.hw
        state = record.state
        if event.broker != state.leader or event.leader_epoch != state.leader_epoch:
            return
        if hw < self.highest.get(partition, 0):
            self._lower(partition, replica, hw, event.at_us)
        else:
            self.highest[partition] = hw
            self.epochs[partition] = event.leader_epoch

    def _began(self, event: BecameLeader) -> None:
        record = self.world.records[event.partition]
        if (event.broker, event.leader_epoch) == (record.leader, record.leader_epoch):
            replica = self.world.replicas[event.partition][event.broker]
            if event.hw < self.highest.get(event.partition, 0):
                self._lower(event.partition, replica, event.hw, event.at_us)

    def _lower(self, partition: str, leader: Replica, hw: int, now: int) -> None:
        if leader.leadership is None or hw < leader.leadership.epoch_start:
            return
        before, epoch = self.highest[partition], self.epochs[partition]
        self.highest[partition], self.epochs[partition] = hw, leader.leader_epoch
        if self.ground.excuses.covers(partition, epoch):
            return
        detail = (
            f"broker {leader.broker} leads epoch {leader.leader_epoch} with HW {hw}, at or above its epoch's start "
            f"{leader.leadership.epoch_start}, and {before} was exposed in epoch {epoch}"
        )
        when = self.ground.circumstances(partition, epoch)
        self.ground.report(
            self.promise, now, partition, leader.broker, detail, offsets=(hw, before),
            epoch=leader.leader_epoch, when=when,
        )  # fmt: skip

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self.highest.pop(partition, None)
        self.epochs.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self.highest.items()), tuple(self.epochs.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.highest, self.epochs = dict(saved[0]), dict(saved[1])
