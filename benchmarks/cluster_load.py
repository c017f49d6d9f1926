"""Benchmark of whole clusters under steady load, with checker and trace on."""

import gc
import tracemalloc
from collections.abc import Callable

from benchmarks.measure import cpu_seconds
from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec

SECOND = 1_000_000
PRODUCERS = 4


def cluster_under(brokers: int, partitions: int, batches_per_second: float, batch: int) -> Cluster:
    """Return a cluster with replication factor 3, acks=all, links of 500 to 700 us and four producers."""
    interval_us = int(PRODUCERS * SECOND / batches_per_second)
    producers = tuple(
        ProducerSpec(f"producer-{index}", "load", interval_us, batch, config={"acks": "all"})
        for index in range(PRODUCERS)
    )
    spec = ClusterSpec(
        kafka="3.9",
        mode="kraft",
        brokers=tuple(BrokerSpec(index + 1) for index in range(brokers)),
        topics=(TopicSpec("load", partitions, 3),),
        producers=producers,
        network=NetworkSpec(latency_us=500, jitter_us=200),
    )
    return Cluster.build(spec, 1)


def simulated_per_cpu(cluster: Cluster, simulated_us: int) -> tuple[float, float]:
    """Return (simulated seconds, events) per CPU second over the next ``simulated_us``."""
    before = cluster.executed
    spent = cpu_seconds(lambda: cluster.run(cluster.now_us + simulated_us))
    cluster.drain()
    return simulated_us / SECOND / spent, (cluster.executed - before) / spent


def keyframe_ms(cluster: Cluster, times: int = 20) -> float:
    """Return CPU milliseconds to take a keyframe of a cluster whose trace has been drained.

    A batch is processed before each keyframe.
    """
    spent = 0.0
    for _ in range(times):
        cluster.run(cluster.now_us + 1_000)
        cluster.drain()
        spent += cpu_seconds(cluster.save)
    return 1_000 * spent / times


def megabytes_per_second(load: Callable[[], Cluster], seconds: int) -> float:
    """Return the megabytes that a cluster keeps per simulated second after the first, with a drained trace."""
    gc.collect()
    tracemalloc.start()
    cluster = load()
    kept: list[int] = []
    for _ in range(1 + seconds):
        cluster.run(cluster.now_us + SECOND)
        cluster.drain()
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return (kept[-1] - kept[0]) / seconds / 1e6
