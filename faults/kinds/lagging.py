"""Replicas that lag: the threads that fetch for them are busy."""

from typing import Final

from cluster_model.broker.fetch.busy import Busy
from cluster_model.cluster import Cluster
from faults.declarations.fault import MS, Aim, Behaviour, Expectation, Fault, FaultError, Injury, Param, Stage, table
from faults.declarations.impact import hit, names


class SlowFollower(Behaviour):
    """Time on top of every answer to a replica fetcher."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """The partition, if one is named, must be one that every target follows."""
        partition = str(aim.params["partition"])
        for node in aim.nodes if partition else ():
            if partition not in _followed(stage.cluster, node, partition):
                raise FaultError(f"{stage.cluster.name_of(node)} does not follow {partition}, so it fetches none of it")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Answers that come from here on are handled later."""
        params = injury.params
        busy = Busy(int(params["extra"]), int(params["throughput"]), str(params["partition"]))
        for node in injury.nodes:
            stage.cluster.harm.slow_fetchers(node, injury.id, busy)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Answers that come from then on are handled at once."""
        for node in injury.nodes:
            stage.cluster.harm.quicken_fetchers(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Whether the ISR waits for it, or does without."""
        world, params = cluster.world, aim.params
        touched = [
            name for node in aim.nodes for name in _followed(cluster, node, str(params["partition"]))
            if node in world.records[name].isr
        ]  # fmt: skip
        followed = tuple(dict.fromkeys(touched))
        under = tuple(
            name
            for name in followed
            if sum(each not in aim.nodes for each in world.records[name].isr) < world.effective_min_isr(name)
        )
        what = followed[0] if len(followed) == 1 else f"{len(followed)} partitions"
        who = names(cluster, aim.nodes)
        if not followed:
            return Expectation(f"{who} follows nobody in any ISR")
        # A follower counts as caught up as of its last fetch but one: two rounds are what it may take.
        if any(2 * int(params["extra"]) > _lag_time_us(cluster, name) for name in followed):
            short = f"; {len(under)} would be under min.insync.replicas" if under else ""
            return Expectation(
                f"{who} leaves the ISR of {what} after replica.lag.time.max.ms{short}",
                under_min_isr=under, clients=hit(cluster, (), followed),
            )  # fmt: skip
        return Expectation(
            f"{who} stays in the ISR of {what} while it keeps up; acks=all waits for it",
            clients=hit(cluster, (), followed),
        )


def _followed(cluster: Cluster, node: int, partition: str) -> list[str]:
    """Partitions that a broker follows: all, or those of the fetcher that is meant, in which the named one is."""
    records = cluster.world.records
    mine = [name for name, record in records.items() if node in record.assignment and record.leader not in (node, -1)]
    if not partition:
        return mine
    return [name for name in mine if partition in mine and records[name].leader == records[partition].leader]


def _lag_time_us(cluster: Cluster, partition: str) -> int:
    """``replica.lag.time.max.ms`` of the leader."""
    replica = cluster.world.true_leader(partition)
    return replica.config.lag_time_us if replica is not None else 0


FAULTS: Final = table(
    Fault(
        name="slow_follower",
        letter="S",
        title="slow follower",
        family="processes",
        summary="The target's replica fetcher threads are busy: each handles an answer of its leader so much later, "
        "and asks again only then.",
        params=(
            Param("extra", "duration", "Added to the handling of every answer.", default=500 * MS),
            Param("throughput", "throughput", "What a thread handles at most; 0: as much as comes.", default=0),
            Param("partition", "partition", "Only the thread that fetches this one; all by default.", default=""),
        ),
        accepts="brokers",
        lasting=True,
        heals="answers that come from then on are handled at once, and the replicas catch up",
        glyph="»",
        colour="warning",
        cause="too few num.replica.fetchers, a busy processor, a slow disk under a follower, recompression",
        may_break="latency of acks=all; the ISR once a replica has not caught up for replica.lag.time.max.ms",
        behaviour=SlowFollower(),
    ),
)
"""Faults by name."""
