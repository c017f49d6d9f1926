"""Many clients on one cluster: what a client costs beside the records that it carries."""

from benchmarks.models import SECOND, simulated_per_cpu
from cluster_model.cluster import Cluster
from cluster_model.spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec

BROKERS = 6
RATE = 1_000
"""Batches a second that all producers make together, however many they are."""


def producing(producers: int) -> Cluster:
    """So many producers share the load of 100 partitions; each is idempotent, with acks=all."""
    interval_us = producers * SECOND // RATE
    made = tuple(
        ProducerSpec(f"producer-{index}", "load", interval_us, 10, start_us=index * interval_us // producers)
        for index in range(producers)
    )
    return Cluster.build(_spec(TopicSpec("load", 100, 3), made, ()), 1)


def consuming(members: int) -> Cluster:
    """So many members of one group that its coordinator shares 500 partitions out to, and 4 producers of little."""
    made = tuple(ProducerSpec(f"producer-{index}", "load", SECOND // 25, 10) for index in range(4))
    group = GroupSpec("readers", ("load",), members, coordinated=True)
    return Cluster.build(_spec(TopicSpec("load", 500, 3), made, (group,)), 1)


def _spec(topic: TopicSpec, producers: tuple[ProducerSpec, ...], groups: tuple[GroupSpec, ...]) -> ClusterSpec:
    brokers = tuple(BrokerSpec(index + 1) for index in range(BROKERS))
    return ClusterSpec("3.9", "kraft", brokers, (topic,), producers, groups, NetworkSpec(500, 200))


def settled_per_cpu(cluster: Cluster, warm_us: int, simulated_us: int, tries: int) -> float:
    """Simulated seconds per CPU second behind the first ``warm_us``, in which everybody begins: the best of several."""
    cluster.run(warm_us)
    return max(simulated_per_cpu(cluster, simulated_us)[0] for _ in range(tries))
