"""A ZooKeeper-mode cluster is restored exactly from a snapshot taken in any procedure; slices have no effect."""

from collections.abc import Callable

import pytest

from cluster_model.cluster import Cluster
from cluster_model.protocol.admin_messages import (
    AlterPartitionReassignmentsRequest,
    CreatableTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ReassignablePartition,
)
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import ProducerSpec
from tests.cluster_model.controller.zookeeper.rigs import ADMIN, SECOND, Asker, spec_of
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

MS = 1_000
PRODUCERS = (ProducerSpec("p", "orders", 200_000, 1, config={"acks": "all"}),)
PLACEMENT = ((2, 3, 1), (3, 4, 2), (1, 2, 3))


def built(kafka: str) -> Cluster:
    soon = {"zookeeper.session.timeout.ms": 6_000}
    cluster = Cluster.build(spec_of(kafka, PLACEMENT, 4, soon, producers=PRODUCERS), 5)
    return with_admin(cluster)


def with_admin(cluster: Cluster) -> Cluster:
    cluster.network.add(ADMIN, "admin", Asker())
    return cluster


def ask(request: object) -> Callable[[Cluster], None]:
    def act(cluster: Cluster) -> None:
        cluster._port(ADMIN).send(max(cluster.plane.active(), 1), request)  # type: ignore[arg-type]

    return act


ACTS: tuple[tuple[int, Callable[[Cluster], None]], ...] = (
    (SECOND, lambda c: c.crash(3)),
    (4 * SECOND + 400 * MS, ask(CreateTopicsRequest(1, (CreatableTopic("more", 3, 2),)))),
    (9 * SECOND, lambda c: c.restart(3)),
    (14 * SECOND, ask(AlterPartitionReassignmentsRequest(2, (ReassignablePartition("orders-2", (4, 3, 2)),)))),
    (14 * SECOND + 20 * MS, lambda c: c.crash(1)),
    (24 * SECOND, lambda c: c.restart(1)),
    (28 * SECOND, lambda c: c.pause(2)),
    (38 * SECOND, lambda c: c.resume(2)),
    (42 * SECOND, ask(DeleteTopicsRequest(3, ("more",)))),
    (45 * SECOND, lambda c: c.shutdown(4)),
    (47 * SECOND, lambda c: c.crash(1502)),
    (47 * SECOND, lambda c: c.crash(1503)),
    (55 * SECOND, lambda c: c.restart(1502)),
)
END = 64 * SECOND


def play(cluster: Cluster, run: Callable[[Cluster, int], Cluster]) -> Cluster:
    for at, act in ACTS:
        cluster = run(cluster, at)
        act(cluster)
    return run(cluster, END)


def whole(cluster: Cluster, until: int) -> Cluster:
    cluster.run(until)
    return cluster


def sliced(cluster: Cluster, until: int) -> Cluster:
    while cluster.now_us < until:
        cluster.run(min(until, cluster.now_us + 17_777))
    return cluster


def through_twins(cluster: Cluster, until: int) -> Cluster:
    """In slices, and a twin takes over now and then, most often right after an action."""
    start = cluster.now_us
    for step in (3, 9, 17, 31, 1_000, 6_010, 6_017, 18_013):
        if start + step * MS < until:
            sliced(cluster, start + step * MS)
            twin = with_admin(cluster.twin())
            keyframe, _beside = unpack(pack(cluster.save()))
            twin.load(keyframe)
            cluster = twin
    return sliced(cluster, until)


@pytest.mark.parametrize("kafka", spread_sample(("0.8.2", "1.0", "2.5", "3.9"), 2))
def test_twins_and_slices_change_nothing(kafka: str) -> None:
    straight = play(built(kafka), whole)
    assert play(built(kafka), through_twins).digest() == straight.digest()


@pytest.mark.parametrize("kafka", spread_sample(["1.0", "2.8"], 1))
def test_a_keyframe_at_every_time_of_a_failover(kafka: str) -> None:
    """Saved and loaded after every single event while a new controller takes over."""

    def cluster_at_expiry() -> Cluster:
        cluster = built(kafka)
        cluster.run(SECOND)
        cluster.crash(1)
        cluster.run(cluster.now_us + cluster.plane.session_us - SECOND // 2)
        while cluster.plane.is_live(1):
            cluster.run(END, max_events=1)
        return cluster

    one, other = cluster_at_expiry(), cluster_at_expiry()
    until = one.now_us + 60 * MS
    one.run(until)
    while 0 <= other.next_event_us() <= until:
        keyframe, _beside = unpack(pack(other.save()))
        other.load(keyframe)
        other.run(until, max_events=1)
    other.run(until)
    assert other.plane.active() == one.plane.active() == 2
    assert other.digest() == one.digest()
