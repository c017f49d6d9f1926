"""Sessions that end before their time, and controllers that lose their office."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import NOBODY
from faults.declarations.fault import Aim, Behaviour, Expectation, Fault, FaultError, Injury, Stage, table
from faults.declarations.impact import hit, losses, names
from faults.declarations.quorums import group_of, leader_of_group, runs, spare, what_it_is


def _refuse_without_decider(cluster: Cluster) -> None:
    if leader_of_group(cluster) == NOBODY or spare(cluster, group_of(cluster)) < 0:
        raise FaultError(f"{what_it_is(cluster)} has no leader with a majority now, so nobody can do it")


class SessionExpiry(Behaviour):
    """Brokers are given up at once."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Somebody must be there to give up a broker that is counted on."""
        _refuse_without_decider(stage.cluster)
        for node in aim.nodes:
            if not stage.cluster.plane.is_live(node):
                raise FaultError(f"{stage.cluster.name_of(node)} has no session that could expire")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """End each session."""
        for node in injury.nodes:
            stage.cluster.plane.expire_session(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Whose leaderships go, and how the broker comes back."""
        if not all(cluster.plane.is_live(node) for node in aim.nodes):
            return Expectation(f"nothing: {names(cluster, aim.nodes)} has no session that could end")
        moved, offline, under = losses(cluster, aim.nodes)
        leads = len(moved) + len(offline)
        loses = f"loses {leads} leadership{'s' if leads > 1 else ''}" if leads else "leads nothing"
        if not cluster.profile.kraft and cluster.plane.active() in aim.nodes:
            loses += ", the controller's office too"
        back = "its next heartbeat unfences it" if cluster.profile.kraft else "it registers anew once it is told"
        clients = hit(cluster, aim.nodes, (*moved, *offline, *under))
        return Expectation(f"{names(cluster, aim.nodes)} {loses}; {back}", moved, offline, under, clients)


class ControllerFailover(Behaviour):
    """The office is taken from who has it."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only who has the office can lose it."""
        cluster = stage.cluster
        if aim.nodes != (cluster.plane.active(),):
            raise FaultError(f"{names(cluster, aim.nodes)} is not the active controller alone")
        _refuse_without_decider(cluster)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Take it away."""
        del injury
        stage.cluster.plane.depose_controller()

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Who may follow."""
        if aim.nodes != (cluster.plane.active(),):
            return Expectation(f"nothing: {names(cluster, aim.nodes)} is not the active controller")
        able = sum(runs(cluster, node) for node in cluster.plane.controllers())
        how = "resigns its epoch" if cluster.profile.kraft else "loses /controller"
        who = f"one of {able} is elected, itself among them" if able > 1 else "it is elected again, being the only one"
        return Expectation(f"{names(cluster, aim.nodes)} {how}; {who}; leaders and ISRs stay as they are")


FAULTS: Final = table(
    Fault(
        name="session_expiry",
        letter="E",
        title="session expiry",
        family="control plane",
        summary="The broker is given up at once, its process being well: in ZooKeeper mode the ensemble ends its "
        "session, so that its ephemeral nodes go and it registers anew when it next hears from ZooKeeper; in KRaft "
        "mode the active controller fences it as if its heartbeats had been late, and its next heartbeat unfences it.",
        params=(),
        accepts="brokers",
        lasting=False,
        heals="",
        glyph="◌",
        colour="warning",
        cause="a session that an operator closes, an overloaded ensemble or controller that handles pings too late",
        may_break="its leaderships, which go to others while it still believes in them; in ZooKeeper mode the "
        "controller, if it is the broker",
        behaviour=SessionExpiry(),
        example="leader(orders-0)",
    ),
    Fault(
        name="controller_failover",
        letter="O",
        title="controller failover",
        family="control plane",
        summary="The active controller loses its office though its process is well, and another election is held, "
        "which it may win: in ZooKeeper mode an operator deletes /controller, in KRaft mode the quorum's leader "
        "resigns its epoch.",
        params=(),
        accepts="controllers",
        lasting=False,
        heals="",
        glyph="♛",
        colour="warning",
        cause="an operator who moves the controller, a leader of the quorum that lost touch with the other voters",
        may_break="operations under way; ISR changes and elections wait until the new controller has taken over",
        behaviour=ControllerFailover(),
        target="controller",
    ),
)
"""Faults by name."""
