"""Networks that are neither whole nor in two: halves, halves with a bridge, and rings of majorities.

Only links among the targets are cut. Clients, and controllers that are not named, hear everybody as before.
"""

from collections.abc import Sequence
from typing import Any, Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import Aim, Alias, Fault, FaultError, Param, Stage, table
from faults.declarations.links import between
from faults.declarations.targets import TARGETS
from faults.kinds.partitioning import HEALED, Cutting

SIDES: Final = Param(
    "direction",
    "choice",
    "Which way is struck: out of the smaller half, into it, or both.",
    default="both",
    choices=("both", "out", "in"),
)


def shuffled(stage: Stage, nodes: Sequence[int]) -> list[int]:
    """The nodes in an order drawn by the session's seed."""
    stream = stage.cluster.stream(TARGETS)
    left = list(nodes)
    return [left.pop(stream.below(len(left))) for _turn in nodes]


def short_names(cluster: Cluster, nodes: Sequence[int]) -> str:
    """Nodes without blanks, for the details of a fault: ``broker1,broker4``."""
    return ",".join(cluster.name_of(node).replace(" ", "") for node in nodes)


def halved(stage: Stage, nodes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Two halves drawn by the seed, each in the order of the targets; the first is the smaller."""
    order = shuffled(stage, nodes)
    first = order[: len(order) // 2]
    return [node for node in nodes if node in first], [node for node in nodes if node not in first]


class Halves(Cutting):
    """Two halves that do not hear each other."""

    name = "halves"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Draw who is on which side."""
        return _sided(stage, aim, *halved(stage, aim.nodes), {})


class Bridge(Cutting):
    """Two halves that do not hear each other, and one node between them that hears both."""

    name = "bridge"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Settle the node in the middle, and draw who is on which side of it."""
        asked = str(aim.params["bridge"])
        among = stage.targets(asked) if asked else shuffled(stage, aim.nodes)[:1]
        if len(among) != 1 or among[0] not in aim.nodes:
            found = short_names(stage.cluster, among)
            raise FaultError(f"bridge: the middle is one of the targets, found {found}")
        sides = halved(stage, [node for node in aim.nodes if node != among[0]])
        return _sided(stage, aim, *sides, {"bridge": short_names(stage.cluster, among)})


def _sided(stage: Stage, aim: Aim, one: list[int], other: list[int], more: dict[str, Any]) -> Aim:
    sides = f"{short_names(stage.cluster, one)}|{short_names(stage.cluster, other)}"
    links = between(one, other, str(aim.params["direction"]))
    return Aim(aim.nodes, {**aim.params, **more, "sides": sides}, links)


class MajorityRing(Cutting):
    """Everybody hears a majority, and no two the same one."""

    name = "majority_ring"

    def aim(self, stage: Stage, aim: Aim) -> Aim:
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

FAULTS: Final = table(
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
