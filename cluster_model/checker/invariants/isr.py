"""ISR invariants: eligible members, leader in ISR, min.insync.replicas, maximal ISR and recovery barrier."""

from typing import Any, Final

from cluster_model.broker.partition.partition import PartitionLeaderState, Replica
from cluster_model.checker.invariants.base import (
    EMPTY,
    HIGH_WATERMARK,
    KRAFT,
    LEAVING,
    REASSIGNMENT_FIX,
    EventHandlers,
    Invariant,
    InvariantContext,
    InvariantDefinition,
    ProtocolFix,
    listed,
)
from cluster_model.checker.invariants.high_watermark import HwWithin
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.controller.rules.partition_change import LEADER
from cluster_model.protocol.events import (
    AssignmentChanged,
    BrokerFenced,
    ElrChanged,
    HwAdvanced,
    IsrChanged,
    LeaderElected,
    PartitionCreated,
    PartitionOffline,
    RecordsAcked,
    RecoveryChanged,
)
from cluster_model.protocol.messages import NO_LEADER

MIN_ISR: Final = InvariantDefinition(
    "min-isr",
    "min.insync.replicas",
    "A success of acks=all means that at the time of the check the HW had reached the end of the records and at least "
    "min.insync.replicas replicas were in sync; and the HW never moves while the committed ISR is smaller than that.",
    "KIP-966 (the HW); Partition.checkEnoughReplicasReachOffset",
    (ProtocolFix("hw_needs_min_isr", "KIP-966", "3.7", HIGH_WATERMARK),),
)

UnderMinIsr = tuple[int, int, int, int, int]
"""(first offset, end offset, broker, leader epoch, ISR proposals so far) of records committed by too few replicas."""


class MinIsr(Invariant):
    """Invariant min-isr; it remembers records committed while too few replicas were in sync, as long as they are."""

    __slots__ = ("_within", "under_min_isr")
    definition = MIN_ISR

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._within: HwWithin | None = None
        self.under_min_isr: dict[str, UnderMinIsr] = {}

    def use_previous_hw_of(self, within: HwWithin) -> None:
        """Set the invariant that knows the previous HW; it must handle HW advances after this one."""
        self._within = within

    def hw_advanced(self, event: HwAdvanced, replica: Replica, _record: CommittedPartition) -> None:
        """Check the HW of a leader against the size of its ISR."""
        leadership = replica.leadership
        if leadership is not None and len(leadership.isr) < replica.min_isr:
            self._hw_by_too_few(event, replica)

    def _hw_by_too_few(self, event: HwAdvanced, replica: Replica) -> None:
        leadership = replica.leadership
        if leadership is None:
            return
        partition, hw, epoch = event.partition, event.hw, event.leader_epoch
        isr = leadership.isr
        detail = (
            f"broker {event.broker} moved its HW to {hw} with ISR {listed(isr)}, below min.insync.replicas="
            f"{replica.min_isr}"
        )
        self.context.report(
            self.definition, event.at_us, partition, event.broker, detail, fault="HW", offsets=(hw - 1, hw),
            epoch=epoch, when=(HIGH_WATERMARK,),
        )  # fmt: skip
        if len(leadership.maximal_isr) < replica.min_isr:
            self._remember_thin(partition, replica, hw, epoch, leadership.proposals)

    def _remember_thin(self, partition: str, replica: Replica, hw: int, epoch: int, proposals: int) -> None:
        """Remember the records from the previous HW on: pending requests for them are answered now."""
        leadership_key = (replica.broker, epoch, proposals)
        known = self.under_min_isr.get(partition)
        if known is not None and known[2:] == leadership_key:
            self.under_min_isr[partition] = (known[0], hw, *leadership_key)
        else:
            before = hw - 1 if self._within is None else self._within.hw(partition, replica.broker, hw - 1)
            self.under_min_isr[partition] = (before, hw, *leadership_key)

    def acked(self, event: RecordsAcked) -> None:
        """Check an acknowledgement of acks=all."""
        replica = self.cluster_state.replicas.get(event.partition, {}).get(event.broker)
        if (
            replica is not None
            and replica.hw < event.log_offset + event.count
            and replica.leader_epoch == event.leader_epoch
            and replica.leadership is not None
        ):
            self._acked_too_early(event, replica, replica.leadership)
        if self.under_min_isr:
            self._acked_by_too_few(event)

    def _acked_too_early(self, event: RecordsAcked, replica: Replica, leadership: PartitionLeaderState) -> None:
        """Report an acknowledgement above the HW, if the current leadership has written the records.

        A leader that resumed the same epoch after a crash starts with the HW of its checkpoint.
        """
        log, start, last = replica.log, event.log_offset, event.log_offset + event.count
        written = leadership.epoch_start <= start and log.log_start < last <= log.leo
        if not written or log.branch_at(last - 1).id != event.log_branch:
            return
        detail = (
            f"broker {replica.broker} acknowledged {event.count} records of acks=all at offset {start} with its HW at "
            f"{replica.hw}"
        )
        self.context.report(
            self.definition, event.at_us, event.partition, replica.broker, detail, fault="too early",
            offsets=(start, last), epoch=replica.leader_epoch,
        )  # fmt: skip

    def _acked_by_too_few(self, event: RecordsAcked) -> None:
        thin = self.under_min_isr.get(event.partition)
        if thin is None:
            return
        start, end, broker, epoch, proposals = thin
        replica = self.cluster_state.replicas.get(event.partition, {}).get(broker)
        leadership = None if replica is None else replica.leadership
        if (
            replica is None
            or leadership is None
            or replica.leader_epoch != epoch
            or leadership.proposals != proposals
            or len(leadership.maximal_isr) >= replica.min_isr
        ):
            del self.under_min_isr[event.partition]  # Enough replicas may have been in sync since: a retry succeeds.
            return
        last = event.log_offset + event.count
        if (event.broker, event.leader_epoch) == (broker, epoch) and start < last <= end:
            detail = (
                f"broker {broker} acknowledged {event.count} records of acks=all at offset {event.log_offset} with ISR "
                f"{listed(leadership.isr)}, below min.insync.replicas={replica.min_isr}"
            )
            self.context.report(
                self.definition, event.at_us, event.partition, broker, detail, fault="too few",
                offsets=(event.log_offset, last), epoch=epoch,
            )  # fmt: skip

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self.under_min_isr.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self.under_min_isr.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self.under_min_isr = dict(saved)


ELIGIBILITY: Final = InvariantDefinition(
    "isr-eligibility",
    "ISR eligibility",
    "No member of the committed ISR is fenced or shutting down, except the last one in versions without eligible "
    "leader replicas.",
    "KIP-841",
    (ProtocolFix(KRAFT, "KIP-841 with a KRaft controller", "3.3"),),
    "In ZooKeeper mode only joining replicas are checked: a stopped one leaves the ISR one decision later.",
)


class IsrEligibility(Invariant):
    """Invariant isr-eligibility, checked when a replica joins an ISR, a leader is elected or a broker is fenced."""

    __slots__ = ()
    definition = ELIGIBILITY

    def handlers(self) -> EventHandlers:
        """Return the handlers of ISR changes, elections and fencings."""
        return {IsrChanged: self._joined, LeaderElected: self._elected, BrokerFenced: self._fenced}

    def _joined(self, event: IsrChanged) -> None:
        """Check that a joining replica's broker is registered, unfenced and not shutting down."""
        if self.context.plane is None or event.by != LEADER:
            return
        for broker in event.isr:
            if broker not in event.previous_isr and not self._is_active(broker):
                detail = f"broker {broker} joined the ISR {listed(event.isr)} while fenced or shutting down"
                self.context.report(
                    self.definition, event.at_us, event.partition, broker, detail, epoch=event.leader_epoch,
                )  # fmt: skip

    def _elected(self, event: LeaderElected) -> None:
        """Check that the ISR of a new leader has only active members, except a single last one without KIP-966.

        A replica that is elected because it is back is unfenced by a later record of the same metadata batch.
        """
        profile = self.cluster_state.profile
        if not profile.kraft or self.context.plane is None or (len(event.isr) == 1 and not profile.elr):
            return
        for broker in event.isr:
            if not self._is_active(broker) and not event.by.startswith(f"broker {broker} unfenced"):
                detail = (
                    f"broker {event.leader} was elected with ISR {listed(event.isr)}, but broker {broker} is fenced or "
                    f"shutting down"
                )
                self.context.report(
                    self.definition, event.at_us, event.partition, broker, detail, epoch=event.leader_epoch,
                )  # fmt: skip

    def _is_active(self, broker: int) -> bool:
        plane = self.context.plane
        return plane is not None and plane.is_live(broker) and not plane.is_shutting_down(broker)

    def _fenced(self, event: BrokerFenced) -> None:
        """Check that a fenced broker has left every ISR, except as a single last member without KIP-966."""
        profile, broker = self.cluster_state.profile, event.broker
        if not profile.kraft or self.context.plane is None:
            return
        for name, record in self.cluster_state.records.items():
            isr = record.isr
            if broker in isr and (profile.elr or len(isr) > 1):
                detail = f"broker {broker} is fenced but stays in the ISR {listed(isr)}"
                self.context.report(
                    self.definition, event.at_us, name, broker, detail, epoch=record.leader_epoch,
                )  # fmt: skip


LEADER_IN_ISR: Final = InvariantDefinition(
    "leader-in-isr",
    "Leader in ISR",
    "The committed leader is in the committed ISR, whose members are all replicas of the partition; the ISR is never "
    "empty, except in versions with eligible leader replicas.",
    "LeaderInIsr in the TLA+ models of Kafka's replication (hachikuji/kafka-specification); KIP-966",
    (ProtocolFix("keeps_last_isr", "a controller that keeps the last member", "1.1", EMPTY), REASSIGNMENT_FIX),
    "Up to 1.0 the last member leaves the ISR if unclean elections are allowed.",
)

Decision = LeaderElected | IsrChanged | PartitionOffline | AssignmentChanged | PartitionCreated


class LeaderInIsr(Invariant):
    """Invariant leader-in-isr, checked at every committed decision."""

    __slots__ = ("_leaving",)
    definition = LEADER_IN_ISR

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._leaving: dict[str, tuple[int, ...]] = {}
        """Partition → members of its ISR that its assignment no longer contains."""

    def handlers(self) -> EventHandlers:
        """Return the handlers of controller decisions."""
        kinds = (LeaderElected, IsrChanged, PartitionOffline, AssignmentChanged, PartitionCreated)
        return dict.fromkeys(kinds, self._decided)

    def _decided(self, event: Decision) -> None:
        record = self.cluster_state.records.get(event.partition)
        if record is None:
            return
        state = record.state
        isr = event.isr if isinstance(event, LeaderElected | IsrChanged | PartitionOffline) else state.isr
        leader = NO_LEADER if isinstance(event, PartitionOffline) else event.leader
        if leader >= 0 and leader not in isr:
            self._report(event, leader, f"leader {leader} is not in the ISR {listed(isr)}")
        self._check_members(event, isr, state.replicas)
        if not isr and not self.cluster_state.profile.elr:
            allowed = (EMPTY,) if record.topic_config.unclean else ()
            self._report(event, leader, "the ISR is empty", allowed)

    def _check_members(self, event: Decision, isr: tuple[int, ...], replicas: tuple[int, ...]) -> None:
        outsiders = tuple([broker for broker in isr if broker not in replicas])
        if isinstance(event, AssignmentChanged) and outsiders:
            self._leaving[event.partition] = outsiders
        leaving = self._leaving.get(event.partition, ())
        if outsiders:
            detail = f"the ISR {listed(isr)} contains {listed(outsiders)}, not among the replicas {listed(replicas)}"
            when = (LEAVING,) if set(outsiders) <= set(leaving) else ()
            self._report(event, outsiders[0], detail, when)
        elif leaving:
            del self._leaving[event.partition]

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._leaving.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self._leaving.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._leaving = dict(saved)

    def _report(self, event: Decision, broker: int, detail: str, when: tuple[str, ...] = ()) -> None:
        epoch = event.leader_epoch
        self.context.report(self.definition, event.at_us, event.partition, broker, detail, epoch=epoch, when=when)


MAXIMAL_ISR: Final = InvariantDefinition(
    "maximal-isr-superset",
    "The maximal ISR contains the committed ISR",
    "The leader of the committed epoch, once it has started to lead, counts every member of the committed ISR for its "
    "HW.",
    "KIP-497",
    (ProtocolFix("alter_partition", "KIP-497", "2.7"),),
)


class MaximalIsr(Invariant):
    """Invariant maximal-isr-superset, checked at every decision."""

    __slots__ = ()
    definition = MAXIMAL_ISR

    def handlers(self) -> EventHandlers:
        """Return the handlers of controller decisions."""
        return dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided)

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        name = event.partition
        record, leader = self.cluster_state.records[name], self.cluster_state.committed_leader(name)
        if leader is None or leader.leadership is None or leader.leader_epoch != record.leader_epoch:
            return
        maximal = leader.leadership.maximal_isr
        lacking = [broker for broker in record.isr if broker not in maximal]
        if lacking:
            detail = (
                f"leader {record.leader} uses ISR {listed(maximal)}, which lacks committed members {listed(lacking)}"
            )
            self.context.report(
                self.definition, event.at_us, name, record.leader, detail, epoch=record.leader_epoch,
            )  # fmt: skip


RECOVERY: Final = InvariantDefinition(
    "recovery-barrier",
    "Recovery barrier",
    "While a leader elected uncleanly is recovering, it is the only member of the committed ISR.",
    "KIP-704 (before 3.2 no leader is marked as recovering)",
)


class RecoveryBarrier(Invariant):
    """Invariant recovery-barrier, checked at every decision."""

    __slots__ = ()
    definition = RECOVERY

    def handlers(self) -> EventHandlers:
        """Return the handlers of controller decisions."""
        return dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided)

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        state = self.cluster_state.records[event.partition].state
        if state.recovering and len(state.isr) > 1:
            detail = f"leader {state.leader} is recovering from an unclean election, but the ISR is {listed(state.isr)}"
            self.context.report(
                self.definition, event.at_us, event.partition, state.leader, detail, epoch=state.leader_epoch,
            )  # fmt: skip
