"""ISR eligibility: nobody in the ISR is fenced or shutting down."""

from typing import Final

from cluster_model.checker.invariants.ground import Heard, Property, listed
from cluster_model.checker.invariants.promise import KRAFT, Mend, Promise
from cluster_model.controller.rules.change import LEADER
from cluster_model.protocol.events import BrokerFenced, IsrChanged, LeaderElected

ELIGIBILITY: Final = Promise(
    "isr-eligibility",
    "Who may be in the ISR",
    "No member of the committed ISR is fenced or shutting down, except the last one where there are no eligible leader "
    "replicas.",
    "KIP-841",
    (Mend(KRAFT, "KIP-841 with a KRaft controller", "3.3"),),
    "With ZooKeeper only who joins is looked at: who has gone leaves one decision later.",
)


class IsrEligibility(Property):
    """Looked at when somebody joins an ISR, when a leader is elected, and when a broker is fenced."""

    __slots__ = ()
    promise = ELIGIBILITY

    def hears(self) -> Heard:
        """Who joins, who is elected with whom, and who is fenced."""
        return {IsrChanged: self._joined, LeaderElected: self._elected, BrokerFenced: self._fenced}

    def _joined(self, event: IsrChanged) -> None:
        """Who joins is registered, unfenced and does not stop."""
        if self.ground.plane is None or event.by != LEADER:
            return
        for broker in event.isr:
            if broker not in event.previous_isr and not self._is_active(broker):
                detail = f"broker {broker} joined the ISR {listed(event.isr)}, and is fenced or shutting down"
                self.ground.report(
                    self.promise, event.at_us, event.partition, broker, detail, epoch=event.leader_epoch,
                )  # fmt: skip

    def _elected(self, event: LeaderElected) -> None:
        """The ISR that a new leader begins with holds only the active, but for the last one where KIP-966 is off.

        Who is elected because it is back is unfenced by a later record of the same batch.
        """
        profile = self.world.profile
        if not profile.kraft or self.ground.plane is None or (len(event.isr) == 1 and not profile.elr):
            return
        for broker in event.isr:
            if not self._is_active(broker) and not event.by.startswith(f"broker {broker} is back"):
                detail = (
                    f"broker {event.leader} was elected with the ISR {listed(event.isr)}, and broker {broker} is "
                    f"fenced or shutting down"
                )
                self.ground.report(
                    self.promise, event.at_us, event.partition, broker, detail, epoch=event.leader_epoch,
                )  # fmt: skip

    def _is_active(self, broker: int) -> bool:
        plane = self.ground.plane
        return plane is not None and plane.is_live(broker) and not plane.is_shutting_down(broker)

    def _fenced(self, event: BrokerFenced) -> None:
        """It is in no ISR any more, but for the last member where KIP-966 is off."""
        profile, broker = self.world.profile, event.broker
        if not profile.kraft or self.ground.plane is None:
            return
        for name, record in self.world.records.items():
            isr = record.isr
            if broker in isr and (profile.elr or len(isr) > 1):
                detail = f"broker {broker} is fenced, and stays in the ISR {listed(isr)}"
                self.ground.report(
                    self.promise, event.at_us, name, broker, detail, epoch=record.leader_epoch,
                )  # fmt: skip
