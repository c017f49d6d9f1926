"""A small busy cluster for faults to strike: five brokers in three racks, a producer, and a group of two."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.releases import parse_version
from cluster_model.snapshots import Snapshot
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.support.releases import those_of

MS = 1_000
SECOND = 1_000_000

CONFIG: dict[str, int | str | bool] = {
    "broker.session.timeout.ms": 3_000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4_000,
    "replica.socket.timeout.ms": 3_000,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 9,  # More than there are brokers: the group's topic is not made.
}


def busy_cluster(seed: int = 7, *, kafka: str = "3.9", mode: str | None = None) -> Cluster:
    """``orders-0`` is led by 1 with followers 2 and 3, ``orders-1`` by 2 with 3 and 4; broker 5 holds nothing."""
    # Before 2.1 retries alone bound how long a record is tried (KIP-91).
    bounded = {"delivery.timeout.ms": 10_000} if parse_version(kafka) >= (2, 1, 0) else {}
    spec = ClusterSpec(
        kafka=kafka,
        mode=mode or "kraft",
        brokers=tuple(BrokerSpec(broker, rack) for broker, rack in zip((1, 2, 3, 4, 5), "abcab", strict=True)),
        topics=(TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 4))),),
        producers=(
            ProducerSpec(
                "checkout",
                "orders",
                50 * MS,
                config=those_of("producer", kafka, {"request.timeout.ms": 3_000, **bounded}),
                keys=100,
            ),
        ),
        groups=(GroupSpec("billing", ("orders",), 2, config={"request.timeout.ms": 3_000}),),
        config=those_of("broker", kafka, CONFIG),
    )
    return Cluster.build(spec, seed)


_KEPT: Final[dict[str, tuple[Cluster, Snapshot]]] = {}
"""What :func:`begun` gave last."""


def begun(until_us: int, build: Callable[..., Cluster], **how: Any) -> tuple[Cluster, FaultInjector]:
    """A cluster at that time, drained, with an empty board.

    Asked for the same again, it is the same cluster, gone back to that time: two of a kind cannot be used at once.
    """
    key = f"{until_us} {build.__qualname__} {how}"
    if key in _KEPT:
        cluster, keyframe = _KEPT.pop(key)
        cluster.load(keyframe)
    else:
        cluster = build(**how)
        cluster.run(until_us)
        cluster.drain()
        keyframe = cluster.save()
    _KEPT[key] = cluster, keyframe
    for oldest in [*_KEPT][:-4]:
        del _KEPT[oldest]
    return cluster, board_of(cluster)


def until(cluster: Cluster, wanted: Callable[[], bool], most_us: int, step_us: int = SECOND) -> None:
    """Run step by step until it is so, at most so long: whoever calls asserts that it is."""
    end = cluster.now_us + most_us
    while cluster.now_us < end and not wanted():
        cluster.run(min(end, cluster.now_us + step_us))


def until_well(cluster: Cluster, wrong: Callable[[Cluster], list[str]], most_us: int = 60 * SECOND) -> None:
    """Run until nothing is wrong, at most so long, and then as long as it takes for that to be lost again."""
    until(cluster, lambda: not wrong(cluster), most_us)
    cluster.run(cluster.now_us + 6 * SECOND)


def board_of(cluster: Cluster) -> FaultInjector:
    return FaultInjector(cluster)


def inject(board: FaultInjector, name: str, target: str, for_us: int = -1, **params: Any) -> int:
    return board.inject(Action("inject", name, target, params, for_us))


def unsettled(cluster: Cluster) -> list[str]:
    """What keeps a cluster from being whole again, empty when nothing does."""
    query = cluster.query
    found = []
    for partition in cluster.cluster_state.records:
        if query.isr(partition) != sorted(query.replicas(partition)):
            found.append(f"{partition} has isr {query.isr(partition)} of {query.replicas(partition)}")
        leader = cluster.cluster_state.committed_leader(partition)
        if leader is not None and leader.leadership is not None and leader.leadership.pending is not None:
            found.append(f"{partition} waits for its ISR {leader.leadership.pending}")
        if query.hw(partition) != query.leo(partition):
            found.append(f"{partition} has hw {query.hw(partition)} of {query.leo(partition)}")
        if query.diverged(partition):
            found.append(f"{partition} differs in {query.diverged(partition)} places")
    for name, count in (
        ("lag", query.lag("billing")),
        ("offline", query.offline_partitions()),
        ("unsettled records", query.sent() - query.acked() - query.failed() - query.unknown() - query.aborted()),
        ("violations", query.unexpected_violations()),
    ):
        if count:
            found.append(f"{count} {name}")
    found += [f"broker {broker.id} is {broker.state}" for broker in cluster.view().brokers if broker.state != "up"]
    return found


def backlog(cluster: Cluster, node: int) -> int:
    """How many messages and timers wait for a process's slow CPU; the one that it is at counts."""
    cpu = cluster.network.processes[node].cpu
    return 0 if cpu is None else len(cpu.queue)
