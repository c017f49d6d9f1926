"""Many clients on one cluster: what a client costs beside the records that it carries."""

from typing import NamedTuple

from benchmarks.models import SECOND, simulated_per_cpu
from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec

BROKERS = 6
RATE = 400
"""Batches a second that all producers make together, however many they are."""


class Crowd(NamedTuple):
    """Six brokers with many clients; ``floor`` is in simulated seconds per CPU second.

    ``least`` is the part of the figure with few clients and the same load that must be left.
    """

    producers: int
    members: int
    floor: float
    least: float

    @property
    def name(self) -> str:
        who = f"{self.producers:,} producers" if self.producers > FEW else f"{self.members} members of a group"
        return f"{who}, {RATE * 10:,} records/s in all"


FEW = 4
CROWDS = (Crowd(1_000, 0, 8, 0.5), Crowd(FEW, 500, 4, 0.2))


def crowded(producers: int, members: int) -> Cluster:
    """So many idempotent producers share the load of 500 partitions; one group, if any, has all of them to read."""
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
    """Simulated seconds per CPU second behind the first ten, in which everybody begins: the best of several tries."""
    cluster = crowded(producers, members)
    cluster.run(10 * SECOND)
    return max(simulated_per_cpu(cluster, 2 * SECOND)[0] for _ in range(tries))
