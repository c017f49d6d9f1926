"""min.insync.replicas: no success of acks=all with fewer in sync, and no HW that moves then."""

from typing import Any, Final

from cluster_model.broker.partition.leadership import Leadership
from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Ground, Property, listed
from cluster_model.checker.invariants.hw_within import HwWithin
from cluster_model.checker.invariants.promise import HIGH_WATERMARK, Mend, Promise
from cluster_model.controller.committed import PartitionRecord
from cluster_model.protocol.events import HwAdvanced, RecordsAcked

MIN_ISR: Final = Promise(
    "min-isr",
    "min.insync.replicas",
    "A success of acks=all means that at the moment of the check the HW had reached its end and at least "
    "min.insync.replicas members were in sync, and the HW never moves while the committed ISR is smaller than that.",
    "KIP-966 (the HW); Partition.checkEnoughReplicasReachOffset",
    (Mend("hw_needs_min_isr", "KIP-966", "3.7", HIGH_WATERMARK),),
)

Thin = tuple[int, int, int, int, int]
"""(first offset, end offset, broker, leader epoch, ISR proposals so far) of records committed by too few."""


class MinIsr(Property):
    """Remembers what was committed while too few were in sync, for as long as they are too few."""

    __slots__ = ("_within", "thin")
    promise = MIN_ISR

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._within: HwWithin | None = None
        self.thin: dict[str, Thin] = {}

    def follows(self, within: HwWithin) -> None:
        """Who knows where a HW stood before; it must hear of one that moves later than this does."""
        self._within = within

    def hw_advanced(self, event: HwAdvanced, replica: Replica, _record: PartitionRecord) -> None:
        """Of a leader."""
        leadership = replica.leadership
        if leadership is not None and len(leadership.isr) < replica.min_isr:
            self._too_few(event, replica)

    def _too_few(self, event: HwAdvanced, replica: Replica) -> None:
        leadership = replica.leadership
        if leadership is None:
            return
        partition, hw, epoch = event.partition, event.hw, event.leader_epoch
        isr = leadership.isr
        detail = (
            f"broker {event.broker} moved its HW to {hw} with the ISR {listed(isr)}, and min.insync.replicas is "
            f"{replica.min_isr}"
        )
        self.ground.report(
            self.promise, event.at_us, partition, event.broker, detail, fault="HW", offsets=(hw - 1, hw), epoch=epoch,
            when=(HIGH_WATERMARK,),
        )  # fmt: skip
        if len(leadership.maximal_isr) < replica.min_isr:
            self._remember(partition, replica, hw, epoch, leadership.proposals)

    def _remember(self, partition: str, replica: Replica, hw: int, epoch: int, proposals: int) -> None:
        """From where the HW stood on: who waits for any of it is answered now."""
        standing = (replica.broker, epoch, proposals)
        known = self.thin.get(partition)
        if known is not None and known[2:] == standing:
            self.thin[partition] = (known[0], hw, *standing)
        else:
            before = hw - 1 if self._within is None else self._within.hw(partition, replica.broker, hw - 1)
            self.thin[partition] = (before, hw, *standing)

    def acked(self, event: RecordsAcked) -> None:
        """A producer was told of a success of acks=all."""
        replica = self.world.replicas.get(event.partition, {}).get(event.broker)
        if (
            replica is not None
            and replica.hw < event.log_offset + event.count
            and replica.leader_epoch == event.leader_epoch
            and replica.leadership is not None
        ):
            self._too_early(event, replica, replica.leadership)
        if self.thin:
            self._by_too_few(event)

    def _too_early(self, event: RecordsAcked, replica: Replica, leadership: Leadership) -> None:
        """The HW is below the end: it was too when the leader said so, if this leadership has written the records.

        One that took the same epoch up again after a crash begins with the HW of its checkpoint.
        """
        log, start, last = replica.log, event.log_offset, event.log_offset + event.count
        written = leadership.epoch_start <= start and log.log_start < last <= log.leo
        if not written or log.lineage_at(last - 1).id != event.stint:
            return
        detail = (
            f"broker {replica.broker} acknowledged {event.count} records of acks=all at offset {start} with its HW at "
            f"{replica.hw}"
        )
        self.ground.report(
            self.promise, event.at_us, event.partition, replica.broker, detail, fault="too early",
            offsets=(start, last), epoch=replica.leader_epoch,
        )  # fmt: skip

    def _by_too_few(self, event: RecordsAcked) -> None:
        thin = self.thin.get(event.partition)
        if thin is None:
            return
        start, end, broker, epoch, proposals = thin
        replica = self.world.replicas.get(event.partition, {}).get(broker)
        leadership = None if replica is None else replica.leadership
        if (
            replica is None
            or leadership is None
            or replica.leader_epoch != epoch
            or leadership.proposals != proposals
            or len(leadership.maximal_isr) >= replica.min_isr
        ):
            del self.thin[event.partition]  # Enough may have been in sync since: a retry is told so.
            return
        last = event.log_offset + event.count
        if (event.broker, event.leader_epoch) == (broker, epoch) and start < last <= end:
            detail = (
                f"broker {broker} acknowledged {event.count} records of acks=all at offset {event.log_offset} with the "
                f"ISR {listed(leadership.isr)}, and min.insync.replicas is {replica.min_isr}"
            )
            self.ground.report(
                self.promise, event.at_us, event.partition, broker, detail, fault="too few",
                offsets=(event.log_offset, last), epoch=epoch,
            )  # fmt: skip

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self.thin.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self.thin.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.thin = dict(saved)
