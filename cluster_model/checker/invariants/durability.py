"""Durability of acknowledged records (acks=all, acks=1), and leader completeness."""

from collections.abc import Iterable
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import (
    EARLY_JOIN_FIX,
    FENCING_FIXES,
    LEAVING,
    LOSSY_CRASH_FIXES,
    REASSIGNMENT_FIX,
    UNKNOWN_EPOCH_FIX,
    EventHandlers,
    Invariant,
    InvariantContext,
    InvariantDefinition,
    ProtocolFix,
    listed,
)
from cluster_model.log.replica_log import differing
from cluster_model.protocol.events import (
    BecameLeader,
    BrokerRegistered,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    RecordsMissing,
    RecoveryChanged,
)

DURABILITY: Final = InvariantDefinition(
    "acks-all-durability",
    "Durability of acks=all",
    "A record acknowledged with acks=all is in the log of every leader elected later, at its offset.",
    "KIP-101, KIP-320, KIP-966",
    (
        ProtocolFix("epoch_truncation", "KIP-101", "0.11"),
        ProtocolFix("kip_279", "KIP-279", "2.0"),
        *FENCING_FIXES,
        EARLY_JOIN_FIX,
        UNKNOWN_EPOCH_FIX,
        *LOSSY_CRASH_FIXES,
    ),
    "An unclean election since; a batch damaged on the leader's own disk; the last in-sync replica lost unflushed "
    "records, or with eligible leader replicas as many replicas as min.insync.replicas did. A process crash is "
    "not an exception.",
)


class AcksAllDurability(Invariant):
    """Invariant acks-all-durability, checked when acknowledged records go missing.

    A controller may elect a replica that lost its log and that it still believes to be alive. Such an election counts
    only once the broker is back and takes up leadership, since it may be fenced before. Until then the records it lacks
    are pending; they are checked against the next leader, or at the end of the session.
    """

    __slots__ = ("_pending",)
    definition = DURABILITY

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._pending: dict[str, tuple[RecordsMissing, ...]] = {}

    def handlers(self) -> EventHandlers:
        """Return the handlers of missing records and of new leaders."""
        return {RecordsMissing: self._missing, BecameLeader: self._became_leader}

    def _missing(self, event: RecordsMissing) -> None:
        if event.acks >= 0:
            return
        leader = self.cluster_state.records[event.partition].leader
        if self.context.allowed_losses.lacks_lost_records(event.partition, leader):
            replica = self.cluster_state.replicas[event.partition][leader]
            if replica.leadership is None:
                self._pending[event.partition] = (*self._pending.get(event.partition, ()), event)
                return
        self._check(event)

    def _became_leader(self, event: BecameLeader) -> None:
        if event.partition in self._pending and event.broker == self.cluster_state.records[event.partition].leader:
            self._lacks(event.partition, event.broker)

    def _lacks(self, partition: str, leader: int) -> None:
        """Check the pending records that are not in the leader's log."""
        log = self.cluster_state.replicas[partition][leader].log
        for missing in self._pending.pop(partition):
            at = missing.log_offset
            if at < log.log_start:
                continue  # Retention deleted it.
            if at >= log.leo or log.branch_at(at).epoch != missing.leader_epoch:
                self._check(missing)

    def close(self) -> None:
        """End the session: check pending records against leaders that are known to be back."""
        for partition in tuple(self._pending):
            leader = self.cluster_state.records[partition].leader
            if leader not in self.cluster_state.replicas[partition]:
                continue
            if self.context.plane is None or self.context.allowed_losses.has_reregistered(partition, leader):
                self._lacks(partition, leader)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._pending.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self._pending.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._pending = dict(saved)

    def _check(self, event: RecordsMissing) -> None:
        partition = event.partition
        allowed_losses, start, end = self.context.allowed_losses, event.log_offset, event.log_offset + event.count
        if allowed_losses.covers(partition, event.leader_epoch) or allowed_losses.damaged(partition, start, end):
            return
        detail = f"records acknowledged with acks=all are missing from offset {start} on"
        leader = self.cluster_state.records[partition].leader
        self.context.report(
            self.definition, event.at_us, partition, leader, detail, offsets=(start, end),
            epoch=event.leader_epoch, when=self.context.circumstances(partition, event.leader_epoch), cause=event.cause,
        )  # fmt: skip


ACKS_ONE: Final = InvariantDefinition(
    "acks-one-bounded",
    "Loss of acks=1 is bounded",
    "Records acknowledged with acks=1 that go missing are the tail of what their leader wrote in its epoch, at or "
    "after the start of a later epoch: the leader that lacks them holds no record of their epoch at or after their "
    "offset.",
    "KIP-101, KIP-279, KIP-320",
    (
        ProtocolFix("epoch_truncation", "KIP-101", "0.11"),
        ProtocolFix("kip_279", "KIP-279", "2.0"),
        *FENCING_FIXES,
        EARLY_JOIN_FIX,
        UNKNOWN_EPOCH_FIX,
        *LOSSY_CRASH_FIXES,
    ),
    "Damage on the leader's own disk. The loss itself is allowed by acks=1 and is reported as a loss.",
)

RANGES_KEPT: Final = 256
"""Number of lost ranges that are kept for a partition."""

Lost = tuple[int, int, int, int]
"""(offset, end offset, epoch of the records, epoch of the leader that lacks them)."""


class AcksOneBounded(Invariant):
    """Invariant acks-one-bounded, checked when acknowledged records go missing; it keeps the last lost ranges."""

    __slots__ = ("_lost",)
    definition = ACKS_ONE

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._lost: dict[str, list[Lost]] = {}

    def lost_ranges(self, partition: str) -> tuple[Lost, ...]:
        """Return the ranges acknowledged with acks=1 that went missing, with their epochs.

        Adjacent ranges are merged, and the last :data:`RANGES_KEPT` are kept.
        """
        return tuple(self._lost.get(partition, ()))

    def handlers(self) -> EventHandlers:
        """Return the handler of missing records."""
        return {RecordsMissing: self._missing}

    def _missing(self, event: RecordsMissing) -> None:
        if event.acks != 1:
            return
        partition, start, end = event.partition, event.log_offset, event.log_offset + event.count
        leader = self.cluster_state.committed_leader(partition)
        if leader is None or leader.damages:
            return
        new_epoch = self.cluster_state.records[partition].leader_epoch
        self._note(partition, start, end, event.leader_epoch, new_epoch)
        log = leader.log
        if start >= log.leo:
            return
        by_id = log.epoch_branches.by_id
        index = log.extent_index(max(start, log.log_start))
        held = next((at for at, log_branch in log.extents[index:] if by_id[log_branch].epoch == event.leader_epoch), -1)
        if held < 0:
            return
        detail = (
            f"records acknowledged with acks=1 in epoch {event.leader_epoch} are missing from offset {start} on, and "
            f"broker {leader.broker} holds others of that epoch at offset {max(held, start)}"
        )
        self.context.report(
            self.definition, event.at_us, partition, leader.broker, detail, offsets=(start, end),
            epoch=event.leader_epoch, when=self.context.circumstances(partition, event.leader_epoch), cause=event.cause,
        )  # fmt: skip

    def _note(self, partition: str, start: int, end: int, epoch: int, new_epoch: int) -> None:
        losses = self._lost.setdefault(partition, [])
        if losses and losses[-1][1:] == (start, epoch, new_epoch):
            losses[-1] = (losses[-1][0], end, epoch, new_epoch)
            return
        losses.append((start, end, epoch, new_epoch))
        if len(losses) > RANGES_KEPT:
            del losses[0]

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._lost.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple([(name, tuple(known)) for name, known in self._lost.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._lost = {name: list(known) for name, known in saved}


# Leader completeness and its weaker forms: every leader holds all records that may count as committed.


COMPLETENESS_FIXES: Final = (
    ProtocolFix("epoch_truncation", "KIP-101", "0.11"),
    ProtocolFix("kip_279", "KIP-279", "2.0"),
    *FENCING_FIXES,
    EARLY_JOIN_FIX,
    UNKNOWN_EPOCH_FIX,
    *LOSSY_CRASH_FIXES,
    REASSIGNMENT_FIX,
)
"""Changes needed so that records a leader considers committed are on all in-sync replicas."""


class Completeness(Invariant):
    """Base of invariants that compare a presumed leader with replicas that must hold what it considers committed."""

    __slots__ = ()

    def leaders(self, partition: str) -> list[Replica]:
        """Return the replicas that consider themselves leader, except those whose losses are allowed."""
        topic_id = self.cluster_state.records[partition].topic_id
        allowed_losses = self.context.allowed_losses
        return [
            each
            for each in self.cluster_state.replicas[partition].values()
            if each.leadership is not None
            and each.topic_id == topic_id
            and not allowed_losses.covers(partition, each.leader_epoch)
        ]

    def compare(self, partition: str, leader: Replica, members: Iterable[int], member_text: str, now: int) -> None:
        """Report every member that lacks records below the leader's HW; a replica that lost its disk may lack them.

        A member that stays behind lacks another offset each time, so it is reported once per leader epoch.
        """
        replicas, allowed_losses = self.cluster_state.replicas[partition], self.context.allowed_losses
        for broker in members:
            member = replicas.get(broker)  # A new partition's replica may not exist yet.
            if member is None or member is leader or member.topic_id != leader.topic_id:
                continue
            if allowed_losses.lacks_lost_records(partition, broker):
                continue
            offset = _lacks(member, leader)
            if offset >= 0:
                detail = (
                    f"broker {leader.broker} leads epoch {leader.leader_epoch} with HW {leader.hw}, and "
                    f"broker {broker} of {member_text} lacks its record at offset {offset}"
                )
                epoch, at = leader.leader_epoch, _epoch_at(leader, offset)
                self.context.report(
                    self.definition, now, partition, broker, detail, offsets=(offset, leader.hw), epoch=epoch,
                    when=(*self._leaving(partition, broker), *self.context.circumstances(partition, at)),
                )  # fmt: skip

    def _leaving(self, partition: str, broker: int) -> tuple[str, ...]:
        """Return :data:`LEAVING` if a reassignment removes the replica, or removed it and another one adds it again."""
        state = self.cluster_state.records[partition].state
        stays = broker in state.replicas and broker not in (*state.removing, *state.adding)
        return () if stays else (LEAVING,)


def _epoch_at(leader: Replica, offset: int) -> int:
    """Return the epoch of the record at an offset; the leader's epoch if its log does not reach it."""
    log = leader.log
    return log.branch_at(offset).epoch if log.log_start <= offset < log.leo else leader.leader_epoch


def _lacks(member: Replica, leader: Replica) -> int:
    """Return the first offset below the leader's HW at which a member lacks the leader's record, -1 for none."""
    if member.log.extents != leader.log.extents:
        first = next((start for start, _end in differing(leader.log, member.log) if start < leader.hw), -1)
        if first >= 0:
            return first
    return member.log.leo if member.log.leo < leader.hw else -1


EXCLUSION: Final = InvariantDefinition(
    "unclean-exclusion",
    "Exclusion after an unclean shutdown",
    "A replica that lost records in a crash and has restarted is neither leader nor in ISR or ELR until it has reached "
    "the HW of a later leader.",
    "KIP-966",
    (ProtocolFix("elr", "KIP-966", "4.1"),),
    "An unclean election of that very replica.",
)


class UncleanExclusion(Invariant):
    """Invariant unclean-exclusion, checked at every controller decision while a replica lacks lost records."""

    __slots__ = ()
    definition = EXCLUSION

    def handlers(self) -> EventHandlers:
        """Return the handlers of decisions and broker registrations."""
        return {
            **dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged, BecameLeader), self._decided),
            BrokerRegistered: self._registered,
        }

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged | BecameLeader) -> None:
        if isinstance(event, LeaderElected) and not event.clean:
            return
        allowed_losses, name = self.context.allowed_losses, event.partition
        if allowed_losses.any_lacks_lost_records_in(name):
            for broker in self.cluster_state.records[name].assignment:
                self._check_replica(name, broker, event.at_us)

    def _registered(self, event: BrokerRegistered) -> None:
        for name in self.cluster_state.records:
            self._check_replica(name, event.broker, event.at_us)

    def _check_replica(self, name: str, broker: int, now: int) -> None:
        if self.context.plane is None or not self.context.allowed_losses.has_reregistered(name, broker):
            return
        state = self.cluster_state.records[name].state
        replica = self.cluster_state.replicas[name].get(broker)
        leader = self.cluster_state.committed_leader(name)
        if replica is None or replica.damages:
            return
        if leader is not None and leader.broker != broker and replica.log.leo >= leader.hw:
            return
        if broker in (*state.isr, *state.elr, state.leader):
            detail = (
                f"broker {broker} lost records in a crash and is eligible again before it reached a later leader's HW: "
                f"leader {state.leader}, ISR {listed(state.isr)}, ELR {listed(state.elr)}"
            )
            self.context.report(
                self.definition, now, name, broker, detail,
                offsets=(replica.log.leo, -1), epoch=state.leader_epoch,
            )  # fmt: skip


LEADER_COMPLETENESS: Final = InvariantDefinition(
    "leader-completeness",
    "Leader completeness (StrongIsr)",
    "Every record below the HW of any replica that considers itself leader is also on every member of the committed "
    "ISR and of the ELR, at the same offset.",
    "KIP-320; StrongIsr in the TLA+ models of Kafka's replication (hachikuji/kafka-specification)",
    COMPLETENESS_FIXES,
    "Unclean elections; members that lost unflushed records.",
)

Decision = LeaderElected | IsrChanged | ElrChanged | RecoveryChanged


class LeaderCompleteness(Completeness):
    """Invariant leader-completeness, checked at every decision and when an HW passes records that a replica lacks."""

    __slots__ = ()
    definition = LEADER_COMPLETENESS

    def handlers(self) -> EventHandlers:
        """Return the handlers of controller decisions."""
        return dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided)

    def _decided(self, event: Decision) -> None:
        self.logs_differ(event.partition, event.at_us)

    def logs_differ(self, partition: str, now: int) -> None:
        """Compare all presumed leaders with ISR and ELR."""
        state = self.cluster_state.records[partition].state
        member_text = f"ISR {listed(state.isr)}" + (f" and ELR {listed(state.elr)}" if state.elr else "")
        for leader in self.leaders(partition):
            self.compare(partition, leader, (*state.isr, *state.elr), member_text, now)


WEAK_ISR: Final = InvariantDefinition(
    "weak-isr",
    "The leader's own ISR is complete (WeakIsr)",
    "Every record below the HW of any replica that considers itself leader is also on every member of the ISR that "
    "this replica uses, at the same offset.",
    "KIP-320; WeakIsr in the TLA+ models of Kafka's replication (hachikuji/kafka-specification)",
    COMPLETENESS_FIXES,
    "Unclean elections; members that lost unflushed records; members that a reassignment removed while the leader was "
    "cut off and did not learn of it: another one may have added them again, with a new log.",
)


class WeakIsr(Completeness):
    """Invariant weak-isr, checked when leadership or ISR changes and when an HW passes records that a replica lacks."""

    __slots__ = ()
    definition = WEAK_ISR

    def handlers(self) -> EventHandlers:
        """Return the handlers of changes of leader and ISR."""
        return dict.fromkeys((LeaderElected, IsrChanged, BecameLeader), self._changed)

    def _changed(self, event: LeaderElected | IsrChanged | BecameLeader) -> None:
        self.logs_differ(event.partition, event.at_us)

    def logs_differ(self, partition: str, now: int) -> None:
        """Compare all presumed leaders with their own ISR."""
        current = self.cluster_state.records[partition].state.leader_epoch
        for leader in self.leaders(partition):
            if leader.leadership is not None:
                isr = leader.leadership.isr
                outdated = leader.leader_epoch < current
                members = [each for each in isr if not (outdated and self._leaving(partition, each))]
                self.compare(partition, leader, members, f"its own ISR {listed(isr)}", now)
