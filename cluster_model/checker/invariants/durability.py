"""Durability of acknowledged records: acks=all in full, acks=1 within bounds."""

from typing import Any, Final

from cluster_model.checker.invariants.base import LOSSY_MENDS, Ground, Heard, Mend, Promise, Property
from cluster_model.protocol.events import BecameLeader, RecordsMissing

DURABILITY: Final = Promise(
    "acks-all-durability",
    "Durability of acks=all",
    "A record acknowledged with acks=all is in the log of every leader elected later, at its offset.",
    "KIP-101, KIP-320, KIP-966",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_279", "KIP-279", "2.0"),
        Mend("kip_320", "KIP-320", "2.1"),
        *LOSSY_MENDS,
    ),
    "An unclean election since; what is damaged on the leader's own disk; the last in-sync replica lost what was on no "
    "disk, or with eligible leader replicas as many replicas as min.insync.replicas did. A process that "
    "crashes is no excuse.",
)


class AcksAllDurability(Property):
    """Looked at when the ledger misses acknowledged records.

    A controller may elect who lost its log and is still taken to be there. That is one of nobody until it is back and
    takes up its leadership; it may be given up before. What it lacks waits for whoever leads then, or for the end.
    """

    __slots__ = ("_pending",)
    promise = DURABILITY

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._pending: dict[str, tuple[RecordsMissing, ...]] = {}

    def hears(self) -> Heard:
        """What the leader's log does not hold, and who takes leadership up."""
        return {RecordsMissing: self._missing, BecameLeader: self._led}

    def _missing(self, event: RecordsMissing) -> None:
        if event.acks >= 0:
            return
        leader = self.world.records[event.partition].leader
        if self.ground.excuses.is_wounded(event.partition, leader):
            replica = self.world.replicas[event.partition][leader]
            if replica.leadership is None:
                self._pending[event.partition] = (*self._pending.get(event.partition, ()), event)
                return
        self._judge(event)

    def _led(self, event: BecameLeader) -> None:
        if event.partition in self._pending and event.broker == self.world.records[event.partition].leader:
            self._lacks(event.partition, event.broker)

    def _lacks(self, partition: str, leader: int) -> None:
        """Judge what has waited and is not in the leader's log."""
        log = self.world.replicas[partition][leader].log
        for missing in self._pending.pop(partition):
            at = missing.log_offset
            if at < log.log_start:
                continue  # Retention took it.
            if at >= log.leo or log.lineage_at(at).epoch != missing.leader_epoch:
                self._judge(missing)

    def close(self) -> None:
        """The session ends. Who is known to be back leads with the log that it has; nobody else was ever to lead."""
        for partition in tuple(self._pending):
            leader = self.world.records[partition].leader
            if leader not in self.world.replicas[partition]:
                continue
            if self.ground.plane is None or self.ground.excuses.is_back(partition, leader):
                self._lacks(partition, leader)

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._pending.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._pending.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._pending = dict(saved)

    def _judge(self, event: RecordsMissing) -> None:
        partition = event.partition
        excuses, start, end = self.ground.excuses, event.log_offset, event.log_offset + event.count
        if excuses.covers(partition, event.leader_epoch) or excuses.damaged(partition, start, end):
            return
        detail = f"records acknowledged with acks=all are missing from offset {start} on"
        leader = self.world.records[partition].leader
        self.ground.report(
            self.promise, event.at_us, partition, leader, detail, offsets=(start, end),
            epoch=event.leader_epoch, when=self.ground.circumstances(partition, event.leader_epoch), cause=event.cause,
        )  # fmt: skip


ACKS_ONE: Final = Promise(
    "acks-one-bounded",
    "Loss of acks=1 is bounded",
    "Records acknowledged with acks=1 that go missing are the end of what their leader wrote in its epoch, at or "
    "behind the start of a later one: the leader that lacks them holds no record of their epoch at or behind them.",
    "KIP-101, KIP-279, KIP-320",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_279", "KIP-279", "2.0"),
        Mend("kip_320", "KIP-320", "2.1"),
        *LOSSY_MENDS,
    ),
    "Damage on the leader's own disk. The loss itself is what acks=1 allows, and is told as a loss.",
)

RANGES_KEPT: Final = 256
"""Of a partition."""

Lost = tuple[int, int, int, int]
"""(offset, end offset, epoch of the records, epoch that took their place)."""


class AcksOneBounded(Property):
    """Looked at when the ledger misses acknowledged records; keeps what went last, in ranges."""

    __slots__ = ("_lost",)
    promise = ACKS_ONE

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._lost: dict[str, list[Lost]] = {}

    def lost(self, partition: str) -> tuple[Lost, ...]:
        """Which records acknowledged with acks=1 have gone missing, and in which epoch.

        Neighbours are one range, and the last :data:`RANGES_KEPT` are kept.
        """
        return tuple(self._lost.get(partition, ()))

    def hears(self) -> Heard:
        """What the leader's log does not hold."""
        return {RecordsMissing: self._missing}

    def _missing(self, event: RecordsMissing) -> None:
        if event.acks != 1:
            return
        partition, start, end = event.partition, event.log_offset, event.log_offset + event.count
        leader = self.world.true_leader(partition)
        if leader is None or leader.damages:
            return
        new_epoch = self.world.records[partition].leader_epoch
        self._note(partition, start, end, event.leader_epoch, new_epoch)
        log = leader.log
        if start >= log.leo:
            return
        by_id = log.lineages.by_id
        index = log.extent_index(max(start, log.log_start))
        held = next((at for at, stint in log.extents[index:] if by_id[stint].epoch == event.leader_epoch), -1)
        if held < 0:
            return
        detail = (
            f"records acknowledged with acks=1 in epoch {event.leader_epoch} are missing from offset {start} on, and "
            f"broker {leader.broker} holds others of that epoch at offset {max(held, start)}"
        )
        self.ground.report(
            self.promise, event.at_us, partition, leader.broker, detail, offsets=(start, end),
            epoch=event.leader_epoch, when=self.ground.circumstances(partition, event.leader_epoch), cause=event.cause,
        )  # fmt: skip

    def _note(self, partition: str, start: int, end: int, epoch: int, new_epoch: int) -> None:
        known = self._lost.setdefault(partition, [])
        if known and known[-1][1:] == (start, epoch, new_epoch):
            known[-1] = (known[-1][0], end, epoch, new_epoch)
            return
        known.append((start, end, epoch, new_epoch))
        if len(known) > RANGES_KEPT:
            del known[0]

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._lost.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(name, tuple(known)) for name, known in self._lost.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._lost = {name: list(known) for name, known in saved}
