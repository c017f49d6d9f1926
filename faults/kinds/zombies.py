"""Two processes that write in transactions under one id."""

from typing import Final

from cluster_model.clients.producer.transactional_producer import TransactionalProducer
from cluster_model.cluster import Cluster
from faults.declarations.fault import SECOND, Aim, Behaviour, Expectation, Fault, FaultError, Injury, Stage, table
from faults.declarations.impact import each_of, plain


class ZombieProducer(Behaviour):
    """A second process is started while the first one goes on."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """It must write in transactions, and be alone."""
        for node in aim.nodes:
            name = stage.cluster.name_of(node)
            if not isinstance(stage.cluster.producers[name], TransactionalProducer):
                raise FaultError(f"{name} has no transactional.id: nothing tells a second process of it from another")
            if stage.cluster.clients.rivals.is_there(node):
                raise FaultError(f"{name} has a second process already")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Start it."""
        for node in injury.nodes:
            stage.cluster.clients.rivals.start(node)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Kill it, and start the first one anew: what the second left open is aborted by that."""
        for node in injury.nodes:
            stage.cluster.clients.rivals.end(node)
            if stage.cluster.is_up(node):
                stage.take_away(node)
                stage.cluster.crash(node)
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Who is fenced, and with what."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        who = each_of(cluster, aim.nodes)
        if not all(isinstance(cluster.producers[name], TransactionalProducer) for name in hit):
            return plain("nothing: there is no transactional.id")
        return plain(f"{who} loses its transaction to a second process, and is fenced at its next request", hit)


FAULTS: Final = table(
    Fault(
        name="zombie_producer",
        letter="Z",
        title="zombie producer",
        family="clients",
        summary="A second process of a transactional producer starts and takes its role over, while the first one "
        "goes on: it is a zombie now, and its next transactional request is refused.",
        params=(),
        accepts="producers",
        lasting=True,
        heals="the second process is killed, the first one started anew: it aborts what was left open",
        glyph="z",
        colour="warning",
        cause="a deployment that overlaps, an orchestrator that takes a slow process for a dead one",
        may_break="the open transaction of the first process, which ends with PRODUCER_FENCED or "
        "INVALID_PRODUCER_EPOCH; readers of committed data see nothing of it",
        usual_for_us=20 * SECOND,
        behaviour=ZombieProducer(),
    ),
)
"""Faults by name."""
