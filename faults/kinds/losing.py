"""Links that lose packets."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.kernel.shapes import Shape
from faults.declarations.fault import PERCENT, Alias, Fault, Injury, Param, table
from faults.declarations.links import DIRECTION
from faults.declarations.spelling import percent
from faults.kinds.base import TO, Shaping


class Loss(Shaping):
    """Packets are dropped by chance, and sent again by TCP."""

    name = "loss"

    def shape(self, injury: Injury, source: int, target: int) -> Shape:
        """The same for each link."""
        del source, target
        return Shape(loss=int(injury.params["percent"]))

    def told(self, params: Mapping[str, Any]) -> str:
        """How many."""
        return f"{percent(int(params['percent']))} of the packets are sent again after 200 ms or more"


FAULTS: Final = table(
    Fault(
        name="loss",
        letter="k",
        title="packet loss",
        family="links",
        summary="Packets from and to the target are lost by chance: TCP sends them again after 200 ms, twice that the "
        "next time, and whatever is behind them on the connection waits; after 30 s the connection is reset.",
        params=(
            Param(
                "percent",
                "percent",
                "Packets of up to 1448 bytes that are lost.",
                default=5 * PERCENT,
                low=1,
                high=100 * PERCENT,
            ),
            TO,
            DIRECTION,
        ),
        accepts="nodes",
        lasting=True,
        heals="packets sent from then on arrive; what is being sent again arrives when it would have, and a connection "
        "whose segment was lost too often is reset after 200 ms",
        glyph="∵",
        colour="warning",
        cause="a bad cable or transceiver, an overrun buffer, a congested path",
        may_break="latency, the more the larger messages are; the ISR, if a follower loses most of what it fetches; "
        "connections, where nearly everything is lost",
        aliases=(
            Alias("packet_loss"),
            Alias("netem_loss"),
            Alias("pod_network_loss"),
        ),
        behaviour=Loss(),
    ),
)
"""Faults by name."""
