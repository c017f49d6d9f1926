"""``python -m tests.determinism.lives SLICE``: a digest per kind of client that is killed, closed and started again."""

import json
import sys
from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.support.releases import those_of

SECOND = 1_000_000
END = 19 * SECOND
STEPS = {"whole": END, "slice": 23_000}

SOON: dict[str, int | str | bool] = {
    "broker.session.timeout.ms": 3_000,
    "zookeeper.session.timeout.ms": 3_000,
    "offsets.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 800,
    "group.min.session.timeout.ms": 3_000,
}
READS = {"auto.offset.reset": "earliest", "session.timeout.ms": 4_000, "heartbeat.interval.ms": 1_000}
"""Who is gone is found to be so within seconds."""

LIVES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "dynamic": ("3.9", {}, {}),
    "static": ("3.9", {}, {"config": {"group.instance.id": "desk"}}),
    "one name for two": ("3.9", {}, {"instances": ("desk", "desk")}),
    "resending": ("3.9", {"resends": True}, {}),
    "committing": ("2.5", {"send": "sync"}, {"commit": "sync"}),
    "old": ("0.8.2", {}, {}),
    "dead letters": ("3.9", {}, {"commit": "sync", "fails": 40, "retries": 1, "dead_letter": "dead"}),
    "dead letters once": ("2.0", {}, {"fails": 40, "dead_letter": "dead"}),
}
"""Name → (version, of the producer, of the group)."""


def build(name: str) -> Cluster:
    """Three brokers, two producers, a group of two."""
    kafka, producer, group = LIVES[name]
    spec = ClusterSpec(
        kafka,
        "kraft" if kafka == "3.9" else "zookeeper",
        (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
        (TopicSpec("t", 4, 3), *([TopicSpec("dead", 2, 3)] if "dead_letter" in group else [])),
        (
            ProducerSpec("p", "t", 60_000, 3, config={"acks": "all", "linger.ms": 30}, **producer),
            ProducerSpec("q", "t", 60_000, 1, config={"acks": "1"}),
        ),
        (
            GroupSpec(
                "g",
                ("t",),
                2,
                1_000,
                **{**group, "config": those_of("consumer", kafka, {**READS, **group.get("config", {})})},
            ),
        ),
        NetworkSpec(500, 300),
        those_of("broker", kafka, SOON),
    )
    return Cluster.build(spec, 12)


def digest(name: str, step: int) -> str:
    """Run it in steps of time: producers and members end, in every way, and come back."""
    cluster = build(name)

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    run_to(3 * SECOND + 1_234)
    cluster.crash(2_000)
    cluster.shutdown(3_001) if cluster.is_up(3_001) else cluster.restart(3_001)
    run_to(4 * SECOND)
    cluster.restart(2_000)
    cluster.shutdown(2_001)
    cluster.clients.faults.stall(3_000, 1, 2 * SECOND)
    run_to(6 * SECOND)
    if not cluster.is_up(3_001):
        cluster.restart(3_001)
    cluster.restart(2_001)
    run_to(9 * SECOND)
    if cluster.is_up(3_000):
        cluster.crash(3_000)
    cluster.crash(1)
    run_to(14 * SECOND)
    cluster.clients.faults.lift(3_000, 1)
    cluster.restart(3_000)
    cluster.restart(1)
    run_to(END)
    query = cluster.query
    return (
        f"{cluster.digest()} {cluster.executed} {query.read('g')} {query.reread('g')} {query.sent()} {query.unknown()}"
    )


def main() -> None:
    """Print one JSON object: kind → digest."""
    print(json.dumps({name: digest(name, STEPS[sys.argv[1]]) for name in LIVES}))


if __name__ == "__main__":
    main()
