"""Links that let nothing pass."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import Aim, Alias, Behaviour, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import severance
from faults.declarations.links import DIRECTION, links_of

HEALED: Final = "what still waits arrives, in order, after a retransmission timeout of 200 ms"
"""What the mending of cut links does."""


class Cutting(Behaviour):
    """Packets are dropped on some links."""

    name: str = ""
    """Of the fault."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Cut each link."""
        for source, target in injury.links:
            stage.cluster.cut(source, target, injury.id)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Mend each link that nothing else cuts."""
        for source, target in injury.links:
            stage.cluster.mend(source, target, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What the sides do without each other: leaders, followers, controllers and clients."""
        return severance(cluster, self.name, aim)


class NetworkPartition(Cutting):
    """Two sides that do not hear each other."""

    name = "partition"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Every link between the target and the other side, everybody else by default."""
        return links_of(stage, aim, self.name, others_only=True)


class Isolation(Cutting):
    """Each target alone."""

    name = "isolate"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Every link between a target and anybody, the other targets among them."""
        return links_of(stage, aim, self.name)


FAULTS: Final = table(
    Fault(
        name="partition",
        letter="n",
        title="network partition",
        family="links",
        summary="Packets between the target and the others are dropped: connections stay open and silent, what is sent "
        "waits, and after 30 s the connection is given up.",
        params=(
            Param("to", "target", "The other side; everybody else by default.", default=""),
            DIRECTION,
        ),
        accepts="nodes",
        lasting=True,
        heals=HEALED,
        glyph="≠",
        colour="warning",
        cause="a switch or a route that fails, a firewall rule, an availability zone that is cut off",
        may_break="the ISR after replica.lag.time.max.ms; leaderships after the session, while the old leader still "
        "takes acks=1 of clients on its side",
        aliases=(Alias("network_partition"),),
        behaviour=NetworkPartition(),
    ),
    Fault(
        name="isolate",
        letter="i",
        title="isolation",
        family="links",
        summary="Each target is alone: packets between it and everybody else are dropped, those to and from the other "
        "targets among them.",
        params=(
            Param("to", "target", "From whom, the other targets as well if named; everybody by default.", default=""),
            DIRECTION,
        ),
        accepts="nodes",
        lasting=True,
        heals=HEALED,
        glyph="⊖",
        colour="warning",
        cause="failed network cards or ports, hosts whose firewall rules were lost, a switch that isolates its ports",
        may_break="each target for itself: its leaderships after its session, its place in ISRs after "
        "replica.lag.time.max.ms; several controllers alone are no quorum",
        behaviour=Isolation(),
    ),
)
"""Faults by name."""
