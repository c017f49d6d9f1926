"""Responses that come late, or twice, while requests arrive as ever."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.kernel.shapes import Shape
from faults.declarations.fault import MS, PERCENT, Fault, Injury, Param, table
from faults.declarations.spelling import percent, spelled
from faults.kinds.base import Shaping

TO: Final = Param("to", "target", "Only responses between the target and these nodes; all by default.", default="")
WHOSE: Final = Param(
    "direction",
    "choice",
    "Whose responses: the target's (out), those that it gets (in), or both.",
    default="out",
    choices=("both", "out", "in"),
)


class SlowResponses(Shaping):
    """Answers are held up."""

    name = "slow_responses"

    def shape(self, injury: Injury, source: int, target: int) -> Shape:
        """The same for each link."""
        del source, target
        return Shape(answer_us=int(injury.params["delay"]), answer_jitter_us=int(injury.params["jitter"]))

    def told(self, params: Mapping[str, Any]) -> str:
        """How late."""
        return f"requests are taken in time and answered {spelled(int(params['delay']))} late"


class DuplicateResponses(Shaping):
    """A proxy repeats answers."""

    name = "duplicate_responses"

    def shape(self, injury: Injury, source: int, target: int) -> Shape:
        """The same for each link."""
        del source, target
        return Shape(repeats=int(injury.params["percent"]))

    def told(self, params: Mapping[str, Any]) -> str:
        """How many."""
        often = percent(int(params["percent"]))
        return f"{often} of the responses come twice, and whoever gets one so closes the connection"


FAULTS: Final = table(
    Fault(
        name="slow_responses",
        letter="d",
        title="slow responses",
        family="links",
        summary="Responses of the target come late; requests arrive in time, and are carried out.",
        params=(
            Param("delay", "duration", "Added to every response.", default=500 * MS, low=1),
            Param("jitter", "duration", "The most that chance adds on top.", default=0),
            TO,
            WHOSE,
        ),
        accepts="nodes",
        lasting=True,
        heals="responses given from then on take their usual time, behind those that are late",
        glyph="↩",
        colour="warning",
        cause="a response queue or network threads that do not keep up, a proxy that buffers one direction",
        may_break="whoever waits: once the delay is longer than a request timeout, what was carried out is asked for "
        "again, and without idempotence written twice",
        behaviour=SlowResponses(),
    ),
    Fault(
        name="duplicate_responses",
        letter="2",
        title="duplicate responses",
        family="links",
        summary="A proxy in front of the target repeats some of its responses: the receiver, with no request in flight "
        "for the second, closes the connection, and all requests on it fail.",
        params=(
            Param("percent", "percent", "Responses that come twice.", default=1 * PERCENT, low=1, high=100 * PERCENT),
            TO,
            WHOSE,
        ),
        accepts="nodes",
        lasting=True,
        heals="no response comes twice any more",
        glyph="⇇",
        colour="warning",
        cause="a broken proxy or load balancer in between; TCP itself never does it",
        may_break="connections: requests in flight fail with NETWORK_EXCEPTION and are tried again, as after a reset",
        behaviour=DuplicateResponses(),
    ),
)
"""Faults by name."""
