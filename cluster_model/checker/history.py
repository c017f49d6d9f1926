"""The rare events of a partition, kept to explain a loss: elections, truncations, ISR changes."""

from typing import Any

from cluster_model.events import (
    BatchDamaged,
    IsrChanged,
    LeaderElected,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    TraceEvent,
    Truncated,
)
from cluster_model.log.compare import Range
from cluster_model.log.crashes import LOSSY
from cluster_model.world import World


class History:
    """What happened to one cluster, by partition where it concerns one."""

    __slots__ = ("_damages", "_elections", "_isrs", "_saved", "_truncations", "_world", "moment")

    def __init__(self, world: World) -> None:
        self._world = world
        self.moment = 0
        """Rare events so far: their order, which their times do not tell where time stands still."""
        self._elections: dict[str, list[tuple[int, LeaderElected | PartitionOffline]]] = {
            name: [] for name in world.records
        }
        self._truncations: dict[str, list[tuple[int, Truncated, tuple[tuple[int, int, int], ...]]]] = {
            name: [] for name in world.records
        }
        """(moment, event, what it took as (stint, start, end) each)."""
        self._isrs: dict[str, list[tuple[int, tuple[int, ...]]]] = {
            name: [(0, record.isr)] for name, record in world.records.items()
        }
        """(leader epoch, ISR)."""
        self._damages: list[tuple[int, BatchDamaged]] = []
        self._saved: tuple[Any, ...] | None = None
        """What :meth:`save` gave, until something changes."""

    def observe(self, event: TraceEvent) -> None:
        """Keep the event if it is one that explains anything."""
        self._saved = None
        self.moment += 1
        if isinstance(event, PartitionCreated):
            self._elections[event.partition], self._truncations[event.partition] = [], []
            self._isrs[event.partition] = [(event.leader_epoch, event.isr)]
        elif isinstance(event, PartitionDeleted):
            for table in (self._elections, self._truncations, self._isrs):
                table.pop(event.partition, None)
        elif isinstance(event, LeaderElected | PartitionOffline):
            self._elections[event.partition].append((self.moment, event))
        elif isinstance(event, Truncated) and not self._world.is_stale(event.partition, event.broker):
            log = self._world.replicas[event.partition][event.broker].log
            self._truncations[event.partition].append((self.moment, event, log.cut))
        elif isinstance(event, BatchDamaged):
            self._damages.append((self.moment, event))
        elif isinstance(event, IsrChanged):
            self._isrs[event.partition].append((event.leader_epoch, event.isr))

    def isr_of(self, partition: str, leader_epoch: int) -> tuple[int, ...]:
        """The newest ISR that the leader of an epoch can be going by, as of now."""
        isrs = self._isrs[partition]
        epoch, isr = isrs[-1]
        if epoch <= leader_epoch:
            return isr
        return next(isr for epoch, isr in reversed(isrs) if epoch <= leader_epoch)

    def last_election(self, partition: str, until: int) -> LeaderElected | None:
        """The newest decision up to a moment, if it made somebody leader."""
        decided = [event for moment, event in self._elections[partition] if moment <= until]
        return decided[-1] if decided and isinstance(decided[-1], LeaderElected) else None

    def unclean_election(self, partition: str) -> bool:
        """Whether any election so far took a leader from outside the ISR."""
        return any(
            isinstance(event, LeaderElected) and not event.clean for _moment, event in self._elections[partition]
        )

    def last_cut(self, partition: str, broker: int, stint: int, offsets: Range, until: int) -> Truncated | None:
        """The newest truncation up to a moment by which a replica lost any of these very records."""
        for moment, event, taken in reversed(self._truncations[partition]):
            if moment <= until and event.broker == broker:
                for owner, start, end in taken:
                    if owner == stint and start < offsets[1] and end > offsets[0]:
                        return event
        return None

    def damaged(self, partition: str, broker: int, offsets: Range, until: int) -> bool:
        """Whether a replica's copy of any record at these offsets had been damaged on its disk by a moment."""
        return any(
            moment <= until
            and (event.partition, event.broker) == (partition, broker)
            and event.log_offset < offsets[1]
            and event.end_offset > offsets[0]
            for moment, event in self._damages
        )

    def lossy_crash(self, partition: str) -> bool:
        """Whether any replica lost records that it had, other than by the protocol."""
        if any(event.partition == partition for _moment, event in self._damages):
            return True
        return any(event.rule in LOSSY for _moment, event, _taken in self._truncations[partition])

    def save(self) -> tuple[Any, ...]:
        """All state; events are never changed, so their lists are enough."""
        if self._saved is not None:
            return self._saved
        tables = [
            tuple((name, tuple(events)) for name, events in table.items())
            for table in (self._elections, self._truncations, self._isrs)
        ]
        self._saved = (*tables, self.moment, tuple(self._damages))
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._saved = saved
        elections, truncations, isrs, self.moment, damages = saved
        self._damages = list(damages)
        self._elections = {name: list(events) for name, events in elections}
        self._truncations = {name: list(events) for name, events in truncations}
        self._isrs = {name: list(entries) for name, entries in isrs}
