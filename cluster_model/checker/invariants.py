"""Safety properties of replication, each checked at the first event that can break it.

The names are those of the protocol's own arguments: log matching (two replicas with the same epoch at an offset agree
below it), durability of acks=all, one leader per epoch, a high watermark that never falls within a leadership, epochs
that never fall, leaders in the ISR, bounds of every log's markers. Old generations are known to break some of them.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.checker.control_plane import CONTROL_INVARIANTS, EPOCHS, ControlInvariants, Registrations
from cluster_model.checker.history import History
from cluster_model.events import (
    Appended,
    AssignmentChanged,
    BecameLeader,
    ElrChanged,
    Event,
    HwAdvanced,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    LogStartMoved,
    PartitionDeleted,
    PartitionOffline,
    RecordsMissing,
    RecoveryChanged,
    TraceEvent,
    Truncated,
)
from cluster_model.log.compare import differing
from cluster_model.messages import NOBODY
from cluster_model.world import World

LOG_MATCHING: Final = "log-matching"
DURABILITY: Final = "acks-all-durability"
ONE_LEADER: Final = "single-leader-per-epoch"
HW_MONOTONE: Final = "hw-within-leadership"
BOUNDS: Final = "log-bounds"
LEADER_IN_ISR: Final = "leader-in-isr"

INVARIANTS: Final = (
    LOG_MATCHING, DURABILITY, ONE_LEADER, HW_MONOTONE, BOUNDS, EPOCHS, LEADER_IN_ISR, *CONTROL_INVARIANTS,
)  # fmt: skip
"""All of them, by name."""


class Invariants:
    """Checks as events come; ``violations`` counts by invariant."""

    __slots__ = (
        "_control", "_emit", "_epochs", "_history", "_hws", "_leaders", "_reborn", "_reported", "_world", "violations",
    )  # fmt: skip

    def __init__(
        self,
        world: World,
        history: History,
        emit: Callable[[Event], None],
        plane: Registrations | None = None,
    ) -> None:
        self._world = world
        self._history = history
        self._emit = emit
        self._leaders: dict[tuple[str, int], int] = {}
        self._hws: dict[str, tuple[int, int, int]] = {}
        self._epochs: dict[str, tuple[int, int]] = {}
        self._reported: dict[tuple[str, str, int, int], int] = {}
        self._reborn: dict[str, None] = {}
        """Partitions that were deleted, and may be there again."""
        self.violations: dict[str, int] = {}
        self._control = ControlInvariants(world, history, plane, self._violated)

    def appended(self, event: Appended) -> None:
        """At most one broker ever appends as leader in an epoch."""
        if self._reborn and self._is_past(event.partition, event.broker):
            return
        known = self._leaders.setdefault((event.partition, event.leader_epoch), event.broker)
        if known != event.broker:
            detail = f"brokers {known} and {event.broker} both appended as leader in epoch {event.leader_epoch}"
            self._violated(ONE_LEADER, event.partition, event.broker, event.leader_epoch, event.at_us, detail)

    def observe(self, event: TraceEvent) -> None:
        """A rare event."""
        if isinstance(event, PartitionDeleted):
            self._forget(event.partition)
        elif isinstance(event, BecameLeader | Truncated | LogStartMoved) and self._is_past(
            event.partition, event.broker
        ):
            return
        self._control.observe(event)
        if isinstance(event, LeaderElected | IsrChanged):
            self._decided(event)
            if isinstance(event, IsrChanged) and event.leader >= 0 and event.by == "leader":
                self._logs_match(event.partition, event.at_us)
        elif isinstance(event, PartitionOffline | ElrChanged | RecoveryChanged | AssignmentChanged):
            self._risen(event.partition, event.leader_epoch, event.partition_epoch, event.at_us)
        elif isinstance(event, BecameLeader | Truncated | LogStartMoved):
            self._bounds(event.partition, event.broker, event.at_us)
            if isinstance(event, BecameLeader):
                self._hws.pop(event.partition, None)
        elif isinstance(event, RecordsMissing):
            self._durable(event)

    def hw_advanced(self, event: HwAdvanced) -> None:
        """It never falls within a leadership, and what lies below it is the same on all in-sync replicas."""
        if self._reborn and self._is_past(event.partition, event.broker):
            return
        before = self._hws.get(event.partition)
        if before is not None and before[:2] == (event.broker, event.leader_epoch) and event.hw < before[2]:
            detail = f"broker {event.broker} lowered its HW from {before[2]} to {event.hw} within epoch {before[1]}"
            self._violated(HW_MONOTONE, event.partition, event.broker, event.hw, event.at_us, detail)
        self._hws[event.partition] = (event.broker, event.leader_epoch, event.hw)
        self._bounds(event.partition, event.broker, event.at_us)
        record = self._world.records[event.partition]
        if event.broker == record.leader and event.leader_epoch == record.leader_epoch:
            self._logs_match(event.partition, event.at_us)

    def _is_past(self, partition: str, broker: int) -> bool:
        """Whether a replica is of a deleted partition, so that nothing is promised of it any more."""
        return partition in self._reborn and self._world.is_stale(partition, broker)

    def _forget(self, partition: str) -> None:
        """It is deleted; one that is created again begins with other epochs and another log."""
        self._reborn[partition] = None
        self._hws.pop(partition, None)
        self._epochs.pop(partition, None)
        self._leaders = {key: broker for key, broker in self._leaders.items() if key[0] != partition}

    def _bounds(self, partition: str, broker: int, at_us: int) -> None:
        replica = self._world.replicas[partition][broker]
        log = replica.log
        if not log.log_start <= replica.hw <= log.leo:
            detail = f"broker {broker}: log start {log.log_start}, HW {replica.hw}, LEO {log.leo}"
            self._violated(BOUNDS, partition, broker, replica.hw, at_us, detail)

    def _logs_match(self, partition: str, at_us: int) -> None:
        """What the leader counts as committed must be the same records on every in-sync replica."""
        record = self._world.records[partition]
        replicas = self._world.replicas[partition]
        leader = self._world.true_leader(partition)
        if leader is None:
            return
        for broker in record.isr:
            replica = replicas.get(broker)  # A new partition's may not have been made yet.
            if replica is None or replica.log.extents == leader.log.extents or replica.topic_id != leader.topic_id:
                continue
            log = replica.log
            parted = [(start, end) for start, end in differing(leader.log, log) if start < leader.hw]
            if parted:
                start = parted[0][0]
                detail = (
                    f"brokers {record.leader} and {broker} are in sync with HW {leader.hw}, and hold different records "
                    f"from offset {start} to {parted[0][1] - 1}"
                )
                self._violated(LOG_MATCHING, partition, broker, start, at_us, detail)

    def _decided(self, event: LeaderElected | IsrChanged) -> None:
        self._risen(event.partition, event.leader_epoch, event.partition_epoch, event.at_us, event.leader)
        if event.leader >= 0 and event.leader not in event.isr:
            detail = f"leader {event.leader} is not in the ISR {list(event.isr)}"
            self._violated(LEADER_IN_ISR, event.partition, event.leader, event.leader_epoch, event.at_us, detail)

    def _risen(self, partition: str, leader_epoch: int, partition_epoch: int, at_us: int, leader: int = NOBODY) -> None:
        now = (leader_epoch, partition_epoch)
        before = self._epochs.get(partition, (0, 0))
        if now[0] < before[0] or now[1] < before[1]:
            detail = f"(leader epoch, partition epoch) went from {before} to {now}"
            self._violated(EPOCHS, partition, leader, now[0], at_us, detail)
        self._epochs[partition] = now

    def _durable(self, event: RecordsMissing) -> None:
        """acks=all records may go only with an unclean election or a crash that lost what was on no disk."""
        excused = self._history.unclean_election(event.partition) or self._history.lossy_crash(event.partition)
        if event.acks < 0 and not excused:
            what = "1 record" if event.count == 1 else f"{event.count} records"
            detail = f"{what} acknowledged with acks=all missing from offset {event.log_offset} on"
            leader = self._world.records[event.partition].leader
            self._violated(DURABILITY, event.partition, leader, event.log_offset, event.at_us, detail, event.cause)

    def _violated(
        self, invariant: str, partition: str, broker: int, place: int, at_us: int, detail: str, cause: str = ""
    ) -> None:
        key = (invariant, partition, broker, place)
        if key in self._reported:
            return
        self._reported[key] = at_us
        self.violations[invariant] = self.violations.get(invariant, 0) + 1
        self._emit(InvariantViolated(at_us, invariant, partition, broker, detail, cause))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self._leaders, self._hws, self._epochs, self._reported, self.violations)
        return (*(tuple(table.items()) for table in tables), tuple(self._reborn), self._control.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        leaders, hws, epochs, reported, violations, reborn, control = saved
        self._control.load(control)
        self._reborn = dict.fromkeys(reborn)
        self._leaders, self._hws, self._epochs = dict(leaders), dict(hws), dict(epochs)
        self._reported, self.violations = dict(reported), dict(violations)
