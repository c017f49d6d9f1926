"""The maximal ISR holds the committed one: a leader counts everybody for its HW whom the controller has in sync."""

from typing import Final

from cluster_model.checker.invariants.ground import Heard, Property, listed
from cluster_model.checker.invariants.promise import Mend, Promise
from cluster_model.protocol.events import ElrChanged, IsrChanged, LeaderElected, RecoveryChanged

MAXIMAL_ISR: Final = Promise(
    "maximal-isr-superset",
    "The maximal ISR holds the committed one",
    "The leader of the committed epoch, once it has taken it up, counts every member of the committed ISR for its HW.",
    "KIP-497",
    (Mend("alter_partition", "KIP-497", "2.7"),),
)


class MaximalIsr(Property):
    """Looked at with every decision."""

    __slots__ = ()
    promise = MAXIMAL_ISR

    def hears(self) -> Heard:
        """Decisions."""
        return dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided)

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        name = event.partition
        record, leader = self.world.records[name], self.world.true_leader(name)
        if leader is None or leader.leadership is None or leader.leader_epoch != record.leader_epoch:
            return
        maximal = leader.leadership.maximal_isr
        lacking = [broker for broker in record.isr if broker not in maximal]
        if lacking:
            detail = (
                f"leader {record.leader} goes by the ISR {listed(maximal)}, and {listed(lacking)} are committed too"
            )
            self.ground.report(
                self.promise, event.at_us, name, record.leader, detail, epoch=record.leader_epoch,
            )  # fmt: skip
