"""The recovery barrier: nobody joins the ISR of a leader that is recovering from an unclean election."""

from typing import Final

from cluster_model.checker.invariants.ground import Heard, Property, listed
from cluster_model.checker.invariants.promise import Promise
from cluster_model.protocol.events import ElrChanged, IsrChanged, LeaderElected, RecoveryChanged

RECOVERY: Final = Promise(
    "recovery-barrier",
    "Recovery barrier",
    "While a leader elected uncleanly counts as recovering, it is the only member of the committed ISR.",
    "KIP-704 (before 3.2 nobody counts as recovering)",
)


class RecoveryBarrier(Property):
    """Looked at with every decision."""

    __slots__ = ()
    promise = RECOVERY

    def hears(self) -> Heard:
        """Decisions."""
        return dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided)

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        state = self.world.records[event.partition].state
        if state.recovering and len(state.isr) > 1:
            detail = f"leader {state.leader} is recovering from an unclean election, and the ISR is {listed(state.isr)}"
            self.ground.report(
                self.promise, event.at_us, event.partition, state.leader, detail, epoch=state.leader_epoch,
            )  # fmt: skip
