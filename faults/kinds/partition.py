"""Network partitions: isolated nodes, halves, bridges, rings, and links that come and go.

Only links among the targets are cut. Clients, and controllers that are not named, hear everybody as before.
"""

from collections.abc import Sequence
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import Stream
from faults.declarations.fault import (
    MS,
    SECOND,
    Aim,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Injury,
    Param,
    table,
)
from faults.declarations.impact import severance
from faults.declarations.targets import DIRECTION, TARGETS, between, links_of

# Cut links.


HEALED: Final = "what still waits arrives, in order, after a retransmission timeout of 200 ms"
"""What the mending of cut links does."""


class Cutting(Behaviour):
    """Packets are dropped on some links."""

    name: str = ""
    """Of the fault."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Cut each link."""
        for source, target in injury.links:
            stage.cluster.cut(source, target, injury.id)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Mend each link that nothing else cuts."""
        for source, target in injury.links:
            stage.cluster.mend(source, target, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What the sides do without each other: leaders, followers, controllers and clients."""
        return severance(cluster, self.name, aim)


class NetworkPartition(Cutting):
    """Two sides that do not hear each other."""

    name = "partition"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Every link between the target and the other side, everybody else by default."""
        return links_of(stage, aim, self.name, others_only=True)


class Isolation(Cutting):
    """Each target alone."""

    name = "isolate"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Every link between a target and anybody, the other targets among them."""
        return links_of(stage, aim, self.name)


PARTITION_FAULTS: Final = table(
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

SIDES: Final = Param(
    "direction",
    "choice",
    "Which way is struck: out of the smaller half, into it, or both.",
    default="both",
    choices=("both", "out", "in"),
)


def shuffled(stage: FaultContext, nodes: Sequence[int]) -> list[int]:
    """The nodes in an order drawn by the session's seed."""
    stream = stage.cluster.stream(TARGETS)
    left = list(nodes)
    return [left.pop(stream.below(len(left))) for _turn in nodes]


def short_names(cluster: Cluster, nodes: Sequence[int]) -> str:
    """Nodes without blanks, for the details of a fault: ``broker1,broker4``."""
    return ",".join(cluster.name_of(node).replace(" ", "") for node in nodes)


def halved(stage: FaultContext, nodes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Two halves drawn by the seed, each in the order of the targets; the first is the smaller."""
    order = shuffled(stage, nodes)
    first = order[: len(order) // 2]
    return [node for node in nodes if node in first], [node for node in nodes if node not in first]


class Halves(Cutting):
    """Two halves that do not hear each other."""

    name = "halves"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Draw who is on which side."""
        return _sided(stage, aim, *halved(stage, aim.nodes), {})


class Bridge(Cutting):
    """Two halves that do not hear each other, and one node between them that hears both."""

    name = "bridge"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Settle the node in the middle, and draw who is on which side of it."""
        asked = str(aim.params["bridge"])
        among = stage.targets(asked) if asked else shuffled(stage, aim.nodes)[:1]
        if len(among) != 1 or among[0] not in aim.nodes:
            found = short_names(stage.cluster, among)
            raise FaultError(f"bridge: the middle is one of the targets, found {found}", code="middle_not_a_target")
        sides = halved(stage, [node for node in aim.nodes if node != among[0]])
        return _sided(stage, aim, *sides, {"bridge": short_names(stage.cluster, among)})


def _sided(stage: FaultContext, aim: Aim, one: list[int], other: list[int], more: dict[str, Any]) -> Aim:
    sides = f"{short_names(stage.cluster, one)}|{short_names(stage.cluster, other)}"
    links = between(one, other, str(aim.params["direction"]))
    return Aim(aim.nodes, {**aim.params, **more, "sides": sides}, links)


class MajorityRing(Cutting):
    """Everybody hears a majority, and no two the same one."""

    name = "majority_ring"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Place the targets on a ring, and cut whoever is too far from each other on it."""
        drawn = aim.params["order"] == DRAWN
        ring = shuffled(stage, aim.nodes) if drawn else list(aim.nodes)
        reach = neighbours(len(ring))
        links = [
            (source, target)
            for here, source in enumerate(ring)
            for there, target in enumerate(ring)
            if min((here - there) % len(ring), (there - here) % len(ring)) > reach
        ]
        return Aim(aim.nodes, {**aim.params, "ring": short_names(stage.cluster, ring)}, tuple(links))


DRAWN: Final = "drawn"
GIVEN: Final = "given"


def neighbours(nodes: int) -> int:
    """How far each hears on a ring of so many, to each side: as little as makes a majority together with itself.

    With five that is one to each side, with six or seven two. An even number hears one more than it had to: links are
    cut both ways, so who is heard comes in pairs.
    """
    return (nodes // 2 + 1) // 2


BROKERS_ONLY: Final = "brokers"
"""The data plane alone: controllers with processes of their own go on hearing everybody unless they are named."""

DIVISION_FAULTS: Final = table(
    Fault(
        name="halves",
        letter="h",
        title="halves",
        family="links",
        summary="The targets fall into two halves, drawn by the seed, that do not hear each other; of an odd number "
        "one is a majority, of an even number neither.",
        params=(SIDES,),
        accepts="nodes",
        lasting=True,
        heals=HEALED,
        glyph="◐",
        colour="warning",
        cause="two rooms, racks or zones whose connection fails",
        may_break="ISRs after replica.lag.time.max.ms, where a leader and its follower are in different halves; with "
        "the controllers among the targets, the sessions of the half without a majority of them",
        aliases=(Alias("partition_random_halves"),),
        behaviour=Halves(),
        target=BROKERS_ONLY,
        at_least=2,
    ),
    Fault(
        name="bridge",
        letter="y",
        title="bridge",
        family="links",
        summary="The targets but one fall into two halves, drawn by the seed, that do not hear each other; the one "
        "hears both and is heard by both.",
        params=(
            Param("bridge", "target", "The one in the middle; drawn by the seed unless given.", default=""),
            SIDES,
        ),
        accepts="nodes",
        lasting=True,
        heals=HEALED,
        glyph="∩",
        colour="warning",
        cause="routes that fail between two zones while a third still reaches both, asymmetric firewall rules",
        may_break="ISRs of leaders that are not the bridge; a quorum in which two candidates can each win the bridge",
        behaviour=Bridge(),
        target=BROKERS_ONLY,
        at_least=3,
    ),
    Fault(
        name="majority_ring",
        letter="m",
        title="majority ring",
        family="links",
        summary="Every target hears a majority of the targets and no two hear the same one: on a ring, each hears only "
        "those next to it, of five one to each side.",
        params=(
            Param(
                "order",
                "choice",
                "The order on the ring: drawn by the seed, or as the target names them.",
                default=DRAWN,
                choices=(DRAWN, GIVEN),
            ),
        ),
        accepts="nodes",
        lasting=True,
        heals=HEALED,
        glyph="○",
        colour="warning",
        cause="many links that fail one by one, full connection tables, overlay networks that lose single tunnels",
        may_break="ISRs, each of which shrinks to what its leader hears; with controllers among the targets, those "
        "that hear a majority but not the leader ask for elections",
        aliases=(
            Alias("majorities_ring"),
            Alias("partition_majorities_ring"),
        ),
        behaviour=MajorityRing(),
        target=BROKERS_ONLY,
        at_least=5,
    ),
)
"""Faults by name."""


# Flapping links.


_DOWN: Final = "down"
_UP: Final = "up"
_DETAIL: Final = "detail"


class Flapping(Cutting):
    """Down, up, down, up. The memo holds which of the two it is, and the parameters as they were told."""

    name = "flapping"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Every link between the target and the other side, everybody else by default."""
        return links_of(stage, aim, self.name, others_only=True)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """It begins with being down."""
        injury.memo[_DETAIL] = injury.detail
        self._turn(stage, injury, _DOWN)

    def woken(self, stage: FaultContext, injury: Injury) -> None:
        """A phase is over."""
        self._turn(stage, injury, _UP if injury.memo["now"] == _DOWN else _DOWN)

    def _turn(self, stage: FaultContext, injury: Injury, phase: str) -> None:
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

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What the longest time without a connection does; requests wait for the next time with one."""
        longest = int(aim.params[_DOWN]) * (2 if aim.params["random"] else 1)
        longest = min(longest, aim.for_us) if aim.for_us >= 0 else longest
        return super().expect(cluster, Aim(aim.nodes, aim.params, aim.links, longest))


FLAPPING_FAULTS: Final = table(
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
