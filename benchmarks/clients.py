"""Benchmark of many clients on one cluster: the cost of a client in addition to its records."""

from typing import NamedTuple

from benchmarks.cluster_load import SECOND, simulated_per_cpu
from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec

BROKERS = 6
RATE = 400
"""Batches per second of all producers together, however many there are."""


class Crowd(NamedTuple):
    """Six brokers with many clients; ``floor`` is in simulated seconds per CPU second.

    ``least`` is the minimum fraction of the speed with few clients and the same load.
    """

    producers: int
    members: int
    floor: float
    least: float

    @property
    def name(self) -> str:
        clients = f"{self.producers:,} producers" if self.producers > FEW else f"{self.members} members of a group"
        return f"{clients}, {RATE * 10:,} records/s in all"


FEW = 4
CROWDS = (Crowd(1_000, 0, 8, 0.5), Crowd(FEW, 500, 4, 0.2))


def crowded(producers: int, members: int) -> Cluster:
    """Return a cluster whose idempotent producers share a fixed load on 500 partitions, with at most one group."""
    interval_us = producers * SECOND // RATE
    made = tuple(
        ProducerSpec(f"producer-{index}", "load", interval_us, 10, start_us=index * interval_us // producers)
        for index in range(producers)
    )
    groups = (GroupSpec("readers", ("load",), members, coordinated=True),) if members else ()
    brokers = tuple(BrokerSpec(index + 1) for index in range(BROKERS))
    topics = (TopicSpec("load", 500, 3),)
    return Cluster.build(ClusterSpec("3.9", "kraft", brokers, topics, made, groups, NetworkSpec(500, 200)), 1)


def crowd_per_cpu(producers: int, members: int, tries: int) -> float:
    """Return simulated seconds per CPU second after the first ten, the startup: the best of several tries."""
    cluster = crowded(producers, members)
    cluster.run(10 * SECOND)
    return max(simulated_per_cpu(cluster, 2 * SECOND)[0] for _ in range(tries))
