"""Faults of links and connections: lag, loss, bandwidth, late or double responses, broken connections."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import INTO, OUT, Shape
from cluster_model.util.quantities import counted, exact_duration, percent
from faults.declarations.fault import (
    MS,
    PERCENT,
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
from faults.declarations.impact import hit, names, slowness
from faults.declarations.targets import DIRECTION, links_of

# What faults of links have in common: a shape of each message, and who notices.


TO: Final = Param("to", "target", "Only towards and from these nodes; all by default.", default="")


class Shaping(Behaviour):
    """Something is done to each message of some links."""

    name: str = ""
    """Of the fault."""

    @abstractmethod
    def shape(self, injury: Injury, source: int, target: int) -> Shape:
        """What is done to one direction."""

    @abstractmethod
    def told(self, params: Mapping[str, Any]) -> str:
        """That in words."""

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """The links between the target and the other side, everybody by default."""
        return links_of(stage, aim, self.name)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Shape each link."""
        for source, target in injury.links:
            stage.cluster.wiring.shape(source, target, injury.id, self.shape(injury, source, target))

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Messages sent from then on pass as ever."""
        stage.cluster.wiring.lift(injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who notices."""
        return noticed(cluster, aim, self.told(aim.params))


def noticed(cluster: Cluster, aim: Aim, what: str) -> ExpectedImpact:
    """Something that moves no leader by itself, and is noticed where the nodes lead, and by whom they serve."""
    led = [name for name, record in cluster.world.records.items() if record.leader in aim.nodes]
    leads = f"; {counted(len(led), 'partition')} led there" if led else ""
    sentence = f"{names(cluster, aim.nodes)}: {what}{leads}"
    return ExpectedImpact(sentence, clients=hit(cluster, aim.nodes, led))


# Faults of links and connections: lag, loss, bandwidth, late or double responses, broken connections.


CONNECTION_PEERS: Final = Param("to", "target", "The other ends; everybody by default.", default="")


class ConnectionReset(Behaviour):
    """Connections break at once, and both ends are told."""

    name = "connection_reset"

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """All links between the target and the other ends, both ways: a connection has two."""
        return links_of(stage, aim, self.name)

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what stands can break."""
        if not stage.cluster.wiring.connected(aim.links):
            raise FaultError(
                f"{names(stage.cluster, aim.nodes)} has no connection that could be reset", code="no_connection"
            )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Break each."""
        stage.cluster.wiring.sever(injury.links)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """How many, and who notices."""
        count = len(cluster.wiring.connected(aim.links or _all(cluster, aim)))
        return noticed(cluster, aim, f"connections to {count} other process{'' if count == 1 else 'es'} break")


def _all(cluster: Cluster, aim: Aim) -> tuple[tuple[int, int], ...]:
    """Every link of the nodes, for one who asks without having aimed."""
    return tuple((node, other) for node in aim.nodes for other in cluster.nodes() if other != node)


class ResetStorm(ConnectionReset):
    """... and again, and again."""

    name = "reset_storm"

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Connections may come later."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Break what stands, now and every so often."""
        stage.cluster.wiring.sever(injury.links)
        stage.wake(injury, int(injury.params["every"]))

    def woken(self, stage: FaultContext, injury: Injury) -> None:
        """It is time again."""
        self.apply(stage, injury)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
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
        return f"the end of a connection is heard of {exact_duration(int(params['delay']))} late"


CONNECTION_FAULTS: Final = table(
    Fault(
        name="connection_reset",
        letter="z",
        title="connection reset",
        family="links",
        summary="All connections between the target and the other ends break at once: what is on its way vanishes, "
        "and both ends are told.",
        params=(CONNECTION_PEERS,),
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
            CONNECTION_PEERS,
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


# Late or double responses, while requests arrive as usual.


RESPONSE_PEERS: Final = Param(
    "to", "target", "Only responses between the target and these nodes; all by default.", default=""
)
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
        return f"requests are taken in time and answered {exact_duration(int(params['delay']))} late"


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


RESPONSE_FAULTS: Final = table(
    Fault(
        name="slow_responses",
        letter="d",
        title="slow responses",
        family="links",
        summary="Responses of the target come late; requests arrive in time, and are carried out.",
        params=(
            Param("delay", "duration", "Added to every response.", default=500 * MS, low=1),
            Param("jitter", "duration", "The most that chance adds on top.", default=0),
            RESPONSE_PEERS,
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
            RESPONSE_PEERS,
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


# Lag: latency and jitter.


class Lag(Behaviour):
    """Latency and jitter on top of a link's own."""

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Every link between the target and the other side, everybody by default."""
        return links_of(stage, aim, "lag")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Slow each link down."""
        for source, target in injury.links:
            stage.cluster.add_lag(
                source, target, injury.id, int(injury.params["latency"]), int(injury.params["jitter"])
            )

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Messages sent from then on take their usual time."""
        for source, target in injury.links:
            stage.cluster.remove_lag(source, target, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who waits for it."""
        return slowness(cluster, "lag", aim.nodes)


LAG_FAULTS: Final = table(
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


# Bandwidth: limits of links and network cards.


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


BANDWIDTH_FAULTS: Final = table(
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


# Packet loss.


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


LOSS_FAULTS: Final = table(
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
