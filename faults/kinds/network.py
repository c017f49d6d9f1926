"""Connections that break, and that are believed in after they are closed."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel.shapes import Shape
from faults.declarations.fault import (
    MS,
    SECOND,
    Aim,
    Alias,
    Behaviour,
    Expectation,
    Fault,
    FaultError,
    Injury,
    Param,
    Stage,
    table,
)
from faults.declarations.impact import names
from faults.declarations.links import links_of
from faults.declarations.spelling import spelled
from faults.kinds.base import Shaping, noticed

TO: Final = Param("to", "target", "The other ends; everybody by default.", default="")


class ConnectionReset(Behaviour):
    """Connections break at once, and both ends are told."""

    name = "connection_reset"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """All links between the target and the other ends, both ways: a connection has two."""
        return links_of(stage, aim, self.name)

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what stands can break."""
        if not stage.cluster.wiring.connected(aim.links):
            raise FaultError(f"{names(stage.cluster, aim.nodes)} has no connection that could be reset")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Break each."""
        stage.cluster.wiring.sever(injury.links)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """How many, and who notices."""
        count = len(cluster.wiring.connected(aim.links or _all(cluster, aim)))
        return noticed(cluster, aim, f"connections to {count} other process{'' if count == 1 else 'es'} break")


def _all(cluster: Cluster, aim: Aim) -> tuple[tuple[int, int], ...]:
    """Every link of the nodes, for one who asks without having aimed."""
    return tuple((node, other) for node in aim.nodes for other in cluster.nodes() if other != node)


class ResetStorm(ConnectionReset):
    """... and again, and again."""

    name = "reset_storm"

    def check(self, stage: Stage, aim: Aim) -> None:
        """Connections may come later."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Break what stands, now and every so often."""
        stage.cluster.wiring.sever(injury.links)
        stage.wake(injury, int(injury.params["every"]))

    def woken(self, stage: Stage, injury: Injury) -> None:
        """It is time again."""
        self.apply(stage, injury)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Nothing is to be undone: a fault that is off the board is not woken, and peers have connected anew."""
        del stage, injury


class SlowClose(Shaping):
    """Nobody hears in time that a connection is closed."""

    name = "slow_close"

    def shape(self, injury: Injury, source: int, target: int) -> Shape:
        """The same for each link."""
        del source, target
        return Shape(close_us=int(injury.params["delay"]))

    def told(self, params: Mapping[str, Any]) -> str:
        """How late."""
        return f"the end of a connection is heard of {spelled(int(params['delay']))} late"


FAULTS: Final = table(
    Fault(
        name="connection_reset",
        letter="z",
        title="connection reset",
        family="links",
        summary="All connections between the target and the other ends break at once: what is on its way vanishes, "
        "and both ends are told.",
        params=(TO,),
        accepts="nodes",
        lasting=False,
        heals="",
        glyph="⌁",
        colour="warning",
        cause="a load balancer or a stateful firewall that restarts, a NAT table that is flushed",
        may_break="requests in flight, which are tried again: without idempotence what was written may be written "
        "twice, or in another order",
        aliases=(Alias("reset_peer"),),
        behaviour=ConnectionReset(),
    ),
    Fault(
        name="reset_storm",
        letter="B",
        title="reset storm",
        family="links",
        summary="All connections between the target and the other ends break, and whatever has been opened since "
        "breaks again every so often.",
        params=(
            Param("every", "duration", "From one reset to the next.", default=5 * SECOND, low=10 * MS),
            TO,
        ),
        accepts="nodes",
        lasting=True,
        heals="no connection breaks any more",
        glyph="⌁",
        colour="alarm",
        cause="a load balancer that crashes in a loop, a firewall with too small a table, two hosts with one address",
        may_break="whatever takes longer than the time between resets; retries of everything else",
        behaviour=ResetStorm(),
    ),
    Fault(
        name="slow_close",
        letter="e",
        title="slow close",
        family="links",
        summary="The news that the target has closed a connection, by its end or a reset, comes late: peers go on "
        "believing in it, and what they ask there is never answered.",
        params=(
            Param("delay", "duration", "How much later the news comes.", default=60 * SECOND, low=1),
            Param("to", "target", "Only for connections with these nodes; all by default.", default=""),
            Param(
                "direction",
                "choice",
                "Which news: of what the target closed (out), of what was closed to it (in), or both.",
                default="out",
                choices=("both", "out", "in"),
            ),
        ),
        accepts="nodes",
        lasting=True,
        heals="the next close is heard of at once; the late news of an earlier one still is late",
        glyph="◶",
        colour="warning",
        cause="a firewall that drops resets, a host gone before it can say so, a proxy that keeps the other half",
        may_break="failover: a peer finds out by its own timeouts (request.timeout.ms and the like), also after the "
        "target has come back",
        behaviour=SlowClose(),
    ),
)
"""Faults by name."""
