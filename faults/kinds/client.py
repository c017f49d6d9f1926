"""Members that come and go, and two that are one."""

from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from faults.declarations.fault import (
    SECOND,
    Aim,
    Behaviour,
    Expectation,
    Fault,
    FaultError,
    Injury,
    Param,
    Stage,
    table,
)
from faults.declarations.impact import each_of, plain
from faults.declarations.spelling import spelled
from faults.kinds.ending import back_again

LEAVE: Final = "leave"
RESTART: Final = "restart"
EVEN: Final = "even"
RANDOM: Final = "random"
GAPS: Final = "rejoin storm"
"""The random stream that gaps are drawn from."""
FENCED: Final = ("FencedInstanceIdException", "UnreleasedInstanceIdException")
"""Why a member ends whose ``group.instance.id`` another has."""


class RejoinStorm(Behaviour):
    """One member after the other goes and comes back."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Who has no coordinator cannot leave a group."""
        for node in aim.nodes:
            if stage.cluster.consumers[stage.cluster.name_of(node)].coordination is None:
                raise FaultError(f"{stage.cluster.name_of(node)} is in no group: its partitions are given for good")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """The first goes at once."""
        injury.memo["turn"] = 0
        self.woken(stage, injury)

    def woken(self, stage: Stage, injury: Injury) -> None:
        """The next one goes, unless it is down, held or on its way out already."""
        turn = int(injury.memo["turn"])
        injury.memo["turn"] = turn + 1
        node = injury.nodes[turn % len(injury.nodes)]
        cluster = stage.cluster
        if cluster.state_of(node) is ProcessState.RUNNING and not cluster.lives.is_leaving(node):
            if injury.params["how"] == LEAVE:
                stage.take_away(node)
                cluster.shutdown(node)
                cluster.lives.start_again(node)
            else:
                stage.take_away(node)
                cluster.crash(node)
                stage.restart(node)
        every = int(injury.params["every"])
        random = injury.params["gaps"] == RANDOM
        stage.wake(injury, 1 + cluster.stream(GAPS).below(2 * every) if random else every)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Nobody else goes; who is on its way out starts again as ever."""

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What the group would have of it."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        groups = ", ".join(dict.fromkeys(cluster.consumers[name].group for name in hit))
        if aim.params["how"] == LEAVE and cluster.clients.instance_of(aim.nodes[0]):
            return plain(f"{groups} does not rebalance: static members that close do not leave", hit)
        every = spelled(int(aim.params["every"]))
        return plain(f"{groups} rebalances every {every}, each time for all of its members", hit)


class DuplicateInstance(Behaviour):
    """A copied configuration."""

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Settle whose id it is."""
        cluster = stage.cluster
        found = stage.targets(str(aim.params["of"]))
        if len(found) != 1 or not cluster.clients.instance_of(found[0]):
            told = ", ".join(cluster.name_of(node) for node in found)
            raise FaultError(f"duplicate_instance needs one static member in of, found {told}")
        params: dict[str, Any] = dict(aim.params)
        params["of"] = f"client({cluster.name_of(found[0])})"
        return Aim(aim.nodes, params, aim.links)

    def check(self, stage: Stage, aim: Aim) -> None:
        """Both are static members of one group, and not one and the same."""
        cluster = stage.cluster
        (of,) = stage.targets(str(aim.params["of"]))
        for node in aim.nodes:
            name, other = cluster.name_of(node), cluster.name_of(of)
            if node == of:
                raise FaultError(f"{name} has its own group.instance.id already")
            if cluster.consumers[name].group != cluster.consumers[other].group:
                raise FaultError(f"{name} and {other} are in different groups")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Start the target anew with the other's id."""
        (of,) = stage.targets(str(injury.params["of"]))
        injury.memo["of"] = of
        clients = stage.cluster.clients
        for node in injury.nodes:
            clients.faults.claim(node, injury.id, clients.instance_of(of))
            _start_anew(stage, node)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Start it with its own; who was fenced meanwhile is started again, too."""
        cluster = stage.cluster
        for node in injury.nodes:
            cluster.clients.faults.lift(node, injury.id)
            if cluster.is_up(node) or _fenced(cluster, node):
                _start_anew(stage, node)
            else:
                cluster.clients.renew(node)
        of = int(injury.memo["of"])
        if _fenced(cluster, of):
            back_again(stage, of)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Which of the two survives."""
        given = aim.params["of"]
        other = str(given).removeprefix("client(").removesuffix(")") if given else "the other"
        targets = [cluster.clients.names[node] for node in aim.nodes]
        hit = (*targets, other) if given else tuple(targets)
        who = each_of(cluster, aim.nodes)
        coordination = cluster.consumers[targets[0]].coordination
        if coordination is not None and coordination.settings.modern:
            return plain(f"{who} is refused while {other} lives, and ends (UNRELEASED_INSTANCE_ID)", hit)
        return plain(f"{who} takes over from {other}, which is fenced with its next heartbeat, and ends", hit)


def _start_anew(stage: Stage, node: int) -> None:
    """End a process in order, so that its own id is free again where that matters (KIP-848), and start the next one."""
    cluster = stage.cluster
    if cluster.state_of(node) is ProcessState.RUNNING:
        if not cluster.lives.is_leaving(node):
            stage.take_away(node)
            cluster.shutdown(node)
        cluster.lives.start_again(node)
        return
    if cluster.is_up(node):
        stage.take_away(node)
        cluster.crash(node)
    else:
        cluster.clients.renew(node)
    stage.restart(node)


def _fenced(cluster: Cluster, node: int) -> bool:
    return cluster.consumers[cluster.name_of(node)].failed in FENCED


FAULTS: Final = table(
    Fault(
        name="rejoin_storm",
        letter="J",
        title="rejoin storm",
        family="clients",
        summary="One after the other, the members leave their group and join it again as new ones, over and over.",
        params=(
            Param("every", "duration", "From one member's turn to the next.", default=5 * SECOND, low=100_000),
            Param(
                "how",
                "choice",
                "A member closes its consumer and makes a new one, or its process is killed and started.",
                default=LEAVE,
                choices=(LEAVE, RESTART),
            ),
            Param("gaps", "choice", "All alike, or drawn, and alike on average.", default=EVEN, choices=(EVEN, RANDOM)),
        ),
        accepts="consumers",
        lasting=True,
        heals="members stay; the group calms down",
        glyph="@",
        colour="alarm",
        cause="an autoscaler that flaps, a crash loop, a liveness probe that kills, a deployment of many small steps",
        may_break="a group that rebalances all the time: with eager protocols nobody reads meanwhile; lag, and records "
        "that are processed again",
        usual_for_us=30 * SECOND,
        example="members(billing)",
        behaviour=RejoinStorm(),
    ),
    Fault(
        name="duplicate_instance",
        letter="I",
        title="duplicate instance id",
        family="clients",
        summary="The target's process is started anew with the group.instance.id of another member: two claim one id, "
        "and one of them is fenced.",
        params=(Param("of", "target", "Whose id it takes: a static member of the same group."),),
        accepts="consumers",
        lasting=True,
        heals="the target is started with its own id, and so is who has been fenced",
        glyph="=",
        colour="alarm",
        cause="a copied configuration, a pod that is started while its predecessor still runs",
        may_break="one member, which ends with FencedInstanceIdException or, by the consumer protocol, "
        "UnreleasedInstanceIdException; the target's own partitions, which wait for its session to end",
        example="client(billing/1)",
        behaviour=DuplicateInstance(),
    ),
)
"""Faults by name."""
