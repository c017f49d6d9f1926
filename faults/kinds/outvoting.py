"""A quorum, or an ensemble, that has no majority any more."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import FIRST_ZOOKEEPER
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
from faults.declarations.impact import hit, losses, names
from faults.declarations.links import between
from faults.declarations.quorums import group_of, leader_of_group, runs, spare, what_it_is
from faults.declarations.targets import TARGETS

CRASH: Final = "crash"
PAUSE: Final = "pause"
PARTITION: Final = "partition"


class QuorumLoss(Behaviour):
    """As many members are struck as it takes, the leader among them."""

    def ends(self, injury: Injury) -> bool:
        """Where they die."""
        return bool(injury.params["how"] == CRASH)

    def holds(self, injury: Injury) -> bool:
        """Where they stand still."""
        return bool(injury.params["how"] == PAUSE)

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Draw who is struck; in ZooKeeper mode brokers stand for the ensemble that they depend on."""
        cluster = stage.cluster
        group, what = group_of(cluster), what_it_is(cluster)
        brokers = not cluster.profile.kraft and all(node < FIRST_ZOOKEEPER for node in aim.nodes)
        able = [node for node in (group if brokers else aim.nodes) if node in group and runs(cluster, node)]
        needed = spare(cluster, group) + 1
        if needed <= 0:
            raise FaultError(f"{what} has no majority already")
        if len(able) < needed:
            known = names(cluster, able) or "nobody"
            raise FaultError(f"{needed} running members must go before {what} loses its majority, named is {known}")
        leader = leader_of_group(cluster)
        struck = [leader] if leader in able else []
        others = [node for node in able if node not in struck]
        stream = cluster.stream(TARGETS)
        while len(struck) < needed:
            struck.append(others.pop(stream.below(len(others))))
        nodes = tuple(sorted(struck))
        links = between(nodes, cluster.nodes(), "both") if aim.params["how"] == PARTITION else ()
        return Aim(nodes, aim.params, links)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Strike each, in the way that was asked for."""
        cluster = stage.cluster
        for source, target in injury.links:
            cluster.cut(source, target, injury.id)
        for node in injury.nodes:
            if injury.params["how"] == CRASH:
                stage.take_away(node)
                cluster.crash(node)
            elif injury.params["how"] == PAUSE:
                stage.pause(injury, node)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Bring each back."""
        for source, target in injury.links:
            stage.cluster.mend(source, target, injury.id)
        for node in injury.nodes:
            if injury.params["how"] == PAUSE:
                stage.unpause(injury, node)
            elif injury.params["how"] == CRASH and not stage.cluster.is_up(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Nothing changes any more; brokers that go with their controllers leave their partitions leaderless."""
        struck = [node for node in aim.nodes if node in group_of(cluster) and runs(cluster, node)]
        needed = spare(cluster, group_of(cluster)) + 1
        if len(struck) < needed:
            return Expectation(f"nothing: {needed} running members must go before {what_it_is(cluster)} is lost")
        offline = tuple(
            partition for partition, record in cluster.world.records.items() if record.leader in aim.nodes
        )  # Nobody is there to elect another.
        under = losses(cluster, aim.nodes)[2]
        short = tuple(partition for partition in under if partition not in offline)
        held = f"; {len(offline)} partitions go with their leaders" if offline else ""
        return Expectation(
            f"{what_it_is(cluster)} loses its majority with {names(cluster, aim.nodes)}: no elections, no ISR "
            f"changes, no topics; leaders serve on{held}",
            (),
            offline,
            short,
            hit(cluster, aim.nodes, offline),
            down=tuple(node for node in aim.nodes if node in cluster.brokers),
            quorum_lost=True,
        )


FAULTS: Final = table(
    Fault(
        name="quorum_loss",
        letter="Q",
        title="quorum loss",
        family="control plane",
        summary="As many controllers, in ZooKeeper mode servers of the ensemble, are struck as it takes to leave no "
        "majority, their leader among them, the others drawn by the seed.",
        params=(
            Param(
                "how",
                "choice",
                "What befalls them: they die, stand still, or hear nobody and are heard by nobody.",
                default=PAUSE,
                choices=(CRASH, PAUSE, PARTITION),
            ),
        ),
        accepts="plane",
        lasting=True,
        heals="those that were struck start, go on, or hear the others again; a leader is elected",
        glyph="∅",
        colour="alarm",
        cause="a zone with most of the controllers that is lost, a bad rollout to all of them, full disks under them",
        may_break="elections and ISR changes, which wait: a leader that dies now has no successor, and a follower "
        "that dies is waited for by acks=all",
        behaviour=QuorumLoss(),
        usual_for_us=30 * SECOND,
        target="controllers",
    ),
)
"""Faults by name."""
