"""``python -m tests.determinism.features SLICE``: a digest per way of fetching, advanced in slices of one kind."""

import json
import sys
from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.kernel.link import INTO, OUT, LinkCondition
from cluster_model.protocol.admin_messages import DeleteTopicsRequest
from cluster_model.spec.cluster_spec import (
    OFFSETS,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    Interceptor,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
)
from tests.support.releases import those_of

MS = 1_000
SECOND = 1_000_000
END = 17 * SECOND
STEPS = {"whole": END, "slice": 23_000}

SOON: dict[str, int | str | bool] = {
    "broker.session.timeout.ms": 3_000,
    "zookeeper.session.timeout.ms": 3_000,
    "replica.lag.time.max.ms": 3_000,
    "offsets.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
}
"""What is down or behind is found to be so within seconds."""

RACK_AWARE = {"replica.selector.class": "RackAwareReplicaSelector"}

EARLIEST: dict[str, int | str | bool] = {"auto.offset.reset": "earliest"}

SETUP: dict[str, int | str | bool] = {
    "socket.connection.setup.timeout.ms": 300,
    "socket.connection.setup.timeout.max.ms": 900,
}
"""Of clients and of brokers."""

FEATURES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "followers read": ("3.9", RACK_AWARE, {}),
    "followers read, HW pushed": ("2.4", RACK_AWARE, {}),
    "many fetchers": ("3.9", {"num.replica.fetchers": 4}, {}),
    "few sessions": ("2.6", {"max.incremental.fetch.session.cache.slots": 2}, {}),
    "leader throttled": (
        "3.9",
        {"leader.replication.throttled.rate": 9_000, "replica.fetch.max.bytes": 2_000},
        {"leader.replication.throttled.replicas": "*"},
    ),
    "follower throttled": (
        "1.1",
        {"follower.replication.throttled.rate": 9_000, "replica.fetch.max.bytes": 2_000},
        {"follower.replication.throttled.replicas": "0:3,1:3,2:3"},
    ),
    "exits": ("0.10.2", {"unclean.leader.election.enable": False}, {}),
    "around sending": ("3.9", {}, {}),
    "time in the queue": ("2.0", {}, {}),
    "consumer protocol": ("4.1", {"group.consumer.session.timeout.ms": 4_000}, {}),
    "handed off": ("3.9", {}, {}),
    "troubled links": ("3.9", {}, {}),
    "troubled links, ZooKeeper": ("2.8", {}, {}),
    "connections": ("3.9", SETUP, {}),
    "connections, ZooKeeper": ("2.7", SETUP, {}),
    "offsets made again": ("4.0", {}, {}),
    "offsets made again, ZooKeeper": ("3.1", {}, {}),
}
"""Name → (version, broker configuration, topic configuration)."""

AROUND_SENDING: dict[str, Any] = {
    "interceptors": (Interceptor("tracing", 64, 50), Interceptor("audit", 24)),
    "serializer_fails": 40,
    "callback_us": 1_500,
    "flush_every": 90,
    "stop_us": 14 * SECOND,
    "close_us": 2 * SECOND,
}

CONNECTIONS: dict[str, int | str | bool] = {
    "request.timeout.ms": 1_500,
    "reconnect.backoff.max.ms": 400,
    **SETUP,
}
"""Attempts to connect are given up, and made again, within a second."""


def build(name: str) -> Cluster:
    """Three brokers in three racks, and readers in two of them."""
    kafka, config, topic = FEATURES[name]
    modern = name == "consumer protocol"
    more: dict[str, int | str | bool] = {"group.protocol": "consumer"} if modern else {}
    own: dict[str, int | str | bool] = {"acks": "1"}
    if "connections" in name:
        more = CONNECTIONS
        own |= CONNECTIONS | {"delivery.timeout.ms": 6_000}
    here = "made" in name or modern
    groups = tuple(
        GroupSpec(
            f"g-{rack}", ("t",), 2, config=those_of("consumer", kafka, {"client.rack": rack, **more}), coordinated=here
        )
        for rack in ("b", "c")
    )
    if name == "handed off":
        groups = (
            GroupSpec("g", (), 3, 2_000, EARLIEST, commit="handed_off", pattern="t", racks=("c", "a", "b")),
            GroupSpec("h", ("t",), 2, 2_000, EARLIEST, commit="async_retry"),
        )
    spec = ClusterSpec(
        kafka,
        "kraft" if kafka >= "3.9" else "zookeeper",
        (BrokerSpec(1, "a"), BrokerSpec(2, "b"), BrokerSpec(3, "c")),
        (TopicSpec("t", 6, 3, config=topic),),
        (
            ProducerSpec(
                "p",
                "t",
                60_000,
                3,
                config=own,
                **(AROUND_SENDING if name == "around sending" else {}),
            ),
        ),
        groups,
        NetworkSpec(500, 300),
        those_of("broker", kafka, {**SOON, **config}),
    )
    return Cluster.build(spec, 11)


def trouble(cluster: Cluster) -> None:
    """Some of everything that faults do to links, by two of them."""
    shapes = (
        LinkCondition(rate=90_000, loss=20_000),
        LinkCondition(answer_us=30_000, answer_jitter_us=20_000, repeats=20_000),
        LinkCondition(rate=200_000, cards=OUT | INTO, close_us=2 * SECOND),
    )
    nodes = cluster.nodes()
    pairs = [(one, other) for one in nodes for other in nodes if one != other]
    for number, pair in enumerate(pairs):
        for fault in (1, 2):
            cluster.link_faults.shape(*pair, fault, shapes[(number + fault) % 3])


def digest(name: str, step: int) -> str:
    """Run it in steps of time: a broker dies, a leader dies, one is made leader by force, one is cut off."""
    cluster = build(name)

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    run_to(2 * SECOND)
    if "made" in name:
        cluster.admin.ask(1, DeleteTopicsRequest(0, (OFFSETS,)))
        run_to(3 * SECOND)
    if "troubled" in name:
        trouble(cluster)
    cluster.crash(3)
    if "connections" in name:
        run_to(3 * SECOND)
        cluster.pause(2)
        run_to(6 * SECOND)
        cluster.resume(2)
    run_to(7 * SECOND)
    if "connections" in name:
        cluster.power_loss(1)
    else:
        cluster.crash(1)
    cluster.restart(3)
    run_to(8 * SECOND)
    cluster.elect_leaders("t-0", unclean=True)
    run_to(9 * SECOND)
    if "troubled" in name:
        cluster.link_faults.sever([(2, other) for other in cluster.nodes() if other != 2])
        cluster.link_faults.lift(1)
    cluster.restart(1)
    run_to(10 * SECOND)
    others = [node for node in cluster.nodes() if node != 2]
    for other in others:
        cluster.cut(2, other, 1)
        cluster.cut(other, 2, 1)
    run_to(10_500 * MS)
    cluster.cut(1, 3, 2)
    run_to(13 * SECOND)
    for other in others:
        cluster.heal_cut(2, other, 1)
        cluster.heal_cut(other, 2, 1)
    cluster.link_faults.lift(2)
    run_to(14 * SECOND)
    cluster.heal_cut(1, 3, 2)
    run_to(END)
    reads = sum(consumer.read for consumer in cluster.consumers.values())
    ends = [replica.log.leo for replicas in cluster.cluster_state.replicas.values() for replica in replicas.values()]
    return f"{cluster.digest()} {cluster.executed} {reads} {ends}"


def main() -> None:
    """Print one JSON object: feature → digest."""
    print(json.dumps({name: digest(name, STEPS[sys.argv[1]]) for name in FEATURES}))


if __name__ == "__main__":
    main()
