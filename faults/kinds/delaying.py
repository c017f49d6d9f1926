"""Messages that take longer."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import MS, Aim, Alias, Behaviour, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import slowness
from faults.declarations.links import DIRECTION, links_of
from faults.kinds.base import TO


class Lag(Behaviour):
    """Latency and jitter on top of a link's own."""

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Every link between the target and the other side, everybody by default."""
        return links_of(stage, aim, "lag")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Slow each link down."""
        for source, target in injury.links:
            stage.cluster.add_lag(
                source, target, injury.id, int(injury.params["latency"]), int(injury.params["jitter"])
            )

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Messages sent from then on take their usual time."""
        for source, target in injury.links:
            stage.cluster.remove_lag(source, target, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Who waits for it."""
        return slowness(cluster, "lag", aim.nodes)


FAULTS: Final = table(
    Fault(
        name="lag",
        letter="l",
        title="lag",
        family="links",
        summary="Messages from and to the target take longer, in order and without loss.",
        params=(
            Param("latency", "duration", "Added to every message, one way.", default=200 * MS, low=1),
            Param("jitter", "duration", "The most that chance adds on top.", default=0),
            TO,
            DIRECTION,
        ),
        accepts="nodes",
        lasting=True,
        heals="messages sent from then on take their usual time",
        glyph="≈",
        colour="warning",
        cause="a congested or long link, a saturated network card, a slow host",
        may_break="latency of acks=all; the ISR once a follower lags beyond replica.lag.time.max.ms",
        aliases=(
            Alias("latency"),
            Alias("network_latency"),
            Alias("network_delay"),
            Alias("netem_delay"),
            Alias("pod_network_latency"),
        ),
        behaviour=Lag(),
    ),
)
"""Faults by name."""
