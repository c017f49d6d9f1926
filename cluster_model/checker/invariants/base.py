"""What no protocol can make good: unclean elections, and crashes that took records which were on no disk.

A promise about acknowledged records ends with an unclean election. It ends too where the last in-sync replica loses
what it had; with eligible leader replicas (KIP-966), where as many replicas as min.insync.replicas have. A process that
dies loses nothing: the operating system has its pages. Excused are records up to the leader epoch in which it happened,
never later ones. A damaged batch is there until a start cuts it off, which is a loss like others; before that, only a
leader's copy keeps anybody from reading it, and only what is damaged.
"""

from typing import Any

from cluster_model.log.crash_recovery import LOSSY
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import (
    BecameLeader,
    HwAdvanced,
    IsrChanged,
    LeaderElected,
    PartitionOffline,
    TraceEvent,
    Truncated,
)
from cluster_model.util.ranges import subtract

LISTENS = (BecameLeader, IsrChanged, LeaderElected, PartitionOffline, Truncated)
"""The rare events among what is heard here."""


class Excuses:
    """By partition: up to which leader epoch losses are excused, and which replicas have lost records."""

    __slots__ = ("_covered", "_crashed", "_world", "_wounded")

    def __init__(self, world: World) -> None:
        self._world = world
        self._covered: dict[str, int] = {}
        self._crashed: dict[str, int] = {}
        """Partition → its leader epoch when a replica last lost what was on no disk."""
        self._wounded: dict[tuple[str, int], int] = {}
        """Replicas that lack what they had, with the epoch of their broker's registration as they lost it."""

    def covers(self, partition: str, epoch: int) -> bool:
        """Whether the loss of records of a leader epoch is excused."""
        return epoch <= self._covered.get(partition, -1)

    def damaged(self, partition: str, start: int, end: int) -> bool:
        """Whether all of ``[start, end)`` is damaged on the leader's disk."""
        leader = self._world.true_leader(partition)
        return leader is not None and not subtract([(start, end)], [each[:2] for each in leader.damages])

    def lossy(self, partition: str, epoch: int) -> bool:
        """Whether a lossy crash may explain what is found of records of a leader epoch.

        They are no newer than the last one, or somebody still lacks what it lost.
        """
        if partition not in self._crashed:
            return False
        return epoch <= self._crashed[partition] or self.any_wounded_of(partition)

    def any_wounded_of(self, partition: str) -> bool:
        """Whether a replica of a partition is wounded."""
        return any(name == partition for name, _broker in self._wounded)

    def ever_lossy(self, partition: str) -> bool:
        """Whether any replica ever lost what was on no disk."""
        return partition in self._crashed

    def covered(self, partition: str) -> int:
        """Up to which leader epoch the loss of its records is excused, -1 for none."""
        return self._covered.get(partition, -1)

    def is_wounded(self, partition: str, broker: int) -> bool:
        """Whether a replica lost records, and has not yet reached the HW of a later leader."""
        return (partition, broker) in self._wounded

    def is_back(self, partition: str, broker: int) -> bool:
        """Whether the cluster knows that a wounded replica's process began again.

        It has registered since: a late heartbeat, or the word of a leader that it fetched from, is of the dead one.
        """
        registration = self._wounded.get((partition, broker))
        return registration is not None and self._world.registration(broker) > registration

    @property
    def any_wounded(self) -> bool:
        """Whether there is such a replica."""
        return bool(self._wounded)

    def before(self, event: TraceEvent) -> None:
        """An event that the properties are about to look at."""
        if isinstance(event, Truncated):
            if event.rule in LOSSY:
                self._wound(event.partition, event.broker)
        elif isinstance(event, LeaderElected):
            if not event.clean:
                self._cover(event.partition, event.leader_epoch - 1)
            self._left_alone(event.partition, event.isr, event.leader_epoch - 1)
        elif isinstance(event, IsrChanged | PartitionOffline):
            self._left_alone(event.partition, event.isr, event.leader_epoch)

    def after(self, event: TraceEvent) -> None:
        """They have looked: who leads now has the log that counts, and who has reached its HW is whole again."""
        if self._wounded and isinstance(event, LeaderElected | IsrChanged | HwAdvanced | BecameLeader):
            self._heal(event.partition)

    def _wound(self, partition: str, broker: int) -> None:
        record = self._world.records.get(partition)
        if record is None:
            return
        self._crashed[partition] = record.leader_epoch
        self._wounded[partition, broker] = self._world.registration(broker)
        if self._world.profile.elr:
            lost = sum(name == partition for name, _broker in self._wounded)
            if lost >= self._world.effective_min_isr(partition):
                self._cover(partition, record.leader_epoch)
        else:
            self._left_alone(partition, record.isr, record.leader_epoch)

    def _left_alone(self, partition: str, isr: tuple[int, ...], epoch: int) -> None:
        """All that may lead have lost records as members, the last one too; who was back before that is no excuse."""
        if not self._wounded or not isr:
            return
        record = self._world.records.get(partition)
        eligible = () if record is None else record.state.elr
        if all(self._is_out(partition, broker) for broker in (*isr, *eligible)):
            self._cover(partition, epoch)

    def _is_out(self, partition: str, broker: int) -> bool:
        return self.is_wounded(partition, broker) and not self.is_back(partition, broker)

    def _cover(self, partition: str, epoch: int) -> None:
        if epoch > self._covered.get(partition, -1):
            self._covered[partition] = epoch

    def _heal(self, partition: str) -> None:
        leader = self._world.true_leader(partition)
        if leader is None:
            return
        for broker, replica in self._world.replicas[partition].items():
            if not self.is_back(partition, broker):
                continue
            leadership = leader.leadership
            start = leader.log.leo if leadership is None else leadership.epoch_start
            if replica is leader or (replica.log.leo >= max(leader.hw, start) and not replica.damages):
                del self._wounded[partition, broker]

    def forget(self, partition: str) -> None:
        """A partition is deleted."""
        self._covered.pop(partition, None)
        self._crashed.pop(partition, None)
        self._wounded = {key: epoch for key, epoch in self._wounded.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(tuple(table.items()) for table in (self._covered, self._crashed, self._wounded))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._covered, self._crashed, self._wounded = map(dict, saved)
