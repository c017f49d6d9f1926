"""Zombie fencing: nobody obeys a controller or a leader of the past."""

from typing import Any, Final

from cluster_model.checker.invariants.ground import Ground, Heard, Property, listed
from cluster_model.checker.invariants.promise import Promise
from cluster_model.controller.rules.change import LEADER
from cluster_model.protocol.events import (
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    NodeDown,
    RecoveryChanged,
    TraceEvent,
)

FENCING: Final = Promise(
    "zombie-fencing",
    "Zombie fencing",
    "A broker that knows of a controller epoch does nothing that an older one asks for, and the committed ISR changes "
    "on a leader's word only as the leader of the committed epoch proposed it.",
    "ReplicaManager.becomeLeaderOrFollower (controller epochs); KIP-380; KIP-497",
)

_SAMPLED: Final = (LeaderElected, IsrChanged, BecameFollower, BrokerRegistered, ControllerChanged)
"""At these it is looked at whom the brokers obey."""


class ZombieFencing(Property):
    """Looked at whenever a broker obeys or a decision falls."""

    __slots__ = ("_before", "_epochs", "_led", "_obeyed")
    promise = FENCING

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._obeyed: dict[int, int] = {}
        """Broker → the newest controller epoch that it has obeyed."""
        self._epochs: dict[str, int] = {}
        """Partition → its leader epoch, as committed before the event at hand."""
        self._led: dict[str, int] = {}
        """Partition → the newest leader epoch that a broker has taken up: before that nobody proposes in it."""
        self._before: dict[str, tuple[int, int]] = {}
        """Partition → the partition epoch of its newest election, and the leader epoch before it."""

    def hears(self) -> Heard:
        """Decisions, roles, and who is gone."""
        return {
            **dict.fromkeys(_SAMPLED, self._obeying),
            **dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided),
            BecameLeader: self._taken_up,
            NodeDown: self._down,
        }

    def _obeying(self, event: TraceEvent) -> None:
        plane = self.ground.plane
        if plane is None:
            return
        for broker in self.world.brokers:
            if self.world.is_up(broker):
                before, epoch = self._obeyed.get(broker, -1), plane.obeyed_epoch(broker)
                if epoch < before:
                    detail = f"broker {broker} obeyed a controller of epoch {epoch}, and had heard of epoch {before}"
                    now = event.at_us  # type: ignore[attr-defined]
                    self.ground.report(self.promise, now, "", broker, detail, epoch=epoch)
                self._obeyed[broker] = epoch

    def _taken_up(self, event: BecameLeader) -> None:
        self._obeying(event)
        self._led[event.partition] = max(self._led.get(event.partition, -1), event.leader_epoch)

    def _down(self, event: NodeDown) -> None:
        """A new process remembers no controller."""
        self._obeyed.pop(event.broker, None)

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        self._obeying(event)
        if isinstance(event, LeaderElected):
            self._before[event.partition] = (event.partition_epoch, self._epochs.get(event.partition, 0))
        if isinstance(event, IsrChanged) and event.by == LEADER:
            self._as_proposed(event)
        self._epochs[event.partition] = event.leader_epoch

    def _as_proposed(self, event: IsrChanged) -> None:
        """What a leader changes is what the leader of that very epoch proposed, not one of the past."""
        name = event.partition
        replica = self.world.replicas[name].get(event.leader)
        elected_at, before = self._before.get(name, (-1, 0))
        # What a leader proposed may complete a reassignment, and with it its own leadership: one decision does both.
        by_the_way = elected_at == event.partition_epoch
        if not by_the_way:
            before = self._epochs.get(name, 0)
        if self._led.get(name, -1) < before:
            detail = (
                f"the ISR became {listed(event.isr)} on a leader's word, and nobody had taken up epoch {before} to "
                f"propose it"
            )
            self.ground.report(self.promise, event.at_us, name, event.leader, detail, epoch=before)
            return
        if by_the_way or replica is None or replica.leadership is None or replica.leader_epoch != before:
            return
        pending = replica.leadership.pending or ()
        assignment = self.world.records[name].assignment
        if sorted(broker for broker in pending if broker in assignment) != sorted(event.isr):
            detail = (
                f"the ISR became {listed(event.isr)} on a leader's word, and leader {event.leader} of epoch {before} "
                f"had proposed {listed(pending) if pending else 'nothing'}"
            )
            self.ground.report(self.promise, event.at_us, name, event.leader, detail, epoch=before)

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._epochs.pop(partition, None)
        self._led.pop(partition, None)
        self._before.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(tuple(table.items()) for table in (self._obeyed, self._epochs, self._led, self._before))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._obeyed, self._epochs, self._led, self._before = map(dict, saved)
