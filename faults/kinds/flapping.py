"""Links that come and go."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.kernel.rng import Stream
from faults.declarations.fault import MS, SECOND, Aim, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.links import DIRECTION, links_of
from faults.kinds.partitioning import HEALED, Cutting

_DOWN: Final = "down"
_UP: Final = "up"
_DETAIL: Final = "detail"


class Flapping(Cutting):
    """Down, up, down, up. The memo holds which of the two it is, and the parameters as they were told."""

    name = "flapping"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Every link between the target and the other side, everybody else by default."""
        return links_of(stage, aim, self.name, others_only=True)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """It begins with being down."""
        injury.memo[_DETAIL] = injury.detail
        self._turn(stage, injury, _DOWN)

    def woken(self, stage: Stage, injury: Injury) -> None:
        """A phase is over."""
        self._turn(stage, injury, _UP if injury.memo["now"] == _DOWN else _DOWN)

    def _turn(self, stage: Stage, injury: Injury, phase: str) -> None:
        injury.memo["now"] = phase
        injury.detail = f"{injury.memo[_DETAIL]} now={phase}"
        if phase == _DOWN:
            super().apply(stage, injury)
        else:
            self.heal(stage, injury)
        stage.wake(injury, self._lasts(stage.cluster.stream(f"flapping/{injury.id}"), injury, phase))

    @staticmethod
    def _lasts(stream: Stream, injury: Injury, phase: str) -> int:
        """Microseconds of a phase: as given, or by chance anything up to twice that."""
        length = int(injury.params[phase])
        return 1 + stream.below(2 * length) if injury.params["random"] else length

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What the longest time without a connection does; requests wait for the next time with one."""
        longest = int(aim.params[_DOWN]) * (2 if aim.params["random"] else 1)
        longest = min(longest, aim.for_us) if aim.for_us >= 0 else longest
        return super().expect(cluster, Aim(aim.nodes, aim.params, aim.links, longest))


FAULTS: Final = table(
    Fault(
        name="flapping",
        letter="f",
        title="flapping links",
        family="links",
        summary="Packets between the target and the others are dropped for a while, pass for a while, are dropped "
        "again, and so on; connections stay open unless a pause outlasts them.",
        params=(
            Param("down", "duration", "How long nothing passes.", default=2 * SECOND, low=10 * MS),
            Param("up", "duration", "How long everything passes in between.", default=5 * SECOND, low=10 * MS),
            Param("random", "bool", "Whether chance decides: each time anything up to twice as long.", default=False),
            Param("to", "target", "The other side; everybody else by default.", default=""),
            DIRECTION,
        ),
        accepts="nodes",
        lasting=True,
        heals=f"the links are up for good; {HEALED}",
        glyph="∿",
        colour="warning",
        cause="a bad cable or transceiver, a port that renegotiates, a route that is announced and withdrawn",
        may_break="latency, which is that of the pauses; ISRs and sessions where a pause outlasts "
        "replica.lag.time.max.ms or the session, again and again",
        behaviour=Flapping(),
    ),
)
"""Faults by name."""
