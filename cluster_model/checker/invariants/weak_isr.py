"""WeakIsr: what a presumed leader calls committed is on every member of the ISR that it goes by itself."""

from typing import Final

from cluster_model.checker.invariants.completeness import MENDS, Completeness
from cluster_model.checker.invariants.ground import Heard, listed
from cluster_model.checker.invariants.promise import Promise
from cluster_model.protocol.events import BecameLeader, IsrChanged, LeaderElected

WEAK_ISR: Final = Promise(
    "weak-isr",
    "The leader's own ISR is complete (WeakIsr)",
    "Every record below the HW of any replica that presumes to lead is on every member of the ISR that this replica "
    "goes by, as the same record.",
    "KIP-320; WeakIsr in the TLA+ models of Kafka's replication (hachikuji/kafka-specification)",
    MENDS,
    "Unclean elections; members that lost what was on no disk.",
)


class WeakIsr(Completeness):
    """Looked at when leadership or an ISR changes, and when a HW rises above what not all hold alike."""

    __slots__ = ()
    promise = WEAK_ISR

    def hears(self) -> Heard:
        """Who leads, and by which ISR."""
        return dict.fromkeys((LeaderElected, IsrChanged, BecameLeader), self._changed)

    def _changed(self, event: LeaderElected | IsrChanged | BecameLeader) -> None:
        self.parted(event.partition, event.at_us)

    def parted(self, partition: str, now: int) -> None:
        """All who presume to lead, each beside its own ISR."""
        for leader in self.leaders(partition):
            if leader.leadership is not None:
                isr = leader.leadership.isr
                self.compare(partition, leader, isr, f"its own ISR {listed(isr)}", now)
