"""The rare events of a partition, kept to explain a loss: elections, truncations, ISR changes, outages."""

from typing import Any

from cluster_model.events import (
    BrokerFenced,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    NodeDown,
    NodePaused,
    PartitionOffline,
    TraceEvent,
    Truncated,
)
from cluster_model.log.compare import Range

POWER_LOSS = "power loss"
"""Rule of a truncation that no protocol asked for."""


class History:
    """What happened to one cluster, by partition where it concerns one."""

    __slots__ = ("_elections", "_isrs", "_saved", "_truncations", "outages")

    def __init__(self, isrs: dict[str, tuple[int, ...]]) -> None:
        """``isrs`` are the partitions' first ISRs."""
        self._elections: dict[str, list[LeaderElected | PartitionOffline]] = {name: [] for name in isrs}
        self._truncations: dict[str, list[Truncated]] = {name: [] for name in isrs}
        self._isrs: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {
            name: [(0, 0, isr)] for name, isr in isrs.items()
        }
        self.outages: list[NodeDown | NodePaused | BrokerFenced | FaultInjected] = []
        self._saved: tuple[Any, ...] | None = None
        """What :meth:`save` gave, until something changes."""

    def observe(self, event: TraceEvent) -> None:
        """Keep the event if it is one that explains anything."""
        self._saved = None
        if isinstance(event, LeaderElected | PartitionOffline):
            self._elections[event.partition].append(event)
        elif isinstance(event, Truncated):
            self._truncations[event.partition].append(event)
        elif isinstance(event, IsrChanged):
            self._isrs[event.partition].append((event.at_us, event.leader_epoch, event.isr))
        elif isinstance(event, NodeDown | NodePaused | BrokerFenced | FaultInjected):
            self.outages.append(event)

    def isr_at(self, partition: str, at_us: int, leader_epoch: int) -> tuple[int, ...]:
        """The ISR committed at an instant, as far as the leader of that epoch can have gone by it."""
        found: tuple[int, ...] = ()
        for since, epoch, isr in self._isrs[partition]:
            if since <= at_us and epoch <= leader_epoch:
                found = isr
        return found

    def last_election(self, partition: str, until_us: int) -> LeaderElected | None:
        """The newest decision up to an instant, if it made somebody leader."""
        decided = [event for event in self._elections[partition] if event.at_us <= until_us]
        return decided[-1] if decided and isinstance(decided[-1], LeaderElected) else None

    def unclean_election(self, partition: str) -> bool:
        """Whether any election so far took a leader from outside the ISR."""
        return any(isinstance(event, LeaderElected) and not event.clean for event in self._elections[partition])

    def cuts(self, partition: str, broker: int, offsets: Range, since_us: int) -> list[Truncated]:
        """Truncations of one replica that dropped any of these offsets after they were written, oldest first."""
        return [
            event
            for event in self._truncations[partition]
            if event.broker == broker
            and event.at_us >= since_us
            and event.log_offset < offsets[1]
            and event.end_offset > offsets[0]
        ]

    def lossy_crash(self, partition: str) -> bool:
        """Whether any replica lost records that it had, other than by the protocol."""
        return any(event.rule == POWER_LOSS for event in self._truncations[partition])

    def save(self) -> tuple[Any, ...]:
        """All state; events are never changed, so their lists are enough."""
        if self._saved is not None:
            return self._saved
        tables = [
            tuple((name, tuple(events)) for name, events in table.items())
            for table in (self._elections, self._truncations, self._isrs)
        ]
        self._saved = (*tables, tuple(self.outages))
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._saved = saved
        elections, truncations, isrs, outages = saved
        self._elections = {name: list(events) for name, events in elections}
        self._truncations = {name: list(events) for name, events in truncations}
        self._isrs = {name: list(entries) for name, entries in isrs}
        self.outages = list(outages)
