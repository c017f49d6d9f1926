"""The leader is in the ISR, the ISR among the replicas, and not empty."""

from typing import Any, Final

from cluster_model.checker.invariants.ground import Ground, Heard, Property, listed
from cluster_model.checker.invariants.promise import EMPTY, LEAVING, LEAVING_MEND, Mend, Promise
from cluster_model.protocol.events import (
    AssignmentChanged,
    IsrChanged,
    LeaderElected,
    PartitionCreated,
    PartitionOffline,
)
from cluster_model.protocol.messages import NOBODY

LEADER_IN_ISR: Final = Promise(
    "leader-in-isr",
    "Leader in ISR",
    "A leader that the controller has committed is in the committed ISR, whose members are all replicas of the "
    "partition; the ISR is never empty, unless there are eligible leader replicas.",
    "LeaderInIsr in the TLA+ models of Kafka's replication (hachikuji/kafka-specification); KIP-966",
    (Mend("keeps_last_isr", "a controller that keeps the last member", "1.1", EMPTY), LEAVING_MEND),
    "Up to 1.0 the last member leaves the ISR where unclean elections are allowed.",
)

Decision = LeaderElected | IsrChanged | PartitionOffline | AssignmentChanged | PartitionCreated


class LeaderInIsr(Property):
    """Looked at with every decision, as committed."""

    __slots__ = ("_leaving",)
    promise = LEADER_IN_ISR

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._leaving: dict[str, tuple[int, ...]] = {}
        """Partition → members of its ISR that its assignment has left out since it was written."""

    def hears(self) -> Heard:
        """Decisions."""
        kinds = (LeaderElected, IsrChanged, PartitionOffline, AssignmentChanged, PartitionCreated)
        return dict.fromkeys(kinds, self._decided)

    def _decided(self, event: Decision) -> None:
        record = self.world.records.get(event.partition)
        if record is None:
            return
        state = record.state
        isr = event.isr if isinstance(event, LeaderElected | IsrChanged | PartitionOffline) else state.isr
        leader = NOBODY if isinstance(event, PartitionOffline) else event.leader
        if leader >= 0 and leader not in isr:
            self._report(event, leader, f"leader {leader} is not in the ISR {listed(isr)}")
        self._strangers(event, isr, state.replicas)
        if not isr and not self.world.profile.elr:
            allowed = (EMPTY,) if record.topic.unclean else ()
            self._report(event, leader, "the ISR is empty", allowed)

    def _strangers(self, event: Decision, isr: tuple[int, ...], replicas: tuple[int, ...]) -> None:
        strangers = tuple([broker for broker in isr if broker not in replicas])
        if isinstance(event, AssignmentChanged) and strangers:
            self._leaving[event.partition] = strangers
        leaving = self._leaving.get(event.partition, ())
        if strangers:
            detail = f"the ISR {listed(isr)} has {listed(strangers)}, and the replicas are {listed(replicas)}"
            when = (LEAVING,) if set(strangers) <= set(leaving) else ()
            self._report(event, strangers[0], detail, when)
        elif leaving:
            del self._leaving[event.partition]

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._leaving.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._leaving.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._leaving = dict(saved)

    def _report(self, event: Decision, broker: int, detail: str, when: tuple[str, ...] = ()) -> None:
        epoch = event.leader_epoch
        self.ground.report(self.promise, event.at_us, event.partition, broker, detail, epoch=epoch, when=when)
