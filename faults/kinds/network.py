"""Faults of links and connections: lag, loss, bandwidth, late or duplicate responses, broken connections."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import INTO, OUT, LinkCondition
from cluster_model.util.quantities import counted, exact_duration, percent
from faults.declarations.fault import (
    MS,
    PERCENT,
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
from faults.declarations.impact import affected_clients, names, slow_impact
from faults.declarations.targets import DIRECTION, with_links

# Common to link faults: a shape applied to each message, and the affected clients.


TO: Final = Param("to", "target", "Only links to and from these nodes; all by default.", default="")


class LinkShaping(Behaviour):
    """Base of faults that change how some links carry messages."""

    name: str = ""
    """Name of the fault."""

    @abstractmethod
    def shape(self, active_fault: ActiveFault, source: int, target: int) -> LinkCondition:
        """Return the condition of one direction of a link."""

    @abstractmethod
    def text(self, params: Mapping[str, Any]) -> str:
        """Return the condition as text."""

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine the links between the target and the other side, all nodes by default."""
        return with_links(context, resolved, self.name)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Apply the condition to each link."""
        for source, target in active_fault.links:
            context.cluster.link_faults.shape(source, target, active_fault.id, self.shape(active_fault, source, target))

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restore the links for messages sent from now on."""
        context.cluster.link_faults.lift(active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the affected clients."""
        return clients_affected_impact(cluster, resolved, self.text(resolved.params))


def clients_affected_impact(cluster: Cluster, resolved: ResolvedTarget, what: str) -> ExpectedImpact:
    """Return an impact that moves no leader but affects clients of the nodes and of the partitions they lead."""
    led = [name for name, record in cluster.cluster_state.records.items() if record.leader in resolved.nodes]
    leads = f"; leads {counted(len(led), 'partition')}" if led else ""
    sentence = f"{names(cluster, resolved.nodes)}: {what}{leads}"
    return ExpectedImpact(sentence, clients=affected_clients(cluster, resolved.nodes, led))


# Broken connections.


CONNECTION_PEERS: Final = Param("to", "target", "Peers whose connections break; all nodes by default.", default="")


class ConnectionReset(Behaviour):
    """Reset of connections: both ends are notified."""

    name = "connection_reset"

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine all links between the target and its peers, in both directions."""
        return with_links(context, resolved, self.name)

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require at least one open connection."""
        if not context.cluster.link_faults.connected(resolved.links):
            raise FaultError(
                f"{names(context.cluster, resolved.nodes)} has no open connection to reset", code="no_connection"
            )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Reset each connection."""
        context.cluster.link_faults.sever(active_fault.links)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the number of connections and the affected clients."""
        count = len(cluster.link_faults.connected(resolved.links or _all(cluster, resolved)))
        return clients_affected_impact(
            cluster, resolved, f"connections to {count} other process{'' if count == 1 else 'es'} break"
        )


def _all(cluster: Cluster, resolved: ResolvedTarget) -> tuple[tuple[int, int], ...]:
    """Return every link of the nodes, for an aim without links."""
    return tuple((node, other) for node in resolved.nodes for other in cluster.nodes() if other != node)


class ResetStorm(ConnectionReset):
    """Reset of all connections at regular intervals."""

    name = "reset_storm"

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Accept a target without connections: they may be opened later."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Reset open connections now and at regular intervals."""
        context.cluster.link_faults.sever(active_fault.links)
        context.schedule(active_fault, int(active_fault.params["every"]))

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Reset the connections again."""
        self.apply(context, active_fault)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Do nothing: a healed fault is not woken, and peers reconnect by themselves."""
        del context, active_fault


class SlowClose(LinkShaping):
    """Delayed notification that a connection is closed."""

    name = "slow_close"

    def shape(self, active_fault: ActiveFault, source: int, target: int) -> LinkCondition:
        """Return the same condition for each link."""
        del source, target
        return LinkCondition(close_us=int(active_fault.params["delay"]))

    def text(self, params: Mapping[str, Any]) -> str:
        """Return the delay as text."""
        return f"peers learn of closed connections {exact_duration(int(params['delay']))} late"


CONNECTION_FAULTS: Final = table(
    Fault(
        name="connection_reset",
        letter="z",
        title="connection reset",
        family="links",
        summary="All connections between the target and its peers break at once: data in transit is lost, and both "
        "ends are notified.",
        params=(CONNECTION_PEERS,),
        accepts="nodes",
        is_lasting=False,
        heals="",
        glyph="⌁",
        colour="warning",
        cause="a load balancer or stateful firewall that restarts, a NAT table that is flushed",
        may_break="requests in flight, which are retried: without idempotence, written records may be duplicated or "
        "reordered",
        aliases=(Alias("reset_peer"),),
        behaviour=ConnectionReset(),
    ),
    Fault(
        name="reset_storm",
        letter="B",
        title="reset storm",
        family="links",
        summary="All connections between the target and its peers break, and connections opened since then break "
        "again at regular intervals.",
        params=(
            Param("every", "duration", "From one reset to the next.", default=5 * SECOND, low=10 * MS),
            CONNECTION_PEERS,
        ),
        accepts="nodes",
        is_lasting=True,
        heals="connections are no longer reset",
        glyph="⌁",
        colour="alarm",
        cause="a load balancer that crashes in a loop, a firewall whose connection table is too small, two hosts with "
        "the same address",
        may_break="every request that takes longer than the interval between resets; everything else is retried",
        behaviour=ResetStorm(),
    ),
    Fault(
        name="slow_close",
        letter="e",
        title="slow close",
        family="links",
        summary="The peer learns late that the target has closed a connection, by exiting or by a reset: until then "
        "it keeps the connection open, and its requests on it are never answered.",
        params=(
            Param("delay", "duration", "Delay until the peer learns of the close.", default=60 * SECOND, low=1),
            Param("to", "target", "Only connections with these nodes; all by default.", default=""),
            Param(
                "direction",
                "choice",
                "Which closes are reported late: those by the target (out), those by its peers (in), or both.",
                default="out",
                choices=("both", "out", "in"),
            ),
        ),
        accepts="nodes",
        is_lasting=True,
        heals="later closes are reported at once; reports of earlier ones stay delayed",
        glyph="◶",
        colour="warning",
        cause="a firewall that drops resets, a host that disappears before it can close connections, a proxy that "
        "keeps the other half open",
        may_break="failover: a peer notices only by its own timeouts (request.timeout.ms and others), even after the "
        "target has returned",
        behaviour=SlowClose(),
    ),
)
"""Faults by name."""


# Late or duplicate responses; requests arrive as usual.


RESPONSE_PEERS: Final = Param(
    "to", "target", "Only responses between the target and these nodes; all by default.", default=""
)
WHOSE: Final = Param(
    "direction",
    "choice",
    "Which responses: those the target sends (out), those it receives (in), or both.",
    default="out",
    choices=("both", "out", "in"),
)


class SlowResponses(LinkShaping):
    """Delay of responses, while requests arrive on time."""

    name = "slow_responses"

    def shape(self, active_fault: ActiveFault, source: int, target: int) -> LinkCondition:
        """Return the same condition for each link."""
        del source, target
        return LinkCondition(
            answer_us=int(active_fault.params["delay"]), answer_jitter_us=int(active_fault.params["jitter"])
        )

    def text(self, params: Mapping[str, Any]) -> str:
        """Return the delay as text."""
        return f"requests are executed on time and answered {exact_duration(int(params['delay']))} late"


class DuplicateResponses(LinkShaping):
    """Responses repeated by a proxy; the receiver closes the connection."""

    name = "duplicate_responses"

    def shape(self, active_fault: ActiveFault, source: int, target: int) -> LinkCondition:
        """Return the same condition for each link."""
        del source, target
        return LinkCondition(repeats=int(active_fault.params["percent"]))

    def text(self, params: Mapping[str, Any]) -> str:
        """Return the share of repeated responses as text."""
        often = percent(int(params["percent"]))
        return f"{often} of responses arrive twice, and the receiver then closes the connection"


RESPONSE_FAULTS: Final = table(
    Fault(
        name="slow_responses",
        letter="d",
        title="slow responses",
        family="links",
        summary="Responses of the target are delayed; requests arrive on time and are executed.",
        params=(
            Param("delay", "duration", "Added to every response.", default=500 * MS, low=1),
            Param("jitter", "duration", "Maximum random delay on top.", default=0),
            RESPONSE_PEERS,
            WHOSE,
        ),
        accepts="nodes",
        is_lasting=True,
        heals="later responses take their usual time, after those still delayed",
        glyph="↩",
        colour="warning",
        cause="a response queue or network threads that do not keep up, a proxy that buffers one direction",
        may_break="the waiting client: once the delay exceeds the request timeout, an executed request is retried "
        "and, without idempotence, its records are written twice",
        behaviour=SlowResponses(),
    ),
    Fault(
        name="duplicate_responses",
        letter="2",
        title="duplicate responses",
        family="links",
        summary="A proxy in front of the target repeats some of its responses: the receiver has no request in flight "
        "for the second, closes the connection, and all requests on it fail.",
        params=(
            Param(
                "percent",
                "percent",
                "Share of responses that are repeated.",
                default=1 * PERCENT,
                low=1,
                high=100 * PERCENT,
            ),
            RESPONSE_PEERS,
            WHOSE,
        ),
        accepts="nodes",
        is_lasting=True,
        heals="responses are no longer repeated",
        glyph="⇇",
        colour="warning",
        cause="a broken proxy or load balancer on the path; TCP itself never repeats responses",
        may_break="connections: requests in flight fail with NETWORK_EXCEPTION and are retried, as after a reset",
        behaviour=DuplicateResponses(),
    ),
)
"""Faults by name."""


# Lag: latency and jitter.


class Lag(Behaviour):
    """Latency and jitter in addition to a link's own."""

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine every link between the target and the other side, all nodes by default."""
        return with_links(context, resolved, "lag")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Add the latency to each link."""
        for source, target in active_fault.links:
            context.cluster.add_lag(
                source, target, active_fault.id, int(active_fault.params["latency"]), int(active_fault.params["jitter"])
            )

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Remove the latency for messages sent from now on."""
        for source, target in active_fault.links:
            context.cluster.remove_lag(source, target, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of a slow node."""
        return slow_impact(cluster, "lag", resolved.nodes)


LAG_FAULTS: Final = table(
    Fault(
        name="lag",
        letter="l",
        title="lag",
        family="links",
        summary="Messages to and from the target take longer; they stay in order and none is lost.",
        params=(
            Param("latency", "duration", "Added to every message, one way.", default=200 * MS, low=1),
            Param("jitter", "duration", "Maximum random delay on top.", default=0),
            TO,
            DIRECTION,
        ),
        accepts="nodes",
        is_lasting=True,
        heals="messages sent from then on take their usual time",
        glyph="≈",
        colour="warning",
        cause="a congested or long-distance link, a saturated network card, a slow host",
        may_break="latency of acks=all; the ISR once a follower lags for longer than replica.lag.time.max.ms",
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


# Bandwidth: limits of links and network cards.


_MEGABIT: Final = 125_000


class Bandwidth(LinkShaping):
    """Limited bandwidth: messages are sent one after another, each for as long as its bytes take."""

    name = "bandwidth"

    def shape(self, active_fault: ActiveFault, source: int, target: int) -> LinkCondition:
        """Return the limit of this link, or of the network cards of targets at its ends."""
        cards = 0
        if active_fault.params["shared"]:
            way = active_fault.params["direction"]
            cards += OUT if source in active_fault.nodes and way != "in" else 0
            cards += INTO if target in active_fault.nodes and way != "out" else 0
        return LinkCondition(rate=int(active_fault.params["rate"]), cards=cards)

    def text(self, params: Mapping[str, Any]) -> str:
        """Return the limit as text, and whether links share it."""
        bits = int(params["rate"]) * 8
        rate = f"{bits // 1_000_000} Mbit/s" if bits % 1_000_000 == 0 else f"{params['rate']} bytes/s"
        return f"all links of one direction share {rate}" if params["shared"] else f"each link carries {rate}"


BANDWIDTH_FAULTS: Final = table(
    Fault(
        name="bandwidth",
        letter="w",
        title="bandwidth",
        family="links",
        summary="Links to and from the target have limited bandwidth: each message takes the time its size requires "
        "on top of the latency, and waits for the messages before it.",
        params=(
            Param(
                "rate",
                "throughput",
                "Bandwidth in each direction; with several limits on one link, the lowest applies.",
                default=3 * _MEGABIT,
                low=1,
                high=1 << 40,
            ),
            TO,
            DIRECTION,
            Param(
                "shared",
                "bool",
                "One limit, per direction, for all links of a target together, like the limit of its network card.",
                default=False,
            ),
        ),
        accepts="nodes",
        is_lasting=True,
        heals="queued messages are sent at once, in order",
        glyph="≂",
        colour="warning",
        cause="a slow link between sites, a network card at its limit, a cloud instance's baseline, a noisy neighbour",
        may_break="throughput; the ISR, once replication is slower than the produce rate; requests that wait longer "
        "than their timeouts and are then sent again",
        aliases=(Alias("netem_rate"),),
        behaviour=Bandwidth(),
    ),
)
"""Faults by name."""


# Packet loss.


class Loss(LinkShaping):
    """Random packet loss; TCP retransmits lost packets."""

    name = "loss"

    def shape(self, active_fault: ActiveFault, source: int, target: int) -> LinkCondition:
        """Return the same condition for each link."""
        del source, target
        return LinkCondition(loss=int(active_fault.params["percent"]))

    def text(self, params: Mapping[str, Any]) -> str:
        """Return the share of lost packets as text."""
        return f"{percent(int(params['percent']))} of packets are retransmitted after 200 ms or more"


LOSS_FAULTS: Final = table(
    Fault(
        name="loss",
        letter="k",
        title="packet loss",
        family="links",
        summary="Packets to and from the target are lost at random. TCP retransmits after 200 ms, doubling each time, "
        "and everything after the lost packet on the connection waits; after 30 s the connection is reset.",
        params=(
            Param(
                "percent",
                "percent",
                "Share of packets (up to 1448 bytes each) that are lost.",
                default=5 * PERCENT,
                low=1,
                high=100 * PERCENT,
            ),
            TO,
            DIRECTION,
        ),
        accepts="nodes",
        is_lasting=True,
        heals="later packets arrive; pending retransmissions arrive when they would have, and a connection whose "
        "segment was lost too often is reset after 200 ms",
        glyph="∵",
        colour="warning",
        cause="a faulty cable or transceiver, an overrun buffer, a congested path",
        may_break="latency, more so for larger messages; the ISR, if a follower loses most of what it fetches; "
        "connections, if nearly everything is lost",
        aliases=(
            Alias("packet_loss"),
            Alias("netem_loss"),
            Alias("pod_network_loss"),
        ),
        behaviour=Loss(),
    ),
)
"""Faults by name."""
