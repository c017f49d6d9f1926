"""Common behaviour of faults: of links, of applications, and of processes that end and start again."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import Shape
from faults.declarations.fault import Aim, Behaviour, ExpectedImpact, FaultContext, Injury, Param
from faults.declarations.impact import hit, names
from faults.declarations.targets import links_of

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
    leads = f"; {len(led)} partition{'' if len(led) == 1 else 's'} led there" if led else ""
    sentence = f"{names(cluster, aim.nodes)}: {what}{leads}"
    return ExpectedImpact(sentence, clients=hit(cluster, aim.nodes, led))


# Processes that end by themselves and are started again.


def back_again(stage: FaultContext, node: int) -> None:
    """Start a process that has ended itself, or have it start as soon as it has: a consumer takes its time to close.

    One that was told to end as well is for whoever told it.
    """
    lives = stage.cluster.lives
    if not stage.cluster.is_up(node):
        stage.restart(node)
    elif not lives.is_leaving(node):
        lives.start_again(node)


# Common to faults of applications: lifted from each client when the fault heals.


class Lifted(Behaviour):
    """Healed by taking off each process all that this fault put on it."""

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """What comes from then on is as usual."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lift(node, injury.id)
