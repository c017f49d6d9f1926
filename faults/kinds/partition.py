"""Network partitions: isolated nodes, halves, bridges, rings, and flapping links.

Only links among the targets are cut. Clients, and controllers that are not targets, reach all nodes as before.
"""

from collections.abc import Sequence
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import RandomStream
from faults.declarations.fault import (
    MS,
    SECOND,
    ActiveFault,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Param,
    ResolvedTarget,
    table,
)
from faults.declarations.impact import link_cut_impact
from faults.declarations.targets import DIRECTION, TARGET_STREAM, between, with_links

# Cut links.


HEALED: Final = "queued messages arrive, in order, when TCP sends them again: its timeout doubles from 200 ms"
"""Effect of restoring cut links."""


class LinkCut(Behaviour):
    """Base of faults that drop all packets on some links."""

    name: str = ""
    """Name of the fault."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Cut each link."""
        for source, target in active_fault.links:
            context.cluster.cut(source, target, active_fault.id)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restore each link that no other fault cuts."""
        for source, target in active_fault.links:
            context.cluster.heal_cut(source, target, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact on leaders, followers, controllers and clients of the separated sides."""
        return link_cut_impact(cluster, self.name, resolved)


class NetworkPartition(LinkCut):
    """Network partition between the target and another side."""

    name = "partition"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine every link between the target and the other side, all other nodes by default."""
        return with_links(context, resolved, self.name, others_only=True)


class Isolation(LinkCut):
    """Isolation of each target from all other nodes."""

    name = "isolate"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine every link between a target and any node, including other targets."""
        return with_links(context, resolved, self.name)


PARTITION_FAULTS: Final = table(
    Fault(
        name="partition",
        letter="n",
        title="network partition",
        family="links",
        summary="Packets between the target and the other nodes are dropped: connections stay open, messages wait, "
        "and after 30 s the connection is reset.",
        params=(
            Param("to", "target", "The other side; all other nodes by default.", default=""),
            DIRECTION,
        ),
        accepts="nodes",
        is_lasting=True,
        heals=HEALED,
        glyph="≠",
        colour="warning",
        cause="a switch or route that fails, a firewall rule, an availability zone that is cut off",
        may_break="the ISR after replica.lag.time.max.ms; leaderships after the session timeout, while the old leader "
        "still accepts acks=1 records from clients on its side",
        aliases=(Alias("network_partition"),),
        behaviour=NetworkPartition(),
    ),
    Fault(
        name="isolate",
        letter="i",
        title="isolation",
        family="links",
        summary="Each target is isolated: packets between it and all other nodes are dropped, including those to and "
        "from the other targets.",
        params=(
            Param(
                "to",
                "target",
                "Nodes to isolate the target from, including other targets if named; all nodes by default.",
                default="",
            ),
            DIRECTION,
        ),
        accepts="nodes",
        is_lasting=True,
        heals=HEALED,
        glyph="⊖",
        colour="warning",
        cause="failed network cards or ports, hosts with broken firewall rules, a switch that isolates its ports",
        may_break="each target separately: its leaderships after the session timeout, its membership of ISRs after "
        "replica.lag.time.max.ms; isolated controllers have no quorum",
        behaviour=Isolation(),
    ),
)
"""Faults by name."""

SIDES: Final = Param(
    "direction",
    "choice",
    "Direction that is cut: out of the smaller half, into it, or both.",
    default="both",
    choices=("both", "out", "in"),
)


def shuffled(context: FaultContext, nodes: Sequence[int]) -> list[int]:
    """Return the nodes in a random order (by the seed)."""
    stream = context.cluster.stream(TARGET_STREAM)
    left = list(nodes)
    return [left.pop(stream.below(len(left))) for _turn in nodes]


def short_names(cluster: Cluster, nodes: Sequence[int]) -> str:
    """Return nodes as text without blanks, for the details of a fault: ``broker1,broker4``."""
    return ",".join(cluster.name_of(node).replace(" ", "") for node in nodes)


def halved(context: FaultContext, nodes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return two random halves (by the seed), each in the order of the targets; the first is the smaller."""
    order = shuffled(context, nodes)
    first = order[: len(order) // 2]
    return [node for node in nodes if node in first], [node for node in nodes if node not in first]


class Halves(LinkCut):
    """Network partition of the targets into two random halves."""

    name = "halves"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Choose the halves at random."""
        return _sided(context, resolved, *halved(context, resolved.nodes), {})


class Bridge(LinkCut):
    """Two halves that cannot communicate, and one node between them that reaches both."""

    name = "bridge"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine the node in the middle, and choose the halves at random."""
        selector = str(resolved.params["bridge"])
        middle = context.targets(selector) if selector else shuffled(context, resolved.nodes)[:1]
        if len(middle) != 1 or middle[0] not in resolved.nodes:
            found = short_names(context.cluster, middle)
            raise FaultError(
                f"bridge: the node in the middle must be one of the targets, found {found}", code="middle_not_a_target"
            )
        sides = halved(context, [node for node in resolved.nodes if node != middle[0]])
        return _sided(context, resolved, *sides, {"bridge": short_names(context.cluster, middle)})


def _sided(
    context: FaultContext, resolved: ResolvedTarget, one: list[int], other: list[int], more: dict[str, Any]
) -> ResolvedTarget:
    sides = f"{short_names(context.cluster, one)}|{short_names(context.cluster, other)}"
    links = between(one, other, str(resolved.params["direction"]))
    return ResolvedTarget(resolved.nodes, {**resolved.params, **more, "sides": sides}, links)


class MajorityRing(LinkCut):
    """Ring on which every node reaches a majority, and no two nodes the same one."""

    name = "majority_ring"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Order the targets on a ring, and cut links between nodes too far apart on it."""
        drawn = resolved.params["order"] == DRAWN
        ring = shuffled(context, resolved.nodes) if drawn else list(resolved.nodes)
        reach = neighbours(len(ring))
        links = [
            (source, target)
            for here, source in enumerate(ring)
            for there, target in enumerate(ring)
            if min((here - there) % len(ring), (there - here) % len(ring)) > reach
        ]
        return ResolvedTarget(
            resolved.nodes, {**resolved.params, "ring": short_names(context.cluster, ring)}, tuple(links)
        )


DRAWN: Final = "drawn"
GIVEN: Final = "given"


def neighbours(nodes: int) -> int:
    """Return how many nodes on each side a node reaches on a ring of ``nodes``: the minimum for a majority.

    With five nodes that is one on each side, with six or seven two. With an even number a node reaches one more than a
    majority requires: links are cut in both directions, so reachable nodes come in pairs.
    """
    return (nodes // 2 + 1) // 2


BROKERS_ONLY: Final = "brokers"
"""Default target: brokers only. Dedicated controllers still reach all nodes unless they are targets."""

DIVISION_FAULTS: Final = table(
    Fault(
        name="halves",
        letter="h",
        title="halves",
        family="links",
        summary="The targets are split at random (by the seed) into two halves that cannot communicate. With an odd "
        "number of targets one half is a majority, with an even number neither is.",
        params=(SIDES,),
        accepts="nodes",
        is_lasting=True,
        heals=HEALED,
        glyph="◐",
        colour="warning",
        cause="two rooms, racks or zones whose connection fails",
        may_break="ISRs after replica.lag.time.max.ms, where a leader and its follower are in different halves; with "
        "the controllers among the targets, the sessions of brokers in the half without a majority of controllers",
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
        summary="All targets but one are split at random (by the seed) into two halves that cannot communicate; the "
        "remaining node, the bridge, communicates with both.",
        params=(
            Param("bridge", "target", "The node in the middle; chosen at random (by the seed) by default.", default=""),
            SIDES,
        ),
        accepts="nodes",
        is_lasting=True,
        heals=HEALED,
        glyph="∩",
        colour="warning",
        cause="routes between two zones that fail while a third zone still reaches both, asymmetric firewall rules",
        may_break="ISRs of leaders other than the bridge; a quorum in which two candidates can each win the vote of "
        "the bridge",
        behaviour=Bridge(),
        target=BROKERS_ONLY,
        at_least=3,
    ),
    Fault(
        name="majority_ring",
        letter="m",
        title="majority ring",
        family="links",
        summary="Every target can communicate with a majority of the targets, but no two with the same one: on a "
        "ring, each reaches only its nearest neighbours; with five targets, one on each side.",
        params=(
            Param(
                "order",
                "choice",
                "Order on the ring: random (by the seed), or as given in the target.",
                default=DRAWN,
                choices=(DRAWN, GIVEN),
            ),
        ),
        accepts="nodes",
        is_lasting=True,
        heals=HEALED,
        glyph="○",
        colour="warning",
        cause="many links that fail one by one, full connection tables, overlay networks that lose single tunnels",
        may_break="ISRs, each of which shrinks to the brokers that its leader reaches; with controllers among the "
        "targets, those that reach a majority but not the leader start elections",
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


class Flapping(LinkCut):
    """Links that are down and up in turn. The memo holds the current phase and the original details."""

    name = "flapping"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine every link between the target and the other side, all other nodes by default."""
        return with_links(context, resolved, self.name, others_only=True)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start with the down phase."""
        active_fault.memo[_DETAIL] = active_fault.detail
        self._turn(context, active_fault, _DOWN)

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Switch to the other phase."""
        self._turn(context, active_fault, _UP if active_fault.memo["now"] == _DOWN else _DOWN)

    def _turn(self, context: FaultContext, active_fault: ActiveFault, phase: str) -> None:
        active_fault.memo["now"] = phase
        active_fault.detail = f"{active_fault.memo[_DETAIL]} now={phase}"
        if phase == _DOWN:
            super().apply(context, active_fault)
        else:
            self.heal(context, active_fault)
        context.schedule(
            active_fault, self._lasts(context.cluster.stream(f"flapping/{active_fault.id}"), active_fault, phase)
        )

    @staticmethod
    def _lasts(stream: RandomStream, active_fault: ActiveFault, phase: str) -> int:
        """Return the length of a phase in microseconds: as given, or if random up to twice that."""
        length = int(active_fault.params[phase])
        return 1 + stream.below(2 * length) if active_fault.params["random"] else length

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of the longest outage; requests wait until it is over."""
        longest = int(resolved.params[_DOWN]) * (2 if resolved.params["random"] else 1)
        longest = min(longest, resolved.for_us) if resolved.for_us >= 0 else longest
        return super().predict(cluster, ResolvedTarget(resolved.nodes, resolved.params, resolved.links, longest))


FLAPPING_FAULTS: Final = table(
    Fault(
        name="flapping",
        letter="f",
        title="flapping links",
        family="links",
        summary="Packets between the target and the other nodes are dropped and pass in turn; connections stay open "
        "unless an outage outlasts them.",
        params=(
            Param("down", "duration", "How long the links are down.", default=2 * SECOND, low=10 * MS),
            Param("up", "duration", "How long the links are up in between.", default=5 * SECOND, low=10 * MS),
            Param("random", "bool", "Randomize each phase, up to twice its length.", default=False),
            Param("to", "target", "The other side; all other nodes by default.", default=""),
            DIRECTION,
        ),
        accepts="nodes",
        is_lasting=True,
        heals=f"the links stay up; {HEALED}",
        glyph="∿",
        colour="warning",
        cause="a faulty cable or transceiver, a port that renegotiates, a route that is announced and withdrawn",
        may_break="latency, which includes the outages; ISRs and sessions, whenever an outage outlasts "
        "replica.lag.time.max.ms or the session timeout",
        behaviour=Flapping(),
    ),
)
"""Faults by name."""
