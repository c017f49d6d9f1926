"""Metadata that arrives late, or not at all, while everything else goes on."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import Aim, Behaviour, Expectation, Fault, FaultError, Injury, Param, Stage, table
from faults.declarations.impact import hit, names

ALL: Final = "all"
CACHE: Final = "cache"


class StaleMetadata(Behaviour):
    """News of the cluster are held back from the target."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only ZooKeeper mode tells the cache and the roles of a broker apart."""
        cluster = stage.cluster
        brokers = [node for node in aim.nodes if node in cluster.brokers]
        if aim.params["what"] == CACHE and cluster.profile.kraft and brokers:
            raise FaultError("what: cache is for ZooKeeper mode; a KRaft broker has cache and roles from one log")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Hold them back from now on."""
        cluster, delay = stage.cluster, int(injury.params["delay"])
        for node in injury.nodes:
            if node in cluster.brokers:
                cache_only = injury.params["what"] == CACHE
                cluster.plane.hold_metadata(node, injury.id, delay, cache_only=cache_only)
            else:
                for metadata in cluster.clients.metadata_of(node):
                    metadata.hear_late(injury.id, delay)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Let them through; what waits is taken up at once."""
        cluster = stage.cluster
        for node in injury.nodes:
            if node in cluster.brokers:
                cluster.plane.pass_metadata(node, injury.id)
            else:
                for metadata in cluster.clients.metadata_of(node):
                    metadata.hear(injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What it goes on believing."""
        delay = int(aim.params["delay"])
        when = f"{delay // 1_000} ms late" if delay else "not until healed"
        leads = [
            partition
            for partition, record in cluster.world.records.items()
            if record.leader in aim.nodes and aim.params["what"] == ALL
        ]
        zombie = ""
        if leads:
            known = leads[0] if len(leads) == 1 else f"{len(leads)} partitions"
            zombie = f"; whoever else is elected meanwhile, it goes on leading {known}"
        return Expectation(
            f"{names(cluster, aim.nodes)} hears of new leaders {when}{zombie}",
            clients=hit(cluster, aim.nodes, leads),
        )


FAULTS: Final = table(
    Fault(
        name="stale_metadata",
        letter="M",
        title="stale metadata",
        family="control plane",
        summary="News of leaders, replicas and brokers take effect late at the target, or not until healed, while "
        "heartbeats, fetches and records go on: a KRaft broker does not apply the metadata log's records; a ZooKeeper "
        "broker keeps the controller's requests waiting; a client is answered from an old snapshot.",
        params=(
            Param("delay", "duration", "How late they take effect; 0: not until healed.", default=0),
            Param(
                "what",
                "choice",
                "What a broker in ZooKeeper mode keeps waiting: all of the controller's requests, or UpdateMetadata "
                "alone, so that it leads and follows as it is told while it tells clients of old leaders.",
                default=ALL,
                choices=(ALL, CACHE),
            ),
        ),
        accepts="hosts",
        lasting=True,
        heals="what waits is taken up at once, in order; a client's next answer is a new one",
        glyph="◷",
        colour="warning",
        cause="a metadata loader or a request handler that is stuck, a full control-plane queue, a client that asks a "
        "broker which is behind",
        may_break="who believes in a leader that was replaced: a broker goes on as one, and acknowledges acks=1 that "
        "is lost; clients go to the wrong broker and try again",
        behaviour=StaleMetadata(),
        example="leader(orders-0)",
    ),
)
"""Faults by name."""
