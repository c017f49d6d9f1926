"""The registry of all invariants, and the dispatch of each event to those that it can violate."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import (
    EXCUSING_EVENTS,
    AllowedLosses,
    HwHandler,
    Invariant,
    InvariantContext,
    InvariantDefinition,
    Registrations,
)
from cluster_model.checker.invariants.durability import (
    AcksAllDurability,
    AcksOneBounded,
    LeaderCompleteness,
    UncleanExclusion,
    WeakIsr,
)
from cluster_model.checker.invariants.epochs import EpochMonotonicity, SingleLeader, ZombieFencing
from cluster_model.checker.invariants.high_watermark import HwWithin, StableReads, TrueHwMonotone
from cluster_model.checker.invariants.isr import IsrEligibility, LeaderInIsr, MaximalIsr, MinIsr, RecoveryBarrier
from cluster_model.checker.invariants.log import CompactionKeepsNewest, LogBounds, LogMatching
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    Appended,
    BecameFollower,
    BecameLeader,
    Event,
    HwAdvanced,
    LogCleaned,
    LogStartMoved,
    PartitionDeleted,
    RecordsRead,
    SegmentRolled,
    TraceEvent,
    Truncated,
)
from cluster_model.protocol.messages import PartitionState

# A fast path for regular HW advances: nearly all are, and then no invariant has anything to check.


class HighWatermarkCheck:
    """Fast check of an HW advance that updates the state of the invariants that handle every one."""

    __slots__ = ("_reads", "_replicas", "_true_hw", "_within")

    def __init__(
        self, cluster_state: ClusterState, within: HwWithin, reads: StableReads, true_hw: TrueHwMonotone
    ) -> None:
        self._replicas = cluster_state.replicas
        self._within = within
        self._reads = reads
        self._true_hw = true_hw

    def is_regular(self, event: HwAdvanced, replica: Replica, state: PartitionState) -> bool:
        """Return whether an HW advance of the committed leader is regular: same log branch, and the ISR agrees.

        If so, the invariants' state is updated. If not, nothing changes and they have to check it themselves.
        """
        log, hw, broker, epoch, partition = replica.log, event.hw, event.broker, event.leader_epoch, event.partition
        if state.leader != broker or state.leader_epoch != epoch or len(state.isr) < replica.min_isr:
            return False
        if not log.log_start <= replica.hw <= log.leo or log.recovery_point > log.leo:
            return False
        hws, ends, highest = self._within.hws.get(partition), self._reads.ends, self._true_hw.highest
        if hws is None or hws.get(broker, 0) > hw or highest.get(partition, 0) > hw or ends.get(partition, 0) >= hw:
            return False
        if self._reads.log_branches.get(partition, -1) != log.extents[-1][1] or not self.agree(replica, state):
            return False
        hws[broker] = ends[partition] = highest[partition] = hw
        self._true_hw.epochs[partition] = epoch
        return True

    def agree(self, leader: Replica, state: PartitionState) -> bool:
        """Return whether all in-sync replicas hold the same records below a leader's HW."""
        leadership, isr = leader.leadership, state.isr
        if leadership is None or leadership.isr != isr:
            return False
        hw, extents, replicas = leader.hw, leader.log.extents, self._replicas[state.partition]
        for broker in isr:
            member = replicas.get(broker)
            if member is None or member.log.leo < hw or member.log.extents != extents:
                return False
        return True


# All invariants, in the order of the manual.


PROPERTIES: Final[tuple[type[Invariant], ...]] = (
    LogMatching, LeaderCompleteness, WeakIsr, AcksAllDurability, AcksOneBounded, LogBounds, SingleLeader, LeaderInIsr,
    EpochMonotonicity, HwWithin, StableReads, MaximalIsr, IsrEligibility, RecoveryBarrier, ZombieFencing, MinIsr,
    UncleanExclusion, TrueHwMonotone, CompactionKeepsNewest,
)  # fmt: skip

DEFINITIONS: Final[dict[str, InvariantDefinition]] = {each.definition.name: each.definition for each in PROPERTIES}
"""Name → definition of the invariant."""

INVARIANTS: Final = tuple(DEFINITIONS)
"""Names of all invariants."""


class InvariantChecker:
    """All invariants of one cluster. ``violations`` and ``unexpected`` count by name."""

    __slots__ = (
        "_appended", "_cluster_state", "_context", "_deleted", "_fast_check", "_handlers", "_hw_handlers", "min_isr",
        "properties", "read",
    )  # fmt: skip

    def __init__(
        self, cluster_state: ClusterState, emit: Callable[[Event], None], plane: Registrations | None = None
    ) -> None:
        """``plane`` gives the committed broker registrations; None with manual steps."""
        self._cluster_state = cluster_state
        self._context = InvariantContext(cluster_state, emit, plane)
        self._deleted: dict[str, None] = {}
        """Partitions that were deleted and may have been created again."""
        self.properties: dict[str, Invariant] = {each.definition.name: each(self._context) for each in PROPERTIES}
        handlers_of: dict[type[TraceEvent], list[Callable[[Any], None]]] = {}
        for each in self.properties.values():
            for kind, handler in each.handlers().items():
                handlers_of.setdefault(kind, []).append(handler)
        self._handlers = {
            kind: tuple(handlers_of.get(kind, ())) for kind in dict.fromkeys((*handlers_of, *EXCUSING_EVENTS))
        }
        self._appended = _find(SingleLeader, self.properties).appended
        self.min_isr = _find(MinIsr, self.properties)
        """The min-isr invariant, which handles every acknowledgement of acks=all."""
        within, reads = _find(HwWithin, self.properties), _find(StableReads, self.properties)
        self.min_isr.use_previous_hw_of(within)
        self.read: Callable[[RecordsRead], None] = reads.read
        """Handler of records that a consumer received."""
        true_hw = _find(TrueHwMonotone, self.properties)
        self._hw_handlers: tuple[HwHandler, ...] = (
            _find(LogBounds, self.properties).hw_advanced, self.min_isr.hw_advanced, within.hw_advanced,
            reads.hw_advanced, true_hw.hw_advanced,
        )  # fmt: skip
        self._fast_check = HighWatermarkCheck(cluster_state, within, reads, true_hw)

    @property
    def violations(self) -> dict[str, int]:
        """Invariant → number of violations."""
        return self._context.violations

    @property
    def unexpected(self) -> dict[str, int]:
        """Invariant → number of violations that are not known for this version."""
        return self._context.unexpected

    @property
    def allowed_losses(self) -> AllowedLosses:
        """Allowed losses, by partition."""
        return self._context.allowed_losses

    def appended(self, event: Appended) -> None:
        """Handle an append by a leader."""
        if not self._deleted or not self._is_stale(event.partition, event.broker):
            self._appended(event)

    def hw_advanced(self, event: HwAdvanced) -> None:
        """Handle an HW advance of a leader."""
        partition, broker = event.partition, event.broker
        if self._deleted and self._is_stale(partition, broker):
            return
        replica, record = self._cluster_state.replicas[partition][broker], self._cluster_state.records[partition]
        fast_check = self._fast_check
        if not fast_check.is_regular(event, replica, record.state):
            self._context.allowed_losses.before(event)
            for handler in self._hw_handlers:
                handler(event, replica, record)
            if not fast_check.agree(replica, record.state):
                for each in self.properties.values():
                    each.logs_differ(partition, event.at_us)
        if self._context.allowed_losses.any_lacks_lost_records:
            self._context.allowed_losses.after(event)

    def out_of_bounds(self, now: int, replica: Replica) -> None:
        """Handle a follower whose HW or LEO moved so that its HW is outside its log."""
        if not self._cluster_state.is_stale(replica.partition, replica.broker):
            _find(LogBounds, self.properties).followed(replica, now)

    def observe(self, event: TraceEvent) -> None:
        """Handle a rare event, after the cluster state has changed."""
        if isinstance(event, PartitionDeleted):
            self._forget(event.partition)
            return
        handlers = self._handlers.get(type(event))
        if handlers is None:
            return
        if (
            self._deleted
            and isinstance(
                event, BecameLeader | BecameFollower | Truncated | LogStartMoved | SegmentRolled | LogCleaned
            )
            and self._is_stale(event.partition, event.broker)
        ):
            return
        self._context.allowed_losses.before(event)
        for handler in handlers:
            handler(event)
        self._context.allowed_losses.after(event)

    def close(self) -> None:
        """End the session: run the pending checks."""
        _find(AcksAllDurability, self.properties).close()

    def _is_stale(self, partition: str, broker: int) -> bool:
        """Return whether a replica belongs to a deleted partition and is no longer checked."""
        return partition in self._deleted and self._cluster_state.is_stale(partition, broker)

    def _forget(self, partition: str) -> None:
        self._deleted[partition] = None
        self._context.allowed_losses.forget(partition)
        for each in self.properties.values():
            each.forget(partition)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            self._context.save(), tuple(self._deleted), tuple([each.save() for each in self.properties.values()]),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        context, deleted, properties = saved
        self._context.load(context)
        self._deleted = dict.fromkeys(deleted)
        for each, state in zip(self.properties.values(), properties, strict=True):
            each.load(state)


P = TypeVar("P", bound=Invariant)


def _find(kind: type[P], properties: Mapping[str, Invariant]) -> P:
    """Return the only invariant of a class."""
    return next(each for each in properties.values() if isinstance(each, kind))
