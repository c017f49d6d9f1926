"""Leader completeness (StrongIsr): what anybody who presumes to lead calls committed is on every member of the ISR."""

from typing import Final

from cluster_model.checker.invariants.completeness import MENDS, Completeness
from cluster_model.checker.invariants.ground import Heard, listed
from cluster_model.checker.invariants.promise import Promise
from cluster_model.protocol.events import ElrChanged, IsrChanged, LeaderElected, RecoveryChanged

LEADER_COMPLETENESS: Final = Promise(
    "leader-completeness",
    "Leader completeness (StrongIsr)",
    "Every record below the HW of any replica that presumes to lead is on every member of the committed ISR, and of "
    "the ELR, as the same record.",
    "KIP-320; StrongIsr in the TLA+ models of Kafka's replication (hachikuji/kafka-specification)",
    MENDS,
    "Unclean elections; members that lost what was on no disk.",
)

Decision = LeaderElected | IsrChanged | ElrChanged | RecoveryChanged


class LeaderCompleteness(Completeness):
    """Looked at with every decision, and when a HW rises above what not all hold alike."""

    __slots__ = ()
    promise = LEADER_COMPLETENESS

    def hears(self) -> Heard:
        """Decisions."""
        return dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided)

    def _decided(self, event: Decision) -> None:
        self.parted(event.partition, event.at_us)

    def parted(self, partition: str, now: int) -> None:
        """All who presume to lead, beside ISR and ELR."""
        state = self.world.records[partition].state
        whose = f"ISR {listed(state.isr)} and ELR {listed(state.elr)}"
        for leader in self.leaders(partition):
            self.compare(partition, leader, (*state.isr, *state.elr), whose, now)
