"""Links and network cards that carry so much a second."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.kernel.shapes import INTO, OUT, Shape
from faults.declarations.fault import Alias, Fault, Injury, Param, table
from faults.declarations.links import DIRECTION
from faults.kinds.base import TO, Shaping

_MEGABIT: Final = 125_000


class Bandwidth(Shaping):
    """Messages go one after the other, each for as long as its bytes take."""

    name = "bandwidth"

    def shape(self, injury: Injury, source: int, target: int) -> Shape:
        """A limit of this link, or of the cards of the fault's targets that it goes over."""
        cards = 0
        if injury.params["shared"]:
            way = injury.params["direction"]
            cards += OUT if source in injury.nodes and way != "in" else 0
            cards += INTO if target in injury.nodes and way != "out" else 0
        return Shape(rate=int(injury.params["rate"]), cards=cards)

    def told(self, params: Mapping[str, Any]) -> str:
        """How much, and whether together."""
        bits = int(params["rate"]) * 8
        rate = f"{bits // 1_000_000} Mbit/s" if bits % 1_000_000 == 0 else f"{params['rate']} bytes/s"
        return f"all links of a direction together carry {rate}" if params["shared"] else f"each link carries {rate}"


FAULTS: Final = table(
    Fault(
        name="bandwidth",
        letter="w",
        title="bandwidth",
        family="links",
        summary="Links from and to the target carry only so many bytes a second: a message takes its size on top of "
        "the latency, and waits for those before it.",
        params=(
            Param(
                "rate",
                "throughput",
                "What passes, each way; with several limits on one link the lowest holds.",
                default=3 * _MEGABIT,
                low=1,
                high=1 << 40,
            ),
            TO,
            DIRECTION,
            Param(
                "shared",
                "bool",
                "One limit for all links of a target together, each way, as its network card has.",
                default=False,
            ),
        ),
        accepts="nodes",
        lasting=True,
        heals="what waits for its turn is sent at once, in order",
        glyph="≂",
        colour="warning",
        cause="a thin link between sites, a network card at its limit, a cloud instance's baseline, a noisy neighbour",
        may_break="throughput; the ISR, once replication is slower than what is produced; requests that wait longer "
        "than their timeouts, which are then sent once more",
        aliases=(Alias("netem_rate"),),
        behaviour=Bandwidth(),
    ),
)
"""Faults by name."""
