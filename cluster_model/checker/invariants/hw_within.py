"""The HW never falls within a leadership. On a follower, and from one leader to the next, it may."""

from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Ground, Heard, Property
from cluster_model.checker.invariants.promise import Promise
from cluster_model.controller.committed import PartitionRecord
from cluster_model.protocol.events import BecameFollower, BecameLeader, HwAdvanced, Truncated

HW_WITHIN: Final = Promise(
    "hw-within-leadership",
    "The HW within a leadership",
    "From taking up an epoch to its next role a leader's HW never falls.",
    "Partition.maybeIncrementLeaderHW",
)


class HwWithin(Property):
    """Looked at with every HW that a leader tells."""

    __slots__ = ("hws",)
    promise = HW_WITHIN

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.hws: dict[str, dict[int, int]] = {}
        """Partition → broker → its HW in this leadership."""

    def hears(self) -> Heard:
        """Where a leadership begins and ends, and a leader's log being cut."""
        return {BecameLeader: self._began, BecameFollower: self._ended, Truncated: self._cut}

    def hw(self, partition: str, broker: int, unknown: int) -> int:
        """A leader's HW as last heard of in this leadership."""
        return self.hws.get(partition, {}).get(broker, unknown)

    def hw_advanced(self, event: HwAdvanced, _replica: Replica, _record: PartitionRecord) -> None:
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
