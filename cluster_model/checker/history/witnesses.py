"""What stood when acknowledged records went missing: kept for as long as they are, to tell the cause from.

A :class:`Witness` stands for consecutive records of one leader stint that went missing by one event. It is forgotten
when the leader's log has them all again.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.history.fault_history import Deed
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import IsrChanged, LeaderElected, RecordsMissing, TraceEvent

LOOKED_OVER: Final = 64
"""Witnesses of a partition after which those of records that are back are looked for, and dropped."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What stood for a partition at a moment."""

    moment: int
    replicas: tuple[int, ...]
    """The assignment."""
    isr: tuple[int, ...]
    """As committed before the newest election."""
    election: LeaderElected | None
    """The newest decision, if it made somebody leader."""
    elected: int
    """Its place among the rare events."""
    deposed: int
    """Who led before that, -1 nobody."""
    deeds: tuple[Deed, ...]
    fenced: tuple[Deed, ...]
    dropped: tuple[tuple[int, int, IsrChanged], ...]
    """For each replica outside the ISR how it last left: (broker, moment, event)."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Records that went missing together."""

    epoch: int
    """Of the leader that wrote them."""
    start: int
    end: int
    trigger: TraceEvent | None
    """What made them go missing; None: they were acknowledged when the leader lacked them already."""
    scene: Scene
    holders: tuple[int, ...]
    """Replicas other than the leader's that held the first of them."""
    instead: int
    """Epoch of what the leader's log held at the first one's offset, -1 for nothing."""

    def goes_on(self, other: "Witness") -> bool:
        """Whether the other one is just more of it."""
        return (self.epoch, self.end, self.trigger, self.holders) == (
            other.epoch,
            other.start,
            other.trigger,
            other.holders,
        ) and self.scene.elected == other.scene.elected


class Witnesses:
    """By partition."""

    __slots__ = ("_kept", "_world")

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: dict[str, list[Witness]] = {}

    def missing(self, event: RecordsMissing, trigger: TraceEvent | None, scene: Scene) -> None:
        """Records went missing."""
        start, end = event.log_offset, event.log_offset + event.count
        replicas = self._world.replicas[event.partition]
        leader = self._world.records[event.partition].leader
        holders = [
            broker
            for broker, replica in replicas.items()
            if broker != leader and epoch_at(replica.log, start) == event.leader_epoch and not _spoilt(replica, start)
        ]
        instead = epoch_at(replicas[leader].log, start) if leader in replicas else -1
        fresh = Witness(event.leader_epoch, start, end, trigger, scene, tuple(holders), instead)
        kept = self._kept.setdefault(event.partition, [])
        if kept and kept[-1].goes_on(fresh):
            kept[-1] = replace(kept[-1], end=end)
            return
        kept.append(fresh)
        if len(kept) % LOOKED_OVER == 0:
            self._kept[event.partition] = [each for each in kept if self._gone(event.partition, each)]

    def _gone(self, partition: str, witness: Witness) -> bool:
        """Whether the leader's log lacks any of them."""
        leader = self._world.true_leader(partition)
        if leader is None:
            return True
        log = leader.log
        return not (
            epoch_at(log, witness.start) == epoch_at(log, witness.end - 1) == witness.epoch and not leader.damages
        )

    def of(self, partition: str, epoch: int, offset: int) -> Witness | None:
        """The newest witness of a record's going missing."""
        for each in reversed(self._kept.get(partition, ())):
            if each.epoch == epoch and each.start <= offset < each.end:
                return each
        return None

    def kept(self, partition: str) -> list[Witness]:
        """All of a partition's, in the order in which they went missing."""
        return self._kept.get(partition, [])

    def elections(self, partition: str) -> list[int]:
        """Moments of the elections that they name."""
        return [each.scene.elected for each in self._kept.get(partition, ())]

    def forget(self, partition: str) -> None:
        """It is deleted, or made anew."""
        self._kept.pop(partition, None)

    @property
    def entries(self) -> int:
        """How many are kept."""
        return sum(len(each) for each in self._kept.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple((name, tuple(kept)) for name, kept in self._kept.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._kept = {name: list(kept) for name, kept in saved}


def epoch_at(log: ReplicaLog, offset: int) -> int:
    """Epoch of the leader that wrote what a log holds at an offset, -1 for nothing."""
    if not log.extents or not max(log.log_start, log.extents[0][0]) <= offset < log.leo:
        return -1
    return log.lineage_at(offset).epoch


def _spoilt(replica: Replica, offset: int) -> bool:
    return any(each.start <= offset < each.end for each in replica.damages)
