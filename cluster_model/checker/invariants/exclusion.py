"""Unclean exclusion: who lost records in a crash does not lead or count before it has caught up."""

from typing import Final

from cluster_model.checker.invariants.ground import Heard, Property, listed
from cluster_model.checker.invariants.promise import Mend, Promise
from cluster_model.protocol.events import (
    BecameLeader,
    BrokerRegistered,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    RecoveryChanged,
)

EXCLUSION: Final = Promise(
    "unclean-exclusion",
    "Exclusion after an unclean stop",
    "A replica that lost records in a crash and is back neither leads nor is in ISR or ELR until it has reached the HW "
    "of a later leader.",
    "KIP-966",
    (Mend("elr", "KIP-966", "4.1"),),
    "An unclean election of that very replica.",
)


class UncleanExclusion(Property):
    """Looked at with every decision while there is such a replica."""

    __slots__ = ()
    promise = EXCLUSION

    def hears(self) -> Heard:
        """Decisions, and who is back."""
        return {
            **dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged, BecameLeader), self._decided),
            BrokerRegistered: self._registered,
        }

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged | BecameLeader) -> None:
        if isinstance(event, LeaderElected) and not event.clean:
            return
        excuses, name = self.ground.excuses, event.partition
        if excuses.any_wounded_of(name):
            for broker in self.world.records[name].assignment:
                self._look(name, broker, event.at_us)

    def _registered(self, event: BrokerRegistered) -> None:
        for name in self.world.records:
            self._look(name, event.broker, event.at_us)

    def _look(self, name: str, broker: int, now: int) -> None:
        if self.ground.plane is None or not self.ground.excuses.is_back(name, broker):
            return
        state = self.world.records[name].state
        replica = self.world.replicas[name].get(broker)
        leader = self.world.true_leader(name)
        if replica is None or replica.damages:
            return
        if leader is not None and leader.broker != broker and replica.log.leo >= leader.hw:
            return
        if broker in (*state.isr, *state.elr, state.leader):
            detail = (
                f"broker {broker} lost records in a crash and counts again before it reached a later leader's HW: "
                f"leader {state.leader}, ISR {listed(state.isr)}, ELR {listed(state.elr)}"
            )
            self.ground.report(
                self.promise, now, name, broker, detail,
                offsets=(replica.log.leo, -1), epoch=state.leader_epoch,
            )  # fmt: skip
