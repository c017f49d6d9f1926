"""The true HW is monotone: what a legitimate leader exposed, a later one exposes again once it has begun."""

from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Ground, Heard, Property
from cluster_model.checker.invariants.promise import LOSSY_MENDS, Mend, Promise
from cluster_model.controller.committed import PartitionRecord
from cluster_model.protocol.events import BecameLeader, HwAdvanced

TRUE_HW: Final = Promise(
    "true-hw-monotone",
    "The true HW never falls",
    "Once the HW of the leader of the committed epoch has reached its epoch's start, it is no lower than any HW that a "
    "legitimate leader exposed before.",
    "KIP-101, KIP-207, KIP-320",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_320", "KIP-320", "2.1"),
        *LOSSY_MENDS,
    ),
    "Those of acks-all-durability.",
)


class TrueHw(Property):
    """Looked at with every HW that a legitimate leader tells, and when one takes up its epoch."""

    __slots__ = ("epochs", "highest")
    promise = TRUE_HW

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.highest: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        """Partition → leader epoch in which its highest HW was exposed."""

    def hears(self) -> Heard:
        """A leader may expose its HW as soon as it leads."""
        return {BecameLeader: self._began}

    def hw_advanced(self, event: HwAdvanced, replica: Replica, record: PartitionRecord) -> None:
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
