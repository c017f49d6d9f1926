"""`make bench`: how fast the kernel and the whole model are, in CPU seconds of this machine.

Absolute figures move with the machine and its load; the ratio of a model event to a bare kernel event, taken in the
same run, does not.
"""

import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from cluster_model.cluster import Cluster
from cluster_model.kernel.kernel import Kernel, Payload
from cluster_model.spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec

KERNEL_EVENTS = 200_000
SECOND = 1_000_000


def cpu_seconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def bare_kernel(pending: int) -> float:
    """Events per CPU second with ``pending`` timers that each schedule their successor."""

    def fire(target: int, payload: Payload) -> None:
        kernel.schedule(kernel.now + 1 + (target * 7919) % 1000, 0, target, payload)

    kernel = Kernel((fire,))
    for target in range(pending):
        kernel.schedule(target % 1000, 0, target, ())

    def run() -> None:
        while kernel.executed < KERNEL_EVENTS:
            kernel.step()

    return KERNEL_EVENTS / cpu_seconds(run)


def loaded_cluster(brokers: int, partitions: int, batches_per_second: int, batch: int) -> Cluster:
    producers = tuple(
        ProducerSpec(f"producer-{index}", "load", 4 * SECOND // batches_per_second, batch, config={"acks": "all"})
        for index in range(4)
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


def model(
    brokers: int, partitions: int, batches_per_second: int, batch: int, seconds: int
) -> tuple[float, float, Cluster]:
    """(simulated seconds, events) per CPU second, and the cluster as it then is."""
    cluster = loaded_cluster(brokers, partitions, batches_per_second, batch)
    spent = cpu_seconds(lambda: cluster.run(seconds * SECOND) and None)
    cluster.drain()
    return seconds / spent, cluster.executed / spent


def main() -> None:
    table = Table("what", "per CPU second", "ratio", title="floodmark: speed, checker and trace on")
    base = bare_kernel(100)
    table.add_row("bare kernel, 100 timers", f"{base:,.0f} events", "1")
    many = bare_kernel(10_000)
    table.add_row("bare kernel, 10 000 timers", f"{many:,.0f} events", f"{many / base:.2f}")
    for brokers, partitions, batches, batch, seconds in (
        (3, 12, 1_000, 10, 5),
        (3, 12, 200, 1, 20),
        (12, 1_000, 1_000, 10, 1),
    ):
        simulated, events, cluster = model(brokers, partitions, batches, batch, seconds)
        name = f"{brokers} brokers x {partitions} partitions, {batches * batch:,} records/s in batches of {batch}"
        table.add_row(name, f"{simulated:,.1f} simulated s, {events:,.0f} events", f"{events / base:.2f}")
        saved = cpu_seconds(lambda cluster=cluster: cluster.save() and None)  # type: ignore[misc]
        table.add_row(f"  a keyframe of it, taken after {seconds} s", f"{1 / saved:,.0f} keyframes", "")
    Console().print(table)


if __name__ == "__main__":
    main()
