"""Acknowledgements that never come."""

from typing import Final

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.cluster import Cluster
from faults.declarations.fault import MS, Aim, Expectation, Fault, FaultError, Injury, Param, Stage, table
from faults.declarations.impact import each_of, plain
from faults.kinds.lifting import Lifted

LOOKS_US: Final = 100 * MS
"""How often it is looked whether all of them are lost."""


class LostAck(Lifted):
    """Answers that get lost."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Somebody must wait for them."""
        partition = str(aim.params["partition"])
        if partition and partition not in stage.cluster.world.records:
            raise FaultError(f"no partition {partition}")
        for node in aim.nodes:
            name = stage.cluster.name_of(node)
            if stage.cluster.producers[name].acks == 0:
                raise FaultError(f"{name} waits for no acknowledgements (acks=0)")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """The next ones, from now on."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lose_acks(
                node, injury.id, int(injury.params["count"]), str(injury.params["partition"])
            )  # fmt: skip
        stage.wake(injury, LOOKS_US)

    def woken(self, stage: Stage, injury: Injury) -> None:
        """It is over when all are lost."""
        faults = stage.cluster.clients.faults
        if any(faults.acks_to_lose(node, injury.id) for node in injury.nodes):
            stage.wake(injury, LOOKS_US)
            return
        self.heal(stage, injury)
        stage.end(injury)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What their producers make of it."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        plainly = []
        for each in cluster.spec.producers:
            config = ProducerConfig.of(cluster.profile, each.config)
            if each.name in hit and config.retries and not config.idempotent:
                plainly.append(each.name)
        who = each_of(cluster, aim.nodes)
        if plainly:
            return plain(f"{', '.join(plainly)} sends again what is written already: it stands in the log twice", hit)
        return plain(f"{who} sends again what is written already, and is told that it is", hit)


FAULTS: Final = table(
    Fault(
        name="lost_ack",
        letter="A",
        title="lost acknowledgement",
        family="clients",
        summary="The leader carries out the target's next requests, but the connection is reset before their answers "
        "arrive; everything else under way on it is in doubt too.",
        params=(
            Param("count", "int", "How many answers get lost.", default=1, low=1, high=1_000_000),
            Param("partition", "partition", "Only answers about this one; empty: about any.", default=""),
        ),
        accepts="producers",
        lasting=True,
        heals="answers arrive; it is over by itself when all of them are lost",
        glyph="?",
        colour="warning",
        cause="a load balancer or firewall that resets a connection, a host that dies between write and answer",
        may_break="without idempotence a retry writes the records twice; without retries they are of unknown outcome",
        behaviour=LostAck(),
    ),
)
"""Faults by name."""
