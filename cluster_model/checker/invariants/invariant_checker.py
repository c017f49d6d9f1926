"""The registry of all invariants, and the dispatch of each event to those that it can break."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import (
    LISTENS,
    Excuses,
    HwHeard,
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
from cluster_model.checker.invariants.high_watermark import HwWithin, StableReads, TrueHw
from cluster_model.checker.invariants.isr import IsrEligibility, LeaderInIsr, MaximalIsr, MinIsr, RecoveryBarrier
from cluster_model.checker.invariants.log import KeepsNewest, LogBounds, LogMatching
from cluster_model.observation.cluster_state import World
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

# A fast path for a HW that rises as usual: nearly all do, and then no property has anything to check.


class HighWatermarkCheck:
    """Notes for the properties that hear of every HW what they would note themselves."""

    __slots__ = ("_reads", "_replicas", "_true_hw", "_within")

    def __init__(self, world: World, within: HwWithin, reads: StableReads, true_hw: TrueHw) -> None:
        self._replicas = world.replicas
        self._within = within
        self._reads = reads
        self._true_hw = true_hw

    def as_ever(self, event: HwAdvanced, replica: Replica, state: PartitionState) -> bool:
        """Whether the committed leader's HW rose as it should in the stint that it stood in, and the ISR agrees.

        Then it is noted. If not, nothing is, and the properties have to look themselves.
        """
        log, hw, broker, epoch, partition = replica.log, event.hw, event.broker, event.leader_epoch, event.partition
        if state.leader != broker or state.leader_epoch != epoch or len(state.isr) < replica.min_isr:
            return False
        if not log.log_start <= replica.hw <= log.leo or log.recovery_point > log.leo:
            return False
        hws, ends, highest = self._within.hws.get(partition), self._reads.ends, self._true_hw.highest
        if hws is None or hws.get(broker, 0) > hw or highest.get(partition, 0) > hw or ends.get(partition, 0) >= hw:
            return False
        if self._reads.stints.get(partition, -1) != log.extents[-1][1] or not self.agree(replica, state):
            return False
        hws[broker] = ends[partition] = highest[partition] = hw
        self._true_hw.epochs[partition] = epoch
        return True

    def agree(self, leader: Replica, state: PartitionState) -> bool:
        """Whether all in-sync replicas hold what lies below a leader's HW."""
        leadership, isr = leader.leadership, state.isr
        if leadership is None or leadership.isr != isr:
            return False
        hw, extents, replicas = leader.hw, leader.log.extents, self._replicas[state.partition]
        for broker in isr:
            member = replicas.get(broker)
            if member is None or member.log.leo < hw or member.log.extents != extents:
                return False
        return True


# All safety properties, in the order of the manual.


PROPERTIES: Final[tuple[type[Invariant], ...]] = (
    LogMatching, LeaderCompleteness, WeakIsr, AcksAllDurability, AcksOneBounded, LogBounds, SingleLeader, LeaderInIsr,
    EpochMonotonicity, HwWithin, StableReads, MaximalIsr, IsrEligibility, RecoveryBarrier, ZombieFencing, MinIsr,
    UncleanExclusion, TrueHw, KeepsNewest,
)  # fmt: skip

PROMISES: Final[dict[str, InvariantDefinition]] = {each.promise.name: each.promise for each in PROPERTIES}
"""Name → what is promised."""

INVARIANTS: Final = tuple(PROMISES)
"""All of them, by name."""


class Safety:
    """All safety properties of one cluster. ``violations`` and ``unexpected`` count by name."""

    __slots__ = (
        "_appended", "_glance", "_ground", "_handlers", "_on_hw", "_reborn", "_world", "min_isr", "properties", "read",
    )  # fmt: skip

    def __init__(self, world: World, emit: Callable[[Event], None], plane: Registrations | None = None) -> None:
        """``plane`` tells what is committed of brokers; None where a person decides."""
        self._world = world
        self._ground = InvariantContext(world, emit, plane)
        self._reborn: dict[str, None] = {}
        """Partitions that were deleted, and may be there again."""
        self.properties: dict[str, Invariant] = {each.promise.name: each(self._ground) for each in PROPERTIES}
        heard: dict[type[TraceEvent], list[Callable[[Any], None]]] = {}
        for each in self.properties.values():
            for kind, hears in each.hears().items():
                heard.setdefault(kind, []).append(hears)
        self._handlers = {kind: tuple(heard.get(kind, ())) for kind in dict.fromkeys((*heard, *LISTENS))}
        self._appended = _of(SingleLeader, self.properties).appended
        self.min_isr = _of(MinIsr, self.properties)
        """It hears of every success of acks=all."""
        within, reads = _of(HwWithin, self.properties), _of(StableReads, self.properties)
        self.min_isr.follows(within)
        self.read: Callable[[RecordsRead], None] = reads.read
        """A consumer was handed records."""
        true_hw = _of(TrueHw, self.properties)
        self._on_hw: tuple[HwHeard, ...] = (
            _of(LogBounds, self.properties).hw_advanced, self.min_isr.hw_advanced, within.hw_advanced,
            reads.hw_advanced, true_hw.hw_advanced,
        )  # fmt: skip
        self._glance = HighWatermarkCheck(world, within, reads, true_hw)

    @property
    def violations(self) -> dict[str, int]:
        """Property → how many violations."""
        return self._ground.violations

    @property
    def unexpected(self) -> dict[str, int]:
        """Those of them that this version is not known for."""
        return self._ground.unexpected

    @property
    def excuses(self) -> Excuses:
        """What makes losses no violations, partition by partition."""
        return self._ground.excuses

    def appended(self, event: Appended) -> None:
        """A leader wrote."""
        if not self._reborn or not self._is_past(event.partition, event.broker):
            self._appended(event)

    def hw_advanced(self, event: HwAdvanced) -> None:
        """A leader's HW rose."""
        partition, broker = event.partition, event.broker
        if self._reborn and self._is_past(partition, broker):
            return
        replica, record = self._world.replicas[partition][broker], self._world.records[partition]
        glance = self._glance
        if not glance.as_ever(event, replica, record.state):
            for heard in self._on_hw:
                heard(event, replica, record)
            if not glance.agree(replica, record.state):
                for each in self.properties.values():
                    each.parted(partition, event.at_us)
        if self._ground.excuses.any_wounded:
            self._ground.excuses.after(event)

    def out_of_bounds(self, now: int, replica: Replica) -> None:
        """A follower's HW or LEO moved, and it does not have its HW within its log."""
        if not self._world.is_stale(replica.partition, replica.broker):
            _of(LogBounds, self.properties).followed(replica, now)

    def observe(self, event: TraceEvent) -> None:
        """A rare event, in the state that it left behind."""
        if isinstance(event, PartitionDeleted):
            self._forget(event.partition)
            return
        handlers = self._handlers.get(type(event))
        if handlers is None:
            return
        if (
            self._reborn
            and isinstance(
                event, BecameLeader | BecameFollower | Truncated | LogStartMoved | SegmentRolled | LogCleaned
            )
            and self._is_past(event.partition, event.broker)
        ):
            return
        self._ground.excuses.before(event)
        for heard in handlers:
            heard(event)
        self._ground.excuses.after(event)

    def close(self) -> None:
        """The session is over."""
        _of(AcksAllDurability, self.properties).close()

    def _is_past(self, partition: str, broker: int) -> bool:
        """Whether a replica is of a deleted partition, so that nothing is promised of it any more."""
        return partition in self._reborn and self._world.is_stale(partition, broker)

    def _forget(self, partition: str) -> None:
        self._reborn[partition] = None
        self._ground.excuses.forget(partition)
        for each in self.properties.values():
            each.forget(partition)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self._ground.save(), tuple(self._reborn), tuple([each.save() for each in self.properties.values()]),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        ground, reborn, properties = saved
        self._ground.load(ground)
        self._reborn = dict.fromkeys(reborn)
        for each, state in zip(self.properties.values(), properties, strict=True):
            each.load(state)


P = TypeVar("P", bound=Invariant)


def _of(kind: type[P], properties: Mapping[str, Invariant]) -> P:
    """The one property of a kind."""
    return next(each for each in properties.values() if isinstance(each, kind))
