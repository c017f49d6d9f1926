"""``python -m tests.determinism.bare SLICES [VERSION...]``: clusters that go through many faults, on any interpreter.

Needs nothing but the standard library, so that every Python at hand can be asked; prints one JSON object, a Kafka
version to its digest and counters. ``SLICES`` are those of ``tests.determinism.driver``, or ``keyframes``: saved,
packed and loaded again into a twin every now and then. Without a version it is all of them.
"""

import json
import sys

from cluster_model.cluster import Cluster
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from tests.support.breadth import EVENING
from tests.support.releases import those_of

SECOND = 1_000_000
END_US = 30 * SECOND
ALL = ("0.8.2", "0.10.2", "1.1", "2.0", "2.5", "2.8", "3.3", "3.9", "4.1")
VERSIONS = ALL if EVENING else ("0.8.2", "0.10.2", "1.1", "2.8", "3.3", "4.1")
"""For an evening those as well that have the rules of one of the others, but for a few."""
SLICES = {"event": (1 << 60, 1), "slice": (23_000, 0)}

SOON: dict[str, int | str | bool] = {
    "broker.session.timeout.ms": 4_000,
    "zookeeper.session.timeout.ms": 3_000,
    "replica.lag.time.max.ms": 5_000,
}
"""What is down or behind is found to be so within seconds."""
FAULTS = (
    (1, Action("inject", "lag", "random(broker(1))", {"latency": 40_000, "jitter": 30_000}, 8 * SECOND)),
    (2, Action("inject", "crash", "leader(orders-0)", {}, 4 * SECOND)),
    (3, Action("inject", "gc_pause", "random(followers(orders-1))", {}, 4 * SECOND)),
    (8, Action("inject", "power_loss", "random(2, isr(orders-0))", {"keep": -1}, 3 * SECOND)),
    (12, Action("inject", "crash", "controller", {}, 2 * SECOND)),
    (14, Action("inject", "power_loss", "leader(orders-1)", {"keep": 100})),
    (15, Action("admin", "elect_leaders", "", {"partition": "orders-1", "unclean": True})),
    (16, Action("inject", "restart", "broker(2)")),
    (17, Action("inject", "gc_pause", "leader(orders-0)", {}, 5 * SECOND)),
    (18, Action("inject", "partition", "broker(3) + clients", {"direction": "out"}, 3 * SECOND)),
    (19, Action("inject", "partition", "random(brokers)", {"to": "leader(orders-1) + controller"}, 8 * SECOND)),
    (23, Action("heal", "all")),
)
"""At which second what is done; what cannot be done then is refused, which is part of the run."""


def cluster_of(kafka: str) -> tuple[Cluster, FaultInjector]:
    bounded = {"request.timeout.ms": 3_000, "delivery.timeout.ms": 5_000} if kafka >= "2.1" else {}
    spec = ClusterSpec(
        kafka=kafka,
        mode=None,
        brokers=(BrokerSpec(1, "a"), BrokerSpec(2, "b"), BrokerSpec(3, "c")),
        topics=(TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1)), {"unclean.leader.election.enable": True}),),
        producers=(
            ProducerSpec("checkout", "orders", 130_000, 3, config={"acks": "all", **bounded}),
            ProducerSpec("audit", "orders", 130_000, 1, config={"acks": "1"}),
            ProducerSpec("metrics", "orders", 130_000, 2, config={"acks": "0"}),
        ),
        groups=(GroupSpec("billing", ("orders",), 2, 500),),
        config=those_of("broker", kafka, SOON),
    )
    cluster = Cluster.build(spec, 11)
    return cluster, FaultInjector(cluster)


def advance(cluster: Cluster, board: FaultInjector, until_us: int, slices: str) -> tuple[Cluster, FaultInjector]:
    """Run to a time in such slices, and drain now and then."""
    if slices == "keyframes" and until_us - cluster.now_us > 2 * SECOND:  # after each fault and admin's act but a few
        cluster.run((cluster.now_us + until_us) // 2)
        twin = cluster.twin()
        other = FaultInjector(twin)
        keyframe, (faults,) = unpack(pack(cluster.save(), (board.save(),)))
        twin.load(keyframe)
        other.load(faults)
        cluster, board = twin, other
    time_us, events = SLICES.get(slices, (END_US, 0))
    turn = 0
    while cluster.now_us < until_us or 0 <= cluster.next_event_us() <= until_us:
        cluster.run(min(until_us, cluster.now_us + time_us), events)
        turn += 1
        if turn % 5 == 0:
            cluster.drain()
    return cluster, board


def digest(kafka: str, slices: str) -> str:
    """One run; its digest and counters as text."""
    cluster, board = cluster_of(kafka)
    for second, action in FAULTS:
        cluster, board = advance(cluster, board, second * SECOND, slices)
        try:
            if action.verb == "inject":
                board.inject(action)
            elif action.verb == "heal":
                board.heal(action.name)
            else:
                board.admin(action)
        except FaultError:
            continue
    cluster, board = advance(cluster, board, END_US, slices)
    cluster.stop_producers()
    cluster.close()
    query = cluster.query
    return f"{cluster.digest()} {cluster.executed} {query.acked()} {query.acked_lost()} {query.violations()}"


def main() -> None:
    slices, *versions = sys.argv[1:]
    print(json.dumps({kafka: digest(kafka, slices) for kafka in versions or VERSIONS}))


if __name__ == "__main__":
    main()
